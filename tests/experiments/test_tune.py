"""The search for the weights of `tuned`: candidates play as it does, in every seat, and a log resumes the search."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.arena.blocks import play_blocks
from agents.tools.files import UserError
from agents.tuned_weights import WEIGHTS_BY_SETUP
from experiments import results
from experiments.builds import tune
from felicity_env.setups import SETUPS, standard_setup

SMALL = tune.Config(num_players=(3,), starts=2, rounds=1, generations=2, population=4, num_deals=8, workers=1)


def test_a_player_with_the_stored_weights_plays_as_tuned():
    for name, result in results.read_result("tune")["results"].items():
        ours = [tune.WeightedPlayer(tune.to_vector(result["weights"]))] * SETUPS[name].seats
        theirs = [agents.make("tuned")] * SETUPS[name].seats
        rounds = [play_blocks(players, num_deals=2, seed=1).rounds for players in (ours, theirs)]
        assert (rounds[0] == rounds[1]).all()


def test_the_stored_weights_are_those_in_the_file(tmp_path, monkeypatch):
    stored, path = tune.TUNED_WEIGHTS.read_text(), tmp_path / "tuned_weights.py"
    monkeypatch.setattr(tune, "TUNED_WEIGHTS", path)
    tune.main(replace(SMALL, write=True))
    assert path.read_text() == stored


def test_weights_of_one_more_setup_are_written_beside_those_of_the_others(tmp_path, monkeypatch, stored):
    path = tmp_path / "tuned_weights.py"
    monkeypatch.setattr(tune, "TUNED_WEIGHTS", path)
    config = replace(SMALL, setup=("small-3",), write=True)
    with pytest.raises(UserError, match="there is no result tune_small-3; the same command without --write"):
        tune.main(config)
    stored.mkdir()
    found = {"results": {"small-3": {"weights": WEIGHTS_BY_SETUP["standard-3"]}}}
    (stored / "tune_small-3.json").write_text(json.dumps(found))
    tune.main(config)
    space: dict = {}
    exec(path.read_text(), space)
    assert space["WEIGHTS_BY_SETUP"] == WEIGHTS_BY_SETUP | {"small-3": WEIGHTS_BY_SETUP["standard-3"]}
    (stored / "tune_small-3.json").write_text(json.dumps({"results": {"custom-3-12345678": {}}}))
    with pytest.raises(UserError, match="add custom-3-12345678 to SETUPS"):
        tune.main(config)


def test_every_match_is_played_from_every_seat():
    seating = tune.draw_seating(4 * len(tune.MATCHES), 4, np.random.default_rng(0)).reshape(-1, 4, 4)
    assert len(seating) == len(tune.MATCHES)
    for games, (one, rest) in zip(seating, tune.MATCHES.values(), strict=True):
        assert (games[np.arange(4), np.arange(4)] == one).all()
        others = games[~np.eye(4, dtype=bool)]
        assert (others == rest).all() or (rest == tune.MIXED and set(others) <= {*tune.MIXTURE})


@pytest.mark.compiled("hundreds of games")
def test_a_candidate_that_bids_everything_has_less_fitness_than_the_start():
    deals = tune.draw_deals(standard_setup(4), SMALL, 1)
    start, wild = tune.to_vector(tune.START), tune.to_vector({"constant": 60.0, "alone": 1.0})
    assert tune.compute_fitness(start, start, deals, SMALL)[0] > tune.compute_fitness(wild, start, deals, SMALL)[0]


@pytest.mark.compiled("hundreds of games")
def test_a_search_resumes_from_its_log_and_refuses_one_with_other_settings(tmp_path, stored, monkeypatch):
    config = replace(SMALL, out=tmp_path / "tune")
    tune.main(config)
    first = read(stored)
    assert set(first["standard-3"]["weights"]) == set(tune.WEIGHTS.names or ())
    assert [len(start["curve"]) for start in first["standard-3"]["starts"]] == [2, 2]
    calls = []
    evaluate = tune._evaluate
    monkeypatch.setattr(tune, "_evaluate", lambda *arguments: calls.append(1) or evaluate(*arguments))
    tune.main(config)
    assert read(stored) == first
    assert len(calls) == 1  # the selection on new deals alone
    with pytest.raises(UserError, match=r"other settings \(margin\); choose another --out"):
        tune.main(replace(config, margin=0.5))


@pytest.mark.parametrize("settings", [{"margin": float("nan")}, {"population": 2}, {"seed": -1}])
def test_impossible_settings_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"--{name} must"):
        replace(SMALL, **settings)


def read(stored: Path) -> dict:
    return json.loads((stored / "tune.json").read_text())["results"]
