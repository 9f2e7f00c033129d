"""Which weights make the best `tuned` player? `python -m experiments.tune`

CMA-ES (Hansen 2016, arXiv:1604.00772; library `cmaes`) over the weights of `agents/tuned.py`, for each number of
players, from several starts and in rounds; a round begins where the last one ended. Players that never vary are easily
caught in their habits, and whoever learns those loses to everybody else. So a candidate plays at `TABLES` of several
kinds, and its win share above par counts less at each the larger it is (`SATURATION`); a point of margin counts a
little too. All candidates of a generation play the same deals.

Every evaluation is written down, so an interrupted run goes on by telling the search again what it was told.
`--write` puts the stored weights into `agents/tuned_weights.py`.
"""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cmaes import CMA
from rich.progress import Progress

from agents import tuned
from agents.arena import deal_blocks, seat_streams
from agents.compiled import NUMBERS, compiled_action
from agents.playout import MARGIN, WIN
from agents.tuned import WEIGHTS, weighted_action
from experiments.command import GOES_ON, run_command
from experiments.results import read_result, write_result
from felicity_env.game import MAX_SEATS, SETUPS, STATE, is_terminal, step
from felicity_env.information import redact_state
from felicity_env.kernel import kernel
from felicity_env.random_stream import decision_seed, game_seed
from felicity_env.rewards import step_rewards

TUNED_WEIGHTS = Path(tuned.__file__).with_name("tuned_weights.py")
SEED = 2**60  # apart from training (below 2**32), the ladder (2**61) and evaluation (2**62)
START = {  # plays as `ev`
    **{"constant": -1.0, "expected": 1.0, "now": -1.5, "last": 0.5, "final": 1.0, "alone": 1.0},
    **{"card": (-2, -2.2, 0, -0.2, -0.4, -0.6, -0.8, 0.4, -2.4, 0.2), "card_dry": (3, 3, 0, 0, 0, 0, 0, 0, 3, 0)},
}
SCALE = {  # what is a small step in each weight: about a mouse, for a usual value of the feature
    **{"constant": 2.0, "expected": 0.2, "expected_late": 0.3, "spread": 0.15, "own_card": 0.2, "now": 0.5},
    **{"last": 0.3, "rivals": 1.0, "place": 0.5, "lead_mice": 0.1, "lead_score": 0.1, "over": 2.0, "dry": 2.0},
    **{"refill": 1.0, "final": 2.0, "alone": 1.0, "card": 1.0, "card_dry": 1.0},
    **{"value_over": 0.3, "value_lead_mice": 0.15, "value_lead_score": 0.15, "value_place": 0.1},
}
FINAL = 2**20  # number of the stream of the deals on which the best search is told
CANDIDATE, RIVAL, MIXED = -1, -2, -3  # beside the numbers of compiled players; the rival is the last round's player
TABLES = {  # (who sits in one seat, who in all others): games are shared out evenly
    "one against ev": (CANDIDATE, NUMBERS["ev"]),
    "one against anchor": (CANDIDATE, NUMBERS["anchor"]),
    "one against greedy": (CANDIDATE, NUMBERS["greedy"]),
    "one against the round before": (CANDIDATE, RIVAL),
    "one against a mixture of these": (CANDIDATE, MIXED),
    "the rest against ev": (NUMBERS["ev"], CANDIDATE),
    "the rest against anchor": (NUMBERS["anchor"], CANDIDATE),
    "the rest against the round before": (RIVAL, CANDIDATE),
}
SATURATION = 0.15
LEAST_OVER_EV = 0.12  # what the best must gain alone against `ev`, the rung below, if any of the searches does
MIXTURE = (NUMBERS["ev"], NUMBERS["anchor"], NUMBERS["greedy"], RIVAL)


@dataclass(frozen=True)
class Config:
    """Search for the weights of the player `tuned`."""

    num_players: tuple[int, ...] = tuple(SETUPS)
    """Seats at the tables; each has weights of its own."""
    starts: int = 3
    """Searches, each with chance of its own; the best is taken."""
    rounds: int = 2
    """How often a search begins anew against the player of the round before."""
    generations: int = 60
    """Of CMA-ES in a round."""
    population: int = 14
    """Candidates in a generation."""
    num_blocks: int = 1200
    """Deals that a candidate plays, each with the one in every seat."""
    margin: float = 0.002
    """What a point of score margin counts beside the win share."""
    seed: int = SEED
    """Of deals and search."""
    workers: int = 2
    """Threads."""
    folder: Path = Path("runs/tune")
    """Where evaluations are written down."""
    write: bool = False
    """Search nothing; write the stored weights into `agents/tuned_weights.py`."""


def as_record(vector: np.ndarray) -> np.ndarray:
    """Weights float64 [weights] as an array [1] of WEIGHTS."""
    return np.ascontiguousarray(vector, np.float64).view(WEIGHTS)


def as_vector(values: dict[str, Any]) -> np.ndarray:
    """Named weights as float64 [weights]; 0 where there is none."""
    record = np.zeros(1, WEIGHTS)
    for name, value in values.items():
        record[name] = value
    return record.view(np.float64).copy()


@kernel
def _play(states, streams, seating, candidate, rival, scratch, shares, margins):
    """Play each game to its end, and count for the seat that its rotation puts first."""
    for k in range(len(states)):
        state = states[k]
        decisions = 0
        while not is_terminal(state):
            seat: Any = state.seat
            scratch[0] = state
            redact_state(scratch[0], seat)
            decisions += 1
            word = decision_seed(streams[k], seat, decisions)
            if seating[k, seat] == CANDIDATE:
                action = weighted_action(scratch[0], candidate[0], word)
            elif seating[k, seat] == RIVAL:
                action = weighted_action(scratch[0], rival[0], word)
            else:
                action = compiled_action(seating[k, seat], scratch[0], word)
            step(state, action)
        step_rewards(state, WIN, shares[k])
        step_rewards(state, MARGIN, margins[k])


def seating_of(num_games: int, seats: int, rng: np.random.Generator) -> np.ndarray:
    """Who sits where, int64 [games, seats]: the kinds of `TABLES` in turn, each deal with the one in every seat."""
    deal, rotation = np.divmod(np.arange(num_games), seats)
    kinds = np.array(list(TABLES.values()))[deal % len(TABLES)]
    seating = np.repeat(kinds[:, 1:], seats, axis=1)
    mixed = rng.choice(MIXTURE, size=seating.shape)
    seating = np.where(seating == MIXED, mixed, seating)
    seating[np.arange(num_games), rotation] = kinds[:, 0]
    return seating


class Deals(NamedTuple):
    """The games that all candidates of a generation play."""

    states: np.ndarray
    streams: np.ndarray
    seating: np.ndarray


def draw_deals(seats: int, config: Config, seed: int) -> Deals:
    """`num_blocks` deals, each under all rotations."""
    blocks = range(config.num_blocks)
    states, streams = deal_blocks(seats, blocks, seed), seat_streams(seats, blocks, seed)
    return Deals(states, streams, seating_of(len(states), seats, np.random.default_rng(seed)))


def worth(candidate: np.ndarray, rival: np.ndarray, deals: Deals, config: Config) -> list[float]:
    """The worth of a candidate, then what it gains above par at each kind of table."""
    games, seats = deals.seating.shape
    shares, margins = np.empty((games, MAX_SEATS)), np.empty((games, MAX_SEATS))
    record, other, scratch = as_record(candidate), as_record(rival), np.empty(1, STATE)
    _play(deals.states.copy(), deals.streams, deals.seating, record, other, scratch, shares, margins)
    one = np.arange(games), np.arange(games) % seats
    sign = np.where(deals.seating[one] == CANDIDATE, 1, -1)
    gain = sign * (shares[one] - 1 / seats)
    gain += config.margin * sign * margins[one]
    by_table = np.array([gain[np.arange(games) // seats % len(TABLES) == k].mean() for k in range(len(TABLES))])
    return [float((SATURATION * np.tanh(by_table / SATURATION)).mean()), *by_table.tolist()]


def best_search(seats: int, config: Config, progress: Progress) -> dict[str, Any]:
    """The weights of the best of several searches, by its worth on fresh deals, and the course of all."""
    found = [search(seats, start, config, progress) for start in range(config.starts)]
    deals = draw_deals(seats, config, game_seed(config.seed, FINAL, seats))
    worths = _evaluate([vector for vector, _ in found], as_vector(START), deals, config)
    best = max(range(config.starts), key=lambda k: (worths[k][1] >= LEAST_OVER_EV, worths[k][0]))
    record = as_record(found[best][0])
    return {
        "weights": {name: rounded(record[name][0]) for name in WEIGHTS.names or ()},
        "starts": [
            {"on_fresh_deals": dict(zip(("worth", *TABLES), rounded(worths[k]), strict=True)), "curve": curve}
            for k, (_, curve) in enumerate(found)
        ],
    }


def search(seats: int, start: int, config: Config, progress: Progress) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """All rounds of a search for one number of players: the weights it ends with, and its course."""
    scale = as_vector(SCALE)
    log = _Log(config.folder / f"{seats}p-start{start}.jsonl", config)
    label = f"{seats} players, start {start}"
    task = progress.add_task(label, total=config.rounds * config.generations, worth="")
    rival, curve = as_vector(START), []
    for number in range(config.rounds):
        stream = start * config.rounds + number
        optimizer = CMA(mean=rival / scale, sigma=0.5, population_size=config.population, seed=stream)
        for generation in range(config.generations):
            candidates = [optimizer.ask() for _ in range(config.population)]
            deals = draw_deals(seats, config, game_seed(config.seed, stream, generation))
            worths = log.next() or log.add(_evaluate([c * scale for c in candidates], rival, deals, config))
            optimizer.tell([(c, -w[0]) for c, w in zip(candidates, worths, strict=True)])
            means = rounded(np.mean(worths, axis=0))
            curve.append({"round": number, **dict(zip(("worth", *TABLES), means, strict=True))})
            progress.update(task, advance=1, worth=f"worth {means[0]:.3f}")
        rival = optimizer.mean * scale
    return rival, curve


def _evaluate(candidates: list[np.ndarray], rival: np.ndarray, deals: Deals, config: Config) -> list[Any]:
    with ThreadPoolExecutor(config.workers) as pool:
        return list(pool.map(lambda candidate: worth(candidate, rival, deals, config), candidates))


class _Log:
    """The worths of all generations so far, in a file that grows by a line each."""

    def __init__(self, path: Path, config: Config) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.settings = logged(config)
        lines = path.read_text().splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) != self.settings:
            raise SystemExit(f"{path} belongs to a search with other settings; choose another --folder")
        if not lines:
            path.write_text(json.dumps(self.settings) + "\n")
        self.stored: Iterator[Any] = iter([json.loads(line) for line in lines[1:]])

    def next(self) -> list[Any]:
        """The worths of the next generation, none if they are not known."""
        return next(self.stored, [])

    def add(self, worths: list[Any]) -> list[Any]:
        """Keep the worths of one more generation."""
        with self.path.open("a") as file:
            file.write(json.dumps(worths) + "\n")
        return worths


def logged(config: Config) -> dict[str, Any]:
    """The settings that a search depends on."""
    return {name: getattr(config, name) for name in LOGGED}


LOGGED = ("starts", "rounds", "generations", "population", "num_blocks", "margin", "seed")


def rounded(value: Any) -> Any:
    """As a float, or a list of them, to four digits."""
    numbers: Any = np.round(value, 4).tolist()
    return numbers


def write_weights(results: dict[str, Any]) -> None:
    """Put stored weights into `agents/tuned_weights.py`."""
    lines = ['"""The weights of `tuned` for each number of players, found by `python -m experiments.tune`."""', ""]
    lines.append("WEIGHTS_OF = {")
    for seats, result in results.items():
        named = [
            f'        "{name}": {tuple(v) if isinstance(v, list) else v},' for name, v in result["weights"].items()
        ]
        lines += [f"    {seats}: {{", *named, "    },"]
    TUNED_WEIGHTS.write_text("\n".join([*lines, "}"]) + "\n")


def main(config: Config) -> None:
    """Search for all numbers of players and store what was found."""
    if config.write:
        write_weights(read_result("tune")["results"])
        return
    started = time.monotonic()
    with Progress(*Progress.get_default_columns(), "{task.fields[worth]}") as progress:
        results = {str(seats): best_search(seats, config, progress) for seats in config.num_players}
    settings = {"num_players": config.num_players, **logged(config)}
    write_result("tune", settings, results, started=started)


if __name__ == "__main__":
    run_command("tune", Config, main, interrupted=GOES_ON)
