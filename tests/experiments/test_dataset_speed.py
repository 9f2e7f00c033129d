"""Size and speed of datasets, measured on a few games."""

import pytest

from experiments.speed import dataset
from experiments.speed.dataset import Config, main


@pytest.mark.compiled("many games")
def test_sizes_and_rates_are_stored_for_each_player(monkeypatch):
    stored = {}
    monkeypatch.setattr(dataset, "write_result", lambda name, config, results, **_: stored.update({name: results}))
    main(Config(players=("random", "net"), games=100, repetitions=2, num_players=3))
    rows = stored["dataset"]["players"]
    assert stored["dataset"]["setup"] == "standard-3"
    assert rows["random"]["games"] == 100
    assert rows["net"]["games"] == 10
    assert rows["net"]["bytes_per_game_with_probabilities"] > rows["net"]["bytes_per_game"] > 20
    assert "bytes_per_game_with_probabilities" not in rows["random"]
    for row in rows.values():
        assert row["written_per_second"]["value"] > 0
        assert row["resimulated_per_second"]["repetitions"] == 2
