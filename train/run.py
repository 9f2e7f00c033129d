"""What all trainers share: the learning curve, the checkpoints' facts, the policy at the end, Ctrl-C."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import numpy as np
from safetensors import SafetensorError
from stable_baselines3.common.logger import Logger, configure

from agents.network import Layers, NetworkPlayer, load_policy, save_policy
from felicity_env import Batch
from train import run_folder
from train.config import Config
from train.evaluation import evaluate
from train.plots import plot_learning_curve
from train.progress import Progress

CURVE_STREAM, FINAL_STREAM = 1, 2
_SPREAD_STEPS = 97  # random decisions


class Trainer(Protocol):
    """A run in progress, whatever the algorithm."""

    run: "Run"

    @property
    def timesteps(self) -> int:
        """Decisions learned from."""
        ...

    def learn(self, progress: Progress) -> bool:
        """Train to the end; False if the user stopped it before. A checkpoint is written either way."""
        ...

    def restore(self, say: Callable[[str], Any]) -> None:
        """Take up the run's newest checkpoint that is whole; `say` hears of others. Raises `RunError` if none fits."""
        ...

    def layers(self) -> Layers:
        """The policy as it is now."""
        ...


class Run:
    """Settings, folder, learning curve and working time of a run."""

    def __init__(self, config: Config, folder: Path, *, activation: str) -> None:
        self.config, self.folder, self.activation = config, folder, activation
        self.curve: list[dict[str, Any]] = []
        self.seconds = 0.0
        self._clock = time.monotonic()

    def new_games(self, seed: int, *, threads: int = 1) -> Batch:
        """As many as the settings say, not all in the same round: random decisions have been taken in them."""
        config = self.config
        seats = np.resize(np.array(config.num_players), config.num_envs).tolist()
        batch = Batch(
            *(config.num_envs, seats), seed=seed, reward=config.reward, open_mice=config.open_mice, threads=threads
        )
        batch.play_random(_SPREAD_STEPS)
        return batch

    def new_logger(self, timesteps: int) -> Logger:
        """For CSV and TensorBoard files of what is learned from here on."""
        return configure(str(self.folder / "logs" / f"from-{timesteps:012d}"), ["csv", "tensorboard"])

    def count_time(self) -> None:
        """Add what has passed since the last call."""
        now = time.monotonic()
        self.seconds, self._clock = self.seconds + now - self._clock, now

    def facts(self, timesteps: int, updates: int) -> dict[str, Any]:
        """What a checkpoint says beside its arrays."""
        self.count_time()
        counters = {"timesteps": timesteps, "updates": updates, "seconds": self.seconds}
        return {**counters, "curve": self.curve, "config": self.config.to_json(), **run_folder.provenance()}

    def take_up(self, facts: dict[str, Any]) -> None:
        """Go on from what `facts` said; raises `ValueError` if it was another run's."""
        own, others = json.loads(json.dumps(self.config.to_json())), facts["config"]
        if unlike := [name for name in own | others if own.get(name) != others.get(name)]:
            raise ValueError(f"it was written with other settings: {', '.join(unlike)}")
        self.seconds, self.curve = facts["seconds"], facts["curve"]

    def is_due(self, timesteps: int) -> bool:
        """Whether the curve wants a point now."""
        every = self.config.curve_every
        before = self.curve[-1]["timesteps"] if self.curve else -every
        return timesteps // every != before // every

    def player(self, layers: Layers) -> NetworkPlayer:
        """A policy of this run as a player."""
        return NetworkPlayer.of(layers, open_mice=self.config.open_mice, activation=self.activation)

    def add_to_curve(self, layers: Layers, timesteps: int, logger: Logger) -> dict[str, Any]:
        """Measure the policy, log its win shares and draw the curve anew; the new point."""
        self.count_time()
        config, player = self.config, self.player(layers)
        results = self._evaluated(player, num_blocks=config.curve_blocks, stream=CURVE_STREAM)
        self.curve.append({"timesteps": timesteps, "seconds": round(self.seconds, 1), "results": results})
        run_folder.write_json(self.folder / run_folder.CURVE, self.curve)
        plot_learning_curve(self.curve, self.folder / "learning_curve.png")
        for result in results:
            for code, share in result["win_share"].items():
                logger.record(f"win_share/{result['num_players']}p_{code}", share["value"])
        return self.curve[-1]

    def _evaluated(self, player: NetworkPlayer, *, num_blocks: int, stream: int) -> list[dict[str, Any]]:
        """By number of players."""
        settings: dict[str, Any] = {"num_blocks": num_blocks, "stream": stream, "against": self.config.against}
        return [evaluate(player, num_players=n, **settings) for n in self.config.table_sizes]

    def finish(self, layers: Layers, timesteps: int) -> list[dict[str, Any]]:
        """Write the policy and its evaluation."""
        self.count_time()
        config = self.config
        about = {"open_mice": config.open_mice, "num_players": list(config.table_sizes), "timesteps": timesteps}
        about |= {"algorithm": config.algorithm, "commit": run_folder.commit()}
        try:
            save_policy(self.folder, layers, activation=self.activation, **about)
        except (OSError, SafetensorError) as error:
            raise run_folder.RunError(f"cannot write the policy into {self.folder}: {error}") from error
        player = NetworkPlayer(str(self.folder))
        results = self._evaluated(player, num_blocks=config.evaluation_blocks, stream=FINAL_STREAM)
        self.count_time()
        written = {"results": results, "minutes": round(self.seconds / 60, 2), **run_folder.provenance()}
        run_folder.write_json(self.folder / run_folder.EVALUATION, written)
        return results

    def evaluation(self) -> list[dict[str, Any]]:
        """What `finish` wrote; nothing if it has not, or if that or the policy has been lost or damaged since."""
        try:
            load_policy(self.folder)
            return json.loads((self.folder / run_folder.EVALUATION).read_text())["results"]
        except (OSError, ValueError, KeyError, TypeError):
            return []


class Interrupt:
    """SIGINT as a wish: a context in which the first Ctrl-C sets `wanted`, and a second one interrupts at once."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.wanted = progress, False

    def __enter__(self) -> "Interrupt":
        self.before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
        self.progress.say("stopping at the next step (Ctrl-C again: at once, losing what is not saved) ...")

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self.before)
