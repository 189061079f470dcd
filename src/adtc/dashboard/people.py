"""People under the votes of all good trees: their distribution, one by one, one alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.cache import LRUCache
from adtc.dashboard.asking import NotFoundError
from adtc.dashboard.hiding import hidden_bars
from adtc.dashboard.side import Side
from adtc.data import Data
from adtc.data.columns import format_scalar
from adtc.models.small import fewer_text
from adtc.profiles.people import VoteShares
from adtc.profiles.people.decisions import Deciding
from adtc.profiles.people.measures import EVERYBODY, PersonMeasure
from adtc.profiles.profile import Profile
from adtc.show import views
from adtc.show.groups import NOT_SHOWN
from adtc.show.rows import known_values
from adtc.show.views import View
from adtc.show.voting import histogram_data, shown_groups

SORTS = ("contested", "conflict", "share", "row")
MOST_ROWS = 500
BINS = 10
_KEPT = 3
_SIDES = 2  # trees for and against


@dataclass(frozen=True, slots=True)
class Listing:
    """Which people to list, in which order.

    Parameters
    ----------
    sort
        One of `SORTS`.
    rising
        Whether the least come first; otherwise the most do.
    group
        Only people of this group.
    baseline
        The decisions that conflicts are with: a reference column.
    """

    sort: str = "contested"
    rising: bool = False
    group: str | None = None
    baseline: str | None = None


class PeoplePanel:
    """Answers about people.

    Parameters
    ----------
    lock
        Held while the profile is filtered and trees are numbered, which others do as well.
    small
        Groups and bars of fewer people are not told.
    """

    def __init__(self, side: Side, lock: RLock, small: int) -> None:
        self.side, self.lock, self.small = side, lock, small
        self._votes: LRUCache[VoteShares] = LRUCache(_KEPT)
        self._orders: LRUCache[npt.NDArray[np.int64]] = LRUCache(4 * _KEPT)

    @property
    def data(self) -> Data:
        """Return the table."""
        return self.side.profile.need_source("counting votes").data

    @property
    def baselines(self) -> list[str]:
        """Name the columns of decisions that already stand."""
        return [name for name, _ in self.data.references]

    def votes(self, where: str | None) -> VoteShares:
        """Count the votes of the trees that satisfy a formula."""
        with self.lock:
            chosen = self.side.chosen(where)
        return self._votes.get(where, chosen.vote_shares)

    def summary(self, where: str | None) -> View:
        """Tell how votes lie, over everybody and by group."""
        votes = self.votes(where)
        label = _label(votes)
        shown = shown_groups(votes.people, self.small)
        view: View = {
            "trees": str(votes.total),
            "people": votes.people.count,
            "rows": len(votes),
            "label": votes.label_texts[label],
            "labels": list(votes.label_texts),
            "sensitive": votes.people.sensitive if votes.people.groups else None,
            "groups": shown,
            "hidden_groups": len(votes.people.groups) - len(shown),
            "baselines": self.baselines,
            "parts": [],
        }
        if votes.total:
            view["parts"] = self._parts(votes, label)
            view["disputed"] = self._disputed(votes)
        return view

    def listed(self, where: str | None, listing: Listing, start: int, n: int) -> View:
        """List some of the people, in order."""
        votes = self.votes(where)
        order = self._orders.get((where, listing), lambda: self._order(votes, listing))
        measures = self._measures(votes, listing.baseline)
        rows = order[start : start + n].tolist()
        return {
            "of": len(order),
            "start": start,
            "rows": [self._line(votes, row, measures, listing.baseline) for row in rows],
        }

    def person(self, where: str | None, row: int, seed: int) -> View:
        """Show one person: votes, values, and trees that decide on either side."""
        self.side.check_row(row)
        votes, at = self.votes(where), row
        measures = self._measures(votes, None)
        view: View = {
            **self._line(votes, at, measures, None),
            "decisions": [
                {
                    "name": name,
                    "label": votes.label_texts[int(codes[at])],
                    "conflict": _text(votes.conflict(name), at),
                }
                for name, codes in self.data.references
            ],
            "known": list(known_values(self.data, at).values()),
            "votes": [
                {
                    "label": text,
                    "trees": str(n),
                    "share": views.share_text(n, int(votes.total)),
                    "part": n / votes.total if votes.total else 0,
                }
                for text, n in zip(votes.label_texts, votes.counts[at].tolist(), strict=True)
            ],
            "sides": [],
            "tests": [],
        }
        if votes.total:
            with self.lock:
                chosen = self.side.chosen(where)
            found = self._deciding(chosen, votes, at)
            view["sides"] = [self._side(chosen, one, at, seed) for one in found]
            view["tests"] = self._tests(found, at)
        return view

    def _parts(self, votes: VoteShares, label: int) -> list[View]:
        """Lay out vote shares; bars that would tell of few people are hidden."""
        found = histogram_data(votes, votes.labels[label], bins=BINS, small=self.small)
        hidden = hidden_bars({part.name: part.people for part in found.parts}, self.small)
        consistency = votes.self_consistency()
        share = votes.share(votes.labels[label])
        views_of = []
        for part in found.parts:
            who = part.name
            views_of.append(
                {
                    "name": who,
                    "people": sum(part.people),
                    "bars": [
                        None if (who, at) in hidden else n for at, n in enumerate(part.people)
                    ],
                    "mean": _mean(share, who),
                    "consistency": _mean(consistency, who),
                }
            )
        return views_of

    def _disputed(self, votes: VoteShares) -> str:
        """Say on how many people not all trees agree, unless few are or few are not."""
        n, whole = votes.disputed().count or 0, votes.people.count
        if n in (0, whole):
            return f"They all agree on {'nobody' if n else 'everybody'}."
        if n < self.small:
            return f"They all agree, but on {fewer_text(self.small)} people."
        if whole - n < self.small:
            return f"They all agree on {fewer_text(self.small)} people."
        return f"They do not all agree on {n:,} of them ({views.share_text(n, whole)})."

    def _measures(self, votes: VoteShares, baseline: str | None) -> dict[str, PersonMeasure]:
        found = {
            "contested": votes.expected_disagreement(),
            "share": votes.share(votes.labels[_label(votes)]),
        }
        if baseline is not None:
            found["conflict"] = votes.conflict(baseline)
        return found

    def _order(self, votes: VoteShares, listing: Listing) -> npt.NDArray[np.int64]:
        """Sort the people; ties go to the earlier row."""
        rows = np.arange(len(votes))
        if listing.group is not None:
            groups = votes.people.groups
            if listing.group not in shown_groups(votes.people, self.small):
                raise NotFoundError(f"there is no group '{listing.group[:60]}' to be listed.")
            rows = rows[votes.people.z == groups.index(listing.group)]
        if listing.sort == "row":
            return rows if listing.rising else rows[::-1]
        tops = self._measures(votes, listing.baseline)[listing.sort].tops[rows]
        return rows[np.argsort(tops if listing.rising else -tops, kind="stable")]

    def _line(
        self,
        votes: VoteShares,
        row: int,
        measures: dict[str, PersonMeasure],
        baseline: str | None,
    ) -> View:
        groups = votes.people.groups
        group = groups[int(votes.people.z[row])] if groups else None
        line: View = {
            "row": row,
            "people": int(votes.people.weights[row]),
            "group": group if group in shown_groups(votes.people, self.small) else NOT_SHOWN,
            "truth": votes.label_texts[int(self.data.y[row])],
            "share": _text(measures["share"], row),
            "part": _float(measures["share"], row),
            "contested": _text(measures["contested"], row),
        }
        if not groups:
            line["group"] = None
        if baseline is not None:
            codes = dict(self.data.references)[baseline]
            line["decision"] = votes.label_texts[int(codes[row])]
            line["conflict"] = _text(measures["conflict"], row)
        return line

    def _deciding(self, chosen: Profile, votes: VoteShares, at: int) -> list[Deciding]:
        """Find the trees for each of the two classes with the most votes, the most first."""
        counts = votes.counts[at].tolist()
        order = sorted(range(len(counts)), key=lambda c: -counts[c])
        wanted = [votes.labels[c] for c in order if counts[c]][:_SIDES]
        return [chosen.deciding({at: label}) for label in wanted]

    def _side(self, chosen: Profile, found: Deciding, at: int, seed: int) -> View:
        """Show a tree that decides so, drawn uniformly."""
        with self.lock:
            (drawn,) = found.draw(1, seed=seed)
            view = views.tree_view(drawn, row=at, small=self.small)
            return {
                **view,
                "label": format_scalar(found.decisions[at]),
                "trees": str(found.count),
                "share": views.share_text(found.count, found.total),
                "profile_rank": str(self.side.overall(chosen, drawn.rank)),
                "profile_of": str(self.side.profile.total),
            }

    def _tests(self, found: Sequence[Deciding], at: int) -> list[View]:
        """Compare what trees on both sides test; where they differ most comes first."""
        if len(found) < _SIDES:
            return []
        uses = [one.trees.variables() for one in found]
        known = known_values(self.data, at)
        lines = []
        for name in uses[0]:
            shares = [one[name].share or 0 for one in uses]
            if any(shares):
                texts = [views.share_text(one[name].trees_using, one.total) for one in uses]
                lines.append(
                    {
                        "column": name,
                        "value": known.get(name),
                        "shares": texts,
                        "parts": [float(share) for share in shares],
                        "gap": float(abs(shares[0] - shares[1])),
                    }
                )
        return sorted(lines, key=lambda line: -line["gap"])


def _label(votes: VoteShares) -> int:
    """Choose the class that shares are of: the positive one, else the first."""
    return 0 if votes.positive is None else votes.positive


def _mean(measure: PersonMeasure, who: str) -> str:
    value: Any = measure.overall if who == EVERYBODY else measure.by_group[who]
    return views.number_text(value)


def _text(measure: PersonMeasure, row: int) -> str:
    return views.share_text(int(measure.tops[row]), int(measure.bottom))


def _float(measure: PersonMeasure, row: int) -> float:
    return float(measure.tops[row] / measure.bottom) if measure.bottom else 0.0
