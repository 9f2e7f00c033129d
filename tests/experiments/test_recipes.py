"""Recipes of other libraries: which there are, and what counts as a failure."""

import ast
import json

import pytest

from agents.tools.files import UserError
from experiments.checks import recipes
from experiments.checks.recipes import FOLDER, RECIPES, Config, digest_recipe, find_fault, main, run_recipe

GOOD = {"recipe": "batch_ppo", "win_share": 0.5, "low": 0.4, "high": 0.6, "par": 0.25}


def test_every_script_is_a_recipe_and_names_what_it_needs():
    scripts = {path.stem: path.read_text() for path in FOLDER.glob("*.py") if path.stem != "measure"}
    assert scripts.keys() == RECIPES.keys()
    for name, text in scripts.items():
        assert len(text.splitlines()) <= 100
        for need in RECIPES[name]:
            assert need.split("=")[0] in (ast.get_docstring(ast.parse(text)) or "")


def test_a_player_that_is_not_above_par_is_a_fault():
    assert find_fault(GOOD) == ""
    assert find_fault(GOOD | {"low": 0.25}) == "batch_ppo is not above par: 0.5 (0.25 to 0.6)"
    assert find_fault({"recipe": "openspiel_cfr", "exploitability_after": 0.1}) == ""


def test_a_recipe_gives_its_last_line(tmp_path, monkeypatch):
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    (tmp_path / "batch_ppo.py").write_text('print("learning"); print(\'{"win_share": 0.5}\')')
    assert run_recipe("batch_ppo", tmp_path) == {"recipe": "batch_ppo", "needs": [], "win_share": 0.5}


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "print('done')", ""])
def test_a_recipe_that_fails_is_named(tmp_path, monkeypatch, text):
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    (tmp_path / "batch_ppo.py").write_text(text)
    with pytest.raises(UserError, match="the recipe batch_ppo failed"):
        run_recipe("batch_ppo", tmp_path)


def test_results_so_far_are_kept_and_only_all_recipes_store_a_result(tmp_path, monkeypatch, capsys):
    runs, stored = [], []
    monkeypatch.setattr(recipes, "run_recipe", lambda name, folder: runs.append(name) or GOOD | {"recipe": name})
    monkeypatch.setattr(recipes, "write_result", lambda name, *args, **options: stored.append(name))
    main(Config(recipes=("batch_ppo", "sb3_ppo"), out=tmp_path))
    main(Config(out=tmp_path))
    assert runs == list(dict.fromkeys(["batch_ppo", "sb3_ppo", *RECIPES]))
    assert stored == ["recipes"]


def test_a_recipe_whose_code_has_changed_is_run_again(tmp_path, monkeypatch):
    path, config = tmp_path / "batch_ppo" / "result.json", Config(recipes=("batch_ppo",), out=tmp_path)
    for code in ("first", "second"):
        monkeypatch.setattr(recipes, "digest_recipe", lambda name, code=code: code)
        monkeypatch.setattr(recipes, "run_recipe", lambda name, folder, code=code: GOOD | {"ran": code})
        main(config)
        assert json.loads(path.read_text()) == GOOD | {"ran": code, "code": code}
    assert digest_recipe("sb3_ppo") == digest_recipe("sb3_ppo") != digest_recipe("sb3_dqn")


def test_unknown_recipes_are_refused():
    with pytest.raises(ValueError, match="--recipes must be of batch_ppo, "):
        Config(recipes=("jax",))
