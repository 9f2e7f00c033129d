"""`tuned`: a bidder and card player that is linear in features one can name, with weights found by search.

Bidding: it raises by one up to a limit, a weighted sum of what the sack is worth on average and how uncertain that is,
what passing pays, how its means and its score stand to those of the others, and how the game goes on. Cards: each card
has a worth of being placed now, a weighted sum again, and the more worth the likelier it is laid.

Neither is quite sure, on purpose (`LIMIT_NOISE`, `CARD_NOISE`): who always does the same in the same place is read like
an open book, and copies of such a player all lay the same cards.

Everything it looks at is public, remembered (the means of the others follow from public payments) or follows from exact
beliefs over what each opponent can still hold (`belief.py`). `tuned_weights.py` holds a set of weights for each number
of players; `python -m experiments.tune` found them and tells how.
"""

import numpy as np

from agents.belief import sack_moments
from agents.bidding import raise_up_to
from agents.tuned_weights import WEIGHTS_OF
from felicity_env.game import (
    MAX_SEATS,
    NUM_CARDS,
    PLACE,
    State,
    is_alone,
    last_pot,
    mice_to_fill,
    pass_pays,
    score,
    wrap,
)
from felicity_env.kernel import kernel, outlined_kernel
from felicity_env.observation import own_slot
from felicity_env.random_stream import Word, mix

WEIGHTS = np.dtype(
    (
        np.record,
        np.dtype(
            [
                # the limit of a bid, in mice
                ("constant", np.float64),
                ("expected", np.float64),  # expected worth of the sack
                ("expected_late", np.float64),  # ... times the share of the game that is over
                ("spread", np.float64),  # standard deviation of that worth
                ("own_card", np.float64),  # worth in a sack of its own card while it is face down
                ("now", np.float64),  # what passing pays now
                ("last", np.float64),  # what the last to pass is paid in this round
                ("rivals", np.float64),  # how many others are still in the auction
                ("place", np.float64),  # in turn after the start player
                ("lead_mice", np.float64),  # own mice less the mean of the others'
                ("lead_score", np.float64),  # own score less the best of the others'
                ("over", np.float64),  # share of the rounds that are over
                ("dry", np.float64),  # 1 in a round without mice on the mouse cards
                ("refill", np.float64),  # 1 if the next bid would let the bank fill the mouse cards again
                ("final", np.float64),  # 1 in the last round
                ("alone", np.float64),  # the least worth it buys for 1 when it is left alone without a bid
                # the worth of placing a card now
                ("card", np.float64, NUM_CARDS),  # of each card
                ("card_dry", np.float64, NUM_CARDS),  # ... more in a round without mice
                ("value_over", np.float64),  # times worth in a sack, times the share of the rounds that are over
                ("value_lead_mice", np.float64),  # ... times the lead in mice / 10
                ("value_lead_score", np.float64),  # ... times the lead in score / 10
                ("value_place", np.float64),  # ... times the place in turn
            ],
            align=True,
        ),
    )
)
LIMIT_NOISE = 2.0  # mice to either side of the limit, uniform
CARD_NOISE = 1.0
IN_SACK = np.array([-9, -7, 1, 3, 5.5, 8, 11, -2, -6, 0.5])  # what each card adds to an average sack, about
BY_SEATS = np.zeros(MAX_SEATS + 1, WEIGHTS)  # the weights for each number of seats; two seats play as three
for _seats in range(2, MAX_SEATS + 1):
    for _name, _values in WEIGHTS_OF[max(_seats, min(WEIGHTS_OF))].items():
        BY_SEATS[_name][_seats] = _values


@kernel
def tuned_action(state: State, word: Word) -> int:
    """The action of the seat to act in a redacted state."""
    return weighted_action(state, BY_SEATS[state.num_seats], word)


@kernel
def weighted_action(state: State, weights: State, word: Word) -> int:
    """The same with other weights: a record of `WEIGHTS`."""
    if state.phase == PLACE:
        return card_to_place(state, weights, word)
    limit = bid_limit(state, weights)
    return raise_up_to(state, limit if is_alone(state) else limit + LIMIT_NOISE * (2 * uniform(word) - 1))


@outlined_kernel
def bid_limit(state: State, w: State) -> float:
    """The highest bid that the acting seat is willing to make."""
    mean, variance = sack_moments(state)
    if is_alone(state):
        return mean + 1 - w.alone
    seat = state.seat
    over = rounds_over(state)
    limit = w.constant + (w.expected + w.expected_late * over) * mean + w.spread * np.sqrt(variance) + w.over * over
    limit += w.now * pass_pays(state) + w.last * last_pot(state)
    limit += w.rivals * (state.num_seats - 1 - state.passes) + w.place * wrap(state, seat - state.start_seat)
    limit += w.lead_mice * lead_in_mice(state, seat) + w.lead_score * lead_in_score(state, seat)
    slot = own_slot(state, seat)
    if slot >= state.face_up:
        limit += w.own_card * IN_SACK[state.row[slot]]
    if last_pot(state) == 0:
        limit += w.dry
    if state.bank + state.high_bid + 1 >= mice_to_fill(state):
        limit += w.refill
    if state.round_number + 1 == state.num_rounds:
        limit += w.final
    return limit


@outlined_kernel
def card_to_place(state: State, w: State, word: Word) -> int:
    """A card in hand, with a chance that grows as exp(worth / CARD_NOISE): the highest worth with Gumbel noise."""
    seat = state.seat
    slope = w.value_over * rounds_over(state) + w.value_place * wrap(state, seat - state.start_seat)
    slope += w.value_lead_mice * lead_in_mice(state, seat) / 10 + w.value_lead_score * lead_in_score(state, seat) / 10
    is_dry = last_pot(state) == 0
    best, best_card = -np.inf, 0
    for card in range(NUM_CARDS):
        if state.hands[seat] >> card & 1:
            worth = w.card[card] + slope * IN_SACK[card]
            if is_dry:
                worth += w.card_dry[card]
            word = mix(word)
            worth -= CARD_NOISE * np.log(-np.log(uniform(word)))
            if worth > best:
                best, best_card = worth, card
    return best_card


@kernel
def uniform(word: Word) -> float:
    """Between 0 and 1, neither of them, from 64 random bits."""
    return ((word >> np.uint64(12)) + 0.5) / 2.0**52


@kernel
def rounds_over(state: State) -> float:
    """Share of the rounds that are over, 0 .. less than 1."""
    return state.round_number / state.num_rounds


@kernel
def lead_in_mice(state: State, seat: int) -> float:
    """Mice of `seat` less the mean of the others'."""
    total = 0
    for other in range(state.num_seats):
        total += state.mice[other]
    return state.mice[seat] - (total - state.mice[seat]) / (state.num_seats - 1)


@kernel
def lead_in_score(state: State, seat: int) -> float:
    """Score of `seat` less the best of the others'."""
    best = -1000
    for other in range(state.num_seats):
        if other != seat:
            best = max(best, score(state, other))
    return score(state, seat) - best
