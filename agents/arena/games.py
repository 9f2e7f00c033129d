"""Games that players play to the end, many in parallel, with a record of every round.

A game has two independent sources of chance: its deal, and a seed from which the random bits of every seat and decision
are derived (`random_stream.decision_seed`). So the choice of players changes neither the deal nor the random bits.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from agents.arena.time_limit import TimeLimitExceeded, limit_time
from agents.compiled import select_compiled
from agents.own_code import describe_exception
from felicity_env.batch import Batch
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
    Setup,
    is_legal,
    is_terminal,
    pass_pays,
    step,
)
from felicity_env.game_record import action_text, legal_text, to_actions
from felicity_env.kernel import kernel
from felicity_env.learners import new_loop
from felicity_env.notation import dumps
from felicity_env.player import Player

ROUND = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("start_seat", np.int16),
                ("mice", np.int16),  # on the mouse cards at the start; 0 in a dry round
                ("cards", np.int16, MAX_SETS),  # placed by each seat, and the dummy's
                ("passed", np.int16, MAX_SEATS),  # 1 for the first seat to pass, 2 for the second, ...; 0: did not pass
                ("taken", np.int16, MAX_SEATS),  # mice taken for passing
                ("winner", np.int16),  # NO_SEAT if nobody bought
                ("price", np.int16),
                ("value", np.int16),  # of the sack sold
            ]
        ),
    )
)


TOO_LONG, ILLEGAL = "taking too long", "an illegal action"
GAMES_AT_ONCE = 16  # a player that hangs is noticed after so many time limits; then it is asked game by game
LATE_IN_A_ROW = 20  # decisions after which a player is given up: one that hangs would take hours for all of its games


class Forfeit(NamedTuple):
    """Forfeit of a game: the index of the player, the reason (TOO_LONG or ILLEGAL), and the game in notation.

    Only the first forfeit of a player for one reason has the game; that of others is "".
    """

    player: int
    reason: str
    text: str


class PlayerError(ValueError):
    """Error of a player that raised an exception, did not return integers, or was too late many times in a row.

    The message has the reason and the game. index: index of the player. reason: text of the exception, or about the
    delay. text: the game so far in notation.
    """

    def __init__(self, index: int, reason: str, text: str) -> None:
        super().__init__(index, reason, text)
        self.index, self.reason, self.text = index, reason, text

    def __str__(self) -> str:
        return f"{self.reason}\nin the game\n{self.text}"


class Games:
    """Games to play from given positions, `states` STATE [G], with `seeds` uint64 [G] for the players' randomness.

    seating: index of the player in each seat, integers [G, seats]. seconds: most seconds for a decision of a player
    that is not compiled, or None for no limit. The limit is for the mean over the games about which the player is asked
    at once, up to GAMES_AT_ONCE; if that takes too long, it is asked about each of them alone.

    After `play`, `states` are final. `rounds`, ROUND [G, MAX_ROUNDS], records each round; rounds before the given
    position are empty. `forfeited` [G] is the seat that ended the game by an illegal action or by taking too long, or
    NO_SEAT; `forfeits` says why.
    """

    def __init__(
        self,
        setup: Setup,
        states: np.ndarray,
        seeds: np.ndarray,
        seating: np.ndarray,
        *,
        seconds: float | None = None,
    ) -> None:
        self.setup, self.seating, self.seconds = setup, seating, seconds
        self.forfeits: list[Forfeit] = []
        self._late: Counter[int] = Counter()  # decisions in a row for which a player has taken too long, by its index
        self.batch = Batch(len(states), setup=setup, record=True, autoreset=False)
        self.batch.start(states, seeds)
        self.states = self.batch.states
        self.forfeited = np.full(len(states), NO_SEAT)
        self.rounds = np.zeros((len(states), MAX_ROUNDS), ROUND)
        self.rounds["cards"], self.rounds["winner"] = NO_CARD, NO_SEAT
        self.rounds["start_seat"][:, 0] = states["start_seat"]  # known even if a forfeit comes before the first card

    def play(self, players: Sequence[Player]) -> None:
        """Play all games to the end.

        Raises `PlayerError` if a player raises an exception, returns no integers, or is too late LATE_IN_A_ROW times in
        a row.
        """
        compiled, loop = select_compiled(players), new_loop(self.batch)
        loop.numbers[:, : self.setup.seats] = compiled.numbers[self.seating]
        indices = np.arange(len(self.states))
        while True:
            compiled.play(self.batch.buffers, self.batch.settings, indices, loop)
            indices = indices[(self.batch.seats[indices] != NO_SEAT) & (self.forfeited[indices] == NO_SEAT)]
            if not len(indices):
                break
            acting = self.seating[indices, self.batch.seats[indices]]
            for index in np.unique(acting):
                self._ask(int(index), players[index], indices[acting == index])
        buffers = self.batch.buffers
        _record_rounds(buffers.first_states.copy(), buffers.actions, buffers.lengths, self.rounds)

    def _ask(self, index: int, player: Player, indices: np.ndarray) -> None:
        """Ask player number `index` for actions in the games `indices`, and play them.

        A game in which the action is illegal or comes too late is forfeited.
        """
        if self.seconds is None:
            self._play_answers(index, self._answer(index, player, indices), indices)
            return
        for first in range(0, len(indices), GAMES_AT_ONCE):
            self._ask_in_time(index, player, indices[first : first + GAMES_AT_ONCE], self.seconds)

    def _ask_in_time(self, index: int, player: Player, indices: np.ndarray, seconds: float) -> None:
        """Ask a player, as `_ask` does, for at most `seconds` for each game."""
        try:
            with limit_time(seconds * len(indices)):
                actions = self._answer(index, player, indices)
        except TimeLimitExceeded:
            if len(indices) > 1:  # asked again about each game, to find those that it takes too long for
                for game in indices:
                    self._ask_in_time(index, player, np.array([game]), seconds)
            else:
                self._count_late(index, int(indices[0]), seconds)
            return
        self._late[index] = 0
        self._play_answers(index, actions, indices)

    def _count_late(self, index: int, game: int, seconds: float) -> None:
        """Let a player that took too long for a decision forfeit the game; raise `PlayerError` if it often does."""
        self._late[index] += 1
        if self._late[index] == LATE_IN_A_ROW:
            reason = f"took longer than {seconds:g} s for a decision {LATE_IN_A_ROW} times in a row"
            raise PlayerError(index, reason, self.text(game))
        self._forfeit(index, game, TOO_LONG)

    def _play_answers(self, index: int, actions: np.ndarray, indices: np.ndarray) -> None:
        legal = np.zeros(len(indices), np.bool_)
        _check_legal(self.states, indices, actions, legal)
        self.batch.step(actions[legal], indices[legal])
        for game, action in zip(indices[~legal].tolist(), actions[~legal].tolist(), strict=True):
            name = f" ({action_text(action)})" if 0 <= action < NUM_ACTIONS else ""
            self._forfeit(index, game, ILLEGAL, f"; it chose action {action}{name}")

    def _forfeit(self, index: int, game: int, reason: str, what: str = "") -> None:
        """End a game that a player forfeits. what: text that is added to the last line of the game."""
        is_first = not any(other[:2] == (index, reason) for other in self.forfeits)
        self.forfeits.append(Forfeit(index, reason, self.text(game, what) if is_first else ""))
        self.forfeited[game] = self.batch.seats[game]

    def _answer(self, index: int, player: Player, indices: np.ndarray) -> np.ndarray:
        try:
            return to_actions(player.act(self.batch.view(indices)), len(indices), "answers of act(view)")
        except (Exception, SystemExit) as error:  # a player is foreign code: any exception is reported with the game
            game = self._find_culprit(player, indices)
            raise PlayerError(index, describe_exception(error), self.text(game)) from error

    def _find_culprit(self, player: Player, indices: np.ndarray) -> int:
        """Return the first game in which a player that failed in a batch also fails when asked about that game alone.

        If there is none, return the first game. indices: the games of the batch.
        """
        for game in indices:
            try:
                to_actions(player.act(self.batch.view(np.array([game]))), 1)
            except (Exception, SystemExit):  # as above
                return int(game)
        return int(indices[0])

    def text(self, index: int, what: str = "") -> str:
        """Return the course of a game up to now in text notation.

        A comment at the end says what the seat to act may do, followed by the text `what`.
        """
        state = self.states[index]
        turn = "" if is_terminal(state) else f"# seat {state.seat} to act: {legal_text(state)}{what}\n"
        return dumps(self.batch.game(index)) + turn


@kernel
def _check_legal(states, indices, actions, legal):
    for k in range(len(indices)):
        action = actions[k]
        legal[k] = 0 <= action < NUM_ACTIONS and is_legal(states[indices[k]], action)


@kernel
def _record_rounds(states, actions, lengths, rounds):
    """Replay games from their starting states, changing these, and fill `rounds` with the events of each round."""
    for game in range(len(states)):
        for k in range(lengths[game]):
            _record_decision(states[game], actions[game, k], rounds[game])


@kernel
def _record_decision(state, action, rounds):
    entry = rounds[state.round_number]
    seat, phase, round_number = state.seat, state.phase, state.round_number
    if phase == PLACE:
        if state.row_size == state.has_dummy:
            _open_round(state, entry)
        entry.cards[seat] = action
    elif action == PASS:
        entry.passed[seat] = state.passes + 1
        entry.taken[seat] = pass_pays(state)
    step(state, action)
    if phase == AUCTION and (is_terminal(state) or state.round_number != round_number):
        entry.winner, entry.price, entry.value = state.last_winner, state.last_price, state.last_value


@kernel
def _open_round(state, entry):
    entry.start_seat = state.start_seat
    for k in range(state.num_seats - 1):
        entry.mice += state.pots[k]
    if state.has_dummy:
        entry.cards[DUMMY] = state.row[0]
