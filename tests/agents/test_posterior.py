"""Posteriors: exactly what enumeration of all deals gives, and independent of what the seat cannot know."""

from itertools import product

import numpy as np
import pytest

from agents.mixture import MixturePlayer
from agents.network import NetworkPlayer
from agents.policy_player import PolicyPlayer
from agents.posterior import NOTHING_HIDDEN, compute_posteriors, draw_worlds
from felicity_env import NUM_ACTIONS, OBS_SIZE, View
from felicity_env.game import (
    NO_CARD,
    NUM_CARDS,
    PLACE,
    Setup,
    is_terminal,
    nth_legal_action,
    num_legal_actions,
    step,
)
from felicity_env.game_record import Deal, Game, draw_deal, initial_states
from felicity_env.information import redact, resample
from felicity_env.setups import STANDARD_PLAYERS, standard_setup

SMALL = Setup(seats=3, mouse_cards=(1, 2), bank=9, mice=5, rounds=3, cards=(0, 2, 5, 8))
WITH_DUMMY = Setup(seats=2, mouse_cards=(2,), bank=6, mice=4, rounds=2, cards=(1, 4, 7), dummy=True)


def make_policy(seed: int = 0, scale: float = 0.4) -> NetworkPlayer:
    rng = np.random.default_rng(seed)
    first = rng.normal(0, scale, (OBS_SIZE, 12)).astype(np.float32), np.zeros(12, np.float32)
    last = rng.normal(0, scale, (12, NUM_ACTIONS)).astype(np.float32), np.zeros(NUM_ACTIONS, np.float32)
    return NetworkPlayer([first, last], open_mice=True, activation="relu")


def make_mixture(seed: int = 0) -> MixturePlayer:
    return MixturePlayer([make_policy(10 * seed + k) for k in range(3)])


def play_random_actions(setup: Setup, seed: int, plies: int) -> Game:
    """Return a game of `plies` random actions, or of fewer if it would be over."""
    rng = np.random.default_rng(seed)
    dealt = draw_deal(setup, seed)
    states, actions = initial_states(setup, dealt), []
    for _ in range(plies):
        if is_terminal(states[0]):
            break
        action = int(nth_legal_action(states[0], int(rng.integers(num_legal_actions(states[0])))))
        before = states.copy()
        step(states[0], action)
        if is_terminal(states[0]):
            states = before
            break
        actions.append(action)
    return Game(setup, dealt, tuple(actions))


def compute_likelihood(game: Game, player: PolicyPlayer) -> float:
    """Return the probability of all actions of the game if all seats play as `player`."""
    likelihood, states = 1.0, initial_states(game.setup, game.deal)
    for action in game.actions:
        seat = np.array([states[0].seat])
        view = View(redact(states, seat), seat, np.zeros(1, np.uint64))
        likelihood *= float(player.probabilities(view)[0, action])
        step(states[0], action)
    return likelihood


def list_indistinguishable_games(game: Game, seat: int):
    """Yield every game that `seat` cannot tell from `game`: other removed cards, other face-down cards."""
    final = game.final_states()
    known = redact(final, seat)[0].tobytes()
    placements, states = {}, initial_states(game.setup, game.deal)
    for ply, action in enumerate(game.actions):
        if states[0].phase == PLACE and states[0].round_number == final[0].round_number:
            placements[ply] = int(states[0].seat)
        step(states[0], action)
    hidden = [ply for ply, owner in placements.items() if owner != seat]
    for removed in product(game.setup.cards, repeat=game.setup.seats):
        if removed[seat] != game.deal.removed[seat]:
            continue
        for cards in product(game.setup.cards, repeat=len(hidden)):
            actions = list(game.actions)
            for ply, card in zip(hidden, cards, strict=True):
                actions[ply] = card
            candidate = Game(game.setup, Deal(removed, game.deal.dummy, game.deal.start_seat), tuple(actions))
            try:
                if redact(candidate.final_states(), seat)[0].tobytes() == known:
                    yield candidate
            except ValueError:
                continue  # a card that is not in the hand


def find_hidden_cards(game: Game, other: int) -> tuple[int, int]:
    """Return the true removed card of a seat, and its true card of this round."""
    state = game.final_states()[0]
    left = state.deck & ~state.played[other] & ~state.hands[other]
    removed = game.deal.removed[other]
    placed = [card for card in range(NUM_CARDS) if left >> card & 1 and card != removed]
    return removed, placed[0] if placed else NO_CARD


@pytest.mark.parametrize("setup", [SMALL, WITH_DUMMY])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make_player", [make_policy, make_mixture])
def test_the_posterior_is_what_enumerating_every_deal_gives(setup, seed, make_player):
    game, player = play_random_actions(setup, seed, plies=3 + 2 * seed), make_player(seed)
    for seat in range(setup.seats):
        posteriors = compute_posteriors(game, seat, player)
        candidates = list(list_indistinguishable_games(game, seat))
        weights = np.array([compute_likelihood(candidate, player) for candidate in candidates])
        for other, hidden in posteriors.items():
            expected: dict[tuple[int, int], float] = {}
            for candidate, weight in zip(candidates, weights / weights.sum(), strict=True):
                removed, placed = find_hidden_cards(candidate, other)
                key = (removed, placed if hidden.placed[0] != NOTHING_HIDDEN else NOTHING_HIDDEN)
                expected[key] = expected.get(key, 0.0) + weight
            got = dict(
                zip(zip(hidden.removed.tolist(), hidden.placed.tolist(), strict=True), hidden.posterior, strict=True)
            )
            assert got.keys() == expected.keys()
            assert all(got[key] == pytest.approx(expected[key], abs=1e-5) for key in expected)


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_the_posterior_is_the_same_in_worlds_that_the_seat_cannot_tell_apart(seats):
    game, player = play_random_actions(standard_setup(seats), seats, plies=40), make_policy()
    state = game.final_states()
    seat = int(state[0].seat)
    posteriors = compute_posteriors(game, seat, player)
    rng = np.random.default_rng(1)
    for _ in range(4):
        world = resample(redact(state, seat), rng)[0]
        deal = Deal(
            tuple(int(card) for card in world.removed[:seats]),
            tuple(int(card) for card in world.dummy_cards) if standard_setup(seats).dummy else (),
            game.deal.start_seat,
        )
        actions = replace_cards(game, world)
        again = compute_posteriors(Game(game.setup, deal, actions), seat, player)
        for other, hidden in posteriors.items():
            assert again[other].posterior.tolist() == hidden.posterior.tolist()


def replace_cards(game: Game, world) -> tuple[int, ...]:
    """Return the actions of the game with the cards of this round replaced by those in `world`."""
    actions, states = list(game.actions), initial_states(game.setup, game.deal)
    for ply, action in enumerate(game.actions):
        state = states[0]
        if state.phase == PLACE and state.round_number == world.round_number:
            actions[ply] = int(world.row[state.row_size])
        step(state, action)
    return tuple(actions)


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_at_most_ninety_possibilities_a_seat_and_they_add_up_to_one(seats):
    game, player = play_random_actions(standard_setup(seats), 1, plies=seats + 2), make_policy()
    for hidden in compute_posteriors(game, 0, player).values():
        assert 1 <= len(hidden.placed) <= 90
        assert hidden.posterior.sum() == pytest.approx(1)
        assert hidden.prior.sum() == pytest.approx(1)


def test_a_policy_that_never_looks_at_its_cards_tells_nothing_by_its_bids():
    game = play_random_actions(SMALL, 2, plies=8)
    for hidden in compute_posteriors(game, 0, make_policy(scale=0.0)).values():
        assert hidden.posterior == pytest.approx(hidden.prior)


def test_worlds_are_drawn_as_the_posterior_has_it_and_fit_what_the_seat_knows():
    game, player, rng = play_random_actions(SMALL, 4, plies=5), make_policy(3, scale=0.8), np.random.default_rng(0)
    posteriors = compute_posteriors(game, 0, player)
    known = redact(game.final_states(), 0)
    worlds = draw_worlds(known, posteriors, 4000, rng)
    assert (redact(worlds, np.zeros(4000, np.int64)) == known).all()
    for other, hidden in posteriors.items():
        frequencies = np.bincount(worlds["removed"][:, other], minlength=NUM_CARDS) / 4000
        assert frequencies == pytest.approx(
            np.bincount(hidden.removed, hidden.posterior, minlength=NUM_CARDS), abs=0.03
        )
