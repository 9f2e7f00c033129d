"""Question: are reviews of games honest? `python -m experiments review-honesty`

Three things are counted, each on positions of games among copies of the reference player. Planted blunders must be
flagged. Between identical actions nothing may be flagged, apart from the errors that 95 % intervals allow. And the
intervals of the differences must hold, all of a decision at once, the values from a hundred times the playouts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from agents.arena.estimates import estimate_differences
from agents.play.explanation import explain_decision, make_policy, play_candidates
from agents.play.review_game import is_flaw
from agents.policy_player import PolicyPlayer
from agents.policy_search import list_candidates
from agents.posterior import compute_posteriors, draw_worlds, view_states
from agents.tools.seeds import SEEDS
from agents.tools.settings import check_positive
from experiments.checks.chunks import Outcome, count_chunks, run_check
from felicity_env import felicity_v0
from felicity_env.game import AUCTION, CARD_VALUES, PASS, step
from felicity_env.game_record import Game
from felicity_env.random_stream import game_seed
from felicity_env.setups import STANDARD_PLAYERS

WORLDS = 400  # of a review
FEW_WORLDS = 100  # of the intervals that are checked
MORE = 100  # times as many worlds give the truth
ESTIMATES = 10  # of the same decision
LEAST_WORTH, LEAST_MICE, LAST_ROUND = 20, 12, 5  # of a planted blunder: of the sack passed, of the bid, and when
BLUNDERS_FLAGGED, IDENTICAL_FLAGGED, INTERVALS_HOLD = 0.9, 0.05, (0.93, 0.97)


@dataclass(frozen=True)
class Config:
    """Check that reviews flag blunders, that they flag nothing else, and that their intervals hold."""

    resumes: ClassVar[bool] = True
    blunders: int = 30
    """Number of planted blunders."""
    identical: int = 300
    """Number of decisions between identical actions."""
    intervals: int = 1000
    """Number of decisions whose intervals are checked."""
    out: Path = Path("runs/review-honesty")
    """Folder for results so far; the same command, given again, continues an interrupted check."""

    def __post_init__(self) -> None:
        check_positive(self, "blunders", "identical", "intervals")


class _Position:
    """Decision in a game among copies of a policy, with what is needed to draw worlds and to play its candidates."""

    def __init__(self, game: Game, policy: PolicyPlayer) -> None:
        self.game, self.policy = game, policy
        view = view_states(game.final_states())
        self.known, self.seat = view.states, int(view.seats[0])
        self.actions = list_candidates(policy.probabilities(view)[0].astype(float), view)
        self.hidden = compute_posteriors(game, self.seat, policy)

    def draw_worlds(self, count: int, seed: int) -> np.ndarray:
        """Draw worlds that the seat thinks possible, STATE [count]."""
        return draw_worlds(self.known, self.hidden, count, np.random.default_rng(seed))

    def play(self, worlds: np.ndarray, actions: np.ndarray, seed: int) -> np.ndarray:
        """Return the win share of the seat for each of C actions in each of W worlds, [C, W]."""
        return play_candidates(self.game, worlds, actions, self.seat, self.policy, seed=seed)


def play_game(policy: PolicyPlayer, seed: int) -> Game:
    """Play a game among copies of a policy; the number of players depends on the seed."""
    env = felicity_v0.raw_env(STANDARD_PLAYERS[seed % len(STANDARD_PLAYERS)])
    env.reset(seed=seed)
    while not any(env.terminations.values()):
        env.step(int(policy.act(env.view())[0]))
    return env.game


def draw_position(policy: PolicyPlayer, seed: int) -> _Position:
    """Draw a decision of a game among copies of a policy that has several plausible actions."""
    game, rng = play_game(policy, seed), np.random.default_rng(seed)
    while True:
        number = int(rng.integers(len(game.actions)))
        before = replace(game, actions=game.actions[:number])
        position = _Position(before, policy)
        if len(position.actions) > 1:
            return position


# --- blunders ---------------------------------------------------------------------------------------------------------


def list_blunders(game: Game) -> Iterator[Game]:
    """Yield beginnings of a game that end with a planted blunder of the seat that acted last.

    There are two kinds: the last player passes an open sack that is worth much and costs one mouse, and a player
    offers all mice for a sack that begins with a negative cat.
    """
    states = [state.copy() for _, state in game.states()]
    for number, state in enumerate(states):
        if state.phase == AUCTION and state.face_up == 1 and not state.high_bid and state.round_number < LAST_ROUND:
            before = replace(game, actions=game.actions[:number])
            if state.row[0] >= 0 and CARD_VALUES[state.row[0]] < 0 and state.mice[state.seat] >= LEAST_MICE:
                yield replace(before, actions=(*before.actions, PASS + int(state.mice[state.seat])))
            passed = replace(before, actions=(*before.actions, *[PASS] * (game.setup.seats - 1)))
            bought = passed.final_states()
            if bought["mice"][0, bought["seat"][0]] > 0:
                step(bought[0], PASS + 1)
                if bought["last_value"][0] >= LEAST_WORTH:
                    yield replace(passed, actions=(*passed.actions, PASS))


def check_blunder(policy: PolicyPlayer, seed: int, number: int) -> Outcome:
    """Explain a planted blunder; count whether it is flagged. Blunders of both kinds take turns."""
    while True:
        found = list(list_blunders(play_game(policy, seed)))
        found = [game for game in found if (game.actions[-1] == PASS) == (number % 2 == 0)]
        if found:
            break
        seed += 1
    game = found[0]
    last = len(game.actions)
    explanation = explain_decision(game, last, policy, worlds=WORLDS, seed=seed)
    flagged = any(is_flaw(each.difference) for each in explanation.candidates)
    return Outcome({"blunders": 1, "blunders flagged": int(flagged)}, {})


# --- identical actions and intervals ----------------------------------------------------------------------------------


def check_identical(policy: PolicyPlayer, seed: int) -> Outcome:
    """Compare copies of one action, played with different random bits; count whether a copy is called better."""
    position = draw_position(policy, seed)
    worlds = position.draw_worlds(WORLDS, seed)
    copies = [
        position.play(worlds, position.actions[:1], game_seed(seed, k, 1))[0] for k in range(len(position.actions))
    ]
    differences = estimate_differences(np.array(copies[1:]) - copies[0])
    flagged = any(map(is_flaw, differences))
    return Outcome({"identical actions": 1, "identical actions flagged": int(flagged)}, {})


def check_intervals(policy: PolicyPlayer, seed: int) -> Outcome:
    """Estimate the differences at a decision several times; count how often all intervals hold the true values.

    Decisions whose actions are worth the same in every world are passed over: there every interval holds.
    """
    while True:
        position = draw_position(policy, seed)
        truth = estimate_values(position, FEW_WORLDS * MORE, seed)[0]
        if truth.any():
            break
        seed += 1
    hold = 0
    for number in range(1, ESTIMATES + 1):
        _, values = estimate_values(position, FEW_WORLDS, game_seed(seed, number, 2))
        estimates = estimate_differences(values[1:] - values[0])
        hold += all(each.low <= true <= each.high for each, true in zip(estimates, truth, strict=True))
    return Outcome({"estimates": ESTIMATES, "estimates that hold": hold}, {})


def estimate_values(position: _Position, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean difference of each other action from the first, [C - 1], and the values in all worlds, [C, W]."""
    worlds = position.draw_worlds(count, seed)
    values = position.play(worlds, position.actions, seed)
    return (values[1:] - values[0]).mean(axis=1), values


# --- the check --------------------------------------------------------------------------------------------------------


def check_chunk(k: int, config: Config) -> Outcome:
    """Do chunk k of the check and return its result: blunders come first, then identical actions, then intervals."""
    policy, seed = make_policy("net"), game_seed(SEEDS["review-honesty"], k, 0) >> 2
    if k < config.blunders:
        return check_blunder(policy, seed, k)
    if k < config.blunders + config.identical:
        return check_identical(policy, seed)
    return check_intervals(policy, seed)


def judge(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the faults that all counts together show: how many decisions are wrong where there are too many."""
    missed = counts["blunders"] - counts["blunders flagged"]
    identical, missing = counts["identical actions flagged"], counts["estimates"] - counts["estimates that hold"]
    low, high = INTERVALS_HOLD
    is_calibrated = low <= counts["estimates that hold"] / counts["estimates"] <= high
    return {
        "blunders not flagged": missed if counts["blunders flagged"] < BLUNDERS_FLAGGED * counts["blunders"] else 0,
        "identical actions flagged": identical if identical > IDENTICAL_FLAGGED * counts["identical actions"] else 0,
        "intervals that do not hold": 0 if is_calibrated else missing,
    }


def main(config: Config) -> None:
    """Check reviews, store the counts, and raise `UserError` if they are not honest."""
    num_chunks = config.blunders + config.identical + count_chunks(config.intervals, ESTIMATES)
    run_check("review_honesty", config, lambda k: check_chunk(k, config), num_chunks, source=__file__, judge=judge)
