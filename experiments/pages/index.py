"""Index tables in experiments/README.md: each question with its answer, command, minutes and stored result."""

from collections.abc import Callable
from typing import Any

from agents.tools.markdown import format_table
from experiments.pages.answers import ANSWERS, Result
from experiments.pages.formats import NOT_MEASURED
from experiments.questions import GROUPS
from experiments.results import RESULTS, read_result

NO_RESULT = {  # questions that store no result, and the reason
    "pages": "It writes the pages and stores no result.",
    "notebooks": "It writes the notebooks and stores no result.",
    "site": "It writes `build/docs` and stores no result.",
}
# Questions that were resumed when they were measured, so that the stored seconds are not those of the whole:
RESUMED = ("ladder", "mutants", "policy-search", "progress", "reference-strength", "review-honesty", "tune")
# Questions with several results, such as one for each setup:
SEVERAL = (
    *("ablation", "exploit", "first_player", "gpu_equality", "progress"),
    *("reference", "reference_strength", "strangers"),
)


def render_index() -> str:
    """Return Markdown with a table for each group of questions: question, answer, command, minutes and result."""
    parts = []
    for title, verbs in GROUPS.items():
        rows = [_render_row(name, verb.help) for name, verb in verbs.items()]
        parts.append(
            f"## {title.capitalize()}\n\n{format_table(('question', 'answer', 'command', 'minutes', 'result'), rows)}"
        )
    return "\n\n".join(parts)


def _render_row(name: str, question: str) -> tuple[str, ...]:
    names, command = list_results(name), f"`python -m experiments {name}`"
    if not names:
        return question, NO_RESULT.get(name, NOT_MEASURED), command, "", ""
    results = [read_result(result) for result in names]
    answer = ANSWERS[name](results)
    minutes = ", ".join(f"{max(1, round(count_minutes(result)))}" for result in results)
    minutes = "not recorded" if name in RESUMED else minutes
    texts = (result.removeprefix(f"{_stem(name)}_") for result in names)
    links = ", ".join(f"[{text}](results/{result}.json)" for text, result in zip(texts, names, strict=True))
    return question, f"{answer[0].upper()}{answer[1:]}.", command, minutes, links


def _stem(question: str) -> str:
    return question.replace("-", "_")


def list_results(question: str) -> list[str]:
    """Return the names (files without `.json`) of the results that are stored for a question."""
    stem = _stem(question)
    names = sorted(path.stem for path in RESULTS.glob(f"{stem}*.json") if path.stem == stem or stem in SEVERAL)
    return [name for name in names if _find_question(name) == stem]


def _find_question(name: str) -> str:
    """Return the question, as `_stem` writes it, to which a result belongs: the longest that its name begins with."""
    stems = map(_stem, ANSWERS)
    return max((stem for stem in stems if name == stem or name.startswith(f"{stem}_")), key=len, default="")


def count_minutes(stored: Result) -> float:
    """Return how many minutes a stored result took, including its training runs.

    Training runs may have been finished by an earlier command. Their minutes are added up and divided by `workers`, the
    number of runs at the same time; the result is at least this quotient.
    """
    runs = [run["minutes"] for run in _find_runs(stored["results"])]
    return max(stored["seconds"] / 60, sum(runs) / stored["config"].get("workers", 1))


def _find_runs(results: Any) -> list[dict[str, Any]]:
    """Return all training runs in a stored result, at any depth of its lists and dictionaries.

    A training run is a dictionary with the key `minutes`.
    """
    if isinstance(results, list):
        return [run for part in results for run in _find_runs(part)]
    if isinstance(results, dict):
        return [results] if "minutes" in results else [run for part in results.values() for run in _find_runs(part)]
    return []


INDEX_PARTS: dict[str, Callable[[], str]] = {"index": render_index}
