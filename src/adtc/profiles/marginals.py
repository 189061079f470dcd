"""What a profile tells about single metrics: marginals, moments, coarser values.

All is exact but rounded moments, which say how far they may be off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import fsum, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Arithmetic, Name, Number, Term
from adtc.engine.exact.columns import (
    Column,
    Ratios,
    evaluate,
    extreme,
    floats,
    from_columns,
    reduced,
)
from adtc.engine.exact.limbs import Limbs, limbs_of, total_of
from adtc.engine.exact.values import Value, distinct_values
from adtc.engine.score import as_integer
from adtc.errors import QueryError
from adtc.hooks import hook
from adtc.profiles.bins import Edge, read_number
from adtc.profiles.profile import Profile, joint_codes
from adtc.profiles.writing import aligned, approximate, exact_text, grouped, json_number

Floats = npt.NDArray[np.float64]
_BLOCK = 1024
_OFF = 2 * (_BLOCK + 32) * 2.0**-53  # relative: a block's sum, and what goes into it, with room


class Plottable:
    """A result that has a picture."""

    __slots__ = ()

    def plot(self, **options: Any) -> Any:
        """Draw it; see ``adtc.show.plot`` for the options."""
        # `show` stands above this room; a method that people expect here may reach for it late.
        return hook("plot")(self, **options)


@dataclass(frozen=True, slots=True)
class Marginal(Plottable):
    """How many trees have each value of a metric; None (undefined) comes last."""

    metric: str
    values: tuple[Value, ...]
    trees: tuple[int, ...]

    def as_dict(self) -> dict[Value, int]:
        """Return the trees by value."""
        return dict(zip(self.values, self.trees, strict=True))

    def defined(self) -> list[tuple[Fraction | int, int]]:
        """List the defined values, ascending, with their trees."""
        pairs = zip(self.values, self.trees, strict=True)
        return [(value, n) for value, n in pairs if value is not None]

    def to_text(self) -> str:
        """Write an aligned table, one line per value."""
        rows = zip(map(approximate, self.values), map(grouped, self.trees), strict=True)
        return aligned([[self.metric, "trees"], *map(list, rows)])

    def to_json(self) -> dict[str, Any]:
        """Return the marginal as plain JSON values."""
        return {
            "metric": self.metric,
            "values": [json_number(value) for value in self.values],
            "exact": [exact_text(value) for value in self.values],
            "trees": list(self.trees),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Moments:
    """Mean, variance and range of a metric over the trees where it is defined; None without any.

    Parameters
    ----------
    error
        How far the mean may be off at most; None if mean and variance are exact. Least and largest
        value always are.
    """

    metric: str
    trees: int
    undefined: int
    mean: Fraction | float | None
    variance: Fraction | float | None
    least: Value
    largest: Value
    error: float | None = None

    @property
    def deviation(self) -> float | None:
        """The standard deviation, as a float: a root need not be a fraction."""
        return None if self.variance is None else sqrt(self.variance)

    def __repr__(self) -> str:
        # in floats: exact means of ratios can have thousands of digits
        numbers = {"mean": self.mean, "deviation": self.deviation}
        numbers |= {"least": self.least, "largest": self.largest}
        known = ", ".join(f"{k} {float(v):.6g}" for k, v in numbers.items() if v is not None)
        return f"<Moments of {self.metric} over {self.trees:,} trees: {known or 'undefined'}>"

    def to_json(self) -> dict[str, Any]:
        """Return the moments as plain JSON values; the exact ones are attributes."""
        numbers = {name: getattr(self, name) for name in ("mean", "variance", "least", "largest")}
        return {
            "metric": self.metric,
            "trees": self.trees,
            "undefined": self.undefined,
            **{name: json_number(number) for name, number in numbers.items()},
            "mean_error": self.error,
        }


def marginal(profile: Profile, metric: str) -> Marginal:
    """Count the trees by one metric.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> marginal(found, "error").as_dict()
    {0: 1, 1: 2, 2: 2, 3: 1}
    """
    values = profile.values(metric)
    trees = profile.totals(values.codes, len(values.distinct))
    return Marginal(metric, values.distinct, tuple(trees))


def moments(profile: Profile, metric: str, *, exact: bool = True) -> Moments:
    """Compute mean and variance of a metric over all trees.

    Parameters
    ----------
    exact
        False gives them as floats, much faster where a ratio has many values; ``error`` of the
        result then bounds what rounding may have done to the mean.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = moments(adtc.profile(data, adtc.Space(max_depth=1), ["acc"]), "acc")
    >>> found.mean, found.variance, found.least, found.largest
    (Fraction(1, 2), Fraction(11, 108), 0, 1)
    """
    if not exact:
        return _rounded_moments(profile, metric)
    found = marginal(profile, metric)
    pairs = found.defined()
    trees = sum(n for _, n in pairs)
    undefined = profile.total - trees
    if not trees:
        return Moments(metric, 0, undefined, None, None, None, None)
    mean = _sum_of_powers(pairs, 1) / trees
    variance = _sum_of_powers(pairs, 2) / trees - mean * mean
    return Moments(metric, trees, undefined, mean, variance, pairs[0][0], pairs[-1][0])


@dataclass(frozen=True, slots=True)
class _Part:
    """The moments of some cells; what trees weigh is their share of all trees.

    Parameters
    ----------
    sums, sizes
        Of values and of absolute values, weighted, block by block.
    spread
        The sum of squared distances from the part's own mean, weighted.
    """

    trees: int
    weight: float
    sums: list[float]
    sizes: list[float]
    mean: float
    spread: float
    least: Fraction | None
    largest: Fraction | None

    @classmethod
    def of(cls, column: Ratios, trees: Limbs, total: int) -> "_Part":
        """Look at cells whose columns fit caches."""
        defined = (column.bottom != 0).astype(bool)
        values, shares = floats(column), _shares(trees, total)
        shares[~defined] = 0
        sums, weight = _block_sums(values * shares), fsum(_block_sums(shares))
        mean = fsum(sums) / weight if weight else 0.0
        return cls(
            total_of(trees[defined]),
            weight,
            sums,
            _block_sums(np.abs(values) * shares),
            mean,
            fsum(_block_sums((values - mean) ** 2 * shares)),
            extreme(column, 1),
            extreme(column, -1),
        )


def _rounded_moments(profile: Profile, metric: str) -> Moments:
    parts, done = list[_Part](), 0
    for column in profile.column_in_parts(metric):
        cells = slice(done, done := done + len(column.top))
        parts.append(_Part.of(column, profile.trees[cells], profile.total))
    trees = sum(part.trees for part in parts)
    undefined = profile.total - trees
    if not trees:
        return Moments(metric, 0, undefined, None, None, None, None)
    share = float(Fraction(trees, profile.total))
    mean = fsum(chain.from_iterable(part.sums for part in parts)) / share
    squares = fsum(part.spread + part.weight * (part.mean - mean) ** 2 for part in parts)
    error = _OFF * fsum(chain.from_iterable(part.sizes for part in parts)) / share
    least = min(part.least for part in parts if part.least is not None)
    largest = max(part.largest for part in parts if part.largest is not None)
    ends = as_integer(least), as_integer(largest)
    return Moments(metric, trees, undefined, mean, squares / share, *ends, error)


def _shares(trees: Limbs, total: int) -> Floats:
    """Divide numbers of trees by their total; floats hold what counts themselves might exceed."""
    shift = total.bit_length()
    shares = np.zeros(len(trees))
    for place, limb in enumerate(trees.T):
        shares += np.ldexp(limb.astype(np.float64), 64 * place - shift)
    shares /= float(Fraction(total, 1 << shift))
    return shares


def _block_sums(numbers: Floats) -> list[float]:
    """Add floats in blocks, each off by less than `_BLOCK` units, for `fsum` to add up exactly."""
    sums: list[float] = np.add.reduceat(numbers, np.arange(0, len(numbers), _BLOCK)).tolist()
    return sums


def rollup(profile: Profile, steps: Mapping[str, Edge]) -> Profile:
    """Round metrics down to multiples of a step and merge the cells that then agree.

    Parameters
    ----------
    steps
        Per metric its step; ``{"acc": "0.01", "size": 1}``. Other metrics are left out.

    Notes
    -----
    The result knows no circuit: trees are drawn from the profile itself.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["acc"])
    >>> marginal(rollup(found, {"acc": "0.5"}), "acc").as_dict()
    {0: 3, Fraction(1, 2): 2, 1: 1}
    """
    if not steps:
        raise QueryError("rolling up needs a step for at least one metric, as in {'acc': '0.01'}.")
    columns = [_rounded(profile, metric, step) for metric, step in steps.items()]
    codes = joint_codes(distinct_values(column).codes for column in columns)
    n = int(codes.max(initial=-1)) + 1
    first = np.zeros(n, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    axes: dict[str, Column] = {}
    metrics: dict[str, Term] = {}
    for at, (metric, column) in enumerate(zip(steps, columns, strict=True)):
        top, bottom = f"m{at}_num", f"m{at}_den"
        axes |= {top: column.top[first], bottom: column.bottom[first]}
        whole = bool(np.all(column.bottom == 1))
        metrics[metric] = Name(top) if whole else Arithmetic("/", Name(top), Name(bottom))
    trees = limbs_of(profile.totals(codes, n))
    return Profile(axes, trees, metrics, profile.record)


def _rounded(profile: Profile, metric: str, step: Edge) -> Ratios:
    width = read_number(step)
    if width <= 0:
        raise QueryError(f"the step of '{metric}' is {step}, expected a number above 0.")
    lookup = from_columns(profile.axes, len(profile.trees))
    steps = evaluate(Arithmetic("/", profile.term(metric), Number(width)), lookup)
    defined = steps.bottom != 0
    floors = steps.top // np.where(defined, steps.bottom, 1)
    wide = floors.astype(object) * width.numerator  # Python integers: no product wraps
    bottom = np.where(defined, width.denominator, 0).astype(object)
    return reduced(Ratios(*(_narrow(column) for column in (wide, bottom))))


def _narrow(column: Column) -> Column:
    fits = max((abs(value) for value in column.tolist()), default=0) < 2**62
    return column.astype(np.int64) if fits else column


def _sum_of_powers(pairs: Sequence[tuple[Fraction | int, int]], power: int) -> Fraction:
    """Add value^power · trees: those of one denominator first, then in pairs, so few grow large."""
    by_bottom: dict[int, int] = {}
    for value, n in pairs:
        top = value.numerator**power * n
        by_bottom[value.denominator] = by_bottom.get(value.denominator, 0) + top
    parts = [(top, bottom**power) for bottom, top in sorted(by_bottom.items())]
    while len(parts) > 1:
        odd = parts[-1:] if len(parts) % 2 else []
        couples = zip(parts[::2], parts[1::2], strict=False)
        parts = [(a * d + c * b, b * d) for (a, b), (c, d) in couples] + odd
    return Fraction(*parts[0]) if parts else Fraction()
