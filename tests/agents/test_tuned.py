"""`tuned`: every weight acts on the feature that it is named for, for its setup."""

import numpy as np
import pytest

import agents
from agents.sack_value import sack_moments
from agents.tuned import (
    CARD_EFFECTS,
    CARD_NOISE,
    LIMIT_NOISE,
    TUNED,
    WEIGHTS,
    bid_limit,
    draw_card,
    find_weights,
    linear_action,
)
from felicity_env import NUM_ACTIONS, View
from felicity_env.game import AUCTION, PASS, STATE, Setup, State, step
from felicity_env.setups import SETUPS
from tests.support.helpers import (
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
    draw_bits,
    make_view,
    new_game,
    random_game,
)
from tests.support.players import (
    MANY,
    alone_of_four,
    auction_positions,
    is_left_alone,
    last_of_four,
    own_card_face_down,
    placing_positions,
    play_batch,
)

MIDDLE = np.uint64(2**63)  # random bits that move no limit
SURE = 1e8  # weights of cards so large that noise changes no choice


def weights(**values: object) -> State:
    """Return a record of weights: the given ones, all others 0."""
    record = np.zeros(1, WEIGHTS)
    for name, value in values.items():
        record[name] = value
    return record[0]


def list_views(player: agents.Player) -> list[View]:
    """List views of random positions, and of games of the player among copies of itself, with 3, 4 and 5 seats."""
    played = play_batch(player, 6 * MANY, games=30 if COMPILED else 3)
    random = [random_game(setup, seed).states[:-1] for setup in SETUPS.values() for seed in range(MANY // 2)]
    return [*played[::3], *(make_view(states, draw_bits(len(states))) for states in random)]


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
    for view in list_views(agents.make("ev")):
        actions = [linear_action(state, as_ev, MIDDLE) for state in view.states]
        assert actions == agents.make("ev").act(view).tolist()
        decisions += np.bincount(actions, minlength=NUM_ACTIONS)
    assert (decisions[: PASS + 2] > 0).all() or not COMPILED
    assert decisions.sum() > 100 * MANY


def test_tuned_plays_by_the_weights_of_its_setup_or_else_of_the_first_with_as_many_seats():
    setups = (
        *SETUPS.values(),
        Setup(seats=2, mouse_cards=(4,), bank=12),
        Setup(seats=5, mouse_cards=(1, 2, 3, 4), bank=20),
    )
    assert [find_weights(setup.blank_state()[0]) for setup in setups] == [0, 1, 2, 0, 2]
    for view in list_views(agents.make("tuned")):
        pairs = zip(view.states, view.seeds, strict=True)
        expected = [linear_action(state, TUNED[find_weights(state)], bits) for state, bits in pairs]
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


def position(state: State) -> int:
    return (state.seat - state.start_seat) % state.num_seats


def mice_on_cards(state: State) -> list[int]:
    return [int(mice) for mice in state.pots if mice > 0]


def own_card_effect(state: State) -> float:
    card = own_card_face_down(state)
    return 0.0 if card is None else CARD_EFFECTS[card]


def fills_mouse_cards(state: State) -> bool:
    """Return whether the mouse cards are full in the next round if the raise by one now stands."""
    bidding = np.array([state], STATE)[0]
    bidding.mice[bidding.seat], bidding.round_number = 40, 0  # as if it could pay, and another round came
    bidding.row[:] = C3  # the cards do not matter
    step(bidding, bid(bidding.high_bid + 1))
    while bidding.phase == AUCTION:
        step(bidding, PASS)
    return bidding.pots.sum() > 0


BID_FEATURES = {
    "constant": lambda state: 1.0,
    "expected": lambda state: sack_moments(state)[0],
    "expected_late": lambda state: sack_moments(state)[0] * state.round_number / 9,
    "spread": lambda state: sack_moments(state)[1] ** 0.5,
    "own_card": own_card_effect,
    "now": lambda state: min(mice_on_cards(state), default=0),
    "last": lambda state: max(mice_on_cards(state), default=0),
    "rivals": lambda state: state.in_auction[: state.num_seats].sum() - 1,
    "position": position,
    "lead_mice": lead_in_mice,
    "lead_score": lead_in_score,
    "over": lambda state: state.round_number / 9,
    "dry": lambda state: not mice_on_cards(state),
    "refill": fills_mouse_cards,
    "final": lambda state: state.round_number == 8,
    "alone": lambda state: 0.0,
}
CARD_FEATURES = {  # factors of the preference for a card
    "value_over": lambda state: state.round_number / 9,
    "value_lead_mice": lambda state: lead_in_mice(state) / 10,
    "value_lead_score": lambda state: lead_in_score(state) / 10,
    "value_position": position,
}


def standard_auctions() -> list[State]:
    """List redacted states of auctions of the standard setups."""
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


@pytest.mark.parametrize("setup", SETUPS.values())
def test_the_bid_that_just_fills_the_bank_for_all_mouse_cards_counts_as_one_that_fills_them(setup):
    state, total = auction(setup.seats), sum(setup.mouse_cards)
    for bank in range(total - 6, total - 1):
        state.bank, state.high_bid = bank, total - 1 - bank
        assert fills_mouse_cards(state)
        assert bid_limit(state, weights(refill=1)) == 1
        state.high_bid -= 1
        assert not fills_mouse_cards(state)
        assert bid_limit(state, weights(refill=1)) == 0


def test_left_alone_it_buys_from_its_least_value_on_whatever_the_other_weights():
    met = 0
    known_values = [alone_of_four(*cards) for cards in ((M8, C3, C3, C3), (M8, C5, C3, RABBIT), (M8, M5, C8, C5))]
    for state in [*standard_auctions(), *known_values]:
        if is_left_alone(state):
            for name in BID_FEATURES:
                limit = sack_moments(state)[0] + 1 - (name == "alone")
                assert bid_limit(state, weights(**{name: 1})) == pytest.approx(limit)
            for least in (-3, 0, 1, 4):
                buys = state.mice[state.seat] > 0 and sack_moments(state)[0] >= least
                expected = bid(1) if buys else PASS
                assert linear_action(state, weights(alone=least, constant=30), MIDDLE) == expected
            met += 1
    assert met > MANY // 4


@pytest.mark.parametrize("name", [*CARD_FEATURES, "card", "card_dry"])
def test_a_weight_moves_the_preference_for_a_card_by_its_feature(name):
    rng, view = np.random.default_rng(6), placing_positions()
    dry = [not mice_on_cards(state) for state in view.states]
    changed = 0
    for state, bits, is_dry in zip(view.states, view.seeds, dry, strict=True):
        of_card, more_if_dry = rng.normal(0, 3, size=(2, 10))
        hand = [card for card in range(10) if state.hands[state.seat] >> card & 1]
        preference = of_card.copy()
        if name == "card_dry":
            preference += is_dry * more_if_dry
            record = weights(card=SURE * of_card, card_dry=SURE * more_if_dry)
        elif name == "card":
            record = weights(card=SURE * of_card)
        else:
            preference += CARD_FEATURES[name](state) * CARD_EFFECTS
            record = weights(card=SURE * of_card, **{name: SURE})
        best = max(hand, key=lambda card: preference[card])
        assert draw_card(state, record, bits) == best
        changed += best != max(hand, key=lambda card: of_card[card])
    assert changed > MANY or name == "card"
    assert 0 < sum(dry) < len(dry)


@pytest.mark.parametrize("limit", [0.0, 3.3, 4.5, 5.0, 6.9, 9.0])
def test_a_limit_is_moved_by_up_to_its_noise_to_either_side_with_equal_chance(limit):
    state, draws = last_of_four(C15, C15, C15, C15), 4000 if COMPILED else 200
    state.high_bid, by_limit = 4, weights(constant=limit)
    raises = [linear_action(state, by_limit, bits) == bid(5) for bits in draw_bits(draws)]
    chance = np.clip((limit + LIMIT_NOISE - 5) / (2 * LIMIT_NOISE), 0, 1)
    assert abs(np.mean(raises) - chance) <= 4 * np.sqrt(chance * (1 - chance) / draws)


@pytest.mark.parametrize("hand", [(M8, M5, C3, C5, C8, C11, C15, LARGE, SMALL), (M5, RABBIT, SMALL), (C15,)])
@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_cards_are_placed_as_often_as_the_softmax_of_their_preferences_says(hand, spread):
    state, draws = new_game(4), 6000 if COMPILED else 300
    state.hands[0] = sum(1 << card for card in hand)
    preference = spread * np.random.default_rng(7).normal(size=10)
    placed = [draw_card(state, weights(card=preference), bits) for bits in draw_bits(draws)]
    expected = np.exp(preference[list(hand)] / CARD_NOISE)
    expected *= draws / expected.sum()
    counts = np.bincount(placed, minlength=10)[list(hand)]
    assert counts.sum() == draws
    assert ((counts - expected) ** 2 / expected).sum() < 27  # 0.999 of chi-square with 8 or fewer freedoms
