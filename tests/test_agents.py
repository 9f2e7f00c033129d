"""Every player: legal actions, nothing hidden is seen, nothing is kept; the codes that make them."""

from types import SimpleNamespace

import numpy as np
import pytest

import agents
from agents.compiled import COMPILED as COMPILED_PLAYERS
from agents.compiled import CompiledPlayer
from felicity_env import Batch, View
from felicity_env.game import SETUPS, STATE, is_legal
from felicity_env.information import redact, resample
from tests.helpers import ALL_SETUPS, random_game, random_words, reachable, view_of
from tests.players import MANY, played_batch, small_net


def everybody() -> dict[str, agents.Player]:
    coded = {code: agents.make(code) for code in COMPILED_PLAYERS}
    return coded | {"net": small_net(), "net@greedy": small_net(greedy=True)}


NAMES = list(everybody())


# --- every player -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_at_every_table(name):
    player = everybody()[name]
    views = played_batch(player, 20 * MANY // 2)
    legal = [view.action_masks[np.arange(len(view)), player.act(view)] for view in views]
    assert np.concatenate(legal).all()
    assert sum(map(len, views)) > 500


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_legal_in_odd_setups_too(name):
    player = everybody()[name]
    for setup in ALL_SETUPS:
        states = np.concatenate([random_game(setup, seed).states[:-1] for seed in range(3)])
        actions = player.act(view_of(states, random_words(len(states))))
        assert all(is_legal(state, int(action)) for state, action in zip(states, actions, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_an_action_is_the_same_in_all_worlds_that_the_seat_cannot_tell_apart(name):
    player, rng, changed = everybody()[name], np.random.default_rng(3), 0
    for setup in SETUPS.values():
        truth = np.concatenate([random_game(setup, seed).states[:-1:7] for seed in range(MANY // 2 + 1)])
        words, known = random_words(len(truth)), redact(truth, truth["seat"])
        worlds = resample(known, rng)
        changed += int((worlds["hands"] != truth["hands"]).any(axis=1).sum())
        assert (player.act(view_of(worlds, words)) == player.act(view_of(truth, words))).all()
    assert changed > 5 * MANY


@pytest.mark.parametrize("name", NAMES)
def test_an_action_depends_neither_on_the_size_nor_on_the_order_of_the_batch(name):
    player = everybody()[name]
    rng = np.random.default_rng(4)
    for view in played_batch(agents.make("random"), 3 * MANY)[::12]:
        together, order = player.act(view), rng.permutation(len(view))
        assert (player.act(view.take(order)) == together[order]).all()
        one_by_one = [int(player.act(view.take(np.array([row])))[0]) for row in range(len(view))]
        assert one_by_one == together.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_view_gets_no_actions_and_a_view_is_left_as_it_was(name):
    player = everybody()[name]
    view = Batch(9, [3, 4, 5] * 3).view()
    before = view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()
    assert player.act(view.take(np.array([], np.int64))).shape == (0,)
    assert player.act(view).shape == (9,)
    assert (view.states.tobytes(), view.seats.tobytes(), view.seeds.tobytes()) == before


def games_held(root: object) -> list[object]:
    return [
        thing
        for thing in reachable(root)
        if isinstance(thing, Batch | View | np.random.Generator)
        or (isinstance(thing, np.ndarray | np.void) and thing.dtype == STATE)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_player_holds_on_to_a_game(name):
    player = everybody()[name]
    played_batch(player, 3)
    assert not games_held(player)


def test_a_player_that_holds_a_game_would_be_found():
    assert games_held(SimpleNamespace(memory={"last": [Batch(1).view().states]}))


# --- codes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", COMPILED_PLAYERS)
def test_a_code_makes_a_player(code):
    assert agents.make(code).act(Batch(3).view()).shape == (3,)


@pytest.mark.parametrize("code", ["", "evv", "EV", "ev ", "network", "no-module:make", ":make"])
def test_an_unknown_code_lists_those_there_are(code):
    with pytest.raises(ValueError, match=r"no player .*") as caught:
        agents.make(code)
    for name in agents.PLAYERS:
        assert f"\n  {name} " in str(caught.value)
    assert "package.module:function" in str(caught.value)


def test_every_code_has_a_line_of_help():
    assert all(code.help and "\n" not in code.help for code in agents.PLAYERS.values())


def test_a_colon_with_nothing_after_it_is_refused():
    for code in ("net:", "mc:", "mc"):
        with pytest.raises(ValueError, match="needs an argument: "):
            agents.make(code)


def test_a_code_that_takes_no_argument_refuses_one():
    with pytest.raises(ValueError, match="'ev' takes no argument, got '200'"):
        agents.make("ev:200")


def make_own_player() -> agents.Player:
    return agents.make("ev")


def make_nothing() -> None:
    return None


def test_a_function_of_a_module_makes_a_player():
    assert isinstance(agents.make("tests.test_agents:make_own_player"), CompiledPlayer)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("tests.no_such_module:make", "cannot make a player by tests.no_such_module:make"),
        ("tests.test_agents:no_such_function", "no_such_function"),
        ("tests.test_agents:", "cannot make a player"),
        ("tests.test_agents:make_nothing", "has no method act"),
    ],
)
def test_a_function_that_makes_no_player_is_named(code, message):
    with pytest.raises(ValueError, match=message):
        agents.make(code)
