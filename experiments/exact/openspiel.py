"""Policies of game trees as policies of OpenSpiel, so that its algorithms can be compared with ours."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

import felicity_env.openspiel  # noqa: F401  # registers the game
from experiments.exact.tree import GameTree, list_deals
from felicity_env.game_record import Deal
from felicity_env.setups import find_setup


class TablePolicy(Policy):
    """Policy of OpenSpiel that plays by a table of a game tree."""

    def __init__(self, game: Any, tree: GameTree, policy: np.ndarray) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._rows = {
            state.information_state_string(): tree.read_row(policy, node) for state, node in walk_together(game, tree)
        }

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """Return {action: probability} at a decision; a forced move has probability 1."""
        legal = state.legal_actions()
        return {legal[0]: 1.0} if len(legal) == 1 else self._rows[state.information_state_string()]


def load_game(setup: str) -> Any:
    """Return a setup, given by its name, as a game object of OpenSpiel."""
    return pyspiel.load_game("python_felicity", {"setup": setup})


def walk_together(game: Any, tree: GameTree) -> Iterator[tuple[Any, int]]:
    """Yield each decision with several legal actions as a state of OpenSpiel and as the node of the game tree."""
    setup = find_setup(game.get_parameters()["setup"])
    for root, deal in enumerate(list_deals(setup)):
        state = game.new_initial_state()
        for draw in list_draws(deal):
            state.apply_action(draw)
        yield from _walk(state, root, tree)


def list_draws(deal: Deal) -> list[int]:
    """List the actions of chance in OpenSpiel that deal a game: start seat, removed cards, cards of the dummy."""
    return [deal.start_seat, *deal.removed, *deal.dummy]


def _walk(state: Any, node: int, tree: GameTree) -> Iterator[tuple[Any, int]]:
    while not state.is_terminal() and len(state.legal_actions()) == 1:
        state.apply_action(state.legal_actions()[0])
    if state.is_terminal():
        return
    yield state.clone(), node
    for k, action in enumerate(state.legal_actions()):
        yield from _walk(state.child(action), int(tree.tree.first_child[node]) + k, tree)
