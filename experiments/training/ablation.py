"""Question: which parts of the self-play trainer improve its policies? `python -m experiments ablation`

The base is a training run by one of the two recipes, shorter than usual; every variant changes one setting of it
(`experiments/training/variants.py`). The base and each variant are trained with several seeds for the same number of
decisions. Each player then plays alone against copies of the players in `OPPONENTS`, and alone against copies of the
players of the base. Last, a short best response to each is trained, as in the question `probe`. All variants get the
same deals, so each is compared with the base deal by deal.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

import agents
from agents.arena.matches import win_shares_against_copies
from agents.tasks.options import Workers
from agents.tools.figures import save_figure
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least, check_seeds, require
from experiments.builds.reference import choose_members, write_mixture
from experiments.results import to_file_name, write_result
from experiments.runs import estimate_over_seeds, train_runs
from experiments.strength import probe
from experiments.training.variants import BASE, LAST_POLICY, VARIANTS, list_base_settings
from train.selfplay import SelfplayConfig

OPPONENTS = ("anchor", "ev", "tuned")
Players = Mapping[str, Mapping[int, str]]  # {variant: {training seed: player code}}


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Train variants of the self-play trainer that differ in one setting from a base, and compare their policies."""

    resumes: ClassVar[bool] = True
    recipe: Literal["default", "reference"] = "default"
    """Recipe of the base: the default run of `python -m train`, or that of the reference player."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of each variant; at least 2, because a policy plays against base policies of the other seeds."""
    total_timesteps: int = 3_000_000
    """Number of decisions to train on in each run; fewer than by default, so that many variants can be compared."""
    probe_timesteps: int = 0
    """Number of decisions to train on for each short best response; 0 trains none."""
    num_deals: int = 500
    """Number of deals for each policy against each kind of opponents, each under all rotations of the seats."""
    variants: tuple[str, ...] = ()
    """Names of the variants to train and measure; the base and the variants that they need are added. Default: all."""
    out: Path = Path("runs/ablation")
    """Folder of the training runs; the same command, given again, continues them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds, at_least=2)
        check_at_least(self, num_deals=2, total_timesteps=1, probe_timesteps=0)
        unknown = sorted(set(self.variants) - set(self.known))
        require(not unknown, f"--variants: no {unknown}; --recipe {self.recipe} has {list(self.known)}")

    @property
    def known(self) -> Mapping[str, Mapping[str, Any]]:
        """All variants of the recipe, {name: settings that it changes}."""
        return VARIANTS[self.recipe]


def has_own_run(variant: str, config: Config) -> bool:
    """Return whether a variant has a training run of its own; one that changes no setting has that of the base."""
    return variant == BASE or bool(config.known[variant])


def run_folder(variant: str, seed: int, config: Config) -> Path:
    """Return the folder of the training run of a variant with one training seed."""
    name = variant if has_own_run(variant, config) else BASE
    return config.out / config.recipe / f"{to_file_name(name)}-seed{seed}"


def find_needed_variants(variant: str, config: Config) -> list[str]:
    """Return the names of the variants whose trained policies are opponents in the training of a variant."""
    return re.findall(r"\{(.+?)\}", " ".join(config.known[variant].get("mix", ())))


def create_config(variant: str, seed: int, config: Config) -> SelfplayConfig:
    """Return the settings of the training run of a variant with one training seed."""
    settings = {**list_base_settings(config.recipe, config.total_timesteps), **config.known[variant]}
    if "mix" in settings:
        folders = {name: run_folder(name, seed, config) for name in find_needed_variants(variant, config)}
        settings["mix"] = tuple(entry.format_map(folders) for entry in settings["mix"])
    settings |= {"curve_deals": 50, "evaluation_deals": 50}  # few, because the ablation measures the players itself
    return SelfplayConfig(**config.training_setup, **settings, seed=seed, threads=1, device="cpu")


def add_needed_variants(variants: Iterable[str], config: Config) -> list[str]:
    """Return the names of all variants that must be trained so that the given variants can be compared.

    These are the base, `variants`, and every variant whose trained policies are opponents in the training of one of
    them. A variant comes after those that its training needs.
    """
    complete = [BASE]
    for variant in variants:
        needed = find_needed_variants(variant, config)
        complete += [*(add_needed_variants(needed, config) if needed else ()), variant]
    return list(dict.fromkeys(complete))


def count_levels(variant: str, config: Config) -> int:
    """Return the level of a variant: how many generations of other variants must be trained before it.

    The level is 0 if no trained policy of another variant is an opponent in its training, and 1 if only policies of
    variants of level 0 are.
    """
    needed = find_needed_variants(variant, config)
    return max((1 + count_levels(name, config) for name in needed), default=0)


def train_variants(variants: Sequence[str], config: Config) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Train every variant with every seed; yield the folder and the result of each training run.

    Variants whose policies are opponents of other variants are trained first. A result is what `train_run` returns.
    """
    levels = {variant: count_levels(variant, config) for variant in variants}
    for level in range(1 + max(levels.values())):
        names = [(variant, seed) for seed in config.seeds for variant in variants if levels[variant] == level]
        runs = {run_folder(*name, config): create_config(*name, config) for name in names}
        yield from zip(runs, train_runs([*runs.items()], **config.spread), strict=True)


def find_player(variant: str, seed: int, config: Config) -> str:
    """Return the code of the player that a trained run gives: its policy, or a mixture of its policies."""
    folder = run_folder(variant, seed, config)
    if config.recipe == "reference" and variant != LAST_POLICY:
        folder = write_mixture(choose_members(folder, since=0.5), folder / "net")
    return f"net:{folder}"


def list_opponents(seed: int, base: Mapping[int, str]) -> dict[str, list[str]]:
    """Return the opponents that a player with this training seed meets, as {kind: player codes}.

    A kind is one of the players in `OPPONENTS`, or the players of the base that were trained with the other seeds.
    base: {training seed: player code}.
    """
    others = [code for other, code in base.items() if other != seed]
    return {code: [code] for code in OPPONENTS} | {BASE: others}


def measure_win_shares(variant: str, seed: int, players: Players, config: Config) -> dict[str, np.ndarray]:
    """Measure the win share of a trained player alone against copies of each kind of opponents, for each deal.

    Returns {kind: [blocks]}. The player is that of one variant and training seed.
    """
    player, setup = agents.make(players[variant][seed]), config.chosen_setup
    deals = {"num_deals": config.num_deals, "seed": SEEDS["ablation"]}
    return {
        kind: np.mean([win_shares_against_copies(player, code, setup, **deals) for code in codes], axis=0)
        for kind, codes in list_opponents(seed, players[BASE]).items()
    }


def measure_responses(players: Players, config: Config, console: Console) -> dict[str, list[np.ndarray]]:
    """Train a short best response to each player; return what it wins alone against copies of it, for each deal.

    Returns {variant: for each training seed [blocks]}.
    """
    names = [(variant, seed) for seed in config.seeds for variant in players]
    codes, out = [players[variant][seed] for variant, seed in names], config.out / config.recipe / "probes"
    probes = probe.create_probes(codes, config, total_timesteps=config.probe_timesteps, out=out)
    found: dict[str, list[np.ndarray]] = {variant: [] for variant in players}
    for (variant, seed), win_shares in zip(names, probe.train_responses(probes, **config.spread), strict=True):
        console.print(f"{variant}, seed {seed}: a response wins {win_shares.mean():.3f}", highlight=False)
        found[variant].append(win_shares)
    return found


def compare(variant: Sequence[np.ndarray], base: Sequence[np.ndarray]) -> dict[str, dict[str, Any]]:
    """Estimate a win share of a variant, and by how much it is above that of the base on the same deals.

    variant, base: for each training seed, the win shares [blocks].
    """
    gains = [run - other for run, other in zip(variant, base, strict=True)]
    return {"win_share": estimate_over_seeds(variant), "gain": estimate_over_seeds(gains)}


def compare_kinds(
    variant: Sequence[Mapping[str, np.ndarray]], base: Sequence[Mapping[str, np.ndarray]]
) -> dict[str, dict[str, Any]]:
    """Compare a variant with the base against each kind of opponents; return {kind: what `compare` returns}."""
    return {kind: compare([run[kind] for run in variant], [run[kind] for run in base]) for kind in base[0]}


def list_runs(variant: str, runs: Mapping[Path, Any], config: Config) -> list[dict[str, Any]]:
    """Return the training runs that a variant has of its own, with their seeds."""
    seeds = config.seeds if has_own_run(variant, config) else ()
    return [{"seed": seed} | runs[run_folder(variant, seed, config)] for seed in seeds]


def plot(results: dict[str, Any], path: Path) -> None:
    """Plot the gain in win share of each variant over the base: a panel per kind of opponents, a dot per seed."""
    base, variants = results[BASE], [variant for variant in results if variant != BASE]
    kinds = base["opponents"]
    panels = {f"against {kind}": [results[variant]["opponents"][kind] for variant in variants] for kind in kinds}
    if "response" in base:
        panels["a best response to it\n(less is better)"] = [results[variant]["response"] for variant in variants]
    figure = Figure(figsize=(3 * len(panels), 0.36 * len(variants) + 1.4), layout="tight")
    axes = figure.subplots(1, len(panels), sharey=True)
    for axis, (title, estimates) in zip(axes, panels.items(), strict=True):
        for row, gain in enumerate(estimate["gain"] for estimate in estimates):
            axis.plot(gain["seeds"], [row] * len(gain["seeds"]), "o", color="C0", alpha=0.35, markersize=4)
            axis.plot(gain["value"], row, "D", color="C0", markersize=6)
        axis.axvline(0, color="grey", linestyle=":")
        axis.set(title=title, xlabel="win share, more than base")
        axis.grid(alpha=0.3)
    axes[0].set_yticks(range(len(variants)), variants)
    axes[0].invert_yaxis()
    save_figure(figure, path)


def main(config: Config) -> None:
    """Train all variants, measure the win shares of their players, store the result and plot it."""
    started, console = time.monotonic(), Console()
    complete = add_needed_variants(config.variants or config.known, config)
    variants = [variant for variant in config.known if variant in complete]
    runs = {}
    for folder, run in train_variants(variants, config):
        console.print(f"{folder.name}: trained in {run['minutes']:.1f} minutes", highlight=False)
        runs[folder] = {name: run[name] for name in ("minutes", "commit", "config")}
    players = {variant: {seed: find_player(variant, seed, config) for seed in config.seeds} for variant in variants}
    win_shares = {
        variant: [measure_win_shares(variant, seed, players, config) for seed in config.seeds]
        for variant in track(variants, "measuring the players")
    }
    results = {
        variant: {
            "settings": config.known[variant],
            "runs": list_runs(variant, runs, config),
            "opponents": compare_kinds(found, win_shares[BASE]),
        }
        for variant, found in win_shares.items()
    }
    if config.probe_timesteps:
        responses = measure_responses(players, config, console)
        for variant, found in responses.items():
            results[variant]["response"] = compare(found, responses[BASE])
    path = write_result(f"ablation_{config.recipe}", config, results, started=started, question="ablation")
    plot(results, path.with_suffix(".png"))
