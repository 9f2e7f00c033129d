"""Many games of Felicity on a GPU; the class has the methods, the seeds and the results of the one for a CPU."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from felicity_env.base_batch import CLONED, FIXED, BaseBatch
from felicity_env.buffers import Buffers, allocate
from felicity_env.cuda import kernels
from felicity_env.cuda.device import find_gpu
from felicity_env.game import NUM_ACTIONS, STATE, Setup
from felicity_env.observation import OBS_SIZE, PRIVILEGED_SIZE

BY_COLUMNS = ("observations", "action_masks", "rewards", "scores", "decisions")
STATES = ("states", "final_states", "blanks", "first_states")  # buffers with a state in each row
_NO_FAULT = np.iinfo(np.int64).max


class Batch(BaseBatch[Tensor]):
    """Batch of `num_games` games of Felicity on a GPU that are played together: a step plays one action in each.

    Parameters, methods, seeds and results are those of `felicity_env.Batch`. The buffers are tensors of torch on the
    GPU; CuPy and JAX take them through DLPack. A step runs on torch's current stream.

    device: index of the GPU. dtype: number type of the observations, "float32" or "float16"; both hold every amount
    exactly. check: when an illegal action raises `ValueError`. With "now", it is in the step, which waits for the GPU
    and plays nothing. With "later", the step does not wait: a game with an illegal action stands still and is counted,
    and `check` raises. num_players, reward, open_mice, setup, record, autoreset, seed: see `felicity_env.Batch`.

    Public buffers: those of `felicity_env.Batch`, but states are int16 [B, numbers of a state]. All other
    arrays of two dimensions are stored by columns.
    """

    arrays: Buffers
    """Buffers as kernels take them; see `buffers.Buffers`."""

    def __init__(
        self,
        num_games: int,
        num_players: int | Sequence[int] | None = None,
        *,
        seed: int = 0,
        reward: str = "win",
        open_mice: bool = False,
        setup: Setup | str | Sequence[Setup | str] | None = None,
        record: bool = False,
        autoreset: bool = True,
        device: int = 0,
        dtype: Literal["float32", "float16"] = "float32",
        check: Literal["now", "later"] = "now",
    ) -> None:
        if dtype not in ("float32", "float16"):
            raise ValueError(f"dtype must be float32 or float16, not {dtype!r}")
        if check not in ("now", "later"):
            raise ValueError(f"check must be now or later, not {check!r}")
        self._gpu, self.dtype, self._checks_now = find_gpu(device), getattr(torch, dtype), check == "now"
        self.device, self._dtype_name = self._gpu.device, dtype
        self.faults = torch.zeros(1, dtype=torch.int64, device=self.device)
        options = {"seed": seed, "reward": reward, "open_mice": open_mice, "record": record, "autoreset": autoreset}
        super().__init__(num_games, num_players, setup=setup, **options)

    @property
    def num_players(self) -> Tensor:
        """Number of seats in each of the B games, int16 [B]."""
        return self.states[:, 0]

    def show(self) -> None:
        """Write the observations and action masks anew, after a kernel of one's own has changed the games."""
        self._show(self._all)

    def snapshot(self) -> dict[str, Tensor]:
        """Return what `clone` returns, as tensors on the GPU."""
        saved = {name: getattr(self.buffers, name).clone() for name in (*FIXED, *CLONED)}
        bytes_of_states = {name: saved[name].view(torch.uint8) for name in STATES if name in saved}
        numbers = {"seed": np.array([self._seed]), "settings": self._plain_settings()}
        return saved | bytes_of_states | {name: self._to_device(array) for name, array in numbers.items()}

    def clone(self) -> dict[str, np.ndarray]:
        """Return a copy of the games in progress and of their random state, as plain arrays that `restore` takes.

        Batches on a CPU and on a GPU take each other's.
        """
        return {name: np.ascontiguousarray(tensor.cpu().numpy()) for name, tensor in self.snapshot().items()}

    def check(self) -> None:
        """Raise `ValueError` if a step since the last check had an illegal action or an impossible index.

        With `check="now"` the steps have raised it already.
        """
        count = int(self.faults.item())
        self.faults.zero_()
        if count:
            raise ValueError(f"{count} actions were illegal, or for games that do not exist; they were not played")

    # --- what depends on the device ---

    def _allocate(self, *, record: bool) -> Any:
        host = allocate(self.setups, record=record)
        host = host._replace(observations=host.observations.astype(self._dtype_name))
        tensors: dict[str, Any] = {name: self._create_tensor(name, array) for name, array in host._asdict().items()}
        self.arrays = Buffers(
            **{name: (self.take_states if name in STATES else self.take)(tensor) for name, tensor in tensors.items()}
        )
        return Buffers(**tensors)

    def _create_tensor(self, name: str, array: np.ndarray) -> Tensor:
        """Return a tensor on the GPU for the buffer `name`, which begins with the contents of `array`."""
        if name in BY_COLUMNS:  # these begin with zeros
            return torch.zeros(array.shape[::-1], dtype=torch.from_numpy(array[:0]).dtype, device=self.device).T
        return torch.from_numpy(_to_numbers(array)).to(self.device, copy=True)

    # --- kernels ---

    def take(self, value: Any) -> Any:
        """Return a tensor, or a named tuple of tensors, as kernels take it; any other value as it is."""
        if isinstance(value, Tensor):
            return self._gpu.as_array(value)
        return type(value)(*map(self.take, value)) if isinstance(value, tuple) else value

    def take_states(self, states: Tensor) -> Any:
        """Return states, int16 [K, numbers of a state], as kernels take them: STATE [K]."""
        return self._gpu.as_array(states).view(STATE).reshape(len(states))

    def launch(self, kernel: Any, threads: int, *arguments: Any) -> None:
        """Run a CUDA kernel of Numba on torch's current stream, with at least this number of threads.

        arguments: numbers, tensors, and what `take`, `take_states` or `arrays` give.
        """
        if threads:
            self._gpu.launch(kernel, threads, *map(self.take, arguments))

    def _to_device(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _read(self, name: str, game: int | None = None) -> Any:
        tensor: Any = getattr(self.buffers, name)
        array = (tensor if game is None else tensor[game : game + 1]).cpu().numpy()
        if name in STATES:
            array = np.ascontiguousarray(array).view(STATE).reshape(len(array))
        return array if game is None else array[0]

    def _write(self, name: str, values: np.ndarray, games: Tensor | None = None) -> None:
        plain = _to_numbers(values)
        tensor: Any = getattr(self.buffers, name)
        if games is None:
            tensor.copy_(torch.from_numpy(plain))
        else:
            tensor[games] = self._to_device(plain)

    def _restart(self, games: Tensor) -> None:
        self.launch(kernels.restart, len(games), self.arrays, games, self._seed)

    def _begin(self, games: Tensor) -> None:
        self.launch(kernels.begin, len(games), self.arrays, games)

    def _show(self, games: Tensor) -> None:
        self.launch(kernels.show, len(games), self.arrays, games, self.open_mice)

    def _play(self, games: Tensor, actions: Tensor) -> None:
        self.launch(kernels.play, len(games), self.arrays, games, actions, self.settings, self.faults)
        self._show(games)

    def _play_random(self, num_steps: int) -> None:
        for _ in range(num_steps):
            self.launch(kernels.play_random, self.num_games, self.arrays, self.settings)
            self._show(self._all)

    def _check_indices(self, indices: Any) -> Tensor:
        if isinstance(indices, Tensor):
            if not self._checks_now and indices.device == self.device and indices.dtype == torch.int64:
                return indices.contiguous()  # the kernel plays only in games that exist
            indices = indices.cpu().numpy()
        return super()._check_indices(indices)

    def _check_actions(self, actions: Any, games: Tensor) -> Tensor:
        tensor = torch.as_tensor(actions, device=self.device)
        if tensor.shape != games.shape or tensor.dtype.is_floating_point or tensor.dtype == torch.bool:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise ValueError(f"actions must be {len(games)} integers, not {kind} {list(tensor.shape)}")
        checked = tensor.to(torch.int64).contiguous()
        if self._checks_now:
            first = torch.full((1,), _NO_FAULT, device=self.device)
            self.launch(kernels.find_illegal, len(games), self.arrays, games, checked, first)
            fault = int(first.item())
            if fault < _NO_FAULT:
                self._explain_illegal(int(games[fault]), int(checked[fault]))
        return checked

    def _view(self, games: Tensor) -> tuple[np.ndarray, np.ndarray]:
        states = torch.empty((len(games), self.states.shape[1]), dtype=torch.int16, device=self.device)
        self.launch(kernels.redact, len(games), self.arrays, games, self.take_states(states))
        redacted = states.cpu().numpy().view(STATE).reshape(len(games))
        return redacted, self._draw_seeds(games).cpu().numpy()

    def _draw_seeds(self, games: Tensor) -> Tensor:
        seeds = torch.empty(len(games), dtype=torch.uint64, device=self.device)
        self.launch(kernels.draw_seeds, len(games), self.arrays, games, seeds)
        return seeds

    def observe(self, seats: Any, out: Tensor | None = None) -> Tensor:
        """Return the current observation of one chosen seat in each game, [B, OBS_SIZE], stored by columns.

        seats: one seat for all games, or one seat per game. out: tensor to write into and return; by default a new one.
        """
        checked = self._check_seats(seats.cpu().numpy() if isinstance(seats, Tensor) else seats)
        out = self._check_out(out, OBS_SIZE)
        self.launch(kernels.observe_states, self.num_games, self.arrays.states, checked, self.open_mice, out)
        return out

    def privileged(self, out: Tensor | None = None) -> Tensor:
        """Return the full state of each game, with hidden cards, as numbers: input for a critic, never for a player.

        The tensor is [B, PRIVILEGED_SIZE], stored by columns. Seats are relative to the seat to act, and to seat 0 in a
        game that stays finished. out: tensor to write into and return; by default a new one.
        """
        out = self._check_out(out, PRIVILEGED_SIZE)
        self.launch(kernels.observe_all, self.num_games, self.arrays.states, out)
        return out

    def encode(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the observation and the action mask of the seat to act in each of K states that were kept.

        A state takes a fifth of the memory of its observation. states: int16 [K, numbers of a state], such as copies of
        `states`, in each of which a seat is to act. Returns observations [K, OBS_SIZE] and action masks, int8 [K,
        NUM_ACTIONS], stored by columns.
        """
        count, records = len(states), self.take_states(states)
        observations = torch.empty((OBS_SIZE, count), dtype=self.dtype, device=self.device).T
        masks = torch.empty((NUM_ACTIONS, count), dtype=torch.int8, device=self.device).T
        self.launch(kernels.encode, count, records, self.open_mice, observations, masks)
        return observations, masks

    def _check_out(self, out: Tensor | None, size: int) -> Tensor:
        """Return the tensor that results are written to: `out`, or a new one if `out` is None.

        Raises `ValueError` unless `out` has the shape, the type and the device of the results.
        """
        if out is None:
            return torch.empty((size, self.num_games), dtype=self.dtype, device=self.device).T
        found = (out.shape, out.dtype, out.device) if isinstance(out, Tensor) else None
        if found != ((self.num_games, size), self.dtype, self.device):
            raise ValueError(f"out must be a tensor {self._dtype_name} {[self.num_games, size]} on {self.device}")
        return out


def _to_numbers(array: np.ndarray) -> np.ndarray:
    """Return an array of B states as their numbers, int16 [B, numbers of a state], and any other array as it is."""
    return array.view(np.int16).reshape(len(array), STATE.itemsize // 2) if array.dtype == STATE else array
