"""What the trees of a circuit test: numbers of trees under weights on tests, and sets of variables.

A *variable* is a source column with all the features made of it. A distinct feature may stand for
features of several variables; a weight on a test is the number of them that may be written there,
so 0 takes the split out. Each answer is one walk over the circuit (`src/core/variables.h`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.data import Data
from adtc.engine.circuit import Circuit, core_circuit
from adtc.engine.exact.limbs import counts_of, total_of
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import Keys, find_key, key_integers, key_order
from adtc.errors import TooLargeError

Array = npt.NDArray[Any]
Levels = Sequence[int] | None  # None: all
MOST_VARIABLES = 1024  # that sets are kept of


@dataclass(frozen=True)
class Uses:
    """Asks which variables the trees of some root cells test.

    Parameters
    ----------
    circuit, data
        The circuit and the table it was made of.
    keys
        The root cells, by key.
    """

    circuit: Circuit
    data: Data
    keys: Keys
    monitor: Monitor

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables, in the order of their features."""
        return tuple(dict.fromkeys(feature.column for feature in self.data.features))

    @cached_property
    def levels(self) -> int:
        """Count the levels on which trees have tests."""
        return levels_of(self.circuit)

    def without(self, lanes: Sequence[tuple[frozenset[str], Levels]]) -> list[int]:
        """Count, for each lane, the trees that test none of its variables on any of its levels."""
        weights = np.stack([self._weights(*lane) for lane in lanes], axis=-1)
        found = self.weighted(weights, np.where(self._chosen, 0, -1), 1)
        return [lane[0] for lane in found]

    def weighted(self, weights: Array, groups: Array, n: int) -> list[list[int]]:
        """Sum over trees the product of their tests' weights: ``[lane][group]``.

        Parameters
        ----------
        weights
            ``[level, distinct feature, lane]``, none larger than the feature's multiplicity.
        groups
            Per root cell its group, 0 … n − 1, or −1 to leave it out.
        """
        found: list[list[int]] = []
        for lanes in self._parts(weights.shape[-1]):
            part = np.ascontiguousarray(weights[..., lanes], np.uint64)
            with self.monitor.translated():
                sums = _core.weighted_counts(
                    self.monitor.control, self._core, groups.astype(np.int64), n, part, self.limbs,
                    self.monitor.memory,
                )  # fmt: skip
            found += [counts_of(sums[:, lane]) for lane in range(part.shape[-1])]
            self.monitor.report("trees without a variable", lanes.stop, weights.shape[-1])
        return found

    def minimal_sets(self) -> list[frozenset[str]]:
        """Find the minimal sets of variables that some tree manages with, small ones first."""
        self._check_number()
        with self.monitor.translated():
            masks = _core.minimal_variable_sets(
                self.monitor.control, self._core, np.where(self._chosen, 0, -1),
                self._behind[0], self._behind[1], len(self.names), self.monitor.memory,
            )  # fmt: skip
        place = {name: at for at, name in enumerate(self.names)}
        return sorted(self._sets(masks), key=lambda s: (len(s), sorted(place[n] for n in s)))

    def by_set(self, groups: Array | None = None) -> dict[int, dict[frozenset[str], int]]:
        """Count the trees by the set of variables they use, for each group of root cells."""
        self._check_number()
        if groups is None:
            groups = np.where(self._chosen, 0, -1)
        n = int(groups.max(initial=-1)) + 1
        entries = set_counts(self.circuit, self._column_of, groups, n, self.monitor)
        found: dict[int, dict[frozenset[str], int]] = {group: {} for group in range(n)}
        for group, mask, count in entries:
            found[group][self._names_of(mask)] = count
        return found

    @cached_property
    def limbs(self) -> int:
        """Return how many 64-bit limbs hold the number of all trees, and so every other one."""
        return limbs_for(self.circuit)

    @cached_property
    def _core(self) -> "_core.Circuit":
        return core_circuit(self.circuit)

    @cached_property
    def _chosen(self) -> Array:
        """Which of the root's cells are meant."""
        order = key_order(self.keys)
        ascending = self.keys[order]
        keys = self.circuit.root.keys
        if keys.ndim == 1:
            return np.isin(keys, ascending)
        return np.array([find_key(ascending, key) >= 0 for key in key_integers(keys)], bool)

    @cached_property
    def _behind(self) -> tuple[Array, Array, Array]:
        """The variables behind each distinct feature: where they start, which, how often."""
        return behind(self.circuit, self._column_of)

    @cached_property
    def _column_of(self) -> list[int]:
        """The variable of each feature."""
        place = {name: at for at, name in enumerate(self.names)}
        return [place[feature.column] for feature in self.data.features]

    def _weights(self, names: frozenset[str], levels: Levels) -> Array:
        """Take the features of some variables out of some levels."""
        multiplicity = self.circuit.prepared.features.multiplicity
        weights = np.repeat(multiplicity[np.newaxis], self.levels, axis=0)
        starts, variables, counts = self._behind
        left = np.array([self.names[v] not in names for v in variables.tolist()], bool)
        lowered = np.concatenate([[0], np.cumsum(np.where(left, counts, 0))])
        chosen = slice(None) if levels is None else list(levels)
        weights[chosen] = lowered[starts[1:]] - lowered[starts[:-1]]
        return weights

    def _parts(self, lanes: int) -> Iterator[slice]:
        """Divide lanes so that the numbers of two levels fit into half of the memory."""
        cells = max((len(level.cells.keys) for level in self.circuit.levels[1:]), default=1)
        most = max(1, self.monitor.memory // (32 * self.limbs * max(1, cells)))
        for at in range(0, lanes, most):
            yield slice(at, min(lanes, at + most))

    def _sets(self, masks: Array) -> Iterator[frozenset[str]]:
        for row in masks.tolist():
            yield self._names_of(_joined(row))

    def _names_of(self, mask: int) -> frozenset[str]:
        return frozenset(name for v, name in enumerate(self.names) if mask >> v & 1)

    def _check_number(self) -> None:
        if len(self.names) > MOST_VARIABLES:
            raise TooLargeError(
                f"the table has {len(self.names):,} source columns, and sets are kept of at most "
                f"{MOST_VARIABLES:,}: drop columns, or ask for one variable at a time."
            )


def levels_of(circuit: Circuit) -> int:
    """Count the levels on which trees have tests."""
    lattice = circuit.prepared.lattice
    return int(lattice.levels + lattice.rest)


def limbs_for(circuit: Circuit) -> int:
    """Return how many 64-bit limbs hold the number of all trees of a circuit."""
    return max(1, -(-total_of(circuit.root.values).bit_length() // 64))


def behind(circuit: Circuit, class_of: Sequence[int]) -> tuple[Array, Array, Array]:
    """List the classes behind each distinct feature: where they start, which, how often."""
    each = [
        Counter(class_of[twin.feature] for twin in twins)
        for twins in circuit.prepared.features.twins
    ]
    return (
        np.cumsum([0, *map(len, each)]).astype(np.int64),
        np.array([c for some in each for c in some], np.int64),
        np.array([n for some in each for n in some.values()], np.int64),
    )


def set_counts(
    circuit: Circuit, class_of: Sequence[int], groups: Array, n: int, monitor: Monitor
) -> list[tuple[int, int, int]]:
    """Count the trees of groups of root cells by the set of classes of features they test.

    Returns group, a bit for each class, and the number of trees.
    """
    starts, classes, counts = behind(circuit, class_of)
    try:
        with monitor.translated():
            places, masks, sums = _core.variable_set_counts(
                monitor.control, core_circuit(circuit), np.ascontiguousarray(groups, np.int64), n,
                starts, classes, counts, max(class_of, default=0) + 1, limbs_for(circuit),
                monitor.memory // 2,
            )  # fmt: skip
    except TooLargeError as error:
        if not isinstance(error.__context__, _core.OutOfMemory):
            raise
        raise TooLargeError(
            f"the sets of variables that trees use do not fit into half of the "
            f"{monitor.memory / 1e9:.2g} GB of memory that the run may use: ask about fewer trees, "
            f"drop columns, or raise the limit."
        ) from None
    triples = zip(places.tolist(), map(_joined, masks.tolist()), counts_of(sums), strict=True)
    return [triple for triple in triples if triple[2]]


def _joined(words: list[int]) -> int:
    return sum(word << (64 * place) for place, word in enumerate(words))
