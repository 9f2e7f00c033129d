"""Messages between the table and the pages of people: what a seat is sent, and checks of what a seat sends.

A seat is sent only drawings of scenes that hold what it may know, and events as it sees them.
"""

import json
from typing import Any

from agents.play.table import Table
from felicity_env.game import PASS, PLACE, pass_pays
from felicity_env.game_record import action_text, list_legal_actions
from felicity_env.render.html import draw_position
from felicity_env.render.nodes import Node, list_changes
from felicity_env.render.story import tell_game
from felicity_env.render.words import describe_turn

MAX_MESSAGE = 1000  # bytes


def draw_first_position(table: Table, seat: int) -> Node:
    """Draw the position after the deal as a seat may know it; pages hold it, and are sent changes from it."""
    _, state = next(iter(table.game.states()))
    return draw_position(table.build_scene(seat, state))


def describe_table(table: Table, seat: int, since: int) -> dict[str, Any]:
    """Describe the game for the page of a seat.

    since: number of actions that the page has shown already; the positions after it are sent. The values are those of
    JSON: `version`, `number` (which game at this table it is), `first` (number of the first position sent), `positions`
    (changes from the position after the deal), `moves` (all events so far), `choices` (what the seat can do now),
    `acting`, `over`, `turn` (who is to act, or who won, in words) and `can_take_back`.
    """
    game = table.game
    first, states = draw_first_position(table, seat), [state.copy() for _, state in game.states()]
    moves = list(tell_game(game, seat))
    since = max(0, min(since, len(game.actions)))
    shown = [draw_position(table.build_scene(seat, state)) for state in states[since:]]
    return {
        "version": table.version,
        "number": table.number,
        "first": since,
        "positions": [list_changes(first, position) for position in shown],
        "moves": moves,
        "choices": list_choices(table, seat),
        "acting": table.acting,
        "over": table.acting is None,
        "turn": describe_turn(table.build_scene(seat)),
        "can_take_back": len(table.seating.humans) == 1 and table.find_last_action(seat) is not None,
    }


def list_choices(table: Table, seat: int) -> dict[str, Any] | None:
    """Return what a seat can do now: cards to place, or bids and what a pass pays; None if it is not its turn."""
    state = table.state
    if table.acting != seat:
        return None
    legal = list_legal_actions(state)
    if state.phase == PLACE:
        return {"cards": [[action, action_text(action)] for action in legal]}
    bids = [action - PASS for action in legal if action > PASS]
    return {
        "pass": PASS,
        "pays": int(pass_pays(state)),
        "lowest": bids[0] if bids else 0,
        "highest": bids[-1] if bids else 0,
    }


def read_message(body: bytes, *keys: str) -> dict[str, int]:
    """Read a message of a page: a JSON object with exactly these keys, whose values are integers.

    Raises `ValueError` that says what is wrong.
    """
    if len(body) > MAX_MESSAGE:
        raise ValueError(f"a message has at most {MAX_MESSAGE} bytes")
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("a message is JSON text") from None
    if not isinstance(message, dict) or set(message) != set(keys):
        raise ValueError(f"a message is an object with {', '.join(keys)}")
    if not all(type(value) is int and abs(value) < 2**31 for value in message.values()):
        raise ValueError(f"{', '.join(keys)} are integers")
    return message
