"""Loading of the policy that a training run starts from, with a check that the policy fits the run's networks."""

from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from agents.checkpoint_file import list_checkpoints
from agents.mixture import load_policy_player
from agents.network import NetworkPlayer
from agents.policy_file import Layers, load_policy_and_critic
from agents.tools.settings import option_name
from felicity_env import OBSERVATION_VERSION
from train.config import Config
from train.networks import match_network, set_layers

DEFAULTS = {"raises": False, "observation_version": OBSERVATION_VERSION}  # where an algorithm has no such setting


class InitialPolicy(NamedTuple):
    """Policy that a training run starts from: the layers of its network and of its critic (none if empty).

    The critic is needed because updates with an untrained critic would spoil a good policy.
    """

    layers: Layers
    critic: Layers

    def copy_to(self, actor: nn.Sequential, critic: nn.Sequential) -> None:
        """Set the weights of a policy network, and those of its critic if this policy has one."""
        set_layers(actor, self.layers)
        if self.critic:
            set_layers(critic, self.critic)


def load_initial_policy(config: Config, folder: Path, *, activation: str) -> InitialPolicy | None:
    """Load the policy from which a new training run starts, as the setting `config.init` names it.

    Returns None if the setting is None, or if the run in `folder` already has a checkpoint, from which it continues.
    activation: name of the activation function in the run's networks. Raises `ValueError` if the policy does not fit.
    """
    if config.init is None or list_checkpoints(folder):
        return None
    path = config.init.removeprefix("net:")  # a policy's code is accepted, too
    player, *others = load_policy_player(path).members
    if others:
        raise ValueError(f"--init {config.init}: it is a mixture; name one of its policies, such as {config.init}/0")
    if mismatch := _find_mismatch(player, config, activation):
        raise ValueError(f"--init {config.init}: {mismatch}")
    layers, critic, _ = load_policy_and_critic(Path(path))
    return InitialPolicy(layers, critic)


def _find_mismatch(player: NetworkPlayer, config: Config, activation: str) -> str:
    """Return the reason why a training run cannot start from a player's policy, or an empty text if it can."""
    if player.activation != activation:
        return f"that network has {player.activation} between its layers, this trainer's have {activation}"
    form = {name: getattr(config, name, DEFAULTS.get(name)) for name in match_network(player)}
    needed = {name: value for name, value in match_network(player).items() if value != form[name]}
    if missing := [name for name in needed if not hasattr(config, name)]:
        return f"that network needs {option_name(missing[0])}, which {config.algorithm} does not have"
    options = " ".join(_format_option(name, value) for name, value in needed.items())
    return f"that network needs {options}" if needed else ""


def _format_option(name: str, value: Any) -> str:
    """Format a setting as an option of the command line, such as `--hidden-sizes 128 128`."""
    if isinstance(value, bool):
        return option_name(name if value else f"no_{name}")
    return f"{option_name(name)} {' '.join(map(str, value))}"
