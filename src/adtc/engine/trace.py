"""Walking down the circuit: the trees of a cell, one after another, without listing the others.

A cell of a path's tensor is reached by a leaf with its key, or by a split whose children's cells
add up to it. The last two levels are not stored; they are counted again for each path visited.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Leaf, Split, Tree
from adtc.engine.circuit import Circuit
from adtc.engine.kernels import bits

Array = npt.NDArray[Any]
Literals = tuple[tuple[int, bool], ...]  # ascending (feature, negative)


def trees_of_cell(circuit: Circuit, key: int) -> Iterator[Tree]:
    """Yield the trees of a cell of the root's tensor in a fixed order."""
    return _below(circuit, (), key)


def _below(circuit: Circuit, path: Literals, key: int) -> Iterator[Tree]:
    """Yield the trees with a key below a path."""
    if len(path) == circuit.ground.lattice.levels:
        yield from _closed(circuit, path, key)
        return
    node = _number(circuit, path)
    first = int(circuit.ground.lattice.base[len(path)])
    counts = circuit.ground.inside.counts[first + node]
    yield from (Leaf(label) for label, k in _leaf_keys(circuit, counts) if k == key)
    on_path = {f for f, _ in path}
    for f in range(len(circuit.ground.features.twins)):
        if f in on_path:
            continue
        one, zero = (_extended(path, f, negative) for negative in (False, True))
        keys1, keys0 = _cells(circuit, one), _cells(circuit, zero)
        if keys1 is None or keys0 is None:
            continue
        for k1 in keys1[np.isin(key - keys1, keys0)].tolist():
            yield from _splits(
                circuit, f, lambda k1=k1, one=one: _below(circuit, one, k1),
                lambda k1=k1, zero=zero: _below(circuit, zero, key - k1),
            )  # fmt: skip


def _splits(circuit: Circuit, f: int, ones: Any, zeros: Any) -> Iterator[Tree]:
    """Join subtrees under every original feature that ``f`` stands for."""
    for t1, t0 in _pairs(ones, zeros):
        if not circuit.ground.leaves.trivial_splits and isinstance(t1, Leaf) and t1 == t0:
            continue
        for twin in circuit.ground.features.twins[f]:
            yield Split(twin.feature, t0, t1) if twin.flipped else Split(twin.feature, t1, t0)


def _pairs(ones: Any, zeros: Any) -> Iterator[tuple[Tree, Tree]]:
    """Run through all pairs without keeping either list."""
    return ((t1, t0) for t1 in ones() for t0 in zeros())


def _extended(path: Literals, f: int, negative: bool) -> Literals:
    return tuple(sorted((*path, (f, negative))))


def _number(circuit: Circuit, path: Literals) -> int:
    """Compute a path's number within its level, as the kernels do."""
    binomial = circuit.ground.lattice.binomial
    rank = sum(int(binomial[f, i + 1]) for i, (f, _) in enumerate(path))
    signs = sum(negative << i for i, (_, negative) in enumerate(path))
    return (rank << len(path)) + signs


def _cells(circuit: Circuit, path: Literals) -> Array | None:
    """Return the keys of a path's tensor, None if the path is not live."""
    number = _number(circuit, path)
    if not circuit.outside.live[int(circuit.ground.lattice.base[len(path)]) + number]:
        return None
    level = circuit.levels[len(path)]
    keys: Array = level.cells.keys[int(level.starts[number]) : int(level.stops[number])]
    return keys


def _leaf_keys(circuit: Circuit, counts: Array) -> list[tuple[int, int]]:
    """List the labels that a leaf may carry, each with the leaf's key."""
    leaves = circuit.ground.leaves
    if counts.sum() < leaves.minsup:
        return []
    keys = leaves.key_constant + leaves.key_weights @ counts.astype(np.int64)
    if not leaves.majority:
        return list(enumerate(keys.tolist()))
    votes = np.bincount(leaves.group_label, counts, minlength=len(keys))
    label = int(votes.argmax())  # ties: the smallest label
    return [(label, int(keys[label]))]


@dataclass(frozen=True, slots=True)
class _Side:
    """The trees of depth at most 1 on one side of a feature: keys, and what each one is."""

    keys: Array
    trees: tuple[tuple[int, int, int], ...]  # (feature or −1, label1, label0)


def _closed(circuit: Circuit, path: Literals, key: int) -> Iterator[Tree]:
    """Yield the trees of depth at most 2 with a key below a path of the last level."""
    pairs, totals = _pair_counts(circuit, path)
    yield from (Leaf(label) for label, k in _leaf_keys(circuit, totals) if k == key)
    if circuit.ground.lattice.rest == 0:
        return
    on_path = {f for f, _ in path}
    free = [f for f in range(pairs.shape[1]) if f not in on_path]
    for f in free:
        others = [j for j in free if j != f] if circuit.ground.lattice.rest > 1 else []
        side1 = _side(circuit, pairs[:, f, f], pairs[:, f, others], others)
        rest = pairs[:, others, others] - pairs[:, f, others]
        side0 = _side(circuit, totals - pairs[:, f, f], rest, others)
        if not len(side1.keys) or not len(side0.keys):
            continue
        for at in np.flatnonzero(np.isin(key - side1.keys, side0.keys)).tolist():
            partners = np.flatnonzero(side0.keys == key - side1.keys[at]).tolist()
            for other in partners:
                yield from _splits(
                    circuit, f,
                    lambda at=at, side1=side1: _small(circuit, side1.trees[at]),
                    lambda other=other, side0=side0: _small(circuit, side0.trees[other]),
                )  # fmt: skip


def _side(circuit: Circuit, whole: Array, ones: Array, others: list[int]) -> _Side:
    """List all leaves and stumps on rows with counts ``whole``; ``ones[:, j]`` where j is 1."""
    keys: list[int] = []
    trees: list[tuple[int, int, int]] = []
    for label, key in _leaf_keys(circuit, whole):
        keys.append(key)
        trees.append((-1, label, label))
    for at, j in enumerate(others):
        leaves1 = _leaf_keys(circuit, ones[:, at])
        leaves0 = _leaf_keys(circuit, whole - ones[:, at])
        for (label1, key1), (label0, key0) in itertools.product(leaves1, leaves0):
            keys.append(key1 + key0)
            trees.append((j, label1, label0))
    return _Side(np.array(keys, np.int64), tuple(trees))


def _small(circuit: Circuit, tree: tuple[int, int, int]) -> Iterator[Tree]:
    """Make the leaf or the stump that a `_Side` lists."""
    feature, label1, label0 = tree
    if feature < 0:
        return iter((Leaf(label1),))
    return _splits(circuit, feature, lambda: [Leaf(label1)], lambda: [Leaf(label0)])


def _pair_counts(circuit: Circuit, path: Literals) -> tuple[Array, Array]:
    """Count the rows of a path by group for all pairs of features: symmetric [group, i, j]."""
    table = circuit.ground.table
    mask = np.full(table.words.shape[1], 2**64 - 1, np.uint64)
    for f, negative in path:
        mask &= ~table.words[f] if negative else table.words[f]
    pairs = np.zeros_like(table.pairs)
    n = len(table.words)
    bits.count_pairs(
        table.words & mask, n, table.offsets, table.plane_group, table.plane_shift, pairs
    )
    full = pairs + np.transpose(np.triu(pairs, 1), (0, 2, 1))
    node = int(circuit.ground.lattice.base[len(path)]) + _number(circuit, path)
    return full, circuit.ground.inside.counts[node]
