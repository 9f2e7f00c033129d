"""Pages in a real browser: whole games by keyboard and by mouse, replays, small screens, and no accessibility faults.

They need Chromium, Playwright and axe-core, which `.ci/full` installs: `build/axe.min.js` is its script.
"""

import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn

import agents
from agents.play.play_page import render_rules
from agents.play.review_game import review_game
from agents.play.review_page import render_review
from agents.play.server import TableServer, listen
from agents.play.table import open_table
from felicity_env.game import is_terminal
from felicity_env.render.replay import replay_html
from felicity_env.setups import standard_setup
from tests.support.helpers import random_game
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser("pages in Chromium")
AXE = ROOT / "build" / "axe.min.js"
HOST = "127.0.0.1"
SIZES = {"wide": (1320, 1000), "phone": (320, 700), "zoomed": (660, 500)}  # zoomed: what 200 % leaves of the wide one


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser) -> Iterator[Any]:
    """Yield a new page that notes errors and all addresses that it asks for."""
    context = browser.new_context(viewport={"width": 1320, "height": 1000})
    opened = context.new_page()
    opened.faults, opened.asked = [], []
    opened.on("pageerror", lambda error: opened.faults.append(str(error)))
    opened.on("request", lambda request: opened.asked.append(request.url))
    yield opened
    assert opened.faults == []
    context.close()


class Served:
    """Table that is served at an address of this machine."""

    def __init__(self, path: Path, players: tuple[str, ...], seed: int = 5, hints: bool = False) -> None:
        self.table = open_table(players, path / "game.txt", seed=seed)
        self.table.play_players()
        self.listening = listen(HOST, 0)
        seats = TableServer(self.table, hints=hints)
        self.server = uvicorn.Server(
            uvicorn.Config(seats.create_app([HOST]), log_level="error", timeout_graceful_shutdown=1)
        )
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]})
        port = self.listening.getsockname()[1]
        self.addresses = {seat: f"http://{HOST}:{port}/{token}/" for token, seat in seats.tokens.items()}

    def __enter__(self) -> "Served":
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        self.listening.close()


@pytest.fixture
def serve(tmp_path) -> Callable[..., Served]:
    return lambda *players, **options: Served(tmp_path, players, **options)


def list_violations(page: Any) -> list[str]:
    """Return the faults that axe-core finds in a page, in both colour schemes."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AXE.read_text())
        results = page.evaluate("axe.run()")
        found += [f"{scheme}: {each['id']}: {each['nodes'][0]['html'][:120]}" for each in results["violations"]]
    return found


def overflows(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def take_turn_by_keyboard(page: Any) -> None:
    """Act with keys alone: the first choice has the focus; every third bid is a pass."""
    page.keyboard.press("p" if len(page.inner_text("#moves")) % 3 == 0 and page.query_selector("#bid") else "Enter")


def take_turn_by_mouse(page: Any) -> None:
    """Act with the mouse alone: click the last choice, which is a pass in an auction."""
    page.query_selector_all("#choices button:not([disabled])")[-1].click()


def play_game(page: Any, address: str, take_turn: Callable[[Any], None]) -> None:
    page.goto(address)
    page.select_option("#pace", "0")
    for _ in range(400):
        page.wait_for_selector("#choices button:not([disabled]), #choices strong", state="attached")
        if page.query_selector("#choices strong"):
            return
        before = page.inner_text("#moves")
        take_turn(page)
        wait_until(lambda before=before: page.inner_text("#moves") != before)
    raise AssertionError("the game did not end")


# --- playing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("take_turn", [take_turn_by_keyboard, take_turn_by_mouse])
@pytest.mark.parametrize("seats", [3, 4, 5])
def test_a_whole_game_is_played(serve, page, seats, take_turn):
    others = ("anchor", "ev", "anchor", "ev")
    with serve("human", *others[: seats - 1]) as served:
        play_game(page, served.addresses[0], take_turn)
        assert is_terminal(served.table.state)
        assert "Winner" in page.inner_text("#position .words")
        assert {urlsplit(address).hostname for address in page.asked} == {HOST}


@pytest.mark.parametrize("size", SIZES)
def test_the_table_fits_every_screen_and_has_no_accessibility_faults(serve, page, size):
    with serve("human", "anchor", "ev", "anchor", hints=True) as served:
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(reduced_motion="reduce")
        page.goto(served.addresses[0])
        for _ in range(2):  # while placing, and in the auction
            page.wait_for_selector("#choices button:not([disabled])")
            assert not overflows(page)
            assert "\n".join(list_violations(page)) == ""
            page.keyboard.press("Enter")
            page.wait_for_selector("#choices input")


def test_events_are_announced_once_and_focus_is_on_the_next_decision(serve, page):
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        page.select_option("#pace", "0")
        page.wait_for_selector("#choices button")
        page.focus("#choices button")
        page.keyboard.press("Enter")
        page.wait_for_selector("#choices input")
        told = page.inner_text("#log").splitlines()
        assert len(told) == len(set(told)) > 0
        assert page.evaluate("document.activeElement.id") == "bid"


def test_a_card_is_placed_by_clicking_its_picture(serve, page):
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        page.wait_for_selector("#choices button")
        before = served.table.game.actions
        page.locator("#position svg > g:last-child > use[href$='-card-6']").click()
        page.wait_for_selector("#choices input")
        assert 6 in served.table.game.actions[len(before) :]


def test_a_small_page_does_not_scroll_away_from_the_buttons(serve, page, tmp_path):
    page.set_viewport_size({"width": 320, "height": 640})
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        page.wait_for_selector("#choices button")
        assert page.evaluate("scrollY") == 0
        page.query_selector("#choices button").click()
        page.wait_for_selector("#choices input")
        assert page.evaluate("scrollY") == 0
    page.goto(write_pages(tmp_path)["replay"].as_uri())
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("scrollY") == 0


def test_the_events_of_an_action_that_was_taken_back_are_not_shown(serve, page):
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        page.select_option("#pace", "0")
        page.wait_for_selector("#choices button")
        page.query_selector("#choices button").click()
        page.wait_for_selector("#choices input")
        page.click("#take-back")
        page.wait_for_selector("#choices button[data-action='2']")
        assert page.inner_text("#log") == ""


def test_a_reload_and_a_second_window_show_the_same_game(serve, page):
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        second = page.context.new_page()
        second.goto(served.addresses[0])
        page.wait_for_selector("#choices button")
        page.query_selector("#choices button").click()
        page.wait_for_selector("#choices input")
        second.wait_for_selector("#choices input")
        page.reload()
        page.wait_for_selector("#choices input")
        assert page.inner_text("#position") == second.inner_text("#position")


def test_another_game_begins_on_all_pages(serve, page):
    with serve("human", "anchor", "ev") as served:
        play_game(page, served.addresses[0], take_turn_by_mouse)
        second = page.context.new_page()
        second.goto(served.addresses[0])
        second.wait_for_selector("#choices strong")
        page.click("#new-game")
        for each in (page, second):
            each.wait_for_selector("#choices button:not([disabled])")
            assert not each.is_visible("#new-game")
        page.query_selector("#choices button").click()
        page.wait_for_selector("#choices input")
        second.wait_for_selector("#choices input")
        assert page.inner_text("#position") == second.inner_text("#position")


def test_an_action_is_taken_back(serve, page):
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        page.wait_for_selector("#choices button")
        shown = page.inner_text("#position")
        page.query_selector("#choices button").click()
        page.wait_for_selector("#choices input")
        page.click("#take-back")
        page.wait_for_selector("#choices button[data-action='2']")
        assert page.inner_text("#position") == shown


def test_a_page_says_that_the_table_does_not_answer(serve, page):
    with serve("human", "anchor", "ev") as served:
        page.goto(served.addresses[0])
        page.wait_for_selector("#choices button")
    page.query_selector("#choices button").click()
    page.wait_for_selector("#trouble:not([hidden])")
    assert "does not answer" in page.inner_text("#trouble")


# --- files ------------------------------------------------------------------------------------------------------------


def write_pages(folder: Path) -> dict[str, Path]:
    """Write a replay with all views, one of a seat, a review and the rules; return their files."""
    game = random_game(standard_setup(4), 1).game
    review = review_game(game, 1, agents.make("net"), worlds=5)
    pages = {
        "replay": replay_html(game),
        "seat": replay_html(game, 1),
        "review": render_review(review, "net"),
        "rules": render_rules(),
    }
    for name, html in pages.items():
        (folder / f"{name}.html").write_text(html)
    return {name: folder / f"{name}.html" for name in pages}


def test_pages_have_no_accessibility_faults_fit_every_screen_and_ask_for_nothing(page, tmp_path):
    for name, path in write_pages(tmp_path).items():
        page.asked.clear()
        page.goto(path.as_uri())
        for width, height in SIZES.values():
            page.set_viewport_size({"width": width, "height": height})
            assert not overflows(page), name
        assert "\n".join(list_violations(page)) == "", name
        assert page.asked == [path.as_uri()]


def test_a_replay_is_read_by_keyboard(page, tmp_path):
    path = write_pages(tmp_path)["replay"]
    page.goto(f"{path.as_uri()}#d=7")
    wait_until(lambda: page.inner_text("#now").startswith("7:"))
    for key, shown in (("ArrowRight", "8"), ("ArrowLeft", "7"), ("End", None), ("Home", "0")):
        page.keyboard.press(key)
        number = page.input_value("#decision")
        assert number == (shown or page.get_attribute("#decision", "max"))
        assert re.search(rf"#d={number}\b", page.url)
    page.keyboard.press("PageDown")
    assert page.input_value("#round") == "1"
    everything = page.inner_text("#position")
    page.keyboard.press("v")
    assert "you" in page.inner_text("#position")
    assert page.inner_text("#position") != everything
    page.keyboard.press("h")
    assert page.is_checked("#hide")
    assert page.locator(".moves li:visible").count() == int(page.input_value("#decision"))
