"""The same trees on a further table: train against test, what they lose, and which loses most."""

from dataclasses import replace
from fractions import Fraction
from threading import RLock
from typing import NamedTuple

from adtc.cache import LRUCache
from adtc.dashboard.asking import Cell, NotFoundError
from adtc.dashboard.side import Side
from adtc.profiles.bins import make_bins
from adtc.profiles.crosstab import Crosstab, count_cells
from adtc.profiles.generalization import Generalization
from adtc.show import views
from adtc.show.views import View


class Further(NamedTuple):
    """A metric on the table and on a further one, over the trees of a formula."""

    where: str | None
    table: str
    metric: str
    bins: int = 10


class Generalizing:
    """Answers about further tables."""

    def __init__(self, side: Side, lock: RLock) -> None:
        self.side, self.lock = side, lock
        self._found: LRUCache[Generalization] = LRUCache(3)
        self._tables: LRUCache[Crosstab] = LRUCache(3)

    @property
    def tables(self) -> dict[str, list[str]]:
        """Name the further tables, each with the metrics that are known on both."""
        names = self.side.profile.names
        known = [table["name"] for table in self.side.profile.record.data.get("tables", ())]
        both = {table: [name for name in names if f"{table}.{name}" in names] for table in known}
        return {table: metrics for table, metrics in both.items() if metrics}

    def view(self, asked: Further, limit: Fraction) -> View:
        """Show train against test, and how many trees lose more than a limit."""
        found, table = self._generalization(asked), self._table(asked)
        losing = found.losing_more_than(limit)
        view = views.landscape(table)
        view.update(
            loss=found.loss,
            good_by=found.defined_by,
            limit=str(limit),
            losing=str(losing),
            losing_share=views.share_text(losing, found.profile.total),
            steps=[[float(at), str(n)] for at, n in found.steps()],
            undefined=str(found.marginal.as_dict().get(None, 0)),
            largest=views.number_text(found.largest),
            worst=None,
        )
        if found.profile.source is not None and found.largest is not None:
            with self.lock:
                worst = found.worst()
            assert worst is not None
            view["worst"] = {
                "rank": str(worst.rank),
                "metrics": views.metric_values(worst.metrics),
            }
        return view

    def tree(self, asked: Further, cell: Cell, seed: int) -> View:
        """Draw a tree of a cell uniformly: its rank among the trees of the formula."""
        table = self._table(asked)
        if cell.i >= len(table.x_bins) or cell.j >= len(table.y_bins):
            raise NotFoundError(f"there is no cell {cell.i},{cell.j} in this map.")
        inside = table.select(cell.i, cell.j)
        if not inside.total:
            raise NotFoundError("there is no tree in this cell.")
        with self.lock:
            (drawn,) = inside.draw(1, seed=seed)
            return {"rank": str(self.side.chosen(asked.where).rank(drawn.tree))}

    def _generalization(self, asked: Further) -> Generalization:
        with self.lock:
            chosen = self.side.chosen(asked.where)
        return self._found.get(
            asked[:3], lambda: chosen.generalization(asked.table, metric=asked.metric)
        )

    def _table(self, asked: Further) -> Crosstab:
        return self._tables.get(asked, lambda: self._crossed(asked))

    def _crossed(self, asked: Further) -> Crosstab:
        """Count the trees in bins that both axes share, so that equal values are a diagonal."""
        profile = self._generalization(asked).profile
        own, other = asked.metric, f"{asked.table}.{asked.metric}"
        columns = [profile.column(own), profile.column(other)]
        bins, (x, y) = make_bins(own, columns, asked.bins, round_edges=True)
        counts = count_cells(profile, x, y, len(bins), len(bins))
        return Crosstab(bins, replace(bins, name=other), counts, profile, asked.where, x, y)
