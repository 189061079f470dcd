"""How a limited question shares its time: all for the exact answer if that is foreseen to fit.

An exact run that does not fit uses up its time and leaves a small depth. So its cost is foreseen
first. Where twice as long would fit, all the time is for it. Otherwise trees are drawn first, up to
the asked depth, in at most `SHARE` of the time, and the rest is for the deepest depth that can be
counted exactly.
"""

from typing import TYPE_CHECKING

from adtc.data import Data
from adtc.engine.forecast.advice import least_by_size
from adtc.engine.forecast.pricing import bounds_seconds, last_seconds
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space

if TYPE_CHECKING:
    from adtc.engine.forecast.explanation import Explanation

ROOM = 2.0  # times as long as foreseen
FORESEEING = 0.1  # of the time, at most
SHARE = 0.8  # of the time, for trees that are drawn first
READING = 0.12  # of the time, for reading and printing what is exact beside them
BESIDE = 5.0  # seconds for them where there is no time limit


def fits_memory(foreseen: "Explanation", monitor: Monitor) -> bool:
    """Tell whether a question fits into memory, as far as that was foreseen."""
    needed = (foreseen.memory or 0) + (foreseen.tensor_memory or 0)
    return foreseen.refusal is None and needed <= monitor.memory


def cannot_fit(data: Data, space: Space, monitor: Monitor) -> bool:
    """Tell at once that an exact answer about all trees would take too long, by its size alone."""
    left, least = monitor.time_left, least_by_size(data, space, axes=1, budgets=0)
    return left is not None and ROOM * least.seconds() > left * monitor.threads


def exact_fits(foreseen: "Explanation", monitor: Monitor) -> bool:
    """Tell whether an exact answer fits with room to spare."""
    left = monitor.time_left
    known = foreseen.engine == "spec" or foreseen.cells is not None
    in_time = left is None or ROOM * foreseen.seconds <= left * monitor.threads
    return known and in_time and fits_memory(foreseen, monitor)


def estimate_fits(foreseen: "Explanation", monitor: Monitor) -> bool:
    """Tell whether trees of the asked depth can be drawn: all trees are counted for that."""
    if foreseen.engine == "spec" or (foreseen.memory or 0) > monitor.memory:
        return False
    features, paths = foreseen.distinct_features, foreseen.live or foreseen.subproblems
    seconds = bounds_seconds(foreseen.subproblems, len(foreseen.pushed), features)
    seconds += last_seconds(features, paths[-1])
    left = monitor.time_left
    return seconds <= monitor.threads * (BESIDE if left is None else SHARE * left)
