"""Progress of long computations: nothing before the number of parts is known, and lines where there is no terminal."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from agents.tools import progress
from agents.tools.progress import PartsProgress


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def show(*, is_terminal: bool, reports=()) -> str:
    """Return what is shown of some reports: numbers of parts done, of 100."""
    out = io.StringIO()
    with PartsProgress(Console(file=out, force_terminal=is_terminal, width=80)) as parts:
        for done in reports:
            parts.report(done, 100, None)
    return out.getvalue()


def test_a_terminal_shows_no_parts_before_their_number_is_known():
    assert "parts" not in show(is_terminal=True)
    assert "0/100 parts" in show(is_terminal=True, reports=[0])


def test_without_a_terminal_a_line_follows_each_tenth(clock):
    lines = show(is_terminal=False, reports=[0, 9, 10, 11, 19, 35, 100]).split("\n")
    assert [line.strip() for line in lines if line] == ["10/100 parts", "35/100 parts", "100/100 parts"]


def test_the_time_left_is_estimated_from_the_parts_since_the_first_call(clock):
    out = io.StringIO()
    with PartsProgress(Console(file=out, width=80)) as parts:
        for done in (50, 60, 80):
            parts.count(done, 100)
            clock[0] += 30
    assert [line.strip() for line in out.getvalue().splitlines()] == [
        "50/100 parts",
        "60/100 parts  about 2 min left",
        "80/100 parts  about 40 s left",
    ]


def test_without_a_terminal_a_line_follows_a_part_that_ends_half_a_minute_after_the_last_line(clock):
    def pass_time():
        for done in range(5):
            yield done
            clock[0] += 20

    lines = show(is_terminal=False, reports=pass_time()).split("\n")
    assert [line.strip() for line in lines if line] == ["2/100 parts", "4/100 parts"]
