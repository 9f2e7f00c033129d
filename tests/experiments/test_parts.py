"""Parts of an experiment: they are stored as they end, resume where they stopped, refuse other settings and code."""

from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from agents.tasks.run import Outcome
from agents.tools.files import UserError
from experiments import parts, resuming
from experiments.parts import Part, measure_tables


@dataclass(frozen=True)
class Config:
    out: Path
    size: int = 10
    workers: int = 1

    @property
    def spread(self):
        return {"workers": self.workers, "ray": None}


def measure(config, tables, function=str.upper):
    reported = {}
    wanted = {table: [Part(name, partial(function, name)) for name in names] for table, names in tables.items()}
    console = Console(file=StringIO())
    measured = measure_tables(wanted, config, source=parts.__file__, report=reported.__setitem__, console=console)
    assert reported == {name: name.upper() for names in tables.values() for name in names}
    return measured


@pytest.mark.parametrize("workers", [1, 2])
def test_each_part_has_its_result(tmp_path, workers):
    results, seconds = measure(Config(tmp_path, workers=workers), {"first": "ab", "second": "c"})
    assert results == {"first": ["A", "B"], "second": ["C"]}
    assert seconds >= 0


def test_an_interrupted_experiment_goes_on_with_the_missing_parts(tmp_path):
    asked = []

    def stop_once(name):
        asked.append(name)
        if asked == ["a", "b"]:
            raise KeyboardInterrupt
        return name.upper()

    with pytest.raises(KeyboardInterrupt):
        measure(Config(tmp_path), {"table": "abc"}, stop_once)
    assert measure(Config(tmp_path), {"table": "abc"}, stop_once).tables == {"table": ["A", "B", "C"]}
    assert asked == ["a", "b", "b", "c"]


def test_other_settings_other_code_and_a_damaged_file_are_refused(tmp_path, monkeypatch):
    measure(Config(tmp_path), {"table": "a"})
    with pytest.raises(UserError, match=r"written with other settings \(size\); delete .* to start again"):
        measure(Config(tmp_path, size=11), {"table": "a"})
    with monkeypatch.context() as patch:
        patch.setattr(resuming, "code_digest", lambda path: "0123456789abcdef")
        with pytest.raises(UserError, match=r"other settings \(code\)"):
            measure(Config(tmp_path), {"table": "a"})
    (tmp_path / parts.PARTS_FILE).write_text("{")
    with pytest.raises(UserError, match=r"parts.json is damaged \(JSONDecodeError\); delete"):
        measure(Config(tmp_path), {"table": "a"})


def test_a_part_that_was_given_up_is_named(tmp_path, monkeypatch):
    def give_up(function, tasks, **options):
        yield Outcome(tasks[0], None, 0.0, 1, "its worker ended, 3 times")

    monkeypatch.setattr(parts, "run_tasks", give_up)
    with pytest.raises(
        UserError, match=r"a was given up \(its worker ended, 3 times\); the same command tries it again"
    ):
        measure(Config(tmp_path), {"table": "a"})
