"""Digests of the code that a result depends on: they change with a rule or a player, not with docstrings."""

import ast
import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

PROJECT = ("felicity_env", "agents", "train", "experiments")  # packages that digests follow


def code_digest(*sources: Path) -> str:
    """Return 16 hex digits that change when the code of the given Python files, or code that they import, changes.

    Imports are followed through the file's own package and those of `PROJECT`, also imports inside functions. If a file
    belongs to no package, imports from its folder and those above it are followed too. An imported module brings the
    `__init__.py` of each package that it lies in, except in `PROJECT`, where those only pass names on. A string that is
    the dotted name of a module, as in a table of modules to import later, counts as an import. Comments, layout and
    docstrings do not count. All other code counts, also every text, because it may be a prompt or a table.
    """
    modules = (f"{path.parent.name}/{path.name}\0{_read_module(path).code}" for path in list_imported_files(*sources))
    return hashlib.sha256("\0".join(sorted(modules)).encode()).hexdigest()[:16]


def project_root(path: Path) -> Path:
    """Return the folder that contains the top-level package of a Python file.

    For a file without a package, it is the folder that contains the file.
    """
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


_OWN_ROOT = project_root(Path(__file__).resolve())


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
    """Parsed Python file: its code without docstrings, and the imported files that `code_digest` follows."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_bytes())
        root = project_root(path)
        package = path.relative_to(root).parts[:-1]
        names = {name for node in ast.walk(tree) for name in _list_imported_names(node, package)}
        self.imports = [
            file for name in names for place in _list_places(name, root, package) for file in _list_files(place, name)
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # it stands alone: a docstring
                node.value.value = ""
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
        yield from (".".join([*module, alias.name]).removesuffix(".*") for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        yield node.value


def _list_places(name: str, root: Path, package: tuple[str, ...]) -> list[Path]:
    """List the folders in which to look for a module that a file imports by its dotted name.

    root, package: the folder that contains the top-level package of the file, and the parts of the package's name. A
    file in no package may lie in a folder that is imported without an `__init__.py`, so the folders above count too.
    """
    top = name.split(".")[0]
    is_loose = not package and not {"site-packages", "dist-packages"} & {*root.parts}
    own = [root, *root.parents] if is_loose else [root] if top in package[:1] else []
    return [*own, _OWN_ROOT] if top in PROJECT else own


def _list_files(root: Path, name: str) -> list[Path]:
    """List the Python files below the folder `root` that run when a dotted name such as `package.module` is imported.

    The name may go on with that of something in the module, as in `package.module.function`.
    """
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return []
    stems = [root.joinpath(*parts[:size]) for size in range(1, len(parts) + 1)]
    files = [file for stem in stems for file in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py")]
    found = [file for file in files if os.path.isfile(file)]  # False if the folder must not be read
    return found[-1:] if parts[0] in PROJECT else found
