"""Last rounds of real games as game trees: every seat has one card left, and nobody else knows which of two it is."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from experiments.exact.tree import GameTree
from felicity_env import Batch, Player, Setup, game_seed
from felicity_env.game import DUMMY, PLACE, State
from felicity_env.game_record import list_cards

Beliefs = list[dict[int, float]]  # for each seat, and last for the dummy if there is one: {last card: probability}


def draw_last_rounds(setup: Setup, player: Player, *, count: int, most_mice: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the position, STATE [1], at the start of the last round of each of `count` games among copies of `player`.

    If a seat has more than `most_mice` mice, the rest of them go to the bank, so that the tree is small.
    """
    for game in range(count):
        batch = Batch(1, setup=setup, seed=game_seed(seed, game, 0))
        while not _begins_last_round(batch.states[0], setup):
            batch.step(player.act(batch.view()))
        start = batch.states.copy()
        _limit_mice(start[0], most_mice)
        yield start


def _begins_last_round(state: State, setup: Setup) -> bool:
    is_last = state.round_number == setup.rounds - 1
    return bool(is_last and state.phase == PLACE and state.row_size == int(setup.dummy))


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
