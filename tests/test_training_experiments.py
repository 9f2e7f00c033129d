"""Experiments that train: runs are made once and taken up again, and what is reported is what was measured."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.belief import expected_sack
from agents.estimates import bootstrap
from agents.network import NetworkPlayer, save_policy
from experiments import (
    ablation,
    exploit,
    first_player,
    kills,
    reference_strength,
    reference_style,
    results,
    training,
    training_speed,
)
from experiments.training import all_trained, over_seeds, trained
from felicity_env import SETUPS
from felicity_env.game import AUCTION, is_alone, pass_pays
from tests.helpers import random_game, random_words, view_of
from tests.selfplay_runs import QUICK
from train.__main__ import read_arguments
from train.policy import ActorCritic
from train.run_folder import RunError, write_json
from train.selfplay import SelfplayTrainer

TINY = [*QUICK.split(), "--algorithm", "selfplay", "--hidden-sizes", "8", "--total-timesteps", "600"]


def test_a_stored_result_gives_way_to_one_of_the_same_settings_alone(stored, capsys):
    settings = {"deals": 10, "codes": ("ev",), "workers": 2}
    other = results.write_result("found", settings, 1, started=0.0)
    assert other == stored / "found.json"  # what nobody has moved there is not stored
    path = results.RESULTS / "found.json"
    path.parent.mkdir()
    shutil.move(other, path)
    assert results.write_result("found", {**settings, "workers": 1}, 2, started=0.0) == path
    capsys.readouterr()
    assert results.write_result("found", {**settings, "deals": 5}, 3, started=0.0) == other
    assert f"{path} is of other settings (deals) and stays" in capsys.readouterr().out
    assert [json.loads(written.read_text())["results"] for written in (path, other)] == [2, 3]


def test_a_run_is_trained_once_resumed_if_it_was_stopped_and_its_failure_is_said(tmp_path, monkeypatch):
    run = tmp_path / "run"
    first = trained(run, TINY)
    monkeypatch.setattr(training.subprocess, "run", lambda *_, **__: pytest.fail("it is there already"))
    assert trained(run, TINY) == first
    monkeypatch.undo()
    (run / "evaluation.json").unlink()
    assert trained(run, TINY)["curve"] == first["curve"]  # resumed
    with pytest.raises(RunError, match="another total_timesteps and seed; delete it, or choose another --runs"):
        trained(run, [*TINY[:-1], "700", "--seed", "3"])
    with pytest.raises(RunError, match="ended with status 2"):
        trained(tmp_path / "other", [*TINY, "--mix", "nobody=1"])


def test_a_run_that_was_stopped_before_its_first_checkpoint_begins_anew_and_no_other_folder_is_touched(tmp_path):
    run, other = tmp_path / "run", tmp_path / "other"
    (run / "logs").mkdir(parents=True)
    begun = {"config": read_arguments(TINY).to_json(), "commit": "abc"}
    write_json(run / "config.json", begun)  # as a process that was killed at once leaves it
    assert trained(run, TINY)["config"]["total_timesteps"] == 600
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="ended with status 2"):
        trained(other, TINY)
    assert (other / "thesis.txt").exists()


def test_runs_side_by_side_come_back_in_order_and_say_what_they_say_into_files_of_their_own(tmp_path, capfd):
    wanted = [(tmp_path / f"seed{seed}", [*TINY, "--seed", str(seed)]) for seed in (3, 1)]
    found = list(all_trained(wanted, workers=2))
    assert [run["config"]["seed"] for run in found] == [3, 1]
    assert capfd.readouterr() == ("", "")
    assert "evaluating" in (tmp_path / "seed3.log").read_text()
    assert found[1]["curve"] == trained(*wanted[1])["curve"]


def test_after_a_failure_no_more_runs_are_begun_and_the_file_that_tells_of_it_is_named(tmp_path):
    wanted = [(tmp_path / str(k), ["--no-such-option"]) for k in range(8)]
    with pytest.raises(RunError, match=r"0\.log"):
        list(all_trained(wanted, workers=2))
    assert not (tmp_path / "7.log").exists()  # one or two more may have begun before the failure was seen


def test_the_mean_over_seeds_keeps_what_each_seed_got():
    runs = [np.array([0.0, 1.0]), np.array([0.5, 1.0])]
    found = over_seeds(runs)
    assert found["value"] == pytest.approx(0.625)
    assert found["seeds"] == pytest.approx([0.5, 0.75])


def test_the_interval_over_seeds_knows_how_far_the_seeds_lie_apart():
    far = over_seeds([np.full(500, 0.2), np.full(500, 0.5)])
    assert far["low"] == pytest.approx(0.2)
    assert far["high"] == pytest.approx(0.5)
    blocks = np.random.default_rng(0).random(400)
    near, alone = over_seeds([blocks, blocks]), bootstrap(blocks)
    assert near["low"] == pytest.approx(alone.low, abs=0.003)
    assert near["high"] == pytest.approx(alone.high, abs=0.003)


def exploit_config(tmp_path: Path, target: str) -> exploit.Config:
    return exploit.Config(
        target=target,
        num_players=3,
        seeds=(0, 1),
        total_timesteps=600,
        num_blocks=4,
        options="--num-envs 16 --num-steps 32 --batch-size 128 --hidden-sizes 8 --curve-blocks 2",
        runs=tmp_path / "runs",
    )


def test_the_gain_of_an_adversary_is_that_of_the_best_on_deals_of_their_own(tmp_path, stored):
    config = exploit_config(tmp_path, "reckless")
    exploit.main(config)
    written = json.loads((stored / "exploit_reckless_3p.json").read_text())["results"]
    shares = [found["selection"]["value"] for found in written["responses"]]
    best = written["responses"][int(np.argmax(shares))]
    assert written["best"] == {"start": "scratch", "seed": best["seed"]}
    folder = exploit.folder_of("scratch", best["seed"], config)
    assert written["win_share"] == exploit.win_share(f"net:{folder}", config, seed=exploit.SEED)
    assert written["gain"]["value"] == pytest.approx(written["win_share"]["value"] - 1 / 3)
    assert {found["config"]["mix"][0] for found in written["responses"]} == {"reckless=1"}
    assert all(found["config"]["guests"] == [] for found in written["responses"])  # alone among copies of the target
    assert all(found["config"]["reward"] == "win" for found in written["responses"])
    assert (stored / "exploit_reckless_3p.png").read_bytes().startswith(b"\x89PNG")


def test_settings_that_cannot_be_are_refused_before_anything_is_trained(tmp_path, capsys):
    config = replace(exploit_config(tmp_path, "reckless"), options="--num-envs 0")
    with pytest.raises(SystemExit, match="2"):
        exploit.main(config)
    assert "--num-envs must be positive" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--mix self=1", "--mix cannot be among them"),
        ("--gae-lambda 0.9 --reward=margin", "--reward=margin cannot be among them"),
        ("--init agents/net/0", "--init cannot be among them"),
        ("--mix 'self=1", "No closing quotation"),
    ],
)
def test_settings_that_make_an_adversary_cannot_be_others(tmp_path, options, told):
    config = replace(exploit_config(tmp_path, "reckless"), options=options)
    with pytest.raises(ValueError, match=f"--options: {told}"):
        exploit.main(config)
    assert not config.runs.exists()


def test_against_a_network_a_best_response_also_begins_from_its_own_weights(tmp_path, stored):
    trained(tmp_path / "target", [*TINY, "--num-players", "3", "--raises"])
    config = replace(exploit_config(tmp_path, f"net:{tmp_path / 'target'}"), seeds=(0,))
    exploit.main(config)
    (path,) = stored.glob("*.json")
    written = json.loads(path.read_text())["results"]
    assert [found["start"] for found in written["responses"]] == ["scratch", "own weights"]
    own = exploit.options_of(0, exploit.starts(agents.make(config.target))[exploit.OWN][0], config)
    begun = SelfplayTrainer(read_arguments(own), tmp_path)
    target = agents.make(config.target)
    assert isinstance(target, NetworkPlayer)
    assert all((a[0] == b[0]).all() for a, b in zip(target.layers, begun.layers(), strict=True))


def test_against_a_mixture_best_responses_begin_from_its_members_in_turn(tmp_path):
    for place in ("0", "1"):
        random_policy(tmp_path / place)
    starts = exploit.starts(agents.make(f"net:{tmp_path}"))[exploit.OWN]
    assert [options[1] for options in starts] == [str(tmp_path / "0"), str(tmp_path / "1")]


def test_a_network_that_the_trainer_cannot_begin_with_is_exploited_from_scratch_alone(tmp_path):
    save_policy(tmp_path, ActorCritic((8,), raises=False, seed=0).layers(), open_mice=True)  # with tanh
    config = exploit_config(tmp_path, f"net:{tmp_path}")
    assert list(exploit.starts(agents.make(config.target))) == ["scratch"]


def test_best_responses_to_other_weights_lie_in_another_folder(tmp_path):
    random_policy(tmp_path / "net")
    config = exploit_config(tmp_path, f"net:{tmp_path / 'net'}")
    before = exploit.folder_of("scratch", 0, config)
    layers = ActorCritic((8,), raises=True, seed=1).layers()
    save_policy(tmp_path / "net", layers, open_mice=True, activation="relu", algorithm="distill", commit="none")
    assert exploit.folder_of("scratch", 0, config) != before


def random_policy(folder: Path, **about: object) -> None:
    folder.mkdir(parents=True)
    layers = ActorCritic((8,), raises=True, seed=0).layers()
    save_policy(folder, layers, **{"open_mice": True, "activation": "relu", "algorithm": "distill", **about})


def test_the_arms_of_the_ablation_are_settings_that_exist_and_change_something(tmp_path):
    config = ablation.Config(runs=tmp_path / "of the ablation")
    for name in {name for arm in ablation.ARMS for name in ablation.named_in(arm)}:
        random_policy(ablation.run_of(name, 5, config))
    base = read_arguments(ablation.options_of(ablation.BASE, 5, config))
    for arm in ablation.ARMS:
        changed = read_arguments(ablation.options_of(arm, 5, config))
        assert (changed == base) == (arm == ablation.BASE), arm


def test_arms_are_trained_after_those_that_their_options_name():
    arms = ablation.with_named(["2 x 64", "exploiter among the others", "from distilled"])
    assert arms == ["base", "2 x 64", ablation.EXPLOITER, "exploiter among the others", "distilled", "from distilled"]
    assert [ablation.depth(arm) for arm in arms] == [0, 0, 1, 2, 0, 1]


def test_a_network_is_distilled_for_the_arms_that_want_one(tmp_path, stored, monkeypatch):
    asked = []
    monkeypatch.setattr(ablation, "made", lambda _module, folder, _options: asked.append(folder))
    monkeypatch.setattr(ablation, "all_trained", lambda runs, **_: [{} for _ in runs])
    config = ablation.Config(runs=tmp_path, seeds=(0, 3))
    assert len(list(ablation.all_runs(["base", "2 x 64"], config))) == 4
    assert not asked
    trained_arms = [found[:2] for found in ablation.all_runs(ablation.with_named(["from distilled"]), config)]
    assert trained_arms == [("base", 0), ("base", 3), ("from distilled", 0), ("from distilled", 3)]
    assert asked == [tmp_path / "distilled"]


def test_the_base_is_compared_with_its_other_seeds_and_gains_nothing_over_itself():
    config = ablation.Config(seeds=(0, 1, 2))
    tables = ablation.tables_of(1, config)
    assert [Path(code).name for code in tables["base"]] == ["base-seed0", "base-seed2"]
    runs = [{"ev": np.array([0.0, 1.0, 0.5])}, {"ev": np.array([1.0, 1.0, 0.0])}]
    found = ablation.compared(runs, runs)
    assert found["ev"]["gain"]["value"] == 0
    assert found["ev"]["share"]["value"] == pytest.approx(3.5 / 6)


def test_an_arm_that_is_not_there_and_a_lonely_seed_are_named():
    with pytest.raises(ValueError, match="--arms: no"):
        ablation.Config(arms=("more luck",))
    with pytest.raises(ValueError, match="--seeds needs different numbers, at least 2"):
        ablation.Config(seeds=(1,))


def test_the_reference_player_is_measured_in_both_formats_against_searches_of_a_given_time(tmp_path, stored, capfd):
    random_policy(tmp_path / "net")
    config = reference_strength.Config(
        num_players=3,
        player=f"net:{tmp_path / 'net'}",
        against=("anchor", "mc:2", "mc"),
        milliseconds=0.05,
        deals=6,
        search_deals=4,
        timed_deals=2,
        lone_deals=3,
        workers=1,
        out=tmp_path / "out",
    )
    reference_strength.main(config)
    written = json.loads((stored / "reference_strength_3p.json").read_text())
    pairs = written["results"]["pairs"]
    *others, timed = dict.fromkeys(pair["rest"] for pair in pairs if pair["one"] == config.player)
    assert others == ["anchor", "mc:2"]
    assert 1 <= int(timed.removeprefix("mc:")) < 100
    names = [(pair["one"], pair["rest"]) for pair in pairs]
    assert names == [pair for code in (*others, timed) for pair in ((config.player, code), (code, config.player))]
    assert [pair["measures"]["win_share"]["blocks"] for pair in pairs] == [6, 6, 4, 4, 2, 3]
    capfd.readouterr()
    reference_strength.main(config)  # a second time nothing is timed or played
    assert json.loads((stored / "reference_strength_3p.json").read_text())["results"] == written["results"]


def test_the_style_of_a_player_is_how_often_it_raises_and_what_it_lays_when(stored):
    config = reference_style.Config(players=("greedy", "pass"), num_players=3, num_games=40)
    reference_style.main(config)
    written = json.loads((stored / "reference_style.json").read_text())["results"]
    shares = {code: [share and share["value"] for share in found] for code, found in written["raises"].items()}
    assert set(shares["pass"]) <= {0.0, None}
    assert len(shares["greedy"]) == len(reference_style.GAINS)
    behind, ahead = np.array(shares["greedy"], float)[[2, -3]]  # it never pays more than the mean worth
    assert behind < 0.3 < 0.7 < ahead
    assert (stored / "reference_style.png").read_bytes().startswith(b"\x89PNG")


def test_the_share_of_a_card_is_among_the_decisions_in_which_it_might_have_been_laid():
    facts = np.zeros(60, reference_style.FACTS)
    facts["hand"] = [0b0011, 0b0101, 0b1000] * 20  # the last has no choice
    facts["first"], facts["leads"] = [True, False, True] * 20, True
    actions = np.array([1, 0, 3] * 10 + [0, 2, 3] * 10)
    games = np.repeat(np.arange(30), 2)
    played = reference_style.Decisions(games, facts, actions)
    found = reference_style.cards(played, reference_style.Config(num_games=30))
    assert found["leads"][0]["value"] == pytest.approx((10 + 10) / 40)
    assert found["lays first"][0]["value"] == pytest.approx(10 / 20)
    assert found["lays first"][1]["value"] == pytest.approx(10 / 20)
    assert found["leads"][2]["value"] == pytest.approx(10 / 20)
    assert found["leads"][3] is None
    assert found["lays last"][0] is None


def test_the_facts_of_a_decision_are_those_of_its_state():
    states = random_game(SETUPS[4], 3).states[:-1]
    view = view_of(states, random_words(len(states)))
    for state, fact in zip(view.states, reference_style.facts_of(view), strict=True):
        assert fact["bids"] == (state["phase"] == AUCTION)
        assert fact["hand"] == state["hands"][state["seat"]]
        assert fact["first"] == (state["seat"] == state["start_seat"])
        assert fact["last"] == (state["seat"] == (state["start_seat"] - 1) % 4)
        assert fact["mice"] == (state["pots"][2] > 0)
        assert fact["round_number"] == state["round_number"]
        most = 1 if is_alone(state) else state["mice"][state["seat"]]
        assert fact["may_raise"] == (state["phase"] == AUCTION and most > state["high_bid"])
        gain = expected_sack(state) - state["high_bid"] - 1 - pass_pays(state)
        assert fact["gain"] == pytest.approx(gain)
        scores = state["mice"][:4] + state["cat_points"][:4]
        others = np.delete(scores, state["seat"])
        assert fact["leads"] == (scores[state["seat"]] > others.max())


@pytest.mark.parametrize(
    "settings",
    [{"milliseconds": 0}, {"workers": 0}, {"deals": 1}, {"timed_deals": 1}, {"against": ()}, {"num_players": 2}],
)
def test_a_measurement_that_cannot_be_is_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"--{name.replace('_', '-')}"):
        reference_strength.Config(**settings)


def test_what_the_default_run_reaches_is_told_for_every_seed(tmp_path, stored, monkeypatch):
    results.RESULTS.mkdir()
    shutil.copy(Path(results.__file__).parent / "results" / "ladder.json", results.RESULTS)
    monkeypatch.setattr(first_player, "trained", lambda folder, options: trained(folder, [*TINY, *options]))
    first_player.main(first_player.Config(seeds=(2, 0), runs=tmp_path / "runs"))
    written = json.loads((stored / "first_player_selfplay.json").read_text())["results"]
    assert [run["config"]["seed"] for run in written["runs"]] == [2, 0]
    shares = [run["results"][0]["win_share"]["anchor"]["value"] for run in written["runs"]]
    assert written["summary"]["anchor"] == {"mean": np.mean(shares), "lowest": min(shares), "highest": max(shares)}
    assert (stored / "first_player_selfplay.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="--seeds"):
        first_player.Config(seeds=(0, 0))


def test_killed_runs_are_compared_with_their_twins(tmp_path, stored, capfd):
    kills.main(kills.Config(kills=2, total_timesteps=3000, longest_wait=0.3))
    written = json.loads((stored / "kills.json").read_text())["results"]
    assert written["kills"] >= 2
    assert written["all_the_same_bits"] is True


def test_the_speed_of_training_is_told_with_the_share_of_the_bare_passes(stored, monkeypatch):
    monkeypatch.setattr(training_speed, "SETTINGS", {"1 x 8": {"hidden_sizes": (8,), "num_steps": 16, "threads": 1}})
    training_speed.main(training_speed.Config(repetitions=2, num_envs=16, batch_size=64))
    (found,) = json.loads((stored / "training_speed.json").read_text())["results"].values()
    assert (found["num_envs"], found["batch_size"], found["rate_to_bare_passes"]["repetitions"]) == (16, 64, 2)
    assert 0 < found["rate_to_bare_passes"]["value"] < 1
    assert found["rate_to_passes_and_optimiser"]["repetitions"] == 2
    assert found["decisions_per_second"]["value"] < found["played_per_second"]["value"]
