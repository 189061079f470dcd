"""Trees of a profile: drawn uniformly, by number, in order, the best ones, and ones far apart.

The rank of a tree is the number of trees in earlier cells of the profile plus its number within its
cell (`adtc.engine.ranks` says in which order). Every tree that leaves this module was scored on the
data again and has its cell's metrics.
"""

import itertools
import secrets
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.algebra.trees import Tree, predict
from adtc.engine.exact.limbs import counts_of
from adtc.errors import QueryError
from adtc.profiles.numbered import DrawnTree, NumberedTrees
from adtc.profiles.profile import Profile
from adtc.text import is_whole

__all__ = ["DrawnTree", "best", "different", "draw", "iterate", "rank", "spread", "tree"]

Array = npt.NDArray[Any]
_TRIES = 16  # trees that are looked at together until one is admitted


def draw(
    profile: Profile,
    n: int = 1,
    *,
    where: str | Formula | None = None,
    seed: int | None = None,
) -> list[DrawnTree]:
    """Draw trees independently, each with exactly the same probability, with replacement.

    Parameters
    ----------
    where
        Draw only from the trees that satisfy a formula over the profile's metrics; ranks remain
        those in the whole profile.
    seed
        The same seed draws the same trees; None takes a fresh one, which the trees tell.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> trees = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> [(drawn.rank, drawn.metrics["error"]) for drawn in draw(trees, 3, seed=1)]
    [(1, 2), (5, 3), (3, 1)]
    """
    at_least_one("n", n)
    cells = NumberedTrees.of(profile)
    seed, rng = seeded(seed)
    if where is None:
        cells.some("the constraints of this profile")
        return cells.trees(_random_ranks(cells, rng, n), seed)
    chosen = NumberedTrees.of(profile.where(where))
    chosen.some(f"'{where}'")
    ranks = _random_ranks(chosen, rng, n)
    return cells.trees([cells.from_part(chosen, rank) for rank in ranks], seed)


def tree(profile: Profile, rank: int) -> DrawnTree:
    """Return the tree with a rank.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> trees = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> tree(trees, 5).tree
    Split(feature=0, t1=Leaf(label=0), t0=Leaf(label=1))
    """
    cells = NumberedTrees.of(profile)
    cells.check(rank)
    found = cells.trees([rank])[0]
    if not cells.admits(found.tree):
        raise QueryError(
            f"rank {rank:,} is that of a tree that the space leaves out by its tests: iterate over "
            f"the trees, or draw some."
        )
    return found


def rank(profile: Profile, tree: Tree | DrawnTree) -> int:
    """Return the rank of a tree; an error says why a tree is not in the profile."""
    cells = NumberedTrees.of(profile)
    return cells.rank(tree.tree if isinstance(tree, DrawnTree) else tree)


def iterate(profile: Profile, start: int = 0, stop: int | None = None) -> Iterator[DrawnTree]:
    """Yield the trees in the order of their ranks, from ``start`` up to but without ``stop``."""
    cells = NumberedTrees.of(profile)
    if start != cells.numbers:
        cells.check(start, "start")
    last = cells.numbers if stop is None else min(stop, cells.numbers)
    return cells.in_order(start, last)


def best(
    profile: Profile, k: int = 1, *, minimize: str | None = None, maximize: str | None = None
) -> list[DrawnTree]:
    """Return the k best trees by a metric, or by a term over metrics; ties in rank order.

    Where hardly a tree of a cell keeps to 'required' and 'max_variables', any of them may come.
    Trees on which it is undefined are left out, so there may be fewer than k.
    """
    at_least_one("k", k)
    cells = NumberedTrees.of(profile)
    if (minimize is None) == (maximize is None):
        raise QueryError("name what is best: either minimize=... or maximize=..., and not both.")
    text = minimize if minimize is not None else maximize
    assert text is not None
    values = profile.values(text)
    defined = np.array([value is not None for value in values.distinct], bool)[values.codes]
    codes = values.codes if minimize is not None else -values.codes
    order = np.argsort(codes, kind="stable")
    ranks: list[int] = []
    for cell in order[defined[order]].tolist():
        first, last = cells.before(cell), cells.before(cell + 1)
        if cells.rare(cell):
            here = counts_of(profile.trees[cell : cell + 1])[0]
            ranks += cells.admitted(cell, range(min(here, k - len(ranks))))
        elif cells.allowed.selective:
            more = itertools.islice(cells.in_order(first, last), k - len(ranks))
            ranks += [one.rank for one in more]
        else:
            ranks += range(first, min(last, first + k - len(ranks)))
        if len(ranks) == k:
            break
    return cells.trees(ranks)


def spread(profile: Profile, k: int, *, by: Sequence[str] | None = None) -> list[DrawnTree]:
    """Pick k trees whose metrics lie far apart, the first of those most trees agree on.

    Parameters
    ----------
    by
        The metrics, or terms over them; all of the profile's by default.

    Notes
    -----
    Every metric is scaled to run from 0 to 1 over the profile (floating point), and the distance of
    two cells is Euclidean. The first cell is the one with the most trees; each further one is the
    cell whose least distance to those picked is largest; ties go to the earlier cell. Of each cell
    its first tree is returned. Cells where a metric is undefined are left out, and no two picks
    agree on all metrics, so there may be fewer than k.
    """
    at_least_one("k", k)
    cells = NumberedTrees.of(profile)
    points, kept = _points(profile, profile.names if by is None else by)
    if not len(kept):
        return []
    # lexsort: the last key counts most, which is the highest limb; among equals the first cell
    most = np.lexsort((-np.arange(len(kept)), *profile.trees[kept].T))[-1]
    picked = _far_apart(lambda at: np.square(points - points[at]).sum(axis=1), int(most), k)
    return [cells.first(int(kept[at])) for at in picked]


def different(
    profile: Profile, k: int, *, seed: int | None = None, among: int = 200
) -> list[DrawnTree]:
    """Pick k trees that predict most differently on the data.

    Notes
    -----
    ``among`` trees are drawn uniformly. The first of them is picked; each further pick is the one
    whose least distance to those picked is largest, where the distance of two trees is the number
    of rows (by weight) that they label differently. Trees that predict like a picked one are not
    picked, so there may be fewer than k.
    """
    at_least_one("k", k)
    drawn = draw(profile, among, seed=seed)
    data = profile.need_source("drawing").data
    dense = data.dense()
    labels = np.stack([predict(one.tree, dense) for one in drawn])
    picked = _far_apart(lambda at: (labels != labels[at]) @ data.weights, 0, k)
    return [drawn[at] for at in picked]


def _far_apart(distances: Callable[[int], Array], first: int, k: int) -> list[int]:
    """Pick greedily what is farthest from all picked; ``distances(i)`` are those to i."""
    picked = [first]
    least = distances(first)
    while len(picked) < k:
        farthest = int(np.argmax(least))
        if least[farthest] == 0:
            break
        picked.append(farthest)
        least = np.minimum(least, distances(farthest))
    return picked


def _points(profile: Profile, metrics: Sequence[str]) -> tuple[Array, Array]:
    """Scale metrics to 0 … 1; return the points and the cells where all are defined."""
    if isinstance(metrics, str) or not metrics:
        raise QueryError(f"by is {metrics!r}, expected a list of metrics such as ['acc', 'size'].")
    columns = [profile.column(name) for name in metrics]
    kept = np.flatnonzero(np.all([column.bottom != 0 for column in columns], axis=0))
    scaled = []
    for column in columns:
        value = column.top[kept].astype(np.float64) / column.bottom[kept].astype(np.float64)
        low, high = value.min(initial=np.inf), value.max(initial=-np.inf)
        scaled.append((value - low) / (high - low) if high > low else np.zeros(len(kept)))
    return np.stack(scaled, axis=1), kept


def seeded(seed: int | None) -> tuple[int, np.random.Generator]:
    """Return the seed in use and its generator."""
    if seed is None:
        seed = secrets.randbits(63)
    if not is_whole(seed, 0):
        raise QueryError(f"seed is {seed!r}, expected a whole number of at least 0.")
    return int(seed), np.random.default_rng(seed)


def _random_ranks(cells: NumberedTrees, rng: np.random.Generator, n: int) -> list[int]:
    """Draw the ranks of n trees.

    Where the space leaves trees out by all their tests, a cell is drawn by its admitted trees, and
    then trees of the cell until one is admitted; where these are rare, they are built test by test.
    """
    numbers = uniform_ranks(rng, cells.count, n)
    if not cells.allowed.selective:
        return numbers
    admitted = counts_of(cells.profile.trees)
    until = list(itertools.accumulate(admitted))
    ranks: list[int] = []
    for number in numbers:
        cell = bisect_right(until, number)
        first, last = cells.before(cell), cells.before(cell + 1)
        if cells.rare(cell):
            ranks += cells.admitted(cell, uniform_ranks(rng, admitted[cell], 1))
            continue
        while True:
            some = [first + r for r in uniform_ranks(rng, last - first, _TRIES)]
            found = (one.rank for one in cells.trees(some) if cells.admits(one.tree))
            if (rank := next(found, None)) is not None:
                ranks.append(rank)
                break
    return ranks


def uniform_ranks(rng: np.random.Generator, count: int, n: int) -> list[int]:
    """Draw n integers from 0, …, count − 1, each with probability exactly 1/count.

    As `adtc.algebra.uniform.uniform_below` does, from one block of random bytes for all.
    """
    bits = (count - 1).bit_length()
    width = (bits + 7) // 8
    drawn: list[int] = [] if bits else [0] * n
    while len(drawn) < n:
        block = rng.bytes(width * (n - len(drawn)))
        pieces = (block[at : at + width] for at in range(0, len(block), width))
        whole = (int.from_bytes(piece, "little") >> (8 * width - bits) for piece in pieces)
        drawn += [rank for rank in whole if rank < count]  # a remainder would favour small ranks
    return drawn


def at_least_one(name: str, value: int) -> None:
    """Refuse a number that is not whole or below 1."""
    if not is_whole(value, 1):
        raise QueryError(f"{name} is {value!r}, expected a whole number of at least 1.")
