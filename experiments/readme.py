"""Render the parts of README.md that come from code and results. `python -m experiments.readme [--check]`

A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. No figure in the README is typed by hand.
"""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

import agents
from agents.table import PLAYERS
from experiments.results import read_result
from felicity_env import NUM_ACTIONS, OBS_SIZE, REWARDS, SECTIONS, Batch, felicity_v0
from felicity_env.game import CARD_VALUES, MAX_BID, NUM_CARDS, PASS
from felicity_env.notation import card_text, dumps
from felicity_env.observation import AT

README = Path(__file__).resolve().parent.parent / "README.md"


@dataclass(frozen=True)
class Config:
    """Render the tables of README.md."""

    check: bool = False
    """Change nothing; fail if the README is not as it would be rendered."""


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def fenced(text: str) -> str:
    """A block of plain text."""
    return f"```text\n{text.rstrip()}\n```"


def estimate(value: dict[str, float], digits: int = 3) -> str:
    """A value with its interval."""
    return f"{value['value']:,.{digits}f} ({value['low']:,.{digits}f} to {value['high']:,.{digits}f})"


SHOWN_SEED, SHOWN_AFTER = 8, 80  # a game with a close auction, and how many actions into it
SHOWN_SEATS = ("ev", "anchor", "ev", "anchor")


def short_game() -> str:
    """A position of a game, as the acting seat sees it, and the whole game in notation."""
    env = felicity_v0.raw_env(num_players=4, render_mode="ansi")
    batch, players = Batch(1, seed=SHOWN_SEED), [agents.make(code) for code in SHOWN_SEATS]
    env.reset(seed=int(batch.game_seeds[0]))
    shown = ""
    while not batch.terminated[0]:
        if len(env.game.actions) == SHOWN_AFTER:
            shown = str(env.render())
        actions = players[batch.seats[0]].act(batch.view())
        env.step(int(actions[0]))
        batch.step(actions)
    legend = "The whole game in notation, a line a round: cards as laid | bids in turn, `-` a pass:"
    return "\n\n".join([fenced(shown), legend, fenced(dumps(env.game))])


def observation() -> str:
    """The layout of the observation."""
    rows = [(at, f"`{s.name}`", s.size, s.meaning) for s, at in zip(SECTIONS, AT, strict=True)]
    return f"`float32 [{OBS_SIZE}]`:\n\n" + table(("from", "section", "size", "meaning"), rows)


def actions() -> str:
    """The actions and the cards."""
    cards = ", ".join(f"{card} = {_card_name(card)}" for card in range(NUM_CARDS))
    rows = [
        (f"0..{NUM_CARDS - 1}", f"place that card: {cards}"),
        (PASS, "pass"),
        (f"{PASS + 1}..{NUM_ACTIONS - 1}", f"bid 1..{MAX_BID} mice: action {PASS} + b bids b"),
    ]
    return f"`Discrete({NUM_ACTIONS})`:\n\n" + table(("action", "meaning"), rows)


def _card_name(card: int) -> str:
    names = {"R": "rabbit", "D": "large dog", "d": "small dog"}
    return names.get(card_text(card), f"cat {CARD_VALUES[card]}")


def rewards() -> str:
    """The rewards by name."""
    return table(("reward", "pays"), [(f'`"{name}"`', meaning) for name, meaning in REWARDS.items()])


def players() -> str:
    """The table of codes."""
    return table(("code", "player"), [(f"`{name}`", code.help) for name, code in PLAYERS.items()])


def speed() -> str:
    """The stored measurements of `experiments/speed.py`."""
    stored = read_result("speed")
    batch, aec, training, start = (stored["results"][key] for key in ("batch", "aec", "training", "start"))
    millions = {k: v / 1e6 for k, v in batch["decisions_per_second"].items()}
    rows = [
        ("`Batch`, one thread: decisions/s with observation and mask, millions", estimate(millions, 1)),
        ("... bytes written, as a share of what `numpy.fill` reaches", estimate(batch["bytes_written_to_fill"], 2)),
        ("... two threads against one", estimate(batch["two_threads_to_one"], 2)),
        ("random playouts without observations: games/s", estimate(batch["playout_games_per_second"], 0)),
        ("`numpy.fill` of the same buffers: GB/s", estimate(batch["fill_gigabytes_per_second"], 0)),
        ("`raw_env`: steps/s", estimate(aec["raw_env_steps_per_second"], 0)),
        ("... against Gymnasium's CartPole", estimate(aec["raw_env_to_cartpole"], 2)),
        ("`env()` against an empty environment in the same wrappers", estimate(aec["env_to_empty_env"], 2)),
        ("MaskablePPO on our lanes against empty ones: compiled opponents", estimate(training["compiled_to_empty"], 2)),
        ("... snapshot opponents", estimate(training["snapshots_to_empty"], 2)),
        ("... the default mix", estimate(training["default_to_empty"], 2)),
        ("decisions learned per second, default run", estimate(training["decisions_per_second"]["default"], 0)),
        ("start of Python to the end of a first game, seconds", f"{start['warm_seconds']:.2f}"),
        ("... the very first time, with compiling", f"{start['cold_seconds']:.1f}"),
        ("memory of a game in a `Batch`, bytes", f"{stored['results']['memory_bytes_per_game']:,.0f}"),
    ]
    return table(("measured", "median (95 % interval)"), rows) + "\n\n" + _source(stored)


def yardsticks() -> str:
    """Win shares of the ladder's players against each other."""
    stored = read_result("yardsticks")
    rows = [
        (
            r["num_players"],
            f"`{r['one']}`",
            f"{r['num_players'] - 1} x `{r['rest']}`",
            estimate(r["win_share"]),
            f"{r['par']:.3f}",
        )
        for r in stored["results"]
    ]
    return table(("players", "one", "the rest", "win share of the one (95 %)", "par"), rows) + "\n\n" + _source(stored)


def first_player() -> str:
    """What the default training run reaches."""
    stored = read_result("first_player")
    runs = stored["results"]["runs"]
    codes = list(runs[0]["results"][0]["win_share"])
    rows = []
    for run in runs:
        shares = run["results"][0]["win_share"]
        rows.append((run["seed"], *(estimate(share) for share in shares.values()), f"{run['minutes']:.1f}"))
    ev = stored["results"]["ev"]
    rows.append(("`ev` instead", *(f"{ev[code]:.3f}" if code in ev else "" for code in codes), ""))
    head = ("seed", *(f"against 3 x `{code}`" for code in codes), "minutes")
    return table(head, rows) + "\n\n" + _source(stored)


def encoding() -> str:
    """What the thermometers of the observation are worth."""
    stored = read_result("encoding")
    codes = list(next(iter(stored["results"].values()))["win_share"])
    rows = [
        (name, *(estimate(result["win_share"][code]) for code in codes)) for name, result in stored["results"].items()
    ]
    return table(("amounts as", *(f"against 3 x `{code}`" for code in codes)), rows) + "\n\n" + _source(stored)


def _source(stored: dict[str, Any]) -> str:
    machine = stored["machine"]
    where = f"{machine['cores']} cores of {machine['processor']}"
    return f"`{stored['command']}`, commit {stored['commit']}, {where}."


PARTS: dict[str, Callable[[], str]] = {
    "game": short_game,
    "observation": observation,
    "actions": actions,
    "rewards": rewards,
    "players": players,
    "speed": speed,
    "yardsticks": yardsticks,
    "first_player": first_player,
    "encoding": encoding,
}


def rendered(text: str) -> str:
    """`text` with every part written anew; raises `ValueError` if a part has no place in it."""
    for name, part in PARTS.items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"README.md has no place for {name!r}")
        made = part()
        text = pattern.sub(lambda match, made=made: f"{match[1]}{made}\n{match[2]}", text)
    return text


def main(config: Config) -> int:
    """Render or check; the exit status."""
    before = README.read_text()
    after = rendered(before)
    if config.check:
        if before != after:
            print("README.md is not as rendered: run python -m experiments.readme", file=sys.stderr)
        return int(before != after)
    README.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config)))
