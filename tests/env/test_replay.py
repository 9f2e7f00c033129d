"""Replays: one file with every position of a game, which shows a seat's view without anything hidden."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from experiments.checks.leaks import list_worlds
from experiments.checks.pairs import Pair, draw_pairs, rebuild_game
from felicity_env import Batch, felicity_v0, notation
from felicity_env.game_record import Game
from felicity_env.render.html import draw_position
from felicity_env.render.replay import replay_html, unpack
from felicity_env.render.scene import build_full_scene, build_view_scene
from felicity_env.render.story import tell_event, tell_game
from felicity_env.render.svg import draw_svg
from felicity_env.setups import SETUPS, standard_setup
from tests.env.test_pictures import apply, build_scene, flatten
from tests.support.helpers import ODD_SETUPS, make_view, random_game

UNFINISHED, FINISHED = 50, 5


def read_data(html: str) -> dict:
    """Return the data of a replay: rounds, and the changes and moves of each view."""
    (packed,) = re.findall(r'<script type="text/plain" id="game">(.*?)</script>', html)
    return unpack(packed)


def test_a_replay_leads_through_all_positions_as_every_viewer_sees_them():
    for setup in (*SETUPS.values(), *ODD_SETUPS[:2]):
        game = random_game(setup, 2).game
        states = [state.copy() for _, state in game.states()]
        first = draw_position(build_full_scene(states[0]))
        views = read_data(replay_html(game))["views"]
        assert len(views) == 1 + setup.seats
        for seat, view in zip([None, *range(setup.seats)], views, strict=True):
            scenes = [build_full_scene(s) if seat is None else build_view_scene(s, seat) for s in states]
            changes: list = []
            for more, scene in zip(view["changes"], scenes, strict=True):
                changes += more
                assert apply(changes, first) == flatten(draw_position(scene))


def test_the_rounds_of_a_replay_begin_where_the_rounds_of_the_game_do():
    game = random_game(standard_setup(4), 1).game
    numbers = [state.round_number for _, state in list_states(game)]
    rounds = read_data(replay_html(game))["rounds"]
    assert [numbers[start] for start in rounds] == list(range(9))
    assert all(numbers[start - 1] == k for k, start in enumerate(rounds[1:]))


def list_states(game: Game):
    return [(action, state.copy()) for action, state in game.states()]


def test_a_replay_is_one_file_that_asks_for_nothing_else():
    html = replay_html(random_game(standard_setup(4), 1).game)
    assert "default-src 'none'" in html
    assert not re.findall(r'(?:src|href)="(?!#)', html)
    assert re.findall(r"https?://[^\"' ]+", html) == ["http://www.w3.org/2000/svg"]  # a name, not an address
    assert len(html.encode()) <= 150_000


def test_a_replay_with_all_cards_has_the_notation_of_the_game():
    game = random_game(standard_setup(3), 1).game
    html = replay_html(game)
    (text,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", html, flags=re.DOTALL)
    assert notation.loads(text) == game
    assert "<textarea" not in replay_html(game, 1)


def test_a_game_without_decisions_has_a_replay():
    game = replace(random_game(standard_setup(5), 1).game, actions=())
    data = read_data(replay_html(game))
    assert data["rounds"] == [0]
    assert all(len(view["changes"]) == 1 and view["moves"] == [] for view in data["views"])


def test_later_moves_can_be_hidden_from_the_start():
    game = random_game(standard_setup(3), 1).game
    assert 'id="hide" type="checkbox" checked' in replay_html(game, hide_later=True)
    assert 'id="hide" type="checkbox">' in replay_html(game)


def test_a_seat_that_is_not_at_the_table_is_refused():
    with pytest.raises(ValueError, match="seat must be 0 to 2, not 3"):
        replay_html(random_game(standard_setup(3), 1).game, 3)


# --- nothing hidden shows ---------------------------------------------------------------------------------------------


def compare_replays(pairs: list[Pair], most: int = 8) -> int:
    """Check that the replay of a seat is the same in `most` worlds that it thinks possible; return their number."""
    rng, compared = np.random.default_rng(1), 0
    for pair in pairs:
        shown = replay_html(pair.game, pair.seat)
        for world in list_worlds(pair, rng)[:most]:
            game = rebuild_game(pair, world)
            compared += game != pair.game
            assert replay_html(game, pair.seat) == shown
    return compared


def test_the_replay_of_a_seat_does_not_tell_worlds_of_an_unfinished_game_apart():
    pairs = [pair for number, setup in enumerate(SETUPS.values()) for pair in draw_pairs(setup, 2, seed=number)]
    assert compare_replays(pairs) > 5 * len(pairs)


@pytest.mark.long("50 unfinished games in eight worlds each")
def test_the_replay_of_a_seat_does_not_tell_worlds_of_many_unfinished_games_apart():
    setups = list(SETUPS.values())
    each = -(-UNFINISHED // len(setups))
    pairs = [pair for number, setup in enumerate(setups) for pair in draw_pairs(setup, each, seed=number)]
    assert compare_replays(pairs) > 5 * UNFINISHED


@pytest.mark.long("every decision of five finished games")
def test_what_the_replay_of_a_finished_game_shows_up_to_a_decision_does_not_tell_worlds_apart():
    setups = [*SETUPS.values()][:3] * 2
    for number in range(FINISHED):
        played = random_game(setups[number], number)
        seat = number % played.game.setup.seats
        assert compare_replays([Pair(played, k, seat) for k in range(len(played.states))], most=1) > 10


def test_a_card_placed_by_another_seat_is_not_told():
    game = random_game(standard_setup(3), 1).game
    seats = [int(state.seat) for _, state in list_states(game)][: len(game.actions)]
    for viewer in range(3):
        moves = list(tell_game(game, viewer))
        placed = [move[0] for move in moves if " place" in move[0]]
        assert {text for text in placed if text.startswith("seat")} == {
            f"seat {seat} places a card" for seat in set(seats) - {viewer}
        }
        assert all(not text.endswith("a card") for text in placed if text.startswith("you"))


# --- notebooks --------------------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_replay_of_a_game():
    game = random_game(standard_setup(3), 1).game
    (page,) = re.findall('srcdoc="(.*?)"', game._repr_html_(), flags=re.DOTALL)
    assert unescape(page) == replay_html(game)


def test_a_notebook_shows_a_position_as_a_picture():
    scene = build_scene("stops_in_the_auction", None, 0)
    assert scene._repr_html_() == draw_svg(scene)


def test_a_notebook_shows_what_the_agent_to_act_may_know():
    env = felicity_v0.raw_env()
    assert env._repr_html_() is None  # no game is dealt
    env.reset(seed=1)
    view = env.view()
    assert env._repr_html_() == view._repr_html_() == draw_svg(build_view_scene(view.states[0], view.seats[0]))


def test_a_notebook_shows_the_first_decisions_of_a_view():
    batch = Batch(5, seed=1)
    seeds = np.arange(5, dtype=np.uint64)
    shown = make_view(batch.states, seeds)._repr_html_()
    assert shown.count("<svg") == 3
    assert shown.endswith("<p>and 2 more decisions</p>")


# --- sentences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (("place", 1, None), "seat 1 places a card"),
        (("place", 2, 7), "you place R"),
        (("bid", 0, 7), "seat 0 bids 7"),
        (("pass", 0, 0), "seat 0 passes"),
        (("pass", 2, 1), "you pass for 1 mouse"),
        (("pass", 1, 4), "seat 1 passes for 4 mice"),
        (("turn", 3, 0), "slot 3 is turned up: -8"),
        (("sold", 2, 3, -5), "you pay 3 for a sack worth -5"),
        (("sold", 1, 3, 12), "seat 1 pays 3 for a sack worth 12"),
        (("scrapped",), "nobody buys; the row goes to the box"),
        (("pots", 0), "the mouse cards stay empty"),
        (("pots", 12), "the mouse cards are filled with 12 mice"),
    ],
)
def test_an_event_is_told_in_a_sentence(event, text):
    assert tell_event(event, 2) == text


def test_an_unknown_event_is_refused():
    with pytest.raises(ValueError, match="is no event that is told"):
        tell_event(("hand", (1, 2)), 0)


def test_the_tables_of_a_page_have_the_words_of_the_position():
    words = [text for text, _ in flatten(draw_position(build_scene("stops_in_the_auction", None, 0))) if text]
    for text in ("The row", "Seats", "Cards", "Seat 1 is to act: bid or pass.", "passed", "cat points"):
        assert text in words
