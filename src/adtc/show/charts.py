"""Fronts, curves and marginals: what their pictures show, as plain lists.

Numbers of trees become decimal logarithms, which hold counts that no float can.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np

from adtc.engine.record import log10
from adtc.errors import QueryError
from adtc.profiles.bins import read_number
from adtc.profiles.curves import PenaltyCurve, ToleranceCurve
from adtc.profiles.marginals import Marginal
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped, labels_of
from adtc.show.style import compact

Limits = tuple[float, float]

_MOST_BARS = 120  # values beyond which a marginal is painted in bins
_BINS = 40
_RASTER = 240  # cells per axis of the cloud of all trees


@dataclass(frozen=True, slots=True)
class FrontData:
    """The points of a front over two criteria, in order of x, before the cloud of all trees."""

    x: str
    y: str
    goals: tuple[str, str]
    points: tuple[tuple[float, float], ...]
    logs: tuple[float, ...]
    view: tuple[Limits, Limits]
    cloud: tuple[tuple[float, float], ...]
    steps: str


@dataclass(frozen=True, slots=True)
class StepData:
    """A step function: ``ys[i]`` from ``xs[i]`` on."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    end: float


@dataclass(frozen=True, slots=True)
class Piece:
    """One optimum on the axis of penalties; ``text`` says more about it."""

    low: float
    high: float
    size: float
    text: str


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars from ``left`` to ``right``, as high as the logarithm of their trees.

    Parameters
    ----------
    undefined
        Trees without a value; None if there are none.
    labels
        The values, if each bar is one.
    """

    left: tuple[float, ...]
    right: tuple[float, ...]
    trees: tuple[int, ...]
    undefined: int | None
    labels: tuple[str, ...] = ()

    @property
    def logs(self) -> tuple[float | None, ...]:
        """Return the heights; None for no trees."""
        return tuple(log10(n) for n in self.trees)


def front_data(front: Front, x: str | None = None, y: str | None = None) -> FrontData:
    """Compute what the picture of a front over two criteria shows."""
    if len(front.names) != 2 and (x is None or y is None):  # noqa: PLR2004
        raise QueryError(
            f"a picture shows two criteria and this front has {len(front.names)}: name two of "
            f"them as x= and y=."
        )
    chosen = x or front.names[0], y or front.names[-1]
    for name in chosen:
        if name not in front.names:
            raise QueryError(f"the front has no criterion '{name}', only {', '.join(front.names)}.")
    i, j = (front.names.index(name) for name in chosen)
    trees = front.trees or (1,) * len(front)  # not counted: all points alike
    rows = sorted(
        (float(p[i] or 0), float(p[j] or 0), log10(n) or 0.0)
        for p, n in zip(front.points, trees, strict=True)
    )
    first, second = ("max" if name in front.maximize else "min" for name in chosen)
    view = _view([a for a, _, _ in rows], first), _view([b for _, b, _ in rows], second)
    return FrontData(
        *chosen,
        (first, second),
        tuple((a, b) for a, b, _ in rows),
        tuple(log for _, _, log in rows),
        view,
        () if front.profile is None else cloud_data(front.profile, chosen, view),
        "steps-pre" if first == "max" else "steps-post",
    )


def cloud_data(
    profile: Profile, names: tuple[str, str], view: tuple[Limits, Limits]
) -> tuple[tuple[float, float], ...]:
    """Return where trees are within a view, on a raster as fine as a picture can show."""
    columns = [profile.column(name) for name in names]
    inside = (columns[0].bottom != 0) & (columns[1].bottom != 0)
    cells = []
    for column, (low, high) in zip(columns, view, strict=True):
        near = column.top.astype(float) / np.where(inside, column.bottom, 1).astype(float)
        inside &= (near >= low) & (near <= high)
        cells.append(np.rint((near - low) / (high - low) * _RASTER).astype(np.int64))
    found = np.unique(cells[0][inside] * (_RASTER + 1) + cells[1][inside])
    places = zip(view, (found // (_RASTER + 1), found % (_RASTER + 1)), strict=True)
    xs, ys = (low + (high - low) * place / _RASTER for (low, high), place in places)
    return tuple(zip(xs.tolist(), ys.tolist(), strict=True))


def _view(values: Sequence[float], goal: str) -> Limits:
    """Show a front, and as much again on its worse side."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    span = (high - low) or abs(high) or 1.0
    near, far = 0.12 * span, 1.0 * span
    return (low - far, high + near) if goal == "max" else (low - near, high + far)


def tolerance_data(curve: ToleranceCurve, upto: float | str | None = None) -> StepData:
    """Compute the steps of a tolerance curve: tolerance in per cent, log10 of the trees."""
    if not curve.trees:
        return StepData((), (), 1.0)
    end = read_number(upto) if upto is not None else (curve.tolerances[-1] or Fraction(1))
    if end <= 0:
        raise QueryError(f"upto is {upto}, expected a tolerance above 0, such as 0.1.")
    steps = [(t, n) for t, n in zip(curve.tolerances, curve.trees, strict=True) if t <= end]
    xs = tuple(float(100 * tolerance) for tolerance, _ in steps)
    return StepData(xs, tuple(log10(n) or 0.0 for _, n in steps), float(100 * end))


def penalty_data(curve: PenaltyCurve) -> list[Piece]:
    """Compute the pieces of a penalty curve on a logarithmic axis that leaves out λ = 0."""
    if not curve.pieces:
        return []
    known = [float(penalty) for penalty in curve.penalties] or [1.0]
    first, last = known[0] / 5, known[-1] * 5
    return [
        Piece(
            float(piece.low) or first,
            last if piece.high is None else float(piece.high),
            float(piece.size or 0),
            f"{curve.error} {_number(piece.error)}, {_trees(piece.trees)}",
        )
        for piece in curve.pieces
    ]


def marginal_data(marginal: Marginal) -> Bars:
    """Compute the bars of a marginal: one per value, or equal-width bins if there are many."""
    pairs = marginal.defined()
    undefined = sum(marginal.trees) - sum(n for _, n in pairs)
    values = [Fraction(value) for value, _ in pairs]
    trees = [n for _, n in pairs]
    if len(values) > _MOST_BARS:
        least, width = values[0], (values[-1] - values[0]) / _BINS
        sums = [0] * _BINS
        for value, n in zip(values, trees, strict=True):
            sums[min(_BINS - 1, floor((value - least) / width))] += n
        edges = [float(least + width * i) for i in range(_BINS + 1)]
        return Bars(tuple(edges[:-1]), tuple(edges[1:]), tuple(sums), undefined or None)
    half = _half_width(values)
    return Bars(
        tuple(float(v) - half for v in values),
        tuple(float(v) + half for v in values),
        tuple(trees),
        undefined or None,
        tuple(labels_of(values)),
    )


def _half_width(values: Sequence[Fraction]) -> float:
    """Choose bars that nearly touch where values are closest, and are never hair-thin."""
    gaps = [float(b - a) for a, b in pairwise(values)]
    span = float(values[-1] - values[0]) if gaps else 1.0
    return max(0.4 * min(gaps, default=1.0), span / 400)


def _number(value: Fraction | int | None) -> str:
    number = Fraction(value or 0)
    return grouped(int(number)) if number.denominator == 1 else f"{float(number):.4g}"


def _trees(n: int) -> str:
    return "1 tree" if n == 1 else f"{grouped(n) if n < 10**6 else compact(n, 2)} trees"
