"""Errors with one column shuffled: the least and the largest among the trees of each root cell.

They are counted over hybrid rows (`adtc.data.hybrids`), for many columns in one walk over a circuit
that knows nothing of such rows (`src/core/reliance.h`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.forests import Forest
from adtc.algebra.trees import Tree
from adtc.engine.circuit import Circuit, core_circuit
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import Keys, find_keys

_MOST_ROWS = 2**30  # by weight: pairs of them are counted in 64 bits
_CELL_BYTES = 64  # of a column in a cell
_MOST_BYTES = 2**30  # of all columns that are walked together


@dataclass(frozen=True, slots=True)
class Switched:
    """What is known of some columns.

    Parameters
    ----------
    errors
        ``[end, column, cell]``: the least and the largest.
    """

    columns: tuple[str, ...]
    errors: npt.NDArray[np.int64]
    _found: _core.SwitchedErrors
    _circuit: Circuit

    def trees(self, cells: npt.NDArray[np.int64]) -> list[Tree]:
        """Return a tree of a cell for each column: with the least errors, then the largest."""
        written = [twins[0] for twins in self._circuit.prepared.features.twins]
        starts, codes = self._found.trees(
            cells, np.arange(len(cells)),
            np.array([twin.feature for twin in written], np.int64),
            np.array([twin.flipped for twin in written], bool),
        )  # fmt: skip
        return Forest(starts, codes).trees()


def can_switch(circuit: Circuit, features: Sequence[int]) -> bool:
    """Tell whether the walk serves a column, given by its features.

    It does not where a feature that is none of the column's stands for the same distinct one: on
    hybrid rows the two differ.
    """
    plan, own = circuit.prepared.plan, frozenset(features)
    twins = ({twin.feature for twin in some} for some in circuit.prepared.features.twins)
    return (
        circuit.remote is None
        and plan.question.space.trivial_splits
        and not plan.question.allowed.selective
        and plan.question.schema.total < _MOST_ROWS
        and all(some <= own or not some & own for some in twins)
    )


def switched_errors(
    circuit: Circuit, keys: Keys, columns: Mapping[str, Sequence[int]], monitor: Monitor
) -> Iterator[Switched]:
    """Find the errors of all columns, as many at once as fit into the memory.

    Parameters
    ----------
    keys
        The root cells that are meant, ascending.
    columns
        The features of each column; they must be told apart from all others (`can_switch`).
    """
    core, groups = core_circuit(circuit), find_keys(keys, circuit.root.keys).astype(np.int64)
    cells = len(keys) + sum(len(level.cells.keys) for level in circuit.levels[1:])
    bytes_at_once = min(_MOST_BYTES, monitor.memory // 4)
    at_once = max(1, bytes_at_once // (_CELL_BYTES * max(1, cells)))
    names = list(columns)
    for at in range(0, len(names), at_once):
        some = tuple(names[at : at + at_once])
        owner = {f: place for place, name in enumerate(some) for f in columns[name]}
        column_of = [owner.get(twins[0].feature, -1) for twins in circuit.prepared.features.twins]
        with monitor.translated():
            found = _core.switched_errors(
                monitor.control, core, groups, len(keys), np.array(column_of, np.int64), len(some),
                monitor.memory,
            )  # fmt: skip
        monitor.report("reliance on columns", at + len(some), len(names))
        yield Switched(some, found.errors(), found, circuit)
