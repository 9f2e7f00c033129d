"""Rendering of a position as plain text, at most 80 characters wide: as one seat may know it, or with all cards."""

from collections.abc import Mapping, Sequence

from felicity_env.game import DUMMY, HIDDEN, NO_CARD, PASS, PHASES, State
from felicity_env.game_record import card_text, cards_text
from felicity_env.render.scene import Scene, Slot, build_full_scene, build_view_scene

WIDTH = 80
RENDER_MODES = ("ansi", "human")  # return the text, or print it
HIDDEN_TEXT = "??"
NOTHING = "."
_PHASE_TEXTS: dict[str, str] = dict(zip(PHASES, ("placing cards", "auction", "game over"), strict=True))
_LEGEND = (
    "Cards: cats are written by their points, -8 to 15; R rabbit (0),",
    "D large dog (chases the highest cat), d small dog (chases the lowest).",
    "A pass takes the mice of the leftmost filled mouse card.",
    f"(5) face down, but known; {HIDDEN_TEXT} hidden; {NOTHING} none, or not yet.",
)


def check_render_mode(render_mode: str | None) -> None:
    """Raise `TypeError` unless `render_mode` is None, "ansi" or "human".

    After a `TypeError`, Stable-Baselines3 tries again without a render mode.
    """
    if render_mode not in (None, *RENDER_MODES):
        raise TypeError(f"render_mode must be None, 'ansi' or 'human', not {render_mode!r}")


def render_view(state: State, seat: int, *, open_mice: bool = False) -> str:
    """Render a position as text, with only what `seat` may know.

    state: one record of type STATE, redacted or not. open_mice: show the mice of all seats.
    """
    return _draw(build_view_scene(state, seat, open_mice=open_mice))


def render_everything(state: State) -> str:
    """Render a position as text with every hidden card, for teaching and debugging, never for a player."""
    return _draw(build_full_scene(state))


def _draw(scene: Scene) -> str:
    """Render a position, given as plain values, as text: blocks of lines with blank lines between them."""
    blocks = (_draw_headline, _draw_row, _draw_seats, _draw_sets, _draw_news, _draw_turn)
    lines = [[line.rstrip() for line in draw(scene)] for draw in blocks]
    return "\n\n".join("\n".join(block) for block in [*lines, _LEGEND] if block)


def _draw_headline(scene: Scene) -> list[str]:
    viewer = "everything, hidden cards included" if scene.viewer is None else f"you are seat {scene.viewer}"
    phase = _PHASE_TEXTS[scene.phase]
    return [f"FELICITY   round {scene.round_number + 1} of {scene.num_rounds}: {phase}   ({viewer})"]


def _draw_row(scene: Scene) -> list[str]:
    """Render the row as a text table: slot 0 below the cat in the sack, slot k below the k-th mouse card (R3.3)."""
    columns = {"The row": ["  mouse card", "  mice on it", "  card", "  placed by"]}
    for number, slot in enumerate(scene.slots):
        mouse_card = "sack" if number == 0 else _number_text(slot.mouse_card, "")
        cells = [mouse_card, _number_text(slot.mice, ""), _slot_text(slot), _label(scene, slot.owner)]
        columns[f"slot {number}"] = cells
    return _draw_table(columns, left=("The row",))


def _draw_seats(scene: Scene) -> list[str]:
    """Render a text table of all seats with their bids, mice, cat points and scores, and return its lines.

    Once the game is over, the columns about the auction are left out.
    """
    seats = scene.seats
    auction = {
        "": ["starts" if seat.starts else "" for seat in seats],
        "auction": [_auction_text(scene, seat.in_auction) for seat in seats],
        "bid": [str(seat.bid or NOTHING) for seat in seats],
    }
    columns = {
        "Seats": [f"  {_label(scene, seat.seat)}" for seat in seats],
        **({} if scene.acting is None else auction),
        "mice": [_number_text(seat.mice, HIDDEN_TEXT) for seat in seats],
        "cat points": [str(seat.cat_points) for seat in seats],
        "score": [_number_text(seat.score, HIDDEN_TEXT) for seat in seats],
    }
    if seats[0].rank is not None:
        columns["rank"] = [str(seat.rank) for seat in seats]
    return [*_draw_table(columns, left=("Seats", "")), "", f"The bank: {scene.bank} mice"]


def _draw_sets(scene: Scene) -> list[str]:
    columns = {
        "Cards": [f"  {_label(scene, cards.owner)}" for cards in scene.sets],
        "removed": ["" if cards.removed is None else _card_text(cards.removed) for cards in scene.sets],
        "hand": [HIDDEN_TEXT if cards.hand is None else cards_text(cards.hand) or NOTHING for cards in scene.sets],
        "placed in earlier rounds": [cards_text(cards.played) or NOTHING for cards in scene.sets],
    }
    return _draw_table(columns, left=("Cards", "hand", "placed in earlier rounds"))


def _draw_news(scene: Scene) -> list[str]:
    lines = []
    if scene.last_round is not None:
        buyer, price, value = scene.last_round
        sale = "" if buyer is None else f"{_label(scene, buyer)} paid {price} for a sack worth {value}."
        lines.append(f"Last round: {sale or 'nobody bought; the row went to the box.'}")
    if scene.phase == "place" and not any(slot.mice for slot in scene.slots):
        lines.append("The mouse cards are empty: passing pays nothing in this round.")
    return lines


def _draw_turn(scene: Scene) -> list[str]:
    if scene.acting is None:
        return [_result_text(scene)]
    turn = "Your turn" if scene.acting == scene.viewer else f"Seat {scene.acting} is to act"
    lines = [f"{turn}: {_choice_text(scene)}."]
    if scene.phase == "auction":
        lines.insert(0, f"Highest bid: {scene.high_bid or 'none'}   A pass now pays: {scene.pass_pays}")
    return lines


def _result_text(scene: Scene) -> str:
    """Describe in words who won, with how many points, and whether cat points decided a tie (R7.2)."""
    winners = [seat for seat in scene.seats if seat.rank == 1]
    is_tied = any(seat.rank != 1 and seat.score == winners[0].score for seat in scene.seats)
    decided = ", decided by cat points" if is_tied else ""
    names = " and ".join(_label(scene, seat.seat) for seat in winners)
    return f"Winner{'s' if len(winners) > 1 else ''} with {winners[0].score} points{decided}: {names}."


def _choice_text(scene: Scene) -> str:
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


# --- parts of a line --------------------------------------------------------------------------------------------------


def _draw_table(columns: Mapping[str, Sequence[str]], *, left: Sequence[str]) -> list[str]:
    """Format a text table from {heading: cells of the column}, and return its lines.

    Columns whose headings are in `left` are aligned left, and all other columns are aligned right.
    """
    padded = []
    for head, cells in columns.items():
        width = max(len(cell) for cell in [head, *cells])
        padded.append([cell.ljust(width) if head in left else cell.rjust(width) for cell in [head, *cells]])
    return ["  ".join(row) for row in zip(*padded, strict=True)]


def _label(scene: Scene, owner: int) -> str:
    if owner == DUMMY:
        return "dummy"
    return "you" if owner == scene.viewer else f"seat {owner}"


def _slot_text(slot: Slot) -> str:
    return _card_text(slot.card) if slot.face_up or slot.card < 0 else f"({card_text(slot.card)})"


def _card_text(card: int) -> str:
    return {NO_CARD: NOTHING, HIDDEN: HIDDEN_TEXT}.get(card) or card_text(card)


def _number_text(number: int | None, unknown: str) -> str:
    return unknown if number is None else str(number)


def _auction_text(scene: Scene, in_auction: bool) -> str:
    if scene.phase == "place":
        return NOTHING
    return "in" if in_auction else "passed"
