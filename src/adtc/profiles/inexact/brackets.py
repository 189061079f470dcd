"""Cross-tables of numbers that are not exactly known: a range in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adtc.engine.limits.bracket import Bracket
from adtc.engine.record import RunRecord, Status
from adtc.hooks import hook
from adtc.profiles.bins import Bins
from adtc.profiles.writing import aligned, grouped, html_table, outward, short

_DIGITS = 3  # of an end that is not written in full


@dataclass(frozen=True, eq=False)
class BracketTable:
    """Trees by two metrics, each number between bounds that are proved, or estimated.

    Parameters
    ----------
    cells
        ``cells[i][j]`` is the number of trees in bin i of x and bin j of y.
    x_totals, y_totals, total
        The same by one metric alone, and of all trees.
    """

    x_bins: Bins
    y_bins: Bins
    cells: tuple[tuple[Bracket, ...], ...]
    x_totals: tuple[Bracket, ...]
    y_totals: tuple[Bracket, ...]
    total: Bracket
    record: RunRecord

    @property
    def x(self) -> str:
        """Name the metric of the rows."""
        return self.x_bins.name

    @property
    def y(self) -> str:
        """Name the metric of the columns."""
        return self.y_bins.name

    @property
    def status(self) -> Status:
        """Say what kind of numbers these are."""
        return self.record.status

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Write an aligned table with a range in each cell."""
        return aligned(self._rows())

    def to_html(self) -> str:
        """Write one self-contained HTML table with headers for rows and columns."""
        caption = f"Number of trees by {self.x} (rows) and {self.y} (columns), {self.status}"
        return html_table(self._rows(), caption)

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self, **options: Any) -> Any:
        """Draw the heat map, a range in each cell; see ``adtc.show.plot`` for the options."""
        return hook("plot")(self, **options)

    def to_json(self) -> dict[str, Any]:
        """Return bins and brackets as plain JSON values; ``counts`` has exact numbers only."""
        told = {name: [[_part(one, name) for one in row] for row in self.cells] for name in _PARTS}
        return {
            "x": self.x_bins.to_json(),
            "y": self.y_bins.to_json(),
            "counts": told.pop("count"),
            **told,
        }

    def _rows(self) -> list[list[str]]:
        head = [f"{self.x} \\ {self.y}", *self.y_bins.labels, "all"]
        rows = [
            [label, *map(range_text, row), range_text(total)]
            for label, row, total in zip(self.x_bins.labels, self.cells, self.x_totals, strict=True)
        ]
        return [head, *rows, ["all", *map(range_text, self.y_totals), range_text(self.total)]]


_PARTS = ("count", "lower", "upper", "estimate")


def _part(one: Bracket, name: str) -> Any:
    return one.to_json()[name]


def range_text(one: Bracket) -> str:
    """Write a bracket in few characters: the interval where it is estimated.

    Examples
    --------
    >>> range_text(Bracket(7, 7)), range_text(Bracket(7, 1234567)), range_text(Bracket(7))
    ('7', '7..1.24e6', '≥7')
    """
    low, high = ends_of(one)
    return f"≥{end_text(low, up=False)}" if high is None else _between(low, high)


def ends_of(one: Bracket) -> tuple[int, int | None]:
    """Return the ends that are shown, as whole numbers: those of the interval if there is one."""
    if one.status != "exact" and one.estimate is not None:
        return one.estimate.low.__floor__(), one.estimate.high.__ceil__()
    lower = 0 if one.lower is None else one.lower.__floor__()
    return lower, None if one.upper is None else one.upper.__ceil__()


def _between(low: int, high: int) -> str:
    if low == high:
        return short(low)
    return f"{end_text(low, up=False)}..{end_text(high, up=True)}"


def end_text(count: int, *, up: bool) -> str:
    """Write an end in few characters, rounded outward where it is not written in full."""
    text = short(count)
    return text if text == grouped(count) else short(outward(count, _DIGITS, up=up), _DIGITS)


def table_of(
    bins: tuple[Bins, Bins],
    cells: Sequence[Sequence[Bracket]],
    totals: tuple[Sequence[Bracket], Sequence[Bracket], Bracket],
    record: RunRecord,
) -> BracketTable:
    """Put a table together."""
    x_totals, y_totals, total = totals
    return BracketTable(
        *bins, tuple(map(tuple, cells)), tuple(x_totals), tuple(y_totals), total, record
    )
