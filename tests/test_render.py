"""Text of positions: what a seat may see and no more, readable, never wider than a terminal."""

import itertools

import numpy as np
import pytest

from felicity_env import describe, notation, redact, resample
from felicity_env.game import HIDDEN, NO_SEAT, NUM_ACTIONS, PLACE, SETUPS, STATE, State, legal_actions
from felicity_env.observation import OBS_SIZE, observe
from felicity_env.render import WIDTH, acting_seat, render_all, render_seat
from tests.helpers import ALL_SETUPS, random_game

GAME = """\
felicity rules 1
players 3
deal start_seat 2
deal removed R 5 -8
deal dummy 8 D -5 3 5 11 15 R d

1: 15 -5 3 | 2 3 - 4 -
2: 3 11 -8 | - 1 -
3: 8 d 5 | 1 -
"""
SEEN = """\
FELICITY   round 3 of 9: auction   (you are seat 2)

The row       slot 0  slot 1  slot 2  slot 3
  mouse card    sack       3       6
  mice on it               0       0
  card            -5       8      ??     (5)
  laid by      dummy  seat 0  seat 1     you

Seats             auction  bid  cat points  mice  cards laid in earlier rounds
  you                  in    .          21    14  3 15
  seat 0  starts       in    1          -5    ??  -5 11
  seat 1           passed    .           0    ??  -8 3
  dummy                                           8 D

Your hand  -5 8 11 R D d
Your mice  14
The bank   8 mice

Last round: seat 0 paid 1 for a sack worth -5.

Highest bid: 1   A pass now pays: 0
Your turn: pass, or bid 2 to 14 mice.

Cards: cats are written by their points, -8 to 15; R rabbit (0),
D large dog (chases the highest cat), d small dog (chases the lowest).
Who passes takes the mice of the leftmost filled mouse card.
(5) a card face down that you know; ?? hidden from you; . none, or not yet."""
EVERYTHING = """\
EVERYTHING, HIDDEN CARDS INCLUDED
FELICITY   round 3 of 9: auction   to act: seat 2

The row       slot 0  slot 1  slot 2  slot 3
  mouse card    sack       3       6
  mice on it               0       0
  card            -5       8     (d)     (5)
  laid by      dummy  seat 0  seat 1  seat 2

Seats             auction  bid  cat points  mice  score  rank
  seat 0  starts       in    1          -5    20     15     3
  seat 1           passed    .           0    24     24     2
  seat 2               in    .          21    14     35     1

Sets      removed  hand            laid in earlier rounds
  seat 0        R  -8 3 5 15 D d   -5 11
  seat 1        5  -5 8 11 15 R D  -8 3
  seat 2       -8  -5 8 11 R D d   3 15
  dummy            3 5 11 15 R d   8 D

The bank: 8 mice
Last round: seat 0 paid 1 for a sack worth -5.
"""


def seen(state: State, seat: int, open_mice: bool = False) -> dict:
    """What `seat` may see of `state`."""
    observation = np.empty(OBS_SIZE, np.float32)
    observe(state, seat, open_mice, observation)
    return describe(observation)


def position(text: str) -> State:
    return notation.loads(text).final_states()[0]


def positions(seeds=range(2)):
    """(setup, state, seat) of random games in every setup; the state is a copy."""
    for setup, seed in itertools.product(ALL_SETUPS, seeds):
        states = random_game(setup, seed).states
        for k in range(0, len(states), 3):
            yield from ((setup, states[k], seat) for seat in range(setup.seats))
        yield from ((setup, states[-1], seat) for seat in range(setup.seats))


def test_a_position_looks_as_stored_to_its_seat():
    assert render_seat(seen(position(GAME), 2), seat=2) == SEEN


def test_a_position_looks_as_stored_with_everything_open():
    assert render_all(position(GAME)).startswith(EVERYTHING)


def test_nothing_hidden_is_rendered():
    """Another world with the same view gives the same text (R8.1); eight worlds a view."""
    rng = np.random.default_rng(1)
    differing = 0
    for setup, state, seat in positions(range(1)):
        text = render_seat(seen(state, seat), seat=seat, setup=setup)
        hidden = redact(np.array([state], STATE).repeat(8), seat)
        for world in resample(hidden, rng):
            assert render_seat(seen(world, seat), seat=seat, setup=setup) == text
            differing += world.tobytes() != state.tobytes()
    assert differing > 1000


def test_mice_of_the_others_are_rendered_only_when_open():
    """R8.2: a mouse moved between two opponents shows in the open text alone."""
    state = position(GAME)
    moved = state.copy()
    moved.mice[0] -= 1
    moved.mice[1] += 1
    assert render_seat(seen(moved, 2), seat=2) == render_seat(seen(state, 2), seat=2)
    assert render_seat(seen(moved, 2, open_mice=True), seat=2) != render_seat(seen(state, 2, open_mice=True), seat=2)


def test_no_line_is_too_wide_or_ends_in_blanks_for_two_to_five_seats():
    for setup, state, seat in positions():
        texts = [render_seat(seen(state, seat), setup=setup), render_all(state)]
        texts += [render_seat(seen(state, seat, open_mice=True), seat=seat, setup=setup)]
        for line in "\n".join(texts).splitlines():
            assert len(line) <= WIDTH
            assert line == line.rstrip()
            assert line.isascii()
            assert line.isprintable()


def test_columns_of_the_row_stand_under_each_other():
    for setup, state, seat in positions(range(1)):
        text = render_seat(seen(state, seat), seat=seat, setup=setup)
        head, *lines = text.split("\n\n")[1].splitlines()
        ends = [head.index(f"slot {slot}") + len("slot 0") for slot in range(setup.seats + setup.dummy)]
        for line in lines:
            padded = line.ljust(len(head))
            assert all(padded[end : end + 2].strip() == "" for end in ends)
        cards, owners = lines[2].ljust(len(head)), lines[3].ljust(len(head))
        assert all(cards[end - 1] != " " and owners[end - 1] != " " for end in ends)


def test_the_seat_to_act_is_worked_out_from_what_lies_open():
    """R3.1, R4.2."""
    for setup, state, seat in positions():
        found = acting_seat(seen(state, seat), dummy=setup.dummy)
        expected = None if state.seat == NO_SEAT else (state.seat - seat) % setup.seats
        assert found == expected


def test_what_is_offered_is_what_is_legal():
    """R3.1, R4.3, R4.8."""
    mask = np.empty(NUM_ACTIONS, np.int8)
    for setup, state, seat in positions():
        legal_actions(state, seat, mask)
        assert offered(render_seat(seen(state, seat), seat=seat, setup=setup)) == np.flatnonzero(mask).tolist()


def offered(text: str) -> list[int]:
    """The actions that the line `Your turn` names, as numbers."""
    lines = [line for line in text.splitlines() if line.startswith("Your turn: ")]
    if not lines:
        return []
    words = lines[0].removeprefix("Your turn: ").rstrip(".")
    if words.startswith("place one of "):
        return [notation.parse_card(card) for card in words.removeprefix("place one of ").split()]
    if words == "you can only pass":
        return [10]
    bids = [int(word) for word in words.replace(";", " ").split() if word.isdigit()]
    return [10, *range(10 + bids[0], 10 + bids[-1] + 1)]


def test_a_lone_seat_is_offered_the_sack_for_one_mouse():
    """R4.8."""
    state = position(GAME.replace("8 d 5 | 1 -", "8 d 5 | - -"))
    assert "all others have passed; buy the sack for 1 mouse, or pass." in render_seat(seen(state, 2), seat=2)


def test_a_round_without_mice_and_a_row_in_the_box_are_told():
    """R4.9, R6.3."""
    text = render_seat(seen(position(GAME.partition("2:")[0].replace("| 2 3 - 4 -", "| - - -")), 2), seat=2)
    assert "Last round: nobody bought; the row went to the box." in text
    assert "The mouse cards are empty: passing pays nothing in this round." in text


@pytest.mark.parametrize("open_mice", [False, True])
def test_at_the_end_the_scores_that_may_be_known_are_shown(open_mice):
    """R7.1, R8.2."""
    state = random_game(SETUPS[4], 3).states[-1]
    lines = [line for line in render_seat(seen(state, 1, open_mice), seat=1).splitlines() if line.startswith("Score")]
    seats = [1, 2, 3, 0] if open_mice else [1]
    assert [int(line.split()[-1]) for line in lines] == [state.cat_points[seat] + state.mice[seat] for seat in seats]


def test_without_a_number_the_others_are_called_by_their_place():
    text = render_seat(seen(random_game(SETUPS[5], 1).states[0], 0))
    assert all(f"{place} left" in text for place in ("1st", "2nd", "3rd", "4th"))
    assert "you are" not in text


@pytest.mark.parametrize("seat", [-1, 3, 99])
def test_a_seat_that_is_not_at_the_table_is_refused(seat):
    with pytest.raises(ValueError, match=f"seat must be 0 to 2, not {seat}"):
        render_seat(seen(position(GAME), 2), seat=seat)


def test_a_setup_is_asked_for_where_there_is_no_standard_one_and_must_fit():
    duel = next(setup for setup in ALL_SETUPS if setup.seats == 2)
    two_seats = seen(random_game(duel, 0).states[0], 0)
    with pytest.raises(ValueError, match="2 players have no standard setup: pass `setup`"):
        render_seat(two_seats)
    with pytest.raises(ValueError, match="`setup` has 4 seats, the observation is of a game of 2"):
        render_seat(two_seats, setup=SETUPS[4])


def test_a_redacted_state_shows_its_gaps_in_the_text_of_everything():
    state = redact(np.array([position(GAME)], STATE), 2)[0]
    assert state.hands[0] == HIDDEN
    assert state.phase != PLACE
    text = render_all(state)
    assert "(??)" in text
    assert "  seat 0       ??  ??" in text
    assert "?? ?? ?? ?? ?? ??" in text
