"""The ablation: variants are settings, trained after those that they need, compared with the base on the same deals."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from agents.policy_file import load_policy
from experiments.training import ablation
from experiments.training.variants import BASE, EXPLOITER, LAST_POLICY, VARIANTS
from tests.support.experiments import save_random_policy


@pytest.mark.parametrize("recipe", VARIANTS)
def test_every_variant_is_a_setting_that_exists_and_changes_something(recipe, tmp_path):
    config = ablation.Config(out=tmp_path / "of the ablation", recipe=recipe)
    for name in {name for variant in config.known for name in ablation.find_needed_variants(variant, config)}:
        save_random_policy(ablation.run_folder(name, 5, config))
    base = ablation.create_config(BASE, 5, config)
    for variant in config.known:
        changed = ablation.create_config(variant, 5, config)
        assert (changed == base) == (variant in (BASE, LAST_POLICY)), variant


def test_variants_are_trained_after_those_that_their_settings_name(tmp_path, monkeypatch):
    config = ablation.Config(out=tmp_path, seeds=(0, 3))
    variants = ablation.add_needed_variants(["2 x 64", "exploiter among the others"], config)
    assert variants == [BASE, "2 x 64", EXPLOITER, "exploiter among the others"]
    assert [ablation.count_levels(variant, config) for variant in variants] == [0, 0, 1, 2]
    monkeypatch.setattr(ablation, "create_config", lambda *_: None)
    monkeypatch.setattr(ablation, "train_runs", lambda runs, **_: [{} for _ in runs])
    order = [folder for folder, _ in ablation.train_variants(variants, config)]
    expected = [ablation.run_folder(variant, 3, config) for variant in variants]
    assert [folder for folder in order if folder in expected] == expected


def test_the_base_plays_its_other_seeds_and_gains_nothing_over_itself():
    opponents = ablation.list_opponents(1, {0: "net:zero", 1: "net:one", 2: "net:two"})
    assert opponents[BASE] == ["net:zero", "net:two"]
    runs = [{"ev": np.array([0.0, 1.0, 0.5])}, {"ev": np.array([1.0, 1.0, 0.0])}]
    comparison = ablation.compare_kinds(runs, runs)
    assert comparison["ev"]["gain"]["value"] == 0
    assert comparison["ev"]["win_share"]["value"] == pytest.approx(3.5 / 6)


def test_the_reference_recipe_is_judged_by_its_mixture_and_by_its_last_policy_alone(tmp_path):
    config = ablation.Config(out=tmp_path, recipe="reference", num_deals=2)
    run = ablation.run_folder(BASE, 0, config)
    assert ablation.run_folder(LAST_POLICY, 0, config) == run
    for number in (100, 200, 300, 400):
        save_random_policy(run / "policies" / str(number), seed=number)
    save_random_policy(run, seed=400)
    mixture = Path(ablation.find_player(BASE, 0, config).removeprefix("net:"))
    assert sorted(path.name for path in mixture.iterdir()) == ["0", "1"]
    last = load_policy(Path(ablation.find_player(LAST_POLICY, 0, config).removeprefix("net:")))
    assert all(np.array_equal(a, b) for a, b in zip(last[0][0], load_policy(mixture / "1")[0][0], strict=True))


def test_responses_are_those_to_the_player_of_each_variant_and_seed(monkeypatch):
    players = {BASE: {0: "net:b0", 1: "net:b1"}, "linear decay": {0: "net:l0", 1: "net:l1"}}
    monkeypatch.setattr(ablation.probe, "create_probes", lambda targets, *_, **__: targets)
    monkeypatch.setattr(
        ablation.probe, "train_responses", lambda probes, **_: [np.full(3, float(code[-1])) for code in probes]
    )
    config = ablation.Config(recipe="reference", seeds=(0, 1), probe_timesteps=1)
    responses = ablation.measure_responses(players, config, Console(quiet=True))
    assert {variant: [blocks.mean() for blocks in found] for variant, found in responses.items()} == {
        BASE: [0, 1],
        "linear decay": [0, 1],
    }


def test_an_unknown_variant_and_a_single_seed_are_refused():
    with pytest.raises(ValueError, match="--variants: no"):
        ablation.Config(variants=("more luck",))
    with pytest.raises(ValueError, match=r"--variants: no \['2 x 64'\]; --recipe reference has \['base'"):
        ablation.Config(recipe="reference", variants=("2 x 64",))
    with pytest.raises(ValueError, match="--seeds needs different numbers, at least 2"):
        ablation.Config(seeds=(1,))
