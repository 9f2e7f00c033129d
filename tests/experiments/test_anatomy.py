"""The anatomy of the game: its answers equal a slow count, and its experiments change one thing only."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import agents
from agents.arena.blocks import play_blocks
from agents.arena.estimates import INTERVAL, linearise_ratio, resample_means
from experiments.game import anatomy
from experiments.game.anatomy import Config
from experiments.game.cards import compute_card_columns, compute_holding_columns, compute_sack_values, remove_each_card
from experiments.game.columns import estimate_columns
from experiments.game.copies import Copies, PlayedGames, Trembling, list_deals, play_copies, play_states, redeal
from experiments.game.mouse_card import MICE, TIMES_TAKEN, change_last_mouse_card, compute_last_card_columns
from experiments.game.never_buying import (
    NON_BUYERS,
    compute_non_buyer_columns,
    compute_without_buying_columns,
    find_crossing,
    make_overbidder,
    measure_non_buyer,
)
from experiments.game.plots import FIGURES, draw_figures
from experiments.game.rounds import compute_round_columns
from experiments.game.seats import compute_seat_columns
from felicity_env.game import CARD_VALUES, DUMMY, LARGE_DOG, NUM_CARDS, PLACE, sack_value
from felicity_env.setups import STANDARD_PLAYERS, standard_setup
from tests.support.helpers import COMPILED

BLOCKS = 12 if COMPILED else 2
SMALL = Config(players=("anchor",), num_players=(4,), num_deals=BLOCKS, curve_deals=2)


def copies_of(code: str, seats: int, *, tremble: float = 0.3) -> Copies:
    return Copies(code, standard_setup(seats), BLOCKS, 3, tremble)


def played_by(code: str, seats: int, *, tremble: float = 0.3) -> PlayedGames:
    return play_copies(copies_of(code, seats, tremble=tremble))


def each_round(played: PlayedGames):
    """Yield every round with the win shares of its game by seat."""
    for block, game in np.ndindex(played.win_share.shape[:2]):
        for entry in played.rounds[block, game]:
            yield entry, played.win_share[block, game]


def gain_of(entry: np.void, seat: int) -> int:
    return entry["taken"][seat] + (entry["value"] - entry["price"] if entry["winner"] == seat else 0)


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_gain_by_position_is_what_a_count_round_by_round_says(seats):
    played = played_by("ev", seats)
    gains, others = [[] for _ in range(seats)], [[] for _ in range(seats)]
    for entry, _ in each_round(played):
        for position in range(seats):
            seat = (entry["start_seat"] + position) % seats
            gains[position].append(gain_of(entry, seat))
            if entry["winner"] != seat:
                others[position].append(entry["taken"][seat])
    columns = compute_seat_columns(played)
    assert columns["gain"].mean(axis=0) == pytest.approx([np.mean(g) for g in gains])
    assert columns["gain_of_others"].mean(axis=0) == pytest.approx([np.mean(g) for g in others])


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_the_gains_of_all_rounds_and_the_first_mice_are_the_scores_that_decide_the_margins(seats):
    played = played_by("ev", seats)
    scores = standard_setup(seats).mice + played.gain.sum(axis=2)
    margins = scores - (scores.sum(axis=2, keepdims=True) - scores) / (seats - 1)
    assert played.margin == pytest.approx(margins)


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_gain_of_the_placer_and_worth_of_the_row_are_what_a_count_says(seats):
    played = played_by("anchor", seats)
    gains, sacks = [[[] for _ in range(NUM_CARDS + 1)] for _ in range(2)]  # the last: whatever the card
    for entry, _ in each_round(played):
        row = [*entry["cards"][:seats], *[entry["cards"][DUMMY]] * standard_setup(seats).dummy]
        for card in {*row, NUM_CARDS}:
            sacks[card].append(sack_value(np.array(row), len(row)))
        for seat in range(seats):
            gains[entry["cards"][seat]].append(gain_of(entry, seat))
            gains[NUM_CARDS].append(gain_of(entry, seat))
    columns = compute_card_columns(played)
    for name, lists in (("gain_of_placer", gains), ("sack", sacks)):
        expected = np.array([np.mean(values) for values in lists])
        assert columns[name].mean(axis=0) == pytest.approx(expected[:-1] - expected[-1])


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_shares_of_dry_and_void_rounds_are_what_a_count_says(seats):
    played = played_by("ev", seats)
    dry = [entry["mice"] == 0 for entry, _ in each_round(played)]
    void = [entry["winner"] < 0 for entry, _ in each_round(played)]
    columns = compute_round_columns(played)
    assert columns["dry"].mean() == pytest.approx(np.mean(dry))
    assert columns["void"].mean() == pytest.approx(np.mean(void))
    assert columns["void_by_round"].mean(axis=0) == pytest.approx(np.reshape(void, (-1, 9)).mean(axis=0))
    assert columns["dry_by_round"][:, 0].tolist() == [0] * BLOCKS  # R2.7
    after_void = [void[k] and k % 9 < 8 for k in range(len(void))]
    assert columns["dry_after_void"].mean() == pytest.approx(np.mean(after_void))  # R6.3
    prices = [entry["price"] for entry, _ in each_round(played) if entry["winner"] >= 0]
    assert columns["price"].mean() == pytest.approx(np.mean(prices))


@pytest.mark.parametrize("code", ["anchor", "pass"])
def test_victories_without_buying_are_what_a_count_says(code):
    played = played_by(code, 5)
    buyers = np.zeros(played.win_share.shape, bool)
    for block, game, number in np.ndindex(played.rounds.shape):
        winner = played.rounds[block, game, number]["winner"]
        if winner >= 0:
            buyers[block, game, winner] = True
    columns = compute_without_buying_columns(played)
    assert columns["victories_without_buying"].mean() == pytest.approx(
        played.win_share[~buyers].sum() / buyers[..., 0].size
    )
    assert columns["seats_without_buying"].mean() == pytest.approx(np.mean(~buyers))
    assert code != "pass" or columns["victories_without_buying"].tolist() == [1] * BLOCKS


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_win_share_by_how_often_the_last_mouse_card_was_taken_is_what_a_count_says(seats):
    played = played_by("anchor", seats)
    shares = [[] for _ in TIMES_TAKEN]
    for block, game in np.ndindex(played.win_share.shape[:2]):
        for seat in range(seats):
            takes = [entry["taken"][seat] == 6 for entry in played.rounds[block, game]]
            shares[min(sum(takes), len(shares) - 1)].append(played.win_share[block, game, seat])
    columns = compute_last_card_columns(played)["win_share_by_times"]
    for times, expected in enumerate(shares):
        assert not expected or columns[:, times].mean() == pytest.approx(np.mean(expected))


def test_points_of_a_seat_come_from_mouse_cards_and_sacks_and_from_nowhere_else():
    played = played_by("ev", 4)
    columns = compute_last_card_columns(played)
    total = sum(columns[f"seat_from_{name}"].mean() for name in ("last_card", "other_cards", "sacks"))
    assert total == pytest.approx(9 * compute_seat_columns(played)["gain"].mean())


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
@pytest.mark.parametrize("code", ["anchor", "ev"])
def test_a_table_that_does_not_tremble_plays_what_the_arena_plays(seats, code):
    blocks = play_blocks([agents.make(code) for _ in range(seats)], num_deals=BLOCKS, seed=3)
    played = played_by(code, seats, tremble=0.0)
    assert (played.rounds == blocks.rounds).all()
    for block, rotation, player in np.ndindex(blocks.seats.shape):
        seat = blocks.seats[block, rotation, player]
        assert played.win_share[block, rotation, seat] == blocks.measures["win_share"][block, rotation, player]
        assert played.margin[block, rotation, seat] == blocks.measures["margin"][block, rotation, player]


def test_trembling_breaks_the_lockstep_of_copies():
    steady, trembling = (
        compute_card_columns(played_by("ev", 4, tremble=chance))["same_card"].mean() for chance in (0.0, 1.0)
    )
    assert steady > 0.4
    assert trembling < 0.2


class Watched:
    """A player whose answers can be looked at."""

    def __init__(self, player):
        self.player, self.views, self.answers = player, [], []

    def act(self, view):
        self.views.append(view)
        self.answers.append(self.player.act(view))
        return self.answers[-1]


def test_a_trembling_player_bids_as_ever_and_lays_legal_cards():
    steady = Watched(agents.make("ev"))
    trembling = Watched(Trembling(steady, 1.0))
    play_blocks([trembling] * 4, num_deals=2, seed=1)
    for view, own, answers in zip(trembling.views, steady.answers, trembling.answers, strict=True):
        placing = view.states["phase"] == PLACE
        assert (own == answers)[~placing].all()
        assert view.action_masks[np.arange(len(view)), answers].all()
    assert any((own != answers).any() for own, answers in zip(steady.answers, trembling.answers, strict=True))


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_deals_in_which_a_card_is_lacking_are_otherwise_equal(seats):
    deals = list_deals(copies_of("ev", seats, tremble=0.0))
    states = remove_each_card(standard_setup(seats), deals)
    for block, card in np.ndindex(states.shape):
        changed, dealt = states[block, card].copy(), deals[block]
        assert changed["removed"][0] == card
        assert changed["hands"][0] == dealt["deck"] & ~(1 << card)
        changed["removed"][0], changed["hands"][0] = dealt["removed"][0], dealt["hands"][0]
        assert changed == dealt


def test_holding_cards_is_worth_nothing_on_average_over_the_cards():
    columns = compute_holding_columns(copies_of("ev", 4, tremble=0.3))
    for values in columns.values():
        assert values.shape == (BLOCKS, NUM_CARDS)
        assert values.sum(axis=1) == pytest.approx(np.zeros(BLOCKS))


@pytest.mark.parametrize("seats", STANDARD_PLAYERS)
def test_another_last_mouse_card_changes_nothing_else_in_the_deal(seats):
    deals = list_deals(copies_of("ev", seats, tremble=0.0))
    for mice in MICE:
        states = redeal(change_last_mouse_card(standard_setup(seats), mice), deals)
        assert (states["mouse_cards"][:, seats - 2] == mice).all()
        for name in ("removed", "hands", "dummy_cards", "start_seat", "mice", "seat"):
            assert (states[name] == deals[name]).all()
        assert (states["bank"] + states["pots"].sum(axis=1) == deals["bank"] + deals["pots"].sum(axis=1)).all()
    assert (redeal(change_last_mouse_card(standard_setup(seats), 6), deals) == deals).all()


def test_the_standard_last_mouse_card_gives_the_games_of_the_first_rotation():
    table = copies_of("ev", 4, tremble=0.3)
    played = play_states(table, standard_setup(4), list_deals(table)[:, None])
    assert (played.rounds[:, 0] == play_copies(table).rounds[:, 0]).all()


def test_overbidders_by_ten_mice_are_the_reckless():
    ours = play_blocks([make_overbidder(10)] * 4, num_deals=2, seed=1)
    theirs = play_blocks([agents.make("reckless")] * 4, num_deals=2, seed=1)
    assert (ours.rounds == theirs.rounds).all()


@pytest.mark.parametrize(
    ("name", "seats", "blocks", "gain"),
    [("tease", 4, BLOCKS, 0.3), *[("pass", 3, 300, 0.01)] * COMPILED],  # rare victories: too slow as plain Python
)
def test_who_never_buys_wins_more_the_more_reckless_the_others_are(name, seats, blocks, gain):
    setup = standard_setup(seats)
    timid, wild = (
        compute_non_buyer_columns(name, setup, extra, num_deals=blocks, seed=1)["win_share"].mean() for extra in (0, 30)
    )
    assert wild > timid + gain


def test_only_victories_without_a_sack_count():
    columns = compute_non_buyer_columns("tease", standard_setup(4), 0, num_deals=BLOCKS, seed=2)
    blocks = play_blocks([NON_BUYERS["tease"](0), *[make_overbidder(0)] * 3], num_deals=BLOCKS, seed=2)
    with_sack, without = np.zeros(BLOCKS), np.zeros(BLOCKS)
    for block, game in np.ndindex(blocks.seats.shape[:2]):
        bought = (blocks.rounds["winner"][block, game] == blocks.seats[block, game, 0]).any()
        (with_sack if bought else without)[block] += blocks.measures["win_share"][block, game, 0] / 4
    assert columns["win_share"] == pytest.approx(without)
    assert with_sack.sum() > 0  # these victories do not count
    assert columns["sacks"].sum() > 0
    assert compute_non_buyer_columns("pass", standard_setup(4), 0, num_deals=BLOCKS, seed=2)["sacks"].sum() == 0


@pytest.mark.parametrize(
    ("shares", "expected"),
    [([0.0, 0.2, 0.3], 3.0), ([0.3, 0.1, 0.2], 0.0), ([0.0, 0.1, 0.2], np.inf), ([0.0, 0.25, 0.1], 2.0)],
)
def test_crossing_is_where_the_curve_first_reaches_par(shares, expected):
    assert find_crossing(np.array([0.0, 2.0, 4.0]), np.array(shares), 0.25) == pytest.approx(expected)


def test_estimates_are_those_of_each_column_alone():
    columns = np.random.default_rng(1).normal(size=(40, 3))
    made = estimate_columns({"one": columns[:, 0], "many": columns})
    for estimate, column in zip([made["one"], *made["many"]], [columns[:, 0], *columns.T], strict=True):
        expected = [column.mean(), *np.percentile(resample_means(column), INTERVAL), 40]
        assert list(estimate.values()) == pytest.approx(expected, abs=1e-5)


def test_where_there_is_nothing_to_average_there_is_no_estimate():
    column = linearise_ratio(np.zeros(4), np.zeros(4))
    assert estimate_columns({"none": column, "one": np.ones(4)})["none"] is None


def test_a_row_is_worth_what_the_rules_say_whoever_laid_it():
    rows = np.array([[0, 3, 6, 6], [LARGE_DOG, 3, 6, 6]])
    assert compute_sack_values(rows).tolist() == [CARD_VALUES[0] + 5 + 15 + 15, 5 + 15]


def test_the_same_seed_gives_the_same_answers_and_another_seed_others():
    first, again, other = (
        [anatomy.measure_copies(copies) for copies in anatomy.list_copies(replace(SMALL, seed=seed))]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_every_figure_can_be_drawn_from_the_answers_of_a_small_run(tmp_path):
    answers = [anatomy.measure_copies(copies) for copies in anatomy.list_copies(SMALL)]
    non_buyers = [measure_non_buyer("pass", standard_setup(4), num_deals=2, seed=1)]
    drawn = draw_figures({"tables": answers, "non_buyers": non_buyers})
    assert set(drawn) == {*FIGURES, "non_buyers"}
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png")
        for axis in figure.axes:
            assert axis.get_xlabel()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"players": ("anchor", "nobody")}, "--players: no player 'nobody'"),
        ({"players": ()}, "--players must name a player"),
        ({"num_players": (4, 6)}, "--num-players must be one of [3, 4, 5], not 6"),
        ({"setup": ("standard-9",)}, "--setup: no setup 'standard-9'"),
        ({"num_deals": 0}, "--num-deals must be at least 2, not 0"),
        ({"curve_deals": 1}, "--curve-deals must be at least 2"),
        ({"tremble": 1.5}, "--tremble must be 0 to 1, not 1.5"),
        ({"seed": -1}, "--seed must be at least 0, not -1"),
    ],
)
def test_impossible_settings_are_refused_with_the_name_of_the_option(changes, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        replace(SMALL, **changes)


def test_the_default_settings_are_the_three_standard_setups():
    assert [setup.seats for setup in Config().setups] == [3, 4, 5]


def test_a_setup_of_ones_own_is_measured_by_its_name(tmp_path):
    path = tmp_path / "poor.json"
    path.write_text('{"seats": 4, "mouse_cards": [2, 4, 5], "bank": 27}')
    (copies,) = anatomy.list_copies(replace(SMALL, setup=(str(path),)))
    row = anatomy.measure_copies(copies)
    assert row["setup"].startswith("custom-4-")
    assert row["num_players"] == 4
    assert play_copies(copies).rounds["mice"].max() == 11  # all mouse cards are full


def test_the_command_reports_an_unknown_player_without_a_traceback():
    command = [sys.executable, "-m", "experiments", "anatomy", "--players", "nobody"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "error: --players: no player 'nobody'" in done.stderr
