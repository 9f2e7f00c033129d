"""Games as text: written and read back exactly; malformed text is refused with line, fault and cure."""

import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from felicity_env import notation
from felicity_env.game import NUM_ACTIONS, NUM_CARDS, Setup
from felicity_env.game_record import Deal, Game
from felicity_env.setups import standard_setup
from tests.support.helpers import ALL_SETUPS, random_game

GOLDEN = """\
felicity rules 1
players 4
deal start_seat 2
deal removed 11 R 5 3

1: 15 R -8 8 | 1 3 - 4 - -
2: D 3 5 8 | - -
"""
CUSTOM = """\
felicity rules 1
setup seats 2
setup mouse_cards 2
setup bank 4
setup dummy yes
setup mice 4
setup rounds 2
setup cards -8 5 D
setup removed 1
deal start_seat 1
deal removed 5 D
deal dummy D -8

1: -8 D | 3 -
"""
GAME = Game(standard_setup(4), Deal((5, 7, 3, 2), (), 2), (6, 7, 0, 4, 11, 13, 10, 14, 10, 10, 8, 2, 3, 4, 10, 10))
CUSTOM_GAME = Game(
    Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=4, rounds=2, cards=(0, 3, 8)),
    Deal((3, 8), (8, 0), 1),
    (0, 8, 13, 10),
)


# --- there and back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setup", ALL_SETUPS)
def test_whole_random_games_come_back_equal(setup):
    for seed in range(15):
        game = random_game(setup, seed).game
        assert notation.loads(notation.dumps(game)) == game


@settings(max_examples=60)
@given(st.sampled_from(ALL_SETUPS), st.integers(0, 2**63 - 1), st.floats(0, 1))
def test_a_game_that_stops_anywhere_comes_back_equal(setup, seed, share):
    game = random_game(setup, seed).game
    part = Game(setup, game.deal, game.actions[: round(share * len(game.actions))])
    text = notation.dumps(part)
    assert notation.loads(text) == part
    assert notation.dumps(notation.loads(text)) == text


def test_a_loaded_game_holds_plain_integers():
    game = notation.loads(GOLDEN)
    assert {type(action) for action in game.actions} == {int}


@pytest.mark.parametrize(("text", "game"), [(GOLDEN, GAME), (CUSTOM, CUSTOM_GAME)])
def test_a_game_is_written_as_the_text_one_expects(text, game):
    assert notation.dumps(game) == text
    assert notation.loads(text) == game


@pytest.mark.parametrize("players", [3, 4, 5])
def test_only_a_standard_setup_is_written_as_a_number_of_players(players):
    standard = standard_setup(players)
    other = replace(standard, mouse_cards=standard.mouse_cards[::-1])
    head = [notation.dumps(random_game(setup, 1).game).splitlines()[1] for setup in (standard, other)]
    assert head == [f"players {players}", f"setup seats {players}"]


def test_one_action_more_changes_one_line_only():
    longer = Game(GAME.setup, GAME.deal, (*GAME.actions, 10))
    before, after = notation.dumps(GAME).splitlines(), notation.dumps(longer).splitlines()
    assert after == [*before[:-1], before[-1] + " -"]


def test_comments_blank_lines_and_blanks_are_skipped():
    loose = GOLDEN.replace("\n", "   # a remark\n\n   ").replace(" | ", "   |\t")
    assert notation.loads(f"# first\n\n{loose}") == GAME


def test_a_byte_order_mark_is_skipped():
    assert notation.loads(GOLDEN.encode("utf-8-sig").decode()) == GAME


def test_a_bar_with_nothing_behind_it_and_other_line_ends_are_fine():
    text = [*GOLDEN.splitlines()[:5], "1: 15 R -8 8 |"]
    assert notation.loads("\r\n".join(text)).actions == (6, 7, 0, 4)


def test_lines_of_the_head_may_stand_in_any_order():
    first, *head = CUSTOM.partition("\n\n")[0].splitlines()
    assert notation.loads("\n".join([first, *reversed(head), "1: -8 D | 3 -"])) == CUSTOM_GAME


def test_the_order_of_cards_in_a_setup_is_kept():
    setup = Setup(seats=2, mouse_cards=(1,), bank=5, rounds=1, cards=(9, 0, 4))
    game = Game(setup, Deal((0, 4), (), 0))
    assert notation.loads(notation.dumps(game)) == game


# --- cards and actions ------------------------------------------------------------------------------------------------


def test_cards_are_written_by_value_and_letter_in_the_order_of_the_rules():
    """The ten kinds of R1.1."""
    assert notation.cards_text(range(NUM_CARDS)) == "-8 -5 3 5 8 11 15 R D d"


def test_every_card_and_action_comes_back():
    assert [notation.parse_card(notation.card_text(card)) for card in range(NUM_CARDS)] == list(range(NUM_CARDS))
    texts = [notation.action_text(action) for action in range(NUM_ACTIONS)]
    assert len(set(texts)) == NUM_ACTIONS
    assert [notation.parse_action(text) for text in texts] == list(range(NUM_ACTIONS))


def test_actions_read_as_words():
    texts = ["place 15", "pass", "bid 7"]
    assert [notation.action_text(action) for action in (6, 10, 17)] == texts
    assert [notation.action_text(action) for action in np.array([6, 10, 17])] == texts


@pytest.mark.parametrize("card", [-1, 10, 11, 1.0, True, None, "3", -2])
def test_what_is_no_card_has_no_text(card):
    with pytest.raises(ValueError, match="a card is an integer from 0 to 9"):
        notation.card_text(card)


@pytest.mark.parametrize("action", [-1, 74, 75, 2.0, False, None, "pass"])
def test_what_is_no_action_has_no_text(action):
    with pytest.raises(ValueError, match="an action is an integer from 0 to 73"):
        notation.action_text(action)


@pytest.mark.parametrize("text", ["", "r", "L", "4", "+3", "15.0", " 3"])
def test_what_is_no_card_text_is_refused(text):
    with pytest.raises(ValueError, match=r"is no card; cards are -8 -5 3 5 8 11 15 R D d"):
        notation.parse_card(text)


@pytest.mark.parametrize(
    "text", ["", "place", "15", "bid", "bid 0", "bid 64", "bid -1", "bid 1_0", "pass 3", "place 4"]
)
def test_what_is_no_action_text_is_refused(text):
    with pytest.raises(ValueError, match=r"is no (action|bid|card); .* are "):
        notation.parse_action(text)


# --- what is refused --------------------------------------------------------------------------------------------------


def edit(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


FAULTS = [
    ("felicity rules 1", "chess rules 1", "line 1: a game begins with `felicity rules 1`, not with `chess rules 1`"),
    ("felicity rules 1", "felicity rules 2", "line 1: the game was played by rules 2; only rules 1 are known here"),
    ("felicity rules 1", "felicity rules 0", "line 1: the game was played by rules 0; only rules 1 are known here"),
    ("players 4", "players 4 5", "line 2: `players` takes one number of 3, 4, 5, not `4 5`"),
    ("players 4", "players 6", "line 2: `players` takes one number of 3, 4, 5, not `6`"),
    ("players 4", "players", "line 2: `players` takes one number of 3, 4, 5, not ``"),
    ("players 4", "seats 4", "line 2: `seats 4` is unknown; write players, setup seats, "),
    ("players 4", "players 4\nplayers 4", "line 3: `players` is already in line 2; write it once"),
    (
        "players 4",
        "players 4\nsetup bank 4",
        "line 3: `players` is a whole setup; write it or the `setup` lines, not both",
    ),
    ("players 4\n", "", "line 5: no setup before this; write `players 4`, or a `setup` line for each field"),
    ("deal start_seat 2\n", "", "line 5: no line `deal start_seat ...` before this; it is needed"),
    ("start_seat 2", "start_seat 4", "line 3: deal['start_seat'] must be 0 to 3, not 4"),
    ("start_seat 2", "start_seat", "line 3: `deal start_seat`: takes one number, as `4`, not ``"),
    ("start_seat 2", "start_seat 5", "line 3: deal['start_seat'] must be 0 to 3, not 5"),
    ("start_seat 2", "start_seat -1", "line 3: `deal start_seat`: takes one number, as `4`, not `-1`"),
    ("deal removed 11 R 5 3\n", "", "line 5: no line `deal removed ...` before this; it is needed"),
    ("removed 11 R 5 3", "removed -8 R 15", "line 4: deal['removed'] needs 4 cards"),
    ("removed 11 R 5 3", "removed -8 R 15 8 5", "line 4: deal['removed'] needs 4 cards, one for each seat that loses"),
    ("removed 11 R 5 3", "removed -8 R 15 4", "line 4: `deal removed`: '4' is no card; cards are -8 -5 3"),
    ("removed 11 R 5 3", "removed 11 R 5 3\ndeal dummy 3", "line 5: deal['dummy'] needs 0 cards in the order turned"),
    ("1: 15", "2: 15", "line 6: `2:` where round 1 is due; write `1: ...`"),
    ("2: D", "1: D", "line 7: `1:` where round 2 is due; write `2: ...`"),
    ("2: D 3 5 8 | - -", "2:", "line 7: no cards after `2:`; write the cards placed, or leave the line out"),
    ("2: D 3 5 8 | - -", "2: | - -", "line 7: no cards after `2:`"),
    ("2: D 3 5 8 | - -", "players 4", "line 7: `players` where round 2 is due; write `2: ...`"),
    ("15 R -8 8", "15 R -8 rabbit", "line 6: 'rabbit' is no card; cards are -8 -5 3"),
    ("1 3 -", "1 64 -", "line 6: '64' is no bid; bids are numbers from 1 to 63, and a pass is '-'"),
    ("1 3 -", "1 +3 -", "line 6: '+3' is no bid; bids are numbers from 1 to 63, and a pass is '-'"),
    ("1 3 -", "1 | 3 -", "line 6: '|' is no bid; "),
    (
        "1 3 -",
        "1 1 -",
        "line 6: seat 3 cannot bid 1 (action 11): it may pass (action 10) or bid 2 to 15 (actions 12 to 25)",
    ),
    ("1 3 -", "1 16 -", "line 6: seat 3 cannot bid 16 (action 26): it may pass (action 10) or bid 2 to 15"),
    (
        "15 R -8 8",
        "15 R -8",
        "line 6: seat 1 cannot bid 1 (action 11): it may place -8 -5 3 5 8 11 15 D d (actions 0 1 2 3 4 5 6 8 9)",
    ),
    ("15 R -8 8", "15 R -8 8 11", "line 6: seat 2 cannot place 11 (action 5): it may pass (action 10) or bid 1 to 15"),
    ("15 R -8 8", "15 R 11 8", "line 6: seat 0 cannot place 11 (action 5): it may place -8 -5 3 5 8 15 R D d"),
    ("4 - -", "4 - - 3", "line 6: round 1 is over before `bid 3`; begin a new line `2: ...`"),
    ("4 - -", "4 -", "line 7: round 1 is not over yet; seat 3 is to act: it may pass (action 10) or bid 5 to 15"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS)
def test_malformed_text_is_refused_with_line_fault_and_cure(old, new, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        notation.loads(edit(GOLDEN, old, new))


@pytest.mark.parametrize("text", ["", "\n\n", "# only a remark\n"])
def test_an_empty_text_is_no_game(text):
    with pytest.raises(ValueError, match=r"^the text is empty; a game begins with `felicity rules 1`$"):
        notation.loads(text)


def test_what_is_missing_at_the_end_is_missed_in_the_line_after_the_last():
    with pytest.raises(ValueError, match=r"^line 4: no line `deal removed ...` before this; it is needed$"):
        notation.loads("felicity rules 1\n# a remark\nplayers 4\n")


CUSTOM_FAULTS = [
    ("setup bank 4\n", "", "line 13: no line `setup bank ...` before this; it is needed"),
    ("setup bank 4", "setup bank four", "line 4: `setup bank`: takes one number, as `4`, not `four`"),
    ("setup bank 4", "setup bank 4 5", "line 4: `setup bank`: takes one number, as `4`, not `4 5`"),
    ("setup bank 4", "setup bank -4", "line 4: `setup bank`: takes one number, as `4`, not `-4`"),
    ("setup dummy yes", "setup dummy true", "line 5: `setup dummy`: takes `yes` or `no`, not `true`"),
    ("setup rounds 2", "setup rounds 3", "line 2: impossible setup: 3 rounds"),
    ("setup cards -8 5 D", "setup cards -8 5 X", "line 8: `setup cards`: 'X' is no card; cards are"),
    ("setup mouse_cards 2", "setup mouse_cards 2 4", "line 2: impossible setup: "),
    ("deal removed 5 D", "deal removed 5 R", "line 11: `deal removed`: R is not in this game; it has -8 5 D"),
    ("deal dummy D -8", "deal dummy D D", "line 12: deal['dummy'] repeats a card"),
    ("deal dummy D -8", "deal dummy D", "line 12: deal['dummy'] needs 2 cards in the order turned, not 1"),
    ("deal dummy D -8", "deal dummy D -8 5", "line 12: deal['dummy'] needs 2 cards in the order turned, not 3"),
    ("deal dummy D -8\n", "", "line 13: no line `deal dummy ...` before this; it is needed"),
    ("deal dummy D -8", "dealt dummy D -8", "line 12: `dealt dummy` is unknown; write players, setup seats"),
    ("3 -", "4 -\n2: 5 5 | - -", "line 15: seat 0 cannot place 5 (action 3): it may place -8 (action 0)"),
    ("3 -", "4 -\n2: 5 -8 | - -\n3: 5", "line 16: the game is over; delete `place 5` and all after it"),
    ("3 -", "- 2", "line 14: seat 0 cannot bid 2 (action 12): it may pass (action 10) or bid 1 (action 11)"),
]


@pytest.mark.parametrize(("old", "new", "message"), CUSTOM_FAULTS)
def test_malformed_setups_and_deals_are_refused_with_line_fault_and_cure(old, new, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        notation.loads(edit(CUSTOM, old, new))


def test_a_record_cannot_be_changed():
    for record, name in ((GAME, "actions"), (GAME.deal, "removed")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, name, ())
    assert len({GAME, replace(GAME)}) == 1


def test_an_illegal_game_is_not_written():
    with pytest.raises(ValueError, match="action 1 of the game: seat 2 cannot pass"):
        notation.dumps(Game(GAME.setup, GAME.deal, (10,)))


def test_an_impossible_deal_is_not_written():
    with pytest.raises(ValueError, match=r"deal\['removed'\] needs 4 cards"):
        notation.dumps(Game(standard_setup(4), Deal((), (), 0)))


def test_the_example_in_the_documentation_is_a_game():
    example = re.search("\n\n    (felicity rules.*?)\n\n[A-Z]", notation.__doc__ or "", re.DOTALL)
    assert example is not None
    assert notation.loads(example[1]).actions == GAME.actions[:13]


@pytest.mark.parametrize(
    "text",
    [
        f"felicity rules {'1' * 5000}",
        f"felicity rules 1\nplayers {'4' * 5000}",
        f"felicity rules 1\nplayers 4\ndeal start_seat {'1' * 5000}",
        f"felicity rules 1\nplayers 4\ndeal start_seat 1\ndeal removed R R R R\n1: 3 3 3 3 | {'9' * 5000}",
    ],
)
def test_numbers_of_thousands_of_digits_are_refused_with_the_line(text):
    with pytest.raises(ValueError, match=r"^line [0-9]+: ") as caught:
        notation.loads(text)
    assert "limit" not in str(caught.value)
