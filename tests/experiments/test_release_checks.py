"""Release checks at tiny sizes: each measures what it says, and fails if a fault is planted."""

import gc
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.tools.files import UserError
from experiments.checks import damage, endurance, game_faults, invariants, leaks, malformed
from experiments.checks.position_faults import FAULTS
from felicity_env import Batch, game
from felicity_env.pettingzoo_env import raw_env
from felicity_env.player import write_observations
from tests.support.growing import begin_growing
from tests.support.helpers import plain
from tests.support.selfplay_runs import SMALL


def read(stored: Path, name: str) -> dict[str, Any]:
    return json.loads((stored / f"{name}.json").read_text())["results"]


CHUNKS = {  # name -> the outcome of a small chunk, given its number
    "invariants": lambda k: invariants.check_chunk(k, 3),
    "leaks": lambda k: leaks.check_chunk(k, leaks.Config(pairs=10, texts=1)),
    "leaks in full games": lambda k: leaks.check_chunk(k + 1, leaks.Config(pairs=1, texts=3)),
    "malformed": lambda k: malformed.check_chunk(k, malformed.Config(actions=100)),
    "damage of texts": lambda k: damage.check_chunk(k, damage.Config(texts=100, files=1)),
    "damage of files": lambda k: damage.check_chunk(k + 1, damage.Config(texts=1, files=20)),
}


@pytest.mark.parametrize("name", CHUNKS)
def test_a_chunk_depends_on_its_number_alone(name):
    """So a check that was stopped and resumed equals one that never was."""
    first = CHUNKS[name](0)
    np.random.seed(7)  # noqa: NPY002 - nothing may depend on it
    assert CHUNKS[name](0) == first


# --- invariants -------------------------------------------------------------------------------------------------------


def test_every_invariant_is_counted_in_every_setup(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(invariants, "GAMES_A_CHUNK", 4)
    invariants.main(invariants.Config(games=10, out=tmp_path))
    written = read(stored, "invariants")
    assert [written["counts"][f"games of standard-{players}"] for players in (3, 4, 5)] == [10, 10, 10]
    assert written["counts"]["decisions of standard-3"] > 300
    assert written["faults"] == dict.fromkeys(FAULTS[1:], 0)


def give_a_mouse(state: Any, action: int) -> None:
    game.step(state, action)
    state.mice[0] += action > game.PASS


def keep_the_start_player(state: Any, action: int) -> None:
    start, number = int(state.start_seat), int(state.round_number)
    game.step(state, action)
    if state.round_number != number:
        state.start_seat = state.seat = start


def forget_a_round(state: Any, action: int) -> None:
    number = int(state.round_number)
    game.step(state, action)
    state.round_number += int(state.round_number) > number and number == 3


def bid_for_nothing(state: Any, action: int) -> None:
    game.step(state, action if action <= game.PASS else min(action + 1, game.PASS + game.MAX_BID))


CHANGED_RULES = {
    "F1: mice appeared or vanished": give_a_mouse,
    "R5.8, R4.9: the wrong seat starts": keep_the_start_player,
    "round or phase went backwards or jumped": forget_a_round,
    "R4.3: bids do not fit, or do not increase": bid_for_nothing,
}


@pytest.mark.parametrize("fault", CHANGED_RULES)
def test_a_changed_rule_violates_its_invariant(fault, tmp_path, stored, monkeypatch):
    monkeypatch.setattr(game_faults, "step", CHANGED_RULES[fault])
    for name in ("_check_game", "_check_games"):  # in plain Python, where the changed rule is seen
        monkeypatch.setattr(game_faults, name, plain(getattr(game_faults, name)))
    with pytest.raises(UserError, match=fault[:4]):
        invariants.main(invariants.Config(games=2, out=tmp_path))
    assert read(stored, "invariants")["faults"][fault] > 0


# --- leaks ------------------------------------------------------------------------------------------------------------


def run_leaks(folder: Path) -> None:
    leaks.main(leaks.Config(pairs=60, texts=6, out=folder))


def test_nothing_leaks_in_a_few_pairs(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(leaks, "PAIRS_A_CHUNK", 20)
    monkeypatch.setattr(leaks, "TEXTS_A_CHUNK", 2)
    run_leaks(tmp_path)
    written = read(stored, "leaks")
    counts = written["counts"]
    assert (counts["pairs"], counts["worlds"], counts["pairs in full games"]) == (60, 480, 6)
    assert counts["worlds other than the truth"] > 240
    assert counts["compared after steps"] > 60
    assert counts["worlds in full games"] > 20
    assert {"observation differs", "reward round differs", "rendered text differs"} <= written["faults"].keys()
    assert not any(written["faults"].values())


def leak_a_hand(states: np.ndarray, seats: np.ndarray, open_mice: bool, out: np.ndarray) -> None:
    write_observations(states, seats, open_mice, out)
    out[:, -1] += states["hands"][np.arange(len(states)), (seats + 1) % states["num_seats"]] % 7


def test_a_leak_in_an_observation_is_found(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(leaks, "write_observations", leak_a_hand)
    with pytest.raises(UserError, match=r"observation differs: .*observation with open mice differs"):
        run_leaks(tmp_path)


def test_a_leak_in_the_infos_of_the_environment_is_found(tmp_path, stored, monkeypatch):
    def load(env: raw_env, record: Any) -> None:
        honest(env, record)
        env.infos = {agent: {"removed": record.deal.removed} for agent in env.infos}

    honest = raw_env.load
    monkeypatch.setattr(raw_env, "load", load)
    with pytest.raises(UserError, match=r"^info in PettingZoo differs: [0-9]+$"):
        run_leaks(tmp_path)


def test_a_resampler_that_forgets_what_a_seat_knows_is_found(tmp_path, stored, monkeypatch):
    def resample(redacted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        worlds = honest(redacted, rng)
        worlds["cat_points"][:, 0] += 1
        return worlds

    honest = leaks.resample
    monkeypatch.setattr(leaks, "resample", resample)
    with pytest.raises(UserError, match="redacted state differs"):
        leaks.main(leaks.Config(pairs=10, texts=1, out=tmp_path))


# --- malformed actions ------------------------------------------------------------------------------------------------


def run_malformed(folder: Path) -> None:
    malformed.main(malformed.Config(actions=3000, out=folder))


def test_malformed_actions_of_every_kind_are_refused(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(malformed, "ACTIONS_A_CHUNK", 1500)
    run_malformed(tmp_path)
    written = read(stored, "malformed")
    kinds = [f"raw_env: {kind}" for kind in (*malformed.SINGLE, "finished game")]
    kinds += [f"Batch: {kind}" for kind in (*malformed.IN_BATCH, "finished game")]
    assert set(written["counts"]) == set(kinds)
    assert sum(written["counts"].values()) == 6000
    assert not any(written["faults"].values())


@pytest.mark.parametrize(
    ("face", "before", "after", "fault"),
    [
        (raw_env, lambda env, action: env._actions.append(10), None, r"raw_env: changed the state: [0-9]+"),
        (raw_env, lambda env, action: [][0], None, r"raw_env: raised another error: [0-9]+"),
        (Batch, None, lambda batch, actions: batch.rewards.fill(1.0), r"Batch: changed the state: [0-9]+"),
    ],
)
def test_a_step_that_changes_something_before_it_refuses_is_found(
    face, before, after, fault, tmp_path, stored, monkeypatch
):
    def step(self, action, *others):
        if before:
            before(self, action)
        try:
            return honest(self, action, *others)
        except (ValueError, TypeError):
            if after:
                after(self, action)
            raise

    honest = face.step
    monkeypatch.setattr(face, "step", step)
    with pytest.raises(UserError, match=fault):
        malformed.main(malformed.Config(actions=3, out=tmp_path))


def test_an_accepted_malformed_action_is_found(tmp_path, stored, monkeypatch):
    honest = raw_env.step
    monkeypatch.setattr(raw_env, "step", lambda env, action: None if isinstance(action, str) else honest(env, action))
    with pytest.raises(UserError, match=r"raw_env: accepted \(wrong type\): [0-9]+"):
        malformed.main(malformed.Config(actions=300, out=tmp_path))


# --- damage -----------------------------------------------------------------------------------------------------------


def run_damage(folder: Path) -> None:
    damage.main(damage.Config(texts=300, files=90, out=folder))


def test_damaged_texts_and_files_are_refused(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(damage, "TEXTS_A_CHUNK", 100)
    monkeypatch.setattr(damage, "FILES_A_CHUNK", 30)
    run_damage(tmp_path)
    written = read(stored, "damage")
    counts = written["counts"]
    assert sum(count for name, count in counts.items() if name.startswith("texts")) == 300
    assert counts["policies: refused"] == counts["checkpoints: refused"] == counts["parts: refused"] == 30
    assert not any(written["faults"].values())


def test_errors_without_the_line_are_found(tmp_path, stored, monkeypatch):
    def loads(text: str) -> Any:
        try:
            return honest(text)
        except ValueError as error:
            raise ValueError(str(error).partition(": ")[2]) from None

    honest = damage.loads
    monkeypatch.setattr(damage, "loads", loads)
    with pytest.raises(UserError, match=r"texts: refused without naming the line: [0-9]+"):
        run_damage(tmp_path)


def test_games_that_are_lost_when_written_are_found(tmp_path, stored, monkeypatch):
    honest = damage.dumps
    monkeypatch.setattr(damage, "dumps", lambda record: honest(replace(record, actions=record.actions[:-1])))
    with pytest.raises(UserError, match=r"texts: another game, which is lost when written: [0-9]+"):
        run_damage(tmp_path)


def test_a_checksum_that_is_not_looked_at_is_found(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(damage, "load_policy", lambda folder: ([], {}))
    with pytest.raises(UserError, match="policies: accepted: 90"):
        run_damage(tmp_path)


# --- endurance --------------------------------------------------------------------------------------------------------


def play_here(begin: endurance.Begin, decisions: int, warm_up: int, seed: int) -> tuple[int, int, int]:
    """Play a stretch in this process, whose memory depends on other tests."""
    gc.freeze()  # what other tests left takes long to search for garbage
    played, before, _ = endurance.play_stretch(begin, decisions, warm_up, seed)
    gc.unfreeze()
    return played, before, before


@pytest.mark.compiled("hundreds of decisions on every face, with players that take minutes in plain Python")
@pytest.mark.linux("memory is read from /proc")
def test_every_face_plays_its_decisions(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(endurance, "measure_stretch", play_here)
    monkeypatch.setattr(endurance, "DEALS_AT_ONCE", 1)
    settings = {name: value for name, value in SMALL.items() if name not in ("threads", "device", "total_timesteps")}
    monkeypatch.setattr(endurance, "SELFPLAY", settings)
    endurance.main(endurance.Config(batch_decisions=20_000, decisions=600, stretches=2, out=tmp_path))
    counts = read(stored, "endurance")["counts"]
    assert counts["Batch: decisions"] >= 20_000
    assert all(counts[f"{face}: decisions"] >= 600 for face in endurance.FACES)
    assert all(counts[f"{face}: KiB, stretch 1, start"] > 10_000 for face in endurance.FACES)


@pytest.mark.linux("memory is read from /proc")
def test_a_list_that_grows_is_found(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(endurance, "FACES", {"growing": begin_growing})
    with pytest.raises(UserError, match="growing: memory grew by 1 % or more: 1"):
        endurance.main(endurance.Config(decisions=200, stretches=1, out=tmp_path))
    assert read(stored, "endurance")["counts"]["growing: decisions"] == 200


@pytest.mark.linux("memory is read from /proc")
def test_a_stretch_is_played_in_a_new_process():
    played, before, after = endurance.measure_stretch(endurance.begin_batch, 10_000, 1, 1)
    assert played >= 10_000
    assert after >= before > 10_000


def test_memory_that_grows_in_all_stretches_together_is_a_fault():
    counts = {}
    for face in endurance.FACES:
        grown = 6 if face == "arena" else 4
        for stretch in range(2):
            counts |= {
                f"{face}: KiB, stretch {stretch}, start": 1000,
                f"{face}: KiB, stretch {stretch}, end": 1000 + grown,
            }
    found = [name for name, number in endurance.find_growth(counts).items() if number]
    assert found == ["arena: memory grew by 1 % or more"]
