"""Question: does memory stay flat over a billion decisions? `python -m experiments endurance`

Each interface of the game (such as `Batch` or `raw_env`) plays many decisions, and the self-play trainer trains. The
decisions of an interface are divided into stretches. Each stretch is played in a new process, in which nothing else
holds memory, and an interrupted check resumes at the stretch that was interrupted. The memory of the process (its
resident set, RSS) is measured after a warm-up and at the end of the stretch. The growth in all stretches together,
which estimates the growth in a single long process, must be less than 1 % of the memory after the warm-up. The check
needs Linux, because it reads `/proc`.
"""

import gc
import multiprocessing
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

import agents
from agents.arena.blocks import play_blocks
from agents.tasks.processes import start_worker
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_at_least
from experiments.checks.chunks import Outcome, run_check
from felicity_env import Batch, Player, View, game_seed
from felicity_env.gymnasium_env import SeatVectorEnv
from felicity_env.pettingzoo_env import raw_env
from felicity_env.player import RandomPlayer
from felicity_env.setups import STANDARD_PLAYERS, standard_setup

MOST_GROWTH = 0.01
WARM_UP = 0.05  # of the decisions of a stretch, before memory is measured
LONGER_WARM_UP = {"selfplay": 0.4}  # its minibatches have many sizes, so memory settles after ten million decisions
SAVE_EVERY = 20  # updates of self-play between two checkpoints
DEALS_AT_ONCE = 100  # in the arena
SELFPLAY: dict[str, Any] = {}  # settings of the training run other than the default
Play = Callable[[int], int]  # plays at least so many decisions, and returns how many it played
Begin = Callable[[int, Path], Play]  # begins to play, given a seed and an empty folder


@dataclass(frozen=True)
class Config:
    """Play many decisions through each interface of the game, and measure how much memory grows."""

    resumes: ClassVar[bool] = True
    batch_decisions: int = 1_000_000_000
    """Number of random decisions on `Batch`; more find a slower leak."""
    decisions: int = 100_000_000
    """Number of decisions for each of the other interfaces, which are slower."""
    stretches: int = 4
    """Number of successive processes that share the decisions of an interface. Ctrl-C loses the current one."""
    out: Path = Path("runs/endurance")
    """Folder of the results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_at_least(self, batch_decisions=1, decisions=1, stretches=1)


# --- faces ------------------------------------------------------------------------------------------------------------


def begin_batch(seed: int, folder: Path) -> Play:
    """Return a function that plays random decisions on a `Batch` of 1000 games with 3, 4 or 5 seats.

    Compiled code takes nine of ten decisions, and a `RandomPlayer` takes the tenth. The function plays at least the
    number of decisions that it is given, and returns how many it played. `folder` is not used.
    """
    batch, player = (
        Batch(1000, [STANDARD_PLAYERS[k % len(STANDARD_PLAYERS)] for k in range(1000)], seed=seed),
        RandomPlayer(),
    )

    def play(decisions: int) -> int:
        rounds = -(-decisions // (10 * batch.num_games))
        for _ in range(rounds):
            batch.play_random(9)
            batch.step(player.act(batch.view()))
        return rounds * 10 * batch.num_games

    return play


def begin_environment(seed: int, folder: Path) -> Play:
    """Return a function that plays a given number of random decisions on the PettingZoo environment `raw_env`.

    It observes, steps, and resets after each game, as the loop of a user does. `folder` is not used.
    """
    env, rng = raw_env(), random.Random(seed)
    env.reset(seed=seed)

    def play(decisions: int) -> int:
        for _ in range(decisions):
            if env.terminations[env.agent_selection]:
                env.reset()
            observation, *_ = env.last()
            assert observation
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(rng.random() * len(legal))]))
        return decisions

    return play


def begin_vector(seed: int, folder: Path) -> Play:
    """Return a function that plays random decisions in the vector environment of Gymnasium.

    The function plays at least the number of decisions that it is given, and returns how many it played. Only the
    decisions of the learning seats count. `folder` is not used.
    """
    envs, player = SeatVectorEnv(256), RandomPlayer()
    envs.reset(seed=seed)

    def play(decisions: int) -> int:
        steps = -(-decisions // envs.num_envs)
        for _ in range(steps):
            envs.step(player.act(envs.batch.view()))
        return steps * envs.num_envs

    return play


class CountingPlayer:
    """Player that acts as another player does, and counts the decisions."""

    def __init__(self, player: Player) -> None:
        self.player, self.decisions = player, 0

    def act(self, view: View) -> np.ndarray:
        """Return the actions that the player in this wrapper chooses for the B decisions of `view`, integers [B]."""
        self.decisions += len(view)
        return self.player.act(view)


def begin_arena(seed: int, folder: Path) -> Play:
    """Return a function that plays blocks in the arena, with the reference player in all seats.

    The function plays at least the number of decisions that it is given, and returns how many it played. The games
    have 3, 4 or 5 seats in turn. `folder` is not used.
    """
    player, first = CountingPlayer(agents.make("net")), 0

    def play(decisions: int) -> int:
        nonlocal first
        before = player.decisions
        while player.decisions - before < decisions:
            setup = standard_setup(STANDARD_PLAYERS[first // DEALS_AT_ONCE % len(STANDARD_PLAYERS)])
            play_blocks([player] * setup.seats, num_deals=range(first, first + DEALS_AT_ONCE), seed=seed, setup=setup)
            first += DEALS_AT_ONCE
        return player.decisions - before

    return play


def begin_selfplay(seed: int, folder: Path) -> Play:
    """Start a self-play training run on the CPU in `folder`, and return a function that continues the training.

    The function trains, with one thread, for at least the number of decisions that it is given, saves checkpoints,
    and returns how many decisions it learned from.
    """
    from train.selfplay import SelfplayConfig, SelfplayTrainer  # other faces need no torch in their memory

    config = SelfplayConfig(seed=seed % 2**32, total_timesteps=2**40, threads=1, device="cpu", **SELFPLAY)
    trainer = SelfplayTrainer(config, folder)

    def play(decisions: int) -> int:
        before = trainer.timesteps
        while trainer.timesteps - before < decisions:
            trainer.run_iteration()
            if trainer.updates % SAVE_EVERY == 0:
                trainer.save()
        return trainer.timesteps - before

    return play


FACES: dict[str, Begin] = {
    "Batch": begin_batch,
    "arena": begin_arena,
    "VectorEnv": begin_vector,
    "raw_env": begin_environment,
    "selfplay": begin_selfplay,
}


# --- measuring --------------------------------------------------------------------------------------------------------


def read_memory() -> int:
    """Return the resident memory of this process in KiB, measured after garbage collection."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def play_stretch(begin: Begin, decisions: int, warm_up: int, seed: int) -> tuple[int, int, int]:
    """Play at least `warm_up` and then at least `decisions` decisions, and measure the memory of this process.

    `begin` returns the function that plays. Returns how many decisions were played without the warm-up, the memory
    after the warm-up and the memory at the end, both in KiB.
    """
    with TemporaryDirectory() as folder:
        play = begin(seed, Path(folder))
        play(warm_up)
        before = read_memory()
        return play(decisions), before, read_memory()


def measure_stretch(begin: Begin, decisions: int, warm_up: int, seed: int) -> tuple[int, int, int]:
    """Call `play_stretch` in a new process and return its result; the process is stopped if this one is interrupted."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, start_worker) as pool:
        try:
            return pool.submit(play_stretch, begin, decisions, warm_up, seed).result()
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def check_chunk(k: int, config: Config) -> Outcome:
    """Play stretch k of the check, and return how many decisions it played and its memory in KiB at start and end.

    The stretches are numbered through: those of the first interface come first, then those of the second, and so on.
    """
    number, stretch = divmod(k, config.stretches)
    face, begin = list(FACES.items())[number]
    total = config.batch_decisions if face == "Batch" else config.decisions
    size, seed = -(-total // config.stretches), game_seed(SEEDS["endurance"], number, stretch)
    warm_up = max(1, int(LONGER_WARM_UP.get(face, WARM_UP) * size))
    decisions, before, after = measure_stretch(begin, size, warm_up, seed)
    memory = {f"{face}: KiB, stretch {stretch}, start": before, f"{face}: KiB, stretch {stretch}, end": after}
    return Outcome({f"{face}: decisions": decisions, **memory}, {})


def measure_growth(counts: Mapping[str, int], face: str) -> float:
    """Return the growth of the memory of an interface in all its stretches, as a fraction of the mean at the start."""
    starts, ends = (
        [count for name, count in counts.items() if name.startswith(f"{face}: KiB") and name.endswith(moment)]
        for moment in ("start", "end")
    )
    return (sum(ends) - sum(starts)) / (sum(starts) / len(starts))


def find_growth(counts: Mapping[str, int]) -> dict[str, int]:
    """Return {name of a fault: 1 or 0}, with 1 for each interface of the game whose memory grew by 1 % or more."""
    return {f"{face}: memory grew by 1 % or more": int(measure_growth(counts, face) >= MOST_GROWTH) for face in FACES}


def main(config: Config) -> None:
    """Play all stretches, store the result, and raise `UserError` if the memory of an interface grew by 1 % or more.

    An interrupted check continues with the first stretch that was not finished.
    """
    num_chunks = len(FACES) * config.stretches
    run_check("endurance", config, lambda k: check_chunk(k, config), num_chunks, source=__file__, judge=find_growth)
