"""See how often intervals cover and brackets hold the exact number, over 1,000 repetitions each.

Estimates are drawn anew with another seed each time; brackets are those of small random tables with
random steps. Run it as ``make coverage``; the exit code is 1 if a bracket misses, or if intervals
cover so rarely that their promise would let that happen once in a thousand runs.
"""

import argparse
import math
import sys
from typing import Any

import numpy as np

import adtc

_SIGMAS = 3.1  # one-sided: once in a thousand
_EDGES = [0.5, 0.7, 0.72, 0.8], [0, 0.05, 0.1, 1]
_WHERE = "f1 + acc >= 1.4"
_NAMES = ("acc", "dp")


def main() -> int:
    """Print one line for each kind of promise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    times = parser.parse_args().repetitions
    print(f"{'what':44}{'promised':>9}{'held':>8}{'of':>7}")
    kept = [_intervals(times, confidence) for confidence in (0.8, 0.95)]
    kept.append(_brackets(times))
    return 0 if all(kept) else 1


def _intervals(times: int, confidence: float) -> bool:
    """Cover a count alone, and all cells of a cross-table at once."""
    data = adtc.load_dataset("german-credit", nbins=2)
    space = adtc.Space(max_depth=3, relminsup=0.15)
    exact = adtc.profile(data, space, _NAMES, where=_WHERE)
    table = exact.crosstab(*_NAMES, bins=_EDGES)
    alone = at_once = 0
    for seed in range(times):
        found = adtc.estimate(
            data, space, _NAMES, where=_WHERE, draws=200, confidence=confidence, seed=seed
        )
        drawn = found.crosstab(*_NAMES, bins=_EDGES)
        alone += _covers(found.count, exact.count)
        at_once += _covers(drawn.total, exact.count) and all(
            _covers(cell, _truth(table, x, y))
            for x, row in zip(drawn.x_bins, drawn.cells, strict=True)
            for y, cell in zip(drawn.y_bins, row, strict=True)
        )
    return _told("interval of a count", confidence, alone, times) & _told(
        "intervals of a cross-table, all at once", confidence, at_once, times
    )


def _truth(table: Any, x: object, y: object) -> int:
    """Find the exact number of a cell by its bins."""
    places = [list(bins).index(one) for bins, one in ((table.x_bins, x), (table.y_bins, y))
              if one in list(bins)]  # fmt: skip
    return table.counts[places[0]][places[1]] if len(places) == len(_NAMES) else 0


def _covers(found: adtc.Bracket, number: int) -> bool:
    if found.estimate is None:
        return number in found
    return bool(found.estimate.low <= number <= found.estimate.high)


def _brackets(times: int) -> bool:
    """Hold the exact number in every cell of small random tables, whatever the steps."""
    held = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        rows, features = int(rng.integers(10, 60)), int(rng.integers(2, 6))
        y, z = rng.integers(0, 2, (2, rows))
        data = adtc.Data.from_arrays(rng.integers(0, 2, (rows, features)), y, z=z)
        space = adtc.Space(max_depth=int(rng.integers(1, 4)))
        where = (None, "acc >= 0.5", "f1 >= 0.3", "dp <= 0.4")[int(rng.integers(4))]
        width = int(rng.integers(1, 8))
        found = adtc.bound(data, space, _NAMES, where=where, width=width)
        exact = adtc.profile(data, space, _NAMES, where=where)
        edges = [0, 0.3, 0.5, 0.7, 1]
        table = found.crosstab(*_NAMES, bins=(edges, edges))
        held += exact.count in found.count and all(
            exact.where(f"{x.condition('acc')} and {y.condition('dp')}").count in cell
            for x, row in zip(table.x_bins, table.cells, strict=True)
            for y, cell in zip(table.y_bins, row, strict=True)
        )
    return _told("brackets of a cross-table, all of them", 1.0, held, times)


def _told(what: str, promised: float, held: int, times: int) -> bool:
    print(f"{what:44}{promised:9.0%}{held / times:8.1%}{times:7,}", flush=True)
    return held >= times * promised - _SIGMAS * math.sqrt(times * promised * (1 - promised))


if __name__ == "__main__":
    sys.exit(main())
