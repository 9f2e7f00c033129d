"""Options of a command, read with tyro from the fields of a dataclass; the texts below the fields are the help."""

import ast
import inspect
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, field, fields, make_dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints

from agents.tools.files import shorten_path

ConfigT = TypeVar("ConfigT")
_DEFAULT = re.compile(r"\s*Default: (.+?)\.(?=\s|$)")  # sentence that says what a default of None stands for


def read_settings(config_class: type[ConfigT], prog: str, arguments: Sequence[str], default: Any = None) -> ConfigT:
    """Read settings from command-line arguments; return them as an instance of the dataclass `config_class`.

    Settings that the arguments do not name are those of `default`, or the defaults of the dataclass if `default` is
    None. The dataclass checks the values after tyro has read them, because tyro would put a box around the message.
    """
    import tyro  # takes a while, and a list of verbs does not need it

    texts, types = _read_texts(config_class), get_type_hints(config_class, include_extras=True)
    options = [
        _make_option(each, types[each.name], texts[each.name], default) for each in fields(cast(Any, config_class))
    ]
    unchecked = make_dataclass(config_class.__name__, options, kw_only=True)
    with _new_registry():
        values = tyro.cli(unchecked, prog=prog, args=list(arguments), description=inspect.getdoc(config_class))
    return config_class(**vars(values))


def _new_registry() -> Any:
    """Return a registry for tyro, by which options for whole numbers also accept the form 1e6."""
    from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec

    registry = ConstructorRegistry()
    whole_number = PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda words: read_whole_number(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )
    registry.primitive_rule(lambda info: whole_number if info.type is int else None)
    return registry


def read_whole_number(text: str) -> int:
    """Return the whole number that a text names, such as `1000000`, `1_000_000` or `1e6`.

    Raises `ValueError` if the text names none. A number with an exponent is exact only up to 2^53.
    """
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        if (number := float(text)).is_integer():
            return int(number)
    raise ValueError(f"{text!r} is no whole number, such as 1000000 or 1e6")


def format_rows(rows: Iterable[tuple[str, str]]) -> str:
    """Format names and their texts as two columns, as wide as the terminal; long texts wrap in their column."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    columns = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(
            text,
            columns,
            initial_indent=f"  {name:{width}}  ",
            subsequent_indent=" " * (width + 4),
            break_on_hyphens=False,
        )
        for name, text in listed
    )


def _make_option(setting: "Field[Any]", kind: Any, text: str, default: Any) -> tuple[str, Any, Any]:
    """Return a setting as a dataclass field for tyro: its name, its type with the help text, and its default."""
    from tyro.conf import Positional, arg

    value = getattr(default, setting.name) if default is not None else setting.default
    if value is MISSING:
        names: Any = {"metavar": setting.name.upper()} if Positional in getattr(kind, "__metadata__", ()) else {}
        return setting.name, Annotated[kind, arg(help=text, **names)], field()
    described = _DEFAULT.search(text) if value in (None, ()) else None
    shown = described[1] if described else format_value(value)
    help_text = _DEFAULT.sub("", text) if described else text
    names: Any = {"metavar": plain[0].__name__.upper()} if (plain := _find_optional(kind)) else {}
    option = arg(help=help_text, help_behavior_hint=f"(default: {shown})", **names)
    return setting.name, Annotated[kind, option], field(default=value)


def _find_optional(kind: Any) -> list[type]:
    """Return [T] if a setting has the type `T | None`, else an empty list.

    Such a setting is None if its option is left out.
    """
    parts = get_args(kind)
    return [part for part in parts if part is not NoneType and isinstance(part, type)] if NoneType in parts else []


def format_value(value: Any) -> str:
    """Format the value of a setting as a user would type it; folders below the current one have relative paths."""
    if value in (None, ()):
        return "none"
    if isinstance(value, tuple):
        return " ".join(map(format_value, value))
    text = str(shorten_path(value) if isinstance(value, Path) else value)
    return f'"{text}"' if " " in text else text


def _read_texts(config_class: type) -> dict[str, str]:
    """Return the help text of each field of a dataclass, {name: text}: the string below it, in one line.

    Fields of the classes that it derives from are included.
    """
    texts: dict[str, str] = {}
    for each in reversed(config_class.__mro__[:-1]):
        body = cast(Any, ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]).body
        for statement, after in pairwise(body):
            if isinstance(statement, ast.AnnAssign) and isinstance(after, ast.Expr):
                texts[ast.unparse(statement.target)] = " ".join(str(cast(Any, after.value).value).split())
    return texts
