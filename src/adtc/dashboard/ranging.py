"""Profiles whose numbers are only known between two ends: the map with a range in each cell.

Such a profile has no trees to draw, so people, variables and single trees are left out.
"""

from typing import Any

from adtc.cache import LRUCache
from adtc.dashboard.session import Session
from adtc.dashboard.side import Selection
from adtc.errors import QueryError
from adtc.models.small import SMALL
from adtc.profiles.inexact.ranged import Ranged
from adtc.show import ranged
from adtc.show.report import default_pairs, report_html
from adtc.show.views import View

_WITHOUT = (
    "this profile is {status}: it counts trees and holds none, so people, variables and single "
    "trees are left out; ask for a smaller space or a stricter formula (where=...) to get an exact "
    "profile."
)


class RangedSession(Session):
    """Answers about a bounded or an estimated profile."""

    def __init__(self, profile: Ranged, *, small: int = SMALL) -> None:
        super().__init__(profile.outline, small=small)
        self.ranged = profile
        self._kept: LRUCache[Ranged] = LRUCache(4)

    def overview(self) -> View:
        """Describe the profile, and what to show first."""
        view = super().overview()
        view.update(ranged.overview(self.ranged))
        for metric in view["metrics"]:
            ends = self.ranged.ends(metric["name"])
            metric["least"], metric["largest"] = (None if e is None else float(e) for e in ends)
            metric["whole"] = self.ranged.is_whole(metric["name"])
        view.update(
            without=_WITHOUT.format(status=self.ranged.status), further={}, begin="", begin_note=""
        )
        return view

    def count(self, where: str | None) -> View:
        """Bracket the number of trees that satisfy a formula."""
        found, whole = self._where(where).count, self.ranged.count
        n, of = (str(ranged.upper_end(one)) for one in (found, whole))
        told = ranged.range_words(found)
        return {"count": n, "text": told, "of": of, "share": "", "nearest": [], "range": told}

    def landscape(self, selection: Selection) -> View:
        """Lay out the trees by two metrics, with a range in each cell."""
        table = self._where(selection.where).crosstab(selection.x, selection.y, bins=selection.bins)
        view = ranged.landscape(table)
        view["formulas"] = {"x": [None] * len(table.x_bins), "y": [None] * len(table.y_bins)}
        return view

    def tree(self, *selection: Any) -> View:
        """Refuse: there is no tree to draw."""
        raise QueryError(_WITHOUT.format(status=self.ranged.status))

    def report(self, selection: Selection, ranks: tuple[int, ...]) -> str:
        """Write the current view as a self-contained report."""
        others = [p for p in default_pairs(self.profile) if set(p) != {selection.x, selection.y}]
        pairs = [(selection.x, selection.y), *others[:3]]
        return report_html(
            self.ranged, crosstabs=pairs, ranks=ranks, where=selection.where, small=self.small
        )

    def _where(self, where: str | None) -> Ranged:
        return self._kept.get(where, lambda: self.ranged.where(where))
