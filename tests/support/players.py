"""Helpers for tests of players: positions to decide in, a network with random weights, a batch of games."""

import numpy as np

import agents
from agents.network import NetworkPlayer
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch, View
from felicity_env.game import AUCTION, PASS, PLACE, State
from felicity_env.information import redact
from felicity_env.setups import SETUPS
from tests.support.helpers import (
    ALL_SETUPS,
    C11,
    COMPILED,
    RABBIT,
    SMALL,
    auction,
    bid,
    decide,
    draw_bits,
    make_view,
    play,
    random_game,
)

MANY = 40 if COMPILED else 2  # positions or games


def highest_raise(player: agents.Player, state: State) -> int:
    """Return the highest bid that a player is willing to make in a position if its seat has 40 mice.

    The current bid is set to each amount from 0 to 39. The test fails if the player raises a higher bid after it has
    passed on a lower one.
    """
    state.mice[state.seat] = 40
    bids = []
    for amount in range(1, 41):
        state.high_bid = amount - 1
        bids.append(decide(player, state) == bid(amount))
    assert bids == sorted(bids, reverse=True)
    return sum(bids)


def last_of_four(*cards: int, **dealt: object) -> State:
    """Return a state of four players in which seats 2 and 3 are left in the auction, and seat 3 decides.

    The cards are those of the row, which seat 3 knows completely: it has placed the only card that is still face down.
    The bid is 1, and a pass pays 6 mice.
    """
    return play(auction(4, cards, removed=[RABBIT if RABBIT not in cards else SMALL] * 4, **dealt), PASS, PASS, bid(1))


def alone_of_four(*cards: int) -> State:
    """Return a state of four players in which seat 3 is left alone in the auction, and nobody has bid."""
    return play(auction(4, cards, removed=[RABBIT if RABBIT not in cards else C11] * 4), PASS, PASS, PASS)


def auction_positions(count: int) -> list[tuple[State, State]]:
    """Return pairs (true state, redacted state) of random positions in auctions, in every setup.

    count: number of games in each setup; two positions come from each.
    """
    positions = []
    for setup in ALL_SETUPS:
        rng = np.random.default_rng(setup.seats)
        for seed in range(count):
            states = random_game(setup, seed).states
            states = states[states["phase"] == AUCTION]
            picked = states[rng.integers(len(states), size=2)]
            positions += zip(picked, redact(picked, picked["seat"]), strict=True)
    return positions


def own_card_face_down(state: State) -> int | None:
    """Return the card that the seat to act has face down in the row of an auction, or None if it is shown."""
    slot = (state.seat - state.start_seat) % state.num_seats + state.has_dummy
    return None if slot < state.face_up else int(state.row[slot])


def is_left_alone(state: State) -> bool:
    """Return whether only one seat is left in the auction."""
    return state.in_auction[: state.num_seats].sum() == 1


def placing_positions() -> View:
    """Return a view of all decisions about which card to place in random games with standard setups."""
    states = np.concatenate([random_game(setup, seed).states for setup in SETUPS.values() for seed in range(MANY)])
    placing = states[states["phase"] == PLACE]
    return make_view(placing, draw_bits(len(placing)))


def small_net(seed: int = 0, *, hidden: int = 12, scale: float = 1.0, greedy: bool = False) -> NetworkPlayer:
    """Return a player that is a small neural network with random weights."""
    rng = np.random.default_rng(seed)
    sizes = [(OBS_SIZE, hidden), (hidden, NUM_ACTIONS)]
    layers = [
        (rng.normal(0, scale, size).astype(np.float32), rng.normal(0, 1, size[1]).astype(np.float32)) for size in sizes
    ]
    return NetworkPlayer(layers, open_mice=False, activation="tanh", greedy=greedy)


def play_batch(player: agents.Player, steps: int, *, games: int = 60, seed: int = 0) -> list[View]:
    """Play `steps` steps of a batch in which one player has every seat, and return the view of each step.

    The games have 3, 4 and 5 seats in turn.
    """
    batch = Batch(games, [3, 4, 5] * (games // 3), seed=seed)
    views = []
    for _ in range(steps):
        views.append(batch.view())
        batch.step(player.act(views[-1]))
    return views
