"""Short names of players."""

from agents.player_names import shorten_codes


def test_long_names_lose_their_middle_unless_they_would_be_equal():
    runs = [f"net:runs/standard-4-seed0-20261125-10223{k}" for k in range(2)]
    assert shorten_codes(["ev", *runs]) == {
        "ev": "ev",
        runs[0]: "net:stan…-102230",
        runs[1]: "net:stan…-102231",
    }
    others = [f"net:standard-{k}-seed0-20261125" for k in range(2)]
    assert shorten_codes(others) == {code: code for code in others}
