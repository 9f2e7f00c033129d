"""Imports run one way: experiments -> train -> agents -> felicity_env, and downward inside each of them."""

import ast
from pathlib import Path

import pytest

from agents.compiled import HEURISTICS
from tests.support.paths import ROOT

HEURISTIC_MODULES = tuple(module.removeprefix("agents.") for module in HEURISTICS.values())  # may import each other
FOLDERS = ("felicity_env", "agents", "train", "experiments")  # each may import itself and those before it
LAYERS = {  # in each package, a module may import those in the lines above its own
    "felicity_env": (
        ("code_digest", "turn"),
        ("kernel",),
        ("random_stream",),
        ("game",),
        ("rewards", "observation", "game_record", "state_check", "advantages"),
        ("setups", "information"),
        ("notation", "player"),
        ("render.__init__", "render.nodes", "render.scene", "render.story", "buffers"),
        ("base_batch",),
        ("render.palette", "render.raster", "render.words", "batch", "cuda"),
        ("render.shapes", "render.tables"),
        ("render.svg", "render.text"),
        ("render.html", "render.modes"),
        ("render.replay",),
        ("render.film", "render.notebook"),
        ("opponents", "illegal", "spaces", "dataset"),
        ("learners",),
        ("mask_wrapper",),
        ("__init__",),
        ("pettingzoo_env", "gymnasium_env", "openspiel"),
        ("felicity_v0",),
        ("__main__",),
    ),
    "agents": (
        ("tools",),
        ("tasks",),
        ("sack_value", "bidding", "tuned_weights", "checkpoint_file", "layouts", "own_code"),
        ("policy_check", "policy_player"),
        ("policy_file", "posterior"),
        (*HEURISTIC_MODULES, "network"),
        ("mixture", "adapters", "compiled"),
        ("playout", "worlds"),
        ("tree",),
        ("search", "beliefs"),
        ("policy_search", "chat"),
        ("registry",),
        ("identity", "player_names"),
        ("trained_setups",),
        ("__init__",),
        ("arena",),
        ("play", "data"),
        ("__main__",),
    ),
    "train": (
        ("__init__", "algorithms", "priors", "opponents", "sampling", "compilation", "cuda_graphs", "logs", "progress"),
        ("config", "networks"),
        ("storage", "initial_policy", "rollout", "interrupt"),
        ("curves",),
        ("trainer", "own_games", "shards", "gpu_kernels"),
        ("gpu_games",),
        ("maskable_ppo", "selfplay"),
        ("command",),
        ("__main__",),
    ),
    "experiments": (
        ("__init__", "questions", "results", "processes", "gpu"),
        ("runs", "resuming"),
        ("parts",),
        ("game",),
        ("checks", "builds", "speed", "strength"),
        ("cuda", "exact", "training"),
        ("pages",),
        ("__main__",),
    ),
}
BASES = {"pettingzoo", "gymnasium"}
MAY_IMPORT_BASES = {
    *("__init__", "render.modes", "pettingzoo_env", "gymnasium_env", "felicity_v0"),
    *("illegal", "mask_wrapper", "spaces"),
}
UPWARD = {"felicity_env/opponents.py": ["agents"]}  # codes of opponents need the players: imported when one is used
LEARNING = {"torch", "stable_baselines3", "sb3_contrib"}
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def list_imports(source: str) -> set[str]:
    """Return the dotted names of all that `source` imports, in functions too: `a.b` for `from a import b`.

    `import_module("a")` counts too; imports under `if TYPE_CHECKING:` do not, because they are for type checkers alone.
    """
    names, tree = set(), ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module":
            names |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return names


def folder_faults(folder: str, source: str) -> list[str]:
    """Return the imports in `source`, a file of `folder`, that run the wrong way."""
    allowed = FOLDERS[: FOLDERS.index(folder) + 1]
    forbidden = {*FOLDERS, "tests"}.difference(allowed)
    return [name for name in list_imports(source) if name.split(".")[0] in forbidden]


def find_layer(package: str, name: str) -> int | None:
    """Return the layer of a dotted name inside `package`: of a module, or of the folder or module that holds it."""
    layers = {module: number for number, modules in enumerate(LAYERS[package]) for module in modules}
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        if (found := layers.get(".".join(parts[:size]))) is not None:
            return found
    return layers.get(f"{parts[0]}.__init__", layers["__init__"]) if name else layers["__init__"]


def layer_faults(package: str, module: str, source: str) -> list[str]:
    """Return the imports in `source`, the module of `package` so named, that run up or sideways."""
    faults = []
    for name in list_imports(source):
        root, _, inside = name.partition(".")
        if root == package and not _is_same_group(package, module, inside):
            if find_layer(package, inside) >= find_layer(package, module):
                faults.append(name)
        elif name.startswith(".") or (
            package == "felicity_env"
            and (
                (root in LEARNING and not module.startswith("cuda."))
                or (root in BASES and module not in MAY_IMPORT_BASES)
            )
        ):
            faults.append(name)
    return faults


def _is_same_group(package: str, module: str, inside: str) -> bool:
    """Return whether both are in a folder that is one entry of the layers, such as `arena`, or both are heuristics."""
    if module in HEURISTIC_MODULES:
        return inside.split(".")[0] in HEURISTIC_MODULES
    folder = module.split(".")[0]
    entries = {entry for modules in LAYERS[package] for entry in modules}
    return folder in entries and "." in module and inside.split(".")[0] == folder


def list_modules(package: str) -> dict[str, Path]:
    folder = ROOT / package
    return {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}


MODULES = [(package, name, path) for package in LAYERS for name, path in sorted(list_modules(package).items())]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_imports_from_a_folder_above_its_own(path):
    folder = path.relative_to(ROOT).parts[0]
    assert folder_faults(folder, path.read_text()) == UPWARD.get(str(path.relative_to(ROOT)), [])


@pytest.mark.parametrize("package", LAYERS)
def test_every_module_has_a_layer_and_every_layer_its_modules(package):
    entries = [entry for modules in LAYERS[package] for entry in modules]
    names = {
        entry if name == entry or name.startswith(f"{entry}.") else None
        for name in list_modules(package)
        for entry in entries
    }
    assert names - {None} == set(entries)
    for name in list_modules(package):
        assert any(name == entry or name.startswith(f"{entry}.") for entry in entries), name


@pytest.mark.parametrize(("package", "module", "path"), MODULES, ids=[f"{p}.{m}" for p, m, _ in MODULES])
def test_inside_a_package_imports_run_down_and_bases_stay_in_the_faces(package, module, path):
    assert not layer_faults(package, module, path.read_text())


@pytest.mark.parametrize(
    ("package", "module", "source"),
    [
        ("felicity_env", "game", "from felicity_env.observation import observe"),
        ("felicity_env", "rewards", "from felicity_env import game_record"),
        ("felicity_env", "player", "import felicity_env.batch"),
        ("felicity_env", "batch", "from felicity_env import Batch"),
        ("felicity_env", "kernel", "def late():\n    from felicity_env.game import PASS"),
        ("felicity_env", "game", "from .kernel import kernel"),
        ("felicity_env", "batch", "from gymnasium.spaces import Box"),
        ("felicity_env", "__init__", "from felicity_env.pettingzoo_env import env"),
        ("felicity_env", "pettingzoo_env", "import torch"),
        ("felicity_env", "gymnasium_env", "from stable_baselines3 import PPO"),
        ("felicity_env", "information", "from felicity_env.render.text import render_view"),
        ("agents", "anchor", "from agents.registry import make"),
        ("agents", "registry", "from agents.arena.blocks import play_blocks"),
        ("agents", "tools.files", "from agents.arena import matches"),
        ("agents", "search", "import agents"),
        ("train", "config", "from train.trainer import Run"),
        ("train", "selfplay", "from train import maskable_ppo"),
        ("experiments", "results", "from experiments.game.columns import average"),
        ("experiments", "game.seats", "from experiments.strength import ladder"),
    ],
)
def test_an_import_that_runs_up_is_noticed(package, module, source):
    assert layer_faults(package, module, source)


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        ("felicity_env", "import agents"),
        ("agents", "from train.config import Config"),
        ("train", "import experiments.speed"),
        ("agents", "from tests.support.helpers import play"),
    ],
)
def test_an_import_from_a_folder_above_is_noticed(folder, source):
    assert folder_faults(folder, source)
