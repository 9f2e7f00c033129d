"""Time that a search player takes for a decision, measured on positions from games among copies of `tuned`."""

import json
import time
from typing import Any

import numpy as np

import agents
from agents.arena.blocks import play_blocks
from agents.tools.files import write_json
from experiments.results import median_interval, to_file_name
from felicity_env import Setup, View
from felicity_env.setups import setup_name

NUM_DEALS, NUM_POSITIONS, REPETITIONS = 20, 60, 5
TIMED_PLAYOUTS = {"mc": 400, "ismcts": 400, "net+search": 16}


class _Recorder:
    """Player that acts like another player and stores every view that it gets."""

    def __init__(self, code: str) -> None:
        self.player, self.views = agents.make(code), []

    def act(self, view: View) -> np.ndarray:
        self.views.append(view)
        return self.player.act(view)


def draw_positions(setup: Setup, seed: int) -> View:
    """Return a random sample of NUM_POSITIONS decisions that one player takes in games among copies of `tuned`.

    seed: seed of the games and of the sample.
    """
    recorder = _Recorder("tuned")
    players = [recorder, *(agents.make("tuned") for _ in range(setup.seats - 1))]
    play_blocks(players, num_deals=NUM_DEALS, seed=seed, setup=setup)
    rng, views = np.random.default_rng(seed), recorder.views
    view = View.make_unchecked(
        *(np.concatenate([getattr(view, name) for view in views]) for name in ("states", "seats", "seeds"))
    )
    return view.take(rng.choice(len(view), size=NUM_POSITIONS, replace=False))


def measure_milliseconds(code: str, view: View) -> dict[str, float]:
    """Measure the milliseconds that a player takes for a decision on one core.

    The time is averaged over the decisions of `view`. Returns the median of several measurements, with its interval.
    """
    player, samples = agents.make(code), []
    player.act(view.take(np.arange(1)))
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        player.act(view)
        samples.append((time.perf_counter() - started) / len(view) * 1000)
    return median_interval(samples)


def find_playouts(search: str, setup: Setup, milliseconds: float, seed: int) -> int:
    """Measure how many playouts a search can make in `milliseconds` per decision, rounded to two significant digits.

    The playouts of `net+search` are worlds.
    """
    tried = TIMED_PLAYOUTS[search]
    measured = measure_milliseconds(f"{search}:{tried}", draw_positions(setup, seed))["value"]
    return max(1, int(float(f"{milliseconds / measured * tried:.2g}")))


def read_playouts(search: str, config: Any) -> int:
    """Return how many playouts a search can make for a decision in `config.milliseconds` on this machine.

    The number is measured once; later calls read it from a file in the folder `config.out`. config: settings with
    `milliseconds`, `seed`, `out` and a setup.
    """
    setup = config.chosen_setup
    path = config.out / f"playouts-{to_file_name(search)}-{setup_name(setup)}-{config.milliseconds:g}ms.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, find_playouts(search, setup, config.milliseconds, config.seed))
    return json.loads(path.read_text())
