"""Self-play with sb3-contrib's MaskablePPO: the door that everybody knows.

The learner sits at one seat of every lane, the seat rotating; the others are played by `OpponentPool`. PPO with a real
entropy bonus holds its own against the methods made for hidden information (arXiv:2502.08938).
"""

import json
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from agents.compiled import compiled_among
from agents.network import Layers, NetworkPlayer, save_policy
from felicity_env import OBS_SIZE, Batch, game_seed
from felicity_env.game import NUM_ACTIONS
from felicity_env.lanes import Lanes
from train import run_folder
from train.config import Config
from train.evaluation import LADDER, evaluate
from train.opponents import OpponentPool
from train.plots import plot_learning_curve
from train.progress import Progress
from train.vec_env import LanesVecEnv

_CURVE_STREAM, _FINAL_STREAM = 1, 2
_SPREAD_STEPS = 97  # random decisions at the start, so that the lanes are not all in the same round


class Trainer:
    """A run in progress: model, lanes, opponents, learning curve."""

    env_class = LanesVecEnv

    def __init__(self, config: Config, folder: Path) -> None:
        self.config, self.folder = config, folder
        torch.set_num_threads(config.threads)
        self.rng = np.random.default_rng([config.seed, 1])
        self.pool = OpponentPool(config.weights, num_past=config.num_past, open_mice=config.open_mice, rng=self.rng)
        self.curve: list[dict[str, Any]] = []
        self.updates = 0
        self.seconds = 0.0
        self.env = self._new_env(restarted_at=0)
        self.model = build_model(config, self.env)

    def _new_env(self, *, restarted_at: int) -> LanesVecEnv:
        """New lanes; after a restart with games of their own."""
        config = self.config
        seats = np.resize(np.array(config.num_players), config.num_envs)
        seed = game_seed(config.seed, 0, restarted_at)
        batch = Batch(config.num_envs, seats.tolist(), seed=seed, reward=config.reward, open_mice=config.open_mice)
        batch.play_random(_SPREAD_STEPS)
        if self.pool.newest.player is None:
            self.pool.update([(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.zeros(NUM_ACTIONS, np.float32))])
        return self.env_class(
            Lanes(batch, self.pool.players, seating=self.pool.seating, compiled=compiled_among(self.pool.players)),
            reward_scale=config.reward_scale,
        )

    def learn(self, progress: Progress) -> bool:
        """Train to the end; False if the user stopped it before. The checkpoint is written either way."""
        callback = _Steering(self, progress)
        logs = self.folder / "logs" / f"from-{self.model.num_timesteps:09d}"
        self.model.set_logger(configure(str(logs), ["csv", "tensorboard"]))
        left = self.config.total_timesteps - self.model.num_timesteps
        with callback.stop_on_interrupt():
            if left > 0:
                self.model.learn(left, callback=callback, reset_num_timesteps=self.model.num_timesteps == 0)
            self.model.logger.close()
            if not callback.stopped and not self._is_measured():
                self.add_to_curve()
            self.save()
        return not callback.stopped

    def _is_measured(self) -> bool:
        """Whether the curve has a point of the policy as it is now."""
        return bool(self.curve) and self.curve[-1]["timesteps"] == self.model.num_timesteps

    def layers(self) -> Layers:
        """The policy's layers [in, out] as NumPy arrays."""
        policy: Any = self.model.policy
        linear = [m for m in policy.mlp_extractor.policy_net if isinstance(m, torch.nn.Linear)] + [policy.action_net]
        return [(m.weight.detach().numpy().T.copy(), m.bias.detach().numpy().copy()) for m in linear]

    def player(self) -> NetworkPlayer:
        """The policy as a player."""
        return NetworkPlayer.of(self.layers(), open_mice=self.config.open_mice)

    def add_to_curve(self) -> dict[str, Any]:
        """Measure the policy as it is now and draw the curve anew."""
        point: dict[str, Any] = {"timesteps": self.model.num_timesteps, "seconds": round(self.seconds, 1)}
        config = self.config
        point["results"] = [
            evaluate(self.player(), num_players=n, num_blocks=config.curve_blocks, stream=_CURVE_STREAM)
            for n in config.num_players
        ]
        self.curve.append(point)
        run_folder.write_json(self.folder / run_folder.CURVE, self.curve)
        plot_learning_curve(self.curve, self.folder / "learning_curve.png")
        return point

    def finish(self) -> list[dict[str, Any]]:
        """Write the policy and its evaluation."""
        config = self.config
        about = {"open_mice": config.open_mice, "num_players": list(config.num_players), "commit": run_folder.commit()}
        about["timesteps"] = self.model.num_timesteps
        try:
            save_policy(self.folder, self.layers(), **about)
        except (OSError, SafetensorError) as error:
            raise run_folder.RunError(f"cannot write the policy into {self.folder}: {error}") from error
        player, begin = NetworkPlayer(str(self.folder)), time.monotonic()
        results = [
            evaluate(player, num_players=n, num_blocks=config.evaluation_blocks, stream=_FINAL_STREAM)
            for n in config.num_players
        ]
        minutes = round((self.seconds + time.monotonic() - begin) / 60, 2)
        written = {"results": results, "minutes": minutes, **run_folder.provenance()}
        run_folder.write_json(self.folder / run_folder.EVALUATION, written)
        return results

    def save(self) -> None:
        """Write the checkpoint. Games in flight are not in it: a resumed run begins new ones."""
        content = {
            "policy": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "past": [[torch.from_numpy(a) for layer in layers for a in layer] for layers in self.pool.past_layers()],
            "torch_random": torch.get_rng_state(),
            "numpy_random": json.dumps(self.rng.bit_generator.state),
            "curve": json.dumps(self.curve),
            "timesteps": self.model.num_timesteps,
            "updates": self.updates,
            "seconds": self.seconds,
        }
        run_folder.save_checkpoint(self.folder, content)

    def restore(self) -> None:
        """Take up what `save` wrote; raises `RunError` if the checkpoint does not fit the settings."""
        content = run_folder.load_checkpoint(self.folder)
        try:
            self.model.policy.load_state_dict(content["policy"])
            self.model.policy.optimizer.load_state_dict(content["optimizer"])
            past = [[tensor.numpy() for tensor in tensors] for tensors in content["past"]]
            self.rng.bit_generator.state = json.loads(content["numpy_random"])
            self.curve = json.loads(content["curve"])
            self.updates, self.seconds = content["updates"], content["seconds"]
            self.model.num_timesteps = content["timesteps"]
            torch.set_rng_state(content["torch_random"])
        except (KeyError, ValueError, RuntimeError, TypeError) as error:
            path = self.folder / run_folder.CHECKPOINT
            raise run_folder.RunError(f"{path} does not fit the run's config.json: {error}") from error
        self.pool.update(self.layers())
        for arrays in past:
            self.pool.remember(list(zip(arrays[::2], arrays[1::2], strict=True)))
        self.env = self._new_env(restarted_at=self.model.num_timesteps)
        self.model.set_env(self.env)


def build_model(config: Config, env: LanesVecEnv) -> MaskablePPO:
    """MaskablePPO with the settings of a run."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        learning_rate=lambda left: config.learning_rate * left,
        n_steps=config.num_steps,
        batch_size=config.batch_size,
        n_epochs=config.update_epochs,
        gamma=config.gamma,
        gae_lambda=config.gae_lambda,
        clip_range=config.clip_coef,
        ent_coef=config.ent_coef,
        policy_kwargs={"net_arch": list(config.hidden_sizes)},
        seed=config.seed,
        device="cpu",
    )


class _Steering(BaseCallback):
    """Between updates: renew the opponents, anneal, measure, save, show, and stop when asked."""

    def __init__(self, trainer: Trainer, progress: Progress) -> None:
        super().__init__()
        self.trainer, self.progress = trainer, progress
        self.stopped = False
        self.clock = time.monotonic()

    def stop_on_interrupt(self) -> "_Interrupt":
        """While this is entered the first Ctrl-C stops at the next step, a second one at once."""
        return _Interrupt(self)

    def _on_step(self) -> bool:
        self.progress.advance_to(self.num_timesteps)
        return not self.stopped

    def _on_rollout_start(self) -> None:
        trainer, config = self.trainer, self.trainer.config
        now = time.monotonic()
        trainer.seconds, self.clock = trainer.seconds + now - self.clock, now
        layers = trainer.layers()
        trainer.pool.update(layers)
        if trainer.updates and trainer.updates % config.remember_every == 0:
            trainer.pool.remember(layers)
        done = self.num_timesteps / config.total_timesteps
        self.model.ent_coef = config.ent_coef + (config.ent_coef_end - config.ent_coef) * done  # type: ignore[attr-defined]
        self._measure()
        trainer.updates += 1

    def _measure(self) -> None:
        """A point of the curve, and a checkpoint, every `curve_every` decisions."""
        trainer, every = self.trainer, self.trainer.config.curve_every
        before = trainer.curve[-1]["timesteps"] if trainer.curve else -every
        if self.num_timesteps // every == before // every:
            return
        point = trainer.add_to_curve()
        trainer.save()
        for result in point["results"]:
            for code in LADDER:
                name = f"win_share/{result['num_players']}p_{code}"
                self.logger.record(name, result["win_share"][code]["value"])
        self.progress.show_strength(point)


class _Interrupt:
    """SIGINT as a wish: a context that sets `steering.stopped` at the first Ctrl-C."""

    def __init__(self, steering: _Steering) -> None:
        self.steering = steering

    def __enter__(self) -> None:
        self.before = signal.signal(signal.SIGINT, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.steering.stopped:
            raise KeyboardInterrupt
        self.steering.stopped = True
        self.steering.progress.say("stopping at the next step (Ctrl-C again: at once, losing what is not saved) ...")

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGINT, self.before)
