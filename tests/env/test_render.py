"""Text of positions: it shows only what a seat may know, and is never wider than a terminal."""

import itertools
import json
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

from felicity_env import RULES_VERSION, __version__, notation, redact, resample
from felicity_env.game import HIDDEN, NO_SEAT, NUM_ACTIONS, STATE, State, legal_actions, rank
from felicity_env.render.scene import build_full_scene, build_view_scene
from felicity_env.render.text import WIDTH, render_everything, render_view
from felicity_env.setups import standard_setup
from tests.support.helpers import ALL_SETUPS, random_game
from tests.support.paths import ROOT

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
  placed by    dummy  seat 0  seat 1     you

Seats             auction  bid  mice  cat points  score
  you                  in    .    14          21     35
  seat 0  starts       in    1    ??          -5     ??
  seat 1           passed    .    ??           0     ??

The bank: 8 mice

Cards     removed  hand           placed in earlier rounds
  you          -8  -5 8 11 R D d  3 15
  seat 0       ??  ??             -5 11
  seat 1       ??  ??             -8 3
  dummy            ??             8 D

Last round: seat 0 paid 1 for a sack worth -5.

Highest bid: 1   A pass now pays: 0
Your turn: pass, or bid 2 to 14 mice.

Cards: cats are written by their points, -8 to 15; R rabbit (0),
D large dog (chases the highest cat), d small dog (chases the lowest).
A pass takes the mice of the leftmost filled mouse card.
(5) face down, but known; ?? hidden; . none, or not yet."""
EVERYTHING = """\
FELICITY   round 3 of 9: auction   (everything, hidden cards included)

The row       slot 0  slot 1  slot 2  slot 3
  mouse card    sack       3       6
  mice on it               0       0
  card            -5       8     (d)     (5)
  placed by    dummy  seat 0  seat 1  seat 2

Seats             auction  bid  mice  cat points  score  rank
  seat 0  starts       in    1    20          -5     15     3
  seat 1           passed    .    24           0     24     2
  seat 2               in    .    14          21     35     1

The bank: 8 mice

Cards     removed  hand            placed in earlier rounds
  seat 0        R  -8 3 5 15 D d   -5 11
  seat 1        5  -5 8 11 15 R D  -8 3
  seat 2       -8  -5 8 11 R D d   3 15
  dummy            3 5 11 15 R d   8 D

Last round: seat 0 paid 1 for a sack worth -5.

Highest bid: 1   A pass now pays: 0
Seat 2 is to act: pass, or bid 2 to 14 mice.
"""


def position(text: str) -> State:
    return notation.loads(text).final_states()[0]


def positions(seeds=range(2)):
    """Yield (setup, state, seat) of random games in every setup; the state is a copy."""
    for setup, seed in itertools.product(ALL_SETUPS, seeds):
        states = random_game(setup, seed).states
        for k in [*range(0, len(states), 3), -1]:
            yield from ((setup, states[k], seat) for seat in range(setup.seats))


# --- what is drawn ----------------------------------------------------------------------------------------------------


def test_a_position_looks_as_stored_to_its_seat():
    assert render_view(position(GAME), 2) == SEEN


def test_a_position_looks_as_stored_with_everything_open():
    assert render_everything(position(GAME)).startswith(EVERYTHING)


def test_no_line_is_too_wide_or_ends_in_blanks_for_two_to_five_seats():
    for _, state, seat in positions():
        texts = [render_view(state, seat), render_view(state, seat, open_mice=True), render_everything(state)]
        for line in "\n".join(texts).splitlines():
            assert len(line) <= WIDTH
            assert line == line.rstrip()
            assert line.isascii()
            assert line.isprintable()


def test_columns_of_the_row_stand_under_each_other():
    for setup, state, seat in positions(range(1)):
        head, *lines = render_view(state, seat).split("\n\n")[1].splitlines()
        ends = [head.index(f"slot {slot}") + len("slot 0") for slot in range(setup.seats + setup.dummy)]
        for line in lines:
            padded = line.ljust(len(head))
            assert all(padded[end : end + 2].strip() == "" for end in ends)
        cards, owners = lines[2].ljust(len(head)), lines[3].ljust(len(head))
        assert all(cards[end - 1] != " " and owners[end - 1] != " " for end in ends)


def test_the_numbers_of_a_setup_without_a_name_are_drawn():
    setup = replace(standard_setup(4), mouse_cards=(1, 7, 9), rounds=5)
    text = render_view(random_game(setup, 1).states[0], 0)
    assert "round 1 of 5: placing cards" in text
    assert next(line for line in text.splitlines() if "mouse card " in line).split()[2:] == ["sack", "1", "7", "9"]


def test_the_seat_to_act_is_named_and_its_action_offered_where_known():
    """R3.1, R4.2, R4.3, R4.8."""
    mask = np.empty(NUM_ACTIONS, np.int8)
    for _, state, seat in positions():
        legal_actions(state, seat, mask)
        text = render_view(state, seat)
        assert list_offers(text) == np.flatnonzero(mask).tolist()
        assert ("Your turn: " in text) == (state.seat == seat)
        assert (" is to act: " in text) == (state.seat not in (seat, NO_SEAT))
        if state.seat not in (seat, NO_SEAT):
            assert f"Seat {state.seat} is to act: {'bid or pass' if state.phase else 'place a card'}." in text


def list_offers(text: str) -> list[int]:
    """Return the actions that the line `Your turn` names, as numbers."""
    lines = [line for line in text.splitlines() if line.startswith("Your turn: ")]
    if not lines:
        return []
    offer = lines[0].removeprefix("Your turn: ").rstrip(".")
    if offer.startswith("place one of "):
        return [notation.parse_card(card) for card in offer.removeprefix("place one of ").split()]
    if offer == "only a pass is possible":
        return [10]
    bids = [int(word) for word in offer.replace(";", " ").split() if word.isdigit()]
    return [10, *range(10 + bids[0], 10 + bids[-1] + 1)]


def test_a_lone_seat_is_offered_the_sack_for_one_mouse():
    """R4.8."""
    state = position(GAME.replace("8 d 5 | 1 -", "8 d 5 | - -"))
    assert "Your turn: all others have passed; buy the sack for 1 mouse, or pass." in render_view(state, 2)


def test_a_dry_round_and_a_row_that_nobody_bought_are_named():
    """R4.9, R6.3."""
    text = render_view(position(GAME.partition("2:")[0].replace("| 2 3 - 4 -", "| - - -")), 2)
    assert "Last round: nobody bought; the row went to the box." in text
    assert "The mouse cards are empty: passing pays nothing in this round." in text


# --- what is hidden ---------------------------------------------------------------------------------------------------


def test_nothing_hidden_is_rendered():
    """R8.1: another world with the same view gives the same text and scene; eight worlds a view."""
    rng = np.random.default_rng(1)
    differing = 0
    for _, state, seat in positions(range(1)):
        text, view = render_view(state, seat), build_view_scene(state, seat, open_mice=True)
        hidden = redact(np.array([state], STATE).repeat(8), seat)
        for world in resample(hidden, rng):
            assert render_view(world, seat) == text
            assert build_view_scene(world, seat, open_mice=True) == view
            differing += world.tobytes() != state.tobytes()
    assert differing > 1000


def test_a_redacted_state_is_rendered_as_the_true_one_and_neither_is_changed():
    for _, state, seat in positions(range(1)):
        hidden, before = redact(np.array([state], STATE), seat)[0], state.tobytes()
        for open_mice in (False, True):
            assert render_view(hidden, seat, open_mice=open_mice) == render_view(state, seat, open_mice=open_mice)
        assert state.tobytes() == before


def test_mice_of_the_others_are_rendered_only_when_open():
    """R8.2: a mouse moved between two opponents shows in the open text alone, though a redacted state holds it."""
    state = redact(np.array([position(GAME)], STATE), 2)[0]
    moved = state.copy()
    moved.mice[0] -= 1
    moved.mice[1] += 1
    assert render_view(moved, 2) == render_view(state, 2)
    assert render_view(moved, 2, open_mice=True) != render_view(state, 2, open_mice=True)


def test_at_the_end_every_seat_sees_the_score_and_the_rank_of_all():
    """R7.1, R7.2."""
    state = random_game(standard_setup(4), 3).states[-1]
    seats = build_view_scene(state, 1).seats
    assert [seat.seat for seat in seats] == [1, 2, 3, 0]
    for seat in seats:
        assert (seat.mice, seat.score) == (state.mice[seat.seat], state.cat_points[seat.seat] + state.mice[seat.seat])
        assert seat.rank == rank(state, seat.seat)


def read_golden(name: str) -> State:
    return position((ROOT / "tests/env/golden" / f"{name}.txt").read_text())


FINAL = """
Seats     mice  cat points  score  rank
  you       15          30     45     2
  seat 2     3          12     15     4
  seat 3    26          -2     24     3
  seat 0    28          33     61     1

The bank: 15 mice
"""


def test_the_final_table_looks_as_stored():
    text = render_view(read_golden("whole_game_of_four"), 1)
    assert FINAL in text


@pytest.mark.parametrize(
    ("game", "result"),
    [
        ("whole_game_of_four", "Winner with 61 points: seat 0."),
        ("tie_broken_by_cats_of_four", "Winner with 47 points, decided by cat points: seat 3."),
        ("shared_victory_of_three", "Winners with 54 points: seat 2 and seat 0."),
    ],
)
def test_the_end_says_who_won(game, result):
    """R7.2."""
    assert f"\n{result}\n" in render_view(read_golden(game), 1)


def test_a_redacted_state_shows_its_gaps_in_the_text_of_everything():
    for _, state, seat in positions(range(1)):
        text = render_everything(redact(np.array([state], STATE), seat)[0])
        assert " ?? " in text
    state = redact(np.array([position(GAME)], STATE), 2)[0]
    full = build_full_scene(state)
    assert [cards.hand is None for cards in full.sets] == [True, True, False, True]
    assert full.sets[0].removed == full.slots[2].card == HIDDEN


@pytest.mark.parametrize("seat", [-1, 3, 99])
def test_a_seat_that_is_not_at_the_table_is_refused(seat):
    with pytest.raises(ValueError, match=f"seat must be 0 to 2, not {seat}"):
        render_view(position(GAME), seat)


def test_a_scene_holds_plain_values_alone():
    for _, state, seat in positions(range(1)):
        for scene in (build_view_scene(state, seat), build_full_scene(state)):
            assert json.loads(json.dumps(asdict(scene)))["num_rounds"] == state.num_rounds  # no NumPy numbers


# --- python -m felicity_env -------------------------------------------------------------------------------------------

ALONE = """
import runpy, sys
sys.modules.update(dict.fromkeys(["agents", "train", "experiments", "torch", "tyro", "rich"]))  # not to be imported
runpy.run_module("felicity_env", run_name="__main__")
"""


@pytest.mark.parametrize("arguments", [["-m", "felicity_env"], ["-c", ALONE]], ids=["module", "wheel alone"])
def test_the_module_prints_version_position_and_where_to_go(arguments):
    shown = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout
    assert shown.startswith(f"felicity-env {__version__}, rules {RULES_VERSION}\n\nFELICITY   round")
    for text in ("Your turn: ", "python -m agents --help", "python -m train --help", "README.md"):
        assert text in shown


def test_the_module_has_a_help_and_no_options():
    command = [sys.executable, "-m", "felicity_env"]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert helped.stdout.startswith("usage: python -m felicity_env\n")
    refused = subprocess.run([*command, "--seed", "1"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stderr) == (2, "error: python -m felicity_env has no options, not --seed 1\n")


def test_a_reader_of_the_first_line_of_the_module_does_not_break_the_pipe():
    command = [sys.executable, "-m", "felicity_env"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("felicity-env ")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
