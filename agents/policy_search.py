"""Search on top of a policy, `net+search`: it reweighs the policy's actions by their value in sampled worlds.

The actions that the policy may well take, and in an auction a pass and the lowest raise, are tried in the same worlds,
which are drawn from the beliefs of `beliefs.py`. All seats then play by the policy until this seat places a card in the
next round, where the policy's critic estimates the win share, or until the game ends. The action is drawn from the
policy's probabilities times exp(value / TEMPERATURE). So the search stays close to the policy where values differ
little, and does not become predictable (as in Stratego, arXiv:2511.07312). A search that is to exploit a known player
can assume that player's policy for the other seats.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents.beliefs import compute_beliefs
from agents.layouts import encode_layout
from agents.mixture import REFERENCE, list_members, load_policy_player
from agents.network import apply_layers, digest_layers
from agents.policy_check import get_observation_version
from agents.policy_file import Layers, load_policy_and_critic
from agents.policy_player import PolicyPlayer, to_uniforms
from agents.posterior import draw_worlds
from agents.search import read_count
from felicity_env.game import NO_SEAT, NUM_ACTIONS, PASS, PLACE, step_all
from felicity_env.observation import OBSERVATION_VERSION
from felicity_env.player import View
from felicity_env.rewards import compute_win_shares

TEMPERATURE = 0.02  # in win share
LEAST_PROBABILITY = 0.01  # of a candidate
MOST_CANDIDATES = 6
WORLDS_AT_ONCE = 16
MAX_WORLDS = 1_000_000
MAX_MILLISECONDS = 3_600_000


class Critic(NamedTuple):
    """Network that estimates the win share of a seat from its observation."""

    layers: Layers
    activation: str = "relu"
    observation_version: int = OBSERVATION_VERSION
    open_mice: bool = True

    def estimate(self, states: np.ndarray, seat: int) -> np.ndarray:
        """Return the estimated win share of `seat` in each of B states, float64 [B]."""
        seats = np.full(len(states), seat)
        observations = View.make_unchecked(states, seats, seats.astype(np.uint64)).observations(self.open_mice)
        inputs = encode_layout(observations, self.observation_version)
        return apply_layers(self.layers, inputs, self.activation)[:, 0].astype(float)


def load_critic(path: Path) -> Critic | None:
    """Load the critic of a policy or, of a mixture, that of its last member that has one; return None if none has."""
    for member in reversed(list_members(path)):
        _, layers, metadata = load_policy_and_critic(member)
        if layers:
            return Critic(layers, metadata["activation"], get_observation_version(metadata), metadata["open_mice"])
    return None


class PolicySearch:
    """Player that searches a decision in `worlds` sampled worlds, or as many as it finishes in `milliseconds`.

    policy: the policy of this seat. critic: estimates its win share. others: the policy that all other seats are
    assumed to play; by default the same policy.
    """

    def __init__(
        self,
        policy: PolicyPlayer,
        critic: Critic,
        *,
        worlds: int,
        milliseconds: float | None = None,
        others: PolicyPlayer | None = None,
    ) -> None:
        self.policy, self.critic, self.others = policy, critic, others or policy
        self.worlds, self.milliseconds = worlds, milliseconds

    def digest(self) -> str:
        """Return a text that identifies the weights of the networks: the digests of policy, critic and others."""
        return "-".join([self.policy.digest(), digest_layers(self.critic.layers), self.others.digest()])

    def act(self, view: View) -> np.ndarray:
        """Return an action for each of the B decisions of `view`, int64 [B]."""
        return np.array([self._choose(view.take(np.array([k]))) for k in range(len(view))], np.int64)

    def _choose(self, view: View) -> int:
        """Return an action for the only decision of `view`."""
        probabilities = self.policy.probabilities(view)[0].astype(float)
        candidates = list_candidates(probabilities, view)
        if len(candidates) == 1:
            return int(candidates[0])
        values = self._measure(view, candidates)
        weights = probabilities[candidates] * np.exp((values - values.max()) / TEMPERATURE)
        sums = weights.cumsum()
        return int(candidates[(sums > to_uniforms(view.seeds)[0] * sums[-1]).argmax()])

    def _measure(self, view: View, candidates: np.ndarray) -> np.ndarray:
        """Return the mean value of each candidate over the sampled worlds, [C]."""
        rng, started = np.random.default_rng(int(view.seeds[0])), time.monotonic()
        seat, total, done = int(view.seats[0]), np.zeros(len(candidates)), 0
        hidden = compute_beliefs(view.states, seat, self.others)
        while done < self.worlds and not (done and self._is_late(started)):
            count = min(WORLDS_AT_ONCE, self.worlds - done)
            worlds = draw_worlds(view.states, hidden, count, rng)
            total += self._play_out(worlds, candidates, seat, rng).sum(axis=1)
            done += count
        return total / done

    def _is_late(self, started: float) -> bool:
        return self.milliseconds is not None and 1000 * (time.monotonic() - started) >= self.milliseconds

    def _play_out(self, worlds: np.ndarray, candidates: np.ndarray, seat: int, rng: np.random.Generator) -> np.ndarray:
        """Return the value of each of C candidates for `seat` in each of W worlds, [C, W]."""
        states, current = np.tile(worlds, len(candidates)), int(worlds[0].round_number)
        step_all(states, np.repeat(candidates, len(worlds)))
        while len(active := _list_active(states, current, seat)):
            seeds = np.tile(rng.integers(2**64, size=len(worlds), dtype=np.uint64), len(candidates))
            view = View.make_unchecked(states[active], states["seat"][active].astype(np.int64), seeds[active])
            moved = view.states.copy()
            step_all(moved, self._act_for_all(view, seat))
            states[active] = moved
        return self._evaluate(states, seat).reshape(len(candidates), len(worlds))

    def _act_for_all(self, view: View, seat: int) -> np.ndarray:
        """Return an action for each decision of `view`, [B], by the policy of the seat that is to act."""
        actions = self.others.act(view)
        if self.others is not self.policy and len(own := np.flatnonzero(view.seats == seat)):
            actions[own] = self.policy.act(view.take(own))
        return actions

    def _evaluate(self, states: np.ndarray, seat: int) -> np.ndarray:
        """Return the win share of `seat` in finished games, and its estimate by the critic in the others."""
        shares = compute_win_shares(states)[:, seat]
        return np.where(states["seat"] == NO_SEAT, shares, self.critic.estimate(states, seat))


def make_policy_search(
    worlds: int | str,
    policy: Path | str = REFERENCE,
    milliseconds: int | str | None = None,
    others: Path | str | None = None,
) -> PolicySearch:
    """Make a search on top of a policy, by default the reference player; numbers may be text, as in a player code.

    policy, others: run folder, policy.json, checkpoint or folder of a mixture. Raises `ValueError` naming a number that
    is wrong, or if a policy cannot be read, or if `policy` has no critic.
    """
    path = Path(policy)
    count = read_count("worlds for a decision", worlds, MAX_WORLDS)
    limit = None if milliseconds is None else read_count("milliseconds for a decision", milliseconds, MAX_MILLISECONDS)
    critic = load_critic(path)
    if critic is None:
        raise ValueError(f"the policy in {path} has no critic, which the search needs; a run of selfplay has one")
    opponent = load_policy_player(others) if others else None
    return PolicySearch(load_policy_player(path), critic, worlds=count, milliseconds=limit, others=opponent)


def _list_active(states: np.ndarray, current: int, seat: int) -> np.ndarray:
    """Return the indices of the games that go on: not over, and `seat` not yet to place in a later round than now."""
    waits = (states["round_number"] > current) & (states["seat"] == seat) & (states["phase"] == PLACE)
    return np.flatnonzero((states["seat"] >= 0) & ~waits)


def list_candidates(probabilities: np.ndarray, view: View) -> np.ndarray:
    """Return the actions to compare for the only decision of `view`, the likeliest first, at most MOST_CANDIDATES.

    probabilities: those of the policy, [NUM_ACTIONS].
    """
    scores = np.where(probabilities >= LEAST_PROBABILITY, probabilities, 0.0)
    legal, raised = view.action_masks[0] == 1, PASS + int(view.states["high_bid"][0]) + 1
    for action in (PASS, min(raised, NUM_ACTIONS - 1)):
        if legal[PASS] and legal[action]:
            scores[action] = max(scores[action], 1.0)
    order = np.argsort(-scores, kind="stable")[:MOST_CANDIDATES]
    return order[scores[order] > 0]
