"""Games for Minari: the decisions of one seat as episodes of the Gymnasium environment in which this seat learns."""

import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np

from agents.registry import is_foreign
from agents.tools.command import explain_missing_extra
from agents.tools.files import UserError
from felicity_env.dataset import GAMES_AT_ONCE, Dataset
from felicity_env.game import NUM_ACTIONS, PASS
from felicity_env.gymnasium_env import SeatEnv
from felicity_env.mask_wrapper import MaskInObservation
from felicity_env.player import write_observations
from felicity_env.setups import is_setup_name, setup_name


def export_to_minari(games: Dataset, name: str, seat: int) -> None:
    """Create the Minari dataset `name` with the games as `seat` saw them, one episode for each game.

    Observations have the mask beside them, as `MaskInObservation` gives them. Raises `UserError` if Minari is not
    installed or refuses the name, and `ValueError` if there is no such seat.
    """
    with explain_missing_extra("Minari", "data"):
        import minari
        from minari.data_collector import EpisodeBuffer
    players, env = ", ".join(games.players), create_env(games, seat)
    episodes = [EpisodeBuffer(**episode) for episode in list_episodes(games, seat)]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "`.*` is set to None|env_spec is None")  # for who publishes the dataset
            minari.create_dataset_from_buffers(
                name,
                episodes,
                env=env.spec,
                observation_space=env.observation_space,
                action_space=env.action_space,
                algorithm_name=players,
                description=f"Seat {seat} in games of Felicity, {setup_name(games.setup)}; players: {players}.",
            )
    except ValueError as error:
        raise UserError(f"Minari refuses {name!r}: {error}") from error


def create_env(games: Dataset, seat: int) -> MaskInObservation:
    """Create the environment in which `seat` learns and the players of the games sit in the other seats.

    It has a `spec`, from which Minari makes it again, if the setup has a name and all seats have the same player of
    this project. No program and no server that the dataset names is started, because it may come from a stranger.
    """
    setup = setup_name(games.setup)
    if len(games.players) != 1 or not is_setup_name(setup) or is_foreign(games.players[0]):
        return MaskInObservation(SeatEnv(setup=games.setup, seat=seat))
    options = {"setup": setup, "seat": seat, "opponents": games.players[0]}
    return MaskInObservation(gymnasium.make("felicity_env:felicity/Seat-v0", **options))


def list_episodes(games: Dataset, seat: int) -> Iterator[dict[str, Any]]:
    """Yield each game as the values of Minari's `EpisodeBuffer`: T decisions of `seat` and T + 1 observations."""
    end_mask = np.zeros((1, NUM_ACTIONS), np.int8)
    end_mask[0, PASS] = 1
    first = 0
    for decisions in games.iter_decisions(seat=seat, games_at_once=GAMES_AT_ONCE):
        chosen = range(first, min(first + GAMES_AT_ONCE, len(games)))
        first = chosen.stop
        ends = np.empty((len(chosen), decisions.observations.shape[1]), np.float32)
        write_observations(games.final_states(chosen), np.full(len(chosen), seat), False, ends)
        bounds = np.searchsorted(decisions.games, [*chosen, chosen.stop])
        for game, (low, high) in zip(chosen, pairwise(bounds), strict=True):
            last = np.arange(low, high) == high - 1
            yield {
                "id": game,
                "observations": {
                    "observation": np.concatenate([decisions.observations[low:high], ends[game - chosen.start, None]]),
                    "action_mask": np.concatenate([decisions.action_masks[low:high], end_mask]),
                },
                "actions": decisions.actions[low:high],
                "rewards": np.where(last, decisions.win_shares[low:high], 0.0),
                "terminations": last,
                "truncations": np.zeros(high - low, np.bool_),
            }
