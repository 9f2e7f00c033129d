"""The ablation: variants are settings, trained after those that they need, compared with the base on the same deals."""

from pathlib import Path

import numpy as np
import pytest

from experiments.training import ablation
from tests.support.experiments import save_random_policy


def test_every_variant_is_a_setting_that_exists_and_changes_something(tmp_path):
    config = ablation.Config(out=tmp_path / "of the ablation")
    for name in {name for variant in ablation.VARIANTS for name in ablation.find_needed_variants(variant)}:
        save_random_policy(ablation.run_folder(name, 5, config))
    base = ablation.create_config(ablation.BASE, 5, config)
    for variant in ablation.VARIANTS:
        changed = ablation.create_config(variant, 5, config)
        assert (changed == base) == (variant == ablation.BASE), variant


def test_variants_are_trained_after_those_that_their_settings_name(tmp_path, monkeypatch):
    variants = ablation.add_needed_variants(["2 x 64", "exploiter among the others"])
    assert variants == ["base", "2 x 64", ablation.EXPLOITER, "exploiter among the others"]
    assert [ablation.count_levels(variant) for variant in variants] == [0, 0, 1, 2]
    monkeypatch.setattr(ablation, "create_config", lambda *_: None)
    monkeypatch.setattr(ablation, "train_runs", lambda runs, **_: [{} for _ in runs])
    config = ablation.Config(out=tmp_path, seeds=(0, 3))
    order = [variant for variant, seed, _ in ablation.train_variants(variants, config) if seed == 3]
    assert order == variants


def test_the_base_plays_its_other_seeds_and_gains_nothing_over_itself():
    opponents = ablation.list_opponents(1, ablation.Config(seeds=(0, 1, 2)))
    assert [Path(code).name for code in opponents["base"]] == ["base-seed0", "base-seed2"]
    runs = [{"ev": np.array([0.0, 1.0, 0.5])}, {"ev": np.array([1.0, 1.0, 0.0])}]
    comparison = ablation.compare(runs, runs)
    assert comparison["ev"]["gain"]["value"] == 0
    assert comparison["ev"]["win_share"]["value"] == pytest.approx(3.5 / 6)


def test_an_unknown_variant_and_a_single_seed_are_refused():
    with pytest.raises(ValueError, match="--variants: no"):
        ablation.Config(variants=("more luck",))
    with pytest.raises(ValueError, match="--seeds needs different numbers, at least 2"):
        ablation.Config(seeds=(1,))
