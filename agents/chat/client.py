"""Client of a chat-completions server: one request, its answer, and what it cost."""

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any, NamedTuple

KEY = "FELICITY_CHAT_KEY"  # environment variable with the key that a server asks for
_MOST_BYTES = 1_000_000  # of an answer
_DROPPED = (  # errors of a connection that the server has ended too early
    ConnectionResetError,
    ConnectionAbortedError,
    BrokenPipeError,
    http.client.BadStatusLine,
    http.client.IncompleteRead,
)


class Answer(NamedTuple):
    """Text that a model answered, with the tokens that were read and written, and the seconds that it took."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class NoAnswer(Exception):
    """Error of a request that may go better when it is repeated: too late, too busy, cut off, or in a wrong form."""


class ChatClient:
    """Client of a language model at `address`, such as http://localhost:8000/v1; it sends POST requests.

    seconds: most seconds for an answer. temperature, max_tokens: sent with each request. The key in the environment
    variable `FELICITY_CHAT_KEY`, if there is one, is sent too. Raises `ValueError` if the address is none.
    """

    def __init__(self, address: str, model: str, *, seconds: float, temperature: float, max_tokens: int) -> None:
        if not address.startswith(("http://", "https://")) or not model:
            raise ValueError(f"chat needs an address that begins with http:// or https:// and a model, not {address!r}")
        self.url, self.seconds = address.rstrip("/") + "/chat/completions", seconds
        self.settings = {"model": model, "temperature": temperature, "max_tokens": max_tokens}

    def ask(self, messages: Sequence[dict[str, str]]) -> Answer:
        """Ask the model with some messages, and return its answer.

        Raises `NoAnswer` if it comes too late, the server is busy or ends the connection, or the answer is in a wrong
        form, and `OSError` that says what to do if nothing can be had from this server.
        """
        started = time.monotonic()
        values = self._send(json.dumps({**self.settings, "messages": list(messages)}).encode())
        try:
            text, usage = values["choices"][0]["message"]["content"], values.get("usage") or {}
            read, written = (int(usage.get(name) or 0) for name in ("prompt_tokens", "completion_tokens"))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise NoAnswer(f"the server's answer is in a wrong form: {type(error).__name__}: {error}") from error
        return Answer(str(text or ""), read, written, time.monotonic() - started)

    def _send(self, body: bytes) -> Any:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(KEY):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(self.url, body, headers)
        try:
            with urllib.request.urlopen(request, timeout=self.seconds) as answer:
                return json.loads(answer.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            error.close()  # it holds the connection
            if error.code == 429 or error.code >= 500:
                raise NoAnswer(f"the server is busy or broken: {error.code} {error.reason}") from error
            advice = f"; set its key in the variable {KEY}" if error.code in (401, 403) else ""
            raise OSError(f"{self.url} refuses the request: {error.code} {error.reason}{advice}") from error
        except (OSError, *_DROPPED) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(reason, TimeoutError):
                raise NoAnswer(f"no answer within {self.seconds:g} s") from error
            if isinstance(reason, _DROPPED):
                raise NoAnswer(f"the server has ended the connection: {reason}") from error
            raise OSError(f"no server answers at {self.url}: {reason}") from error
        except ValueError as error:
            raise NoAnswer(f"the server's answer is no JSON: {error}") from error
