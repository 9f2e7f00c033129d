"""Adapters that make players from other policies: a Python function, or a model of Stable-Baselines3.

A player code can name a function that makes the player, so a model can be used wherever a code can. For example, in
a file `sb3_bot.py` beside a saved model:

    from pathlib import Path

    from sb3_contrib import MaskablePPO

    from agents.adapters import from_sb3

    def make():
        return from_sb3(MaskablePPO.load(Path(__file__).with_name("model.zip"), device="cpu"))

and then `python -m agents evaluate sb3_bot.py:make`, or `agents.make("sb3_bot.py:make")`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from agents.policy_player import choose_actions, to_uniforms
from felicity_env.game import NUM_ACTIONS
from felicity_env.game_record import is_integer, to_actions
from felicity_env.observation import OBS_SIZE
from felicity_env.player import Player, View

Files = Sequence[Path | str]


def from_policy(
    policy: Callable[..., Any], *, open_mice: bool = False, random: bool = False, files: Files = ()
) -> Player:
    """Make a player from a function `policy(observation float32 [OBS_SIZE], mask int8 [NUM_ACTIONS]) -> int`.

    The function is called once for each decision, with copies of the arrays. The player returns its actions unchanged,
    even illegal ones. Raises `TypeError` if the function returns anything but an integer. open_mice: whether the
    observation shows the other seats' mice. random: also hand the function a `numpy.random.Generator`, as
    `policy(observation, mask, rng)`; its seed belongs to the decision, so that results can be repeated. files: files
    that the function reads, such as weights; if they change, stored results of the player are played again.
    """

    def ask_each(observations: np.ndarray, view: View) -> np.ndarray:
        columns = [map(np.copy, observations), map(np.copy, view.action_masks)]
        columns += [map(np.random.default_rng, view.seeds.tolist())] if random else []
        return np.array([_check_action(policy(*row)) for row in zip(*columns, strict=True)], np.int64)

    return _FunctionPlayer(ask_each, open_mice, partial(_digest_files, files))


def from_batch_policy(
    policy: Callable[..., Any], *, open_mice: bool = False, random: bool = False, files: Files = ()
) -> Player:
    """Make a player from a function that decides for a batch: B observations and action masks give B actions.

    The function `policy(float32 [B, OBS_SIZE], int8 [B, NUM_ACTIONS]) -> integers [B]` is called once for all decisions
    of a view, B >= 1. random: also hand the function a random number in [0, 1) for each decision, float64 [B], which
    belongs to it. All else is as in `from_policy`.
    """

    def ask_all(observations: np.ndarray, view: View) -> np.ndarray:
        answers = policy(observations, view.action_masks.copy(), *([to_uniforms(view.seeds)] if random else []))
        return to_actions(answers, len(view), "answers of a batched policy")

    return _FunctionPlayer(ask_all, open_mice, partial(_digest_files, files))


def from_logits(
    compute_logits: Callable[[np.ndarray], Any], *, greedy: bool = False, open_mice: bool = False, files: Files = ()
) -> Player:
    """Make a player from a function that computes logits, such as a network with a softmax over the actions.

    The function `compute_logits(float32 [B, OBS_SIZE]) -> floats [B, NUM_ACTIONS]` is called once for all decisions of
    a view, B >= 1. The player samples a legal action with random bits that belong to the decision, so that results can
    be repeated; if `greedy`, it takes the best legal action. Raises `ValueError` if the logits have another shape, or
    if those of legal actions are not finite. open_mice, files: as in `from_policy`.
    """
    decide = partial(_choose_by_logits, compute_logits, greedy)
    return _FunctionPlayer(decide, open_mice, partial(_digest_files, files))


def from_sb3(model: Any, *, deterministic: bool = False, open_mice: bool = False) -> Player:
    """Make a player from a model of Stable-Baselines3: PPO, A2C, TRPO, MaskablePPO or DQN.

    The player samples a legal action from the model's distribution. If `deterministic` is true, which DQN needs, it
    takes the best legal action. The model gets unscaled observations: if it was trained with `VecNormalize`, use
    `from_batch_policy` with a function that scales them. Raises `ValueError` if the model has other spaces or is of
    another kind, or if it is DQN and `deterministic` is false, and `TypeError` if `model` is the path of a file.
    """
    if isinstance(model, str | PathLike):
        raise TypeError(f"from_sb3 needs a model, such as PPO.load({str(model)!r}), not the path of its file")
    _check_spaces(model)
    compute_logits = partial(_compute_model_logits, model.policy, _find_head(model, deterministic))
    decide = partial(_choose_by_logits, compute_logits, deterministic)
    return _FunctionPlayer(decide, open_mice, partial(_digest_model, model.policy))


class _FunctionPlayer:
    """Player whose actions a function computes from observations and the view; another computes its digest."""

    def __init__(
        self, decide: Callable[[np.ndarray, View], np.ndarray], open_mice: bool, compute_digest: Callable[[], str]
    ) -> None:
        self.decide, self.open_mice, self.digest = decide, open_mice, compute_digest

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, integers [B]."""
        return self.decide(view.observations(self.open_mice), view) if len(view) else np.empty(0, np.int64)


def _digest_files(files: Files) -> str:
    """Return a digest of the files that a player reads, or "" if there are none."""
    return "".join(sha256(Path(file).read_bytes()).hexdigest() for file in files)


def _digest_model(policy: Any) -> str:
    """Return 8 hexadecimal digits that identify the weights of a model's policy."""
    from agents.network import digest_layers  # needs safetensors

    return digest_layers([tuple(weights.cpu().numpy() for _, weights in sorted(policy.state_dict().items()))])


def _choose_by_logits(
    compute_logits: Callable[[np.ndarray], Any], greedy: bool, observations: np.ndarray, view: View
) -> np.ndarray:
    """Choose actions as `NetworkPlayer` does, so a network and the policy exported from it act alike; int64 [B]."""
    logits, masks = np.asarray(compute_logits(observations)), view.action_masks
    if logits.shape != masks.shape or logits.dtype.kind != "f" or not np.isfinite(logits[masks == 1]).all():
        form = f"finite numbers [{len(view)}, {NUM_ACTIONS}]"
        raise ValueError(f"logits must be {form}, not {logits.dtype.name} {list(logits.shape)}: {logits!r}")
    return choose_actions(logits, view, greedy=greedy)


def _compute_model_logits(policy: Any, head: Callable[[Any], Any], observations: np.ndarray) -> np.ndarray:
    """Compute a model's logits (for DQN its action values) for B observations, float32 [B, NUM_ACTIONS].

    The model computes them in evaluation mode; its previous mode is restored.
    """
    import torch  # installed wherever there is a model

    was_training = policy.training
    policy.set_training_mode(False)
    try:
        with torch.no_grad():
            return head(policy.obs_to_tensor(observations)[0]).cpu().numpy()
    finally:
        policy.set_training_mode(was_training)


def _find_head(model: Any, deterministic: bool) -> Callable[[Any], Any]:
    """Return the function that computes a model's logits (for DQN its action values) from observations.

    The function takes a tensor [B, OBS_SIZE] and returns one [B, NUM_ACTIONS]. Raises `ValueError` if the model is
    recurrent or of an unknown kind, or if it is DQN and `deterministic` is false.
    """
    policy, name = model.policy, type(model).__name__
    if hasattr(policy, "lstm_actor"):
        raise ValueError(f"a player has no memory from one call to the next, {name} needs one")
    if hasattr(policy, "get_distribution"):
        return lambda observations: policy.get_distribution(observations).distribution.logits
    if not hasattr(policy, "q_net"):
        raise ValueError(f"{name} is none of PPO, A2C, TRPO, MaskablePPO, DQN: use from_batch_policy")
    if not deterministic:
        raise ValueError(f"the values of {name} are not probabilities: it needs deterministic=True")
    return policy.q_net


def _check_spaces(model: Any) -> None:
    observations, actions = model.observation_space, model.action_space
    fits = isinstance(actions, Discrete) and (actions.n, actions.start) == (NUM_ACTIONS, 0)
    if observations.shape != (OBS_SIZE,) or not fits:
        raise ValueError(
            f"the model is for observations {observations} and actions {actions}, "
            f"Felicity has observations of shape ({OBS_SIZE},) and Discrete({NUM_ACTIONS})"
        )


def _check_action(answer: Any) -> int:
    if not is_integer(answer):
        raise TypeError(f"a policy must return an integer (the action), not {type(answer).__name__} {answer!r}")
    return int(answer)
