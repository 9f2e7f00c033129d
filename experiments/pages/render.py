"""Command that updates the generated parts of the pages: `python -m experiments pages [--check]`.

The parts are generated from code and stored results, so no measured number is typed by hand. A generated part stands
between `<!-- begin NAME -->` and `<!-- end NAME -->`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import nbformat
import numpy as np

import agents
from agents.mixture import REFERENCE
from agents.registry import PLAYERS
from agents.tools.command import print_error
from agents.tools.markdown import format_table
from experiments.pages.exact_tables import SOLVING_PARTS
from experiments.pages.game_tables import render_anatomy
from experiments.pages.index import INDEX_PARTS
from experiments.pages.model_card import CARD_PARTS
from experiments.pages.speed_tables import (
    render_cluster,
    render_data_parallel,
    render_gpu_kernels,
    render_gpu_speed,
    render_player_speed,
    render_reference_speed,
    render_speed,
    render_training_speed,
)
from experiments.pages.strength_tables import (
    read_exploits,
    render_budget,
    render_exploits,
    render_ladder,
    render_policy_search,
    render_probe,
    render_ratings,
    render_soundness,
    render_standings,
)
from experiments.pages.training_tables import (
    render_ablation,
    render_encoding,
    render_extrapolation,
    render_first_player,
    render_progress,
    render_recipes,
)
from felicity_env import NUM_ACTIONS, OBS_SIZE, REWARDS, SECTIONS, Batch, Game, felicity_v0, game_seed
from felicity_env.game import CARD_VALUES, MAX_BID, NUM_CARDS, PASS
from felicity_env.notation import card_text, dumps
from felicity_env.observation import AT
from felicity_env.render.scene import Scene, build_view_scene
from felicity_env.render.svg import draw_svg
from felicity_env.render.text import draw_text
from felicity_env.setups import STANDARD_PLAYERS

EXPERIMENTS = Path(__file__).resolve().parent.parent
ROOT = EXPERIMENTS.parent
README, INDEX, DOCS = ROOT / "README.md", EXPERIMENTS / "README.md", ROOT / "docs"
PICTURE = DOCS / "_static" / "position.svg"
SHOWN_SEED, SHOWN_AFTER = 8, 80  # seed of a game with a close auction; number of actions before the shown position
SHOWN_PLAYERS = ("ev", "anchor", "ev", "anchor")
LENGTH_PLAYERS = ("random", "anchor", "ev")


@dataclass(frozen=True)
class Config:
    """Generate the tables of the README, the documentation and the model card from code and stored results."""

    resumes: ClassVar[bool] = False
    check: bool = False
    """Write nothing; fail if a page differs from what would be generated now."""


def _fence(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _play_shown_game() -> Game:
    """Play the example game."""
    env = felicity_v0.raw_env(num_players=4)
    players = dict(zip(env.possible_agents, map(agents.make, SHOWN_PLAYERS), strict=True))
    env.reset(seed=game_seed(SHOWN_SEED, 0, 0))
    while not any(env.terminations.values()):
        env.step(int(players[env.agent_selection].act(env.view())[0]))
    return env.game


def _build_shown_scene() -> Scene:
    """Build the scene of a position in the example game, as the acting seat sees it."""
    game = _play_shown_game()
    state = replace(game, actions=game.actions[:SHOWN_AFTER]).final_states()[0]
    return build_view_scene(state, int(state.seat))


def render_picture() -> str:
    """Return a picture of a position in the example game as SVG."""
    return draw_svg(_build_shown_scene())


def render_position() -> str:
    """Return Markdown of the same position as text."""
    return _fence(draw_text(_build_shown_scene()))


def render_notation() -> str:
    """Return Markdown of the example game in text notation."""
    return _fence(dumps(_play_shown_game()))


def render_length() -> str:
    """Return a Markdown table of the mean number of decisions in a game, by number of players and kind of player."""
    rows = [(f"`{code}`", *(f"{_count_decisions(code, n):.0f}" for n in STANDARD_PLAYERS)) for code in LENGTH_PLAYERS]
    return format_table(("copies of", *(f"{n} players" for n in STANDARD_PLAYERS)), rows)


def _count_decisions(code: str, num_players: int, games: int = 100) -> float:
    """Return the mean number of decisions in a game among copies of a player."""
    batch, player = Batch(games, num_players=num_players, seed=1, autoreset=False), agents.make(code)
    decisions = 0
    while (playing := np.flatnonzero(batch.seats >= 0)).size:
        decisions += playing.size
        batch.step(player.act(batch.view(playing)), playing)
    return decisions / games


def render_my_bot() -> str:
    """Return Markdown of the bot that the tutorial `own_bot` writes to a file."""
    notebook = nbformat.read(DOCS / "tutorials" / "own_bot.ipynb", as_version=4)
    written = "%%writefile my_bot.py\n"
    code = next(cell.source for cell in notebook.cells if cell.source.startswith(written))
    return _fence(code.removeprefix(written), "python")


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
    README: {"my_bot": render_my_bot, "standings": render_standings},
    DOCS / "environment.md": {
        "position": render_position,
        "notation": render_notation,
        "length": render_length,
        "observation": render_observation,
        "encoding": render_encoding,
        "actions": render_actions,
        "rewards": render_rewards,
    },
    DOCS / "players.md": {
        "players": render_players,
        "ladder": render_ladder,
        "ratings": render_ratings,
        "budget": render_budget,
        "policy_search": render_policy_search,
        "exploit": lambda: render_exploits(read_exploits()),
        "probe": render_probe,
    },
    DOCS / "cluster.md": {"cluster": render_cluster, "data_parallel": render_data_parallel},
    DOCS / "gpu.md": {
        "gpu_speed": render_gpu_speed,
        "reference_speed": render_reference_speed,
        "gpu_kernels": render_gpu_kernels,
    },
    DOCS / "libraries.md": {"recipes": render_recipes},
    DOCS / "measuring.md": {"soundness": render_soundness},
    DOCS / "training.md": {
        "first_player_selfplay": partial(render_first_player, "selfplay"),
        "first_player_maskable-ppo": partial(render_first_player, "maskable-ppo"),
        **{f"ablation_{recipe}": partial(render_ablation, recipe) for recipe in ("default", "reference")},
        **{name: partial(render_progress, name) for name in ("progress", "progress_reference")},
        "extrapolation": render_extrapolation,
        "training_speed": render_training_speed,
    },
    DOCS / "game.md": {"anatomy": render_anatomy},
    DOCS / "solving.md": SOLVING_PARTS,
    DOCS / "speed.md": {"speed": render_speed, "player_speed": render_player_speed},
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
    rendered = {page: render(page, page.read_text()) for page in PAGES} | {PICTURE: render_picture()}
    stale = {page: after for page, after in rendered.items() if not page.exists() or page.read_text() != after}
    for page, after in stale.items():
        if config.check:
            print_error(f"{page} is not as rendered: run python -m experiments pages")
        else:
            page.write_text(after)
    return int(config.check and bool(stale))
