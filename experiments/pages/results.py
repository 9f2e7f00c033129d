"""Tables of the pages, generated from stored results; each function `render_*` returns one table as Markdown."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from agents.arena.report import list_win_shares
from agents.tools.markdown import format_estimate, format_table
from agents.tools.settings import OneSetup
from experiments.pages.source import format_source
from experiments.results import RESULTS, read_result
from experiments.strength.ladder import LADDER, REFERENCE, read_win_shares
from felicity_env.setups import setup_name

NOT_MEASURED = "Not measured yet."  # of a question whose result is not stored yet
STRANGERS = "experiments.strength.stranger_players:"  # the module of the strangers, which a page leaves out


def format_percent(fraction: Mapping[str, float]) -> str:
    """Format a fraction with its 95 % interval in percent, as in `31.2 (29.8 to 32.6) %`."""
    return format_estimate({key: 100 * fraction[key] for key in ("value", "low", "high")}, 1) + " %"


def format_signed(gain: Mapping[str, float]) -> str:
    """Format a difference and its 95 % interval, each number with a plus or minus sign: `+0.012 (-0.003 to +0.027)`."""
    return f"{gain['value']:+.3f} ({gain['low']:+.3f} to {gain['high']:+.3f})"


def format_by_position(gains: Sequence[Mapping[str, float]]) -> str:
    """Format differences with the half-width of their widest 95 % interval, as in `+0.021 / -0.018 (± 0.010)`."""
    width = max(gain["high"] - gain["low"] for gain in gains) / 2
    values = (f"{gain['value']:+.3f}" for gain in gains)
    return f"{' / '.join(values)} (± {width:.3f})"


def _with_source(head: Sequence[str], rows: Sequence[Sequence[object]], stored: Mapping[str, Any]) -> str:
    return format_table(head, rows) + "\n\n" + format_source(stored)


def compare_neighbours(stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Compare each player of the ladder (players in order of strength) with the next weaker one.

    Returns a row for each pair in each setup. up: win share of the stronger player alone against copies of the weaker.
    down: win share of the weaker player alone against copies of the stronger. formats: "both", "one" or "neither", for
    how many of these two win shares show clearly that the stronger player is stronger. `up` does so if its whole 95 %
    interval is above par, `down` if its whole interval is below par.
    """
    rows = []
    for setup in stored["results"]["ratings"]:
        win_shares = list_win_shares(stored["results"], setup)
        par = next(pair["par"] for pair in stored["results"]["pairs"] if pair["setup"] == setup)
        for weaker, stronger in pairwise(code for code in stored["config"]["players"] if code in LADDER):
            up, down = win_shares[stronger, weaker], win_shares[weaker, stronger]
            formats = ("neither", "one", "both")[(up["low"] > par) + (down["high"] < par)]
            names = {"setup": setup, "stronger": stronger, "weaker": weaker}
            rows.append(names | {"up": up, "down": down, "par": par, "formats": formats})
    return rows


def render_ladder() -> str:
    """Return a Markdown table of neighbours on the ladder: the win share of each alone against copies of the other."""
    stored = read_result("ladder")
    rows = [
        (
            row["setup"],
            f"`{row['stronger']}` over `{row['weaker']}`",
            format_estimate(row["up"]),
            format_estimate(row["down"]),
            f"{row['par']:.3f}",
            row["formats"],
        )
        for row in compare_neighbours(stored)
    ]
    alone = "stronger player alone", "weaker player alone"
    return _with_source(("setup", "pair", *alone, "par", "formats in which it is clearly ahead"), rows, stored)


def render_ratings() -> str:
    """Return a Markdown table of the Plackett-Luce ratings of the ladder's players, with a column for each setup."""
    stored = read_result("ladder")
    ratings = stored["results"]["ratings"]
    codes = [code for code in stored["config"]["players"] if code in next(iter(ratings.values()))]
    rows = [
        (f"`{code}`", *(format_estimate(points[code], 0) for points in ratings.values())) for code in reversed(codes)
    ]
    return _with_source(("player", *ratings), rows, stored)


def render_standings() -> str:
    """Return a Markdown table with the ratings, `net`'s win share and the exploitability of each player.

    The win share is that of `net` alone against copies of the player. Exploitability is the gain over par of a best
    response to the player. Both are for the standard setup with four seats. What is not measured stays empty.
    """
    ladder = read_result("ladder")
    ratings, against = ladder["results"]["ratings"], read_win_shares("net", "standard-4")
    gains = {
        stored["config"]["target"]: stored["results"]["gain"]
        for stored in read_exploits()
        if stored["results"]["setup"] == "standard-4" and stored["config"]["num_learners"] == 1
    }
    rated = [code for code in ladder["config"]["players"] if code in ratings["standard-4"]]
    rows = [
        (
            f"`{code}`",
            *(format_estimate(points[code], 0) if code in points else "" for points in ratings.values()),
            format_estimate(against[code]) if code in against else "",
            format_signed(gains[code]) if code in gains else "",
        )
        for code in dict.fromkeys((*reversed(REFERENCE), *reversed(rated)))
    ]
    shares = "`net` alone against 3 copies, par 0.25"
    return format_table(("player", *(f"rating, {setup}" for setup in ratings), shares, "exploited"), rows)


def render_budget() -> str:
    """Return a Markdown table of the search players: win share and time of a decision for each number of playouts."""
    stored = read_result("budget")
    rows = [
        (
            row["setup"],
            f"`{row['kind']}:{row['playouts']}`",
            f"{row['milliseconds']['value']:.1f}",
            format_estimate(row["win_share"]),
            f"{row['par']:.3f}",
        )
        for row in stored["results"]
    ]
    against = f"win share against copies of `{stored['config']['rest']}` (95 %)"
    return _with_source(("setup", "one", "ms a decision, one core", against, "par"), rows, stored)


def read_exploits() -> list[dict[str, Any]]:
    """Return the stored results of the question `exploit`, the largest gain first.

    There is one for each player, setup and number of responses at a table.
    """
    results = [read_result(path.stem) for path in RESULTS.glob("exploit_*.json")]
    return sorted(results, key=lambda stored: -stored["results"]["gain"]["value"])


def render_exploits(stored: Sequence[Mapping[str, Any]]) -> str:
    """Return a Markdown table of the win shares of best responses, which were trained to beat one player each."""
    head = ("setup", "target", "responses at a table", "their win share", "gain over par", "started from", "runs")
    head += ("gain with search on top", "gain of search without training")
    return format_table(head, map(_exploit_row, stored)) + "\n\n" + "\n\n".join(map(format_source, stored))


def _exploit_row(stored: Mapping[str, Any]) -> tuple[Any, ...]:
    config, results = stored["config"], stored["results"]
    decisions = f"{len(results['responses'])} x {config['total_timesteps'] / 1e6:.0f} million decisions"
    values = format_estimate(results["win_share"]), format_signed(results["gain"])
    target = f"`{config['target']}`"
    row = results["setup"], target, config["num_learners"], *values, results["best"]["start"], decisions
    return *row, *(_gain_of_search(results, policy) for policy in ("response", "target"))


def _gain_of_search(results: Mapping[str, Any], policy: str) -> str:
    """Return the gain over par of a search on top of the response, or of the target's policy; "" if not measured."""
    found = results["searches"].get(policy)
    return format_signed({name: found[name] - results["par"] for name in ("value", "low", "high")}) if found else ""


def compare_probe(stored: Mapping[str, Any]) -> list[tuple[str, Mapping[str, float], Mapping[str, float]]]:
    """Return each player of a stored `probe`, the gain of its short best response, and the stored gain of long ones."""
    setup = stored["results"]["setup"]
    gains = {
        row["config"]["target"]: row["results"]["gain"]
        for row in read_exploits()
        if row["results"]["setup"] == setup and row["config"]["num_learners"] == 1
    }
    return [(row["target"], row["probe"], gains[row["target"]]) for row in stored["results"]["rows"]]


def render_probe() -> str:
    """Return a Markdown table of what a short best response to each player gains, and what the long ones gain."""
    if not (RESULTS / "probe.json").exists():
        return NOT_MEASURED
    stored = read_result("probe")
    rows = [
        (f"`{target}`", format_signed(short), format_signed(long), f"{short['value'] / long['value']:.0%}")
        for target, short, long in compare_probe(stored)
    ]
    decisions = f"{stored['config']['total_timesteps'] / 1e6:.0f} million decisions"
    heads = ("target", f"gain of one response, {decisions}", "gain of the best of the long ones", "part found")
    return format_table(heads, rows) + "\n\n" + format_source(stored)


def render_recipes() -> str:
    """Return a Markdown table of what each recipe of another library reaches."""
    if not (RESULTS / "recipes.json").exists():
        return NOT_MEASURED
    stored = read_result("recipes")
    rows = [
        (
            f"[`{row['recipe']}`](recipes/{row['recipe']}.py)",
            ", ".join(f"`{need}`" for need in row["needs"]),
            _describe_recipe(row),
            f"{row['decisions']:,}" if "decisions" in row else "",
            str(row["seconds"]),
        )
        for row in stored["results"]["recipes"]
    ]
    heads = ("recipe", "needs", "win share against three `random` (par 0.25)", "decisions", "seconds")
    return format_table(heads, rows) + "\n\n" + format_source(stored)


def _describe_recipe(row: Mapping[str, Any]) -> str:
    if "win_share" in row:
        return f"{row['win_share']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
    if "games" in row:
        return f"does not learn; plays {row['games']} games"
    change = f"from {row['exploitability_before']:.3f} to {row['exploitability_after']:.3f}"
    return f"solves `tiny-2`: exploitability {change}"


def render_soundness() -> str:
    """Return Markdown tables that show how often the arena's intervals and tests are right, for known win shares."""
    stored = read_result("soundness")
    results = stored["results"]
    coverage = [
        (
            f"one `{row['one']}` against {row['num_players'] - 1} x `{row['rest']}`",
            format_estimate(row["truth"], 4),
            format_percent(row["covered"]),
        )
        for row in results["coverage"]
    ]
    sequential = [
        (
            f"`{row['one']}`",
            f"`{row['other']}`",
            format_estimate(row["truth"]),
            format_percent(row["stronger"]),
            format_estimate(row["mean_blocks"], 0),
            f"{row['fixed_blocks']:,.0f}",
        )
        for row in results["sequential"]
    ]
    copies = [
        (
            f"{row['num_players']} x `{row['player']}`",
            f"{row['blocks']:,}",
            *(f"{row[name]:.1g}" for name in ("furthest_from_par", "width")),
        )
        for row in results["copies"]
    ]
    stronger = f"declared stronger by {results['sequential'][0]['gain']}"
    deals = "mean deals", "deals of a test of fixed size"
    parts = [
        format_table(("95 % intervals", "true win share", "contain the true win share"), coverage),
        format_table(("first", "second", "true difference", f"the first is {stronger}", *deals), sequential),
        format_table(("copies", "deals", "furthest from par", "width of the interval"), copies),
        format_source(stored),
    ]
    return "\n\n".join(parts)


def render_anatomy() -> str:
    """Return a Markdown table about games among copies of each player: value of a seat, dry and void rounds, prices."""
    stored = read_result("anatomy")
    rows = [
        (
            row["setup"],
            f"`{row['player']}`",
            format_by_position(row["win_share"]),
            *(format_percent(row[name]) for name in ("dry", "void", "victories_without_buying")),
            *(format_estimate(row[name], 1) for name in ("price", "sack_bought")),
            " / ".join(f"{gain['value']:.1f}" for gain in row["gain_first_round"]),
        )
        for row in stored["results"]["tables"]
    ]
    columns = ("dry rounds", "void rounds", "victories without buying", "price", "value of a sack bought")
    effect = "win share over par by position in the first round, the start player first"
    head = ("setup", "copies of", effect, *columns, "points gained in the first round by position in it")
    said = f"Each player places a random card with probability {stored['config']['tremble']}; otherwise copies of a "
    said += "player without randomness would all play alike."
    return f"{said}\n\n{_with_source(head, rows, stored)}"


def render_first_player(algorithm: str) -> str:
    """Return a Markdown table of the win shares that default training runs reach, with a row for each training seed."""
    stored = read_result(f"first_player_{algorithm}")
    runs, chosen = stored["results"]["runs"], {name: stored["config"][name] for name in ("num_players", "setup")}
    setup = OneSetup(**chosen).chosen_setup
    codes, ev = list(runs[0]["results"][0]["win_share"]), read_win_shares("ev", setup_name(setup))
    rows: list[tuple[object, ...]] = []
    for run in runs:
        win_shares = run["results"][0]["win_share"].values()
        rows.append((run["seed"], *map(format_estimate, win_shares), f"{run['minutes']:.1f}"))
    rows.append(("`ev` instead", *(format_estimate(ev[code]) if code in ev else "" for code in codes), ""))
    others = setup.seats - 1
    return _with_source(("seed", *(f"against {others} x `{code}`" for code in codes), "minutes"), rows, stored)


def render_ablation(recipe: str) -> str:
    """Return a Markdown table of the gain in win share when one setting of a recipe of the trainer is changed."""
    if not (RESULTS / f"ablation_{recipe}.json").exists():
        return NOT_MEASURED
    stored = read_result(f"ablation_{recipe}")
    others = stored["config"]["num_players"] - 1
    compared = {variant: _list_comparisons(found, others) for variant, found in stored["results"].items()}
    base = compared.pop("base")
    rows = [("base: win share", *(format_estimate(each["win_share"]) for each in base.values()))]
    for variant, found in compared.items():
        rows.append((f"{variant}: more than base", *(format_signed(each["gain"]) for each in found.values())))
    return _with_source(("variant", *base), rows, stored)


def _list_comparisons(found: Mapping[str, Any], others: int) -> dict[str, Any]:
    """Return the comparisons of a variant with the base, {head of the column: win share and gain}."""
    compared = {f"against {others} x `{kind}`": each for kind, each in found["opponents"].items()}
    return compared | ({"a short best response to it": found["response"]} if "response" in found else {})


def render_encoding() -> str:
    """Return a Markdown table of win shares after training with and without thermometer encoding of the inputs."""
    stored = read_result("encoding")
    codes = list(next(iter(stored["results"].values()))["win_share"])
    rows = [
        (name, *(format_estimate(result["win_share"][code]) for code in codes))
        for name, result in stored["results"].items()
    ]
    return _with_source(("amounts as", *(f"against 3 x `{code}`" for code in codes)), rows, stored)


def render_speed() -> str:
    """Return a Markdown table about the environment: its speed, share of training time, time to start, and memory."""
    stored = read_result("speed")
    batch, aec, training, start = (stored["results"][key] for key in ("batch", "pettingzoo", "training", "start"))
    millions = {key: value / 1e6 for key, value in batch["decisions_per_second"].items()}
    estimates = [
        ("`Batch`, one thread: decisions/s with observation and mask, millions", millions, 1),
        ("... bytes written, relative to `numpy.fill`", batch["bytes_written_to_fill"], 2),
        ("... two threads against one", batch["two_threads_to_one"], 2),
        ("random playouts without observations: games/s", batch["playout_games_per_second"], 0),
        ("`numpy.fill` of the same buffers: GB/s", batch["fill_gigabytes_per_second"], 0),
        ("`raw_env`: steps/s", aec["raw_env_steps_per_second"], 0),
        ("... against Gymnasium's CartPole", aec["raw_env_to_cartpole"], 2),
        ("`env()` against an empty environment in the same wrappers", aec["env_to_empty_env"], 2),
        ("MaskablePPO against heuristics, relative to an empty environment", training["compiled_to_empty"], 2),
        ("... against copies of its policy", training["snapshots_to_empty"], 2),
        ("... against the default mix", training["default_to_empty"], 2),
        ("decisions learned per second, default run of `maskable-ppo`", training["decisions_per_second"]["default"], 0),
    ]
    rows = [(name, format_estimate(value, digits)) for name, value, digits in estimates]
    rows += [
        ("start of Python to the end of a first game, seconds", f"{start['warm_seconds']:.2f}"),
        ("... the very first time, with compiling", f"{start['cold_seconds']:.1f}"),
        ("memory of a game in a `Batch`, bytes", f"{stored['results']['memory_bytes_per_game']:,.0f}"),
    ]
    return _with_source(("measured", "median (95 % interval)"), rows, stored)


def render_player_speed() -> str:
    """Return a Markdown table of decisions per second and playouts per second of the players."""
    stored = read_result("player_speed")
    results, rows = stored["results"], []
    for code, value in results["decisions_per_second"].items():
        digits = 2 if code == "net" else 1
        rows.append((f"`{code}`: decisions/s in a batch, one core, millions", f"{value['value'] / 1e6:.{digits}f}"))
    for code, value in results["playouts_per_second"].items():
        name = f"playouts/s from the second round on, all seats `{code}`, one core"
        rows.append((name, format_estimate(value, 0)))
    command = f"python -m agents tournament {results['tournament']['options']}"
    rows.append((f"`{command}`, seconds", f"{results['tournament']['seconds']:.0f}"))
    return _with_source(("measured", "median"), rows, stored)


def render_cluster() -> str:
    """Return Markdown tables of what a task on a cluster costs, and of the rates of clusters: model and measurement."""
    stored = read_result("cluster")
    found = stored["results"]
    costs, sizes = found["costs"], found["bytes"]
    facts = [
        (
            "rate of two processors of a cluster, relative to two processes",
            format_estimate(found["cluster_to_processes"]),
        ),
        ("cost of a part on its worker, ms", f"{1e3 * costs['task']:.1f}"),
        ("cost of a part where the command runs, ms", f"{1e3 * costs['driver']:.2f}"),
        ("sent to a worker for a part, bytes", f"{sizes['task']:,}"),
        ("sent back, bytes", f"{sizes['result']:,}"),
    ]
    rows = [
        (
            f"{1e3 * row['seconds']:.0f} ms",
            f"{row['cores']:,}",
            f"{row['predicted']:,.0f}",
            f"{row['measured']:,.0f}" if row["measured"] else "",
        )
        for row in found["model"]
    ]
    head = ("time of a part", "processors", "parts/s by the model", "measured")
    return format_table(("measured", "median"), facts) + "\n\n" + _with_source(head, rows, stored)


def render_data_parallel() -> str:
    """Return a Markdown table of the time of gradient steps by threads and by processes that share a minibatch."""
    stored = read_result("data_parallel")
    found = stored["results"]
    ways = list(found["rows"][0]["milliseconds"])
    rows = [
        (
            f"{row['batch_size']:,}",
            *(f"{row['milliseconds'][way]['value']:.1f}" for way in ways),
            f"{row['sum_milliseconds']['value']:.1f}",
            format_estimate(row["gain_of_two_processes"]),
        )
        for row in found["rows"]
    ]
    head = ("minibatch", *(f"{way}, ms" for way in ways), "adding the gradients alone, ms")
    head += ("rate of two processes relative to one",)
    return _with_source(head, rows, stored)


def render_gpu_kernels() -> str:
    """Return Markdown tables of what kernels take on GPUs, and of what bounds the rate of the engine's two kernels."""
    stored = read_result("gpu_kernels")
    found, rows = stored["results"]["resources"], []
    targets = list(found)
    for name, needs in found["sm_90"].items():
        registers = ", ".join(str(found[target][name]["registers"]) for target in targets)
        spills = sum(found[target][name]["spills"] for target in targets)
        rows.append((f"`{name}`", registers, f"{spills}", f"{needs['tables']:,}", f"{needs['instructions']:,}"))
    head = ("kernel", f"registers a thread ({', '.join(targets)})", "spilled bytes", "tables, bytes", "instructions")
    bounds = [
        (
            f"`{row['kernel']}`, arrays by {row['layout']}",
            f"{row['instructions'] / row['issued']:.2f}",
            f"{row['machine_instructions_issued']:,.0f}",
            f"{row['sectors']:.0f}",
            f"{1e9 * row['seconds_to_issue']:.2f}",
            f"{1e9 * row['seconds_to_store']:.2f}",
        )
        for row in stored["results"]["model"]
    ]
    counted = ("kernel", "threads that work", "instructions a warp issues", "sectors a decision stores")
    times = ("least ns a decision to issue", "least ns a decision to store")
    return format_table(head, rows) + "\n\n" + _with_source((*counted, *times), bounds, stored)


def render_gpu_speed() -> str:
    """Return a Markdown table of the rates of the engine and of training on a GPU."""
    stored = read_result("gpu_speed")
    found, config = stored["results"], stored["config"]
    ways = {"eager": "kernels launched one by one", "graphed": "as a CUDA graph"}
    rows = [
        (f"random games, {int(num_games):,} at once, {ways[way]}", format_estimate(_to_millions(rate), 0))
        for num_games, rates in found["engine"].items()
        for way, rate in rates.items()
    ]
    layers, games = " x ".join(map(str, config["hidden_sizes"])), f"{config['num_envs']:,} games"
    sizes = f"hidden layers {layers}, compiled, {games}, minibatches of {config['batch_size']:,}"
    rows += [
        (f"self-play, {sizes}, passes over each rollout: {epochs}", format_estimate(_to_millions(rate), 1))
        for epochs, rate in found["training"].items()
    ]
    return _with_source((stored["machine"]["gpu"], "million decisions/s"), rows, stored)


def _to_millions(rate: Mapping[str, float]) -> dict[str, float]:
    return {name: rate[name] / 1e6 for name in ("value", "low", "high")}


def render_reference_speed() -> str:
    """Return a Markdown table of what the recipe of the reference player takes, and gives, on a CPU and on a GPU."""
    stored = [read_result(f"reference_{device}") for device in ("cpu", "cuda")]
    rows: list[dict[str, object]] = []
    for each in stored:
        found = each["results"]
        for result in found["results"]:
            rows.append(
                {
                    "machine": name_machine(each),
                    "million decisions": f"{found['curve'][-1]['timesteps'] / 1e6:,.0f}",
                    "minutes": f"{found['minutes']:.0f}",
                    "seats": result["num_players"],
                    **{f"against `{code}`": format_estimate(share) for code, share in result["win_share"].items()},
                }
            )
    table = format_table(list(rows[0]), [list(row.values()) for row in rows])
    return "\n\n".join([table, *map(format_source, stored)])


def name_machine(stored: Mapping[str, Any]) -> str:
    """Return a few words for what a stored result was measured on: a GPU, or the number of cores of a machine."""
    machine, is_on_cpu = stored["machine"], stored["config"].get("device") == "cpu"
    return f"{machine['cores']} cores" if is_on_cpu or "gpu" not in machine else machine["gpu"]


def render_training_speed() -> str:
    """Return a Markdown table of the fraction of training time that the passes through the networks take."""
    stored = read_result("training_speed")
    rows = [
        (
            name,
            format_estimate(result["decisions_per_second"], 0),
            format_estimate(result["rate_to_bare_passes"], 2),
            format_estimate(result["rate_to_passes_and_optimiser"], 2),
            f"{result['update_epochs']} x {result['batch_size']}",
        )
        for name, result in stored["results"].items()
    ]
    times = ("share of an iteration spent in forward and backward passes", "the same with the optimizer")
    return _with_source(("networks", "decisions learned per second", *times, "epochs x minibatch"), rows, stored)
