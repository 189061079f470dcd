"""What would make a question fit, at once: nothing is run, only paths and pairs are counted.

The least that a question costs follows from its depth and its features alone: the paths above the
last two levels, and the pairs of features below each of the deepest ones. Less depth, more rows
per leaf or fewer features are tried on that number.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.data import Data
from adtc.engine.forecast.layout import time_in_words
from adtc.engine.forecast.pricing import bounds_seconds, last_seconds
from adtc.engine.lattice import distinct_features, ones_of, rows_of
from adtc.engine.plan import Plan, make_plan
from adtc.engine.query import Space
from adtc.engine.run import opened

if TYPE_CHECKING:
    from adtc.engine.forecast.explain import Explanation

LONG = 3600.0  # seconds from which on a run is announced
FITS = 60.0  # seconds that nobody minds
_CONSTRAINT = "a constraint, such as error <= 1.05 * least(error): what it saves is not foreseen"
_TIGHTER = "a tighter constraint: what it saves is not foreseen"
_HARDLY = 5e10  # pairs of features below all paths that no machine takes an hour for
_CLOSED = 2  # levels above the leaves that the fast engine takes in one step
_SHARES = (0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4)


def levels_of(features: int, depth: int) -> tuple[int, ...]:
    """Count the paths of each level that the fast engine goes through.

    Examples
    --------
    >>> levels_of(42, 4)
    (1, 84, 3444)
    """
    deepest = min(max(0, depth - _CLOSED), features)
    return tuple(math.comb(features, k) << k for k in range(deepest + 1))


@dataclass(frozen=True, slots=True)
class Least:
    """What a question costs at least, by its size alone.

    Parameters
    ----------
    ones, total
        Rows on one side of each feature, and in all.
    features
        Those left when features that cannot split are dropped and twins are merged.
    axes, budgets
        How many the plan has: without axes every tensor is one cell.
    """

    ones: npt.NDArray[np.int64]
    total: int
    minsup: int
    depth: int
    features: int
    axes: int
    budgets: int

    def seconds(self, features: int | None = None, depth: int | None = None) -> float:
        """Foresee the least time, of this question or one with fewer features or less depth."""
        features = self.features if features is None else features
        paths = levels_of(features, self.depth if depth is None else depth)
        return bounds_seconds(paths, self.budgets, features) + last_seconds(features, paths[-1])

    def advice(self, limit: float | None = None) -> tuple[str, ...]:
        """Name changes that would make the question fit into so many seconds, each with its time.

        Where its least costs fit, what costs a tenth of them is named: it is the tensors that
        may not.

        Examples
        --------
        >>> import numpy as np
        >>> Least(np.full(900, 500), 1000, 1, 4, 900, axes=0, budgets=0).advice()[0].split(":")[0]
        'depth at most 3'
        """
        limit = FITS if limit is None else max(0.0, limit)
        limit = min(limit, self.seconds() / 10)
        more = _TIGHTER if self.budgets else _CONSTRAINT
        return (*self._shallower(limit), *self._rarer(limit), *self._fewer(limit), more)

    def _shallower(self, limit: float) -> Iterator[str]:
        for depth in range(self.depth - 1, 0, -1):
            if (seconds := self.seconds(depth=depth)) <= limit:
                yield f"depth at most {depth}: {self._about(seconds)}"
                return

    def _rarer(self, limit: float) -> Iterator[str]:
        for share in _SHARES:
            minsup = math.ceil(Fraction(str(share)) * self.total)
            left = int(np.count_nonzero((minsup <= self.ones) & (self.ones <= self.total - minsup)))
            left = min(left, self.features)
            if minsup > self.minsup and left and (seconds := self.seconds(left)) <= limit:
                yield f"relminsup {share:g} leaves {left:,} features: {self._about(seconds)}"
                return

    def _fewer(self, limit: float) -> Iterator[str]:
        low, high = 0, self.features  # so many fit, so many do not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.seconds(middle) <= limit else (low, middle)
        if low > self.depth:
            told = f"at most {low:,} features (fewer bins, cuts or columns)"
            yield f"{told}: {self._about(self.seconds(low))}"

    def _about(self, seconds: float) -> str:
        return f"about {time_in_words(seconds)}{', tensors on top'[: 16 * bool(self.axes)]}"


def least_of(plan: Plan, data: Data, features: int) -> Least:
    """Take down what decides the least costs of a question with so many distinct features."""
    question = plan.question
    return Least(
        ones_of(data),
        data.total,
        question.minsup,
        question.space.max_depth,
        features,
        len(plan.axes),
        len(plan.budgets),
    )


def unforeseen(explanation: "Explanation") -> dict[str, Any]:
    """Tell what costs are known without cells: without axes all, as tensors are one number each.

    Where budgets leave an unknown number of paths, there is nothing to add.
    """
    e = explanation
    if e.pushed and e.live is None:
        return {}
    paths, costs = e.live or e.subproblems, dict[str, Any]()
    if e.live is None:
        costs["seconds"] = e.seconds + last_seconds(e.distinct_features, paths[-1])
    if not e.axes and not e.pushed:
        number = -(-e.number_bits // 8)
        costs |= {"cells": 1.0, "most_cells": 1.0, "tensor_memory": sum(paths) * (8 + number)}
    return costs


def announcement(data: Data, space: Space, *, constrained: bool = False) -> str | None:
    """Say before a run without limits that it will take long, and what would take less.

    A constraint or an objective leaves an unknown number of paths; then the bounds alone count.
    """
    paths = levels_of(data.n_features, space.max_depth)
    if sum(paths) * data.n_features**2 < _HARDLY:
        return None
    with opened(data, space, {"ask": "explain"}) as run:
        question = run.narrowed(run.ask())
    if question is None:
        return None
    plan = make_plan(question)
    rows = rows_of(data, plan.groups, merge=False)
    features = distinct_features(rows, question.minsup, allowed=question.allowed)
    least = least_of(plan, data, len(features.twins))
    seconds = least.seconds()
    if constrained:
        paths = levels_of(least.features, least.depth)
        seconds = bounds_seconds(paths, 1, least.features)
    if seconds < LONG:
        return None
    return (
        f"this may take about {time_in_words(seconds)} on one thread. Cheaper: "
        f"{'; '.join(least.advice())}. Ctrl-C stops it; --time-limit answers with what is finished."
    )
