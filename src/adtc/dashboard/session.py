"""The profile that the dashboard shows, and perhaps another one beside it: what each request gets.

One lock serves all clients: the same question has the same answer whoever asks at the same time.
"""

import threading
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from adtc.cache import LRUCache
from adtc.dashboard.asking import NotFoundError
from adtc.dashboard.building import Building
from adtc.dashboard.generalizing import Generalizing
from adtc.dashboard.people import PeoplePanel
from adtc.dashboard.side import Selection, Side
from adtc.dashboard.start import near_best, order
from adtc.dashboard.variables import VariablesPanel
from adtc.errors import QueryError
from adtc.models.colours import class_colour
from adtc.models.small import SMALL, check_small
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.difference import Difference, DifferenceTable
from adtc.profiles.profile import Profile
from adtc.show import views, words
from adtc.show.facts import differences, facts
from adtc.show.report import default_pairs, report_html
from adtc.show.views import View

if TYPE_CHECKING:
    from adtc.profiles.numbered import DrawnTree

_TREES = 3  # in a report for which none was chosen
_TITLES = ("this profile", "the other")
_LIMITS = (
    ("All numbers are exact for", "finished"),
    ("More was asked, but", "stopped"),
    ("To go on,", "advice"),
)


class Session:
    """Answers about one profile, and perhaps another one to compare with.

    Parameters
    ----------
    small
        Leaves of fewer rows show neither their rows nor their shares, here and in reports.

    Attributes
    ----------
    lock, patience
        Held while a question is answered; those that may take a while hold the second one.
    people, variables, building, generalizing
        What the panels answer, about the first profile.
    seen
        Set when a landscape was answered: whoever opened the page has something to look at.
    """

    def __init__(
        self,
        profile: Profile,
        compare: Profile | None = None,
        titles: tuple[str, str] | None = None,
        *,
        small: int = SMALL,
    ) -> None:
        if compare is not None and compare.names != profile.names:
            raise QueryError(
                f"the two profiles have different metrics ({', '.join(profile.names)} and "
                f"{', '.join(compare.names)}): make both with the same ones, in the same order."
            )
        check_small(small)
        self.small = small
        self.lock = threading.RLock()
        self.seen = threading.Event()
        self._report_lock = threading.Lock()
        self.titles = titles or _TITLES
        given = (profile,) if compare is None else (profile, compare)
        self.sides = tuple(map(Side, given, self.titles))
        self.profile = self.sides[0].profile
        self.patience = threading.RLock()
        first = self.sides[0]
        self.people = PeoplePanel(first, self.lock, small)
        self.variables = VariablesPanel(first, self.lock)
        self.building = Building(first, self.lock, small)
        self.generalizing = Generalizing(first, self.lock)
        self._selected: LRUCache[Profile] = LRUCache(4)
        self._compared: LRUCache[DifferenceTable] = LRUCache(4)
        self._difference: Difference | None = None

    def side(self, number: int) -> Side:
        """Return the side that a selection names: 2 is the second profile, 0 and 1 the first."""
        if number and len(self.sides) == 1:
            raise NotFoundError("there is no second profile; start with --compare OTHER.adtc.")
        return self.sides[max(0, number - 1)]

    def warm(self) -> None:
        """Make ready what drawing needs, for every profile."""
        for side in self.sides:
            side.warm()

    def overview(self) -> View:
        """Describe the profile, and what to show first."""
        view = views.overview(self.profile)
        pairs = default_pairs(self.profile)
        gaps = [m["name"] for m in view["metrics"] if m["gap"]]
        start = next((pair for pair in pairs if pair[1] in gaps), pairs[0] if pairs else None)
        view["start"] = list(start) if start else [self.profile.names[0]] * 2
        view["rows"] = self.sides[0].rows
        view["facts"] = list(facts(self.profile).items())
        view["begin"], view["begin_note"] = near_best(self.profile)
        view["best_by"] = [list(pair) for pair in order(self.profile)]
        view["open"] = self._open()
        view["without"] = self._without()
        view["colours"] = [class_colour(at) for at in range(len(view["data"]["labels"]))]
        view["further"] = self.generalizing.tables
        view["compare"] = None
        if len(self.sides) > 1:
            other = self.sides[1]
            view["compare"] = {
                "titles": list(self.titles),
                "count": str(other.profile.total),
                "question": [list(pair) for pair in words.question(other.profile)],
                "fingerprint": other.profile.record.data["fingerprint"],
                "drawable": other.profile.source is not None,
                "rows": other.rows,
                "differs": [list(one) for one in differences(self.profile, other.profile)],
            }
        return view

    def _open(self) -> str | None:
        """Say what a limit left open, and what was asked for; None if the numbers are exact."""
        run, asked = self.profile.record, self.profile.count
        if run.status == "exact" or isinstance(asked, int):
            return None
        parts = [f"{name} {run.details[key]}" for name, key in _LIMITS if key in run.details]
        if asked.upper is not None:
            least, most = (views.count_text(int(n or 0)) for n in (asked.lower, asked.upper))
            parts.append(f"What was asked for has between {least} and {most} trees")
        return "".join(f"{part}. " for part in parts).strip()

    def _without(self) -> str | None:
        """Say why there is no panel that looks at trees; None if there are such panels."""
        try:
            self.profile.need_source("this panel")
        except QueryError as error:
            return str(error)
        return None

    def count(self, where: str | None) -> View:
        """Count the trees that satisfy a formula; where there is none, say what comes near."""
        n, whole = self.sides[0].chosen(where).total, self.profile.total
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

    def landscape(self, selection: Selection) -> View:
        """Lay out the trees of a formula by two metrics."""
        table = self.sides[0].table(selection)
        assert table.profile is not None
        front = views.front_for(table.profile, selection.x, selection.y)
        view = views.landscape(table, front=front, of=self.profile.total)
        view["formulas"] = {
            axis: [None if one.kind == "undefined" else one.condition(name) for one in bins]
            for axis, name, bins in (
                ("x", selection.x, table.x_bins),
                ("y", selection.y, table.y_bins),
            )
        }
        return view

    def tree(
        self, selection: Selection, rank: int | None, seed: int | None, row: int | None
    ) -> View:
        """Show the tree with a rank among those meant, or one drawn with a seed, or the best."""
        side = self.side(selection.side)
        side.profile.need_source("drawing")
        chosen = self.selected(selection)
        if not chosen.total:
            raise NotFoundError("there is no tree here, so there is none to show.")
        if rank is not None and rank >= chosen.total:
            raise NotFoundError(
                f"there is no tree with rank {rank:,} here: the ranks are 0 to "
                f"{chosen.total - 1:,}."
            )
        if row is not None:
            side.check_row(row)
        is_best = rank is None and seed is None
        if rank is None:
            rank = side.best(chosen) if seed is None else chosen.draw(1, seed=seed)[0].rank
        drawn = chosen.tree(rank)
        view = views.tree_view(drawn, row=row, small=self.small)
        return {
            **view,
            "best": is_best,
            "of": str(chosen.total),
            "profile_rank": str(side.overall(chosen, drawn.rank)),
            "profile_of": str(side.profile.total),
            "profile": side.title if len(self.sides) > 1 else None,
        }

    def difference(self, selection: Selection) -> View:
        """Lay out the two profiles and the difference of their shares."""
        table = self.compared(selection)
        view = views.difference_map(table)
        moved = sum(abs(d) for row in table.differences for d in row)
        view["distance"] = float(Fraction(moved) / 2)
        return view

    def report(self, selection: Selection, ranks: tuple[int, ...]) -> str:
        """Write the current view as a self-contained report on the profile that is meant."""
        side = self.side(selection.side)
        side.warm()
        profile = side.profile
        with self.lock:
            table = self.table(selection)
            for rank in ranks:
                if rank >= profile.total:
                    raise NotFoundError(f"there is no tree with rank {rank:,} in the profile.")
            trees: int | list[DrawnTree] = _TREES
            if ranks:
                profile.need_source("drawing")
                trees = [profile.tree(rank) for rank in ranks]
            elif profile.source is not None and side.chosen(selection.where).total:
                # drawn here, under the lock; else the report says why there is none
                trees = profile.draw(_TREES, seed=0, where=selection.where)
        shown = {selection.x, selection.y}
        others = [pair for pair in default_pairs(profile) if set(pair) != shown]
        with self._report_lock:  # may take seconds; others must not wait for it
            tables: list[Crosstab | tuple[str, str]] = [table, *others[:3]]
            return report_html(
                profile, crosstabs=tables, trees=trees, where=selection.where, small=self.small
            )

    def compared(self, selection: Selection) -> DifferenceTable:
        """Return the cross-tables of both profiles, in bins that they share."""
        self.side(1)
        if self._difference is None:
            first, second = (side.plain for side in self.sides)
            # only cross-tables are asked for, so combinations of all metrics need no numbers
            none = np.zeros(0, np.int64)
            self._difference = Difference(first, second, self.titles, (none, none), ())
        found, key = self._difference, (selection.where, selection.x, selection.y, selection.bins)
        return self._compared.get(
            key,
            lambda: found.crosstab(
                selection.x,
                selection.y,
                bins=selection.bins,
                where=selection.where,
                round_edges=True,
            ),
        )

    def table(self, selection: Selection) -> Crosstab:
        """Return the cross-table whose cells a selection counts."""
        if not selection.side:
            return self.sides[0].table(selection)
        table = self.compared(selection)
        return table.first if selection.side == 1 else table.second

    def selected(self, selection: Selection) -> Profile:
        """Return the trees of a cell, or of the formula alone."""
        if selection.cell is None:
            return self.side(selection.side).chosen(selection.where)
        table, cell = self.table(selection), selection.cell
        if cell.i >= len(table.x_bins) or cell.j >= len(table.y_bins):
            raise NotFoundError(
                f"there is no cell {cell.i},{cell.j}: the landscape has {len(table.x_bins)} bins "
                f"of {selection.x} and {len(table.y_bins)} of {selection.y}, counted from 0."
            )
        return self._selected.get(selection, lambda: table.select(cell.i, cell.j))
