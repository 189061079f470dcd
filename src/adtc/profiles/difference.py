"""What changed between two profiles over the same metrics: shares of trees, exactly.

Original against class-balanced data, train against test, before against after preprocessing.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from adtc.algebra.formula import Formula
from adtc.engine.exact.values import Value
from adtc.errors import QueryError
from adtc.hooks import hook
from adtc.profiles.bins import Codes, joined, make_bins
from adtc.profiles.crosstab import BinsWanted, Crosstab, count_cells, per_axis
from adtc.profiles.profile import Profile, joint_codes
from adtc.profiles.writing import aligned, approximate, fixed, grouped, html_table, write_csv


@dataclass(frozen=True, slots=True)
class Row:
    """One combination of metric values, with the trees that have it in either profile."""

    values: tuple[Value, ...]
    first: int
    second: int
    difference: Fraction
    """Share of the first profile's trees minus share of the second's."""


@dataclass(frozen=True, eq=False)
class Difference:
    """Two profiles side by side.

    Parameters
    ----------
    titles
        What the two are called.
    """

    first: Profile
    second: Profile
    titles: tuple[str, str]
    _codes: tuple[Codes, Codes] = field(repr=False)
    _values: tuple[tuple[Value, ...], ...] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the metrics."""
        return self.first.names

    def rows(self) -> list[Row]:
        """Compare every combination of values that occurs in either, in ascending order."""
        totals = self.first.total, self.second.total
        return [
            Row(values, a, b, _change((a, b), totals))
            for values, a, b in zip(self._values, *self._counts(), strict=True)
        ]

    @property
    def distance(self) -> Fraction:
        """Half the sum of all differences: the share of trees that would have to move."""
        a, b = self.first.total, self.second.total
        moved = sum(abs(m * (b or 1) - n * (a or 1)) for m, n in zip(*self._counts(), strict=True))
        return Fraction(moved, 2 * (a or 1) * (b or 1))

    def crosstab(
        self,
        x: str,
        y: str,
        *,
        bins: BinsWanted = 10,
        where: str | Formula | None = None,
        round_edges: bool = False,
    ) -> "DifferenceTable":
        """Compare shares by two metrics, in bins that both profiles share.

        The parameters are those of `crosstab`; shares are of the trees that satisfy ``where``.
        """
        pair = [profile.where(where) for profile in self._profiles]
        axes = []
        for metric, wanted in zip((x, y), per_axis(bins), strict=True):
            columns = [profile.column(metric) for profile in pair]
            axes.append(make_bins(metric, columns, wanted, round_edges=round_edges))
        (x_bins, x_codes), (y_bins, y_codes) = axes
        asked = None if where is None else str(where)
        tables = []
        for profile, i, j in zip(pair, x_codes, y_codes, strict=True):
            counts = count_cells(profile, i, j, len(x_bins), len(y_bins))
            tables.append(Crosstab(x_bins, y_bins, counts, profile, asked, i, j))
        return DifferenceTable(tables[0], tables[1], self.titles)

    def to_text(self, most: int = 20) -> str:
        """Write the largest differences, one line each."""
        rows = sorted(self.rows(), key=lambda row: -abs(row.difference))[:most]
        head = [*self.names, *self.titles, "difference of shares"]
        lines = [
            [
                *map(approximate, row.values),
                grouped(row.first),
                grouped(row.second),
                _percent(row.difference),
            ]
            for row in rows
        ]
        return aligned([head, *lines])

    def _counts(self) -> list[list[int]]:
        n = len(self._values)
        return [p.totals(c, n) for p, c in zip(self._profiles, self._codes, strict=True)]

    @property
    def _profiles(self) -> tuple[Profile, Profile]:
        return self.first, self.second


@dataclass(frozen=True, eq=False)
class DifferenceTable:
    """Two cross-tables with the same bins, and the difference of their shares."""

    first: Crosstab
    second: Crosstab
    titles: tuple[str, str]

    @property
    def differences(self) -> tuple[tuple[Fraction, ...], ...]:
        """Return per cell the share in the first minus the share in the second, exactly."""
        totals = self.first.total, self.second.total
        return tuple(
            tuple(_change(counts, totals) for counts in zip(*rows, strict=True))
            for rows in zip(self.first.counts, self.second.counts, strict=True)
        )

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Write an aligned table of differences in percentage points."""
        return aligned(self._rows())

    def to_html(self) -> str:
        """Write one self-contained HTML table of differences in percentage points."""
        caption = f"Share of trees, {self.titles[0]} minus {self.titles[1]}"
        return html_table(self._rows(), caption)

    def to_json(self) -> dict[str, Any]:
        """Return bins, both counts and the differences as plain JSON values."""
        return {
            "x": self.first.x_bins.to_json(),
            "y": self.first.y_bins.to_json(),
            "titles": list(self.titles),
            "first": [list(row) for row in self.first.counts],
            "second": [list(row) for row in self.second.counts],
            "differences": [[float(d) for d in row] for row in self.differences],
            "exact": [[str(d) for d in row] for row in self.differences],
        }

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the differences of shares, as fractions."""
        head, *labels = ([row[0], *row[1:]] for row in self._rows())
        exact = [
            [row[0], *map(str, values)]
            for row, values in zip(labels, self.differences, strict=True)
        ]
        write_csv(path, [head, *exact])

    def plot(self, **options: Any) -> Any:
        """Draw the difference map; see ``adtc.show.plot`` for the options."""
        # `show` stands above this room; a method that people expect here may reach for it late.
        return hook("plot")(self, **options)

    def _rows(self) -> list[list[str]]:
        table = self.first
        head = [f"{table.x} \\ {table.y}", *table.y_bins.labels]
        pairs = zip(table.x_bins.labels, self.differences, strict=True)
        return [head, *([label, *map(_percent, row)] for label, row in pairs)]


def difference(
    first: Profile, second: Profile, *, titles: Sequence[str] = ("first", "second")
) -> Difference:
    r"""Compare two profiles over the same metrics: shares in the first minus in the second.

    Parameters
    ----------
    titles
        What to call the two in tables and pictures.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> everything = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> good = difference(everything.where("error <= 1"), everything, titles=("good", "all"))
    >>> print(good.crosstab("size", "error", bins="values"))
    size \ error       0       1       2       3
    1              0.0%  +16.7%  -16.7%    0.0%
    2            +16.7%  +16.7%  -16.7%  -16.7%
    """
    if first.names != second.names:
        raise QueryError(
            f"the two profiles have different metrics ({', '.join(first.names)} and "
            f"{', '.join(second.names)}): make both with the same ones, in the same order."
        )
    if isinstance(titles, str) or len(titles) != 2:  # noqa: PLR2004
        raise QueryError(f"titles is {titles!r}, expected two names, one for each profile.")
    codes, values = _joint(first, second)
    cut = len(first.trees)
    return Difference(
        first, second, (str(titles[0]), str(titles[1])), (codes[:cut], codes[cut:]), values
    )


def _joint(first: Profile, second: Profile) -> tuple[Codes, tuple[tuple[Value, ...], ...]]:
    """Give numbers to the combinations of values that occur in either profile, ascending."""
    both = [joined([first.column(name), second.column(name)])[0] for name in first.names]
    joint = joint_codes(values.codes for values in both)
    at = np.unique(joint, return_index=True)[1]
    parts = [[values.distinct[code] for code in values.codes[at].tolist()] for values in both]
    return joint, tuple(zip(*parts, strict=True))


def _change(counts: Sequence[int], totals: tuple[int, int]) -> Fraction:
    """Return the difference of two shares; a share of no trees counts as 0."""
    (m, n), (a, b) = counts, (total or 1 for total in totals)
    return Fraction(m * b - n * a, a * b)


def _percent(share: Fraction) -> str:
    text = fixed(100 * share, 1)
    return f"+{text}%" if share > 0 and text != "0.0" else f"{text}%"
