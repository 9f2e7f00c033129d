"""One seed, one game: in every process, compiled or plain, in every version of the same rules."""

import hashlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import felicity_env
from felicity_env.batch import Batch
from felicity_env.game_record import draw_deal
from felicity_env.information import redact, resample
from felicity_env.kernel import kernel
from felicity_env.random_stream import (
    MAX_SEED,
    check_seed,
    decision_seed,
    draw_below,
    game_seed,
    mix,
    next_game_seed,
    open_uniform,
    split,
    uniform,
)
from felicity_env.setups import standard_setup
from tests.support.helpers import COMPILED

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(felicity_env.__file__).resolve().parent
SPLITMIX_OF_ZERO = [  # the first outputs of the reference generator seeded with 0
    0xE220A8397B1DCDAF,
    0x6E789E6AA1B965F4,
    0x06C45D188009454F,
    0xF88BB8A8724C81EC,
    0x1B39896A51A8749B,
]
GOLDEN = 0x9E3779B97F4A7C15
all_bits = st.integers(0, 2**64 - 1)
plain_mix, plain_below = getattr(mix, "py_func", mix), getattr(draw_below, "py_func", draw_below)

# A change here means that stored games and seeds play otherwise: then RULES_VERSION must change too.
THOUSAND_GAMES = "d6d085948283af0a47778f0a604d1e1d8a6db1b45e85424687b0230f03afee18"


def run_python(code: str, *, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Run `code` in a fresh interpreter that imports from `cwd` first."""
    environment = {**os.environ, "PYTHONPATH": str(cwd), **environment}
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


# --- random bits ------------------------------------------------------------------------------------------------------


def test_mix_gives_the_reference_values_of_splitmix64():
    assert [int(mix(np.uint64(k * GOLDEN % 2**64))) for k in range(5)] == SPLITMIX_OF_ZERO


@given(random_bits=all_bits)
def test_mix_is_the_same_compiled_and_plain(random_bits):
    assert int(mix(np.uint64(random_bits))) == plain_mix(random_bits) < 2**64


@given(random_bits=all_bits, bound=st.integers(1, 1000))
def test_a_draw_is_in_range_and_the_same_compiled_and_plain(random_bits, bound):
    assert 0 <= draw_below(np.uint64(random_bits), bound) == plain_below(random_bits, bound) < bound


def test_the_smallest_and_the_largest_random_bits_draw_the_ends():
    assert [int(draw_below(np.uint64(random_bits), 10)) for random_bits in (0, 2**64 - 1)] == [0, 9]


@pytest.mark.parametrize(
    ("random_bits", "fraction", "inner"),
    [
        (0, 0.0, 2**-53),
        (1 << 40, 2**-24, 2**-24 + 2**-53),
        (1 << 63, 0.5, 0.5 + 2**-53),
        (2**64 - 1, 1 - 2**-24, 1 - 2**-53),
    ],
)
def test_uniform_numbers_have_24_bits_and_those_inside_the_interval_52(random_bits, fraction, inner):
    assert uniform(np.uint64(random_bits)) == fraction
    assert open_uniform(np.uint64(random_bits)) == inner


def test_derived_random_bits_are_what_they_always_were():
    assert decision_seed(np.uint64(12345), 2, 7) == 0x0A2FFCB6715CEC9D
    assert decision_seed(np.uint64(2**63 - 1), 4, 300) == 0x4E5541F0BD29DCC4
    assert split(np.uint64(5), 3) == 0x0E9712207F890FB8
    assert game_seed(5, 6, 7) == 0x746073B0AF5228BD


@pytest.mark.parametrize("bound", [2, 3, 7, 10, 64])
def test_draws_are_uniform(bound):
    draws = [int(draw_below(np.uint64(mix(np.uint64(random_bits))), bound)) for random_bits in range(20_000)]
    expected = 20_000 / bound
    chi_square = ((np.bincount(draws, minlength=bound) - expected) ** 2 / expected).sum()
    assert chi_square < bound - 1 + 5 * np.sqrt(2 * bound) + 5


def test_successive_draws_of_a_stream_do_not_hang_together():
    random_bits, draws = np.uint64(1), []
    for _ in range(20_000):
        random_bits = np.uint64(mix(random_bits))
        draws.append(int(draw_below(random_bits, 10)))
    pairs = np.bincount(np.array(draws[:-1]) * 10 + draws[1:], minlength=100)
    assert ((pairs - 200) ** 2 / 200).sum() < 180  # 99 degrees of freedom


# --- seeds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [-1, 2**63, True, 1.0, "3", None, [3], float("nan")])
def test_a_seed_that_is_no_integer_in_range_is_refused(bad):
    for arguments in ((bad, 0, 0), (0, bad, 0), (0, 0, bad)):
        with pytest.raises(ValueError, match="seed must be an integer from 0"):
            game_seed(*arguments)
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        check_seed(bad)


@pytest.mark.parametrize("good", [0, 1, 2**63 - 1, np.int64(5), np.uint8(7)])
def test_any_integer_in_range_is_a_seed(good):
    assert check_seed(good) == int(good)
    assert 0 <= game_seed(good, 0, 0) <= MAX_SEED


def test_a_game_seed_is_a_seed_and_no_two_are_equal():
    seeds = [game_seed(s, g, e) for s in (0, 1, 2**40) for g in range(40) for e in range(40)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed <= MAX_SEED for seed in seeds)
    assert game_seed(1, 2, 3) == int(next_game_seed(1, 2, 3))


def test_game_seed_names_the_games_of_a_batch():
    batch = Batch(20, 4, seed=77)
    for _ in range(250):
        expected = [game_seed(77, game, int(batch.episodes[game])) for game in range(20)]
        assert batch.game_seeds.tolist() == expected
        batch.play_random(1)
    assert batch.episodes.min() >= 1


def test_decision_seeds_differ_by_game_seat_and_decision():
    seeds = [int(decision_seed(np.uint64(g), s, d)) for g in range(20) for s in range(5) for d in range(50)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**64 for seed in seeds)


def unmix(random_bits: int) -> int:
    """Invert `mix`: return the number that it maps to `random_bits`."""
    random_bits ^= random_bits >> 31 ^ random_bits >> 62
    random_bits = random_bits * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    random_bits ^= random_bits >> 27 ^ random_bits >> 54
    random_bits = random_bits * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    random_bits ^= random_bits >> 30 ^ random_bits >> 60
    return (random_bits - GOLDEN) % 2**64


def test_running_the_mixer_backwards_does_not_give_the_games_seed_away():
    assert all(unmix(plain_mix(random_bits)) == random_bits for random_bits in range(100))
    for game in range(200):
        random_bits = int(decision_seed(np.uint64(game), 0, 0))
        assert all(game not in (random_bits, random_bits ^ k, unmix(random_bits) ^ k) for k in range(4))


# --- one seed, one game -----------------------------------------------------------------------------------------------


def hash_everything(games: int = 12, steps: int = 70) -> str:
    """Hash all that a batch shows, step by step, and draws of the resampler."""
    digest = hashlib.sha256()
    for players, open_mice, reward in ((3, True, "round"), (4, False, "margin"), (5, True, "win")):
        batch = Batch(games, players, seed=players, open_mice=open_mice, reward=reward)
        for _ in range(steps):
            batch.play_random(1)
            shown = (batch.observations, batch.action_masks, batch.seats, batch.rewards, batch.states, batch.scores)
            for array in (*shown, batch.privileged(), batch.view().seeds):
                digest.update(array.tobytes())
            if batch.seats[0] == 0:
                worlds = resample(redact(batch.states, batch.seats), np.random.default_rng(5))
                digest.update(worlds.tobytes())
    return digest.hexdigest()


def first_episodes(num_games: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (final states, scores) of the first episode of each game; a third have 3, 4 and 5 players each."""
    batch = Batch(num_games, [3 + game % 3 for game in range(num_games)], seed=seed)
    states, scores = batch.final_states.copy(), batch.scores.copy()
    finished = np.zeros(num_games, bool)
    while not finished.all():
        batch.play_random(1)
        new = batch.terminated & ~finished
        states[new], scores[new] = batch.final_states[new], batch.scores[new]
        finished |= new
    return states, scores


def hash_games(num_games: int = 1000) -> str:
    """Hash deals and ends of games field by field, so that a new layout of the record does not change the hash."""
    states, scores = first_episodes(num_games, 2024)
    digest = hashlib.sha256(scores.astype("<i8").tobytes())
    for field in (
        "num_seats",
        "removed",
        "dummy_cards",
        "row",
        "start_seat",
        "mice",
        "bank",
        "cat_points",
        "last_price",
    ):
        digest.update(states[field].astype("<i8").tobytes())
    return digest.hexdigest()


def test_a_thousand_games_are_what_they_always_were():
    assert hash_games() == THOUSAND_GAMES


PRINT_DIGESTS = "from tests.env.test_random_stream import *; print(hash_games(60), hash_everything())"


def own_digests() -> str:
    return f"{hash_games(60)} {hash_everything()}"


@pytest.mark.compiled("there is nothing compiled to compare with")
def test_compiled_and_plain_python_play_and_show_the_same_to_the_last_byte():
    assert run_python(PRINT_DIGESTS, NUMBA_DISABLE_JIT="1").stdout.split() == own_digests().split()


def test_another_process_with_another_hash_seed_plays_the_same_games():
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    assert run_python(PRINT_DIGESTS, PYTHONHASHSEED=hash_seed).stdout.split() == own_digests().split()


def test_the_digest_of_games_depends_on_the_seed():
    assert first_episodes(30, 1)[0].tobytes() != first_episodes(30, 2)[0].tobytes()
    assert first_episodes(30, 0)[0].tobytes() == first_episodes(30, 0)[0].tobytes()


def test_a_game_does_not_depend_on_the_size_of_the_batch():
    few, many = Batch(2, 4, seed=9), Batch(50, 4, seed=9)
    for _ in range(250):
        assert few.states.tobytes() == many.states[:2].tobytes()
        few.play_random(1)
        many.play_random(1)


def test_global_random_states_are_neither_read_nor_written():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 (the global state must stay as it is)
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    first = hash_everything(games=3, steps=20), draw_deal(standard_setup(3), 5)
    assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002
    random.seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert (hash_everything(games=3, steps=20), draw_deal(standard_setup(3), 5)) == first


# --- a stale compiled rule is never served ----------------------------------------------------------------------------

PROBE = """
import numpy as np
import felicity_env.game
from felicity_env.kernel import kernel

@kernel
def compute_value(row):
    return felicity_env.game.sack_value(row, 4)
"""
RUN_PROBE = "import numpy as np, probe; print(probe.compute_value(np.array([6, 3, 2, 0], np.int16)), probe.__file__)"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.mark.compiled("plain Python has no cache of machine code")
def test_after_an_edit_of_a_rule_no_compiled_caller_serves_the_old_one(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "felicity_env", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "probe.py").write_text(PROBE)

    def run() -> tuple[str, bool]:
        """Return (what the probe prints, whether anything was compiled)."""
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run_python(RUN_PROBE, cwd=tmp_path, **environment)
        value, file = done.stdout.split()
        assert Path(file).parent == tmp_path
        return value, "compiling" in done.stderr

    game = tmp_path / "felicity_env" / "game.py"
    assert run() == ("15", True)
    assert run() == ("15", False)  # warm
    edit(game, "CARD_VALUES = (-8, -5, 3, 5, 8, 11, 15,", "CARD_VALUES = (-8, -5, 3, 5, 8, 11, 16,")
    assert run() == ("16", True)
    edit(game, "8, 11, 16,", "8, 11, 15,")
    assert run() == ("15", False)  # the old rule again, from the old cache


@kernel
def _first_element(array):
    return array[0]


def test_kernels_of_other_packages_are_cached_apart_from_those_of_the_environment():
    assert _first_element(np.array([3])) == 3
    if COMPILED:
        assert _first_element.stats.cache_path != mix.stats.cache_path
