"""Games played to their end, many side by side, by the players in their seats; what happened in every round is kept.

A game has two sources of chance that know nothing of each other: its deal, and a stream of its own from which each
seat takes a word for every decision (`random_stream.decision_seed`). So who sits at a table changes neither the deal
nor what another seat may draw.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agents.compiled import CompiledPlayer, compiled_action
from felicity_env import Player, View
from felicity_env.game import (
    AUCTION,
    DUMMY,
    MAX_ROUNDS,
    MAX_SEATS,
    MAX_SETS,
    NO_CARD,
    NO_SEAT,
    NUM_ACTIONS,
    PASS,
    PLACE,
    STATE,
    Setup,
    is_legal,
    is_terminal,
    pass_pays,
    step,
)
from felicity_env.information import EVENTS_A_ROUND, redact_rows, redact_state
from felicity_env.kernel import kernel
from felicity_env.notation import dumps
from felicity_env.random_stream import decision_seed
from felicity_env.tables import NOT_COMPILED
from felicity_env.transcript import Deal, Game, legal_text

MAX_ACTIONS = MAX_ROUNDS * EVENTS_A_ROUND
ROUND = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("start_seat", np.int16),
                ("mice", np.int16),  # on the mouse cards at the start; 0 in a round without
                ("cards", np.int16, MAX_SETS),  # placed by each seat, and the dummy's
                ("passed", np.int16, MAX_SEATS),  # 1 for the first seat to pass, ...; 0: did not
                ("taken", np.int16, MAX_SEATS),  # mice for passing
                ("winner", np.int16),  # NO_SEAT if nobody bought
                ("price", np.int16),
                ("value", np.int16),  # of the sack sold
            ]
        ),
    )
)


class Table(NamedTuple):
    """G games in progress, as the kernels take them."""

    states: np.ndarray  # STATE [G]: the truth
    numbers: np.ndarray  # int64 [G, seats]: which compiled player sits there, or NOT_COMPILED
    streams: np.ndarray  # uint64 [G]
    decisions: np.ndarray  # int64 [G, MAX_SEATS]: how many each seat has taken
    actions: np.ndarray  # int8 [G, MAX_ACTIONS]
    lengths: np.ndarray  # int64 [G]
    rounds: np.ndarray  # ROUND [G, MAX_ROUNDS]
    scratch: np.ndarray  # STATE [1]


class PlayerError(Exception):
    """A player raised, or did not answer with integers; the message says what and holds the text of the game."""

    def __init__(self, place: int, reason: str, text: str) -> None:
        super().__init__(place, reason, text)
        self.place, self.reason, self.text = place, reason, text

    def __str__(self) -> str:
        return f"{self.reason}\nin the game\n{self.text}"


@kernel
def play_action(t: Table, game: int, action: int) -> None:
    """The acting seat plays a legal action; the book of the round is kept."""
    state = t.states[game]
    entry = t.rounds[game, state.round_number]
    seat, phase, number = state.seat, state.phase, state.round_number
    if phase == PLACE:
        if state.row_size == state.has_dummy:
            _open(state, entry)
        entry.cards[seat] = action
    elif action == PASS:
        entry.passed[seat] = state.passes + 1
        entry.taken[seat] = pass_pays(state)
    t.actions[game, t.lengths[game]] = action
    t.lengths[game] += 1
    t.decisions[game, seat] += 1
    step(state, action)
    if phase == AUCTION and (is_terminal(state) or state.round_number != number):
        entry.winner, entry.price, entry.value = state.last_winner, state.last_price, state.last_value


@kernel
def _open(state, entry):
    entry.start_seat = state.start_seat
    for k in range(state.num_seats - 1):
        entry.mice += state.pots[k]
    if state.has_dummy:
        entry.cards[DUMMY] = state.row[0]


@kernel
def play_compiled(t: Table, games: np.ndarray) -> None:
    """Play on in `games` while a compiled player is to act."""
    for game in games:
        state: Any = t.states[game]
        while not is_terminal(state) and t.numbers[game, state.seat] != NOT_COMPILED:
            seat: Any = np.int64(state.seat)  # plain Python would shift the int16 out of its word
            t.scratch[0] = state
            redact_state(t.scratch[0], seat)
            word = decision_seed(t.streams[game], seat, t.decisions[game, seat])
            play_action(t, game, compiled_action(t.numbers[game, seat], t.scratch[0], word))


@kernel
def _play_answers(t, games, actions, illegal):
    """Play actions[k] in games[k], or say that it is illegal."""
    for k in range(len(games)):
        action = actions[k]
        illegal[k] = action < 0 or action >= NUM_ACTIONS or not is_legal(t.states[games[k]], action)
        if not illegal[k]:
            play_action(t, games[k], action)


@kernel
def _words(t, games, out):
    for k in range(len(games)):
        seat = np.int64(t.states[games[k]].seat)
        out[k] = decision_seed(t.streams[games[k]], seat, t.decisions[games[k], seat])


class Games:
    """`states` [G] as dealt, a stream [G] for each, and in `seating` [G, seats] the number of the player in each seat.

    After `play`: `states` are final, `rounds` [G, rounds] say what happened, `forfeited` [G] is the seat that answered
    with an illegal action, which ended the game at once, or NO_SEAT.
    """

    def __init__(self, setup: Setup, states: np.ndarray, streams: np.ndarray, seating: np.ndarray) -> None:
        games = len(states)
        self.setup, self.dealt, self.seating = setup, states.copy(), seating
        self.states = states.copy()
        self.rounds = np.zeros((games, MAX_ROUNDS), ROUND)
        self.rounds["cards"], self.rounds["winner"] = NO_CARD, NO_SEAT
        self.rounds["start_seat"][:, 0] = states["start_seat"]  # known even if a forfeit comes before the first card
        self.forfeited = np.full(games, NO_SEAT)
        self._table = Table(
            self.states,
            np.full(seating.shape, NOT_COMPILED),
            streams,
            np.zeros((games, MAX_SEATS), np.int64),
            np.zeros((games, MAX_ACTIONS), np.int8),
            np.zeros(games, np.int64),
            self.rounds,
            np.empty(1, STATE),
        )

    def play(self, players: Sequence[Player]) -> None:
        """Play all games to their end. Raises `PlayerError` if a player raises or its answer is no row of integers."""
        numbers = [player.number if type(player) is CompiledPlayer else NOT_COMPILED for player in players]
        self._table.numbers[:] = np.array(numbers, np.int64)[self.seating]
        games = np.arange(len(self.states))
        while True:
            play_compiled(self._table, games)
            games = games[(self.states["seat"][games] != NO_SEAT) & (self.forfeited[games] == NO_SEAT)]
            if not len(games):
                return
            who = self.seating[games, self.states["seat"][games]]
            for place in np.unique(who):
                self._ask(int(place), players[place], games[who == place])

    def _ask(self, place: int, player: Player, games: np.ndarray) -> None:
        actions = self._answers(place, player, games)
        illegal = np.zeros(len(games), np.bool_)
        _play_answers(self._table, games, actions, illegal)
        self.forfeited[games[illegal]] = self.states["seat"][games[illegal]]

    def _answers(self, place: int, player: Player, games: np.ndarray) -> np.ndarray:
        try:
            return _checked(player.act(self._view(games)), len(games))
        except Exception as error:  # a player is foreign code: whatever it raises is reported with its game
            game = self._culprit(player, games)
            reason = f"{type(error).__name__}: {error}"
            raise PlayerError(place, reason, self.text(game)) from error

    def _culprit(self, player: Player, games: np.ndarray) -> int:
        """The first of `games` in which the player fails by itself; else the first."""
        for game in games:
            try:
                _checked(player.act(self._view(np.array([game]))), 1)
            except Exception:  # as above
                return int(game)
        return int(games[0])

    def _view(self, games: np.ndarray) -> View:
        states, words = np.empty(len(games), STATE), np.empty(len(games), np.uint64)
        seats = self.states["seat"][games].astype(np.int64)
        redact_rows(self.states, games, seats, states)
        _words(self._table, games, words)
        return View(states, seats, words)

    def text(self, game: int) -> str:
        """The game so far in notation, and whose turn it is."""
        actions = self._table.actions[game, : self._table.lengths[game]]
        played = Game(self.setup, Deal.from_state(self.dealt[game]), tuple(int(action) for action in actions))
        state = self.states[game]
        turn = "" if is_terminal(state) else f"seat {state.seat} to act: {legal_text(state)}\n"
        return dumps(played) + turn


def _checked(answer: Any, count: int) -> np.ndarray:
    actions = np.asarray(answer)
    if actions.shape != (count,) or not np.issubdtype(actions.dtype, np.integer):
        raise TypeError(f"act(view) must answer with {count} integers, not {actions.dtype} {list(actions.shape)}")
    return actions.astype(np.int64)
