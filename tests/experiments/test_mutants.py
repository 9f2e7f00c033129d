"""Mutation testing of a toy project: mutants are killed, run into the time limit or survive, and are counted."""

from collections import Counter
from pathlib import Path

import pytest

from experiments.checks import mutant_runs, mutants
from experiments.checks.mutant_runs import (
    Outcome,
    Plan,
    Stage,
    TestRunner,
    choose_callers,
    leave_out_quick,
    list_callers,
    read_outcomes,
    run_mutants,
    write_module,
)
from experiments.checks.mutations import Mutant, describe_change, list_mutants, mutate

RULE = '''"""Rule of a toy game."""


def double(number: int | None, times: int = 2) -> int:
    """Return the double."""
    if number is None:
        raise ValueError(f"a number is needed, not {1 + 1} texts")
    left = number
    while left > 0:
        left -= 1
    return number + number
'''
TEST = """
from toy.rule import double


def test_three():
    assert double(3) == 6
"""
KILLED, HANGING, SURVIVING = (Mutant(name, 0, "double", "") for name in ("times", "endless", "to zero"))
CHANGES = {
    "times": ("number + number", "number * number"),
    "endless": ("left -= 1", "left += 1"),
    "to zero": ("left > 0", "left >= 0"),
}
LIBRARIES = ("pytest", "_hypothesis_pytestplugin")
PLAN = Plan(("tests/test_toy.py",))


def change(source: str, mutant: Mutant) -> str:
    """Stands for the function that asks the tool."""
    return source.replace(*CHANGES[mutant.operator])


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Return the folder of a project with one module and one test."""
    for name, text in {"toy/rule.py": RULE, "tests/test_toy.py": TEST}.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "project"


@pytest.fixture
def runner(toy, tmp_path):
    with TestRunner(toy, tmp_path / "out", libraries=LIBRARIES) as runner:
        yield runner


def run_toy(runner, *chosen: Mutant) -> dict[str, str]:
    run_mutants(runner, "toy/rule.py", chosen, PLAN, 0)
    return {outcome.operator: outcome.status for outcome in read_outcomes(runner, "toy/rule.py", PLAN).values()}


@pytest.mark.linux("forks, and limits CPU time")
def test_a_mutant_is_killed_runs_into_the_time_limit_or_survives(runner, monkeypatch):
    monkeypatch.setattr(mutant_runs, "mutate", change)
    statuses = run_toy(runner, KILLED, HANGING, SURVIVING)
    assert statuses == {"times": "killed", "endless": "timed out", "to zero": "survived"}
    assert (runner.folder / "copy/toy/rule.py").read_text() == RULE


@pytest.mark.linux("forks")
def test_outcomes_are_kept_until_the_module_changes_and_survivors_until_the_tests_do(runner, monkeypatch):
    monkeypatch.setattr(mutant_runs, "mutate", change)
    run_toy(runner, KILLED, SURVIVING)
    monkeypatch.setattr(mutant_runs, "mutate", None)
    assert run_toy(runner, KILLED, SURVIVING) == {"times": "killed", "to zero": "survived"}
    (runner.folder / "copy/tests/test_toy.py").write_text(TEST + "\n# a comment\n")
    write_module(runner.folder / "copy/toy/rule.py", RULE.replace("Return the double.", "Double it."))
    assert run_toy(runner) == {"times": "killed", "to zero": "survived"}
    (runner.folder / "copy/tests/test_toy.py").write_text(TEST + "\nMORE = 1\n")
    assert run_toy(runner) == {"times": "killed", "to zero": "survived"}
    outdated = {outcome.operator: outcome.stage for outcome in read_outcomes(runner, "toy/rule.py", PLAN).values()}
    assert outdated == {"times": 0, "to zero": mutant_runs.OUTDATED}
    write_module(runner.folder / "copy/toy/rule.py", RULE + "\nMORE = 1\n")
    assert run_toy(runner) == {}


@pytest.mark.linux("forks")
def test_mutants_that_survive_the_quick_tests_meet_the_others(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(mutant_runs, "mutate", change)
    (toy / "tests/test_two.py").write_text(TEST.replace("3) == 6", "2) == 4"))
    plan = Plan(("tests/test_two.py",), PLAN.quick)
    with TestRunner(toy, tmp_path / "out", libraries=LIBRARIES) as runner:
        for number, status in enumerate(("survived", "killed")):
            run_mutants(runner, "toy/rule.py", [KILLED], plan, number)
            assert [outcome.status for outcome in read_outcomes(runner, "toy/rule.py", plan).values()] == [status]


@pytest.mark.linux("forks")
def test_a_survivor_that_may_be_skipped_meets_the_tests_as_soon_as_it_may_not(runner, monkeypatch):
    monkeypatch.setattr(mutant_runs, "mutate", change)
    assert run_toy(runner, SURVIVING) == {"to zero": "survived"}
    (runner.folder / "copy/tests/test_toy.py").write_text(TEST + "\n\ndef test_zero():\n    assert double(0) == 0\n")
    for may_skip, stage in ((True, mutant_runs.OUTDATED), (False, 1)):
        monkeypatch.setattr(runner, "may_skip", lambda module, outcome, may=may_skip: may)
        for number in range(2):
            run_mutants(runner, "toy/rule.py", [SURVIVING], PLAN, number)
        assert [outcome.stage for outcome in read_outcomes(runner, "toy/rule.py", PLAN).values()] == [stage]


@pytest.mark.linux("forks")
def test_kernels_are_compiled_or_plain_as_the_plan_says_and_survivors_of_one_way_meet_the_other(runner, monkeypatch):
    monkeypatch.setattr(mutant_runs, "mutate", change)
    test = "import os\n\nfrom toy.rule import double\n\n\ndef test_three():\n"
    test += "    assert double(3) == 6 or os.environ['NUMBA_DISABLE_JIT'] == '1'\n"
    (runner.folder / "copy/tests/test_toy.py").write_text(test)
    for is_compiled, status in ((False, "survived"), (True, "killed")):
        plan = PLAN._replace(is_compiled=is_compiled)
        run_mutants(runner, "toy/rule.py", [KILLED], plan, 0)
        assert [outcome.status for outcome in read_outcomes(runner, "toy/rule.py", plan).values()] == [status]


@pytest.mark.linux("forks")
def test_a_test_that_has_failed_is_counted_and_then_runs_first(runner):
    (runner.folder / "copy/tests/test_two.py").write_text(TEST.replace("3) == 6", "2) == 4"))
    stage = runner.measure(("tests/test_two.py", "tests/test_toy.py"), 1.0, "toy/rule.py")
    stage = stage._replace(seconds=dict.fromkeys(stage.seconds, 0.01))
    write_module(runner.folder / "copy/toy/rule.py", change(RULE, KILLED))  # only the test with 3 notices it
    for _ in range(2):
        assert runner.run(stage) == "failed"
    failed = next(name for name in stage.seconds if "test_toy" in name)
    assert stage.failures == {failed: 2}
    write_module(runner.folder / "copy/toy/rule.py", RULE.replace("+ number", "+ 7"))  # both would notice it
    assert runner.run(stage) == "failed"
    assert stage.failures == {failed: 3}


@pytest.mark.linux("forks")
def test_tests_are_timed_again_only_if_their_file_has_changed(runner, monkeypatch):
    runs, run = [], runner.run
    monkeypatch.setattr(runner, "run", lambda *given: runs.append(given) or run(*given))
    first = runner.measure(PLAN.quick, 1.0, "toy/rule.py")
    assert len(runs) == 3
    assert runner.measure(PLAN.quick, 1.0, "toy/rule.py").seconds == first.seconds
    assert len(runs) == 5
    (runner.folder / "copy/tests/test_toy.py").write_text(TEST + "\nMORE = 1\n")
    runner.measure(PLAN.quick, 1.0, "toy/rule.py")
    assert len(runs) == 8


@pytest.mark.linux("forks")
def test_a_mutant_meets_the_tests_that_call_its_function(runner):
    half = "\n\ndef half(number):\n    return (lambda: number / 2)()\n"
    write_module(runner.folder / "copy/toy/rule.py", RULE + half)
    test = "from toy.rule import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    (runner.folder / "copy/tests/test_half.py").write_text(test)
    stage = runner.measure(("tests/test_toy.py", "tests/test_half.py"), 1.0, "toy/rule.py")
    assert {name: len(tests) for name, tests in stage.callers.items()} == {"double": 1, "half": 1}
    for function, number in {"half": 1, "double": 1, "unknown": 2}.items():
        assert sum(usual < 1 for usual in choose_callers(stage, function).seconds.values()) == number
    left_out = choose_callers(stage._replace(callers={"half": []}), "half")
    assert runner.run(left_out) == "passed"  # no test is left that could notice a mutant
    assert list_callers({"": ["early"], "test_a": ["early", "late"], "test_b": ["late"]}) == {
        "late": ["test_a", "test_b"]
    }


def test_the_later_stage_leaves_out_the_fast_tests_that_its_mutants_have_survived():
    seconds = {"tests/quick.py::fast": 0.1, "tests/quick.py::slow": 2.0, "tests/other.py::fast": 0.1}
    plan = Plan(("tests/quick.py",), ("tests/other.py",))
    stage = leave_out_quick(Stage(plan.files(1), seconds, 10.0, Counter()), plan)
    assert [name for name, usual in stage.seconds.items() if usual <= stage.longest] == [*seconds][1:]


@pytest.mark.linux("forks")
def test_tests_that_fail_without_a_mutant_are_an_error(toy, tmp_path):
    (toy / "tests/test_toy.py").write_text(TEST.replace("6", "7"))
    with (
        TestRunner(toy, tmp_path / "out", libraries=LIBRARIES) as runner,
        pytest.raises(mutant_runs.UserError, match=r"without a mutant, tests/test_toy.py failed"),
    ):
        run_toy(runner, KILLED)


def test_a_change_is_the_line_and_what_becomes_of_it():
    assert describe_change(RULE, change(RULE, KILLED)) == ("return number + number", "return number * number")
    assert describe_change("a\n\n\n@kernel\nb", "a\nb") == ("@kernel", "")


@pytest.mark.mutants("asks the tool for mutants")
def test_mutants_of_messages_defaults_and_annotations_are_excluded():
    listed = list_mutants(RULE)
    lines = {(mutant.exclusion, describe_change(RULE, mutate(RULE, mutant))[0]) for mutant in listed}
    assert {mutant.function for mutant in listed} == {"double"}
    assert {exclusion for exclusion, line in lines if line.startswith("def ")} == {"annotation", "default"}
    assert {exclusion for exclusion, line in lines if line.startswith("raise ")} == {"message"}
    assert {line for exclusion, line in lines if not exclusion} == {
        "if number is None:",
        "while left > 0:",
        "left -= 1",
        "return number + number",
    }


def test_equivalent_mutants_are_found_by_the_text_of_their_line():
    outcome = Outcome("Gt_GtE", 0, "double", "while left > 0:", "while left >= 0:", "survived", 1)
    reasons = {("toy/rule.py", "*", outcome.line, outcome.becomes): "one more turn changes nothing"}
    assert mutants.find_reason(reasons, "toy/rule.py", outcome) == "one more turn changes nothing"
    assert mutants.find_reason(reasons, "toy/other.py", outcome) is None
    assert mutants.find_reason(reasons, "toy/rule.py", outcome._replace(becomes="while left < 0:")) is None


def test_equivalent_mutants_do_not_count():
    row = {"killed": 17, "timed_out": 2, "survived": 1, "equivalent": 100}
    noticed = mutants.summarise_group([row], is_sample=True)["noticed"]
    assert (noticed["value"], noticed["trials"]) == (0.95, 20)
    assert mutants.summarise_group([row], is_sample=False)["noticed"] == {"value": 0.95, "trials": 20}


def test_too_few_noticed_and_a_mutant_that_is_wrongly_listed_are_faults():
    good = {"noticed": {"value": 0.96}, "modules": [{"module": "toy/rule.py", "wrongly_listed": []}]}
    assert list(mutants.find_faults({"environment": good, "arena": good})) == []
    listed = {"module": "toy/rule.py", "wrongly_listed": [{"line": "left -= 1", "becomes": "left += 1"}]}
    faults = list(mutants.find_faults({"environment": good | {"noticed": {"value": 0.94}, "modules": [listed]}}))
    assert faults == [
        "the tests notice less than 95% of the mutants of the environment",
        "toy/rule.py: a test notices that 'left -= 1' becomes 'left += 1': list it no more",
    ]


def test_every_equivalent_mutant_has_a_reason_and_a_line_that_exists():
    for (module, _, line, becomes), reason in mutants.read_equivalent().items():
        lines = {" ".join(text.split()) for text in (mutants.PROJECT / module).read_text().splitlines()}
        assert line in lines, f"{module}: {line}"
        assert line != becomes
        assert reason.endswith(".")


def test_every_module_has_tests_that_exist():
    for plans in mutants.PLANS.values():
        for module, plan in plans.items():
            assert all((mutants.PROJECT / file).exists() for file in (module, *plan.files(1)))
