"""Settings of the documentation site, which `python -m experiments site` builds."""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

os.environ["NUMBA_DISABLE_JIT"] = "1"  # as plain functions, kernels show their signatures and docstrings

import felicity_env

project, author = "felicity-env", "the felicity-env developers"
release = version = felicity_env.__version__
project_copyright = f"2026, {author}"
html_title = f"felicity-env {release}"

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton", "myst_nb"]
html_theme = "furo"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]  # a wider column, for tables and code

default_role = "code"  # docstrings write `code` with single quotes
viewcode_follow_imported_members = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
autodoc_default_options = {"members": True, "show-inheritance": True}

nb_execution_mode = "off"  # the stored outputs are those of an execution: `python -m experiments notebooks --check`
suppress_warnings = ["misc.highlighting_failure"]  # the lexer of IPython does not know continued shell lines
nb_ipywidgets_js = {}  # no notebook shows widgets, and pages load nothing from outside
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"

DOCS = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")


def include_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace each line `This page is [NAME](PATH).` by the page at PATH.

    A line `This page begins with [NAME](PATH#END).` is replaced by the part before the heading with the anchor END.
    """
    line = r"^This page (?:is|begins with) \[[^]]+\]\(([^)#]+)#?([^)]*)\)\.$"
    source[0] = re.sub(line, _read_page, source[0], flags=re.MULTILINE)


def _read_page(match: re.Match[str]) -> str:
    path = (DOCS / match[1]).resolve()
    text = path.read_text()
    if match[2]:
        heading = match[2].replace("-", " ")
        text = re.split(rf"\n## {heading}\n", text, flags=re.IGNORECASE)[0]
    return LINK.sub(lambda link: _move_link(link, path.parent), text)


def _move_link(link: re.Match[str], folder: Path) -> str:
    """Return a link of a page in `folder` as it is written in `docs`; a file that is not on the site becomes code."""
    is_image, text, path, anchor = link[1], link[2], link[3], link[4] or ""
    target = os.path.relpath(folder / path, DOCS)
    page = INCLUDED.get(target, target)
    if is_image or not page.startswith(".."):
        return f"{is_image}[{text}]({page}{anchor})"
    return text if text.startswith("`") else f"`{text}`"


INCLUDED = {  # pages outside of this folder, and the pages of the site that include them
    "../experiments/README.md": "experiments.md",
    "../agents/net/README.md": "model_card.md",
    "../felicity_env/RULES.md": "exact_rules.md",
    "../CHANGELOG.md": "changelog.md",
}


def setup(app: Sphinx) -> None:
    """Register the inclusion of pages with Sphinx."""
    app.connect("source-read", include_pages)
