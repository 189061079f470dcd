"""A profile under questions: landscapes, cells, trees; what is costly is kept, within limits.

One lock serves all clients: the same question has the same answer whoever asks at the same time.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from adtc.dashboard.asking import Cell, NotFoundError
from adtc.engine.columns import Column
from adtc.errors import QueryError
from adtc.profiles.crosstab import Crosstab, count_cells
from adtc.profiles.difference import Difference, difference
from adtc.profiles.profile import Profile
from adtc.show import views, words
from adtc.show.report import default_pairs, report_html
from adtc.show.views import View

if TYPE_CHECKING:  # drawing brings the compiler along; a profile without a circuit needs none
    from adtc.profiles.numbered import DrawnTree

T = TypeVar("T")
_CELLS_KEPT = 600_000  # cells of filtered profiles that may be kept; tables likewise
_MOST_KEPT = 32
_TREES = 3  # in a report for which none was chosen
_MARK = "(place)"  # an axis that tells where a cell of a filtered profile was before


class Kept(Generic[T]):
    """The results used last, at most so many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under a key, or make it."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        made = self._kept[key] = make()
        while len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return made

    def drop(self, key: Hashable) -> None:
        """Forget one result."""
        self._kept.pop(key, None)


@dataclass(frozen=True, slots=True)
class Place:
    """Which trees are meant: a formula, and perhaps a cell of a landscape.

    Parameters
    ----------
    fit
        Whether the landscape's bins span only the trees that satisfy the formula.
    """

    where: str | None = None
    x: str = ""
    y: str = ""
    bins: int = 10
    fit: bool = False
    cell: Cell | None = None


class Session:
    """Answers about one profile, and perhaps another one to compare with."""

    def __init__(
        self,
        profile: Profile,
        compare: Profile | None = None,
        titles: tuple[str, str] | None = None,
    ) -> None:
        if compare is not None and compare.names != profile.names:
            raise QueryError(
                f"the two profiles have different metrics ({', '.join(profile.names)} and "
                f"{', '.join(compare.names)}): make both with the same ones, in the same order."
            )
        self.lock = threading.RLock()
        self._report_lock = threading.Lock()
        marks = {**profile.axes, _MARK: np.arange(profile.num_cells)}
        self.profile = _with_axes(profile, marks)
        self.compare = compare
        self.titles = titles or ("this profile", "the other")
        cells = max(1, profile.num_cells)
        most = max(2, min(_MOST_KEPT, _CELLS_KEPT // cells))
        self._filtered: Kept[Profile] = Kept(most)
        self._tables: Kept[Crosstab] = Kept(most)
        self._selected: Kept[Profile] = Kept(4)
        self._difference: Difference | None = None

    def overview(self) -> View:
        """Describe the profile, and what to show first."""
        view = views.overview(self.profile)
        pairs = default_pairs(self.profile)
        gaps = [m["name"] for m in view["metrics"] if m["gap"]]
        start = next((pair for pair in pairs if pair[1] in gaps), pairs[0] if pairs else None)
        view["start"] = list(start) if start else [self.profile.names[0]] * 2
        view["rows"] = self.profile.source.data.n_rows if self.profile.source else None
        view["compare"] = None
        if self.compare is not None:
            view["compare"] = {
                "titles": list(self.titles),
                "count": str(self.compare.count),
                "question": [list(pair) for pair in words.question(self.compare)],
            }
        return view

    def count(self, where: str | None) -> View:
        """Count the trees that satisfy a formula; where there is none, say what comes near."""
        n, whole = self.chosen(where).count, self.profile.count
        view: View = {
            "count": str(n),
            "text": views.count_text(n),
            "of": str(whole),
            "share": views.share_text(n, whole),
            "nearest": [],
        }
        if not n and where is not None:
            view["nearest"] = [str(one) for one in views.nearest_in(self.profile, where)]
        return view

    def landscape(self, place: Place) -> View:
        """Lay out the trees of a formula by two metrics."""
        table = self.table(place)
        assert table.profile is not None
        front = views.front_for(table.profile, place.x, place.y)
        view = views.landscape(table, front=front, of=self.profile.count)
        view["formulas"] = {
            axis: [None if one.kind == "undefined" else one.condition(name) for one in bins]
            for axis, name, bins in (("x", place.x, table.x_bins), ("y", place.y, table.y_bins))
        }
        return view

    def tree(self, place: Place, rank: int | None, seed: int, row: int | None) -> View:
        """Show the tree with a rank among those meant, or draw one."""
        self.profile.need_source("drawing")
        chosen = self.selected(place)
        if not chosen.count:
            raise NotFoundError("there is no tree here, so there is none to show.")
        if rank is not None and rank >= chosen.count:
            raise NotFoundError(
                f"there is no tree with rank {rank:,} here: the ranks are 0 to "
                f"{chosen.count - 1:,}."
            )
        if row is not None:
            self._check_row(row)
        drawn = chosen.draw(1, seed=seed)[0] if rank is None else chosen.tree(rank)
        overall = self._overall(chosen, drawn.rank)
        view = views.tree_view(drawn, row=None if row is None else row - 1)
        return {
            **view,
            "of": str(chosen.count),
            "profile_rank": str(overall),
            "profile_of": str(self.profile.count),
        }

    def difference(self, place: Place) -> View:
        """Lay out the two profiles and the difference of their shares."""
        if self.compare is None:
            raise NotFoundError("there is no second profile; start with --compare OTHER.adtc.")
        if self._difference is None:
            plain = {k: v for k, v in self.profile.axes.items() if k != _MARK}
            first = _with_axes(self.profile, plain)
            self._difference = difference(first, self.compare, titles=self.titles)
        table = self._difference.crosstab(
            place.x, place.y, bins=place.bins, where=place.where, round_edges=True
        )
        view = views.difference_map(table)
        moved = sum(abs(d) for row in table.differences for d in row)
        view["distance"] = float(Fraction(moved) / 2)
        return view

    def report(self, place: Place, ranks: tuple[int, ...]) -> str:
        """Write the current view as a self-contained report."""
        with self.lock:
            table = self.table(place)
            for rank in ranks:
                if rank >= self.profile.count:
                    raise NotFoundError(f"there is no tree with rank {rank:,} in the profile.")
            trees: int | list[DrawnTree] = _TREES
            if ranks:
                self.profile.need_source("drawing")
                trees = [self.profile.tree(rank) for rank in ranks]
            elif self.profile.source is not None and self.chosen(place.where).count:
                # drawn here, under the lock; else the report says why there is none
                trees = self.profile.draw(_TREES, seed=0, where=place.where)
        others = [pair for pair in default_pairs(self.profile) if set(pair) != {place.x, place.y}]
        with self._report_lock:  # may take seconds; others must not wait for it
            tables: list[Crosstab | tuple[str, str]] = [table, *others[:3]]
            return report_html(self.profile, crosstabs=tables, trees=trees, where=place.where)

    def chosen(self, where: str | None) -> Profile:
        """Return the trees that satisfy a formula."""
        if where is None:
            return self.profile
        return self._filtered.get(where, lambda: self.profile.where(where))

    def table(self, place: Place) -> Crosstab:
        """Return the cross-table of a landscape."""
        key = (place.where, place.x, place.y, place.bins, place.fit)
        return self._tables.get(key, lambda: self._new_table(place))

    def selected(self, place: Place) -> Profile:
        """Return the trees of a cell, or of the formula alone."""
        if place.cell is None:
            return self.chosen(place.where)
        table, cell = self.table(place), place.cell
        if cell.i >= len(table.x_bins) or cell.j >= len(table.y_bins):
            raise NotFoundError(
                f"there is no cell {cell.i},{cell.j}: the landscape has {len(table.x_bins)} bins "
                f"of {place.x} and {len(table.y_bins)} of {place.y}, counted from 0."
            )
        return self._selected.get(place, lambda: table.select(cell.i, cell.j))

    def _new_table(self, place: Place) -> Crosstab:
        chosen = self.chosen(place.where)
        if place.where is None or place.fit:
            table = chosen.crosstab(place.x, place.y, bins=place.bins, round_edges=True)
            return replace(table, where=place.where)
        whole = self.table(replace(place, where=None, cell=None))
        assert whole.x_codes is not None
        assert whole.y_codes is not None
        kept = chosen.axes[_MARK]
        x, y = whole.x_codes[kept], whole.y_codes[kept]
        counts = count_cells(chosen, x, y, len(whole.x_bins), len(whole.y_bins))
        return Crosstab(whole.x_bins, whole.y_bins, counts, chosen, place.where, x, y)

    def _overall(self, chosen: Profile, rank: int) -> int:
        from adtc.profiles.numbered import NumberedTrees

        everything = NumberedTrees.of(self.profile)
        return everything.from_part(NumberedTrees.of(chosen), rank)

    def _check_row(self, row: int) -> None:
        rows = self.profile.need_source("drawing").data.n_rows
        if not 1 <= row <= rows:
            raise NotFoundError(f"there is no row {row:,}: the table has rows 1 to {rows:,}.")


def _with_axes(profile: Profile, axes: Mapping[str, Column]) -> Profile:
    """Make a profile anew, so that it shares nothing that was computed from the old axes."""
    p = profile
    return Profile(axes, p.trees, p.metrics, p.record, p.keys, p.source)
