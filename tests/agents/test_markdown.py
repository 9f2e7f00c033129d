"""Text for Markdown pages: estimates with their intervals, and tables."""

from agents.tools.markdown import format_estimate, format_table


def test_an_estimate_stands_with_its_interval_and_what_rounds_to_0_has_no_sign():
    assert format_estimate({"value": 0.3117, "low": -0.2, "high": 1234.5}, digits=2) == "0.31 (-0.20 to 1,234.50)"
    assert format_estimate({"value": -0.0001, "low": -0.0004, "high": 0.0004}) == "0.000 (0.000 to 0.000)"


def test_a_bar_in_a_cell_does_not_end_it():
    assert format_table(["a", "b"], [[1, "x|y"]]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |"
