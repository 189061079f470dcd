"""The posterior as a mixture of leaves: the pass down, and class probabilities for any rows.

A row is at exactly one leaf of each tree. With q(I) for the probability that a tree has the leaf I,
the row's class probabilities are Σ q(I) · (n_c + ρ_c) / (n + ρ) over the leaves I that it reaches.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.data.bits import Words, unpack
from adtc.engine import lattice as lattices
from adtc.engine.bayes.posterior import TreeSums, first_features, rounding_error
from adtc.engine.executors import run_jobs
from adtc.engine.monitor import Monitor
from adtc.engine.scalar import leading
from adtc.errors import TooLargeError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
_Part = tuple[Ints, Floats, Ints, float]  # numbers, probabilities, rows, lost
LOST = 1e-6
"""How much of a row's probability may be at leaves that are too improbable to be listed."""
_LEAST, _LESS = 1e-13, 1 / 64  # leaves less probable are left out; if too much is lost, still less
_MOST = 2**22  # leaves: more would take long, for digits that nobody reads
_BLOCK = 2048  # rows that are predicted together
_COPIES = 4  # of the list of leaves, while it is sorted and merged


@dataclass(frozen=True, slots=True)
class Mixture:
    """All leaves that trees have with some probability.

    Parameters
    ----------
    literals
        ``[leaf, depth]``: 2 · distinct feature + negative, ascending, −1 behind the last; leaves
        in the order of a trie.
    mass
        The probability that a tree has the leaf.
    counts
        ``[leaf, label]`` rows of the table.
    lost
        A bound on what any row has of its probability at leaves that were left out.
    """

    sums: TreeSums
    literals: npt.NDArray[np.int32]
    mass: Floats
    counts: Ints
    lost: float

    @property
    def error(self) -> float:
        """Bound the absolute error of every class probability."""
        sums = self.sums
        outer = 0
        for _ in range(sums.depth):
            outer += sums.roundings + 2 * sums.depth + 8 + max(1, sums.most_leaves)
        merged = 2 * math.comb(sums.depth, 2) + sums.depth + 1  # ways to one leaf
        return self.lost + rounding_error(2 * sums.roundings + outer + merged + len(self.mass) + 8)

    def shares(self) -> Floats:
        """Return for each leaf its probability times that of each class there."""
        rho = np.array(self.sums.prior.rho)
        means = (self.counts + rho) / (self.counts.sum(axis=1) + rho.sum())[:, None]
        return np.ascontiguousarray(self.mass[:, None] * means)

    def predict(self, bits: Words, n_rows: int, monitor: Monitor) -> Floats:
        """Compute the class probabilities of rows, given as bits of all original features.

        Features that are alike on the table may differ on other rows. Each of them stands in as
        many trees, so a row passes a test on them with the share of those that it fulfils.
        """
        shares = self.shares()
        out = np.zeros((n_rows, shares.shape[1]))

        def job(rows: range) -> None:
            words = bits[:, rows.start // 64 : -(-rows.stop // 64)]
            ones = self._ones(words, len(rows))
            part = np.zeros((len(rows), shares.shape[1]))
            _core.mix_leaves(self.literals, shares, ones, part, monitor.control)
            out[rows.start : rows.stop] = part

        blocks = [range(r, min(n_rows, r + _BLOCK)) for r in range(0, n_rows, _BLOCK)]
        run_jobs(job, blocks, "predictions", monitor)
        return out

    def _ones(self, words: Words, n_rows: int) -> Floats:
        """Return for each distinct feature and row the share of its twins that are 1."""
        dense = unpack(words, n_rows)
        return np.array(
            [
                np.mean([dense[t.feature] ^ t.flipped for t in twins], axis=0)
                for twins in self.sums.features.twins
            ],
            np.float64,
        ).reshape(len(self.sums.features.twins), n_rows)


def find_leaves(sums: TreeSums, monitor: Monitor) -> Mixture:
    """Run the pass down: list every leaf that is not too improbable.

    What is left out is added up. Where that is more than `LOST`, less is left out, until the list
    grows too long; the bound is part of the answer.
    """
    most = min(_MOST, monitor.memory // _bytes(sums))
    found: Mixture | None = None
    least = _LEAST
    while found is None or found.lost > LOST:
        try:
            found = _listed(sums, least, most, monitor)
        except _core.OutOfMemory:
            if found is None:
                raise _too_many(most, monitor) from None
            return found
        least *= _LESS
    return found


def _bytes(sums: TreeSums) -> int:
    """Return the memory that a leaf needs while all are sorted and merged."""
    return _COPIES * (16 + 8 * len(sums.data.labels)) + 4 * sums.depth


def _listed(sums: TreeSums, least: float, most: int, monitor: Monitor) -> Mixture:
    """List the leaves of probability ``least`` or more, on one way or another."""
    lattice = sums.lattice
    names = lattices.numbered_leaves(lattice.features, sums.depth)
    live = np.zeros(len(sums.counts), bool)
    with monitor.translated():
        above = sums.up.hand_down(least, live, monitor.control)
    wanted = leading(lattice, live)

    def job(some: range) -> _Part | None:
        try:
            return sums.up.leaves_last(
                some.start, some.stop, wanted, least, names, most, monitor.control
            )
        except _core.OutOfMemory:
            return None

    found = run_jobs(job, first_features(lattice, monitor), "leaves", monitor)
    parts = [part for part in found if part is not None]
    if len(parts) < len(found) or sum(len(part[0]) for part in parts) > most:
        raise _core.OutOfMemory
    return _merged(sums, names, [above, *parts])


def _too_many(most: int, monitor: Monitor) -> TooLargeError:
    return TooLargeError(
        f"more than {most:,} different leaves are likely enough to matter for predictions, and "
        f"they do not fit into the {monitor.memory / 1e9:.2g} GB of memory that the run may use: "
        f"choose a larger minsup or less depth."
    )


def _merged(sums: TreeSums, names: _core.Lattice, parts: list[_Part]) -> Mixture:
    """Put together what was found of each leaf on several ways, and order leaves as in a trie."""
    numbers = np.concatenate([part[0] for part in parts])
    mass = np.concatenate([part[1] for part in parts])
    counts = np.concatenate([part[2] for part in parts])
    distinct, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    total = np.zeros(len(distinct))
    np.add.at(total, place.reshape(-1), mass)
    literals = _core.literals_of(names, distinct, sums.depth)
    order = np.lexsort(literals.T[::-1]) if sums.depth else np.arange(len(distinct))
    return Mixture(
        sums,
        np.ascontiguousarray(literals[order]),
        total[order],
        counts[first[order]],
        math.fsum(part[3] for part in parts),
    )
