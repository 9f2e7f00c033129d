"""Table of the training algorithms by name, `ALGORITHMS`.

A new algorithm needs one line in the table and a module of its own. That module defines a class derived from
`train.trainer.Trainer`, with a `config_class`, a dataclass of settings derived from `train.config.Config`.
The module of an algorithm is imported only when the algorithm is used, because importing torch takes seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from agents.tools.command import python_command
from agents.tools.files import UserError

if TYPE_CHECKING:
    from train.trainer import Trainer


class Algorithm(NamedTuple):
    """Entry of the table of training algorithms: module and name of the trainer class, and a line of help."""

    module: str
    trainer: str
    help: str


ALGORITHMS = {
    "maskable-ppo": Algorithm(
        "train.maskable_ppo",
        "MaskablePPOTrainer",
        "MaskablePPO of sb3-contrib, to compare with",
    ),
    "selfplay": Algorithm("train.selfplay", "SelfplayTrainer", "PPO by self-play; stronger, and sooner"),
}
DEFAULT = "selfplay"


def load_trainer(name: str) -> "type[Trainer]":
    """Import and return the trainer class of the training algorithm with this name.

    Raises `UserError`, which lists all algorithms, if there is none with this name.
    """
    if name not in ALGORITHMS:
        also = f"; to compare runs: {python_command('train')} curves RUN RUN"
        raise UserError(f"there is no algorithm {name!r}; there are {', '.join(ALGORITHMS)}{also}")
    return getattr(import_module(ALGORITHMS[name].module), ALGORITHMS[name].trainer)
