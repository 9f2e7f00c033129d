"""Is it worth writing amounts as thermometers? `python -m experiments.encoding`

The default training run, shortened, with the observation as it is and with the thermometers of own mice and highest bid
blanked (both stay in it as scaled numbers), several seeds each.
"""

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tyro
from rich.console import Console

from agents.arena import bootstrap
from experiments.results import write_result
from felicity_env import View
from felicity_env.observation import AT, STEPS
from train.config import Config as TrainConfig

THERMOMETERS = np.r_[AT.mice_steps : AT.mice_steps + STEPS, AT.high_bid_steps : AT.high_bid_steps + STEPS]
