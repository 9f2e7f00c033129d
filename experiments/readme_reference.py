"""The parts of the reference player's model card that come from stored results."""

from collections.abc import Callable, Sequence
from typing import Any

from agents.mixture import network_player
from agents.network import NetworkPlayer
from agents.table import REFERENCE
from experiments.readme_results import responses, source
from experiments.report import shares_of
from experiments.results import RESULTS, read_result
from experiments.tables import estimate, table
from felicity_env import OBS_SIZE, SETUPS


def members() -> list[NetworkPlayer]:
    """The policies that the reference player is a mixture of."""
    return list(network_player(str(REFERENCE)).members)


def network() -> str:
    """How many there are, their shape and size."""
    found = members()
    layers = found[0].layers
    sizes = " x ".join(str(bias.size) for _, bias in layers[:-1])
    weights = sum(array.size for layer in layers for array in layer)
    return (
        f"Networks: {len(found)}. Each has {OBS_SIZE} inputs, layers of {sizes} with {found[0].activation} between "
        f"them and {layers[-1][1].size} logits; {weights:,} weights of 32 bits."
    )


def lineage() -> str:
    """How much work each step of all policies was; the commands of the first policy's steps, folded away."""
    made = [member.about["lineage"] for member in members()]
    rows = [_step(steps) for steps in zip(*made, strict=True) if "decisions" in steps[0]]
    head = ("step", "millions of decisions, each policy", "hours on one core, all together", "commit")
    commands = "\n\n".join(f"# {step['step']}, commit {step['commit']}\n{step['command']}" for step in made[0])
    folded = f"<details><summary>The first policy, command by command</summary>\n\n```bash\n{commands}\n```\n</details>"
    later = [read_result(path.stem) for path in RESULTS.glob("reference_from_*.json")]
    later.sort(key=lambda result: result["config"]["first_round"])
    sources = map(source, (read_result("reference"), *later))
    return "\n\n".join((table(head, rows), *sources, folded))


def _step(steps: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """A row: the same step of all policies."""
    decisions = dict.fromkeys(f"{step['decisions'] / 1e6:.1f}" for step in steps)
    hours = sum(step["hours"] for step in steps)
    commits = dict.fromkeys(step["commit"] for step in steps)
    return steps[0]["step"], ", ".join(decisions), f"{hours:.2f}", ", ".join(commits)


def strength() -> str:
    """Against every rung, in both formats."""
    return "\n\n".join(_strength_at(read_result(f"reference_strength_{n}p"), n) for n in SETUPS)


def _strength_at(stored: dict[str, Any], n: int) -> str:
    shares, net = shares_of(stored["results"], n), stored["config"]["player"]
    rows = [
        (n, f"`{code}`", estimate(shares[net, code]), estimate(shares[code, net]), f"{1 / n:.3f}")
        for one, code in shares
        if one == net
    ]
    head = ("players", "the other", f"`{net}` alone against copies of it", f"it alone against copies of `{net}`", "par")
    return table(head, rows) + "\n\n" + source(stored)


def exploited() -> str:
    """What best responses win against copies of it."""
    return responses([read_result("exploit_net_4p")])


CARD_PARTS: dict[str, Callable[[], str]] = {
    "network": network,
    "lineage": lineage,
    "strength": strength,
    "exploited": exploited,
}
