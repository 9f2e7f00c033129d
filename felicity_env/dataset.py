"""Games as data: many finished games in one file, and what any seat saw in them, computed again from the actions.

A game is its deal and its actions, so a file of 100,000 games is a few megabytes. Observations are not stored, because
replaying the actions is faster than reading them::

    games = Dataset.load("games.npz").split("train")
    for decisions in games.iter_decisions(seat=None):
        train(decisions.observations, decisions.action_masks, decisions.actions, decisions.win_shares)

The arrays of a file are the fields of `Dataset`. `python -m agents dataset` plays games and writes them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from felicity_env.game import (
    MAX_SEATS,
    NO_CARD,
    NO_SEAT,
    NUM_ACTIONS,
    RULES_VERSION,
    STATE,
    Setup,
    begin,
    is_legal,
    legal_actions,
    score,
    step,
)
from felicity_env.game_record import Deal, Game, count_dealt
from felicity_env.information import redact_state
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE, observe
from felicity_env.player import View
from felicity_env.random_stream import decision_seed, split, uniform
from felicity_env.rewards import reward_code, step_rewards

FORMAT = "felicity games 1"
SPLITS = {"train": (0.0, 0.8), "validation": (0.8, 0.9), "test": (0.9, 1.0)}  # intervals of a hash of the deal
GAMES_AT_ONCE = 256  # whose observations are in memory
_CHECKED_AT_ONCE = 10_000
_SPLIT_SEED = np.uint64(0x5EED)
_WIN = reward_code("win")


class Decisions(NamedTuple):
    """Decisions of recorded games, one entry of each array for each of D decisions, in the order of play.

    `seats` sees `observations` and `action_masks`. If that is not the seat to act, the mask is zero, and the action is
    that of another seat.
    """

    games: np.ndarray  # int64 [D], index of the game in the dataset
    steps: np.ndarray  # int64 [D], number of the decision in its game, from 0
    seats: np.ndarray  # int64 [D], seat that sees the position
    observations: np.ndarray  # float32 [D, OBS_SIZE]
    action_masks: np.ndarray  # int8 [D, NUM_ACTIONS]
    actions: np.ndarray  # int64 [D], action that was taken
    probabilities: np.ndarray  # float32 [D], with which the player took the action; nan if it is not known
    win_shares: np.ndarray  # float64 [D], what the seat won at the end of the game: 1/k to each of k winners, else 0
    is_last: np.ndarray  # bool [D], whether the seat sees no later decision of this game here


@dataclass(frozen=True)
class Dataset:
    """Finished games of one setup, with their players; G games have D decisions in all.

    Raises `ValueError` that names the array and the fault if the arrays do not fit each other or the rules.
    """

    setup: Setup
    players: tuple[str, ...]  # codes of players
    digests: tuple[str, ...]  # of the players: equal digests mean equal play
    seeds: np.ndarray  # uint64 [G], seeds of the random bits of the players
    removed: np.ndarray  # int8 [G, seats], card removed from each seat's set; [G, 0] if none are removed
    dummy: np.ndarray  # int8 [G, rounds], the dummy's cards in the order turned up; [G, 0] without a dummy
    start_seats: np.ndarray  # int8 [G]
    seating: np.ndarray  # uint8 [G, seats], index of the player in each seat
    lengths: np.ndarray  # uint16 [G], number of decisions of each game
    actions: np.ndarray  # uint8 [D], actions of all games, one game after the other
    probabilities: np.ndarray  # float16 [D], with which each action was taken, nan if not known; [0] if none is known
    scores: np.ndarray  # int16 [G, seats]

    def __post_init__(self) -> None:
        _check_shapes(self)

    def __len__(self) -> int:
        return len(self.lengths)

    # --- files ---

    def save(self, file: Path | str | BinaryIO) -> None:
        """Write the games to a file of NumPy's format .npz."""
        about = {"format": FORMAT, "rules_version": RULES_VERSION, "setup": asdict(self.setup)}
        about |= {"players": self.players, "digests": self.digests}
        arrays = {name: getattr(self, name) for name in ARRAYS}
        np.savez_compressed(file, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)

    @classmethod
    def load(cls, path: Path | str) -> "Dataset":
        """Read games from a file that `save` wrote; nothing in it is executed, and every action is checked.

        Raises `OSError` if there is no such file, and `ValueError` that names the file and the fault if it is damaged,
        of another format or of other rules.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                about = json.loads(str(stored["about"]))
                arrays = {name: stored[name] for name in ARRAYS}
            dataset = cls(*_read_about(about), **arrays)
            dataset.check_rules()
            return dataset
        except OSError:
            raise
        except KeyError as error:
            raise ValueError(f"{path} is no file of games: it lacks {error.args[0].split()[0]}") from error
        except Exception as error:  # zip and NumPy raise many types at damaged files
            raise ValueError(f"{path} is no file of games: {type(error).__name__}: {error}") from error

    def check_rules(self) -> None:
        """Replay all games; raise `ValueError` that names the first game whose actions or scores are not those."""
        fault = np.zeros(2, np.int64)
        for games in self._parts(_CHECKED_AT_ONCE):
            if not _check_games(*self._begin(games), self.scores[games.start : games.stop], fault):
                game = games.start + fault[0]
                raise ValueError(f"game {game} breaks the rules at its decision {fault[1]}, or its scores are wrong")

    # --- games ---

    def game(self, index: int) -> Game:
        """Return one game as a record, which `notation.dumps` converts to text."""
        index = range(len(self))[index]  # raises `IndexError` at a wrong index
        removed, dummy, actions = (
            tuple(part.tolist())
            for part in (self.removed[index], self.dummy[index], self.actions[slice(*self._bounds[index : index + 2])])
        )
        return Game(self.setup, Deal(removed, dummy, int(self.start_seats[index])), actions)

    def take(self, indices: np.ndarray | Sequence[int] | slice) -> "Dataset":
        """Return a dataset with the games at some indices, or at a mask of bools [G]."""
        chosen = np.arange(len(self))[indices]
        rows = np.repeat(self._bounds[chosen], self.lengths[chosen]) + _count_up(self.lengths[chosen])
        parts = {name: getattr(self, name)[chosen] for name in ARRAYS if name not in ("actions", "probabilities")}
        probabilities = self.probabilities[rows] if len(self.probabilities) else self.probabilities
        return replace(self, **parts, actions=self.actions[rows], probabilities=probabilities)

    def split(self, part: str) -> "Dataset":
        """Return the games of the part "train" (80 %), "validation" (10 %) or "test" (10 %).

        The deal alone decides, so all games of a deal are in one part, in every file.
        """
        if part not in SPLITS:
            raise ValueError(f"the parts are {', '.join(SPLITS)}, not {part!r}")
        deals = np.concatenate([self.removed, self.dummy, self.start_seats[:, None]], axis=1).astype(np.int64)
        places, (low, high) = np.empty(len(self)), SPLITS[part]
        _hash_rows(deals, places)
        return self.take((places >= low) & (places < high))

    @classmethod
    def concatenate(cls, datasets: Sequence["Dataset"]) -> "Dataset":
        """Return all games of several datasets in one; raise `ValueError` if their setups or players differ."""
        first = datasets[0]
        for other in datasets:
            if (other.setup, other.players, other.digests) != (first.setup, first.players, first.digests):
                raise ValueError("datasets that are joined need the same setup, players and digests")
        joined = {name: np.concatenate([getattr(each, name) for each in datasets]) for name in ARRAYS}
        return replace(first, **joined)

    # --- what seats saw ---

    def iter_decisions(
        self,
        *,
        seat: int | None = None,
        every_step: bool = False,
        open_mice: bool = False,
        games_at_once: int = GAMES_AT_ONCE,
    ) -> Iterator[Decisions]:
        """Yield the decisions of all games in their order, those of `games_at_once` games in each part.

        seat: yield the decisions of this seat alone; None for those of all seats. every_step: yield also the other
        seats' decisions as `seat` saw the position then. open_mice: show all mice in observations. Raises `ValueError`
        if there is no such seat, or `every_step` has no seat.
        """
        if seat is not None and not 0 <= seat < self.setup.seats:
            raise ValueError(f"seat must be 0 to {self.setup.seats - 1} or None, not {seat}")
        if every_step and seat is None:
            raise ValueError("every_step needs a seat that sees all positions")
        for games in self._parts(games_at_once):
            yield self._replay(games, seat, every_step, open_mice)

    def _parts(self, games_at_once: int) -> Iterator[range]:
        for first in range(0, len(self), games_at_once):
            yield range(first, min(first + games_at_once, len(self)))

    def _replay(self, games: range, seat: int | None, every_step: bool, open_mice: bool) -> Decisions:
        states, actions, bounds = self._begin(games)
        seats, shares = np.empty(len(actions), np.int64), np.empty((len(games), MAX_SEATS))
        _list_seats(states.copy(), actions, bounds, seats, shares)
        wanted = np.ones(len(actions), np.bool_) if seat is None or every_step else seats == seat
        viewers = (np.full(len(actions), seat) if every_step else seats)[wanted]
        observations = np.empty((len(viewers), OBS_SIZE), np.float32)
        masks = np.empty((len(viewers), NUM_ACTIONS), np.int8)
        _write_views(states, actions, bounds, wanted, viewers, open_mice, observations, masks)
        rows, index = np.flatnonzero(wanted), np.repeat(np.arange(len(games)), np.diff(bounds))[wanted]
        stored = self.probabilities[self._bounds[games.start] + rows] if len(self.probabilities) else np.nan
        return Decisions(
            games=index + games.start,
            steps=rows - bounds[index],
            seats=viewers,
            observations=observations,
            action_masks=masks,
            actions=actions[rows],
            probabilities=np.full(len(rows), stored, np.float32),
            win_shares=shares[index, viewers],
            is_last=_find_last(index * MAX_SEATS + viewers),
        )

    def view(self, games: range) -> View:
        """Return what every seat to act knew at each decision of some games, for a player's `act` or `probabilities`.

        The view has the random bits with which the players acted, so a player that is given it acts again as it did.
        """
        first, actions, bounds = self._begin(games)
        states, seeds = np.empty(len(actions), STATE), np.empty(len(actions), np.uint64)
        counts = np.empty(MAX_SEATS, np.int64)
        _write_states(first, actions, bounds, self.seeds[games.start : games.stop], counts, states, seeds)
        return View.make_unchecked(states, states["seat"].astype(np.int64), seeds)

    def final_states(self, games: range) -> np.ndarray:
        """Return the states of some games after their last action, STATE [number of games], with all hidden cards."""
        states, actions, bounds = self._begin(games)
        _play_all(states, actions, bounds)
        return states

    @cached_property
    def _bounds(self) -> np.ndarray:
        """Return the index of the first decision of each game, and the number of all decisions, int64 [G + 1]."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    def _begin(self, games: range) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first states of some games, their actions, and the bounds of each game in these."""
        chosen, bounds = slice(games.start, games.stop), self._bounds[games.start : games.stop + 1]
        states = np.repeat(self.setup.blank_state(), len(games))
        states["removed"][:, : self.setup.seats] = self.removed[chosen] if self.setup.removed else NO_CARD
        states["dummy_cards"][:, : self.dummy.shape[1]] = self.dummy[chosen]
        states["start_seat"] = self.start_seats[chosen]
        _begin_all(states)
        return states, self.actions[bounds[0] : bounds[-1]].astype(np.int64), bounds - bounds[0]


ARRAYS = tuple(field.name for field in fields(Dataset) if field.type is np.ndarray)  # in a file, beside `about`


# --- checks -----------------------------------------------------------------------------------------------------------


def _read_about(about: Any) -> tuple[Setup, tuple[str, ...], tuple[str, ...]]:
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    if about["rules_version"] != RULES_VERSION:
        raise ValueError(f"its games are of version {about['rules_version']} of the rules, not {RULES_VERSION}")
    return Setup(**about["setup"]), tuple(map(str, about["players"])), tuple(map(str, about["digests"]))


def _check_shapes(data: Dataset) -> None:
    """Raise `ValueError` unless all arrays have the types and shapes that `Dataset` lists, and possible values."""
    setup, count, total = data.setup, len(data.lengths), int(data.lengths.sum(dtype=np.int64))
    removed, rounds = count_dealt(setup)
    expected = {
        "seeds": (np.uint64, (count,)),
        "removed": (np.int8, (count, removed)),
        "dummy": (np.int8, (count, rounds)),
        "start_seats": (np.int8, (count,)),
        "seating": (np.uint8, (count, setup.seats)),
        "lengths": (np.uint16, (count,)),
        "actions": (np.uint8, (total,)),
        "probabilities": (np.float16, (total,) if len(data.probabilities) else (0,)),
        "scores": (np.int16, (count, setup.seats)),
    }
    for name, (dtype, shape) in expected.items():
        array = getattr(data, name)
        if array.dtype != dtype or array.shape != shape:
            kind = f"{np.dtype(dtype).name} {list(shape)}"
            raise ValueError(f"{name} must be {kind}, not {array.dtype.name} {list(array.shape)}")
    if len(data.players) != len(data.digests):
        raise ValueError(f"{len(data.players)} players need as many digests, not {len(data.digests)}")
    cards, dealt = set(setup.cards), {*np.unique(data.removed).tolist(), *np.unique(data.dummy).tolist()}
    if not dealt <= cards:
        raise ValueError(f"the deals have cards {sorted(dealt - cards)}; cards of this setup are {list(setup.cards)}")
    if (np.sort(data.dummy, axis=1)[:, 1:] == np.sort(data.dummy, axis=1)[:, :-1]).any():
        raise ValueError("the dummy of a game has a card twice")
    if count and (data.start_seats.min() < 0 or data.start_seats.max() >= setup.seats):
        raise ValueError(f"start_seats must be 0 to {setup.seats - 1}")
    if count and data.seating.max() >= len(data.players):
        raise ValueError(f"seating names player {data.seating.max()}, but there are {len(data.players)}")


def _count_up(lengths: np.ndarray) -> np.ndarray:
    """Return 0, 1, ... for each of several lengths, one after the other."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


def _find_last(keys: np.ndarray) -> np.ndarray:
    """Return for each key whether it does not come again."""
    _, first = np.unique(keys[::-1], return_index=True)
    last = np.zeros(len(keys), np.bool_)
    last[len(keys) - 1 - first] = True
    return last


# --- compiled replays -------------------------------------------------------------------------------------------------


@kernel
def _begin_all(states):
    for k in range(len(states)):
        begin(states[k])


@kernel
def _hash_rows(rows, out):
    """Write a number in [0, 1) for each row of integers, which depends on the row alone."""
    for k in range(len(rows)):
        bits = _SPLIT_SEED
        for value in rows[k]:
            bits = split(bits, value)
        out[k] = uniform(np.uint64(bits))


@kernel
def _check_games(states, actions, bounds, scores, fault):
    """Return whether all games are legal, finished and have these scores; if not, write the game and the decision."""
    for game in range(len(states)):
        state = states[game]
        fault[0] = game
        for k in range(bounds[game], bounds[game + 1]):
            fault[1] = k - bounds[game]
            if state.seat == NO_SEAT or actions[k] >= NUM_ACTIONS or not is_legal(state, actions[k]):
                return False
            step(state, actions[k])
        if state.seat != NO_SEAT:
            return False
        for seat in range(state.num_seats):
            if score(state, seat) != scores[game, seat]:
                return False
    return True


@kernel
def _play_all(states, actions, bounds):
    for game in range(len(states)):
        for k in range(bounds[game], bounds[game + 1]):
            step(states[game], actions[k])


@kernel
def _list_seats(states, actions, bounds, seats, shares):
    """Write the seat that acts at each decision, and the win share of each seat at the end of each game."""
    for game in range(len(states)):
        state = states[game]
        for k in range(bounds[game], bounds[game + 1]):
            seats[k] = state.seat
            step(state, actions[k])
        step_rewards(state, _WIN, shares[game])


@kernel
def _write_views(states, actions, bounds, wanted, viewers, open_mice, observations, masks):
    """Write what the viewer of each wanted decision sees."""
    row = 0
    for game in range(len(states)):
        state = states[game]
        for k in range(bounds[game], bounds[game + 1]):
            if wanted[k]:
                observe(state, viewers[row], open_mice, observations[row])
                legal_actions(state, viewers[row], masks[row])
                row += 1
            step(state, actions[k])


@kernel
def _write_states(states, actions, bounds, game_seeds, counts, out, seeds):
    """Write what the seat to act knows at each decision, and the random bits of the decision.

    counts: memory for the number of decisions of each seat.
    """
    for game in range(len(states)):
        state = states[game]
        counts[:] = 0
        for k in range(bounds[game], bounds[game + 1]):
            seat = int(state.seat)  # of 64 bits, as the random bits need
            out[k] = state
            redact_state(out[k], seat)
            seeds[k] = decision_seed(game_seeds[game], seat, counts[seat])
            counts[seat] += 1
            step(state, actions[k])
