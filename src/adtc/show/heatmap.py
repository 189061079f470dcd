"""Cross-tables as heat maps: where the cells lie and what is written in them, then the picture.

Every bin is as wide as any other, so that counts stay readable; the edges say what it holds.
Bins of undefined values and of values outside the edges stand apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from adtc.engine.exact.values import Value
from adtc.engine.record import log10
from adtc.errors import QueryError
from adtc.profiles.bins import Bins
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.difference import DifferenceTable
from adtc.profiles.inexact.brackets import BracketTable, ends_of
from adtc.profiles.pareto import Front
from adtc.profiles.writing import fixed, labels_of
from adtc.show.style import count_forms, log_ticks, range_forms

Grid = list[list[float | None]]
Texts = list[list[str]]

_BELOW = 4  # the first form of ranges that takes two lines
GAP = 0.3  # of a cell, before bins that stand apart


@dataclass(frozen=True, slots=True)
class Tick:
    """A label on an axis; those that must stay are never thinned out."""

    place: float
    label: str
    stays: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """Where the bins of an axis lie: each is 1 wide.

    Parameters
    ----------
    starts
        Where each bin begins.
    blocks
        Stretches of neighbouring bins, from where to where.
    total
        Where the band of totals begins; None without one.
    """

    name: str
    starts: tuple[float, ...]
    blocks: tuple[tuple[float, float], ...]
    ticks: tuple[Tick, ...]
    total: float | None = None

    @property
    def length(self) -> float:
        """Return how many cells would fit on the axis."""
        last = self.starts[-1] if self.starts else -1.0
        return (last if self.total is None else self.total) + 1


@dataclass(frozen=True, slots=True)
class HeatMap:
    """All that a heat map shows.

    Parameters
    ----------
    shades
        Per bin of y, per bin of x a number for the colour; None for an empty cell.
    limits
        The numbers at the two ends of the colour scale.
    texts
        What may stand in the cells, from the exact form to the shortest, as ``texts[form][y][x]``.
    x_totals, y_totals
        The same for the bands of totals, the total of all at the end of ``x_totals``.
    """

    x: Axis
    y: Axis
    shades: Grid
    limits: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]
    scale: str
    texts: tuple[Texts, ...]
    x_totals: tuple[list[str], ...] = ()
    y_totals: tuple[list[str], ...] = ()
    line: tuple[tuple[float, float], ...] = ()
    line_name: str = ""
    steps: str = "steps-pre"
    diverging: bool = False


def axis_data(bins: Bins, *, total: bool = False) -> Axis:
    """Lay out the bins of an axis and label their edges or their values."""
    starts: list[float] = []
    blocks: list[tuple[float, float]] = []
    place, apart = 0.0, None
    for one in bins:
        now = one.kind if one.kind in ("below", "above", "undefined") else "inside"
        if apart is not None and now != apart:
            place += GAP
        if now != apart:
            blocks.append((place, place))
        starts.append(place)
        place, apart = place + 1, now
        blocks[-1] = (blocks[-1][0], place)
    ticks = _inner_ticks(bins, starts)
    for one, start, label in zip(bins, starts, bins.labels, strict=True):
        if one.kind in ("below", "above", "undefined"):
            ticks.append(Tick(start + 0.5, label, stays=True))
    band = place + GAP if total else None
    if band is not None:
        ticks.append(Tick(band + 0.5, "all", stays=True))
        blocks.append((band, band + 1))
    return Axis(bins.name, tuple(starts), tuple(blocks), tuple(ticks), band)


def heatmap_data(table: Crosstab, *, front: Front | None = None, margins: bool = False) -> HeatMap:
    """Compute what the heat map of a cross-table shows, on a logarithmic scale."""
    x, y = axis_data(table.x_bins, total=margins), axis_data(table.y_bins, total=margins)
    by_row = [[row[j] for row in table.counts] for j in range(len(table.y_bins))]
    shades: Grid = [[log10(n) for n in row] for row in by_row]
    filled = [shade for row in shades for shade in row if shade is not None]
    low, high = (min(filled), max(filled)) if filled else (0.0, 1.0)
    forms = count_forms()
    line, name, steps = _front_line(table, x, y, front) if front is not None else ((), "", "")
    sums = [*table.x_totals, table.total]
    return HeatMap(
        x,
        y,
        shades,
        (low, high) if high > low else (low - 0.5, low + 0.5),
        tuple(log_ticks(low, high)) if high > low and filled else (),
        "trees" if table.status == "exact" else f"trees, {table.status}",
        tuple([[form(n) if n else "" for n in row] for row in by_row] for form in forms),
        tuple([form(n) for n in sums] for form in forms) if margins else (),
        tuple([form(n) for n in table.y_totals] for form in forms) if margins else (),
        line,
        name,
        steps,
    )


def bracket_data(table: BracketTable) -> HeatMap:
    """Compute what the heat map of a table of ranges shows: coloured by the middle of each."""
    x, y = axis_data(table.x_bins), axis_data(table.y_bins)
    by_row = [[ends_of(row[j]) for row in table.cells] for j in range(len(table.y_bins))]
    shades: Grid = [[_middle(*ends) for ends in row] for row in by_row]
    filled = [shade for row in shades for shade in row if shade is not None]
    low, high = (min(filled), max(filled)) if filled else (0.0, 1.0)
    return HeatMap(
        x,
        y,
        shades,
        (low, high) if high > low else (low - 0.5, low + 0.5),
        tuple(log_ticks(low, high)) if high > low and filled else (),
        f"trees, {table.status}",
        tuple(
            [[_range_text(form, *ends, at >= _BELOW) for ends in row] for row in by_row]
            for at, form in enumerate(range_forms())
        ),
    )


def _middle(low: int, high: int | None) -> float | None:
    """Return the logarithm of the middle of a range; None if there may be no tree at all."""
    top = log10(high if high is not None else low)
    bottom = log10(max(low, 1))
    return None if top is None or bottom is None else (top + bottom) / 2


def _range_text(
    form: Callable[[int, bool | None], str], low: int, high: int | None, below: bool
) -> str:
    """Write a range; where an end is rounded, the range grows."""
    if not high:
        return "" if high == 0 else f"≥{form(low, False)}"
    if low == high:
        return form(low, None)
    return f"{form(low, False)}\N{EN DASH}{chr(10) if below else ''}{form(high, True)}"


def difference_data(table: DifferenceTable) -> HeatMap:
    """Compute what the map of differences shows, in percentage points."""
    first, second = table.first, table.second
    x, y = axis_data(first.x_bins), axis_data(first.y_bins)
    changes = table.differences
    points: list[list[Fraction | None]] = [
        [
            100 * changes[i][j] if first.counts[i][j] or second.counts[i][j] else None
            for i in range(len(first.x_bins))
        ]
        for j in range(len(first.y_bins))
    ]
    known = [abs(point) for row in points for point in row if point is not None]
    most = float(max(known, default=0)) or 1.0
    return HeatMap(
        x,
        y,
        [[None if point is None else float(point) for point in row] for row in points],
        (-most, most),
        tuple(_signed_ticks(most)),
        f"{table.titles[0]} − {table.titles[1]} (% points)",
        tuple(
            [["" if p is None else signed(p, places) for p in row] for row in points]
            for places in (1, 0)
        ),
        diverging=True,
    )


def signed(number: Fraction, places: int) -> str:
    """Write a difference with its sign, without one if it rounds to nothing.

    Examples
    --------
    >>> signed(Fraction(5, 4), 1), signed(Fraction(-1, 3), 0), signed(Fraction(-7, 2), 1)
    ('+1.3', '0', '−3.5')
    """
    text = fixed(abs(number), places)
    if not any(digit in "123456789" for digit in text):
        return "0"
    return ("+" if number > 0 else "−") + text


def thinned(ticks: Sequence[Tick], room: Callable[[Tick], float], unit: float) -> list[Tick]:
    """Leave out ticks until no two labels touch, keeping every n-th.

    Parameters
    ----------
    room
        How much space a label takes along the axis.
    unit
        How much space there is from 0 to 1.
    """
    kept = [tick for tick in ticks if tick.stays]
    inner = [tick for tick in ticks if not tick.stays]

    def touch(a: Tick, b: Tick) -> bool:
        return abs(a.place - b.place) * unit < (room(a) + room(b)) / 2

    free = {tick for tick in inner if not any(touch(tick, other) for other in kept)}
    for step in range(1, len(inner) + 1):
        chosen = [tick for tick in inner[::step] if tick in free]
        if not any(touch(a, b) for a, b in pairwise(chosen)):
            break
    else:
        chosen = [tick for tick in inner if tick in free][:1]
    return sorted([*chosen, *kept], key=lambda tick: tick.place)


def mesh(axis: Axis) -> tuple[list[float], list[int | None]]:
    """Return the borders along an axis and which bin lies between them, None for a gap."""
    borders: list[float] = [0.0]
    inside: list[int | None] = []
    for at, start in enumerate(axis.starts):
        if start > borders[-1]:
            borders.append(start)
            inside.append(None)
        borders.append(start + 1)
        inside.append(at)
    return borders, inside


def mesh_shades(data: HeatMap) -> tuple[list[float], list[float], Any]:
    """Return borders along x and y and the shades between them, NaN where nothing is painted."""
    (xs, columns), (ys, rows) = mesh(data.x), mesh(data.y)
    grid = np.full((len(rows), len(columns)), np.nan)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            shade = None if row is None or column is None else data.shades[row][column]
            grid[i, j] = np.nan if shade is None else shade
    return xs, ys, grid


def _inner_ticks(bins: Bins, starts: Sequence[float]) -> list[Tick]:
    inner = [s for one, s in zip(bins, starts, strict=True) if one.kind in ("range", "value")]
    if bins.edges:
        places = [*inner, inner[-1] + 1]
        return [Tick(p, text) for p, text in zip(places, labels_of(bins.edges), strict=True)]
    labels = labels_of(bins.values)
    return [Tick(start + 0.5, text) for start, text in zip(inner, labels, strict=True)]


def _signed_ticks(most: float) -> list[tuple[float, str]]:
    step = 10.0 ** np.floor(np.log10(most))
    fitting = (step * factor for factor in (0.2, 0.5, 1, 2, 5) if 2 * most / (step * factor) <= 6)  # noqa: PLR2004
    width = next(fitting)
    n = int(most / width + 1e-9)
    places = [k * width for k in range(-n, n + 1)]
    return [(place, f"{place:+.3g}".replace("-", "−") if place else "0") for place in places]


def _front_line(
    table: Crosstab, x: Axis, y: Axis, front: Front
) -> tuple[tuple[tuple[float, float], ...], str, str]:
    """Place the points of a front on the cells of a cross-table, in order of x."""
    for name in (table.x, table.y):
        if name not in front.names:
            raise QueryError(
                f"the front has the criteria {', '.join(front.names)}, but the cross-table shows "
                f"'{name}': draw a front over {table.x} and {table.y}."
            )
    i, j = front.names.index(table.x), front.names.index(table.y)
    points = sorted(
        (_place(table.x_bins, x, point[i]), _place(table.y_bins, y, point[j]))
        for point in front.points
    )
    goals = ["max" if name in front.maximize else "min" for name in (table.x, table.y)]
    name = f"Pareto front ({goals[0]} {table.x}, {goals[1]} {table.y})"
    return tuple(points), name, "steps-pre" if goals[0] == "max" else "steps-post"


def _place(bins: Bins, axis: Axis, value: Value) -> float:
    """Return where a value lies on an axis."""
    assert value is not None  # no undefined value is on a front
    for one, start in zip(bins, axis.starts, strict=True):
        match one.kind:
            case "range" if one.low is not None and one.high is not None:
                if one.low <= value < one.high or (one.closed and value == one.high):
                    return start + float((value - one.low) / (one.high - one.low))
            case "value" if one.low == value:
                return start + 0.5
            case "below" if one.high is not None and value < one.high:
                return start + 0.5
            case "above" if one.low is not None and value > one.low:
                return start + 0.5
    raise QueryError(f"the front has {bins.name} = {value}, which no bin of the table holds.")
