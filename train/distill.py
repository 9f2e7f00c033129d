"""A network that decides as `mc` with very many playouts would, without any. `python -m train.distill --run FOLDER`

A search is too slow to train against. But it goes by one number an action, how much more the action brings than what
`tuned` would do, and a few playouts give an unbiased, if noisy, sample of it. So: play games in which learners do now
what looks best in a few worlds, now what `tuned` would do, among players of the ladder; keep every such sample; fit a
network to all of them, which averages the noise away. Its logits are the leads over `temperature`. In a second round
the network itself plays, in the manner of a search.

The result plays in two ways, each a NAME for NAME=WEIGHT in a `--mix` too. `amortised:FOLDER` goes by the leads as `mc`
does, and does each action as likely as a search that was watched for that. `net:FOLDER` is a policy like any other,
which plays the better action nearly always, and either one where they are worth the same. Both are at their best at
tables like those of the samples: name the players that will meet them in `others`.
"""

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.progress import Progress, track
from torch import Tensor

import agents
from agents.amortised import SEARCH_LIKE, AmortisedPlayer, Weights, bidding, search_logits
from agents.compiled import CompiledPlayer
from agents.network import description_of, save_policy
from agents.search import SearchPlayer, leads, shortlists
from felicity_env import NUM_ACTIONS, SETUPS, Batch, Player, game_seed
from felicity_env.game import PASS
from felicity_env.tables import Tables
from train import run_folder
from train.config import MAX_SEED
from train.opponents import SELF, OpponentPool
from train.policy import ACTIVATION, ActorCritic
from train.run_folder import RunError
from train.samples import Samples, files_of, keep, kept

MIX = {SELF: 0.4, "tuned": 0.1, "ev": 0.1, "anchor": 0.1}
GUESTS = {"tuned": 0.1, "ev": 0.1, "anchor": 0.1}
MARGIN = 6.0  # how far below the best the logits of actions stay that the search does not look at
ALONE = 0.2  # of the tables with `others`: the learner is alone among them; else one of them is among learners
SPREAD_STEPS = 60  # decisions of learners, as `tuned`, before the first sample, so that all rounds are among them
OTHER_SHARE = 0.6  # of the learners' decisions are not those of `tuned`
LONGEST_GRADIENT = 0.1  # with longer ones the logits of rare actions ran away
WATCHED_ENVS = 66  # games side by side: few, for a search is slow, and its decisions are to come from many rounds
_GAMES = 3  # of the seed: apart from those of the trainers
_WATCHED = 2**16  # in the place of a part's number
_COUNTS = ("rounds", "parts", "part_size", "watched", "worlds", "epochs", "batch_size", "num_envs", "threads")
_POSITIVE = (*_COUNTS, "temperature", "learning_rate")


@dataclass(frozen=True)
class Config:
    """Make a network that decides as mc with very many playouts would."""

    run: Path
    """Folder of the run; the same command goes on with it."""
    num_players: tuple[int, ...] = (3, 4, 5)
    """Seats at the tables."""
    others: tuple[str, ...] = ()
    """Codes of the players beside the learners, by default those of the ladder."""
    also: tuple[Path, ...] = ()
    """Other runs of this command, whose samples count too."""
    rounds: int = 2
    """In the first a noisy search plays; in each later one the network of the round before."""
    parts: int = 20
    """Files of samples in a round."""
    part_size: int = 100_000
    """Samples in a file."""
    worlds: int = 5
    """In which each action is played out for a sample."""
    temperature: float = 0.01
    """Of the policy: two actions whose leads differ by this are played e to 1."""
    search: str = "mc:4000@2"
    """Code of the search that is watched, so that amortised:FOLDER plays like it; mc:4000@2 is mc:4000 on two cores."""
    watched: int = 10_000
    """Decisions of that search."""
    hidden_sizes: tuple[int, ...] = (256, 256)
    """Of the network."""
    raises: bool = True
    """Give every raise a logit of its own; a run that is to begin from this policy needs the same."""
    epochs: int = 6
    """Passes over all samples."""
    batch_size: int = 4096
    """Samples in a minibatch."""
    learning_rate: float = 1e-3
    """Of Adam at the start; falls linearly to zero."""
    num_envs: int = 510
    """Games side by side."""
    seed: int = 0
    """Of games and weights."""
    threads: int = 2
    """Cores."""

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise ValueError(f"--{name.replace('_', '-')} must be positive")
        if not set(self.num_players) <= set(SETUPS) or not self.num_players:
            raise ValueError(f"--num-players: {list(SETUPS)}, not {self.num_players}")
        if self.num_envs < len(self.num_players):
            raise ValueError("--num-envs must be at least as many as --num-players names")
        if not 0 <= self.seed <= MAX_SEED:
            raise ValueError(f"--seed must be 0 to {MAX_SEED}, not {self.seed}")
        if not self.hidden_sizes or min(self.hidden_sizes) <= 0:
            raise ValueError("--hidden-sizes must be positive")
        self._check_others()

    def _check_others(self) -> None:
        if not isinstance(agents.make(self.search), SearchPlayer):
            raise ValueError(f"--search must be mc:N or ismcts:N, not {self.search}")
        for code in self.others:
            agents.make(code)
        for run in self.also:
            if not files_of(run):
                raise ValueError(f"--also {run}: there are no samples")

    @property
    def pool(self) -> OpponentPool:
        """Who sits at the tables."""
        if not self.others:
            return OpponentPool(MIX, guests=GUESTS)
        return OpponentPool(dict.fromkeys(self.others, ALONE), guests=dict.fromkeys(self.others, 1 - ALONE))


# --- samples ----------------------------------------------------------------------------------------------------------


def samples(config: Config, actor: Player | None, part: int) -> Iterator[Samples]:
    """Without end: observations [K, OBS_SIZE] of learners and the leads of their actions [K, NUM_ACTIONS].

    actor: plays for the learners; None: whatever looks best, or what `tuned` would do.
    """
    batch, tables = _begun(config, part, config.num_envs)
    rng = np.random.default_rng([config.seed, part])
    while True:
        view = batch.view(np.arange(config.num_envs))
        found = leads(view, worlds=config.worlds, threads=config.threads)
        judged = (~np.isnan(found)).sum(axis=1) > 1
        actions = CompiledPlayer("tuned").act(view)
        other = np.where(judged, _best(found), actions) if actor is None else actor.act(view)
        observations = batch.observations[judged].astype(np.float16)
        yield {"observations": observations, "leads": found[judged].astype(np.float16)}
        tables.step(np.where(rng.random(config.num_envs) < OTHER_SHARE, other, actions))


def _begun(config: Config, part: int, num_envs: int) -> tuple[Batch, Tables]:
    seats = np.resize(np.array(config.num_players), num_envs)
    batch = Batch(num_envs, seats.tolist(), seed=game_seed(config.seed, _GAMES, part), open_mice=True)
    tables = config.pool.tables(batch)
    tables.begin()
    for _ in range(SPREAD_STEPS):
        tables.step(CompiledPlayer("tuned").act(batch.view(np.arange(num_envs))))
    return batch, tables


def _best(found: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(found), -np.inf, found).argmax(axis=1)


def gather(config: Config, number: int, actor: Player | None) -> None:
    """Write the samples of round `number`, file by file; those that are there already are left alone."""
    for part in track(range(config.parts), f"round {number + 1}: samples"):
        found = samples(config, actor, number * config.parts + part)
        keep(_part(config, number, part), found, config.part_size)


def _part(config: Config, number: int, part: int) -> Path:
    return config.run / "samples" / f"{number}-{part:03d}.npz"


def gathered(config: Config, rounds: int) -> dict[str, Tensor]:
    """All samples of the first `rounds` rounds, and of other runs: observations and leads, 16 bits each."""
    own = [_part(config, number, part) for number in range(rounds) for part in range(config.parts)]
    return kept([*own, *(path for run in config.also for path in files_of(run))])


def watched(config: Config) -> Iterator[Samples]:
    """Without end: what `config.search` did [K] where it had a choice, and all that `search_logits` goes by."""
    batch, tables = _begun(config, _WATCHED, WATCHED_ENVS)
    search = agents.make(config.search)
    while True:
        view = batch.view(np.arange(WATCHED_ENVS))
        actions, (defaults, tried) = search.act(view), shortlists(view)
        found = {"bids": bidding(view), "defaults": defaults, "tried": tried, "actions": actions}
        chosen = tried.sum(axis=1) > 1
        yield {name: array[chosen] for name, array in found.items()} | {"observations": batch.observations[chosen]}
        tables.step(actions)


def _shown(found: Iterator[Samples], size: int, text: str) -> Iterator[Samples]:
    """The same, with a bar of how many of `size` decisions there are, for a search takes minutes."""
    with Progress() as progress:
        task = progress.add_task(text, total=size)
        for some in found:
            progress.advance(task, len(some["actions"]))
            yield some


# --- the network ------------------------------------------------------------------------------------------------------


def error(logits: Tensor, found: Tensor, temperature: float) -> Tensor:
    """Mean square of what the logits miss: the leads, less their mean, where there are any; elsewhere MARGIN."""
    tried = ~found.isnan()
    judged = (temperature * _centred(logits, tried) - _centred(found, tried)).square().sum(dim=1).mean()
    best = logits.detach().masked_fill(~tried, -torch.inf).amax(dim=1, keepdim=True)
    raises = torch.arange(NUM_ACTIONS) > PASS  # cards are never legal beside them
    too_high = (logits - best + MARGIN).relu().masked_fill(tried | ~raises, 0.0)
    return judged + (temperature * too_high).square().sum(dim=1).mean()


def _centred(values: Tensor, tried: Tensor) -> Tensor:
    """Less their mean over the actions tried; 0 at the others."""
    kept = values.masked_fill(~tried, 0.0)
    return (kept - kept.sum(dim=1, keepdim=True) / tried.sum(dim=1, keepdim=True)).masked_fill(~tried, 0.0)


def fit(config: Config, samples: dict[str, Tensor]) -> ActorCritic:
    """The network fitted to all samples."""
    torch.set_num_threads(config.threads)
    network = ActorCritic(config.hidden_sizes, raises=config.raises, seed=config.seed)
    optimizer = torch.optim.Adam(network.actor.parameters(), lr=config.learning_rate, fused=True)
    observations, found = samples["observations"], samples["leads"]
    count = max(1, len(found) // config.batch_size)
    steps, generator = count * config.epochs, torch.Generator().manual_seed(config.seed)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in track(range(config.epochs), "fitting"):
        for rows in torch.randperm(len(found), generator=generator).tensor_split(count):
            optimizer.zero_grad()
            logits = network.logits(observations[rows].float())
            error(logits, found[rows].float(), config.temperature).backward()
            torch.nn.utils.clip_grad_norm_(network.actor.parameters(), LONGEST_GRADIENT)
            optimizer.step()
            schedule.step()
    return network


def search_like(network: ActorCritic, found: dict[str, Tensor]) -> Weights:
    """The weights under which what a search did is likeliest."""
    with torch.no_grad():
        logits = network.logits(found["observations"])
    bids, is_default = found["bids"], torch.arange(NUM_ACTIONS) == found["defaults"][:, None]
    logs, habit = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([logs, habit], max_iter=100, line_search_fn="strong_wolfe")

    def unlikely() -> Tensor:
        optimizer.zero_grad()
        searched = search_logits(Weights(logs.exp(), habit), logits, bids, is_default)
        searched = searched.masked_fill(~found["tried"], -torch.inf)
        loss = torch.nn.functional.cross_entropy(searched, found["actions"])
        loss.backward()
        return loss

    optimizer.step(unlikely)  # pyright: ignore[reportArgumentType] - it takes what returns a tensor
    return Weights(logs.detach().exp(), habit.detach())


# --- the run ----------------------------------------------------------------------------------------------------------


def play_and_fit(config: Config, number: int) -> None:
    """A round: its samples, and the network of all samples so far; nothing if that is there already."""
    folder = _policy(config, number)
    if description_of(folder).exists():
        return
    gather(config, number, AmortisedPlayer(str(_policy(config, number - 1))) if number else None)
    network = fit(config, gathered(config, number + 1))
    decisions = config.run / "watched.npz"
    keep(decisions, _shown(watched(config), config.watched, f"watching {config.search}"), config.watched)
    _save(folder, network, search_like(network, kept([decisions])), config)


def _save(folder: Path, network: ActorCritic, weights: Weights, config: Config) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    about = {"open_mice": True, "num_players": list(config.num_players), "commit": run_folder.commit()}
    about |= {"algorithm": "distill", SEARCH_LIKE: {name: two.tolist() for name, two in weights._asdict().items()}}
    save_policy(folder, network.layers(), activation=ACTIVATION, **about)


def _policy(config: Config, number: int) -> Path:
    """Where the policy of a round lies; those before the last so deep that nobody takes them for the run's own."""
    return config.run if number == config.rounds - 1 else config.run / "rounds" / str(number + 1)


def main(config: Config, console: Console) -> None:
    """All rounds, whose last network is the policy of the run; what is there already is not made again."""
    _begin(config)
    with run_folder.held(config.run):
        for number in range(config.rounds):
            play_and_fit(config, number)
    console.print(f"the policy plays as  net:{config.run}", highlight=False, soft_wrap=True)
    console.print(f"as a search does, as  amortised:{config.run}", highlight=False, soft_wrap=True)


def _begin(config: Config) -> None:
    """Make the folder and write its settings; a folder of other settings is refused."""
    settings = {name: value for name, value in asdict(config).items() if name not in ("run", "threads")}
    settings = json.loads(json.dumps(settings, default=str))  # as it is read again
    path = config.run / run_folder.CONFIG
    if path.exists():
        if json.loads(path.read_text())["config"] != settings:
            raise RunError(f"{config.run} was begun with other settings, which its config.json tells")
        return
    if config.run.exists():
        raise RunError(f"{config.run} exists already and is no run of this command; choose another --run")
    (config.run / "samples").mkdir(parents=True)
    run_folder.write_json(path, {"config": settings, **run_folder.provenance()})


def cli(arguments: list[str] | None = None) -> int:
    """Read the command line; the exit status."""
    try:
        main(tyro.cli(Config, prog="python -m train.distill", args=arguments), Console())
    except (RunError, ValueError, OSError) as error:
        Console(stderr=True).print(f"error: {error}", highlight=False, markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; the same command goes on from here", highlight=False)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(cli())
