"""Ranks: every good tree of a circuit has a number within its cell, and every number a tree.

The order within a cell, at the root and at every subtree alike: leaves by label, then splits by
distinct feature, by the key of child 1, by the number of child 1 within its cell, by that of child
0, and last by which of the equal or complementary features is written. Child 1 is the side with
fewer rows. Trees are numbered from 0; nothing is listed to find one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.forests import Forest
from adtc.algebra.trees import Tree
from adtc.engine.circuit import Circuit, core_fields
from adtc.engine.exact.limbs import counts_of
from adtc.engine.membership import Measured, MeasuredLeaf, TreeMeasurer
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import find_key, key_integers, key_order, packed_keys
from adtc.errors import QueryError

Array = npt.NDArray[Any]
_MOST_BYTES = 2**28
_CALLS = 8  # of a circuit elsewhere, before it is worth having here
_CHUNK = 1024  # trees that are listed at once, at most


class Ranks:
    """Finds the trees of a circuit by number, and the numbers of trees.

    Parameters
    ----------
    most_bytes
        How much the parts of the circuit that were opened may hold before they are forgotten.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> circuit = adtc.profile(data, adtc.Space(max_depth=1), ["error"]).source.circuit
    >>> ranks = Ranks(circuit)
    >>> [(key, ranks.count(key)) for key in ranks.keys]
    [(-2, 1), (-1, 2), (0, 2), (1, 1)]
    >>> from adtc.algebra.trees import Leaf, Split
    >>> ranks.unrank(-1, 0), ranks.rank(Split(0, Leaf(0), Leaf(0)))
    (Leaf(label=1), (0, 1))
    """

    def __init__(self, circuit: Circuit, *, most_bytes: int = _MOST_BYTES) -> None:
        self.circuit, self._most_bytes, self._calls = circuit, most_bytes, 0
        keys = circuit.root.keys
        self._order = key_order(keys)
        self._keys = keys[self._order]
        self._measurer: TreeMeasurer | None = None

    @cached_property
    def _native(self) -> Any:
        return _cursor(self.circuit, self._most_bytes)

    @property
    def keys(self) -> list[int]:
        """List the keys of all cells, ascending."""
        return key_integers(self._keys)

    def count(self, key: int) -> int:
        """Count the trees of a cell; 0 if there is no such cell."""
        at = find_key(self._keys, key)
        return counts_of(self.circuit.root.values[self._order[at]][np.newaxis])[0] if at >= 0 else 0

    def unrank(self, key: int, rank: int) -> Tree:
        """Return the tree with a number within its cell."""
        count = self.count(key)
        if not 0 <= rank < count:
            there = f"there are {count:,} trees, ranks 0 to {count - 1:,}" if count else "no tree"
            raise QueryError(f"rank {rank:,} is not in the cell {key}: {there}.")
        return self.unrank_many([key], [rank]).trees()[0]

    def unrank_many(self, keys: Sequence[int] | Array, ranks: Sequence[int]) -> Forest:
        """Return the trees with numbers within the cells of keys, in their order.

        Trees that share parts of the way down are found together, so one call for many is far
        faster than many calls.
        """
        if not isinstance(keys, np.ndarray):
            keys = packed_keys(keys, wide=self._keys.ndim > 1)
        self._calls += 1
        if self.circuit.remote is not None and self._calls <= _CALLS:
            return self.circuit.remote.run(_unranked, keys, list(ranks), monitor=Monitor())
        width = 8 * self._native.limbs
        limbs = b"".join([int(rank).to_bytes(width, "little") for rank in ranks])
        found = self._native.unrank(
            np.ascontiguousarray(keys, np.int64),
            np.frombuffer(limbs, np.uint64).reshape(len(ranks), self._native.limbs),
            _core.Control(),
        )
        return Forest(*found)

    def trees(self, key: int, start: int = 0) -> Iterator[Tree]:
        """Yield the trees of a cell in the order of their numbers, from ``start`` on."""
        if start < 0:
            raise QueryError(f"start is {start}, expected a rank of at least 0.")
        return self._trees(key, start, self.count(key))

    def _trees(self, key: int, start: int, count: int) -> Iterator[Tree]:
        size = 1
        while start < count:
            some = range(start, min(count, start + size))
            yield from self.unrank_many([key] * len(some), some).trees()
            start, size = some.stop, min(2 * size, _CHUNK)

    def rank(self, tree: Tree) -> tuple[int, int]:
        """Return the key of a tree's cell and the tree's number in it."""
        if self._measurer is None:
            self._measurer = TreeMeasurer(self.circuit)
        measured = self._measurer.measure(tree)
        nodes: list[tuple[int, int, int]] = []
        _write(measured, nodes)
        codes, twins, keys = zip(*nodes, strict=True)
        limbs: list[int] = self._native.rank(
            np.array(codes, np.int64),
            np.array(twins, np.int64),
            packed_keys(keys, wide=self._keys.ndim > 1),
        )
        return measured.key, sum(limb << (64 * place) for place, limb in enumerate(limbs))

    def cursor(self) -> "Cursor":
        """Return a cursor at the root."""
        return Cursor(self._native, (0, -1, -1))

    def sums(
        self,
        keys: Array,
        rows: Any,
        functions: Any,
        leaves: Any,
        monitor: Monitor,
    ) -> list[float]:
        """Sum over the trees of some root cells in a semiring of C functions, cell by cell.

        Parameters
        ----------
        rows, functions, leaves
            The core's `Table`, `SemiringFunctions` and `LeafMetrics`: the circuit's features on
            rows in groups that are fine enough for the metrics.
        """
        with monitor.translated():
            found = self._native.sums(
                np.ascontiguousarray(keys), rows, functions, leaves, monitor.memory, monitor.control
            )
        values: list[float] = found.tolist()
        return values

    @property
    def bytes(self) -> int:
        """Estimate what the opened parts hold."""
        held: int = self._native.bytes
        return held


class Branch(NamedTuple):
    """A way to split a cell: a distinct feature, and key and number of trees of both children.

    Child 1 is the side where the distinct feature is 1.
    """

    feature: int
    key1: int
    count1: int
    key0: int
    count0: int


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a circuit: a path, from which one can step down to its children.

    Paths that test the same literals in another order are the same place, as far as the circuit
    stores them.
    """

    _native: Any = field(repr=False, compare=False)
    _at: tuple[int, int, int]  # the path, and up to two literals below it

    def labels(self, key: int) -> list[int]:
        """List the labels of the leaves with a key."""
        labels: list[int] = self._native.labels(self._at, key)
        return labels

    def splits(self, key: int) -> list[Branch]:
        """List the splits of a cell, by feature and then by the key of child 1.

        Pairs of leaves of equal label count, also where the space leaves trivial splits out.
        """
        features, keys1, counts1, keys0, counts0 = self._native.splits(self._at, key)
        columns = (
            features.tolist(),
            key_integers(keys1),
            counts_of(counts1),
            key_integers(keys0),
            counts_of(counts0),
        )
        return [Branch(*row) for row in zip(*columns, strict=True)]

    def child(self, feature: int, side: int) -> "Cursor":
        """Step down: to the rows with a distinct feature (side 0), or to the others (side 1)."""
        return Cursor(self._native, self._native.child(self._at, feature, bool(side)))


def _write(tree: Measured, nodes: list[tuple[int, int, int]]) -> None:
    """Write a measured tree in preorder: feature or −1 − label, twin, key."""
    if isinstance(tree, MeasuredLeaf):
        nodes.append((-1 - tree.label, 0, tree.key))
        return
    nodes.append((tree.feature, tree.twin, tree.key))
    _write(tree.one, nodes)
    _write(tree.zero, nodes)


def _unranked(circuit: Circuit, keys: Array, ranks: Sequence[int], *, monitor: Monitor) -> Forest:
    """Find trees where the circuit is."""
    return Ranks(circuit).unrank_many(keys, ranks)


def _cursor(circuit: Circuit, most_bytes: int) -> Any:
    """Hand a circuit to the core."""
    twins = circuit.prepared.features.twins
    names = [twin for some in twins for twin in some]
    return _core.Cursor(
        **core_fields(circuit),
        twin_starts=np.cumsum([0, *map(len, twins)]),
        twin_features=np.array([twin.feature for twin in names], np.int64),
        twin_flipped=np.array([twin.flipped for twin in names], bool),
        most_bytes=most_bytes,
    )
