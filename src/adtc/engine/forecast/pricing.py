"""What work costs, in seconds and bytes: every measured constant of forecasts, in one place.

Measured by ``make bench-forecasts`` on one thread of a two-core server, as CPU time; `speed` says
how much slower this machine is. What matters is the order: a product of cells in a small dense
array costs a nanosecond, in a sparse one twenty times that.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from adtc.engine.forecast.foresee import DrawnSizes
from adtc.engine.plan import Plan
from adtc.engine.prepare import Prepared

START = 0.006  # reading rows into words, numbering paths
INSIDE = 1e-6  # a path and half a budget of the inside pass
COUNTED = 3e-7  # a path whose rows are counted, without budgets
PAIRED, KEPT = 4e-10, 3e-11  # a pair of features below a path, with budgets and without: of 50
# features less than the path itself, of 800 (10,000 rows, depth 3) 0.9 s and 0.03 s in all
LAST = 9e-9  # a pair of features below a live path of the last level
DENSE_FILL = 0.02  # share of the possible cells that are filled, from which on products speed up
SPARSE = 16e-9  # a pair of cells where fewer are filled
CHECKED = 6e-8  # a pair of cells of the last level whose costs are compared with budgets
LEAST_PAIR = 4e-10  # and where all are
HASHED = 1.3e-7  # a cell of a single large hash table, which no cache holds
LARGE = 1e5  # cells of such a table
READ = 6e-9  # a cell of the result: sorting, filtering
LISTED, TABLED, HASHED_BYTES = 1.2, 3.0, 6.0  # times the bytes of the cells, while they grow:
# sorted lists where hardly any possible cell is filled, tables, one large hash table
SCATTERED = 1e-3  # share of possible cells that are filled, below which cells are lists
HELD = 1.15  # times the bytes of finished tensors: room that they grow in, and reading them
PER_GROUP, PER_BUDGET = 8, 140  # bytes of a path in the bounds passes
SPEC = 5e-5  # a sequence of tests in the specification engine
_ENDLESS = 10**280  # paths; more would be too many for a float
_MOST_PATIENCE = 2.0  # people wait
_REFERENCE = 0.0024  # seconds that `speed` measures there


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the tensors of a run are expected to need.

    Parameters
    ----------
    cells
        Of each level, root first.
    most_cells
        Of the root: a bound that always holds.
    pairs
        Pairs of cells that products look at.
    memory, seconds
        Bytes at the peak, and CPU time on one thread.
    """

    trees: float
    cells: tuple[float, ...]
    most_cells: float
    pairs: float
    memory: float
    seconds: float


@cache
def speed() -> float:
    """Measure once how many times slower this machine is than the one of the constants."""
    numbers = np.random.default_rng(0).integers(0, 2**40, 2**15)
    best = min(_sorting(numbers) for _ in range(5))
    return min(8.0, max(0.125, best / _REFERENCE))


def patience() -> float:
    """Return how many times as long a forecast may take here, so that it sees as much as there."""
    return min(_MOST_PATIENCE, max(1.0, speed()))


def _sorting(numbers: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> float:
    start = time.process_time()
    np.unique(numbers)
    np.bincount(numbers % 1009)
    return time.process_time() - start


def bounds_seconds(paths: Sequence[int], budgets: int, features: int) -> float:
    """Foresee the passes before any tensor is made."""
    each = INSIDE * (1 + budgets) / 2 if budgets else COUNTED
    each = max(each, (PAIRED if budgets else KEPT) * features**2)
    return speed() * (START + each * min(sum(paths), _ENDLESS))


def bounds_bytes(paths: Sequence[int], groups: int, budgets: int) -> int:
    """Foresee the memory of the same passes."""
    return sum(paths) * (PER_GROUP * groups + PER_BUDGET * budgets + 1)


def spec_seconds(paths: Sequence[int]) -> float:
    """Foresee a run of the specification engine."""
    return speed() * SPEC * min(sum(paths), _ENDLESS)


def last_seconds(features: int, paths: float) -> float:
    """Foresee the walk over the paths of the last level, which drawing trees needs, too."""
    return speed() * LAST * features**2 * min(paths, _ENDLESS)


def reading_seconds(cells: float) -> float:
    """Foresee the sorting and filtering of the result."""
    return speed() * READ * cells


def held_bytes(plan: Plan, trees: float, cells: float, below: float) -> float:
    """Foresee the memory of the root's cells, in which so many trees are counted, and of others."""
    limbs = max(1.0, -(-math.log2(max(2.0, trees)) // 64))
    return HELD * (cells * ((16 if plan.wide_keys else 8) + 8 * limbs) + below)


def priced(prepared: Prepared, live: Sequence[int], drawn: DrawnSizes) -> Forecast:
    """Foresee what tensors of the sizes that drawn trees tell will need."""
    return Forecast(
        drawn.trees[0],
        drawn.cells,
        drawn.most_cells,
        drawn.pairs,
        _tensor_bytes(prepared, drawn),
        _tensor_seconds(prepared, live, drawn),
    )


def _tensor_seconds(prepared: Prepared, live: Sequence[int], found: DrawnSizes) -> float:
    """Foresee the tensors of all levels."""
    features = len(prepared.features.twins)
    last = last_seconds(features, live[-1])
    fill = found.cells[0] / max(1.0, found.box)
    pair = min(SPARSE, max(LEAST_PAIR, SPARSE * DENSE_FILL / max(fill, 1e-300)))
    hashed = HASHED * found.cells[0] if len(live) == 1 and found.cells[0] > LARGE else 0.0
    checked = CHECKED * found.last_pairs if prepared.plan.budgets else 0.0
    return (
        last + speed() * (pair * found.pairs + checked + hashed) + reading_seconds(found.cells[0])
    )


def _tensor_bytes(prepared: Prepared, found: DrawnSizes) -> float:
    """Foresee the memory that tensors need at their peak, growing included."""
    budgets = len(prepared.plan.budgets)
    limbs = max(1.0, -(-math.log2(max(2.0, min(found.trees[0], 1e300))) // 64))
    root, below = 8 + 8 * limbs, 8 + 8 * limbs + 8 * budgets
    cells = root * found.cells[0] + below * sum(found.cells[1:])
    if len(found.cells) == 1:
        return HASHED_BYTES * cells
    fill = found.cells[0] / max(1.0, found.box)
    return (LISTED if fill < SCATTERED else TABLED) * cells
