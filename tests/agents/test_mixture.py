"""Mixtures of policies: one member plays a seat for a whole game; faults of a member are named."""

from pathlib import Path

import numpy as np
import pytest

import agents
from agents.mixture import MixturePlayer
from agents.policy_file import save_policy
from felicity_env import Batch
from felicity_env.game import NO_CARD
from felicity_env.setups import STANDARD_PLAYERS
from tests.support.players import play_batch, small_net


def save_mixture(folder: Path, count: int) -> MixturePlayer:
    """Save a mixture and read it back."""
    for k in range(count):
        (folder / str(k)).mkdir(parents=True)
        save_policy(folder / str(k), small_net(k).layers, open_mice=False, activation="tanh")
    player = agents.make(f"net:{folder}")
    assert isinstance(player, MixturePlayer)
    return player


@pytest.mark.parametrize("players", STANDARD_PLAYERS)
def test_a_mixture_plays_each_seat_for_a_whole_game_as_one_of_its_members(tmp_path, players):
    mixture, batch = save_mixture(tmp_path, 3), Batch(60, players, seed=5)
    members: dict[tuple[int, int], set[int]] = {}
    for _ in range(30):
        view = batch.view()
        actions = mixture.act(view)
        answers = np.array([member.act(view) for member in mixture.members])
        removed = batch.states["removed"][np.arange(60), batch.seats]
        assert (actions == answers[removed % 3, np.arange(60)]).all()
        for game in range(60):
            members.setdefault((int(batch.game_seeds[game]), int(batch.seats[game])), set()).add(removed[game] % 3)
        batch.step(actions)
    assert all(len(numbers) == 1 for numbers in members.values())
    assert set.union(*members.values()) == {0, 1, 2}


def test_the_probabilities_of_a_mixture_are_those_of_the_member_that_plays(tmp_path):
    mixture, view = save_mixture(tmp_path, 2), play_batch(agents.make("random"), 25)[-1]
    removed = view.states["removed"][np.arange(len(view)), view.seats]
    probabilities = np.array([member.probabilities(view) for member in mixture.members])
    assert np.allclose(mixture.probabilities(view), probabilities[removed % 2, np.arange(len(view))], atol=1e-6)


def test_where_no_card_is_removed_the_last_member_of_a_mixture_plays(tmp_path):
    mixture, view = save_mixture(tmp_path, 3), play_batch(agents.make("random"), 25)[-1]
    view.states["removed"] = NO_CARD
    assert mixture.act(view).tolist() == mixture.members[-1].act(view).tolist()
    assert mixture.act(view).tolist() != mixture.members[0].act(view).tolist()


def test_the_members_of_a_greedy_mixture_are_greedy(tmp_path):
    save_mixture(tmp_path, 2)
    for slash in ("", "/"):
        greedy = agents.make(f"net:{tmp_path}{slash},greedy")
        assert isinstance(greedy, MixturePlayer)
        assert all(member.greedy for member in greedy.members)


def test_a_mixture_that_lacks_a_member_is_refused(tmp_path):
    save_mixture(tmp_path, 3)
    (tmp_path / "2" / "policy.json").unlink()
    with pytest.raises(ValueError, match=r"cannot read a policy from .*2:"):
        agents.make(f"net:{tmp_path}")
    (tmp_path / "1").rename(tmp_path / "3")
    with pytest.raises(ValueError, match=r"its folders are \[0, 2, 3\]"):
        agents.make(f"net:{tmp_path}")


def test_a_damaged_member_of_a_mixture_is_named(tmp_path):
    save_mixture(tmp_path, 2)
    (tmp_path / "1" / "policy.safetensors").write_bytes(b"")
    with pytest.raises(ValueError, match=r"cannot read a policy from .*1:"):
        agents.make(f"net:{tmp_path}")


def test_runs_in_one_folder_are_not_a_mixture(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        save_policy(tmp_path / name, small_net().layers, open_mice=False, activation="tanh")
    with pytest.raises(ValueError, match="cannot read a policy from"):
        agents.make(f"net:{tmp_path}")


def test_the_members_of_a_mixture_may_see_different_things(tmp_path):
    view = play_batch(agents.make("random"), 25)[-1]
    members = [small_net(0), small_net(1)]
    members[1].open_mice = True
    removed = view.states["removed"][np.arange(len(view)), view.seats]
    answers = np.array([member.act(view) for member in members])
    assert MixturePlayer(members).act(view).tolist() == answers[removed % 2, np.arange(len(view))].tolist()


def test_members_of_which_only_some_are_greedy_are_refused():
    with pytest.raises(ValueError, match="must be all greedy or all not"):
        MixturePlayer([small_net(0), small_net(1, greedy=True)])
