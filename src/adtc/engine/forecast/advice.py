"""What would make a question fit, at once: nothing is run, only paths and pairs are counted.

The least that a question costs follows from its depth and its features alone: the paths above the
last two levels, and the pairs of features below each of the deepest ones. Less depth, more rows
per leaf or fewer features are tried on that number.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.data import Data
from adtc.engine.forecast.layout import time_in_words
from adtc.engine.forecast.pricing import bounds_bytes, bounds_seconds, last_seconds
from adtc.engine.lattice import count_splitting, ones_of
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Plan
from adtc.engine.query import Space
from adtc.errors import FoundToFitError, LimitError

if TYPE_CHECKING:
    from adtc.engine.forecast.explanation import Explanation

FITS = 60.0  # seconds that nobody minds
_CONSTRAINT = "a constraint, such as error <= 1.05 * least(error): what it saves is not foreseen"
_TIGHTER = "a tighter constraint: what it saves is not foreseen"
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
    groups, memory
        Kinds of rows that are counted on each path, and the bytes that the paths may take.
    """

    ones: npt.NDArray[np.int64]
    total: int
    minsup: int
    depth: int
    features: int
    axes: int
    budgets: int
    groups: int = 1
    memory: float = math.inf

    def seconds(self, features: int | None = None, depth: int | None = None) -> float:
        """Foresee the least time, of this question or one with fewer features or less depth."""
        features = self.features if features is None else features
        paths = levels_of(features, self.depth if depth is None else depth)
        return bounds_seconds(paths, self.budgets, features) + last_seconds(features, paths[-1])

    def _fits(self, limit: float, features: int, depth: int) -> bool:
        """Tell whether a question with fewer features or less depth fits, tensors aside."""
        paths = levels_of(features, depth)
        needed = bounds_bytes(paths, self.groups, self.budgets)
        return needed <= self.memory and self.seconds(features, depth) <= limit

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
            if self._fits(limit, self.features, depth):
                yield f"depth at most {depth}: {self._about(self.seconds(depth=depth))}"
                return

    def _rarer(self, limit: float) -> Iterator[str]:
        for share in _SHARES:
            minsup = math.ceil(Fraction(str(share)) * self.total)
            left = int(np.count_nonzero((minsup <= self.ones) & (self.ones <= self.total - minsup)))
            left = min(left, self.features)
            if minsup > self.minsup and left and self._fits(limit, left, self.depth):
                about = self._about(self.seconds(left))
                yield f"relminsup {share:g} with {left:,} features left: {about}"
                return

    def _fewer(self, limit: float) -> Iterator[str]:
        low, high = 0, self.features  # so many fit, so many do not
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._fits(limit, middle, self.depth)
            low, high = (middle, high) if fits else (low, middle)
        if low > self.depth:
            told = f"at most {low:,} features by fewer bins, cuts or columns"
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


def least_by_size(
    data: Data, space: Space, *, axes: int, budgets: int, memory: float = math.inf
) -> Least:
    """Take down the same without a plan; features that are twins count each."""
    minsup = space.min_support(data.total)
    return Least(
        ones_of(data),
        data.total,
        minsup,
        space.max_depth,
        count_splitting(data, minsup),
        axes=axes,
        budgets=budgets,
        groups=len(data.labels) * max(1, len(data.groups)),
        memory=memory,
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


def advised(
    error: LimitError,
    data: Data,
    space: Space,
    *,
    axes: int,
    budgets: int,
    monitor: Monitor,
) -> LimitError:
    """Let a refusal name what would fit, in place of advice that suits any question.

    Parameters
    ----------
    axes, budgets
        How many the question has, as far as they are known.
    """
    least = least_by_size(data, space, axes=axes, budgets=budgets, memory=monitor.memory)
    if isinstance(error, FoundToFitError) or not least.features or not least.depth:
        return error
    stopped = str(error).partition(": ")[0].rstrip(".")
    told = [_in_brackets(one) for one in least.advice(monitor.time_limit)]
    if monitor.time_limit is not None or monitor.memory_limit is not None:
        told.append("a higher limit")
    return FoundToFitError(refusal_text(stopped, told))


def refusal_text(stopped: str, remedies: Iterable[str]) -> str:
    """Write the sentence of a refusal: what does not fit, and what would.

    Examples
    --------
    >>> refusal_text("the table is too large", ["depth at most 3", "fewer rows"])
    'the table is too large: ask for depth at most 3, or fewer rows.'
    """
    told = [*remedies]
    listed = ", ".join(told[:-1]) + ", or " * (len(told) > 1) + told[-1]
    return f"{stopped}: ask for {listed}."


def _in_brackets(advice: str) -> str:
    """Put what a change costs behind it: "depth at most 3 (about 2 s)"."""
    change, _, cost = advice.partition(": ")
    return f"{change} ({cost})" if cost else change
