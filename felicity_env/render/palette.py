"""Colours of pictures: a theme gives a colour to each role, such as the table or the ink.

The colours of the animals are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which people with any kind of
colour vision can tell apart. Every card also has its number or letter.
"""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Theme:
    """Colours of a picture by role, and the name of the theme."""

    name: str
    colours: dict[str, str]

    def __getitem__(self, role: str) -> str:
        return self.colours[role]


_LIGHT = {
    "table": "#dfe7e2",
    "panel": "#f6f8f6",
    "line": "#b3c0b8",
    "ink": "#1d2622",
    "muted": "#56635c",
    "accent": "#b34700",
    "card": "#fffdf7",
    "card_line": "#7d7668",
    "card_ink": "#1d2622",
    "back": "#7a8f86",
    "back_line": "#a9bab2",
    "good": "#56b4e9",
    "bad": "#d55e00",
    "rabbit": "#e6dfc8",
    "large_dog": "#e69f00",
    "small_dog": "#cc79a7",
    "mouse": "#8a8f94",
    "full": "#fff3c4",
    "empty": "#d3dad6",
}
_DARK = _LIGHT | {
    "table": "#18211d",
    "panel": "#223029",
    "line": "#48594f",
    "ink": "#eef3f0",
    "muted": "#adbbb3",
    "accent": "#ffb066",
    "card": "#efebdf",
    "back": "#3f5a4e",
    "back_line": "#5f7d6f",
    "mouse": "#c3c8cc",
    "full": "#5a4d16",
    "empty": "#2c3a33",
}
_PRINT = dict.fromkeys(_LIGHT, "#ffffff") | {
    "line": "#888888",
    "ink": "#000000",
    "muted": "#444444",
    "accent": "#000000",
    "card_line": "#000000",
    "card_ink": "#000000",
    "back": "#cccccc",
    "back_line": "#ffffff",
    "bad": "#bbbbbb",
    "large_dog": "#dddddd",
    "small_dog": "#dddddd",
    "mouse": "#888888",
    "full": "#eeeeee",
}
THEMES = {name: Theme(name, colours) for name, colours in (("light", _LIGHT), ("dark", _DARK), ("print", _PRINT))}
PAGE_THEME = Theme("page", {role: f"var(--{role})" for role in _LIGHT})  # the style sheet of a page sets the colours


def find_theme(name: str) -> Theme:
    """Return the theme of this name. Raises `ValueError` if there is none."""
    if name not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(map(repr, THEMES))}, not {name!r}")
    return THEMES[name]


def css_variables(name: str) -> str:
    """Return the colours of a theme as declarations of CSS variables, for pages that use PAGE_THEME."""
    return ";".join(f"--{role}:{colour}" for role, colour in find_theme(name).colours.items())
