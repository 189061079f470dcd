"""One profile of the dashboard: the trees of a formula, of a cell, of a rank.

What is costly is kept, within limits. A side does not lock itself, except while it warms up.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from adtc.cache import LRUCache
from adtc.dashboard.asking import Cell, NotFoundError
from adtc.dashboard.start import best
from adtc.engine.exact.columns import Column
from adtc.profiles.crosstab import Crosstab, count_cells
from adtc.profiles.numbered import NumberedTrees
from adtc.profiles.profile import Profile
from adtc.show import views

T = TypeVar("T")
_CELLS_KEPT = 600_000  # cells of filtered profiles that may be kept; tables likewise
_MOST_KEPT = 32
_TRIALS = 4
MARK = "(place)"  # an axis that tells where a cell of a filtered profile was before


@dataclass(frozen=True, slots=True)
class Selection:
    """Which trees are meant: a formula, and perhaps a cell of a landscape.

    Parameters
    ----------
    fit
        Whether the landscape's bins span only the trees that satisfy the formula.
    side
        0 for the landscape of the first profile; 1 or 2 for the maps that compare the first and
        the second profile, which share their bins.
    """

    where: str | None = None
    x: str = ""
    y: str = ""
    bins: int = 10
    fit: bool = False
    cell: Cell | None = None
    side: int = 0


class Side:
    """Answers about one profile.

    Parameters
    ----------
    title
        What the profile is called beside another one.
    """

    def __init__(self, profile: Profile, title: str) -> None:
        self.title = title
        marks = {**profile.axes, MARK: np.arange(len(profile.trees))}
        self.profile = _with_axes(profile, marks)
        most = max(2, min(_MOST_KEPT, _CELLS_KEPT // max(1, len(profile.trees))))
        self._filtered: LRUCache[Profile] = LRUCache(most)
        self._tables: LRUCache[Crosstab] = LRUCache(most)
        self._warming = threading.Lock()
        self._is_warm = profile.source is None or not len(profile.trees)

    @property
    def plain(self) -> Profile:
        """Return the profile as it was given."""
        axes = {name: column for name, column in self.profile.axes.items() if name != MARK}
        return _with_axes(self.profile, axes)

    @property
    def rows(self) -> int | None:
        """Count the rows of the table; None without it."""
        return self.profile.source.data.n_rows if self.profile.source else None

    def chosen(self, where: str | None) -> Profile:
        """Return the trees that satisfy a formula."""
        if where is None:
            return self.profile
        return self._filtered.get(where, lambda: self.profile.where(where))

    def table(self, selection: Selection) -> Crosstab:
        """Return the cross-table of a landscape."""
        key = (selection.where, selection.x, selection.y, selection.bins, selection.fit)
        return self._tables.get(key, lambda: self._new_table(selection))

    def _new_table(self, selection: Selection) -> Crosstab:
        chosen = self.chosen(selection.where)
        if selection.where is None or selection.fit:
            table = chosen.crosstab(selection.x, selection.y, bins=selection.bins, round_edges=True)
            return replace(table, where=selection.where)
        whole = self.table(replace(selection, where=None, cell=None))
        assert whole.x_codes is not None
        assert whole.y_codes is not None
        kept = chosen.axes[MARK]
        x, y = whole.x_codes[kept], whole.y_codes[kept]
        counts = count_cells(chosen, x, y, len(whole.x_bins), len(whole.y_bins))
        return Crosstab(whole.x_bins, whole.y_bins, counts, chosen, selection.where, x, y)

    def overall(self, chosen: Profile, rank: int) -> int:
        """Turn a rank among chosen trees into one among all."""
        everything = NumberedTrees.of(self.profile)
        return everything.from_part(NumberedTrees.of(chosen), rank)

    def best(self, chosen: Profile) -> int:
        """Return the rank of the best among chosen trees."""
        return NumberedTrees.of(chosen).from_part(NumberedTrees.of(best(chosen)), 0)

    def check_row(self, row: int) -> None:
        """Refuse a row that the table has not."""
        rows = self.profile.need_source("drawing").data.n_rows
        if not row < rows:
            raise NotFoundError(f"there is no row {row:,}: the table has rows 0 to {rows - 1:,}.")

    def warm(self) -> None:
        """Make ready what drawing needs: the circuit, the words of a tree.

        Whoever wants a tree waits for it, and nobody else: it needs no other lock, since nothing
        is drawn before it ends.
        """
        with self._warming:
            if not self._is_warm:
                for drawn in self.profile.draw(_TRIALS, seed=0):  # not all take the same kernels
                    views.tree_view(drawn)
                self._is_warm = True


def _with_axes(profile: Profile, axes: Mapping[str, Column]) -> Profile:
    """Make a profile anew, so that it shares nothing that was computed from the old axes."""
    p = profile
    return Profile(axes, p.trees, p.metrics, p.record, p.keys, p.source)
