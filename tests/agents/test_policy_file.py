"""Policy files: policies are read back as they were written; missing, damaged and foreign ones are refused."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch

import agents
from agents.network import NetworkPlayer
from agents.policy_file import Layers, load_policy, read_setups, save_policy
from agents.tools.files import lock_folder
from felicity_env import NUM_ACTIONS, OBS_SIZE, Setup
from felicity_env.setups import find_setup
from tests.support.players import play_batch, small_net


def save_small_net(folder: Path, **metadata: object) -> NetworkPlayer:
    folder.mkdir(exist_ok=True)
    player = small_net(1)
    save_policy(folder, player.layers, **{"open_mice": False, "activation": "tanh", **metadata})
    return player


def test_a_policy_that_cannot_be_written_leaves_the_previous_one_unchanged(tmp_path):
    save_small_net(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(TypeError):
        save_policy(tmp_path, small_net(2).layers, open_mice=False, activation="tanh", note=object())
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


def make_layers(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Layers:
    return [(np.zeros(weight, np.float32), np.zeros(bias, np.float32)) for weight, bias in shapes]


def make_layers_of(kind: type) -> Layers:
    return [(weight.astype(kind), bias.astype(kind)) for weight, bias in small_net(1).layers]


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


FAULTS = {
    "a weight that is no number": (make_layers_with(np.nan), "layer 0 has weights that are not finite"),
    "a weight that is infinite": (make_layers_with(np.inf), "layer 0 has weights that are not finite"),
    "a weight that overflows": (make_layers_with(3e38), "layer 0 has weights that are not finite"),
    "weights that are flags": (make_layers_of(np.bool_), "layer 0 is bool, not float32"),
    "weights that are integers": (make_layers_of(np.int32), "layer 0 is int32, not float32"),
    "weights in double precision": (make_layers_of(np.float64), "layer 0 is float64, not float32"),
    "a hidden layer of size 0": (
        make_layers(((OBS_SIZE, 0), (0,)), ((0, NUM_ACTIONS), (NUM_ACTIONS,))),
        rf"layer 0 has a weight \[{OBS_SIZE}, 0\]",
    ),
    "no layers": ([], "it has no layers"),
    "too few inputs": (
        make_layers(((OBS_SIZE - 1, NUM_ACTIONS), (NUM_ACTIONS,))),
        rf"it reads {OBS_SIZE} inputs, so it needs \[{OBS_SIZE}, outputs\]",
    ),
    "too few actions": (
        make_layers(((OBS_SIZE, NUM_ACTIONS - 1), (NUM_ACTIONS - 1,))),
        f"the last layer has {NUM_ACTIONS - 1} outputs, not {NUM_ACTIONS} or",
    ),
    "layers of other sizes": (
        make_layers(((OBS_SIZE, 5), (5,)), ((6, NUM_ACTIONS), (NUM_ACTIONS,))),
        "layer 1 .* but it reads 5 inputs",
    ),
    "bias of another size": (make_layers(((OBS_SIZE, NUM_ACTIONS), (1,))), r"layer 0 .* and a bias \[1\]"),
    "bias of two dimensions": (make_layers(((OBS_SIZE, NUM_ACTIONS), (1, NUM_ACTIONS))), r"a bias \[1, "),
    "weight in one dimension": (make_layers(((OBS_SIZE,), (NUM_ACTIONS,))), rf"layer 0 has a weight \[{OBS_SIZE}\]"),
    "weights of torch as they are": (
        make_layers(((NUM_ACTIONS, OBS_SIZE), (NUM_ACTIONS,))),
        r"transpose the weights of torch, which are \[outputs, inputs\]",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_networks_that_cannot_play_are_neither_saved_nor_read(tmp_path, monkeypatch, fault):
    layers, reason = FAULTS[fault]
    with pytest.raises(ValueError, match=f"the policy cannot be saved: .*{reason}"):
        save_policy(tmp_path / "run", layers, open_mice=False, activation="tanh")
    assert not (tmp_path / "run").exists()
    with monkeypatch.context() as unchecked:
        unchecked.setattr("agents.policy_file.find_fault", lambda *_: "")
        save_policy(tmp_path / "run", layers, open_mice=False, activation="tanh")
    with pytest.raises(ValueError, match=f"the policy in .*run cannot be used: .*{reason}"):
        load_policy(tmp_path / "run")


@pytest.mark.parametrize(
    ("layers", "settings", "reason"),
    [
        ({"0.weight": np.zeros((OBS_SIZE, NUM_ACTIONS))}, {}, "layer 0 must be two NumPy arrays"),
        ([(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), None)], {}, "layer 0 must be two NumPy arrays"),
        (small_net().layers, {"activation": "gelu"}, "its activation must be tanh or relu, not 'gelu'"),
        (small_net().layers, {"open_mice": "yes"}, "its open_mice must be true or false, not 'yes'"),
        (small_net().layers, {"setups": ["standard-6"]}, "no setup 'standard-6'"),
        (small_net().layers, {"critic": small_net().layers}, r"in the critic, the last layer has \d+ outputs, not 1"),
    ],
)
def test_wrong_arguments_of_a_policy_to_save_are_named(tmp_path, layers, settings, reason):
    with pytest.raises(ValueError, match=reason):
        save_policy(tmp_path / "run", layers, **{"open_mice": False, "activation": "tanh", **settings})
    assert not (tmp_path / "run").exists()


def test_a_policy_keeps_the_setups_on_which_it_was_trained(tmp_path):
    short = Setup(seats=3, mouse_cards=(1, 3), bank=9, rounds=4)
    save_small_net(tmp_path, setups=["standard-4", short])
    assert read_setups(load_policy(tmp_path)[1]) == (find_setup("standard-4"), short)
    assert read_setups({"setups": ["custom-3-0123abcd", 7, {"seats": 9}, "small-2"]}) == (find_setup("small-2"),)
    assert read_setups({}) == read_setups({"setups": "standard-4"}) == ()


def test_a_policy_names_no_file_with_a_setup(tmp_path):
    file = tmp_path / "setup.json"
    file.write_text('{"seats": 4, "mouse_cards": [1, 3, 5], "bank": 27}')
    assert find_setup(str(file)).bank == 27
    assert read_setups({"setups": [str(file)]}) == ()


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
    "weights in bfloat16": save_as_bfloat16,
    "open mice as a word": lambda f: change_json(f, open_mice="no"),
    "json nested too deeply": lambda f: (f / "policy.json").write_text("[" * 100_000),
    "other format": lambda f: change_json(f, format="felicity-policy-0"),
    "other rules": lambda f: change_json(f, rules_version=999),
    "another observation": lambda f: change_json(f, observation_version=999),
    "other activation": lambda f: change_json(f, activation="sine"),
    "other sections": lambda f: change_json(f, sections=[["num_players", 4]]),
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
    with pytest.raises(ValueError, match="its open_mice must be true or false, not None"):
        load_policy(tmp_path)


def test_a_file_of_torch_is_named_with_what_makes_a_policy_of_it(tmp_path):
    (tmp_path / "network.pt").write_bytes(b"PK\x80")
    with pytest.raises(ValueError, match=r"a policy is a folder or one of the files in it; save_policy makes one"):
        agents.make(f"net:{tmp_path}/network.pt")


def test_a_path_without_a_policy_is_named():
    with pytest.raises(ValueError, match=r"cannot read a policy from .*nowhere"):
        agents.make("net:nowhere/at/all")


def test_the_folder_of_a_policy_is_created(tmp_path):
    save_policy(f"{tmp_path}/a/b", small_net().layers, open_mice=False, activation="tanh")
    assert agents.make(f"net:{tmp_path}/a/b").layers
