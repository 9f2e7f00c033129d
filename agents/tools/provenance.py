"""Provenance of results: the command, settings, commit, library versions and machine that produced them."""

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from agents.tools.files import UserError
from felicity_env.code_digest import PROJECT
from felicity_env.setups import setup_name

PACKAGES = ("felicity-env", "numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable-baselines3", "sb3-contrib")
WITHOUT_INFLUENCE = ("workers", "ray", "out", "write", "fresh")  # settings that do not change the measured numbers
RENDERED = ("experiments/results", "README.md")  # outputs of experiments, which do not change what experiments do


def describe_measurement(command: str, config: Any, *, started: float) -> dict[str, Any]:
    """Return the provenance that is stored with a result: command, settings, seconds, commit, versions, machine.

    command: module and verb, such as "agents tournament"; the arguments of the command line are appended. config: a
    dataclass or a mapping; if it has `setups`, their fields are stored by name. started: `time.monotonic()` at the
    beginning.
    """
    settings = asdict(config) if is_dataclass(config) and not isinstance(config, type) else config
    setups = {setup_name(setup): asdict(setup) for setup in getattr(config, "setups", ())}
    return {
        "command": f"python -m {command} {shlex.join(sys.argv[2:])}".rstrip(),
        "config": json.loads(json.dumps(settings, default=str)),
        **({"setups": setups} if setups else {}),
        "seconds": round(time.monotonic() - started, 1),
        **provenance(),
    }


def check_replacement(path: Path, command: str, config: Any, report: Callable[[str], Any]) -> None:
    """Check that a command may replace the result in a file, and report which of its settings differ.

    command, config: as in `describe_measurement`. report: called with the text. Raises `UserError` if the result is of
    another command.
    """
    if not path.exists():
        return
    try:
        stored = json.loads(path.read_text())
        command_line, settings = str(stored["command"]), dict(stored["config"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path} is no result of a measurement; choose another --out, or delete it") from error
    if not command_line.startswith(f"python -m {command}"):
        raise UserError(f"{path} is the result of `{command_line}`; choose another --out")
    wanted = json.loads(json.dumps(asdict(config), default=str))
    changed = [name for name in wanted if name not in WITHOUT_INFLUENCE and settings.get(name) != wanted[name]]
    if changed:
        report(f"{path} will be replaced: it had other settings ({', '.join(changed)}); another --out keeps both")


def provenance() -> dict[str, Any]:
    """Return the Git commit, the versions of Python and of the installed libraries, and facts about the machine."""
    return {
        "commit": commit(),
        "versions": {"python": platform.python_version()} | _read_versions(),
        "machine": {"system": platform.system(), "processor": _processor(), "cores": os.cpu_count()} | _find_gpu(),
    }


def commit() -> str:
    """Return the Git commit, with "+" if files other than results are changed, or "unknown" outside a Git checkout.

    Files that Git does not know, such as bots of a user, count only in the packages of the project.
    """
    try:
        lines = _git("status", "--porcelain", "--", ":/", *(f":(top,exclude){path}" for path in RENDERED)).splitlines()
        changes = [line for line in lines if not line.startswith("??") or line[3:].partition("/")[0] in PROJECT]
        return _git("rev-parse", "--short=12", "HEAD") + ("+" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _find_gpu() -> dict[str, str]:
    """Return {"gpu": name} if torch is in use and finds a GPU."""
    torch: Any = sys.modules.get("torch")
    return {"gpu": torch.cuda.get_device_name()} if torch and torch.cuda.is_available() else {}


def _read_versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _git(*arguments: str) -> str:
    here = Path(__file__).parent
    return subprocess.run(["git", *arguments], cwd=here, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
