"""Settings of training runs: those that every algorithm has, their checks, their defaults, their JSON.

A run has one frozen dataclass of settings. Its docstrings are the `--help`.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import agents
from agents.tools.files import UserError, check_same_settings
from agents.tools.seeds import MAX_TRAINING_SEED
from agents.tools.settings import (
    check_at_least,
    check_not_negative,
    check_positive,
    check_range,
    choose_setups,
    require,
)
from felicity_env import Setup
from felicity_env.setups import find_setup, standard_setup
from train.algorithms import load_trainer
from train.opponents import SELF

GPU_FACTOR = 16  # a GPU computes large batches as fast as small ones: as many updates, of better estimates
SIZES = ("num_envs", "num_steps", "batch_size", "total_timesteps")  # naming one of them keeps the defaults of a CPU
_WEIGHT = re.compile(r".+=(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings of every algorithm; those without a default here get one from each algorithm."""

    algorithm: ClassVar[str]  # key of `train.algorithms.ALGORITHMS`
    sources: ClassVar[tuple[str, ...]] = (SELF,)  # names in `mix` beside player codes
    larger_on_gpu: ClassVar[tuple[str, ...]] = ()  # settings whose default is `GPU_FACTOR` times as large on a GPU

    num_players: tuple[int, ...] = (4,)
    """Seats of the standard setups to play: 3, 4 or 5, or several (`--num-players 3 4 5`). A number named twice gets
    twice as many games."""
    setup: tuple[str, ...] = ()
    """Setups to play instead of `--num-players`: names such as standard-4, or JSON files with the fields of a setup.
    A setup named twice gets twice as many games."""
    total_timesteps: int
    """Decisions to learn from in total; more make a stronger player, with diminishing returns."""
    seed: int = 0
    """Seed of weights, games and opponents, 0 to 2**32 - 1. On a CPU the same seed gives the same policy."""
    out: Path | None = None
    """Folder of the run; it must not exist yet. Default: a new folder in `runs/`."""
    resume: Path | None = None
    """Folder of a stopped run to continue with its own settings; no other option may be given."""

    open_mice: bool
    """Show the learner how many mice the others hold. It follows from public events; showing it saves the counting."""
    reward: Literal["win", "margin", "score", "round"]
    """Reward, see `felicity_env.REWARDS`: win is what the evaluation measures, round pays after every round."""
    reward_scale: float
    """Factor on all rewards; choose it so that returns are about 1 in size."""
    mix: tuple[str, ...]
    """Players in the other seats, NAME=WEIGHT: `self` (the policy as it is now) or any player code. Players beside
    `self` keep the policy from adapting to itself alone."""

    num_envs: int = 512
    """Games side by side; more give better estimates for each update and need more memory."""
    num_steps: int = 64
    """Decisions of learners in each game between two updates; more wait longer for an update."""
    batch_size: int
    """Decisions in a minibatch; smaller minibatches take more and noisier steps."""
    update_epochs: int = 4
    """Passes over the decisions of a rollout; more learn more from each game, but too many overfit it."""
    learning_rate: float = 1e-3
    """Initial Adam learning rate, decayed linearly to zero; lower it if training diverges."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus at the start; hidden information needs mixed play, so keep it above zero."""
    ent_coef_end: float = 0.01
    """Weight of the entropy bonus at the end; it changes linearly in between."""
    gamma: float = 1.0
    """Discount from one decision to the next; 1 suits games that always end."""
    gae_lambda: float = 0.95
    """GAE lambda; 1 is Monte Carlo, lower trades variance for bias."""
    clip_coef: float = 0.2
    """PPO clip range of the probability ratio; smaller keeps the policy closer to the one that played."""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers of the policy and of the separate value network; larger ones play slower."""
    threads: int = 2
    """CPU threads; the number of physical cores is a good choice."""

    against: tuple[str, ...]
    """Codes of the players that the policy is measured against, in the learning curve and at the end."""
    curve_every: int
    """Decisions between two points of the learning curve; each point takes time."""
    curve_deals: int = 100
    """Deals, each under all rotations of the seats, for a point of the curve against each player."""
    evaluation_deals: int = 1000
    """Deals, each under all rotations of the seats, for the final evaluation against each player; four times as many
    halve the interval."""

    def __post_init__(self) -> None:
        check_positive(self, "total_timesteps", "num_envs", "num_steps", "batch_size", "update_epochs", "threads")
        check_positive(self, "curve_every", "learning_rate", "reward_scale", "clip_coef")
        check_at_least(self, curve_deals=2, evaluation_deals=2)  # fewer have no interval
        check_not_negative(self, "ent_coef", "ent_coef_end")
        check_range(self, 0, 1, "gamma", "gae_lambda")
        check_range(self, 0, MAX_TRAINING_SEED, "seed")
        require(bool(self.hidden_sizes) and min(self.hidden_sizes) > 0, "--hidden-sizes must be positive")
        require(self.num_envs >= len(self._list_setups()), "--num-envs must be at least the number of setups named")
        unknown = _find_unknown(self.against)
        require(not unknown, f"--against has unknown players {list(unknown)}: {'; '.join(unknown.values())}")
        require(bool(self.against), "--against needs at least one player")
        require(len(set(self.against)) == len(self.against), "--against names a player twice")
        self._check_mix()

    def _check_mix(self) -> None:
        malformed = " ".join(text for text in self.mix if not _WEIGHT.fullmatch(text))
        require(not malformed, f"--mix needs NAME=WEIGHT with a weight of 0 or more, not {malformed}")
        unknown = _find_unknown(name for name in self.weights if name not in self.sources)
        names, reasons = ", ".join(self.sources), "; ".join(unknown.values())
        allowed = f"it may name {names} and player codes"
        require(not unknown, f"--mix has unknown players {list(unknown)}; {allowed}: {reasons}")
        require(len(self.weights) == len(self.mix), "--mix names a player twice")
        require(sum(self.weights.values()) > 0, "--mix needs a weight above 0")

    def _list_setups(self) -> list[Setup]:
        """List the setups named, with repetitions."""
        choose_setups(self.setup, self.num_players)  # raises with the name of the option
        return [find_setup(name) for name in self.setup] or [standard_setup(number) for number in self.num_players]

    @property
    def setups(self) -> tuple[Setup, ...]:
        """Setups to play, each once."""
        return choose_setups(self.setup, self.num_players)

    @property
    def setups_by_game(self) -> list[Setup]:
        """Setup of each game, [num_envs]."""
        named = self._list_setups()
        return [named[game % len(named)] for game in range(self.num_envs)]

    @property
    def weights(self) -> dict[str, float]:
        """`mix` as a mapping."""
        return {name: float(weight) for name, weight in (text.rsplit("=", 1) for text in self.mix)}

    @property
    def rollout_size(self) -> int:
        """Decisions of learners between two updates."""
        return self.num_envs * self.num_steps

    @classmethod
    def choose_defaults(cls, device: str, named: Collection[str] = ()) -> "Config":
        """Return the default settings; a run on a GPU is larger unless one of `SIZES` is named.

        device: "auto", "cpu" or "cuda". named: names of settings.
        """
        default: Any = cls()  # type: ignore[call-arg]  # each algorithm has a default for every setting
        if not cls.larger_on_gpu or set(SIZES) & set(named) or choose_device(device) != "cuda":
            return default
        return replace(default, **{name: GPU_FACTOR * getattr(default, name) for name in cls.larger_on_gpu})

    def to_json(self) -> dict[str, Any]:
        """Return algorithm and settings as plain values, without folders; setups of files with their fields."""
        values = {name: value for name, value in asdict(self).items() if name not in ("out", "resume")}
        files = {"setups": [asdict(setup) for setup in self.setups]} if self.setup else {}
        return {"algorithm": self.algorithm, **values, **files}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """Return the settings that `to_json` wrote; raise `ValueError`, `KeyError` or `TypeError` on anything else."""
        kind = load_trainer(values["algorithm"]).config_class
        settings = {name: value for name, value in values.items() if name not in ("algorithm", "setups")}
        if unknown := sorted(settings.keys() - {field.name for field in fields(kind)}):
            raise ValueError(f"{kind.algorithm} has no setting {', '.join(unknown)}")
        plain: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in settings.items()}
        return kind(**plain)


def _find_unknown(codes: Iterable[str]) -> dict[str, str]:
    """Map each invalid player code to its error."""
    reasons = {}
    for code in codes:
        try:
            agents.make(code)
        except ValueError as error:
            reasons[code] = str(error)
    return reasons


def choose_device(device: str) -> str:
    """Return "cuda" or "cpu" for the setting `device`; raise `ValueError` if there is no such device."""
    import torch  # takes seconds, and settings are read without it

    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch finds no CUDA device here; leave the option out, or use cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def read_config(path: Path) -> Config:
    """Read a run's config.json; raise `UserError` if that is impossible, or the file of a setup has changed."""
    try:
        values = json.loads(path.read_text())["config"]
        config = Config.from_json(values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UserError) as error:
        raise UserError(f"cannot read settings of `python -m train` from {path}: {error}") from error
    check_same_settings(values, config.to_json(), where=path, advice="restore the files that --setup names")
    return config
