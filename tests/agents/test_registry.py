"""Registry: every code makes its player; wrong and old codes get an error that says what to write."""

import re
from pathlib import Path

import numpy as np
import pytest

import agents
from agents.compiled import HEURISTICS, CompiledPlayer, heuristic_number
from agents.identity import identify_player
from agents.mixture import REFERENCE, MixturePlayer
from agents.network import NetworkPlayer
from agents.policy_file import save_policy
from agents.registry import OWN_PLAYER, PLAYERS, is_slow, list_files, parse_code
from agents.search import MAX_PLAYOUTS, MAX_THREADS, SearchPlayer
from agents.tools.command import python_command
from felicity_env import Batch
from tests.support.helpers import COMPILED
from tests.support.players import small_net

HERE = __name__
CODES = (
    *(*HEURISTICS, "mc:2", "mc:2,threads=2", "ismcts:2", "ismcts:2,threads=2"),
    *("net", "net:greedy", "net-1", "net+search:2"),
)


# --- codes that make a player -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_a_code_makes_a_player(code):
    legal = Batch(3 if COMPILED else 2).view().action_masks
    actions = agents.make(code).act(Batch(len(legal)).view())
    assert legal[np.arange(len(legal)), actions].all()


def test_every_player_of_the_registry_is_made_by_one_of_these_codes():
    assert {code.split(":")[0] for code in CODES} == set(PLAYERS) - {"chat"}  # test_chat has that


@pytest.mark.parametrize("code", HEURISTICS)
def test_the_code_of_a_heuristic_makes_the_compiled_player_of_its_number(code):
    player = agents.make(code)
    assert isinstance(player, CompiledPlayer)
    assert player.number == heuristic_number(code)


@pytest.mark.parametrize("name", ["mc", "ismcts"])
def test_the_code_of_a_search_gives_playouts_and_threads(name):
    most = f"{MAX_PLAYOUTS},threads={MAX_THREADS}"
    for parts, playouts, threads in (("1", 1, 1), ("7,threads=1", 7, 1), (most, MAX_PLAYOUTS, MAX_THREADS)):
        player = agents.make(f"{name}:{parts}")
        assert isinstance(player, SearchPlayer)
        assert (player.playouts, player.threads, player.learns) == (playouts, threads, name == "ismcts")


def test_net_is_the_reference_player_and_greedy_makes_it_take_the_best_action():
    reference, greedy = agents.make("net"), agents.make("net:greedy")
    assert isinstance(reference, MixturePlayer)
    assert isinstance(greedy, MixturePlayer)
    assert reference.digest() == greedy.digest() == agents.make(f"net:{REFERENCE}").digest()
    assert [member.greedy for member in reference.members] == [False] * len(reference.members)
    assert all(member.greedy for member in greedy.members)


@pytest.mark.parametrize("folder", ["a-run", "seed=3", "a@b", "greedy"])
def test_a_path_is_read_as_it_is_with_or_without_an_option(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    save_policy(tmp_path / folder, small_net(1).layers, open_mice=False, activation="tanh")
    path = f"./{folder}" if folder == "greedy" else folder
    player, greedy = agents.make(f"net:{path}"), agents.make(f"net:{path},greedy")
    assert isinstance(player, NetworkPlayer)
    assert isinstance(greedy, NetworkPlayer)
    assert (player.greedy, greedy.greedy) == (False, True)
    assert player.digest() == greedy.digest() == small_net(1).digest()


def make_own_player() -> agents.Player:
    return agents.make("ev")


def make_nothing() -> None:
    return None


def test_a_function_of_a_module_makes_a_player():
    assert isinstance(agents.make(f"{HERE}:make_own_player"), CompiledPlayer)


# --- wrong codes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["", "evv", "EV", "ev ", "network", "no-module:make", ":make"])
@pytest.mark.parametrize("use", [agents.make, identify_player, parse_code])
def test_an_unknown_code_gets_one_line_with_all_codes(code, use):
    codes = f"{', '.join(PLAYERS)}, or {OWN_PLAYER} ({python_command('agents')} --help lists them)"
    meant = {"evv": "ev", "EV": "ev", "ev ": "ev", "network": "net"}.get(code)
    hint = f" (did you mean {meant!r}?)" if meant else ""
    with pytest.raises(ValueError, match=re.escape(f"no player {code!r}{hint}; codes are {codes}") + "$"):
        use(code)


def test_a_folder_that_is_not_there_gets_a_hint():
    with pytest.raises(ValueError, match=r"no player 'runs/none' \(there is no such folder\)"):
        agents.make("runs/none")


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("ev", ("ev", [], {})),
        ("mc:200,threads=2", ("mc", ["200"], {"threads": "2"})),
        ("net", ("net", [str(REFERENCE)], {})),
        ("net:a-run,greedy", ("net", ["a-run"], {"greedy": True})),
        ("absent.module:make", ("absent.module", ["make"], {})),
    ],
)
def test_a_code_has_a_name_values_and_options(code, parts):
    assert parse_code(code) == parts


def test_every_player_has_a_line_of_help():
    assert all(entry.help and "\n" not in entry.help for entry in PLAYERS.values())


def test_the_path_of_a_policy_without_net_gets_a_hint(tmp_path):
    with pytest.raises(ValueError, match=f"did you mean 'net:{tmp_path}'"):
        agents.make(str(tmp_path))


def test_a_file_without_a_function_gets_a_hint(tmp_path):
    path = tmp_path / "mine.py"
    path.touch()
    with pytest.raises(ValueError, match=f"did you mean '{path}:make'"):
        agents.make(str(path))


def test_a_folder_of_code_and_a_file_of_another_library_get_a_hint(tmp_path):
    (tmp_path / "team").mkdir()
    (tmp_path / "team/__init__.py").write_text("")
    (tmp_path / "model.zip").write_bytes(b"PK")
    with pytest.raises(ValueError, match=f"did you mean '{tmp_path}/team/__init__.py:play'"):
        agents.make(f"{tmp_path}/team:play")
    with pytest.raises(ValueError, match="a model of another library plays by a function of yours"):
        agents.make(f"{tmp_path}/model.zip")


@pytest.mark.parametrize("code", ["net:", "mc:", "ismcts:"])
def test_a_colon_needs_something_after_it(code):
    with pytest.raises(ValueError, match="needs something after the colon: "):
        agents.make(code)


@pytest.mark.parametrize("code", ["ev:200", "ev:", "random:greedy"])
def test_a_heuristic_takes_nothing_after_a_colon(code):
    with pytest.raises(ValueError, match="takes nothing after a colon"):
        agents.make(code)


@pytest.mark.parametrize("code", ["mc", "ismcts", "mc:threads=2", "mc:10,20", "net:one,two"])
def test_too_few_or_too_many_values_are_refused_with_the_help(code):
    with pytest.raises(ValueError, match=r"takes (playouts|path) after the colon, got"):
        agents.make(code)


def test_a_value_for_a_player_that_takes_none_is_refused():
    with pytest.raises(ValueError, match="'net-1' takes no value after the colon, got 'something'"):
        agents.make("net-1:something")


def test_an_option_that_is_misspelt_gets_a_hint():
    with pytest.raises(
        ValueError, match=r"takes path after the colon, got 'some/run,greed' \(did you mean 'greedy'\?\)"
    ):
        agents.make("net:some/run,greed")


def test_an_option_given_twice_is_refused():
    with pytest.raises(ValueError, match="'mc' got the option threads twice"):
        agents.make("mc:10,threads=2,threads=3")


def test_only_paths_are_files_of_a_player(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("200", "2", "run"):
        (tmp_path / name).mkdir()
    assert list_files("mc:200,threads=2", "net:run,greedy", "net+search:2,policy=run") == [Path("run")]


@pytest.mark.parametrize("code", ["mc:10,workers=2", "net:some/run,open=1", "mc:10,greedy=1"])
def test_an_unknown_option_is_refused_with_the_help(code):
    name, option = code.split(":")[0], code.split(",")[-1]
    with pytest.raises(ValueError, match=f"'{name}' has no option '{option}': "):
        agents.make(code)


@pytest.mark.parametrize("name", ["mc", "ismcts"])
@pytest.mark.parametrize("text", ["x", "-5", "5.5", "1e3", " 5", "5 ", "+5", "٣", "²", "1_0", "0", "000", "1000001"])
def test_a_number_that_a_search_cannot_take_is_refused_with_the_range(name, text):
    for code, wanted in (
        (f"{name}:{text}", "1 to 1,000,000 playouts"),
        (f"{name}:5,threads={text}", "1 to 256 threads"),
    ):
        with pytest.raises(ValueError, match=rf"takes {wanted}.*, not {re.escape(repr(text))}"):
            agents.make(code)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("tests.no_such_module:make", "cannot make a player by tests.no_such_module:make"),
        (f"{HERE}:no_such_function", "no_such_function"),
        (f"{HERE}:", "cannot make a player"),
        (f"{HERE}:make_nothing", "has no method act"),
    ],
)
def test_a_function_that_makes_no_player_is_named(code, message):
    with pytest.raises(ValueError, match=message):
        agents.make(code)


@pytest.mark.parametrize("codes", ["anchor,ev", "anchor,ev,tuned", "ev,mc:200", "ev,net:some/run"])
def test_codes_separated_by_commas_get_an_error_with_blanks(codes):
    blanks = codes.replace(",", " ")
    with pytest.raises(ValueError, match=f"names several players; separate codes by blanks: {blanks}"):
        agents.make(codes)


def test_slow_players_are_known_by_their_codes():
    assert is_slow("net+search:8")
    assert is_slow("chat:http://localhost:8000/v1,M")
    assert is_slow("ev", "mc:10")
    assert is_slow("ismcts:10,threads=2")
    assert not is_slow(*HEURISTICS, "net")


@pytest.mark.parametrize("code", ["net:" + "a" * 5000, "a" * 5000, "net:" + "a" * 300, "a" * 300, "net:" + "b/" * 400])
def test_a_code_that_is_too_long_for_a_file_is_refused_in_one_line(code):
    with pytest.raises(ValueError, match=r"at most 1,000 letters|name too long|no player|no such file") as refusal:
        agents.make(code)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("json:loads", "TypeError: loads() missing 1 required positional argument"),
        ("json:nothing", "AttributeError: it has no function nothing"),
        ("sys:exit", "SystemExit"),
        ("os:getcwd", "which has no method act(view)"),
    ],
)
def test_a_function_that_makes_no_player_is_refused_with_the_reason(code, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        agents.make(code)
