"""Fronts by search: the Pareto front of a table's trees by repeated optimisation alone.

Each step finds the best value of one criterion in a zone, a box of bounds on all criteria, then the
best of the others at that value. The point found is on the front, and what it leaves open is split
into smaller zones (with two criteria: the ε-constraint method). Nothing is rounded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from time import monotonic
from typing import Any, cast

from adtc.algebra.affine import affine, ratio
from adtc.algebra.formula import Formula, Negate, Truth, all_of, parse, parse_term
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.engine.limits.beforehand import always_defined, lower_limit
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Space, ask
from adtc.engine.questions import count, exists, model_tensor, optimize
from adtc.engine.record import recording
from adtc.engine.run import Engine, with_extremes
from adtc.engine.score import score
from adtc.errors import TooLargeError
from adtc.profiles.making import profile
from adtc.profiles.pareto import PARTIAL, Front, criteria_of
from adtc.profiles.zones import Criterion, Exact, Zone, cut_out, with_bound, within

_TABLED = 10**9  # bytes for listing all ties at once; beyond, they are searched
_FLOORS = tuple(Fraction(1, 2**k) for k in (7, 5, 3, 2, 1))  # of the lead's range, tried in turn
_MOMENT = 5.0  # seconds for a whole profile
_STEPS = 1000  # of the progress of a whole front
_SHALLOW, _AHEAD = 2, 0.2  # depth whose front is found first, in at most this share of the time


def pareto(
    data: Data,
    space: Space,
    *,
    maximize: str | Sequence[str] = (),
    minimize: str | Sequence[str] = (),
    where: str | Formula | None = None,
    counts: bool = False,
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> Front:
    """Find the Pareto front of the trees of a space by search, each point with a tree.

    Parameters
    ----------
    maximize, minimize
        Metrics, or terms over them, one or several.
    where
        Only trees that satisfy this formula; None admits every tree.
    counts
        Whether to count the trees on each point, too.
    define, engine, monitor
        As in `count`. A time or memory limit ends the search early: the front then has status
        ``"partial"``, holds the points found so far, all of them on the front, and says in
        ``stopped`` what ended it. If none was found, it is that of the depth in ``finished``.

    Notes
    -----
    `Profile.pareto` finds the same points, for trees that are counted already. A tree with an
    undefined criterion is neither on the front nor does it beat another.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> front = adtc.pareto(data, adtc.Space(max_depth=1), minimize=["size", "error"])
    >>> front.points, front.status
    (((1, 1), (2, 0)), 'exact')
    >>> print(front.tree(1).rules()[0])
    if f0 then 1   (2 rows, 100 %)
    """
    search = Search(
        data,
        space,
        maximize=maximize,
        minimize=minimize,
        where=where,
        counts=counts,
        define=define,
        engine=engine,
        monitor=monitor,
    )
    return search.run()


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of the front by its costs, with a tree that has them."""

    costs: tuple[Exact, ...]
    tree: Tree
    trees: int | None


class Search:
    """The search for a front; the points found so far can be read at any time.

    Parameters
    ----------
    maximize, minimize, where, counts
        As in `pareto`.
    options
        ``define``, ``engine`` and ``monitor``, as in `count`.
    """

    def __init__(
        self,
        data: Data,
        space: Space,
        *,
        maximize: str | Sequence[str] = (),
        minimize: str | Sequence[str] = (),
        where: str | Formula | None = None,
        counts: bool = False,
        define: Definitions | None = None,
        engine: Engine = "auto",
        monitor: Monitor | None = None,
    ) -> None:
        self.data, self.space, self.counts = data, space, counts
        self.maximize, self.minimize = criteria_of(maximize, minimize)
        self.good = parse(where) if isinstance(where, str) else where or Truth(True)
        self.monitor = monitor or Monitor()
        self._options: dict[str, Any] = {"define": define, "engine": engine}
        self._criteria = self._read(define)
        # what adds up over leaves prunes best as an objective
        self._lead = next((i for i, c in enumerate(self._criteria) if c.linear), 0)
        asked = {
            "ask": "pareto",
            "maximize": list(self.maximize),
            "minimize": list(self.minimize),
            "where": None if where is None else str(where),
        }
        with recording(data, space, engine, asked) as self.record:
            pass  # its seconds are those of the search, which may be read before it ends
        self._found: list[_Point] = []
        self._shallow: Front | None = None
        self._started = monotonic()

    def _read(self, define: Definitions | None) -> tuple[Criterion, ...]:
        names = self.maximize + self.minimize
        question = ask(self.data, self.space, semiring=COUNT, metrics=names, define=define)
        found = []
        for at, (name, term) in enumerate(question.metrics):
            sign = -1 if at < len(self.maximize) else 1
            cost, gain = (Negate(term), term) if sign < 0 else (term, Negate(term))
            limit, worst = lower_limit(cost, question), lower_limit(gain, question)
            width = Fraction(1) if limit is None or worst is None else -worst - limit
            linear = affine(term) is not None or ratio(term) is not None
            found.append(
                Criterion(name, sign, parse_term(name), limit, always_defined(term), linear, width)
            )
        return tuple(found)

    def run(self) -> Front:
        """Search until the front is complete or a limit is reached."""
        left = self.monitor.time_left
        self.monitor.finished = lambda reason: self.front(stopped=reason)
        try:
            if left is not None:
                self._look_ahead(_AHEAD * left)
            self._search()
        except TooLargeError as reason:
            if left is None and not self._found:
                self._look_ahead(_MOMENT)
            return self.front(stopped=str(reason))
        return self.front()

    def _look_ahead(self, seconds: float) -> None:
        """Find the front of a small depth, in little time: if no point is found, it is all."""
        if self.monitor.answers and self.space.max_depth > _SHALLOW:
            memory, threads = self.monitor.memory_limit, self.monitor.threads
            moment = Monitor(time_limit=seconds, memory_limit=memory, threads=threads, exact=True)
            found = pareto(
                self.data, replace(self.space, max_depth=_SHALLOW), maximize=self.maximize,
                minimize=self.minimize, where=self.good, **self._options, monitor=moment,
            )  # fmt: skip
            if len(found):
                self._shallow, self.monitor.reached = found, True

    def at_once(self) -> Front | None:
        """Read the front off the profile of all good trees, if that takes a moment only.

        A condition that can be pushed down may leave few cells; then one run finds what the
        search needs one for each point. None if they are too many.
        """
        left = self.monitor.time_left
        moment = Monitor(
            time_limit=_MOMENT if left is None else min(_MOMENT, left / 10),
            memory_limit=min(self.monitor.memory, _TABLED),
            resident_limit=self.monitor.resident_limit,
            threads=self.monitor.threads,
            exact=True,
        )
        names = list(dict.fromkeys(one.name for one in self._criteria))
        try:
            made = profile(
                self.data, self.space, names, where=self.good, **self._options, monitor=moment
            )
        except TooLargeError:
            self.monitor.check()
            return None
        if made.source is None or self.space.max_variables is not None:
            return None
        found = made.pareto(maximize=self.maximize, minimize=self.minimize)
        self.record.cell_scan, self.record.engine = made.record.cell_scan, made.record.engine
        self.record.num_cells, self.record.seconds = len(found), monotonic() - self._started
        return Front(
            self.maximize,
            self.minimize,
            found.points,
            found.trees if self.counts else (),
            witnesses=tuple(found.tree(i).tree for i in range(len(found))),
            data=self.data,
            record=self.record,
        )

    def front(self, *, stopped: str | None = None) -> Front:
        """Return the points found so far, best in the first criterion first.

        Parameters
        ----------
        stopped
            What ended the search before the front was complete.
        """
        found = sorted(self._found, key=lambda point: point.costs)
        self.record.num_cells, self.record.seconds = len(found), monotonic() - self._started
        if stopped is not None:
            self.record.status = PARTIAL
            self.record.details["stopped"] = stopped
            if not found and self._shallow is not None:
                return self._of_small_depth(self._shallow, stopped)
        return Front(
            self.maximize,
            self.minimize,
            tuple(self._values(point.costs) for point in found),
            tuple(point.trees for point in found if point.trees is not None),
            witnesses=tuple(point.tree for point in found),
            data=self.data,
            stopped=stopped,
            record=self.record,
        )

    def _of_small_depth(self, found: Front, stopped: str) -> Front:
        """Return the front of a small depth as all that is known."""
        self.record.num_cells = len(found)
        self.record.details["finished"] = f"depth at most {_SHALLOW}"
        self.record.details["asked_max_depth"] = self.space.max_depth
        self.record.conventions["max_depth"] = _SHALLOW
        return replace(found, stopped=stopped, record=self.record)

    def _search(self) -> None:
        zones: list[Zone] = [(None,) * len(self._criteria)]
        empty: list[Zone] = []
        while zones:
            zone = zones.pop(0)
            if self._beyond_limits(zone) or any(within(zone, other) for other in empty):
                continue
            point = self._best_in(zone, self._at_least(zone, empty))
            if point is None:
                empty.append(zone)
                continue
            self._found.append(point)
            self.monitor.reached = True
            self._report()
            # no tree of the zone is better in the leading criterion
            empty.append(with_bound(zone, self._lead, point.costs[self._lead]))
            zones = cut_out([zone, *zones], point.costs)

    def _beyond_limits(self, zone: Zone) -> bool:
        pairs = zip(zone, self._criteria, strict=True)
        return any(
            bound is not None and one.limit is not None and bound <= one.limit
            for bound, one in pairs
        )

    def _at_least(self, zone: Zone, empty: Sequence[Zone]) -> Exact | None:
        """Return the largest leading cost below which a zone is known to be empty."""
        open_zone = with_bound(zone, self._lead, None)
        costs = (
            other[self._lead]
            for other in empty
            if within(open_zone, with_bound(other, self._lead, None))
        )
        return max((cost for cost in costs if cost is not None), default=None)

    def _best_in(self, zone: Zone, least: Exact | None) -> _Point | None:
        """Find a point of the front in a zone: the best lead, then the best of the others.

        Parameters
        ----------
        least
            What the leading cost is at least, if that is known.
        """
        bounds: list[Formula] = []
        for one, bound in zip(self._criteria, zone, strict=True):
            bounds += one.defined() if bound is None else [one.is_("<", bound)]
        best = self._best_lead(bounds, least)
        if best is None:
            return None
        costs = self._costs(best)
        ties = [one.is_("<=", cost) for one, cost in zip(self._criteria, costs, strict=True)]
        if all(
            at == self._lead or cost == one.limit
            for at, (one, cost) in enumerate(zip(self._criteria, costs, strict=True))
        ):
            return _Point(costs, best, self._count(costs))
        try:
            return self._among_all(best, costs, ties)
        except TooLargeError:
            self.monitor.check()  # out of time is out of time
            return self._one_by_one(best, costs)

    def _best_lead(self, bounds: Sequence[Formula], least: Exact | None) -> Tree | None:
        """Find the best leading cost, first among the trees that come near what is possible.

        A gap alone prunes nothing: a floor under the leading criterion makes the search short, and
        the next point seldom lies far from one found before.
        """
        one = self._criteria[self._lead]
        if least is not None and one.linear:
            for share in _FLOORS:
                near = one.is_("<=", least + share * one.width)
                best = self._optimize(self._lead, [*bounds, near])
                if best is not None:
                    return best
        return self._optimize(self._lead, bounds)

    def _among_all(self, tree: Tree, costs: tuple[Exact, ...], ties: list[Formula]) -> _Point:
        """List the values of all trees at least as good as this one, and take the best."""
        names = [one.name for one in self._criteria]
        memory = min(self.monitor.memory, _TABLED)
        tensor = self._ask(model_tensor, names, where=self._where(ties), memory=memory)
        values = min(tensor, key=lambda values: self._in_order(self._costs_of(values)))
        best = self._costs_of(values)
        if best != costs:
            tree = self._exists(best)
        return _Point(best, tree, tensor[values] if self.counts else None)

    def _one_by_one(self, tree: Tree, costs: tuple[Exact, ...]) -> _Point:
        """Search the best of each criterion among the trees that tie in those before."""
        for at, one in enumerate(self._criteria):
            if at == self._lead or costs[at] == one.limit:
                continue
            as_good = [c.is_("<=", cost) for c, cost in zip(self._criteria, costs, strict=True)]
            found = self._optimize(at, as_good)
            assert found is not None  # the tree itself is there
            tree, costs = found, self._costs(found)
        return _Point(costs, tree, self._count(costs))

    def _optimize(self, at: int, bounds: Sequence[Formula]) -> Tree | None:
        one = self._criteria[at]
        goal: Any = {"minimize" if one.sign > 0 else "maximize": one.name}
        best = self._ask(partial(optimize, **goal), where=self._where(bounds))
        return cast(Tree | None, best.tree)

    def _exists(self, costs: tuple[Exact, ...]) -> Tree:
        return cast(Tree, self._ask(exists, where=self._where(self._equal(costs))).tree)

    def _count(self, costs: tuple[Exact, ...]) -> int | None:
        """Count the trees on a point, if that is asked for."""
        if not self.counts:
            return None
        return int(self._ask(count, where=self._where(self._equal(costs))))

    def among(self) -> int:
        """Count all trees that the front is about."""
        return int(self._ask(count, where=self.good))

    def _equal(self, costs: tuple[Exact, ...]) -> list[Formula]:
        return [one.is_("=", cost) for one, cost in zip(self._criteria, costs, strict=True)]

    def _where(self, bounds: Sequence[Formula]) -> Formula:
        return all_of(self.good, *bounds)

    def _ask(
        self, question: Callable[..., Any], *about: Any, memory: int | None = None, **options: Any
    ) -> Any:
        """Ask a question of the table under what is left of the limits, and note its cost."""
        limit = self.monitor.memory_limit if memory is None else memory
        monitor = replace(self.monitor, progress=self._stage, memory_limit=limit, exact=True)
        self.monitor.check()
        answer = question(
            self.data, self.space, *about, **options, **self._options, monitor=monitor
        )
        made = answer.record
        self.record.cell_scan += made.cell_scan
        self.record.engine = made.engine
        self.record.details["searches"] = self.record.details.get("searches", 0) + 1
        self._settle(made.details.get("extremes", {}))
        return answer

    def _settle(self, extremes: dict[str, str | None]) -> None:
        """Put in the values of ``least(…)`` and ``largest(…)``, which are the same at each step."""
        if not extremes:
            return
        self.record.details["extremes"] = extremes
        self.good = with_extremes(self.good, extremes)

    def _costs(self, tree: Tree) -> tuple[Exact, ...]:
        names = [one.name for one in self._criteria]
        values = score(tree, self.data, names, define=self._options["define"])
        return self._costs_of([values[name] for name in names])

    def _costs_of(self, values: Sequence[Exact | None]) -> tuple[Exact, ...]:
        pairs = zip(self._criteria, values, strict=True)
        return tuple(one.sign * cast(Exact, value) for one, value in pairs)

    def _values(self, costs: tuple[Exact, ...]) -> tuple[Exact, ...]:
        return tuple(one.sign * cost for one, cost in zip(self._criteria, costs, strict=True))

    def _in_order(self, costs: tuple[Exact, ...]) -> tuple[Exact, ...]:
        """Put the leading criterion first."""
        return costs[self._lead], *costs[: self._lead], *costs[self._lead + 1 :]

    def _stage(self, stage: str, done: int, total: int) -> None:
        """Pass on the progress of a step until that of the whole front is known."""
        if self._share() is None:
            self.monitor.report(f"{self._progress_text()}; {stage}", done, total)

    def _report(self) -> None:
        share = self._share()
        if share is not None:
            self.monitor.report(self._progress_text(), int(share * _STEPS), _STEPS)

    def _share(self) -> Fraction | None:
        """Tell how much of the second criterion's range is done, where there are two."""
        if len(self._criteria) != 2 or not self._found:  # noqa: PLR2004
            return None
        other = 1 - self._lead
        limit, first = self._criteria[other].limit, self._found[0].costs[other]
        if limit is None or first <= limit:
            return None
        return Fraction(first - self._found[-1].costs[other]) / Fraction(first - limit)

    def _progress_text(self) -> str:
        n = len(self._found)
        return f"front, {n:,} point{'s'[: n != 1]} found"
