"""Amortised searches: what they look at, how likely they do what, and what they are made of."""

import numpy as np
import pytest

import agents
from agents.amortised import SEARCH_LIKE, AmortisedPlayer, Weights
from agents.network import save_policy
from agents.search import leads, shortlists
from agents.table import REFERENCE
from felicity_env import NUM_ACTIONS, OBS_SIZE, SETUPS, View
from felicity_env.game import AUCTION, PLACE
from tests.helpers import random_game, random_words, view_of

WEIGHTS = Weights(logits=(0.2, 0.4), habit=(1.5, 2.0))


@pytest.fixture
def view():
    states = np.concatenate([random_game(setup, 3).states[:-1:3] for setup in SETUPS.values()])
    return view_of(states, random_words(len(states)))


def saved(tmp_path, logits: np.ndarray) -> AmortisedPlayer:
    """A player whose network gives each action the same logit everywhere."""
    layers = [(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.float32(logits))]
    save_policy(tmp_path, layers, open_mice=True, **{SEARCH_LIKE: WEIGHTS._asdict()})
    return AmortisedPlayer(str(tmp_path))


def test_the_shortlist_is_what_a_search_looks_at_and_its_default_what_tuned_would_do(view):
    defaults, tried = shortlists(view)
    found = leads(view, worlds=1)
    several = tried.sum(axis=1) > 1  # a search does not play out what is decided
    assert several.any()
    assert np.array_equal(tried[several], ~np.isnan(found[several]))
    assert defaults.tolist() == agents.make("tuned").act(view).tolist()
    assert tried[np.arange(len(view)), defaults].all()


@pytest.mark.parametrize("phase", [PLACE, AUCTION])
def test_it_draws_the_likelier_what_has_greater_logits_and_likelier_still_what_tuned_would_do(tmp_path, view, phase):
    logits = np.random.default_rng(0).normal(0, 4, NUM_ACTIONS)
    open_ones = (shortlists(view)[1].sum(axis=1) > 1) & (view.states["phase"] == phase)
    one = view.take(np.flatnonzero(open_ones)[:1])
    many = View(one.states.repeat(4000), one.seats.repeat(4000), random_words(4000))
    defaults, tried = shortlists(many)
    kind = int(phase != PLACE)
    is_habit = np.arange(NUM_ACTIONS) == defaults[:, None]
    likely = np.exp(WEIGHTS.logits[kind] * logits + WEIGHTS.habit[kind] * is_habit) * tried
    wanted = (likely / likely.sum(axis=1, keepdims=True)).mean(axis=0)
    actions = saved(tmp_path, logits).act(many)
    assert np.bincount(actions, minlength=NUM_ACTIONS) / 4000 == pytest.approx(wanted, abs=0.03)
    assert 0 < (actions == defaults).mean() < 1


def test_a_policy_that_is_no_search_s_is_refused_and_so_is_the_best_action(tmp_path):
    with pytest.raises(ValueError, match=r"is no search's; python -m train\.imitate makes one"):
        agents.make(f"amortised:{REFERENCE / '0'}")
    saved(tmp_path, np.zeros(NUM_ACTIONS))
    with pytest.raises(ValueError, match="it draws its actions, there is no @greedy"):
        agents.make(f"amortised:{tmp_path}@greedy")
    with pytest.raises(ValueError, match="'amortised' needs an argument: amortised:PATH, mc with"):
        agents.make("amortised")
