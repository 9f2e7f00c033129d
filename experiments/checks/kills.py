"""Question: do training runs and tournaments survive being killed at any moment? `python -m experiments kills`

Small self-play training runs and tournaments with two worker processes are killed with SIGKILL at random moments, every
second time while they write a file, and continued until they are finished. Their results are then compared, byte for
byte, with those of a training run or tournament with the same seed that was never killed. After each kill none of the
killed program's processes may be left. The check needs Linux, where `/proc` lists the processes.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np

from agents.arena.tournament import Config as TournamentConfig
from agents.checkpoint_file import CURVE
from agents.tools.files import UserError
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_positive, option_name, require
from experiments.checks.chunks import Outcome, chunk_size, count_chunks, run_check
from train.selfplay import SelfplayConfig
from train.storage import EVALUATION, create_run_folder

KILLS_A_CHUNK = 5
PATIENCE = 10.0  # seconds in which the processes of a killed run must end
OTHER_BITS, LEFT_BEHIND = "other bits than a run that was never killed", "processes left behind by a kill"
SMALL = SelfplayConfig(
    num_envs=32,
    num_steps=32,
    batch_size=256,
    hidden_sizes=(32,),
    threads=1,
    device="cpu",
    save_minutes=1e-6,  # after every update
    curve_every=4000,
    curve_deals=2,
    evaluation_deals=2,
    mix=("self=4", "ev=1"),
)
TOURNAMENT = TournamentConfig(
    players=("random", "ev", "mc:10"), num_players=(3,), mixed_deals=10, deals_per_part=2, workers=2
)


@dataclass(frozen=True)
class Config:
    """Kill training runs and tournaments at random moments, continue them, and check that results are unchanged."""

    resumes: ClassVar[bool] = True
    kills: int = 200
    """Number of kills in total; training runs and tournaments with new seeds are started until it is reached."""
    total_timesteps: int = 40_000
    """Number of decisions to train on in each run. The check kills the process again and again, so a longer run is
    killed more often."""
    tournament_deals: int = 60
    """Number of deals for each pair of players in a tournament; more make it longer."""
    longest_wait: float = 2.0
    """Longest time in seconds before a training run is killed; each time is random, up to this limit."""
    tournament_wait: float = 8.0
    """Longest time in seconds before a tournament is killed; it includes the time to start the worker processes."""
    out: Path = Path("runs/kills")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_positive(self, "kills", "total_timesteps", "longest_wait", "tournament_wait")
        require(self.tournament_deals >= 2, f"{option_name('tournament_deals')} must be at least 2")


class Subject(NamedTuple):
    """Kind of program that is killed, training run or tournament: how to start one and how to read its results."""

    name: str
    create: Callable[[Path, int, Config], list[str]]  # folder, seed, settings -> command that starts or continues it
    wait: Callable[[Config], float]  # longest time before a kill
    files: str  # pattern of the files that it writes
    is_finished: Callable[[Path], bool]
    read_outcome: Callable[[Path], Any]
    reports_start: bool  # whether its first line of output comes once it works


# --- training runs and tournaments ------------------------------------------------------------------------------------


def create_training(folder: Path, seed: int, config: Config) -> list[str]:
    """Create the folder of a small training run if it is missing, and return the command that starts or resumes it."""
    if not folder.exists():
        create_run_folder(replace(SMALL, seed=seed, total_timesteps=config.total_timesteps, out=folder))
    return [sys.executable, "-m", "train", "--resume", str(folder), "--save-minutes", str(SMALL.save_minutes)]


def read_training(folder: Path) -> tuple[bytes, list[Any]]:
    """Return the policy file of a finished training run, as bytes, and its learning curve without clock times."""
    curve = json.loads((folder / CURVE).read_text())
    return (folder / "policy.safetensors").read_bytes(), [(p["timesteps"], p["results"]) for p in curve]


def create_tournament(folder: Path, seed: int, config: Config) -> list[str]:
    """Return the command that starts a small tournament in `folder`, or continues an interrupted one there."""
    options: dict[str, Any] = {
        "players": TOURNAMENT.players,
        "num-players": TOURNAMENT.num_players,
        "num-deals": (config.tournament_deals,),
        "mixed-deals": (TOURNAMENT.mixed_deals,),
        "deals-per-part": (TOURNAMENT.deals_per_part,),
        "workers": (TOURNAMENT.workers,),
        "seed": (seed,),
        "out": (folder,),
    }
    words = [word for name, values in options.items() for word in (f"--{name}", *map(str, values))]
    return [sys.executable, "-m", "agents", "tournament", *words]


def read_tournament(folder: Path) -> tuple[Any, dict[str, bytes]]:
    """Return the results of a finished tournament, and the files of its parts as bytes."""
    parts = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.glob("parts/*/*.npz"))}
    return json.loads((folder / "result.json").read_text())["results"], parts


SUBJECTS = (
    Subject(
        name="training",
        create=create_training,
        wait=lambda config: config.longest_wait,
        files="checkpoints/*.part",
        is_finished=lambda folder: (folder / EVALUATION).exists(),
        read_outcome=read_training,
        reports_start=True,
    ),
    Subject(
        name="tournaments",
        create=create_tournament,
        wait=lambda config: config.tournament_wait,
        files="parts/*/*.part",
        is_finished=lambda folder: (folder / "result.json").exists(),
        read_outcome=read_tournament,
        reports_start=False,
    ),
)


# --- killing ----------------------------------------------------------------------------------------------------------


def list_session(session: int) -> list[int]:
    """Return the ids of the living processes in a session of the operating system (Linux only).

    A session holds the process that began it and all processes that this one has started.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, number = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:  # the process has ended meanwhile
            continue
        if int(number) == session and state != "Z":
            found.append(int(path.parent.name))
    return found


def count_left(session: int) -> int:
    """Return how many processes of a session are still alive after ten seconds, and kill these.

    The process that began the session has been killed before; all others are expected to end by themselves.
    """
    until = time.monotonic() + PATIENCE
    while (left := list_session(session)) and time.monotonic() < until:
        time.sleep(0.05)
    for process in left:
        os.kill(process, signal.SIGKILL)
    return len(left)


@contextmanager
def start_session(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a new session of processes, for the time of a `with` block.

    If the command is still running at the end of the block, for example after Ctrl-C, its processes are killed.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        if process.stdout:
            process.stdout.close()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run_until_killed(folder: Path, command: list[str], subject: Subject, wait: float, *, in_save: bool) -> Counter[str]:
    """Start a training run or tournament, kill it after `wait` seconds, and return counts of what happened.

    in_save: kill it only when it writes its next file after that time. The counts, by name, are those of kills, of
    kills while a file was written, and of processes that were left behind. They are empty if the command ended before
    it was killed.
    """

    def is_saving() -> bool:
        return any(folder.glob(subject.files))

    with start_session(command) as process:
        if subject.reports_start and process.stdout:
            process.stdout.readline()
        until = time.monotonic() + wait
        while process.poll() is None and (time.monotonic() < until or (in_save and not is_saving())):
            time.sleep(0.0002)
        if process.poll() is not None:
            return Counter()
        process.kill()
        process.wait()
        return Counter(
            {
                f"kills of {subject.name}": 1,
                f"in a save of {subject.name}": int(is_saving()),
                LEFT_BEHIND: count_left(process.pid),
            }
        )


def finish_with_kills(
    folder: Path, subject: Subject, seed: int, config: Config, rng: np.random.Generator, most: int
) -> Counter[str]:
    """Kill and continue a training run or tournament until it is finished, and return counts of what happened.

    most: largest number of kills. Raises `UserError` if the command ends by itself without finishing.
    """
    counts, command = Counter[str](), subject.create(folder, seed, config)
    kills = f"kills of {subject.name}"
    while not subject.is_finished(folder):
        wait = 1e9 if counts[kills] >= most else rng.random() * subject.wait(config)
        happened = run_until_killed(folder, command, subject, wait, in_save=counts[kills] % 2 == 1)
        if not happened and not subject.is_finished(folder):
            raise UserError(f"{' '.join(command)} cannot be continued after a kill; see the messages above")
        counts.update(happened)
    return counts


def check_chunk(k: int, config: Config) -> Outcome:
    """Do the kills of chunk k, compare each finished result with that of a program never killed, and count the faults.

    Even chunks kill training runs, odd chunks kill tournaments. New ones are started until the chunk has all its kills.
    """
    subject, rng = SUBJECTS[k % len(SUBJECTS)], np.random.default_rng([SEEDS["kills"], k])
    counts, wanted = Counter[str](), chunk_size(config.kills, KILLS_A_CHUNK, k)
    faults = Counter({OTHER_BITS: 0, LEFT_BEHIND: 0})
    for number in count():
        left = wanted - counts[f"kills of {subject.name}"]
        if left <= 0:
            break
        seed = int(rng.integers(2**32))
        with TemporaryDirectory() as parent:
            whole, killed = Path(parent) / f"whole{number}", Path(parent) / f"killed{number}"
            subprocess.run(subject.create(whole, seed, config), check=True, stdout=subprocess.DEVNULL)
            counts.update(finish_with_kills(killed, subject, seed, config, rng, left))
            counts[f"runs of {subject.name}"] += 1
            faults[OTHER_BITS] += subject.read_outcome(killed) != subject.read_outcome(whole)
    faults[LEFT_BEHIND] += counts.pop(LEFT_BEHIND, 0)
    return Outcome(counts, faults)


def main(config: Config) -> None:
    """Kill and continue training runs and tournaments, store the counts, and raise `UserError` if there was a fault.

    A fault is a changed result, or a process that was left behind. An interrupted check continues with the first chunk
    of kills that was not finished.
    """
    os.environ["PYTHONUNBUFFERED"] = "1"
    num_chunks = count_chunks(config.kills, KILLS_A_CHUNK)
    run_check("kills", config, lambda k: check_chunk(k, config), num_chunks, source=__file__)
