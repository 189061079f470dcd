"""Keeping the least: Pareto fronts, antichains of sets, and the k smallest costs.

The values and operations behind the semirings of the same names; no trees here.
"""

import heapq
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

Point: TypeAlias = tuple[int, ...]
Front: TypeAlias = tuple[Point, ...]
FeatureSets: TypeAlias = frozenset[frozenset[int]]

T = TypeVar("T")


def pareto_front(points: Iterable[Point]) -> Front:
    """Keep the points that no other point beats in one criterion and equals in the rest.

    Every criterion is minimised; the front is sorted, and equal points are kept once.

    Examples
    --------
    >>> pareto_front([(3, 1), (1, 2), (2, 2), (1, 2)])
    ((1, 2), (3, 1))
    """
    ordered = sorted(set(points))
    if ordered and len(ordered[0]) <= 2:  # noqa: PLR2004 - two criteria: one sweep will do
        return tuple(_falling(ordered))
    front: list[Point] = []
    for point in ordered:  # in this order a point is beaten only by earlier ones
        if not any(all(map(operator.le, better, point)) for better in front):
            front.append(point)
    return tuple(front)


def add_points(a: Front, b: Front) -> Front:
    """Add every point of one front to every point of the other and keep the front."""
    return pareto_front(tuple(map(operator.add, x, y)) for x in a for y in b)


def minimal_sets(sets: Iterable[frozenset[int]]) -> FeatureSets:
    """Keep the sets that contain no other one.

    Examples
    --------
    >>> minimal_sets([frozenset({1}), frozenset({1, 2})])
    frozenset({frozenset({1})})
    """
    kept: list[frozenset[int]] = []
    for candidate in sorted(set(sets), key=len):
        if not any(smaller <= candidate for smaller in kept):
            kept.append(candidate)
    return frozenset(kept)


def join_sets(a: FeatureSets, b: FeatureSets) -> FeatureSets:
    """Keep the minimal sets of two antichains; within each, none contains another.

    Examples
    --------
    >>> one, two, three = frozenset({1}), frozenset({2}), frozenset({1, 3})
    >>> join_sets(frozenset({two, three}), frozenset({one})) == {one, two}
    True
    """
    new = {candidate for candidate in b - a if not any(smaller <= candidate for smaller in a)}
    if not new:
        return a
    return frozenset({old for old in a if not any(smaller < old for smaller in new)} | new)


def unite_sets(a: FeatureSets, b: FeatureSets) -> FeatureSets:
    """Unite every set of one antichain with every set of the other and keep the minimal ones."""
    return minimal_sets(x | y for x in a for y in b)


def k_smallest_pairs(
    a: Sequence[T], b: Sequence[T], k: int, cost: Callable[[T], float]
) -> Iterator[tuple[T, T]]:
    """Yield the ``k`` cheapest pairs of two sequences that are sorted by cost.

    Notes
    -----
    Looks at no more than 2k pairs: row i of the sum matrix moves on only when its head is taken.
    """
    heap = [(cost(x) + cost(b[0]), i, 0) for i, x in enumerate(a[:k])] if b else []
    for _ in range(k):
        if not heap:
            return
        _, i, j = heap[0]
        yield a[i], b[j]
        if j + 1 < len(b):
            heapq.heapreplace(heap, (cost(a[i]) + cost(b[j + 1]), i, j + 1))
        else:
            heapq.heappop(heap)


def k_smallest(a: Sequence[T], b: Sequence[T], k: int, cost: Callable[[T], float]) -> tuple[T, ...]:
    """Merge two sequences that are sorted by cost and keep the first ``k``."""
    return tuple(islice(heapq.merge(a, b, key=cost), k))


def _falling(ordered: Sequence[Point]) -> Iterator[Point]:
    """Yield the points whose last criterion is below that of all points before."""
    best: int | None = None
    for point in ordered:
        if best is None or point[-1] < best:
            best = point[-1]
            yield point
