"""Question: what do exact solutions of small games say about training and measuring? `python -m experiments exact`

CFR+ solves small setups and last rounds of real games. On a small setup with two seats, policies are trained by the
first run of the reference recipe and by one that also draws them to their slow average, and the exact NashConv of each
policy and of the mixture of the later ones is measured along the curve. Responses to some players are also trained
there, in the way of the question `exploit`, and compared with exact best responses.
"""

import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure
from rich.console import Console

from agents.registry import check_players
from agents.tools.figures import save_figure
from agents.tools.settings import check_at_least, check_seeds, require
from experiments.builds.reference import ANNEALING
from experiments.exact.equilibria import solve_last_rounds, solve_setup
from experiments.exact.learning import measure_response, train_with_curve
from experiments.results import write_result
from experiments.strength import exploit
from felicity_env.setups import SETUPS, find_setup

RECIPES: dict[str, dict[str, Any]] = {
    "reference": ANNEALING,
    # Rollouts as small as the game, advantages without a critic's bias; a low temperature at the end, and a pull to the
    # slow average instead of a mixture
    "average": ANNEALING
    | {"num_envs": 64, "num_steps": 64, "batch_size": 4096, "gae_lambda": 1.0, "normalize_advantage": False}
    | {"bidding_coef": 0.1, "bidding_coef_end": 0.002, "placing_coef": 0.1, "placing_coef_end": 0.002}
    | {"kl_coef": 0.15},
}


@dataclass(frozen=True)
class Config:
    """Solve small games exactly, and compare training and approximate best responses with the solutions."""

    resumes: ClassVar[bool] = False
    two_seats: str = "small-2"
    """Setup with two seats that is solved, and on which policies and responses are trained."""
    three_seats: str = "small-3"
    """Setup with three seats that is solved; more seats have no guarantee that CFR+ approaches an equilibrium."""
    iterations: tuple[int, int] = (2000, 1000)
    """Number of iterations of CFR+ for the setup with two and for that with three seats; more come closer."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of the policies and of the responses."""
    total_timesteps: int = 20_000_000
    """Number of decisions to learn from in the training of each policy."""
    response_timesteps: int = 2_000_000
    """Number of decisions to learn from in the training of each response."""
    points: int = 20
    """Number of points of each training curve at which the NashConv is computed."""
    targets: tuple[str, ...] = ("random", "anchor", "ev", "tuned", "net")
    """Players to which responses are trained."""
    last_rounds: int = 4
    """Number of last rounds that are solved for each standard setup."""
    most_mice: int = 8
    """Largest number of mice of a seat in a last round; each more doubles the size of its tree."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        check_players(self, "targets")
        check_at_least(self, total_timesteps=1, response_timesteps=1, points=1, last_rounds=1, most_mice=0)
        require(min(self.iterations) >= 1, f"--iterations must be at least 1, not {min(self.iterations)}")
        for setup in (self.two_seats, self.three_seats):
            find_setup(setup)


def measure(config: Config, console: Console) -> dict[str, Any]:
    """Solve, train and compare; return all results, and print each as soon as it is known."""
    results: dict[str, Any] = {"equilibria": [], "last_rounds": [], "training": [], "responses": []}
    for setup, iterations in zip((config.two_seats, config.three_seats), config.iterations, strict=True):
        row = solve_setup(setup, iterations)
        results["equilibria"].append(row)
        remembering, observing = (row[curve][-1]["nash_conv"] for curve in ("curve", "observation_curve"))
        text = f"{setup}: NashConv {remembering:.4f} of CFR+, {observing:.4f} of CFR+ on observations alone"
        console.print(text, highlight=False)
    for setup in SETUPS:
        options: dict[str, Any] = {"count": config.last_rounds, "most_mice": config.most_mice, "num_iterations": 200}
        results["last_rounds"] += solve_last_rounds(setup, players=("net", "tuned"), seed=0, **options)
    worst = max(row["nash_conv"] for row in results["last_rounds"])
    console.print(f"{len(results['last_rounds'])} last rounds: NashConv at most {worst:.4f}", highlight=False)
    for name, seed in product(RECIPES, config.seeds):
        options = {"total_timesteps": config.total_timesteps, "points": config.points}
        run = {"recipe": name, **train_with_curve(config.two_seats, RECIPES[name], seed=seed, **options)}
        results["training"].append(run)
        last = run["curve"][-1]
        text = f"NashConv {last['nash_conv']:.4f} of the last policy, {last['mixture_nash_conv']:.4f} of the mixture"
        console.print(f"recipe {name}, seed {seed}: {text}", highlight=False)
    settings = exploit.list_settings(exploit.Config()) | {"total_timesteps": config.response_timesteps}
    for target in config.targets:
        rows = [measure_response(config.two_seats, target, settings, seed=seed) for seed in config.seeds]
        results["responses"] += rows
        best = max(rows, key=lambda row: row["found_gain"])
        text = f"{target}: a response gains {best['found_gain']:.3f}, an exact one {best['exact_gain']:.3f}"
        console.print(text, highlight=False)
    return results


def plot(results: dict[str, Any], config: Config, path: Path) -> None:
    """Plot the NashConv over the iterations of CFR+, and over the decisions of training."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    solving, training = figure.subplots(1, 2)
    for row in results["equilibria"]:
        for name, style, text in (("curve", "-", ""), ("observation_curve", ":", ", observations alone")):
            points = [(point["iterations"], point["nash_conv"]) for point in row[name]]
            solving.plot(*zip(*points, strict=True), style, marker="o", label=row["setup"] + text)
    solving.set(title="CFR+", xlabel="iterations", ylabel="NashConv (win share)", xscale="log", yscale="log")
    solving.legend()
    for run in results["training"]:
        curve = run["curve"]
        steps = [point["timesteps"] / 1e6 for point in curve]
        for name, style, text in (("nash_conv", ":", "policy"), ("mixture_nash_conv", "-", "mixture")):
            values, is_first = [point[name] for point in curve], run["seed"] == config.seeds[0]
            label = f"recipe {run['recipe']}: {text}" if is_first else None
            color = f"C{list(RECIPES).index(run['recipe'])}"
            training.plot(steps, values, style, color=color, label=label)
    training.set(title=f"two recipes on {config.two_seats}", xlabel="million decisions", yscale="log")
    training.legend()
    for axis in (solving, training):
        axis.grid(alpha=0.3)
    save_figure(figure, path)


def main(config: Config) -> None:
    """Solve, train and compare, store the result and plot it."""
    started = time.monotonic()
    results = measure(config, Console())
    path = write_result("exact", config, results, started=started)
    plot(results, config, path.with_suffix(".png"))
