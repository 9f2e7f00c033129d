"""Question: how fast are pictures, replays and reviews? `python -m experiments pictures`

Measured on one core, on positions and games of the reference player: milliseconds for a picture as SVG and as pixels,
kilobytes and seconds for the replay of a long game of each size, and seconds for the review of a game of four.
"""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from rich.progress import track

from agents.data.play import play_games
from agents.play.explanation import make_policy
from agents.play.review_game import review_game
from agents.tools.settings import check_positive
from experiments.results import median_interval, write_result
from experiments.speed.training import measure_seconds
from felicity_env.game_record import Game
from felicity_env.render.raster import raster_rgb
from felicity_env.render.replay import replay_html
from felicity_env.render.scene import Scene, build_view_scene
from felicity_env.render.svg import draw_svg
from felicity_env.setups import STANDARD_PLAYERS, standard_setup


@dataclass(frozen=True)
class Config:
    """Measure the speed of pictures, replays and reviews."""

    resumes: ClassVar[bool] = False
    repetitions: int = 15
    """Number of repetitions of each measurement of pictures; the median is reported."""
    games: int = 9
    """Number of games of each size; the replay of the longest is measured, and reviews of as many seats."""

    def __post_init__(self) -> None:
        check_positive(self, "repetitions", "games")


def play_some(num_players: int, count: int) -> list[Game]:
    """Play games among copies of the reference player."""
    games = play_games(["net"], standard_setup(num_players), range(count), seed=0, with_probabilities=False)
    return [games.game(index) for index in range(count)]


def list_scenes(game: Game) -> list[Scene]:
    """Return all positions of a game as the seat to act may know them, before the game is over."""
    return [build_view_scene(state, int(state.seat)) for _, state in game.states() if state.seat >= 0]


def draw_all(scenes: list[Scene]) -> list[str]:
    """Return a picture of each position as SVG."""
    return [draw_svg(scene) for scene in scenes]


def measure_pictures(scenes: list[Scene], repetitions: int) -> dict[str, Any]:
    """Measure the milliseconds for a picture as SVG and for its pixels."""
    few = draw_all(scenes[:10])
    drawn = [measure_seconds(partial(draw_all, scenes)) / len(scenes) for _ in range(repetitions)]
    pixels = [measure_seconds(partial(list, map(raster_rgb, few))) / len(few) for _ in range(repetitions)]
    return {
        "svg_milliseconds": median_interval(1000 * np.array(drawn)),
        "rgb_array_milliseconds": median_interval(1000 * np.array(pixels)),
    }


def measure_replay(games: list[Game]) -> dict[str, Any]:
    """Measure the replay of the longest game: decisions, kilobytes and seconds."""
    game = max(games, key=lambda game: len(game.actions))
    started = time.monotonic()
    size = len(replay_html(game).encode())
    return {"decisions": len(game.actions), "bytes": size, "seconds": time.monotonic() - started}


def measure_reviews(games: list[Game]) -> dict[str, Any]:
    """Measure the seconds for a review of one seat in each game."""
    player = make_policy("net")
    seconds = [measure_seconds(partial(review_game, game, number % 4, player)) for number, game in enumerate(games)]
    return median_interval(np.array(seconds))


def main(config: Config) -> None:
    """Measure pictures, replays and reviews, and store the result."""
    started = time.monotonic()
    games = {size: play_some(size, config.games) for size in STANDARD_PLAYERS}
    results: dict[str, Any] = measure_pictures(list_scenes(games[4][0]), config.repetitions)
    results["replays"] = {str(size): measure_replay(games[size]) for size in track(STANDARD_PLAYERS, "replays")}
    results["review_seconds"] = measure_reviews(games[4])
    write_result("pictures", config, results, started=started)
