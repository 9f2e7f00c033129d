"""The parts of the reference player's model card that come from stored results."""

import json
from collections.abc import Callable
from typing import Any

from agents.network import NetworkPlayer
from agents.table import REFERENCE
from experiments.readme_results import source
from experiments.report import shares_of
from experiments.results import read_result
from experiments.tables import estimate, table
from felicity_env import NUM_ACTIONS, OBS_SIZE, SETUPS


def network() -> str:
    """Its shape and size."""
    player = NetworkPlayer(str(REFERENCE))
    sizes = " x ".join(str(bias.size) for _, bias in player.layers[:-1])
    weights = sum(array.size for layer in player.layers for array in layer)
    outputs = player.layers[-1][1].size
    return (
        f"{OBS_SIZE} inputs, layers of {sizes} with {player.activation} between them, {outputs} outputs: a logit for "
        f"each of {NUM_ACTIONS} actions and one for each size of a raise. {weights:,} weights of 32 bits."
    )


def lineage() -> str:
    """How the policy was made, stage by stage, as commands."""
    stages = json.loads((REFERENCE / "policy.json").read_text())["lineage"]
    lines = [f"# commit {made['commit']}{_size(made)}\n{made['command']}" for made in stages]
    return "```bash\n" + "\n\n".join(lines) + "\n```"


def _size(made: dict[str, Any]) -> str:
    return f", {made['decisions'] / 1e6:.1f} million decisions, {made['hours']} hours" if "decisions" in made else ""


def strength() -> str:
    """Against every rung, in both formats."""
    return "\n\n".join(_strength_at(read_result(f"reference_strength_{n}p"), n) for n in SETUPS)


def _strength_at(stored: dict[str, Any], n: int) -> str:
    shares, net = shares_of(stored["results"], n), stored["config"]["player"]
    rows = [
        (n, f"`{code}`", estimate(shares[net, code]), estimate(shares[code, net]), f"{1 / n:.3f}")
        for code in stored["config"]["codes"]
    ]
    head = ("players", "the other", f"`{net}` alone against copies of it", f"it alone against copies of `{net}`", "par")
    return table(head, rows) + "\n\n" + source(stored)


CARD_PARTS: dict[str, Callable[[], str]] = {"network": network, "lineage": lineage, "strength": strength}
