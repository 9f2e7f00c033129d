"""Make the reference player. `python -m experiments.reference`

A network is distilled from search (`python -m train.distill`), then several seeds go on from it by self-play, held near
it by a penalty, at tables of 3, 4 and 5 with selves, players of the ladder, the distilled network and a search. The one
that does best in its worst match, on deals apart from those of every other measurement, becomes `agents.make("net")`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import shlex
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from rich.console import Console

import agents
from agents.arena import bootstrap, play_blocks
from agents.table import REFERENCE
from experiments.command import GOES_ON, run_command
from experiments.results import RESULTS, write_result
from experiments.training import all_trained, distilled
from felicity_env.game import SETUPS

SEED = 2**56  # of the selection; apart from training (below 2**32) and all other measurements
RECIPE = (
    "--raises --hidden-sizes 256 256 --kl-coef 0.1 --average-decay 1.0 --learning-rate 0.0004 --mix self=0.35 "
    "anchor=0.15 ev=0.1 tuned=0.1 mc:100=0.15"
)
DISTILLED_SHARE = 0.15  # of the games, against the distilled network
AGAINST = ("anchor", "ev", "tuned", "mc:100")


@dataclass(frozen=True)
class Config:
    """Distill, train several seeds, choose, and pack the reference player."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """One run each."""
    total_timesteps: int = 10_000_000
    """Decisions learned from in a run."""
    num_blocks: int = 300
    """Deals for each match of the selection, each under all rotations of the seats."""
    workers: int = 2
    """Runs at a time, each on one core."""
    runs: Path = Path("runs/reference")
    """Where the run folders are kept; an interrupted command goes on from them."""
    pack: Path = REFERENCE
    """Folder that the policy is put into."""

    def run_of(self, seed: int) -> Path:
        """Where a seed's run lies."""
        return self.runs / f"seed{seed}"

    @property
    def distilled(self) -> Path:
        """Where the distilled network lies."""
        return self.runs / "distilled"


def options_of(seed: int, config: Config) -> list[str]:
    """For `python -m train`."""
    begin = ["--algorithm", "selfplay", "--init", config.distilled, "--num-players", *SETUPS, "--seed", seed]
    size = ["--total-timesteps", config.total_timesteps, "--threads", 1, "--save-every", 5]
    measured = ["--against", *AGAINST, "--curve-every", max(1, config.total_timesteps // 10)]
    few = ["--curve-blocks", 40, "--evaluation-blocks", 100]
    words = [*begin, *size, *measured, *few, *RECIPE.split(), f"net:{config.distilled}={DISTILLED_SHARE}"]
    return [str(word) for word in words]


def selection(code: str, config: Config) -> list[dict[str, Any]]:
    """Win share alone against copies of each of the others, at 3, 4 and 5 players."""
    found = []
    for n in SETUPS:
        for other in AGAINST:
            seating = [agents.make(code), *(agents.make(other) for _ in range(n - 1))]
            share = bootstrap(play_blocks(seating, num_blocks=config.num_blocks, seed=SEED).mean_of(0))
            found.append({"num_players": n, "rest": other, "par": 1 / n, "win_share": asdict(share)})
    return found


def worst(matches: list[dict[str, Any]]) -> float:
    """The least gain over par."""
    return min(match["win_share"]["value"] - match["par"] for match in matches)


def pack(run: Path, folder: Path) -> None:
    """Put a run's policy where `agents.make("net")` finds it; what else is there stays."""
    folder.mkdir(exist_ok=True)
    for name in ("policy.safetensors", "policy.json"):
        shutil.copyfile(run / name, folder / name)


def plot(runs: list[dict[str, Any]], path: Path) -> None:
    """Learning curves of all seeds: a panel for each number of players and each kind of opponent."""
    first = runs[0]["curve"][0]["results"]
    size = (3 * len(AGAINST), 2.3 * len(first))
    figure, axes = plt.subplots(len(first), len(AGAINST), figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, (table, line) in enumerate(zip(first, axes, strict=True)):
        for axis, code in zip(line, AGAINST, strict=True):
            for run in runs:
                shares = [point["results"][row]["win_share"][code]["value"] for point in run["curve"]]
                axis.plot([point["timesteps"] / 1e6 for point in run["curve"]], shares, label=f"seed {run['seed']}")
            axis.axhline(table["par"], color="grey", linestyle=":", label="par")
            axis.grid(alpha=0.3)
            axis.set_title(f"against {table['num_players'] - 1} x {code}", fontsize=9)
        line[0].set_ylabel("win share")
    for axis in axes[-1]:
        axis.set_xlabel("million decisions")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main(config: Config) -> None:
    """Distill, train, choose, pack and store."""
    started, console = time.monotonic(), Console()
    distilled(config.distilled, ["--threads", str(config.workers)])
    console.print(f"training {len(config.seeds)} runs; progress is in {config.runs}/seed*.log", highlight=False)
    wanted = [(config.run_of(seed), options_of(seed, config)) for seed in config.seeds]
    runs = []
    for seed, run in zip(config.seeds, all_trained(wanted, workers=config.workers), strict=True):
        found = selection(f"net:{config.run_of(seed)}", config)
        runs.append({"seed": seed, "worst": worst(found), "selection": found, **run})
        console.print(f"seed {seed}: at least {worst(found):+.3f} over par", highlight=False)
    best = max(runs, key=lambda run: run["worst"])
    pack(config.run_of(best["seed"]), config.pack)
    command = shlex.join(["python", "-m", "train", *options_of(best["seed"], config)])
    results = {"best": best["seed"], "command": command, "runs": runs}
    settings = {name: value for name, value in asdict(config).items() if name not in ("runs", "pack")}
    path = write_result("reference", settings, results, started=started)
    plot(runs, RESULTS / "reference.png")
    console.print(f"seed {best['seed']} is the reference player in {config.pack}; written to {path}", highlight=False)


if __name__ == "__main__":
    run_command("reference", Config, main, interrupted=GOES_ON)
