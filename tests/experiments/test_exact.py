"""Exact ground: trees of small games, best responses and equilibria, compared with other ways to compute them."""

import json
from collections import defaultdict
from dataclasses import asdict, replace
from io import StringIO
from itertools import product

import numpy as np
import pytest
from rich.console import Console

import agents
from experiments.exact import question
from experiments.exact.cfr import average_policies, solve
from experiments.exact.last_round import believe_uniformly, build_last_round, draw_last_rounds
from experiments.exact.learning import compute_response_gain
from experiments.exact.policies import observe_sets, tabulate
from experiments.exact.tree import GameTree, list_deals
from experiments.exact.values import compute_gains, compute_values, find_best_response
from felicity_env import View
from felicity_env.game import STATE, Setup, is_terminal, rank, step
from felicity_env.game_record import initial_states, list_legal_actions
from felicity_env.information import Recall, redact
from felicity_env.setups import SMALL_SETUPS, find_setup
from tests.support.experiments import save_random_policy

TINY = SMALL_SETUPS["tiny-2"]
SMALL = {
    "two seats": Setup(seats=2, mouse_cards=(2,), bank=4, mice=2, rounds=2, cards=(0, 3, 8)),
    "two seats and a dummy": Setup(seats=2, mouse_cards=(2,), bank=4, dummy=True, mice=1, rounds=2, cards=(0, 3, 8)),
    "three seats": Setup(seats=3, mouse_cards=(1, 2), bank=6, mice=1, rounds=1, cards=(0, 3, 8)),
}


@pytest.fixture(scope="module")
def games():
    return {name: GameTree.from_setup(setup) for name, setup in SMALL.items()}


def walk(recall):
    """Yield (what the seat to act has seen, legal actions) at each decision of the games that continue from here."""
    if is_terminal(recall.state):
        return
    legal = list_legal_actions(recall.state)
    if len(legal) > 1:
        yield str(recall.events[int(recall.state.seat)]), legal
    for action in legal:
        after = Recall.__new__(Recall)
        after._states, after.actions = recall._states.copy(), list(recall.actions)
        after.events = [list(events) for events in recall.events]
        after.play(action)
        yield from walk(after)


@pytest.mark.parametrize("name", SMALL)
def test_merged_sets_have_one_policy_and_the_same_values(name, games):
    game = games[name]
    observations = observe_sets(game)
    merged, entries = game.merge_sets(observations)
    assert merged.num_sets == len(np.unique(observations, axis=0)) < game.num_sets
    assert (merged.actions[entries] == game.actions).all()
    *_, policy = solve(merged, 5)
    assert compute_values(merged, policy) == pytest.approx(compute_values(game, policy[entries]))
    apart, entries = game.merge_sets(np.arange(game.num_sets))
    assert apart.num_sets == game.num_sets
    assert (entries == np.arange(len(game.actions))).all()


@pytest.mark.parametrize("name", SMALL)
def test_information_sets_are_decisions_at_which_a_seat_has_seen_the_same(name, games):
    nodes = defaultdict(int)
    actions = {}
    for deal in list_deals(SMALL[name]):
        for seen, legal in walk(Recall(initial_states(SMALL[name], deal))):
            nodes[seen] += 1
            actions[seen] = legal
    tree = games[name].tree
    decisions = tree.sets[tree.sets >= 0]
    assert games[name].num_sets == len(nodes)
    assert sorted(np.bincount(decisions)) == sorted(nodes.values())
    assert len(games[name].actions) == sum(map(len, actions.values()))


def win_shares(state):
    ranks = np.array([rank(state, seat) for seat in range(state.num_seats)])
    return (ranks == 1) / (ranks == 1).sum()


def play_out(deal, plans):
    """Return the win shares if each seat plays by its plan, {what it has seen: action}, in this deal."""
    recall = Recall(initial_states(TINY, deal))
    while not is_terminal(recall.state):
        seat = int(recall.state.seat)
        legal = list_legal_actions(recall.state)
        recall.play(legal[0] if len(legal) == 1 else plans[seat][str(recall.events[seat])])
    return win_shares(recall.state)


def test_a_best_response_equals_the_best_of_all_plans():
    deals = [deal for deal in list_deals(TINY) if deal.start_seat == 0]
    states = np.concatenate([initial_states(TINY, deal) for deal in deals])
    game = GameTree.from_states(states, np.full(len(deals), 1 / len(deals)))
    seen = {}
    for deal in deals:
        for events, legal in walk(Recall(initial_states(TINY, deal))):
            seen.setdefault(events, legal)
    own = [events for events in seen if events.startswith("[('seat', 0")]
    last = {events: legal[-1] for events, legal in seen.items()}
    policy = np.zeros(len(game.actions))
    policy[game.tree.first_action[1:] - 1] = 1.0  # both seats take their last legal action
    best = max(
        np.mean([play_out(deal, (last | dict(zip(own, plan, strict=True)), last))[0] for deal in deals])
        for plan in product(*(seen[events] for events in own))
    )
    assert find_best_response(game, policy, 0)[1] == pytest.approx(best, abs=1e-12)
    assert best > compute_values(game, policy)[0]


def test_cfr_comes_close_to_an_equilibrium_with_two_seats():
    game = GameTree.from_setup(SMALL_SETUPS["small-2"])
    *_, policy = solve(game, 500)
    assert 0 <= compute_gains(game, policy).sum() < 0.002
    assert compute_gains(game, game.uniform_policy()).sum() > 0.5


def play_everything(setup, player):
    """Return the mean win share of each seat over all deals of a setup, with one player in all seats."""
    shares = []
    for deal in list_deals(setup):
        states = initial_states(setup, deal)
        while not is_terminal(states[0]):
            seats = states["seat"].astype(np.int64)
            view = View.make_unchecked(redact(states, seats), seats, np.zeros(1, np.uint64))
            step(states[0], int(player.act(view)[0]))
        shares.append(win_shares(states[0]))
    return np.mean(shares, axis=0)


@pytest.mark.parametrize("name", ["tiny-2", "small-2"])
def test_a_player_without_randomness_wins_in_the_tree_what_it_wins_in_all_games(name):
    setup, player = SMALL_SETUPS[name], agents.make("ev")
    game = GameTree.from_setup(setup)
    policy = tabulate(game, player, draws=1)
    assert set(policy.tolist()) == {0.0, 1.0}
    assert compute_values(game, policy) == pytest.approx(play_everything(setup, player), abs=1e-12)


def test_a_player_that_draws_has_the_frequencies_of_its_actions_in_the_table():
    game = GameTree.from_setup(TINY)
    drawn, uniform = tabulate(game, agents.make("random"), draws=2000), game.uniform_policy()
    assert np.abs(drawn - uniform).max() < 0.06
    assert compute_gains(game, drawn) == pytest.approx(compute_gains(game, uniform), abs=0.02)


def test_a_network_has_its_own_probabilities_in_the_table(tmp_path, games):
    save_random_policy(tmp_path)
    game, player = games["two seats"], agents.make(f"net:{tmp_path}")
    policy = tabulate(game, player)
    assert np.add.reduceat(policy, game.tree.first_action[:-1]) == pytest.approx(1, abs=1e-6)
    seats = game.states["seat"].astype(np.int64)
    view = View.make_unchecked(game.states, seats, np.zeros(len(seats), np.uint64))
    first = game.tree.first_action[:-1]
    assert policy[first] == pytest.approx(player.probabilities(view)[np.arange(len(seats)), game.actions[first]])


def test_a_best_response_gains_all_that_there_is_to_gain(games):
    game = games["three seats"]
    target = game.uniform_policy()
    response = target.copy()
    entry_seats = np.repeat(game.states["seat"], np.diff(game.tree.first_action))
    for seat in range(3):
        best, _ = find_best_response(game, target, seat)
        response = np.where(entry_seats == seat, best, response)
    assert compute_response_gain(game, response, target) == pytest.approx(compute_gains(game, target).mean())
    assert compute_response_gain(game, target, target) == 0


@pytest.mark.parametrize("setup", ["standard-3", "standard-4"])
def test_a_last_round_is_solved_from_stated_beliefs(setup):
    first, start = draw_last_rounds(find_setup(setup), agents.make("reckless"), count=2, most_mice=3, seed=5)
    assert first.tobytes() != start.tobytes()
    assert [int(each[0].round_number) for each in (first, start)] == [8, 8]
    assert start.dtype == STATE
    assert start[0].mice.max() <= 3
    beliefs = believe_uniformly(start[0])
    game = build_last_round(start, beliefs)
    assert game.tree.weights.tolist() == [1 / 16] * 16  # two cards are possible in each of four sets
    *_, policy = solve(game, 100)
    assert compute_gains(game, policy).sum() < 0.01
    certain = build_last_round(start, [{next(iter(belief)): 1.0} for belief in beliefs])
    assert certain.tree.weights.tolist() == [1.0]
    assert certain.num_sets < game.num_sets


def test_an_average_of_policies_wins_what_a_seat_wins_that_draws_one_of_them_before_the_game(games):
    game, rng = games["two seats"], np.random.default_rng(0)

    def draw_policy() -> np.ndarray:
        amounts = rng.random(len(game.actions)) ** 4
        sums = np.bincount(game.entry_sets, amounts)
        return amounts / sums[game.entry_sets]

    first, second, other = (draw_policy() for _ in range(3))
    mine = game.states["seat"][game.entry_sets] == 0
    by_policy = [compute_values(game, np.where(mine, own, other)) for own in (first, second)]
    average = average_policies(game, [first, second])
    assert compute_values(game, np.where(mine, average, other)) == pytest.approx(np.mean(by_policy, axis=0))
    assert compute_values(game, np.where(mine, (first + second) / 2, other)) != pytest.approx(
        np.mean(by_policy, axis=0)
    )


def test_a_setup_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("experiments.exact.tree.MAX_NODES", 1000)
    with pytest.raises(ValueError, match="the game is too large: its tree has more than 1,000 nodes"):
        GameTree.from_setup(SMALL_SETUPS["small-2"])


def test_the_question_solves_trains_and_compares(monkeypatch, tmp_path):
    small = {"num_envs": 32, "num_steps": 8, "batch_size": 64, "hidden_sizes": (8,)}
    monkeypatch.setattr(question, "RECIPES", {"reference": (small, small), "average": (small | {"kl_coef": 0.1},)})
    monkeypatch.setattr(question.exploit, "list_settings", lambda config: small)
    setup = replace(find_setup("tiny-2"), seats=3, mouse_cards=(1, 2))
    (three_seats := tmp_path / "tiny-3.json").write_text(json.dumps(asdict(setup)))
    config = question.Config(
        two_seats="tiny-2",
        three_seats=str(three_seats),
        iterations=(8, 4),
        seeds=(0,),
        total_timesteps=1,
        response_timesteps=1,
        points=1,
        targets=("ev",),
        last_rounds=1,
        most_mice=1,
        workers=1,
        out=tmp_path / "parts",
    )
    results, _ = question.measure(config, Console(file=(output := StringIO())))
    first, second = results["equilibria"]
    assert [point["iterations"] for point in first["curve"]] == [1, 2, 4, 8]
    assert [point["iterations"] for point in second["curve"]] == [1, 2, 4]
    assert [row["setup"] for row in results["last_rounds"]] == ["standard-3", "standard-4", "standard-5"]
    run, other = results["training"]
    assert [run["recipe"], other["recipe"]] == ["reference", "average"]
    assert run["curve"][0]["timesteps"] == 0
    first_end, second_start, second_end = run["curve"][1:]
    assert [point["run"] for point in run["curve"]] == [0, 0, 1, 1]
    assert second_start["timesteps"] == first_end["timesteps"] < second_end["timesteps"]
    assert second_start["nash_conv"] == pytest.approx(first_end["nash_conv"])
    assert 0 < run["curve"][0]["nash_conv"] < 2
    assert run["curve"][0]["mixture_nash_conv"] == pytest.approx(run["curve"][0]["nash_conv"])
    question.plot(results, config, tmp_path / "exact.png")
    (row,) = results["responses"]
    assert row["found_gain"] <= row["exact_gain"]
    line = f"recipe reference, seed 0: NashConv {run['curve'][-1]['nash_conv']:.4f} of the last policy"
    assert line in output.getvalue()
    monkeypatch.setattr(question, "train_with_curve", lambda *settings, **options: pytest.fail("it is stored"))
    assert question.measure(config, Console(file=StringIO())).tables == results
