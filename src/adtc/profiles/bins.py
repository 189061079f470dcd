"""The bins of an axis: exact ranges or single values, and which cell of a profile is in which.

A range holds its lower edge and not its upper one, except the last, which holds both. Values
outside given edges and undefined ones get bins of their own, but only where they occur.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, isfinite
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Number
from adtc.engine.exact.columns import Ratios, floats, fractions, least_at
from adtc.engine.exact.values import Values, distinct_values
from adtc.errors import QueryError
from adtc.profiles.writing import json_number, labels_of
from adtc.text import is_whole

Kind = Literal["range", "value", "below", "above", "undefined"]
Edge = int | float | str | Fraction
AxisBins = int | str | Sequence[Edge]
Codes = npt.NDArray[np.int64]

MOST = 1000
"""Most bins of an axis."""

_NEAR = 1e-12  # relative: far more than the rounding of a quotient of two integers
_FEW = 1000
_TINY = 1e-300  # so that a value is near an edge of 0, too


@dataclass(frozen=True, slots=True)
class Bin:
    """Some values of a metric.

    Parameters
    ----------
    low, high
        The edges, None where there is none; both are the value if it is a single one.
    closed
        Whether ``high`` belongs to the bin.
    """

    kind: Kind
    low: Fraction | None = None
    high: Fraction | None = None
    closed: bool = False

    def condition(self, metric: str) -> str:
        """Write as a formula that a metric is in the bin."""
        low = "" if self.low is None else str(Number(self.low))
        high = "" if self.high is None else str(Number(self.high))
        match self.kind:
            case "range":
                return f"{metric} >= {low} and {metric} {'<=' if self.closed else '<'} {high}"
            case "value":
                return f"{metric} = {low}"
            case "below":
                return f"{metric} < {high}"
            case "above":
                return f"{metric} > {low}"
        raise QueryError(
            f"no formula selects the trees whose {metric} is undefined: undefined satisfies none; "
            f"use select(i, j) or mask(i, j)."
        )


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins of one axis, in ascending order: below, ranges or values, above, undefined."""

    name: str
    bins: tuple[Bin, ...]

    def __len__(self) -> int:
        return len(self.bins)

    def __iter__(self) -> Iterator[Bin]:
        return iter(self.bins)

    def __getitem__(self, at: int) -> Bin:
        return self.bins[at]

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """The edges of the ranges; empty for single values."""
        ranges = [b for b in self.bins if b.kind == "range"]
        lows = [b.low for b in ranges if b.low is not None]
        return (*lows, *(b.high for b in ranges[-1:] if b.high is not None))

    @property
    def values(self) -> tuple[Fraction, ...]:
        """The single values; empty for ranges."""
        return tuple(b.low for b in self.bins if b.kind == "value" and b.low is not None)

    @property
    def undefined(self) -> bool:
        """Whether the last bin holds undefined values."""
        return bool(self.bins) and self.bins[-1].kind == "undefined"

    @property
    def labels(self) -> tuple[str, ...]:
        """Name the bins, with as many decimals as tell the edges apart."""
        known = sorted({edge for b in self.bins for edge in (b.low, b.high) if edge is not None})
        text = dict(zip(known, labels_of(known), strict=True))
        return tuple(_label(b, text) for b in self.bins)

    def to_json(self) -> dict[str, Any]:
        """Return the bins as plain JSON values; ``exact`` holds what floats cannot."""
        numbers = self.edges or self.values
        return {
            "metric": self.name,
            "edges" if self.edges else "values": [json_number(number) for number in numbers],
            "exact": [str(number) for number in numbers],
            "bins": list(self.labels),
            "kinds": [b.kind for b in self.bins],
        }


def make_bins(
    name: str, columns: Iterable[Ratios], wanted: AxisBins, *, round_edges: bool = False
) -> tuple[Bins, list[Codes]]:
    """Make the bins of a metric and tell which cell of each column is in which.

    Several columns, of several profiles or parts of one, share their bins; they are gone through
    several times.
    """
    if isinstance(wanted, str) and wanted != "values":
        raise QueryError(
            f"bins is '{wanted}', expected a number of bins, a list of edges, or 'values'."
        )
    if isinstance(wanted, str):
        return _by_value(name, columns)
    if not is_whole(wanted):
        return _by_edge(name, columns, read_edges(wanted))
    if not 1 <= wanted <= MOST:
        raise QueryError(f"bins is {wanted}, expected a whole number from 1 to {MOST:,}.")
    limits = [limit for column in columns for limit in _limits(column)]
    if not limits:
        return _by_edge(name, columns, ())
    least, largest = min(limits), max(limits)
    whole = all(_all_whole(column) for column in columns)
    if whole and largest - least < wanted:
        return _by_integer(name, columns, int(least), int(largest))
    if least == largest:
        return _by_value(name, columns)
    if round_edges:
        return _by_edge(name, columns, _round_edges(least, largest, int(wanted), whole))
    width = (largest - least) / int(wanted)
    return _by_edge(name, columns, tuple(least + width * i for i in range(int(wanted) + 1)))


def _by_value(name: str, columns: Iterable[Ratios]) -> tuple[Bins, list[Codes]]:
    """Make one bin for each value that occurs."""
    found, cuts = joined(columns)
    known = [value for value in found.distinct if value is not None]
    if len(known) > MOST:
        raise QueryError(
            f"'{name}' has {len(known):,} values, and one bin per value allows {MOST:,}: "
            f"give a number of bins instead."
        )
    bins = _single_values(name, known, undefined=None in found.distinct)
    return bins, np.split(found.codes, cuts)


def _by_integer(
    name: str, columns: Iterable[Ratios], least: int, largest: int
) -> tuple[Bins, list[Codes]]:
    """Make one bin for each whole number, whether it occurs or not; all values are such."""
    n = largest - least + 1
    codes = [_integer_places(column, least, n) for column in columns]
    undefined = any(bool(np.any(places == n)) for places in codes)
    return _single_values(name, range(least, largest + 1), undefined=undefined), codes


def _integer_places(column: Ratios, least: int, undefined: int) -> Codes:
    nowhere = (column.bottom == 0).astype(bool)
    places = column.top // np.where(nowhere, 1, column.bottom) - least
    places[nowhere] = undefined
    return places.astype(np.int64)


def _single_values(name: str, values: Iterable[Fraction | int], *, undefined: bool) -> Bins:
    bins = [Bin("value", Fraction(v), Fraction(v), True) for v in values]
    return Bins(name, (*bins, *[Bin("undefined")][: int(undefined)]))


def joined(columns: Iterable[Ratios]) -> tuple[Values, list[int]]:
    """Find the distinct values of several columns together, and where each one after ends."""
    every = list(columns)
    top = np.concatenate([column.top for column in every])
    bottom = np.concatenate([column.bottom for column in every])
    ends = np.cumsum([len(column.top) for column in every])[:-1]
    return distinct_values(Ratios(top, bottom)), ends.tolist()


def _by_edge(
    name: str, columns: Iterable[Ratios], edges: tuple[Fraction, ...]
) -> tuple[Bins, list[Codes]]:
    """Make the ranges between edges, and bins around them for what occurs there."""
    n = max(0, len(edges) - 1)
    ranges = [Bin("range", edges[i], edges[i + 1], i == n - 1) for i in range(n)]
    if edges:
        every = [Bin("below", None, edges[0]), *ranges, Bin("above", edges[-1]), Bin("undefined")]
    else:
        every = [Bin("undefined")]
    placed = [_places(column, edges) for column in columns]
    occurs = np.zeros(len(every), bool)
    for places in placed:
        occurs[places] = True
    kept = np.array([b.kind == "range" for b in every], bool) | occurs
    number = np.cumsum(kept) - 1
    bins = tuple(b for b, keep in zip(every, kept, strict=True) if keep)
    return Bins(name, bins), [number[places] for places in placed]


def _places(column: Ratios, edges: tuple[Fraction, ...]) -> Codes:
    """Place each row: 0 below the edges, then the ranges, above, undefined.

    Floats place what is clear; what lies near an edge is compared exactly.
    """
    undefined = (column.bottom == 0).astype(bool)
    if not edges:
        return np.zeros(len(undefined), np.int64)
    near = floats(column)
    rough = np.array([float(edge) for edge in edges])
    around = _NEAR * np.abs(rough) + _TINY
    places = np.searchsorted(rough - around, near, side="left").astype(np.int64)
    unclear = places != np.searchsorted(rough + around, near, side="right")
    unclear &= ~undefined
    exact = distinct_values(Ratios(column.top[unclear], column.bottom[unclear]))
    # values that occur near an edge are few: many cells share them
    decided = [_place(Fraction(v), edges) for v in exact.distinct if v is not None]
    places[unclear] = np.array(decided, np.int64)[exact.codes]
    places[undefined] = len(edges) + 1
    return places


def _place(value: Fraction, edges: tuple[Fraction, ...]) -> int:
    return len(edges) - 1 if value == edges[-1] else bisect_right(edges, value)


def read_number(number: Any) -> Fraction:
    """Read a number as it is written: 0.1 is 1/10."""
    try:
        return _read_edge(number)
    except (TypeError, ValueError, ZeroDivisionError):
        raise QueryError(
            f"{number!r} is not a number; write it as 0.05, '0.05' or '1/20'."
        ) from None


def read_edges(wanted: Any) -> tuple[Fraction, ...]:
    """Read edges exactly: at least two, ascending."""
    try:
        edges = tuple(_read_edge(edge) for edge in wanted)
    except (TypeError, ValueError, ZeroDivisionError):
        raise QueryError(
            f"bins is {wanted!r}, expected a number of bins, a list of edges such as "
            f"[0.5, 0.75, 1], or 'values'."
        ) from None
    if len(edges) < 2:  # noqa: PLR2004
        raise QueryError(
            f"bins has {len(edges)} edges, expected at least two: a bin lies between two edges."
        )
    if len(edges) > MOST + 1:
        raise QueryError(f"bins has {len(edges):,} edges, expected at most {MOST + 1:,}.")
    for a, b in pairwise(edges):
        if a >= b:
            raise QueryError(f"the edges of bins must ascend, but {a} comes before {b}.")
    return edges


def _read_edge(edge: Any) -> Fraction:
    if isinstance(edge, float | np.floating):
        if not isfinite(edge):
            raise ValueError
        return Fraction(repr(float(edge)))
    return Fraction(int(edge) if isinstance(edge, np.integer) else edge)


def _round_edges(
    least: Fraction, largest: Fraction, most: int, whole: bool
) -> tuple[Fraction, ...]:
    """Choose the narrowest round bins, at most ``most`` of them, that hold all values."""
    power = Fraction(10) ** (len(str(floor(largest - least))) + 1)
    while power * most > (largest - least) / 10:
        power /= 10
    while True:
        power *= 10
        for factor in (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(5)):
            step = power * factor
            first, last = floor(least / step), ceil(largest / step)
            if last - first <= most and not (whole and step.denominator > 1):
                return tuple(step * i for i in range(first, last + 1))


def _limits(column: Ratios) -> list[Fraction]:
    """Return the least and the largest value, exactly; nothing if none is defined."""
    rows = [row for sign in (1, -1) if (row := least_at(column, sign)) is not None]
    found = fractions(Ratios(column.top[rows], column.bottom[rows]))
    return [value for value in found if value is not None]


def _all_whole(column: Ratios) -> bool:
    for some in (slice(_FEW), slice(None)):  # a ratio that is none mostly shows at once
        top, bottom = column.top[some], column.bottom[some]
        defined = bottom != 0
        if not bool(np.all(top[defined] % bottom[defined] == 0)):
            return False
    return True


def _label(one: Bin, text: dict[Fraction, str]) -> str:
    low = "" if one.low is None else text[one.low]
    high = "" if one.high is None else text[one.high]
    match one.kind:
        case "range":
            return f"[{low}, {high}{']' if one.closed else ')'}"
        case "value":
            return low
        case "below":
            return f"< {high}"
        case "above":
            return f"> {low}"
    return "undefined"
