"""Replay of a stored game: `python -m agents replay GAME --out game.html`.

The page shows every position of the game, with all cards or as one seat saw it. It is one file that needs no network,
so it can be mailed. The command also writes films (`--gif`, `--mp4`) and pictures of one position (`--svg`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.console import Console

from agents.arena.game_file import read_game, read_names
from agents.tools.command import explain_missing_extra
from agents.tools.files import UserError, write_text
from agents.tools.settings import check_at_least, check_positive, require
from felicity_env.game_record import Game
from felicity_env.render.film import draw_frames, write_gif, write_mp4
from felicity_env.render.replay import replay_html
from felicity_env.render.scene import build_scene
from felicity_env.render.svg import draw_svg


@dataclass(frozen=True)
class Config:
    """Make a page of a stored game that shows every position, and on request films and pictures of it."""

    game: Annotated[Path, tyro.conf.Positional]
    """File with a game in text notation (see `felicity_env.notation`); the game may be unfinished."""
    out: Path | None = None
    """File of the page. Default: the name of the game's file with the ending .html, or -as-seat0.html with --seat 0,
    unless a film or a picture is asked for."""
    seat: int | None = None
    """Seat that sees the game; the files then hold nothing that it may not know. Default: all cards are open."""
    open_mice: bool = False
    """Show how many mice the others hold in the view of a seat."""
    hide_later: bool = False
    """Hide the moves after the position shown, until the reader asks for them."""
    gif: Path | None = None
    """File of a film as an animated GIF."""
    mp4: Path | None = None
    """File of a film as MP4."""
    seconds: float = 1.0
    """Seconds for which a film shows each position."""
    svg: tuple[int, ...] = ()
    """Numbers of decisions whose positions are drawn as SVG pictures, beside the game's file; 0 is the deal."""
    theme: Literal["light", "dark", "print"] = "light"
    """Colours of films and pictures; a page follows the reader's settings."""

    def __post_init__(self) -> None:
        check_positive(self, "seconds")
        check_at_least(self, seat=0)
        for option, path, ending in (("out", self.out, ".html"), ("gif", self.gif, ".gif"), ("mp4", self.mp4, ".mp4")):
            require(path is None or path.suffix == ending, f"--{option} needs a file that ends in {ending}, not {path}")


def main(config: Config) -> None:
    """Write the page, films and pictures that the settings ask for, and print their names."""
    game = read_game(config.game)
    _check_numbers(config, game)
    written = [*_write_films(config, game), *_write_pictures(config, game)]
    if config.out is not None or not written:
        path = config.out or _choose_path(config, ".html")
        shown = _choose_what_is_shown(config, game)
        write_text(path, replay_html(game, config.seat, hide_later=config.hide_later, **shown))
        written.append(path)
    for path in written:
        Console().print(f"written: {path}", highlight=False, soft_wrap=True)


def _check_numbers(config: Config, game: Game) -> None:
    """Raise `UserError` if the game has no such seat or position."""
    if config.seat is not None and config.seat >= game.setup.seats:
        raise UserError(f"--seat {config.seat}: the seats of {config.game} are 0 to {game.setup.seats - 1}")
    for number in config.svg:
        if not 0 <= number <= len(game.actions):
            raise UserError(f"--svg {number}: {config.game} has positions 0 to {len(game.actions)}")


def _choose_what_is_shown(config: Config, game: Game) -> dict[str, Any]:
    return {"open_mice": config.open_mice, "names": read_names(config.game, game.setup.seats)}


def _write_pictures(config: Config, game: Game) -> Iterator[Path]:
    """Write a picture of the position after each number of decisions that is asked for, and yield their names."""
    for number in config.svg:
        state = replace(game, actions=game.actions[:number]).final_states()[0]
        svg = draw_svg(build_scene(state, config.seat, **_choose_what_is_shown(config, game)), theme=config.theme)
        path = _choose_path(config, f"-{number}.svg")
        write_text(path, svg)
        yield path


def _choose_path(config: Config, ending: str) -> Path:
    """Return the path of a file beside that of the game; what a seat sees gets another name than all cards open."""
    viewer = "" if config.seat is None else f"-as-seat{config.seat}"
    return config.game.with_name(f"{config.game.stem}{viewer}{ending}")


def _write_films(config: Config, game: Game) -> Iterator[Path]:
    """Write the films that are asked for, and yield their names."""
    for path, write, scale in ((config.gif, write_gif, 0.75), (config.mp4, write_mp4, 1.0)):
        if path is not None:
            with explain_missing_extra("a film", "render"):
                write(path, _draw_frames(config, game, scale), seconds=config.seconds)
            yield path


def _draw_frames(config: Config, game: Game, scale: float) -> Iterator[np.ndarray]:
    shown = _choose_what_is_shown(config, game)
    return draw_frames(game, config.seat, theme=config.theme, scale=scale, **shown)
