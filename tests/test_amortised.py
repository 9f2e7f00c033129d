"""Amortised searches: what they look at, when they leave what `tuned` would do, and what they are made of."""

import numpy as np
import pytest

import agents
from agents.amortised import CLEAR, TEMPERATURE, AmortisedPlayer
from agents.network import save_policy
from agents.search import leads, shortlists
from agents.table import REFERENCE
from felicity_env import NUM_ACTIONS, OBS_SIZE, SETUPS
from tests.helpers import random_game, random_words, view_of

SCALE = 0.01


@pytest.fixture
def view():
    states = np.concatenate([random_game(setup, 3).states[:-1:3] for setup in SETUPS.values()])
    return view_of(states, random_words(len(states)))


def saved(tmp_path, lead_of_actions: np.ndarray) -> AmortisedPlayer:
    """A player whose network gives each action the same value everywhere, in wins."""
    layers = [(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), np.float32(lead_of_actions / SCALE))]
    save_policy(tmp_path, layers, open_mice=True, **{TEMPERATURE: SCALE})
    return AmortisedPlayer(str(tmp_path))


def test_the_shortlist_is_what_a_search_looks_at_and_its_default_what_tuned_would_do(view):
    defaults, tried = shortlists(view)
    found = leads(view, worlds=1)
    several = tried.sum(axis=1) > 1  # a search does not play out what is decided
    assert several.any()
    assert np.array_equal(tried[several], ~np.isnan(found[several]))
    assert defaults.tolist() == agents.make("tuned").act(view).tolist()
    assert tried[np.arange(len(view)), defaults].all()


def test_it_does_what_tuned_would_do_where_nothing_is_clearly_ahead(tmp_path, view):
    values = np.random.default_rng(0).uniform(0, 0.99 * CLEAR, NUM_ACTIONS)
    assert saved(tmp_path, values).act(view).tolist() == agents.make("tuned").act(view).tolist()


def test_it_does_what_is_clearly_ahead_of_all_that_a_search_looks_at(tmp_path, view):
    values = np.random.default_rng(0).permutation(NUM_ACTIONS) * 2 * CLEAR
    actions, (_, tried) = saved(tmp_path, values).act(view), shortlists(view)
    assert actions.tolist() == np.where(tried, values, -1).argmax(axis=1).tolist()
    assert (actions != agents.make("tuned").act(view)).any()


def test_a_policy_that_tells_no_leads_is_refused():
    with pytest.raises(ValueError, match=r"does not tell leads; python -m train\.distill makes one"):
        agents.make(f"amortised:{REFERENCE / '0'}")
    with pytest.raises(ValueError, match="'amortised' needs an argument: amortised:PATH, mc with"):
        agents.make("amortised")
