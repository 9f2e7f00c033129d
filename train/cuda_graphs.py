"""CUDA graphs: work on a GPU that is recorded once and then launched as a whole.

To launch the kernels of a gradient step one by one takes a CPU longer than they run.
https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

Tensors = dict[str, Tensor]


class Recording(NamedTuple):
    """Function as a CUDA graph, with the tensors that it reads and those that it returns."""

    graph: Any
    inputs: tuple[Tensors, ...]
    outputs: Tensors


class GraphedFunction:
    """Function of tensors on a GPU that is recorded as a CUDA graph and then replayed.

    The function takes dictionaries of named tensors, with the same shapes in each call, and returns one dictionary. It
    must not wait for the GPU. The first call runs it as it is, and the second records it. From then on it is replayed:
    numbers that it read, such as settings, keep the values that they had, and so do the places of all other tensors
    that it reads or writes. Those may be changed, but not replaced.
    """

    def __init__(self, function: Callable[..., Tensors]) -> None:
        self._function = function
        self._has_run = False
        self._recording: Recording | None = None

    def __call__(self, *inputs: Tensors) -> Tensors:
        """Return what the function returns for these inputs."""
        if not self._has_run:
            self._has_run = True
            return self._run_once(inputs)
        recording = self._recording = self._recording or self._record(inputs)
        for known, given in zip(recording.inputs, inputs, strict=True):
            for name, tensor in given.items():
                known[name].copy_(tensor)
        recording.graph.replay()
        return {name: tensor.clone() for name, tensor in recording.outputs.items()}

    def _run_once(self, inputs: tuple[Tensors, ...]) -> Tensors:
        """Run the function as it is, so that kernels are compiled and libraries have the memory that they keep.

        This is on a stream of its own, because gradients stay with the stream on which they were first computed, and
        the default stream cannot be recorded.
        """
        own, current = torch.cuda.Stream(), torch.cuda.current_stream()
        own.wait_stream(current)
        with torch.cuda.stream(own):
            outputs = self._function(*inputs)
        current.wait_stream(own)
        return outputs

    def _record(self, inputs: tuple[Tensors, ...]) -> Recording:
        """Create a recording of the function, with copies of the inputs; this does not run it."""
        copies = tuple({name: tensor.clone() for name, tensor in each.items()} for each in inputs)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outputs = self._function(*copies)
        return Recording(graph, copies, outputs)
