"""How many cells a number of trees fill, estimated from a uniform draw of them.

Counting the kinds among draws sees only cells that many trees share. So space is divided instead,
into boxes of a few draws each: a box of V possible cells that holds λ·V trees has V·(1 − e^−λ)
cells filled. Trees come in clumps, since tests in another order make another tree of the same
cell; how often two draws meet says how large clumps are at most.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_FEW = 8  # draws in a box
CLUMP = 4.0  # trees that share a cell, as long as cells are many: 3 to 9 on public tables
_SURE = 4.6  # no meeting seen: with 99 % probability fewer than that were to be expected


@dataclass(frozen=True, slots=True)
class Boxes:
    """Drawn trees of one path in boxes.

    Parameters
    ----------
    volumes, draws
        Of each box: how many cells it could have, and how many trees were drawn from it.
    trees
        How many trees the path has.
    met, seen
        Pairs of draws that fell into one cell, and cells that were drawn from.
    """

    volumes: Floats
    draws: Floats
    trees: float
    met: float
    seen: int = 1

    @property
    def pairs_per_tree(self) -> float:
        """Return how many pairs of draws there are for each tree: so many meet in clumps of two."""
        return float(self.draws.sum()) ** 2 / 2 / max(self.trees, 1.0)

    def cells(self, clump: float) -> float:
        """Estimate how many cells are filled by clumps of so many trees."""
        drawn = float(self.draws.sum())
        density = self.draws / drawn * self.trees / clump / self.volumes
        filled = float((self.volumes * -np.expm1(-density)).sum())
        return max(float(self.seen), min(filled, self.trees))


def boxes(points: Floats, trees: float, met: float, seen: int = 1) -> Boxes:
    """Divide drawn points at medians, across the widest axis first, until few are together.

    Examples
    --------
    >>> line = boxes(np.arange(1000.0).reshape(-1, 1), 1e6, 0.0)
    >>> 900 < line.cells(1.0) < 1300
    True
    """
    spread = np.maximum(points.std(axis=0), 1e-9)
    volumes, draws, waiting = [], [], [points]
    while waiting:
        part = waiting.pop()
        extent = part.max(axis=0) - part.min(axis=0) + 1
        if len(part) <= _FEW or (extent == 1).all():
            # n even draws from a range span (n − 1) / (n + 1) of it
            wider = (len(part) + 1) / max(len(part) - 1, 1)
            volumes.append(float(np.prod(np.where(extent > 1, extent * wider, 1.0))))
            draws.append(float(len(part)))
            continue
        column = part[:, np.argmax(np.where(extent > 1, extent / spread, 0.0))]
        low = column <= np.median(column)
        low = column < np.median(column) if low.all() else low
        waiting += [part[low], part[~low]]
    return Boxes(np.array(volumes), np.array(draws), trees, met, seen)


def clump_size(samples: Iterable[Boxes], usual: float = CLUMP) -> float:
    """Return how many trees share a cell because they differ in nothing that is measured.

    As many as usual, or fewer if draws met too seldom for that. More often says little: a few
    cells that hold very many trees, such as those of constant trees, make most draws meet.
    """
    some = list(samples)
    met, pairs = sum(one.met for one in some), sum(one.pairs_per_tree for one in some)
    return min(usual, 1 + (met + 3 * met**0.5 + _SURE) / pairs) if pairs else usual
