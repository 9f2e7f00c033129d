"""`SingleLearnerVecEnv`: transitions between decisions of one learner, their rewards and masks."""

from collections.abc import Iterator

import numpy as np
import pytest

from agents import Player, make
from agents.compiled import CompiledPlayer, select_compiled
from felicity_env import NUM_ACTIONS, Batch, View, felicity_v0, game_seed
from felicity_env.game import PASS, STATE
from felicity_env.information import redact
from felicity_env.learners import NOT_COMPILED, SingleLearnerGames
from felicity_env.observation import AT
from train.maskable_ppo import SingleLearnerVecEnv

NUM_GAMES = 9
SIZES = [3, 4, 5] * 3
SEED = 17


def create_env(
    *, opponent: Player | None = None, reward: str = "win", reward_scale: float = 1.0
) -> SingleLearnerVecEnv:
    batch = Batch(NUM_GAMES, SIZES, seed=SEED, reward=reward)
    return SingleLearnerVecEnv(SingleLearnerGames(batch, [opponent or make("ev")]), reward_scale=reward_scale)


def write_action_masks(env: SingleLearnerVecEnv) -> np.ndarray:
    return np.stack(env.env_method("action_masks"))


def random_choice(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


def learner(observation: np.ndarray, mask: np.ndarray) -> int:
    """Return the lowest or the second lowest legal action, depending on the whole observation."""
    legal = np.flatnonzero(mask)
    second = int(observation @ np.arange(len(observation))) % 3 > 0 and len(legal) > 1
    return int(legal[int(second)])


class Cautious:
    """Player that places its lowest card and raises by one up to 7."""

    def act(self, view: View) -> np.ndarray:
        lowest, raised = view.action_masks.argmax(axis=1), PASS + 1 + view.states["high_bid"]
        indices = np.arange(len(view))
        raises = (lowest == PASS) & (view.action_masks[indices, raised] == 1) & (raised <= PASS + 7)
        return np.where(raises, raised, lowest)


def step_env(env: SingleLearnerVecEnv, actions: np.ndarray) -> tuple:
    env.step_async(actions)
    return env.step_wait()


def reference(game: int, first_seat: int, reward: str) -> Iterator[tuple]:
    """Yield the transitions of the same game played with `raw_env`.

    A transition is (observation, mask, action, reward until the next decision, last view, whether the learner ended the
    game). The last two are None before the end of the game.
    """
    players = SIZES[game]
    env, opponent = felicity_v0.raw_env(num_players=players, reward=reward), Cautious()
    for episode in range(100):
        env.reset(seed=game_seed(SEED, game, episode))
        seat = (first_seat + episode) % players
        before, earned = None, 0.0
        while not any(env.terminations.values()):
            acting = int(env._states[0].seat)
            shown = env.observe(env.agent_selection)
            if acting == seat:
                if before:
                    yield *before, earned, None, None
                action = learner(shown["observation"], shown["action_mask"])
                before, earned = (shown["observation"], shown["action_mask"], action), 0.0
            else:
                states = redact(np.array([env._states[0]], STATE), acting)
                action = opponent.act(View(states, np.array([acting]), np.zeros(1, np.uint64)))[0]
            env.step(action)
            earned += env.rewards[f"player_{seat}"] if reward == "round" or any(env.terminations.values()) else 0.0
        yield *before, earned, env.observe(f"player_{seat}")["observation"], acting == seat


@pytest.mark.parametrize("reward", ["win", "margin", "round"])
def test_transitions_run_from_one_decision_of_the_learner_to_its_next(reward):
    env = create_env(opponent=Cautious(), reward=reward)
    expected = [reference(game, int(env.games.seats[game]), reward) for game in range(NUM_GAMES)]
    observations, ends = env.reset(), []
    for _ in range(400):
        masks = write_action_masks(env)
        actions = np.array([learner(*pair) for pair in zip(observations, masks, strict=True)])
        following, rewards, dones, infos = step_env(env, actions)
        for game in range(NUM_GAMES):
            observation, mask, action, earned, last, own = next(expected[game])
            assert (observations[game] == observation).all()
            assert (masks[game] == mask).all()
            assert actions[game] == action
            assert rewards[game] == pytest.approx(earned, abs=1e-5)
            assert dones[game] == (last is not None)
            assert ("terminal_observation" in infos[game]) == dones[game]
            if dones[game]:
                assert (infos[game]["terminal_observation"] == last).all()
                assert infos[game]["TimeLimit.truncated"] is False
                ends.append((own, earned > 0))
        observations = following
    assert len(ends) > 2 * NUM_GAMES
    if reward == "win":  # the learner wins and loses, by its own action and by that of others
        assert set(ends) == {(own, won) for own in (True, False) for won in (True, False)}


def make_mixed_games(reward: str, *, by_kernel: bool) -> SingleLearnerGames:
    """Make games with different orders of players, some of which have kernels."""
    players = [Cautious(), make("anchor"), make("ev"), make("random")]
    batch = Batch(24, [3, 4, 5] * 8, seed=SEED, reward=reward)
    batch.play_random(50)
    compiled = select_compiled(players) if by_kernel else None
    return SingleLearnerGames(
        batch, players, opponents=lambda indices: (indices[:, None] + np.arange(5)) % 4, compiled=compiled
    )


@pytest.mark.parametrize("reward", ["win", "round"])
def test_players_that_answer_by_kernel_play_as_they_do_by_their_act(reward):
    plain, fast = (make_mixed_games(reward, by_kernel=by_kernel) for by_kernel in (False, True))
    ended = 0
    for _ in range(120):
        for name in ("observations", "action_masks", "seats", "rewards", "terminated"):
            assert (getattr(plain, name) == getattr(fast, name)).all(), name
        over = plain.terminated
        assert (plain.final_observations[over] == fast.final_observations[over]).all()
        assert (plain.final_seats[over] == fast.final_seats[over]).all()
        ended += int(over.sum())
        actions = np.array([learner(*pair) for pair in zip(plain.observations, plain.action_masks, strict=True)])
        plain.step(actions)
        fast.step(actions)
    assert ended > 48
    assert (fast.batch.episodes == plain.batch.episodes).all()


def test_only_players_that_have_a_kernel_are_played_by_it():
    class Quieter(CompiledPlayer):
        """Player that acts differently from the kernel."""

    players = [make("random"), make("anchor"), make("ev"), Cautious(), Quieter("ev")]
    numbers = select_compiled(players).numbers.tolist()
    assert numbers[3:] == [NOT_COMPILED] * 2
    assert NOT_COMPILED not in numbers[:3]
    assert len(set(numbers[:3])) == 3


def test_the_episode_has_the_decisions_that_the_learner_took_and_all_that_it_was_paid():
    env, rng = create_env(reward="round", reward_scale=0.5), np.random.default_rng(0)
    env.reset()
    taken, paid = np.zeros(NUM_GAMES, int), np.zeros(NUM_GAMES)
    for _ in range(80):
        _, rewards, dones, infos = step_env(env, random_choice(write_action_masks(env), rng))
        taken += 1
        paid += rewards
        episodes = [infos[game]["episode"] for game in np.flatnonzero(dones)]
        assert [episode["l"] for episode in episodes] == taken[dones].tolist()
        assert [episode["r"] for episode in episodes] == pytest.approx(paid[dones])
        taken[dones], paid[dones] = 0, 0.0


def test_every_mask_has_a_legal_action_and_is_that_of_the_learner_to_act():
    env, rng = create_env(opponent=make("random")), np.random.default_rng(1)
    env.reset()
    for _ in range(300):
        masks = write_action_masks(env)
        assert masks.shape == (NUM_GAMES, NUM_ACTIONS)
        assert masks.any(axis=1).all()
        assert (env.games.batch.seats == env.games.seats).all()
        step_env(env, random_choice(masks, rng))


def test_the_learner_takes_every_seat_in_turn():
    env, rng = create_env(), np.random.default_rng(2)
    env.reset()
    seats = [[seat] for seat in env.games.seats.tolist()]
    for _ in range(200):
        *_, dones, _ = step_env(env, random_choice(write_action_masks(env), rng))
        for game in np.flatnonzero(dones):
            seats[game].append(int(env.games.seats[game]))
    for game, taken in enumerate(seats):
        assert len(taken) > SIZES[game]
        assert taken == [(taken[0] + k) % SIZES[game] for k in range(len(taken))]
    assert len({taken[0] for taken in seats}) > 1


def test_what_was_handed_out_does_not_change_afterwards():
    env, rng = create_env(), np.random.default_rng(3)
    kept = [env.reset()]
    copies = [kept[0].copy()]
    for _ in range(60):
        observations, rewards, dones, infos = step_env(env, random_choice(write_action_masks(env), rng))
        new = [observations, rewards, dones, *(info["terminal_observation"] for info in infos if info)]
        kept += new
        copies += [array.copy() for array in new]
    assert all((array == copy).all() for array, copy in zip(kept, copies, strict=True))
    assert len(kept) > 180


def test_a_terminal_observation_shows_the_end_and_the_next_observation_a_new_game():
    env, rng = create_env(), np.random.default_rng(4)
    env.reset()
    ends = 0
    for _ in range(60):
        observations, _, dones, infos = step_env(env, random_choice(write_action_masks(env), rng))
        for game in np.flatnonzero(dones):
            assert infos[game]["terminal_observation"][AT.phase + 2] == 1
            assert observations[game][AT.phase] == 1
            assert observations[game][AT.round] == 1
            ends += 1
    assert ends >= NUM_GAMES


def test_rewards_are_scaled():
    plain, scaled = create_env(reward="round"), create_env(reward="round", reward_scale=0.25)
    total = 0.0
    for env in (plain, scaled):
        env.reset()
    for _ in range(50):
        actions = write_action_masks(plain).argmax(axis=1)
        rewards, fewer = step_env(plain, actions)[1], step_env(scaled, actions)[1]
        assert fewer == pytest.approx(0.25 * rewards)
        total += float(np.abs(rewards).sum())
    assert total > 0


def test_an_illegal_action_is_refused_and_no_game_moves():
    env = create_env()
    before = env.reset()
    actions = write_action_masks(env).argmax(axis=1)
    actions[4] = NUM_ACTIONS - 1
    with pytest.raises(ValueError, match="game 4: seat"):
        step_env(env, actions)
    assert (env.reset() == before).all()


def test_games_answer_what_is_asked_of_a_vec_env_and_nothing_else():
    env = create_env()
    assert env.get_attr("render_mode") == [None] * NUM_GAMES
    assert env.has_attr("action_masks")
    assert env.env_is_wrapped(object) == [False] * NUM_GAMES
    for ask in (lambda: env.get_attr("spec"), lambda: env.env_method("seed"), lambda: env.set_attr("seed", 1)):
        with pytest.raises(AttributeError, match=r"no (attribute|method)"):
            ask()
