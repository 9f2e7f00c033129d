"""Strangers: fixed players are legal and decide by what their seat knows; the question measures both formats."""

import json

import numpy as np
import pytest

import agents
from agents.ev import break_even_bid
from experiments.strength import strangers
from experiments.strength.strangers import FAST, SEARCHER, Config, list_matches
from felicity_env import Batch
from felicity_env.game import AUCTION, PASS, highest_legal_bid
from tests.support.helpers import C3, C5, C8, C15, M5, M8, RABBIT, bid, decide
from tests.support.players import alone_of_four


def play(code: str, num_steps: int = 60) -> Batch:
    """Return games between copies of a stranger after some decisions; an illegal one would raise."""
    batch, player = Batch(30, num_players=[3, 4, 5] * 10, seed=5, record=True), agents.make(code)
    for _ in range(num_steps):
        batch.step(player.act(batch.view()))
    return batch


@pytest.mark.parametrize("code", FAST)
def test_a_stranger_plays_legally_with_any_number_of_players(code):
    assert (play(code, num_steps=250).episodes > 0).all()


def test_the_jumper_bids_at_least_half_of_what_a_sack_is_worth_to_it():
    batch = play(FAST[0])
    actions, states = agents.make(FAST[0]).act(batch.view()), batch.view().states
    bids = [(int(action) - PASS, state) for action, state in zip(actions, states, strict=True) if action > PASS]
    assert bids
    for mice, state in bids:
        limit = min(break_even_bid(state), highest_legal_bid(state))
        assert mice == max(state.high_bid + 1, int(limit / 2)) <= limit


def test_the_single_bidder_passes_when_it_is_outbid():
    seen = 0
    for view in (play(FAST[1], num_steps).view() for num_steps in range(20, 60, 5)):
        has_bid = (view.states["phase"] == AUCTION) & (view.states["bids"][np.arange(30), view.seats] > 0)
        assert (agents.make(FAST[1]).act(view)[has_bid] == PASS).all()
        seen += has_bid.sum()
    assert seen > 0


def test_the_searcher_decides_legally_and_each_decision_for_itself():
    batch = play(FAST[0], num_steps=30)
    view = batch.view(np.arange(6))
    actions, order = agents.make(SEARCHER).act(view), np.array([3, 5, 0])
    assert (view.action_masks[np.arange(6), actions] == 1).all()
    assert (agents.make(SEARCHER).act(view.take(order)) == actions[order]).all()


@pytest.mark.parametrize(("cards", "action"), [((C15, C8, C5, C3), bid(1)), ((M8, M8, M5, RABBIT), PASS)])
def test_the_searcher_buys_a_sack_that_is_worth_its_price_in_every_world(cards, action):
    state = alone_of_four(*cards)
    state.round_number = 8  # the game ends with this decision
    assert decide(agents.make(SEARCHER), state) == action


def test_every_stranger_meets_the_player_and_anchor_in_both_formats():
    config = Config(player="ev", num_deals=7, search_deals=3)
    matches = {match.codes[:2]: deals for match, deals in list_matches(config).items()}
    assert len(matches) == 4 * len((*FAST, SEARCHER))
    assert {matches[pair] for pair in ((code, FAST[0]) for code in ("ev", "anchor"))} == {7}
    assert matches[SEARCHER, "anchor"] == matches["ev", SEARCHER] == 3


def test_the_question_stores_a_win_share_for_each_match(stored, tmp_path, monkeypatch):
    monkeypatch.setattr(strangers, "FAST", FAST[:1])
    monkeypatch.setattr(strangers, "SEARCHER", FAST[1])
    strangers.main(Config(player="ev", num_deals=2, search_deals=2, workers=1, out=tmp_path))
    pairs = json.loads((stored / "strangers_standard-4.json").read_text())["results"]["pairs"]
    assert {(pair["one"], pair["rest"]) for pair in pairs} == {
        pair for code in FAST[:2] for one in ("ev", "anchor") for pair in ((one, code), (code, one))
    }
