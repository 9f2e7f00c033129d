"""Check of a policy, before it is written and after it is read: its description, and the form of its networks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agents.layouts import LAYOUTS, count_inputs, list_sections
from felicity_env.game import MAX_BID, NUM_ACTIONS, RULES_VERSION

FORMAT = "felicity-policy-1"
ACTIVATIONS = ("tanh", "relu")
MAX_WEIGHT = 1e6  # larger weights would overflow and are none of a trained network
OUTPUTS = (NUM_ACTIONS, NUM_ACTIONS + MAX_BID)  # a logit for each action, and optionally one for each size of a raise
Layers = Sequence[tuple[np.ndarray, np.ndarray]]  # weight [inputs, outputs] and bias [outputs], float32


def find_fault(description: Any, layers: Layers, critic: Layers) -> str:
    """Return in a few words why a policy cannot be used, or "" if it can.

    description: contents of its JSON file. layers, critic: networks; a policy without a critic has an empty one.
    """
    if fault := _find_fault_of_description(description):
        return fault
    inputs = count_inputs(get_observation_version(description))
    if fault := _find_fault_of_network(layers, inputs, OUTPUTS):
        return fault
    fault = _find_fault_of_network(critic, inputs, (1,)) if len(critic) else ""
    return fault and f"in the critic, {fault}"


def get_observation_version(description: Mapping[str, Any]) -> Any:
    """Return the version of the observation that a policy reads; the first policies stored none."""
    return description.get("observation_version", 1)


def _find_fault_of_description(description: Any) -> str:
    stored = {"observation_version": 1, **description} if isinstance(description, dict) else {}
    keys = ("format", "rules_version", "observation_version", "sections")
    possible = [[FORMAT, RULES_VERSION, version, list_sections(version)] for version in LAYOUTS]
    if [stored.get(key) for key in keys] not in possible:
        versions = " or ".join(map(str, LAYOUTS))
        return f"it is not of this version ({FORMAT}, rules {RULES_VERSION}, observation {versions})"
    if stored.get("activation") not in ACTIVATIONS:
        return f"its activation must be {' or '.join(ACTIVATIONS)}, not {stored.get('activation')!r}"
    if type(stored.get("open_mice")) is not bool:
        return f"its open_mice must be true or false, not {stored.get('open_mice')!r}"
    return ""


def _find_fault_of_network(layers: Layers, inputs: int, outputs: tuple[int, ...]) -> str:
    """Return why layers form no network with these numbers of inputs and outputs, or "" if they do."""
    if not len(layers):
        return "it has no layers"
    for k, layer in enumerate(layers):
        if fault := _find_fault_of_layer(layer, inputs):
            return f"layer {k} {fault}"
        inputs = len(layer[1])
    return "" if inputs in outputs else f"the last layer has {inputs} outputs, not {' or '.join(map(str, outputs))}"


def _find_fault_of_layer(layer: Any, inputs: int) -> str:
    """Return why a layer cannot read this number of inputs, or ""."""
    if not (isinstance(layer, Sequence) and len(layer) == 2 and all(isinstance(part, np.ndarray) for part in layer)):
        return "must be two NumPy arrays: a weight [inputs, outputs] and a bias [outputs]"
    weight, bias = layer
    if not bias.size or weight.shape != (inputs, bias.size) or bias.ndim != 1:
        shapes = f"has a weight {list(weight.shape)} and a bias {list(bias.shape)}"
        is_transposed = weight.shape == (bias.size, inputs)
        advice = "; transpose the weights of torch, which are [outputs, inputs]" if is_transposed else ""
        return f"{shapes}, but it reads {inputs} inputs, so it needs [{inputs}, outputs] and [outputs]{advice}"
    if wrong := sorted({array.dtype.name for array in layer} - {"float32"}):
        return f"is {' and '.join(wrong)}, not float32"
    if not all((np.abs(array) <= MAX_WEIGHT).all() for array in layer):  # false for nan too
        return "has weights that are not finite numbers of usual size"
    return ""
