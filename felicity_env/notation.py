"""Text of cards, actions and whole games: short, one line a round, made to be read, written by hand and compared.

    felicity rules 1
    players 4
    deal start_seat 2
    deal removed 11 R 5 3

    1: 15 R -8 8 | 1 3 - 4 - -
    2: D 3 5

The first line names the format and `RULES_VERSION`. The setup is a standard one (`players 3`, `4` or `5`) or is
spelled out, a line `setup FIELD VALUE` for each field of `Setup`. The deal follows: seats count from 0, and cards are
written as below. Then a line a round: the cards in the order laid (the dummy's is in the deal), `|`, and the auction in
the order spoken: a number is a bid, `-` a pass. A game may stop anywhere. Blank lines, and all from `#` to the end of a
line, are for the reader only.

Cats are written by their value; `R` is the rabbit, `D` the large dog, `d` the small dog.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from felicity_env.game import (
    CARD_VALUES,
    MAX_BID,
    NUM_ACTIONS,
    NUM_CARDS,
    NUM_CATS,
    PASS,
    PLACE,
    RULES_VERSION,
    SETUPS,
    Setup,
    State,
    is_legal,
    is_terminal,
    nth_legal_action,
    num_legal_actions,
)
from felicity_env.transcript import DEAL_KEYS, Deal, Game, check_wishes, is_integer

FORMAT = "felicity rules"
PASS_SIGN = "-"
AUCTION_SIGN = "|"
_BYTE_ORDER_MARK = "\ufeff"  # some editors write it
CARD_TEXTS = (*map(str, CARD_VALUES[:NUM_CATS]), "R", "D", "d")  # in the order of R1.1

# --- cards and actions ------------------------------------------------------------------------------------------------


def card_text(card: int) -> str:
    """`-8` .. `15`, `R`, `D` or `d`; raises `ValueError` unless `card` is 0..9."""
    if not is_integer(card) or not 0 <= card < NUM_CARDS:
        raise ValueError(f"a card is an integer from 0 to {NUM_CARDS - 1}, not {card!r}")
    return CARD_TEXTS[card]


def parse_card(text: str) -> int:
    """The inverse of `card_text`; raises `ValueError` naming the ten texts."""
    if text not in CARD_TEXTS:
        raise ValueError(f"{text!r} is no card; cards are {' '.join(CARD_TEXTS)}")
    return CARD_TEXTS.index(text)


def cards_text(cards: Sequence[int]) -> str:
    """Cards with a blank between them."""
    return " ".join(card_text(card) for card in cards)


def action_text(action: int) -> str:
    """`place 15`, `pass` or `bid 7`; raises `ValueError` unless `action` is 0..73."""
    if not is_integer(action) or not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"an action is an integer from 0 to {NUM_ACTIONS - 1}, not {action!r}")
    if action < NUM_CARDS:
        return f"place {card_text(action)}"
    return "pass" if action == PASS else f"bid {action - PASS}"


def parse_action(text: str) -> int:
    """The inverse of `action_text`; raises `ValueError` naming the three forms."""
    match text.split():
        case ["place", card]:
            return parse_card(card)
        case ["pass"]:
            return PASS
        case ["bid", mice]:
            return PASS + _parse_bid(mice)
    raise ValueError(f"{text!r} is no action; actions are `place 15`, `pass` and `bid 7`")


def _parse_bid(text: str) -> int:
    if not re.fullmatch("[0-9]+", text) or not 1 <= int(text) <= MAX_BID:
        raise ValueError(f"{text!r} is no bid; bids are numbers from 1 to {MAX_BID}")
    return int(text)


def _parse_call(text: str) -> int:
    """A pass or a bid, as written right of the bar."""
    try:
        return PASS if text == PASS_SIGN else PASS + _parse_bid(text)
    except ValueError as error:
        raise ValueError(f"{error}, and a pass is {PASS_SIGN!r}") from None


# --- writing ----------------------------------------------------------------------------------------------------------


def dumps(game: Game) -> str:
    """`game` as text, which `loads` turns back into an equal one. Raises `ValueError` if it cannot be played."""
    check_wishes(game.setup, vars(game.deal))
    head = [f"{FORMAT} {RULES_VERSION}", *_setup_lines(game.setup), *_deal_lines(game.deal)]
    rounds = _round_lines(game)
    return "\n".join([*head, *([""] if rounds else []), *rounds]) + "\n"


def _setup_lines(setup: Setup) -> list[str]:
    if SETUPS.get(setup.seats) == setup:
        return [f"players {setup.seats}"]
    return [f"setup {name} {write(getattr(setup, name))}" for name, (write, _) in _SETUP_FIELDS.items()]


def _deal_lines(deal: Deal) -> list[str]:
    lines = [f"deal start_seat {deal.start_seat}"]
    if deal.removed:
        lines.append(f"deal removed {cards_text(deal.removed)}")
    if deal.dummy:
        lines.append(f"deal dummy {cards_text(deal.dummy)}")
    return lines


def _round_lines(game: Game) -> list[str]:
    rounds: list[tuple[list[str], list[str]]] = []
    number, phase = 0, PLACE
    for action, state in game.states():
        if action is not None:
            if number == len(rounds):
                rounds.append(([], []))
            laid, called = rounds[number]
            if phase == PLACE:
                laid.append(card_text(action))
            else:
                called.append(PASS_SIGN if action == PASS else str(action - PASS))
        number, phase = int(state.round_number), int(state.phase)
    return [_round_line(k + 1, laid, called) for k, (laid, called) in enumerate(rounds)]


def _round_line(number: int, laid: list[str], called: list[str]) -> str:
    return " ".join([f"{number}:", *laid, *([AUCTION_SIGN, *called] if called else [])])


# --- reading ----------------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A line that says something: its number, counted from 1, and its words."""

    number: int
    words: list[str]

    def fault(self, reason: object) -> ValueError:
        return ValueError(f"line {self.number}: {reason}")


class _Turn(NamedTuple):
    """An action and where it was written."""

    action: int
    round: int
    line: _Line


def loads(text: str) -> Game:
    """The game that `text` tells, every action checked by replay; a byte-order mark before it is no fault.

    Raises `ValueError` naming the line, what is wrong there and what would be right.
    """
    written = text.removeprefix(_BYTE_ORDER_MARK).splitlines()
    lines = [_Line(number, line.partition("#")[0].split()) for number, line in enumerate(written, 1)]
    end = _Line(len(lines) + 1, ["the", "end"])
    lines = [line for line in lines if line.words]
    _check_first_line(lines[0] if lines else end)
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
    if not re.fullmatch(f"{FORMAT} [0-9]+", written):
        raise line.fault(f"a game begins with `{FORMAT} {RULES_VERSION}`, not with `{written}`")
    if int(line.words[-1]) != RULES_VERSION:
        raise line.fault(f"the game was played by rules {line.words[-1]}; only rules {RULES_VERSION} are known here")


def _read_head(lines: list[_Line]) -> dict[str, _Line]:
    """The lines of setup and deal by what they set: `players`, `setup seats`, `deal removed` ..."""
    head: dict[str, _Line] = {}
    for line in lines:
        size = 1 if line.words[0] == "players" else 2
        key = " ".join(line.words[:size])
        if key not in _HEAD_KEYS:
            raise line.fault(f"`{key}` is unknown; here stand {', '.join(_HEAD_KEYS)}, and then rounds as `1: ...`")
        if key in head:
            raise line.fault(f"`{key}` stands in line {head[key].number} already; write it once")
        head[key] = _Line(line.number, line.words[size:])
    return head


def _read_setup(head: dict[str, _Line], after: _Line) -> Setup:
    spelled_out = [head[f"setup {name}"] for name in _SETUP_FIELDS if f"setup {name}" in head]
    if "players" in head:
        if spelled_out:
            raise spelled_out[0].fault("`players` is a whole setup; write it or the `setup` lines, not both")
        return _read_players(head["players"])
    if not spelled_out:
        raise after.fault("no setup before this; write `players 4`, or a `setup` line for each field")
    values = {name: _read_field(head, f"setup {name}", read, after) for name, (_, read) in _SETUP_FIELDS.items()}
    try:
        return Setup(**values)
    except ValueError as error:
        raise spelled_out[0].fault(error) from None


def _read_players(line: _Line) -> Setup:
    standard = {str(players): setup for players, setup in SETUPS.items()}
    if len(line.words) != 1 or line.words[0] not in standard:
        raise line.fault(f"`players` takes one number of {', '.join(standard)}, not `{' '.join(line.words)}`")
    return standard[line.words[0]]


def _read_field(head: dict[str, _Line], key: str, read: Callable[[list[str]], Any], after: _Line) -> Any:
    if key not in head:
        raise after.fault(f"no line `{key} ...` before this; it is needed")
    try:
        return read(head[key].words)
    except ValueError as error:
        raise head[key].fault(f"`{key}`: {error}") from None


def _read_deal(setup: Setup, head: dict[str, _Line], after: _Line) -> Deal:
    values: dict[str, Any] = {"removed": (), "dummy": ()}
    needed = {"deal start_seat": True, "deal removed": setup.removed, "deal dummy": setup.dummy}
    for key in DEAL_KEYS:
        label = f"deal {key}"
        if needed[label] or label in head:
            values[key] = _read_field(head, label, _DEAL_FIELDS[key], after)
            _check_dealt(setup, key, values[key], head[label])
    return Deal(**values)


def _check_dealt(setup: Setup, key: str, value: Any, line: _Line) -> None:
    absent = [card for card in value if card not in setup.cards] if isinstance(value, tuple) else []
    if absent:
        raise line.fault(f"`deal {key}`: {card_text(absent[0])} is not in this game; it has {cards_text(setup.cards)}")
    try:
        check_wishes(setup, {key: value})
    except ValueError as error:
        raise line.fault(error) from None


def _read_round(line: _Line, number: int) -> Iterator[_Turn]:
    label, *words = line.words
    if label != f"{number}:":
        raise line.fault(f"`{label}` where round {number} is due; write `{number}: ...`")
    bar = words.index(AUCTION_SIGN) if AUCTION_SIGN in words else len(words)
    if not words[:bar]:
        raise line.fault(f"no cards after `{label}`; write those laid, or leave the line out")
    try:
        actions = [parse_card(word) for word in words[:bar]] + [_parse_call(word) for word in words[bar + 1 :]]
    except ValueError as error:
        raise line.fault(error) from None
    return (_Turn(action, number, line) for action in actions)


def _check_turn(turn: _Turn, state: State) -> None:
    """Raise unless `turn` may be played in `state` and stands in the line of its round."""
    wanted = action_text(turn.action)
    if is_terminal(state):
        raise turn.line.fault(f"the game is over; `{wanted}` and all after it must go")
    now = int(state.round_number) + 1
    if turn.round < now:
        raise turn.line.fault(f"round {turn.round} is over before `{wanted}`; begin a new line `{now}: ...`")
    if turn.round > now:
        raise turn.line.fault(f"round {now} is not over yet: seat {state.seat} may {_legal_text(state)}")
    if not is_legal(state, turn.action):
        raise turn.line.fault(f"seat {state.seat} cannot {wanted}; it may {_legal_text(state)}")


def _legal_text(state: State) -> str:
    actions = [int(nth_legal_action(state, n)) for n in range(num_legal_actions(state))]
    if state.phase == PLACE:
        return f"place {cards_text(actions)}"
    if len(actions) == 1:
        return f"only pass ({PASS_SIGN})"
    return f"pass ({PASS_SIGN}) or bid {actions[1] - PASS} to {actions[-1] - PASS}"


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


def _numbers_text(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _yes_or_no_text(flag: bool) -> str:
    return "yes" if flag else "no"


_SPECIAL_FIELDS: dict[str, tuple[Callable[[Any], str], Callable[[list[str]], Any]]] = {
    "mouse_cards": (_numbers_text, _read_numbers),
    "dummy": (_yes_or_no_text, _read_yes_or_no),
    "cards": (cards_text, _read_cards),
}
_SETUP_FIELDS = {part.name: _SPECIAL_FIELDS.get(part.name, (str, _read_number)) for part in fields(Setup)}
_DEAL_FIELDS: dict[str, Callable[[list[str]], Any]] = {
    "removed": _read_cards,
    "dummy": _read_cards,
    "start_seat": _read_number,
}
_HEAD_KEYS = ("players", *(f"setup {name}" for name in _SETUP_FIELDS), *(f"deal {key}" for key in DEAL_KEYS))
