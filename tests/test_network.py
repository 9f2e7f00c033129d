"""Policies: numbers as in torch, read back as written, mixtures, the reference player, damaged files."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import agents
from agents.mixture import MixturePlayer
from agents.network import Layers, NetworkPlayer, choose, load_policy, logits_of, save_policy
from agents.table import REFERENCE
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch
from felicity_env.game import NO_CARD, STATE
from tests.helpers import auction, bid, play, random_words, view_of
from tests.players import played_batch, small_net
from train.policy import ActorCritic


def test_the_numpy_network_computes_what_torch_computes():
    torch.manual_seed(0)
    linear = [torch.nn.Linear(a, b) for a, b in ((OBS_SIZE, 20), (20, 30), (30, NUM_ACTIONS))]
    model = torch.nn.Sequential(linear[0], torch.nn.Tanh(), linear[1], torch.nn.Tanh(), linear[2])
    layers = [(m.weight.detach().numpy().T, m.bias.detach().numpy()) for m in linear]
    observations = np.concatenate([view.observations() for view in played_batch(agents.make("random"), 20)])
    with torch.no_grad():
        expected = model(torch.from_numpy(observations)).numpy()
    assert logits_of(layers, observations) == pytest.approx(expected, abs=1e-5)


def test_sampled_actions_are_as_frequent_as_the_softmax_over_legal_actions_says():
    player, draws = small_net(scale=0.1), 20_000
    state = np.array([play(auction(4), bid(3))], STATE)
    view = view_of(np.repeat(state, draws), random_words(draws))
    logits = logits_of(player.layers, view.observations()[:1])[0].astype(float)
    weights = np.where(view.action_masks[0] == 1, np.exp(logits - logits.max()), 0.0)
    expected = draws * weights / weights.sum()
    counts = np.bincount(player.act(view), minlength=NUM_ACTIONS)
    assert (counts[expected == 0] == 0).all()
    likely = expected > 5
    freedoms = int(likely.sum()) - 1
    distance = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    assert freedoms >= 4
    assert distance < freedoms + 4 * np.sqrt(2 * freedoms)


def test_the_greedy_network_takes_the_best_legal_action():
    player = small_net(greedy=True)
    view = played_batch(agents.make("random"), 30)[-1]
    logits = logits_of(player.layers, view.observations())
    legal = [np.flatnonzero(mask) for mask in view.action_masks]
    assert player.act(view).tolist() == [
        int(row[np.argmax(scores[row])]) for row, scores in zip(legal, logits, strict=True)
    ]


@pytest.mark.parametrize("uniform", [None, 0.0, 0.5, 1 - 2**-24])
def test_an_illegal_action_is_never_chosen_however_high_its_logit(uniform):
    rng = np.random.default_rng(0)
    masks = (rng.random((500, NUM_ACTIONS)) < 0.1).astype(np.int8)
    masks[:, 7] = 1
    logits = np.where(masks == 1, rng.normal(-50, 30, masks.shape), 1000.0).astype(np.float32)
    uniforms = None if uniform is None else np.full(500, uniform)
    chosen = choose(logits, masks, uniforms)
    assert masks[np.arange(500), chosen].all()


def saved_policy(folder: Path, **about: object) -> NetworkPlayer:
    folder.mkdir(exist_ok=True)
    player = small_net(1)
    save_policy(folder, player.layers, **{"open_mice": False, **about})
    return player


def test_a_policy_that_cannot_be_written_leaves_the_one_before_whole(tmp_path):
    saved_policy(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        save_policy(tmp_path, small_net(2).layers, open_mice=object())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_policy_is_read_back_as_it_was_written(tmp_path):
    written = saved_policy(tmp_path, timesteps=7)
    layers, about = load_policy(tmp_path)
    assert about["timesteps"] == 7
    for (weight, bias), (weight_read, bias_read) in zip(written.layers, layers, strict=True):
        assert weight.tobytes() == weight_read.tobytes()
        assert bias.tobytes() == bias_read.tobytes()
    view = played_batch(agents.make("random"), 25)[-1]
    assert agents.make(f"net:{tmp_path}").act(view).tolist() == written.act(view).tolist()
    assert agents.make(f"net:{tmp_path / 'policy.json'}").act(view).tolist() == written.act(view).tolist()


def test_the_greedy_form_of_a_saved_policy_plays_its_best_action(tmp_path):
    written = saved_policy(tmp_path)
    view = played_batch(agents.make("random"), 25)[-1]
    greedy = NetworkPlayer.of(written.layers, greedy=True).act(view)
    assert agents.make(f"net:{tmp_path}@greedy").act(view).tolist() == greedy.tolist()
    assert greedy.tolist() != written.act(view).tolist()


@pytest.mark.parametrize("code", ["net", "net:@greedy"])
@pytest.mark.parametrize("players", [3, 4, 5])
def test_the_reference_player_plays_at_every_table(code, players):
    net, batch = agents.make(code), Batch(30, players, seed=3)
    finished = np.zeros(30, bool)
    while not finished.all():
        actions = net.act(batch.view())
        assert batch.action_masks[np.arange(30), actions].all()
        batch.step(actions)
        finished |= batch.terminated


def test_the_reference_player_is_small_and_tells_how_it_was_made():
    assert sum(file.stat().st_size for file in REFERENCE.rglob("*") if file.is_file()) <= 4e6
    for member in agents.make("net").members:
        assert all(stage["command"].startswith("python -m ") and stage["commit"] for stage in member.about["lineage"])


def test_the_reference_player_in_torch_is_the_same():
    net, batch = agents.make("net"), Batch(300, 4, seed=3, open_mice=True)
    batch.play_random(40)
    view, masks = batch.view(), torch.from_numpy(batch.action_masks == 1)
    for member in net.members:
        found = ActorCritic.of(member).log_probabilities(torch.from_numpy(batch.observations), masks).exp()
        assert np.allclose(found.detach().numpy(), member.probabilities(view), atol=1e-4)


def mixture_of(folder: Path, count: int) -> MixturePlayer:
    """Saved, and read back."""
    for k in range(count):
        (folder / str(k)).mkdir(parents=True)
        save_policy(folder / str(k), small_net(k).layers, open_mice=False)
    player = agents.make(f"net:{folder}")
    assert isinstance(player, MixturePlayer)
    return player


@pytest.mark.parametrize("players", [3, 4, 5])
def test_a_mixture_plays_each_seat_for_a_whole_game_as_one_of_its_members(tmp_path, players):
    mixture, batch = mixture_of(tmp_path, 3), Batch(60, players, seed=5)
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
    assert all(len(found) == 1 for found in members.values())
    assert set.union(*members.values()) == {0, 1, 2}


def test_the_chances_of_a_mixture_are_those_of_the_member_that_plays(tmp_path):
    mixture, view = mixture_of(tmp_path, 2), played_batch(agents.make("random"), 25)[-1]
    removed = view.states["removed"][np.arange(len(view)), view.seats]
    chances = np.array([member.probabilities(view) for member in mixture.members])
    assert np.allclose(mixture.probabilities(view), chances[removed % 2, np.arange(len(view))], atol=1e-6)


def test_where_no_card_is_removed_the_last_member_of_a_mixture_plays(tmp_path):
    mixture, view = mixture_of(tmp_path, 3), played_batch(agents.make("random"), 25)[-1]
    view.states["removed"] = NO_CARD
    assert mixture.act(view).tolist() == mixture.members[-1].act(view).tolist()
    assert mixture.act(view).tolist() != mixture.members[0].act(view).tolist()


def test_the_greedy_form_of_a_mixture_is_that_of_its_members(tmp_path):
    mixture_of(tmp_path, 2)
    for slash in ("", "/"):
        greedy = agents.make(f"net:{tmp_path}{slash}@greedy")
        assert isinstance(greedy, MixturePlayer)
        assert all(member.greedy for member in greedy.members)


def test_a_mixture_that_lacks_a_member_is_refused(tmp_path):
    mixture_of(tmp_path, 3)
    (tmp_path / "2" / "policy.json").unlink()
    with pytest.raises(ValueError, match=r"no policy can be read from .*2:"):
        agents.make(f"net:{tmp_path}")
    (tmp_path / "1").rename(tmp_path / "3")
    with pytest.raises(ValueError, match=r"its folders are \[0, 2, 3\]"):
        agents.make(f"net:{tmp_path}")


def test_runs_that_lie_in_one_folder_are_no_mixture(tmp_path):
    for name in ("first", "second"):
        saved_policy(tmp_path / name)
    with pytest.raises(ValueError, match="no policy can be read from"):
        agents.make(f"net:{tmp_path}")


def test_a_run_that_has_not_ended_is_named_as_one(tmp_path):
    run = tmp_path / "a run"
    (run / "checkpoints").mkdir(parents=True)
    with pytest.raises(ValueError, match=rf"has not ended: python -m train --resume '{run}'"):
        agents.make(f"net:{run}")


def test_a_damaged_member_of_a_mixture_is_named(tmp_path):
    mixture_of(tmp_path, 2)
    truncate_tensors(tmp_path / "1")
    with pytest.raises(ValueError, match=r"no policy can be read from .*1:"):
        agents.make(f"net:{tmp_path}")


def test_a_policy_trained_with_open_mice_is_shown_them(tmp_path):
    view = played_batch(agents.make("random"), 25)[-1]
    written = saved_policy(tmp_path, open_mice=True)
    expected = NetworkPlayer.of(written.layers, open_mice=True, greedy=True).act(view).tolist()
    assert agents.make(f"net:{tmp_path}@greedy").act(view).tolist() == expected
    assert expected != NetworkPlayer.of(written.layers, greedy=True).act(view).tolist()


def change_json(folder: Path, **changes: object) -> None:
    file = folder / "policy.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def truncate_tensors(folder: Path) -> None:
    file = folder / "policy.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def change_a_weight(folder: Path) -> None:
    file = folder / "policy.safetensors"
    content = bytearray(file.read_bytes())
    content[-10] ^= 1
    file.write_bytes(content)


def other_layers(folder: Path, *shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    layers = [(np.zeros(weight, np.float32), np.zeros(bias, np.float32)) for weight, bias in shapes]
    save_policy(folder, layers, open_mice=False)


def broken_layers() -> Layers:
    layers = small_net(1).layers
    layers[0][0][3, 2] = np.nan
    return layers


DAMAGES = {
    "no json": lambda f: (f / "policy.json").unlink(),
    "no tensors": lambda f: (f / "policy.safetensors").unlink(),
    "json cut off": lambda f: (f / "policy.json").write_text('{"format": '),
    "json is a list": lambda f: (f / "policy.json").write_text("[]"),
    "json is binary": lambda f: (f / "policy.json").write_bytes(b"\xff\xfe\x00"),
    "tensors cut off": truncate_tensors,
    "tensors are text": lambda f: (f / "policy.safetensors").write_text("these are no tensors"),
    "tensors empty": lambda f: (f / "policy.safetensors").write_bytes(b""),
    "one bit of a weight": change_a_weight,
    "a weight that is no number": lambda f: save_policy(f, broken_layers(), open_mice=False),
    "other format": lambda f: change_json(f, format="felicity-policy-0"),
    "other rules": lambda f: change_json(f, rules_version=999),
    "other activation": lambda f: change_json(f, activation="sine"),
    "other sections": lambda f: change_json(f, sections=[["num_players", 4]]),
    "no layers": lambda f: other_layers(f),
    "too few inputs": lambda f: other_layers(f, ((OBS_SIZE - 1, NUM_ACTIONS), (NUM_ACTIONS,))),
    "too few actions": lambda f: other_layers(f, ((OBS_SIZE, NUM_ACTIONS - 1), (NUM_ACTIONS - 1,))),
    "layers do not meet": lambda f: other_layers(f, ((OBS_SIZE, 5), (5,)), ((6, NUM_ACTIONS), (NUM_ACTIONS,))),
    "bias of another size": lambda f: other_layers(f, ((OBS_SIZE, NUM_ACTIONS), (1,))),
    "weight in one dimension": lambda f: other_layers(f, ((OBS_SIZE,), (NUM_ACTIONS,))),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_policy_is_refused_by_its_path(tmp_path, damage):
    folder = tmp_path / "some_run"
    saved_policy(folder)
    assert NetworkPlayer(str(folder)).about["open_mice"] is False
    DAMAGES[damage](folder)
    with pytest.raises(ValueError, match="some_run"):
        agents.make(f"net:{folder}")


def test_a_policy_that_does_not_say_whether_mice_were_open_is_refused(tmp_path):
    saved_policy(tmp_path)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "open_mice"}))
    with pytest.raises(ValueError, match="has no open_mice"):
        load_policy(tmp_path)


def test_a_path_without_a_policy_is_named():
    with pytest.raises(ValueError, match=r"no policy can be read from .*nowhere"):
        agents.make("net:nowhere/at/all")
