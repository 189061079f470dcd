"""The trees that a report shows: on the front, by rank, the best, drawn at random.

Every tree keeps its one number, its rank in the whole profile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from adtc.algebra.trees import predict
from adtc.errors import QueryError
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.show import views, words

if TYPE_CHECKING:
    from adtc.profiles.numbered import DrawnTree

MOST_POINTS = 200  # points of a front that are listed
_MOST_PAINTED = 6  # points of a front whose trees are painted
_LOOKED_AT = 50  # trees per tree wanted that are compared for what they predict
_DRAWN = 3  # trees that are drawn where nothing else is asked for


@dataclass(frozen=True, slots=True)
class Shown:
    """A tree in a report, and why it is there."""

    drawn: "DrawnTree"
    roles: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Exhibits:
    """The trees of a report.

    Parameters
    ----------
    front
        The front of what is good and what it costs; None where the metrics know none.
    points
        Per point of the front that is listed a tree with its values; none without a circuit.
    on_front
        The trees of the front that are painted, from one end to the other.
    chosen
        The trees that were asked for or drawn at random.
    remark
        Why there are fewer of them than asked for.
    """

    front: Front | None
    points: "Mapping[int, DrawnTree]" = field(default_factory=dict)
    on_front: Sequence[Shown] = ()
    chosen: Sequence[Shown] = ()
    remark: str = ""

    @property
    def ends(self) -> "list[DrawnTree]":
        """The trees at the two ends of the front; none without a circuit."""
        return [one.drawn for one in (*self.on_front[:1], *self.on_front[-1:])]

    @property
    def every(self) -> list[Shown]:
        """All trees, each once."""
        seen = {one.drawn.rank for one in self.on_front}
        return [*self.on_front, *(one for one in self.chosen if one.drawn.rank not in seen)]


def exhibits(
    whole: Profile,
    chosen: Profile,
    *,
    trees: "int | Sequence[DrawnTree] | None",
    ranks: Sequence[int],
    best: int,
    seed: int,
) -> Exhibits:
    """Gather the trees of a report on the trees ``chosen`` of a profile."""
    front = main_front(chosen)
    if trees is None:
        trees = 0 if ranks or best else _DRAWN
    asked: list[tuple[str, Sequence[DrawnTree]]] = [
        ("by its rank", [whole.tree(rank) for rank in ranks])
    ]
    remark = ""
    if best and chosen.total:
        found = best_trees(whole, chosen, best)
        named = enumerate(found, 1)
        asked += [(f"best {at}" if best > 1 else "the best", [one]) for at, one in named]
        if len(found) < best:
            remark = (
                f"{best:,} of the best trees were asked for; all that were looked at predict like "
                f"{'the one' if len(found) == 1 else f'one of the {len(found)}'} shown."
            )
    if not isinstance(trees, int):
        asked += [(_how(one), [one]) for one in trees]
    if whole.source is None:
        return Exhibits(front, chosen=gathered(asked), remark=remark)
    if isinstance(trees, int) and trees > 0 and chosen.total:
        drawn = [in_whole(whole, one) for one in chosen.draw(trees, seed=seed)]
        asked += [(_how(one), [one]) for one in drawn]
    if front is None:
        return Exhibits(None, chosen=gathered(asked), remark=remark)
    n = len(front)
    places = spread_over(n, _MOST_PAINTED)
    points = {at: on_point(whole, front, at) for at in {*range(min(n, MOST_POINTS)), *places}}
    titles = [words.title_text(name) for name in front.names]
    roles = {n - 1: [f"least {titles[1]}"], 0: [f"largest {titles[0]}"]}
    if n == 1:
        roles = {0: [f"largest {titles[0]}", f"least {titles[1]}"]}
    drawn_points = [Shown(points[at], roles.get(at, ["on the front"])) for at in places]
    return Exhibits(front, points, drawn_points, gathered(asked), remark)


def _how(drawn: "DrawnTree") -> str:
    return "chosen by hand" if drawn.seed is None else f"drawn at random, seed {drawn.seed}"


def main_criteria(profile: Profile) -> tuple[str | None, str | None]:
    """Choose what is good, and what it may cost: accuracy and a gap, as far as they are known.

    Without a gap the cost is the size; None where the profile has no such metric.
    """
    names = profile.names
    good: list[str] = [name for name in ("acc", "bacc", "f1") if name in names]
    good += [name for name in names if words.goal_of(name) == "max" and name not in good]
    gaps = [name for name in names if words.definition(profile, name).gap]
    costs = gaps + [name for name in names if words.goal_of(name) == "min"]
    return (good[0] if good else None), (costs[0] if costs else None)


def main_front(profile: Profile) -> Front | None:
    """Find the front of what is good and what it costs."""
    good, cost = main_criteria(profile)
    if good is None or cost is None or not profile.total:
        return None
    front = views.front_for(profile, good, cost)
    return front if front is not None and front.points else None


def on_point(whole: Profile, front: Front, at: int) -> "DrawnTree":
    """Give a tree with the values of a point: of those, one with the fewest leaves."""
    return _smallest(whole, front.point(at))


def _smallest(whole: Profile, part: Profile) -> "DrawnTree":
    if "size" in part.names:
        sizes = part.values("size")
        part = part.take(sizes.codes == sizes.codes.min())
    return in_whole(whole, part.tree(0))


def in_whole(whole: Profile, drawn: "DrawnTree") -> "DrawnTree":
    """Give a tree of some cells its rank in the whole profile."""
    return replace(drawn, rank=whole.rank(drawn))


def spread_over(n: int, most: int) -> list[int]:
    """Choose places from the first to the last, evenly.

    Examples
    --------
    >>> spread_over(3, 5), spread_over(10, 4)
    ([0, 1, 2], [0, 3, 6, 9])
    """
    if n <= most:
        return list(range(n))
    return sorted({round(at * (n - 1) / (most - 1)) for at in range(most)})


def best_trees(whole: Profile, chosen: Profile, n: int) -> "list[DrawnTree]":
    """Find the best trees that differ in what they predict for the rows of the table.

    Best by the main criterion; among equals the one with the smaller cost, then with fewer leaves.
    """
    good, cost = main_criteria(chosen)
    if good is None:
        raise QueryError(
            f"best is {n}, but of none of the metrics {', '.join(chosen.names)} more is better: "
            f"choose trees by their ranks."
        )
    found: list[DrawnTree] = []
    seen: set[bytes] = set()
    dense = chosen.need_source("drawing").data.dense()
    for looked, drawn in enumerate(_in_order(chosen, good, cost)):
        predictions = predict(drawn.tree, dense).tobytes()
        if predictions not in seen:
            seen.add(predictions)
            found.append(in_whole(whole, drawn))
        if len(found) == n or looked >= _LOOKED_AT * n:
            break
    return found


def _in_order(chosen: Profile, good: str, cost: str | None) -> "Iterator[DrawnTree]":
    values = chosen.values(good)
    defined = np.array([value is not None for value in values.distinct], bool)[values.codes]
    keys = [-values.codes]
    keys += [chosen.values(name).codes for name in (cost, "size") if name in chosen.names and name]
    for cell in np.lexsort(keys[::-1]).tolist():
        if defined[cell]:
            yield from chosen.take(np.array([cell])).iterate()


def gathered(groups: "Sequence[tuple[str, Sequence[DrawnTree]]]") -> list[Shown]:
    """Put trees together in order, each once, with all the roles it has."""
    found: dict[int, Shown] = {}
    for role, trees in groups:
        for drawn in trees:
            one = found.setdefault(drawn.rank, Shown(drawn))
            if role and role not in one.roles:
                one.roles.append(role)
    return list(found.values())
