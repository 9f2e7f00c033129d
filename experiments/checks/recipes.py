"""Question: does the game work in other libraries? `python -m experiments recipes`

The scripts of `docs/recipes` use the libraries that people have, each in a virtual environment of its own if
this project does not need the library anyway. A learned player must end above par against three random players.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.console import Console

from agents.tools.files import UserError, write_json
from agents.tools.settings import require
from experiments.results import PROJECT, write_result
from felicity_env.code_digest import code_digest

FOLDER = PROJECT / "docs" / "recipes"
RECIPES: dict[str, tuple[str, ...]] = {  # script: what it needs beside this project, () for nothing
    "batch_ppo": (),
    "batch_learner": (),
    "sb3_maskable_ppo": (),
    "sb3_ppo": (),
    "sb3_dqn": (),
    "pettingzoo_wrappers": (),
    "gymnasium_wrappers": (),
    "language_model": (),
    "openspiel_cfr": (),
    "rllib_ppo": ("ray[rllib]==2.60.0",),
    "torchrl_ppo": ("torchrl==0.14.1",),
    "torchrl_aec_ppo": ("torchrl==0.14.1",),
    "tianshou_ppo": ("tianshou==2.0.1",),
    "agilerl_ppo": ("agilerl==2.58.0", "peft"),
    "minari_collect": ("minari[create,hdf5]==0.5.4", "pillow"),
}


@dataclass(frozen=True)
class Config:
    """Run the recipes of other libraries, and store what they reach."""

    resumes: ClassVar[bool] = True
    recipes: tuple[str, ...] = tuple(RECIPES)
    """Names of recipes. Only a command for all recipes stores the result."""
    out: Path = Path("runs/recipes")
    """Folder of the virtual environments and of the results so far; the same command, given again, goes on, and runs a
    recipe again if it, the game or a player has changed."""

    def __post_init__(self) -> None:
        unknown = set(self.recipes) - set(RECIPES)
        require(not unknown, f"--recipes must be of {', '.join(RECIPES)}, not {', '.join(sorted(unknown))}")


def prepare(requirements: Sequence[str], folder: Path) -> Path:
    """Return a Python in which a recipe runs: this one, or that of a virtual environment in `folder`."""
    if not requirements:
        return Path(sys.executable)
    python = (folder / "venv" / "bin" / "python").absolute()
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "torch==2.13.0"]
    subprocess.run([*install, *requirements, "-e", PROJECT], check=True)
    return python


def run_recipe(name: str, folder: Path) -> dict[str, Any]:
    """Run a recipe, and return what it printed last, with what it needs; raise `UserError` if it fails."""
    try:
        python = prepare(RECIPES[name], folder)
        command = [python, FOLDER / f"{name}.py"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout.strip().splitlines()[-1])
    except (subprocess.CalledProcessError, ValueError, IndexError) as error:
        raise UserError(f"the recipe {name} failed: {error}") from error
    return {"recipe": name, "needs": list(RECIPES[name]), **result}


def digest_recipe(name: str) -> str:
    """Return 16 hexadecimal digits that change when a recipe, what recipes need, the game or a player changes."""
    packages = [path for name in ("felicity_env", "agents") for path in (PROJECT / name).glob("*.py")]
    return code_digest(FOLDER / f"{name}.py", Path(__file__), *packages)


def find_fault(result: dict[str, Any]) -> str:
    """Return what is wrong with the result of a recipe, or "": a learned player must be above par."""
    if "win_share" in result and result["low"] <= result["par"]:
        return f"{result['recipe']} is not above par: {result['win_share']} ({result['low']} to {result['high']})"
    return ""


def main(config: Config) -> None:
    """Run all recipes that have no result of their code yet, and store the results.

    Raises `UserError` if one is not above par.
    """
    started, console, results = time.monotonic(), Console(), []
    for name in config.recipes:
        path, code = config.out / name / "result.json", digest_recipe(name)
        result = json.loads(path.read_text()) if path.exists() else {}
        if result.get("code") != code:
            path.parent.mkdir(parents=True, exist_ok=True)
            console.print(f"{name} ...", highlight=False)
            result = run_recipe(name, config.out / name) | {"code": code}
            write_json(path, result)
        results.append(result)
        console.print(json.dumps(results[-1]), highlight=False, markup=False, soft_wrap=True)
    if set(config.recipes) == set(RECIPES):
        write_result("recipes", config, {"recipes": results}, started=started)
    if faults := [fault for fault in map(find_fault, results) if fault]:
        raise UserError("; ".join(faults))
