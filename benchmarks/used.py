"""Which subproblems good trees really use: no bound, however good, could rule out one of these.

Goes down the circuit from the root's cells. A cell of a child is used if it makes, together with
one of the other child, a used cell of its parent.
"""

import numpy as np

from adtc.engine.fast import Result
from adtc.engine.kernels.circuit import find_splits
from adtc.engine.kernels.jit import kernel
from adtc.engine.kernels.paths import seek


def used_paths(result: Result) -> int:
    """Count the paths that good trees have; there must be a budget."""
    circuit = result.circuit
    if not circuit.levels:
        return 0
    ground, live, budgets = circuit.ground, circuit.outside.live, circuit.outside.budgets
    n, lattice = len(ground.features.twins), ground.lattice
    used = np.isin(circuit.levels[0].cells.keys, result.keys)  # budgets admit a few more
    found = 0
    for number, level in enumerate(circuit.levels):
        paths = np.flatnonzero(level.stops > level.starts).tolist()
        mine = [(p, slice(int(level.starts[p]), int(level.stops[p]))) for p in paths]
        mine = [(p, part) for p, part in mine if used[part].any()]
        found += len(mine)
        if number == lattice.levels:
            break
        below = circuit.levels[number + 1]
        used_below = np.zeros(len(below.cells.keys), np.bool_)
        for p, part in mine:
            wanted = np.sort(level.cells.keys[part][used[part]])
            budget = budgets[int(lattice.base[number]) + p]
            _mark(
                p, number, n, lattice, live, budget, below.cells, below.starts, below.stops,
                wanted, used_below,
            )  # fmt: skip
        used = used_below
    return found


@kernel
def _mark(  # noqa: PLR0917
    path, level, n, lattice, live, budget, below, starts, stops, wanted, used
):  # fmt: skip
    """Mark the children's cells that make a wanted cell of the path."""
    keys, costs = below.keys, below.costs
    features = np.zeros(level + 1, np.int64)
    pairs = np.zeros((n, 5), np.int64)
    seek(features, level, path >> level, n, lattice)
    signs = path & ((1 << level) - 1)
    splits = find_splits(features, level, signs, n, lattice, live, starts, stops, pairs)
    for p in range(splits):
        for i in range(pairs[p, 0], pairs[p, 1]):
            for j in range(pairs[p, 2], pairs[p, 3]):
                if costs[i, 0] + costs[j, 0] > budget[0]:
                    break  # sorted by the first cost
                if not (used[i] and used[j]):
                    key = keys[i] + keys[j]
                    at = np.searchsorted(wanted, key)
                    if at < len(wanted) and wanted[at] == key:
                        used[i] = True
                        used[j] = True
