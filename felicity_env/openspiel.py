"""The game for OpenSpiel: importing this module registers it as `python_felicity`; needs `pip install open_spiel`.

    import pyspiel, felicity_env.openspiel
    game = pyspiel.load_game("python_felicity(setup=standard-3)")

`setup` is the name of a setup or a file that ends in .json. The returns are win shares, so they add up to 1. Chance
acts before the first decision: it draws the start seat, the removed card of each seat and the cards of the dummy, in
the order in which they are turned. The information state holds all that a seat has seen (perfect recall), one event in
each row of its tensor; the observation holds what the table shows now, in the layout of `SECTIONS`.
"""

from typing import Any

import numpy as np

try:
    import pyspiel
except ImportError as error:
    raise ImportError("felicity_env.openspiel needs OpenSpiel: pip install 'felicity-env[openspiel]'") from error

from felicity_env.game import MAX_SEATS, NO_SEAT, NUM_ACTIONS, Setup, is_terminal
from felicity_env.game_record import Deal, action_text, card_text, count_dealt, initial_states, list_legal_actions
from felicity_env.information import (
    EVENT_SIZE,
    Recall,
    count_auction_decisions,
    count_events,
    encode_information_state,
)
from felicity_env.observation import OBS_SIZE, describe, observe
from felicity_env.rewards import reward_code, step_rewards
from felicity_env.setups import find_setup

_WIN = reward_code("win")
_DEFAULT = "standard-4"
_TYPE = pyspiel.GameType(
    short_name="python_felicity",
    long_name="Felicity: The Cat in the Sack",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.CONSTANT_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_SEATS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification={"setup": _DEFAULT},
)


def _describe(setup: Setup) -> pyspiel.GameInfo:
    """Return the sizes of a game of this setup."""
    return pyspiel.GameInfo(
        num_distinct_actions=NUM_ACTIONS,
        max_chance_outcomes=max(setup.seats, 1 + max(setup.cards)),  # draws are numbers of seats and cards
        num_players=setup.seats,
        min_utility=0.0,
        max_utility=1.0,
        utility_sum=1.0,
        max_game_length=setup.rounds * (setup.seats + count_auction_decisions(setup)),
    )


class FelicityGame(pyspiel.Game):
    """Game of one setup; `new_initial_state` begins it."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        values = {"setup": _DEFAULT} | dict(params or {})
        self.setup = find_setup(values["setup"])
        super().__init__(_TYPE, _describe(self.setup), values)

    def new_initial_state(self) -> "FelicityState":
        """Return the state before the deal, in which chance acts."""
        return FelicityState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> "FelicityObserver":
        """Return an observer of information states if `iig_obs_type` asks for perfect recall, else of observations."""
        if params:
            raise ValueError(f"observers of this game have no parameters: {params}")
        perfect_recall = iig_obs_type is not None and iig_obs_type.perfect_recall
        return FelicityObserver(count_events(self.setup) if perfect_recall else 0)


class FelicityState(pyspiel.State):
    """State of a game: first the deal, drawn by chance, then the decisions of the seats."""

    def __init__(self, game: FelicityGame) -> None:
        super().__init__(game)
        self._setup = game.setup
        self._drawn: list[int] = []
        self.recall: Recall | None = None
        self._begin_if_dealt()

    # --- the deal ---

    def _num_draws(self) -> int:
        return 1 + sum(count_dealt(self._setup))

    def _begin_if_dealt(self) -> None:
        if len(self._drawn) < self._num_draws():
            return
        setup, start_seat, cards = self._setup, self._drawn[0], self._drawn[1:]
        split, _ = count_dealt(setup)
        deal = Deal(tuple(cards[:split]), tuple(cards[split:]), start_seat)
        self.recall = Recall(initial_states(setup, deal))

    def _list_outcomes(self) -> list[int]:
        """List what chance may draw next: a seat, a card, or a card of the dummy that is not drawn yet."""
        setup, number = self._setup, len(self._drawn)
        if number == 0:
            return list(range(setup.seats))
        first = 1 + count_dealt(setup)[0]
        return sorted(set(setup.cards) - set(self._drawn[first:]))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the outcomes of the next draw with their probabilities."""
        outcomes = self._list_outcomes()
        return [(outcome, 1 / len(outcomes)) for outcome in outcomes]

    # --- playing ---

    def current_player(self) -> int:
        """Return the seat to act, or what OpenSpiel calls chance and the end of a game."""
        if self.recall is None:
            return pyspiel.PlayerId.CHANCE
        seat = int(self.recall.state.seat)
        return pyspiel.PlayerId.TERMINAL if seat == NO_SEAT else seat

    def _legal_actions(self, player: int) -> list[int]:
        return list(list_legal_actions(self.recall.state)) if self.recall else self._list_outcomes()

    def _apply_action(self, action: int) -> None:
        legal = self._legal_actions(self.current_player())
        if action not in legal:
            raise ValueError(f"action {action} is not legal here; legal are {', '.join(map(str, legal))}")
        if self.recall:
            self.recall.play(action)
        else:
            self._drawn.append(action)
            self._begin_if_dealt()

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return action_text(action)
        return f"seat {action}" if not self._drawn else f"card {card_text(action)}"

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.recall is not None and is_terminal(self.recall.state)

    def returns(self) -> list[float]:
        """Return the win share of each seat; 0 before the end."""
        rewards = np.zeros(MAX_SEATS)
        if self.recall:
            step_rewards(self.recall.state, _WIN, rewards)
        return rewards[: self._setup.seats].tolist()

    def __str__(self) -> str:
        return f"{self._drawn} {self.recall.actions if self.recall else ''}"


class FelicityObserver:
    """Observer of one seat: all that it has seen (perfect recall), or what it sees now.

    num_events: number of rows for the events that it has seen, or 0 for what it sees now.
    """

    def __init__(self, num_events: int) -> None:
        self._num_events = num_events
        shape = (num_events, EVENT_SIZE) if num_events else (OBS_SIZE,)
        self.tensor = np.zeros(int(np.prod(shape)), np.float32)
        self.dict = {"events" if num_events else "observation": self.tensor.reshape(shape)}

    def set_from(self, state: FelicityState, player: int) -> None:
        """Write into `tensor` what `player` knows."""
        self.tensor.fill(0)
        if state.recall is None:
            return
        if self._num_events:
            self.tensor[:] = encode_information_state(state.recall.events[player])[: self._num_events].ravel()
        else:
            observe(state.recall.state, player, True, self.tensor)

    def string_from(self, state: FelicityState, player: int) -> str:
        """Return as text what `player` knows; before the deal that is an empty list."""
        if state.recall is None:
            return "[]"
        if self._num_events:
            return str(state.recall.events[player])
        self.set_from(state, player)
        return str(describe(self.tensor))


pyspiel.register_game(_TYPE, FelicityGame)
