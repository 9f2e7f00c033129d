"""The command of the questions and their index: every question is listed, answered, and a module of the one form."""

import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module

import pytest

from agents.tools.provenance import WITHOUT_INFLUENCE
from experiments.__main__ import list_questions, main
from experiments.pages import answers, index, render
from experiments.pages.source import format_source
from experiments.questions import GROUPS, QUESTIONS
from experiments.results import RESULTS, read_result


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_in_the_index_with_its_answer_or_the_reason_why_there_is_none(question):
    text = render.INDEX.read_text()
    assert f"`python -m experiments {question}`" in text
    if names := index.list_results(question):
        assert question not in index.NO_RESULT
        assert all(f"(results/{name}.json)" in text for name in names)
    else:
        assert index.NO_RESULT.get(question, index.NOT_MEASURED) in text


def test_a_question_without_a_stored_result_is_not_measured_yet(monkeypatch, tmp_path):
    monkeypatch.setattr(index, "RESULTS", tmp_path)
    assert f"| {index.NOT_MEASURED} | `python -m experiments ladder` |  |  |" in index.render_index()
    assert index.NO_RESULT["pages"] in index.render_index()


def test_the_answer_about_mutants_has_an_interval_only_for_samples():
    noticed = {"value": 0.975, "trials": 1200}
    whole = {"noticed": noticed, "modules": [{"equivalent": 3}, {"equivalent": 4}]}
    sample = {"noticed": noticed | {"low": 0.95, "high": 0.99}, "modules": [{"equivalent": 0}]}
    assert answers.ANSWERS["mutants"]([{"results": {"groups": {"environment": whole, "arena": sample}}}]) == (
        "noticed: 97.5% of 1,200 mutants of the environment, 97.5% (95.0% to 99.0%) of 1,200 mutants of the arena; "
        "7 more are equivalent, each with its reason"
    )


def test_the_answer_about_search_on_a_policy_names_the_matches_of_equal_time_too():
    def row(playouts, rest, value):
        about = {"setup": "standard-4", "num_players": 4, "kind": "net+search", "playouts": playouts, "rest": rest}
        return about | {"par": 0.25, "win_share": {"value": value}, "milliseconds": {"value": playouts / 2}}

    rows = [row(1, "net", 0.26), row(120, "net", 0.42), row(120, "mc:9", 0.24), row(120, "ismcts:8", 0.2)]
    assert answers.ANSWERS["policy-search"]([{"results": rows}]) == (
        "win share against 3 x `net`: 0.26 with `net+search:1` (0.5 ms a decision) to 0.42 with `net+search:120` "
        "(60.0 ms a decision); par 0.25; in the time of other searches, 0.24 against 3 x `mc:9` "
        "and 0.20 against 3 x `ismcts:8`"
    )


def test_every_stored_result_belongs_to_a_question():
    listed = {name for question in QUESTIONS for name in index.list_results(question)}
    assert listed == {path.stem for path in RESULTS.glob("*.json")}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_a_module_with_settings_and_a_main_function(question):
    module = import_module(QUESTIONS[question].module)
    assert is_dataclass(module.Config)
    assert isinstance(module.Config.resumes, bool)
    assert callable(module.main)
    assert "__name__" not in (module.__loader__.get_data(module.__file__)).decode()


@pytest.mark.parametrize("question", sorted(QUESTIONS.keys() - index.NO_RESULT.keys()))
def test_a_stored_result_has_the_settings_of_its_question(question):
    """So the same command, given again, takes its place."""
    fields_now = {field.name for field in fields(import_module(QUESTIONS[question].module).Config)}
    for name in index.list_results(question):
        assert set(read_result(name)["config"]) - {*WITHOUT_INFLUENCE} == fields_now - {*WITHOUT_INFLUENCE}


def test_minutes_of_a_measurement_that_was_resumed_are_not_shown():
    lines = [line for line in index.render_index().splitlines() if "`python -m experiments ladder`" in line]
    assert ["| not recorded |" in line for line in lines] == [True]


def test_minutes_count_training_runs_that_a_measurement_found_finished():
    run = {"minutes": 12.0}
    stored = {"seconds": 60.0, "config": {"workers": 2}, "results": {"responses": [run, run], "best": {"seed": 1}}}
    assert index.count_minutes(stored) == 12
    assert index.count_minutes(stored | {"seconds": 1200.0}) == 20


def test_the_source_of_a_result_is_a_command_that_can_be_given_now():
    config = {"algorithm": "maskable-ppo", "num_deals": 3, "seeds": [0, 1, 2], "workers": 99}
    stored = {"commit": "abc", "machine": {"cores": 2, "processor": "X"}, "config": config}
    old = "python -m experiments.first_player --num-blocks 3"
    now = "python -m experiments first-player --num-deals 3 --algorithm maskable-ppo"
    assert format_source(stored | {"command": old}) == f"`{now}` (measured at commit abc as `{old}`, 2 cores of X)"
    assert format_source(stored | {"command": now}) == f"`{now}` (measured at commit abc, 2 cores of X)"


def test_the_command_of_a_source_names_settings_whose_defaults_have_changed():
    config = {"total_timesteps": 7, "variants": ["base", "others' mice unseen"], "out": "elsewhere"}
    stored = {"commit": "abc", "machine": {"cores": 2, "processor": "X"}, "config": config}
    command = "python -m experiments ablation"
    now = f"""{command} --total-timesteps 7 --variants base "others' mice unseen\""""
    assert format_source(stored | {"command": command}).startswith(f"`{now}` (measured")


def test_the_list_shows_every_question_in_its_group(capsys):
    assert main(["--help"]) == 0
    assert main([]) == 2
    assert capsys.readouterr().out == 2 * (list_questions() + "\n")
    for title, verbs in GROUPS.items():
        assert f"\n{title}:\n" in list_questions()
        assert all(f"  {name} " in list_questions() for name in verbs)


def test_the_list_needs_nothing_heavy():
    code = "import sys, experiments.__main__ as m; m.main(['--help']); print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"torch", "tyro", "rich", "matplotlib"} & set(output.split())


def test_an_unknown_question_is_refused_with_the_list(capsys):
    assert main(["meaning"]) == 2
    assert "there is no 'meaning'; python -m experiments has ladder, budget" in capsys.readouterr().err


def test_no_stored_result_has_a_path_of_a_machine():
    found = [path.name for path in RESULTS.rglob("*.json") if re.search(r'["= ]/[a-z]+/', path.read_text())]
    assert not found
