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

    def ask_each(observations: np.ndarray, masks: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        columns = [map(np.copy, observations), map(np.copy, masks)]
        columns += [map(np.random.default_rng, seeds.tolist())] if random else []
        return np.array([_check_action(policy(*row)) for row in zip(*columns, strict=True)], np.int64)

    return _FunctionPlayer(ask_each, open_mice, files)


def from_batch_policy(
    policy: Callable[..., Any], *, open_mice: bool = False, random: bool = False, files: Files = ()
) -> Player:
    """Make a player from a function that decides for a batch: B observations and action masks give B actions.

    The function `policy(float32 [B, OBS_SIZE], int8 [B, NUM_ACTIONS]) -> integers [B]` is called once for all decisions
    of a view, B >= 1. random: also hand the function a random number in [0, 1) for each decision, float64 [B], which
    belongs to it. All else is as in `from_policy`.
    """

    def ask_all(observations: np.ndarray, masks: np.ndarray, seeds: np.ndarray) -> Any:
        return policy(observations, masks, *([to_uniforms(seeds)] if random else []))

    return _FunctionPlayer(ask_all, open_mice, files)


def from_logits(
    compute_logits: Callable[[np.ndarray], Any], *, greedy: bool = False, open_mice: bool = False, files: Files = ()
) -> Player:
    """Make a player from a function that computes logits, such as a network with a softmax over the actions.

    The function `compute_logits(float32 [B, OBS_SIZE]) -> floats [B, NUM_ACTIONS]` is called once for all decisions of
    a view, B >= 1. The player samples a legal action with random bits that belong to the decision, so that results can
    be repeated; if `greedy`, it takes the best legal action. Raises `ValueError` if the logits have another shape, or
    if those of legal actions are not finite. open_mice, files: as in `from_policy`.
    """
    return _LogitsPlayer(lambda observations: np.asarray(compute_logits(observations)), greedy, open_mice, files)


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
    return _ModelPlayer(model.policy, _find_head(model, deterministic), deterministic, open_mice)


class _PlayerWithFiles:
    """Player whose decisions depend on files, which its digest covers."""

    def __init__(self, open_mice: bool, files: Files) -> None:
        self.open_mice, self.files = open_mice, files

    def digest(self) -> str:
        """Return a digest of the player's files, or "" if it has none."""
        return "".join(sha256(Path(file).read_bytes()).hexdigest() for file in self.files)


class _FunctionPlayer(_PlayerWithFiles):
    def __init__(
        self, policy: Callable[[np.ndarray, np.ndarray, np.ndarray], Any], open_mice: bool, files: Files
    ) -> None:
        super().__init__(open_mice, files)
        self.policy = policy

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, integers [B]."""
        if not len(view):
            return np.empty(0, np.int64)
        answers = self.policy(view.observations(self.open_mice), view.action_masks.copy(), view.seeds)
        return to_actions(answers, len(view), "answers of a batched policy")


class _LogitsPlayer(_PlayerWithFiles):
    """Player that samples as `NetworkPlayer` does, so a network and the policy exported from it act alike."""

    def __init__(
        self, compute_logits: Callable[[np.ndarray], np.ndarray], greedy: bool, open_mice: bool, files: Files = ()
    ) -> None:
        super().__init__(open_mice, files)
        self.compute_logits, self.greedy = compute_logits, greedy

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, int64 [B]."""
        if not len(view):
            return np.empty(0, np.int64)
        logits, masks = self.compute_logits(view.observations(self.open_mice)), view.action_masks
        if logits.shape != masks.shape or logits.dtype.kind != "f" or not np.isfinite(logits[masks == 1]).all():
            form = f"finite numbers [{len(view)}, {NUM_ACTIONS}]"
            raise ValueError(f"logits must be {form}, not {logits.dtype.name} {list(logits.shape)}: {logits!r}")
        return choose_actions(logits, view, greedy=self.greedy)


class _ModelPlayer(_LogitsPlayer):
    def __init__(self, policy: Any, head: Callable[[Any], Any], deterministic: bool, open_mice: bool) -> None:
        super().__init__(self._compute_logits, deterministic, open_mice)
        self.policy, self.head = policy, head

    def digest(self) -> str:
        """Return 8 hexadecimal digits that identify the weights of the model."""
        from agents.network import digest_layers  # needs safetensors

        return digest_layers([tuple(weights.cpu().numpy() for _, weights in sorted(self.policy.state_dict().items()))])

    def _compute_logits(self, observations: np.ndarray) -> np.ndarray:
        """Compute the model's logits (for DQN its action values) for B observations, float32 [B, NUM_ACTIONS].

        The model computes them in evaluation mode; its previous mode is restored.
        """
        import torch  # installed wherever there is a model

        was_training = self.policy.training
        self.policy.set_training_mode(False)
        try:
            with torch.no_grad():
                return self.head(self.policy.obs_to_tensor(observations)[0]).cpu().numpy()
        finally:
            self.policy.set_training_mode(was_training)


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
