"""The parts of README.md that come from stored results."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from experiments.report import shares_of
from experiments.results import RESULTS, read_result
from experiments.tables import estimate, table


def source(stored: dict[str, Any]) -> str:
    """Where a result comes from."""
    machine = stored["machine"]
    where = f"{machine['cores']} cores of {machine['processor']}"
    return f"`{stored['command']}`, commit {stored['commit']}, {where}."


def ladder() -> str:
    """Every rung against the one below it, both formats, at 3, 4 and 5 players."""
    stored = read_result("ladder")
    order, rows = stored["config"]["players"], []
    for n in stored["config"]["num_players"]:
        shares = shares_of(stored["results"], n)
        for weaker, stronger in pairwise(order):
            up, down = shares[stronger, weaker], shares[weaker, stronger]
            verdict = _verdict(up["low"] > 1 / n, down["high"] < 1 / n)
            rows.append((n, f"`{stronger}` over `{weaker}`", estimate(up), estimate(down), f"{1 / n:.3f}", verdict))
    head = ("players", "rungs", "the upper alone", "the lower alone", "par", "above in")
    return table(head, rows) + "\n\n" + source(stored)


def _verdict(alone: bool, together: bool) -> str:
    return {(True, True): "both", (False, False): "neither"}.get((alone, together), "one format")


def ratings() -> str:
    """Plackett-Luce ratings of the ladder's players, by number of players."""
    stored = read_result("ladder")
    points, seats = stored["results"]["ratings"], [str(n) for n in stored["config"]["num_players"]]
    codes = [code for code in stored["config"]["players"] if code in points[seats[0]]]
    rows = [(f"`{code}`", *(estimate(points[n][code], 0) for n in seats)) for code in reversed(codes)]
    return table(("player", *(f"{n} players" for n in seats)), rows) + "\n\n" + source(stored)


def soundness() -> str:
    """What the arena's statistics do on games whose outcome is known."""
    stored = read_result("soundness")
    results = stored["results"]
    gain = results["sequential"][0]["gain"]
    parts = [
        table(("95 % intervals", "true win share", "hold the truth"), map(_coverage_row, results["coverage"])),
        table(
            (f"stronger by {gain}?", "true difference", "said to be", "mean deals", "deals, fixed"),
            map(_sequential_row, results["sequential"]),
        ),
        table(("copies", "deals", "furthest from par", "width of the interval"), map(_copies_row, results["copies"])),
        source(stored),
    ]
    return "\n\n".join(parts)


def _coverage_row(row: dict[str, Any]) -> tuple[str, ...]:
    table_of = f"one `{row['one']}` against {row['num_players'] - 1} x `{row['rest']}`"
    return table_of, estimate(row["truth"], 4), _percent(row["covered"])


def _sequential_row(row: dict[str, Any]) -> tuple[str, ...]:
    deals = estimate(row["mean_blocks"], 0), f"{row['fixed_blocks']:,.0f}"
    return f"`{row['one']}` than `{row['other']}`", estimate(row["truth"]), _percent(row["stronger"]), *deals


def _copies_row(row: dict[str, Any]) -> tuple[str, ...]:
    exact = (f"{row[name]:.1g}" for name in ("furthest_from_par", "width"))
    return f"{row['num_players']} x `{row['player']}`", f"{row['blocks']:,}", *exact


def _percent(share: dict[str, float]) -> str:
    return estimate({key: 100 * share[key] for key in ("value", "low", "high")}, 1) + " %"


def anatomy() -> str:
    """What the game is like, at tables of copies."""
    stored = read_result("anatomy")
    shares = ("dry", "void", "victories_without_buying")
    rows = [
        (
            t["num_players"],
            f"`{t['player']}`",
            *(_percent(t[name]) for name in shares),
            *(estimate(t[name], 1) for name in ("price", "sack_bought")),
            " / ".join(f"{gain['value']:.1f}" for gain in t["gain"]),
        )
        for t in stored["results"]["tables"]
    ]
    of = ("rounds without mice", "without a buyer", "victories without buying", "price", "worth of a sack bought")
    head = ("players", "copies of", *of, "gain in a round by place, the start player first")
    return table(head, rows) + "\n\n" + source(stored)


def budget() -> str:
    """What search buys and costs."""
    stored = read_result("budget")
    rows = [
        (
            row["num_players"],
            f"`{row['kind']}:{row['playouts']}`",
            f"{row['milliseconds']['value']:.1f}",
            estimate(row["win_share"]),
            f"{row['par']:.3f}",
        )
        for row in stored["results"]
    ]
    rest = stored["config"]["rest"]
    head = ("players", "one", "ms a decision, one core", f"win share against copies of `{rest}` (95 %)", "par")
    return table(head, rows) + "\n\n" + source(stored)


def player_speed() -> str:
    """How fast the compiled players decide."""
    stored = read_result("player_speed")
    results = stored["results"]
    rows = [
        (
            f"`{code}`: decisions/s in a batch, one core, millions",
            f"{value['value'] / 1e6:.{2 if code == 'net' else 1}f}",
        )
        for code, value in results["decisions_per_second"].items()
    ]
    for code, value in results["playouts_per_second"].items():
        rows.append((f"playouts/s from the second round on, all seats `{code}`, one core", estimate(value, 0)))
    command = f"python -m experiments.tournament {results['tournament']['options']}"
    rows.append((f"`{command}`, seconds", f"{results['tournament']['seconds']:.0f}"))
    return table(("measured", "median"), rows) + "\n\n" + source(stored)


def speed() -> str:
    """The stored measurements of `experiments/speed.py`."""
    stored = read_result("speed")
    batch, aec, training, start = (stored["results"][key] for key in ("batch", "aec", "training", "start"))
    millions = {k: v / 1e6 for k, v in batch["decisions_per_second"].items()}
    rows = [
        ("`Batch`, one thread: decisions/s with observation and mask, millions", estimate(millions, 1)),
        ("... bytes written, as a share of what `numpy.fill` reaches", estimate(batch["bytes_written_to_fill"], 2)),
        ("... two threads against one", estimate(batch["two_threads_to_one"], 2)),
        ("random playouts without observations: games/s", estimate(batch["playout_games_per_second"], 0)),
        ("`numpy.fill` of the same buffers: GB/s", estimate(batch["fill_gigabytes_per_second"], 0)),
        ("`raw_env`: steps/s", estimate(aec["raw_env_steps_per_second"], 0)),
        ("... against Gymnasium's CartPole", estimate(aec["raw_env_to_cartpole"], 2)),
        ("`env()` against an empty environment in the same wrappers", estimate(aec["env_to_empty_env"], 2)),
        ("MaskablePPO on our lanes against empty ones: compiled opponents", estimate(training["compiled_to_empty"], 2)),
        ("... snapshot opponents", estimate(training["snapshots_to_empty"], 2)),
        ("... the default mix", estimate(training["default_to_empty"], 2)),
        ("decisions learned per second, default run", estimate(training["decisions_per_second"]["default"], 0)),
        ("start of Python to the end of a first game, seconds", f"{start['warm_seconds']:.2f}"),
        ("... the very first time, with compiling", f"{start['cold_seconds']:.1f}"),
        ("memory of a game in a `Batch`, bytes", f"{stored['results']['memory_bytes_per_game']:,.0f}"),
    ]
    return table(("measured", "median (95 % interval)"), rows) + "\n\n" + source(stored)


def first_player(algorithm: str) -> str:
    """What the default training run reaches."""
    stored = read_result(f"first_player_{algorithm}")
    runs = stored["results"]["runs"]
    codes = list(runs[0]["results"][0]["win_share"])
    rows = []
    for run in runs:
        shares = run["results"][0]["win_share"]
        rows.append((run["seed"], *(estimate(share) for share in shares.values()), f"{run['minutes']:.1f}"))
    ev = stored["results"]["ev"]
    rows.append(("`ev` instead", *(f"{ev[code]:.3f}" if code in ev else "" for code in codes), ""))
    head = ("seed", *(f"against 3 x `{code}`" for code in codes), "minutes")
    return table(head, rows) + "\n\n" + source(stored)


def ablation() -> str:
    """What each part of the self-play trainer is worth."""
    stored = read_result("ablation")
    found = stored["results"]
    base = found["base"]["tables"]
    rows = [("base: win share", *(estimate(of["share"]) for of in base.values()))]
    for arm in list(found)[1:]:
        rows.append((f"{arm}: more than base", *(_signed(of["gain"]) for of in found[arm]["tables"].values())))
    others = stored["config"]["num_players"] - 1
    return table(("arm", *(f"against {others} x `{kind}`" for kind in base)), rows) + "\n\n" + source(stored)


def _signed(gain: dict[str, float]) -> str:
    return f"{gain['value']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})"


def exploit() -> str:
    """What best responses win against each player."""
    found = [read_result(path.stem) for path in RESULTS.glob("exploit_*.json")]
    return responses(sorted(found, key=lambda stored: -stored["results"]["gain"]["value"]))


def responses(found: Sequence[dict[str, Any]]) -> str:
    """A row for what is stored of each player's best responses."""
    head = ("players", "target", "best response alone against copies of it", "gain over par", "it began from", "runs")
    return table(head, map(_response_row, found)) + "\n\n" + "\n\n".join(map(source, found))


def _response_row(stored: dict[str, Any]) -> tuple[Any, ...]:
    config, results = stored["config"], stored["results"]
    decisions = f"{len(results['responses'])} x {config['total_timesteps'] / 1e6:.0f} million decisions"
    shares = estimate(results["win_share"]), _signed(results["gain"])
    return config["num_players"], f"`{config['target']}`", *shares, results["best"]["start"], decisions


def training_speed() -> str:
    """How much of its time the self-play trainer spends inside its networks."""
    stored = read_result("training_speed")
    rows = [
        (
            name,
            estimate(found["decisions_per_second"], 0),
            estimate(found["rate_to_bare_passes"], 2),
            estimate(found["rate_to_passes_and_optimiser"], 2),
            f"{found['update_epochs']} x {found['batch_size']}",
        )
        for name, found in stored["results"].items()
    ]
    shares = ("time of the bare passes, as a share", "the same with the optimiser")
    head = ("networks", "decisions learned a second", *shares, "epochs x minibatch")
    return table(head, rows) + "\n\n" + source(stored)


def encoding() -> str:
    """What the thermometers of the observation are worth."""
    stored = read_result("encoding")
    codes = list(next(iter(stored["results"].values()))["win_share"])
    rows = [
        (name, *(estimate(result["win_share"][code]) for code in codes)) for name, result in stored["results"].items()
    ]
    return table(("amounts as", *(f"against 3 x `{code}`" for code in codes)), rows) + "\n\n" + source(stored)


RESULT_PARTS: dict[str, Callable[[], str]] = {
    "ladder": ladder,
    "ratings": ratings,
    "budget": budget,
    "soundness": soundness,
    "anatomy": anatomy,
    "speed": speed,
    "player_speed": player_speed,
    "first_player_maskable-ppo": partial(first_player, "maskable-ppo"),
    "first_player_selfplay": partial(first_player, "selfplay"),
    "exploit": exploit,
    "ablation": ablation,
    "training_speed": training_speed,
    "encoding": encoding,
}
