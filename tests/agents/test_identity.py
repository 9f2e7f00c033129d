"""Identity of players: a digest changes with whatever changes a player's decisions."""

import agents
from agents.identity import identify_player
from agents.policy_file import save_policy
from tests.support.players import small_net

HERE = __name__


def make_own_player() -> agents.Player:
    return agents.make("ev")


def test_a_digest_differs_between_players_and_between_their_parts():
    codes = ("anchor", "ev", "mc:10", "mc:20", "ismcts:10", "net", "net:greedy", f"{HERE}:make_own_player")
    digests = {code: identify_player(code) for code in codes}
    assert len(set(digests.values())) == len(codes)
    assert all(len(player.digest) == 8 and int(player.digest, 16) >= 0 for player in digests.values())
    assert {code for code, player in digests.items() if player.unseen} == {f"{HERE}:make_own_player"}
    assert "server still has the same model" in identify_player("chat:http://127.0.0.1:9/v1,model").unseen
    assert digests == {code: identify_player(code) for code in codes}


def test_a_digest_of_a_folder_changes_with_any_file_in_it(tmp_path):
    (tmp_path / "__init__.py").write_text("import agents\ndef make():\n    return agents.make('ev')\n")
    (tmp_path / "weights.txt").write_text("1")
    code = f"{tmp_path}/__init__.py:make"
    first = identify_player(code)
    (tmp_path / "__pycache__").mkdir(exist_ok=True)
    (tmp_path / "__pycache__/new.pyc").write_text("")
    assert identify_player(code) == first
    assert not first.unseen
    (tmp_path / "weights.txt").write_text("2")
    assert identify_player(code).digest != first.digest


def test_a_digest_changes_with_the_weights_of_a_policy(tmp_path):
    save_policy(tmp_path, small_net(1).layers, open_mice=False, activation="tanh")
    before = identify_player(f"net:{tmp_path}").digest
    save_policy(tmp_path, small_net(2).layers, open_mice=False, activation="tanh")
    assert identify_player(f"net:{tmp_path}").digest != before
