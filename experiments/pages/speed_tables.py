"""Tables about speed, from stored results; each function `render_*` returns one as Markdown."""

from collections.abc import Mapping

from agents.tools.markdown import format_estimate, format_table
from experiments.pages.formats import format_with_source, name_machine
from experiments.pages.source import format_source
from experiments.results import read_result


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
    return format_with_source(("measured", "median (95 % interval)"), rows, stored)


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
    return format_with_source(("measured", "median"), rows, stored)


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
    return format_with_source(("networks", "decisions learned per second", *times, "epochs x minibatch"), rows, stored)


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
    return format_table(("measured", "median"), facts) + "\n\n" + format_with_source(head, rows, stored)


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
    return format_with_source(head, rows, stored)


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
    return format_table(head, rows) + "\n\n" + format_with_source((*counted, *times), bounds, stored)


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
    return format_with_source((stored["machine"]["gpu"], "million decisions/s"), rows, stored)


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
