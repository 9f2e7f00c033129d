"""State of an experiment that was interrupted: what is known so far, the settings and the code that it comes from."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.tools.files import UserError, check_same_settings
from experiments.results import keep_influential
from felicity_env.code_digest import code_digest


def describe_origin(config: Any, source: str) -> dict[str, Any]:
    """Return what results depend on: the settings that can change them, and the digest of the code.

    source: path of the module of the experiment; the code that it imports counts too.
    """
    return keep_influential(asdict(config)) | {"code": code_digest(Path(source))}


def read_state(path: Path, origin: Mapping[str, Any], start: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored state of an experiment, or `start` together with the origin if nothing is stored.

    Raises `UserError` if the file is damaged, or if it was written with other settings or by other code.
    """
    if not path.exists():
        return {"origin": dict(origin), **start}
    advice = f"delete {path.parent} to start again, or choose another --out"
    try:
        state = json.loads(path.read_text())
        stored = state["origin"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}); {advice}") from error
    check_same_settings(stored, origin, where=path, advice=advice)
    return state
