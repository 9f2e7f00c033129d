"""Players that fail in the arena: they are named with the game, or forfeit it, and nobody else is hurt."""

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from agents import Player, make
from agents.arena import MEASURES, Blocks, PlayerError, play_blocks, seats_of
from felicity_env import View, felicity_v0
from felicity_env.game import NO_CARD, NO_SEAT, NUM_ACTIONS, PASS, PLACE, SETUPS, State, pass_pays
from felicity_env.notation import dumps
from felicity_env.transcript import legal_text
from tests.arena_players import BLOCKS, SEED, Eager, FirstLegal, Spy, Trap, Varied, assert_same, play_by_aec


def deciding(players: int) -> list[Player]:
    """A table in which games are long and differ."""
    return [Varied(), make("anchor"), Varied(), Eager(), make("random")][:players]


class Found(NamedTuple):
    """A position that came up once in BLOCKS blocks of `deciding`, before the one at `place`."""

    place: int
    state: State  # as its seat knows it
    block: int
    rotation: int
    seats: np.ndarray  # of each player in this game
    text: str  # the game to there


@lru_cache
def position(players: int, phase: int) -> Found:
    """From the middle of a game: a bid of at least 1 stands, or a card is about to be laid, and a mouse is held."""
    place = 2 if phase == PLACE else 0
    table = deciding(players)
    table[place] = spy = Spy(table[place])
    play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    rows = [state for view in spy.views for state in view.states]
    seen = [state.tobytes() for state in rows]
    state = next(
        state
        for state in rows
        if state.phase == phase
        and state.round_number == 5
        and (phase == PLACE or state.high_bid > 0)
        and state.passes < players - 1
        and seen.count(state.tobytes()) == 1
    )
    table[place] = Trap(spy.player, state.tobytes(), raise_lost)
    env = felicity_v0.raw_env(num_players=players)
    for block, rotation in product(range(BLOCKS), range(players)):
        try:
            play_by_aec(env, table, block, rotation)
        except LookupError:
            seats = seats_of(players, range(block, block + 1), SEED)[0, rotation]
            return Found(place, state, block, rotation, seats, dumps(env.game))
    raise AssertionError("the position did not come up in the loop over the AEC face")


def raise_lost(actions: np.ndarray, row: int) -> Any:
    raise LookupError("lost in thought")


@pytest.mark.parametrize("players", SETUPS)
@pytest.mark.parametrize("phase", [0, 1])
def test_a_player_that_raises_is_named_with_its_place_its_error_and_the_game_in_notation(players, phase):
    found = position(players, phase)
    table = deciding(players)
    table[found.place] = Trap(table[found.place], found.state.tobytes(), raise_lost)
    with pytest.raises(PlayerError) as caught:
        play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    error = caught.value
    assert error.place == found.place
    assert error.reason == "LookupError: lost in thought"
    assert isinstance(error.__cause__, LookupError)
    assert error.text == f"{found.text}seat {found.seats[found.place]} to act: {legal_text(found.state)}\n"
    assert str(error) == f"{error.reason}\nin the game\n{error.text}"


@pytest.mark.parametrize(
    ("reaction", "reason"),  # B: the number of decisions
    [
        (lambda actions, row: None, "TypeError: act(view) must answer with B integers, not object []"),
        (lambda actions, row: 3, "TypeError: act(view) must answer with B integers, not int64 []"),
        (lambda actions, row: actions.astype(float), "not float64 [B]"),
        (lambda actions, row: np.full(len(actions), np.nan), "not float64 [B]"),
        (lambda actions, row: actions > PASS, "not bool [B]"),
        (lambda actions, row: [None] * len(actions), "not object [B]"),
        (lambda actions, row: [10**30] * len(actions), "not object [B]"),
        (lambda actions, row: ["pass"] * len(actions), "not <U4 [B]"),
        (lambda actions, row: actions[:, None], "not int64 [B, 1]"),
        (lambda actions, row: actions[:0], "not int64 [0]"),
        (lambda actions, row: np.tile(actions, (2, 1)), "not int64 [2, B]"),
        (lambda actions, row: [[1, 2], [3]], "ValueError: "),
    ],
)
def test_an_answer_that_is_no_row_of_integers_is_an_error_of_the_player(reaction, reason):
    found, asked = position(4, 1), []

    def answer(actions: np.ndarray, row: int) -> Any:
        asked.append(len(actions))
        return reaction(actions, row)

    table = deciding(4)
    table[found.place] = Trap(table[found.place], found.state.tobytes(), answer)
    with pytest.raises(PlayerError) as caught:
        play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    assert caught.value.place == found.place
    assert caught.value.text.startswith(found.text)
    assert reason.replace("B", str(asked[0])) in caught.value.reason


def test_a_player_that_fails_only_at_several_games_at_once_is_named_with_the_first():
    class FailsInCompany(FirstLegal):
        def act(self, view: View) -> np.ndarray:
            if len(view) > 1:
                raise MemoryError("too many")
            return super().act(view)

    with pytest.raises(PlayerError, match="MemoryError: too many\nin the game\nfelicity rules") as caught:
        play_blocks([make("pass"), FailsInCompany(), make("pass")], num_blocks=4, seed=0)
    assert caught.value.place == 1


def test_an_interrupt_is_no_error_of_the_player():
    class Interrupted:
        def act(self, view: View) -> np.ndarray:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_blocks([make("pass"), Interrupted(), make("pass")], num_blocks=1, seed=0)


@pytest.mark.parametrize("kind", [list, tuple, np.int8, np.uint8, np.uint64, object])
def test_any_row_of_integers_is_an_answer(kind):
    class Answers(Varied):
        def act(self, view: View) -> Any:
            actions = super().act(view)
            if kind is object:
                return [int(action) for action in actions]
            return kind(actions.tolist()) if kind in (list, tuple) else actions.astype(kind)

    table = [make("random"), Answers(), make("ev")]
    expected = play_blocks([make("random"), Varied(), make("ev")], num_blocks=2, seed=9)
    assert_same(play_blocks(table, num_blocks=2, seed=9), expected)


def test_a_player_that_writes_into_its_view_changes_nothing():
    class Vandal(Varied):
        def act(self, view: View) -> np.ndarray:
            actions = super().act(view)
            view.states["mice"], view.states["round_number"] = 99, 8
            view.seats[:], view.seeds[:] = 0, 0
            return actions

    table = [make("random"), Vandal(), make("ev")]
    expected = play_blocks([make("random"), Varied(), make("ev")], num_blocks=2, seed=9)
    assert_same(play_blocks(table, num_blocks=2, seed=9), expected)


ILLEGAL = {  # in the phase of the position: what is answered
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


@pytest.mark.parametrize("players", SETUPS)
@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_action_forfeits_its_game_and_no_other(players, name):
    phase, answer = ILLEGAL[name]
    found = position(players, phase)
    illegal = int(answer(found.state))

    def reaction(actions: np.ndarray, row: int) -> np.ndarray:
        actions = actions.astype(np.int64)
        actions[row] = illegal
        return actions

    table = deciding(players)
    table[found.place] = Trap(table[found.place], found.state.tobytes(), reaction)
    blocks = play_blocks(table, num_blocks=BLOCKS, seed=SEED)
    as_before = play_blocks(deciding(players), num_blocks=BLOCKS, seed=SEED)
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


def test_every_player_may_forfeit_games_of_its_own():
    class PassesAtOnce:
        def act(self, view: View) -> np.ndarray:
            return np.full(len(view), PASS)

    table: list[Player] = [PassesAtOnce(), make("random"), PassesAtOnce(), make("ev")]
    blocks = play_blocks(table, num_blocks=5, seed=1)
    forfeits, shares = blocks.measures["forfeits"], blocks.measures["win_share"]
    assert (forfeits.sum(axis=2) == 1).all()
    assert not forfeits[:, :, [1, 3]].any()
    assert (shares == np.where(forfeits, 0, 1 / 3)).all()
    assert forfeits[:, :, 0].any()
    assert forfeits[:, :, 2].any()


def test_a_pass_pays_in_the_book_what_the_rules_say():
    """`taken` of a spied decision is `pass_pays` of the state before it."""
    spy = Spy(FirstLegal())
    blocks = play_blocks([make("ev"), spy, make("random")], num_blocks=1, seed=2)
    sat = blocks.seats[0, :, 1].tolist()
    for view in spy.views:
        for state, seat in zip(view.states, view.seats, strict=True):
            if state.phase != PLACE:
                entry = blocks.rounds[0, sat.index(seat), state.round_number]
                assert entry["taken"][seat] == pass_pays(state)
                assert entry["passed"][seat] == state.passes + 1
