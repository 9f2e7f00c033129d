"""Last rounds of real games as game trees: every seat has one card left, and nobody else knows which of two it is."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from experiments.exact.tree import GameTree
from felicity_env import Batch, Player, Setup
from felicity_env.game import DUMMY, PLACE, State
from felicity_env.game_record import list_cards

Beliefs = list[dict[int, float]]  # for each seat, and last for the dummy if there is one: {last card: probability}


def draw_last_rounds(setup: Setup, player: Player, *, most_mice: int, seed: int) -> Iterator[np.ndarray]:
    """Yield positions, STATE [1], at the start of the last round of games in which `player` has all seats.

    If a seat has more than `most_mice` mice, the rest of them go to the bank, so that the tree is small.
    """
    batch = Batch(512, setup=setup, seed=seed)
    while True:
        batch.step(player.act(batch.view()))
        states = batch.states
        begins = (states["phase"] == PLACE) & (states["row_size"] == int(setup.dummy))
        for index in np.flatnonzero(begins & (states["round_number"] == setup.rounds - 1)):
            start = states[index : index + 1].copy()
            _limit_mice(start[0], most_mice)
            yield start


def _limit_mice(state: State, most: int) -> None:
    for seat in range(state.num_seats):
        state.bank += max(0, state.mice[seat] - most)
        state.mice[seat] = min(most, state.mice[seat])


def believe_uniformly(state: State) -> Beliefs:
    """Return beliefs in which both unseen cards of each set are equally likely to be the last card."""
    sets = [*range(state.num_seats), *([DUMMY] if state.has_dummy else [])]
    unseen = [list_cards(state.deck & ~state.played[each]) for each in sets]
    return [dict.fromkeys(cards, 1 / len(cards)) for cards in unseen]


def build_last_round(start: np.ndarray, beliefs: Beliefs) -> GameTree:
    """Return the tree of a last round, given its start, STATE [1], and common beliefs about the last cards.

    The last cards of the seats and of the dummy are independent. Each seat knows its own.
    """
    worlds, weights = [], []
    for cards in product(*(belief.items() for belief in beliefs)):
        world = start.copy()
        _set_last_cards(world[0], [card for card, _ in cards])
        worlds.append(world)
        weights.append(np.prod([probability for _, probability in cards]))
    return GameTree.from_states(np.concatenate(worlds), np.array(weights))


def _set_last_cards(state: State, cards: list[int]) -> None:
    for seat in range(state.num_seats):
        unseen = int(state.deck & ~state.played[seat])
        state.hands[seat] = 1 << cards[seat]
        (state.removed[seat],) = list_cards(unseen & ~(1 << cards[seat]))
    if state.has_dummy:
        state.dummy_cards[state.round_number] = state.row[0] = cards[-1]
