"""`net`: a trained policy, played in NumPy: no torch, no pickle.

A policy is two files, `policy.safetensors` (the layers `0.weight`, `0.bias`, `1.weight`, ...: inputs [in, out]) and
`policy.json` (what they are for). A view becomes observations, the layers with an activation between them give logits,
and illegal actions get probability zero.
"""

import json
import os
import shlex
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from felicity_env import NUM_ACTIONS, OBS_SIZE, RULES_VERSION, View
from felicity_env.game import MAX_BID, PASS
from felicity_env.kernel import kernel
from felicity_env.observation import AT, MICE_SCALE, SECTIONS
from felicity_env.random_stream import split

FORMAT = "felicity-policy-1"
GREEDY = "@greedy"
Layers = list[tuple[np.ndarray, np.ndarray]]
ACTIVATIONS = ("tanh", "relu")
CHECKSUM = "sha256"  # in policy.json: of policy.safetensors; policies written before there was one have none
OUTPUTS = (NUM_ACTIONS, NUM_ACTIONS + MAX_BID)  # a logit for each action; with more, one for each raise on top


def logits_of(layers: Layers, observations: np.ndarray, activation: str = "tanh") -> np.ndarray:
    """float32 [B, NUM_ACTIONS] from observations [B, OBS_SIZE]."""
    hidden = observations
    for weight, bias in layers[:-1]:
        hidden = hidden @ weight
        hidden += bias
        if activation == "tanh":
            np.tanh(hidden, out=hidden)
        else:
            np.maximum(hidden, 0.0, out=hidden)
    weight, bias = layers[-1]
    outputs = hidden @ weight + bias
    if outputs.shape[1] == NUM_ACTIONS:
        return outputs
    high_bid = np.rint(observations[:, AT.high_bid] * MICE_SCALE).astype(np.int64)
    raises = np.arange(NUM_ACTIONS) - PASS - 1 - high_bid[:, None]
    added = np.take_along_axis(outputs[:, NUM_ACTIONS:], raises.clip(0, MAX_BID - 1), axis=1)
    return outputs[:, :NUM_ACTIONS] + np.where(raises >= 0, added, np.float32(0.0))


def choose(logits: np.ndarray, masks: np.ndarray, uniforms: np.ndarray | None) -> np.ndarray:
    """The best legal action of each row, or with `uniforms` [B] in [0, 1) one drawn from the softmax."""
    if uniforms is None:
        return np.where(masks == 1, logits, -np.inf).argmax(axis=1)
    sums = softmax_weights(logits, masks).cumsum(axis=1)
    return (sums > uniforms[:, None] * sums[:, -1:]).argmax(axis=1)


def softmax_weights(logits: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Proportional to the probability of each action [B, NUM_ACTIONS]; 0 where illegal, 1 for the best."""
    legal = np.where(masks == 1, logits, -np.inf)
    return np.exp(legal - legal.max(axis=1, keepdims=True))


def uniforms_of(seeds: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1), float64 [B], from the high bits of words uint64 [B]."""
    return (seeds >> np.uint64(40)).astype(np.float64) / 2**24


@kernel
def _split_words(words, part, out):
    for k in range(len(words)):
        out[k] = split(words[k], part)


def drawn(words: np.ndarray, part: int) -> np.ndarray:
    """Numbers in [0, 1), float64 [K], another one for each `part` drawn from the words uint64 [K]."""
    out = np.empty(len(words), np.uint64)
    _split_words(words, part, out)
    return uniforms_of(out)


class NetworkPlayer:
    """A policy from `PATH` (a run folder or a policy.json); it samples, `PATH@greedy` takes the best action."""

    def __init__(self, path: str) -> None:
        self.path = Path(path.removesuffix(GREEDY))
        self.layers, self.about = load_policy(self.path)
        self.open_mice, self.activation = bool(self.about["open_mice"]), self.about["activation"]
        self.greedy = path.endswith(GREEDY)

    @classmethod
    def of(
        cls, layers: Layers, *, open_mice: bool = False, greedy: bool = False, activation: str = "tanh"
    ) -> "NetworkPlayer":
        """A player of layers that are in memory."""
        player = cls.__new__(cls)
        player.layers, player.about = layers, {"open_mice": open_mice, "activation": activation}
        player.open_mice, player.greedy, player.activation = open_mice, greedy, activation
        return player

    @property
    def members(self) -> "tuple[NetworkPlayer, ...]":
        """Itself alone: it is no mixture of several."""
        return (self,)

    @property
    def raises(self) -> bool:
        """Whether every raise has a logit of its own."""
        return self.layers[-1][1].size > NUM_ACTIONS

    @property
    def digest(self) -> str:
        """Of the weights, 8 letters."""
        return sha256(b"".join(array.tobytes() for layer in self.layers for array in layer)).hexdigest()[:8]

    def act(self, view: View) -> np.ndarray:
        """Integers [B]."""
        uniforms = None if self.greedy else uniforms_of(view.seeds)
        return choose(self.logits(view), view.action_masks, uniforms)

    def probabilities(self, view: View) -> np.ndarray:
        """float32 [B, NUM_ACTIONS]: how likely each action is when the policy samples."""
        weights = softmax_weights(self.logits(view), view.action_masks)
        return weights / weights.sum(axis=1, keepdims=True)

    def logits(self, view: View) -> np.ndarray:
        """float32 [B, NUM_ACTIONS]; those of illegal actions mean nothing."""
        return logits_of(self.layers, view.observations(self.open_mice), self.activation)


def layout() -> list[list[Any]]:
    """The observation that a policy of this version reads: name and size of each section."""
    return [[section.name, section.size] for section in SECTIONS]


def save_policy(folder: Path, layers: Layers, **about: Any) -> None:
    """Write `policy.safetensors`, then `policy.json` into `folder`: where there is a policy.json the policy is whole.

    about: goes into the JSON; `open_mice` must be in it, and `activation` (of `ACTIVATIONS`) if it is not tanh.
    """
    tensors = {}
    for k, (weight, bias) in enumerate(layers):
        tensors[f"{k}.weight"], tensors[f"{k}.bias"] = np.ascontiguousarray(weight), np.ascontiguousarray(bias)
    content = save(tensors)
    text = {"format": FORMAT, "rules_version": RULES_VERSION, "activation": "tanh", "sections": layout(), **about}
    text[CHECKSUM] = sha256(content).hexdigest()
    files = [folder / "policy.safetensors", folder / "policy.json"]
    parts = [file.with_name(file.name + ".part") for file in files]
    try:
        parts[0].write_bytes(content)
        parts[1].write_text(json.dumps(text, indent=1) + "\n")
        for part, file in zip(parts, files, strict=True):
            os.replace(part, file)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def description_of(path: Path) -> Path:
    """The JSON of a policy, from its folder or itself."""
    return path / "policy.json" if path.is_dir() else path


def load_policy(path: Path) -> tuple[Layers, dict[str, Any]]:
    """The layers and the JSON of a policy; raises `ValueError` naming what is missing, damaged or out of date."""
    description = description_of(path)
    try:
        about = json.loads(description.read_text())
        content = description.with_suffix(".safetensors").read_bytes()
        tensors = load(content)
        layers = [(tensors[f"{k}.weight"], tensors[f"{k}.bias"]) for k in range((len(tensors) + 1) // 2)]
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        unfinished = (path / "checkpoints").is_dir() and not description.exists()
        end_it = f"; the run there has not ended: python -m train --resume {shlex.quote(str(path))}"
        raise ValueError(f"no policy can be read from {path}: {error}{end_it if unfinished else ''}") from error
    _check_policy(path, layers, about)
    checksum = sha256(content).hexdigest()
    if about.get(CHECKSUM, checksum) != checksum:
        raise ValueError(f"the policy in {path} is damaged: its weights are not those that its policy.json tells of")
    return layers, about


def _check_policy(path: Path, layers: Layers, about: dict[str, Any]) -> None:
    expected = {"format": FORMAT, "rules_version": RULES_VERSION, "sections": layout()}
    fitting = isinstance(about, dict) and all(about.get(key) == value for key, value in expected.items())
    if not fitting or about.get("activation") not in ACTIVATIONS:
        raise ValueError(
            f"the policy in {path} is not of this version ({FORMAT}, rules {RULES_VERSION}, {OBS_SIZE} places)"
        )
    sizes = [OBS_SIZE, *(bias.size for _, bias in layers)]
    fits = [(weight.shape, bias.shape) for weight, bias in layers] == [
        ((before, after), (after,)) for before, after in pairwise(sizes)
    ]
    if not fits or sizes[-1] not in OUTPUTS:
        raise ValueError(f"the policy in {path} is damaged: its layers do not fit together")
    if "open_mice" not in about:
        raise ValueError(f"the policy in {path} is damaged: its policy.json has no open_mice")
    if not all(np.isfinite(array).all() for layer in layers for array in layer):
        raise ValueError(f"the policy in {path} is damaged: not all of its weights are finite numbers")
