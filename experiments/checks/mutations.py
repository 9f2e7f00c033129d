"""Mutants of a module, made by the tool cosmic-ray: each changes one operator, number, condition or loop of the code.

Mutants of messages, of default values and of annotations are marked, because they are not tested: no rule of the game
depends on them.
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
    """One small change of a module: the kind of change, its number as cosmic-ray counts them, and its place."""

    operator: str
    occurrence: int
    function: str  # dotted name of the innermost function or class around the change, or ""
    exclusion: str  # "message", "default" or "annotation": why it is not tested; or ""


def tool_version() -> str:
    """Return the name and version of the tool that makes the mutants (small changes of the code), as one text."""
    return f"{TOOL} {version(TOOL)}"


def list_mutants(source: str) -> list[Mutant]:
    """Return all mutants of a module, given its source text: every small change that the tool cosmic-ray can make."""
    tree = import_module("cosmic_ray.ast").get_ast(source)
    nodes = list(import_module("cosmic_ray.ast").ast_nodes(tree))
    return [mutant for operator in _list_operators() for mutant in _list_of_operator(operator, tree, nodes)]


def _list_operators() -> list[str]:
    """Return the names of all operators (kinds of change) of the tool cosmic-ray that need no arguments."""
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
    """Return why a change at some place of the code is not tested, or "" if it is tested.

    The reasons are "message", "annotation" and "default". `parents` are the node of the syntax tree at that place and
    all nodes around it, the innermost first.
    """
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
    """Return whether an annotated assignment in a syntax tree defines a field of a class, rather than a variable."""
    return (
        next(node for node in _list_parents(assignment) if node.type in (*DEFINITIONS, "file_input")).type == "classdef"
    )


def mutate(source: str, mutant: Mutant) -> str:
    """Return the source text of a module after the change of a mutant is made."""
    operator = import_module("cosmic_ray.plugins").get_operator(f"core/{mutant.operator}")()
    changed = import_module("cosmic_ray.mutating").mutate_code(source, operator, mutant.occurrence)
    assert changed is not None, f"the tool makes no mutant {mutant}"
    return changed


def describe_change(source: str, changed: str) -> tuple[str, str]:
    """Return the line of code that a mutant changes, and its new text, which is "" if the line is removed.

    source, changed: the text of the module before and after the change. In both results, each series of blanks is
    replaced by one.
    """
    before, after = source.splitlines(), changed.splitlines()
    removed = len(before) - len(after)  # the tool also removes what is between a decorator and the code above it
    place = next(k for k, lines in enumerate(zip(before, [*after, ""], strict=False)) if lines[0] != lines[1])
    line, becomes = (before[place + removed - 1], "") if removed else (before[place], after[place])
    return " ".join(line.split()), " ".join(becomes.split())
