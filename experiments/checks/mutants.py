"""Question: do the tests notice a change of the code? `python -m experiments mutants`

Each mutant is the code with one small change, such as `<` for `<=` or 2 for 1, and tests should fail for it. All
mutants of the environment are tested, and a random sample of those of the arena and of the checks of given states.
Compiled functions are executed as plain Python, except in tests of the arena, which play many games. Mutants that no
test can notice are listed in `equivalent_mutants.toml`, each with its reason. The command needs `pip install -c
constraints.txt -e '.[test,mutants]'` and takes hours.
"""

import random
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from agents.tools.files import UserError, lock_folder
from agents.tools.settings import check_positive, require
from experiments.checks.mutant_runs import LAST, OUTDATED, Outcome, Plan, TestRunner, read_outcomes, run_mutants
from experiments.checks.mutations import Mutant, list_mutants, tool_version
from experiments.checks.soundness import estimate_rate
from experiments.results import PROJECT, write_result

EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
SERVER = {
    "libraries": (
        *("numpy", "numba", "pytest", "_hypothesis_pytestplugin", "hypothesis.strategies", "hypothesis.extra.numpy"),
        *("gymnasium.vector", "pettingzoo.test", "tyro", "rich.progress", "filelock"),
    ),
    "options": ("--hypothesis-profile=mutants",),
}
COUNTS = ("tested", "killed", "timed_out", "survived", "equivalent")
GOAL = 0.95  # fraction of the mutants of the environment that tests must notice


def _plan(folder: str, quick: str, others: str = "", *, is_compiled: bool = False) -> Plan:
    files = ([f"tests/{folder}/test_{name}.py" for name in names.split()] for names in (quick, others))
    return Plan(*map(tuple, files), is_compiled=is_compiled)


_compiled = partial(_plan, is_compiled=True)  # for modules that are hardly kernels, and whose tests play many games


PLANS = {  # group -> module -> names of files of tests: the quick ones, and others for mutants that survive them
    "environment": {
        "felicity_env/game.py": _plan(
            "env", "golden rules setups", "observation redaction notation state_check random_games"
        ),
        "felicity_env/observation.py": _plan("env", "observation", "rules information pettingzoo_views"),
        "felicity_env/information.py": _plan("env", "redaction", "rules information"),
        "felicity_env/rewards.py": _plan("env", "pettingzoo_env", "gymnasium information faces_agree random_games"),
        "felicity_env/setups.py": _plan("env", "setups", "rules notation pettingzoo_env"),
        "felicity_env/random_stream.py": _plan("env", "random_stream", "pettingzoo_deals rules batch"),
        "felicity_env/game_record.py": _plan(
            "env",
            "game_record golden notation pettingzoo_env",
            "pettingzoo_deals batch rules information redaction render",
        ),
        "felicity_env/notation.py": _plan("env", "golden notation", "render pettingzoo_env"),
        "felicity_env/pettingzoo_env.py": _plan(
            "env",
            "pettingzoo_env pettingzoo_views illegal",
            "pettingzoo_copies pettingzoo_deals faces_agree api_suites render replay",
        ),
        "felicity_env/gymnasium_env.py": _plan("env", "gymnasium illegal", "faces_agree api_suites mask_wrapper"),
        "felicity_env/illegal.py": _plan("env", "illegal", "gymnasium pettingzoo_env"),
        "felicity_env/mask_wrapper.py": _plan("env", "mask_wrapper", "illegal api_suites"),
        "felicity_env/openspiel.py": _plan("env", "openspiel"),
        "felicity_env/spaces.py": _plan("env", "spaces", "pettingzoo_env gymnasium api_suites batch"),
        "felicity_env/opponents.py": _plan("env", "learners gymnasium", "api_suites"),
        "felicity_env/batch.py": _plan("env", "batch", "faces_agree random_stream learners"),
        "felicity_env/base_batch.py": _plan("env", "batch state_check", "faces_agree random_stream learners"),
        "felicity_env/buffers.py": _plan("env", "batch", "faces_agree learners gymnasium"),
        "felicity_env/learners.py": _plan("env", "learners", "gymnasium faces_agree"),
        "felicity_env/player.py": _plan(
            "env", "state_check batch", "learners gymnasium information random_games faces_agree"
        ),
        "felicity_env/turn.py": _plan("env", "batch", "pettingzoo_env faces_agree"),
    },
    "checks of given states": {"felicity_env/state_check.py": _plan("env", "state_check state_fields")},
    "arena": {
        "agents/arena/blocks.py": _compiled("arena", "blocks chance", "failures tournament"),
        "agents/arena/estimates.py": _compiled("arena", "estimates", "ratings tournament"),
        "agents/arena/evaluate.py": _compiled("arena", "evaluate", "resuming failures"),
        "agents/play/explanation.py": _compiled("play", "explain"),
        "agents/arena/games.py": _compiled("arena", "blocks chance", "failures tournament"),
        "agents/arena/matches.py": _compiled("arena", "tournament", "parts resuming"),
        "agents/arena/parts.py": _compiled("arena", "parts resuming", "tournament"),
        "agents/arena/plots.py": _compiled("arena", "ratings tournament", "evaluate"),
        "agents/arena/ratings.py": _compiled("arena", "ratings", "tournament"),
        "agents/arena/report.py": _compiled("arena", "tournament", "ratings resuming"),
        "agents/arena/time_limit.py": _compiled("arena", "failures", "tournament"),
        "agents/arena/tournament.py": _compiled("arena", "tournament", "parts resuming failures"),
    },
}
SAMPLED = ("checks of given states", "arena")  # groups of which a random sample is tested


@dataclass(frozen=True)
class Config:
    """Make one small change of the code at a time, run the tests, and count the changes for which no test fails."""

    resumes: ClassVar[bool] = True
    sample: int = 300
    """Number of mutants that are drawn from those of the arena, and from those of the checks of given states. All
    mutants of the environment are tested."""
    modules: tuple[str, ...] = ()
    """Modules to test, such as `game observation`; by default all. Only a command for all modules stores the result,
    and only it runs the quick tests again, if they have changed, on mutants that are listed as equivalent."""
    out: Path = Path("runs/mutants")
    """Folder of the outcomes so far; the same command, given again, continues an interrupted check. It tests survivors
    again if the tests have changed. Commands that run at the same time need different folders."""

    def __post_init__(self) -> None:
        check_positive(self, "sample")
        names = [Path(module).stem for plans in PLANS.values() for module in plans]
        for name in self.modules:
            require(name in names, f"--modules must be some of {', '.join(names)}, not {name!r}")


def choose_mutants(group: str, config: Config) -> dict[str, list[Mutant]]:
    """Return the mutants to test, by module, for those modules of a group that the settings name.

    All mutants of the group "environment" are tested; of the other groups, a random sample.
    """
    named = [module for module in PLANS[group] if not config.modules or Path(module).stem in config.modules]
    listed = {
        module: list_mutants((PROJECT / module).read_text()) for module in (PLANS[group] if group in SAMPLED else named)
    }
    kept = [(module, mutant) for module, mutants in listed.items() for mutant in mutants if not mutant.exclusion]
    drawn = random.Random(0).sample(kept, min(config.sample, len(kept))) if group in SAMPLED else kept
    return {module: [mutant for name, mutant in drawn if name == module] for module in named}


def read_equivalent() -> dict[tuple[str, str, str, str], str]:
    """Return the listed mutants that no test can notice, with the reason for each.

    The keys are tuples: module, function, line of code, and the text that replaces the line. The function `*` stands
    for all functions of the module.
    """
    entries = tomllib.loads(EQUIVALENT.read_text())["mutants"]
    return {
        (module, entry["function"], entry["line"], becomes): entry["reason"]
        for entry in entries
        for module in entry["modules"]
        for becomes in entry["becomes"]
    }


def find_reason(reasons: Mapping[tuple[str, str, str, str], str], module: str, outcome: Outcome) -> str | None:
    """Return the listed reason why no test can notice a mutant, or None if the mutant is not listed."""
    change = outcome.line, outcome.becomes
    return reasons.get((module, outcome.function, *change)) or reasons.get((module, "*", *change))


def summarise_module(runner: TestRunner, module: str, mutants: Sequence[Mutant], plan: Plan) -> dict[str, Any]:
    """Count the mutants of a module that were killed, timed out or survived; return the counts and the survivors.

    Survivors that no test can notice are counted and listed apart, as equivalent, each with its reason. Mutants that
    are listed as equivalent but were noticed by a test are under "wrongly_listed".
    """
    kept = read_outcomes(runner, module, plan)
    outcomes = [kept[mutant.operator, mutant.occurrence] for mutant in mutants]
    reasons, exclusions = read_equivalent(), Counter(m.exclusion for m in list_mutants((PROJECT / module).read_text()))
    listed = [(outcome, find_reason(reasons, module, outcome)) for outcome in outcomes]
    survivors = [outcome for outcome, reason in listed if outcome.status == "survived" and not reason]
    equivalent = [(outcome, reason) for outcome, reason in listed if outcome.status == "survived" and reason]
    return {
        "module": module,
        "tested": len(outcomes),
        "killed": sum(outcome.status == "killed" for outcome in outcomes),
        "timed_out": sum(outcome.status == "timed out" for outcome in outcomes),
        "survived": len(survivors),
        "equivalent": len(equivalent),
        "excluded": {name: count for name, count in sorted(exclusions.items()) if name},
        "survivors": [outcome._asdict() for outcome in survivors],
        "equivalents": [outcome._asdict() | {"reason": reason} for outcome, reason in equivalent],
        "wrongly_listed": [outcome._asdict() for outcome, reason in listed if outcome.status != "survived" and reason],
    }


def summarise_group(modules: Sequence[Mapping[str, Any]], *, is_sample: bool) -> dict[str, Any]:
    """Return the fraction of mutants that the tests noticed, with the summaries of `modules`.

    Equivalent mutants, which no test can notice, do not count in the fraction. is_sample: whether a sample of the
    mutants was tested, so that the fraction has a 95 % interval.
    """
    noticed = sum(row["killed"] + row["timed_out"] for row in modules)
    survived = sum(row["survived"] for row in modules)
    rate = estimate_rate([True] * noticed + [False] * survived)
    kept = rate if is_sample else {name: rate[name] for name in ("value", "trials")}
    return {"noticed": kept, "modules": list(modules)}


def find_faults(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each fault in the results of mutation testing.

    It is a fault if the tests notice less than 95 % of the mutants of the environment, or if they notice a mutant that
    is listed as one that no test can notice.
    """
    if results["environment"]["noticed"]["value"] < GOAL:
        yield f"the tests notice less than {GOAL:.0%} of the mutants of the environment"
    for row in (row for group in results.values() for row in group["modules"]):
        for mutant in row["wrongly_listed"]:
            change = f"{mutant['line']!r} becomes {mutant['becomes']!r}"
            yield f"{row['module']}: a test notices that {change}: list it no more"


def print_module(row: Mapping[str, Any]) -> None:
    """Print how many mutants of a module had each outcome, and the changes that no test noticed."""
    counts = ", ".join(f"{row[name]} {name.replace('_', ' ')}" for name in COUNTS)
    print(f"{row['module']}: {counts}", flush=True)
    for survivor in row["survivors"]:
        print(f"  {survivor['function']}: {survivor['line']}\n{'':4}-> {survivor['becomes'] or 'removed'}")


def main(config: Config) -> None:
    """Run the tests on mutants (small changes of the code), store the result, and raise `UserError` if it has faults.

    If the settings name modules, only their mutants are tested, and no result is stored.
    """
    started, results, reasons = time.monotonic(), {}, read_equivalent()
    config.out.mkdir(parents=True, exist_ok=True)

    def may_skip(module: str, outcome: Outcome) -> bool:
        """Return whether a mutant is listed as equivalent and needs no more tests.

        If the result is stored, it needs the quick tests of today.
        """
        has_met_quick_tests = outcome.stage > OUTDATED
        return (has_met_quick_tests or bool(config.modules)) and find_reason(reasons, module, outcome) is not None

    with lock_folder(config.out), TestRunner(PROJECT, config.out, **SERVER, may_skip=may_skip) as runner:
        chosen = {group: choose_mutants(group, config) for group in PLANS}
        for number in range(LAST + 1):
            for group, modules in chosen.items():
                for module, mutants in modules.items():
                    run_mutants(runner, module, mutants, PLANS[group][module], number)
                    print_module(summarise_module(runner, module, mutants, PLANS[group][module]))
        if config.modules:
            return
        for group, modules in chosen.items():
            rows = [
                summarise_module(runner, module, mutants, PLANS[group][module]) for module, mutants in modules.items()
            ]
            results[group] = summarise_group(rows, is_sample=group in SAMPLED)
    write_result("mutants", config, {"tool": tool_version(), "goal": GOAL, "groups": results}, started=started)
    if faults := list(find_faults(results)):
        raise UserError("\n".join(faults))
