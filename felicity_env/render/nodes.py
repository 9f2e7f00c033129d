"""Elements of SVG and HTML documents, and the changes that lead from one document to the next."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import zip_longest
from typing import Any


@dataclass(frozen=True)
class Node:
    """Element of a document: its tag, its attributes, and its text or its child elements."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: tuple["Node", ...] = ()
    text: str = ""

    @cached_property
    def markup(self) -> str:
        """The element as markup, with all elements inside it."""
        written = "".join(f' {name}="{escape(value)}"' for name, value in self.attributes.items())
        inside = escape(self.text, quote=False) + "".join(child.markup for child in self.children)
        return f"<{self.tag}{written}>{inside}</{self.tag}>"

    def walk(self) -> Iterator["Node"]:
        """Yield the element and all elements inside it, in the order in which a document lists them."""
        yield self
        for child in self.children:
            yield from child.walk()


Change = list[Any]  # [index of the element in the order of `walk`, new text or None, {name: new value of an attribute}]


def list_changes(before: Node, after: Node) -> list[Change]:
    """List the changes of texts and attributes that turn one document into another with the same elements.

    Raises `ValueError` if the elements or the names of their attributes differ.
    """
    changes: list[Change] = []
    for index, (old, new) in enumerate(zip_longest(before.walk(), after.walk())):
        if old is None or new is None or old.tag != new.tag or old.attributes.keys() != new.attributes.keys():
            raise ValueError(f"element {index} is {_name(old)} before and {_name(new)} after")
        attributes = {name: value for name, value in new.attributes.items() if old.attributes[name] != value}
        if attributes or old.text != new.text:
            changes.append([index, new.text if old.text != new.text else None, attributes])
    return changes


def _name(node: Node | None) -> str:
    return "missing" if node is None else f"<{node.tag} {' '.join(node.attributes)}>"
