"""Game against players of this project: `python -m agents play --players human net human ev`.

The command opens a table in the browser; with `--terminal` it plays line by line. Every action is saved at once, so an
interrupted game goes on with the same file.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from agents.play.table import HUMAN, Table, open_table
from agents.play.terminal import play_at_terminal
from agents.registry import is_foreign
from agents.tools.command import explain_missing_extra, python_command
from agents.tools.settings import check_at_least, check_range


@dataclass(frozen=True)
class Config:
    """Play a game against players of this project, in the browser or at the terminal."""

    players: tuple[str, ...] = ()
    """Players by seat, 3 to 5: `human`, or codes of players, such as `human net human ev`; `easy` is `greedy`, `medium`
    is `ev` and `hard` is `net`. Default: those of the saved game, or `human net net net`."""
    terminal: bool = False
    """Play line by line at the terminal, instead of in the browser."""
    game: Path | None = None
    """File of the game in text notation. If it exists, the game goes on. Default: a new file in runs/play."""
    seed: int | None = None
    """Seed of the deal and of the players. Default: a random one."""
    open_mice: bool = False
    """Show how many mice all seats hold, which follows from public payments."""
    hints: bool = False
    """Show what the reference player would do at your decisions."""
    host: str = "127.0.0.1"
    """Address to listen on. The default is this machine alone; another address lets others sit at the table."""
    port: int = 8610
    """Port to listen on; 0 takes a free one."""
    browser: bool = True
    """Open the browser, if exactly one person plays on this machine."""

    def __post_init__(self) -> None:
        check_range(self, 0, 65535, "port")
        check_at_least(self, seed=0)


def main(config: Config) -> None:
    """Play the game, and say where it is saved and how it goes on."""
    file = config.game or Path("runs/play") / f"{datetime.now():%Y-%m-%d-%H%M%S}.txt"
    players = config.players or (() if file.exists() else (HUMAN, "net", "net", "net"))
    play = _prepare_terminal(config) if config.terminal else _prepare_server(config)
    table = open_table(players, file, seed=config.seed, open_mice=config.open_mice)
    try:
        play(table)
    except KeyboardInterrupt:
        print()
    _say_what_next(table, config)


def _prepare_terminal(config: Config) -> Callable[[Table], None]:
    return partial(play_at_terminal, hints=config.hints)


def _prepare_server(config: Config) -> Callable[[Table], None]:
    """Begin to listen for browsers, and return a function that serves a table to them until Ctrl-C.

    Raises `UserError` if the address cannot be listened on, or the extra `play` is not installed.
    """
    with explain_missing_extra("the table in the browser, unlike --terminal,", "play"):
        from agents.play.server import listen, serve
    return partial(serve, listening=listen(config.host, config.port), hints=config.hints, browser=config.browser)


def _say_what_next(table: Table, config: Config) -> None:
    """Print the command that reviews the game if it is over, or else the one that goes on with it."""
    command, file = python_command("agents"), shlex.quote(str(table.file))
    if table.acting is None:
        next_step = f"review it:  {command} review {file} --seat {table.seating.humans[0]}"
    else:
        players = table.seating.players
        named = f" --players {shlex.join(players)}" if any(map(is_foreign, players)) else ""
        next_step = f"go on with it:  {command} play --game {file}{named}{' --terminal' if config.terminal else ''}"
    text = f"the game is saved in {table.file}; {next_step}"
    Console().print(text, highlight=False, soft_wrap=True)
