"""Golden games: games in the notation with their expected results in `#=` lines, replayed and compared.

A file begins with a sentence on its subject. The results were derived from RULES.md, not from the rules kernel:

    #= round 1: seat 0 starts, 2 4 6 on the mouse cards; seat 2 pays 3 for 8
    #= round 2: seat 2 starts, 2 4 6 on the mouse cards; nobody buys
    #= round 3: seat 2 starts, 0 0 0 on the mouse cards; not finished
    #= face up: 1                  slots of the row that are open at the end
    #= mice: 17 14 19 21           and bank, cat points, scores, ranks
"""

import re
from pathlib import Path

import numpy as np
import pytest

from felicity_env import notation
from felicity_env.game import NO_SEAT, STATE, State, is_terminal, rank, score
from felicity_env.game_record import Game

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.txt"))
SHOWN = (
    "R2.7 R3.1 R3.2 R4.1 R4.2 R4.3 R4.4 R4.5 R4.8 R4.9 R5.1 R5.2 R5.3 R5.4 R5.5 R5.6 R5.7 R5.8 "
    "R6.1 R6.2 R6.3 R6.4 R7.2 F2 F5"
)


def results(game: Game) -> list[str]:
    """Return the results of `game` as the golden files have them, without their `#=`."""
    states = np.array([state.copy() for _, state in game.states()], dtype=STATE)
    starts = [int(np.flatnonzero(states["round_number"] == k)[0]) for k in range(states[-1].round_number + 1)]
    rounds = enumerate(zip(starts, [*starts[1:], len(states) - 1], strict=True), 1)
    lines = [f"round {k}: {round_text(states[first], states[after])}" for k, (first, after) in rounds]
    return lines + standing(states[-1])


def round_text(first: State, last: State) -> str:
    """Return a round in words, from its first state and the state just after it."""
    pots = numbers(first.pots[: first.num_seats - 1])
    return f"seat {first.start_seat} starts, {pots} on the mouse cards; {outcome(first, last)}"


def outcome(first: State, last: State) -> str:
    if last.round_number == first.round_number and not is_terminal(last):
        return "not finished"
    if last.last_winner == NO_SEAT:
        return "nobody buys"
    return f"seat {last.last_winner} pays {last.last_price} for {last.last_value}"


def standing(state: State) -> list[str]:
    seats = range(state.num_seats)
    return [
        f"face up: {state.face_up}",
        f"bank: {state.bank}",
        f"mice: {numbers(state.mice[: len(seats)])}",
        f"cat points: {numbers(state.cat_points[: len(seats)])}",
        f"scores: {numbers(score(state, seat) for seat in seats)}",
        f"ranks: {numbers(rank(state, seat) for seat in seats)}",
    ]


def numbers(values) -> str:
    return " ".join(str(value) for value in values)


def read_results(text: str) -> list[str]:
    return re.findall("^#= (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_game_ends_as_its_file_says(path):
    """Compare buyer, price and value of every round, mice on the cards, scores, cats and ranks (R4-R7)."""
    text = path.read_text()
    assert results(notation.loads(text)) == read_results(text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_is_written_as_dumps_writes(path):
    text = path.read_text()
    stripped = re.sub("^#.*\n", "", text, flags=re.MULTILINE).strip() + "\n"
    assert notation.dumps(notation.loads(text)) == stripped


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_begins_with_a_sentence(path):
    opening = re.match("(?:#[^=].*\n)+", path.read_text())
    assert opening is not None
    assert opening[0].rstrip().endswith(".")


def test_there_are_enough_golden_games_and_they_show_every_special_rule():
    texts = [path.read_text() for path in FILES]
    assert len(texts) >= 30
    missing = [number for number in SHOWN.split() if not any(re.search(rf"{number}\b", text) for text in texts)]
    assert not missing


def test_a_golden_result_that_is_wrong_is_noticed():
    text = (FOLDER / "large_dog_takes_highest.txt").read_text()
    assert results(notation.loads(text)) != read_results(text.replace("for 11", "for 22"))


@pytest.mark.parametrize("price", range(1, 16))
def test_every_price_up_to_all_mice_can_be_paid_whatever_the_coins(price):
    """Only the amount held matters, since coins may be changed (R1.3a)."""
    text = (FOLDER / "large_dog_takes_highest.txt").read_text().replace("| 1 2 - - -", f"| {price} - - -")
    state = notation.loads(text).final_states()[0]
    assert (state.last_price, state.mice[0]) == (price, 15 - price)
