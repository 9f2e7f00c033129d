"""Question: what does search add to the reference player? `python -m experiments policy-search`

The player `net+search` searches on top of the reference player. It plays alone against copies of that player, with more
and more worlds for each decision. With as many worlds as fit into `--milliseconds` on one core of this machine, it also
plays alone against copies of the searches `mc` and `ismcts`, whose playouts take the same time.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rich.console import Console

from agents.registry import SEARCHES
from agents.tasks.options import Workers
from agents.tools.seeds import SEEDS
from agents.tools.settings import OneSetup, check_at_least, check_positive, require
from experiments.results import write_result
from experiments.strength.budget import Budget, measure, plot
from experiments.strength.timing import read_playouts
from felicity_env.setups import setup_name

SEARCH, POLICY = "net+search", "net"


@dataclass(frozen=True)
class Config(Workers, OneSetup):
    """Measure search on top of the reference player against its copies, and against other searches of the same time."""

    resumes: ClassVar[bool] = True
    worlds: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Numbers of worlds for each decision, measured one after the other."""
    milliseconds: float = 50
    """Milliseconds for a decision in the matches against `mc` and `ismcts`; they then depend on this machine."""
    num_deals: int = 100
    """Number of deals for each match, each under all rotations of the seats; the matches are slow."""
    seed: int = SEEDS["policy search"]
    """Seed of the deals and of the players' randomness; choose one that no other measurement uses."""
    out: Path = Path("runs/policy_search")
    """Folder in which finished parts are saved; the same command, given again, continues from them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, "milliseconds")
        check_at_least(self, num_deals=2, seed=0)
        is_possible = min(self.worlds, default=0) >= 1
        require(is_possible, f"--worlds must be at least 1, not {' '.join(map(str, self.worlds)) or 'none'}")


def list_budgets(config: Config) -> list[Budget]:
    """Return the searches to measure: all numbers of worlds against the policy, one against searches of equal time."""
    setup, timed = config.chosen_setup, read_playouts(SEARCH, config)
    equal = [f"{search}:{read_playouts(search, config)}" for search in SEARCHES]
    against = [Budget(setup, SEARCH, number, POLICY) for number in sorted({*config.worlds, timed})]
    return [*against, *(Budget(setup, SEARCH, timed, rest) for rest in equal)]


def main(config: Config) -> None:
    """Measure search on top of the reference player, store the result and plot it."""
    started = time.monotonic()
    rows = measure(list_budgets(config), config, config.out / setup_name(config.chosen_setup), Console())
    path = write_result("policy_search", config, rows, started=started)
    plot([row for row in rows if row["rest"] == POLICY], path.with_suffix(".png"), unit="worlds")
