"""Games of a dataset in other formats: `python -m agents export games.npz --out games.parquet`."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from rich.console import Console

from agents.tools.command import explain_missing_extra
from agents.tools.files import UserError, write_atomically
from agents.tools.settings import check_at_least, require
from felicity_env.dataset import SPLITS, Dataset
from felicity_env.game import RULES_VERSION
from felicity_env.notation import dumps
from felicity_env.setups import define_setup

MINARI = "minari:"
_ROWS_AT_ONCE = 10_000


@dataclass(frozen=True)
class Config:
    """Export the games of a dataset to JSON lines, to Parquet, or to Minari with what one seat saw."""

    games: Annotated[Path, tyro.conf.Positional]
    """File that `python -m agents dataset` wrote."""
    out: str
    """File to write, which ends in .jsonl or .parquet, or `minari:NAME`, such as minari:felicity/ev-v0."""
    part: str | None = None
    """Part of the games: train (80 % of all deals), validation (10 %) or test (10 %). Default: all games."""
    notation: bool = False
    """Add a column with each game in text notation (not for Minari)."""
    seat: int = 0
    """Seat whose decisions are the episodes for Minari."""

    def __post_init__(self) -> None:
        is_known = self.out.startswith(MINARI) or Path(self.out).suffix in (".jsonl", ".parquet")
        require(is_known, f"--out must end in .jsonl or .parquet, or begin with {MINARI}, not {self.out}")
        require(self.part in (None, *SPLITS), f"--part must be {', '.join(SPLITS)}, not {self.part}")
        check_at_least(self, seat=0)


def main(config: Config) -> None:
    """Read the games, export them, and print where they are."""
    games = Dataset.load(config.games)
    games = games if config.part is None else games.split(config.part)
    if not len(games):
        where = config.games if config.part is None else f"the part {config.part} of {config.games}"
        raise UserError(f"there are no games in {where}")
    if config.out.startswith(MINARI):
        from agents.data.minari_export import export_to_minari

        export_to_minari(games, config.out.removeprefix(MINARI), config.seat)
    else:
        path = Path(config.out)
        if path.exists():
            raise UserError(f"{path} exists; choose another file with --out, or delete it")
        write = write_json_lines if path.suffix == ".jsonl" else write_parquet
        write_atomically(path, lambda part: write(games, part, notation=config.notation))
    Console().print(f"{len(games):,} games are in {config.out}", highlight=False, soft_wrap=True)


def list_rows(games: Dataset, *, notation: bool) -> Iterator[dict[str, Any]]:
    """Yield each game as a dictionary with the columns of the exported files."""
    setup = define_setup(games.setup)
    for index in range(len(games)):
        game, rows = games.game(index), games.take(slice(index, index + 1))
        row = {"rules_version": RULES_VERSION, "setup": setup, **asdict(game.deal)}
        row |= {"players": [games.players[k] for k in rows.seating[0]], "seed": int(rows.seeds[0])}
        row |= {"actions": list(game.actions), "scores": rows.scores[0].tolist()}
        if len(rows.probabilities):
            row["probabilities"] = [None if np.isnan(p) else round(float(p), 4) for p in rows.probabilities]
        yield row | ({"notation": dumps(game)} if notation else {})


def write_json_lines(games: Dataset, path: Path, *, notation: bool) -> None:
    """Write each game as one line of JSON."""
    with path.open("w", encoding="utf-8") as file:
        for row in list_rows(games, notation=notation):
            file.write(json.dumps(row) + "\n")


def write_parquet(games: Dataset, path: Path, *, notation: bool) -> None:
    """Write the games as a table of Apache Parquet, one row for each game."""
    with explain_missing_extra("Parquet", "data"):
        import pyarrow
        import pyarrow.parquet
    rows = list_rows(games, notation=notation)
    with ExitStack() as files:
        writer = None
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            table = pyarrow.Table.from_pylist(some)
            writer = writer or files.enter_context(
                pyarrow.parquet.ParquetWriter(path, table.schema, compression="zstd")
            )
            writer.write_table(table)
