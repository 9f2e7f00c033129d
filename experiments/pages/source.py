"""Origin of a stored result as text: the command that repeats it, the commit and the machine."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import Any

from agents.tools.provenance import WITHOUT_INFLUENCE
from agents.tools.settings import option_name
from experiments.questions import QUESTIONS


def format_source(stored: Mapping[str, Any]) -> str:
    """Format the origin of a stored result as text: the command to repeat it, the commit and the machine.

    The command names the settings whose defaults have changed since. If it had another form when the result was
    measured, the text also shows that form.
    """
    machine, old = stored["machine"], stored["command"]
    command = re.sub(r"experiments\.(\w+)", lambda match: f"experiments {match[1].replace('_', '-')}", old)
    command = command.replace("--num-blocks", "--num-deals")
    command = " ".join([command, *_list_missing_options(command, stored["config"])])
    then = "" if command == old else f" as `{old}`"
    where = f"{machine['cores']} cores of {machine['processor']}" + (f", {machine['gpu']}" if "gpu" in machine else "")
    return f"`{command}` (measured at commit {stored['commit']}{then}, {where})"


def _list_missing_options(command: str, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that must be added to a command so that it has the settings of a stored result.

    A setting needs an option if its value is not the default, and if it can change what is measured. config: the
    settings, {name: value}.
    """
    words = shlex.split(command)
    question = next((word for word in words if word in QUESTIONS), None)
    for field in fields(import_module(QUESTIONS[question].module).Config) if question else ():
        value = config.get(field.name)
        is_given = option_name(field.name) in words or field.name in WITHOUT_INFLUENCE
        if not is_given and value is not None and value != _find_default(field):
            values = value if isinstance(value, list) else [value]
            yield " ".join([option_name(field.name), *(_quote(str(each)) for each in values)])


def _quote(word: str) -> str:
    return f'"{word}"' if "'" in word else shlex.quote(word)


def _find_default(field: Field[Any]) -> Any:
    """Return the default of a setting as a stored result has it: tuples are lists there."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return list(default) if isinstance(default, tuple) else default
