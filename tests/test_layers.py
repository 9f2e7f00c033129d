"""Imports run one way: experiments -> train -> agents -> felicity_env, and inside felicity_env from the faces down."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("felicity_env", "agents", "train", "experiments")  # each may import itself and those before it
LAYERS = (  # each module may import those in the lines above its own
    ("kernel",),
    ("random_stream",),
    ("game",),
    ("rewards", "observation", "transcript"),
    ("information", "notation"),
    ("view", "render"),
    ("batch",),
    ("tables",),
    ("lanes",),
    ("__init__",),
    ("aec", "single"),
    ("felicity_v0",),
)
LAYER_OF = {module: layer for layer, modules in enumerate(LAYERS) for module in modules}
BASES = {"pettingzoo", "gymnasium"}
MAY_IMPORT_BASES = {"__init__", "aec", "single", "felicity_v0"}
LEARNING = {"torch", "stable_baselines3", "sb3_contrib"}
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def imported_modules(source: str) -> set[str]:
    """Dotted names of all that `source` imports, in functions too: `a.b` for `from a import b`."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
    return names


def folder_faults(folder: str, source: str) -> list[str]:
    """Imports in `source`, a file of `folder`, that run the wrong way."""
    allowed = FOLDERS[: FOLDERS.index(folder) + 1]
    forbidden = {*FOLDERS, "tests"}.difference(allowed)
    return [name for name in imported_modules(source) if name.split(".")[0] in forbidden]


def layer_faults(module: str, source: str) -> list[str]:
    """Imports in `source`, the module of felicity_env so named, that run up or sideways, or are not its business."""
    return [name for name in imported_modules(source) if name.startswith(".") or _is_fault(module, name)]


def _is_fault(module: str, name: str) -> bool:
    package, *inside = name.split(".")
    if package == "felicity_env":
        target = inside[0] if inside and inside[0] in LAYER_OF else "__init__"
        return LAYER_OF[target] >= LAYER_OF[module]
    return package in LEARNING or (package in BASES and module not in MAY_IMPORT_BASES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_imports_from_a_folder_above_its_own(path):
    folder = path.relative_to(ROOT).parts[0]
    assert not folder_faults(folder, path.read_text())


def test_every_module_of_the_environment_has_a_layer_and_every_layer_its_modules():
    assert {path.stem for path in (ROOT / "felicity_env").glob("*.py")} == set(LAYER_OF)


@pytest.mark.parametrize("module", sorted(LAYER_OF))
def test_inside_the_environment_imports_run_down_and_bases_stay_in_the_faces(module):
    assert not layer_faults(module, (ROOT / "felicity_env" / f"{module}.py").read_text())


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("game", "from felicity_env.observation import observe"),
        ("rewards", "from felicity_env import transcript"),
        ("view", "import felicity_env.batch"),
        ("batch", "from felicity_env import Batch"),
        ("kernel", "def late():\n    from felicity_env.game import PASS"),
        ("game", "from .kernel import kernel"),
        ("batch", "from gymnasium.spaces import Box"),
        ("__init__", "from felicity_env.aec import env"),
        ("aec", "import torch"),
        ("single", "from stable_baselines3 import PPO"),
    ],
)
def test_an_import_inside_the_environment_that_runs_up_is_noticed(module, source):
    assert layer_faults(module, source)


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("felicity_env", "import agents"),
        ("agents", "from train.config import Config"),
        ("train", "import experiments.speed"),
        ("agents", "from tests.helpers import play"),
    ],
)
def test_an_import_from_a_folder_above_is_noticed(folder, source):
    assert folder_faults(folder, source)
