"""Which parts of the self-play trainer pay? `python -m experiments.ablation`

Every arm changes one thing of the base (those that begin from a network have its size and logits too) and is trained
with several seeds for the same number of decisions. A policy is then measured alone against copies of players of the
ladder, and alone against copies of the base's policies, on the same deals for all arms, so that an arm can be compared
with the base deal by deal. An arm whose options name another in braces gets the policy of that arm's run with the same
seed; `{distilled}` is what `python -m train.distill` makes.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import re
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import track

import agents
from agents.arena import shares_alone
from experiments.command import GOES_ON, run_command
from experiments.results import write_result
from experiments.training import DISTILLED_LAYERS, all_trained, check_seeds, made, over_seeds
from train.checks import below, refuse

SEED = 2**57  # apart from training (below 2**32) and all other measurements
BASE, DISTILLED, EXPLOITER = "base", "distilled", "exploiter of the base"
LADDER = ("anchor", "ev", "tuned")
FROM_DISTILLED = f"--init {{distilled}} {DISTILLED_LAYERS}"
ARMS = {
    BASE: "",
    "selves alone": "--mix self=1",
    "others are guests as well": "--guests tuned=0.2 ev=0.2 anchor=0.2",
    EXPLOITER: "--mix net:{base}=1",
    "exploiter among the others": f"--mix self=.3 tuned=.2 ev=.2 anchor=.2 net:{{{EXPLOITER}}}=.1",
    "little entropy all along": "--ent-coef 0.01",
    "much entropy all along": "--ent-coef-end 0.05",
    "twice the entropy at first": "--ent-coef 0.1",
    "KL to slow average": "--kl-coef 0.05",
    "gain of rounds as reward": "--reward round --reward-scale 0.05",
    "others' mice unseen": "--no-open-mice",
    "logits for raises": "--raises",
    "2 x 64": "--hidden-sizes 64 64",
    "2 x 256": "--hidden-sizes 256 256",
    "minibatches of 2048": "--batch-size 2048",
    "from distilled": FROM_DISTILLED,
    "from distilled, KL to it": f"{FROM_DISTILLED} --kl-coef 0.1 --average-decay 1.0",
}


@dataclass(frozen=True)
class Config:
    """Train every arm with every seed, measure all policies."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """One run of each arm."""
    total_timesteps: int = 3_000_000
    """Decisions learned from in a run."""
    num_players: int = 4
    """Seats at the tables."""
    num_blocks: int = 500
    """Deals for each policy against each kind of table."""
    arms: tuple[str, ...] = tuple(ARMS)
    """Those to look at; the base is always among them."""
    workers: int = 2
    """Runs at a time, each on one core."""
    runs: Path = Path("runs/ablation")
    """Where the run folders are kept; an interrupted ablation goes on from them."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds, least=2)  # for the base plays its other seeds
        refuse(below(self, num_blocks=2, workers=1))
        if unknown := set(self.arms) - set(ARMS):
            raise ValueError(f"--arms: no {sorted(unknown)}; there are {list(ARMS)}")


def run_of(arm: str, seed: int, config: Config) -> Path:
    """Where an arm's run lies."""
    name = "".join(letter if letter.isalnum() else "-" for letter in arm)
    return config.runs / (name if arm == DISTILLED else f"{name}-seed{seed}")


def named_in(arm: str) -> list[str]:
    """The arms whose policies an arm's options name."""
    return re.findall(r"\{(.+?)\}", ARMS.get(arm, ""))


def options_of(arm: str, seed: int, config: Config) -> list[str]:
    """For `python -m train`."""
    few = f"--curve-every {config.total_timesteps} --curve-blocks 50 --evaluation-blocks 50 --threads 1".split()
    size = f"--num-players {config.num_players} --total-timesteps {config.total_timesteps} --seed {seed}".split()
    own = re.sub(r"\{(.+?)\}", lambda name: shlex.quote(str(run_of(name[1], seed, config))), ARMS[arm])
    return ["--algorithm", "selfplay", *size, *few, *shlex.split(own)]


def with_named(arms: Iterable[str]) -> list[str]:
    """The base, these arms and those that they name."""
    found = [BASE]
    for arm in arms:
        found += [*with_named(named_in(arm)), arm] if named_in(arm) else [arm]
    return list(dict.fromkeys(found))


def depth(arm: str) -> int:
    """How many arms must be trained one after the other before this one."""
    return max((1 + depth(name) for name in named_in(arm)), default=0)


def all_runs(arms: Sequence[str], config: Config) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Train every arm with every seed, those that others name before those: arm, seed and what `trained` tells."""
    if DISTILLED in arms:
        made("train.distill", run_of(DISTILLED, 0, config), ["--threads", str(config.workers)])
    for level in range(1 + max(map(depth, arms))):
        wanted = [(arm, seed) for seed in config.seeds for arm in arms if arm != DISTILLED and depth(arm) == level]
        begun = [(run_of(arm, seed, config), options_of(arm, seed, config)) for arm, seed in wanted]
        for (arm, seed), run in zip(wanted, all_trained(begun, workers=config.workers), strict=True):
            yield arm, seed, run


def tables_of(seed: int, config: Config) -> dict[str, list[str]]:
    """Who may sit in the other seats: a player of the ladder, or the base trained with the other seeds."""
    others = [f"net:{run_of(BASE, other, config)}" for other in config.seeds if other != seed]
    return {code: [code] for code in LADDER} | {BASE: others}


def shares(arm: str, seed: int, config: Config) -> dict[str, np.ndarray]:
    """Win share in each block of an arm's policy against each kind of table."""
    player = agents.make(f"net:{run_of(arm, seed, config)}")
    found = {}
    for kind, codes in tables_of(seed, config).items():
        blocks = [
            shares_alone(player, code, config.num_players, num_blocks=config.num_blocks, seed=SEED) for code in codes
        ]
        found[kind] = np.mean(blocks, axis=0)
    return found


def compared(arm: list[dict[str, np.ndarray]], base: list[dict[str, np.ndarray]]) -> dict[str, Any]:
    """What an arm reached at each kind of table, and by how much more than the base on the same deals."""
    return {
        kind: {
            "share": over_seeds([run[kind] for run in arm]),
            "gain": over_seeds([run[kind] - other[kind] for run, other in zip(arm, base, strict=True)]),
        }
        for kind in arm[0]
    }


def plot(results: dict[str, Any], path: Path) -> None:
    """The gain of every arm over the base, a panel for each kind of table, a dot for each seed."""
    arms = [arm for arm in results if arm != BASE]
    kinds = list(results[BASE]["tables"])
    figure, axes = plt.subplots(1, len(kinds), figsize=(3.2 * len(kinds), 0.36 * len(arms) + 1.2), sharey=True)
    for axis, kind in zip(axes, kinds, strict=True):
        for row, arm in enumerate(arms):
            gain = results[arm]["tables"][kind]["gain"]
            axis.plot(gain["seeds"], [row] * len(gain["seeds"]), "o", color="C0", alpha=0.35, markersize=4)
            axis.plot(gain["value"], row, "D", color="C0", markersize=6)
        axis.axvline(0, color="grey", linestyle=":")
        axis.set(title=f"against {kind}", xlabel="win share more than base")
        axis.grid(alpha=0.3)
    axes[0].set_yticks(range(len(arms)), arms)
    axes[0].invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(config: Config) -> None:
    """Train, measure, store and plot."""
    started, console = time.monotonic(), Console()
    needed = with_named(config.arms)
    arms = [arm for arm in ARMS if arm in needed]
    runs: dict[str, list[dict[str, Any]]] = {arm: [] for arm in arms}
    for arm, seed, run in all_runs(needed, config):
        console.print(f"{arm}, seed {seed}: trained in {run['minutes']:.1f} minutes", highlight=False)
        runs[arm].append({"seed": seed} | {name: run[name] for name in ("minutes", "commit", "config")})
    measured = {
        arm: [shares(arm, seed, config) for seed in config.seeds] for arm in track(arms, "measuring the policies")
    }
    results = {
        arm: {"options": ARMS[arm], "runs": runs[arm], "tables": compared(measured[arm], measured[BASE])}
        for arm in arms
    }
    settings = {name: value for name, value in asdict(config).items() if name != "runs"}
    path = write_result("ablation", settings, results, started=started)
    plot(results, path.with_suffix(".png"))


if __name__ == "__main__":
    run_command("ablation", Config, main, interrupted=GOES_ON)
