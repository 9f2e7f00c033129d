"""Game against players of this project: `python -m agents play --players human net human ev`.

The command opens a table in the browser; with `--terminal` it plays line by line. Every action is saved at once, so an
interrupted game goes on with the same file.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console

from agents.play.table import HUMAN, Table, open_table
from agents.play.terminal import play_at_terminal
from agents.tools.command import python_command
from agents.tools.files import UserError
from agents.tools.settings import check_at_least, check_range

_NEEDS = "the table in the browser needs the extra `play`: pip install -e '.[play]'; or play with --terminal"


@dataclass(frozen=True)
class Config:
    """Play a game against players of this project, in the browser or at the terminal."""

    players: tuple[str, ...] = ()
    """Players by seat: `human`, `easy`, `medium`, `hard` or codes of players, such as `human net human ev`; 3 to 5.
    Default: those of the saved game, or `human net net net`."""
    terminal: bool = False
    """Play line by line at the terminal, instead of in the browser."""
    game: Path | None = None
    """File of the game in text notation. If it exists, the game goes on. Default: a new file in runs/play."""
    seed: int | None = None
    """Seed of the deal and of the players. Default: a random one."""
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
    table = open_table(players, file, seed=config.seed)
    try:
        if config.terminal:
            play_at_terminal(table)
        else:
            _serve(table, config)
    except KeyboardInterrupt:
        print()
    _say_what_next(table, config)


def _serve(table: Table, config: Config) -> None:
    """Play in the browser until Ctrl-C; raise `UserError` if the extra `play` is not installed."""
    try:
        from agents.play.server import serve
    except ImportError as error:
        raise UserError(f"{_NEEDS} ({error})") from error
    serve(table, host=config.host, port=config.port, hints=config.hints, browser=config.browser)


def _say_what_next(table: Table, config: Config) -> None:
    """Print the command that reviews the game if it is over, or else the one that goes on with it."""
    command, file = python_command("agents"), table.file
    if table.acting is None:
        text = f"the game is saved in {file}; review it:  {command} review {file} --seat {table.seating.humans[0]}"
    else:
        terminal = " --terminal" if config.terminal else ""
        text = f"the game is saved in {file}; go on with it:  {command} play --game {file}{terminal}"
    Console().print(text, highlight=False, soft_wrap=True)
