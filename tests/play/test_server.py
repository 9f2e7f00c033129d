"""Table in the browser: each person sees one seat, and whatever a page sends, the game stays right."""

import gc
import json
import random
import re
import socket
import threading
import time
import tracemalloc

import pytest
import uvicorn
from starlette.testclient import TestClient

import agents
from agents.play import server as serving
from agents.play.play_page import render_rules
from agents.play.server import TableServer, listen
from agents.play.table import open_table
from agents.tools.files import UserError
from felicity_env import notation
from felicity_env.game import NUM_ACTIONS, NUM_CARDS
from felicity_env.game_record import list_legal_actions
from felicity_env.notation import card_text

HOST = "127.0.0.1"
PLAYERS = ("human", "anchor", "human", "ev")


class Guests:
    """People in front of their pages: clients of a table, by seat."""

    def __init__(self, path, players=PLAYERS, *, hints: bool = False) -> None:
        self.table = open_table(players, path / "game.txt", seed=4)
        self.table.play_players()
        self.server = TableServer(self.table, hints=hints)
        self.client = TestClient(self.server.create_app([HOST]), base_url=f"http://{HOST}")
        self.tokens = {seat: token for token, seat in self.server.tokens.items()}

    def get(self, seat: int, path: str, **options):
        return self.client.get(f"/{self.tokens[seat]}/{path}", **options)

    def post(self, seat: int, path: str, message):
        content = message if isinstance(message, bytes) else json.dumps(message)
        return self.client.post(f"/{self.tokens[seat]}/{path}", content=content)

    def act(self, seat: int, action: int | None = None):
        action = list_legal_actions(self.table.state)[0] if action is None else action
        message = {"version": self.table.version, "action": action, "since": len(self.table.game.actions)}
        return self.post(seat, "act", message)

    def play(self, decisions: int = 1000) -> None:
        while self.table.acting is not None and decisions:
            assert self.act(self.table.acting).status_code == 200
            decisions -= 1


@pytest.fixture
def guests(tmp_path):
    with (guests := Guests(tmp_path)).client:
        yield guests


# --- what a page gets -------------------------------------------------------------------------------------------------


def test_a_page_holds_the_position_and_asks_nobody_else(guests):
    answer = guests.get(0, "")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    for text in ("as seat 0 sees it", "Rules", 'role="log"', "<table"):
        assert text in answer.text


def test_an_action_is_answered_with_all_that_follows_up_to_the_next_decision(guests):
    seat = guests.table.acting
    before = len(guests.table.game.actions)
    answer = guests.post(seat, "act", {"version": guests.table.version, "action": 0, "since": before}).json()
    assert answer["first"] == before
    assert len(answer["positions"]) == len(guests.table.game.actions) - before + 1
    assert answer["version"] == guests.table.version
    assert guests.table.acting in (0, 2)


def test_whole_games_are_played(guests):
    guests.play()
    answer = guests.get(2, "table?since=0").json()
    assert answer["over"]
    assert answer["choices"] is None
    assert len(answer["positions"]) == len(guests.table.game.actions) + 1


def test_another_game_begins_once_and_all_pages_hear_of_it(guests):
    guests.play()
    message = {"version": guests.table.version, "since": 0}
    answer = guests.post(0, "new-game", message).json()
    assert (answer["number"], answer["over"], answer["version"]) == (2, False, guests.table.version)
    assert guests.post(2, "new-game", message).status_code == 409
    assert guests.get(2, "table?since=1000").json()["number"] == 2


def test_a_page_that_was_opened_again_shows_the_game_as_it_is(guests):
    guests.play(3)
    first, second = (guests.get(0, "table?since=1000000").json() for _ in range(2))
    assert first == second
    assert len(first["positions"]) == 1


def test_a_page_that_has_seen_everything_waits_for_news_for_a_while(guests, monkeypatch):
    monkeypatch.setattr(serving, "WAIT", 0.2)
    started = time.monotonic()
    answer = guests.get(0, f"table?since=0&version={guests.table.version}")
    assert answer.status_code == 200
    assert time.monotonic() - started > 0.15


def test_news_end_the_wait_of_a_page_that_has_seen_everything(guests, monkeypatch):
    monkeypatch.setattr(serving, "WAIT", 20.0)
    answers, version = [], guests.table.version
    page = threading.Thread(target=lambda: answers.append(guests.get(2, f"table?since=0&version={version}").json()))
    page.start()
    page.join(0.2)
    assert page.is_alive()
    assert guests.act(guests.table.acting).status_code == 200
    page.join(5)
    was_told = not page.is_alive()
    page.join()
    assert was_told
    assert answers[0]["version"] == guests.table.version > version


def test_the_choices_are_the_legal_actions(guests):
    while guests.table.acting is not None:
        seat = guests.table.acting
        choices = guests.get(seat, "table?since=1000000").json()["choices"]
        legal = list_legal_actions(guests.table.state)
        if "cards" in choices:
            assert tuple(action for action, _ in choices["cards"]) == legal
        else:
            low, high = choices["lowest"], choices["highest"]
            assert (10, *(10 + bid for bid in range(low, high + 1) if low)) == legal
        guests.act(seat)


# --- what a seat may not know -----------------------------------------------------------------------------------------


def test_the_notation_is_given_out_when_the_game_is_over(guests):
    assert guests.get(0, "game.txt").status_code == 403
    guests.play()
    assert notation.loads(guests.get(0, "game.txt").text) == guests.table.game


def test_hints_are_given_only_at_a_table_with_hints(tmp_path):
    guests = Guests(tmp_path)
    assert guests.get(guests.table.acting, "hint").status_code == 404
    assert 'id="hint" type="button" hidden' in guests.get(0, "").text


def test_hints_are_the_probabilities_of_the_reference_player(tmp_path):
    guests = Guests(tmp_path, ("human", "anchor", "ev"), hints=True)
    hint = guests.get(0, "hint").json()["hint"]
    assert hint.startswith("The reference player would place")
    probabilities = agents.make("net").probabilities(guests.table.view())[0]
    expected = sorted(((probabilities[card], card_text(card)) for card in range(NUM_CARDS)), reverse=True)[:5]
    named = re.findall(r"place (\S+) \((\d+)%\)", hint)
    assert named == [(card, f"{100 * share:.0f}") for share, card in expected if share > 0.005]


def test_another_token_sees_nothing(guests):
    for path in ("", "table", "hint", "game.txt", "review"):
        assert guests.client.get(f"/nobody/{path}").status_code == 404
    for path in ("act", "take-back", "review"):
        assert guests.client.post(f"/nobody/{path}", content="{}").status_code == 404


def test_another_host_is_refused(guests):
    answer = guests.get(0, "", headers={"host": "evil.example"})
    assert answer.status_code == 400


# --- messages that are wrong ------------------------------------------------------------------------------------------


def send_nonsense(guests: Guests, count: int) -> None:
    """Send `count` malformed, old, foreign and illegal messages; check that each is refused and changes nothing."""
    rng = random.Random(5)
    seat = guests.table.acting
    version, game, legal = guests.table.version, guests.table.game, list_legal_actions(guests.table.state)
    other = 2 - seat
    illegal = [action for action in range(-3, NUM_ACTIONS + 3) if action not in legal]
    for number in range(count):
        message = {"version": version, "action": rng.choice(legal), "since": 0}
        kind = number % 6
        if kind == 0:
            answer = guests.post(seat, "act", rng.randbytes(rng.randrange(40)))
        elif kind == 1:
            answer = guests.post(seat, "act", message | {"version": rng.randrange(-5, version)})
        elif kind == 2:
            answer = guests.post(other, "act", message)
        elif kind == 3:
            answer = guests.post(seat, "act", message | {"action": rng.choice(illegal)})
        elif kind == 4:
            answer = guests.post(seat, "act", {key: message[key] for key in rng.sample(sorted(message), 2)})
        else:
            answer = guests.post(seat, "take-back", {"version": version, "since": rng.randrange(9)})
        assert answer.status_code == 409
        assert answer.json()["error"]
        assert (guests.table.game, guests.table.version) == (game, version)


def test_wrong_messages_are_refused_with_a_reason_and_change_nothing(guests):
    guests.play(5)
    send_nonsense(guests, 300)


@pytest.mark.long("20,000 wrong messages")
def test_many_wrong_messages_change_nothing_and_fill_no_memory(guests):
    guests.play(5)
    send_nonsense(guests, 500)
    tracemalloc.start()
    send_nonsense(guests, 500)
    gc.collect()  # what the client of the test leaves behind
    before = tracemalloc.get_traced_memory()[0]
    send_nonsense(guests, 20_000)
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 1.05 * before + 100_000
    tracemalloc.stop()


def test_a_long_message_is_refused(guests):
    answer = guests.post(0, "act", b" " * 5000)
    assert (answer.status_code, answer.json()) == (409, {"error": "a message has at most 1000 bytes"})


def test_a_message_sent_twice_counts_once(guests):
    seat, version = guests.table.acting, guests.table.version
    message = {"version": version, "action": list_legal_actions(guests.table.state)[0], "since": 0}
    assert [guests.post(seat, "act", message).status_code for _ in range(2)] == [200, 409]


def test_what_is_no_number_in_an_address_is_refused_and_a_number_out_of_range_is_not(guests):
    assert guests.get(0, "table?since=x").status_code == 400
    assert guests.get(0, "table?since=-7&version=-2").status_code == 200


# --- review and rules -------------------------------------------------------------------------------------------------


def test_a_game_is_reviewed_when_it_is_over(guests, monkeypatch):
    assert guests.post(0, "review", {}).status_code == 403
    guests.play()
    review = serving.review_game
    monkeypatch.setattr(serving, "review_game", lambda *args, **options: review(*args, worlds=2, **options))
    assert (
        guests.post(0, "review", {}).json().keys()
        == guests.get(0, "review").json().keys()
        == {"done", "total", "ready"}
    )
    for thread in threading.enumerate():
        if thread.name == "review of seat 0":
            thread.join()
    assert guests.get(0, "review").json()["ready"]
    assert "review of seat 0" in guests.get(0, "review?page").text
    assert guests.get(2, "review").status_code == 404


def test_the_page_of_rules_has_pictures_of_all_cards(guests):
    assert guests.get(0, "rules").text == render_rules()
    assert render_rules().count("<use href=") == 10


# --- listening --------------------------------------------------------------------------------------------------------


def test_a_port_in_use_is_named_with_what_to_do():
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} is in use; choose another one with --port"):
            listen(HOST, port)


@pytest.mark.parametrize(("host", "message"), [("0.0.0.0", "one address"), ("203.0.113.1", "cannot listen on")])
def test_an_address_that_is_not_of_this_machine_is_refused(host, message):
    with pytest.raises(UserError, match=message):
        listen(host, 0)


def test_a_client_that_goes_away_does_not_stop_the_table(guests):
    listening = listen(HOST, 0)
    server = uvicorn.Server(uvicorn.Config(guests.server.create_app([HOST]), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    address = listening.getsockname()
    for text in (b"GET / HT", f"GET /{guests.tokens[0]}/table HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()):
        with socket.create_connection(address) as gone:
            gone.sendall(text)
    with socket.create_connection(address) as client:
        client.sendall(f"GET /{guests.tokens[0]}/ HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    server.should_exit = True
    thread.join(10)
    assert not thread.is_alive()
