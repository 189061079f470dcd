"""What bounded and estimated answers have in common: cross-tables of ranges, files, words."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.output import Answer, Line
from adtc.cli.provenance import provenance
from adtc.cli.running import interrupted

if TYPE_CHECKING:
    from adtc.profiles.crosstab import Crosstab
    from adtc.profiles.inexact.brackets import BracketTable
    from adtc.profiles.inexact.ranged import Ranged

Files = tuple[Path | None, Path | None]
"""Where a cross-table is drawn, and where it is written as a page."""


@dataclass(frozen=True, slots=True)
class Saved:
    """Where a profile is to be saved, and whether its rows go along."""

    path: Path | None
    rows: bool

    def answer(
        self, asked: Asked, found: "Ranged", metrics: dict[str, Any], lines: list[Line]
    ) -> Answer:
        """Save a profile if asked for, and answer with what is known of its trees."""
        found.record.details["made"] = provenance(asked.table)
        path = None if interrupted() else self.path
        if path is not None:
            found.save(path, rows=self.rows)
        return Answer(
            {
                **found.count.to_json(),
                "status": found.status,
                "num_cells": found.record.num_cells if found.status != "estimated" else None,
                "cell_scan": found.record.cell_scan,
                "path": None if path is None else str(path),
                "metrics": metrics,
                "record": found.record.to_json(),
            },
            [
                text.answer(found.count, _status(found)),
                *lines,
                Line(""),
                how(found),
                *([] if path is None else self.lines(found)),
                *text.footer(found.record),
            ],
        )

    def lines(self, found: "Ranged") -> list[Line]:
        """Say where a profile was saved, and what the file is good for."""
        assert self.path is not None
        size = text.file_size(self.path.stat().st_size)
        rows = "with the binarised rows" if self.rows else "without the rows"
        kind = f"{found.status}, {rows}; it holds ranges, and no trees"
        return [Line(""), Line(f"saved: {self.path} ({size}, {kind})", "bold")]


def table_answer(
    found: "Ranged",
    axes: tuple[str, str],
    bins: Any,
    files: Files,
    source: Asked | None = None,
) -> Answer:
    """Answer with a cross-table whose cells are ranges; draw and write it if asked for."""
    table = found.crosstab(*axes, bins=bins)
    paths = written(table, files)
    saved = {} if source is None else {"source": source.table, "where": source.where}
    told = (None, None) if source is None else (source.table, source.where)
    return Answer(
        {
            **table.to_json(),
            **{k: v for k, v in table.total.to_json().items() if k in ("count", "log10")},
            "total": table.total.to_json(),
            "status": table.status,
            "files": paths,
            **saved,
            "record": table.record.to_json(),
        },
        [
            text.table_answer(table.total, table.status, table.x, table.y),
            Line(""),
            *map(Line, table.to_text().splitlines()),
            Line(""),
            how(found),
            *text.files(paths),
            *text.footer(table.record, *told),
        ],
    )


def written(table: "Crosstab | BracketTable", files: Files) -> list[str]:
    """Draw a table and write it as a page, where asked for; return the files."""
    plot, html = files
    if plot is not None:
        table.plot().save(plot)
    if html is not None:
        _write_page(html, table)
    return [str(path) for path in files if path is not None]


def _write_page(path: Path, table: "Crosstab | BracketTable") -> None:
    """Write a table as a page, so that a browser opens it from disk."""
    from html import escape

    from adtc.atomic import write_whole

    title = escape(f"{table.x} by {table.y}")
    head = f'<meta charset="utf-8">\n<title>{title}</title>'
    write_whole(path, f'<!DOCTYPE html>\n<html lang="en">\n{head}\n{table.to_html()}\n</html>\n')


def refuse_shares(status: str, shares: str | None) -> None:
    """Say that shares of ranges are not known."""
    from adtc.errors import QueryError

    if shares is not None:
        raise QueryError(
            f"--shares needs exact counts, and these are {status}: leave it out, or ask for an "
            f"exact table."
        )


def how(found: "Ranged") -> Line:
    """Say how the ranges were found, and how sure they are."""
    from adtc.profiles.inexact.bounding import BoundedProfile
    from adtc.profiles.inexact.estimating import EstimatedProfile

    if isinstance(found, EstimatedProfile):
        return Line(
            f"estimated from {found.draws:,} draws, seed {found.seed}: all intervals hold at once "
            f"with a probability of {found.confidence:.0%}"
        )
    assert isinstance(found, BoundedProfile)
    rows = f"{found.width:,g} row{'s'[: found.width != 1]}"
    return Line(
        f"counted in steps of {rows}, in {found.record.num_cells:,} cells: the numbers surely lie "
        f"in their ranges; a smaller --step, or a condition on what you look at, narrows them"
    )


def _status(found: "Ranged") -> str:
    return found.count.status if found.status == "estimated" else found.status
