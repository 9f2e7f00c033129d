"""Game at the terminal, line by line, so that it also works with a screen reader."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from agents.play.hints import describe_hint
from agents.play.table import Table
from felicity_env.game import AUCTION, PASS, PLACE
from felicity_env.game_record import action_text, list_legal_actions
from felicity_env.notation import parse_action
from felicity_env.render.story import tell_game
from felicity_env.render.text import draw_text

HELP = """\
  15, R, D, d    place this card
  7              bid 7 mice
  p              pass
  u              take back your last action
  s              show the table again
  h              show what the reference player would do, if the command has --hints
  ?              show this help
  q, or Ctrl-D   leave; the game is saved"""
_PASSES = ("p", "pass", "-")
_LEAVES = ("q", "quit", "exit")
_SCREEN = "\n" * 80  # moves what another person has seen off the screen


def play_at_terminal(
    table: Table, read: Callable[[str], str] = input, write: Callable[[str], None] = print, *, hints: bool = False
) -> None:
    """Play a game at the terminal until it is over, or until a person leaves by Ctrl-D.

    read: asks for a line with a prompt; raises `EOFError` to leave. write: shows text. hints: answer `h` with what the
    reference player would do.
    """
    told = dict.fromkeys(table.seating.humans, len(table.game.actions))  # number of actions that each person knows
    write("? shows what you can type.\n")
    while True:
        table.play_players()
        seat = table.acting
        viewer = table.seating.humans[0] if seat is None else seat
        try:
            if seat is not None and len(table.seating.humans) > 1:
                write(_SCREEN)
                read(f"Seat {seat} is to act. Let that person sit down, and press Enter.")
            told[viewer] = _tell(table, viewer, told[viewer], write)
            write(draw_text(table.build_scene(viewer)))
            if seat is None:
                return
            told[viewer] = min(told[viewer], _ask(table, seat, read, write, hints=hints))
        except EOFError:
            return


def _tell(table: Table, viewer: int, told: int, write: Callable[[str], None]) -> int:
    """Write the events after the first `told` actions, as the viewer sees them; return the number of actions."""
    sentences: Iterable[list[str]] = list(tell_game(table.game, viewer))[told:]
    lines = [f"- {'; '.join(move)}" for move in sentences]
    if lines:
        write("\n".join(["", *lines, ""]))
    return len(table.game.actions)


def _ask(table: Table, seat: int, read: Callable[[str], str], write: Callable[[str], None], *, hints: bool) -> int:
    """Ask a person for lines until one is an action or takes one back; return the number of actions before it.

    Raises `EOFError` if the person leaves.
    """
    while True:
        line = read(f"seat {seat}> ").strip()
        before = len(table.game.actions)
        try:
            if line == "?":
                write(HELP)
            elif line == "s":
                write(draw_text(table.build_scene(seat)))
            elif line == "u":
                table.take_back(seat, table.version)
                return len(table.game.actions)
            elif line == "h" and hints:
                write(describe_hint(table))
            elif line.lower() in _LEAVES:
                raise EOFError
            elif line:
                table.act(seat, read_action(table, line), table.version)
                return before
        except ValueError as error:
            write(f"{error}; ? shows more")


def read_action(table: Table, line: str) -> int:
    """Convert what a person typed to an action.

    Raises `ValueError` with the legal actions if it is none of them.
    """
    state = table.state
    action = _parse(line, int(state.phase))
    legal = list_legal_actions(state)
    if action not in legal:
        words = [action_text(each).removeprefix("place ").removeprefix("bid ") for each in legal]
        choices = ", ".join([*words[:3], "...", words[-1]] if len(words) > 4 else words)
        raise ValueError(f"{line!r} is not possible now; type one of {choices}")
    return action


def _parse(line: str, phase: int) -> int | None:
    """Convert a line to an action, legal or not, or return None if it is none."""
    if phase == AUCTION and line.lower() in _PASSES:
        return PASS
    with suppress(ValueError):
        if " " in line:
            return parse_action(line)
        return parse_action(f"place {line}" if phase == PLACE else f"bid {line}")
    return None
