"""Strength and style of the reference player: both formats, timed searches, frequencies of raises and cards."""

import json

import numpy as np
import pytest

from agents.sack_value import expected_sack_value
from experiments.strength import budget, policy_search, reference_strength, reference_style, timing
from felicity_env.game import AUCTION, is_alone, pass_pays
from felicity_env.setups import standard_setup
from tests.support.experiments import save_random_policy
from tests.support.helpers import draw_bits, make_view, random_game


def test_a_search_gets_the_playouts_that_fit_into_a_time(monkeypatch):
    for name, number in {"NUM_DEALS": 1, "NUM_POSITIONS": 2, "REPETITIONS": 1}.items():
        monkeypatch.setattr(timing, name, number)
    monkeypatch.setitem(timing.TIMED_PLAYOUTS, "mc", 10)
    one, second = (timing.find_playouts("mc", standard_setup(3), milliseconds, 1) for milliseconds in (1e-9, 1000.0))
    assert one == 1
    assert second > 10


@pytest.mark.compiled("games against searches, which take minutes in plain Python")
def test_a_player_is_measured_in_both_formats_against_searches_with_a_given_time(tmp_path, stored, capfd, monkeypatch):
    monkeypatch.setattr(timing, "find_playouts", lambda *_: 3)
    save_random_policy(tmp_path / "net")
    config = reference_strength.Config(
        num_players=3,
        player=f"net:{tmp_path / 'net'}",
        against=("anchor", "mc:2", "mc"),
        num_deals=6,
        search_deals=4,
        timed_deals=2,
        lone_deals=3,
        workers=1,
        out=tmp_path / "out",
    )
    reference_strength.main(config)
    written = json.loads((stored / "reference_strength_standard-3.json").read_text())
    pairs = written["results"]["pairs"]
    codes = list(dict.fromkeys(pair["rest"] for pair in pairs if pair["one"] == config.player))
    assert codes == ["anchor", "mc:2", "mc:3"]
    names = [(pair["one"], pair["rest"]) for pair in pairs]
    assert names == [pair for code in codes for pair in ((config.player, code), (code, config.player))]
    assert [pair["measures"]["win_share"]["blocks"] for pair in pairs] == [6, 6, 4, 4, 2, 3]
    assert {pair["setup"] for pair in pairs} == {"standard-3"}
    capfd.readouterr()
    reference_strength.main(config)  # resumed: nothing is timed or played again
    assert json.loads((stored / "reference_strength_standard-3.json").read_text())["results"] == written["results"]


@pytest.mark.parametrize(
    "settings",
    [
        *({"milliseconds": 0}, {"workers": 0}, {"num_deals": 1}, {"timed_deals": 1}, {"against": ()}, {"seed": -1}),
        *({"num_players": 2}, {"player": "nope"}, {"against": ("ev", "nope")}),
    ],
)
def test_an_impossible_measurement_is_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"--{name.replace('_', '-')}"):
        reference_strength.Config(**settings)


def test_players_that_do_not_exist_are_refused_by_the_name_of_the_option():
    with pytest.raises(ValueError, match="--rest: no player 'nope'"):
        budget.Config(rest="nope")
    with pytest.raises(ValueError, match="--players: no player 'nope'"):
        reference_style.Config(players=("ev", "nope"))
    with pytest.raises(ValueError, match="--players must name a player"):
        reference_style.Config(players=())


def test_budgets_are_measured_in_the_chosen_setups_and_one_of_them_in_the_other_standard_ones():
    budgets = budget.Config(playouts=(1, 2), also=5).list_budgets()
    assert [(each.setup.seats, each.code) for each in budgets if each.kind == "mc"] == [
        *[(3, "mc:5"), (4, "mc:1"), (4, "mc:2"), (5, "mc:5")]
    ]
    budgets = budget.Config(playouts=(1,), also=0, setup=("standard-3",)).list_budgets()
    assert [(each.setup, each.playouts) for each in budgets] == [(standard_setup(3), 1)] * 2
    assert {each.rest for each in budgets} == {"tuned"}


@pytest.mark.compiled("games against searches, which take minutes in plain Python")
def test_search_on_top_of_a_policy_plays_against_it_and_against_searches_of_the_same_time(
    tmp_path, stored, monkeypatch
):
    numbers = {"net+search": 2, "mc": 3, "ismcts": 4}
    monkeypatch.setattr(timing, "find_playouts", lambda search, *_: numbers[search])
    config = policy_search.Config(num_players=3, worlds=(1,), num_deals=2, workers=1, out=tmp_path)
    policy_search.main(config)
    rows = json.loads((stored / "policy_search.json").read_text())["results"]
    assert [(row["kind"], row["playouts"], row["rest"]) for row in rows] == [
        ("net+search", 1, "net"),
        ("net+search", 2, "net"),
        ("net+search", 2, "mc:3"),
        ("net+search", 2, "ismcts:4"),
    ]
    assert all(row["win_share"]["blocks"] == 2 and row["milliseconds"]["value"] > 0 for row in rows)
    assert (stored / "policy_search.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("worlds", [(), (0,), (4, -1)])
def test_a_search_in_no_world_is_refused(worlds):
    with pytest.raises(ValueError, match="--worlds must be at least 1, not"):
        policy_search.Config(worlds=worlds)


def test_the_style_of_a_player_is_how_often_it_raises_and_which_card_it_places_when(stored):
    config = reference_style.Config(players=("greedy", "pass"), num_players=3, num_games=40)
    reference_style.main(config)
    written = json.loads((stored / "reference_style.json").read_text())["results"]
    raises = {code: [bin_ and bin_["value"] for bin_ in bins] for code, bins in written["raises"].items()}
    assert set(raises["pass"]) <= {0.0, None}
    assert len(raises["greedy"]) == len(reference_style.GAINS)
    low, high = np.array(raises["greedy"], float)[[2, -3]]  # it never pays more than the expected value
    assert low < 0.3 < 0.7 < high
    assert (stored / "reference_style.png").read_bytes().startswith(b"\x89PNG")


def test_the_frequency_of_a_card_counts_the_decisions_in_which_it_could_have_been_placed():
    facts = np.zeros(60, reference_style.FACTS)
    facts["hand"] = [0b0011, 0b0101, 0b1000] * 20  # the last has no choice
    facts["first"], facts["is_ahead"] = [True, False, True] * 20, True
    actions = np.array([1, 0, 3] * 10 + [0, 2, 3] * 10)
    games = np.repeat(np.arange(30), 2)
    decisions = reference_style.Decisions(games, facts, actions)
    cards = reference_style.estimate_cards(decisions, reference_style.Config(num_games=30))
    assert cards["is ahead"][0]["value"] == pytest.approx((10 + 10) / 40)
    assert cards["places first"][0]["value"] == pytest.approx(10 / 20)
    assert cards["places first"][1]["value"] == pytest.approx(10 / 20)
    assert cards["is ahead"][2]["value"] == pytest.approx(10 / 20)
    assert cards["is ahead"][3] is None
    assert cards["places last"][0] is None


def test_the_facts_of_a_decision_are_those_of_its_state():
    states = random_game(standard_setup(4), 3).states[:-1]
    view = make_view(states, draw_bits(len(states)))
    for state, fact in zip(view.states, reference_style.compute_facts(view), strict=True):
        assert fact["bids"] == (state["phase"] == AUCTION)
        assert fact["hand"] == state["hands"][state["seat"]]
        assert fact["first"] == (state["seat"] == state["start_seat"])
        assert fact["last"] == (state["seat"] == (state["start_seat"] - 1) % 4)
        assert fact["mice"] == (state["pots"][2] > 0)
        assert fact["round_number"] == state["round_number"]
        most = 1 if is_alone(state) else state["mice"][state["seat"]]
        assert fact["may_raise"] == (state["phase"] == AUCTION and most > state["high_bid"])
        gain = expected_sack_value(state) - state["high_bid"] - 1 - pass_pays(state)
        assert fact["gain"] == pytest.approx(gain)
        scores = state["mice"][:4] + state["cat_points"][:4]
        others = np.delete(scores, state["seat"])
        assert fact["is_ahead"] == (scores[state["seat"]] > others.max())
