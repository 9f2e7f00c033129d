"""Pictures of positions: they look as stored, show only what a seat may know, and become pixels.

After a change of the drawing, `FELICITY_STORE=1 python -m pytest tests/env/test_pictures.py -n 0` stores the pictures
anew; look at them before they are committed.
"""

import os
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordVideo
from pettingzoo.utils.wrappers.record_video import RecordVideo as RecordVideoOfPettingZoo
from stable_baselines3.common.env_util import make_vec_env

from experiments.checks.leaks import list_worlds
from experiments.checks.pairs import Pair, draw_pairs
from felicity_env import felicity_v0, notation
from felicity_env.game import HIDDEN, NUM_CARDS, Setup, State
from felicity_env.game_record import card_text
from felicity_env.gymnasium_env import SeatEnv, SeatVectorEnv
from felicity_env.render import raster
from felicity_env.render.html import draw_position
from felicity_env.render.modes import RENDER_MODES
from felicity_env.render.nodes import Node, list_changes
from felicity_env.render.palette import THEMES
from felicity_env.render.scene import Scene, build_full_scene, build_view_scene
from felicity_env.render.svg import HEIGHT, WIDTH, draw_svg
from felicity_env.render.text import draw_text
from felicity_env.setups import SETUPS, standard_setup
from tests.support.helpers import ALL_SETUPS, random_game

SEAT = "felicity_env:felicity/Seat-v0"
GAMES = Path(__file__).parent / "golden"
PICTURES = Path(__file__).parent / "pictures"
DEFINITIONS = "<defs>", "</defs>"
SITUATIONS = [  # (golden game, number of decisions or None for all, seat or None for everything, theme)
    ("nothing_played_yet", None, 0, "light"),
    ("stops_while_placing", None, 1, "light"),
    ("stops_before_the_first_call", None, None, "light"),
    ("stops_in_the_auction", None, 0, "dark"),
    ("large_dog_takes_highest", 6, 0, "light"),
    ("large_dog_takes_highest", None, 0, "light"),
    ("small_dog_takes_minus_eight", 6, 2, "light"),
    ("small_dog_takes_minus_eight", None, 2, "light"),
    ("nobody_buys", None, 1, "light"),
    ("bank_runs_dry_and_recovers", 20, 3, "light"),
    ("three_players_dummy_dog", 0, 0, "light"),
    ("three_players_dummy_turns_two_slots", 5, 2, "light"),
    ("three_players_dummy_turns_two_slots", None, None, "print"),
    ("whole_game_of_three", None, 0, "light"),
    ("whole_game_of_four", 40, 3, "light"),
    ("whole_game_of_four", None, 1, "light"),
    ("whole_game_of_five", 30, 4, "dark"),
    ("whole_game_of_five", None, None, "light"),
    ("shared_victory_of_three", None, 2, "print"),
    ("two_seats_and_dummy", None, 1, "light"),
]


def build_scene(game: str, decisions: int | None, seat: int | None) -> Scene:
    """Return a golden game after a number of decisions, as a seat sees it or with all cards open."""
    record = notation.loads((GAMES / f"{game}.txt").read_text())
    record = replace(record, actions=record.actions[:decisions])
    state = record.final_states()[0]
    return build_full_scene(state) if seat is None else build_view_scene(state, seat)


def split_definitions(svg: str) -> tuple[str, str]:
    """Return the definitions of a picture, which are the same for all pictures of a theme, and the rest."""
    head, _, rest = svg.partition(DEFINITIONS[0])
    definitions, _, tail = rest.partition(DEFINITIONS[1])
    return definitions, f"{head}\n{tail}".replace("><", ">\n<") + "\n"


def check_stored(name: str, content: str) -> None:
    """Check that a picture is as stored, or store it if the variable FELICITY_STORE is set."""
    path = PICTURES / name
    if os.environ.get("FELICITY_STORE"):
        path.write_text(content)
    assert path.read_text() == content, f"{name} differs from the stored picture"


# --- what is drawn ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "decisions", "seat", "theme"), SITUATIONS)
def test_a_situation_is_drawn_as_stored(game, decisions, seat, theme):
    _, body = split_definitions(draw_svg(build_scene(game, decisions, seat), theme=theme))
    viewer = "all" if seat is None else f"seat{seat}"
    check_stored(f"{game}-{'end' if decisions is None else decisions}-{viewer}-{theme}.svg", body)


@pytest.mark.parametrize("theme", THEMES)
def test_the_cards_are_drawn_as_stored(theme):
    definitions, _ = split_definitions(draw_svg(build_scene("nothing_played_yet", None, 0), theme=theme))
    check_stored(f"cards-{theme}.svg", definitions.replace("><", ">\n<") + "\n")


def list_texts(svg: str) -> list[str]:
    """Return all texts of a picture outside its definitions, in the order drawn."""
    root = ElementTree.fromstring(svg)
    for definitions in root.findall("{*}defs"):
        root.remove(definitions)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def list_cards(svg: str, kind: str) -> list[str]:
    """Return the names of the cards of a kind, "card" or "chip", in the order drawn."""
    uses = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}use")
    names = [use.attrib["href"].split("-") for use in uses]
    return [name[-1] for name in names if name[-2] == kind]


def test_the_end_of_a_long_name_of_a_player_is_left_out():
    scene = replace(build_scene("whole_game_of_five", 30, 4), names=("ev", *["a-name-of-30-letters-or-so-long"] * 4))
    texts = list_texts(draw_svg(scene))
    assert "ev" in texts
    cut = [text for text in texts if text.startswith("a-name")]
    assert len(cut) == 4
    assert all(text.endswith("…") and len(text) <= 18 for text in cut)


def test_a_picture_has_the_words_and_numbers_of_the_position():
    scene = build_scene("whole_game_of_four", 40, 3)
    texts = list_texts(draw_svg(scene))
    for text in ("Felicity", f"{scene.bank} in the bank", f"as seat {scene.viewer} sees it", "you", "seat 0", "seat 2"):
        assert text in texts
    assert str(scene.seats[0].mice) in texts
    assert texts.count("?") == 3  # the mice of the others


def test_every_card_has_its_number_or_letter():
    definitions, _ = split_definitions(draw_svg(build_scene("nothing_played_yet", None, 0)))
    for card in range(NUM_CARDS):
        assert definitions.count(f">{card_text(card).replace('-', chr(0x2212))}</text>") == 2  # card and chip


def test_cards_that_a_seat_may_not_know_are_drawn_as_backs():
    scene = build_scene("stops_before_the_first_call", None, 0)
    hidden = sum(slot.card == HIDDEN for slot in scene.slots)
    assert list_cards(draw_svg(scene), "card").count("back") == hidden > 0


def test_an_unknown_theme_is_refused():
    with pytest.raises(ValueError, match="theme must be one of 'light', 'dark', 'print', not 'blue'"):
        draw_svg(build_scene("nothing_played_yet", None, 0), theme="blue")


def test_all_positions_of_a_game_have_the_same_elements():
    for setup in ALL_SETUPS:
        states = random_game(setup, 3).states
        for seat in (None, *range(setup.seats)):
            scenes = [build_full_scene(s) if seat is None else build_view_scene(s, seat) for s in states]
            for before, after in pairwise(map(draw_position, scenes)):
                assert apply(list_changes(before, after), before) == flatten(after)


def flatten(node: Node) -> list[tuple[str, dict[str, str]]]:
    return [(each.text, each.attributes) for each in node.walk()]


def apply(changes, node: Node) -> list[tuple[str, dict[str, str]]]:
    """Return what `flatten` returns for the document into which the changes turn `node`."""
    flat = flatten(node)
    for index, text, attributes in changes:
        flat[index] = (flat[index][0] if text is None else text, flat[index][1] | attributes)
    return flat


def test_documents_with_other_elements_are_refused():
    with pytest.raises(ValueError, match="element 1 is <rect x> before and missing after"):
        list_changes(Node("g", {}, (Node("rect", {"x": "1"}),)), Node("g"))


# --- nothing hidden shows ---------------------------------------------------------------------------------------------


def collect(state: State, seat: int, draw=build_view_scene) -> dict[str, str]:
    """Return all renderings of a position for a seat, by their names."""
    scene = draw(state, seat)
    return {"scene": str(asdict(scene)), "text": draw_text(scene), "picture": draw_svg(scene)}


def compare_worlds(count: int, draw=build_view_scene) -> tuple[int, set[str]]:
    """Compare the renderings of `count` pairs of a position and a seat in other worlds that the seat thinks possible.

    Returns the number of worlds, and the names of the renderings that tell two worlds apart.
    """
    worlds, faults, setups = 0, set[str](), list(SETUPS.values())
    for number, setup in enumerate(setups):
        for pair, others in draw_uncertain_pairs(setup, -(-count // len(setups)), seed=number):
            shown = collect(pair.states[0], pair.seat, draw)
            worlds += len(others)
            for world in others:
                faults |= {name for name, text in collect(world, pair.seat, draw).items() if text != shown[name]}
    return worlds, faults


def draw_uncertain_pairs(setup: Setup, count: int, seed: int) -> list[tuple[Pair, np.ndarray]]:
    """Draw pairs of a position and a seat that thinks several worlds possible, each with its worlds."""
    rng = np.random.default_rng(seed)
    drawn = [(pair, list_worlds(pair, rng)) for pair in draw_pairs(setup, 2 * count, seed=seed)]
    uncertain = [(pair, worlds) for pair, worlds in drawn if len(worlds) > 1]
    assert len(uncertain) >= count
    return uncertain[:count]


def test_no_rendering_tells_worlds_apart_that_a_seat_thinks_possible():
    worlds, faults = compare_worlds(120)
    assert not faults
    assert worlds > 7 * 120


@pytest.mark.long("2,000 pairs of a position and a seat in eight worlds each")
def test_no_rendering_tells_many_worlds_apart_that_a_seat_thinks_possible():
    worlds, faults = compare_worlds(2000)
    assert not faults
    assert worlds > 7 * 2000


@pytest.mark.parametrize("field", ["hands", "row", "removed"])
def test_a_planted_leak_is_found(field):
    def leak(state: State, seat: int) -> Scene:
        return replace(build_view_scene(state, seat), bank=int(state[field][: state.num_seats].sum()))

    assert compare_worlds(40, leak)[1] == {"scene", "text", "picture"}


def test_the_mice_of_others_change_a_picture_only_when_they_are_asked_for():
    """R8.2."""
    state = random_game(standard_setup(4), 1).states[20].copy()
    other = (state.seat + 1) % 4
    moved = state.copy()
    moved.mice[other] += 3
    for draw in (draw_svg, draw_text):
        assert draw(build_view_scene(state, state.seat)) == draw(build_view_scene(moved, state.seat))
        views = [build_view_scene(each, state.seat, open_mice=True) for each in (state, moved)]
        assert draw(views[0]) != draw(views[1])


# --- pixels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [5, pytest.param(30, marks=pytest.mark.long("pixels of 30 pictures"))])
def test_pixels_are_a_function_of_the_picture(count):
    states = random_game(standard_setup(3), 1).states
    for number in range(count):
        state = states[number * len(states) // count]
        svg = draw_svg(build_view_scene(state, 1))
        pixels = raster.raster_rgb(svg)
        assert (pixels.shape, pixels.dtype) == ((HEIGHT, WIDTH, 3), np.uint8)
        assert np.array_equal(pixels, raster.raster_rgb(svg[:1] + svg[1:]))
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50  # text and cards are there


def test_without_the_rasteriser_only_pixels_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    raster._load.cache_clear()
    env = felicity_v0.env(render_mode="rgb_array")
    env.reset(seed=1)
    with pytest.raises(ImportError, match=r"the extra `render`: pip install 'felicity-env\[render\]'"):
        env.render()
    raster._load.cache_clear()


# --- render modes -----------------------------------------------------------------------------------------------------


def test_both_environments_have_the_same_render_modes():
    assert felicity_v0.raw_env.metadata["render_modes"] == SeatEnv.metadata["render_modes"] == [*RENDER_MODES]
    assert felicity_v0.raw_env.metadata["render_fps"] == SeatEnv.metadata["render_fps"] == 2


def test_render_shows_what_the_agent_to_act_may_know_and_everything_at_the_end():
    text, picture = (felicity_v0.raw_env(3, render_mode=mode) for mode in ("ansi", "svg"))
    for env in (text, picture):
        env.reset(seed=2)
    while text.agents and not text.terminations[text.agent_selection]:
        seat = text.possible_agents.index(text.agent_selection)
        scene = build_view_scene(text.game.final_states()[0], seat)
        assert (text.render(), picture.render()) == (draw_text(scene), draw_svg(scene))
        action = int(text.observe(seat)["action_mask"].argmax())
        text.step(action)
        picture.step(action)
    scene = build_full_scene(text.game.final_states()[0])
    assert (text.render(), picture.render()) == (draw_text(scene), draw_svg(scene))


def test_gymnasium_renders_the_picture_of_the_learner():
    env = gymnasium.make(SEAT, render_mode="svg", seat=2)
    env.reset(seed=1)
    assert "as seat 2 sees it" in env.render()


def test_a_vector_environment_shows_each_game_as_its_learner_may_know_it():
    games = SeatVectorEnv(3, 4, render_mode="ansi")
    games.reset(seed=1)
    for _ in range(50):
        games.step(games.action_masks().argmax(axis=1))
    for text, state, seat in zip(games.render(), games.batch.states, games.games.seats, strict=True):
        assert text == draw_text(build_view_scene(state, seat))
    assert SeatVectorEnv(3, 4).render() is None


def test_gymnasium_records_a_video(tmp_path):
    env = RecordVideo(
        gymnasium.make(SEAT, render_mode="rgb_array"), str(tmp_path / "videos"), video_length=3, disable_logger=True
    )
    _, info = env.reset(seed=1)
    for _ in range(4):
        *_, info = env.step(int(info["action_mask"].argmax()))
    env.close()
    assert [path.stat().st_size > 1000 for path in tmp_path.glob("videos/*.mp4")] == [True]


def test_pettingzoo_records_a_video(tmp_path):
    env = RecordVideoOfPettingZoo(felicity_v0.env(render_mode="rgb_array"), str(tmp_path / "videos"), video_length=3)
    env.reset(seed=1)
    for _ in range(4):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    env.close()
    assert [path.stat().st_size > 1000 for path in tmp_path.glob("videos/*.mp4")] == [True]


def test_many_environments_give_one_picture_each():
    for mode in ("sync", "vector_entry_point"):
        games = gymnasium.make_vec(SEAT, num_envs=2, vectorization_mode=mode, render_mode="rgb_array")
        games.reset(seed=1)
        assert [picture.shape for picture in games.render()] == [(HEIGHT, WIDTH, 3)] * 2
    of_sb3 = make_vec_env(SEAT, n_envs=2, seed=1)
    of_sb3.reset()
    assert of_sb3.render(mode="rgb_array").shape[2] == 3
