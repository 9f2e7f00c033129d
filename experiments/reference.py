"""Make the reference player, or train it on. `python -m experiments.reference [--begin net]`

Several seeds learn by self-play at tables of 3, 4 and 5, each in two stages: first among selves and quick players of
the ladder, then, for fewer decisions, with a search among them, against which a decision costs far more.
With `--begin` all seeds go on from a policy that is there, in the second stage. The one that does best in its worst
match, on deals apart from those of every other measurement, becomes `agents.make("net")`.
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
from experiments.training import all_trained, check_seeds, from_weights_of
from felicity_env.game import SETUPS
from train.run_folder import write_json

SEED = 2**56  # of the selection; apart from training (below 2**32) and all other measurements
STAGES = (
    "--hidden-sizes 256 256",
    "--mix self=0.1 anchor=0.15 ev=0.05 tuned=0.1 mc:50=0.3 --ent-coef 0.02 --learning-rate 0.0007",
)
LINEAGE = "lineage"  # in policy.json: how the policy was made, stage by stage
AGAINST = ("anchor", "ev", "tuned", "mc:100")
POINTS = (5, 5)  # of the learning curve in each stage


@dataclass(frozen=True)
class Config:
    """Train several seeds, choose, and pack the reference player."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """One run each."""
    begin: str | None = None
    """Code of the policy to begin from, such as net, in the second stage; without it all begins with random weights."""
    timesteps: tuple[int, int] = (28_000_000, 3_000_000)
    """Decisions learned from in each of the two stages."""
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

    @property
    def stages(self) -> tuple[int, ...]:
        """Numbers of those that are trained."""
        return (1,) if self.begin else (0, 1)

    def run_of(self, seed: int, stage: int) -> Path:
        """Where a seed's run lies."""
        return self.runs / f"stage{stage + 1}-seed{seed}"

    @property
    def start(self) -> Path:
        """Where the policy of `begin` is kept."""
        return self.runs / "start"


def prepare(config: Config) -> list[dict[str, Any]]:
    """Have the policy of `begin` in its folder; how it was made, stage by stage."""
    if not config.begin:
        return []
    policy = agents.make(config.begin)
    if not isinstance(policy, NetworkPlayer):
        raise ValueError(f"--begin {config.begin} is no network; give net or net:PATH")
    if not (config.start / "policy.json").exists():
        pack(policy.path, config.start)
    elif NetworkPlayer(str(config.start)).digest != policy.digest:
        raise ValueError(f"the runs in {config.runs} began with another policy than {config.begin}; take other --runs")
    about = policy.about
    unknown = {"command": f"python -m train --algorithm {about.get('algorithm')}", "commit": about.get("commit")}
    return about.get(LINEAGE) or [unknown]


def options_of(seed: int, stage: int, config: Config) -> list[str]:
    """For `python -m train`."""
    begin = ["--algorithm", "selfplay", "--num-players", *SETUPS, "--seed", seed]
    if stage:
        before = config.run_of(seed, stage - 1) if stage - 1 in config.stages else config.start
        begin += from_weights_of(NetworkPlayer(str(before)))
    size = ["--total-timesteps", config.timesteps[stage], "--threads", 1]
    measured = ["--against", *AGAINST, "--curve-every", max(1, config.timesteps[stage] // POINTS[stage])]
    few = ["--curve-blocks", 40, "--evaluation-blocks", 100]
    words = [*begin, *size, *measured, *few, *STAGES[stage].split()]
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


def described(seed: int, stage: int, run: dict[str, Any], config: Config) -> dict[str, Any]:
    """A stage of a seed, for the lineage."""
    command = shlex.join(["python", "-m", "train", *options_of(seed, stage, config)])
    decisions = run["curve"][-1]["timesteps"]
    return {"command": command, "commit": run["commit"], "decisions": decisions, "hours": round(run["minutes"] / 60, 2)}


def joined(stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The learning curve of a seed through its stages."""
    curve, before = [], 0
    for run in stages:
        curve += [point | {"timesteps": before + point["timesteps"]} for point in run["curve"]]
        before = curve[-1]["timesteps"]
    return curve


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


def all_stages(config: Config, console: Console) -> dict[int, list[dict[str, Any]]]:
    """Train every seed in all stages: {seed: what `trained` tells of each stage}."""
    runs: dict[int, list[dict[str, Any]]] = {seed: [] for seed in config.seeds}
    for stage in config.stages:
        console.print(f"stage {stage + 1}: progress is in {config.runs}/*.log", highlight=False)
        wanted = [(config.run_of(seed, stage), options_of(seed, stage, config)) for seed in config.seeds]
        for seed, run in zip(config.seeds, all_trained(wanted, workers=config.workers), strict=True):
            runs[seed].append(run)
    return runs


def main(config: Config) -> None:
    """Train, choose, pack and store."""
    started, console = time.monotonic(), Console()
    lineage, runs = prepare(config), []
    for seed, stages in all_stages(config, console).items():
        found = selection(f"net:{config.run_of(seed, config.stages[-1])}", config)
        run = {"seed": seed, "worst": worst(found), "selection": found}
        runs.append({**run, "curve": joined(stages), "stages": stages})
        console.print(f"seed {seed}: at least {worst(found):+.3f} over par", highlight=False)
    best = max(runs, key=lambda run: run["worst"])
    for stage, run in zip(config.stages, best["stages"], strict=True):
        lineage.append(described(best["seed"], stage, run, config))
    pack(config.run_of(best["seed"], config.stages[-1]), config.pack, **{LINEAGE: lineage})
    results = {"best": best["seed"], "runs": runs}
    settings = {name: value for name, value in asdict(config).items() if name not in ("runs", "pack")}
    path = write_result("reference", settings, results, started=started)
    plot(runs, RESULTS / "reference.png")
    console.print(f"seed {best['seed']} is the reference player in {config.pack}; written to {path}", highlight=False)


if __name__ == "__main__":
    run_command("reference", Config, main, interrupted=GOES_ON)
