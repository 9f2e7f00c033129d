"""Table in the browser: a server on this machine that sends each seat what it may know, and takes its actions.

The address of a seat has a secret token, so that nobody sees another seat. Messages are checked, a wrong one is refused
with a reason and changes nothing. A page that was reloaded or opened twice shows the game as it is.
"""

import asyncio
import errno
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from rich.console import Console
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from agents.play.explanation import make_policy
from agents.play.hints import JUDGE, describe_hint
from agents.play.payload import MAX_MESSAGE, describe_table, read_message
from agents.play.play_page import HEADERS, render_rules, render_table
from agents.play.review_game import review_game
from agents.play.review_page import render_review
from agents.play.table import Table
from agents.tools.files import UserError
from felicity_env.game_record import Game
from felicity_env.notation import dumps

WAIT = 2.0  # seconds that a page waits for news before it asks again; Ctrl-C waits as long
_NO_TABLE = "there is no table at this address; open the one that the command printed"
_EVERYWHERE = ("0.0.0.0", "::", "")


class TableServer:
    """Requests of the pages of one table; `tokens` maps the secret token of each person to the seat."""

    def __init__(self, table: Table, *, hints: bool) -> None:
        self.table, self.hints = table, hints
        self.tokens = {secrets.token_urlsafe(16): seat for seat in table.seating.humans}
        self._lock, self._news = asyncio.Lock(), asyncio.Condition()
        self._reviews: dict[int, dict[str, Any]] = {}

    def create_app(self, hosts: list[str]) -> Starlette:
        """Create the application; it answers only requests for one of `hosts`."""
        routes = [
            Route("/{token}/", self.show_page),
            Route("/{token}/rules", self.show_rules),
            Route("/{token}/table", self.show_table),
            Route("/{token}/act", self.act, methods=["POST"]),
            Route("/{token}/take-back", self.take_back, methods=["POST"]),
            Route("/{token}/new-game", self.begin_again, methods=["POST"]),
            Route("/{token}/hint", self.show_hint),
            Route("/{token}/game.txt", self.show_notation),
            Route("/{token}/review", self.begin_review, methods=["POST"]),
            Route("/{token}/review", self.show_review),
        ]
        return Starlette(routes=routes, middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)])

    def _find_seat(self, request: Request) -> int | None:
        return self.tokens.get(request.path_params["token"])

    # --- pages ---

    async def show_page(self, request: Request) -> Response:
        """Answer with the page of a seat."""
        seat = self._find_seat(request)
        if seat is None:
            return _refuse(_NO_TABLE, 404)
        return HTMLResponse(render_table(self.table, seat, hints=self.hints), headers=HEADERS)

    async def show_rules(self, request: Request) -> Response:
        """Answer with the rules."""
        return HTMLResponse(render_rules(), headers=HEADERS)

    async def show_table(self, request: Request) -> Response:
        """Answer with the position and all that happened since `since`; wait for news if the page has `version`."""
        seat = self._find_seat(request)
        if seat is None:
            return _refuse(_NO_TABLE, 404)
        try:
            since, version = (int(request.query_params.get(name, "-1")[:10]) for name in ("since", "version"))
        except ValueError:
            return _refuse("since and version are integers", 400)
        async with self._news:
            if version == self.table.version:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), WAIT)
        return await self._describe(seat, since)

    async def _describe(self, seat: int, since: int) -> Response:
        async with self._lock:
            return JSONResponse(await run_in_threadpool(describe_table, self.table, seat, since))

    # --- actions ---

    async def act(self, request: Request) -> Response:
        """Play an action; answer with the table after the players have answered."""

        def work(seat: int, message: dict[str, int]) -> None:
            self.table.act(seat, message["action"], message["version"])
            self.table.play_players()

        return await self._change(request, work, "version", "action", "since")

    async def take_back(self, request: Request) -> Response:
        """Take back the last action of a seat; answer with the table."""
        return await self._change(
            request, lambda seat, message: self.table.take_back(seat, message["version"]), "version", "since"
        )

    async def begin_again(self, request: Request) -> Response:
        """Begin another game with the same players; answer with its table."""

        def work(_: int, message: dict[str, int]) -> None:
            self.table.begin_again(message["version"])
            self._reviews.clear()
            self.table.play_players()

        return await self._change(request, work, "version", "since")

    async def _change(self, request: Request, work: Callable[[int, dict[str, int]], None], *keys: str) -> Response:
        """Read a message, change the table by `work(seat, message)`, and answer with the table as the seat sees it."""
        seat = self._find_seat(request)
        if seat is None:
            return _refuse(_NO_TABLE, 404)
        try:
            message = read_message(await _read_body(request), *keys)
            async with self._lock:
                await run_in_threadpool(work, seat, message)
        except ValueError as error:
            return _refuse(str(error), 409)
        async with self._news:
            self._news.notify_all()
        return await self._describe(seat, message["since"])

    # --- help ---

    async def show_hint(self, request: Request) -> Response:
        """Answer with what the reference player would do at the decision of a seat, if hints are on."""
        seat = self._find_seat(request)
        if seat is None or not self.hints:
            return _refuse("there are no hints at this table", 404)
        async with self._lock:
            if self.table.acting != seat:
                return _refuse("it is not your turn", 409)
            return JSONResponse({"hint": await run_in_threadpool(describe_hint, self.table)})

    async def show_notation(self, request: Request) -> Response:
        """Answer with the notation of the game, once it is over."""
        if self._find_seat(request) is None:
            return _refuse(_NO_TABLE, 404)
        if self.table.acting is not None:
            return _refuse("the notation shows all cards; it can be read when the game is over", 403)
        return PlainTextResponse(dumps(self.table.game))

    async def begin_review(self, request: Request) -> Response:
        """Begin the review of a seat, once the game is over."""
        seat = self._find_seat(request)
        if seat is None:
            return _refuse(_NO_TABLE, 404)
        if self.table.acting is not None:
            return _refuse("the game can be reviewed when it is over", 403)
        if seat not in self._reviews:
            self._reviews[seat] = {"done": 0, "total": 1, "page": None}
            work = seat, self.table.game, self._reviews[seat]
            threading.Thread(target=self._review, args=work, name=f"review of seat {seat}", daemon=True).start()
        return self._describe_review(seat)

    def _review(self, seat: int, game: Game, state: dict[str, Any]) -> None:
        """Review a seat, and write into `state` how far it is; runs in a thread of its own."""

        def report(done: int, total: int) -> None:
            state.update(done=done, total=total)

        review = review_game(game, seat, make_policy(JUDGE), report=report)
        state["page"] = render_review(review, JUDGE, self.table.seating.players)

    async def show_review(self, request: Request) -> Response:
        """Answer with the page of the review, or how far it is."""
        seat = self._find_seat(request)
        if seat is None or seat not in self._reviews:
            return _refuse("there is no review here", 404)
        page = self._reviews[seat]["page"]
        return HTMLResponse(page) if page and "page" in request.query_params else self._describe_review(seat)

    def _describe_review(self, seat: int) -> Response:
        state = self._reviews[seat]
        return JSONResponse({"done": state["done"], "total": state["total"], "ready": state["page"] is not None})


async def _read_body(request: Request) -> bytes:
    """Return the body of a request; raise `ValueError` as soon as it is longer than a message may be."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_MESSAGE:
            raise ValueError(f"a message has at most {MAX_MESSAGE} bytes")
    return body


def _refuse(reason: str, status: int) -> Response:
    return JSONResponse({"error": reason}, status)


# --- running ----------------------------------------------------------------------------------------------------------


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; raise `UserError` saying what to do if that is not possible."""
    if host in _EVERYWHERE:
        raise UserError("--host needs one address of this machine, such as 192.168.1.5: the server checks it")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"port {port} is in use; choose another one with --port, or 0 for any") from None
        raise UserError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def serve(table: Table, listening: socket.socket, *, hints: bool, browser: bool) -> None:
    """Serve a table at a socket, which `listen` made, until Ctrl-C; print the address of each person."""
    host = listening.getsockname()[0]
    server = TableServer(table, hints=hints)
    table.play_players()
    name = f"[{host}]" if ":" in host else host
    addresses = [f"http://{name}:{listening.getsockname()[1]}/{token}/" for token in server.tokens]
    console = Console()
    for address, seat in zip(addresses, server.tokens.values(), strict=True):
        console.print(f"seat {seat}:  {address}", highlight=False, soft_wrap=True)
    console.print("Ctrl-C ends; the game is saved after every action", highlight=False)
    if browser and len(addresses) == 1:
        webbrowser.open(addresses[0])
    config = uvicorn.Config(
        server.create_app([host, "localhost"]),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=16_384,
    )
    uvicorn.Server(config).run(sockets=[listening])
