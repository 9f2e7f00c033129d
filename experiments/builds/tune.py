"""Question: which weights make the best `tuned` player? `python -m experiments tune`

CMA-ES (Hansen 2016, arXiv:1604.00772; library `cmaes`) searches for the weights of `agents/tuned.py` in each setup.
There are several searches with different seeds. A search has several rounds (not those of a game); each begins with the
weights at which the previous round stopped. A candidate is a set of weights. If it were measured against one opponent
only, it would learn to exploit that opponent and lose to all others. It therefore plays several kinds of matches
(`MATCHES`). Its fitness is the mean of its gains over par (1 / number of players). Large gains in one kind of match
count less (`SATURATION`), and score margin counts a little. All candidates of a generation play the same deals.

Every evaluation is logged. An interrupted search is resumed from the evaluations in its log. `--write` writes the
stored weights to `agents/tuned_weights.py`.

The stored search used random streams that counted the decisions of all seats together; the arena now counts them by
seat. A new search therefore plays different games and finds different weights.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from cmaes import CMA
from rich.progress import Progress

import agents
from agents import tuned_weights
from agents.arena.blocks import deal_blocks, list_streams, measure_seats
from agents.arena.games import Games
from agents.tools.files import UserError, check_same_settings, write_text
from agents.tools.seeds import SEEDS
from agents.tools.settings import SeveralSetups, check_at_least, check_not_negative
from agents.tuned import WEIGHTS, linear_action
from experiments.results import find_result, name_result, write_result
from felicity_env import Setup, View
from felicity_env.kernel import kernel
from felicity_env.random_stream import game_seed
from felicity_env.setups import is_setup_name, setup_name

TUNED_WEIGHTS = Path(tuned_weights.__file__)
START = {  # weights with which the player acts like `ev`
    **{"constant": -1.0, "expected": 1.0, "now": -1.5, "last": 0.5, "final": 1.0, "alone": 1.0},
    **{"card": (-2, -2.2, 0, -0.2, -0.4, -0.6, -0.8, 0.4, -2.4, 0.2), "card_dry": (3, 3, 0, 0, 0, 0, 0, 0, 3, 0)},
}
SCALE = {  # a small step of each weight: an effect of about one mouse at a typical value of its feature
    **{"constant": 2.0, "expected": 0.2, "expected_late": 0.3, "spread": 0.15, "own_card": 0.2, "now": 0.5},
    **{"last": 0.3, "rivals": 1.0, "position": 0.5, "lead_mice": 0.1, "lead_score": 0.1, "over": 2.0, "dry": 2.0},
    **{"refill": 1.0, "final": 2.0, "alone": 1.0, "card": 1.0, "card_dry": 1.0},
    **{"value_over": 0.3, "value_lead_mice": 0.15, "value_lead_score": 0.15, "value_position": 0.1},
}
FINAL = 2**20  # index of the stream of deals that select the best search
CANDIDATE, RIVAL, EV, ANCHOR, GREEDY = range(5)  # indices of players; the rival is from the previous round
OTHERS = ("ev", "anchor", "greedy")  # codes of the players from the index EV on
MIXED = -1  # a seat whose player is drawn from `MIXTURE`
MIXTURE = (EV, ANCHOR, GREEDY, RIVAL)
MATCHES = {  # (player in one seat, player in all other seats); the deals are divided evenly among them
    "one against ev": (CANDIDATE, EV),
    "one against anchor": (CANDIDATE, ANCHOR),
    "one against greedy": (CANDIDATE, GREEDY),
    "one against the round before": (CANDIDATE, RIVAL),
    "one against a mixture of these": (CANDIDATE, MIXED),
    "the rest against ev": (EV, CANDIDATE),
    "the rest against anchor": (ANCHOR, CANDIDATE),
    "the rest against the round before": (RIVAL, CANDIDATE),
}
SATURATION = 0.15
MIN_GAIN_OVER_EV = 0.12  # searches with at least this gain alone against `ev` are preferred
LOGGED = ("starts", "rounds", "generations", "population", "num_deals", "margin", "seed")


@dataclass(frozen=True)
class Config(SeveralSetups):
    """Search for the weights of the player `tuned` in each setup."""

    resumes: ClassVar[bool] = True
    starts: int = 3
    """Number of independent searches; the weights of the best are used."""
    rounds: int = 2
    """Number of rounds of a search; in each, candidates also play against the result of the previous round."""
    generations: int = 60
    """Number of CMA-ES generations in a round; each is one step of the search."""
    population: int = 14
    """Number of candidates (sets of weights) in a generation; more make a search slower but more reliable."""
    num_deals: int = 1200
    """Number of deals that each candidate plays under all rotations of the seats; more make its fitness less noisy."""
    margin: float = 0.002
    """Weight of a point of score margin relative to win share; it separates candidates with equal win shares."""
    seed: int = SEEDS["tune"]
    """Seed of the deals; choose one that no other measurement uses."""
    workers: int = 2
    """Number of threads, in each of which one candidate plays; the results do not depend on it."""
    out: Path = Path("runs/tune")
    """Folder of the logs of evaluations; the same command, given again, continues from them."""
    write: bool = False
    """Do not search; write the weights of the stored result to `agents/tuned_weights.py`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_not_negative(self, "margin")
        check_at_least(self, starts=1, rounds=1, generations=1, num_deals=len(MATCHES), workers=1, seed=0)
        check_at_least(self, population=4)  # CMA-ES divides by zero with less


def to_record(vector: np.ndarray) -> np.ndarray:
    """Convert a vector of weights, float64 [weights], to an array [1] of records with named weights (WEIGHTS)."""
    return np.ascontiguousarray(vector, np.float64).view(WEIGHTS)


def to_vector(values: Mapping[str, Any]) -> np.ndarray:
    """Convert named weights to a vector, float64 [weights]; weights without a value are 0."""
    record = np.zeros(1, WEIGHTS)
    for name, value in values.items():
        record[name] = value
    return record.view(np.float64).copy()


@kernel
def _act(weights, states, seeds, out):
    for k in range(len(states)):
        out[k] = linear_action(states[k], weights[0], seeds[k])


class WeightedPlayer:
    """Player that acts like `tuned`, but with given weights, float64 [weights]."""

    def __init__(self, vector: np.ndarray) -> None:
        self.weights = to_record(vector)

    def act(self, view: View) -> np.ndarray:
        """Return a legal action for each of the B decisions of `view`, int64 [B]."""
        actions = np.empty(len(view), np.int64)
        _act(self.weights, view.states, view.seeds, actions)
        return actions


class Deals(NamedTuple):
    """Games in which all sets of weights of a generation are measured, the same games for each set.

    They are stored as first states, random streams, and the index of the player in each seat.
    """

    setup: Setup
    states: np.ndarray  # STATE [games]
    streams: np.ndarray  # uint64 [games]
    seating: np.ndarray  # int64 [games, seats]: index of the player in each seat


def draw_deals(setup: Setup, config: Config, seed: int) -> Deals:
    """Draw the games in which all sets of weights of a generation are measured.

    They are random deals under all rotations of the seats. Which player sits in each seat is also drawn. seed: seed of
    the deals.
    """
    blocks = range(config.num_deals)
    states, streams = deal_blocks(setup, blocks, seed), list_streams(setup, blocks, seed)
    return Deals(setup, states, streams, draw_seating(len(states), setup.seats, np.random.default_rng(seed)))


def draw_seating(num_games: int, seats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw which player sits in each seat of every game; return the players' indices, int64 [games, seats].

    The deals are divided evenly among the kinds of matches, `MATCHES`. In the games of a deal, the player that plays
    alone sits in each seat in turn. Seats of a mixed match get random players from `MIXTURE`.
    """
    deal, rotation = np.divmod(np.arange(num_games), seats)
    matches = np.array(list(MATCHES.values()))[deal % len(MATCHES)]
    seating = np.repeat(matches[:, 1:], seats, axis=1)
    mixed = rng.choice(MIXTURE, size=seating.shape)
    seating = np.where(seating == MIXED, mixed, seating)
    seating[np.arange(num_games), rotation] = matches[:, 0]
    return seating


def compute_fitness(candidate: np.ndarray, rival: np.ndarray, deals: Deals, config: Config) -> list[float]:
    """Compute the fitness of a set of weights for the player `tuned`, and its gain over par in each kind of match.

    Returns a list: the fitness, and then the gains in the order of `MATCHES`. candidate, rival: weights, float64
    [weights]. The rival is the result of the previous round of the search.
    """
    players = [WeightedPlayer(candidate), WeightedPlayer(rival), *map(agents.make, OTHERS)]
    played = Games(deals.setup, deals.states, deals.streams, deals.seating)
    played.play(players)
    measures, (num_games, seats) = measure_seats(played, deals.setup.seats), deals.seating.shape
    games = np.arange(num_games)
    one = games, games % seats
    sign = np.where(deals.seating[one] == CANDIDATE, 1, -1)
    gain = sign * (measures["win_share"][one] - 1 / seats)
    gain += config.margin * sign * measures["margin"][one]
    by_match = np.array([gain[games // seats % len(MATCHES) == k].mean() for k in range(len(MATCHES))])
    return [float((SATURATION * np.tanh(by_match / SATURATION)).mean()), *by_match.tolist()]


def find_weights(setup: Setup, config: Config, progress: Progress) -> dict[str, Any]:
    """Search for the weights of the player `tuned` in one setup, several times; return the best weights.

    The best of these searches is chosen on new deals. The result also holds, for each search, its fitness on new deals
    and its curve, the mean fitness in each generation.
    """
    searches = [search(setup, start, config, progress) for start in range(config.starts)]
    deals = draw_deals(setup, config, game_seed(config.seed, FINAL, setup.seats))
    fitness = _evaluate([vector for vector, _ in searches], to_vector(START), deals, config)
    best = max(range(config.starts), key=lambda k: (fitness[k][1] >= MIN_GAIN_OVER_EV, fitness[k][0]))
    record = to_record(searches[best][0])
    return {
        "weights": {name: _round(record[name][0]) for name in WEIGHTS.names or ()},
        "starts": [{"on_fresh_deals": _name(fitness[k]), "curve": curve} for k, (_, curve) in enumerate(searches)],
    }


def search(setup: Setup, start: int, config: Config, progress: Progress) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Search for weights once, in all rounds of the search; return the final weights and the curve of the search.

    The curve is a list with the mean fitness in each generation.
    """
    scale = to_vector(SCALE)
    log = _Log(config.out / f"{setup_name(setup)}-start{start}.jsonl", config)
    task = progress.add_task(f"{setup_name(setup)}, start {start}", total=config.rounds * config.generations, shown="")
    rival, curve = to_vector(START), []
    for number in range(config.rounds):
        stream = start * config.rounds + number
        optimizer = CMA(mean=rival / scale, sigma=0.5, population_size=config.population, seed=stream)
        for generation in range(config.generations):
            candidates = [optimizer.ask() for _ in range(config.population)]
            deals = draw_deals(setup, config, game_seed(config.seed, stream, generation))
            fitness = log.read_next() or log.add(_evaluate([c * scale for c in candidates], rival, deals, config))
            optimizer.tell([(c, -values[0]) for c, values in zip(candidates, fitness, strict=True)])
            curve.append({"round": number, **_name(np.mean(fitness, axis=0))})
            progress.update(task, advance=1, shown=f"fitness {curve[-1]['fitness']:.3f}")
        rival = optimizer.mean * scale
    return rival, curve


def _evaluate(candidates: Sequence[np.ndarray], rival: np.ndarray, deals: Deals, config: Config) -> list[list[float]]:
    with ThreadPoolExecutor(config.workers) as pool:
        return list(pool.map(lambda candidate: compute_fitness(candidate, rival, deals, config), candidates))


def _round(value: Any) -> Any:
    """Return a number, or a list of numbers, rounded to four decimals."""
    numbers: Any = np.round(value, 4).tolist()
    return numbers


def _name(fitness: Sequence[float] | np.ndarray) -> dict[str, float]:
    return dict(zip(("fitness", *MATCHES), _round(fitness), strict=True))


class _Log:
    """Log file of a search for weights, from which an interrupted search is resumed.

    It has a line of settings, and then for each generation a line with the fitness of every set of weights.
    """

    def __init__(self, path: Path, config: Config) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        settings = {name: getattr(config, name) for name in LOGGED}
        lines = path.read_text().splitlines() if path.exists() else []
        if lines:
            check_same_settings(json.loads(lines[0]), settings, where=path, advice="choose another --out")
        else:
            path.write_text(json.dumps(settings) + "\n")
        self.stored: Iterator[Any] = iter([json.loads(line) for line in lines[1:]])

    def read_next(self) -> list[Any]:
        """Return the logged fitness of the sets of weights of the next generation.

        Returns an empty list if the log ends before that generation.
        """
        return next(self.stored, [])

    def add(self, fitness: list[Any]) -> list[Any]:
        """Append the fitness of the sets of weights of one more generation to the log file, and return this fitness."""
        with self.path.open("a") as file:
            file.write(json.dumps(fitness) + "\n")
        return fitness


def write_weights(results: Mapping[str, Any]) -> None:
    """Write the weights of a stored result to the Python file `agents/tuned_weights.py`; those of other setups stay.

    Raises `UserError` if a setup is in no table, because the player finds its weights by the name of the setup.
    """
    if unknown := [name for name in results if not is_setup_name(name)]:
        raise UserError(f"weights are kept by name: add {', '.join(unknown)} to SETUPS in felicity_env/setups.py")
    found = {name: result["weights"] for name, result in results.items()}
    lines = [f'"""{tuned_weights.__doc__}"""', "", "WEIGHTS_BY_SETUP = {"]
    for name, weights in (tuned_weights.WEIGHTS_BY_SETUP | found).items():
        rows = {key: tuple(value) if isinstance(value, list) else value for key, value in weights.items()}
        lines += [f'    "{name}": {{', *(f'        "{key}": {value},' for key, value in rows.items()), "    },"]
    write_text(TUNED_WEIGHTS, "\n".join([*lines, "}"]) + "\n")


def read_weights(config: Config) -> dict[str, Any]:
    """Return the stored results of searches in the chosen setups, by the name of the setup."""
    name = name_result("tune", map(setup_name, config.setups))
    path = find_result(name)
    if path is None:
        raise UserError(f"there is no result {name}; the same command without --write searches for weights")
    return json.loads(path.read_text())["results"]


def main(config: Config) -> None:
    """Search for weights in all setups and store them, or write the stored weights to `agents/tuned_weights.py`."""
    if config.write:
        write_weights(read_weights(config))
        return
    started = time.monotonic()
    with Progress(*Progress.get_default_columns(), "{task.fields[shown]}") as progress:
        results = {setup_name(setup): find_weights(setup, config, progress) for setup in config.setups}
    write_result("tune", config, results, started=started)
