"""`python -m agents games` and `replay`: saved games, and the pages, films and pictures made of them."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import agents
from agents.__main__ import VERBS
from agents.arena.blocks import play_blocks
from agents.arena.game_file import read_game, read_players
from agents.play import games
from agents.tools.command import run_verb
from felicity_env.game import score
from felicity_env.game_record import Game
from felicity_env.notation import dumps
from felicity_env.player import Player
from felicity_env.random_stream import game_seed
from felicity_env.render.replay import replay_html
from felicity_env.render.scene import build_full_scene, build_view_scene
from felicity_env.render.svg import draw_svg
from felicity_env.setups import standard_setup
from tests.support.helpers import random_game


def run(*words: object) -> int:
    return run_verb("agents", VERBS, [*map(str, words)])


@pytest.fixture
def stored(tmp_path) -> tuple[Path, Game]:
    """Return a file with an unfinished game, and the game."""
    game = random_game(standard_setup(3), 4).game
    game = Game(game.setup, game.deal, game.actions[:12])
    path = tmp_path / "game.txt"
    path.write_text(dumps(game))
    return path, game


# --- games ------------------------------------------------------------------------------------------------------------


def test_saved_games_are_those_of_a_tournament_with_the_same_seed(tmp_path, capsys):
    codes = ("anchor", "ev", "ev")
    assert run("games", *codes, "--num-deals", 2, "--first-deal", 3, "--seed", 7, "--out", tmp_path) == 0
    assert capsys.readouterr().out.endswith(f"2/2 deals  about 0 s left\n6 games are in {tmp_path}\n")
    players = [agents.make(code) for code in codes]
    blocks = play_blocks(players, num_deals=range(3, 5), seed=game_seed(7, 3, 0))
    for block in range(2):
        for rotation in range(3):
            path = tmp_path / f"deal{block + 3}-rotation{rotation}.txt"
            final = read_game(path).final_states()[0]
            seats = blocks.seats[block, rotation]
            margins = [score(final, seat) - np.mean([score(final, s) for s in range(3) if s != seat]) for seat in seats]
            assert np.allclose(blocks.measures["margin"][block, rotation], margins)
            codes_by_seat = [codes[player] for player in np.argsort(seats)]
            scores = ", ".join(str(score(final, seat)) for seat in range(3))
            assert path.read_text().endswith(f"\n# players: {', '.join(codes_by_seat)}; scores: {scores}\n")


def test_an_interrupted_command_keeps_the_games_of_the_deals_that_it_has_played_and_says_so(
    tmp_path, monkeypatch, capsys
):
    def stop_at_the_third_deal(config: games.Config, players: Sequence[Player], deal: int) -> dict[str, str]:
        if deal == 2:
            raise KeyboardInterrupt
        return play_deal(config, players, deal)

    play_deal = games.play_deal
    monkeypatch.setattr(games, "play_deal", stop_at_the_third_deal)
    assert run("games", "anchor", "ev", "ev", "--num-deals", 4, "--out", tmp_path) == 130
    assert capsys.readouterr().err == f"stopped; the 6 games of finished deals are in {tmp_path}\n"
    assert {path.name for path in tmp_path.iterdir()} == {
        f"deal{d}-rotation{r}.txt" for d in range(2) for r in range(3)
    }
    words = ["anchor", "ev", "ev", "--first-deal", 2, "--out", tmp_path / "other"]
    assert run("games", *words) == 130
    assert capsys.readouterr().err == "stopped; nothing was stored\n"


def test_games_replace_no_other_games_and_are_not_written_among_other_files(tmp_path, capsys):
    words = ["games", "anchor", "ev", "ev", "--num-deals", 1, "--out"]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    assert run(*words, tmp_path / "run") == 2
    assert "run is not empty and holds no games; choose another --out" in capsys.readouterr().err
    assert run(*words, tmp_path / "games") == 0
    before = {path: path.read_text() for path in (tmp_path / "games").iterdir()}
    assert run(*words, tmp_path / "games") == 0
    assert run(*words, tmp_path / "games", "--seed", 8) == 2
    assert "deal0-rotation0.txt is another game (of other settings" in capsys.readouterr().err
    assert {path: path.read_text() for path in (tmp_path / "games").iterdir()} == before


def test_a_number_of_players_without_a_setup_is_refused(tmp_path, capsys):
    assert run("games", "anchor", "ev", "--out", tmp_path / "none") == 2
    assert "name 3, 4 or 5 players, not 2, or give a --setup with 2 seats" in capsys.readouterr().err
    assert run("games", "anchor", "ev", "pass", "--setup", "tiny-2", "--out", tmp_path / "none") == 2
    assert "name 2 players, not 3: --setup tiny-2 has 2 seats" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


# --- replay -----------------------------------------------------------------------------------------------------------


def test_the_names_of_the_players_are_shown(tmp_path):
    run("games", "anchor", "ev", "ev", "--num-deals", 1, "--out", tmp_path)
    path = tmp_path / "deal0-rotation0.txt"
    assert read_players(path, 3)[0] == "anchor"
    assert read_players(path, 4) == ()
    run("replay", path)
    assert "seat 0 (anchor)" in path.with_suffix(".html").read_text()


def test_a_file_that_is_no_text_is_refused(tmp_path, capsys):
    path = tmp_path / "game.txt"
    path.write_bytes(b"\xd3\xff")
    assert run("replay", path) == 2
    assert capsys.readouterr().err == f"error: {path} is not a text file\n"


def test_the_page_of_a_game_is_written_beside_it(stored, capsys):
    path, game = stored
    assert run("replay", path) == 0
    assert capsys.readouterr().out == f"written: {path.with_suffix('.html')}\n"
    assert path.with_suffix(".html").read_text() == replay_html(game)


def test_the_page_of_a_seat_is_written_to_a_file(stored, tmp_path):
    path, game = stored
    assert run("replay", path, "--out", tmp_path / "x.html", "--seat", 1, "--open-mice", "--hide-later") == 0
    assert (tmp_path / "x.html").read_text() == replay_html(game, 1, open_mice=True, hide_later=True)


def test_the_page_of_a_seat_does_not_replace_the_one_with_all_cards(stored):
    path, game = stored
    assert run("replay", path) == run("replay", path, "--seat", 1) == 0
    assert path.with_name("game-as-seat1.html").read_text() == replay_html(game, 1)
    assert path.with_suffix(".html").read_text() == replay_html(game)


def test_pictures_of_positions_are_written(stored):
    path, game = stored
    assert run("replay", path, "--svg", 0, 12, "--seat", 2, "--theme", "dark") == 0
    assert not path.with_suffix(".html").exists()
    picture = draw_svg(build_view_scene(game.final_states()[0], 2), theme="dark")
    assert path.with_name("game-as-seat2-12.svg").read_text() == picture
    assert path.with_name("game-as-seat2-0.svg").exists()


def test_a_film_has_a_frame_for_every_position(stored, tmp_path):
    path, game = stored
    assert run("replay", path, "--gif", tmp_path / "x.gif", "--mp4", tmp_path / "x.mp4", "--seconds", 0.5) == 0
    with Image.open(tmp_path / "x.gif") as film:
        assert (film.n_frames, film.size, film.info["duration"]) == (len(game.actions) + 1, (720, 480), 500)
    assert (tmp_path / "x.mp4").stat().st_size > 10_000


def test_without_the_extra_for_films_nothing_is_written(stored, tmp_path, monkeypatch, capsys):
    path, _ = stored
    monkeypatch.setitem(sys.modules, "moviepy", None)  # as if it were not installed
    assert run("replay", path, "--svg", 3, "--mp4", tmp_path / "x.mp4") == 2
    assert "-m pip install -c constraints.txt -e '.[render]'" in capsys.readouterr().err
    assert not path.with_name("game-3.svg").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seat", 3], "--seat 3: the seats of {path} are 0 to 2"),
        (["--seat", -1], "seat must be at least 0, not -1"),
        (["--svg", 13], "--svg 13: {path} has positions 0 to 12"),
        (["--gif", "film.mp4"], "--gif needs a file that ends in .gif, not film.mp4"),
        (["--seconds", 0], "--seconds must be positive, not 0.0"),
    ],
)
def test_wrong_options_are_refused_and_nothing_is_written(stored, options, message, capsys):
    path, _ = stored
    assert run("replay", path, *options) == 2
    assert message.format(path=path) in capsys.readouterr().err
    assert list(path.parent.iterdir()) == [path]


def test_a_full_game_is_shown_with_all_cards_by_default(stored):
    path, game = stored
    run("replay", path, "--svg", 12)
    assert path.with_name("game-12.svg").read_text() == draw_svg(build_full_scene(game.final_states()[0]))


def test_an_unknown_player_is_refused(tmp_path, capsys):
    assert run("games", "anchor", "ev", "nobody-knows", "--out", tmp_path / "none") == 2
    assert "nobody-knows" in capsys.readouterr().err
