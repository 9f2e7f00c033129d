"""Plain language: docstrings that stand alone, functions named by verbs, the words of the glossary."""

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.support.paths import PRODUCT, ROOT

SOURCES = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
WORDS = {
    name: set(text.split()) for name, text in tomllib.loads((ROOT / "tests/support/words.toml").read_text()).items()
}
DIALECT = {  # words of before, and those of the glossary
    r"\blaid\b|\blays\b|\blay (a|its|the|their) cards?\b": "place",
    r"\b(the|its|their|a) worth\b": "value",
    r"\barms\b": "candidates, or variants",
    r"\bleads\b": "advantages",
    r"\bamortised\b": "(gone)",
    r"\blanes?\b": "games",
    r"\bwishes\b": "overrides",
}


def is_property(node: ast.AST) -> bool:
    names = {ast.unparse(decorator).split(".")[-1] for decorator in getattr(node, "decorator_list", [])}
    return bool(names & {"property", "cached_property"})


def first_word(docstring: str) -> str:
    return re.split(r"[\s,;:.]", docstring.strip().lstrip("`"), maxsplit=1)[0]


def definitions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef | ast.Module]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            yield node


def settings_texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of the docstrings below fields of classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for field, text in zip(node.body, node.body[1:], strict=False):
                is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
                if isinstance(field, ast.AnnAssign | ast.Assign) and is_text and isinstance(text.value.value, str):
                    yield text.lineno, text.value.value


def docstring_faults(source: str) -> list[str]:
    """Return what is mechanically wrong with the docstrings of a module."""
    tree, faults = ast.parse(source), []
    for node in definitions(tree):
        docstring, name = ast.get_docstring(node), getattr(node, "name", "the module")
        if not docstring:
            if isinstance(node, ast.Module) and node.body:
                faults.append("the module has no docstring")
            continue
        word = first_word(docstring)
        if word.lower() in WORDS["headless"]:
            faults.append(f"{name}: begins headless, with {word!r}")
        elif isinstance(node, ast.FunctionDef) and not is_property(node) and word.lower() not in WORDS["verbs"]:
            faults.append(f"{name}: begins with {word!r}, which is no verb in the imperative that is known here")
    faults += [
        f"line {n}: begins headless: {text[:40]!r}"
        for n, text in settings_texts(tree)
        if first_word(text).lower() in WORDS["headless"]
    ]
    return faults


def name_faults(source: str) -> list[str]:
    """Return the functions that are named by participles, or end in `_of`."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [node.name for node in functions if not is_property(node) and is_bad_name(node.name.strip("_"))]


def is_bad_name(name: str) -> bool:
    word = name.split("_")[0]
    is_participle = word in WORDS["participles"] or (word.endswith("ed") and word not in WORDS["not_participles"])
    return name not in WORDS["standard_terms"] and (is_participle or name.endswith("_of"))


def dialect_faults(source: str) -> list[str]:
    return [f"{match[0]!r}: write {instead}" for word, instead in DIALECT.items() if (match := re.search(word, source))]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_stand_alone(path):
    assert not docstring_faults(path.read_text())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_function_is_named_by_a_participle(path):
    assert not name_faults(path.read_text())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_are_those_of_the_glossary(path):
    assert not dialect_faults(path.read_text())


@pytest.mark.parametrize(
    "source",
    [
        '"""Module."""\ndef digest():\n    """Of the weights, 8 letters."""',
        '"""Module."""\ndef cores():\n    """Cores."""',
        '"""Module."""\ndef loss():\n    """What is to become less, and its parts."""',
        '"""For samples."""',
        '"""Module."""\nclass Config:\n    """Settings."""\n    rate: float = 1\n    """Of Adam at the start."""',
        "def undocumented_module():\n    pass",
    ],
)
def test_a_headless_docstring_is_noticed(source):
    assert docstring_faults(source)


@pytest.mark.parametrize("name", ["held", "_judged", "trained_by", "layers_of", "found"])
def test_a_participle_as_a_name_is_noticed(name):
    assert name_faults(f"def {name}():\n    pass")
