"""Policy files: policies are read back as they were written; missing, damaged and foreign ones are refused."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch

import agents
from agents.network import NetworkPlayer
from agents.policy_file import Layers, load_policy, save_policy
from agents.tools.files import lock_folder
from felicity_env import NUM_ACTIONS, OBS_SIZE
from tests.support.players import play_batch, small_net


def save_small_net(folder: Path, **metadata: object) -> NetworkPlayer:
    folder.mkdir(exist_ok=True)
    player = small_net(1)
    save_policy(folder, player.layers, **{"open_mice": False, **metadata})
    return player


def test_a_policy_that_cannot_be_written_leaves_the_previous_one_unchanged(tmp_path):
    save_small_net(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        save_policy(tmp_path, small_net(2).layers, open_mice=object())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_json_of_a_policy_is_written_last(tmp_path, monkeypatch):
    names: list[str] = []
    for function in ("write_atomically", "write_text"):
        monkeypatch.setattr(f"agents.policy_file.{function}", lambda path, content: names.append(path.name))
    save_small_net(tmp_path)
    assert names == ["policy.safetensors", "policy.json"]


def test_a_policy_is_read_back_as_it_was_written(tmp_path):
    written = save_small_net(tmp_path, timesteps=7)
    layers, metadata = load_policy(tmp_path)
    assert metadata["timesteps"] == 7
    for (weight, bias), (weight_read, bias_read) in zip(written.layers, layers, strict=True):
        assert weight.tobytes() == weight_read.tobytes()
        assert bias.tobytes() == bias_read.tobytes()
    view = play_batch(agents.make("random"), 25)[-1]
    for path in (tmp_path, str(tmp_path), tmp_path / "policy.json", tmp_path / "policy.safetensors"):
        assert NetworkPlayer.load(path).act(view).tolist() == written.act(view).tolist()


def test_the_greedy_player_of_a_policy_takes_its_best_action(tmp_path):
    written = save_small_net(tmp_path)
    view = play_batch(agents.make("random"), 25)[-1]
    greedy = NetworkPlayer.load(tmp_path, greedy=True).act(view).tolist()
    assert greedy == small_net(1, greedy=True).act(view).tolist()
    assert greedy != written.act(view).tolist()


@pytest.mark.parametrize("open_mice", [False, True])
def test_a_policy_trained_with_open_mice_sees_them_again(tmp_path, open_mice):
    save_small_net(tmp_path, open_mice=open_mice)
    assert NetworkPlayer.load(tmp_path).open_mice == open_mice


def test_an_unfinished_run_is_named_with_the_command_that_resumes_it(tmp_path):
    run = tmp_path / "a run"
    (run / "checkpoints").mkdir(parents=True)
    with pytest.raises(ValueError, match=rf"its run has not ended: .* -m train --resume '{run}'"):
        agents.make(f"net:{run}")


def test_a_run_in_training_without_a_checkpoint_is_named_with_the_advice_to_wait(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    with (
        lock_folder(tmp_path),
        pytest.raises(ValueError, match=r"its run is training: wait for its first checkpoint, or stop it with Ctrl-C"),
    ):
        agents.make(f"net:{tmp_path}")


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


def save_layers(folder: Path, *shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    layers = [(np.zeros(weight, np.float32), np.zeros(bias, np.float32)) for weight, bias in shapes]
    save_policy(folder, layers, open_mice=False)


def save_as(folder: Path, kind: type) -> None:
    layers = [(weight.astype(kind), bias.astype(kind)) for weight, bias in small_net(1).layers]
    save_policy(folder, layers, open_mice=False)


def save_as_bfloat16(folder: Path) -> None:
    file = folder / "policy.safetensors"
    tensors = safetensors.torch.load(file.read_bytes())
    content = safetensors.torch.save({name: tensor.bfloat16() for name, tensor in tensors.items()})
    file.write_bytes(content)
    change_json(folder, sha256=sha256(content).hexdigest())


def make_layers_with(number: float) -> Layers:
    layers = small_net(1).layers
    layers[0][0][3, 2] = number
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
    "a weight that is no number": lambda f: save_policy(f, make_layers_with(np.nan), open_mice=False),
    "a weight that is infinite": lambda f: save_policy(f, make_layers_with(np.inf), open_mice=False),
    "a weight that overflows": lambda f: save_policy(f, make_layers_with(3e38), open_mice=False),
    "weights that are flags": lambda f: save_as(f, np.bool_),
    "weights that are integers": lambda f: save_as(f, np.int32),
    "weights in double precision": lambda f: save_as(f, np.float64),
    "weights in bfloat16": save_as_bfloat16,
    "a hidden layer of size 0": lambda f: save_layers(f, ((OBS_SIZE, 0), (0,)), ((0, NUM_ACTIONS), (NUM_ACTIONS,))),
    "open mice as a word": lambda f: change_json(f, open_mice="no"),
    "json nested too deeply": lambda f: (f / "policy.json").write_text("[" * 100_000),
    "other format": lambda f: change_json(f, format="felicity-policy-0"),
    "other rules": lambda f: change_json(f, rules_version=999),
    "another observation": lambda f: change_json(f, observation_version=999),
    "other activation": lambda f: change_json(f, activation="sine"),
    "other sections": lambda f: change_json(f, sections=[["num_players", 4]]),
    "no layers": lambda f: save_layers(f),
    "too few inputs": lambda f: save_layers(f, ((OBS_SIZE - 1, NUM_ACTIONS), (NUM_ACTIONS,))),
    "too few actions": lambda f: save_layers(f, ((OBS_SIZE, NUM_ACTIONS - 1), (NUM_ACTIONS - 1,))),
    "layers of other sizes": lambda f: save_layers(f, ((OBS_SIZE, 5), (5,)), ((6, NUM_ACTIONS), (NUM_ACTIONS,))),
    "bias of another size": lambda f: save_layers(f, ((OBS_SIZE, NUM_ACTIONS), (1,))),
    "weight in one dimension": lambda f: save_layers(f, ((OBS_SIZE,), (NUM_ACTIONS,))),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_policy_is_refused_by_its_path(tmp_path, damage):
    folder = tmp_path / "some_run"
    save_small_net(folder)
    assert NetworkPlayer.load(folder).metadata["open_mice"] is False
    DAMAGES[damage](folder)
    with pytest.raises(ValueError, match="some_run") as refusal:
        agents.make(f"net:{folder}")
    assert "\n" not in str(refusal.value)


def test_a_policy_without_open_mice_in_its_json_is_refused(tmp_path):
    save_small_net(tmp_path)
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({k: v for k, v in json.loads(file.read_text()).items() if k != "open_mice"}))
    with pytest.raises(ValueError, match="open_mice in its description must be true or false"):
        load_policy(tmp_path)


def test_a_path_without_a_policy_is_named():
    with pytest.raises(ValueError, match=r"cannot read a policy from .*nowhere"):
        agents.make("net:nowhere/at/all")


def test_the_folder_of_a_policy_is_created(tmp_path):
    save_policy(tmp_path / "a" / "b", small_net().layers, open_mice=False, activation="tanh")
    assert agents.make(f"net:{tmp_path}/a/b").layers
