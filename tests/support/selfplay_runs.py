"""Helpers for tests of the self-play trainer: small settings, a trainer, its weights."""

from pathlib import Path

from train.selfplay import SelfplayConfig, SelfplayTrainer

SMALL = {
    "num_envs": 16,
    "num_steps": 32,
    "batch_size": 128,
    "hidden_sizes": (16,),
    "threads": 1,
    "curve_deals": 2,
    "evaluation_deals": 2,
    "total_timesteps": 2000,
    "curve_every": 700,
    "save_minutes": 1e-6,  # after every update
    "device": "cpu",
}
QUICK = "--num-envs 16 --num-steps 32 --batch-size 128 --threads 1 --curve-deals 2 --evaluation-deals 2 --device cpu"


def small_config(**settings: object) -> SelfplayConfig:
    return SelfplayConfig(**(SMALL | settings))


def create_trainer(folder: Path, **settings: object) -> SelfplayTrainer:
    folder.mkdir(exist_ok=True)
    return SelfplayTrainer(small_config(**settings), folder)


def options() -> list[str]:
    words = ["selfplay"]
    for name, value in SMALL.items():
        values = value if isinstance(value, tuple) else (value,)
        words += ["--" + name.replace("_", "-"), *map(str, values)]
    return words


def weights(trainer: SelfplayTrainer) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in trainer.policy.state_dict().values())
