"""The settings of a training run: a frozen dataclass for each algorithm; its docstrings are the `--help`."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal

import agents
from train.checks import Faults, as_option, below, no_learner, not_positive, refuse
from train.opponents import PAST, SELF

_WEIGHT = re.compile(r".+=(\d+\.?\d*|\.\d+)")
_POSITIVE = (
    *("total_timesteps", "num_envs", "num_steps", "batch_size", "update_epochs", "threads", "clip_coef"),
    *("curve_every", "learning_rate", "reward_scale"),
)

Algorithm = Literal["selfplay", "maskable-ppo"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What every algorithm has; those without a default here have one of their own in each."""

    sources: ClassVar[tuple[str, ...]] = (SELF,)  # what `mix` may name beside players

    algorithm: Algorithm
    """How to learn; it decides which other settings there are, and their defaults."""
    num_players: tuple[int, ...] = (4,)
    """Seats at the tables: 3, 4 or 5, or several for mixed tables (`--num-players 3 4 5`); a number named
    twice gets twice as many tables."""
    total_timesteps: int
    """Decisions learned from in all."""
    seed: int = 0
    """Of weights, games and opponents; 0 to 2**32 - 1."""
    run: Path | None = None
    """Folder of this run, which must not exist yet. Default: a new one in `runs/`."""
    resume: Path | None = None
    """Go on with the run in this folder, with the settings it was begun with; takes no other options."""

    open_mice: bool
    """Show the learner how many mice the others hold (it follows from public events)."""
    reward: Literal["win", "margin", "score", "round"]
    """What a game pays the learner; see `felicity_env.REWARDS`."""
    reward_scale: float
    """Rewards are multiplied by this before they are learned from."""
    mix: tuple[str, ...]
    """Who sits in the other seats, NAME=WEIGHT: `self` (as it is now), or any player code."""

    num_envs: int = 512
    """Games side by side."""
    num_steps: int = 64
    """Decisions of learners in each game between two updates."""
    batch_size: int
    """Decisions in a minibatch."""
    update_epochs: int = 4
    """Times that each decision is learned from."""
    learning_rate: float = 1e-3
    """Of Adam at the start; falls linearly to zero."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus at the start: hidden information needs mixed play."""
    ent_coef_end: float = 0.01
    """Weight of the entropy bonus at the end; linear in between."""
    gamma: float = 1.0
    """Discount from one decision to the next."""
    gae_lambda: float = 0.95
    """Of generalised advantage estimation."""
    clip_coef: float = 0.2
    """PPO's bound on the change of a probability ratio."""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """Layers of the policy and, apart from it, of the value function."""
    threads: int = 2
    """Cores."""

    against: tuple[str, ...]
    """Codes of the players that the policy is measured against, in the curve and at the end."""
    curve_every: int
    """Decisions between two points of the learning curve."""
    curve_blocks: int = 100
    """Deals (each under all rotations of the seats) for a point of the curve against each of them."""
    evaluation_blocks: int = 1000
    """Deals (each under all rotations of the seats) for the final evaluation against each of them."""

    def __post_init__(self) -> None:
        refuse(self._faults())

    def _faults(self) -> Faults:
        """What could be wrong and what to say of it, in an order in which each may count on those before it."""
        yield from not_positive(self, *_POSITIVE)
        yield from below(self, curve_blocks=2, evaluation_blocks=2)  # or there is no interval
        for name in ("ent_coef", "ent_coef_end"):
            yield not 0 <= getattr(self, name) < inf, f"{as_option(name)} must not be negative"
        for name in ("gamma", "gae_lambda"):
            yield not 0 <= getattr(self, name) <= 1, f"{as_option(name)} must be 0 to 1"
        yield from no_learner(self)
        unknown = _unknown(self.against)
        yield bool(unknown), f"--against has unknown players {list(unknown)}: {'; '.join(unknown.values())}"
        yield not self.against, "--against needs at least one player"
        yield len(set(self.against)) < len(self.against), "--against names a player twice"
        yield from self._mix_faults()

    def _mix_faults(self) -> Faults:
        yield from _weight_faults("--mix", self.mix, self.sources)
        yield self._total_weight() <= 0, "--mix needs a weight above 0"

    def _total_weight(self) -> float:
        return sum(self.weights.values())

    @property
    def weights(self) -> dict[str, float]:
        """`mix` as a mapping."""
        return _weights(self.mix)

    @property
    def table_sizes(self) -> tuple[int, ...]:
        """`num_players`, each number once."""
        return tuple(dict.fromkeys(self.num_players))

    @property
    def rollout_size(self) -> int:
        """Decisions of learners between two updates."""
        return self.num_envs * self.num_steps

    def to_json(self) -> dict[str, Any]:
        """Plain values, without the places of folders."""
        return {name: value for name, value in asdict(self).items() if name not in ("run", "resume")}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """The inverse of `to_json`; raises `ValueError`, `KeyError` or `TypeError` on anything else."""
        kind = type(DEFAULTS[values.get("algorithm", "maskable-ppo")])
        if strangers := sorted(values.keys() - {field.name for field in fields(kind)}):
            raise ValueError(f"{', '.join(strangers)} is no setting of it")
        merged: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        return kind(**merged)


@dataclass(frozen=True, kw_only=True)
class MaskableConfig(Config):
    """Train a player of Felicity.

    `selfplay`: PPO in which all seats learn, as fast as the machine can. `maskable-ppo`: Stable-Baselines3's, one seat
    a table. `--help` after `--algorithm NAME` tells that one's settings and defaults.
    """

    sources: ClassVar[tuple[str, ...]] = (SELF, PAST)

    algorithm: Algorithm = "maskable-ppo"
    total_timesteps: int = 6_000_000
    open_mice: bool = False
    reward: Literal["win", "margin", "score", "round"] = "round"
    reward_scale: float = 0.05
    mix: tuple[str, ...] = ("self=0.4", "past=0.2", "anchor=0.2", "ev=0.1", "random=0.1")
    """Who sits in the other seats, NAME=WEIGHT: `self` (as it is now), `past` (older selves), or any player code."""
    num_past: int = 2
    """How many older selves are kept."""
    remember_every: int = 15
    """Updates between two older selves."""
    batch_size: int = 4096
    against: tuple[str, ...] = ("random", "anchor", "ev")
    curve_every: int = 500_000

    def _faults(self) -> Faults:
        yield from super()._faults()
        yield self.remember_every <= 0, "--remember-every must be positive"
        yield self.num_past < 0, "--num-past must not be negative"
        yield self.num_past == 0 and self.weights.get(PAST, 0) > 0, "--mix has past selves, but --num-past is 0"
        yield self.rollout_size % self.batch_size != 0, "--batch-size must divide --num-envs times --num-steps"


@dataclass(frozen=True, kw_only=True)
class SelfplayConfig(Config):
    """PPO in which all seats learn."""

    algorithm: Algorithm = "selfplay"
    total_timesteps: int = 9_500_000
    open_mice: bool = True
    reward: Literal["win", "margin", "score", "round"] = "win"
    reward_scale: float = 1.0
    mix: tuple[str, ...] = ("self=0.4", "tuned=0.2", "ev=0.2", "anchor=0.2")
    batch_size: int = 1024
    ent_coef: float = 0.05
    against: tuple[str, ...] = ("random", "anchor", "ev", "tuned")
    curve_every: int = 1_000_000

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the networks are; auto: on a GPU if there is one.
    There a run has 16 times the games, minibatch and decisions, unless one of these is named."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the networks' products; auto: 16 bits where the machine is faster with them."""
    init: str | None = None
    """Begin with the policy in this run folder (or policy.json), and the critic of its last checkpoint if it has one,
    instead of random weights; its layers must fit."""
    guests: tuple[str, ...] = ()
    """Players who sit alone at tables where all others learn, NAME=WEIGHT; the weights count beside those of `mix`."""
    raises: bool = False
    """Give every raise a logit of its own beside that of the bid."""
    kl_coef: float = 0.0
    """Weight of the divergence from a slow average of the policy."""
    average_decay: float = 0.99
    """Of the slow average, from one update to the next."""
    max_grad_norm: float = 0.5
    """Longer gradients are cut to this length."""
    vf_coef: float = 1.0
    """Weight of the critic's error."""
    save_every: int = 20
    """Updates between two checkpoints."""

    def _faults(self) -> Faults:
        yield from super()._faults()
        yield from not_positive(self, "max_grad_norm", "save_every")
        for name in ("kl_coef", "vf_coef"):
            yield not 0 <= getattr(self, name) < inf, f"{as_option(name)} must not be negative"
        yield not 0 <= self.average_decay <= 1, "--average-decay must be 0 to 1"
        yield self.batch_size > self.rollout_size, "--batch-size must be at most --num-envs times --num-steps"

    def _mix_faults(self) -> Faults:
        yield from _weight_faults("--guests", self.guests, ())
        yield from super()._mix_faults()

    def _total_weight(self) -> float:
        return sum(self.weights.values()) + sum(self.guest_weights.values())

    @property
    def guest_weights(self) -> dict[str, float]:
        """`guests` as a mapping."""
        return _weights(self.guests)


def _weights(texts: Sequence[str]) -> dict[str, float]:
    return {name: float(weight) for name, weight in (text.rsplit("=", 1) for text in texts)}


def _weight_faults(option: str, texts: Sequence[str], sources: Sequence[str]) -> Faults:
    """As `Config._faults`, of an option that takes NAME=WEIGHT; `sources` are names beside player codes."""
    malformed = " ".join(text for text in texts if not _WEIGHT.fullmatch(text))
    yield bool(malformed), f"{option} needs NAME=WEIGHT with a weight of 0 or more, not {malformed}"
    unknown = _unknown(name for name in _weights(texts) if name not in sources)
    may, why = " and ".join([*([", ".join(sources)] if sources else []), "player codes"]), "; ".join(unknown.values())
    yield bool(unknown), f"{option} has unknown players {list(unknown)}; it may name {may}: {why}"
    yield len(_weights(texts)) < len(texts), f"{option} names a player twice"


def _unknown(codes: Iterable[str]) -> dict[str, str]:
    """Those of which no player can be made, and why not."""
    reasons = {}
    for code in codes:
        try:
            agents.make(code)
        except ValueError as error:
            reasons[code] = str(error)
    return reasons


DEFAULTS: dict[str, Config] = {"maskable-ppo": MaskableConfig(), "selfplay": SelfplayConfig()}


def read_config(path: Path) -> Config:
    """The settings in a run's config.json; raises `ValueError` if they cannot be read."""
    try:
        return Config.from_json(json.loads(path.read_text())["config"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no settings of `python -m train` can be read from {path}: {error}") from error
