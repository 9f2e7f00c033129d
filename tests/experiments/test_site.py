"""The check of the documentation site: links without a target and files from outside are found."""

from pathlib import Path

import pytest

from experiments.pages.site import find_faults

PAGE = '<html><body><h1 id="top">Title</h1>{}</body></html>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "api").mkdir()
    (tmp_path / "index.html").write_text(PAGE.format('<a href="api/game.html#top">game</a><img src="cat.png">'))
    (tmp_path / "api" / "game.html").write_text(PAGE.format('<a href="../index.html">home</a><a href="#top">up</a>'))
    (tmp_path / "cat.png").write_bytes(b"")
    return tmp_path


def test_a_site_whose_links_have_targets_has_no_fault(site):
    assert find_faults(site) == []


def test_links_to_other_sites_are_not_followed(site):
    (site / "index.html").write_text(PAGE.format('<a href="https://example.org/none">elsewhere</a>'))
    assert find_faults(site) == []


@pytest.mark.parametrize("link", ["none.html", "api/game.html#none", "#none", "../none.txt"])
def test_a_link_without_a_target_is_named_with_its_page(site, link):
    (site / "index.html").write_text(PAGE.format(f'<a href="{link}">away</a>'))
    assert find_faults(site) == [f"index.html: {link} does not exist"]


@pytest.mark.parametrize("tag", ['<script src="{}">', '<link href="{}">', '<img src="{}">'])
def test_a_page_that_loads_a_file_from_outside_is_named(site, tag):
    (site / "api" / "game.html").write_text(PAGE.format(tag.format("https://example.org/a")))
    assert find_faults(site) == ["api/game.html loads https://example.org/a from outside"]
