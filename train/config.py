"""Settings of training runs: those that all algorithms have, with their checks, defaults and conversion to JSON.

The settings of a run are a frozen dataclass. The docstrings below its fields are the texts of `--help`.
"""

import json
import os
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from agents.own_code import load_own
from agents.registry import check_player, check_players, is_foreign
from agents.tools.files import UserError, check_same_settings, describe_error
from agents.tools.seeds import MAX_TRAINING_SEED
from agents.tools.settings import (
    SeveralSetups,
    check_at_least,
    check_positive,
    check_range,
    list_setups,
    option_name,
    require,
)
from felicity_env import OBS_SIZE, Setup
from train.algorithms import ALGORITHMS, load_trainer
from train.opponents import PAST, SELF

GPU_FACTOR = 16  # a GPU is as fast with large batches: as many updates, from better estimates
# If the user sets one of these settings, all defaults are those of a CPU, also on a GPU.
SIZES = ("num_envs", "num_steps", "batch_size", "total_timesteps")
# Settings that change nothing of what is learned: a run folder does not keep them, and each command gets them anew.
COMMAND_SETTINGS = ("games", "workers", "ray", "torch_compile", "log_to", "save_minutes")
NOT_STORED = (*COMMAND_SETTINGS, "threads", "allow", "resume", "out")
WITH_RESUME = (*COMMAND_SETTINGS, "threads", "allow", "resume", "total_timesteps")  # what a resumed run may be given
MAX_SIZE = 2**31 - 1  # larger sizes overflow when memory is requested, instead of being refused
_WEIGHT = re.compile(r".+=(\d+\.?\d*|\.\d+)")


@dataclass(frozen=True, kw_only=True)
class Config(SeveralSetups):
    """Settings that all training algorithms have in common.

    A setting that has no default value here gets one in the class of each algorithm.
    """

    sources: ClassVar[tuple[str, ...]] = (SELF,)  # names that `mix` may contain in addition to player codes
    larger_on_gpu: ClassVar[tuple[str, ...]] = ()  # settings whose default is `GPU_FACTOR` times as large on a GPU

    num_players: tuple[int, ...] = (4,)
    """Numbers of seats, 3 to 5; each selects the standard setup with that number.
    A number or setup that is named twice gets twice as many games."""
    total_timesteps: int
    """Number of decisions to learn from in the whole run. A longer run makes a stronger player, but gains become
    smaller."""
    seed: int = 0
    """Seed of initial weights, games and opponents, 0 to 2**32 - 1. On a CPU the same seed gives the same policy."""
    out: Path | None = None
    """Folder to create for the run, or an empty one. Default: a new folder in `runs/`."""
    resume: Path | None = None
    """Folder of a stopped or finished run to continue with its stored settings. Only --total-timesteps (a new, larger
    total), --threads, --games, --torch-compile, --workers, --ray, --log-to, --save-minutes and --allow may be given
    with it."""
    allow: tuple[str, ...] = ()
    """Codes of players that run code of your own or ask a server, and which a resumed run may use; without it, only
    the other players play."""

    open_mice: bool
    """Show the learner how many mice each other player holds, which it could also count from public events."""
    reward: Literal["win", "margin", "score", "round"]
    """Reward to learn from. At the end of a game: win (win share), margin (score minus the others' mean) or score.
    After every round: round (change of own mice and cat points). The evaluation always measures the win share."""
    reward_scale: float
    """Factor by which all rewards are multiplied; choose it so that the return of a game is about 1 in size."""
    mix: tuple[str, ...]
    """Opponents and their weights, as NAME=WEIGHT, separated by blanks. NAME is `self` (the current policy) or a player
    code. The larger the weight, the more often games are played against the opponent."""

    num_envs: int = 512
    """Number of games played in parallel. More give better estimates for each update and need more memory."""
    num_steps: int = 64
    """Number of learners' decisions in each game between two updates. More give better estimates but fewer updates."""
    batch_size: int
    """Number of decisions in a minibatch. Smaller minibatches make more gradient steps, which are noisier."""
    update_epochs: int = 4
    """Number of passes over the decisions of each rollout. More passes learn more from each game, but too many
    overfit."""
    learning_rate: float = 1e-3
    """Initial learning rate of Adam, which then decays linearly to zero. Lower it if training diverges."""
    decay: Literal["linear", "geometric"] = "linear"
    """Kind of change of weights towards their end: linear (equal steps), or geometric (equal factors, so small weights
    last longer). The learning rate always falls linearly."""
    gamma: float = 1.0
    """Discount factor from one decision to the next; 1 (no discount) suits games that always end."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation (GAE). 1 is Monte Carlo; lower values trade variance for bias."""
    clip_coef: float = 0.2
    """Clip range of the probability ratio in PPO. A smaller range keeps an updated policy closer to the one before."""
    init: str | None = None
    """Run folder, policy.json or net:PATH of the policy to start from; a run folder also gives its critic. The policy
    must have the same network sizes and --open-mice. Default: random weights."""
    hidden_sizes: tuple[int, ...] = (128, 128)
    """Sizes of the hidden layers, in the policy network and in the separate value network. Larger ones are slower."""
    threads: int | None = None
    """Number of CPU threads. Default: 1, or that of the run that is resumed. More pay for large networks and
    minibatches; small ones are done before threads have met. With another number, the last bits may differ."""
    save_minutes: float = 5.0
    """Largest number of minutes between two checkpoints; a run that is killed loses what it learned since the last
    one."""

    log_to: str | None = None
    """Function of yours that also gets all that is logged, as FILE.py:FUNCTION or MODULE:FUNCTION; it is called with
    {name: value} and the number of decisions. Default: logs are only written as CSV and for TensorBoard."""

    against: tuple[str, ...]
    """Codes of the players against which the policy is evaluated, during training (learning curve) and at the end."""
    curve_every: int | None = None
    """Number of decisions between two points of the learning curve. Each point takes time. Default: a tenth of
    --total-timesteps."""
    curve_deals: int = 100
    """Number of deals against each player for a point of the learning curve; each is played in every seat rotation."""
    keep_policies: bool = False
    """Keep the policy of every point of the learning curve, in the run folder's `policies`, for measurements later."""
    evaluation_deals: int = 1000
    """Number of deals in the final evaluation against each player; each is played in every seat rotation."""

    def __post_init__(self) -> None:
        check_positive(self, "total_timesteps", "num_envs", "num_steps", "batch_size", "update_epochs")
        check_positive(self, "learning_rate", "reward_scale", "clip_coef", "save_minutes")
        check_at_least(self, curve_every=1, curve_deals=2, evaluation_deals=2, threads=1)  # an interval needs two deals
        check_range(self, 1, MAX_SIZE, "num_envs", "num_steps", "batch_size")
        self._check_memory()
        is_possible = self.decay == "linear" or all(min(pair) > 0 for pair in self._list_schedules().values())
        require(
            is_possible, f"--decay geometric needs {' and '.join(map(option_name, self._list_schedules()))} above 0"
        )
        check_range(self, 0, 1, "gamma", "gae_lambda")
        check_range(self, 0, MAX_TRAINING_SEED, "seed")
        require(bool(self.hidden_sizes) and min(self.hidden_sizes) > 0, "--hidden-sizes must be positive")
        require(max(self.hidden_sizes) <= MAX_SIZE, f"--hidden-sizes must be at most {MAX_SIZE}")
        super().__post_init__()
        named = list_setups(self.setup, self.num_players)
        require(self.num_envs >= len(named), "--num-envs must be at least the number of setups named")
        check_players(self, "against")
        require(len(set(self.against)) == len(self.against), "--against names a player twice")
        self._check_mix()
        self._check_log_to()

    def _check_log_to(self) -> None:
        if self.log_to is not None:
            try:
                load_own(self.log_to)
            except (Exception, SystemExit) as error:  # foreign code raises anything
                raise ValueError(f"--log-to {self.log_to}: {type(error).__name__}: {error}") from error

    def _check_memory(self) -> None:
        """Raise `ValueError` if the observations of one rollout need more memory than this machine has.

        Without this check, a run that is too large would fill the memory and stop everything else on the machine.
        """
        if not hasattr(os, "sysconf"):
            return
        memory, needed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), self.rollout_size * 4 * OBS_SIZE
        text = f"--num-envs times --num-steps is {self.rollout_size:,} decisions; their observations need"
        require(needed < memory, f"{text} {needed / 1e9:,.0f} GB of memory, this machine has {memory / 1e9:,.0f} GB")

    def _check_mix(self) -> None:
        malformed = " ".join(text for text in self.mix if not _WEIGHT.fullmatch(text))
        form = "--mix needs entries NAME=WEIGHT, separated by blanks, with weights of 0 or more"
        require(not malformed, f"{form}, not {malformed}")
        for code in self.opponent_codes:
            self._check_opponent(code)
        require(len(self.weights) == len(self.mix), "--mix names a player twice")
        require(sum(self.weights.values()) > 0, "--mix needs a weight above 0")

    def _check_opponent(self, name: str) -> None:
        """Raise `ValueError` unless a name in `mix` that is no word of its own, such as `self`, is a player code."""
        allowed = f"--mix may name {', '.join(self.sources)} and player codes, separated by blanks"
        require(name != PAST, f"{allowed}; {PAST} (earlier policies) exists in maskable-ppo only")
        check_player(name, allowed)

    @property
    def algorithm(self) -> str:
        """Name of the training algorithm to which these settings belong, such as `selfplay`.

        The name is looked up in `ALGORITHMS` by the module that defines the class of these settings.
        """
        return next(name for name, entry in ALGORITHMS.items() if entry.module == type(self).__module__)

    @property
    def setups_by_game(self) -> list[Setup]:
        """Setup of each game that is played in parallel, list [num_envs]; the games cycle through the chosen setups."""
        named = list_setups(self.setup, self.num_players)
        return [named[game % len(named)] for game in range(self.num_envs)]

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each opponent in training, {name: weight}, read from the setting `mix`."""
        return {name: float(weight) for name, weight in (text.rsplit("=", 1) for text in self.mix)}

    @property
    def opponent_codes(self) -> list[str]:
        """Codes of the players among the opponents in training, without words such as `self`."""
        return [name for name in self.weights if name not in self.sources]

    def compute_schedule(self, timesteps: int) -> dict[str, float]:
        """Return the settings that change in the course of training, {name: value after `timesteps` decisions}.

        These are the learning rate, which falls linearly to zero, and each setting NAME for which there is a setting
        NAME_end; these change as the setting `decay` says.
        """
        done = min(1.0, timesteps / self.total_timesteps)
        values = {"learning_rate": (1 - done) * self.learning_rate}
        for name, (first, last) in self._list_schedules().items():
            is_geometric = self.decay == "geometric"
            values[name] = first * (last / first) ** done if is_geometric else (1 - done) * first + done * last
        return values

    def _list_schedules(self) -> dict[str, tuple[float, float]]:
        """Return {NAME: (value of setting NAME, value of setting NAME_end)} for all settings that have an end."""
        names = [field.name.removesuffix("_end") for field in fields(self) if field.name.endswith("_end")]
        return {name: (getattr(self, name), getattr(self, f"{name}_end")) for name in names}

    @property
    def rollout_size(self) -> int:
        """Number of learners' decisions between two updates, in all parallel games together."""
        return self.num_envs * self.num_steps

    @classmethod
    def choose_defaults(cls, device: str, named: Collection[str] = ()) -> "Config":
        """Return the default settings of a training algorithm for a device; a run on a GPU is larger by default.

        If the user sets one of the settings in `SIZES`, such as `num_envs`, the defaults are those of a CPU on every
        device. device: "auto", "cpu" or "cuda". named: names of the settings that the user sets.
        """
        default: Any = cls()  # type: ignore[call-arg]  # each algorithm has a default for every setting
        if not cls.larger_on_gpu or set(SIZES) & set(named) or choose_device(device) != "cuda":
            return default
        return replace(default, **{name: GPU_FACTOR * getattr(default, name) for name in cls.larger_on_gpu})

    def resolve(self) -> "Config":
        """Return the settings with what `auto` means on this machine, where a run must keep it on all others."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the name of the algorithm and the settings of a run as a dictionary for JSON.

        If setups were chosen by `setup`, their fields are added. Settings that do not change what a run learns
        (`NOT_STORED`) are left out.
        """
        values = {name: value for name, value in asdict(self).items() if name not in NOT_STORED}
        files = {"setups": [asdict(setup) for setup in self.setups]} if self.setup else {}
        return {"algorithm": self.algorithm, **values, **files}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Config":
        """Create the settings of a training run from a dictionary that `to_json` returned.

        Raises `ValueError`, `KeyError` or `TypeError` if the settings are invalid, and `UserError` if the algorithm is
        unknown. A setting that `to_json` leaves out is refused before it has any effect: `log_to` would run code.
        """
        kind = load_trainer(values["algorithm"]).config_class
        settings = {name: value for name, value in values.items() if name not in ("algorithm", "setups")}
        stored = {field.name for field in fields(kind)}.difference(NOT_STORED)
        if unknown := sorted(settings.keys() - stored):
            raise ValueError(f"{values['algorithm']} stores no setting {', '.join(unknown)}")
        plain: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in settings.items()}
        return kind(**plain)


def choose_device(device: str) -> str:
    """Return the device of the networks, "cuda" or "cpu", for the setting "auto", "cpu" or "cuda".

    Raises `ValueError` if the setting is "cuda" and there is no such device.
    """
    import torch  # the import takes seconds, and reading settings does not need it

    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch finds no CUDA device here; leave the option out, or use cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def read_config(path: Path, *, allow: Collection[str] = ()) -> Config:
    """Read the settings of a training run from its config.json.

    allow: codes of players that run code of the user's own or ask a server, and which may be used. All others of this
    kind are refused, because a folder from a stranger must not make this program import code or call a server. Raises
    `UserError` if the file is unreadable, if it names a player that is refused, or if the JSON file of a setup has
    changed.
    """
    try:
        stored = json.loads(path.read_text())
        values, threads = stored["config"], stored.get("threads")
        _refuse_foreign_players(path, values, allow)
        config = replace(Config.from_json(values), threads=threads)
    except FileNotFoundError as error:
        raise UserError(describe_error(error)) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as error:
        raise UserError(f"cannot read settings of `python -m train` from {path}: {error}") from error
    check_same_settings(values, config.to_json(), where=path, advice="restore the files that --setup names")
    return config


def find_foreign_players(against: Sequence[str], mix: Sequence[str]) -> list[str]:
    """Return the codes of the foreign players (`is_foreign`) of a run, given its settings `against` and `mix`."""
    names = [*against, *(str(entry).rsplit("=", 1)[0] for entry in mix)]
    return [name for name in dict.fromkeys(names) if is_foreign(name)]


def _refuse_foreign_players(path: Path, values: dict[str, Any], allow: Collection[str]) -> None:
    """Raise `UserError` if stored settings name a foreign player that is not allowed.

    path: file of the settings, for the error message. values: the settings. allow: codes of the allowed players.
    """
    for name in ("against", "mix"):  # the letters of a text would be looked at one by one
        require(isinstance(values[name], list), f"{name} must be a list")
    if refused := [name for name in find_foreign_players(values["against"], values["mix"]) if name not in allow]:
        does = "names players that run code of their own or ask a server"
        raise UserError(f"{path} {does}; if you trust them: --allow {shlex.join(refused)}")
