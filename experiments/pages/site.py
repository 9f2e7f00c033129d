"""Command that builds the documentation as a web site and checks its links: `python -m experiments site`.

The build needs no network. It fails at any warning of Sphinx, at a link to a page or place that does not exist, and at
a page that loads anything from outside.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from agents.tools.command import print_error
from agents.tools.files import UserError

DOCS = Path(__file__).resolve().parents[2] / "docs"
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}  # tags whose target a browser loads


@dataclass(frozen=True)
class Config:
    """Build the documentation as a web site; open `index.html` in its folder with a browser."""

    resumes: ClassVar[bool] = False
    out: Path = Path("build/docs")
    """Folder in which the web site is built."""


@dataclass
class _Page(HTMLParser):
    """Links, loaded files and anchors of an HTML page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Store the link of an HTML tag, the file that it loads, and the anchor that it defines."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


def read_pages(folder: Path) -> dict[Path, _Page]:
    """Read all HTML pages of a web site; return the links, loaded files and anchors of each page, by path."""
    pages = {}
    for path in sorted(folder.resolve().rglob("*.html")):
        page = pages[path] = _Page()
        page.feed(path.read_text())
    return pages


def find_faults(folder: Path) -> list[str]:
    """Return a line of text for each fault of a web site.

    A fault is a link whose target does not exist, or a file that a page loads from outside the site. folder: the site.
    """
    pages, faults = read_pages(folder), []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        faults += [f"{name} loads {target} from outside" for target in page.loaded if urlsplit(target).netloc]
        faults += [f"{name}: {target} does not exist" for target in page.links if not _exists(path, target, pages)]
    return faults


def _exists(page: Path, link: str, pages: dict[Path, _Page]) -> bool:
    """Return whether the target of a link exists: the file, and the anchor in it if the link names one.

    A link to another site is not checked and counts as good. page: path of the page with the link. pages: all pages.
    """
    target = urlsplit(link)
    if target.scheme or target.netloc:
        return True
    path = (page.parent / unquote(target.path)).resolve() if target.path else page
    known = path in pages and (not target.fragment or unquote(target.fragment) in pages[path].anchors)
    return known or (path.is_file() and path not in pages)


def main(config: Config) -> int:
    """Build the web site, print the faults that are found in it, and return the exit status, 1 if there are faults."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(config.out)]
    if subprocess.run(command, check=False).returncode:
        raise UserError("the documentation has the faults above")
    faults = find_faults(config.out)
    for fault in faults:
        print_error(fault)
    print(f"open {config.out / 'index.html'}")
    return int(bool(faults))
