"""What tests of the self-play trainer share: small settings, a trainer, its weights."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from train.config import DEFAULTS, SelfplayConfig
from train.progress import Progress
from train.selfplay import SelfplayTrainer

ROOT = Path(__file__).resolve().parents[1]
SMALL = {
    "num_envs": 16,
    "num_steps": 32,
    "batch_size": 128,
    "hidden_sizes": (16,),
    "threads": 1,
    "curve_blocks": 2,
    "evaluation_blocks": 2,
    "total_timesteps": 2000,
    "curve_every": 700,
    "save_every": 2,
}
QUICK = "--num-envs 16 --num-steps 32 --batch-size 128 --threads 1 --curve-blocks 2 --evaluation-blocks 2"


def config_of(**settings: object) -> SelfplayConfig:
    return replace(DEFAULTS["selfplay"], **(SMALL | settings))


def trainer_of(folder: Path, **settings: object) -> SelfplayTrainer:
    folder.mkdir(exist_ok=True)
    return SelfplayTrainer(config_of(**settings), folder)


def options() -> list[str]:
    words = ["--algorithm", "selfplay"]
    for name, value in SMALL.items():
        values = value if isinstance(value, tuple) else (value,)
        words += ["--" + name.replace("_", "-"), *map(str, values)]
    return words


def quiet() -> Progress:
    return Progress(Console(file=StringIO()), 1, 0)


def weights(trainer: SelfplayTrainer) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in trainer.policy.state_dict().values())
