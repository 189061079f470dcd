"""Count, sums and cross sums of metrics over all trees: exact means, variances, covariances.

The values of the expectation semiring; everything is a Python integer or a Fraction.
"""

from dataclasses import dataclass
from fractions import Fraction

from adtc.errors import QueryError


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over a multiset of trees: 1, each metric x_i, each product x_i · x_j.

    Examples
    --------
    >>> moments = add(of((2,)), of((4,)))
    >>> moments.mean(), moments.variance()
    (Fraction(3, 1), Fraction(1, 1))
    """

    count: int
    sums: tuple[int, ...]
    cross: tuple[tuple[int, ...], ...]

    def mean(self, i: int = 0) -> Fraction:
        """Average metric ``i`` over all trees."""
        return Fraction(self.sums[i], self._trees())

    def variance(self, i: int = 0) -> Fraction:
        """Average the squared distance of metric ``i`` from its mean, over all trees."""
        return self.covariance(i, i)

    def covariance(self, i: int, j: int) -> Fraction:
        """Average the product of the distances of metrics ``i`` and ``j`` from their means."""
        return Fraction(self.cross[i][j], self._trees()) - self.mean(i) * self.mean(j)

    def _trees(self) -> int:
        if self.count == 0:
            raise QueryError("there is no tree to average over; relax the constraint.")
        return self.count


def of(values: tuple[int, ...]) -> Moments:
    """Make the moments of one tree from its metric values."""
    return Moments(1, values, tuple(tuple(x * y for y in values) for x in values))


def nothing(d: int) -> Moments:
    """Make the moments of no tree."""
    return Moments(0, (0,) * d, ((0,) * d,) * d)


def add(a: Moments, b: Moments) -> Moments:
    """Join two multisets of trees."""
    axes = range(len(a.sums))
    return Moments(
        a.count + b.count,
        tuple(a.sums[i] + b.sums[i] for i in axes),
        tuple(tuple(a.cross[i][j] + b.cross[i][j] for j in axes) for i in axes),
    )


def mul(a: Moments, b: Moments) -> Moments:
    """Pair every tree of ``a`` with every tree of ``b``, adding their metrics."""
    axes = range(len(a.sums))

    def cross(i: int, j: int) -> int:  # the sum of (x_i + y_i)(x_j + y_j) over all pairs
        squares = b.count * a.cross[i][j] + a.count * b.cross[i][j]
        return squares + a.sums[i] * b.sums[j] + b.sums[i] * a.sums[j]

    return Moments(
        a.count * b.count,
        tuple(b.count * a.sums[i] + a.count * b.sums[i] for i in axes),
        tuple(tuple(cross(i, j) for j in axes) for i in axes),
    )
