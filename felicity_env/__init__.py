"""Felicity: The Cat in the Sack as a reinforcement-learning environment. See README.md, RULES.md.

PettingZoo AEC: `from felicity_env import felicity_v0`. Many games side by side: `Batch`. One seat learns:
`gymnasium.make("felicity_env:felicity/Seat-v0")`.
"""

import gymnasium
import pettingzoo

from felicity_env.batch import Batch
from felicity_env.game import NUM_ACTIONS, RULES_VERSION, SETUPS, Setup
from felicity_env.information import redact, resample
from felicity_env.observation import OBS_SIZE, SECTIONS, describe
from felicity_env.random_stream import game_seed
from felicity_env.rewards import REWARDS
from felicity_env.transcript import Deal, Game
from felicity_env.view import Player, View

gymnasium.register(
    "felicity/Seat-v0",
    entry_point="felicity_env.single:SeatEnv",
    vector_entry_point="felicity_env.single:SeatVectorEnv",
)
pettingzoo.register("aec", "felicity/felicity-v0", entry_point="felicity_env.aec:env")

__version__ = "0.1.0"
__all__ = [
    "NUM_ACTIONS",
    "OBS_SIZE",
    "REWARDS",
    "RULES_VERSION",
    "SECTIONS",
    "SETUPS",
    "Batch",
    "Deal",
    "Game",
    "Player",
    "Setup",
    "View",
    "describe",
    "game_seed",
    "redact",
    "resample",
]
