"""Sentences about a position, for renderings of every kind."""

from felicity_env.game import DUMMY, PASS, PHASES
from felicity_env.game_record import cards_text
from felicity_env.render.scene import Scene, Seat

_PHASE_TEXTS: dict[str, str] = dict(zip(PHASES, ("placing cards", "auction", "game over"), strict=True))


def phase_text(scene: Scene) -> str:
    """Describe the phase of the round in words."""
    return _PHASE_TEXTS[scene.phase]


def name_owner(scene: Scene, owner: int) -> str:
    """Return the name of a seat, which is "you" for the viewer, or of the dummy."""
    if owner == DUMMY:
        return "dummy"
    return "you" if owner == scene.viewer else f"seat {owner}"


def label_owner(scene: Scene, owner: int) -> str:
    """Return the name of a seat or of the dummy, with the name of its player if there is one."""
    name = scene.names[owner] if owner != DUMMY and scene.names else ""
    return name_owner(scene, owner) + (f" ({name})" if name else "")


def describe_news(scene: Scene) -> list[str]:
    """Describe what happened in the last round, and whether the mouse cards of this round are empty, in sentences."""
    lines = []
    if scene.last_round is not None:
        buyer, price, value = scene.last_round
        sale = "" if buyer is None else f"{name_owner(scene, buyer)} paid {price} for a sack worth {value}."
        lines.append(f"Last round: {sale or 'nobody bought; the row went to the box.'}")
    if scene.phase == "place" and not any(slot.mice for slot in scene.slots):
        lines.append("The mouse cards are empty: passing pays nothing in this round.")
    return lines


def describe_turn(scene: Scene) -> str:
    """Describe in a sentence who is to act and what may be done; once the game is over, describe who won."""
    if scene.acting is None:
        return _describe_result(scene)
    turn = "Your turn" if scene.acting == scene.viewer else f"Seat {scene.acting} is to act"
    return f"{turn}: {_describe_choice(scene)}."


def _describe_result(scene: Scene) -> str:
    """Describe who won, with how many points, and whether cat points decided a tie (R7.2)."""
    winners = [seat for seat in scene.seats if seat.rank == 1]
    is_tied = any(seat.rank != 1 and seat.score == winners[0].score for seat in scene.seats)
    decided = ", decided by cat points" if is_tied else ""
    names = " and ".join(name_owner(scene, seat.seat) for seat in winners)
    return f"Winner{'s' if len(winners) > 1 else ''} with {winners[0].score} points{decided}: {names}."


def _describe_choice(scene: Scene) -> str:
    """Describe the legal actions of the acting seat in words (R3.1, R4.3, R4.4, R4.8).

    If the viewer may not know them, the text only says whether the seat places a card or bids.
    """
    if scene.phase == "place":
        return f"place one of {cards_text(scene.legal)}" if scene.legal else "place a card"
    if not scene.legal:
        return "bid or pass"
    if len(scene.legal) == 1:
        return "only a pass is possible"
    if sum(seat.in_auction for seat in scene.seats) == 1:
        return "all others have passed; buy the sack for 1 mouse, or pass"
    low, high = scene.legal[1] - PASS, scene.legal[-1] - PASS
    return f"pass, or bid {low} mice" if low == high else f"pass, or bid {low} to {high} mice"


def describe_bid(scene: Scene, seat: Seat) -> str:
    """Describe in a word or two what a seat did in this auction, or "" where there is nothing to say."""
    if scene.phase != "auction":
        return ""
    if not seat.in_auction:
        return "passed"
    return f"bids {seat.bid}" if seat.bid else "in"
