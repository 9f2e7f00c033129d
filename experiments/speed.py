"""How fast is it? `python -m experiments.speed`

Machines are noisy, so every comparison interleaves the things compared in one run and reports the median of the ratios
of neighbours, with its interval over the repetitions.
"""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import train  # noqa: F401  # isort: skip - first, for it sets the number of BLAS threads

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper
from rich.progress import track
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure

from experiments.command import NOTHING_STORED, run_command
from experiments.results import median_interval, write_result
from felicity_env import NUM_ACTIONS, OBS_SIZE, SETUPS, Batch, felicity_v0
from felicity_env.game import deal, is_terminal, step
from felicity_env.kernel import kernel
from felicity_env.random_stream import mix
from felicity_env.view import random_action
from train.config import MaskableConfig as TrainConfig
from train.maskable_ppo import MaskablePPOTrainer, build_model
from train.vec_env import LanesVecEnv


@dataclass(frozen=True)
class Config:
    """Measure batch, AEC and training speed, start times and memory."""

    repetitions: int = 15
    """Pairs of measurements of each comparison."""
    num_games: int = 1024
    """Games in the batch."""
    num_players: int = 4
    """Seats at its tables."""
    num_steps: int = 1000
    """Decisions in each game for one measurement of the batch."""
    training_repetitions: int = 21
    """Pairs of training iterations (rollout and update)."""


def seconds(work: Callable[[], Any]) -> float:
    """Wall-clock time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def interleaved(work: dict[str, Callable[[], Any]], repetitions: int, label: str) -> dict[str, np.ndarray]:
    """Seconds [repetitions] of each kind of work, one after the other in every repetition."""
    for call in work.values():
        call()  # warm up
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in track(range(repetitions), description=f"{label:28}"):
        for name, call in work.items():
            times[name].append(seconds(call))
    return {name: np.array(values) for name, values in times.items()}


# --- the batch --------------------------------------------------------------------------------------------------------


@kernel
def _playouts(states: np.ndarray, games: int, seed: int) -> int:
    """Play `games` random games in states[1] from the blank states[0]; the number of decisions."""
    word = mix(np.uint64(seed))
    decisions = 0
    for _ in range(games):
        states[1] = states[0]
        word = mix(word)
        deal(states[1], word)
        while not is_terminal(states[1]):
            word = mix(word)
            step(states[1], random_action(states[1], word))
            decisions += 1
    return decisions


def batch_speed(config: Config) -> dict[str, Any]:
    """Random play with everything written, against `numpy.fill` of the same buffers; two threads; bare playouts."""
    batches = {t: Batch(config.num_games, config.num_players, threads=t) for t in (1, 2)}
    observations = np.empty_like(batches[1].observations)
    masks = np.empty_like(batches[1].action_masks)
    blank = np.repeat(SETUPS[config.num_players].blank_state(), 2)
    games = config.num_games * config.num_steps // 90

    def fill() -> None:
        for _ in range(config.num_steps):
            observations.fill(1.0)
            masks.fill(1)

    work = {
        "fill": fill,
        "one thread": lambda: batches[1].play_random(config.num_steps),
        "two threads": lambda: batches[2].play_random(config.num_steps),
        "playouts": lambda: _playouts(blank, games, 0),
    }
    times = interleaved(work, config.repetitions, "batch")
    decisions = config.num_games * config.num_steps
    written = decisions * (observations.itemsize * OBS_SIZE + NUM_ACTIONS)
    return {
        "fill_gigabytes_per_second": median_interval(written / times["fill"] / 1e9),
        "decisions_per_second": median_interval(decisions / times["one thread"]),
        "bytes_per_decision": written // decisions,
        "bytes_written_to_fill": median_interval(times["fill"] / times["one thread"]),
        "two_threads_to_one": median_interval(times["one thread"] / times["two threads"]),
        "playout_games_per_second": median_interval(games / times["playouts"]),
    }


# --- AEC --------------------------------------------------------------------------------------------------------------


class EmptyEnv(AECEnv):
    """Five players who take turns and nothing else: what PettingZoo's loop and wrappers cost."""

    metadata = {"name": "empty", "is_parallelizable": False}  # noqa: RUF012 - PettingZoo's own form
    LENGTH = 112  # decisions in a random game of five

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = [f"player_{seat}" for seat in range(5)]
        self._space = Dict({"observation": Box(-8, 64, (OBS_SIZE,)), "action_mask": Box(0, 1, (NUM_ACTIONS,), np.int8)})
        self._actions = Discrete(NUM_ACTIONS)
        self._seen = {"observation": np.zeros(OBS_SIZE, np.float32), "action_mask": np.ones(NUM_ACTIONS, np.int8)}

    def observation_space(self, agent: str) -> Dict:
        """The same for all."""
        return self._space

    def action_space(self, agent: str) -> Discrete:
        """The same for all."""
        return self._actions

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        """Begin."""
        self.agents = self.possible_agents[:]
        self.agent_selection, self._turn = self.agents[0], 0
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def step(self, action: int | None) -> None:
        """The next one's turn."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._turn += 1
        self.agent_selection = self.possible_agents[self._turn % 5]
        if self._turn == self.LENGTH:
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Nothing."""
        return self._seen


def recorded_games(num_players: int, count: int) -> list[list[int]]:
    """The actions of `count` random games, seeds 0, 1, ..."""
    games = []
    env = felicity_v0.raw_env(num_players=num_players)
    rng = np.random.default_rng(0)
    for seed in range(count):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            mask = env.observe(env.agent_selection)["action_mask"]
            env.step(int(rng.choice(np.flatnonzero(mask))))
        games.append(list(env.game.actions))
    return games


def play_aec(env: AECEnv, games: list[list[int]]) -> None:
    """PettingZoo's loop over recorded actions; the same for every environment."""
    for seed, actions in enumerate(games):
        env.reset(seed=seed)
        script = iter(actions)
        for _ in env.agent_iter():
            _, _, termination, truncation, _ = env.last()
            env.step(None if termination or truncation else next(script))


def play_cartpole(env: gymnasium.Env, actions: list[int]) -> None:
    """Gymnasium's loop over recorded actions."""
    env.reset(seed=0)
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()


def aec_speed(config: Config) -> dict[str, Any]:
    """`raw_env` against Gymnasium's CartPole, `env()` against an empty environment in the same wrappers."""
    four, five = recorded_games(4, 60), recorded_games(5, 30)
    empty = [[0] * EmptyEnv.LENGTH] * 30
    push = np.random.default_rng(0).integers(2, size=6000).tolist()
    wrapped_empty = OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(EmptyEnv(), -1)))
    raw, wrapped, cartpole = felicity_v0.raw_env(), felicity_v0.env(num_players=5), gymnasium.make("CartPole-v1")
    work = {
        "raw_env": lambda: play_aec(raw, four),
        "CartPole": lambda: play_cartpole(cartpole, push),
        "env": lambda: play_aec(wrapped, five),
        "empty": lambda: play_aec(wrapped_empty, empty),
    }
    times = interleaved(work, config.repetitions, "AEC")
    rates = {
        "raw_env": sum(map(len, four)) / times["raw_env"],
        "CartPole": len(push) / times["CartPole"],
        "env": sum(map(len, five)) / times["env"],
        "empty": sum(map(len, empty)) / times["empty"],
    }
    return {
        "raw_env_steps_per_second": median_interval(rates["raw_env"]),
        "cartpole_steps_per_second": median_interval(rates["CartPole"]),
        "raw_env_to_cartpole": median_interval(rates["raw_env"] / rates["CartPole"]),
        "env_steps_per_second": median_interval(rates["env"]),
        "env_to_empty_env": median_interval(rates["env"] / rates["empty"]),
    }


# --- training ---------------------------------------------------------------------------------------------------------


class EmptyLanes(LanesVecEnv):
    """Lanes in which nothing happens: the cost of MaskablePPO itself."""

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """The same table again."""
        nothing = np.zeros(self.num_envs, np.float32)
        return self.lanes.observations, nothing, nothing.astype(bool), self._no_infos


def training_speed(config: Config) -> dict[str, Any]:
    """MaskablePPO as `python -m train` sets it up, on our lanes against lanes in which nothing happens."""
    compiled = TrainConfig(mix=("random=1", "anchor=1", "ev=1"))
    snapshots = TrainConfig(mix=("self=1", "past=1"))
    default = TrainConfig()
    with tempfile.TemporaryDirectory() as folder:
        models: dict[str, MaskablePPO] = {}
        for name, settings in (("compiled", compiled), ("snapshots", snapshots), ("default", default)):
            trainer = MaskablePPOTrainer(settings, Path(folder))
            trainer.pool.update(trainer.player())
            models[name], lanes = trainer.model, trainer.env.lanes
        models["empty"] = build_model(default, EmptyLanes(lanes))
        for model in models.values():
            model.set_logger(configure(folder, []))
        work = {
            name: (lambda model=model: model.learn(default.rollout_size, reset_num_timesteps=False))
            for name, model in models.items()
        }
        times = interleaved(work, config.training_repetitions, "training")
    rates = {name: default.rollout_size / values for name, values in times.items()}
    return {
        "decisions_per_second": {name: median_interval(rate) for name, rate in rates.items()},
        "compiled_to_empty": median_interval(rates["compiled"] / rates["empty"]),
        "snapshots_to_empty": median_interval(rates["snapshots"] / rates["empty"]),
        "default_to_empty": median_interval(rates["default"] / rates["empty"]),
    }


# --- start and memory -------------------------------------------------------------------------------------------------

_FIRST_GAME = "from felicity_env import Batch; Batch(1).play_random(100)"


def start_times() -> dict[str, float]:
    """Seconds from starting Python to the end of a first game: compiling, and from the cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", _FIRST_GAME]
        runs = [seconds(lambda: subprocess.run(command, env=environment, check=True, capture_output=True))]
        runs += [
            seconds(lambda: subprocess.run(command, env=environment, check=True, capture_output=True)) for _ in range(5)
        ]
    return {"cold_seconds": runs[0], "warm_seconds": float(np.median(runs[1:]))}


def memory_per_game(num_games: int = 50_000) -> float:
    """Bytes a game of a batch takes, buffers included, as the allocator saw it."""
    tracemalloc.start()
    batch = Batch(num_games)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / batch.num_games


def main(config: Config) -> None:
    """Measure everything and store it."""
    torch.set_num_threads(TrainConfig().threads)
    started = time.monotonic()
    results = {
        "batch": batch_speed(config),
        "aec": aec_speed(config),
        "training": training_speed(config),
        "start": start_times(),
        "memory_bytes_per_game": memory_per_game(),
    }
    write_result("speed", config, results, started=started)


if __name__ == "__main__":
    run_command("speed", Config, main, interrupted=NOTHING_STORED)
