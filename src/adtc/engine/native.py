"""Tables, lattices and leaves as the native core takes them.

The core counts in 64-bit integers; what is in another type is converted here, and only here.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core


def table_of(table: Any) -> _core.Table:
    """Hand the rows over, plane by plane."""
    return _core.Table(
        table.words,
        table.offsets,
        table.rows,
        table.plane_group,
        table.plane_shift,
        integers(table.totals),
    )


def lattice_of(lattice: Any, features: int) -> _core.Lattice:
    """Hand over where paths are numbered."""
    return _core.Lattice(lattice.binomial, lattice.base, features, lattice.levels, lattice.rest)


def costs_of(leaves: Any, infinity: int) -> _core.Costs:
    """Hand over what leaves cost under each budget, and which labels they may carry."""
    return _core.Costs(
        leaves.cost_weights,
        leaves.cost_constants,
        leaves.group_label,
        infinity,
        leaves.minsup,
        leaves.majority,
    )


def integers(array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return an array as contiguous 64-bit integers, itself if it is that already."""
    return np.ascontiguousarray(array, np.int64)
