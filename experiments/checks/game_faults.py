"""Checks that random games obey the rules: every position, every step and the end of each game, in compiled code."""

from typing import NamedTuple

import numpy as np

from experiments.checks.position_faults import (
    BIDS_WRONG,
    ENDLESS,
    FAULTS,
    FILL_WRONG,
    GAIN_WRONG,
    POINTS_WRONG,
    RANKS_WRONG,
    ROUNDS_WRONG,
    SEAT_WRONG,
    SETUP_CHANGED,
    SOUND,
    START_WRONG,
    WENT_BACK,
    check_position,
)
from experiments.checks.random_games import MAX_LENGTH, diverse_action
from felicity_env.game import (
    AUCTION,
    LARGE_DOG,
    MAX_POTS,
    MAX_SEATS,
    NO_SEAT,
    NUM_ACTIONS,
    OVER,
    PASS,
    PLACE,
    SMALL_DOG,
    STATE,
    Setup,
    deal,
    rank,
    score,
    step,
)
from felicity_env.kernel import kernel
from felicity_env.observation import OBS_SIZE
from felicity_env.player import random_action
from felicity_env.random_stream import mix, next_game_seed
from felicity_env.rewards import reward_code, step_rewards

_VALUES = (-8, -5, 3, 5, 8, 11, 15, 0, 0, 0)  # R1.1
_WIN, _MARGIN, _ROUND = (reward_code(name) for name in ("win", "margin", "round"))
_ROUNDING = 1e-9


# --- one step ---------------------------------------------------------------------------------------------------------


@kernel
def _sack(row, size):
    """Return the value of a sack by the rules of the dogs (R5), computed independently of the game's own code.

    row: numbers of the cards. size: number of cards in the row.
    """
    dogs = large = total = 0
    most = least = low = high = 0  # of the negative cats the furthest from zero and the nearest; of the positive ones
    for slot in range(size):
        value = _VALUES[row[slot]]
        total += value
        dogs += row[slot] in (LARGE_DOG, SMALL_DOG)
        large += row[slot] == LARGE_DOG
        if value < 0:
            most = min(most, value)
            least = value if least == 0 else max(least, value)
        elif value > 0:
            high = max(high, value)
            low = value if low == 0 else min(low, value)
    if dogs != 1:
        return total
    if large:
        return total - (high if high else least)
    return total - (most if most else low)


@kernel
def _check_step(before, action, after):
    """Return the first fault in the change from the state `before` to `after` by an action, or SOUND if none."""
    if after.deck != before.deck or after.num_seats != before.num_seats or after.num_rounds != before.num_rounds:
        return SETUP_CHANGED
    for seat in range(MAX_SEATS):
        if after.removed[seat] != before.removed[seat]:
            return SETUP_CHANGED
    if after.phase == OVER or after.round_number != before.round_number:
        return _check_end_of_round(before, action, after)
    if before.phase == PLACE:
        last = before.row_size + 1 == before.num_seats + before.has_dummy
        if after.phase != (AUCTION if last else PLACE):
            return WENT_BACK
        if before.row_size == before.has_dummy and before.seat != before.start_seat:
            return START_WRONG
        expected = before.start_seat if last else (before.seat + 1) % before.num_seats
        return SOUND if after.seat == expected else SEAT_WRONG
    if after.phase != AUCTION or after.passes < before.passes:
        return WENT_BACK
    if after.high_bid != (before.high_bid if action == PASS else action - PASS) or after.high_bid < before.high_bid:
        return BIDS_WRONG
    if action != PASS and not before.high_bid < after.high_bid == after.bids[before.seat] <= before.mice[before.seat]:
        return BIDS_WRONG
    expected = (before.seat + 1) % before.num_seats
    while not after.in_auction[expected]:
        expected = (expected + 1) % before.num_seats
    return SOUND if after.seat == expected else SEAT_WRONG


@kernel
def _check_end_of_round(before, action, after):
    over = before.round_number + 1 == before.num_rounds
    if before.phase != AUCTION or after.phase != (OVER if over else PLACE):
        return WENT_BACK
    if after.round_number != before.round_number + (0 if over else 1):
        return WENT_BACK
    alone = before.passes == before.num_seats - 1
    sold = not (alone and action == PASS)
    winner = _buyer(before, alone) if sold else NO_SEAT
    value = _sack(before.row, before.num_seats + before.has_dummy) if sold else 0
    price = (1 if alone else before.high_bid) if sold else 0
    if after.last_winner != winner or after.last_price != price or after.last_value != value:
        return POINTS_WRONG
    for seat in range(before.num_seats):
        if after.cat_points[seat] != before.cat_points[seat] + (value if seat == winner else 0):
            return POINTS_WRONG
    return _check_next_round(before, after, winner, price, over)


@kernel
def _buyer(before, alone):
    """Return the seat that buys the sack, given the state before the last action of an auction that ends with a sale.

    If `alone` is true, all other seats have passed and the acting seat buys (R4.8). If it is false, the acting seat
    passes and the only other seat in the auction buys (R4.6).
    """
    if alone:
        return before.seat
    for seat in range(before.num_seats):
        if seat != before.seat and before.in_auction[seat]:
            return seat
    return NO_SEAT


@kernel
def _check_next_round(before, after, winner, price, over):
    total = 0
    for k in range(MAX_POTS):
        total += before.mouse_cards[k]
    filled = not over and winner != NO_SEAT and before.bank + price >= total
    for k in range(MAX_POTS):
        if after.pots[k] != (before.mouse_cards[k] if filled else 0):
            return FILL_WRONG
    if after.bank != before.bank + price - (total if filled else 0):
        return FILL_WRONG
    if over:
        return SOUND if after.seat == NO_SEAT else SEAT_WRONG
    start = before.start_seat if winner == NO_SEAT else winner
    return SOUND if after.start_seat == start == after.seat else START_WRONG


# --- whole games ------------------------------------------------------------------------------------------------------


@kernel
def _check_end(state, first, sums, rewards):
    """Return the first fault in the scores, ranks and rewards of a finished game, or SOUND if there is none.

    first: the state before the first decision. sums: for each seat, the sum over the game of the rewards that it gets
    after each round. rewards: a scratch array, which is overwritten.
    """
    best = winners = 0
    for seat in range(state.num_seats):
        if sums[seat] != score(state, seat) - first.mice[seat]:
            return GAIN_WRONG
        ahead = 0
        for other in range(state.num_seats):
            ahead += _order(state, other) > _order(state, seat)
        if rank(state, seat) != ahead + 1:
            return RANKS_WRONG
        best = _order(state, seat) if seat == 0 else max(best, _order(state, seat))
    for seat in range(state.num_seats):
        winners += _order(state, seat) == best
    step_rewards(state, _WIN, rewards)
    for seat in range(state.num_seats):
        if abs(rewards[seat] - (1 / winners if _order(state, seat) == best else 0.0)) > _ROUNDING:
            return RANKS_WRONG
    step_rewards(state, _MARGIN, rewards)
    total = 0.0
    for seat in range(state.num_seats):
        total += rewards[seat]
    return SOUND if abs(total) < _ROUNDING else RANKS_WRONG


@kernel
def _order(state, seat):
    """Return a number that is higher for a seat with a higher score, or with equal scores and more cat points."""
    cat_points = int(state.cat_points[seat])
    return (cat_points + int(state.mice[seat])) * 10_000 + cat_points


@kernel
def _check_game(states, seed, varied, work):
    """Play one random game, check every position and step, and return the number of the first fault, or SOUND.

    states: [0] is the state before the deal, [1] the current one, [2] the one before the last action. varied: whether
    actions are drawn by `diverse_action`, not uniformly.
    """
    states[1] = states[0]
    deal(states[1], seed)
    work.sums[:] = 0.0
    placements, random_bits = 0, seed
    for _ in range(MAX_LENGTH):
        fault = check_position(states[1], states[0], work.mask, work.observation)
        if fault != SOUND:
            return fault
        if states[1].phase == OVER:
            if placements != states[1].num_rounds * states[1].num_seats:
                return ROUNDS_WRONG
            return _check_end(states[1], states[0], work.sums, work.rewards)
        random_bits = np.uint64(mix(random_bits))
        action = diverse_action(states[1], random_bits) if varied else random_action(states[1], random_bits)
        placements += states[1].phase == PLACE
        states[2] = states[1]
        step(states[1], action)
        work.decisions[0] += 1
        fault = _check_step(states[2], action, states[1])
        if fault != SOUND:
            return fault
        step_rewards(states[1], _ROUND, work.rewards)
        for seat in range(MAX_SEATS):
            work.sums[seat] += work.rewards[seat]
    return ENDLESS


@kernel
def _check_games(states, seed, first, last, work):
    for game in range(first, last):
        game_seed = next_game_seed(seed, states[0].num_seats, game)
        fault = _check_game(states, game_seed, game % 2 == 1, work)
        work.faults[fault] += 1
        if work.faults[fault] == 1:
            work.games[fault] = game


class _Work(NamedTuple):
    """Arrays to which the compiled checks of random games write their results and intermediate values."""

    mask: np.ndarray  # int8 [NUM_ACTIONS]
    observation: np.ndarray  # float32 [OBS_SIZE]
    rewards: np.ndarray  # float64 [MAX_SEATS]: of a step
    sums: np.ndarray  # float64 [MAX_SEATS]: of a game
    decisions: np.ndarray  # int64 [1]: in all games
    faults: np.ndarray  # int64 [len(FAULTS)]: number of games with each fault
    games: np.ndarray  # int64 [len(FAULTS)]: the first game with each fault


class GameFaults(NamedTuple):
    """Result of checking random games: the number of decisions, and how many games have each fault, by its name.

    `faults` also has the faults that were not found, with a count of 0.
    """

    decisions: int
    faults: dict[str, int]  # number of games whose first fault it is
    first_games: dict[str, int]  # the first game with each fault that was found


def check_games(setup: Setup, games: range, seed: int) -> GameFaults:
    """Play the random games with the numbers `games`, check them against the rules, and count their faults.

    The actions of games with an odd number are drawn by `diverse_action`, those of the others uniformly.
    """
    states = np.zeros(3, STATE)
    states[:1] = setup.blank_state()
    work = _Work(
        mask=np.zeros(NUM_ACTIONS, np.int8),
        observation=np.zeros(OBS_SIZE, np.float32),
        rewards=np.zeros(MAX_SEATS),
        sums=np.zeros(MAX_SEATS),
        decisions=np.zeros(1, np.int64),
        faults=np.zeros(len(FAULTS), np.int64),
        games=np.zeros(len(FAULTS), np.int64),
    )
    _check_games(states, np.uint64(seed), games.start, games.stop, work)
    faults: dict[str, int] = dict(zip(FAULTS, work.faults.tolist(), strict=True))
    del faults[FAULTS[SOUND]]
    first_games = {name: int(game) for name, game in zip(FAULTS, work.games, strict=True) if faults.get(name)}
    return GameFaults(int(work.decisions[0]), faults, first_games)
