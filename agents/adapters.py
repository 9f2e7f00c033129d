"""Players out of what other people have: a function of observation and mask, or a Stable-Baselines3 model.

A code names a function that makes the player, so a model takes part wherever codes are read. In a module of your own:

    # my_package/my_module.py
    from sb3_contrib import MaskablePPO
    from agents.adapters import from_sb3

    def make():
        return from_sb3(MaskablePPO.load("model.zip", device="cpu"))

and then `--players ev,my_package.my_module:make`, or `agents.make("my_package.my_module:make")`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from felicity_env import NUM_ACTIONS, OBS_SIZE, Player, View
from felicity_env.transcript import is_integer

Policy = Callable[[np.ndarray, np.ndarray], Any]


def from_policy(policy: Policy, *, open_mice: bool = False) -> Player:
    """A player that asks `policy(observation float32 [OBS_SIZE], mask int8 [NUM_ACTIONS]) -> int` for each decision.

    The arguments are copies. Answers are played as they are, legal or not; one that is no integer raises `TypeError`.
    """

    def one_by_one(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        answers = (policy(*row) for row in zip(map(np.copy, observations), map(np.copy, masks), strict=True))
        return np.array([_check_answer(answer) for answer in answers], np.int64)

    return _PolicyPlayer(one_by_one, open_mice)


def from_batch_policy(policy: Policy, *, open_mice: bool = False) -> Player:
    """As `from_policy`, all at once: `policy(float32 [B, OBS_SIZE], int8 [B, NUM_ACTIONS]) -> integers [B]`, B >= 1."""
    return _PolicyPlayer(policy, open_mice)


def from_sb3(model: Any, *, deterministic: bool = False, open_mice: bool = False) -> Player:
    """A player of a PPO, A2C, TRPO, MaskablePPO or DQN model; illegal actions have probability zero with all of them.

    It draws from the model's distribution, or if `deterministic` takes the best legal action, which is all that the
    values of DQN can tell. The model sees observations as they are: one trained behind `VecNormalize` needs a
    `from_batch_policy` that scales them. Raises `ValueError` if the model is not for this game or of another kind.
    """
    _check_spaces(model)
    return _ModelPlayer(model.policy, _head(model, deterministic), deterministic, open_mice)


class _PolicyPlayer:
    def __init__(self, policy: Policy, open_mice: bool) -> None:
        self.policy, self.open_mice = policy, open_mice

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        if not len(view):
            return np.empty(0, np.int64)
        return _check_answers(self.policy(view.observations(self.open_mice), view.action_masks.copy()), len(view))


class _ModelPlayer:
    def __init__(self, policy: Any, head: Callable[[Any], Any], deterministic: bool, open_mice: bool) -> None:
        self.policy, self.head = policy, head
        self.deterministic, self.open_mice = deterministic, open_mice

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        from agents.network import choose, uniforms_of  # needs safetensors, which a base install lacks

        if not len(view):
            return np.empty(0, np.int64)
        # As NetworkPlayer draws, so that a model and its exported policy play alike.
        uniforms = None if self.deterministic else uniforms_of(view.seeds)
        return choose(self._logits(view.observations(self.open_mice)), view.action_masks, uniforms)

    def _logits(self, observations: np.ndarray) -> np.ndarray:
        """float32 [B, NUM_ACTIONS]; a model in training is left in training."""
        import torch  # whoever has a model has it

        was_training = self.policy.training
        self.policy.set_training_mode(False)
        try:
            with torch.no_grad():
                return self.head(self.policy.obs_to_tensor(observations)[0]).cpu().numpy()
        finally:
            self.policy.set_training_mode(was_training)


def _head(model: Any, deterministic: bool) -> Callable[[Any], Any]:
    """What gives a model's logits, or values, [B, NUM_ACTIONS] for a tensor of observations."""
    policy = model.policy
    if hasattr(policy, "lstm_actor"):
        raise ValueError(f"a player remembers nothing from one call to the next, {type(model).__name__} does")
    if hasattr(policy, "get_distribution"):
        return lambda observations: policy.get_distribution(observations).distribution.logits
    if not hasattr(policy, "q_net"):
        raise ValueError(f"{type(model).__name__} is none of PPO, A2C, TRPO, MaskablePPO, DQN: use from_batch_policy")
    if not deterministic:
        raise ValueError(f"the values of {type(model).__name__} are no probabilities: it needs deterministic=True")
    return policy.q_net


def _check_spaces(model: Any) -> None:
    seen, chosen = model.observation_space, model.action_space
    fits = isinstance(chosen, Discrete) and (chosen.n, chosen.start) == (NUM_ACTIONS, 0)
    if seen.shape != (OBS_SIZE,) or not fits:
        raise ValueError(
            f"the model is for observations {seen} and actions {chosen}, "
            f"Felicity has observations of shape ({OBS_SIZE},) and Discrete({NUM_ACTIONS})"
        )


def _check_answer(answer: Any) -> int:
    if not is_integer(answer):
        raise TypeError(f"a policy answers with an integer (the action), not {type(answer).__name__} {answer!r}")
    return int(answer)


def _check_answers(answers: Any, count: int) -> np.ndarray:
    actions = np.asarray(answers)
    if actions.shape != (count,) or not np.issubdtype(actions.dtype, np.integer):
        came = f"{actions.dtype} {list(actions.shape)}"
        raise TypeError(f"a batched policy answers with integers [{count}] (an action for each row), not {came}")
    return actions
