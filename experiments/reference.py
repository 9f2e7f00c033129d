"""Make the reference player, or train it on. `python -m experiments.reference [--begin net]`

Several seeds learn by self-play at tables of 3, 4 and 5, each in two stages: first among selves and quick players of
the ladder, then, for fewer decisions, with a search among them, against which a decision costs far more.
With `--begin` they go on from the members of a policy that is there, in the second stage. `agents.make("net")` becomes
the mixture of all.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import shlex
import shutil
import time
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from rich.console import Console

import agents
from agents.mixture import PolicyPlayer
from agents.network import NetworkPlayer, description_of
from agents.table import REFERENCE
from experiments.command import GOES_ON, run_command
from experiments.results import RESULTS, write_result
from experiments.training import all_trained, check_seeds, from_weights_of
from train.run_folder import write_json

STAGES = (
    "--num-players 3 4 5 --hidden-sizes 256 256",
    "--num-players 3 4 4 5 --mix self=0.08 anchor=0.15 ev=0.05 tuned=0.07 mc:50=0.4 --ent-coef 0.02 "
    "--learning-rate 0.0007",
)
LINEAGE = "lineage"  # in policy.json: how the policy was made, stage by stage
AGAINST = ("anchor", "ev", "tuned", "mc:100")
POINTS = (5, 5)  # of the learning curve in each stage


@dataclass(frozen=True)
class Config:
    """Train several seeds, and pack the reference player."""

    seeds: tuple[int, ...] = (0, 1, 2)
    """One run each."""
    begin: str | None = None
    """Code of a policy whose members to begin from, such as net, in the second stage; without it all begins with random
    weights."""
    timesteps: tuple[int, int] = (28_000_000, 3_000_000)
    """Decisions learned from in each of the two stages."""
    workers: int = 2
    """Runs at a time, each on one core."""
    runs: Path = Path("runs/reference")
    """Where the run folders are kept; an interrupted command goes on from them."""
    pack: Path = REFERENCE
    """Folder that the policies are put into."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)

    @property
    def stages(self) -> tuple[int, ...]:
        """Numbers of those that are trained."""
        return (1,) if self.begin else (0, 1)

    def run_of(self, seed: int, stage: int) -> Path:
        """Where a seed's run lies."""
        return self.runs / f"stage{stage + 1}-seed{seed}"

    def before(self, seed: int, stage: int) -> Path:
        """Where the policy lies that a seed's run in a later stage begins with."""
        place = self.seeds.index(seed)
        return self.run_of(seed, stage - 1) if stage - 1 in self.stages else self.runs / f"start{place}"


def prepare(config: Config) -> None:
    """Have the policies of `begin` in their folders."""
    if not config.begin:
        return
    policy = agents.make(config.begin)
    if not isinstance(policy, PolicyPlayer):
        raise ValueError(f"--begin {config.begin} is no network; give net or net:PATH")
    for seed, member in zip(config.seeds, cycle(policy.members), strict=False):
        start = config.before(seed, 1)
        if not (start / "policy.json").exists():
            pack(member.path, start)
        elif NetworkPlayer(str(start)).digest != member.digest:
            raise ValueError(f"the runs in {config.runs} did not begin with {config.begin}; take other --runs")


def options_of(seed: int, stage: int, config: Config) -> list[str]:
    """For `python -m train`."""
    begin = ["--algorithm", "selfplay", "--seed", seed]
    if stage:
        begin += from_weights_of(NetworkPlayer(str(config.before(seed, stage))))
    size = ["--total-timesteps", config.timesteps[stage], "--threads", 1]
    measured = ["--against", *AGAINST, "--curve-every", max(1, config.timesteps[stage] // POINTS[stage])]
    few = ["--curve-blocks", 40, "--evaluation-blocks", 100]
    words = [*begin, *size, *measured, *few, *STAGES[stage].split()]
    return [str(word) for word in words]


def pack(policy: Path, folder: Path, **about: Any) -> None:
    """Copy a policy into a folder, with more in its JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    description = description_of(policy)
    shutil.copyfile(description.with_suffix(".safetensors"), folder / "policy.safetensors")
    write_json(folder / "policy.json", json.loads(description.read_text()) | about)


def pack_all(runs: dict[int, list[dict[str, Any]]], config: Config) -> None:
    """Put the last policy of every seed into a folder of its own in `config.pack`, in place of what was there."""
    for old in [*config.pack.glob("policy.*"), *config.pack.glob("*/policy.*")]:
        old.unlink()
    for place, (seed, stages) in enumerate(runs.items()):
        folder, lineage = config.pack / str(place), lineage_of(seed, stages, config)
        pack(config.run_of(seed, config.stages[-1]), folder, **{LINEAGE: lineage})


def lineage_of(seed: int, runs: list[dict[str, Any]], config: Config) -> list[dict[str, Any]]:
    """How a policy was made, stage by stage."""
    before = NetworkPlayer(str(config.before(seed, 1))).about.get(LINEAGE, []) if config.begin else []
    return [*before, *(described(seed, stage, run, config) for stage, run in zip(config.stages, runs, strict=True))]


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
    """Train, pack and store."""
    started, console = time.monotonic(), Console()
    prepare(config)
    runs = all_stages(config, console)
    pack_all(runs, config)
    results = [{"seed": seed, "curve": joined(stages), "stages": stages} for seed, stages in runs.items()]
    settings = {name: value for name, value in asdict(config).items() if name not in ("runs", "pack")}
    path = write_result("reference", settings, results, started=started)
    plot(results, RESULTS / "reference.png")
    console.print(f"the reference player is in {config.pack}; written to {path}", highlight=False)


if __name__ == "__main__":
    run_command("reference", Config, main, interrupted=GOES_ON)
