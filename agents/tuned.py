"""Linear bidder and card player: weighs sack value, its spread, mice, score and time by weights found with CMA-ES.

It raises by one up to a limit: a weighted sum of the mean and spread of the sack's value, of what a pass pays, of its
mice and score relative to the other seats', and of the progress of the game. While placing, each card has a preference,
also a weighted sum; a higher one makes the card likelier.

The limit and the choice of the card have noise on purpose (`LIMIT_NOISE`, `CARD_NOISE`). A deterministic player is easy
to predict, and all copies of it would place the same cards.

All inputs are public, remembered (the mice of the others follow from public payments) or follow from the exact
distribution of hidden cards (`sack_value.py`). `tuned_weights.py` holds a set of weights for each setup that was tuned;
`python -m experiments tune` searches for them. In any other setup the player uses the weights of the first tuned setup
with the same number of seats; if there is none, it uses those of the first tuned setup.
"""

import math

import numpy as np

from agents.bidding import raise_up_to
from agents.sack_value import sack_moments
from agents.tuned_weights import WEIGHTS_BY_SETUP
from felicity_env.game import (
    MAX_POTS,
    NUM_CARDS,
    PLACE,
    State,
    is_alone,
    is_dry,
    last_pot,
    mice_to_fill,
    pass_pays,
    score,
    wrap,
)
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.observation import own_slot
from felicity_env.random_stream import RandomBits, mix, open_uniform
from felicity_env.setups import SETUPS

WEIGHTS = np.dtype(
    (
        np.record,
        np.dtype(
            [
                # terms of the bid limit, in mice
                ("constant", np.float64),
                ("expected", np.float64),  # mean of the sack's value
                ("expected_late", np.float64),  # ... times the fraction of the rounds that are over
                ("spread", np.float64),  # standard deviation of the sack's value
                ("own_card", np.float64),  # `CARD_EFFECTS` of its own card while that is face down
                ("now", np.float64),  # mice that a pass pays now
                ("last", np.float64),  # mice that the last pass of this round pays
                ("rivals", np.float64),  # number of other seats still in the auction
                ("position", np.float64),  # position after the start player
                ("lead_mice", np.float64),  # own mice minus the mean of the others'
                ("lead_score", np.float64),  # own score minus the best of the others'
                ("over", np.float64),  # fraction of the rounds that are over
                ("dry", np.float64),  # 1 in a dry round
                ("refill", np.float64),  # 1 if the next bid lets the bank fill the mouse cards again
                ("final", np.float64),  # 1 in the last round
                ("alone", np.float64),  # least mean value for which the last seat buys at 1 mouse (nobody bid)
                # terms of the preference for placing a card now
                ("card", np.float64, NUM_CARDS),  # for each card
                ("card_dry", np.float64, NUM_CARDS),  # ... added in a dry round
                ("value_over", np.float64),  # `CARD_EFFECTS` times the fraction of the rounds that are over
                ("value_lead_mice", np.float64),  # ... times the lead in mice / 10
                ("value_lead_score", np.float64),  # ... times the lead in score / 10
                ("value_position", np.float64),  # ... times the position after the start player
            ],
            align=True,
        ),
    )
)
LIMIT_NOISE = 2.0  # mice; the limit moves by at most this to either side, uniformly
CARD_NOISE = 1.0  # temperature of the softmax over cards
CARD_EFFECTS = np.array([-9, -7, 1, 3, 5.5, 8, 11, -2, -6, 0.5])  # rough change of an average sack's value by each card
TUNED = np.zeros(len(WEIGHTS_BY_SETUP), WEIGHTS)  # weights for each setup that was tuned
for _number, _weights in enumerate(WEIGHTS_BY_SETUP.values()):
    for _name, _values in _weights.items():
        TUNED[_name][_number] = _values
_SETUPS = np.concatenate([SETUPS[_name].blank_state() for _name in WEIGHTS_BY_SETUP])


@kernel
def action(state: State, random_bits: RandomBits) -> int:
    """Return the action of the seat to act, given a state with only what this seat may know."""
    return linear_action(state, TUNED[find_weights(state)], random_bits)


@kernel
def find_weights(state: State) -> int:
    """Return the index in `TUNED` of the weights for a state, by its number of seats and its mouse cards.

    If no tuned setup fits both, the index is that of the first one with the same number of seats, or 0 if there is
    none.
    """
    found = 0
    for number in range(len(TUNED) - 1, -1, -1):
        if _SETUPS[number].num_seats == state.num_seats:
            found = number
            if _have_same_mouse_cards(_SETUPS[number], state):
                break
    return found


@kernel
def _have_same_mouse_cards(one, other):
    different = 0
    for k in range(MAX_POTS):
        different += one.mouse_cards[k] != other.mouse_cards[k]
    return different == 0


@kernel
def linear_action(state: State, weights: State, random_bits: RandomBits) -> int:
    """Return the action of the linear player in `state`, with the given weights: a record of type `WEIGHTS`."""
    if state.phase == PLACE:
        return draw_card(state, weights, random_bits)
    limit = bid_limit(state, weights)
    return raise_up_to(state, limit if is_alone(state) else limit + LIMIT_NOISE * (2 * open_uniform(random_bits) - 1))


@outlined_kernel
def bid_limit(state: State, w: State) -> float:
    """Return the highest bid that the acting seat is willing to make, a weighted sum of features without noise."""
    mean, variance = sack_moments(state)
    if is_alone(state):
        return mean + 1 - w.alone
    seat = state.seat
    over = progress(state)
    limit = w.constant + (w.expected + w.expected_late * over) * mean + w.spread * math.sqrt(variance) + w.over * over
    limit += w.now * pass_pays(state) + w.last * last_pot(state)
    limit += w.rivals * (state.num_seats - 1 - state.passes) + w.position * wrap(state, seat - state.start_seat)
    limit += w.lead_mice * lead_in_mice(state, seat) + w.lead_score * lead_in_score(state, seat)
    slot = own_slot(state, seat)
    if slot >= state.face_up:
        limit += w.own_card * CARD_EFFECTS[state.row[slot]]
    if is_dry(state):
        limit += w.dry
    if state.bank + state.high_bid + 1 >= mice_to_fill(state):
        limit += w.refill
    if state.round_number + 1 == state.num_rounds:
        limit += w.final
    return limit


@outlined_kernel
def draw_card(state: State, w: State, random_bits: RandomBits) -> int:
    """Draw the card to place from the softmax of preference / CARD_NOISE over the cards in hand, by Gumbel noise."""
    seat = state.seat
    slope = w.value_over * progress(state) + w.value_position * wrap(state, seat - state.start_seat)
    slope += w.value_lead_mice * lead_in_mice(state, seat) / 10 + w.value_lead_score * lead_in_score(state, seat) / 10
    dry = is_dry(state)
    best, best_card = -np.inf, 0
    for card in range(NUM_CARDS):
        if state.hands[seat] >> card & 1:
            preference = w.card[card] + slope * CARD_EFFECTS[card]
            if dry:
                preference += w.card_dry[card]
            random_bits = mix(random_bits)
            preference -= CARD_NOISE * np.log(-np.log(open_uniform(random_bits)))
            if preference > best:
                best, best_card = preference, card
    return best_card


@kernel
def progress(state: State) -> float:
    """Return the fraction of the rounds that are over, in [0, 1)."""
    return state.round_number / state.num_rounds


@kernel
def lead_in_mice(state: State, seat: int) -> float:
    """Return the mice of `seat` minus the mean of the other seats' mice."""
    total = 0
    for other in range(state.num_seats):
        total += state.mice[other]
    return state.mice[seat] - (total - state.mice[seat]) / (state.num_seats - 1)


@kernel
def lead_in_score(state: State, seat: int) -> float:
    """Return the score of `seat` minus the highest score of the other seats."""
    best = -1000
    for other in range(state.num_seats):
        if other != seat:
            best = max(best, score(state, other))
    return score(state, seat) - best
