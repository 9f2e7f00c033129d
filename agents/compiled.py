"""Compiled heuristics: the table of their modules, the class of their players, and a loop that plays them.

A heuristic is a module with a kernel `action(state, random_bits) -> int`, which decides for the seat to act in a
redacted state. The first sentence of the module's docstring is its line of help. To add a heuristic, write its module
and add its line to `HEURISTICS`; `python -m experiments pages` then adds it to the table in `docs/players.md`.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numba
import numpy as np

from felicity_env.buffers import Buffers, Settings, acting_seed, advance, write_observation
from felicity_env.game import MAX_SEATS, NO_SEAT, PASS, State
from felicity_env.information import redact_state
from felicity_env.kernel import kernel, outlined_kernel, parallel_kernel, uncached_kernel
from felicity_env.learners import NOT_COMPILED, CompiledLoop, CompiledPlayers
from felicity_env.player import Player, View
from felicity_env.random_stream import RandomBits

HEURISTICS = {  # code: module
    "pass": "agents.passing",
    "random": "agents.uniform",
    "greedy": "agents.greedy",
    "anchor": "agents.anchor",
    "ev": "agents.ev",
    "tuned": "agents.tuned",
    "reckless": "agents.reckless",
    "miser": "agents.miser",
    "bluffer": "agents.bluffer",
}
_NUMBERS = {code: number for number, code in enumerate(HEURISTICS)}


def heuristic_number(code: str) -> int:
    """Return the number by which compiled code knows a heuristic, given its player code such as `ev`."""
    return _NUMBERS[code]


def _create_dispatch(actions: Sequence[Any]) -> Callable[..., int]:
    """Create a compiled function (chosen, state, random_bits) that calls actions[chosen](state, random_bits).

    The source text of the function is generated: a chain of closures would compile every action again in each closure.
    """
    names = {f"action_{number}": action for number, action in enumerate(actions)}
    tests = [f"    if chosen == {number}: return {name}(state, random_bits)" for number, name in enumerate(names)]
    exec("\n".join(["def choose(chosen, state, random_bits):", *tests, f"    return {PASS}"]), names)
    return uncached_kernel(names["choose"])


_choose = _create_dispatch([import_module(module).action for module in HEURISTICS.values()])


@outlined_kernel
def heuristic_action(number: Any, state: State, random_bits: RandomBits) -> int:
    """Return the action of a heuristic, given its number and a state with only what the acting seat may know."""
    return _choose(number, state, random_bits)


@kernel
def _act(number, states, seeds, out):
    for k in range(len(states)):
        out[k] = heuristic_action(number, states[k], seeds[k])


class CompiledPlayer:
    """Player that acts by a compiled heuristic, given its code in `HEURISTICS`."""

    def __init__(self, code: str) -> None:
        self.number = heuristic_number(code)

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for each of the B decisions of `view`, integers [B]."""
        actions = np.empty(len(view), np.int64)
        _act(self.number, view.states, view.seeds, actions)
        return actions


@kernel
def play_game(b: Buffers, settings: Settings, game: int, loop: CompiledLoop, scratch: np.ndarray, place: int) -> bool:
    """Play a game until a player that is not compiled is to act, or the game is over; return whether anybody moved.

    The observation is not written. scratch[place] is a workspace.
    """
    loop.terminated[game] = has_moved = False
    while not loop.terminated[game] and b.seats[game] != NO_SEAT:
        seat: Any = b.seats[game]
        if loop.numbers[game, seat] == NOT_COMPILED:
            break
        has_moved = True
        scratch[place] = b.states[game]
        redact_state(scratch[place], seat)
        action = heuristic_action(loop.numbers[game, seat], scratch[place], acting_seed(b, game))
        advance(b, game, action, settings)
        for other in range(MAX_SEATS):
            loop.rewards[game, other] += b.rewards[game, other]
        loop.terminated[game] = b.terminated[game]
    return has_moved


@outlined_kernel
def _play_chunk(b: Buffers, settings: Settings, indices: np.ndarray, loop: CompiledLoop, scratch: np.ndarray) -> None:
    for game in indices:
        if play_game(b, settings, game, loop, scratch, 0):
            write_observation(b, game, settings.open_mice)


@parallel_kernel
def _play_parallel(b, settings, indices, loop):
    threads, count = len(loop.scratch), len(indices)
    for thread in numba.prange(threads):
        own = indices[count * thread // threads : count * (thread + 1) // threads]
        _play_chunk(b, settings, own, loop, loop.scratch[thread])


def play_compiled(buffers: Buffers, settings: Settings, indices: np.ndarray, loop: CompiledLoop) -> None:
    """Play each of the games at `indices` until a player that is not compiled is to act, or the game is over.

    See `CompiledPlayers` for the arguments.
    """
    if len(loop.scratch) == 1:
        _play_chunk(buffers, settings, indices, loop, loop.scratch[0])
    else:
        _play_parallel(buffers, settings, indices, loop)


def select_compiled(players: Sequence[Player]) -> CompiledPlayers:
    """Return the function that plays compiled players, with the number by which it knows each of `players`.

    The number is NOT_COMPILED for a player that is not compiled.
    """
    numbers = [player.number if type(player) is CompiledPlayer else NOT_COMPILED for player in players]
    return CompiledPlayers(play_compiled, np.array(numbers, np.int64))
