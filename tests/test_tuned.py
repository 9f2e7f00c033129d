"""`tuned`: every weight does what its feature says, at its number of seats."""

import numpy as np
import pytest

import agents
from agents.belief import sack_moments
from agents.tuned import BY_SEATS, CARD_NOISE, IN_SACK, LIMIT_NOISE, WEIGHTS, bid_limit, card_to_place, weighted_action
from felicity_env import NUM_ACTIONS, View
from felicity_env.game import AUCTION, PASS, SETUPS, STATE, State, step
from tests.helpers import (
    C3,
    C5,
    C8,
    C11,
    C15,
    COMPILED,
    LARGE,
    M5,
    M8,
    RABBIT,
    SMALL,
    auction,
    bid,
    new_game,
    random_game,
    random_words,
    view_of,
)
from tests.players import (
    MANY,
    alone_of_four,
    auction_positions,
    is_left_alone,
    last_of_four,
    own_card_face_down,
    placing_positions,
    played_batch,
)

MIDDLE = np.uint64(2**63)  # the word that moves no limit
SURE = 1e8  # weights of cards so large that noise moves none


def weights(**values: object) -> State:
    """A record of weights: these, all others 0."""
    record = np.zeros(1, WEIGHTS)
    for name, value in values.items():
        record[name] = value
    return record[0]


def positions_of(player: agents.Player) -> list[View]:
    """Random positions, and those of games of the player among itself, at 3, 4 and 5 seats."""
    played = played_batch(player, 6 * MANY, games=30 if COMPILED else 3)
    random = [random_game(setup, seed).states[:-1] for setup in SETUPS.values() for seed in range(MANY // 2)]
    return [*played[::3], *(view_of(states, random_words(len(states))) for states in random)]


def test_tuned_with_the_weights_of_ev_decides_as_ev_in_every_position():
    as_ev = weights(
        constant=-1,
        expected=1,
        now=-1.5,
        last=0.5,
        final=1,
        alone=1,
        card=SURE * np.array((-2, -2.2, 0, -0.2, -0.4, -0.6, -0.8, 0.4, -2.4, 0.2)),
        card_dry=SURE * np.array((3, 3, 0, 0, 0, 0, 0, 0, 3, 0)),
    )
    decisions = np.zeros(NUM_ACTIONS, int)
    for view in positions_of(agents.make("ev")):
        actions = [weighted_action(state, as_ev, MIDDLE) for state in view.states]
        assert actions == agents.make("ev").act(view).tolist()
        decisions += np.bincount(actions, minlength=NUM_ACTIONS)
    assert (decisions[: PASS + 2] > 0).all() or not COMPILED
    assert decisions.sum() > 100 * MANY


def test_tuned_plays_by_the_weights_of_its_number_of_seats():
    for view in positions_of(agents.make("tuned")):
        pairs = zip(view.states, view.seeds, strict=True)
        expected = [weighted_action(state, BY_SEATS[state.num_seats], word) for state, word in pairs]
        assert agents.make("tuned").act(view).tolist() == expected


def best_other(values: np.ndarray, state: State) -> float:
    return max(values[seat] for seat in range(state.num_seats) if seat != state.seat)


def mean_other(values: np.ndarray, state: State) -> float:
    return float(np.mean([values[seat] for seat in range(state.num_seats) if seat != state.seat]))


def lead_in_mice(state: State) -> float:
    return state.mice[state.seat] - mean_other(state.mice, state)


def lead_in_score(state: State) -> float:
    scores = state.mice + state.cat_points
    return scores[state.seat] - best_other(scores, state)


def place_in_turn(state: State) -> int:
    return (state.seat - state.start_seat) % state.num_seats


def mice_on_cards(state: State) -> list[int]:
    return [int(mice) for mice in state.pots if mice > 0]


def worth_of_own_card(state: State) -> float:
    card = own_card_face_down(state)
    return 0.0 if card is None else IN_SACK[card]


def fills_again(state: State) -> bool:
    """Whether the mouse cards are full in the next round if the raise by one now stands."""
    bidding = np.array([state], STATE)[0]
    bidding.mice[bidding.seat], bidding.round_number = 40, 0  # as if it could pay, and another round came
    bidding.row[:] = C3  # which cards lie there does not matter
    step(bidding, bid(bidding.high_bid + 1))
    while bidding.phase == AUCTION:
        step(bidding, PASS)
    return bidding.pots.sum() > 0


BID_FEATURES = {
    "constant": lambda state: 1.0,
    "expected": lambda state: sack_moments(state)[0],
    "expected_late": lambda state: sack_moments(state)[0] * state.round_number / 9,
    "spread": lambda state: sack_moments(state)[1] ** 0.5,
    "own_card": worth_of_own_card,
    "now": lambda state: min(mice_on_cards(state), default=0),
    "last": lambda state: max(mice_on_cards(state), default=0),
    "rivals": lambda state: state.in_auction[: state.num_seats].sum() - 1,
    "place": place_in_turn,
    "lead_mice": lead_in_mice,
    "lead_score": lead_in_score,
    "over": lambda state: state.round_number / 9,
    "dry": lambda state: not mice_on_cards(state),
    "refill": fills_again,
    "final": lambda state: state.round_number == 8,
    "alone": lambda state: 0.0,
}
CARD_FEATURES = {  # what the worth of a card is multiplied by
    "value_over": lambda state: state.round_number / 9,
    "value_lead_mice": lambda state: lead_in_mice(state) / 10,
    "value_lead_score": lambda state: lead_in_score(state) / 10,
    "value_place": place_in_turn,
}


def standard_auctions() -> list[State]:
    """As the seats to act know them."""
    return [known for truth, known in auction_positions(MANY) if truth.num_rounds == 9 and truth.mouse_cards.sum() < 16]


def test_every_weight_belongs_to_a_feature_that_is_tested():
    assert {*BID_FEATURES, *CARD_FEATURES, "card", "card_dry"} == set(WEIGHTS.names)


@pytest.mark.parametrize("name", BID_FEATURES)
def test_a_weight_of_one_moves_the_limit_of_a_bid_by_its_feature(name):
    one, more = weights(**{name: 1}), weights(**{"constant": 1, name: 2.5})
    values = []
    for state in standard_auctions():
        if not is_left_alone(state):
            values.append(float(BID_FEATURES[name](state)))
            assert bid_limit(state, one) == pytest.approx(values[-1])
            assert bid_limit(state, more) == pytest.approx(2.5 * values[-1] + (name != "constant"))
    assert len(values) > MANY
    assert len(set(values)) > 1 or name in ("constant", "alone")


@pytest.mark.parametrize("players", SETUPS)
def test_the_bid_that_just_fills_the_bank_for_all_mouse_cards_counts_as_one_that_fills_them(players):
    state, total = auction(players), sum(SETUPS[players].mouse_cards)
    for bank in range(total - 6, total - 1):
        state.bank, state.high_bid = bank, total - 1 - bank
        assert fills_again(state)
        assert bid_limit(state, weights(refill=1)) == 1
        state.high_bid -= 1
        assert not fills_again(state)
        assert bid_limit(state, weights(refill=1)) == 0


def test_left_alone_it_buys_what_is_worth_its_least_whatever_the_other_weights():
    met = 0
    known_worths = [alone_of_four(*cards) for cards in ((M8, C3, C3, C3), (M8, C5, C3, RABBIT), (M8, M5, C8, C5))]
    for state in [*standard_auctions(), *known_worths]:
        if is_left_alone(state):
            for name in BID_FEATURES:
                limit = sack_moments(state)[0] + 1 - (name == "alone")
                assert bid_limit(state, weights(**{name: 1})) == pytest.approx(limit)
            for least in (-3, 0, 1, 4):
                buys = state.mice[state.seat] > 0 and sack_moments(state)[0] >= least
                expected = bid(1) if buys else PASS
                assert weighted_action(state, weights(alone=least, constant=30), MIDDLE) == expected
            met += 1
    assert met > MANY // 4


@pytest.mark.parametrize("name", [*CARD_FEATURES, "card", "card_dry"])
def test_a_weight_moves_the_worth_of_a_card_by_its_feature(name):
    rng, view = np.random.default_rng(6), placing_positions()
    dry = [not mice_on_cards(state) for state in view.states]
    changed = 0
    for state, word, is_dry in zip(view.states, view.seeds, dry, strict=True):
        of_card, more_if_dry = rng.normal(0, 3, size=(2, 10))
        hand = [card for card in range(10) if state.hands[state.seat] >> card & 1]
        worth = of_card.copy()
        if name == "card_dry":
            worth += is_dry * more_if_dry
            record = weights(card=SURE * of_card, card_dry=SURE * more_if_dry)
        elif name == "card":
            record = weights(card=SURE * of_card)
        else:
            worth += CARD_FEATURES[name](state) * IN_SACK
            record = weights(card=SURE * of_card, **{name: SURE})
        best = max(hand, key=lambda card: worth[card])
        assert card_to_place(state, record, word) == best
        changed += best != max(hand, key=lambda card: of_card[card])
    assert changed > MANY or name == "card"
    assert 0 < sum(dry) < len(dry)


@pytest.mark.parametrize("limit", [0.0, 3.3, 4.5, 5.0, 6.9, 9.0])
def test_a_limit_is_moved_by_up_to_its_noise_to_either_side_with_equal_chance(limit):
    state, draws = last_of_four(C15, C15, C15, C15), 4000 if COMPILED else 200
    state.high_bid, as_told = 4, weights(constant=limit)
    raises = [weighted_action(state, as_told, word) == bid(5) for word in random_words(draws)]
    chance = np.clip((limit + LIMIT_NOISE - 5) / (2 * LIMIT_NOISE), 0, 1)
    assert abs(np.mean(raises) - chance) <= 4 * np.sqrt(chance * (1 - chance) / draws)


@pytest.mark.parametrize("hand", [(M8, M5, C3, C5, C8, C11, C15, LARGE, SMALL), (M5, RABBIT, SMALL), (C15,)])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_cards_are_laid_as_often_as_the_exponential_of_their_worth_says(hand, spread):
    state, draws = new_game(4), 6000 if COMPILED else 300
    state.hands[0] = sum(1 << card for card in hand)
    worth = spread * np.random.default_rng(7).normal(size=10)
    laid = [card_to_place(state, weights(card=worth), word) for word in random_words(draws)]
    expected = np.exp(worth[list(hand)] / CARD_NOISE)
    expected *= draws / expected.sum()
    counts = np.bincount(laid, minlength=10)[list(hand)]
    assert counts.sum() == draws
    assert ((counts - expected) ** 2 / expected).sum() < 27  # 0.999 of chi-square with 8 or fewer freedoms
