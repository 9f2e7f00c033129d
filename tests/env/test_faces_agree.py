"""AEC, Batch, SingleLearnerGames and the Gymnasium environments play the same games, bit for bit."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from felicity_env import felicity_v0
from felicity_env.batch import Batch
from felicity_env.game import MAX_SEATS, rank
from felicity_env.gymnasium_env import FINAL_KEYS, SeatEnv, SeatVectorEnv
from felicity_env.information import redact
from felicity_env.kernel import MAX_THREADS
from felicity_env.learners import SingleLearnerGames
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE
from felicity_env.player import RandomPlayer, View, write_observations
from felicity_env.random_stream import decision_seed, game_seed
from tests.support.helpers import COMPILED, ODD_SETUPS

GAMES = 440 if COMPILED else 8  # in each of seven settings: 3,080 games step by step on the AEC face
GAMES_THREADED = 120 if COMPILED else 8  # in the eighth: waking threads for a few games is slow
SETTINGS = {
    "3 win": {"num_players": 3, "reward": "win"},
    "3 round open": {"num_players": 3, "reward": "round", "open_mice": True},
    "4 margin": {"num_players": 4, "reward": "margin"},
    "4 round open": {"num_players": 4, "reward": "round", "open_mice": True},
    "5 score": {"num_players": 5, "reward": "score"},
    "5 win open": {"num_players": 5, "reward": "win", "open_mice": True},
    "mixed round": {"num_players": [3, 4, 5, 5, 4, 3, 4, 5], "reward": "round"},
    "mixed margin, two threads": {
        "num_players": [5, 3, 4, 4, 5, 3, 3, 4],
        "reward": "margin",
        "threads": min(2, MAX_THREADS),
    },
}
WIDTH = 40 if COMPILED else 8
_WEIGHTS = np.random.default_rng(1).integers(1, 2**63, OBS_SIZE, dtype=np.uint64) | np.uint64(1)


def decide(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return a legal action for each observation, and of it alone; often a pass or the lowest bid."""
    digests = (observations.view(np.uint32) * _WEIGHTS).sum(1, dtype=np.uint64) >> np.uint64(20)
    counts = masks.sum(1, dtype=np.int64)
    choices = (digests >> np.uint64(2)).astype(np.int64) % counts
    modest = np.minimum((digests >> np.uint64(1)).astype(np.int64) & 1, counts - 1)
    numbers = np.where(digests & np.uint64(1), choices, modest)
    return (masks.cumsum(1) > numbers[:, None]).argmax(1)


class ByObservation:
    """Player that acts by `decide`; `shift` makes different players."""

    def __init__(self, shift: int, open_mice: bool = False) -> None:
        self.shift, self.open_mice = shift, open_mice

    def act(self, view: View) -> np.ndarray:
        observations = view.observations(self.open_mice) + np.float32(self.shift)
        return decide(observations, view.action_masks)


def aec_env(batch: Batch, game: int) -> Any:
    return felicity_v0.raw_env(int(batch.num_players[game]), reward=batch.reward, open_mice=batch.open_mice)


# --- AEC = Batch ------------------------------------------------------------------------------------------------------


class AECGames:
    """One AEC environment for each game of a batch, to compare with it."""

    def __init__(self, batch: Batch, envs: list[Any] | None = None) -> None:
        self.batch = batch
        self.envs = envs or [aec_env(batch, game) for game in range(batch.num_games)]
        self.finished = 0
        self.begin(range(batch.num_games))

    def begin(self, games) -> None:
        for game in games:
            self.envs[game].reset(seed=game_seed(self.batch.seed, game, int(self.batch.episodes[game])))

    def check_position(self) -> None:
        seen = [env.observe(env.agent_selection) for env in self.envs]
        assert [env.agent_selection for env in self.envs] == [f"player_{seat}" for seat in self.batch.seats]
        np.testing.assert_array_equal(np.stack([view["observation"] for view in seen]), self.batch.observations)
        np.testing.assert_array_equal(np.stack([view["action_mask"] for view in seen]), self.batch.action_masks)

    def step(self, actions: np.ndarray) -> None:
        for env, action in zip(self.envs, actions.tolist(), strict=True):
            env.step(action)

    def check_outcome(self) -> None:
        ended = [all(env.terminations.values()) for env in self.envs]
        rewards = [[*env.rewards.values()] + [0.0] * (MAX_SEATS - len(env.rewards)) for env in self.envs]
        np.testing.assert_array_equal(np.array(ended), self.batch.terminated)
        np.testing.assert_array_equal(np.array(rewards), self.batch.rewards)
        for game in np.flatnonzero(ended):
            self._check_end(int(game))
        self.begin(np.flatnonzero(ended).tolist())

    def _check_end(self, game: int) -> None:
        env, state = self.envs[game], self.batch.final_states[game]
        assert env.clone()["_states"][0].tobytes() == state.tobytes()
        for seat, agent in enumerate(env.possible_agents):
            info = env.infos[agent]
            assert info["score"] == self.batch.scores[game, seat]
            assert (info["cat_points"], info["mice"]) == (state.cat_points[seat], state.mice[seat])
            assert info["rank"] == rank(state, seat)
        self.finished += 1


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_aec_and_batch_agree_at_every_decision(settings):
    players = settings["num_players"]
    counts = players * (WIDTH // 8) if isinstance(players, list) else [players] * WIDTH
    batch = Batch(WIDTH, **{**settings, "num_players": counts}, seed=11)
    aec = AECGames(batch)
    games, restarts = GAMES if batch.threads == 1 else GAMES_THREADED, 0
    while aec.finished < games:
        if aec.finished >= games // 4 * (restarts + 1):  # in mid-game: once seeded, else on to the next episodes
            restarts += 1
            batch.reset(seed=1000 + restarts if restarts == 2 else None)
            aec.begin(range(WIDTH))
        aec.check_position()
        actions = decide(batch.observations, batch.action_masks)
        batch.step(actions)
        aec.step(actions)
        aec.check_outcome()
    assert restarts >= 2


@pytest.mark.parametrize("face", [felicity_v0.env, SeatEnv, partial(SeatVectorEnv, 1), partial(Batch, 2)])
def test_the_number_of_players_must_not_contradict_the_setup(face):
    with pytest.raises(ValueError, match="num_players is 3, but the setup has 5 seats: give only one"):
        face(num_players=3, setup="standard-5")
    with pytest.raises(ValueError, match="num_players is 4, but the setup has 5 seats: give only one"):
        face(num_players=4, setup="standard-5")
    for accepted in ({}, {"num_players": 5}):
        face(setup="standard-5", **accepted)


@pytest.mark.parametrize("setup", ODD_SETUPS, ids=range(len(ODD_SETUPS)))
def test_aec_and_batch_agree_in_other_setups(setup):
    batch = Batch(4, setup=setup, reward="round", seed=3)
    envs = [felicity_v0.raw_env(setup=setup, reward="round") for _ in range(4)]
    aec = AECGames(batch, envs)
    while aec.finished < 12:
        aec.check_position()
        actions = decide(batch.observations, batch.action_masks)
        batch.step(actions)
        aec.step(actions)
        aec.check_outcome()


def test_every_seat_sees_the_same_on_both_faces_and_so_does_a_critic():
    batch = Batch(9, [3, 4, 5] * 3, open_mice=True, seed=5)
    aec = AECGames(batch)
    out, critic = np.empty((9, OBS_SIZE), np.float32), np.empty((9, PRIVILEGED_SIZE), np.float32)
    for _ in range(150):
        for seat in range(3):
            batch.observe(seat, out)
            seen = [env.observe(f"player_{seat}")["observation"] for env in aec.envs]
            np.testing.assert_array_equal(np.stack(seen), out)
        batch.privileged(critic)
        from_seat_zero = batch.seats == 0  # the AEC face always looks from there
        states = np.stack([env.state() for env in aec.envs])
        np.testing.assert_array_equal(states[from_seat_zero], critic[from_seat_zero])
        actions = decide(batch.observations, batch.action_masks)
        batch.step(actions)
        aec.step(actions)
        aec.check_outcome()


def test_the_seed_of_a_game_deals_it_on_the_aec_face_for_any_seed_game_and_episode():
    for seed in (0, 1, 2**40, 2**63 - 1):
        batch = Batch(3, 3, seed=seed)
        for episode in range(3):
            for game in range(3):
                env = felicity_v0.raw_env(3)
                env.reset(seed=game_seed(seed, game, episode))
                assert env.clone()["_states"][0].tobytes() == batch.states[game].tobytes()
                assert game_seed(seed, game, episode) == batch.game_seeds[game]
            batch.restart(np.arange(3))


# --- ways to step a batch ---------------------------------------------------------------------------------------------

BUFFERS = ("observations", "action_masks", "seats", "rewards", "terminated", "scores", "states", "final_states")


def assert_same_buffers(one: Batch, other: Batch) -> None:
    for name in (*BUFFERS, "game_seeds", "episodes"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name


@pytest.mark.parametrize("num_games", [1, 7, 64])
def test_two_threads_play_as_one_does(num_games):
    players = [3 + game % 3 for game in range(num_games)]
    one, two = Batch(num_games, players, threads=1), Batch(num_games, players, threads=min(2, MAX_THREADS))
    for _ in range(180):
        actions = decide(one.observations, one.action_masks)
        one.step(actions)
        two.step(actions)
        assert_same_buffers(one, two)
    assert one.episodes.min() >= 1


@pytest.mark.parametrize("threads", [1, min(2, MAX_THREADS)])
@pytest.mark.parametrize("reward", ["win", "round"])
def test_play_random_is_the_random_player_stepping_through_views(threads, reward):
    players = [3 + game % 3 for game in range(30)]
    fast = Batch(30, players, reward=reward, seed=8, threads=threads)
    slow = Batch(30, players, reward=reward, seed=8)
    for length in (1, 2, 40, 1, 300):
        fast.play_random(length)
        for _ in range(length):
            slow.step(RandomPlayer().act(slow.view()))
        assert_same_buffers(fast, slow)
    assert fast.episodes.min() >= 2


def test_the_random_player_on_the_aec_face_with_a_view_made_by_hand_plays_the_same_game():
    batch, seed = Batch(1, 4, seed=21), game_seed(21, 0, 0)
    env = felicity_v0.raw_env(4)
    env.reset(seed=seed)
    decisions = [0] * 4
    while not batch.terminated[0]:
        batch.play_random(1)
        seat = env.possible_agents.index(env.agent_selection)
        random_bits = decision_seed(np.uint64(seed), np.int64(seat), np.int64(decisions[seat]))
        view = View(redact(env.clone()["_states"], seat), np.array([seat]), np.array([random_bits], np.uint64))
        env.step(RandomPlayer().act(view)[0])
        decisions[seat] += 1
    assert env.clone()["_states"][0].tobytes() == batch.final_states[0].tobytes()


def snapshot(batch: Batch) -> list[dict[str, bytes]]:
    """Return the bytes of every buffer of every game."""
    return [{name: getattr(batch, name)[game].tobytes() for name in BUFFERS} for game in range(batch.num_games)]


@pytest.mark.parametrize("threads", [1, min(2, MAX_THREADS)])
def test_steps_of_some_games_in_any_order_play_the_same_games_and_touch_no_other_game(threads):
    players, steps, rng = [3, 4, 5, 4, 3, 5, 4], 300 if threads == 1 else 40, np.random.default_rng(4)
    full, partial = (Batch(7, players, reward="round", seed=2, threads=threads) for _ in range(2))
    log = [snapshot(full)]
    for _ in range(steps):
        full.step(decide(full.observations, full.action_masks))
        log.append(snapshot(full))
    done = np.zeros(7, np.int64)
    while done.min() < steps:
        indices = rng.permutation(np.flatnonzero(done < steps))[: rng.integers(1, 8)]
        before = snapshot(partial)
        partial.step(decide(partial.observations[indices], partial.action_masks[indices]), indices)
        done[indices] += 1
        after = snapshot(partial)
        for game in range(7):
            expected = log[done[game]][game] if game in indices else before[game]
            assert after[game] == expected


# --- Batch = VectorEnv = SingleLearnerGames = Env --------------------------------------------------------------------


class Reference(NamedTuple):
    """Expected experience of the learner in each game, computed from a batch stepped by hand; J transitions."""

    observations: np.ndarray  # [J + 1, B, O]
    masks: np.ndarray  # [J + 1, B, A]
    seats: np.ndarray  # [J + 1, B]
    actions: np.ndarray  # [J, B]
    rewards: np.ndarray  # [J, B]
    terminated: np.ndarray  # [J, B]
    final_observations: dict[tuple[int, int], np.ndarray]  # by (transition, game)
    final_infos: dict[tuple[int, int], dict[str, int]]


class Steps(NamedTuple):
    """Record of a batch played step by step: [T, B, ...]."""

    observations: np.ndarray
    masks: np.ndarray
    learners: np.ndarray
    decides: np.ndarray  # whether the learner is to act
    actions: np.ndarray
    rewards: np.ndarray  # the learner's
    terminated: np.ndarray
    ends: dict[tuple[int, int], np.ndarray]  # final states by (step, game)


def play_steps(batch: Batch, seats: np.ndarray, num_steps: int, opponents: list[Any], *, rotate: bool) -> Steps:
    """Play a batch with a learner that acts by `decide` from `seats`, one seat further in each game if `rotate`."""
    indices, first_episodes, columns, ends = np.arange(batch.num_games), batch.episodes.copy(), [], {}
    for t in range(num_steps):
        learners = (seats + (batch.episodes - first_episodes) * rotate) % batch.num_players
        places = (batch.seats - learners) % batch.num_players
        actions = decide(batch.observations, batch.action_masks)
        for place in range(1, MAX_SEATS):
            player = opponents[(place - 1) % len(opponents)]
            mine = np.flatnonzero(places == place)
            if len(mine):
                actions[mine] = player.act(batch.view(mine))
        column = [batch.observations.copy(), batch.action_masks.copy(), learners, places == 0, actions]
        batch.step(actions)
        columns.append([*column, batch.rewards[indices, learners], batch.terminated.copy()])
        ends |= {(t, game): batch.final_states[game : game + 1].copy() for game in np.flatnonzero(batch.terminated)}
    return Steps(*(np.stack(column) for column in zip(*columns, strict=True)), ends)


def final_observation(state: np.ndarray, seat: int, open_mice: bool) -> np.ndarray:
    out = np.empty((1, OBS_SIZE), np.float32)
    write_observations(state, np.array([seat]), open_mice, out)
    return out[0]


def final_info(state: np.ndarray, seat: int) -> dict[str, float]:
    points, mice = int(state[0].cat_points[seat]), int(state[0].mice[seat])
    ranks = [int(rank(state[0], other)) for other in range(state[0].num_seats)]
    share = (ranks[seat] == 1) / ranks.count(1)
    return dict(zip(FINAL_KEYS, (points + mice, points, mice, ranks[seat], share, seat), strict=True))


def build_reference(steps: Steps, open_mice: bool) -> Reference:
    """Build the reference: each game's steps are cut at the learner's decisions, and rewards between them add up."""
    games = steps.decides.shape[1]
    times = [np.flatnonzero(steps.decides[:, game]) for game in range(games)]
    length = min(map(len, times)) - 1
    at = np.stack([time[: length + 1] for time in times], 1)  # [J + 1, B]
    indices = np.arange(games)
    rewards, terminated = np.zeros((length, games)), np.zeros((length, games), np.bool_)
    observations, infos = {}, {}
    for j, game in np.ndindex(length, games):
        first, last = at[j, game], at[j + 1, game]
        rewards[j, game] = steps.rewards[first:last, game].sum()
        terminated[j, game] = steps.terminated[first:last, game].any()
        if terminated[j, game]:
            end = first + int(steps.terminated[first:last, game].argmax())
            state, seat = steps.ends[end, game], int(steps.learners[end, game])
            observations[j, game] = final_observation(state, seat, open_mice)
            infos[j, game] = final_info(state, seat)
    return Reference(
        steps.observations[at, indices],
        steps.masks[at, indices],
        steps.learners[at, indices],
        steps.actions[at[:-1], indices],
        rewards,
        terminated,
        observations,
        infos,
    )


def check_vector_and_games(envs: SeatVectorEnv, learner: SingleLearnerGames, seed: int, reference: Reference) -> int:
    """Play both environments along the reference; return the number of finished games."""
    observations, infos = envs.reset(seed=seed)
    learner.batch.reset(seed=seed)
    learner.begin()
    for j in range(len(reference.actions) + 1):
        np.testing.assert_array_equal(observations, reference.observations[j])
        np.testing.assert_array_equal(infos["action_mask"], reference.masks[j])
        np.testing.assert_array_equal(infos["seat"], reference.seats[j])
        if j == len(reference.actions):
            break
        observations, rewards, terminated, truncated, infos = envs.step(reference.actions[j])
        learner.step(reference.actions[j])
        np.testing.assert_array_equal(rewards, reference.rewards[j])
        np.testing.assert_array_equal(terminated, reference.terminated[j])
        assert not truncated.any()
        check_finals(infos, reference, j)
        check_single_learner_games(learner, observations, rewards, terminated, infos)
    return int(reference.terminated.sum())


def check_finals(infos: dict[str, Any], reference: Reference, j: int) -> None:
    ended = np.flatnonzero(reference.terminated[j])
    assert ("final_obs" in infos) == ("final_info" in infos) == bool(len(ended))
    for game in ended:
        np.testing.assert_array_equal(infos["final_obs"][game], reference.final_observations[j, game])
        assert {key: infos["final_info"][key][game] for key in FINAL_KEYS} == reference.final_infos[j, game]
    if len(ended):
        np.testing.assert_array_equal(infos["_final_obs"], reference.terminated[j])
        np.testing.assert_array_equal(infos["_final_info"], reference.terminated[j])


def check_single_learner_games(learner: SingleLearnerGames, observations, rewards, terminated, infos) -> None:
    np.testing.assert_array_equal(learner.observations, observations)
    np.testing.assert_array_equal(learner.action_masks, infos["action_mask"])
    np.testing.assert_array_equal(learner.seats, infos["seat"])
    np.testing.assert_array_equal(learner.rewards, rewards)
    np.testing.assert_array_equal(learner.terminated, terminated)
    for game in np.flatnonzero(terminated):
        np.testing.assert_array_equal(learner.final_observations[game], infos["final_obs"][game])


VECTOR_SETTINGS = {
    "3 win": {"num_players": 3, "reward": "win"},
    "3 round, in order, open": {"num_players": 3, "reward": "round", "open_mice": True, "in_order": True},
    "4 margin, seat 2": {"num_players": 4, "reward": "margin", "seat": 2},
    "4 round, in order": {"num_players": 4, "reward": "round", "in_order": True},
    "5 round, open": {"num_players": 5, "reward": "round", "open_mice": True},
    "5 score, in order, seat 0": {"num_players": 5, "reward": "score", "in_order": True, "seat": 0},
}
GAMES_A_VECTOR, RESTARTS = (64, 3) if COMPILED else (4, 2)
STEPS_A_RESTART = 450 if COMPILED else 130


@pytest.mark.parametrize("settings", VECTOR_SETTINGS.values(), ids=VECTOR_SETTINGS)
def test_vector_env_and_single_learner_games_agree_with_a_batch_stepped_by_hand(settings):
    settings = dict(settings)
    in_order, players = settings.pop("in_order", False), settings["num_players"]
    opponents = [ByObservation(shift) for shift in range(1, players)] if in_order else [RandomPlayer()]
    envs = SeatVectorEnv(GAMES_A_VECTOR, opponents=opponents if in_order else opponents[0], **settings)
    seat = settings.pop("seat", None)
    learner = SingleLearnerGames(Batch(GAMES_A_VECTOR, **settings), opponents, seat=seat)
    batch = Batch(GAMES_A_VECTOR, **settings)
    games = 0
    for restart in range(RESTARTS):
        _, infos = envs.reset(seed=restart)
        batch.reset(seed=restart)
        steps = play_steps(batch, infos["seat"], STEPS_A_RESTART, opponents, rotate=seat is None)
        games += check_vector_and_games(envs, learner, restart, build_reference(steps, batch.open_mice))
    assert games >= (512 if COMPILED else 1)  # six settings: more than 3,000 games


def test_the_vector_env_with_two_threads_plays_as_with_one():
    one, two = SeatVectorEnv(40, 5, reward="round"), SeatVectorEnv(40, 5, reward="round", threads=min(2, MAX_THREADS))
    (observations, infos), _ = one.reset(seed=2), two.reset(seed=2)
    for _ in range(30):
        actions = decide(observations, infos["action_mask"])
        (observations, rewards, terminated, _, infos), other = one.step(actions), two.step(actions)
        for mine, theirs in zip((observations, rewards, terminated), other[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert one.batch.episodes.any()


def test_an_unseeded_reset_of_the_vector_env_goes_on_with_the_next_episodes_in_mid_game():
    envs, batch = SeatVectorEnv(5, 4), Batch(5, 4)
    envs.reset(seed=6)
    for _ in range(7):
        envs.step(envs.action_masks().argmax(1))
    batch.reset(seed=6)
    episodes = envs.batch.episodes.copy()
    while (batch.episodes < episodes + 1).any():
        batch.restart(np.flatnonzero(batch.episodes < episodes + 1))
    _, infos = envs.reset()
    steps = play_steps(batch, infos["seat"], 200, [RandomPlayer()], rotate=True)
    reference = build_reference(steps, open_mice=False)
    for actions, expected, rewards in zip(
        reference.actions, reference.observations[1:], reference.rewards, strict=True
    ):
        observations, paid, *_ = envs.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_array_equal(paid, rewards)


@pytest.mark.parametrize("players", [3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_single_env_agrees_with_a_batch_stepped_by_hand(players, seed):
    reward = ("win", "margin", "score", "round")[seed]
    env, batch = SeatEnv(players, reward=reward), Batch(1, players, reward=reward, seed=seed)
    observation, info = env.reset(seed=seed)
    num_steps = 3_000 if COMPILED else 300
    steps = play_steps(batch, np.array([info["seat"]]), num_steps, [RandomPlayer()], rotate=True)
    reference = build_reference(steps, open_mice=False)
    for j, action in enumerate(reference.actions[:, 0].tolist()):
        np.testing.assert_array_equal(observation, reference.observations[j, 0])
        np.testing.assert_array_equal(info["action_mask"], reference.masks[j, 0])
        assert info["seat"] == reference.seats[j, 0]
        observation, paid, terminated, truncated, info = env.step(action)
        assert (paid, terminated, truncated) == (reference.rewards[j, 0], reference.terminated[j, 0], False)
        if terminated:
            np.testing.assert_array_equal(observation, reference.final_observations[j, 0])
            assert {key: info[key] for key in FINAL_KEYS} == reference.final_infos[j, 0]
            observation, info = env.reset()
    assert reference.terminated.sum() >= (20 if COMPILED else 1)


def test_an_abandoned_game_is_followed_by_its_next_episode():
    learner = SingleLearnerGames(Batch(3, 4, seed=9), [RandomPlayer()])
    learner.step(learner.action_masks.argmax(1), abandon=np.array([1]))
    assert learner.terminated.tolist() == [False, True, False]
    assert learner.rewards.tolist() == [0.0, -1.0, 0.0]
    assert learner.batch.episodes.tolist() == [0, 1, 0]
    assert learner.batch.game_seeds[1] == game_seed(9, 1, 1)
    assert learner.seats[1] == (learner.final_seats[1] + 1) % 4
