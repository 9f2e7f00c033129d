"""Text format of game records, with one line per round: easy to read, to write by hand and to compare.

    felicity rules 1
    players 4
    deal start_seat 2
    deal removed 11 R 5 3

    1: 15 R -8 8 | 1 3 - 4 - -
    2: D 3 5

The first line names the format and `RULES_VERSION`. A standard setup is written `players 3`, `4` or `5`; any other
setup is written as one line `setup FIELD VALUE` for each field of `Setup`. The lines of the deal follow; seats are
numbered from 0. Then there is one line per round: the cards in the order placed (the dummy's card is in the deal), `|`,
and the bids and passes in their order, where a number is a bid and `-` is a pass. The text of an unfinished game may
stop after any action. Blank lines, and everything from `#` to the end of a line, are ignored.

Cats are written by their value; `R` is the rabbit, `D` the large dog, `d` the small dog.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from felicity_env.game import MAX_BID, PASS, PLACE, RULES_VERSION, Setup, State, is_terminal
from felicity_env.game_record import (
    CARD_TEXTS,
    DEAL_KEYS,
    Deal,
    Game,
    action_text,
    card_text,
    cards_text,
    check_action,
    check_overrides,
    legal_text,
)
from felicity_env.setups import STANDARD_PLAYERS, standard_setup

__all__ = ["action_text", "card_text", "cards_text", "dumps", "loads", "parse_action", "parse_card"]

FORMAT = "felicity rules"
PASS_SIGN = "-"
AUCTION_SIGN = "|"
_BYTE_ORDER_MARK = "\ufeff"  # written first by some editors
_STANDARD = {str(players): standard_setup(players) for players in STANDARD_PLAYERS}

# --- cards and actions ------------------------------------------------------------------------------------------------


def parse_card(text: str) -> int:
    """Convert the text of a card, such as `15` or `R`, to the number of the card, 0 to 9.

    Raises `ValueError` with a list of the ten valid texts if the text is not one of them.
    """
    if text not in CARD_TEXTS:
        raise ValueError(f"{text!r} is no card; cards are {' '.join(CARD_TEXTS)}")
    return CARD_TEXTS.index(text)


def parse_action(text: str) -> int:
    """Convert the text of an action, such as `place 15`, `pass` or `bid 7`, to the number of the action.

    Raises `ValueError` if the text is not an action.
    """
    match text.split():
        case ["place", card]:
            return parse_card(card)
        case ["pass"]:
            return PASS
        case ["bid", mice]:
            return PASS + _parse_bid(mice)
    raise ValueError(f"{text!r} is no action; actions are `place 15`, `pass` and `bid 7`")


def _parse_bid(text: str) -> int:
    if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= MAX_BID:
        raise ValueError(f"{text!r} is no bid; bids are numbers from 1 to {MAX_BID}")
    return int(text)


def _parse_call(text: str) -> int:
    """Convert a word from the auction part of a game text to an action: a number is a bid, and `-` is a pass.

    Raises `ValueError` if the word is neither of them.
    """
    try:
        return PASS if text == PASS_SIGN else PASS + _parse_bid(text)
    except ValueError as error:
        raise ValueError(f"{error}, and a pass is {PASS_SIGN!r}") from None


# --- writing ----------------------------------------------------------------------------------------------------------


def dumps(game: Game) -> str:
    """Convert a game record to text, from which `loads` reads an equal record.

    Raises `ValueError` if the record has an impossible deal or an illegal action.
    """
    check_overrides(game.setup, vars(game.deal))
    head = [f"{FORMAT} {RULES_VERSION}", *_write_setup(game.setup), *_write_deal(game.deal)]
    rounds = _write_rounds(game)
    return "\n".join([*head, *([""] if rounds else []), *rounds]) + "\n"


def _write_setup(setup: Setup) -> list[str]:
    if setup in _STANDARD.values():
        return [f"players {setup.seats}"]
    return [f"setup {name} {write(getattr(setup, name))}" for name, (write, _) in _SETUP_FIELDS.items()]


def _write_deal(deal: Deal) -> list[str]:
    lines = [f"deal start_seat {deal.start_seat}"]
    if deal.removed:
        lines.append(f"deal removed {cards_text(deal.removed)}")
    if deal.dummy:
        lines.append(f"deal dummy {cards_text(deal.dummy)}")
    return lines


def _write_rounds(game: Game) -> list[str]:
    rounds: list[list[str]] = []
    number, phase = 0, PLACE
    for action, state in game.states():
        if action is not None:
            if number == len(rounds):
                rounds.append([f"{number + 1}:"])
            if phase != PLACE and AUCTION_SIGN not in rounds[number]:
                rounds[number].append(AUCTION_SIGN)
            call = PASS_SIGN if action == PASS else str(action - PASS)
            rounds[number].append(card_text(action) if phase == PLACE else call)
        number, phase = int(state.round_number), int(state.phase)
    return [" ".join(words) for words in rounds]


# --- reading ----------------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """Line of a game text: its number in the text, counted from 1, and its words without comments."""

    number: int
    words: list[str]

    def error(self, reason: object) -> ValueError:
        """Return a `ValueError` whose message gives the number of this line of the text and the reason."""
        return ValueError(f"line {self.number}: {reason}")


class _Turn(NamedTuple):
    """Action that was read from a game text, with the number of its round and the line that it is on."""

    action: int
    round: int
    line: _Line


def loads(text: str) -> Game:
    """Read a game record from its text, and check every action by replaying the game.

    Raises `ValueError` with the number of the faulty line and the fault.
    """
    written = text.removeprefix(_BYTE_ORDER_MARK).splitlines()
    lines = [_Line(number, line.partition("#")[0].split()) for number, line in enumerate(written, 1)]
    end = _Line(len(lines) + 1, ["the", "end"])
    lines = [line for line in lines if line.words]
    if not lines:
        raise ValueError(f"the text is empty; a game begins with `{FORMAT} {RULES_VERSION}`")
    _check_first_line(lines[0])
    first_round = next((k for k, line in enumerate(lines) if line.words[0].endswith(":")), len(lines))
    after_head = lines[first_round] if first_round < len(lines) else end
    head = _read_head(lines[1:first_round])
    setup = _read_setup(head, after_head)
    deal = _read_deal(setup, head, after_head)
    turns = [turn for number, line in enumerate(lines[first_round:], 1) for turn in _read_round(line, number)]
    game = Game(setup, deal, tuple(turn.action for turn in turns))
    for turn, (_, state) in zip(turns, game.states(), strict=False):
        _check_turn(turn, state)
    return game


def _check_first_line(line: _Line) -> None:
    written = " ".join(line.words)
    if not re.fullmatch(f"{FORMAT} [0-9]{{1,9}}", written):
        raise line.error(f"a game begins with `{FORMAT} {RULES_VERSION}`, not with `{written}`")
    if int(line.words[-1]) != RULES_VERSION:
        raise line.error(f"the game was played by rules {line.words[-1]}; only rules {RULES_VERSION} are known here")


def _read_head(lines: list[_Line]) -> dict[str, _Line]:
    """Convert the lines about setup and deal to a dictionary from the key of each line to the rest of the line.

    A key is the first word or words of a line, such as `players` or `deal removed`. Raises `ValueError` if a key is
    unknown or appears twice.
    """
    head: dict[str, _Line] = {}
    for line in lines:
        size = 1 if line.words[0] == "players" else 2
        key = " ".join(line.words[:size])
        if key not in _HEAD_KEYS:
            raise line.error(f"`{key}` is unknown; write {', '.join(_HEAD_KEYS)}, and then rounds as `1: ...`")
        if key in head:
            raise line.error(f"`{key}` is already in line {head[key].number}; write it once")
        head[key] = _Line(line.number, line.words[size:])
    return head


def _read_setup(head: dict[str, _Line], after: _Line) -> Setup:
    spelled_out = [head[f"setup {name}"] for name in _SETUP_FIELDS if f"setup {name}" in head]
    if "players" in head:
        if spelled_out:
            raise spelled_out[0].error("`players` is a whole setup; write it or the `setup` lines, not both")
        return _read_players(head["players"])
    if not spelled_out:
        raise after.error("no setup before this; write `players 4`, or a `setup` line for each field")
    values = {name: _read_field(head, f"setup {name}", read, after) for name, (_, read) in _SETUP_FIELDS.items()}
    try:
        return Setup(**values)
    except ValueError as error:
        raise spelled_out[0].error(error) from None


def _read_players(line: _Line) -> Setup:
    if len(line.words) != 1 or line.words[0] not in _STANDARD:
        raise line.error(f"`players` takes one number of {', '.join(_STANDARD)}, not `{' '.join(line.words)}`")
    return _STANDARD[line.words[0]]


def _read_field(head: dict[str, _Line], key: str, read: Callable[[list[str]], Any], after: _Line) -> Any:
    if key not in head:
        raise after.error(f"no line `{key} ...` before this; it is needed")
    try:
        return read(head[key].words)
    except ValueError as error:
        raise head[key].error(f"`{key}`: {error}") from None


def _read_deal(setup: Setup, head: dict[str, _Line], after: _Line) -> Deal:
    values: dict[str, Any] = {"removed": (), "dummy": ()}
    needed = {"deal start_seat": True, "deal removed": setup.removed, "deal dummy": setup.dummy}
    for key in DEAL_KEYS:
        label = f"deal {key}"
        if needed[label] or label in head:
            values[key] = _read_field(head, label, _DEAL_FIELDS[key], after)
            _check_part(setup, key, values[key], head[label])
    return Deal(**values)


def _check_part(setup: Setup, key: str, value: Any, line: _Line) -> None:
    """Check that a part of the deal, such as the removed cards, is possible in a setup.

    Raises `ValueError` with the number of the line and the fault if it is impossible.
    """
    absent = [card for card in value if card not in setup.cards] if isinstance(value, tuple) else []
    if absent:
        raise line.error(f"`deal {key}`: {card_text(absent[0])} is not in this game; it has {cards_text(setup.cards)}")
    try:
        check_overrides(setup, {key: value})
    except ValueError as error:
        raise line.error(error) from None


def _read_round(line: _Line, number: int) -> Iterator[_Turn]:
    label, *words = line.words
    if label != f"{number}:":
        raise line.error(f"`{label}` where round {number} is due; write `{number}: ...`")
    bar = words.index(AUCTION_SIGN) if AUCTION_SIGN in words else len(words)
    if not words[:bar]:
        raise line.error(f"no cards after `{label}`; write the cards placed, or leave the line out")
    try:
        actions = [parse_card(word) for word in words[:bar]] + [_parse_call(word) for word in words[bar + 1 :]]
    except ValueError as error:
        raise line.error(error) from None
    return (_Turn(action, number, line) for action in actions)


def _check_turn(turn: _Turn, state: State) -> None:
    """Check an action from a game text: raise `ValueError` unless it is legal and on the line of its round."""
    action = action_text(turn.action)
    if is_terminal(state):
        raise turn.line.error(f"the game is over; delete `{action}` and all after it")
    now = int(state.round_number) + 1
    if turn.round < now:
        raise turn.line.error(f"round {turn.round} is over before `{action}`; begin a new line `{now}: ...`")
    if turn.round > now:
        raise turn.line.error(f"round {now} is not over yet; seat {state.seat} is to act: {legal_text(state)}")
    try:
        check_action(state, turn.action)
    except ValueError as error:
        raise turn.line.error(error) from None


# --- fields -----------------------------------------------------------------------------------------------------------


def _read_number(words: list[str]) -> int:
    if len(words) != 1 or not re.fullmatch("[0-9]{1,4}", words[0]):
        raise ValueError(f"takes one number, as `4`, not `{' '.join(words)}`")
    return int(words[0])


def _read_numbers(words: list[str]) -> tuple[int, ...]:
    return tuple(_read_number([word]) for word in words)


def _read_cards(words: list[str]) -> tuple[int, ...]:
    return tuple(parse_card(word) for word in words)


def _read_yes_or_no(words: list[str]) -> bool:
    if words not in (["yes"], ["no"]):
        raise ValueError(f"takes `yes` or `no`, not `{' '.join(words)}`")
    return words == ["yes"]


def _format_numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _format_yes_or_no(flag: bool) -> str:
    return "yes" if flag else "no"


_SPECIAL_FIELDS: dict[str, tuple[Callable[[Any], str], Callable[[list[str]], Any]]] = {
    "mouse_cards": (_format_numbers, _read_numbers),
    "dummy": (_format_yes_or_no, _read_yes_or_no),
    "cards": (cards_text, _read_cards),
}
_SETUP_FIELDS = {part.name: _SPECIAL_FIELDS.get(part.name, (str, _read_number)) for part in fields(Setup)}
_DEAL_FIELDS: dict[str, Callable[[list[str]], Any]] = {
    "removed": _read_cards,
    "dummy": _read_cards,
    "start_seat": _read_number,
}
_HEAD_KEYS = ("players", *(f"setup {name}" for name in _SETUP_FIELDS), *(f"deal {key}" for key in DEAL_KEYS))
