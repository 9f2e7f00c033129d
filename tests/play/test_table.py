"""Table of people and players: turns, take-back, saved games, and the line-mode terminal."""

import json
import shlex
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from agents.__main__ import VERBS
from agents.arena.game_file import read_game
from agents.play.payload import describe_table, read_message
from agents.play.table import LEVELS, Table, check_seating, open_table
from agents.play.terminal import play_at_terminal, read_action
from agents.tools.command import run_verb
from agents.tools.files import UserError
from felicity_env import notation
from felicity_env.game import PASS, PLACE, is_terminal
from felicity_env.game_record import list_legal_actions
from felicity_env.information import redact, resample
from felicity_env.render.story import tell_game
from tests.support.helpers import C8, C15

PLAYERS = ("human", "anchor", "ev", "anchor")


@pytest.fixture
def table(tmp_path) -> Table:
    """Return a new table where a person plays alone against players."""
    return open_table(PLAYERS, tmp_path / "game.txt", seed=3)


def play_on(table: Table, decisions: int | None = None) -> None:
    """Let the person at seat 0 take the first legal action, a number of times or to the end."""
    while table.acting is not None and decisions != 0:
        table.play_players()
        if table.acting is not None:
            table.act(0, list_legal_actions(table.state)[0], table.version)
            decisions = decisions and decisions - 1


# --- turns ------------------------------------------------------------------------------------------------------------


def test_players_act_until_it_is_the_turn_of_a_person(table):
    table.play_players()
    assert table.acting == 0
    play_on(table)
    assert is_terminal(table.state)


def test_the_same_seed_gives_the_same_game(tmp_path):
    games = []
    for number in range(2):
        table = open_table(PLAYERS, tmp_path / f"{number}.txt", seed=9)
        play_on(table)
        games.append(table.game)
    assert games[0] == games[1]


@pytest.mark.parametrize(
    ("seat", "action", "moved", "message"),
    [
        (1, PASS, 0, "it is the turn of seat 0, not of seat 1"),
        (0, PASS, 0, "seat 0 cannot pass"),
        (0, 99, 0, "seat 0 cannot"),
        (0, C8, 1, "the game has moved on"),
    ],
)
def test_a_wrong_action_is_refused_and_changes_nothing(table, seat, action, moved, message):
    table.play_players()
    before = table.game
    with pytest.raises(ValueError, match=message):
        table.act(seat, action, table.version - moved)
    assert table.game == before


def test_nobody_acts_after_the_end(table):
    play_on(table)
    with pytest.raises(ValueError, match="the game is over"):
        table.act(0, PASS, table.version)


def test_another_game_begins_in_a_file_of_its_own(table):
    play_on(table)
    over, file = table.game, table.file
    table.begin_again(table.version)
    assert (table.acting, table.number, len(table.game.actions)) == (table.game.deal.start_seat, 2, 0)
    assert (read_game(file), read_game(table.file)) == (over, table.game)
    assert table.file.name == "game-2.txt"


def test_no_other_game_begins_before_the_end(table):
    before, version = table.game, table.version
    with pytest.raises(ValueError, match="when this one is over"):
        table.begin_again(version)
    play_on(table)
    with pytest.raises(ValueError, match="the game has moved on"):
        table.begin_again(version)
    assert table.game.deal == before.deal


# --- take-back --------------------------------------------------------------------------------------------------------


def test_a_person_takes_back_the_last_action_and_the_players_answer_alike(table):
    play_on(table, 4)
    own = len(table.game.actions) - 1
    table.play_players()
    before = table.game
    assert len(before.actions) > own + 1  # players have answered
    table.take_back(0, table.version)
    assert (table.acting, table.game.actions) == (0, before.actions[:own])
    table.act(0, before.actions[own], table.version)
    table.play_players()
    assert table.game == before


def test_there_is_nothing_to_take_back_at_the_start(table):
    table.play_players()
    with pytest.raises(ValueError, match="no action of yours"):
        table.take_back(0, table.version)


def test_nobody_takes_back_while_other_people_play(tmp_path):
    table = open_table(("human", "human", "ev"), tmp_path / "game.txt", seed=1)
    table.play_players()
    seat = table.acting
    table.act(seat, list_legal_actions(table.state)[0], table.version)
    with pytest.raises(ValueError, match="while other people play too"):
        table.take_back(seat, table.version)


# --- saved games ------------------------------------------------------------------------------------------------------


def test_the_file_holds_the_game_after_every_action(table):
    play_on(table, 3)
    assert read_game(table.file) == table.game
    table.take_back(0, table.version)
    assert read_game(table.file) == table.game


def test_a_saved_game_goes_on_as_if_it_had_not_stopped(table, tmp_path):
    play_on(table, 5)
    table.play_players()
    again = open_table((), table.file)
    assert (again.game, again.seating, again.seed) == (table.game, table.seating, table.seed)
    play_on(table)
    play_on(again)
    assert again.game == table.game


def test_a_game_that_something_else_wrote_needs_players(table, tmp_path):
    file = tmp_path / "other.txt"
    file.write_text(notation.dumps(table.game))
    with pytest.raises(ValueError, match="num_players"):
        open_table((), file)
    assert open_table(PLAYERS, file).game == table.game


@pytest.mark.parametrize("foreign", ["{}:make", "chat:http://127.0.0.1:9/v1,m"])
def test_a_file_of_a_game_starts_no_program_and_asks_no_server(table, tmp_path, foreign):
    bot = tmp_path / "bot.py"
    bot.write_text("raise SystemExit('it was started')")
    code = foreign.format(bot)
    text = table.file.read_text()
    assert text.count("anchor") == 2
    table.file.write_text(text.replace("anchor", code))
    with pytest.raises(UserError, match=r"which a file may not start.*--players human ") as error:
        open_table((), table.file)
    assert str(error.value).endswith(shlex.join(["human", code, "ev", code]))


def test_a_game_of_another_size_is_refused(table, capsys):
    words = ["play", "--terminal", "--game", str(table.file), "--players", "human", "ev", "ev"]
    assert run_verb("agents", VERBS, words) == 2
    assert "is a game of 4 seats, not of 3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("players", "message"),
    [
        (("net", "ev", "ev"), "nobody plays"),
        (("human", "ev"), "num_players"),
        (("human", "ev", "nobody-knows"), "nobody-knows"),
    ],
)
def test_players_that_cannot_sit_together_are_refused(players, message):
    with pytest.raises(ValueError, match=message):
        check_seating(players)


def test_levels_are_names_for_players():
    assert check_seating(("human", *LEVELS)).humans == [0]


# --- terminal ---------------------------------------------------------------------------------------------------------


class Person:
    """Person at the terminal who types given lines, then the first legal action, and leaves when `leave` is reached."""

    def __init__(self, table: Table, lines: list[str], *, leave: bool = False) -> None:
        self.table, self.lines, self.leave, self.shown = table, lines, leave, []

    def read(self, prompt: str) -> str:
        self.shown.append(prompt)
        if self.lines:
            return self.lines.pop(0)
        if self.leave:
            raise EOFError
        action = list_legal_actions(self.table.state)[0]
        return notation.card_text(action) if self.table.state.phase == PLACE else "p"

    def write(self, text: str) -> None:
        self.shown.append(text)

    def play(self, **options) -> str:
        play_at_terminal(self.table, self.read, self.write, **options)
        return "\n".join(self.shown)


def test_a_game_is_played_to_the_end_at_the_terminal(table):
    shown = Person(table, []).play()
    assert is_terminal(table.state)
    assert "Winner" in shown.splitlines()[-6]
    assert "- seat 1 places a card" in shown


def test_lines_that_are_no_action_are_answered(table):
    shown = Person(table, ["?", "99", "hello", "s", "u"], leave=True).play()
    assert "place this card" in shown
    assert "'99' is not possible now; type one of" in shown
    assert "'hello' is not possible now" in shown
    assert "there is no action of yours to take back" in shown


def test_an_action_is_taken_back_at_the_terminal(table):
    Person(table, ["15", "u"], leave=True).play()
    assert table.acting == 0
    assert C15 in list_legal_actions(table.state)


@pytest.mark.parametrize(
    ("line", "action"), [("7", 17), ("bid 7", 17), ("p", PASS), ("pass", PASS), ("-", PASS), ("P", PASS)]
)
def test_a_bid_or_a_pass_is_read(table, line, action):
    while table.state.phase == PLACE:
        play_on(table, 1)
        table.play_players()
    assert read_action(table, line) == action


@pytest.mark.parametrize("line", ["0", "-3", "bid", "15", "x", "\u0661", "1" * 6000, "1_0", " "])
def test_what_is_no_bid_is_refused(tmp_path, line):
    table = open_table(("human", "human", "human"), tmp_path / "game.txt", seed=1)
    while table.state.phase == PLACE:
        table.act(table.acting, list_legal_actions(table.state)[0], table.version)
    table.act(table.acting, PASS + 15, table.version)
    with pytest.raises(ValueError, match="is not possible now; type one of"):
        read_action(table, line)


def test_several_people_take_turns_at_one_terminal(tmp_path):
    table = open_table(("human", "human", "ev"), tmp_path / "game.txt", seed=1)
    shown = Person(table, []).play()
    assert "Seat 1 is to act. Let that person sit down" in shown


def test_people_do_not_see_what_the_one_before_them_saw(tmp_path):
    table = open_table(("human", "human", "ev"), tmp_path / "game.txt", seed=1)
    shown = Person(table, []).play()
    for part in shown.split("Let that person sit down")[:-1]:
        assert part.rpartition("\n" * 80)[2].count("FELICITY") == 0


def test_each_person_at_one_terminal_is_told_what_happened_since_its_last_action(tmp_path):
    table = open_table(("human", "human", "ev"), tmp_path / "game.txt", seed=1)
    shown = Person(table, []).play()
    told, heard = {0: [], 1: []}, shown.split(" is to act. Let that person sit down")
    for before, text in pairwise(heard[:-1]):  # the last text also tells the end, to seat 0
        told[int(before[-1])] += [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    for viewer in (0, 1):
        moves = ["; ".join(move) for move in tell_game(table.game, viewer)]
        assert len(told[viewer]) > len(moves) / 2
        assert told[viewer] == moves[: len(told[viewer])]


def test_a_person_leaves_while_another_is_to_sit_down(tmp_path):
    table = open_table(("human", "human", "ev"), tmp_path / "game.txt", seed=1)
    Person(table, [], leave=True).play()
    assert table.acting is not None


@pytest.mark.parametrize("word", ["q", "quit", "exit"])
def test_a_person_leaves_by_a_word(table, word):
    Person(table, [word]).play()
    assert table.acting == 0


def test_hints_are_given_at_the_terminal_if_they_are_wanted(table):
    assert "The reference player would place" in Person(table, ["h"], leave=True).play(hints=True)
    assert "'h' is not possible now" in Person(table, ["h"], leave=True).play()


def test_the_mice_of_others_are_shown_when_they_are_wanted(tmp_path):
    for open_mice in (False, True):
        table = open_table(PLAYERS, tmp_path / f"{open_mice}.txt", seed=3, open_mice=open_mice)
        scene = table.build_scene(0)
        assert all((seat.mice is not None) == (open_mice or seat.seat == 0) for seat in scene.seats)


def test_ctrl_d_leaves_and_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "agents", "play", "--terminal", "--game", str(tmp_path / "g.txt"), "--seed", "1"]
    bot = tmp_path / "bot.py"
    bot.write_text("import agents\n\ndef make():\n    return agents.make('anchor')\n")
    command += ["--players", "human", f"{bot}:make", "ev"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    assert f"play --game {tmp_path / 'g.txt'} --players human {bot}:make ev --terminal" in done.stdout
    again = subprocess.run([*command[:7], "--players", "human", "ev", "ev"], input="", capture_output=True, text=True)
    assert again.returncode == 0


# --- what a seat is sent ----------------------------------------------------------------------------------------------


def test_a_seat_is_sent_the_same_in_all_worlds_that_it_thinks_possible(tmp_path):
    players = ("human", "human", "human", "ev")
    table, rng, compared = open_table(players, tmp_path / "game.txt", seed=2), np.random.default_rng(1), 0
    for _ in range(10):
        table.play_players()
        for seat in range(3):
            sent = json.dumps(describe_table(table, seat, 0))
            world = resample(redact(table.game.final_states(), seat), rng)
            other = Table(table.seating, table.game.setup, tmp_path / "other.txt", game=rebuild(table, world), seed=2)
            other.version = table.version
            compared += other.game != table.game
            assert json.dumps(describe_table(other, seat, 0)) == sent
        table.act(table.acting, list_legal_actions(table.state)[0], table.version)
    assert compared > 25


def rebuild(table: Table, world: np.ndarray):
    """Return the game of a table as it would be if `world` were its state."""
    from experiments.checks.pairs import Pair, rebuild_game
    from experiments.checks.random_games import Played

    states = np.array([state.copy() for _, state in table.game.states()], world.dtype)
    return rebuild_game(Pair(Played(table.game, states), len(states) - 1, 0), world[0])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON text"),
        (b"[1]", "an object with version, action"),
        (b'{"version": 1}', "an object with version, action"),
        (b'{"version": 1, "action": 2, "seat": 3}', "an object with version, action"),
        (b'{"version": 1, "action": "2"}', "are integers"),
        (b'{"version": 1, "action": true}', "are integers"),
        (b'{"version": 1, "action": 1e2}', "are integers"),
        (b'{"version": 1, "action": 99999999999}', "are integers"),
        (b"{" * 900, "JSON text"),
        (b" " * 1001, "at most 1000 bytes"),
        (b"\xff\xfe", "JSON text"),
    ],
)
def test_a_message_that_is_no_action_is_refused(body, message):
    with pytest.raises(ValueError, match=message):
        read_message(body, "version", "action")
