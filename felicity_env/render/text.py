"""Rendering of a position as plain text, at most 80 characters wide: as one seat may know it, or with all cards."""

from felicity_env.game import State
from felicity_env.render.scene import Scene, build_full_scene, build_view_scene
from felicity_env.render.tables import HIDDEN_TEXT, NOTHING, Table, list_tables
from felicity_env.render.words import describe_news, describe_turn, phase_text

WIDTH = 80
_ALIGNED_LEFT = {"starts", "hand", "placed in earlier rounds"}
_LEGEND = (
    "Cards: cats are written by their points, -8 to 15; R rabbit (0),",
    "D large dog (chases the highest cat), d small dog (chases the lowest).",
    "A pass takes the mice of the leftmost filled mouse card.",
    f"(5) face down, but known; {HIDDEN_TEXT} hidden; {NOTHING} none, or not yet.",
)


def render_view(state: State, seat: int, *, open_mice: bool = False) -> str:
    """Render a position as text, with only what `seat` may know.

    state: one record of type STATE, redacted or not. open_mice: show the mice of all seats.
    """
    return draw_text(build_view_scene(state, seat, open_mice=open_mice))


def render_everything(state: State) -> str:
    """Render a position as text with every hidden card, for teaching and debugging, never for a player."""
    return draw_text(build_full_scene(state))


def draw_text(scene: Scene) -> str:
    """Return a position as text: blocks of lines, at most 80 characters wide, with blank lines between them."""
    row, seats, cards = (_draw_table(table) for table in list_tables(scene))
    bank = ["", f"The bank: {scene.bank} mice"]
    blocks = [_draw_headline(scene), row, [*seats, *bank], cards, describe_news(scene), _draw_turn(scene), _LEGEND]
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _draw_headline(scene: Scene) -> list[str]:
    viewer = "everything, hidden cards included" if scene.viewer is None else f"you are seat {scene.viewer}"
    return [f"FELICITY   round {scene.round_number + 1} of {scene.num_rounds}: {phase_text(scene)}   ({viewer})"]


def _draw_turn(scene: Scene) -> list[str]:
    lines = [describe_turn(scene)]
    if scene.phase == "auction":
        lines.insert(0, f"Highest bid: {scene.high_bid or 'none'}   A pass now pays: {scene.pass_pays}")
    return lines


def _draw_table(table: Table) -> list[str]:
    """Format a table, without its empty columns, and return its lines.

    Text is aligned left, and numbers and short words are aligned right. The heading "starts" is left out, because the
    cells say the same.
    """
    padded = [_pad([table.title, *(f"  {row}" for row in table.rows)], left=True)]
    for head, cells in table.columns.items():
        if any(cells):
            padded.append(_pad(["" if head == "starts" else head, *cells], left=head in _ALIGNED_LEFT))
    return ["  ".join(line) for line in zip(*padded, strict=True)]


def _pad(cells: list[str], *, left: bool) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) if left else cell.rjust(width) for cell in cells]
