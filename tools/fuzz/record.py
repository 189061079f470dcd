"""The record of all runs, as a table in the docs: one line per target and seed, and their sums."""

from collections.abc import Sequence

import page

FIGURES = ["inputs", "accepted", "compared", "seconds", "MB", "findings"]
HEAD = ["target", "seed", *FIGURES, "date", "commit"]
Row = Sequence[str | int]


def added(content: str, row: Row, targets: Sequence[str]) -> str:
    """Put a line into the table of a page, in place of that with the same target and seed."""
    lines = {(line[0], line[1]): line for line in _read(content)} | {(row[0], row[1]): row}
    by_seed = sorted(lines.values(), key=lambda line: int(line[1] or 0))
    kept = [line for name in targets for line in by_seed if line[0] == name]
    columns = dict(zip(HEAD, zip(*kept, strict=True), strict=True))
    totals = [(max if name == "MB" else sum)(columns[name]) for name in FIGURES]
    told = page.table(HEAD, [*kept, ["all", "", *totals, "", ""]])
    return page.fill(content, {"fuzz": told})


def _read(content: str) -> list[Row]:
    return [
        [int(text.replace(",", "")) if name in FIGURES else text for name, text in line.items()]
        for line in page.rows(content, "fuzz")
    ]
