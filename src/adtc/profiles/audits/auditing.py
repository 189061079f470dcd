"""The auditor's question: a tree as good as the model in use, with a smaller gap.

The model in use is measured first. The smallest gap of all trees at the floor decides whether there
is an alternative; their number, the front and the trees worth showing are further searches. A limit
leaves open what it interrupts and keeps the rest.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from time import monotonic
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import (
    Call,
    Comparison,
    Formula,
    Name,
    Number,
    all_of,
    constant,
    parse,
    parse_term,
    settle,
)
from adtc.algebra.trees import Tree
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.nearest import nearest
from adtc.engine.query import Definitions, Space
from adtc.engine.questions import count, optimize
from adtc.engine.record import recording
from adtc.engine.results import Count, Optimum
from adtc.engine.run import Engine
from adtc.errors import QueryError, TooLargeError
from adtc.models import TreeModel
from adtc.profiles.audits.audited import Alternative, Alternatives, Audit, Baseline
from adtc.profiles.audits.in_use import Scales
from adtc.profiles.fronts import Search
from adtc.profiles.pareto import PARTIAL, Front

T = TypeVar("T")
CONSIDER = "0.4"
"""Share of its rows that a leaf's label must have in trees that a person would consider."""

_BOTH = "selection_rate > 0 and selection_rate < 1"
_SHOWN = 3
_NEAREST_SECONDS, _NEAREST_BYTES = 10.0, 10**8  # the least gap of all trees may take hours


def audit(
    data: Data,
    space: Space,
    *,
    decision: str | npt.ArrayLike | None = None,
    tree: Tree | TreeModel | None = None,
    floor: str | Formula | None = None,
    gap: str = "dp",
    consider: float | Fraction | str = CONSIDER,
    test: Data | None = None,
    define: Definitions | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
) -> Audit:
    """Look for trees that are at least as good as the model in use and have a smaller gap.

    Parameters
    ----------
    decision
        The model in use by its decisions: the name of a column among the table's ``references``,
        or a label for every row.
    tree
        The model in use as a tree over the table's features.
    floor
        What a tree must reach, such as ``"acc >= 0.8"``; by default the accuracy of the model in
        use. With a floor alone the model in use is the most accurate tree that reaches it, and of
        several the one with the smallest gap.
    gap
        The gap to make smaller: a metric of which less is better, or a term.
    consider
        Trees are shown that predict both labels and whose leaves have labels that at least this
        share of their rows has (where there is none: the share that the rarest label has among
        all rows); 0 shows any. What exists and how many is told for all trees of the space, too.
    test
        Other rows of the same kind (``data.apply(frame)``), on which the model in use and the trees
        found are measured as well; by default the table's further table ``test``.
    define, engine, monitor
        As in `count`. A limit leaves open what it interrupts: the answer then has status
        ``"partial"`` and says in ``stopped`` what is missing.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> found = adtc.audit(data, adtc.Space(max_depth=2, relminsup=0.2), floor="acc >= 0.71")
    >>> found.exists, found.count, str(found.best.metrics["dp"]), str(found.baseline.metrics["dp"])
    (True, 1, '2/155', '7/310')
    """
    return Inquiry(
        data, space, decision=decision, tree=tree, floor=floor, gap=gap, consider=consider,
        test=test, define=define, engine=engine, monitor=monitor,
    ).run()  # fmt: skip


class Inquiry:
    """An audit under way; what is known so far can be read at any time once there is a baseline.

    The parameters are those of `audit`.
    """

    def __init__(
        self,
        data: Data,
        space: Space,
        *,
        decision: str | npt.ArrayLike | None = None,
        tree: Tree | TreeModel | None = None,
        floor: str | Formula | None = None,
        gap: str = "dp",
        consider: float | Fraction | str = CONSIDER,
        test: Data | None = None,
        define: Definitions | None = None,
        engine: Engine = "auto",
        monitor: Monitor | None = None,
    ) -> None:
        self.data, self.space, self.gap = data, space, gap
        self.test = test or dict(data.tables).get("test")
        self.monitor = monitor or Monitor()
        self._options: dict[str, Any] = {"define": define, "engine": engine}
        self._decision, self._tree = decision, tree
        self._floor = parse(floor) if isinstance(floor, str) else floor
        self._share = replace(space, min_leaf_share=consider).leaf_share
        self._scales = Scales(data, self.test, gap, self._floor, define)
        self._scales.check(decision, tree)
        asked = {
            "ask": "audit",
            "decision": decision if isinstance(decision, str) or decision is None else "given",
            "tree": None if tree is None else "given",
            "floor": None if floor is None else str(floor),
            "gap": gap,
        }
        with recording(data, space, engine, asked) as self.record:
            pass  # its seconds are those of the inquiry, which may be read before it ends
        self._started = monotonic()
        self._stopped: list[str] = []
        self._known: dict[str, Any] = {}

    def run(self) -> Audit:
        """Search until everything is found or a limit is reached."""
        self._baseline()
        self.monitor.finished = lambda reason: self.found(stopped=reason)
        self.monitor.reached = True
        self._alternatives("every", self.space)
        self._consider()
        self._choose()
        if self._known["every"].exists is False:
            self._near()
        return self.found()

    def _consider(self) -> None:
        """Look again among trees that a person would consider.

        Where a label is rare, leaves that have it less often than ``consider`` may still have it
        often: then as often as all rows do is enough.
        """
        asked = self.space.leaf_share
        shares = np.bincount(
            self.data.y, weights=self.data.weights, minlength=len(self.data.labels)
        )
        rare = Fraction(int(shares.min()), self.data.total)
        for share in (self._share, min(rare, self._share)):
            if share:
                space = replace(self.space, min_leaf_share=max(share, asked))
                self._alternatives("considered", space, parse(_BOTH))
                if self._known["considered"].exists is not False or share <= asked:
                    break

    def found(self, *, stopped: str | None = None) -> Audit:
        """Return what is known so far.

        Parameters
        ----------
        stopped
            What ended the inquiry from outside.
        """
        left = (*self._stopped, *([stopped] if stopped else []))
        self.record.seconds = monotonic() - self._started
        if left:
            self.record.status = PARTIAL
            self.record.details["stopped"] = list(left)
        every = self._known.get("every")
        if "baseline" not in self._known or every is None:
            raise TooLargeError(left[-1] if left else "the audit has not begun.")
        return Audit(
            data=self.data, space=self.space, floor=str(self.floor), gap=self.gap, good=self.good,
            baseline=self._known["baseline"],
            every=every,
            considered=self._known.get("considered"),
            shown=self._known.get("shown", ()),
            record=self.record,
            test=self.test,
            nearest=self._known.get("nearest", ()),
            proof=self._known.get("proof"),
            stopped=left,
            define=self._options["define"],
        )  # fmt: skip

    @property
    def floor(self) -> Formula:
        """What a tree must reach; ``least(…)`` in it is that of the whole space."""
        known: Formula = self._known["floor"]
        return known

    @property
    def good(self) -> str:
        """Choose the metric to weigh against the gap: the one that the floor bounds from below."""
        match self.floor:
            case Comparison((Name(name), bound), (">=" | ">",)) if constant(bound) is not None:
                return name
        return "acc"

    def _baseline(self) -> None:
        """Measure the model in use, or find the tree that stands for it."""
        if self._floor is not None:
            self._known["floor"] = settle(self._floor, self._extreme)
        if self._decision is not None:
            made = self._scales.decided(self._decision)
        elif self._tree is not None:
            made = self._scales.of_tree("tree", self._scales.in_table(self._tree))
        else:
            made = self._most_accurate()
        if self._floor is None:
            self._known["floor"] = _compared("acc", ">=", made.metrics["acc"])
        if made.metrics[self.gap] is None:
            raise QueryError(
                f"the gap '{self.gap}' is undefined for the model in use, since a rate of a group "
                f"has no rows to divide by: choose another gap, such as dp."
            )
        self._known["baseline"] = made
        self._known["every"] = Alternatives(self.space, str(self._smaller()))

    def _extreme(self, call: Call) -> Fraction | None:
        goal = {"minimize" if call.function == "least" else "maximize": str(call.arguments[0])}
        best = self._ask(optimize, self.space, **goal)
        if not best.proved:
            raise TooLargeError(best.record.reason)
        return None if best.value is None else Fraction(best.value)

    def _most_accurate(self) -> Baseline:
        """Find the most accurate tree at the floor; of several the one with the smallest gap."""
        best, bounds = self._most_accurate_with(self.floor), [self.floor]
        if best.tree is None:  # none reaches the floor: then the best there is
            best, bounds = self._most_accurate_with(None), []
            if best.tree is None:
                raise QueryError(
                    f"no tree has leaves of which {self.space.leaf_share} of the rows have the "
                    f"label, so there is nothing to audit: lower min_leaf_share (--leaf-share)."
                )
        equal = [*bounds, _compared("acc", "=", best.value)]
        tree = self._smallest(best.tree, self.space, equal, self.gap) if best.proved else best.tree
        made = self._scales.of_tree("best", tree)
        return replace(made, at_floor=bool(bounds), proved=best.proved)

    def _most_accurate_with(self, floor: Formula | None) -> Optimum:
        """Find it; where a limit ends that, the best so far, if there is one."""
        best = self._ask(optimize, self.space, maximize="acc", where=floor)
        if best.tree is None and not best.proved:  # whether one reaches the floor is not known
            raise TooLargeError(best.record.reason)
        self._note("the most accurate tree", best)
        return best

    def _smallest(self, tree: Tree, space: Space, bounds: list[Formula], *goals: str) -> Tree:
        """Among trees that tie, find the least of each goal in turn, the fewest leaves last."""
        for goal in (*goals, "size"):
            best = self._proved(
                "the smallest of equal trees", space, minimize=goal, where=all_of(*bounds)
            )
            if best is None or best.tree is None:
                break
            tree = best.tree
            bounds = [*bounds, _compared(goal, "=", best.value)]
        return tree

    def _smaller(self) -> Formula:
        """Write as a formula that a tree reaches the floor with a smaller gap."""
        value = self._known["baseline"].metrics[self.gap]
        return all_of(self.floor, _compared(self.gap, "<", value))

    def _alternatives(self, key: str, space: Space, *more: Formula) -> None:
        """Decide whether there are alternatives in a space; count them; find the best, the front.

        Every step is kept at once, so that a limit loses none of those before.
        """
        wanted = all_of(self._smaller(), *more)
        floor = all_of(self.floor, *more)
        used = self._known["baseline"].metrics[self.gap]
        known = Alternatives(space, str(wanted))
        about = "" if key == "every" else " of trees that a person would consider"
        least = self._try(
            f"the smallest gap{about}", optimize, space, minimize=self.gap, where=floor
        )
        if least is not None:
            self._note(f"the smallest gap{about}", least)
            known = self._with_least(known, least, used)
            self._known[key] = known
        counted = self._try(f"the number{about}", count, space, where=wanted)
        if isinstance(counted, Count):
            known = replace(known, exists=counted > 0, count=int(counted))
            self._known[key] = known
            if key == "every":
                self._known["proof"] = counted.record.details.get("proof_of_none")
        elif counted is not None:
            assert counted.record is not None  # of an answer
            self._stopped.append(f"the number{about}: {counted.record.reason}")
            if counted.lower:
                known = replace(known, exists=True)
        if known.exists and least is not None and least.proved and least.tree is not None:
            best = self._best(space, least.tree, [floor, _compared(self.gap, "=", least.value)])
            known = replace(known, best=best)
            self._known[key] = known
            front = self._front(space, wanted)
            known = replace(known, front=front)
        self._known[key] = known

    def _with_least(self, known: Alternatives, least: Optimum, used: Any) -> Alternatives:
        """Say what the smallest gap decides; a tree found so far decides only that there is one."""
        smaller = least.value is not None and least.value < used
        if least.proved:
            return replace(known, exists=smaller, least=least.value)
        if not smaller or least.tree is None:
            return known
        return replace(known, exists=True, best=self._alternative(least.tree, "smallest gap found"))

    def _best(
        self, space: Space, tree: Tree, bounds: list[Formula], role: str = "smallest gap"
    ) -> Alternative:
        """Among the trees with the smallest gap, take the best one with the fewest leaves."""
        better = self._proved(
            "the best of equal gaps", space, maximize=self.good, where=all_of(*bounds)
        )
        if better is not None and better.tree is not None:
            bounds = [*bounds, _compared(self.good, "=", better.value)]
            tree = self._smallest(better.tree, space, bounds)
        return self._alternative(tree, role)

    def _front(self, space: Space, wanted: Formula) -> Front | None:
        search = Search(
            self.data, space, maximize=self.good, minimize=self.gap, where=wanted,
            monitor=self.monitor.part(), **self._options,
        )  # fmt: skip
        front = search.at_once() or search.run()
        if front.stopped is not None:
            self._stopped.append(f"points of the front: {front.stopped}")
        return front if front.finished is None else None

    def _choose(self) -> None:
        """Choose the trees to show: the ends of the front and one between, or those next to it."""
        every, considered = self._known["every"], self._known.get("considered")
        source = considered if considered is not None and considered.exists else every
        if source.best is None:
            return
        shown = [source.best]
        front = source.front
        n = 0 if front is None else len(front)
        places = sorted({0, n // 2} - {n - 1})[: _SHOWN - 1]
        for at in places if front is not None and front.stopped is None else ():
            assert front is not None
            role = f"largest {self.good}" if at == 0 else "between the two"
            conditions = [parse(front.condition(at)), parse(source.where)]
            tree = self._smallest(front.witnesses[at], source.space, conditions)
            one = self._alternative(tree, role)
            if not any(np.array_equal(one.predictions, other.predictions) for other in shown):
                shown.append(one)
        if n == 1:
            shown[0] = replace(shown[0], roles=("smallest gap", f"largest {self.good}"))
        self._add_next(source, shown)
        shown.sort(key=lambda tree: Fraction(tree.metrics[self.gap] or 0))
        self._known["shown"] = tuple(shown)

    def _add_next(self, source: Alternatives, shown: list[Alternative]) -> None:
        """Where the front has few points, add the trees with the next smallest gaps."""
        wanted = parse(source.where)
        last = min(Fraction(tree.metrics[self.gap] or 0) for tree in shown)
        while len(shown) < _SHOWN:
            beyond = all_of(wanted, _compared(self.gap, ">", last))
            found = self._proved(
                "further trees to show", source.space, minimize=self.gap, where=beyond
            )
            if found is None or found.tree is None:
                return
            last = Fraction(found.value or 0)
            if all(tree.metrics[self.gap] != last for tree in shown):
                bounds = [wanted, _compared(self.gap, "=", last)]
                shown.append(self._best(source.space, found.tree, bounds, "next smallest gap"))

    def _alternative(self, tree: Tree, role: str) -> Alternative:
        return self._scales.alternative(tree, role, self._known["baseline"].predictions)

    def _near(self) -> None:
        """Find how near trees come, if that is found quickly."""
        memory = min(_NEAREST_BYTES, self.monitor.memory)
        left = self.monitor.time_left
        seconds = _NEAREST_SECONDS if left is None else max(0.0, min(_NEAREST_SECONDS, left))
        monitor = Monitor(time_limit=seconds, memory_limit=memory, threads=self.monitor.threads)
        with suppress(TooLargeError):
            self.monitor.check()
            self._known["nearest"] = nearest(
                self.data, self.space, self._smaller(), monitor=monitor, **self._options
            )

    def _ask(self, question: Callable[..., T], space: Space, **options: Any) -> T:
        """Ask a question of the table under what is left of the limits, and note its cost."""
        self.monitor.check()
        options |= {**self._options, "monitor": self.monitor.part()}
        answer: Any = question(self.data, space, **options)
        self.record.cell_scan += answer.record.cell_scan
        self.record.engine = answer.record.engine
        return cast(T, answer)

    def _try(self, what: str, question: Callable[..., T], space: Space, **options: Any) -> T | None:
        """Ask; where a limit ends it, note what is missing and go on."""
        try:
            return self._ask(question, space, **options)
        except TooLargeError as reason:
            self._stopped.append(f"{what}: {reason}")
            return None

    def _proved(self, what: str, space: Space, **goal: Any) -> Optimum | None:
        """Find an optimum; None, and a note, where a limit leaves only the best so far."""
        best = self._try(what, optimize, space, **goal)
        if best is None or best.proved:
            return best
        self._note(what, best)
        return None

    def _note(self, what: str, best: Optimum) -> None:
        """Note what a limit left open about an optimum."""
        if not best.proved:
            self._stopped.append(f"{what}: {best.record.reason}")


def _compared(term: str, op: str, value: Any) -> Formula:
    return Comparison((parse_term(term), Number(Fraction(value))), (op,))
