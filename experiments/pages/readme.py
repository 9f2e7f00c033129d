"""Update the generated parts of the READMEs from code and stored results. `python -m experiments readme [--check]`

A generated part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`. No measured number is typed by hand.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import agents
from agents.registry import PLAYERS, REFERENCE
from agents.tools.command import print_error
from agents.tools.markdown import format_table
from experiments.pages.index import INDEX_PARTS
from experiments.pages.model_card import CARD_PARTS
from experiments.pages.results import RESULT_PARTS
from felicity_env import NUM_ACTIONS, OBS_SIZE, REWARDS, SECTIONS, felicity_v0, game_seed
from felicity_env.game import CARD_VALUES, MAX_BID, NUM_CARDS, PASS
from felicity_env.notation import card_text, dumps
from felicity_env.observation import AT

EXPERIMENTS = Path(__file__).resolve().parent.parent
README, INDEX = EXPERIMENTS.parent / "README.md", EXPERIMENTS / "README.md"
SHOWN_SEED, SHOWN_AFTER = 8, 80  # seed of a game with a close auction; number of actions before the shown position
SHOWN_PLAYERS = ("ev", "anchor", "ev", "anchor")


@dataclass(frozen=True)
class Config:
    """Generate the tables of the READMEs and of the model card from code and stored results."""

    resumes: ClassVar[bool] = False
    check: bool = False
    """Write nothing; fail if a page differs from what would be generated now."""


def _fence(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


def render_game() -> str:
    """Return Markdown of an example game: a position as the acting seat sees it, and all moves in notation."""
    env = felicity_v0.raw_env(num_players=4, render_mode="ansi")
    players = dict(zip(env.possible_agents, map(agents.make, SHOWN_PLAYERS), strict=True))
    env.reset(seed=game_seed(SHOWN_SEED, 0, 0))
    position = ""
    while not any(env.terminations.values()):
        if len(env.game.actions) == SHOWN_AFTER:
            position = str(env.render())
        env.step(int(players[env.agent_selection].act(env.view())[0]))
    legend = "The whole game in notation, one line for each round: cards as placed | bids in turn, `-` is a pass:"
    return "\n\n".join([_fence(position), legend, _fence(dumps(env.game))])


def render_observation() -> str:
    """Return a Markdown table of the sections of the observation vector: first index, name, size and meaning."""
    rows = [(at, f"`{s.name}`", s.size, s.meaning) for s, at in zip(SECTIONS, AT, strict=True)]
    return f"`float32 [{OBS_SIZE}]`:\n\n" + format_table(("from", "section", "size", "meaning"), rows)


def render_actions() -> str:
    """Return a Markdown table of the numbers of the actions (place a card, pass, bid) and their meaning."""
    cards = ", ".join(f"{card} = {_name_card(card)}" for card in range(NUM_CARDS))
    rows = [
        (f"0..{NUM_CARDS - 1}", f"place that card: {cards}"),
        (PASS, "pass"),
        (f"{PASS + 1}..{NUM_ACTIONS - 1}", f"bid 1..{MAX_BID} mice: action {PASS} + b bids b"),
    ]
    return f"`Discrete({NUM_ACTIONS})`:\n\n" + format_table(("action", "meaning"), rows)


def _name_card(card: int) -> str:
    names = {"R": "rabbit", "D": "large dog", "d": "small dog"}
    return names.get(card_text(card), f"cat {CARD_VALUES[card]}")


def render_rewards() -> str:
    """Return a Markdown table of the reward functions: the name of each and what it pays."""
    return format_table(("reward", "pays"), [(f'`"{name}"`', meaning) for name, meaning in REWARDS.items()])


def render_players() -> str:
    """Return a Markdown table of the codes that name players, such as `mc:200`, with a line of help each."""
    return format_table(("code", "player"), [(f"`{name}`", entry.help) for name, entry in PLAYERS.items()])


Parts = Mapping[str, Callable[[], str]]
PAGES: dict[Path, Parts] = {
    README: {
        "game": render_game,
        "observation": render_observation,
        "actions": render_actions,
        "rewards": render_rewards,
        "players": render_players,
        **RESULT_PARTS,
    },
    REFERENCE / "README.md": CARD_PARTS,
    INDEX: INDEX_PARTS,
}


def render(page: Path, text: str) -> str:
    """Return the `text` of a page with new content in every generated part.

    Raises `ValueError` if the text lacks the markers `<!-- begin NAME -->` and `<!-- end NAME -->` of a part.
    """
    for name, part in PAGES[page].items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{page} has no place for {name!r}")
        content = part()
        text = pattern.sub(lambda match, content=content: f"{match[1]}{content}\n{match[2]}", text)
    return text


def main(config: Config) -> int:
    """Write the generated parts of all pages, or check that they are up to date; return the exit status."""
    stale = {page: after for page in PAGES if (after := render(page, before := page.read_text())) != before}
    for page, after in stale.items():
        if config.check:
            print_error(f"{page} is not as rendered: run python -m experiments readme")
        else:
            page.write_text(after)
    return int(config.check and bool(stale))
