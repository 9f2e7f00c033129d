"""A face for tests of endurance that keeps memory; new processes import it, so it imports little."""

from pathlib import Path

from experiments.checks import endurance


def begin_growing(seed: int, folder: Path) -> endurance.Play:
    """Begin to play on a face that keeps a hundred kilobytes of each decision."""
    kept: list[bytes] = []

    def play(decisions: int) -> int:
        kept.extend(bytes([1]) * 100_000 for _ in range(decisions))
        return decisions

    return play
