"""Two curves from one run: trees within every tolerance ε, the optimum for every penalty λ.

How the set of good trees grows with its tolerance, and which trees are optimal under each penalty
per leaf. All numbers are exact.
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from adtc.engine.exact.values import Value
from adtc.errors import QueryError
from adtc.profiles.bins import Edge, read_number
from adtc.profiles.marginals import Plottable, marginal
from adtc.profiles.profile import Profile
from adtc.profiles.writing import json_number


@dataclass(frozen=True, slots=True)
class ToleranceCurve(Plottable):
    """How many trees are within (1 + ε) · best, for every tolerance ε ≥ 0.

    Parameters
    ----------
    tolerances
        Where the number of trees grows, ascending, from 0.
    trees
        ``trees[i]`` trees are within every tolerance from ``tolerances[i]`` up to the next one.
    """

    objective: str
    best: Value
    tolerances: tuple[Fraction, ...]
    trees: tuple[int, ...]

    def within(self, tolerance: Edge) -> int:
        """Count the trees within a tolerance; 0.05 is exactly 1/20."""
        at = bisect_right(self.tolerances, read_number(tolerance)) - 1
        return self.trees[at] if at >= 0 else 0

    def to_json(self) -> dict[str, Any]:
        """Return the curve as plain JSON values."""
        return {
            "objective": self.objective,
            "best": json_number(self.best),
            "tolerances": [json_number(tolerance) for tolerance in self.tolerances],
            "exact": [str(tolerance) for tolerance in self.tolerances],
            "trees": list(self.trees),
        }


@dataclass(frozen=True, slots=True)
class Optimum:
    """A size and an error that are optimal for all penalties from ``low`` to ``high``.

    ``high`` is None for the last one, which stays optimal for ever.
    """

    low: Fraction
    high: Fraction | None
    size: Value
    error: Value
    trees: int

    def value(self, penalty: Fraction) -> Fraction:
        """Return error + λ · size."""
        return Fraction(self.error or 0) + penalty * (self.size or 0)


@dataclass(frozen=True, slots=True)
class PenaltyCurve(Plottable):
    """The optimum of error + λ · size for every penalty λ ≥ 0, in order of λ.

    Parameters
    ----------
    pieces
        Neighbours are both optimal at the penalty where they meet.
    candidates
        Per size the least error and the number of trees that have both.
    """

    error: str
    size: str
    pieces: tuple[Optimum, ...]
    candidates: tuple[tuple[Value, Value, int], ...]

    @property
    def penalties(self) -> tuple[Fraction, ...]:
        """The penalties at which the optimum changes."""
        return tuple(piece.low for piece in self.pieces[1:])

    def at(self, penalty: Edge) -> Optimum:
        """Return the optimum for a penalty, the one with fewer leaves where two meet."""
        wanted = read_number(penalty)
        if wanted < 0 or not self.pieces:
            reason = "no tree exists" if not self.pieces else f"the penalty is {penalty}"
            raise QueryError(f"there is no optimum: {reason}; expected a penalty of 0 or more.")
        return self.pieces[bisect_right(self.penalties, wanted)]

    def to_json(self) -> dict[str, Any]:
        """Return the curve as plain JSON values."""
        return {
            "pieces": [
                {
                    "low": json_number(piece.low),
                    "high": json_number(piece.high),
                    "exact": [str(piece.low), None if piece.high is None else str(piece.high)],
                    "size": json_number(piece.size),
                    "error": json_number(piece.error),
                    "trees": piece.trees,
                }
                for piece in self.pieces
            ]
        }


def tolerance_curve(profile: Profile, objective: str = "error") -> ToleranceCurve:
    """Count the trees within (1 + ε) · best for every tolerance ε.

    Parameters
    ----------
    objective
        What is least for the best trees, such as ``"error + 33 * size"``.

    Notes
    -----
    The profile must hold all trees up to the tolerance of interest: what its own formula left
    out is not counted.
    """
    pairs = marginal(profile, objective).defined()
    if not pairs:
        return ToleranceCurve(objective, None, (), ())
    best = pairs[0][0]
    if best < 0:
        raise QueryError(
            f"the least value of '{objective}' is {best}: a tolerance is a share of the best "
            f"value, so the objective must not be negative."
        )
    trees = tuple(accumulate(n for _, n in pairs))
    if best == 0:  # (1 + ε) · 0 = 0 for every ε
        return ToleranceCurve(objective, 0, (Fraction(0),), trees[:1])
    return ToleranceCurve(objective, best, tuple(Fraction(v) / best - 1 for v, _ in pairs), trees)


def penalty_curve(profile: Profile, *, error: str = "error", size: str = "size") -> PenaltyCurve:
    """Find the optimum of error + λ · size for every penalty λ ≥ 0: the lower convex hull.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> [(p.low, p.high, p.size, p.error, p.trees) for p in penalty_curve(found).pieces]
    [(Fraction(0, 1), Fraction(1, 1), 2, 0, 1), (Fraction(1, 1), None, 1, 1, 1)]
    """
    sizes, errors = profile.values(size), profile.values(error)
    n = max(1, len(errors.distinct))
    trees = profile.totals(sizes.codes * n + errors.codes, len(sizes.distinct) * n)
    candidates = []
    for at, leaves in enumerate(sizes.distinct):
        row = zip(errors.distinct, trees[at * n : (at + 1) * n], strict=True)
        best = next(((e, t) for e, t in row if t and e is not None), None)
        if best is not None and leaves is not None:
            candidates.append((leaves, *best))
    hull = _lower_hull(candidates)
    if not hull:
        return PenaltyCurve(error, size, (), ())
    changes = [
        Fraction(small[1] - large[1]) / (large[0] - small[0]) for large, small in pairwise(hull)
    ]
    ends = zip([Fraction(0), *changes], [*changes, None], hull, strict=True)
    pieces = [Optimum(low, high, s, e, t) for low, high, (s, e, t) in ends]
    return PenaltyCurve(error, size, tuple(pieces), tuple(candidates))


def _lower_hull(candidates: list[Any]) -> list[Any]:
    """Keep the (size, error, trees) that are optimal for a range of penalties, largest first."""
    hull: list[Any] = []
    for point in candidates:  # sizes ascend
        if hull and point[1] >= hull[-1][1]:
            continue  # larger and not better
        while len(hull) > 1 and not _turns(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull[::-1]


def _turns(a: Any, b: Any, c: Any) -> bool:
    """Tell whether b lies below the line from a to c."""
    return bool((a[1] - b[1]) * (c[0] - b[0]) > (b[1] - c[1]) * (b[0] - a[0]))
