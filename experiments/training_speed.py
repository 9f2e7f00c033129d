"""How much of its time does the self-play trainer spend outside its networks? `python -m experiments.training_speed`

Updates as `python -m train --algorithm selfplay` makes them, and, turn about in the same process, the same forward and
backward passes on data that stay as they are: no games, no draws, no advantages, no shuffling, no optimiser. Then once
more with the optimiser, which tells how much of the rest is its.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from rich.progress import track

from experiments.command import NOTHING_STORED, run_command
from experiments.results import median_interval, write_result
from train.config import SelfplayConfig
from train.device import default_settings
from train.selfplay import SelfplayTrainer

Descent = Callable[[dict[str, torch.Tensor], float], Any]  # what is done with a minibatch
SETTINGS = {"2 x 128": {}, "2 x 256": {"hidden_sizes": (256, 256)}}


@dataclass(frozen=True)
class Config:
    """Compare updates with their bare passes."""

    repetitions: int = 30
    """Updates, and as many times their passes."""
    device: str = "auto"
    """As for training."""
    num_envs: int | None = None
    """Games side by side; default: those of the trainer."""
    batch_size: int | None = None
    """Decisions in a minibatch; default: those of the trainer."""


def seconds(work: Callable[[], Any]) -> float:
    """That `work` takes."""
    begin = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def constant_passes(trainer: SelfplayTrainer) -> Callable[[Descent], None]:
    """The passes through the networks that an update makes, on the data of one; what has gradients is left open."""
    rollout, data = trainer.rollout, {name: tensor.clone() for name, tensor in trainer.estimate().items()}
    observations = rollout.observations.clone()
    minibatches = list(trainer.minibatches(data))

    def passes(descend: Descent) -> None:
        trainer.optimizer.param_groups[0]["lr"] = 0.0  # the policy stays as it is; the next update sets the rate
        with torch.no_grad():
            for _ in range(trainer.config.num_steps):
                trainer.logits_of(observations[0])
            trainer.values_of(observations.flatten(0, 1))
        for minibatch in minibatches:
            descend(minibatch, 0.01)

    return passes


def speed_of(settings: dict[str, Any], config: Config) -> dict[str, Any]:
    """Decisions learned a second; the time of the passes as a share of the update's, bare and with the optimiser."""
    chosen = {name: getattr(config, name) for name in ("num_envs", "batch_size") if getattr(config, name)}
    defaults = default_settings("selfplay", config.device)
    assert isinstance(defaults, SelfplayConfig)
    with TemporaryDirectory() as folder:
        trainer = SelfplayTrainer(replace(defaults, device=config.device, **settings, **chosen), Path(folder))
        trainer.update()
        passes, bare = constant_passes(trainer), lambda *of: trainer.loss_of(*of)[0].backward()
        work = (trainer.update, partial(passes, bare), partial(passes, trainer.descend))
        times, learned = [[seconds(one) for one in work]], []  # the first time counts for nothing
        for _ in range(config.repetitions):
            before = trainer.timesteps
            times.append([seconds(one) for one in work])
            learned.append(trainer.timesteps - before)
    updates, bare_passes, with_optimiser = np.array(times[1:]).T
    return {
        "decisions_per_second": median_interval(np.array(learned) / updates),
        "played_per_second": median_interval(trainer.config.rollout_size / updates),
        "rate_to_bare_passes": median_interval(bare_passes / updates),
        "rate_to_passes_and_optimiser": median_interval(with_optimiser / updates),
        "num_envs": trainer.config.num_envs,
        "num_steps": trainer.config.num_steps,
        "update_epochs": trainer.config.update_epochs,
        "batch_size": trainer.config.batch_size,
        "device": trainer.device,
        "dtype": str(trainer.dtype).removeprefix("torch."),
    }


def main(config: Config) -> None:
    """Measure and store."""
    started = time.monotonic()
    results = {name: speed_of(settings, config) for name, settings in track(SETTINGS.items(), "networks")}
    write_result("training_speed", config, results, started=started)


if __name__ == "__main__":
    run_command("training_speed", Config, main, interrupted=NOTHING_STORED)
