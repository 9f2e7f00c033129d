"""Games on a GPU: the same, in every buffer, as on a CPU."""

import numpy as np
import pytest

import felicity_env
from felicity_env import Setup
from felicity_env.game import STATE

torch = pytest.importorskip("torch")
cuda = pytest.importorskip("felicity_env.cuda")
pytestmark = pytest.mark.gpu("a GPU, or the simulator")

TINY = Setup(seats=2, mouse_cards=(2,), bank=9, mice=4, rounds=3, cards=(0, 2, 4, 7, 9), dummy=True)


def create_pair(num_games: int, *where: object, **options: object):
    """Return a batch on the CPU and one on the GPU, of the same games."""
    return felicity_env.Batch(num_games, *where, **options), cuda.Batch(num_games, *where, **options)


def read(batch, name: str) -> np.ndarray:
    """Return a buffer of a batch on the GPU as an array of NumPy, with states as records."""
    array = np.ascontiguousarray(getattr(batch.buffers, name).cpu().numpy())
    return array.view(STATE).reshape(len(array)) if name in cuda.batch.STATES and array.size else array


def assert_same(cpu: felicity_env.Batch, gpu) -> None:
    for name, array in cpu.buffers._asdict().items():
        if array.size:
            found = read(gpu, name)
            assert found.dtype == array.dtype, name
            assert (found == array).all(), name


def draw_actions(batch: felicity_env.Batch, rng: np.random.Generator) -> np.ndarray:
    noise = rng.random(batch.action_masks.shape)
    return np.where(batch.action_masks == 1, noise, -1.0).argmax(axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 3, "reward": "win"},
        {"num_players": 4, "reward": "margin", "open_mice": True},
        {"num_players": 5, "reward": "score", "record": True},
        {"setup": TINY, "reward": "round", "record": True},
        {"num_players": [3, 4, 5] * 2, "reward": "round", "autoreset": False},
    ],
)
def test_all_buffers_are_those_of_the_cpu(size, options):
    several = isinstance(options.get("num_players"), list)
    cpu, gpu = create_pair(6 if several else size, seed=7, **options)
    assert_same(cpu, gpu)
    rng = np.random.default_rng(5)
    for _ in range(40 if size < 10 else 150):
        playing = np.flatnonzero(cpu.seats >= 0)
        actions = draw_actions(cpu, rng)[playing]
        cpu.step(actions, playing)
        gpu.step(torch.from_numpy(actions), playing)
        assert_same(cpu, gpu)


def test_random_games_are_those_of_the_cpu(size):
    cpu, gpu = create_pair(size, seed=3)
    cpu.play_random(25)
    gpu.play_random(25)
    assert_same(cpu, gpu)
    assert (gpu.num_players.cpu().numpy() == cpu.num_players).all()


def test_what_players_see_is_what_the_cpu_shows(size):
    cpu, gpu = create_pair(size, 3, seed=1, record=True)
    cpu.play_random(19)
    gpu.play_random(19)
    some = [0, 3, 2]
    for indices in (None, some):
        expected, found = cpu.view(indices), gpu.view(indices)
        for name in ("states", "seats", "seeds"):
            assert (getattr(found, name) == getattr(expected, name)).all()
    assert (gpu.decision_seeds(some).cpu().numpy() == cpu.decision_seeds(some)).all()
    assert (gpu.observe(2).cpu().numpy() == cpu.observe(2)).all()
    assert (gpu.privileged().cpu().numpy() == cpu.privileged()).all()
    assert gpu.game(4) == cpu.game(4)


def test_kept_states_are_encoded_as_the_observations_were(size):
    batch = cuda.Batch(size, 4, open_mice=True)
    batch.play_random(30)
    observations, masks = batch.encode(batch.states.clone())
    assert (observations == batch.observations).all()
    assert (masks == batch.action_masks).all()


def test_sixteen_bits_hold_the_same_observations(size):
    cpu, gpu = felicity_env.Batch(size, 5), cuda.Batch(size, 5, dtype="float16")
    cpu.play_random(30)
    gpu.play_random(30)
    assert gpu.observations.dtype == torch.float16
    assert (gpu.observations.float().cpu().numpy() == cpu.observations).all()


def test_games_begin_anew_as_on_the_cpu(size):
    cpu, gpu = create_pair(size, seed=4)
    for batch in (cpu, gpu):
        batch.play_random(9)
        batch.reset(deals=[{"start_seat": 2}, {"removed": (9, 9, 9, 9)}, *[None] * (size - 2)])
        batch.play_random(5)
        batch.restart([1, 4])
    assert_same(cpu, gpu)
    cpu.play_random(8)
    states, seeds = cpu.states.copy(), cpu.game_seeds.copy()
    for batch in (cpu, gpu):
        batch.start(states, seeds)
        batch.play_random(3)
    assert all((read(gpu, name) == getattr(cpu.buffers, name)).all() for name in ("states", "seats", "observations"))


def test_a_cpu_and_a_gpu_continue_each_others_games(size):
    cpu, gpu = create_pair(size, seed=8, record=True)
    cpu.play_random(21)
    gpu.restore(cpu.clone())
    for batch in (cpu, gpu):
        batch.play_random(12)
    saved = gpu.clone()
    assert all((saved[name] == array).all() for name, array in cpu.clone().items())
    cpu.restore(saved)
    saved["states"][0] = 255
    before = gpu.clone()
    with pytest.raises(ValueError, match="game 0"):
        gpu.restore(saved)
    assert all((gpu.clone()[name] == array).all() for name, array in before.items())


def test_an_illegal_action_is_named_and_nothing_is_played(size):
    batch = cuda.Batch(size, 4)
    before = batch.clone()
    actions = batch.action_masks.cpu().argmax(dim=1)
    actions[3] = 73
    with pytest.raises(ValueError, match=r"game 3: seat . cannot bid 63"):
        batch.step(actions)
    for wrong in (actions[1:], actions.float(), actions.bool()):
        with pytest.raises(ValueError, match=f"actions must be {size} integers"):
            batch.step(wrong)
    for wrong in ([0, 0], [-1], [size], [[1]], ["a"]):
        with pytest.raises(ValueError, match="indices must be"):
            batch.step(torch.zeros(1, dtype=torch.int64), wrong)
    assert all((batch.clone()[name] == array).all() for name, array in before.items())


def test_a_game_with_an_illegal_action_stands_still_until_the_check_raises(size):
    cpu, gpu = felicity_env.Batch(size, 4, seed=2), cuda.Batch(size, 4, seed=2, check="later")
    for batch in (cpu, gpu):
        batch.play_random(6)
    actions = draw_actions(cpu, np.random.default_rng(0))
    wrong = torch.from_numpy(actions.copy())
    wrong[0], wrong[2] = -5, 74
    gpu.step(wrong)
    others = np.setdiff1d(np.arange(size), [0, 2])
    cpu.step(actions[others], others)
    cpu.rewards[[0, 2]], cpu.terminated[[0, 2]] = 0.0, False
    assert_same(cpu, gpu)
    with pytest.raises(ValueError, match="2 actions were illegal"):
        gpu.check()
    gpu.check()
    indices = torch.tensor([size, -1], device=gpu.device)
    gpu.step(torch.zeros(2, dtype=torch.int64), indices)
    with pytest.raises(ValueError, match="2 actions were illegal, or for games that do not exist"):
        gpu.check()
    assert_same(cpu, gpu)


def test_a_step_copies_nothing_to_the_host(size, monkeypatch):
    batch = cuda.Batch(size, 4, check="later")
    actions, games = batch.action_masks.argmax(dim=1), torch.arange(size, device=batch.device)

    def refuse(*arguments: object) -> None:
        raise AssertionError("something was copied to the host")

    def move_on_the_device(tensor, *where: object, **options: object):
        if not all(each is batch.device or isinstance(each, torch.dtype) for each in (*where, *options.values())):
            refuse()
        return move(tensor, *where, **options)

    move = torch.Tensor.to
    monkeypatch.setattr(torch.Tensor, "to", move_on_the_device)
    for name in ("cpu", "item", "tolist", "__int__", "__float__", "__bool__", "__index__"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    batch.step(actions)
    batch.step(batch.action_masks.argmax(dim=1), games)
    batch.play_random(3)
    batch.encode(batch.states.clone())
    batch.snapshot()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "int8"}, "dtype must be float32 or float16, not 'int8'"),
        ({"check": "never"}, "check must be now or later, not 'never'"),
        ({"reward": "fame"}, "reward must be one of"),
        ({"num_players": 7}, "num_players must be"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        cuda.Batch(4, **options)


def test_an_output_of_another_form_is_refused(size):
    batch = cuda.Batch(size, 4)
    for out in (np.zeros((size, felicity_env.OBS_SIZE), np.float32), torch.zeros(size, 3), torch.zeros(3)):
        with pytest.raises(ValueError, match="out must be a tensor float32"):
            batch.observe(0, out=out)
    with pytest.raises(ValueError, match="seats must be integers from 0"):
        batch.observe(4)
