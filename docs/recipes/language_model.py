"""Let a language model play. A small server stands in for one here: it names one of the legal actions it is told.

For a real model, start a server with the chat-completions interface and give its address instead.
"""

import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import agents
from agents.arena.blocks import play_blocks
from agents.chat.player import ChatPlayer

DEALS, SEED = 25, 10**6  # each deal is played once from each of the four seats


class StandIn(BaseHTTPRequestHandler):
    """Answer like a server of a language model that thinks a little and plays at random."""

    rng = random.Random(0)

    def do_POST(self) -> None:
        """Read the conversation, and answer with a text and with what it costs in tokens."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        position = request["messages"][1]["content"]
        legal = position.split("Your legal actions: ")[1].split(".")[0].split(", ")
        text = f"Let me see.\nACTION: {self.rng.choice(legal)}"
        usage = {"prompt_tokens": len(position) // 4, "completion_tokens": len(text) // 4}
        body = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *args: object) -> None:
        """Write no line for each request."""


def main() -> None:
    """Play against three random players; no game may be forfeited, and the cost in tokens is printed."""
    started = time.monotonic()
    server = ThreadingHTTPServer(("127.0.0.1", 0), StandIn)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    player = agents.make(f"chat:http://127.0.0.1:{server.server_port}/v1,stand-in")
    assert isinstance(player, ChatPlayer)
    players = [player, *(agents.make("random") for _ in range(3))]
    blocks = play_blocks(players, num_deals=DEALS, seed=SEED)
    usage = player.usage
    assert not usage.failures
    result = {"games": blocks.block_means(0).size * len(players), "decisions": usage.decisions}
    result |= {"tokens": usage.prompt_tokens + usage.completion_tokens}
    print(json.dumps(result | {"seconds": round(time.monotonic() - started)}))


if __name__ == "__main__":
    main()
