"""The making of the reference player: a league whose runs are made once, how it goes on, and what is told of it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import agents
from agents.mixture import MixturePlayer
from agents.network import save_policy
from experiments import reference, results, training
from tests.selfplay_runs import QUICK
from train.policy import ActorCritic
from train.run_folder import RunError


def make_small(monkeypatch: pytest.MonkeyPatch, *rounds: str) -> None:
    """Leagues with these rounds and small networks from here on."""
    monkeypatch.setattr(reference, "AGAINST", ("anchor", "ev"))
    monkeypatch.setattr(reference, "ROUNDS", rounds)
    monkeypatch.setattr(reference, "DISTILLED_LAYERS", f"{QUICK} --hidden-sizes 8 --raises")


def reference_config(folder: Path) -> reference.Config:
    """Small, with a pack that holds an older policy and a model card."""
    pack = folder / "pack"
    for place in ("", "0", "7"):
        (pack / place).mkdir(exist_ok=True)
        (pack / place / "policy.json").write_text("{}")
    (pack / "README.md").write_text("the card")
    small = "--parts 1 --part-size 300 --num-envs 12 --hidden-sizes 8 --epochs 2 --batch-size 100"
    made = {
        "distill": f"{small} --rounds 1 --worlds 2",
        "imitate": f"{small} --search mc:2 --like mc:3 --liked 50 --networks 2",
    }
    steps = {"first_timesteps": 600, "exploiter_timesteps": 500, "round_timesteps": 500}
    return reference.Config(seeds=(0, 1), num_players=(3,), **steps, **made, runs=folder, pack=pack)


@pytest.fixture(scope="module")
def league(tmp_path_factory) -> tuple[reference.Config, Path]:
    """A small league that was played, and where its results are."""
    folder = tmp_path_factory.mktemp("league")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(results, "RESULTS", folder / "stored")
        monkeypatch.setattr(results, "OTHERS", folder / "results")
        make_small(monkeypatch, reference.EARLY, reference.LATE)
        config = reference_config(folder)
        reference.main(config)
    return config, folder / "results"


def test_the_reference_player_is_the_mixture_of_seeds_that_played_a_league(league):
    config, stored = league
    packed = agents.make(f"net:{config.pack}")
    assert isinstance(packed, MixturePlayer)
    last = [agents.make(f"net:{config.policy(seed, 2)}").digest for seed in config.seeds]
    assert [member.digest for member in packed.members] == last
    assert (config.pack / "README.md").read_text() == "the card"
    for seed, member in zip(config.seeds, packed.members, strict=True):
        steps = {step["step"]: step for step in member.about["lineage"]}
        own = ["before the league", "best response 1", "round 1", "best response 2", "round 2"]
        assert list(steps) == ["distilled", *own]
        assert all(f"--seed {seed} " in steps[name]["command"] and steps[name]["decisions"] >= 500 for name in own)
        met = [config.exploiter(other, number) for number in (1, 2) for other in config.seeds]
        assert all(f"net:{run}=" in steps["round 2"]["command"] for run in met)
        assert f"net:{config.mixture(1)}=1" in steps["best response 2"]["command"]
        assert f"--init {config.policy(seed, 1)} " in steps["round 2"]["command"]
    assert (stored / "reference.png").read_bytes().startswith(b"\x89PNG")


def test_a_league_goes_on_from_the_packed_player_and_meets_an_amortised_search(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(reference, "AMORTISED", reference.AMORTISED.replace("--num-envs 2048 --num-steps 32 ", ""))
    make_small(monkeypatch, reference.EARLY, reference.AMORTISED, reference.EARLY)
    config = replace(reference_config(tmp_path), first_round=2, last_round=2, amortised_timesteps=700)
    shutil.rmtree(config.pack / "7")
    (config.pack / "policy.json").unlink()
    for place in ("0", "1"):
        layers = ActorCritic((8,), raises=True, seed=int(place)).layers()
        about = {"open_mice": True, "activation": "relu", "algorithm": "selfplay", "lineage": [{"step": "once"}]}
        (config.pack / place).mkdir(exist_ok=True)
        save_policy(config.pack / place, layers, **about)
    before = [member.digest for member in agents.make(f"net:{config.pack}").members]
    reference.main(config)
    for place, member in enumerate(agents.make(f"net:{config.pack}").members):
        names = ["amortised search 2", "best response 2", "round 2"]
        assert [step["step"] for step in member.about["lineage"]] == ["once", *names]
        search, response, learned = (step["command"] for step in member.about["lineage"][1:])
        begun = config.mixture(1) / str(place)
        assert f"--others net:{config.mixture(1)}" in search
        assert f"--init {begun} " in response
        assert f"--init {begun} " in learned
        assert agents.make(f"net:{begun}").digest == before[place] != member.digest
        assert f"amortised:{config.search(2)}=0.4" in learned
        assert f"net:{config.exploiter(1, 2)}=0.0750" in learned
        assert "exploiter1" not in learned
        assert member.about["lineage"][-1]["decisions"] >= 700
    after = agents.make(f"net:{config.pack}").digest
    monkeypatch.setattr(training, "_train", lambda *_: pytest.fail("all is there already"))
    reference.main(config)  # begins with what was packed before its own
    assert agents.make(f"net:{config.pack}").digest == after
    assert [path.name for path in stored.glob("*.json")] == ["reference_from_2.json"]


def test_the_league_goes_on_with_rounds_against_amortised_searches_alone_and_as_many_seeds(tmp_path):
    with pytest.raises(ValueError, match=r"--first-round must be one of \[0, 9, 10, 11, 12, 13, 14\], not 3"):
        reference.Config(first_round=3)
    with pytest.raises(ValueError, match="--last-round must be 9 to 14, not 8"):
        reference.Config(first_round=9, last_round=8)
    config = reference.Config(first_round=9, runs=tmp_path)
    assert reference.search_options(9, config) == [
        *("--others", f"net:{config.mixture(8)}", "--init", str(config.mixture(8)), "--seed", "9")
    ]
    also = reference.search_options(10, config)[6:]
    assert also == ["--also", str(config.search(9))]  # samples of the round before
    with pytest.raises(RunError, match="holds 4 policies, and there are 2 seeds"):
        reference.main(reference.Config(first_round=9, seeds=(0, 1), runs=tmp_path))


def test_what_is_stored_of_the_reference_player_is_its_curve_through_all_rounds_and_its_best_responses(
    league, monkeypatch
):
    config, stored = league
    before = agents.make(f"net:{config.pack}").digest
    for run in json.loads((stored / "reference.json").read_text())["results"]:
        steps = [point["timesteps"] for point in run["curve"]]
        assert steps == sorted(steps)
        assert steps[-1] >= 600 + 500 + 500
        assert [list(point["results"][0]["win_share"]) for point in run["best_responses"]] == [
            [f"net:{config.mixture(number)}"] for number in (0, 1)
        ]
        assert all(steps.count(point["timesteps"]) for point in run["best_responses"])
    make_small(monkeypatch, reference.EARLY, reference.LATE)
    monkeypatch.setattr(results, "RESULTS", stored)  # it takes the place of the same
    monkeypatch.setattr(training, "_train", lambda *_: pytest.fail("all is there already"))
    reference.main(config)
    assert agents.make(f"net:{config.pack}").digest == before
