"""Make the reference player, or train it on. `python -m experiments.reference [--begin net]`

A network is distilled from search (`python -m train.distill`), or taken from a policy that is there. Several seeds go
on from it by self-play, held near a slow average of themselves, at tables of 3, 4 and 5 with selves, players of the
ladder, the network of the start and a search. The one that does best in its worst match, on deals apart from those of
every other measurement, becomes `agents.make("net")`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import shlex
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from rich.console import Console

import agents
from agents.arena import shares_alone
from agents.estimates import bootstrap
from agents.network import NetworkPlayer, description_of
from agents.table import REFERENCE
from experiments.command import GOES_ON, run_command
from experiments.results import RESULTS, write_result
from experiments.training import all_trained, check_seeds, distilled
from felicity_env.game import SETUPS
from train.run_folder import write_json

SEED = 2**56  # of the selection; apart from training (below 2**32) and all other measurements
NETWORK = "--raises --hidden-sizes 256 256"
RECIPE = "--kl-coef 0.1 --average-decay 0.99 --learning-rate 0.0005 --ent-coef 0.05 --ent-coef-end 0.015"
MIX = "self=0.32 anchor=0.22 ev=0.06 tuned=0.16 mc:50=0.12"
START_SHARE = 0.1  # of the games, against the network of the start
LINEAGE = "lineage"  # in policy.json: how the policy was made, stage by stage
AGAINST = ("anchor", "ev", "tuned", "mc:100")


@dataclass(frozen=True)
class Config:
    """Distill, train several seeds, choose, and pack the reference player."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """One run each."""
    begin: str | None = None
    """Code of the policy to begin from, such as net; a new network is distilled without it."""
    total_timesteps: int = 10_000_000
    """Decisions learned from in a run."""
    mix: str = MIX
    """Who sits opposite, as for `python -m train`; the network of the start comes to them."""
    num_blocks: int = 300
    """Deals for each match of the selection, each under all rotations of the seats."""
    workers: int = 2
    """Runs at a time, each on one core."""
    runs: Path = Path("runs/reference")
    """Where the run folders are kept; an interrupted command goes on from them."""
    pack: Path = REFERENCE
    """Folder that the policy is put into."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        if self.num_blocks < 2:
            raise ValueError("--num-blocks must be at least 2")

    def run_of(self, seed: int) -> Path:
        """Where a seed's run lies."""
        return self.runs / f"seed{seed}"

    @property
    def start(self) -> Path:
        """Where the network lies that all seeds begin with."""
        return self.runs / "start"


def prepare(config: Config) -> list[dict[str, Any]]:
    """Have the network of the start in its folder; how it was made, stage by stage."""
    if config.begin is None:
        distilled(config.start, ["--threads", str(config.workers)])
    else:
        _copy_start(config.begin, config)
    about = json.loads((config.start / "policy.json").read_text())
    how = "train.distill" if about.get("algorithm") == "distill" else f"train --algorithm {about.get('algorithm')}"
    return about.get(LINEAGE) or [{"command": f"python -m {how}", "commit": about.get("commit")}]


def _copy_start(code: str, config: Config) -> None:
    policy = agents.make(code)
    if not isinstance(policy, NetworkPlayer):
        raise ValueError(f"--begin {code} is no network; give net or net:PATH")
    if not (config.start / "policy.json").exists():
        pack(policy.path, config.start)
    elif NetworkPlayer(str(config.start)).digest != policy.digest:
        raise ValueError(f"the runs in {config.runs} began with another policy than {code}; choose another --runs")


def options_of(seed: int, config: Config) -> list[str]:
    """For `python -m train`."""
    begin = ["--algorithm", "selfplay", "--init", config.start, "--num-players", *SETUPS, "--seed", seed]
    size = ["--total-timesteps", config.total_timesteps, "--threads", 1, "--save-every", 5]
    measured = ["--against", *AGAINST, "--curve-every", max(1, config.total_timesteps // 6)]
    few = ["--curve-blocks", 40, "--evaluation-blocks", 100]
    mix = ["--mix", *config.mix.split(), f"net:{config.start}={START_SHARE}"]
    words = [*begin, *size, *measured, *few, *NETWORK.split(), *RECIPE.split(), *mix]
    return [str(word) for word in words]


def selection(code: str, config: Config) -> list[dict[str, Any]]:
    """Win share alone against copies of each of the others, at 3, 4 and 5 players."""
    found = []
    for n in SETUPS:
        for other in AGAINST:
            shares = shares_alone(agents.make(code), other, n, num_blocks=config.num_blocks, seed=SEED)
            found.append({"num_players": n, "rest": other, "par": 1 / n, "win_share": asdict(bootstrap(shares))})
    return found


def worst(matches: list[dict[str, Any]]) -> float:
    """The least gain over par."""
    return min(match["win_share"]["value"] - match["par"] for match in matches)


def pack(run: Path, folder: Path, **about: Any) -> None:
    """Copy a run's policy into a folder, with more in its JSON; what else is in the folder stays."""
    folder.mkdir(parents=True, exist_ok=True)
    description = description_of(run)
    shutil.copyfile(description.with_suffix(".safetensors"), folder / "policy.safetensors")
    write_json(folder / "policy.json", json.loads(description.read_text()) | about)


def stage(seed: int, run: dict[str, Any], config: Config) -> dict[str, Any]:
    """How the policy of a seed was made from that of the start."""
    command = shlex.join(["python", "-m", "train", *options_of(seed, config)])
    decisions = run["curve"][-1]["timesteps"]
    return {"command": command, "commit": run["commit"], "decisions": decisions, "hours": round(run["minutes"] / 60, 2)}


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
    lineage = prepare(config)
    console.print(f"training {len(config.seeds)} runs; progress is in {config.runs}/seed*.log", highlight=False)
    wanted = [(config.run_of(seed), options_of(seed, config)) for seed in config.seeds]
    runs = []
    for seed, run in zip(config.seeds, all_trained(wanted, workers=config.workers), strict=True):
        found = selection(f"net:{config.run_of(seed)}", config)
        runs.append({"seed": seed, "worst": worst(found), "selection": found, **run})
        console.print(f"seed {seed}: at least {worst(found):+.3f} over par", highlight=False)
    best = max(runs, key=lambda run: run["worst"])
    lineage.append(stage(best["seed"], best, config))
    pack(config.run_of(best["seed"]), config.pack, **{LINEAGE: lineage})
    results = {"best": best["seed"], "runs": runs}
    settings = {name: value for name, value in asdict(config).items() if name not in ("runs", "pack")}
    path = write_result("reference", settings, results, started=started)
    plot(runs, RESULTS / "reference.png")
    console.print(f"seed {best['seed']} is the reference player in {config.pack}; written to {path}", highlight=False)


if __name__ == "__main__":
    run_command("reference", Config, main, interrupted=GOES_ON)
