"""Events of a game in sentences, as one seat sees them or with all cards open."""

from collections.abc import Iterator

from felicity_env.game_record import Game, card_text, initial_states
from felicity_env.information import Event, Recall


def tell_game(game: Game, viewer: int | None) -> Iterator[list[str]]:
    """Yield, for each action of a game, the action and what follows from it in sentences.

    viewer: seat that sees the events; None shows the cards that are placed too.
    """
    recall = Recall(initial_states(game.setup, game.deal))
    for action in game.actions:
        witness = int(recall.state.seat) if viewer is None else viewer
        number = len(recall.events[witness])
        recall.play(action)
        yield [tell_event(event, viewer) for event in recall.events[witness][number:]]


def tell_event(event: Event, viewer: int | None) -> str:
    """Return a sentence about an event, in the form that `information_state` lists.

    viewer: seat that is called "you"; None calls every seat by its number.
    """
    match event:
        case ("place", seat, card):
            return _say(viewer, seat, "place", "a card" if card is None else card_text(card))
        case ("bid", seat, mice):
            return _say(viewer, seat, "bid", str(mice))
        case ("pass", seat, 0):
            return _say(viewer, seat, "pass")
        case ("pass", seat, mice):
            return f"{_say(viewer, seat, 'pass')} for {_count_mice(mice)}"
        case ("turn", slot, card):
            return f"slot {slot} is turned up: {card_text(card)}"
        case ("sold", seat, price, value):
            return _say(viewer, seat, "pay", f"{price} for a sack worth {value}")
        case ("scrapped",):
            return "nobody buys; the row goes to the box"
        case ("pots", 0):
            return "the mouse cards stay empty"
        case ("pots", mice):
            return f"the mouse cards are filled with {_count_mice(mice)}"
    raise ValueError(f"{event!r} is no event that is told")


def _say(viewer: int | None, seat: int, verb: str, rest: str = "") -> str:
    ending = "es" if verb == "pass" else "s"
    subject = f"you {verb}" if seat == viewer else f"seat {seat} {verb}{ending}"
    return f"{subject} {rest}".rstrip()


def _count_mice(mice: int) -> str:
    return "1 mouse" if mice == 1 else f"{mice} mice"
