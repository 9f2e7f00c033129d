"""Question: how much of the gain of long best responses does a short one find? `python -m experiments probe`

A probe is one best response that learns for a few minutes: from the target's own weights if the target is a policy, and
from random weights otherwise. If the question `exploit`, which trains several responses for longer, has a result about
the same player, the gain is compared with it. So one knows what a probe says about players that were probed only.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from agents.arena.estimates import estimate_share
from agents.identity import identify_player
from agents.registry import check_players
from agents.tasks.options import Workers
from agents.tools.markdown import format_estimate
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least
from experiments.results import find_result, write_result
from experiments.runs import train_runs
from experiments.strength import exploit
from felicity_env.setups import describe_setup


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Train a short best response to each of some players, and compare what it gains with stored long ones."""

    resumes: ClassVar[bool] = True
    targets: tuple[str, ...] = ("ev", "tuned", "reckless", "net-1", "net")
    """Codes of the players to exploit."""
    total_timesteps: int = 8_000_000
    """Number of decisions to learn from in the training of each response."""
    num_deals: int = 1500
    """Number of deals that measure each response, each under all rotations of the seats."""
    out: Path = Path("runs/probe")
    """Folder of the training runs; the same command, given again, continues them."""
    fresh: bool = False
    """Train all responses again, also those in --out; for a player whose changes cannot be seen in its code."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_players(self, "targets")
        check_at_least(self, total_timesteps=1, num_deals=2)
        _ = self.probes  # checks their settings

    @property
    def probes(self) -> list[exploit.Config]:
        """Settings of the question `exploit` for the short response to each target."""
        return create_probes(self.targets, self, total_timesteps=self.total_timesteps, out=self.out)


def create_probes(targets: Sequence[str], config: Any, *, total_timesteps: int, out: Path) -> list[exploit.Config]:
    """Return the settings of the question `exploit` for one short response to each player.

    config: settings with `num_players`, `setup` and `num_deals`. total_timesteps, out: as in `Config`.
    """
    shared = {name: getattr(config, name) for name in ("num_players", "setup", "num_deals")}
    probe = exploit.Config(target=targets[0], seeds=(0,), total_timesteps=total_timesteps, out=out, **shared)
    starts = [[*exploit.list_starts(target)][-1] for target in targets]  # own weights if there are some
    return [replace(probe, target=target, starts=(start,)) for target, start in zip(targets, starts, strict=True)]


def train_responses(probes: Sequence[exploit.Config], **spread: Any) -> Iterator[np.ndarray]:
    """Train the responses, and yield the win share of each, for each deal [blocks], in the same order.

    spread: number of workers, and cluster, as in `train_runs`.
    """
    runs = []
    for settings in probes:
        (start,) = settings.starts
        weights = exploit.list_starts(settings.target)[start][-1]
        runs.append((exploit.run_folder(start, 0, settings), exploit.create_config(0, weights, settings)))
    for settings, _ in zip(probes, train_runs(runs, **spread), strict=True):
        yield exploit.play_response(settings.starts[0], 0, settings, deals_seed=SEEDS["exploit, report"])


def measure_gains(probes: Sequence[exploit.Config], **spread: Any) -> Iterator[dict[str, float]]:
    """Train the responses, and yield what each gains over par, with its interval, in the same order."""
    for settings, win_shares in zip(probes, train_responses(probes, **spread), strict=True):
        win_share = asdict(estimate_share(win_shares))
        yield {name: win_share[name] - settings.par for name in ("value", "low", "high")}


def is_comparable(row: Mapping[str, Any], timesteps: int, long: Mapping[str, Any]) -> bool:
    """Return whether stored long best responses show which part of a gain the probe of the same player found.

    row: of the result of this question. timesteps: number of decisions that the probe learned from. long: result of the
    question `exploit`. The long responses must have gained something, from more decisions than the probe. The player
    must have the same weights; if its code has a part after a colon, such as the name of a user's file, the digests of
    the whole player must be equal instead.
    """
    config, results, part = long["config"], long["results"], "digest" if ":" in row["target"] else "weights"
    is_same = row["target"] == config["target"] and row[part] == results.get(part, "")
    is_alone = config["num_learners"] == 1
    return is_same and is_alone and config["total_timesteps"] > timesteps and results["gain"]["low"] > 0


def describe_gain(settings: exploit.Config, row: Mapping[str, Any]) -> str:
    """Return a line about what a probe gains, and which share of the gain of long responses that is, if it is known."""
    text, path = f"{settings.target}: {format_estimate(row['probe'])}", find_result(settings.result_name)
    long = json.loads(path.read_text()) if path else None
    if long is None or not is_comparable(row, settings.total_timesteps, long):
        return text
    full = long["results"]["gain"]
    return f"{text}, {row['probe']['value'] / full['value']:.0%} of {format_estimate(full)}"


def main(config: Config) -> None:
    """Train the responses, print each gain beside that of the long responses as soon as it is known, and store all."""
    started, console, rows = time.monotonic(), Console(), []
    probes = config.probes
    for settings in probes:
        folders = [exploit.run_folder(start, 0, settings) for start in settings.starts]
        exploit.prepare_folders(settings.target, folders, fresh=config.fresh)
    for settings, gain in zip(probes, measure_gains(probes, **config.spread), strict=True):
        identity = identify_player(settings.target)
        about = {"target": settings.target, "digest": identity.digest, "weights": identity.weights}
        rows.append(about | {"probe": gain})
        console.print(describe_gain(settings, rows[-1]), highlight=False)
    write_result("probe", config, {**describe_setup(config.chosen_setup), "rows": rows}, started=started)
