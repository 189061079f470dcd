"""Profiles whose numbers are only known between two ends: the map with a range in each cell.

Such a profile has no cells to filter and no trees to draw, so all else is left out.
"""

from typing import Any

import numpy as np

from adtc.algebra.formula import names
from adtc.dashboard.session import Session
from adtc.dashboard.side import Selection
from adtc.engine.exact.columns import Ratios
from adtc.engine.limits.bracket import Bracket
from adtc.errors import QueryError
from adtc.models.small import SMALL
from adtc.profiles.bins import Edge, make_bins
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.inexact.bounding import BoundedProfile
from adtc.profiles.inexact.brackets import BracketTable, range_text
from adtc.profiles.inexact.estimating import EstimatedProfile
from adtc.profiles.profile import Profile
from adtc.show import views
from adtc.show.views import View

Ranged = BoundedProfile | EstimatedProfile
_WITHOUT = (
    "this profile is {status}: it counts trees and holds none, so people, variables and single "
    "trees are left out; ask for a smaller space or a stricter formula (where=...) to get an exact "
    "profile."
)


class RangedSession(Session):
    """Answers about a bounded or an estimated profile."""

    def __init__(self, ranged: Ranged, *, small: int = SMALL) -> None:
        super().__init__(_emptied(ranged), small=small)
        self.ranged = ranged

    def overview(self) -> View:
        """Describe the profile, and what to show first."""
        count = self.ranged.count
        view = super().overview()
        view.update(
            count=str(_most(count)),
            count_text=range_words(count),
            status=self.ranged.status,
            without=_WITHOUT.format(status=self.ranged.status),
            open=f"The numbers of trees are {self.ranged.status}: {range_words(count)} in all.",
            further={},
            begin="",
            begin_note="",
        )
        return view

    def count(self, where: str | None) -> View:
        """Bracket the number of trees."""
        self._refuse(where)
        count = self.ranged.count
        n = str(_most(count))
        told = range_words(count)
        return {"count": n, "text": told, "of": n, "share": "", "nearest": [], "range": told}

    def landscape(self, selection: Selection) -> View:
        """Lay out the trees by two metrics, with a range in each cell."""
        self._refuse(selection.where)
        table = self._crossed(selection)
        counts = tuple(tuple(_most(one) for one in row) for row in table.cells)
        view = views.landscape(Crosstab(table.x_bins, table.y_bins, counts))
        view["ranges"] = [
            ["" if not _most(one) else range_text(one) for one in row] for row in table.cells
        ]
        view["range_words"] = [[range_words(one) for one in row] for row in table.cells]
        view["formulas"] = {"x": [None] * len(table.x_bins), "y": [None] * len(table.y_bins)}
        return view

    def tree(self, *selection: Any) -> View:
        """Refuse: there is no tree to draw."""
        raise QueryError(_WITHOUT.format(status=self.ranged.status))

    def report(self, *selection: Any) -> str:
        """Refuse: a report has exact numbers."""
        raise QueryError(
            f"a report needs an exact profile, and this one is {self.ranged.status}: download the "
            f"map as a picture instead."
        )

    def _refuse(self, where: str | None) -> None:
        if where is not None:
            raise QueryError(
                f"a profile that is {self.ranged.status} cannot be filtered: make it anew with the "
                f"formula (where=...)."
            )

    def _crossed(self, selection: Selection) -> BracketTable:
        ranged = self.ranged
        if isinstance(ranged, EstimatedProfile):
            return ranged.crosstab(selection.x, selection.y, bins=selection.bins)
        x, y = (_edges(ranged, name, selection.bins) for name in (selection.x, selection.y))
        return ranged.crosstab(selection.x, selection.y, bins=(x, y))


def _edges(ranged: BoundedProfile, metric: str, bins: int) -> list[Edge]:
    """Span all values that a tree may have."""
    found = ranged.range(metric)
    kept = ranged.possible & ~found.open
    ends = [Ratios(one.top[kept], one.bottom[kept]) for one in (found.low, found.high)]
    made = make_bins(metric, ends, bins, round_edges=True)[0]
    if made.edges:
        return list(made.edges)
    return [*made.values, made.values[-1] + 1] if made.values else [0, 1]


def range_words(one: Bracket) -> str:
    """Write a bracket in words.

    Examples
    --------
    >>> range_words(Bracket(7, 7)), range_words(Bracket(7, 1234567)), range_words(Bracket(7))
    ('7 trees', 'between 7 and 1,234,567 trees', 'at least 7 trees')
    """
    if one.status == "exact":
        return views.count_text(_most(one)) + (" tree" if _most(one) == 1 else " trees")
    least, most = _ends(one)
    if most is None:
        return f"at least {views.count_text(least)} trees"
    return f"between {views.count_text(least)} and {views.count_text(most)} trees"


def _ends(one: Bracket) -> tuple[int, int | None]:
    if one.estimate is not None:
        return one.estimate.low.__floor__(), one.estimate.high.__ceil__()
    least = 0 if one.lower is None else one.lower.__floor__()
    return least, None if one.upper is None else one.upper.__ceil__()


def _most(one: Bracket) -> int:
    """Return the upper end, or the lower one where there is none: it chooses a colour."""
    least, most = _ends(one)
    return least if most is None else most


def _emptied(ranged: Ranged) -> Profile:
    """Make a profile without cells that has the same question and metrics."""
    question = ranged.question if isinstance(ranged, EstimatedProfile) else (
        ranged.cells.coarse.plan.question
    )  # fmt: skip
    terms = dict(question.metrics)
    axes = {name: np.zeros(0, np.int64) for term in terms.values() for name in names(term)}
    return Profile(axes, np.zeros((0, 1), np.uint64), terms, ranged.record)
