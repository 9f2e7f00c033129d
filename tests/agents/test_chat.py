"""Language models at the table: prompts, answers, a stand-in server, time limits and costs."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

import agents
from agents.arena.games import Games
from agents.chat.client import KEY
from agents.chat.prompt import RULES, read_action, write_messages
from agents.data.play import play_games
from felicity_env import Batch, felicity_v0
from felicity_env.game import PASS
from felicity_env.game_record import action_text, list_legal_actions
from felicity_env.information import redact, resample
from felicity_env.setups import standard_setup


class Server:
    """Stand-in for a chat-completions server; `answer(request)` returns a text, a status and a body, or all bytes."""

    def __init__(self, answer: Any) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(request | {"path": self.path})
                outer.keys.append(self.headers.get("Authorization"))
                found = answer(request)
                if isinstance(found, bytes):
                    self.wfile.write(found)
                    return
                status, body = found if isinstance(found, tuple) else (200, complete(found))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def code(self, *options: str) -> str:
        return ",".join([f"chat:http://127.0.0.1:{self.http.server_port}/v1", "model:7b", *options])


def complete(text: str) -> bytes:
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}).encode()


@pytest.fixture
def serve():
    servers = []

    def start(answer: Any) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.http.shutdown()
        server.http.server_close()


def last_legal(request: dict[str, Any]) -> str:
    """Answer with the last of the legal actions that the prompt lists: in an auction, the highest bid."""
    prompt = request["messages"][1]["content"]
    return f"I think.\nACTION: {prompt.split('Your legal actions: ')[1].split('.')[0].split(', ')[-1]}"


def new_game(seed: int = 1) -> Any:
    env = felicity_v0.raw_env(4)
    env.reset(seed=seed)
    return env


# --- prompts and answers ----------------------------------------------------------------------------------------------


def test_a_prompt_has_the_rules_the_position_and_the_legal_actions():
    env = new_game()
    view = env.view()
    rules, question = write_messages(view.states[0])
    assert rules == {"role": "system", "content": RULES}
    assert f"(you are seat {view.seats[0]})" in question["content"]
    for action in list_legal_actions(view.states[0]):
        assert action_text(action) in question["content"]


def test_a_prompt_is_the_same_in_all_worlds_that_the_seat_thinks_possible():
    env = new_game()
    for _ in range(7):
        env.step(list_legal_actions(env.game.final_states()[0])[0])
    states = env.game.final_states()
    seat = int(states["seat"][0])
    worlds = resample(redact(np.repeat(states, 8), seat), np.random.default_rng(1))
    assert len({world.tobytes() for world in worlds}) > 1
    assert len({json.dumps(write_messages(world)) for world in redact(worlds, seat)}) == 1


ANSWERS = {
    "ACTION: place 3": 2,
    "I bid.\n\nACTION: place 3\n": 2,
    "action:   place   3  ": 2,
    "**ACTION: place 3**": 2,
    "- ACTION: `place 3`.": 2,
    "ACTION: place 5\nNo: better\nACTION: place 3": 2,
    "ACTION: place R": 7,
}


@pytest.mark.parametrize(("answer", "action"), ANSWERS.items(), ids=range(len(ANSWERS)))
def test_an_action_is_read_from_the_last_line_that_names_one(answer, action):
    env = felicity_v0.raw_env(4)
    env.reset(options={"deal": {"removed": [0, 0, 0, 0], "start_seat": 0}})
    assert read_action(answer, env.view().states[0]) == action


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", 'has no line that begins with "ACTION:"'),
        ("I place 3.", 'has no line that begins with "ACTION:"'),
        ("ACTION: the rabbit", "'the rabbit' is no action; actions are"),
        ("ACTION: place 4", "'4' is no card"),
        ("ACTION: bid 3", "bid 3 is not legal: it may place"),
        ("ACTION: place -8", "place -8 is not legal"),
        ("ACTION: bid 99999999999", "is no bid"),
    ],
)
def test_what_is_no_action_is_refused_with_the_reason(answer, reason):
    env = felicity_v0.raw_env(4)
    env.reset(options={"deal": {"removed": [0, 0, 0, 0], "start_seat": 0}})
    with pytest.raises(ValueError, match=reason):
        read_action(answer, env.view().states[0])


# --- games ------------------------------------------------------------------------------------------------------------


def test_a_model_plays_whole_games_and_its_tokens_are_counted(serve):
    server = serve(last_legal)
    player, batch = agents.make(server.code("temperature=0.5", "tokens=50")), Batch(3, 4, seed=2, autoreset=False)
    decisions = 0
    while (going := np.flatnonzero(batch.seats >= 0)).size:
        batch.step(player.act(batch.view(going)), going)
        decisions += len(going)
    assert (player.usage.decisions, player.usage.requests, player.usage.failures) == (decisions, decisions, 0)
    assert (player.usage.prompt_tokens, player.usage.completion_tokens) == (100 * decisions, 7 * decisions)
    first = server.requests[0]
    assert (first["path"], first["model"]) == ("/v1/chat/completions", "model:7b")
    assert (first["temperature"], first["max_tokens"]) == (0.5, 50)


def test_a_model_is_told_why_and_asked_again(serve):
    def answer(request):
        return "I pass" if len(request["messages"]) == 2 else last_legal(request)

    server, env = serve(answer), new_game()
    player = agents.make(server.code())
    assert int(player.act(env.view())[0]) == list_legal_actions(env.game.final_states()[0])[-1]
    assert player.usage.requests == 2
    again = server.requests[1]["messages"]
    assert [message["role"] for message in again] == ["system", "user", "assistant", "user"]
    assert 'no line that begins with "ACTION:"' in again[-1]["content"]


def test_a_model_that_gives_no_action_forfeits_its_game_and_the_log_says_why(serve, tmp_path):
    server = serve(lambda request: "ACTION: bid 63")
    player = agents.make(server.code("attempts=2", f"log={tmp_path / 'chat.jsonl'}"))
    setup, batch = standard_setup(4), Batch(1, 4, seed=3)
    games = Games(setup, batch.states.copy(), batch.game_seeds.copy(), np.array([[0, 1, 1, 1]]))
    games.play([player, agents.make("ev")])
    assert games.forfeited.tolist() == [0]
    lines = [json.loads(line) for line in (tmp_path / "chat.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert "bid 63 is not legal: it may place" in lines[-1]["refused"]
    assert (lines[-1]["answer"], lines[-1]["action"]) == ("ACTION: bid 63", None)
    assert lines[-1]["usage"]["prompt_tokens"] == 200
    assert (player.usage.decisions, player.usage.failures) == (1, 1)


def test_a_slow_answer_is_a_failed_attempt(serve):
    is_over = threading.Event()

    def answer(request):
        is_over.wait(60)
        return "ACTION: pass"

    player = agents.make(serve(answer).code("seconds=0.2", "attempts=2"))
    try:
        assert player.act(new_game().view()).tolist() == [-1]
    finally:
        is_over.set()
    assert (player.usage.requests, player.usage.failures) == (2, 1)


@pytest.mark.parametrize(
    "body", [(500, b""), (429, b"later"), (200, b"no json"), (200, b"{}"), (200, b'{"choices": []}')]
)
def test_a_broken_answer_is_a_failed_attempt(serve, body):
    player = agents.make(serve(lambda request: body).code("attempts=2"))
    assert player.act(new_game().view()).tolist() == [-1]
    assert player.usage.requests == 2


@pytest.mark.parametrize(
    "sent", [b"", b"no HTTP\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n99\r\n{"]
)
def test_a_connection_that_the_server_ends_is_a_failed_attempt(serve, sent):
    player = agents.make(serve(lambda request: sent).code("attempts=2"))
    assert player.act(new_game().view()).tolist() == [-1]
    assert (player.usage.requests, player.usage.failures) == (2, 1)


def test_a_server_that_refuses_is_an_error_that_says_what_to_do(serve):
    player = agents.make(serve(lambda request: (401, b"")).code())
    with pytest.raises(OSError, match="refuses the request: 401 ") as caught:
        player.act(new_game().view())
    assert f"; set its key in the variable {KEY}" in str(caught.value)


def test_a_server_that_is_not_there_is_named(serve):
    server = serve(last_legal)
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(OSError, match=r"no server answers at http://127\.0\.0\.1"):
        agents.make(server.code()).act(new_game().view())


def test_a_key_is_sent_and_is_in_no_code(serve, monkeypatch):
    monkeypatch.setenv(KEY, "secret")
    server = serve(last_legal)
    agents.make(server.code()).act(new_game().view())
    assert server.keys == ["Bearer secret"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("chat", "'chat' takes address and model after the colon"),
        ("chat:localhost,m", "begins with http:// or https://"),
        ("chat:http://a", "takes address and model"),
        ("chat:http://a,m,seconds=0", "chat: seconds must be a number from 0.1 to 3600, not '0'"),
        ("chat:http://a,m,attempts=x", "chat: attempts must be a number from 1 to 100, not 'x'"),
        ("chat:http://a,m,attempts=2.5", "chat: attempts must be a whole number, not '2.5'"),
        ("chat:http://a,m,seconds=nan", "chat: seconds must be"),
        ("chat:http://a,m,speed=9", "has no option 'speed=9'"),
    ],
)
def test_wrong_codes_are_refused(code, message):
    with pytest.raises(ValueError, match=message):
        agents.make(code)


def test_players_of_other_models_have_other_digests():
    one, two = (agents.make(f"chat:http://localhost:1/v1,{model}") for model in "ab")
    assert one.digest() != two.digest()


@pytest.mark.compiled("many games")
def test_a_model_is_a_player_of_a_dataset(serve):
    games = play_games([serve(last_legal).code(), "ev"], standard_setup(3), range(2), seed=1)
    assert len(games) == 2
    assert PASS in games.actions
