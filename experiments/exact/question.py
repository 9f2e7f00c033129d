"""Question: what do exact solutions of small games say about training and measuring? `python -m experiments exact`

CFR+ solves small setups and last rounds of real games. On a small setup with two seats, policies are trained by the two
runs of the reference recipe, and by a recipe that is made for so small a game. The exact NashConv of each policy and of
the mixture of the later ones is measured along the curve. Responses to some players are also trained there, in the way
of the question `exploit`, and compared with exact best responses.
"""

import time
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure
from rich.console import Console

from agents.registry import check_players, list_files
from agents.tasks.options import Workers
from agents.tools.figures import save_figure, show_plain_numbers
from agents.tools.settings import check_at_least, check_seeds, require
from experiments.builds.reference import ANNEALING, AVERAGING
from experiments.exact.equilibria import solve_last_rounds, solve_setup
from experiments.exact.learning import measure_response, train_with_curve
from experiments.parts import Measured, Part, measure_tables
from experiments.results import write_result
from experiments.strength import exploit
from felicity_env.setups import SETUPS, find_setup

RECIPES: dict[str, tuple[dict[str, Any], ...]] = {  # settings of the training runs, one after the other
    "reference": (ANNEALING, AVERAGING),
    # Rollouts as small as the game, and advantages without a critic's bias. A prior that keeps jump bids in sight, so
    # that none becomes rare before it has been answered. A pull to the slow average, instead of a mixture
    "average": (
        ANNEALING
        | {"num_envs": 64, "num_steps": 64, "batch_size": 4096, "gae_lambda": 1.0, "normalize_advantage": False}
        | {"bidding_coef": 0.1, "bidding_coef_end": 0.02, "placing_coef": 0.1, "placing_coef_end": 0.02}
        | {"prior": "e1", "kl_coef": 0.15},
    ),
}


@dataclass(frozen=True)
class Config(Workers):
    """Solve small games exactly, and compare training and approximate best responses with the solutions."""

    resumes: ClassVar[bool] = True
    two_seats: str = "small-2"
    """Setup with two seats that is solved, and on which policies and responses are trained."""
    three_seats: str = "small-3"
    """Setup with three seats that is solved; more seats have no guarantee that CFR+ approaches an equilibrium."""
    iterations: tuple[int, int] = (2000, 1000)
    """Number of iterations of CFR+ for the setup with two and for that with three seats; more come closer."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Training seeds of the policies and of the responses."""
    total_timesteps: int = 20_000_000
    """Number of decisions to learn from in each training run of a policy."""
    response_timesteps: int = 2_000_000
    """Number of decisions to learn from in the training of each response."""
    points: int = 20
    """Number of points of each training run at which the NashConv is computed."""
    targets: tuple[str, ...] = ("random", "anchor", "ev", "tuned", "net")
    """Players to which responses are trained."""
    last_rounds: int = 4
    """Number of last rounds that are solved for each standard setup."""
    most_mice: int = 8
    """Largest number of mice of a seat in a last round; each more doubles the size of its tree."""
    out: Path = Path("runs/exact")
    """Folder in which finished parts are saved; the same command, given again, continues from them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(self.seeds)
        check_players(self, "targets")
        check_at_least(self, total_timesteps=1, response_timesteps=1, points=1, last_rounds=1, most_mice=0)
        require(min(self.iterations) >= 1, f"--iterations must be at least 1, not {min(self.iterations)}")
        for option, setup, seats in (("two-seats", self.two_seats, 2), ("three-seats", self.three_seats, 3)):
            actual = find_setup(setup).seats
            require(actual == seats, f"--{option} must be a setup with {seats} seats, not {setup}, which has {actual}")


def list_parts(config: Config) -> dict[str, list[Part]]:
    """Return the parts of the experiment, {name of the table that their results belong to: parts}."""
    numbers = zip((config.two_seats, config.three_seats), config.iterations, strict=True)
    rounds: dict[str, Any] = {"count": config.last_rounds, "most_mice": config.most_mice, "num_iterations": 200}
    rounds |= {"players": ("net", "tuned"), "seed": 0}
    options: dict[str, Any] = {"total_timesteps": config.total_timesteps, "points": config.points}
    settings = exploit.list_settings(exploit.Config()) | {"total_timesteps": config.response_timesteps}
    solve_last = partial(solve_last_rounds, **rounds)
    respond = partial(measure_response, config.two_seats, settings=settings)
    return {
        "equilibria": [
            Part(f"{number} iterations of CFR+ on {setup}", partial(solve_setup, setup, number))
            for setup, number in numbers
        ],
        "last_rounds": [Part(f"last rounds of {setup}", partial(solve_last, setup)) for setup in SETUPS],
        "training": [
            Part(f"recipe {name}, seed {seed}", partial(_train, name, config.two_seats, seed=seed, **options))
            for name, seed in product(RECIPES, config.seeds)
        ],
        "responses": [
            Part(f"response to {target}, seed {seed}", partial(respond, target=target, seed=seed))
            for target, seed in product(config.targets, config.seeds)
        ],
    }


def _train(recipe: str, setup: str, **options: Any) -> dict[str, Any]:
    return {"recipe": recipe, **train_with_curve(setup, RECIPES[recipe], **options)}


def describe(result: Any) -> str:
    """Return a line about the result of a part."""
    match result:
        case {"curve": [*_, {"iterations": _, "nash_conv": remembering}], "observation_curve": [*_, last]}:
            return f"NashConv {remembering:.4f}, {last['nash_conv']:.4f} of policies of the observation alone"
        case {"curve": [*_, {"nash_conv": policy, "mixture_nash_conv": mixture}]}:
            return f"NashConv {policy:.4f} of the last policy, {mixture:.4f} of the mixture"
        case {"found_gain": found, "exact_gain": exact}:
            return f"it gains {found:.3f}, an exact one {exact:.3f}"
        case _:
            return f"NashConv at most {max(row['nash_conv'] for row in result):.4f}"


def measure(config: Config, console: Console) -> Measured:
    """Solve, train and compare; return all results in tables, and print each as soon as it is known."""

    def report(name: str, result: Any) -> None:
        console.print(f"{name}: {describe(result)}", highlight=False)

    files = list_files("net", "tuned", *config.targets)
    measured = measure_tables(
        list_parts(config), config, source=__file__, report=report, console=console, files=files, learns=True
    )
    last_rounds = [*chain(*measured.tables["last_rounds"])]  # each part has several
    return measured._replace(tables=measured.tables | {"last_rounds": last_rounds})


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
    show_plain_numbers(training.yaxis)
    training.legend()
    for axis in (solving, training):
        axis.grid(alpha=0.3)
    save_figure(figure, path)


def main(config: Config) -> None:
    """Solve, train and compare, store the result and plot it."""
    results, seconds = measure(config, Console())
    path = write_result("exact", config, results, started=time.monotonic() - seconds)
    plot(results, config, path.with_suffix(".png"))
