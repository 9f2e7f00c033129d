"""Question: are malformed actions refused, and nothing changed? `python -m experiments malformed`

Malformed actions are given to `raw_env.step` and to `Batch.step` at random positions, also of finished games: values of
a wrong type, out of range, illegal now, not finite, huge, or arrays of a wrong shape. Each must raise `ValueError` or
`TypeError`, and the state must be the same afterwards, byte for byte. The command fails if an action is accepted,
raises anything else, or changes anything.
"""

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check
from felicity_env import Batch, game_seed
from felicity_env.game import NO_SEAT, NUM_ACTIONS
from felicity_env.pettingzoo_env import raw_env
from felicity_env.player import RandomPlayer
from felicity_env.setups import STANDARD_PLAYERS

ACTIONS_A_CHUNK = 5000
TRIES = 4  # number of malformed actions at a position
POSITIONS = 130  # number of positions of a batch, in which many games come to their end
NUM_GAMES = 8  # of a batch
ACCEPTED, OTHER_ERROR, CHANGED = "accepted", "raised another error", "changed the state"
Rng = np.random.Generator


@dataclass(frozen=True)
class Config:
    """Give malformed actions to the PettingZoo environment and to batches of games, and check that all are refused."""

    resumes: ClassVar[bool] = True
    actions: int = 1_000_000
    """Number of malformed actions for each of `raw_env.step` and `Batch.step`; more find rarer faults."""
    out: Path = Path("runs/malformed")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_at_least(self, actions=1)


# --- malformed values -------------------------------------------------------------------------------------------------


def draw_action(rng: Rng) -> int:
    """Draw a random number of the action space, which is an action in some positions of the game."""
    return int(rng.integers(NUM_ACTIONS))


def draw_out_of_range(rng: Rng) -> Any:
    """Draw a random integer outside the action space. Its type is that of Python or of NumPy."""
    near, far = int(rng.integers(1, 300)), 1 << int(rng.integers(8, 63))
    number = int(rng.choice([-near, NUM_ACTIONS - 1 + near, far, -far]))
    return rng.choice([np.int64(number), np.array(number)]) if rng.random() < 0.3 else number


WRONG_TYPES: tuple[Callable[[Rng], Any], ...] = (
    lambda rng: str(draw_action(rng)),
    lambda rng: str(draw_action(rng)).encode(),
    lambda rng: float(draw_action(rng)),
    lambda rng: np.float32(draw_action(rng)),
    lambda rng: complex(draw_action(rng)),
    lambda rng: Fraction(draw_action(rng)),
    lambda rng: Decimal(draw_action(rng)),
    lambda rng: bool(rng.integers(2)),
    lambda rng: np.bool_(rng.integers(2)),
    lambda rng: np.timedelta64(draw_action(rng), "s"),
    lambda rng: np.datetime64(draw_action(rng), "s"),
    lambda rng: {draw_action(rng): 1},
    lambda rng: {draw_action(rng)},
    lambda rng: object(),
    lambda rng: len,
    lambda rng: slice(draw_action(rng)),
)
WRONG_SHAPES: tuple[Callable[[Rng], Any], ...] = (
    lambda rng: [draw_action(rng)],
    lambda rng: (draw_action(rng),),
    lambda rng: np.array([draw_action(rng)]),
    lambda rng: np.array([[draw_action(rng)]]),
    lambda rng: np.zeros(0, np.int64),
    lambda rng: np.zeros((2, 0, 3), np.int8),
    lambda rng: rng.integers(NUM_ACTIONS, size=NUM_GAMES + int(rng.choice([-1, 1]))),
    lambda rng: rng.integers(NUM_ACTIONS, size=(NUM_GAMES, 1)),
    lambda rng: [[draw_action(rng)], draw_action(rng)],
)
NOT_FINITE = (float("nan"), float("inf"), -float("inf"), np.float32("nan"), np.datetime64("NaT"), complex("nan"))


def choose(table: tuple[Callable[[Rng], Any], ...], rng: Rng) -> Any:
    """Call one of the functions in `table`, chosen at random, and return the value that it returns."""
    return table[rng.integers(len(table))](rng)


def draw_illegal(mask: np.ndarray, rng: Rng) -> int:
    """Draw a random action that the action mask of the current position declares illegal."""
    return int(rng.choice(np.flatnonzero(mask == 0)))


SINGLE: dict[str, Callable[[np.ndarray, Rng], Any]] = {  # kind -> malformed action, given the action mask
    "wrong type": lambda mask, rng: choose(WRONG_TYPES, rng),
    "wrong shape": lambda mask, rng: choose(WRONG_SHAPES, rng),
    "out of range": lambda mask, rng: draw_out_of_range(rng),
    "huge": lambda mask, rng: int(rng.choice([-1, 1])) * (1 << int(rng.integers(63, 300))) + draw_action(rng),
    "not finite": lambda mask, rng: NOT_FINITE[rng.integers(len(NOT_FINITE))],
    "illegal now": draw_illegal,
    "none": lambda mask, rng: None,
}


# --- the PettingZoo environment ---------------------------------------------------------------------------------------


class Face(NamedTuple):
    """Interface of the game that is tested: its method `step` and a function that returns its whole state as bytes."""

    name: str
    step: Callable[..., Any]
    snapshot: Callable[[], bytes]

    def find_fault(self, *arguments: Any) -> str:
        """Call `step` with malformed arguments, and return the name of the fault, or "" if they are properly refused.

        A proper refusal raises `ValueError` or `TypeError` and leaves the state unchanged.
        """
        before = self.snapshot()
        try:
            self.step(*arguments)
        except (ValueError, TypeError):
            return "" if self.snapshot() == before else CHANGED
        except Exception:
            return OTHER_ERROR
        return ACCEPTED


class Tally:
    """Counts of the malformed actions given to one interface, and of its faults, by the kind of action."""

    def __init__(self, face: str) -> None:
        self.face = face
        self.counts: Counter[str] = Counter()
        self.faults = Counter({f"{face}: {fault}": 0 for fault in (ACCEPTED, OTHER_ERROR, CHANGED)})

    def add(self, kind: str, fault: str) -> None:
        """Count one malformed action of a kind, and its fault unless `fault` is empty.

        A fault is counted twice: by its name alone, and by its name with the kind of the action.
        """
        self.counts[f"{self.face}: {kind}"] += 1
        if fault:
            self.faults[f"{self.face}: {fault}"] += 1
            self.faults[f"{self.face}: {fault} ({kind})"] += 1


def check_environment(count: int, rng: Rng) -> Tally:
    """Give `count` malformed actions to `raw_env.step` in random games, and count the faults.

    Several are given at each position, also after the end of a game.
    """
    env = _new_environment(rng)
    names = [name for name in env.clone() if name != "setup"]
    face = Face("raw_env", env.step, lambda: pickle.dumps([getattr(env, name) for name in names]))
    tally = Tally(face.name)
    for number in range(count):
        mask, is_over = env.observe(env.agent_selection)["action_mask"], env.terminations[env.agent_selection]
        kind, action = draw_malformed(mask, is_over=is_over, rng=rng)
        fault = face.find_fault(action)
        tally.add(kind, fault)
        if fault or (is_over and number % TRIES == 0):
            env.reset(seed=int(rng.integers(2**62)))
        elif number % TRIES == 0:
            env.step(int(rng.choice(np.flatnonzero(mask))))
    return tally


def _new_environment(rng: Rng) -> raw_env:
    env = raw_env(int(rng.choice(STANDARD_PLAYERS)))
    env.reset(seed=int(rng.integers(2**62)))
    return env


def draw_malformed(mask: np.ndarray, *, is_over: bool, rng: Rng) -> tuple[str, Any]:
    """Draw a malformed action for a position with the given action mask, and return its kind and the action.

    is_over: whether the game is over. If it is, the kind returned is "finished game".
    """
    kinds = [kind for kind in SINGLE if not (is_over and kind == "none")]  # after the end, None is right
    kind = kinds[rng.integers(len(kinds))]
    return ("finished game" if is_over else kind), SINGLE[kind](mask, rng)


# --- batches ----------------------------------------------------------------------------------------------------------


def spoil_one(batch: Batch, actions: np.ndarray, rng: Rng) -> np.ndarray:
    """Return a copy of the actions of a batch in which one random action is replaced by an illegal number."""
    game = int(rng.integers(len(actions)))
    is_near = rng.random() < 0.7
    illegal = draw_illegal(batch.action_masks[game], rng) if is_near else int(rng.integers(NUM_ACTIONS, 2**62))
    spoiled = actions.copy()
    spoiled[game] = illegal if rng.random() < 0.8 else -1 - illegal
    return spoiled


def convert(actions: np.ndarray, rng: Rng) -> Any:
    """Return the actions of a batch as a malformed value of a random kind.

    It is an array of a type other than integers, a list with one element that is no action, or a generator.
    """
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: actions.astype(np.float64),
        lambda: actions.astype(bool),
        lambda: actions.astype(object),
        lambda: actions.astype(str),
        lambda: actions.astype(complex),
        lambda: actions.astype("m8[s]"),
        lambda: [*actions[1:].tolist(), choose(WRONG_TYPES[:6], rng)],
        lambda: [*actions[1:].tolist(), None],
        lambda: [*actions[1:].tolist(), NOT_FINITE[rng.integers(len(NOT_FINITE))]],
        lambda: [*actions[1:].tolist(), 1 << int(rng.integers(63, 300))],
        lambda: (action for action in actions.tolist()),
    )
    return kinds[rng.integers(len(kinds))]()


def reshape(actions: np.ndarray, rng: Rng) -> Any:
    """Return the actions of a batch in a random wrong shape, with too few, too many or nested actions."""
    shapes: tuple[Callable[[], Any], ...] = (
        lambda: actions[1:],
        lambda: np.append(actions, actions[0]),
        lambda: actions[:, None],
        lambda: actions[None],
        lambda: int(actions[0]),
        lambda: actions[:0],
        lambda: [actions.tolist(), *actions.tolist()],
    )
    return shapes[rng.integers(len(shapes))]()


def spoil_indices(actions: np.ndarray, rng: Rng) -> tuple[np.ndarray, Any]:
    """Return the legal actions of a batch, unchanged, together with malformed indices of their games.

    The indices are repeated, out of range, of a wrong shape, or no integers.
    """
    games = np.arange(len(actions))
    outside = int(rng.choice([-1, 1])) * int(rng.integers(len(actions), 2**62))
    kinds: tuple[Any, ...] = (
        np.where(games == 0, 1, games),
        np.where(games == int(rng.integers(len(games))), outside, games),
        games - 1,
        games.astype(float),
        games.astype(bool),
        games[:, None],
        games[1:],
        int(games[0]),
        [*games[1:].tolist(), "0"],
    )
    return actions, kinds[rng.integers(len(kinds))]


IN_BATCH: dict[str, Callable[[Batch, np.ndarray, Rng], tuple[Any, Any]]] = {  # kind -> arguments of `step`
    "wrong type": lambda batch, actions, rng: (convert(actions, rng), None),
    "wrong shape": lambda batch, actions, rng: (reshape(actions, rng), None),
    "no array": lambda batch, actions, rng: (choose(WRONG_TYPES, rng), None),
    "illegal now or out of range": lambda batch, actions, rng: (spoil_one(batch, actions, rng), None),
    "wrong indices": lambda batch, actions, rng: spoil_indices(actions, rng),
}


def check_batch(count: int, rng: Rng) -> Tally:
    """Give `count` malformed actions to `Batch.step` in batches of random games, and count the faults.

    Several are given at each position, also when games of the batch are over.
    """
    tally = Tally("Batch")
    batch = face = None
    for number in range(count):
        if number % (TRIES * POSITIONS) == 0 or batch is None or face is None:
            batch = _new_batch(rng)
            face = Face(tally.face, batch.step, partial(_read_buffers, batch))
        kind, arguments = draw_arguments(batch, rng)
        fault = face.find_fault(*arguments)
        tally.add(kind, fault)
        if fault:
            batch = None
        elif number % TRIES == 0:
            batch.play_random(1)
    return tally


def _read_buffers(batch: Batch) -> bytes:
    return b"".join(array.tobytes() for array in batch.buffers)


def draw_arguments(batch: Batch, rng: Rng) -> tuple[str, tuple[Any, Any]]:
    """Draw malformed arguments for `Batch.step`, and return their kind and the arguments: actions and indices."""
    finished = np.flatnonzero(batch.seats == NO_SEAT)
    if len(finished):
        return "finished game", (rng.integers(NUM_ACTIONS, size=1), rng.choice(finished, 1))
    kind = list(IN_BATCH)[rng.integers(len(IN_BATCH))]
    return kind, IN_BATCH[kind](batch, RandomPlayer().act(batch.view()), rng)


def _new_batch(rng: Rng) -> Batch:
    players, record, autoreset = int(rng.choice(STANDARD_PLAYERS)), bool(rng.integers(2)), bool(rng.integers(2))
    return Batch(NUM_GAMES, players, seed=int(rng.integers(2**62)), record=record, autoreset=autoreset)


def check_chunk(k: int, config: Config) -> Outcome:
    """Do chunk k of the check: give its malformed actions to `raw_env` and to `Batch`, and return the counts."""
    size = chunk_size(config.actions, ACTIONS_A_CHUNK, k)
    seeds = (game_seed(SEEDS["malformed"], face, k) for face in range(2))
    checks = (check_environment, check_batch)
    tallies = [check(size, np.random.default_rng(seed)) for check, seed in zip(checks, seeds, strict=True)]
    counts, faults = (Counter[str](), Counter[str]())
    for tally in tallies:
        counts.update(tally.counts)
        faults.update(tally.faults)
    return Outcome(counts, faults)


def main(config: Config) -> None:
    """Test all malformed actions, store the counts, and raise `UserError` if one was not properly refused.

    An interrupted check continues with the first chunk of actions that was not finished.
    """
    num_chunks = count_chunks(config.actions, ACTIONS_A_CHUNK)
    run_check("malformed", config, lambda k: check_chunk(k, config), num_chunks, source=__file__)
