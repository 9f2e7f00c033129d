"""Question: how fast is the environment? `python -m experiments speed`

The speed of a machine varies with time. Every comparison therefore measures the compared things in turn, again and
again. It reports the median ratio of neighbouring measurements, with an interval over the repetitions.
"""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper
from rich.progress import track
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure

from agents.tools.settings import OneSetup, check_positive
from experiments.results import median_interval, write_result
from experiments.speed.players import prepare_playouts
from experiments.speed.training import measure_seconds
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch, Setup, felicity_v0
from train.maskable_ppo import MaskablePPOConfig, MaskablePPOTrainer, SingleLearnerVecEnv, build_model


@dataclass(frozen=True)
class Config(OneSetup):
    """Measure the environment: speed of batched games, of PettingZoo games and of training, start time and memory."""

    resumes: ClassVar[bool] = False
    repetitions: int = 15
    """Number of repetitions of each measurement; more repetitions narrow the intervals."""
    num_games: int = 1024
    """Number of games in the batch; choose enough, so that the overhead of Python is negligible."""
    num_steps: int = 1000
    """Number of decisions in each game of the batch for one measurement."""
    training_repetitions: int = 21
    """Number of repetitions of a training iteration (rollout and update)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "repetitions", "num_games", "num_steps", "training_repetitions")


def interleave(work: Mapping[str, Callable[[], Any]], repetitions: int, label: str) -> dict[str, np.ndarray]:
    """Measure the seconds that several functions take, called in turn; return {name: seconds [repetitions]}.

    Each function is called once before, to warm up. work: {name: function}. label: text beside the progress bar.
    """
    for call in work.values():
        call()  # warm up
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in track(range(repetitions), description=f"{label:28}"):
        for name, call in work.items():
            times[name].append(measure_seconds(call))
    return {name: np.array(values) for name, values in times.items()}


def measure_batch(config: Config) -> dict[str, Any]:
    """Measure the speed of random games: in a batch with one and two threads, and as playouts without observations.

    A batch writes observations and masks at every decision. Its speed is compared with `numpy.fill` of these buffers.
    """
    setup = config.chosen_setup
    batches = {t: Batch(config.num_games, setup=setup, threads=t) for t in (1, 2)}
    observations = np.empty_like(batches[1].observations)
    masks = np.empty_like(batches[1].action_masks)
    games = max(1, config.num_games * config.num_steps // 90)

    def fill() -> None:
        for _ in range(config.num_steps):
            observations.fill(1.0)
            masks.fill(1)

    work = {
        "fill": fill,
        "one thread": lambda: batches[1].play_random(config.num_steps),
        "two threads": lambda: batches[2].play_random(config.num_steps),
        "playouts": prepare_playouts(Batch(games, setup=setup).states, "random"),
    }
    times = interleave(work, config.repetitions, "batch")
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


class EmptyEnv(AECEnv):
    """Environment in which players take turns and nothing else happens, to time PettingZoo's loop and wrappers."""

    metadata = {"name": "empty", "is_parallelizable": False}  # noqa: RUF012 - PettingZoo's own form

    def __init__(self, num_players: int, length: int) -> None:
        super().__init__()
        self.possible_agents, self.length = [f"player_{seat}" for seat in range(num_players)], length
        self._space = Dict({"observation": Box(-8, 64, (OBS_SIZE,)), "action_mask": Box(0, 1, (NUM_ACTIONS,), np.int8)})
        self._actions = Discrete(NUM_ACTIONS)
        self._observation = {
            "observation": np.zeros(OBS_SIZE, np.float32),
            "action_mask": np.ones(NUM_ACTIONS, np.int8),
        }

    def observation_space(self, agent: str) -> Dict:
        """Return the observation space, which is the same for all agents."""
        return self._space

    def action_space(self, agent: str) -> Discrete:
        """Return the action space, which is the same for all agents."""
        return self._actions

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        """Start a new episode, in which the first agent acts first."""
        self.agents = self.possible_agents[:]
        self.agent_selection, self._turn = self.agents[0], 0
        self.rewards, self._cumulative_rewards = dict.fromkeys(self.agents, 0.0), dict.fromkeys(self.agents, 0.0)
        self.terminations, self.truncations = dict.fromkeys(self.agents, False), dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def step(self, action: int | None) -> None:
        """Pass the turn to the next agent; terminate the episode after `length` turns."""
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._turn += 1
        self.agent_selection = self.possible_agents[self._turn % len(self.possible_agents)]
        if self._turn == self.length:
            self.terminations = dict.fromkeys(self.agents, True)
            self.agent_selection = self.agents[0]

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """Return an observation and an action mask that never change."""
        return self._observation


def record_games(setup: Setup, count: int) -> list[list[int]]:
    """Play `count` random games with the seeds 0, 1, ... and return the actions of each game."""
    games = []
    env = felicity_v0.raw_env(setup=setup)
    rng = np.random.default_rng(0)
    for seed in range(count):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            mask = env.observe(env.agent_selection)["action_mask"]
            env.step(int(rng.choice(np.flatnonzero(mask))))
        games.append(list(env.game.actions))
    return games


def play_pettingzoo(env: AECEnv, games: Sequence[Sequence[int]]) -> None:
    """Replay the recorded actions of games in a PettingZoo environment, with the standard loop over the agents."""
    for seed, actions in enumerate(games):
        env.reset(seed=seed)
        script = iter(actions)
        for _ in env.agent_iter():
            _, _, termination, truncation, _ = env.last()
            env.step(None if termination or truncation else next(script))


def play_cartpole(env: gymnasium.Env, actions: Sequence[int]) -> None:
    """Replay recorded actions of CartPole through the standard Gymnasium loop."""
    env.reset(seed=0)
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()


def measure_pettingzoo(config: Config) -> dict[str, Any]:
    """Compare the speed of `raw_env` with CartPole, and of `env()` with an empty environment in the same wrappers."""
    setup, games = config.chosen_setup, record_games(config.chosen_setup, 60)
    empty = [[0] * (sum(map(len, games)) // len(games))] * len(games)  # games of average length
    push = np.random.default_rng(0).integers(2, size=6000).tolist()
    empty_env = EmptyEnv(setup.seats, len(empty[0]))
    wrapped_empty = OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(empty_env, -1)))
    raw, wrapped = felicity_v0.raw_env(setup=setup), felicity_v0.env(setup=setup)
    cartpole = gymnasium.make("CartPole-v1")
    work = {
        "raw_env": lambda: play_pettingzoo(raw, games),
        "CartPole": lambda: play_cartpole(cartpole, push),
        "env": lambda: play_pettingzoo(wrapped, games),
        "empty": lambda: play_pettingzoo(wrapped_empty, empty),
    }
    times = interleave(work, config.repetitions, "PettingZoo")
    decisions = {"raw_env": sum(map(len, games)), "env": sum(map(len, games)), "empty": sum(map(len, empty))}
    rates = {name: number / times[name] for name, number in (decisions | {"CartPole": len(push)}).items()}
    return {
        "raw_env_steps_per_second": median_interval(rates["raw_env"]),
        "cartpole_steps_per_second": median_interval(rates["CartPole"]),
        "raw_env_to_cartpole": median_interval(rates["raw_env"] / rates["CartPole"]),
        "env_steps_per_second": median_interval(rates["env"]),
        "env_to_empty_env": median_interval(rates["env"] / rates["empty"]),
    }


class EmptyGames(SingleLearnerVecEnv):
    """Training games in which nothing happens, to measure the speed of MaskablePPO without an environment."""

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Return the same observations as before, with zero rewards and no game terminated."""
        nothing = np.zeros(self.num_envs, np.float32)
        return self.games.observations, nothing, nothing.astype(bool), self._no_infos


def measure_training(config: Config) -> dict[str, Any]:
    """Compare the training speed of MaskablePPO on this environment with its speed on games in which nothing happens.

    Returns decisions per second, and the ratio of the two speeds for three kinds of opponents: compiled heuristics,
    snapshots of the policy, and the default mix.
    """
    default = MaskablePPOConfig(**config.training_setup)
    compiled = replace(default, mix=("random=1", "anchor=1", "ev=1"))
    snapshots = replace(default, mix=("self=1", "past=1"))
    with tempfile.TemporaryDirectory() as folder:
        models: dict[str, MaskablePPO] = {}
        for name, settings in (("compiled", compiled), ("snapshots", snapshots), ("default", default)):
            trainer = MaskablePPOTrainer(settings, Path(folder))
            trainer.pool.update(trainer.player())
            models[name], games = trainer.model, trainer.env.games
        models["empty"] = build_model(default, EmptyGames(games))
        for model in models.values():
            model.set_logger(configure(folder, []))
        work = {
            name: (lambda model=model: model.learn(default.rollout_size, reset_num_timesteps=False))
            for name, model in models.items()
        }
        times = interleave(work, config.training_repetitions, "training")
    rates = {name: default.rollout_size / values for name, values in times.items()}
    return {
        "decisions_per_second": {name: median_interval(rate) for name, rate in rates.items()},
        "compiled_to_empty": median_interval(rates["compiled"] / rates["empty"]),
        "snapshots_to_empty": median_interval(rates["snapshots"] / rates["empty"]),
        "default_to_empty": median_interval(rates["default"] / rates["empty"]),
    }


_FIRST_GAME = "import sys; from felicity_env import Batch; Batch(1, setup=sys.argv[1]).play_random(100)"


def measure_start(config: Config) -> dict[str, float]:
    """Measure the seconds from the start of Python to the end of a first game.

    `cold_seconds` is measured without a cache of compiled code, `warm_seconds` with it.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", _FIRST_GAME, config.setup_word]
        start = partial(subprocess.run, command, env=environment, check=True, capture_output=True)
        runs = [measure_seconds(start) for _ in range(6)]
    return {"cold_seconds": runs[0], "warm_seconds": float(np.median(runs[1:]))}


def measure_memory(config: Config, num_games: int = 50_000) -> float:
    """Measure the bytes of memory that each game of a batch takes, including its observation and mask."""
    tracemalloc.start()
    batch = Batch(num_games, setup=config.chosen_setup)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / batch.num_games


def main(config: Config) -> None:
    """Measure the environment (speed of games, of PettingZoo and of training, start time, memory); store the result."""
    torch.set_num_threads(1)  # as in training
    started = time.monotonic()
    results = {
        "batch": measure_batch(config),
        "pettingzoo": measure_pettingzoo(config),
        "training": measure_training(config),
        "start": measure_start(config),
        "memory_bytes_per_game": measure_memory(config),
    }
    write_result("speed", config, results, started=started)
