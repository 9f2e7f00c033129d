"""Render what comes from code and results in README.md and the model card. `python -m experiments.readme [--check]`

A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. No figure in these pages is typed by hand.
"""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import tyro

import agents
from agents.table import PLAYERS, REFERENCE
from experiments.readme_reference import CARD_PARTS
from experiments.readme_results import RESULT_PARTS
from experiments.tables import table
from felicity_env import NUM_ACTIONS, OBS_SIZE, REWARDS, SECTIONS, felicity_v0, game_seed
from felicity_env.game import CARD_VALUES, MAX_BID, NUM_CARDS, PASS
from felicity_env.notation import card_text, dumps
from felicity_env.observation import AT

README = Path(__file__).resolve().parent.parent / "README.md"


@dataclass(frozen=True)
class Config:
    """Render the tables of README.md and of the model card."""

    check: bool = False
    """Change nothing; fail if a page is not as it would be rendered."""


def fenced(text: str) -> str:
    """A block of plain text."""
    return f"```text\n{text.rstrip()}\n```"


SHOWN_SEED, SHOWN_AFTER = 8, 80  # a game with a close auction, and how many actions into it
SHOWN_SEATS = ("ev", "anchor", "ev", "anchor")


def short_game() -> str:
    """A position of a game, as the acting seat sees it, and the whole game in notation."""
    env = felicity_v0.raw_env(num_players=4, render_mode="ansi")
    players = dict(zip(env.possible_agents, map(agents.make, SHOWN_SEATS), strict=True))
    env.reset(seed=game_seed(SHOWN_SEED, 0, 0))
    shown = ""
    while not any(env.terminations.values()):
        if len(env.game.actions) == SHOWN_AFTER:
            shown = str(env.render())
        env.step(int(players[env.agent_selection].act(env.view())[0]))
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


Parts = Mapping[str, Callable[[], str]]
PAGES: dict[Path, Parts] = {
    README: {
        "game": short_game,
        "observation": observation,
        "actions": actions,
        "rewards": rewards,
        "players": players,
        **RESULT_PARTS,
    },
    REFERENCE / "README.md": CARD_PARTS,
}


def rendered(page: Path, text: str) -> str:
    """The `text` of a page with every part written anew; raises `ValueError` if a part has no place in it."""
    for name, part in PAGES[page].items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{page} has no place for {name!r}")
        made = part()
        text = pattern.sub(lambda match, made=made: f"{match[1]}{made}\n{match[2]}", text)
    return text


def main(config: Config) -> int:
    """Render or check; the exit status."""
    stale = {page: after for page in PAGES if (after := rendered(page, before := page.read_text())) != before}
    for page, after in stale.items():
        if config.check:
            print(f"{page} is not as rendered: run python -m experiments.readme", file=sys.stderr)
        else:
            page.write_text(after)
    return int(config.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(tyro.cli(Config)))
