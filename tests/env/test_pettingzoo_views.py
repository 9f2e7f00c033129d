"""PettingZoo AEC face: rendering, views for players, and that no seat is shown what it may not know."""

from collections.abc import Iterator

import numpy as np
import pytest

import agents
from felicity_env import Batch, felicity_v0, pettingzoo_env
from felicity_env.game import NO_CARD, slot_owner
from felicity_env.game_record import Deal, Game
from felicity_env.information import information_state, redact, resample
from felicity_env.observation import describe
from felicity_env.pettingzoo_env import raw_env
from felicity_env.random_stream import decision_seed, game_seed
from felicity_env.setups import SETUPS
from tests.support.aec_games import choose, every_size, in_auction, new_env, play_out, play_some, read_mask
from tests.support.helpers import C3, C8, COMPILED, M8, ODD_SETUPS, RABBIT, SMALL, bid

# --- rendering --------------------------------------------------------------------------------------------------------


def test_rendering_without_a_mode_warns_and_returns_nothing():
    env = new_env()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_ansi_returns_the_text_and_prints_nothing(capsys):
    env, rng = new_env(render_mode="ansi"), np.random.default_rng(0)
    while not any(env.terminations.values()):
        assert env.render().startswith("FELICITY   round")
        env.step(choose(env, rng))
    assert "game over" in env.render()
    assert capsys.readouterr().out == ""


def test_human_prints_what_ansi_returns_at_reset_and_after_every_step(capsys):
    human, ansi = new_env(render_mode="human"), new_env(render_mode="ansi")
    assert capsys.readouterr().out == ansi.render() + "\n"
    for k in range(15):
        for env in (human, ansi):
            env.step(choose(env, np.random.default_rng(k)))
        assert capsys.readouterr().out == ansi.render() + "\n"
    assert human.render() is None
    assert capsys.readouterr().out == ansi.render() + "\n"


def test_the_mice_of_the_others_are_rendered_with_open_mice_alone():
    hidden, shown = (in_auction(render_mode="ansi", open_mice=open_mice).render() for open_mice in (False, True))
    for text, mice in ((hidden, ["15", "??", "??", "??"]), (shown, ["15", "15", "15", "15"])):
        head, *lines = text.split("\n\n")[2].splitlines()
        assert [line[: head.index("mice") + 4].split()[-1] for line in lines] == mice


def test_a_wrapped_environment_renders_the_same():
    wrapped, raw = felicity_v0.env(render_mode="ansi"), raw_env(render_mode="ansi")
    for env in (wrapped, raw):
        env.reset(seed=3)
    assert wrapped.render() == raw.render()


@pytest.mark.parametrize("setup", ODD_SETUPS, ids=range(len(ODD_SETUPS)))
def test_other_setups_render_to_the_end(setup):
    env, rng = raw_env(setup=setup, render_mode="ansi"), np.random.default_rng(0)
    env.reset(seed=1)
    while not any(env.terminations.values()):
        assert f"of {setup.rounds}" in env.render()
        assert len(env.render_all()) > 100
        env.step(choose(env, rng))
    assert "game over" in env.render()
    assert "game over" in env.render_all()


def test_render_shows_the_own_face_down_card_and_no_others_while_render_all_shows_all():
    env = raw_env(4, render_mode="ansi")
    env.reset(options={"deal": {"removed": [RABBIT] * 4, "start_seat": 0}})
    for card in (C3, C8, M8, SMALL):
        env.step(card)
    env.step(bid(1))
    assert env.agent_selection == "player_1"
    row = next(line for line in env.render().splitlines() if line.startswith("  card"))
    assert row.split() == ["card", "3", "(8)", "??", "??"]
    row = next(line for line in env.render_all().splitlines() if line.startswith("  card"))
    assert row.split() == ["card", "3", "(8)", "(-8)", "(d)"]


# --- secrecy ----------------------------------------------------------------------------------------------------------


def world_actions(env: raw_env, world: np.void) -> list[int]:
    """Return the history with the cards of `world` in place of those placed in this round."""
    actions, rounds = list(env.game.actions), [int(state.round_number) for _, state in env.game.states()]
    first = rounds.index(int(world["round_number"]))
    for k in range(int(world["row_size"] - world["has_dummy"])):
        actions[first + k] = int(world["row"][k + world["has_dummy"]])
    return actions


def in_world(env: raw_env, world: np.ndarray) -> raw_env:
    """Return the same environment as if `world` [1] were the truth."""
    seats, saved = env.setup.seats, env.clone()
    removed = tuple(int(card) for card in world["removed"][0][:seats] if card != NO_CARD)
    dummy = tuple(int(card) for card in world["dummy_cards"][0] if card != NO_CARD)
    saved["_states"] = world
    saved["_deal"] = Deal(removed, dummy, saved["_deal"].start_seat)
    saved["_actions"] = world_actions(env, world[0])
    other = raw_env(setup=env.setup, reward=env.reward, open_mice=env.open_mice, render_mode=env.render_mode)
    other.restore(saved)
    return other


def collect_shown(env: raw_env, seat: int) -> tuple:
    """Return all that reaches the player in `seat`, as bytes and text."""
    agent = env.possible_agents[seat]
    seen = env.observe(agent)
    mine = env.agent_selection == agent
    return (
        seen["observation"].tobytes(),
        seen["action_mask"].tobytes(),
        env.infos[agent],
        env.rewards,
        env._cumulative_rewards,
        env.agent_selection,
        env.render() if mine and not env.terminations[agent] else None,  # at the end it shows everything
        env.information_state(seat),
    )


def positions(env: raw_env, every: int) -> Iterator[raw_env]:
    """Yield the environment after every `every` decisions of a game, and at the end."""
    rng, k = np.random.default_rng(3), 0
    while not any(env.terminations.values()):
        if k % every == 0:
            yield env
        env.step(choose(env, rng))
        k += 1
    yield env


@pytest.mark.parametrize("open_mice", [False, True])
@pytest.mark.parametrize("setup", [*SETUPS.values(), ODD_SETUPS[0], ODD_SETUPS[3]])
def test_a_seat_is_shown_the_same_in_every_world_that_fits(setup, open_mice):
    env, rng = raw_env(setup=setup, reward="round", open_mice=open_mice, render_mode="ansi"), np.random.default_rng(1)
    others = 0
    env.reset(seed=2)
    for _ in positions(env, every=5 if COMPILED else 25):
        for seat in range(setup.seats):
            truth = env.clone()["_states"]
            world = resample(redact(truth, seat), rng)
            elsewhere = in_world(env, world)
            assert elsewhere.game.final_states().tobytes() == world.tobytes()
            assert collect_shown(elsewhere, seat) == collect_shown(env, seat)
            others += world.tobytes() != truth.tobytes()
    assert others > (2 if COMPILED else 0)


def test_the_privileged_state_tells_worlds_apart():
    env, rng = new_env(4), np.random.default_rng(1)
    worlds = [in_world(env, resample(redact(env.clone()["_states"], 0), rng)) for _ in range(4)]
    assert len({world.state().tobytes() for world in worlds}) > 1
    assert len({world.render_all() for world in worlds}) > 1


def test_the_owner_of_a_face_down_card_sees_it_and_the_others_do_not():
    env = in_auction()
    state = env.clone()["_states"][0]
    for seat in range(4):
        row = describe(env.observe(f"player_{seat}")["observation"])["row"]
        seen = [slot for slot, card in enumerate(row) if card is not None]
        assert seen == [slot for slot in range(4) if slot < state.face_up or slot_owner(state, slot) == seat]


# --- views for players ------------------------------------------------------------------------------------------------


@every_size
@pytest.mark.parametrize("code", ["random", "ev"])
def test_a_player_plays_the_game_that_it_plays_in_a_batch(players, code):
    player, batch = agents.make(code), Batch(3, players, seed=8)
    env = felicity_v0.env(num_players=players)
    env.reset(seed=int(batch.game_seeds[1]))
    while not any(env.terminations.values()):
        actions = player.act(batch.view())
        env.step(int(player.act(env.unwrapped.view())[0]))
        assert env.unwrapped.game.actions[-1] == actions[1]
        batch.step(actions)
    assert batch.terminated[1]


def test_a_players_chance_goes_on_in_clones_and_later_games():
    env, player = new_env(seed=3), agents.make("random")
    play_out(env)
    env.reset()
    env.step(int(player.act(env.view())[0]))
    kept, seeds = env.clone(), env.view().seeds
    play_out(env)
    env.restore(kept)
    assert env.view().seeds == seeds
    other = new_env(seed=3)
    other.step(int(player.act(other.view())[0]))
    assert other.view().seeds != seeds


def test_the_view_of_the_seat_to_act_hides_what_it_may_not_know():
    env = in_auction()
    view = env.view()
    assert len(view) == 1
    assert (view.states == redact(env._states, int(view.seats[0]))).all()
    assert (view.observations()[0] == env.observe(env.agent_selection)["observation"]).all()
    assert (view.action_masks[0] == read_mask(env)).all()


def test_a_view_replays_no_game_and_plays_no_step(monkeypatch):
    env, calls = in_auction(), []
    for owner, name in ((Game, "states"), (pettingzoo_env, "initial_states"), (pettingzoo_env, "_play")):
        monkeypatch.setattr(owner, name, lambda *_, name=name: calls.append(name) or iter(()))
    for _ in range(3):
        assert len(env.view()) == 1
    assert calls == []
    assert not list(env.game.states())
    assert calls == ["states"]  # the count works


@every_size
def test_the_seeds_of_views_count_the_decisions_of_each_seat_from_the_start(players):
    env, rng, game = new_env(players, seed=5), np.random.default_rng(1), game_seed(5, 0, 1)
    play_some(env, 20)
    env.reset()
    taken = [0] * players
    while not any(env.terminations.values()):
        seat = env.possible_agents.index(env.agent_selection)
        assert env.view().seeds[0] == decision_seed(np.uint64(game), seat, taken[seat])
        taken[seat] += 1
        env.step(choose(env, rng))


def test_at_the_end_of_a_game_there_is_no_view_of_it():
    with pytest.raises(ValueError, match="the game is over: no seat is to act"):
        play_out(new_env()).view()


def test_the_information_state_is_kept_up_however_often_it_is_asked_for():
    often, once = raw_env(3), raw_env(3)
    rng = np.random.default_rng(4)
    for seed in (1, 2):
        for env in (often, once):
            env.reset(seed=seed)
        while not all(often.terminations.values()):
            grown = often.information_state(int(rng.integers(3)))
            grown.append("an edit of the list")
            action = int(rng.choice(np.flatnonzero(often.observe(often.agent_selection)["action_mask"])))
            for env in (often, once):
                env.step(action)
        for seat in range(3):
            assert often.information_state(seat) == once.information_state(seat) == information_state(once.game, seat)
