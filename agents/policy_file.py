"""Files of a trained policy: `policy.safetensors` holds the weights, `policy.json` describes them.

The tensors are `0.weight` [inputs, outputs], `0.bias` [outputs], `1.weight`, ... The JSON is written last, so a folder
with a policy.json holds a complete policy. Its checksum detects weights that do not belong to it.
"""

import json
import shlex
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from agents.tools.files import describe_error, write_atomically
from felicity_env.game import MAX_BID, NUM_ACTIONS, RULES_VERSION
from felicity_env.observation import OBS_SIZE, SECTIONS

FORMAT = "felicity-policy-1"
Layers = list[tuple[np.ndarray, np.ndarray]]  # weight [inputs, outputs] and bias [outputs], float32
ACTIVATIONS = ("tanh", "relu")
OUTPUTS = (NUM_ACTIONS, NUM_ACTIONS + MAX_BID)  # a logit for each action, and optionally one for each size of a raise
CHECKSUM = "sha256"  # key in policy.json: digest of policy.safetensors; the oldest policies have none


def save_policy(folder: Path, layers: Layers, *, open_mice: bool, activation: str = "tanh", **metadata: Any) -> None:
    """Write weights and JSON of a trained policy, with `metadata`, into `folder`; raise `UserError` on failure."""
    tensors = {}
    for k, (weight, bias) in enumerate(layers):
        tensors[f"{k}.weight"], tensors[f"{k}.bias"] = np.ascontiguousarray(weight), np.ascontiguousarray(bias)
    content = save(tensors)
    description = {
        "format": FORMAT,
        "rules_version": RULES_VERSION,
        "activation": activation,
        "sections": list_sections(),
        "open_mice": open_mice,
        **metadata,
        CHECKSUM: sha256(content).hexdigest(),
    }
    text = json.dumps(description, indent=1) + "\n"
    write_atomically(folder / "policy.safetensors", lambda part: part.write_bytes(content))
    write_atomically(folder / "policy.json", lambda part: part.write_text(text))


def policy_json(path: Path) -> Path:
    """Return the path of a policy's JSON file, given its folder or the file itself."""
    return path / "policy.json" if path.is_dir() else path


def load_policy(path: Path) -> tuple[Layers, dict[str, Any]]:
    """Read weights and JSON of a trained policy; raise `ValueError` naming what is missing, damaged or out of date."""
    file = policy_json(path)
    try:
        metadata = json.loads(file.read_text())
        content = file.with_suffix(".safetensors").read_bytes()
        tensors = load(content)
        layers = [(tensors[f"{k}.weight"], tensors[f"{k}.bias"]) for k in range((len(tensors) + 1) // 2)]
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        is_unfinished = (path / "checkpoints").is_dir() and not file.exists()
        advice = f"; its run is unfinished: python -m train --resume {shlex.quote(str(path))}" if is_unfinished else ""
        raise ValueError(f"cannot read a policy from {path}: {describe_error(error)}{advice}") from error
    _check_version(path, metadata)
    _check_layers(path, layers)
    checksum = sha256(content).hexdigest()
    if metadata.get(CHECKSUM, checksum) != checksum:
        raise ValueError(f"the policy in {path} is damaged: its weights are not those that its policy.json describes")
    return layers, metadata


def list_sections() -> list[list[Any]]:
    """List name and size of each section of the observation; a policy stores them to detect another layout."""
    return [[section.name, section.size] for section in SECTIONS]


def _check_version(path: Path, metadata: Any) -> None:
    expected = {"format": FORMAT, "rules_version": RULES_VERSION, "sections": list_sections()}
    is_current = isinstance(metadata, dict) and all(metadata.get(key) == value for key, value in expected.items())
    if not is_current or metadata.get("activation") not in ACTIVATIONS:
        raise ValueError(
            f"the policy in {path} is not of this version ({FORMAT}, rules {RULES_VERSION}, {OBS_SIZE} inputs)"
        )
    if "open_mice" not in metadata:
        raise ValueError(f"the policy in {path} is damaged: its policy.json has no open_mice")


def _check_layers(path: Path, layers: Layers) -> None:
    sizes = [OBS_SIZE, *(bias.size for _, bias in layers)]
    expected = [((before, after), (after,)) for before, after in pairwise(sizes)]
    if [(weight.shape, bias.shape) for weight, bias in layers] != expected or sizes[-1] not in OUTPUTS:
        raise ValueError(f"the policy in {path} is damaged: its layers do not fit together")
    if not all(np.isfinite(array).all() for layer in layers for array in layer):
        raise ValueError(f"the policy in {path} is damaged: not all of its weights are finite numbers")
