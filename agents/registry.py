"""Registry of players: their codes, the functions that make them, and lines of help.

A code is text that names a player: NAME or NAME:PART,PART,... A part is a value or an option; an option is a flag or
KEY=VALUE. A compiled heuristic is added in `compiled.HEURISTICS`, any other player in `PLAYERS`:

    ev    mc:200    mc:200,threads=2    net    net:runs/a-run    net:runs/a-run,greedy    my_package.my_module:make
"""

import difflib
import importlib
import inspect
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from agents.compiled import HEURISTICS, CompiledPlayer
from agents.mixture import NET_1, REFERENCE
from agents.own_code import call_own, find_import_hint, import_own
from agents.tools.command import python_command
from agents.tools.options import format_rows
from agents.tools.settings import option_name, require
from felicity_env.code_digest import PROJECT, list_imported_files, project_root
from felicity_env.player import Player

OWN_PLAYER = "package.module:function or path/to/file.py:function"
_MAX_LETTERS = 1000  # in a player code


class Entry(NamedTuple):
    """Entry of the registry for a player: its module, the function that makes it, and its line of help.

    values: names of the values that may follow the name, in order; if the last ones are left out, they are those in
    `defaults`. options: names of options, each with True if it takes a value and False if it is a flag. paths: names of
    the values and options that are paths of policies. fixed: further arguments of the function, which a code cannot
    change.
    """

    module: str
    function: str
    help: str
    values: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    options: Mapping[str, bool] = MappingProxyType({})
    paths: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = MappingProxyType({})


def _describe_heuristic(code: str) -> Entry:
    docstring = inspect.getdoc(importlib.import_module(HEURISTICS[code])) or ""
    first_sentence = docstring.split("\n\n")[0].split(". ")[0]
    return Entry(HEURISTICS[code], "action", " ".join(first_sentence.split()).removesuffix("."))


def _new_search(help_line: str, *, learns: bool) -> Entry:
    options, fixed = {"threads": True}, {"learns": learns}
    return Entry("agents.search", "make_search", help_line, ("playouts",), options=options, fixed=fixed)


PLAYERS = {
    **{code: _describe_heuristic(code) for code in HEURISTICS},
    "mc": _new_search("mc:N, determinised Monte Carlo search with N playouts a decision; mc:N,threads=2", learns=False),
    "ismcts": _new_search("ismcts:N, information-set tree search with N playouts; ismcts:N,threads=2", learns=True),
    "net": Entry(
        "agents.mixture",
        "load_policy_player",
        "the reference player; net:PATH, another policy (a run folder or a checkpoint in it), or a mixture of those in "
        "PATH's folders 0, 1, ...; net:PATH,greedy or net:greedy takes the best action",
        values=("path",),
        defaults=(str(REFERENCE),),
        options={"greedy": False},
        paths=("path",),
    ),
    "net-1": Entry(
        "agents.mixture",
        "load_policy_player",
        "the reference player before this one; net-1:greedy takes the best action",
        options={"greedy": False},
        fixed={"path": str(NET_1)},
    ),
    "net+search": Entry(
        "agents.policy_search",
        "make_policy_search",
        "net+search:N, search in N worlds a decision on top of the reference player; policy=PATH, of another policy "
        "with a critic, such as a run of selfplay; milliseconds=50 stops after that time, others=PATH assumes another "
        "policy of the other seats",
        values=("worlds",),
        options={"policy": True, "milliseconds": True, "others": True},
        paths=("policy", "others"),
    ),
    "chat": Entry(
        "agents.chat.player",
        "make_chat_player",
        "chat:ADDRESS,MODEL, a language model behind a chat-completions server, as chat:http://localhost:8000/v1,M; "
        "seconds=60 and tokens=1000 limit an answer, attempts=3 a decision; log=FILE keeps all answers",
        values=("address", "model"),
        options=dict.fromkeys(("seconds", "attempts", "temperature", "tokens", "parallel", "log"), True),
    ),
}
SEARCHES = ("mc", "ismcts")  # names of searches by playouts
SERVERS = ("chat",)  # names of players that ask a server


def make(code: str) -> Player:
    """Make a player from its code, such as `mc:200`.

    Raises `ValueError` if that is impossible; the message says what is wrong with the code, or lists all codes.
    """
    name, values, options = parse_code(code)
    if name in HEURISTICS:
        return CompiledPlayer(name)
    if name not in PLAYERS:
        return _make_own(name, *values)
    entry = PLAYERS[name]
    return getattr(importlib.import_module(entry.module), entry.function)(*values, **options, **entry.fixed)


def is_own(code: str) -> bool:
    """Return whether a code names a player in a user's own module or file."""
    return ":" in code and code.split(":")[0] not in PLAYERS


def is_foreign(code: str) -> bool:
    """Return whether a player with this code runs a program of a user, or asks a server.

    Whoever writes such a code decides what is run or sent. So commands take it from their options only, and not from a
    file, which may come from a stranger.
    """
    return is_own(code) or code.split(":")[0] in SERVERS


def check_player(code: str, where: str) -> None:
    """Raise `ValueError`, whose message begins with `where`, unless a player can be made from its code."""
    try:
        make(code)
    except (ValueError, OSError) as error:
        raise ValueError(f"{where}: {error}") from error


def check_players(config: Any, *settings: str, allowed: Iterable[str] = ()) -> None:
    """Raise `ValueError`, which names the option, unless the named settings of `config` are codes of players.

    allowed: words that are also accepted, although they are not complete codes.
    """
    for setting in settings:
        value = getattr(config, setting)
        codes = (value,) if isinstance(value, str) else value
        require(bool(codes), f"{option_name(setting)} must name a player")
        for code in codes:
            if code not in allowed:
                check_player(code, option_name(setting))


def parse_code(code: str) -> tuple[str, list[str], dict[str, Any]]:
    """Split a player code such as `mc:200,threads=2` into its name, its values and its options.

    For a code `package.module:function` the name is the module, and the only value is the function. Values left out
    have their defaults. Raises `ValueError` if the code is wrong. Nothing is imported, and no file is read.
    """
    if len(code) > _MAX_LETTERS:
        raise ValueError(f"a player code has at most {_MAX_LETTERS:,} letters, not {len(code):,}: {code[:40]} ...")
    name, colon, text = code.partition(":")
    _refuse_several(code)
    if name in HEURISTICS and colon:
        raise ValueError(f"{name!r} takes nothing after a colon, got {text!r}")
    if name in PLAYERS:
        return name, *_read_parts(name, text, has_colon=bool(colon))
    if colon and (name.endswith(".py") or all(part.isidentifier() for part in name.split("."))):
        return name, [text], {}
    codes = f"codes are {', '.join(PLAYERS)}, or {OWN_PLAYER} ({python_command('agents')} --help lists them)"
    raise ValueError(f"no player {code!r}{_find_hint(code)}; {codes}")


def _find_hint(code: str) -> str:
    """Return a hint for the error message about an unknown player code, such as "(did you mean 'ev'?)".

    The hint is an empty text if nothing similar is known.
    """
    path, _, function = code.partition(":")
    if path and os.path.exists(path):  # `Path.exists` raises if a name is too long
        return _find_hint_for_path(path, function or "make")
    close = difflib.get_close_matches(code.split(":")[0].lower(), PLAYERS, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return " (there is no such folder)" if "/" in code else ""


def _find_hint_for_path(path: str, function: str) -> str:
    """Return a hint for the error message about a player code that names a file or a folder by its path."""
    name = os.path.join(path, "__init__.py") if os.path.isfile(os.path.join(path, "__init__.py")) else path
    if name.endswith(".py"):
        return f" (did you mean '{name}:{function}'? {function} is the name of a function in the file)"
    if os.path.isdir(path) or path.endswith((".safetensors", ".json")):
        return f" (did you mean 'net:{path}'?)"
    return " (a model of another library plays by a function of yours that loads it; docs/measuring.md shows one)"


def _read_parts(name: str, text: str, *, has_colon: bool) -> tuple[list[str], dict[str, Any]]:
    """Split the text after the colon of a player code, as in `mc:200,threads=2`, into values and options."""
    entry = PLAYERS[name]
    if has_colon and not text:
        raise ValueError(f"{name!r} needs something after the colon: {entry.help}")
    values: list[str] = []
    options: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if key in options:
            raise ValueError(f"{name!r} got the option {key} twice")
        if key in entry.options and bool(equals) == entry.options[key]:
            options[key] = value if equals else True
        elif equals and not os.path.exists(part):
            raise ValueError(f"{name!r} has no option {part!r}: {entry.help}")
        else:
            values.append(part)
    values += entry.defaults[len(entry.defaults) + len(values) - len(entry.values) :]
    if len(values) != len(entry.values):
        takes = " and ".join(entry.values) or "no value"
        close = [option for value in values for option in difflib.get_close_matches(value, entry.options, n=1)]
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"{name!r} takes {takes} after the colon, got {text!r}{hint}: {entry.help}")
    return values, options


def _refuse_several(code: str) -> None:
    """Raise `ValueError` if a player code is several codes with commas between them, such as `anchor,ev`."""
    names, name = code.split(","), code.partition(":")[0]
    options = PLAYERS[name].options if name in PLAYERS else {}
    if len(names) > 1 and all(part.split(":")[0] in PLAYERS and part not in options for part in names):
        raise ValueError(f"{code!r} names several players; separate codes by blanks: {' '.join(names)}")


def _make_own(module: str, function: str) -> Player:
    try:
        player = call_own(f"{module}:{function}")
    except (Exception, SystemExit) as error:  # foreign code raises anything
        reason = f"{type(error).__name__}: {error}{find_import_hint(module, error)}"
        raise ValueError(f"cannot make a player by {module}:{function}: {reason}") from error
    if not callable(getattr(player, "act", None)):
        raise ValueError(f"{module}:{function}() gave {player!r}, which has no method act(view)")
    return player


def find_policy_path(code: str) -> Path | None:
    """Return the path of the policy or of the mixture of policies that a player is, or None for other players."""
    name, values, _ = parse_code(code)
    if name not in PLAYERS or PLAYERS[name].function != "load_policy_player":
        return None
    return Path(values[0] if values else PLAYERS[name].fixed["path"])


def list_files(*codes: str) -> list[Path]:
    """List what players need beside this project's packages: files of policies, and the code of a user's own players.

    Paths are as the codes name them; those of code are absolute. Raises `ValueError` as `make` does.
    """
    paths: set[Path] = set()
    for code in codes:
        name, values, options = parse_code(code)
        if name in PLAYERS:
            entry = PLAYERS[name]
            named = dict(zip(entry.values, values, strict=True)) | options
            paths |= {Path(text) for part, text in named.items() if part in entry.paths}
        elif source := inspect.getsourcefile(import_own(name)):
            paths |= set(list_imported_files(Path(source)))
    packages = [project_root(Path(__file__)) / package for package in PROJECT]
    return sorted(path for path in paths if path.exists() and not {*path.resolve().parents} & {*packages})


def is_slow(*codes: str) -> bool:
    """Return whether at least one of the player codes names a search or a language model, which are slow."""
    return any(code.split(":")[0] in (*SEARCHES, "net+search", *SERVERS) for code in codes)


def help_text() -> str:
    """Return text that lists the player codes, with one line of help for each."""
    rows = format_rows((name, entry.help) for name, entry in PLAYERS.items())
    return f"codes of players:\n\n{rows}\n\nyour own player, made by calling the function:\n\n  {OWN_PLAYER}"
