"""Files of a trained policy: `policy.safetensors` holds the weights, `policy.json` describes them.

The tensors are `0.weight` [inputs, outputs], `0.bias` [outputs], `1.weight`, ... A policy may come with its critic, a
network that estimates the return, as `critic.0.weight`, ... The JSON is written last, so a folder with a policy.json
holds a complete policy. A checksum in the JSON detects weights that do not belong to it.
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from agents.checkpoint_file import (
    CHECKPOINTS,
    CURVE,
    SUFFIX,
    Checkpoint,
    list_below,
    list_checkpoints,
    load_checkpoint,
    read_checkpoint,
)
from agents.layouts import list_sections
from agents.policy_check import FORMAT, Layers, find_fault
from agents.tools.command import print_error, python_command
from agents.tools.files import UserError, describe_error, explain_os_errors, is_locked, write_atomically, write_text
from felicity_env.game import Setup
from felicity_env.observation import OBSERVATION_VERSION, VERSIONS
from felicity_env.setups import define_setup, find_setup, is_setup_name

CRITIC = "critic."  # prefix of the critic's tensors
POLICY = "player"  # prefix of the policy's tensors in a checkpoint, and key of its description
CHECKSUM = "sha256"  # key in policy.json: digest of policy.safetensors; the oldest policies have none


def save_policy(
    folder: Path | str, layers: Layers, *, critic: Layers = (), open_mice: bool, activation: str, **metadata: Any
) -> None:
    """Write a trained policy into a folder, which is created: its weights, those of its critic, and its description.

    layers: weight [inputs, outputs] and bias [outputs] of each layer, NumPy arrays float32. critic: layers of a network
    that estimates the return, if there is one. activation: "tanh" or "relu", between all layers. open_mice: whether the
    networks see the other seats' mice. metadata: facts to add to the description, such as `setups`; see
    `describe_policy`. Raises `ValueError` if the networks cannot play, and `UserError` if a file cannot be written.
    """
    folder, description = Path(folder), describe_policy(open_mice=open_mice, activation=activation, **metadata)
    if fault := find_fault(description, layers, critic):
        raise ValueError(f"the policy cannot be saved: {fault}")
    content = save(layers_to_tensors(layers) | layers_to_tensors(critic, CRITIC))
    text = json.dumps({**description, CHECKSUM: sha256(content).hexdigest()}, indent=1) + "\n"
    with explain_os_errors(f"cannot create {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "policy.safetensors", lambda part: part.write_bytes(content))
    write_text(folder / "policy.json", text)


def describe_policy(
    *,
    open_mice: bool,
    activation: str,
    observation_version: int = OBSERVATION_VERSION,
    setups: Sequence[Setup | str | dict[str, Any]] = (),
    **metadata: Any,
) -> dict[str, Any]:
    """Return the description that is stored with a policy's weights: format, versions, inputs, setups and `metadata`.

    observation_version: layout of the observation that the policy reads, one of `LAYOUTS`. setups: setups on which it
    was trained, their names, or their fields; `python -m agents evaluate` measures it there.
    """
    return {
        "format": FORMAT,
        **VERSIONS,
        "observation_version": observation_version,
        "activation": activation,
        "sections": list_sections(observation_version),
        "open_mice": open_mice,
        "setups": [setup if isinstance(setup, dict) else define_setup(find_setup(setup)) for setup in setups],
        **metadata,
    }


def read_setups(description: Mapping[str, Any]) -> tuple[Setup, ...]:
    """Return the setups on which a policy was trained, from its description; those that are unknown are left out."""
    stored = description.get("setups")
    read = [_read_setup(each) for each in stored] if isinstance(stored, list) else []
    return tuple(dict.fromkeys(setup for setup in read if setup))


def _read_setup(stored: Any) -> Setup | None:
    if is_setup_name(stored):  # a policy from a stranger must not name a file to read
        return find_setup(stored)
    try:
        return Setup(**stored)
    except (ValueError, TypeError):
        return None


def layers_to_tensors(layers: Layers, prefix: str = "") -> dict[str, np.ndarray]:
    """Return weights and biases as named arrays: `PREFIX0.weight`, `PREFIX0.bias`, `PREFIX1.weight`, ..."""
    tensors = {}
    for k, (weight, bias) in enumerate(layers):
        tensors[f"{prefix}{k}.weight"] = np.ascontiguousarray(weight)
        tensors[f"{prefix}{k}.bias"] = np.ascontiguousarray(bias)
    return tensors


def tensors_to_layers(tensors: Mapping[str, np.ndarray], prefix: str = "") -> Layers:
    """Return a network's layers, each a weight and a bias, from arrays named as `layers_to_tensors` does.

    Raises `KeyError` if an array is missing.
    """
    numbers = takewhile(lambda k: f"{prefix}{k}.weight" in tensors, count())
    return [(tensors[f"{prefix}{k}.weight"], tensors[f"{prefix}{k}.bias"]) for k in numbers]


def policy_json_path(path: Path) -> Path:
    """Return the path of a policy's JSON file, given its folder, the file itself, or the file of its weights."""
    if os.path.isdir(path):  # `Path.is_dir` raises if a name is too long
        return path / "policy.json"
    return path.with_suffix(".json") if path.suffix == SUFFIX else path


def load_policy(path: Path) -> tuple[Layers, dict[str, Any]]:
    """Read weights and description of a trained policy from its folder, one of its two files, or a checkpoint.

    If the folder is that of a run that has not ended, the policy is that of its newest undamaged checkpoint. Raises
    `ValueError` naming what is missing, damaged or out of date.
    """
    layers, _, metadata = load_policy_and_critic(path)
    return layers, metadata


def load_policy_and_critic(path: Path) -> tuple[Layers, Layers, dict[str, Any]]:
    """Read the weights of a trained policy, those of its critic (none if empty), and its description.

    path: as in `load_policy`, which raises the same errors.
    """
    try:
        tensors, metadata = _read_policy(path)
        layers, critic = tensors_to_layers(tensors), tensors_to_layers(tensors, CRITIC)
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError, UserError) as error:
        raise ValueError(f"cannot read a policy from {path}: {describe_error(error)}{_find_advice(path)}") from error
    if fault := find_fault(metadata, layers, critic):
        raise ValueError(f"the policy in {path} cannot be used: {fault}")
    return layers, critic, metadata


def _find_advice(path: Path) -> str:
    """Return advice for the error message about a folder without a policy, or an empty text.

    If the folder belongs to a training run that was stopped, the advice is the command that continues this run; if the
    run is training, the advice is to wait; in all other cases the text is empty.
    """
    is_run = os.path.isdir(path / CHECKPOINTS) or os.path.exists(path / CURVE)
    if not is_run or os.path.exists(policy_json_path(path)):
        return ""
    if is_locked(path):
        return "; its run is training: wait for its first checkpoint, or stop it with Ctrl-C, which writes one"
    return f"; its run has not ended: {python_command('train')} --resume {shlex.quote(str(path))}"


def _read_policy(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    if not os.path.exists(path):
        raise ValueError("there is no such file or run folder")
    if path.suffix == SUFFIX and path.stem != "policy":
        return _extract_policy(read_checkpoint(path))
    if path.is_dir() and not policy_json_path(path).exists() and list_checkpoints(path):
        return _extract_policy(load_checkpoint(path, report=print_error))
    file = policy_json_path(path)
    if file.suffix != ".json":
        raise ValueError("a policy is a folder or one of the files in it; save_policy makes one of a network")
    metadata = json.loads(file.read_text())
    content = file.with_suffix(SUFFIX).read_bytes()
    checksum = sha256(content).hexdigest()
    if isinstance(metadata, dict) and metadata.get(CHECKSUM, checksum) != checksum:
        raise ValueError("its weights are not those that its policy.json describes")
    try:
        tensors = load(content)
    except KeyError as error:  # a number format that NumPy does not have
        raise ValueError(f"its weights are {error.args[0]}, not float32") from error
    return tensors, metadata


def _extract_policy(checkpoint: Checkpoint) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the tensors of the policy in a checkpoint, named as in a policy file, and its description.

    Raises `ValueError` if an old version of this project wrote the checkpoint, without a policy.
    """
    if POLICY not in checkpoint.metadata:
        raise ValueError("an older version of this project wrote the checkpoint, without a policy that can play")
    return list_below(f"{POLICY}.", checkpoint.arrays), checkpoint.metadata[POLICY]
