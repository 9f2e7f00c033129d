"""Shared parts of trainers: the evaluation of policies."""

import numpy as np

from agents import make
from agents.tools.seeds import SEEDS
from felicity_env import Setup, game_seed
from felicity_env.setups import setup_name, standard_setup
from train import trainer
from train.trainer import evaluate_policy


def test_evaluation_names_the_setup_and_derives_its_seed_from_the_number_of_seats(monkeypatch):
    seeds = []

    def play(player, code, setup, *, num_deals, seed):
        seeds.append(seed)
        return np.linspace(0, 1, num_deals)

    monkeypatch.setattr(trainer, "win_shares_against_copies", play)
    high = Setup(seats=4, mouse_cards=(1, 3, 5), bank=27)
    settings = {"num_deals": 5, "stream": 2, "against": ("random", "ev")}
    results = [evaluate_policy(make("ev"), setup, **settings) for setup in (standard_setup(4), high)]
    assert set(seeds) == {game_seed(SEEDS["evaluation"], 2, 4)}
    assert [result["setup"] for result in results] == ["standard-4", setup_name(high)]
    assert all(result["par"] == 0.25 and set(result["win_share"]) == {"random", "ev"} for result in results)
