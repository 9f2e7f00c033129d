"""Games and rollouts of a training run that stay on a GPU, with compiled players in the other seats.

A rollout keeps states; observations are written anew for each minibatch, because they take six times the memory.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.compiled import HEURISTICS, select_compiled
from agents.tools.files import UserError
from felicity_env import game_seed
from felicity_env.cuda import Batch
from felicity_env.cuda.device import find_gpu
from felicity_env.game import MAX_SEATS
from felicity_env.learners import NOT_COMPILED, CompiledLoop
from train import gpu_kernels as kernels
from train.cuda_graphs import GraphedFunction
from train.opponents import OpponentPool
from train.rollout import GAMES_STREAM, ORDER_STREAM, Learner, create_games


class GpuRollout:
    """Data of a rollout on the GPU: T decisions in each of B games, as tensors [T, B, ...].

    config: settings of the run. batch: its games. networks: device of the networks.
    """

    def __init__(self, config: Any, batch: Batch, networks: str) -> None:
        self.config, self.batch, self.networks = config, batch, networks
        shape, device = (config.num_steps, config.num_envs), batch.device
        self.states = torch.empty((*shape, batch.states.shape[1]), dtype=torch.int16, device=device)
        self.actions = torch.empty(shape, dtype=torch.int64, device=device)
        self.log_probabilities = torch.empty(shape, dtype=torch.float32, device=device)
        self.seats = torch.empty(shape, dtype=torch.int64, device=device)
        self.values = torch.empty(shape, dtype=torch.float32, device=device)
        self.has_choice = torch.empty(shape, dtype=torch.bool, device=device)
        self.rewards = torch.empty((*shape, MAX_SEATS), dtype=torch.float32, device=device)
        self.terminated = torch.empty(shape, dtype=torch.bool, device=device)

    def prepare_data(self, learner: Learner, update: int) -> dict[str, Tensor]:
        """Return the N decisions to learn from, in random order, as named tensors [N, ...] on the GPU.

        They are those of `Rollout.prepare_data`, with states in place of observations and masks.
        """
        advantages, complete = self._compute_advantages()
        data = {
            "states": self.states,
            "actions": self.actions,
            "log_probabilities": self.log_probabilities,
            "advantages": advantages,
            "returns": advantages + self.values,
        }
        indices = (complete & self.has_choice).flatten().nonzero().squeeze(1)
        seed = game_seed(game_seed(self.config.seed, ORDER_STREAM, 0), update, 0)
        generator = torch.Generator(indices.device).manual_seed(seed)
        order = torch.randperm(len(indices), generator=generator, device=indices.device)
        return {name: tensor.flatten(0, 1)[indices[order]] for name, tensor in data.items()}

    def _compute_advantages(self) -> tuple[Tensor, Tensor]:
        config, num_games = self.config, self.config.num_envs
        advantages, complete = torch.empty_like(self.values), torch.empty_like(self.terminated)
        workspace = torch.empty((num_games, 3, MAX_SEATS), dtype=torch.float64, device=self.batch.device)
        inputs = self.rewards, self.terminated, self.seats, self.values, config.gamma, config.gae_lambda
        self.batch.launch(kernels.compute_advantages, num_games, *inputs, advantages, complete, workspace)
        return advantages, complete

    def encode(self, minibatch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return a minibatch of the data with its observations and masks."""
        observations, masks = self.batch.encode(minibatch["states"])
        encoded = minibatch | {"observations": observations, "masks": masks.bool()}
        return {name: tensor.to(self.networks) for name, tensor in encoded.items()}


class GpuGames:
    """Games of a training run that the learner plays itself, on the GPU.

    config: settings of the run. networks: device of the networks. uses_graphs: whether a rollout is recorded as a CUDA
    graph, for which the networks must be on the GPU, too. Raises `UserError` if an opponent is not compiled, or if
    networks on a GPU would play in Numba's simulator.
    """

    def __init__(self, config: Any, networks: str, *, uses_graphs: bool) -> None:
        self.config, self.uses_graphs = config, uses_graphs
        self._graphed_rollout: GraphedFunction | None = None
        self.batch = self._create_batch(networks)
        self._pool, self._loop = self._create_pool(), self._create_loop()
        self._arrays = self.batch.arrays, self.batch.settings, self._loop, self._pool
        self.rollout = GpuRollout(config, self.batch, networks)
        self._launch(kernels.seat_all, self.batch.arrays, self._loop, self._pool)
        self._launch(kernels.begin, *self._arrays)
        self.batch.show()

    def _create_batch(self, networks: str) -> Batch:
        try:
            if networks == "cuda" and find_gpu(0).device.type != "cuda":
                raise UserError("--games cuda in Numba's simulator needs --device cpu")
            seed = game_seed(self.config.seed, GAMES_STREAM, 0)
            return create_games(Batch, self.config, seed=seed, check="later")
        except RuntimeError as error:
            if "felicity_env.cuda" not in str(error):
                raise
            raise UserError(f"--games cuda: {error}") from error

    def _launch(self, kernel: Any, *arguments: Any) -> None:
        self.batch.launch(kernel, self.config.num_envs, *arguments)

    def _create_loop(self) -> CompiledLoop:
        size, device = (self.config.num_envs, MAX_SEATS), self.batch.device
        arrays: dict[str, Any] = {
            "numbers": torch.zeros(size, dtype=torch.int64, device=device),
            "rewards": torch.zeros(size, dtype=torch.float64, device=device),
            "terminated": torch.zeros(size[0], dtype=torch.bool, device=device),
            "scratch": self.batch.take_states(torch.empty_like(self.batch.states)),
        }
        return self.batch.take(CompiledLoop(**arrays))

    def _create_pool(self) -> kernels.Pool:
        """Return the opponents of the run for kernels; raise `UserError` if one of them is not compiled."""
        opponents = OpponentPool(self.config.weights, num_learners=self.config.num_learners)
        numbers = select_compiled(opponents.players).numbers
        if (numbers[1:] == NOT_COMPILED).any():  # the first is the current policy
            raise UserError(f"--games cuda plays against {', '.join(HEURISTICS)} only; others need --games cpu")
        device = self.batch.device
        thresholds = torch.from_numpy(opponents.thresholds).to(device)
        return self.batch.take(kernels.Pool(thresholds, torch.from_numpy(numbers).to(device), opponents.num_learners))

    def collect(self, rollout: GpuRollout, learner: Learner) -> Iterator[float]:
        """Write a rollout; yield the part of it that is done before each step, and before and after a CUDA graph.

        rollout, learner: the same in each call.
        """
        if self.uses_graphs:
            yield 0.0
            self._play_graph(rollout, learner)
            yield 1.0
        else:
            for t in range(self.config.num_steps):
                yield t / self.config.num_steps
                self._play_step(t, rollout, learner)
        self.batch.check()

    def _play_graph(self, rollout: GpuRollout, learner: Learner) -> None:
        def play() -> dict[str, Tensor]:
            for t in range(self.config.num_steps):
                self._play_step(t, rollout, learner)
            return {}

        self._graphed_rollout = self._graphed_rollout or GraphedFunction(play)
        self._graphed_rollout()

    def _play_step(self, t: int, rollout: GpuRollout, learner: Learner) -> None:
        batch = self.batch
        rollout.states[t], rollout.seats[t] = batch.states, batch.seats
        rollout.has_choice[t] = batch.action_masks.sum(dim=1) > 1  # a single legal action teaches nothing
        observations = batch.observations.to(rollout.networks)
        rollout.values[t] = learner.compute_values(observations)
        logits = learner.compute_logits(observations).to(batch.device)
        actions, logs = rollout.actions[t], rollout.log_probabilities[t]
        self._launch(kernels.draw_actions, batch.arrays, logits, actions, logs)
        outputs = rollout.rewards[t], rollout.terminated[t]
        self._launch(kernels.step, *self._arrays, actions, batch.faults, self.config.reward_scale, *outputs)
        batch.show()

    def clone(self) -> dict[str, Tensor]:
        """Return copies of the state of all games, on the GPU; `OwnGames` takes them, too, from a checkpoint."""
        return self.batch.snapshot()

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore what `clone` returned."""
        self.batch.restore(dict(arrays))
        self._launch(kernels.seat_all, self.batch.arrays, self._loop, self._pool)

    def close(self) -> None:
        """Do nothing: no workers play these games."""
