"""Table of the training algorithms by name. A new algorithm needs a module of its own and one line in `ALGORITHMS`.

The module has a trainer class (see `train.trainer.Trainer`), whose `config_class`, also in the module, is a dataclass
derived from `train.config.Config`. It is imported only when the algorithm is used: importing torch takes seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from agents.tools.files import UserError

if TYPE_CHECKING:
    from train.trainer import Trainer


class Algorithm(NamedTuple):
    """Training algorithm: module and name of its trainer class, and a line of help."""

    module: str
    trainer: str
    help: str


ALGORITHMS = {
    "maskable-ppo": Algorithm(
        "train.maskable_ppo",
        "MaskablePPOTrainer",
        "MaskablePPO of sb3-contrib, to compare with",
    ),
    "selfplay": Algorithm("train.selfplay", "SelfplayTrainer", "PPO in which all seats learn; stronger, and sooner"),
}
DEFAULT = "selfplay"


def load_trainer(name: str) -> "type[Trainer]":
    """Import and return the trainer class of an algorithm; raise `UserError` listing all if it is unknown."""
    if name not in ALGORITHMS:
        raise UserError(f"there is no algorithm {name!r}; there are {', '.join(ALGORITHMS)}")
    return getattr(import_module(ALGORITHMS[name].module), ALGORITHMS[name].trainer)
