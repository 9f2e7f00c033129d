"""Make the reference player: `python -m experiments.reference`

It begins with a network distilled from search (`train.distill`). From there several seeds learn by self-play at tables
of 3, 4 and 5, held near a slow average of themselves, with players of the ladder among the others. Then follow rounds
of a league: each seed becomes a best response to the mixture of all, then all seeds learn on with these, and those of
the rounds before, as guests; in the late rounds with less entropy and a few searches among the others, then with more
of them, and in the last ones with an amortised search, which has seen what a search does at tables of the newest
mixture (`train.imitate`), and is so fast that the seeds learn from many more decisions. `agents.make("net")` becomes
the mixture of all seeds.

With `--first-round` it goes on from the reference player that is packed, without the run folders of the rounds before.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import shlex
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from rich.console import Console

from agents.mixture import network_player
from agents.network import NetworkPlayer, description_of
from agents.table import REFERENCE
from experiments.command import GOES_ON, run_command
from experiments.results import write_result
from experiments.training import DISTILLED_LAYERS, all_trained, check_seeds, made
from train.run_folder import CONFIG, RunError, write_json

LEARNING_RATE = 0.0005
FIRST = (
    "--kl-coef 0.1 --ent-coef 0.01 --ent-coef-end 0.003 "
    "--mix self=0.15 anchor=0.2 ev=0.2 tuned=0.2 net:{distilled}=0.25"
)
EXPLOITER = "--ent-coef 0.003 --ent-coef-end 0 --mix net:{mixture}=1"
EARLY = (
    "--ent-coef 0.02 --ent-coef-end 0.01 "
    "--mix self=0.1 anchor=0.2 ev=0.1 tuned=0.25 net:{distilled}=0.1 --guests {exploiters}"
)
LATE = (
    "--ent-coef 0.01 --ent-coef-end 0.003 --mix self=0.1 anchor=0.25 ev=0.1 tuned=0.15 "
    "mc:50=0.05 net:{distilled}=0.1 --guests mc:100=0.1 {exploiters}"
)
SEARCHES = (
    "--ent-coef 0.01 --ent-coef-end 0.003 --mix self=0.05 anchor=0.2 ev=0.08 tuned=0.12 "
    "mc:100=0.35 --guests mc:100=0.05 {exploiters}"
)
AMORTISED = (
    "--num-envs 2048 --num-steps 32 --update-epochs 2 --ent-coef 0.01 --ent-coef-end 0.003 "
    "--mix self=0.1 anchor=0.17 ev=0.1 tuned=0.1 amortised:{search}=0.4 "
    "--guests anchor=0.03 amortised:{search}=0.1 {exploiters}"
)
ROUNDS = (*[EARLY] * 4, *[LATE] * 2, *[SEARCHES] * 2, *[AMORTISED] * 6)  # of the league
EXPLOITERS_WEIGHTS = (0.15, 0.1)  # beside those of the mix: of all the newest, of all those of the rounds before
LINEAGE = "lineage"  # in policy.json: how the policy was made, step by step
AGAINST = ("anchor", "ev", "tuned")
RESPONSES = "best responses"  # their column of the plot
POINTS = 4  # of the learning curve in a run


def amortised_rounds() -> list[int]:
    """Numbers of the rounds against amortised searches."""
    return [1 + k for k, text in enumerate(ROUNDS) if text == AMORTISED]


@dataclass(frozen=True)
class Config:
    """Train several seeds, and pack the reference player."""

    seeds: tuple[int, ...] = (0, 1, 2, 3)
    """One policy each."""
    num_players: tuple[int, ...] = (3, 4, 5)
    """Seats at the tables."""
    first_timesteps: int = 10_000_000
    """Decisions that each seed learns from before the league."""
    exploiter_timesteps: int = 1_500_000
    """Decisions that each best response learns from."""
    round_timesteps: int = 1_500_000
    """Decisions that each seed learns from in a round of the league."""
    amortised_timesteps: int = 15_000_000
    """The same in a round against an amortised search."""
    first_round: int = 0
    """Round to begin with, 0 for the whole; one against an amortised search can go on from the policies in `pack`."""
    last_round: int | None = None
    """Round to end with, by default the last there is; later the same command without it goes on."""
    distill: str = ""
    """More settings of `python -m train.distill`, as one text."""
    imitate: str = ""
    """More settings of `python -m train.imitate`, as one text."""
    workers: int = 2
    """Runs at a time, each on one core."""
    runs: Path = Path("runs/reference")
    """Where the run folders are kept; an interrupted command goes on from them."""
    pack: Path = REFERENCE
    """Folder that the policies are put into."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        possible = [0, *amortised_rounds()]
        if self.first_round not in possible:
            raise ValueError(f"--first-round must be one of {possible}, not {self.first_round}")
        if not self.first_round <= self.end <= len(ROUNDS):
            raise ValueError(f"--last-round must be {self.first_round} to {len(ROUNDS)}, not {self.end}")

    @property
    def end(self) -> int:
        """The round to end with."""
        return len(ROUNDS) if self.last_round is None else self.last_round

    @property
    def name(self) -> str:
        """Of the result."""
        return f"reference_from_{self.first_round}" if self.first_round else "reference"

    @property
    def distilled(self) -> Path:
        """Where the network lies that all seeds begin with."""
        return self.runs / "distilled"

    def policy(self, seed: int, number: int) -> Path:
        """Where a seed's run in a round of the league lies; 0: the one before the first round."""
        return self.runs / f"round{number}-seed{seed}"

    def begin(self, seed: int, number: int) -> Path:
        """Where the policy lies that a seed begins a round with."""
        if number > self.first_round:
            return self.policy(seed, number - 1)
        return self.mixture(number - 1) / str(self.seeds.index(seed))

    def exploiter(self, seed: int, number: int) -> Path:
        """Where the best response lies that began with a seed's policy and is met from a round on."""
        return self.runs / f"exploiter{number}-seed{seed}"

    def mixture(self, number: int) -> Path:
        """Where the mixture of all seeds after a round lies."""
        return self.runs / f"mixture{number}"

    def search(self, number: int) -> Path:
        """Where the amortised search lies that is met in a round."""
        return self.runs / f"search{number}"


def policy_options(seed: int, number: int, config: Config) -> list[str]:
    """For `python -m train`: a seed before the league (number 0) or in a round of it."""
    names = {"distilled": shlex.quote(str(config.distilled))}
    if not number:
        return _options(FIRST.format(**names), seed, config.first_timesteps, config.distilled, AGAINST, config)
    names["exploiters"] = " ".join(_exploiters(number, config))
    names["search"] = shlex.quote(str(config.search(number)))
    own, begin = ROUNDS[number - 1].format(**names), config.begin(seed, number)
    timesteps = config.amortised_timesteps if number in amortised_rounds() else config.round_timesteps
    return _options(own, seed, timesteps, begin, AGAINST, config)


def _exploiters(number: int, config: Config) -> Iterator[str]:
    """NAME=WEIGHT of every best response that is met in a round."""
    newest, older = EXPLOITERS_WEIGHTS
    first = max(1, config.first_round)
    for earlier in range(first, number + 1):
        weight = newest if earlier == number else older / (number - first)
        for seed in config.seeds:
            yield shlex.quote(f"net:{config.exploiter(seed, earlier)}={weight / len(config.seeds):.4f}")


def exploiter_options(seed: int, number: int, config: Config) -> list[str]:
    """For `python -m train`: the best response to the mixture that begins with a seed's policy, met from a round on."""
    mixture, begin = config.mixture(number - 1), config.begin(seed, number)
    against = (f"net:{mixture}",)
    return _options(
        EXPLOITER.format(mixture=shlex.quote(str(mixture))), seed, config.exploiter_timesteps, begin, against, config
    )


def _options(own: str, seed: int, timesteps: int, begin: Path, against: Sequence[str], config: Config) -> list[str]:
    begun = ["--algorithm", "selfplay", "--seed", seed, "--init", begin, *DISTILLED_LAYERS.split()]
    size = ["--num-players", *config.num_players, "--total-timesteps", timesteps, "--threads", 1, "--save-every", 100]
    measured = ["--against", *against, "--curve-every", max(1, timesteps // POINTS), "--evaluation-blocks", 200]
    words = [*begun, "--learning-rate", LEARNING_RATE, *size, *measured]
    return [str(word) for word in words] + shlex.split(own)


def pack(policy: Path, folder: Path, **about: Any) -> None:
    """Copy a policy into a folder, with more in its JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    description = description_of(policy)
    shutil.copyfile(description.with_suffix(".safetensors"), folder / "policy.safetensors")
    write_json(folder / "policy.json", json.loads(description.read_text()) | about)


@dataclass(frozen=True)
class Round:
    """What `trained` tells of the runs of a round, one for each seed, and how the search was amortised that they met.

    There are no exploiters in round 0, and amortised searches in the last rounds alone.
    """

    exploiters: list[dict[str, Any]]
    policies: list[dict[str, Any]]
    search: dict[str, Any] | None


def train_round(number: int, config: Config) -> Round:
    """Amortise the search of a round, train its best responses, then all seeds, and make their mixture."""
    search = amortised_search(number, config) if number in amortised_rounds() else None
    seeds = config.seeds if number else ()
    responses = [(config.exploiter(seed, number), exploiter_options(seed, number, config)) for seed in seeds]
    exploiters = list(all_trained(responses, workers=config.workers))
    wanted = [(config.policy(seed, number), policy_options(seed, number, config)) for seed in config.seeds]
    policies = list(all_trained(wanted, workers=config.workers))
    for place, seed in enumerate(config.seeds):
        pack(config.policy(seed, number), config.mixture(number) / str(place))
    return Round(exploiters, policies, search)


def distilled_network(config: Config) -> dict[str, Any]:
    """Make the network that all seeds begin with, or what is missing of it: a step for their lineages."""
    return _made("distilled", "train.distill", config.distilled, shlex.split(config.distill), config)


def amortised_search(number: int, config: Config) -> dict[str, Any]:
    """Imitate the search that is met in a round, or what is missing of it: a step for the lineages."""
    name, options = f"amortised search {number}", search_options(number, config)
    return _made(name, "train.imitate", config.search(number), options, config)


def search_options(number: int, config: Config) -> list[str]:
    """For `python -m train.imitate`: at tables of the newest mixture; with the samples of the rounds before."""
    before = [earlier for earlier in amortised_rounds() if config.first_round <= earlier < number]
    also = ["--also", *(str(config.search(earlier)) for earlier in before)] if before else []
    mixture = config.mixture(number - 1)
    own = ["--others", f"net:{mixture}", "--init", str(mixture), "--seed", str(number)]  # other deals in each round
    return [*own, *also, *shlex.split(config.imitate)]


def _made(name: str, module: str, folder: Path, options: list[str], config: Config) -> dict[str, Any]:
    made(module, folder, ["--threads", str(config.workers), *options])
    begun = json.loads((folder / CONFIG).read_text())
    command = shlex.join(["python", "-m", module, "--run", str(folder), *options])
    return {"step": name, "command": command, "commit": begun["commit"]}


def beginnings(config: Config) -> list[list[dict[str, Any]]]:
    """What all seeds begin with, made or unpacked: the lineage of each."""
    if not config.first_round:
        return [[distilled_network(config)] for _ in config.seeds]
    begun = [config.begin(seed, config.first_round) for seed in config.seeds]
    if not description_of(begun[-1]).exists():  # else the pack may hold a later player by now
        unpack(config.pack, begun)
    return [NetworkPlayer(str(policy)).about.get(LINEAGE, []) for policy in begun]


def unpack(packed: Path, folders: Sequence[Path]) -> None:
    """Copy the policies of a packed player, which must be as many, into these folders."""
    members = network_player(str(packed)).members
    if len(members) != len(folders):
        raise RunError(f"{packed} holds {len(members)} policies, and there are {len(folders)} seeds")
    for member, folder in zip(members, folders, strict=True):
        pack(member.path, folder)


def lineage(place: int, start: list[dict[str, Any]], rounds: dict[int, Round], config: Config) -> list[dict[str, Any]]:
    """How the policy in a place was made, step by step."""
    seed, steps = config.seeds[place], list(start)
    for number, runs in rounds.items():
        if runs.search:
            steps.append(runs.search)
        if number:
            options = exploiter_options(seed, number, config)
            steps.append(_step(f"best response {number}", options, runs.exploiters[place]))
        name = f"round {number}" if number else "before the league"
        steps.append(_step(name, policy_options(seed, number, config), runs.policies[place]))
    return steps


def _step(name: str, options: list[str], run: dict[str, Any]) -> dict[str, Any]:
    command, decisions = shlex.join(["python", "-m", "train", *options]), run["curve"][-1]["timesteps"]
    hours = round(run["minutes"] / 60, 2)
    return {"step": name, "command": command, "commit": run["commit"], "decisions": decisions, "hours": hours}


def pack_all(lineages: Sequence[list[dict[str, Any]]], config: Config) -> None:
    """Put the last policy of every seed into a folder of its own in `config.pack`, in place of what was there."""
    for old in [*config.pack.glob("policy.*"), *config.pack.glob("*/policy.*")]:
        old.unlink()
        if not any(old.parent.iterdir()):  # what is left must not pass for a member that lost its policy
            old.parent.rmdir()
    for place, seed in enumerate(config.seeds):
        pack(config.policy(seed, config.end), config.pack / str(place), **{LINEAGE: lineages[place]})


def curves(place: int, rounds: dict[int, Round]) -> dict[str, list[dict[str, Any]]]:
    """A seed's learning curve, through all rounds, and what best responses won of the mixture before each."""
    curve, responses, before = [], [], 0
    for number, runs in rounds.items():
        if number:
            responses.append({"timesteps": before, "results": runs.exploiters[place]["results"]})
        curve += [point | {"timesteps": before + point["timesteps"]} for point in runs.policies[place]["curve"]]
        before = curve[-1]["timesteps"]
    return {"curve": curve, "best_responses": responses}


def plot(runs: Sequence[dict[str, Any]], path: Path) -> None:
    """By number of players: the learning curves of all seeds against each player, and what best responses won."""
    tables = runs[0]["curve"][0]["results"]
    columns = [*AGAINST, RESPONSES]
    size = (3 * len(columns), 2.3 * len(tables))
    figure, axes = plt.subplots(len(tables), len(columns), figsize=size, sharex=True, sharey="row", squeeze=False)
    for row, (table, line) in enumerate(zip(tables, axes, strict=True)):
        for axis, name in zip(line, columns, strict=True):
            for run in runs:
                points = run["best_responses"] if name == RESPONSES else run["curve"]
                shares = [_share(point["results"][row], name) for point in points]
                style = "o" if name == RESPONSES else "-"
                axis.plot([point["timesteps"] / 1e6 for point in points], shares, style, label=f"seed {run['seed']}")
            axis.axhline(table["par"], color="grey", linestyle=":", label="par")
            axis.grid(alpha=0.3)
            title = f"{name} against {{}} x mixture" if name == RESPONSES else f"against {{}} x {name}"
            axis.set_title(title.format(table["num_players"] - 1), fontsize=9)
        line[0].set_ylabel("win share")
    for axis in axes[-1]:
        axis.set_xlabel("million decisions")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _share(table: dict[str, Any], name: str) -> float:
    """Of one against copies of a player; best responses met only the mixture."""
    shares = table["win_share"]
    return (next(iter(shares.values())) if name == RESPONSES else shares[name])["value"]


def main(config: Config) -> None:
    """Train, pack and store."""
    started, console = time.monotonic(), Console()
    starts, rounds = beginnings(config), {}
    for number in range(config.first_round, config.end + 1):
        console.print(f"round {number} of {config.end}: progress is in {config.runs}/*.log", highlight=False)
        rounds[number] = train_round(number, config)
    lineages = [lineage(place, start, rounds, config) for place, start in enumerate(starts)]
    pack_all(lineages, config)
    results = [
        {"seed": seed, "lineage": lineages[place], **curves(place, rounds)} for place, seed in enumerate(config.seeds)
    ]
    settings = {name: value for name, value in asdict(config).items() if name not in ("runs", "pack", "last_round")}
    path = write_result(config.name, settings, results, started=started, command="reference")
    plot(results, path.with_suffix(".png"))
    console.print(f"the reference player is in {config.pack}", highlight=False)


if __name__ == "__main__":
    run_command("reference", Config, main, interrupted=GOES_ON)
