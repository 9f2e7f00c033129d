"""Checks of actions and deals that callers give, and sets of cards."""

import numpy as np
import pytest

from felicity_env.game_record import check_overrides, list_cards, to_actions
from felicity_env.setups import standard_setup

SETUP = standard_setup(4)


def test_a_set_of_cards_is_listed_in_ascending_order():
    assert list_cards(0b1000000101) == (0, 2, 9)
    assert list_cards(0) == ()


@pytest.mark.parametrize("values", [[1, 2, 3], (1, 2, 3), np.array([1, 2, 3], np.uint8), np.arange(6)[1:4]])
def test_integers_of_any_kind_are_actions(values):
    actions = to_actions(values, 3)
    assert (actions.tolist(), actions.dtype, actions.flags.c_contiguous) == ([1, 2, 3], np.int64, True)


@pytest.mark.parametrize(
    "values", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]], [[1], [2], [3]], 1, [1.0, 2.0, 3.0], "123", [True] * 3]
)
def test_other_values_or_another_number_are_no_actions(values):
    with pytest.raises(ValueError, match="actions must be 3 integers, not "):
        to_actions(values, 3)


@pytest.mark.parametrize("cards", [[1, 2, 3, 9], (1, 2, 3, 9), np.array([1, 2, 3, 9])])
def test_cards_may_be_set_by_any_list(cards):
    assert check_overrides(SETUP, {"removed": cards, "start_seat": np.int8(3)}) == {
        "removed": (1, 2, 3, 9),
        "start_seat": 3,
    }


@pytest.mark.parametrize("cards", ["1239", 5, None, {1, 2, 3, 9}, np.array(5), np.int64(5)])
def test_what_is_no_list_sets_no_cards(cards):
    with pytest.raises(ValueError, match=r"deal\['removed'\] must be a list of cards"):
        check_overrides(SETUP, {"removed": cards})


@pytest.mark.parametrize("card", [10, -1, 2.0, True, "R", None])
def test_what_is_no_card_of_the_game_is_named(card):
    with pytest.raises(ValueError, match=r"deal\['removed'\]: .* is no card of this game; cards are \[0, 1, 2, "):
        check_overrides(SETUP, {"removed": [1, 2, 3, card]})


@pytest.mark.parametrize("seat", [-1, 4, 1.0, True, "0"])
def test_what_is_no_seat_does_not_start(seat):
    with pytest.raises(ValueError, match=r"deal\['start_seat'\] must be 0 to 3"):
        check_overrides(SETUP, {"start_seat": seat})
