"""Search on top of a policy: its beliefs follow Bayes' rule, it prefers what wins, and it knows what its seat knows."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import agents
from agents import policy_search
from agents.beliefs import compute_beliefs, weigh_possibilities
from agents.network import NetworkPlayer
from agents.policy_file import save_policy
from agents.policy_search import Critic, PolicySearch, list_candidates
from agents.posterior import compute_posteriors, draw_worlds
from felicity_env import NUM_ACTIONS, OBS_SIZE, Batch, View
from felicity_env.game import AUCTION, PASS, Setup, State, step
from felicity_env.game_record import Deal, Game, draw_deal, initial_states, list_legal_actions
from felicity_env.information import redact, resample
from felicity_env.observation import own_slot
from felicity_env.setups import standard_setup
from tests.agents.test_posterior import make_policy

LAYERS = [(np.zeros((OBS_SIZE, 1), np.float32), np.full(1, 0.25, np.float32))]
NO_CRITIC_NEEDED = Critic(LAYERS)  # estimates par everywhere


def make_view(states: np.ndarray) -> View:
    seats, rng = states["seat"].astype(np.int64), np.random.default_rng(0)
    return View(redact(states, seats), seats, rng.integers(2**64, size=len(states), dtype=np.uint64))


def place_all(num_players: int, seed: int, passes: int) -> Game:
    """Return a game in which all seats have placed their first card and some have passed."""
    setup, rng = standard_setup(num_players), np.random.default_rng(seed)
    game = Game(setup, draw_deal(setup, seed), ())
    for _ in range(num_players):
        actions = (*game.actions, int(rng.choice(list_legal_actions(game.final_states()[0]))))
        game = Game(setup, game.deal, actions)
    return Game(setup, game.deal, (*game.actions, *[PASS] * passes))


def is_face_down(known: State, seat: int) -> bool:
    return own_slot(known, seat) >= known.face_up


@pytest.mark.parametrize("num_players", [3, 4, 5])
@pytest.mark.parametrize("passes", [0, 1])
def test_in_the_first_round_beliefs_are_the_exact_posterior_of_cards_placed(num_players, passes):
    game, policy = place_all(num_players, seed=3, passes=passes), make_policy()
    known = redact(game.final_states(), seat := int(game.final_states()["seat"][0]))
    before, compared = Game(game.setup, game.deal, game.actions[:num_players]), 0  # a pass is no evidence in a position
    for other, hidden in compute_posteriors(before, seat, policy).items():
        if is_face_down(known[0], other):
            weights = weigh_possibilities(known, other, hidden.removed, hidden.placed, policy)
            assert weights == pytest.approx(hidden.posterior, rel=1e-4)
            compared += 1
    assert compared >= 1


def test_a_present_bid_changes_the_beliefs_about_the_card_of_its_seat():
    game, policy = place_all(4, seed=5, passes=0), make_policy()
    after = Game(game.setup, game.deal, (*game.actions, PASS + 1))
    bidder = int(after.final_states()["seat"][0])
    after = Game(game.setup, game.deal, (*after.actions, PASS + 2))
    seat = int(after.final_states()["seat"][0])
    known = redact(after.final_states(), seat)
    exact = compute_posteriors(after, seat, policy)[bidder]
    weights = weigh_possibilities(known, bidder, exact.removed, exact.placed, policy)
    assert len(weights) == 90
    assert weights == pytest.approx(exact.posterior, rel=1e-4)


def test_worlds_fit_what_the_seat_knows_and_do_not_depend_on_the_rest():
    game, policy = place_all(4, seed=6, passes=1), make_policy()
    truth, seat = game.final_states(), int(game.final_states()["seat"][0])
    other_truth = resample(redact(truth, seat), np.random.default_rng(8))
    known = redact(truth, seat)
    worlds, again = (
        draw_worlds(redact(t, seat), compute_beliefs(redact(t, seat), seat, policy), 50, np.random.default_rng(1))
        for t in (truth, other_truth)
    )
    assert (worlds == again).all()
    assert (redact(worlds, np.full(50, seat)) == known).all()
    assert len(np.unique(worlds["hands"], axis=0)) > 10


def test_it_takes_what_wins_the_game_though_the_policy_would_not():
    """Let the last seat choose whether to buy the last sack, which decides the game."""
    setup = Setup(seats=2, mouse_cards=(2,), bank=4, rounds=1)
    search = PolicySearch(make_uniform_policy(), NO_CRITIC_NEEDED, worlds=8)
    states = np.repeat(initial_states(setup, Deal(removed=(0, 0), dummy=(), start_seat=0)), 20)
    for k in range(20):
        for action in (6, 5, PASS):  # cats of 15 and 11 points; the start seat takes 2 mice
            step(states[k], action)
    assert states[0].phase == AUCTION
    assert (search.act(make_view(states)) == PASS + 1).all()


def test_actions_are_legal_and_do_not_depend_on_the_other_decisions_of_a_view():
    batch = Batch(6, num_players=[3, 4, 5, 3, 4, 5], seed=2)
    batch.play_random(31)
    search, view = PolicySearch(make_policy(), NO_CRITIC_NEEDED, worlds=4), batch.view()
    actions = search.act(view)
    assert (batch.action_masks[np.arange(6), actions] == 1).all()
    assert [int(search.act(view.take(np.array([k])))[0]) for k in range(6)] == actions.tolist()


def test_candidates_are_likely_actions_and_in_an_auction_a_pass_and_the_lowest_raise():
    game = place_all(4, seed=6, passes=0)
    view, probabilities = make_view(game.final_states()), np.zeros(NUM_ACTIONS)
    probabilities[[PASS + 5, PASS + 7]] = 0.995, 0.005
    assert set(list_candidates(probabilities, view)) == {PASS, PASS + 1, PASS + 5}


def test_a_time_limit_ends_the_search_after_the_worlds_begun(monkeypatch):
    view, clock, drawn = make_view(place_all(4, seed=6, passes=0).final_states()), count(), []
    monkeypatch.setattr(policy_search, "WORLDS_AT_ONCE", 2)
    monkeypatch.setattr(policy_search, "time", SimpleNamespace(monotonic=lambda: next(clock) / 100))  # 10 ms a look
    monkeypatch.setattr(policy_search, "draw_worlds", lambda *args: drawn.append(args[2]) or draw_worlds(*args))
    limited = PolicySearch(make_policy(), NO_CRITIC_NEEDED, worlds=20, milliseconds=25)
    assert limited.act(view)[0] in np.flatnonzero(view.action_masks[0])
    assert drawn == [2, 2, 2]  # the third ends after 30 ms


def test_a_code_names_worlds_policy_and_time(tmp_path):
    policy = make_policy()
    save_policy(tmp_path, policy.layers, critic=LAYERS, open_mice=True, activation="relu")
    player = agents.make(f"net+search:8,policy={tmp_path},milliseconds=20")
    assert (player.worlds, player.milliseconds) == (8, 20)
    assert (player.policy.layers[0][0] == policy.layers[0][0]).all()


def make_uniform_policy(*, passes: bool = False) -> NetworkPlayer:
    """Return a policy that chooses uniformly, or that always passes if it can."""
    bias = np.zeros(NUM_ACTIONS, np.float32)
    bias[PASS] = 50.0 if passes else 0.0
    return NetworkPlayer([(np.zeros((OBS_SIZE, NUM_ACTIONS), np.float32), bias)], open_mice=True, activation="relu")


def test_a_search_may_assume_another_policy_of_the_other_seats(tmp_path):
    """Let a seat open the auction that decides the game: if the other seat passes in any case, passing pays most."""
    paths = {name: tmp_path / name for name in ("uniform", "passes")}
    for name, path in paths.items():
        path.mkdir()
        policy = make_uniform_policy(passes=name == "passes")
        save_policy(path, policy.layers, critic=LAYERS, open_mice=True, activation="relu")
    code = f"net+search:64,policy={paths['uniform']}"
    unsure, certain = agents.make(code), agents.make(f"{code},others={paths['passes']}")
    setup = Setup(seats=2, mouse_cards=(2,), bank=4, rounds=1)
    states = np.repeat(initial_states(setup, Deal(removed=(0, 0), dummy=(), start_seat=0)), 20)
    for k in range(20):
        for action in (6, 5):  # cats of 15 and 11 points
            step(states[k], action)
    view = make_view(states)
    assert (certain.act(view) == PASS).all()
    assert (unsure.act(view) > PASS).any()
    assert unsure.digest() != certain.digest()


def test_a_mixture_is_searched_with_by_the_critic_of_its_last_member(tmp_path):
    for number, policy in enumerate((make_uniform_policy(), make_uniform_policy(passes=True))):
        (tmp_path / str(number)).mkdir()
        critic = [(weight, bias * number) for weight, bias in LAYERS]
        save_policy(tmp_path / str(number), policy.layers, critic=critic, open_mice=True, activation="relu")
    search = agents.make(f"net+search:8,policy={tmp_path}")
    assert len(search.policy.members) == 2
    states = place_all(4, seed=6, passes=0).final_states()
    assert search.critic.estimate(states, 0).tolist() == [0.25]
    actions = search.act(make_view(np.repeat(states, 3)))
    assert np.isin(actions, np.flatnonzero(make_view(states).action_masks[0])).all()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ("0,policy=somewhere", "takes 1 to 1,000,000 worlds for a decision, as a whole number, not '0'"),
        ("x,policy=somewhere", "not 'x'"),
        ("8,policy=somewhere,milliseconds=0", "milliseconds for a decision, as a whole number, not '0'"),
        ("8,policy=nowhere", "no such file or run folder"),
    ],
)
def test_an_impossible_code_is_refused(options, fault):
    with pytest.raises(ValueError, match=fault):
        agents.make(f"net+search:{options}")


def test_a_policy_without_a_critic_cannot_be_searched_with(tmp_path):
    save_policy(tmp_path, make_policy().layers, open_mice=True, activation="relu")
    with pytest.raises(ValueError, match="has no critic, which the search needs"):
        agents.make(f"net+search:8,policy={tmp_path}")
