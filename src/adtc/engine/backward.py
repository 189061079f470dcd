"""The backward pass: from weights on the root's cells down to what good trees do to each row.

The adjoint A(I)(k) of a cell is the weighted number of ways to complete one of its subtrees to a
whole tree. Where that subtree is a leaf, it is the number of good trees that have this leaf.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from adtc.data import Data
from adtc.data.bits import Words, unpack
from adtc.engine.circuit import Circuit
from adtc.engine.keys import Keys, key_integers
from adtc.engine.monitor import Monitor
from adtc.engine.ranks import Cursor, Ranks
from adtc.engine.wide import counts_of

Array = npt.NDArray[Any]
_STAGE = "votes of good trees"
Path = tuple[tuple[int, int], ...]  # ascending: distinct feature, 1 if its value is 0


def votes(
    circuit: Circuit,
    cells: Keys,
    data: Data,
    *,
    weights: Sequence[int | float] | None = None,
    monitor: Monitor | None = None,
) -> Array:
    """Count for every row and label the trees of some root cells that predict it.

    Parameters
    ----------
    cells
        The cells, by their keys.
    data
        The table that the circuit was made of.
    weights
        What a tree of each cell counts; 1 without them. Floats give floats.

    Returns
    -------
    ndarray
        ``[row, label]``: Python integers, or floats where weights are.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"], where="error <= 1")
    >>> votes(profile.source.circuit, profile.keys, data).tolist()
    [[0, 3], [0, 3], [1, 2]]
    """
    return votes_of_rows(circuit, cells, data.bits, data.n_rows, weights=weights, monitor=monitor)


def votes_of_rows(
    circuit: Circuit,
    cells: Keys,
    bits: Words,
    n_rows: int,
    *,
    weights: Sequence[int | float] | None = None,
    monitor: Monitor | None = None,
) -> Array:
    """Count the same for any rows, given by the bits of all original features.

    Features that are equal on the table may differ on other rows. A leaf on a path with such a
    feature then counts in proportion to how many of them have the path's value.
    """
    monitor = monitor or Monitor()
    chosen = key_integers(cells)
    each = [1] * len(chosen) if weights is None else list(weights)
    real = any(isinstance(weight, float) for weight in each)
    labels = circuit.prepared.plan.question.schema.labels
    found = np.zeros((n_rows, labels), np.float64 if real else object)
    rows = _Rows(circuit, bits, n_rows)
    for event in _events(circuit, chosen, each, monitor):
        names, there = rows.at(event.path)
        weight = event.weight / names if real else event.weight // names
        found[:, event.label] += weight * there.astype(found.dtype)
    if not real:
        _check(found, circuit, chosen, each)
    return found


class LeafEvent(NamedTuple):
    """Leaves of one label on one path: ascending literals, and how many trees have them."""

    path: Path
    label: int
    weight: Any


def _events(
    circuit: Circuit, keys: list[int], weights: list[Any], monitor: Monitor
) -> Iterator[LeafEvent]:
    """Hand adjoints down, level by level."""
    multiplicity = circuit.prepared.features.multiplicity.tolist()
    trivial = circuit.prepared.leaves.trivial_splits
    root: Path = ()
    here: dict[Path, tuple[Cursor, dict[int, Any]]] = {}
    if keys:
        here[root] = Ranks(circuit).cursor(), dict(zip(keys, weights, strict=True))
    taken: dict[tuple[Path, int], Any] = {}
    while here:
        below: dict[Path, tuple[Cursor, dict[int, Any]]] = {}
        lost: dict[tuple[Path, int], Any] = {}
        for done, (path, (place, cells)) in enumerate(here.items(), 1):
            monitor.check()
            for key, weight in cells.items():
                for label in place.labels(key):
                    yield LeafEvent(path, label, weight - taken.get((path, label), 0))
                for f, key1, count1, key0, count0 in place.splits(key):
                    ends = [(0, key1, weight * multiplicity[f] * count0)]
                    ends += [(1, key0, weight * multiplicity[f] * count1)]
                    sides = []
                    for side, child_key, add in ends:
                        child = tuple(sorted((*path, (f, side))))
                        if child not in below:
                            below[child] = place.child(f, side), {}
                        adjoints = below[child][1]
                        adjoints[child_key] = adjoints.get(child_key, 0) + add
                        sides.append((child, set(below[child][0].labels(child_key))))
                    if trivial:
                        continue
                    for label in sides[0][1] & sides[1][1]:
                        for child, _ in sides:
                            at = child, label
                            lost[at] = lost.get(at, 0) + weight * multiplicity[f]
            monitor.report(_STAGE, done, len(here))
        here, taken = below, lost


class _Rows:
    """How many of the features behind each literal rows fulfil."""

    def __init__(self, circuit: Circuit, bits: Words, n_rows: int) -> None:
        dense = unpack(bits, n_rows).astype(np.int64)
        self.ones = [
            sum((dense[twin.feature] ^ twin.flipped for twin in some), np.zeros(n_rows, np.int64))
            for some in circuit.prepared.features.twins
        ]
        self.multiplicity = circuit.prepared.features.multiplicity.tolist()
        self.all = np.ones(n_rows, np.int64)

    def at(self, path: Path) -> tuple[int, Array]:
        """Return in how many ways a path can be written, and how many of them each row fulfils."""
        names, there = 1, self.all
        for f, side in path:
            names *= self.multiplicity[f]
            there = there * (self.multiplicity[f] - self.ones[f] if side else self.ones[f])
        return names, there


def _check(found: Array, circuit: Circuit, keys: list[int], weights: list[Any]) -> None:
    """Every tree decides every row once."""
    counts = dict(zip(key_integers(circuit.root.keys), _counts(circuit), strict=True))
    total = sum(counts[key] * weight for key, weight in zip(keys, weights, strict=True))
    if not (found.sum(axis=1) == total).all():
        raise RuntimeError(f"the votes of a row do not add up to the number of trees, {total}.")


def _counts(circuit: Circuit) -> list[int]:
    return counts_of(circuit.root.values)
