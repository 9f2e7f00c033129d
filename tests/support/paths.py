"""Paths of the project's folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("felicity_env", "agents", "train", "experiments")
