"""Players that fail in the arena: they are named with the game, or forfeit it, and no other game changes."""

import re
from functools import lru_cache
from itertools import product
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from agents import Player, make
from agents.arena import time_limit
from agents.arena.blocks import MEASURES, Blocks, draw_seats, play_blocks
from agents.arena.games import PlayerError
from agents.own_code import describe_exception
from felicity_env import View, felicity_v0
from felicity_env.game import NO_CARD, NO_SEAT, NUM_ACTIONS, PASS, PLACE, State, pass_pays
from felicity_env.game_record import legal_text
from felicity_env.notation import dumps, loads
from felicity_env.setups import STANDARD_PLAYERS
from tests.support.arena_players import BLOCKS, SEED, Eager, FirstLegal, Spy, Trap, Varied, assert_same, play_by_aec
from tests.support.paths import ROOT


def list_deciders(players: int) -> list[Player]:
    """Return players whose games are long and differ."""
    return [Varied(), make("anchor"), Varied(), Eager(), make("random")][:players]


class Found(NamedTuple):
    """Position that came up once in BLOCKS blocks of `list_deciders`, before the one at `place`."""

    place: int
    state: State  # as its seat knows it
    block: int
    rotation: int
    seats: np.ndarray  # the seat of each player in this game
    text: str  # the game up to this position


@lru_cache
def position(players: int, phase: int) -> Found:
    """Return a position in the middle of a game, with a standing bid, or before a card is placed."""
    place = 2 if phase == PLACE else 0
    lineup = list_deciders(players)
    lineup[place] = spy = Spy(lineup[place])
    play_blocks(lineup, num_deals=BLOCKS, seed=SEED)
    states = [state for view in spy.views for state in view.states]
    seen = [state.tobytes() for state in states]
    state = next(
        state
        for state in states
        if state.phase == phase
        and state.round_number == 5
        and (phase == PLACE or state.high_bid > 0)
        and state.passes < players - 1
        and seen.count(state.tobytes()) == 1
    )
    lineup[place] = Trap(spy.player, state.tobytes(), raise_lost)
    env = felicity_v0.raw_env(num_players=players)
    for block, rotation in product(range(BLOCKS), range(players)):
        try:
            play_by_aec(env, lineup, block, rotation)
        except LookupError:
            seats = draw_seats(players, range(block, block + 1), SEED)[0, rotation]
            return Found(place, state, block, rotation, seats, dumps(env.game))
    raise AssertionError("the position did not come up in the loop over the AEC face")


@pytest.mark.parametrize(("folder", "place"), [("agents_of_mine", " (bot.py, line 2)"), ("agents", "")])
def test_an_error_names_the_line_of_the_code_that_is_not_of_this_project(folder, place):
    code = compile("\nraise LookupError('lost')", str(ROOT / folder / "bot.py"), "exec")
    with pytest.raises(LookupError) as caught:
        exec(code)
    error = caught.value.with_traceback(caught.tb.tb_next)  # without this test's own line
    assert describe_exception(error) == f"LookupError: lost{place}"


def raise_lost(actions: np.ndarray, index: int) -> Any:
    raise LookupError("lost in thought")


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
@pytest.mark.parametrize("phase", [0, 1])
def test_a_player_that_raises_is_named_with_its_place_its_error_and_the_game_in_notation(players, phase):
    found = position(players, phase)
    lineup = list_deciders(players)
    lineup[found.place] = Trap(lineup[found.place], found.state.tobytes(), raise_lost)
    with pytest.raises(PlayerError) as caught:
        play_blocks(lineup, num_deals=BLOCKS, seed=SEED)
    error = caught.value
    assert error.index == found.place
    assert re.fullmatch(r"LookupError: lost in thought \(test_failures.py, line \d+\)", error.reason)
    assert isinstance(error.__cause__, LookupError)
    assert error.text == f"{found.text}# seat {found.seats[found.place]} to act: {legal_text(found.state)}\n"
    assert str(error) == f"{error.reason}\nin the game\n{error.text}"


@pytest.mark.parametrize(
    ("reaction", "reason"),  # B: the number of decisions
    [
        (lambda actions, index: None, "ValueError: answers of act(view) must be B integers, not object []"),
        (lambda actions, index: 3, "ValueError: answers of act(view) must be B integers, not int64 []"),
        (lambda actions, index: actions.astype(float), "not float64 [B]"),
        (lambda actions, index: np.full(len(actions), np.nan), "not float64 [B]"),
        (lambda actions, index: actions > PASS, "not bool [B]"),
        (lambda actions, index: [None] * len(actions), "not object [B]"),
        (lambda actions, index: [10**30] * len(actions), "not object [B]"),
        (lambda actions, index: ["pass"] * len(actions), "not <U4 [B]"),
        (lambda actions, index: actions[:, None], "not int64 [B, 1]"),
        (lambda actions, index: actions[:0], "not int64 [0]"),
        (lambda actions, index: np.tile(actions, (2, 1)), "not int64 [2, B]"),
        (lambda actions, index: [[1, 2], [3]], "ValueError: "),
    ],
)
def test_an_answer_that_is_no_vector_of_integers_is_an_error_of_the_player(reaction, reason):
    found, asked = position(4, 1), []

    def answer(actions: np.ndarray, index: int) -> Any:
        asked.append(len(actions))
        return reaction(actions, index)

    lineup = list_deciders(4)
    lineup[found.place] = Trap(lineup[found.place], found.state.tobytes(), answer)
    with pytest.raises(PlayerError) as caught:
        play_blocks(lineup, num_deals=BLOCKS, seed=SEED)
    assert caught.value.index == found.place
    assert caught.value.text.startswith(found.text)
    assert reason.replace("B", str(asked[0])) in caught.value.reason


def test_a_player_that_fails_only_at_several_games_at_once_is_named_with_the_first():
    class FailsInCompany(FirstLegal):
        def act(self, view: View) -> np.ndarray:
            if len(view) > 1:
                raise MemoryError("too many")
            return super().act(view)

    with pytest.raises(
        PlayerError, match=r"MemoryError: too many \(test_failures.py, line \d+\)\nin the game\nfelicity"
    ) as caught:
        play_blocks([make("pass"), FailsInCompany(), make("pass")], num_deals=4, seed=0)
    assert caught.value.index == 1


def test_an_interrupt_is_no_error_of_the_player():
    class Interrupted:
        def act(self, view: View) -> np.ndarray:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_blocks([make("pass"), Interrupted(), make("pass")], num_deals=1, seed=0)


@pytest.mark.parametrize("kind", [list, tuple, np.int8, np.uint8, np.uint64, object])
def test_any_vector_of_integers_is_an_answer(kind):
    class Answers(Varied):
        def act(self, view: View) -> Any:
            actions = super().act(view)
            if kind is object:
                return [int(action) for action in actions]
            return kind(actions.tolist()) if kind in (list, tuple) else actions.astype(kind)

    lineup = [make("random"), Answers(), make("ev")]
    expected = play_blocks([make("random"), Varied(), make("ev")], num_deals=2, seed=9)
    assert_same(play_blocks(lineup, num_deals=2, seed=9), expected)


def test_a_player_that_writes_into_its_view_changes_nothing():
    class Vandal(Varied):
        def act(self, view: View) -> np.ndarray:
            actions = super().act(view)
            view.states["mice"], view.states["round_number"] = 99, 8
            view.seats[:], view.seeds[:] = 0, 0
            return actions

    lineup = [make("random"), Vandal(), make("ev")]
    expected = play_blocks([make("random"), Varied(), make("ev")], num_deals=2, seed=9)
    assert_same(play_blocks(lineup, num_deals=2, seed=9), expected)


ILLEGAL = {  # name -> (phase of the position, answer)
    "-1": (1, lambda state: -1),
    "no action": (1, lambda state: NUM_ACTIONS),
    "a thousand million": (1, lambda state: 10**9),
    "the least integer": (0, lambda state: -(2**63)),
    "2**32 more than a pass": (1, lambda state: 2**32 + PASS),
    "-1 while placing": (0, lambda state: -1),
    "the standing bid": (1, lambda state: PASS + state.high_bid),
    "more than its mice": (1, lambda state: PASS + state.mice[state.seat] + 1),
    "a card of its hand in the auction": (1, lambda state: int(state.hands[state.seat]).bit_length() - 1),
    "a card not in hand": (0, lambda state: (~int(state.hands[state.seat]) & 1023).bit_length() - 1),
    "a pass while placing": (0, lambda state: PASS),
    "a bid while placing": (0, lambda state: PASS + 1),
}


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_action_forfeits_its_game_and_no_other(players, name):
    phase, answer = ILLEGAL[name]
    found = position(players, phase)
    illegal = int(answer(found.state))

    def reaction(actions: np.ndarray, index: int) -> np.ndarray:
        actions = actions.astype(np.int64)
        actions[index] = illegal
        return actions

    lineup = list_deciders(players)
    lineup[found.place] = Trap(lineup[found.place], found.state.tobytes(), reaction)
    blocks = play_blocks(lineup, num_deals=BLOCKS, seed=SEED)
    as_before = play_blocks(list_deciders(players), num_deals=BLOCKS, seed=SEED)
    check_forfeit(blocks, as_before, found, players)


def check_forfeit(blocks: Blocks, as_before: Blocks, found: Found, n: int) -> None:
    game, offends = (found.block, found.rotation), np.arange(n) == found.place
    others = np.ones((BLOCKS, n), bool)
    others[game] = False
    for measure in MEASURES:
        assert (blocks.measures[measure][others] == as_before.measures[measure][others]).all()
    assert blocks.rounds[others].tobytes() == as_before.rounds[others].tobytes()
    ended = {measure: values[game] for measure, values in blocks.measures.items()}
    assert ended["forfeits"].tolist() == offends.astype(float).tolist()
    assert ended["win_share"].tolist() == [0 if offender else 1 / (n - 1) for offender in offends]
    assert ended["rank"].tolist() == [n if offender else 1 for offender in offends]
    seats = found.seats
    assert ended["mice"].tolist() == found.state.mice[seats].tolist()
    scores = found.state.mice[seats] + found.state.cat_points[seats]
    assert ended["score"].tolist() == scores.tolist()
    assert ended["margin"] == pytest.approx([score - (scores.sum() - score) / (n - 1) for score in scores])
    now = int(found.state.round_number)
    rounds, played_out = blocks.rounds[game], as_before.rounds[game]
    assert rounds[:now].tobytes() == played_out[:now].tobytes()
    assert ended["sacks"].tolist() == [(rounds["winner"][:now] == seat).sum() for seat in seats]
    assert (rounds["winner"][now:] == NO_SEAT).all()
    assert (rounds["cards"][now + 1 :] == NO_CARD).all()


class Slow:
    """Player that passes, but takes 5,000 seconds of a clock, or hangs, over the third card of seat 0."""

    def __init__(self, clock: list[float] | None = None) -> None:
        self.clock = clock

    def act(self, view: View) -> np.ndarray:
        waits = (view.states["round_number"] == 2) & (view.seats == 0) & (view.states["phase"] == PLACE)
        while waits.any() and self.clock is None:
            pass
        if waits.any() and self.clock is not None:
            self.clock[0] += 5000
        return view.action_masks.argmax(axis=1)


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Return the time of a clock that the time limit reads, and a test sets."""
    now = [0.0]
    monkeypatch.setattr(time_limit, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_a_decision_that_takes_too_long_forfeits_its_game_and_no_other(clock):
    players = [Slow(clock), *(make("pass") for _ in range(2))]
    blocks = play_blocks(players, num_deals=2, seed=SEED, seconds=100.0)  # the system's timer never comes so far
    is_late = blocks.seats[:, :, 0] == 0
    assert (blocks.measures["forfeits"][:, :, 0] == is_late).all()
    assert (blocks.measures["forfeits"][:, :, 1:] == 0).all()
    assert (blocks.measures["win_share"][:, :, 0][is_late] == 0).all()
    assert is_late.sum() == 2
    assert [entry[:2] for entry in blocks.forfeits] == [(0, "taking too long")] * 2
    first, second = (entry.text for entry in blocks.forfeits)
    assert first.count("\n3:") <= 1
    assert "# seat 0 to act: it may place" in first
    assert loads(first)
    assert not second


@pytest.mark.linux("only POSIX systems interrupt a call")
def test_a_player_that_hangs_is_interrupted_and_forfeits():
    blocks = play_blocks([Slow(), make("pass"), make("pass")], num_deals=1, seed=SEED, seconds=0.5)
    assert blocks.forfeits
    assert blocks.measures["forfeits"][:, :, 0].sum() >= 1


class Late:
    """Player that passes, and takes 5,000 seconds of a clock for each answer, or for all but each tenth about one game.

    It keeps the numbers of games about which it is asked at once.
    """

    def __init__(self, clock: list[float], *, sometimes_in_time: bool) -> None:
        self.clock, self.sometimes_in_time = clock, sometimes_in_time
        self.asked: list[int] = []

    def act(self, view: View) -> np.ndarray:
        self.asked.append(len(view))
        if not (self.sometimes_in_time and len(view) == 1 and self.asked.count(1) % 10 == 0):
            self.clock[0] += 5000
        return view.action_masks.argmax(axis=1)


def test_a_player_that_is_too_late_twenty_times_in_a_row_fails_after_a_few_limits(clock):
    late = Late(clock, sometimes_in_time=False)
    with pytest.raises(PlayerError) as caught:
        play_blocks([make("pass"), late, make("pass")], num_deals=20, seed=SEED, seconds=100.0)
    assert caught.value.index == 1
    assert caught.value.reason == "took longer than 100 s for a decision 20 times in a row"
    assert loads(caught.value.text)
    assert late.asked.count(1) == 20
    assert sum(late.asked) <= 16 + 16 + 16 + 4  # limits that pass: two batches, and the games of each


def test_a_player_that_is_often_late_but_not_twenty_times_in_a_row_only_forfeits(clock):
    late = Late(clock, sometimes_in_time=True)
    blocks = play_blocks([make("pass"), late, make("pass")], num_deals=20, seed=SEED, seconds=100.0)
    assert max(late.asked) == 16
    assert 20 < len(blocks.forfeits) <= 60
    assert {entry[:2] for entry in blocks.forfeits} == {(1, "taking too long")}


def test_without_a_limit_all_games_are_asked_about_at_once(clock):
    late = Late(clock, sometimes_in_time=False)
    play_blocks([make("pass"), late, make("pass")], num_deals=20, seed=SEED)
    assert max(late.asked) > 16


def test_without_a_limit_a_slow_player_plays_on():
    blocks = play_blocks([Slow([0.0]), make("pass"), make("pass")], num_deals=1, seed=SEED)
    assert not blocks.forfeits
    assert not blocks.measures["forfeits"].any()


def test_every_player_may_forfeit_games_of_its_own():
    class PassesAtOnce:
        def act(self, view: View) -> np.ndarray:
            return np.full(len(view), PASS)

    lineup: list[Player] = [PassesAtOnce(), make("random"), PassesAtOnce(), make("ev")]
    blocks = play_blocks(lineup, num_deals=5, seed=1)
    forfeits, shares = blocks.measures["forfeits"], blocks.measures["win_share"]
    assert (forfeits.sum(axis=2) == 1).all()
    assert not forfeits[:, :, [1, 3]].any()
    assert (shares == np.where(forfeits, 0, 1 / 3)).all()
    assert forfeits[:, :, 0].any()
    assert forfeits[:, :, 2].any()
    assert {entry[:2] for entry in blocks.forfeits} == {(0, "an illegal action"), (2, "an illegal action")}
    texts = [entry.text for entry in blocks.forfeits if entry.text]
    assert len(texts) == 2
    assert all("; it chose action 10 (pass)\n" in text and loads(text) for text in texts)


def test_a_player_that_ends_the_program_is_an_error_of_the_player():
    class Ends:
        def act(self, view: View) -> np.ndarray:
            raise SystemExit(3)

    with pytest.raises(PlayerError, match="SystemExit: 3"):
        play_blocks([make("pass"), Ends(), make("pass")], num_deals=1, seed=0)


def test_a_pass_pays_in_the_book_what_the_rules_say():
    """Compare `taken` of a decision with `pass_pays` of the state before it."""
    spy = Spy(FirstLegal())
    blocks = play_blocks([make("ev"), spy, make("random")], num_deals=1, seed=2)
    sat = blocks.seats[0, :, 1].tolist()
    for view in spy.views:
        for state, seat in zip(view.states, view.seats, strict=True):
            if state.phase != PLACE:
                entry = blocks.rounds[0, sat.index(seat), state.round_number]
                assert entry["taken"][seat] == pass_pays(state)
                assert entry["passed"][seat] == state.passes + 1
