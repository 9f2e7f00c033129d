"""Searches that exploit a policy: on top of a trained best response, and on top of the policy itself, without training.

Both searches know the policy of the other seats, so they draw worlds from the exact beliefs about the cards that the
position shows, and play them out as the others would.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from agents.arena.estimates import estimate_share
from agents.arena.matches import Match, play_matches
from agents.policy_search import load_critic
from agents.registry import find_policy_path
from agents.tools.files import shorten_path
from agents.tools.progress import PartsProgress
from agents.tools.seeds import SEEDS

DEALS_PER_PART = 5


def find_policy_with_critic(code: str) -> Path | None:
    """Return the path of a policy or mixture of policies that has a critic, which search needs, else None.

    A path below the current folder is relative, as on the nodes of a cluster.
    """
    path = find_policy_path(code)
    return shorten_path(path) if path and load_critic(path) else None


def measure_searches(response: Path, config: Any, console: Console) -> dict[str, Any]:
    """Estimate the win share of searches alone against copies of the target, {"response" or "target": estimate}.

    response: folder of the strongest response. config: settings of `exploit`. Returns {} if no search is asked for.
    """
    if not config.search_worlds:
        return {}
    target, found = find_policy_with_critic(config.target), {}
    for name, policy in {"response": response, "target": target}.items():
        code = f"net+search:{config.search_worlds},policy={policy},others={target}"
        match = Match.one_against(code, config.target, config.chosen_setup)
        with PartsProgress(console) as progress:
            results = play_matches(
                {match: config.search_deals},
                seed=SEEDS["exploit, report"],
                folder=response / f"search-{name}",
                **config.spread,
                deals_per_part=DEALS_PER_PART,
                report=progress.report,
            )
        results.raise_failure()
        found[name] = asdict(estimate_share(results.blocks[match].block_means(0)))
        console.print(f"search on top of the {name}: a win share of {found[name]['value']:.3f}", highlight=False)
    return found
