"""Digests of the code that a result depends on: they change with a rule or a player, not with prose or comments."""

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

PROJECT = ("felicity_env", "agents", "train", "experiments")  # packages that digests follow


def code_digest(*sources: Path) -> str:
    """Return 16 hex digits that change when the code of the given Python files, or code that they import, changes.

    Imports are followed through the file's own package and those of `PROJECT`, also imports inside functions. If a file
    belongs to no package, imports from its folder are followed too. A string that is the dotted name of a module, as in
    a table of modules to import later, counts as an import. Comments, layout and prose do not count; prose is every
    string that contains a blank: docstrings, help texts, error messages. All other code counts, also entries of tables
    such as `setups.SETUPS` or `rewards.REWARDS`.
    """
    digest = hashlib.sha256()
    for path in list_imported_files(*sources):
        digest.update(f"{path.parent.name}/{path.name}\0{_read_module(path).code}\0".encode())
    return digest.hexdigest()[:16]


def project_root(path: Path) -> Path:
    """Return the folder that contains the top-level package of a Python file.

    For a file without a package, it is the folder that contains the file.
    """
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def list_imported_files(*sources: Path) -> list[Path]:
    """List some Python files and all that they import, directly or indirectly, as `code_digest` follows imports."""
    return sorted(_import_closure(frozenset(path.resolve() for path in sources)))


@functools.cache
def _import_closure(sources: frozenset[Path]) -> frozenset[Path]:
    """Return the given Python files and all files that they import, directly or indirectly.

    Imports are followed only into the packages that `code_digest` names.
    """
    closure: set[Path] = set()
    waiting = list(sources)
    while waiting:
        path = waiting.pop()
        if path not in closure:
            closure.add(path)
            waiting += _read_module(path).imports
    return frozenset(closure)


class _Module:
    """Parsed Python file: its code without prose and comments, and the imported files that `code_digest` follows."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_bytes())
        root = project_root(path)
        package = path.relative_to(root).parts[:-1]
        names = {name for node in ast.walk(tree) for name in _list_imported_names(node, package)}
        is_loose = not package and root.name not in ("site-packages", "dist-packages")
        followed = {*PROJECT, *package[:1]}
        own = sorted(name for name in names if is_loose or name.split(".")[0] in followed)
        self.imports = [file for name in own if (file := _module_file(root, name))]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                node.value = ""
        self.code = ast.dump(tree)


_read_module = functools.cache(_Module)


def _list_imported_names(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Yield the dotted names that a syntax node imports.

    A string constant with a dot counts as such a name, because it may name a module. package: parts of the name of the
    package that the file belongs to, for relative imports.
    """
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) + 1 - node.level] if node.level else ()
        module = (*base, *([node.module] if node.module else ()))
        yield from (".".join([*module, alias.name]) for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        yield node.value


def _module_file(root: Path, name: str) -> Path | None:
    """Return the Python file that a dotted name such as `package.module` or `package.module.function` refers to.

    Returns None if there is no such file below the folder `root`.
    """
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for size in range(len(parts), 0, -1):
        stem = root.joinpath(*parts[:size])
        for file in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
            if file.exists():
                return file
    return None
