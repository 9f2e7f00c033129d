"""The arena: blocks are fair, repeatable and independent, and say what a plain loop over the AEC face says."""

import numpy as np
import pytest

from agents import Player, arena, make
from agents.arena import BOOTSTRAPS, Blocks, bootstrap, play_blocks
from felicity_env import View, felicity_v0, game_seed
from felicity_env.game import PASS, SETUPS, STATE
from felicity_env.information import redact
from felicity_env.transcript import DEAL_KEYS, draw_deal
from tests.helpers import COMPILED

BLOCKS = 8 if COMPILED else 1


class FirstLegal:
    """The lowest legal action: places its lowest card and always passes."""

    def act(self, view: View) -> np.ndarray:
        return view.action_masks.argmax(axis=1)


class Eager:
    """Raises by one to 5, places its highest card."""

    def act(self, view: View) -> np.ndarray:
        masks = view.action_masks.copy()
        masks[:, PASS + 6 :] = 0
        lowest_bid = masks[:, PASS + 1 :].argmax(axis=1) + PASS + 1
        bids = np.where(masks[:, PASS + 1 :].any(axis=1), lowest_bid, PASS)
        return np.where(masks[:, PASS] == 1, bids, PASS - 1 - masks[:, PASS - 1 :: -1].argmax(axis=1))


class Spy:
    """Plays as another, and keeps in which seats it placed its cards."""

    def __init__(self, player: Player) -> None:
        self.player, self.placed = player, []

    def act(self, view: View) -> np.ndarray:
        self.placed += view.seats[view.states["phase"] == 0].tolist()
        return self.player.act(view)


def deterministic(players: int) -> list[Player]:
    return [make("ev"), FirstLegal(), Eager(), make("ev"), Eager()][:players]


def stochastic(players: int) -> list[Player]:
    return [make("random"), *[make("anchor")] * (players - 1)]


@pytest.mark.parametrize("players", SETUPS)
def test_win_shares_of_every_game_sum_to_one_and_go_to_the_highest_scores(players):
    blocks = play_blocks(stochastic(players), num_blocks=BLOCKS, seed=3)
    assert blocks.win_share.shape == blocks.score.shape == (BLOCKS, players, players)
    assert blocks.win_share.sum(axis=2) == pytest.approx(np.ones((BLOCKS, players)))
    best = blocks.score == blocks.score.max(axis=2, keepdims=True)
    assert best[blocks.win_share > 0].all()
    assert blocks.win_share[~best].sum() == 0


def test_wins_of_a_player_are_averaged_over_the_rotations_of_each_block():
    shares = np.zeros((2, 3, 3))
    shares[0, :, 1], shares[1, 0, 1] = 1, 0.5
    assert Blocks(shares, shares).wins_of(1).tolist() == [1, pytest.approx(0.5 / 3)]


@pytest.mark.parametrize("players", SETUPS)
def test_a_deterministic_player_against_copies_of_itself_has_exactly_par(players):
    blocks = play_blocks([make("ev")] * players, num_blocks=BLOCKS, seed=1)
    estimate = bootstrap(blocks.wins_of(0))
    assert estimate.value == pytest.approx(1 / players, abs=1e-12)
    assert estimate.high - estimate.low == pytest.approx(0, abs=1e-12)
    assert estimate.blocks == BLOCKS


@pytest.mark.parametrize("players", SETUPS)
def test_every_player_sits_once_in_every_seat_of_a_block(players):
    spies = [Spy(player) for player in stochastic(players)]
    play_blocks(spies, num_blocks=1, seed=0)
    for spy in spies:
        assert sorted(spy.placed) == sorted([*range(players)] * 9)


@pytest.mark.parametrize("players", SETUPS)
def test_a_block_is_the_same_whatever_the_number_of_blocks(players):
    few, many = (play_blocks(stochastic(players), num_blocks=n, seed=7) for n in (BLOCKS, 2 * BLOCKS))
    assert (few.score == many.score[:BLOCKS]).all()
    assert (few.win_share == many.win_share[:BLOCKS]).all()
    assert (many.score[:BLOCKS] != many.score[BLOCKS:]).any()


def test_another_seed_gives_other_games_and_the_same_seed_the_same():
    first, again, other = (play_blocks(stochastic(4), num_blocks=BLOCKS, seed=seed).score for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_the_order_in_which_players_are_named_only_permutes_the_results():
    named, turned = deterministic(3), [*deterministic(3)[1:], deterministic(3)[0]]
    forward = play_blocks(named, num_blocks=BLOCKS, seed=5).score
    rotated = play_blocks(turned, num_blocks=BLOCKS, seed=5).score
    # player p sits in seat (p + r): named one place earlier, he sits there one rotation later
    assert (np.roll(np.roll(rotated, 1, axis=2), -1, axis=1) == forward).all()


def loop_over_aec(players: list[Player], deal_seed: int, rotation: int) -> tuple[list[float], list[int]]:
    """(win share, score) of each player in one game, played decision by decision."""
    n = len(players)
    env = felicity_v0.raw_env(num_players=n)
    dealt = draw_deal(SETUPS[n], deal_seed)
    env.reset(seed=0, options={"deal": {key: getattr(dealt, key) for key in DEAL_KEYS}})
    wins, scores = [0.0] * n, [0] * n
    for agent in env.agent_iter():
        player = (int(agent.removeprefix("player_")) - rotation) % n
        _, reward, done, _, info = env.last()
        wins[player] += reward
        if done:
            scores[player] = info["score"]
            env.step(None)
        else:
            states = redact(np.array([env._states[0]], STATE), int(env._states[0].seat))
            view = View(states, states["seat"].astype(np.int64), np.zeros(1, np.uint64))
            env.step(players[player].act(view)[0])
    return wins, scores


@pytest.mark.parametrize("players", SETUPS)
def test_the_arena_gives_what_a_loop_over_the_aec_face_gives(players):
    seated = deterministic(players)
    blocks = play_blocks(seated, num_blocks=BLOCKS, seed=11)
    for block in range(BLOCKS):
        deal_seed = game_seed(11, arena._DEAL_STREAM, block)
        for rotation in range(players):
            wins, scores = loop_over_aec(seated, deal_seed, rotation)
            assert blocks.win_share[block, rotation].tolist() == wins
            assert blocks.score[block, rotation].tolist() == scores
    assert len(np.unique(blocks.score)) > 3


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    estimates = [bootstrap(rng.binomial(4, 0.3, size=80) / 4, seed=k) for k in range(200)]
    covered = np.mean([estimate.low <= 0.3 <= estimate.high for estimate in estimates])
    assert 0.90 <= covered <= 0.99


def test_the_interval_is_as_wide_as_the_normal_one_where_that_holds():
    blocks = np.random.default_rng(2).normal(5, 2, size=400)
    estimate = bootstrap(blocks)
    assert estimate.value == pytest.approx(blocks.mean())
    assert estimate.high - estimate.low == pytest.approx(2 * 1.96 * blocks.std() / 20, rel=0.15)
    assert estimate.low < estimate.value < estimate.high
    assert BOOTSTRAPS >= 1000


def test_the_interval_is_the_same_every_time():
    blocks = np.random.default_rng(3).random(50)
    assert bootstrap(blocks) == bootstrap(blocks)
