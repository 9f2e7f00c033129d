"""PettingZoo AEC face: deals with overrides, and seeds that deal the same game everywhere."""

import random
import secrets
import subprocess
import sys

import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.game_record import Deal
from felicity_env.gymnasium_env import SeatVectorEnv
from felicity_env.observation import describe
from felicity_env.pettingzoo_env import raw_env
from felicity_env.random_stream import MAX_SEED
from tests.support.aec_games import every_size, everything_shown, new_env, play_out, play_some, same
from tests.support.helpers import ODD_SETUPS

# --- deals ------------------------------------------------------------------------------------------------------------


DUMMY_ORDER = [9, 0, 8, 1, 7, 2, 6, 3, 5]


def true_deal(env: raw_env) -> Deal:
    return Deal.from_state(env.clone()["_states"][0])


@every_size
def test_a_whole_deal_is_dealt_as_overridden(players):
    overrides = {"removed": [2, 7, 7, 0, 9][:players], "dummy": DUMMY_ORDER if players == 3 else [], "start_seat": 2}
    env = raw_env(players)
    env.reset(seed=3, options={"deal": overrides})
    assert true_deal(env) == Deal(tuple(overrides["removed"]), tuple(overrides["dummy"]), 2)
    assert env.agent_selection == "player_2"
    for seat, agent in enumerate(env.possible_agents):
        hand = describe(env.observe(agent)["observation"])["hand"]
        assert hand == [card for card in range(10) if card != overrides["removed"][seat]]


@pytest.mark.parametrize(
    "overrides", [{"removed": [1, 2, 3]}, {"dummy": DUMMY_ORDER}, {"start_seat": 0}, {"start_seat": 2}, {}]
)
def test_a_key_left_out_of_the_deal_is_drawn_as_without_it(overrides):
    for seed in range(10):
        plain, changed = new_env(3, seed=seed), raw_env(3)
        changed.reset(seed=seed, options={"deal": overrides})
        drawn = true_deal(plain)
        expected = {key: tuple(value) if isinstance(value, list) else value for key, value in overrides.items()}
        assert true_deal(changed) == Deal(**({k: getattr(drawn, k) for k in drawn.__match_args__} | expected))


def test_a_deal_may_be_given_in_tuples_arrays_and_numpy_integers():
    env = raw_env(3)
    overrides = {"removed": np.array([1, 2, 3], np.int8), "dummy": tuple(DUMMY_ORDER), "start_seat": np.uint8(1)}
    env.reset(options={"deal": overrides})
    assert true_deal(env) == Deal((1, 2, 3), tuple(DUMMY_ORDER), 1)
    assert type(env.game.deal.start_seat) is int


def test_unknown_options_are_ignored_and_a_deal_of_none_is_drawn():
    plain = true_deal(new_env(seed=4))
    for options in (None, {}, {"options": 1}, {"deal": None}, {"seat": 3, "deal": {}}):
        env = raw_env(4)
        env.reset(seed=4, options=options)
        assert true_deal(env) == plain


BAD_DEALS = {
    "unknown key": (4, {"start": 1}, "unknown keys"),
    "key no text": (4, {3: 1}, "unknown keys"),
    "no mapping": (4, [1, 2, 3, 4], "must be a mapping"),
    "text": (4, "removed", "must be a mapping"),
    "too few removed": (4, {"removed": [1, 2, 3]}, "needs 4 cards"),
    "too many removed": (4, {"removed": [1, 2, 3, 4, 5]}, "needs 4 cards"),
    "none removed": (4, {"removed": []}, "needs 4 cards"),
    "card 10": (4, {"removed": [1, 2, 3, 10]}, "10 is no card"),
    "card -1": (4, {"removed": [1, 2, 3, -1]}, "-1 is no card"),
    "card 2.0": (4, {"removed": [1, 2, 3, 2.0]}, r"2\.0 is no card"),
    "card True": (4, {"removed": [1, 2, 3, True]}, "True is no card"),
    "card None": (4, {"removed": [1, 2, 3, None]}, "None is no card"),
    "card nan": (4, {"removed": [1, 2, 3, float("nan")]}, "nan is no card"),
    "card list": (4, {"removed": [[1], 2, 3, 4]}, "is no card"),
    "card text": (4, {"removed": "1234"}, "must be a list of cards"),
    "a number": (4, {"removed": 3}, "must be a list of cards"),
    "an array without length": (4, {"removed": np.array(3)}, "must be a list of cards"),
    "a set": (4, {"removed": {1, 2, 3, 4}}, "must be a list of cards"),
    "removed None": (4, {"removed": None}, "must be a list of cards"),
    "dummy without dummy": (4, {"dummy": DUMMY_ORDER}, r"deal\['dummy'\] needs 0 cards"),
    "short dummy": (3, {"dummy": DUMMY_ORDER[:8]}, "needs 9 cards"),
    "long dummy": (3, {"dummy": [*DUMMY_ORDER, 4]}, "needs 9 cards"),
    "double dummy": (3, {"dummy": [9, 9, *DUMMY_ORDER[2:]]}, "repeats a card"),
    "dummy card": (3, {"dummy": [11, *DUMMY_ORDER[1:]]}, "11 is no card"),
    "seat 4": (4, {"start_seat": 4}, "start_seat.*0 to 3"),
    "seat -1": (4, {"start_seat": -1}, "start_seat.*0 to 3"),
    "seat 1.0": (4, {"start_seat": 1.0}, "start_seat"),
    "seat True": (4, {"start_seat": True}, "start_seat"),
    "seat text": (4, {"start_seat": "1"}, "start_seat"),
    "seat list": (4, {"start_seat": [1]}, "start_seat"),
    "seat None": (4, {"start_seat": None}, "start_seat"),
    "seat huge": (4, {"start_seat": 2**70}, "start_seat"),
}


@pytest.mark.parametrize(("players", "overrides", "message"), BAD_DEALS.values(), ids=BAD_DEALS)
@pytest.mark.parametrize("seed", [None, 9])
def test_an_impossible_deal_is_refused_by_its_fault_and_leaves_the_environment_as_it_was(
    players, overrides, message, seed
):
    for steps in (12, 10_000):
        env = play_some(new_env(players, reward="round"), steps)
        before, shown = env.clone(), everything_shown(env)
        with pytest.raises(ValueError, match=message):
            env.reset(seed=seed, options={"deal": overrides})
        assert same(env.clone(), before)
        assert same(everything_shown(env), shown)


def test_a_card_that_is_not_in_the_set_of_a_small_setup_cannot_be_dealt():
    env = raw_env(setup=ODD_SETUPS[2])
    with pytest.raises(ValueError, match=r"7 is no card of this game; cards are \[0, 3, 8\]"):
        env.reset(options={"deal": {"removed": [0, 3, 7]}})
    assert env.agents == []
    with pytest.raises(ValueError, match="needs 0 cards"):
        raw_env(setup=ODD_SETUPS[1]).reset(options={"deal": {"removed": [1, 2]}})


# --- seeds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32, 2**53, MAX_SEED, np.int64(5), np.uint64(MAX_SEED), np.uint8(7)])
def test_the_same_seed_deals_the_same_game(seed):
    one, two = new_env(seed=seed), new_env(seed=int(seed))
    play_some(two, 9)
    two.reset(seed=seed)
    assert same(everything_shown(one), everything_shown(two))


def test_different_seeds_deal_different_games():
    deals = {true_deal(new_env(3, seed=seed)) for seed in [*range(200), 2**31, 2**32, 2**32 + 1, 2**62, MAX_SEED]}
    assert len(deals) == 205


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64, 1.0, 0.5, True, False, "1", float("nan"), [1], np.float32(1)])
def test_a_seed_that_is_no_integer_in_range_is_refused_and_nothing_changes(seed):
    env = play_some(new_env(), 12)
    before = env.clone()
    with pytest.raises(ValueError, match=r"seed must be an integer from 0 to 2\*\*63 - 1"):
        env.reset(seed=seed)
    assert same(env.clone(), before)


def deals_of_resets(env: raw_env, count: int) -> list[Deal]:
    deals = []
    for _ in range(count):
        env.reset()
        deals.append(true_deal(env))
    return deals


@pytest.mark.parametrize("make", [raw_env, lambda: SeatVectorEnv(2)])
def test_the_first_reset_without_a_seed_draws_one_of_all_seeds(make, monkeypatch):
    drawn = []
    monkeypatch.setattr(secrets, "randbits", lambda bits: drawn.append(bits) or 11)
    unseeded, seeded = make(), make()
    for env, seed in ((unseeded, None), (seeded, 11)):
        env.reset(seed=seed)
    assert drawn == [63]
    assert 2 ** drawn[0] == MAX_SEED + 1
    first, second = (env.state() if isinstance(env, raw_env) else env.batch.states for env in (unseeded, seeded))
    assert (first == second).all()


def test_an_unseeded_reset_goes_on_in_the_stream_of_the_last_seed():
    one, two = new_env(3, seed=4), new_env(3, seed=4)
    play_some(two, 30)
    deals = deals_of_resets(one, 30)
    assert deals == deals_of_resets(two, 30)
    assert len({true_deal(new_env(3, seed=4)), *deals}) == 31
    assert deals_of_resets(new_env(3, seed=5), 30) != deals


def test_an_environment_never_seeded_deals_something_else_each_time():
    firsts = [deals_of_resets(raw_env(3), 2) for _ in range(8)]
    assert len({deal for deals in firsts for deal in deals}) == 16


def test_an_unseeded_reset_after_a_deal_or_a_refused_one_stays_in_step():
    one, two = new_env(3, seed=4), new_env(3, seed=4)
    with pytest.raises(ValueError, match="start_seat"):
        two.reset(options={"deal": {"start_seat": 9}})
    assert deals_of_resets(one, 2) == deals_of_resets(two, 2)
    one.reset()
    two.reset(options={"deal": {"start_seat": 1}})
    assert deals_of_resets(one, 2) == deals_of_resets(two, 2)


def test_global_random_states_are_left_alone():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global generator is what is looked at
    before = random.getstate(), np.random.get_state()[1].tobytes()  # noqa: NPY002
    env = felicity_v0.env()
    env.reset()
    play_out(env)
    env.reset(seed=3)
    play_out(env)
    assert (random.getstate(), np.random.get_state()[1].tobytes()) == before  # noqa: NPY002
    random.seed(2)
    again = play_out(new_env(seed=3))
    random.seed(3)
    assert same(everything_shown(again), everything_shown(play_out(new_env(seed=3))))


DIGEST = """
import hashlib
from felicity_env import felicity_v0
digest = hashlib.sha256()
for players in (3, 4, 5):
    env = felicity_v0.env(num_players=players, reward="round")
    env.reset(seed=0)
    for game in range(5):
        for agent in env.agent_iter():
            observation, reward, termination, _, info = env.last()
            digest.update(observation["observation"].tobytes() + repr((agent, reward, sorted(info.items()))).encode())
            legal = observation["action_mask"].nonzero()[0]
            env.step(None if termination else legal[len(legal) // 2])
        env.reset()
print(digest.hexdigest())
"""


@pytest.mark.compiled("three slow processes")
def test_other_processes_with_other_hash_seeds_play_the_same_games(monkeypatch):
    digests = set()
    for hash_seed in ("0", "4242"):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        done = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1
