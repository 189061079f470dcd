"""Cross-tables: exact numbers of trees by two metrics (the model profiles of Sec. 5.4)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.engine.record import Status
from adtc.errors import QueryError
from adtc.hooks import hook
from adtc.profiles.bins import AxisBins, Bins, Codes, Edge, make_bins
from adtc.profiles.profile import Profile
from adtc.profiles.writing import aligned, grouped, html_table, short, write_csv

Counts = tuple[tuple[int, ...], ...]
Shares = tuple[tuple[Fraction | None, ...], ...]
BinsWanted = AxisBins | Sequence[Edge] | tuple[AxisBins, AxisBins]

_PAIR = 2  # axes
_SCREEN = 100  # columns of text before counts are shortened


@dataclass(frozen=True, eq=False)
class Crosstab:
    """Trees counted by two metrics.

    Parameters
    ----------
    x_bins, y_bins
        What the rows and the columns of ``counts`` stand for.
    counts
        ``counts[i][j]`` trees are in bin i of x and bin j of y.
    profile
        The trees that were counted; None for a table that was made by hand.
    where
        The formula that was asked for on top of the profile's own.
    """

    x_bins: Bins
    y_bins: Bins
    counts: Counts
    profile: Profile | None = None
    where: str | None = None
    x_codes: Codes | None = field(default=None, repr=False)
    y_codes: Codes | None = field(default=None, repr=False)

    @property
    def x(self) -> str:
        """Name the metric of the rows."""
        return self.x_bins.name

    @property
    def y(self) -> str:
        """Name the metric of the columns."""
        return self.y_bins.name

    @property
    def x_totals(self) -> tuple[int, ...]:
        """Count the trees of each bin of x."""
        return tuple(sum(row) for row in self.counts)

    @property
    def y_totals(self) -> tuple[int, ...]:
        """Count the trees of each bin of y."""
        return tuple(sum(row[j] for row in self.counts) for j in range(len(self.y_bins)))

    @property
    def total(self) -> int:
        """Count all trees: the cells of a cross-table leave none out."""
        return sum(self.x_totals)

    @property
    def status(self) -> Status:
        """Say whether these are all trees that were asked for, or what a limit left of them."""
        return "exact" if self.profile is None else self.profile.status

    @property
    def part(self) -> str:
        """Name the part that a limit left, ", partial: exact for depth …"; else nothing."""
        if self.profile is None or self.status == "exact":
            return ""
        return f", {self.profile.record.status_text}"

    def __str__(self) -> str:
        full = self.to_text()
        wide = max(map(len, full.splitlines())) > _SCREEN
        table = self.to_text(shorten=True) if wide else full
        return f"{table}\n{self.part[2:]}".rstrip()

    def shares(self, of: Literal["all", "x", "y"] = "all") -> Shares:
        """Return exact shares of all trees, or of the trees in each bin of x or of y.

        A share of no trees at all is None.
        """
        if of not in ("all", "x", "y"):
            raise QueryError(f"of is {of!r}, expected 'all', 'x' or 'y'.")
        rows, columns, total = self.x_totals, self.y_totals, self.total

        def whole(i: int, j: int) -> int:
            return {"all": total, "x": rows[i], "y": columns[j]}[of]

        return tuple(
            tuple(Fraction(n, whole(i, j)) if whole(i, j) else None for j, n in enumerate(row))
            for i, row in enumerate(self.counts)
        )

    def cell(self, i: int, j: int) -> str:
        """Write the formula that selects the trees of a cell."""
        self._check(i, j)
        parts = [self.x_bins[i].condition(self.x), self.y_bins[j].condition(self.y)]
        return " and ".join([f"({self.where})", *parts] if self.where else parts)

    def mask(self, i: int, j: int) -> npt.NDArray[np.bool_]:
        """Tell which cells of ``profile`` are in a cell of the table, undefined ones included."""
        self._check(i, j)
        if self.x_codes is None or self.y_codes is None:
            raise QueryError("this cross-table was made without a profile: it selects no trees.")
        inside: npt.NDArray[np.bool_] = (self.x_codes == i) & (self.y_codes == j)
        return inside

    def select(self, i: int, j: int) -> Profile:
        """Return the profile of the trees in a cell."""
        inside = self.mask(i, j)
        assert self.profile is not None  # mask needs it
        return self.profile.take(inside)

    def to_text(self, *, shorten: bool = False, margins: bool = True) -> str:
        """Write an aligned table; ``shorten`` writes large counts as 1.23e15."""
        if not self.total and not (self.x_bins and self.y_bins):
            return f"{self.x} by {self.y}: no tree"
        return aligned(self._rows(short if shorten else grouped, margins))

    def to_html(self, *, shorten: bool = False, margins: bool = True) -> str:
        """Write one self-contained HTML table with headers for rows and columns."""
        caption = f"Number of trees by {self.x} (rows) and {self.y} (columns){self.part}"
        return html_table(self._rows(short if shorten else grouped, margins), caption)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_json(self) -> dict[str, Any]:
        """Return bins and counts as plain JSON values."""
        return {
            "x": self.x_bins.to_json(),
            "y": self.y_bins.to_json(),
            "counts": [list(row) for row in self.counts],
            "count": self.total if self.status == "exact" else None,
            "status": self.status,
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the counts in full, without margins."""
        write_csv(path, self._rows(str, margins=False))

    def plot(self, **options: Any) -> Any:
        """Draw the heat map; see ``adtc.show.plot`` for the options."""
        # `show` stands above this room; a method that people expect here may reach for it late.
        return hook("plot")(self, **options)

    def _rows(self, write: Any, margins: bool) -> list[list[str]]:
        head = [f"{self.x} \\ {self.y}", *self.y_bins.labels]
        rows = [
            [label, *map(write, row)]
            for label, row in zip(self.x_bins.labels, self.counts, strict=True)
        ]
        if not margins:
            return [head, *rows]
        sums = [[*row, write(n)] for row, n in zip(rows, self.x_totals, strict=True)]
        return [[*head, "all"], *sums, ["all", *map(write, self.y_totals), write(self.total)]]

    def _check(self, i: int, j: int) -> None:
        shape = len(self.x_bins), len(self.y_bins)
        if not (0 <= i < shape[0] and 0 <= j < shape[1]):
            raise QueryError(
                f"there is no cell ({i}, {j}): the table has {shape[0]} bins of {self.x} and "
                f"{shape[1]} of {self.y}, counted from 0."
            )


def crosstab(
    profile: Profile,
    x: str,
    y: str,
    *,
    bins: BinsWanted = 10,
    where: str | Formula | None = None,
    round_edges: bool = False,
) -> Crosstab:
    r"""Count the trees of a profile by two metrics.

    Parameters
    ----------
    x, y
        Metrics of the profile, or terms over them.
    bins
        A number of equal-width bins between the least and the largest value; or a list of edges;
        or ``"values"`` for one bin per value; or a pair of these for x and y. Whole numbers with
        few values keep their own bins. A pair of whole numbers is two numbers of bins, so write
        two whole edges as a list.
    where
        Count only trees that satisfy this formula.
    round_edges
        Let equal-width bins begin and end at round numbers; there may be fewer of them.

    Notes
    -----
    The model profile of Sec. 5.4. Counts are exact and always sum to the number of trees: there
    are extra bins for undefined values and for values outside given edges, where they occur.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> table = crosstab(found, "size", "error", bins=("values", [0, 1, 3]))
    >>> print(table)
    size \ error  [0, 1)  [1, 3]  all
    1                  0       2    2
    2                  1       3    4
    all                1       5    6
    >>> table.cell(1, 0)
    'size = 2 and error >= 0 and error < 1'
    """
    chosen = profile.where(where)
    for_x, for_y = per_axis(bins)
    x_bins, x_codes = _placed(chosen, x, for_x, round_edges=round_edges)
    y_bins, y_codes = _placed(chosen, y, for_y, round_edges=round_edges)
    counts = count_cells(chosen, x_codes, y_codes, len(x_bins), len(y_bins))
    asked = None if where is None else str(where)
    return Crosstab(x_bins, y_bins, counts, chosen, asked, x_codes, y_codes)


def _placed(
    profile: Profile, name: str, wanted: AxisBins, *, round_edges: bool
) -> tuple[Bins, Codes]:
    """Make the bins of a metric, and tell which cell is in which."""
    columns = profile.column_in_parts(name)
    bins, codes = make_bins(name, columns, wanted, round_edges=round_edges)
    return bins, np.concatenate(codes)


def count_cells(profile: Profile, x_codes: Codes, y_codes: Codes, nx: int, ny: int) -> Counts:
    """Count the trees in each pair of bins."""
    totals = profile.totals(x_codes * ny + y_codes, nx * ny)
    return tuple(tuple(totals[i * ny : (i + 1) * ny]) for i in range(nx))


def per_axis(bins: Any) -> tuple[AxisBins, AxisBins]:
    """Tell a pair of wishes from one wish for both axes."""
    if isinstance(bins, tuple) and len(bins) == _PAIR:
        x, y = bins
        if all(one == "values" or isinstance(one, int | list | tuple | np.ndarray) for one in bins):
            return x, y
    if isinstance(bins, list) and len(bins) == _PAIR and not any(map(np.isscalar, bins)):
        return bins[0], bins[1]  # lists are no edges
    return bins, bins
