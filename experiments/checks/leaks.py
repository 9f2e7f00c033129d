"""Question: does a seat receive information that it may not have? `python -m experiments leaks`

A pair is a random position and a seat. The cards that the seat may not know are resampled, which gives a world that is
possible from the point of view of the seat. Everything that the seat is shown must be the same, byte for byte, in the
true game and in every such world. This is compared at the position and after each of the next steps, until a card is
shown that differs. In each step the same bid or pass is played in both games, but a card that another seat places may
differ.

Further pairs are compared in full games: what the PettingZoo environment shows (observation, mask, reward, info), the
rendered text and the information state. The command fails if anything differs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check
from experiments.checks.pairs import Pair, draw_pairs, rebuild_game
from experiments.checks.random_games import diverse_action, random_positions
from felicity_env.game import (
    MAX_SETS,
    NUM_ACTIONS,
    PLACE,
    STATE,
    Setup,
    is_legal,
    is_terminal,
    rank,
    score,
    step,
)
from felicity_env.information import encode_information_state, redact, resample
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE
from felicity_env.pettingzoo_env import raw_env
from felicity_env.player import random_action, write_action_masks, write_observations
from felicity_env.random_stream import mix
from felicity_env.render.scene import build_view_scene
from felicity_env.render.svg import draw_svg
from felicity_env.render.text import draw_text
from felicity_env.rewards import REWARDS, reward_code, step_rewards
from felicity_env.setups import SETUPS

WORLDS = 8
NEXT_STEPS = 6
PAIRS_A_CHUNK, TEXTS_A_CHUNK = 2000, 50
_SAME, _APART, _IMPOSSIBLE = range(3)  # of a world after a step: no known card differs, one does, it is no legal game
IMPOSSIBLE = "a world in which the next action of the game is illegal"


@dataclass(frozen=True)
class Config:
    """Compare what a seat is shown in the true game and in resampled worlds, in all standard setups."""

    resumes: ClassVar[bool] = True
    pairs: int = 1_000_000
    """Number of pairs of a position and a seat, each compared with 8 resampled worlds; more find rarer leaks."""
    texts: int = 20_000
    """Number of further pairs that are compared by full games, rendered text and information state, which is slow."""
    out: Path = Path("runs/leaks")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_at_least(self, pairs=1, texts=1)


# --- states -----------------------------------------------------------------------------------------------------------


@kernel
def _write_rewards(states, seats, code, work, out):
    for k in range(len(states)):
        step_rewards(states[k], code, work)
        out[k] = work[seats[k]]


@kernel
def _write_infos(states, seats, out):
    for k in range(len(states)):
        out[k] = 0
        if is_terminal(states[k]):
            out[k, 0], out[k, 1] = score(states[k], seats[k]), rank(states[k], seats[k])
            out[k, 2], out[k, 3] = states[k].cat_points[seats[k]], states[k].mice[seats[k]]


def collect_shown(states: np.ndarray, seats: np.ndarray) -> dict[str, np.ndarray]:
    """Return everything that a seat is shown in each of B states, as a dictionary from names to arrays [B, ...].

    It holds redacted states, observations, action masks, rewards of every kind and infos. seats: one seat for each
    state, integers [B].
    """
    shown: dict[str, np.ndarray] = {"redacted state": redact(states, seats).view(np.uint8).reshape(len(states), -1)}
    for name, open_mice in (("observation", False), ("observation with open mice", True)):
        shown[name] = np.empty((len(states), OBS_SIZE), np.float32)
        write_observations(states, seats, open_mice, shown[name])
    shown["action mask"] = np.empty((len(states), NUM_ACTIONS), np.int8)
    write_action_masks(states, seats, shown["action mask"])
    for name in REWARDS:
        shown[f"reward {name}"] = np.empty((len(states), 1))
        _write_rewards(states, seats, reward_code(name), np.empty(MAX_SETS), shown[f"reward {name}"][:, 0])
    shown["info"] = np.empty((len(states), 4), np.int64)
    _write_infos(states, seats, shown["info"])
    return shown


@kernel
def _shows_same_cards(one, other):
    """Return whether two states agree in all face-up cards and in all cards of earlier rounds (R8.3).

    The two games must have the same bids so far.
    """
    different = 0
    for slot in range(one.face_up):
        different += one.row[slot] != other.row[slot]
    for owner in range(MAX_SETS):
        different += one.played[owner] != other.played[owner]
    return different == 0


@kernel
def _step_truth(states, bits):
    for k in range(len(states)):
        if not is_terminal(states[k]):
            step(states[k], diverse_action(states[k], bits[k]))


@kernel
def _step_worlds(truths, seats, bits, worlds, outcomes):
    """Play in each world the action that is played in its true game; but where another seat places, play a random card.

    Worlds whose entry in `outcomes` is not _SAME are left unchanged. If the action is illegal in a world, its outcome
    becomes _IMPOSSIBLE.
    """
    for k in range(len(worlds)):
        if outcomes[k] == _SAME:
            action = diverse_action(truths[k], bits[k])
            if worlds[k].phase == PLACE and worlds[k].seat != seats[k]:
                action = random_action(worlds[k], np.uint64(mix(bits[k])))
            outcomes[k] = _SAME if is_legal(worlds[k], action) else _IMPOSSIBLE
            if outcomes[k] == _SAME:
                step(worlds[k], action)


@kernel
def _compare_cards(truths, worlds, outcomes):
    for k in range(len(worlds)):
        if outcomes[k] == _SAME and not _shows_same_cards(truths[k], worlds[k]):
            outcomes[k] = _APART


def count_differences(
    truth: dict[str, np.ndarray], world: dict[str, np.ndarray], compared: np.ndarray
) -> dict[str, int]:
    """Return for each array shown to a seat, such as "observation", in how many pairs the truth and the world differ.

    Only the pairs for which `compared`, bool [B], is true are counted. Values are compared byte for byte.
    """
    counts = {}
    for name, expected in truth.items():
        differs = (expected.view(np.uint8) != world[name].view(np.uint8)).any(axis=1)
        counts[f"{name} differs"] = int((differs & compared).sum())
    return counts


def _play_on(truth: np.ndarray, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Return a list of the true states [B] after 0, 1, ... NEXT_STEPS steps, and the random bits [NEXT_STEPS, B].

    Each step plays a random action in every game that is not over; the random bits decide which action.
    """
    bits = rng.integers(2**64, size=(NEXT_STEPS, len(truth)), dtype=np.uint64)
    truths = [truth]
    for part in bits:
        truths.append(truths[-1].copy())
        _step_truth(truths[-1], part)
    return truths, bits


def compare_states(setup: Setup, count: int, rng: np.random.Generator) -> Outcome:
    """Check for `count` random pairs of a position and a seat that the seat is shown the same in resampled worlds.

    It is compared at the position and after each of the next steps. Returns the numbers of pairs, worlds and
    comparisons, and how often each thing shown differs.
    """
    truth = random_positions(setup, rng.integers(2**64, size=count, dtype=np.uint64))
    seats = rng.integers(setup.seats, size=count)
    truths, bits = _play_on(truth, rng)
    shown = [collect_shown(states, seats) for states in truths]
    redacted = redact(truth, seats)
    counts = {"pairs": count, "worlds": count * WORLDS, "worlds other than the truth": 0, "compared after steps": 0}
    faults: dict[str, int] = {IMPOSSIBLE: 0}
    for _ in range(WORLDS):
        worlds, outcomes = resample(redacted, rng), np.full(count, _SAME)
        counts["worlds other than the truth"] += int((worlds != truth).sum())
        for number, states in enumerate(truths):
            if number:
                outcomes[truths[number - 1]["seat"] < 0] = _APART  # the game was over
                _step_worlds(truths[number - 1], seats, bits[number - 1], worlds, outcomes)
                _compare_cards(states, worlds, outcomes)
                counts["compared after steps"] += int((outcomes == _SAME).sum())
            differences = count_differences(shown[number], collect_shown(worlds, seats), outcomes == _SAME)
            faults = {name: faults.get(name, 0) + differences.get(name, 0) for name in {**faults, **differences}}
        faults[IMPOSSIBLE] += int((outcomes == _IMPOSSIBLE).sum())
    return Outcome(counts, faults)


# --- full games -------------------------------------------------------------------------------------------------------


def collect_texts(env: raw_env, seat: int) -> dict[str, Any]:
    """Return everything that a seat is shown of the current game of a PettingZoo environment, by name.

    It holds the observation, the reward, the info, the rendered text and picture and the information state.
    """
    agent = env.possible_agents[seat]
    memory, state = env.information_state(seat), env.game.final_states()[0]
    scenes = [build_view_scene(state, seat, open_mice=open_mice) for open_mice in (False, True)]
    return {
        "observation in PettingZoo": {name: array.tobytes() for name, array in env.observe(seat).items()},
        "reward in PettingZoo": (env.rewards[agent], env._cumulative_rewards[agent]),
        "info in PettingZoo": (env.infos[agent], env.terminations[agent], env.agent_selection),
        "rendered text": list(map(draw_text, scenes)),
        "picture": list(map(draw_svg, scenes)),
        "information state": memory,
        "encoded information state": encode_information_state(memory).tobytes(),
    }


def list_worlds(pair: Pair, rng: np.random.Generator) -> np.ndarray:
    """Return different worlds that are possible for the seat of a pair at its position, STATE [K].

    WORLDS (8) worlds are resampled, and equal ones are returned only once.
    """
    worlds = resample(redact(np.repeat(pair.states, WORLDS), pair.seat), rng)
    return np.unique(worlds.view(np.uint8).reshape(WORLDS, -1), axis=0).reshape(-1).view(STATE)


def compare_texts(setup: Setup, count: int, rng: np.random.Generator) -> Outcome:
    """Check for `count` random pairs of a position and a seat that full games show the seat the same in all its worlds.

    Compares what the PettingZoo environment, text, pictures and the information state show. Returns the numbers of
    pairs and worlds, and how often each thing shown differs.
    """
    env = raw_env(setup=setup, reward="round")
    counts, faults = {"pairs in full games": count, "worlds in full games": 0}, dict[str, int]()
    for pair in draw_pairs(setup, count, seed=int(rng.integers(2**63)), early=7):
        env.load(pair.game)
        truth = collect_texts(env, pair.seat)
        for world in list_worlds(pair, rng):
            env.load(rebuild_game(pair, world))
            counts["worlds in full games"] += 1
            for name, shown in collect_texts(env, pair.seat).items():
                faults[f"{name} differs"] = faults.get(f"{name} differs", 0) + (shown != truth[name])
    return Outcome(counts, faults)


def check_chunk(k: int, config: Config) -> Outcome:
    """Do chunk k of the check and return its result: the first chunks compare states, the others full games.

    Successive chunks belong to the setups in turn.
    """
    setup, rng = list(SETUPS.values())[k % len(SETUPS)], np.random.default_rng([SEEDS["leaks"], k])
    of_states = count_chunks(config.pairs, PAIRS_A_CHUNK)
    if k < of_states:
        return compare_states(setup, chunk_size(config.pairs, PAIRS_A_CHUNK, k), rng)
    return compare_texts(setup, chunk_size(config.texts, TEXTS_A_CHUNK, k - of_states), rng)


def main(config: Config) -> None:
    """Compare all pairs, store the counts, and raise `UserError` if a seat can tell two worlds apart.

    An interrupted check continues with the first chunk of pairs that was not finished.
    """
    num_chunks = count_chunks(config.pairs, PAIRS_A_CHUNK) + count_chunks(config.texts, TEXTS_A_CHUNK)
    run_check("leaks", config, lambda k: check_chunk(k, config), num_chunks, source=__file__)
