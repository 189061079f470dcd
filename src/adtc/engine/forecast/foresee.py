"""How large tensors will be: trees, cells and products of each level, told by drawn trees.

Of every level some paths are chosen, with a larger chance where more trees may be, and trees are
drawn below each of them (`estimate`); what they fill is told by `occupancy`. Each path stands for
as many as its chance says (Hansen and Hurwitz).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.engine.bounds import Outside
from adtc.engine.forecast.estimate import Ceiling, box, can_draw, ceiling, frequencies, ways_of
from adtc.engine.forecast.occupancy import CLUMP, Boxes, boxes, clump_size
from adtc.engine.lattice import path_counts
from adtc.engine.monitor import Monitor
from adtc.engine.plan import AxisColumns
from adtc.engine.plan.keys import key_words
from adtc.engine.prepare import Prepared

Array = npt.NDArray[Any]
_PATHS = 24  # of a level
_POINTS = {True: 20_000, False: 1_000}  # that boxes are made of: at the root, elsewhere
_ATTEMPTS = {True: (100_000, 1_600_000), False: (2_000, 16_000)}
_ENOUGH = {True: 4_000, False: 500}  # drawn trees
_CLUMP_BELOW = 3.0  # of smaller trees fewer have the same tests in another order
_PER_CELL = 15.0  # pairs for each cell of the last level that budgets leave
_UNSEEN = 50.0  # cells of a path whose budgets leave so few of the trees that none is drawn


@dataclass(frozen=True, slots=True)
class DrawnSizes:
    """How large the tensors of a run are expected to be.

    Parameters
    ----------
    trees, cells
        In the tensors of each level, root first.
    most_cells, box
        Of the root: a bound that always holds, and how many the axes alone would allow.
    pairs, last_pairs
        Cell pairs that products look at, in all and at the last level.
    """

    trees: tuple[float, ...]
    cells: tuple[float, ...]
    most_cells: float
    box: float
    pairs: float
    last_pairs: float = 0.0


@dataclass(frozen=True, slots=True)
class _Path:
    """A chosen path: what was drawn below it, and for how many paths it stands."""

    weight: float
    trees: float
    sample: Boxes | None  # None if nothing was drawn
    box: float
    single: bool  # one axis, which budgets fill

    def cells(self, clump: float) -> float:
        """Estimate the cells of the path."""
        if self.sample is not None:
            return min(self.box, self.sample.cells(clump))
        return self.box if self.single else min(self.box, _UNSEEN)


def drawn_sizes(prepared: Prepared, outside: Outside, monitor: Monitor) -> DrawnSizes | None:
    """Foresee the tensors' sizes by drawing trees from every level.

    None if there are too many paths to draw from.
    """
    if not outside.live[0]:
        none = (0.0,) * (prepared.lattice.levels + 1)
        return DrawnSizes(none, none, 0.0, 0.0, 0.0)
    if not can_draw(prepared, None):
        return None
    with monitor.translated():
        top = ceiling(prepared, outside, fine=True)
        levels = [_level(top, level, monitor) for level in range(len(top.cells))]
    trees = tuple(sum(path.weight * path.trees for path in level) for level in levels)
    cells = []
    for level, paths in enumerate(levels):
        usual = CLUMP if level == 0 else _CLUMP_BELOW
        clump = clump_size((path.sample for path in paths if path.sample is not None), usual)
        found = sum(path.weight * path.cells(clump) for path in paths)
        cells.append(min(found, top.cells[level]))
    last = trees[-1] / CLUMP
    if prepared.plan.budgets:
        last = min(last, _PER_CELL * cells[-1])
    pairs = last + _pairs(trees, cells, outside.live_paths)
    limits = [int(limit) for limit in outside.budgets[0]]
    inside = box(prepared.plan, prepared.inside.root, limits)
    return DrawnSizes(trees, tuple(cells), top.cells[0], inside, pairs, last)


def _level(top: Ceiling, level: int, monitor: Monitor) -> list[_Path]:
    """Choose paths of a level and draw trees below each."""
    lattice, outside = top.prepared.lattice, top.outside
    first = int(lattice.base[level])
    numbers = np.flatnonzero(outside.live[first : first + path_counts(lattice)[level]])
    likely = np.sqrt(np.minimum(top.by_size(level).sum(axis=1), 1e300))
    if not likely.sum():
        return []
    chances = likely / likely.sum()
    if len(numbers) <= _PATHS:
        chosen, weights = np.arange(len(numbers)), np.ones(len(numbers))
    else:
        rng = np.random.default_rng(level)
        chosen = rng.choice(len(numbers), _PATHS, p=chances)
        weights = 1 / (_PATHS * chances[chosen])
    live = np.zeros_like(outside.live)
    ways = ways_of(top.prepared, replace(outside, live=live))
    found = []
    for at, weight in zip(chosen, weights, strict=True):
        path = first + int(numbers[at])
        live[path] = True  # trees are drawn below live paths of a level
        found.append(_drawn(top, ways, (level, path), float(weight), monitor))
        live[path] = False
    return found


def _drawn(
    top: Ceiling, ways: _core.Ways, at: tuple[int, int], weight: float, monitor: Monitor
) -> _Path:
    """Draw trees below one path until there are enough, or clearly too few."""
    level, path = at
    plan, root = top.prepared.plan, level == 0
    attempts, most_attempts = _ATTEMPTS[root]
    kept: list[Array] = []
    tried = held = 0
    while not tried or (held < _ENOUGH[root] and tried < most_attempts):
        more = attempts if not tried else 3 * tried
        keys, _, _, done = _core.draw_trees(
            ways, top.bounds, top.prepared.table, level, more, tried, False,
            top.bounds.trees.shape[1], monitor.control,
        )  # fmt: skip
        if not done:
            break
        kept.append(keys)
        tried, held = tried + done, held + len(keys)
    least, limits = top.prepared.inside.least[:, path], top.outside.budgets[path]
    most = box(plan, [int(n) for n in least], [int(n) for n in limits])
    bound = float(_core.bounds_by_size(ways, top.bounds, level).sum())
    trees = bound * held / max(1, tried)
    single = len(plan.axes) == 1
    if not held:
        return _Path(weight, trees, None, most, single)
    keys = np.concatenate(kept)
    some = frequencies(key_words(keys))
    met = float((some * (some - 1)).sum()) / 2
    shown = keys[: _POINTS[root]]
    columns = [np.asarray(c, float) for c in AxisColumns(plan.axes, shown).values()]
    points = np.stack(columns, axis=1) if columns else np.zeros((len(shown), 1))
    sample = boxes(points, trees, met * (len(shown) / len(keys)) ** 2, len(some))
    return _Path(weight, trees, sample, most, single)


def _pairs(trees: Sequence[float], cells: Sequence[float], live: Sequence[int]) -> float:
    """Estimate the products above the last level.

    A pair of cells is a tree, but for those that share a cell on either side (trees of large paths
    more than those of small ones, so not quite the square of their share); and it is two cells of
    the paths on both sides of a test.
    """
    total = 0.0
    for level in range(len(trees) - 1):
        below, paths = cells[level + 1], max(1, live[level + 1])
        by_trees = trees[level] * min(1.0, below / max(trees[level + 1], 1.0)) ** 1.5
        by_paths = (level + 1) / 2 * below**2 / paths
        total += min(by_trees, by_paths) if by_trees else by_paths
    return total
