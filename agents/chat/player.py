"""Language model as a player: `agents.make("chat:http://localhost:8000/v1,MODEL")`.

The model gets the position as text and its legal actions as words (`agents/chat/prompt.py`). If its answer cannot be
read as a legal action, it is told why and asked again. If that fails too, the player answers -1, which is illegal: in a
match it forfeits the game, and the other games stand.
"""

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from agents.chat.client import ChatClient, NoAnswer
from agents.chat.prompt import RULES, read_action, write_messages
from felicity_env.game import State
from felicity_env.game_record import action_text
from felicity_env.player import View

NO_ACTION = -1


@dataclass
class Usage:
    """Cost of a player so far: requests, tokens, seconds of waiting, and decisions without a legal action."""

    decisions: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    failures: int = 0


class ChatPlayer:
    """Player that asks a language model for each action; `usage` counts what that costs.

    attempts: number of requests for a decision, after which it has failed. parallel: most requests at the same time.
    log: file to which each request is added as a line of JSON, with its tokens, its answer, and why it was refused.
    """

    def __init__(self, client: ChatClient, *, attempts: int = 3, parallel: int = 8, log: Path | None = None) -> None:
        self.client, self.attempts, self.parallel, self.log = client, attempts, parallel, log
        self.usage = Usage()
        self._lock = threading.Lock()

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, int64 [B]; -1 where the model gave none."""
        with ThreadPoolExecutor(self.parallel) as pool:
            return np.fromiter(pool.map(self._decide, view.states), np.int64, len(view))

    def digest(self) -> str:
        """Return a digest of the server, the model, the settings and the prompt: 8 hex digits of a SHA-256."""
        parts = [self.client.url, self.client.settings, self.attempts, RULES]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def _decide(self, state: State) -> int:
        messages, action = write_messages(state), NO_ACTION
        for _ in range(self.attempts):
            text, reason = "", ""
            try:
                text = self._ask(messages)
                action = read_action(text, state)
            except (NoAnswer, ValueError) as error:
                reason = str(error)
            self._write_log(state, text, action, reason)
            if not reason:
                break
            if text:
                again = f"That cannot be played: {reason}. Answer again, with one line ACTION: ... at the end."
                messages += [{"role": "assistant", "content": text}, {"role": "user", "content": again}]
        with self._lock:
            self.usage.decisions += 1
            self.usage.failures += action == NO_ACTION
        return action

    def _ask(self, messages: list[dict[str, str]]) -> str:
        with self._lock:
            self.usage.requests += 1
        answer = self.client.ask(messages)
        with self._lock:
            self.usage.prompt_tokens += answer.prompt_tokens
            self.usage.completion_tokens += answer.completion_tokens
            self.usage.seconds += answer.seconds
        return answer.text

    def _write_log(self, state: State, text: str, action: int, reason: str) -> None:
        if self.log is None:
            return
        played = None if action == NO_ACTION else action_text(action)
        line = {"round": int(state.round_number) + 1, "seat": int(state.seat), "answer": text, "action": played}
        with self._lock, self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"refused": reason, "usage": asdict(self.usage)}) + "\n")


def make_chat_player(
    address: str,
    model: str,
    *,
    seconds: str = "60",
    attempts: str = "3",
    temperature: str = "0",
    tokens: str = "1000",
    parallel: str = "8",
    log: str | None = None,
) -> ChatPlayer:
    """Make a player from the parts of its code; raise `ValueError` that names the option that is wrong.

    tokens: most tokens of an answer.
    """
    client = ChatClient(
        address,
        model,
        seconds=_read_number("seconds", seconds, 0.1, 3600),
        temperature=_read_number("temperature", temperature, 0, 10),
        max_tokens=_read_count("tokens", tokens, 1_000_000),
    )
    counts = {"attempts": _read_count("attempts", attempts, 100), "parallel": _read_count("parallel", parallel, 1000)}
    return ChatPlayer(client, **counts, log=None if log is None else Path(log))


def _read_count(name: str, text: str, largest: int) -> int:
    number = _read_number(name, text, 1, largest)
    if not number.is_integer():
        raise ValueError(f"chat: {name} must be a whole number, not {text!r}")
    return int(number)


def _read_number(name: str, text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ValueError(f"chat: {name} must be a number from {low:g} to {high:g}, not {text!r}")
    return number
