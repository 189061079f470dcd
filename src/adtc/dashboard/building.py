"""A tree built by hand among the good ones: what is fixed so far, and how it can go on.

The page names the steps; a builder is kept per formula and goes back and forth to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock

import numpy as np
import numpy.typing as npt

from adtc.algebra.trees import Leaf
from adtc.cache import LRUCache
from adtc.dashboard.asking import NotFoundError, Step
from adtc.dashboard.side import MARK, Side
from adtc.data import Data
from adtc.data.bits import unpack
from adtc.data.columns import format_scalar
from adtc.engine.exact.values import Value
from adtc.engine.partial import Fork, Partial, places
from adtc.errors import QueryError
from adtc.models.small import fewer_text, hidden_counts
from adtc.models.texts import rows_text
from adtc.profiles.builder import Builder, Choices
from adtc.profiles.profile import Profile
from adtc.show import views, words
from adtc.show.groups import NOT_SHOWN
from adtc.show.views import View

_KEPT = 3


@dataclass(frozen=True, slots=True)
class Best:
    """By what the trees that go on are compared: a metric of which more or less is better."""

    metric: str
    goal: words.Goal

    @property
    def asked(self) -> dict[str, str]:
        """How a builder is asked for it."""
        return {"maximize" if self.goal == "max" else "minimize": self.metric}


class Desk:
    """A builder, and the steps it has taken."""

    def __init__(self, profile: Profile) -> None:
        self.builder: Builder = profile.builder()
        self.steps: list[Step] = []

    def go(self, steps: Sequence[Step]) -> Builder:
        """Take steps back until the rest leads to these steps."""
        same = 0
        while same < min(len(steps), len(self.steps)) and steps[same] == self.steps[same]:
            same += 1
        while len(self.steps) > same:
            self.builder.undo()
            self.steps.pop()
        for step in steps[same:]:
            self._take(step)
        return self.builder

    def _take(self, step: Step) -> None:
        labels = self.builder.data.labels
        if step.is_test:
            self.builder.split(step.number, step.address)
        elif step.number < len(labels):
            self.builder.leaf(labels[step.number], step.address)
        else:
            raise QueryError(
                f"label {step.number} does not exist: labels are numbered from 0 to "
                f"{len(labels) - 1}."
            )
        self.steps.append(step)


class Building:
    """Answers of the builder.

    Parameters
    ----------
    lock
        Held while the profile is filtered and trees are numbered, which others do as well.
    small
        Places that fewer rows reach do not tell how many.
    """

    def __init__(self, side: Side, lock: RLock, small: int) -> None:
        self.side, self.lock, self.small = side, lock, small
        self._desks: LRUCache[Desk] = LRUCache(_KEPT)

    def view(
        self, where: str | None, steps: Sequence[Step], at: str | None, best: Best | None
    ) -> View:
        """Show the tree so far, and the ways to go on at one of its open places."""
        builder = self._desk(where).go(steps)
        opened, count = builder.open, builder.count
        if at is not None and at not in opened:
            at = None  # it was fixed meanwhile: the next one is meant
        view: View = {
            "count": str(count),
            "of": str(builder.profile.total),
            "share": views.share_text(count, builder.profile.total),
            "best": None,
            "places": self._places(builder),
            "at": None,
            "ways": [],
        }
        if best is not None:
            view["best"] = _told(builder.best(**best.asked), best)
        if opened and count:
            choices = builder.choices(at, **({} if best is None else best.asked))
            view["at"] = choices.address
            view["ways"] = _ways_view(choices, builder.data, best)
        return view

    def complete(
        self, where: str | None, steps: Sequence[Step], seed: int | None, best: Best | None
    ) -> View:
        """Finish the tree: by a uniform draw with a seed, without one by the best."""
        builder = self._desk(where).go(steps)
        if not builder.count:
            raise NotFoundError("no good tree begins like this: undo a step.")
        if seed is None:
            builder = Desk(self._best_of(builder, best)).go(steps)
        with self.lock:
            drawn = builder.complete(seed=seed or 0)
            chosen = self.side.chosen(where)
            rank = chosen.rank(drawn.tree)
            return {"rank": str(rank), "profile_rank": str(self.side.overall(chosen, rank))}

    def _desk(self, where: str | None) -> Desk:
        with self.lock:
            chosen = self.side.chosen(where)
        return self._desks.get(where, lambda: Desk(chosen))

    def _best_of(self, builder: Builder, best: Best | None) -> Profile:
        """Keep the trees of the best cells."""
        there = _marks(builder.good())
        if best is not None:
            values = self.side.profile.values(best.metric)
            code = _best_code(values.codes[there], values.distinct, best)
            if code is not None:
                there = there[values.codes[there] == code]
        return builder.profile.take(np.isin(_marks(builder.profile), there))

    def _places(self, builder: Builder) -> list[View]:
        """List the places of the tree from the root on, with what is fixed there."""
        found = dict(places(builder.tree))
        rows = dict(_rows(builder.tree, builder.data))
        ends = [address for address, part in found.items() if not isinstance(part, Fork)]
        gone = hidden_counts([rows[end] for end in ends], self.small)
        hidden = {end for end, is_hidden in zip(ends, gone, strict=True) if is_hidden}
        return [
            {
                "address": address,
                "kind": _kind(part),
                "name": _name(part, builder.data),
                "label": part.label if isinstance(part, Leaf) else None,
                "rows": self._rows_text(address, rows[address], hidden),
            }
            for address, part in found.items()
        ]

    def _rows_text(self, address: str, n: int, hidden: set[str]) -> str:
        if address and any(end.startswith(address) for end in hidden):
            few = address in hidden and n < self.small
            return f"{fewer_text(self.small)} rows" if few else f"rows {NOT_SHOWN}"
        return rows_text(n)


def _ways_view(choices: Choices, data: Data, best: Best | None) -> list[View]:
    """List the ways to go on, with the best value of each and its place among these."""
    ways = [
        *((Step(choices.address, True, way.number), way.name, way) for way in choices.features),
        *(
            (Step(choices.address, False, way.number), format_scalar(data.labels[way.number]), way)
            for way in choices.labels
        ),
    ]
    ordered = sorted({way.best for _, _, way in ways if way.best is not None})
    place: dict[Value, int] = {value: at for at, value in enumerate(ordered)}
    return [
        {
            "step": str(step),
            "kind": "test" if step.is_test else "leaf",
            "name": name,
            "trees": str(way.trees),
            "best": _told(way.best, best, place.get(way.best)),
        }
        for step, name, way in ways
    ]


def _told(value: Value, best: Best | None, place: int | None = None) -> View | None:
    """Tell a value for people and exactly; None if it is undefined."""
    if best is None or value is None:
        return None
    told: View = views.metric_values({best.metric: value})[best.metric]
    return {**told, "order": place}


def _marks(profile: Profile) -> npt.NDArray[np.int64]:
    """Tell where the cells of a part stand in the whole profile."""
    return np.asarray(profile.axes[MARK])


def _best_code(codes: npt.NDArray[np.int64], distinct: Sequence[object], best: Best) -> int | None:
    """Find the best of some values, by their places in ascending order; None if undefined."""
    defined = codes[codes < len(distinct) - (distinct[-1:] == (None,))]
    if not len(defined):
        return None
    return int(defined.max() if best.goal == "max" else defined.min())


def _rows(
    tree: Partial, data: Data, address: str = "", rows: npt.NDArray[np.bool_] | None = None
) -> list[tuple[str, int]]:
    """Count the rows that reach each place."""
    rows = np.ones(data.n_rows, bool) if rows is None else rows
    found = [(address, int(rows @ data.weights))]
    if isinstance(tree, Fork):
        ones = unpack(data.bits[[tree.feature]], data.n_rows)[0] == 1
        found += _rows(tree.t1, data, f"{address}1", rows & ones)
        found += _rows(tree.t0, data, f"{address}0", rows & ~ones)
    return found


def _kind(part: Partial) -> str:
    if part is None:
        return "open"
    return "leaf" if isinstance(part, Leaf) else "test"


def _name(part: Partial, data: Data) -> str | None:
    if part is None:
        return None
    if isinstance(part, Leaf):
        return format_scalar(data.labels[part.label])
    return str(data.feature_names[part.feature])
