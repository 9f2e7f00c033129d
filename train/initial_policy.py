"""Loading of the policy that a training run starts from, with a check that the policy fits the run's networks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn

from agents.checkpoint_file import list_checkpoints
from agents.mixture import load_policy_player
from agents.network import NetworkPlayer
from agents.policy_file import load_policy_and_critic
from agents.tools.settings import option_name
from felicity_env import OBSERVATION_VERSION
from train.config import Config
from train.networks import match_network, set_layers

DEFAULTS = {"raises": False, "observation_version": OBSERVATION_VERSION}  # where an algorithm has no such setting


def load_initial_policy(
    config: Config, folder: Path, networks: Iterable[tuple[nn.Sequential, nn.Sequential]], *, activation: str
) -> None:
    """Set the weights of a new training run to those of the policy that the setting `config.init` names.

    Nothing changes if the setting is None, or if the run in `folder` already has a checkpoint, from which it continues.
    networks: pairs of a policy network and its critic; the critics change only if the policy has one. It is needed
    because updates with an untrained critic would spoil a good policy. activation: name of the activation function in
    the networks. Raises `ValueError` if the policy does not fit.
    """
    if config.init is None or list_checkpoints(folder):
        return
    path = config.init.removeprefix("net:")  # a policy's code is accepted, too
    player, *others = load_policy_player(path).members
    if others:
        raise ValueError(f"--init {config.init}: it is a mixture; name one of its policies, such as {config.init}/0")
    if mismatch := _find_mismatch(player, config, activation):
        raise ValueError(f"--init {config.init}: {mismatch}")
    layers, critic_layers, _ = load_policy_and_critic(Path(path))
    for actor, critic in networks:
        set_layers(actor, layers)
        if critic_layers:
            set_layers(critic, critic_layers)


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
