"""Felicity: The Cat in the Sack, a hidden-card auction game, as a reinforcement-learning environment.

- PettingZoo (AEC): `from felicity_env import felicity_v0`, then `felicity_v0.env()`.
- Gymnasium, with one learning seat: `gymnasium.make("felicity_env:felicity/Seat-v0")`.
- Many games that are stepped together: `Batch`.

The rules are in RULES.md. Importing this package registers both environments. `gymnasium.make` imports the package
that stands before the colon. `pettingzoo.make("aec", "felicity/felicity-v0")` imports nothing, so `import felicity_env`
must come first; it needs PettingZoo 1.27.
"""

import signal
import sys

if sys.argv[:1] == ["-m"] and "felicity_env" in sys.orig_argv:  # python -m felicity_env: Ctrl-C ends the imports below
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gymnasium
import pettingzoo

from felicity_env.batch import Batch
from felicity_env.game import NUM_ACTIONS, RULES_VERSION, Setup
from felicity_env.game_record import Deal, Game
from felicity_env.information import redact, resample
from felicity_env.observation import OBS_SIZE, OBSERVATION_VERSION, SECTIONS, describe
from felicity_env.player import Player, View
from felicity_env.random_stream import game_seed
from felicity_env.render import notebook as notebook
from felicity_env.rewards import REWARDS
from felicity_env.setups import SETUPS

gymnasium.register(
    "felicity/Seat-v0",
    entry_point="felicity_env.gymnasium_env:SeatEnv",
    vector_entry_point="felicity_env.gymnasium_env:SeatVectorEnv",
)
if hasattr(pettingzoo, "register"):  # which came with PettingZoo 1.27
    pettingzoo.register("aec", "felicity/felicity-v0", entry_point="felicity_env.pettingzoo_env:env")

__version__ = "0.3.0.dev0"
__all__ = [
    "NUM_ACTIONS",
    "OBSERVATION_VERSION",
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
