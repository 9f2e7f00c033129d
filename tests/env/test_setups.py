"""Setups: which can be played, the reason given for each that cannot, and how they are named, found and read."""

import json
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from felicity_env.game import HIDDEN, NO_CARD, STATE, Setup
from felicity_env.setups import (
    SETUPS,
    SMALL_SETUPS,
    choose_setup,
    describe_setup,
    find_setup,
    setup_name,
    standard_setup,
)

STANDARD: dict[str, Any] = {"seats": 4, "mouse_cards": (2, 4, 6), "bank": 27}
IMPOSSIBLE = {  # what is changed in the standard game of four -> the reason given
    "one seat": ({"seats": 1, "mouse_cards": ()}, "seats must be 2 to 5, not 1"),
    "six seats": ({"seats": 6, "mouse_cards": (1, 1, 1, 1, 1)}, "seats must be 2 to 5, not 6"),
    "dummy with five": ({"seats": 5, "mouse_cards": (1, 1, 1, 1), "dummy": True}, "5 seats and a dummy need 6 slots"),
    "two removed": ({"removed": 2}, "removed must be 0 or 1, not 2"),
    "negative removed": ({"removed": -1}, "removed must be 0 or 1, not -1"),
    "a card twice": ({"cards": (0, 1, 2, 3, 4, 5, 6, 7, 8, 8)}, "repeat"),
    "no such card": ({"cards": (0, 1, 2, 3, 4, 5, 6, 7, 8, 10)}, "cards are numbers 0 to 9"),
    "a negative card": ({"cards": (-1, 1, 2, 3, 4, 5, 6, 7, 8, 9)}, "cards are numbers 0 to 9"),
    "no round": ({"rounds": 0}, "rounds must be 1 to 9, not 0"),
    "ten rounds": ({"rounds": 10, "removed": 0}, "rounds must be 1 to 9, not 10"),
    "more rounds than cards": ({"rounds": 3, "cards": (0, 1, 2)}, "3 rounds, but 2 cards in hand"),
    "too few mouse cards": ({"mouse_cards": (2, 4)}, "4 seats need 3 mouse cards"),
    "too many mouse cards": ({"mouse_cards": (2, 4, 6, 6)}, "4 seats need 3 mouse cards"),
    "negative mouse card": ({"mouse_cards": (2, 4, -1)}, "mouse cards cannot be negative"),
    "a mouse card of 64": ({"mouse_cards": (2, 4, 64), "mice": 0, "rounds": 1}, "mouse cards hold at most 63 mice"),
    "negative mice": ({"mice": -1}, "mice cannot be negative: -1"),
    "negative bank": ({"bank": -1}, "bank cannot be negative: -1"),
    "a huge bank": ({"bank": 999 - 4 * 15 + 1}, "there are 1000 mice in hands and bank; the most is 999"),
    "too many mice": ({"mice": 16}, "a seat could hold 64 mice at a bid"),
    "too many mice in one round": ({"mice": 64, "rounds": 1}, "a seat could hold 64 mice at a bid"),
    "too rich mouse cards": ({"mouse_cards": (2, 7, 4)}, "a seat could hold 71 mice at a bid"),
    "too rich in two rounds": ({"mouse_cards": (61, 4, 6), "mice": 3, "rounds": 2}, "could hold 64 mice at a bid"),
    "half a mouse": ({"mice": 1.5}, "mice must be an integer, not 1.5"),
    "a truth value of rounds": ({"rounds": True}, "rounds must be an integer, not True"),
    "half a mouse on a card": ({"mouse_cards": (2, 4, 0.5)}, r"mouse_cards must be integers, not \(2, 4, 0.5\)"),
    "one number for all mouse cards": ({"mouse_cards": 2}, "mouse_cards must be integers, not 2"),
    "a card by its letter": ({"cards": "0123456789"}, "cards must be integers, not "),
    "a dummy by number": ({"dummy": 0}, "dummy must be True or False"),
}
POSSIBLE: dict[str, dict[str, Any]] = {  # the outermost setups that can be played
    "two seats": {"seats": 2, "mouse_cards": (6,)},
    "five seats": {"seats": 5, "mouse_cards": (2, 3, 4, 6)},
    "four seats and a dummy": {"dummy": True},
    "nothing removed": {"removed": 0},
    "one round": {"rounds": 1},
    "as many rounds as cards": {"rounds": 2, "cards": (0, 1, 2)},
    "one card": {"rounds": 1, "cards": (9,), "removed": 0},
    "empty mouse cards": {"mouse_cards": (0, 0, 0)},
    "a mouse card of 63": {"mouse_cards": (63, 4, 6), "mice": 0, "rounds": 2},
    "no mice": {"mice": 0},
    "63 mice": {"mice": 63, "rounds": 1},
    "63 mice at the last bid": {"mouse_cards": (60, 4, 6), "mice": 3, "rounds": 2},
    "an empty bank": {"bank": 0},
    "999 mice": {"bank": 999 - 4 * 15},
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_setup_is_refused_with_the_reason(name):
    changes, reason = IMPOSSIBLE[name]
    with pytest.raises(ValueError, match=f"impossible setup: .*{reason}"):
        Setup(**{**STANDARD, **changes})


@pytest.mark.parametrize("name", POSSIBLE)
def test_the_outermost_setups_can_be_played(name):
    changes = STANDARD | POSSIBLE[name]
    setup = Setup(**changes)
    assert {field: getattr(setup, field) for field in changes} == changes


def test_lists_of_mouse_cards_and_cards_become_tuples():
    setup = Setup(seats=2, mouse_cards=[6], bank=27, cards=[3, 4, 5], rounds=2)  # type: ignore
    assert (setup.mouse_cards, setup.cards) == ((6,), (3, 4, 5))


def test_a_setup_cannot_be_changed():
    setup = standard_setup(4)
    with pytest.raises(FrozenInstanceError):
        setup.seats = 3  # type: ignore
    assert len({setup, Setup(**STANDARD)}) == 1


@pytest.mark.parametrize("cards", [(0, 5, 9), (0, 3, 5, 9)])
@pytest.mark.parametrize("removed", [0, 1])
def test_a_hand_is_a_set_less_the_card_removed(cards, removed):
    """R2.4"""
    setup = Setup(seats=2, mouse_cards=(1,), bank=1, rounds=1, cards=cards, removed=removed)
    assert setup.hand_size == len(cards) - removed


@pytest.mark.parametrize(("removed", "known"), [(0, NO_CARD), (1, HIDDEN)])
def test_a_blank_state_holds_the_setup_and_nothing_else(removed, known):
    setup = Setup(seats=3, mouse_cards=(1, 4), bank=20, dummy=True, mice=7, rounds=2, cards=(0, 5, 9), removed=removed)
    states = setup.blank_state()
    expected = np.zeros(1, STATE)
    expected["num_seats"], expected["has_dummy"], expected["num_rounds"] = 3, 1, 2
    expected["deck"] = 1 + 2**5 + 2**9
    expected["mouse_cards"], expected["mice"], expected["bank"] = (1, 4, 0, 0), (7, 7, 7, 0, 0), 20
    expected["removed"], expected["dummy_cards"] = known, NO_CARD
    assert states.tobytes() == expected.tobytes()


def test_the_standard_setups_are_those_of_the_rules():
    """R2.1-R2.5"""
    assert {
        "standard-3": Setup(seats=3, mouse_cards=(3, 6), bank=21, dummy=True, mice=15, rounds=9, removed=1),
        "standard-4": Setup(seats=4, mouse_cards=(2, 4, 6), bank=27, dummy=False, mice=15, rounds=9, removed=1),
        "standard-5": Setup(seats=5, mouse_cards=(2, 3, 4, 6), bank=33, dummy=False, mice=15, rounds=9, removed=1),
    } == SETUPS
    assert [setup_name(setup) for setup in SETUPS.values()] == list(SETUPS)
    assert setup_name(Setup(**STANDARD)) == "standard-4"


def test_the_small_setups_are_those_of_stored_results():
    fields = ("seats", "mouse_cards", "bank", "dummy", "mice", "rounds", "cards")
    assert {name: tuple(getattr(setup, field) for field in fields) for name, setup in SMALL_SETUPS.items()} == {
        "tiny-2": (2, (1,), 2, False, 1, 1, (0, 8, 5)),
        "small-2": (2, (2,), 4, False, 4, 2, (0, 3, 8)),
        "small-2-dummy": (2, (2,), 4, True, 4, 2, (0, 3, 8)),
        "small-3": (3, (1, 2), 6, False, 3, 2, (0, 3, 8)),
    }


# --- by name, by number of players and from a file --------------------------------------------------------------------

OWN = Setup(seats=3, mouse_cards=(1, 4), bank=20, rounds=2)


@pytest.mark.parametrize("players", [2, 6, 3.0, "4", True, None])
def test_there_are_standard_setups_for_three_to_five_players_alone(players):
    with pytest.raises(ValueError, match=r"num_players must be one of \[3, 4, 5\], not"):
        standard_setup(players)


def test_a_setup_is_found_by_itself_by_its_name_and_by_its_file(tmp_path):
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"seats": 3, "mouse_cards": [1, 4], "bank": 20, "rounds": 2}))
    assert find_setup(OWN) is OWN
    assert find_setup("standard-3") is SETUPS["standard-3"]
    assert find_setup(path) == find_setup(str(path)) == OWN


@pytest.mark.parametrize("setup", ["standard-6", Path("own.toml"), 4, None])
def test_what_names_no_setup_is_refused_with_the_names_there_are(setup):
    with pytest.raises(ValueError, match=r"there are standard-3, standard-4, standard-5, tiny-2, .* and files"):
        find_setup(setup)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "a setup is a JSON object"),
        ("{", "Expecting property name"),
        ('{"seats": 2, "mouse_cards": [1], "bank": 2, "b": 1, "a": 1}', "a, b is no field of a setup"),
        ('{"seats": 2}', "it lacks mouse_cards, bank"),
        ('{"seats": 2, "mouse_cards": 1, "bank": 2}', "mouse_cards must be integers, not 1"),
        ('{"seats": 9, "mouse_cards": [1], "bank": 2}', "seats must be 2 to 5, not 9"),
    ],
)
def test_a_file_that_holds_no_setup_is_refused_with_the_reason(tmp_path, text, reason):
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"no setup can be read from .*own\.json: .*{reason}"):
        find_setup(path)


def test_a_file_that_is_not_there_is_refused_in_the_words_of_the_system(tmp_path):
    with pytest.raises(ValueError, match=r"own\.json: No such file or directory$"):
        find_setup(tmp_path / "own.json")


def test_a_setup_is_chosen_by_number_of_players_or_by_itself_but_not_by_both_at_once():
    assert choose_setup(3, None) == SETUPS["standard-3"]
    assert choose_setup(None, None) == SETUPS["standard-4"]
    assert choose_setup(None, OWN) is OWN
    assert choose_setup(3, OWN) is OWN
    for players in (2, 4, 5):
        with pytest.raises(ValueError, match=f"num_players is {players}, but the setup has 3 seats: give only one"):
            choose_setup(players, OWN)


def test_the_name_of_an_own_setup_tells_its_seats_and_changes_with_each_field():
    others = [Setup(seats=3, mouse_cards=(1, 4), bank=21, rounds=2), Setup(seats=3, mouse_cards=(1, 4), bank=20)]
    names = [setup_name(setup) for setup in (OWN, *others)]
    assert all(name.startswith("custom-3-") and len(name) == len("custom-3-") + 8 for name in names)
    assert len(set(names)) == 3
    assert describe_setup(OWN) == {"setup": names[0], "num_players": 3}
