"""Adapters: a policy gets what its seat sees and its actions are played; a model plays legally and repeatably."""

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from sb3_contrib import QRDQN, TRPO, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO

import agents
from agents import adapters
from agents.adapters import from_batch_policy, from_logits, from_policy, from_sb3
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch, View, felicity_v0
from felicity_env.game import STATE
from felicity_env.information import redact
from felicity_env.learners import SingleLearnerGames
from felicity_env.observation import AT, OBS_HIGH, OBS_LOW
from felicity_env.setups import STANDARD_PLAYERS
from tests.support.helpers import COMPILED, auction, bid, play
from tests.support.players import small_net
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer

ROOT = Path(__file__).resolve().parents[2]
MANY = 40 if COMPILED else 2
OBSERVATIONS = Box(OBS_LOW, OBS_HIGH, (OBS_SIZE,), np.float32)
ACTIONS = Discrete(NUM_ACTIONS)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Run torch on one thread, which is much faster for small networks on busy cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# --- policies ---------------------------------------------------------------------------------------------------------


def choose(observation: np.ndarray, mask: np.ndarray) -> int:
    """Return a legal action that depends on the whole observation (a sum of 64ths, exact in any order)."""
    legal = np.flatnonzero(mask)
    return int(legal[int(observation.sum(dtype=float) * 64) % len(legal)])


def choose_all(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Return the actions of `choose` for all observations."""
    places = (observations.sum(axis=1, dtype=float) * 64).astype(int) % masks.sum(axis=1)
    return (masks.cumsum(axis=1) > places[:, None]).argmax(axis=1)


def list_views(count: int = MANY, *, games: int = 30) -> list[View]:
    """List views of random games of all numbers of players."""
    batch, views = Batch(games, [3, 4, 5] * (games // 3), seed=3), []
    for _ in range(count):
        batch.play_random(7)
        views.append(batch.view())
    return views


def play_whole_games(player: agents.Player) -> list[list[float]]:
    """Return the rewards of a learner that passes and places its lowest card against copies of `player`."""
    games, rewards = SingleLearnerGames(Batch(9, [3, 4, 5] * 3, seed=1, reward="score"), [player]), []
    for _ in range(20):
        games.step(games.action_masks.argmax(axis=1))
        rewards.append(games.rewards.tolist())
    assert (games.batch.episodes > 0).all()
    return rewards


def test_a_plain_policy_and_its_batched_form_play_the_same_whole_games():
    rewards = play_whole_games(from_policy(choose))
    assert play_whole_games(from_batch_policy(choose_all)) == rewards
    assert play_whole_games(agents.make("random")) != rewards


def make_view(env: Any) -> View:
    """Return the view of the decision that the AEC environment waits for."""
    states = redact(np.array([env._states[0]], STATE), int(env._states[0].seat))
    return View(states, states["seat"].astype(np.int64), np.zeros(1, np.uint64))


@pytest.mark.parametrize("open_mice", [False, True])
@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_policy_is_asked_what_the_aec_face_shows_to_the_seat(players, open_mice):
    asked = []
    alone = from_policy(lambda *given: asked.append(given) or choose(*given), open_mice=open_mice)
    batched = from_batch_policy(lambda *given: asked.append(given) or choose_all(*given), open_mice=open_mice)
    env = felicity_v0.raw_env(num_players=players, open_mice=open_mice)
    env.reset(seed=5)
    while not any(env.terminations.values()):
        action, same = alone.act(make_view(env))[0], batched.act(make_view(env))[0]
        (observation, mask), (observations, masks) = asked[-2:]
        shown = env.observe(env.agent_selection)
        for expected, one, many in zip(shown.values(), (observation, mask), (observations, masks), strict=True):
            assert (one.dtype, one.shape) == (expected.dtype, expected.shape)
            assert (many.dtype, many.shape) == (expected.dtype, (1, *expected.shape))
            assert one.tobytes() == many.tobytes() == expected.tobytes()
        assert action == same
        assert observation[AT.open_mice] == open_mice
        assert observation[AT.opponent_mice :][: players - 1].any() == (open_mice and env._states[0].mice.any())
        env.step(action)
    assert len(asked) > 2 * 9 * players


def test_a_policy_is_asked_once_for_each_decision_in_their_order():
    asked = []
    view = list_views(1)[0]
    actions = from_policy(lambda observation, mask: asked.append(observation) or choose(observation, mask)).act(view)
    assert (np.array(asked) == view.observations()).all()
    assert actions.tolist() == choose_all(view.observations(), view.action_masks).tolist()
    assert actions.shape == (len(view),)


def spoil(kept: list[np.ndarray], policy: Callable[..., Any]) -> Callable[..., Any]:
    """Return a policy that acts as `policy`, but overwrites its arguments and keeps them."""

    def answer(observations: np.ndarray, masks: np.ndarray) -> Any:
        actions = policy(observations, masks)
        observations[:], masks[:] = -1, -1
        kept.extend([observations, masks])
        return actions

    return answer


@pytest.mark.parametrize(("adapter", "policy"), [(from_policy, choose), (from_batch_policy, choose_all)])
def test_a_policy_that_writes_into_its_arguments_harms_nobody(adapter, policy):
    kept, view = [], list_views(1)[0]
    before = view.states.tobytes(), view.action_masks.tobytes()
    expected = adapter(policy).act(view).tolist()
    player = adapter(spoil(kept, policy))
    assert player.act(view).tolist() == player.act(view).tolist() == expected
    assert (view.states.tobytes(), view.action_masks.tobytes()) == before
    assert len({id(array if array.base is None else array.base) for array in kept}) == len(kept)


@pytest.mark.parametrize("action", [NUM_ACTIONS - 1, NUM_ACTIONS, -5, 2**40])
def test_an_illegal_answer_is_not_repaired(action):
    view = Batch(3).view()
    assert from_policy(lambda *_: action).act(view).tolist() == [action] * 3
    assert from_batch_policy(lambda *_: [action] * 3).act(view).tolist() == [action] * 3


@pytest.mark.parametrize("answer", [7, np.int8(7), np.uint64(7), np.array(7)])
def test_any_kind_of_integer_is_an_answer(answer):
    assert from_policy(lambda *_: answer).act(Batch(2).view()).tolist() == [7, 7]


@pytest.mark.parametrize("answers", [[7, 8], (7, 8), np.array([7, 8], np.uint8), torch.tensor([7, 8])])
def test_any_kind_of_integers_is_an_answer_of_a_batched_policy(answers):
    assert from_batch_policy(lambda *_: answers).act(Batch(2).view()).tolist() == [7, 8]


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        (3.0, "float 3.0"),
        (True, "bool True"),
        (np.True_, "bool"),
        (None, "NoneType None"),
        ("7", "str '7'"),
        (np.float32(3), "float32"),
        (np.array([3]), r"ndarray array\(\[3\]\)"),
        (torch.tensor(3), r"Tensor tensor\(3\)"),
        ((3, None), r"tuple \(3, None\)"),  # what a model's `predict` gives
    ],
)
def test_an_answer_that_is_no_integer_is_refused_by_name(answer, came):
    with pytest.raises(TypeError, match=f"a policy must return an integer .*not {came}"):
        from_policy(lambda *_: answer).act(Batch(2).view())


@pytest.mark.parametrize(
    ("answers", "came"),
    [
        ([7.0, 8.0], r"float64 \[2\]"),
        (np.array([True, False]), r"bool \[2\]"),
        (7, r"int64 \[\]"),
        ([7, 8, 9], r"int64 \[3\]"),
        (np.array([[7], [8]]), r"int64 \[2, 1\]"),
        (None, r"object \[\]"),
        (["7", "8"], r"<U1 \[2\]"),
        (torch.tensor([7.0, 8.0]), r"float32 \[2\]"),
    ],
)
def test_answers_that_are_no_integers_or_too_few_are_refused_by_name(answers, came):
    with pytest.raises(ValueError, match=rf"answers of a batched policy must be 2 integers, not {came}"):
        from_batch_policy(lambda *_: answers).act(Batch(2).view())


@pytest.mark.parametrize("adapter", [from_policy, from_batch_policy])
def test_nobody_is_asked_about_no_decisions(adapter):
    def never(*_: np.ndarray) -> None:
        raise AssertionError("asked")

    assert adapter(never).act(Batch(2).view().take(np.array([], np.int64))).shape == (0,)


def test_policies_play_where_nothing_for_learning_is_installed():
    code = """
        import sys
        absent = ("torch", "stable_baselines3", "sb3_contrib", "safetensors")
        sys.modules.update(dict.fromkeys(absent))
        from agents.adapters import from_batch_policy, from_policy
        from felicity_env import Batch
        assert from_policy(lambda observation, mask: mask.argmax()).act(Batch(2).view()).shape == (2,)
        assert from_batch_policy(lambda observations, masks: masks.argmax(1)).act(Batch(2).view()).shape == (2,)
        print("played")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["played"], done.stderr


# --- models -----------------------------------------------------------------------------------------------------------


class Blank(gymnasium.Env):
    """Environment with nothing but two spaces, enough for a model that is not trained."""

    def __init__(self, observations: gymnasium.Space = OBSERVATIONS, actions: gymnasium.Space = ACTIONS) -> None:
        self.observation_space, self.action_space = observations, actions


def make_model(kind: Any, env: gymnasium.Env | None = None, **settings: Any) -> Any:
    """Return a small model with random weights."""
    policy = "MlpLstmPolicy" if kind is RecurrentPPO else "MlpPolicy"
    return kind(policy, env or Blank(), policy_kwargs={"net_arch": [8]}, seed=0, device="cpu", **settings)


ON_POLICY = {"PPO": PPO, "A2C": A2C, "TRPO": TRPO, "MaskablePPO": MaskablePPO}


@cache
def load_model(name: str) -> Any:
    """Return a model of a kind in `ON_POLICY` with clear preferences."""
    model = make_model(ON_POLICY[name])
    with torch.no_grad():
        model.policy.action_net.weight *= 200
    return model


@cache
def make_dqn() -> Any:
    return make_model(DQN, buffer_size=1)


def draw_seeds(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(2**64, size=count, dtype=np.uint64)


def log_probabilities(model: Any, view: View) -> np.ndarray:
    """Return log probabilities [B, NUM_ACTIONS] over all actions, legal or not."""
    with torch.no_grad():
        return model.policy.get_distribution(torch.from_numpy(view.observations())).distribution.logits.numpy()


def best_legal(scores: np.ndarray, masks: np.ndarray) -> list[int]:
    legal = [np.flatnonzero(mask) for mask in masks]
    return [int(actions[np.argmax(row[actions])]) for actions, row in zip(legal, scores, strict=True)]


@pytest.mark.parametrize("name", ON_POLICY)
def test_a_model_plays_whole_games_and_legal_actions_only(name):
    model = load_model(name)
    assert play_whole_games(from_sb3(model)) != play_whole_games(from_sb3(model, deterministic=True))
    for view in list_views():
        rows = np.arange(len(view))
        assert view.action_masks[rows, from_sb3(model).act(view)].all()
        assert not view.action_masks[rows, log_probabilities(model, view).argmax(axis=1)].all()


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("name", ON_POLICY)
def test_an_action_of_a_model_depends_neither_on_the_size_nor_on_the_order_of_the_batch(name, deterministic):
    player, rng = from_sb3(load_model(name), deterministic=deterministic), np.random.default_rng(4)
    for view in list_views()[::10]:
        together, order = player.act(view), rng.permutation(len(view))
        assert (player.act(view.take(order)) == together[order]).all()
        assert [int(player.act(view.take(np.array([row])))[0]) for row in range(len(view))] == together.tolist()
    assert player.act(view.take(np.array([], np.int64))).shape == (0,)


@pytest.mark.parametrize("name", ON_POLICY)
def test_a_deterministic_model_takes_the_best_legal_action(name):
    model, different = load_model(name), 0
    for view in list_views():
        scores, best = log_probabilities(model, view), from_sb3(model, deterministic=True).act(view)
        assert best.tolist() == best_legal(scores, view.action_masks)
        different += int((best != scores.argmax(axis=1)).sum())
        if name == "MaskablePPO":
            predicted, _ = model.predict(view.observations(), action_masks=view.action_masks, deterministic=True)
            assert best.tolist() == predicted.tolist()
    assert different > 5


def test_the_path_of_a_model_is_refused_with_what_to_do():
    with pytest.raises(TypeError, match=r"needs a model, such as PPO.load\('model.zip'\), not the path"):
        from_sb3(Path("model.zip"))


@pytest.mark.parametrize("name", ON_POLICY)
def test_sampled_actions_of_a_model_are_as_frequent_as_its_distribution_over_legal_actions_says(name):
    model, draws = load_model(name), 8000 if COMPILED else 1500
    states = np.repeat(np.array([play(auction(4), bid(3))], STATE), draws)
    seats = states["seat"].astype(np.int64)
    view = View(redact(states, seats), seats, draw_seeds(draws))
    weights = np.exp(log_probabilities(model, view.take(np.array([0])))[0].astype(float)) * view.action_masks[0]
    expected = draws * weights / weights.sum()
    counts = np.bincount(from_sb3(model).act(view), minlength=NUM_ACTIONS)
    assert (counts[view.action_masks[0] == 0] == 0).all()
    likely = expected > 5
    freedoms = int(likely.sum()) - 1
    assert freedoms >= 4
    assert ((counts - expected)[likely] ** 2 / expected[likely]).sum() < freedoms + 4 * np.sqrt(2 * freedoms)


@pytest.mark.parametrize("open_mice", [False, True])
def test_a_model_plays_as_the_policy_exported_from_it(tmp_path, open_mice):
    small = {"num_envs": 8, "num_steps": 32, "batch_size": 256, "hidden_sizes": (16,), "threads": 1}
    trainer = MaskablePPOTrainer(MaskablePPOConfig(**small, open_mice=open_mice), tmp_path)
    with torch.no_grad():
        trainer.model.policy.action_net.weight *= 200
    exported, model = trainer.player(), from_sb3(trainer.model, open_mice=open_mice)
    otherwise, different = from_sb3(trainer.model, open_mice=not open_mice), 0
    for view in list_views():
        assert model.act(view).tolist() == exported.act(view).tolist()
        different += int((otherwise.act(view) != model.act(view)).sum())
    assert different > 0


@pytest.mark.parametrize("training", [False, True])
def test_a_model_is_asked_as_in_evaluation_and_left_as_it_was(training):
    policy, seen = load_model("PPO").policy, []
    policy.set_training_mode(training)
    hook = policy.action_net.register_forward_hook(lambda module, *_: seen.append((module.training, policy.training)))
    from_sb3(load_model("PPO")).act(Batch(2).view())
    hook.remove()
    assert seen == [(False, False)]
    assert policy.training == policy.action_net.training == training


def test_a_model_that_fails_is_left_as_it_was_too():
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    model = make_model(PPO)
    model.policy.set_training_mode(True)
    model.policy.action_net.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        from_sb3(model).act(Batch(2).view())
    assert model.policy.training


def test_no_global_randomness_is_drawn():
    player = from_sb3(load_model("PPO"))
    before = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002
    player.act(Batch(2).view())
    assert (torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002


def test_dqn_takes_the_legal_action_of_the_highest_value():
    model = make_dqn()
    player = from_sb3(model, deterministic=True)
    play_whole_games(player)
    for view in list_views():
        with torch.no_grad():
            values = model.q_net(torch.from_numpy(view.observations())).numpy()
        assert player.act(view).tolist() == best_legal(values, view.action_masks)


def test_dqn_has_nothing_to_draw_from():
    with pytest.raises(ValueError, match="values of DQN are not probabilities: it needs deterministic=True"):
        from_sb3(make_dqn())


def test_a_model_with_a_memory_is_refused():
    with pytest.raises(ValueError, match=r"a player has no memory .* RecurrentPPO needs one"):
        from_sb3(make_model(RecurrentPPO))


def test_a_model_of_another_kind_is_named_with_those_that_can_play():
    with pytest.raises(ValueError, match="QRDQN is none of PPO, A2C, TRPO, MaskablePPO, DQN"):
        from_sb3(make_model(QRDQN, buffer_size=1), deterministic=True)


@pytest.mark.parametrize(
    ("observations", "actions", "named"),
    [
        (Box(-1, 1, (OBS_SIZE - 1,)), ACTIONS, rf"\({OBS_SIZE - 1},\)"),
        (Box(-1, 1, (4, OBS_SIZE)), ACTIONS, rf"\(4, {OBS_SIZE}\)"),
        (Dict(observation=OBSERVATIONS, action_mask=MultiBinary(NUM_ACTIONS)), ACTIONS, "Dict"),
        (OBSERVATIONS, Discrete(NUM_ACTIONS + 1), rf"Discrete\({NUM_ACTIONS + 1}\)"),
        (OBSERVATIONS, Discrete(NUM_ACTIONS, start=1), "start=1"),
        (OBSERVATIONS, MultiDiscrete([NUM_ACTIONS]), "MultiDiscrete"),
        (OBSERVATIONS, MultiBinary(NUM_ACTIONS), "MultiBinary"),
        (OBSERVATIONS, Box(-1, 1, (NUM_ACTIONS,)), r"actions Box"),
    ],
)
def test_a_model_for_another_game_is_refused_by_its_sizes(observations, actions, named):
    wanted = rf"{named}.*, Felicity has observations of shape \({OBS_SIZE},\) and Discrete\({NUM_ACTIONS}\)"
    with pytest.raises(ValueError, match=wanted):
        from_sb3(SimpleNamespace(observation_space=observations, action_space=actions))


def test_a_model_trained_for_another_game_is_refused():
    with pytest.raises(ValueError, match=r"\(4,\), float32\) and actions Discrete\(2\), Felicity has"):
        from_sb3(make_model(PPO, Blank(Box(-1, 1, (4,)), Discrete(2))))


def test_the_file_shown_in_the_documentation_makes_a_player(tmp_path):
    shown = (adapters.__doc__ or "").split("beside a saved model:\n")[1].split("\nand then")[0]
    (tmp_path / "sb3_bot.py").write_text(textwrap.dedent(shown))
    load_model("MaskablePPO").save(tmp_path / "model.zip")
    player = agents.make(f"{tmp_path}/sb3_bot.py:make")
    for view in list_views(3):
        assert player.act(view).tolist() == from_sb3(load_model("MaskablePPO")).act(view).tolist()


def test_the_digest_of_a_model_player_is_that_of_its_weights():
    model, same = make_model(PPO), make_model(PPO)
    before = from_sb3(model).digest()
    assert from_sb3(same).digest() == before
    with torch.no_grad():
        model.policy.action_net.bias[3] += 1e-6
    assert from_sb3(model).digest() != before


def test_a_policy_gets_random_numbers_that_belong_to_the_decision_if_it_wants_them():
    player = from_policy(lambda _, mask, rng: rng.choice(mask.nonzero()[0]), random=True)
    view = Batch(50, seed=3).view()
    actions = player.act(view)
    assert len(set(actions.tolist())) > 3
    assert np.array_equal(player.act(view), actions)
    assert view.action_masks[np.arange(50), actions].all()


def test_a_batched_policy_gets_a_random_number_for_each_decision_if_it_wants_them():
    def choose_at_random(_, masks, numbers):
        chosen = (masks.cumsum(axis=1) > numbers[:, None] * masks.sum(axis=1, keepdims=True)).argmax(axis=1)
        return chosen

    player, view = from_batch_policy(choose_at_random, random=True), Batch(50, seed=3).view()
    actions, some = player.act(view), np.arange(5, 20)
    assert len(set(actions.tolist())) > 3
    assert view.action_masks[np.arange(50), actions].all()
    assert player.act(view.take(some)).tolist() == actions[some].tolist()


@pytest.mark.parametrize("greedy", [False, True])
def test_a_function_of_logits_plays_as_the_policy_with_these_logits(greedy):
    net, view = small_net(1, greedy=greedy), list_views(1)[0]
    assert from_logits(net.compute_logits, greedy=greedy).act(view).tolist() == net.act(view).tolist()
    assert from_logits(lambda _: [], greedy=greedy).act(view.take(np.array([], np.int64))).shape == (0,)


@pytest.mark.parametrize(
    ("change", "came"),
    [
        (lambda logits: logits[:, :-1], rf"not float32 \[2, {NUM_ACTIONS - 1}\]"),
        (lambda logits: logits[:1], rf"not float32 \[1, {NUM_ACTIONS}\]"),
        (lambda logits: logits.astype(int), "not int64"),
        (lambda logits: logits * np.nan, "not float32"),
    ],
)
def test_logits_of_another_form_are_refused(change, came):
    player = from_logits(lambda observations: change(small_net().compute_logits(observations)))
    with pytest.raises(ValueError, match=rf"logits must be finite numbers \[2, {NUM_ACTIONS}\], {came}"):
        player.act(Batch(2).view())


@pytest.mark.parametrize("adapter", [from_policy, from_batch_policy, from_logits])
def test_a_player_whose_files_change_has_another_digest(adapter, tmp_path):
    file = tmp_path / "weights"
    file.write_text("1")
    player = adapter(choose, files=[file])
    before = player.digest()
    file.write_text("2")
    assert player.digest() != before
    assert adapter(choose).digest() == ""
