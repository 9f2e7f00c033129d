"""Mutants of a module: each changes one operator, number, condition or loop, by the operators of the tool cosmic-ray.

Not tested, because no rule depends on them: mutants of messages, of defaults and of annotations.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from typing import Any

TOOL = "cosmic-ray"
DEFINITIONS = ("funcdef", "classdef")


@dataclass(frozen=True)
class Mutant:
    """Change of a module: the operator and the number of its occurrence, as cosmic-ray counts them, and the place."""

    operator: str
    occurrence: int
    function: str  # dotted name of the innermost function or class around the change, or ""
    exclusion: str  # "message", "default" or "annotation": why it is not tested; or ""


def tool_version() -> str:
    """Return the name and the version of the tool that makes the mutants."""
    return f"{TOOL} {version(TOOL)}"


def list_mutants(source: str) -> list[Mutant]:
    """List all mutants of the source text of a module."""
    tree = import_module("cosmic_ray.ast").get_ast(source)
    nodes = list(import_module("cosmic_ray.ast").ast_nodes(tree))
    return [mutant for operator in _list_operators() for mutant in _list_of_operator(operator, tree, nodes)]


def _list_operators() -> list[str]:
    """Return the names of all operators of the tool that need no arguments."""
    plugins = import_module("cosmic_ray.plugins")
    return [name for name in plugins.operator_names() if not plugins.get_operator(name).arguments()]


def _list_of_operator(name: str, tree: Any, nodes: list[Any]) -> Iterator[Mutant]:
    operator = import_module("cosmic_ray.plugins").get_operator(name)()
    positions = (position for node in nodes for position in operator.mutation_positions(node))
    for occurrence, (start, _) in enumerate(positions):
        parents = list(_list_parents(tree.get_leaf_for_position(start, include_prefixes=True)))
        yield Mutant(name.removeprefix("core/"), occurrence, _find_function(parents), _find_exclusion(parents))


def _list_parents(leaf: Any) -> Iterator[Any]:
    """Yield a node of the syntax tree and all nodes around it, the innermost first."""
    while leaf is not None:
        yield leaf
        leaf = leaf.parent


def _find_function(parents: list[Any]) -> str:
    return ".".join(node.name.value for node in reversed(parents) if node.type in DEFINITIONS)


def _find_exclusion(parents: list[Any]) -> str:
    """Return why the mutants of a node are not tested, or ""."""
    for node, parent in pairwise(parents):
        if node.type == "raise_stmt" or (node.type == "fstring" and " " in node.get_code(include_prefix=False)):
            return "message"
        if parent.type == "annassign":
            return "annotation" if node is parent.children[1] else "default" if _is_field(parent) else ""
        if parent.type == "tfpdef" or (parent.type == "funcdef" and node is parent.annotation):
            return "annotation"
        if parent.type == "param":
            return "default"
    return ""


def _is_field(assignment: Any) -> bool:
    """Return whether an annotated assignment is a field of a class."""
    return (
        next(node for node in _list_parents(assignment) if node.type in (*DEFINITIONS, "file_input")).type == "classdef"
    )


def mutate(source: str, mutant: Mutant) -> str:
    """Return the source text with the change of a mutant."""
    operator = import_module("cosmic_ray.plugins").get_operator(f"core/{mutant.operator}")()
    changed = import_module("cosmic_ray.mutating").mutate_code(source, operator, mutant.occurrence)
    assert changed is not None, f"the tool makes no mutant {mutant}"
    return changed


def describe_change(source: str, changed: str) -> tuple[str, str]:
    """Return the line that a mutant changes and what becomes of it, "" if it is removed, with single blanks."""
    before, after = source.splitlines(), changed.splitlines()
    removed = len(before) - len(after)  # the tool also removes what is between a decorator and the code above it
    place = next(k for k, lines in enumerate(zip(before, [*after, ""], strict=False)) if lines[0] != lines[1])
    line, becomes = (before[place + removed - 1], "") if removed else (before[place], after[place])
    return " ".join(line.split()), " ".join(becomes.split())
