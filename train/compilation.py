"""Conditions under which networks that learn are compiled with torch.compile, which needs tools outside Python."""

import os
import shutil
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from agents.tools.files import UserError


def list_missing_tools() -> list[str]:
    """Return the names of the things that torch.compile needs for a GPU and that are not here."""
    compilers = (os.environ.get("CC", ""), "gcc", "clang")
    found = {
        "Triton": find_spec("triton"),
        "a C compiler": any(shutil.which(compiler) for compiler in compilers if compiler),
        "the header Python.h": Path(sysconfig.get_path("include"), "Python.h").exists(),
    }
    return [name for name, is_here in found.items() if not is_here]


def choose_compilation(setting: str, *, on_gpu: bool) -> bool:
    """Return whether torch.compile is to compile the networks of a training run.

    setting: "yes", "no", or "auto", which means yes if they are on a GPU and no tool is missing. on_gpu: whether the
    networks are on a GPU. Raises `UserError` with "yes" if it is not possible.
    """
    missing = list_missing_tools() if on_gpu else ["networks on a GPU"]
    if setting == "yes" and missing:
        raise UserError(f"--torch-compile yes needs {' and '.join(missing)}")
    return setting != "no" and not missing
