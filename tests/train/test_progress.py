"""Progress of a training run: the bar, lines without a terminal, and lines about work that goes on."""

from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from types import SimpleNamespace

import pytest
from rich.console import Console

from tests.support.training import SMALL, choose_cpu
from tests.support.waiting import wait_until
from train import progress as train_progress
from train import trainer
from train.__main__ import main
from train.algorithms import ALGORITHMS
from train.progress import Progress, report_waiting


def test_on_a_terminal_of_80_columns_a_bar_shows_percentage_speed_time_left_and_strength():
    screen = StringIO()
    ticks = count()
    console = Console(file=screen, force_terminal=True, width=80, get_time=lambda: next(ticks) / 10)
    win_shares = {code: {"value": 0.5} for code in ("random", "anchor", "ev")}
    with Progress(console, 4096, 0) as progress:
        results = [{"setup": "standard-4", "win_share": win_shares}]
        progress.show_strength({"timesteps": 0, "seconds": 1, "results": results})
        for timesteps in (1000, 2000, 2048):
            progress.advance_to(timesteps)
    shown = screen.getvalue()
    for text in (" 50%", "/s", "left", "anchor 0.50", "0/4,096  1 s  standard-4 vs random 0.50 anchor 0.50 ev 0.50"):
        assert text in shown


def test_without_a_terminal_a_line_with_the_time_left_comes_every_half_minute(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(train_progress, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    screen = StringIO()
    with Progress(Console(file=screen, width=80), 1000, 0) as progress:
        for step in range(1, 101):
            clock[0] = step * 1.0
            progress.advance_to(10 * (step // 10), 1.0 * (step % 10) * 1.0)  # work on an update counts too
    lines = screen.getvalue().splitlines()
    assert len(lines) == 3
    assert "3.0%" in lines[0]
    assert "1/s" in lines[0]
    assert "min left" in lines[0]


def test_when_all_is_learned_the_progress_says_that_the_evaluation_follows():
    screen = StringIO()
    with Progress(Console(file=screen, force_terminal=True, width=80), 1000, 0) as progress:
        progress.advance_to(1000)
    assert "then evaluation" in screen.getvalue()
    assert " left" not in screen.getvalue()


def test_work_without_progress_of_its_own_is_reported_again_and_again_until_it_ends(monkeypatch):
    monkeypatch.setattr(train_progress, "SECONDS_A_LINE", 0.001)
    lines = []
    with report_waiting("evaluating", lines.append):
        wait_until(lambda: len(lines) >= 2)
    assert lines[0] == "evaluating ... (for 0 s so far)"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_slow_measurements_are_reported_while_they_last(algorithm, tmp_path, monkeypatch):
    monkeypatch.setattr(train_progress, "SECONDS_A_LINE", 0.001)
    screen, evaluate = StringIO(), trainer.evaluate_policy

    def wait(*arguments, **options):
        seen = len(screen.getvalue())
        wait_until(lambda: "so far" in screen.getvalue()[seen:])
        return evaluate(*arguments, **options)

    monkeypatch.setattr(trainer, "evaluate_policy", wait)
    words = [algorithm, *SMALL, *choose_cpu(algorithm), "--total-timesteps", "1000", "--against", "random"]
    with redirect_stdout(screen):
        assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert "measuring a point of the learning curve ... (for " in screen.getvalue()
    assert "evaluating ... (for " in screen.getvalue()
