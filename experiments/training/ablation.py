"""Question: which parts of the self-play trainer improve its policies? `python -m experiments ablation`

The base is a training run with default settings; every variant changes one setting of it. The base and each variant are
trained with several seeds for the same number of decisions. Each policy then plays alone against copies of the players
in `OPPONENTS`, and alone against copies of the policies of the base. All variants get the same deals, so each is
compared with the base deal by deal. Settings of a variant may name another variant in braces. The name then stands for
the policy of that other variant that was trained with the same seed.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

import agents
from agents.arena.matches import win_shares_against_copies
from agents.tasks.options import Workers
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least, check_seeds, require
from experiments.results import to_file_name, write_result
from experiments.runs import estimate_over_seeds, train_runs
from train.selfplay import SelfplayConfig

BASE, EXPLOITER = "base", "exploiter of the base"
OPPONENTS = ("anchor", "ev", "tuned")
VARIANTS: dict[str, Mapping[str, Any]] = {
    BASE: {},
    "selves alone": {"mix": ("self=1",)},
    EXPLOITER: {"mix": (f"net:{{{BASE}}}=1",)},
    "exploiter among the others": {"mix": ("self=.3", "tuned=.2", "ev=.2", "anchor=.2", f"net:{{{EXPLOITER}}}=.1")},
    "little entropy all along": {"bidding_coef": 0.01, "placing_coef": 0.01},
    "much entropy all along": {"bidding_coef_end": 0.05, "placing_coef_end": 0.05},
    "twice the entropy at first": {"bidding_coef": 0.1, "placing_coef": 0.1},
    "KL to slow average": {"kl_coef": 0.05},
    "gain of rounds as reward": {"reward": "round", "reward_scale": 0.05},
    "others' mice unseen": {"open_mice": False},
    "logits for raises": {"raises": True},
    "2 x 64": {"hidden_sizes": (64, 64)},
    "2 x 256": {"hidden_sizes": (256, 256)},
    "minibatches of 2048": {"batch_size": 2048},
}


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Train variants of the self-play trainer that differ in one setting from a base, and compare their policies."""

    resumes: ClassVar[bool] = True
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of each variant; at least 2, because a policy plays against base policies of the other seeds."""
    total_timesteps: int = 3_000_000
    """Number of decisions to train on in each run; fewer than by default, so that many variants can be compared."""
    num_deals: int = 500
    """Number of deals for each policy against each kind of opponents, each under all rotations of the seats."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    """Names of the variants to train and measure; the base and the variants that they need are added."""
    out: Path = Path("runs/ablation")
    """Folder of the training runs; the same command, given again, continues them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds, at_least=2)
        check_at_least(self, num_deals=2, total_timesteps=1)
        unknown = sorted(set(self.variants) - set(VARIANTS))
        require(not unknown, f"--variants: no {unknown}; there are {list(VARIANTS)}")


def run_folder(variant: str, seed: int, config: Config) -> Path:
    """Return the folder of the training run of a variant with one training seed."""
    return config.out / f"{to_file_name(variant)}-seed{seed}"


def find_needed_variants(variant: str) -> list[str]:
    """Return the names of the variants whose trained policies are opponents in the training of a variant."""
    return re.findall(r"\{(.+?)\}", " ".join(VARIANTS[variant].get("mix", ())))


def create_config(variant: str, seed: int, config: Config) -> SelfplayConfig:
    """Return the settings of the training run of a variant with one training seed."""
    settings = dict(VARIANTS[variant])
    if "mix" in settings:
        folders = {name: run_folder(name, seed, config) for name in find_needed_variants(variant)}
        settings["mix"] = tuple(entry.format_map(folders) for entry in settings["mix"])
    return SelfplayConfig(
        **config.training_setup,
        **settings,
        seed=seed,
        total_timesteps=config.total_timesteps,
        curve_every=config.total_timesteps,
        curve_deals=50,
        evaluation_deals=50,
        threads=1,
        device="cpu",
    )


def add_needed_variants(variants: Iterable[str]) -> list[str]:
    """Return the names of all variants that must be trained so that the given variants can be compared.

    These are the base, `variants`, and every variant whose trained policies are opponents in the training of one of
    them. A variant comes after those that its training needs.
    """
    complete = [BASE]
    for variant in variants:
        needed = find_needed_variants(variant)
        complete += [*(add_needed_variants(needed) if needed else ()), variant]
    return list(dict.fromkeys(complete))


def count_levels(variant: str) -> int:
    """Return the level of a variant: how many generations of other variants must be trained before it.

    The level is 0 if no trained policy of another variant is an opponent in its training, and 1 if only policies of
    variants of level 0 are.
    """
    return max((1 + count_levels(name) for name in find_needed_variants(variant)), default=0)


def train_variants(variants: Sequence[str], config: Config) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Train every variant with every seed; yield the variant, the seed and the result of each training run.

    Variants whose policies are opponents of other variants are trained first. A result is what `train_run` returns.
    """
    for level in range(1 + max(map(count_levels, variants))):
        names = [(variant, seed) for seed in config.seeds for variant in variants if count_levels(variant) == level]
        runs = [(run_folder(variant, seed, config), create_config(variant, seed, config)) for variant, seed in names]
        for (variant, seed), run in zip(names, train_runs(runs, **config.spread), strict=True):
            yield variant, seed, run


def list_opponents(seed: int, config: Config) -> dict[str, list[str]]:
    """Return the opponents that a policy with this training seed meets, as {kind: player codes}.

    A kind is one of the players in `OPPONENTS`, or the policies of the base that were trained with the other seeds.
    """
    others = [f"net:{run_folder(BASE, other, config)}" for other in config.seeds if other != seed]
    return {code: [code] for code in OPPONENTS} | {BASE: others}


def measure_win_shares(variant: str, seed: int, config: Config) -> dict[str, np.ndarray]:
    """Measure the win share of a trained policy alone against copies of each kind of opponents, for each deal.

    Returns {kind: [blocks]}. The policy is that of one variant and training seed.
    """
    player, setup = agents.make(f"net:{run_folder(variant, seed, config)}"), config.chosen_setup
    deals = {"num_deals": config.num_deals, "seed": SEEDS["ablation"]}
    return {
        kind: np.mean([win_shares_against_copies(player, code, setup, **deals) for code in codes], axis=0)
        for kind, codes in list_opponents(seed, config).items()
    }


def compare(variant: Sequence[Mapping[str, np.ndarray]], base: Sequence[Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """Estimate the win share of a variant against each kind of opponents, and its gain over the base on the same deals.

    variant, base: for each training seed, the win shares [blocks] against each kind.
    """
    return {
        kind: {
            "win_share": estimate_over_seeds([run[kind] for run in variant]),
            "gain": estimate_over_seeds([run[kind] - other[kind] for run, other in zip(variant, base, strict=True)]),
        }
        for kind in variant[0]
    }


def plot(results: dict[str, Any], path: Path) -> None:
    """Plot the gain in win share of each variant over the base: a panel per kind of opponents, a dot per seed."""
    variants = [variant for variant in results if variant != BASE]
    kinds = list(results[BASE]["opponents"])
    figure = Figure(figsize=(3.2 * len(kinds), 0.36 * len(variants) + 1.2), layout="tight")
    axes = figure.subplots(1, len(kinds), sharey=True)
    for axis, kind in zip(axes, kinds, strict=True):
        for row, variant in enumerate(variants):
            gain = results[variant]["opponents"][kind]["gain"]
            axis.plot(gain["seeds"], [row] * len(gain["seeds"]), "o", color="C0", alpha=0.35, markersize=4)
            axis.plot(gain["value"], row, "D", color="C0", markersize=6)
        axis.axvline(0, color="grey", linestyle=":")
        axis.set(title=f"against {kind}", xlabel="gain in win share over base")
        axis.grid(alpha=0.3)
    axes[0].set_yticks(range(len(variants)), variants)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=110)


def main(config: Config) -> None:
    """Train all variants, measure the win shares of their policies, store the result and plot it."""
    started, console = time.monotonic(), Console()
    complete = add_needed_variants(config.variants)
    variants = [variant for variant in VARIANTS if variant in complete]
    runs: dict[str, list[dict[str, Any]]] = {variant: [] for variant in variants}
    for variant, seed, run in train_variants(complete, config):
        console.print(f"{variant}, seed {seed}: trained in {run['minutes']:.1f} minutes", highlight=False)
        runs[variant].append({"seed": seed} | {name: run[name] for name in ("minutes", "commit", "config")})
    win_shares = {
        variant: [measure_win_shares(variant, seed, config) for seed in config.seeds]
        for variant in track(variants, "measuring the policies")
    }
    results = {
        variant: {
            "settings": VARIANTS[variant],
            "runs": runs[variant],
            "opponents": compare(win_shares[variant], win_shares[BASE]),
        }
        for variant in variants
    }
    path = write_result("ablation", config, results, started=started)
    plot(results, path.with_suffix(".png"))
