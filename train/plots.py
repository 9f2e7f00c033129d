"""The learning curve of a run as a picture."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from train.run_folder import write_atomically


def plot_learning_curve(curve: list[dict[str, Any]], path: Path) -> None:
    """Win share against each ladder player over decisions, a panel for each number of players, with 95 % bands."""
    results = curve[0]["results"]
    figure, axes = plt.subplots(1, len(results), figsize=(5.5 * len(results), 4), squeeze=False, layout="constrained")
    steps = [point["timesteps"] / 1e6 for point in curve]
    for panel, (axis, result) in enumerate(zip(axes[0], results, strict=True)):
        for code in result["win_share"]:
            shares = [point["results"][panel]["win_share"][code] for point in curve]
            axis.plot(steps, [share["value"] for share in shares], marker="o", markersize=3, label=code)
            axis.fill_between(steps, [s["low"] for s in shares], [s["high"] for s in shares], alpha=0.2)
        axis.axhline(result["par"], color="grey", linestyle=":", label="par")
        axis.set(title=f"{result['num_players']} players: one against the rest", xlabel="million decisions")
        axis.set(ylabel="win share", ylim=(0, 1))
        axis.grid(alpha=0.3)
        axis.legend()
    write_atomically(path, lambda part: figure.savefig(part, format="png", dpi=120))
    plt.close(figure)
