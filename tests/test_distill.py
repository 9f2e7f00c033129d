"""A network distilled from search: what its samples are, what it is fitted to, and that its run goes on."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import agents
from agents.search import leads
from felicity_env import NUM_ACTIONS, SETUPS
from felicity_env.game import PASS, PLACE
from felicity_env.tables import Tables
from tests.helpers import C3, C15, M5, M8, auction, bid, play, random_game, random_words, view_of
from train import distill, gathering
from train.distill import Config, cli, error

SMALL = "--num-players 3 4 --rounds 2 --parts 2 --part-size 300 --worlds 2 --num-envs 12 --hidden-sizes 8 --epochs 2"
NAN = float("nan")


def small(tmp_path) -> list[str]:
    return [*SMALL.split(), "--threads", "1", "--batch-size", "100", "--run", str(tmp_path / "run")]


# --- samples ----------------------------------------------------------------------------------------------------------


def test_the_leads_are_over_what_tuned_would_do_and_of_the_actions_that_a_search_looks_at():
    states = np.concatenate([random_game(setup, 3).states[:-1:7] for setup in SETUPS.values()])
    view = view_of(states, random_words(len(states)))
    found, default = leads(view, worlds=2), agents.make("tuned").act(view)
    assert (found[np.arange(len(states)), default] == 0).all()
    assert (view.action_masks[~np.isnan(found)] == 1).all()
    for state, lead in zip(states, found, strict=True):
        tried = np.flatnonzero(~np.isnan(lead))
        if state["phase"] == PLACE:
            assert tried.tolist() == [card for card in range(10) if state["hands"][state["seat"]] >> card & 1]
        else:
            assert set(tried) <= {PASS, PASS + 1 + state["high_bid"]}


@pytest.mark.parametrize("threads", [2, 5])
def test_the_leads_are_the_same_with_however_many_threads(threads):
    view = view_of(states := random_game(SETUPS[4], 5).states[:-1:9], random_words(len(states)))
    assert np.array_equal(leads(view, worlds=3, threads=threads), leads(view, worlds=3), equal_nan=True)


@pytest.mark.parametrize(("cards", "good"), [((C15, C3, C3, C3), True), ((M8, M5, M5, M8), False)])
def test_a_raise_leads_for_a_good_sack_and_not_for_a_bad_one(cards, good):
    state = play(auction(4, cards), bid(1), PASS, PASS)
    states = np.array([state])
    found = leads(view_of(states, random_words(1)), worlds=200)[0]
    assert (found[PASS + 2] > found[PASS]) == good


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_before_there_is_a_network_learners_play_what_looks_best_in_a_share_of_decisions_and_else_as_tuned(
    tmp_path, monkeypatch, share
):
    expected, played, step = [], [], Tables.step

    def watched(view, **settings):
        found = leads(view, **settings)
        best = np.where(np.isnan(found), -np.inf, found).argmax(axis=1)
        chooses = share * (~np.isnan(found)).sum(axis=1) > 1
        expected.append(np.where(chooses, best, agents.make("tuned").act(view)))
        return found

    monkeypatch.setattr(distill, "OTHER_SHARE", share)
    monkeypatch.setattr(distill, "leads", watched)
    monkeypatch.setattr(Tables, "step", lambda tables, actions: played.append(actions) or step(tables, actions))
    samples = distill.samples(Config(run=tmp_path, num_envs=30, worlds=2), None, 0)
    next(samples)
    next(samples)
    assert len(played) == gathering.SPREAD_STEPS + 1
    for actions, wanted in zip(played[gathering.SPREAD_STEPS :], expected, strict=False):
        assert actions.tolist() == wanted.tolist()


# --- what the network is fitted to ------------------------------------------------------------------------------------


def row(**values: float) -> torch.Tensor:
    """Leads or logits by action; "a10" is a pass."""
    found = torch.full((1, NUM_ACTIONS), values.pop("rest", NAN))
    for name, value in values.items():
        found[0, int(name[1:])] = value
    return found


def test_logits_are_the_leads_over_the_temperature_up_to_a_constant():
    logits = row(a10=5.0, a11=7.0, rest=-50.0)
    assert error(logits, row(a10=0.0, a11=0.02), 0.01) == pytest.approx(0.0, abs=1e-12)
    assert error(logits, row(a10=0.0, a11=0.04), 0.01) == pytest.approx(2 * 0.01**2)  # each half the difference off
    cards = row(a0=1.0, a4=2.0, a9=-3.0, rest=-50.0)
    assert error(cards, row(a0=0.01, a4=0.02, a9=-0.03), 0.01) == pytest.approx(0.0, abs=1e-12)


def test_the_seed_decides_the_games_that_samples_come_from(tmp_path):
    config = Config(run=tmp_path, num_players=(4,), num_envs=4, worlds=1, threads=1)
    first, again, other = (
        next(distill.samples(replace(config, seed=seed), agents.make("tuned"), 0)) for seed in (1, 1, 2)
    )
    assert np.array_equal(first["observations"], again["observations"])
    assert not np.array_equal(first["observations"], other["observations"])


def test_raises_that_the_search_does_not_look_at_stay_far_below():
    found, logits = row(a10=0.0, a11=0.0), row(a10=0.0, a11=0.0, rest=-distill.MARGIN)
    assert error(logits, found, 0.01) == 0
    logits[0, 40] = 1.0 - distill.MARGIN
    assert error(logits, found, 0.01) == pytest.approx(0.01**2)
    logits[0, 40], logits[0, 3] = -distill.MARGIN, 9.0  # a card is never legal beside a raise
    assert error(logits, found, 0.01) == 0


# --- the run ----------------------------------------------------------------------------------------------------------


def test_a_run_leaves_a_policy_and_what_is_there_is_not_made_again(tmp_path, capfd, monkeypatch):
    assert cli(small(tmp_path)) == 0
    run = tmp_path / "run"
    assert f"net:{run}" in capfd.readouterr().out.replace("\n", "")
    player = agents.make(f"net:{run}")
    view = view_of(states := random_game(SETUPS[4], 5).states[:-1:9], random_words(len(states)))
    assert view.action_masks[np.arange(len(states)), player.act(view)].all()
    parts = sorted(path.name for path in (run / "samples").iterdir())
    assert parts == ["0-000.npz", "0-001.npz", "1-000.npz", "1-001.npz"]
    assert not np.array_equal(*(np.load(run / "samples" / name)["observations"] for name in parts[:2]))
    weights = (run / "policy.safetensors").read_bytes()
    (run / "policy.json").unlink()
    monkeypatch.setattr(distill, "samples", lambda *_: iter(()))  # they are there already
    assert cli(small(tmp_path)) == 0
    assert (run / "policy.safetensors").read_bytes() == weights
    (run / "policy.json").unlink()
    damaged = run / "samples" / "1-001.npz"
    damaged.write_bytes(damaged.read_bytes()[:-100])
    assert cli(small(tmp_path)) == 2
    assert f"{damaged} is damaged" in capfd.readouterr().err


def test_samples_of_another_run_count_too(tmp_path):
    assert cli(small(tmp_path)) == 0
    beside = [*small(tmp_path)[:-1], str(tmp_path / "beside"), "--also", str(tmp_path / "run")]
    assert cli(beside) == 0
    assert cli(beside) == 0  # goes on, with the same settings
    config = Config(run=tmp_path / "beside", parts=2, also=(tmp_path / "run",))
    assert len(distill.gathered(config, 2)["leads"]) == 2 * 4 * 300


def test_a_run_that_is_not_finished_is_no_policy(tmp_path):
    assert cli(small(tmp_path)) == 0
    run = tmp_path / "run"
    (run / "policy.json").unlink()
    with pytest.raises(ValueError, match=f"no policy can be read from {run}"):
        agents.make(f"net:{run}")


def test_fitting_makes_the_error_less(tmp_path):
    config = Config(run=tmp_path, num_players=(4,), num_envs=32, hidden_sizes=(32,), epochs=20, batch_size=100)
    config = replace(config, parts=1, part_size=2000, worlds=2, threads=1)
    (tmp_path / "samples").mkdir()
    distill.gather(config, 0, None)
    found = distill.gathered(config, 1)
    assert len(found["leads"]) == 2000
    begun, learned = (
        error(network.logits(found["observations"].float()), found["leads"].float(), 0.01).item()
        for network in (distill.fit(replace(config, epochs=1, learning_rate=1e-9), found), distill.fit(config, found))
    )
    assert learned < 0.9 * begun


def test_a_folder_of_other_settings_or_of_something_else_is_refused(tmp_path, capfd):
    assert cli(small(tmp_path)) == 0
    assert cli([*small(tmp_path), "--seed", "1"]) == 2
    assert "begun with other settings: seed" in capfd.readouterr().err
    (tmp_path / "thesis").mkdir()
    assert cli(["--run", str(tmp_path / "thesis")]) == 2
    assert "choose another --run" in capfd.readouterr().err
    for option, value, message in (
        ("--worlds", "0", "--worlds must be positive"),
        ("--others", "evv", "no player 'evv'"),
        ("--also", str(tmp_path), "there are no samples of this command"),
        ("--num-players", "7", "--num-players must be from [3, 4, 5], not 7"),
        ("--hidden-sizes", "0", "--hidden-sizes must be positive"),
    ):
        with pytest.raises(SystemExit):
            cli(["--run", str(tmp_path / "new"), option, value])
        assert message in " ".join(capfd.readouterr().err.split()).replace("│ ", "")
        assert not (tmp_path / "new").exists()
    assert json.loads((tmp_path / "run" / "config.json").read_text())["config"]["seed"] == 0
