"""Helpers for tests of experiments."""

from pathlib import Path

from agents.policy_file import save_policy
from train.networks import ActorCritic, copy_layers


def save_random_policy(folder: Path, *, seed: int = 0) -> None:
    """Write a small policy with random weights into a folder, as if the self-play trainer had trained it."""
    folder.mkdir(parents=True, exist_ok=True)
    layers = copy_layers(ActorCritic((8,), raises=True, seed=seed).actor)
    save_policy(folder, layers, open_mice=True, activation="relu", algorithm="selfplay", commit="none")
