"""Answers to the questions: one sentence about the stored results of each. To add one, add a line to `ANSWERS`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.checks.chunks import list_faults
from experiments.checks.endurance import FACES, measure_growth
from experiments.pages.exact_tables import choose_best_responses
from experiments.pages.formats import STRANGERS, name_machine
from experiments.pages.strength_tables import compare_neighbours, compare_probe, list_search_gains

Result = Mapping[str, Any]
GAIN_THAT_COUNTS = 0.05  # win share that an exact response gains at least, so that a share of it can be compared


def _answer_ladder(results: Sequence[Result]) -> str:
    rows = compare_neighbours(results[0])
    clear = sum(row["formats"] == "both" for row in rows)
    others = dict.fromkeys(f"`{row['stronger']}` over `{row['weaker']}`" for row in rows if row["formats"] != "both")
    exceptions = f"; not {', '.join(others)}" if others else ""
    pairs = f"{clear} of {len(rows)} pairs of neighbours"
    return f"in {pairs} the stronger player is clearly ahead in both formats{exceptions}"


def _answer_budget(results: Sequence[Result]) -> str:
    rows = results[0]["results"]
    names = [row["setup"] for row in rows]
    same = max(names, key=names.count), rows[0]["kind"], rows[0]["rest"]
    points = [row for row in rows if (row["setup"], row["kind"], row["rest"]) == same]
    texts = [
        f"{point['win_share']['value']:.2f} with `{point['kind']}:{point['playouts']}` "
        f"({point['milliseconds']['value']:.1f} ms a decision)"
        for point in (points[0], points[-1])
    ]
    rest, others = points[0]["rest"], points[0]["num_players"] - 1
    return f"win share against {others} x `{rest}`: {' to '.join(texts)}; par {points[0]['par']:.2f}"


def _answer_policy_search(results: Sequence[Result]) -> str:
    rows = results[0]["results"]
    equal = [
        f"{row['win_share']['value']:.2f} against {row['num_players'] - 1} x `{row['rest']}`"
        for row in rows
        if row["rest"] != rows[0]["rest"]
    ]
    return f"{_answer_budget(results)}; in the time of other searches, {' and '.join(equal)}"


def _answer_exploit(results: Sequence[Result]) -> str:
    gains = (f"{_find_largest_gain(stored['results']):+.2f} against {_describe_target(stored)}" for stored in results)
    return f"at least by this much win share over par, the most of all kinds of response: {', '.join(gains)}"


def _find_largest_gain(results: Mapping[str, Any]) -> float:
    """Return the largest gain over par of all responses to a player: trained ones, and searches if measured."""
    return max(gain["value"] for gain in (results["gain"], *list_search_gains(results).values()))


def _describe_target(stored: Result) -> str:
    config, seats = stored["config"], stored["results"]["num_players"]
    responses = "" if config["num_learners"] == 1 else f"{config['num_learners']} responses, "
    return f"`{config['target']}`" + (f" ({responses}{seats} players)" if responses or seats != 4 else "")


def _answer_probe(results: Sequence[Result]) -> str:
    rows = compare_probe(results[0])
    found = ", ".join(
        f"{short['value'] / long['value']:.0%} against `{target}`" for target, short, long in rows if long
    )
    return f"{results[0]['config']['total_timesteps'] / 1e6:.0f} million decisions find {found}"


def _answer_exact(results: Sequence[Result]) -> str:
    result = results[0]["results"]
    solved = ", ".join(f"{row['curve'][-1]['nash_conv']:.4f} in {row['setup']}" for row in result["equilibria"])
    ends = [(run["recipe"], run["curve"][-1]) for run in result["training"]]
    mixture = max(end["mixture_nash_conv"] for recipe, end in ends if recipe == "reference")
    policy = max(end["nash_conv"] for recipe, end in ends if recipe == "average")
    trained = f"{mixture:.3f} of mixtures by the reference recipe, {policy:.3f} of policies by one for small games"
    rows = [row for row in choose_best_responses(result) if row["exact_gain"] >= GAIN_THAT_COUNTS]
    part = min(row["found_gain"] / row["exact_gain"] for row in rows)
    found = f"trained responses find at least {part:.0%} of what exact ones gain"
    return f"NashConv of CFR+: {solved}; at most {trained}; {found}"


def _answer_reference_strength(results: Sequence[Result]) -> str:
    texts = []
    for stored in results:
        alone = [pair for pair in stored["results"]["pairs"] if pair["one"] == stored["config"]["player"]]
        worst = min(alone, key=lambda pair: pair["measures"]["win_share"]["value"])
        share = f"{worst['measures']['win_share']['value']:.2f} against `{worst['rest']}`"
        texts.append(f"{share} in {worst['setup']} (par {worst['par']:.2f})")
    return f"its lowest win shares alone against copies of another: {', '.join(texts)}"


def _answer_strangers(results: Sequence[Result]) -> str:
    pairs = [pair for stored in results for pair in stored["results"]["pairs"]]
    player = results[0]["config"]["player"]
    texts = []
    for key, other in (("one", "rest"), ("rest", "one")):
        shares = [
            (pair["measures"]["win_share"]["value"], pair[other].removeprefix(STRANGERS))
            for pair in pairs
            if pair[key] == player
        ]
        texts.append("{:.2f} (`{}`) to {:.2f} (`{}`)".format(*min(shares), *max(shares)))
    among = f"`{player}` alone among copies of a stranger {texts[0]}"
    return f"win shares, par {pairs[0]['par']:.2f}: {among}; a stranger alone among copies of `{player}` {texts[1]}"


def _answer_reference_style(results: Sequence[Result]) -> str:
    raises = {code: [bin_["value"] for bin_ in bins if bin_] for code, bins in results[0]["results"]["raises"].items()}
    texts = (f"{values[0]:.2f} to {values[-1]:.2f} for `{code}`" for code, values in raises.items())
    return f"frequency of a raise, from where it loses most to where it gains most: {', '.join(texts)}"


def _answer_ablation(results: Sequence[Result]) -> str:
    texts = []
    for stored in results:
        has_responses = "response" in stored["results"]["base"]
        share = "of a best response" if has_responses else "against `tuned`"
        compared = {
            name: each["response"] if has_responses else each["opponents"]["tuned"]
            for name, each in stored["results"].items()
        }
        gains = sorted((each["gain"]["value"], name) for name, each in compared.items() if name != "base")
        least, most = (f"{gain:+.2f} (*{name}*)" for gain, name in (gains[0], gains[-1]))
        texts.append(f"recipe `{stored['config']['recipe']}`: the win share {share} changes by {least} to {most}")
    return "; ".join(texts)


def _answer_encoding(results: Sequence[Result]) -> str:
    shares = {name: result["win_share"]["ev"]["value"] for name, result in results[0]["results"].items()}
    return "win share against `ev`: " + ", ".join(f"{share:.2f} with {name}" for name, share in shares.items())


def _answer_first_player(results: Sequence[Result]) -> str:
    texts = []
    for stored in results:
        summary, runs = stored["results"]["summary"], stored["results"]["runs"]
        minutes = sum(run["minutes"] for run in runs) / len(runs)
        shares = ", ".join(f"{summary[code]['mean']:.2f} against `{code}`" for code in ("anchor", "ev"))
        texts.append(f"`{stored['config']['algorithm']}` {shares} in {minutes:.0f} minutes")
    return f"win shares: {'; '.join(texts)}"


def _answer_anatomy(results: Sequence[Result]) -> str:
    tables = results[0]["results"]["tables"]
    row = next(row for row in tables if (row["setup"], row["player"]) == ("standard-4", "ev"))
    effects = {code: max(_position_effects(tables, code)) for code in dict.fromkeys(row["player"] for row in tables)}
    by_player = ", ".join(f"{effect:.2f} among copies of `{code}`" for code, effect in effects.items())
    card = max(abs(effect["value"]) for effect in row["holding_win_share"])
    prices = [price["value"] for price in row["if_price"]]
    return (
        f"a seat: its position in the first round changes the win share by up to {by_player}, and "
        f"{_describe_good_positions(tables)}. A card: at most {card:.3f} win share (4 x `ev`). The last mouse card: "
        f"with {len(prices) - 1} mice on it instead of none, prices are {prices[-1]:.1f} instead of {prices[0]:.1f}"
    )


def _position_effects(tables: Sequence[Result], code: str) -> list[float]:
    """Return the absolute differences between win share and par of the copies of one player.

    There is a number for each setup and each position in the first round.
    """
    return [abs(effect["value"]) for row in tables if row["player"] == code for effect in row["win_share"]]


def _describe_good_positions(tables: Sequence[Result]) -> str:
    """Return text on the positions in the first round at which every player's interval lies above par."""
    by_setup: dict[str, list[Sequence[Result]]] = {}
    for row in tables:
        by_setup.setdefault(row["setup"], []).append(row["win_share"])
    good = [
        f"position {position + 1} of `{setup}`"
        for setup, by_player in by_setup.items()
        for position, effects in enumerate(zip(*by_player, strict=True))
        if all(effect["low"] > 0 for effect in effects)
    ]
    return f"only {', '.join(good)} is good for all players" if good else "no position is good for all players"


def _answer_progress(results: Sequence[Result]) -> str:
    texts = []
    for name, curve in (pair for result in results for pair in result["results"]["curves"].items()):
        gains = " and ".join(
            f"{curve[place]['gain']['value']:+.3f} after {curve[place]['timesteps'] / 1e6:,.0f} million"
            for place in (0, -1)
        )
        texts.append(f"{name} {gains}")
    return f"gains of short best responses, and decisions of training: {'; '.join(texts)}"


def _answer_speed(results: Sequence[Result]) -> str:
    batch, aec = results[0]["results"]["batch"], results[0]["results"]["pettingzoo"]
    decisions, steps = batch["decisions_per_second"]["value"], aec["raw_env_steps_per_second"]["value"]
    return f"{decisions / 1e6:.1f} million decisions/s in a batch on one core, {steps:,.0f} steps/s in PettingZoo"


def _answer_player_speed(results: Sequence[Result]) -> str:
    speeds = results[0]["results"]["decisions_per_second"]
    texts = (f"`{code}` {speeds[code]['value'] / 1e6:.3g}" for code in ("anchor", "ev", "tuned", "net"))
    return f"millions of decisions/s in a batch on one core: {', '.join(texts)}"


def _answer_training_speed(results: Sequence[Result]) -> str:
    texts = (
        f"{result['rate_to_bare_passes']['value']:.0%} with {name}" for name, result in results[0]["results"].items()
    )
    return f"of the time of an iteration, forward and backward passes take {', '.join(texts)}"


def _answer_cluster(results: Sequence[Result]) -> str:
    found = results[0]["results"]
    ratio = f"{found['cluster_to_processes']['value']:.2f} of the rate of two local processes on two processors"
    costs = f"a part costs {1e3 * found['costs']['task']:.1f} ms on its worker and {1e3 * found['costs']['driver']:.1f}"
    return f"{ratio}; {costs} ms where the command runs"


def _answer_gpu_kernels(results: Sequence[Result]) -> str:
    found = results[0]["results"]
    needs = [each for kernels in found["resources"].values() for each in kernels.values()]
    registers, spills = max(each["registers"] for each in needs), sum(each["spills"] for each in needs)
    by_columns = [row for row in found["model"] if row["layout"] == "columns"]
    rate = 1 / sum(max(row["seconds_to_issue"], row["seconds_to_store"]) for row in by_columns)
    fit = f"at most {registers} registers a thread, {spills} bytes spilled, on {', '.join(found['resources'])}"
    return f"{fit}; no more than {rate / 1e9:.1f} billion decisions/s on an H200 (a bound, not a measurement)"


def _answer_gpu_speed(results: Sequence[Result]) -> str:
    found = results[0]["results"]
    best = max(rate["value"] for rates in found["engine"].values() for rate in rates.values())
    passes = " / ".join(found["training"])
    learned = " / ".join(f"{rate['value'] / 1e6:.1f}" for rate in found["training"].values())
    gpu = name_machine(results[0])
    return f"{best / 1e6:,.0f} million decisions/s played, {learned} learned with {passes} passes ({gpu})"


def _answer_data_parallel(results: Sequence[Result]) -> str:
    rows = results[0]["results"]["rows"]
    gains = ", ".join(f"{row['gain_of_two_processes']['value']:.2f} at {row['batch_size']:,} decisions" for row in rows)
    return f"rate of gradient steps by two processes on one machine, as a multiple of one: {gains}"


def _answer_check(text: str, subjects: Mapping[str, str]) -> Callable[[Sequence[Result]], str]:
    """Return a function that writes the answer to a question of the release checks from a stored result.

    text: statement that is true if the check found no faults. subjects: {beginning of a name: subject}. All counts
    whose names begin in this way are added up, and the answer shows their sum as the number of these subjects.
    """

    def answer(results: Sequence[Result]) -> str:
        counts = results[0]["results"]["counts"]
        sums = {
            subject: sum(n for key, n in counts.items() if key.startswith(name)) for name, subject in subjects.items()
        }
        checked = ", ".join(f"{number:,} {subject}" for subject, number in sums.items())
        faults = list_faults(results[0]["results"])
        return f"{checked}: {text}" if not faults else f"no: {checked}; {'; '.join(faults)}"

    return answer


def _answer_gpu_equality(results: Sequence[Result]) -> str:
    texts = []
    for stored in results:
        place = {"device": "on a GPU", "translated": "by kernels translated to C"}[stored["config"]["gpu"]]
        subjects = {"compiled": f"decisions {place}"}
        if stored["config"]["simulated"]:
            subjects["simulated"] = "in Numba's simulator"
        texts.append(_answer_check("every buffer has the same bytes as on the CPU after each step", subjects)([stored]))
    return "; ".join(texts)


def _answer_endurance(results: Sequence[Result]) -> str:
    counts = results[0]["results"]["counts"]
    texts = (
        f"{measure_growth(counts, face):+.2%} in {counts[f'{face}: decisions']:,} decisions of {face}" for face in FACES
    )
    return f"memory grew by {', '.join(texts)}"


def _answer_review_honesty(results: Sequence[Result]) -> str:
    counts = results[0]["results"]["counts"]
    return (
        f"{counts['blunders flagged']} of {counts['blunders']} planted blunders are flagged, and "
        f"{counts['identical actions flagged']} of {counts['identical actions']} decisions between identical actions; "
        f"{counts['estimates that hold'] / counts['estimates']:.1%} of the 95 % intervals hold"
    )


def _answer_pictures(results: Sequence[Result]) -> str:
    result = results[0]["results"]
    replay, svg, pixels = result["replays"]["4"], result["svg_milliseconds"], result["rgb_array_milliseconds"]
    return (
        f"{svg['value']:.1f} ms for a picture, {pixels['value']:.0f} ms for its pixels, "
        f"{replay['bytes'] / 1000:.0f} KB for a replay of {replay['decisions']} decisions, "
        f"{result['review_seconds']['value']:.0f} s for a review"
    )


def _answer_recipes(results: Sequence[Result]) -> str:
    rows = [row for row in results[0]["results"]["recipes"] if "win_share" in row]
    texts = (f"{row['win_share']:.2f} by `{row['recipe']}`" for row in rows)
    return f"win shares against three `random` (par 0.25): {', '.join(texts)}"


def _answer_dataset(results: Sequence[Result]) -> str:
    players = results[0]["results"]["players"]
    sizes = ", ".join(f"{row['bytes_per_game']:.0f} with `{code}`" for code, row in players.items())
    first = next(iter(players.values()))
    written, seen = (first[f"{name}_per_second"]["value"] / 1e6 for name in ("written", "resimulated"))
    speeds = f"{written:.1f} million decisions/s written and {seen:.1f} million/s re-simulated with observations"
    return f"bytes a game: {sizes}; {speeds}, on one core"


def _answer_soundness(results: Sequence[Result]) -> str:
    result = results[0]["results"]
    coverage = " and ".join(f"{row['covered']['value']:.1%}" for row in result["coverage"])
    equal = next(row["stronger"]["value"] for row in result["sequential"] if row["one"] == row["other"])
    intervals = f"{coverage} of the 95 % intervals contain the true win share"
    return f"{intervals}; the sequential test errs in {equal:.1%} of equal pairs"


def _answer_mutants(results: Sequence[Result]) -> str:
    """Return the fraction of mutants of each group that the tests notice, for samples with its interval."""
    groups, texts = results[0]["results"]["groups"], []
    for name, group in groups.items():
        noticed = group["noticed"]
        interval = f" ({noticed['low']:.1%} to {noticed['high']:.1%})" if "low" in noticed else ""
        texts.append(f"{noticed['value']:.1%}{interval} of {noticed['trials']:,} mutants of the {name}")
    equivalent = sum(row["equivalent"] for group in groups.values() for row in group["modules"])
    return f"noticed: {', '.join(texts)}; {equivalent} more are equivalent, each with its reason"


def _answer_reference(results: Sequence[Result]) -> str:
    texts = []
    for stored in results:
        found = stored["results"]
        decisions = f"{found['curve'][-1]['timesteps'] / 1e6:,.0f} million decisions"
        texts.append(f"{decisions} in {found['minutes']:.0f} minutes on {name_machine(stored)}")
    return f"trained on {'; '.join(texts)}"


def _answer_tune(results: Sequence[Result]) -> str:
    best = {
        setup: max(start["on_fresh_deals"]["fitness"] for start in result["starts"])
        for setup, result in results[0]["results"].items()
    }
    texts = (f"{value:.3f} ({setup})" for setup, value in best.items())
    return f"fitness of the best search on new deals: {', '.join(texts)}"


ANSWERS: dict[str, Callable[[Sequence[Result]], str]] = {
    "ladder": _answer_ladder,
    "budget": _answer_budget,
    "policy-search": _answer_policy_search,
    "exact": _answer_exact,
    "exploit": _answer_exploit,
    "probe": _answer_probe,
    "reference-strength": _answer_reference_strength,
    "strangers": _answer_strangers,
    "reference-style": _answer_reference_style,
    "ablation": _answer_ablation,
    "encoding": _answer_encoding,
    "progress": _answer_progress,
    "first-player": _answer_first_player,
    "anatomy": _answer_anatomy,
    "speed": _answer_speed,
    "player-speed": _answer_player_speed,
    "pictures": _answer_pictures,
    "dataset": _answer_dataset,
    "recipes": _answer_recipes,
    "cluster": _answer_cluster,
    "data-parallel": _answer_data_parallel,
    "gpu-kernels": _answer_gpu_kernels,
    "gpu-speed": _answer_gpu_speed,
    "training-speed": _answer_training_speed,
    "invariants": _answer_check("no invariant is violated", {"games": "games", "decisions": "decisions"}),
    "leaks": _answer_check(
        "a seat is shown the same in the true game and in all worlds that it holds possible",
        {
            "pairs": "pairs of a position and a seat",
            "worlds other": "worlds other than the true one",
            "worlds in": "worlds in full games",
            "compared": "comparisons after further steps",
        },
    ),
    "malformed": _answer_check(
        "all refused, and no byte of a state changed",
        {"raw_env": "malformed actions in PettingZoo", "Batch": "in `Batch`"},
    ),
    "damage": _answer_check(
        "each refused in one line, or a text that is read as a valid game",
        {
            "texts": "damaged texts",
            "policies": "policies",
            "checkpoints": "checkpoints",
            "parts": "parts of tournaments",
        },
    ),
    "endurance": _answer_endurance,
    "faults": _answer_check(
        "all tournaments ended with the same bytes as without a cluster",
        {
            "processes": "processes ended",
            "nodes": "nodes killed",
            "results": "results twice",
            "late": "late results",
            "objects": "objects lost",
            "commands": "commands killed",
        },
    ),
    "gpu-equality": _answer_gpu_equality,
    "kills": _answer_check(
        "all ended with the same bits as runs that were never killed, and no process was left",
        {"kills of training": "kills of training runs", "kills of tournaments": "of tournaments"},
    ),
    "mutants": _answer_mutants,
    "review-honesty": _answer_review_honesty,
    "soundness": _answer_soundness,
    "reference": _answer_reference,
    "tune": _answer_tune,
}
