"""What `make bench` measures: questions on fixed tables, with the answers they must give.

Run as a script with a case's name, it measures that case's peak memory in a process of its own
and prints it as JSON.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import memory
import numpy as np
import tables

import adtc
from adtc.algebra.affine import affine
from adtc.algebra.semirings import COUNT
from adtc.data import Data
from adtc.engine import circuit, fast
from adtc.engine.bounds import outside_pass
from adtc.engine.plan import make_plan
from adtc.engine.prepare import Prepared, prepare
from adtc.engine.query import Question, ask
from adtc.engine.run import opened
from adtc.engine.switches import Switches
from adtc.profiles.people.voting import votes_of

SECONDS, GIGABYTES = 120, 8  # no case may take more
_ALL_ON = Switches()
_PAPER = ("size", "acc", "f1", "dp", "eodd_sum", "eopp")
_FAIR = "acc >= 0.82 and eodd_max <= 0.05"
_TEST = "+test"  # how a table's name ends that comes with its test rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer with its machine-independent costs; ``engine`` are the seconds before tables."""

    answer: Any
    cell_scan: int = 0
    num_cells: int = 0
    live: int = 0
    engine: float = 0.0


Task = Callable[[Data, adtc.Space, adtc.Monitor], Outcome]


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table: ``task`` on ``table`` in ``space`` must give ``answer``."""

    what: str
    table: str
    space: adtc.Space
    task: Task
    answer: Any
    threads: int = 1

    @property
    def name(self) -> str:
        """Return the case's name, as pytest shows it."""
        share = f"-{self.space.relminsup}" if self.space.relminsup else ""
        threads = f"-{self.threads}threads" if self.threads > 1 else ""
        return f"{self.what}-{self.table}-d{self.space.max_depth}{share}{threads}"

    def run(self, data: Data, *, space: adtc.Space | None = None) -> Outcome:
        """Ask the question."""
        monitor = adtc.Monitor(
            threads=self.threads,
            time_limit=SECONDS,
            memory_limit=int(0.7 * GIGABYTES * 1e9),
            exact=True,  # limits end a case that is too slow; they do not ask for smaller depths
        )
        return self.task(data, space or self.space, monitor)

    def warm(self) -> None:
        """Ask it of a small part of the table, so that everything is loaded."""
        part = _data(tables.read(self.table.removesuffix(_TEST)).part(rows=300, features=7))
        if self.table.endswith(_TEST):
            part = part.split("0.3")
        depth = min(self.space.max_depth, 4)
        self.run(part, space=replace(self.space, max_depth=depth))


def subproblems(data: Data, space: adtc.Space, monitor: adtc.Monitor) -> Outcome:
    """Find the least error below every path (the inside pass); answer with the root's."""
    start = time.perf_counter()
    question = ask(data, space, semiring=COUNT, metrics=["error"])
    form = affine(question.metrics[0][1])
    plan = make_plan(question, objective=form)
    prepared = prepare(plan, data, Switches(), monitor)
    values = prepared.inside.least.shape[1]
    # forms leave out what all trees share: here the rows that label 0 would get wrong
    shared = int((data.y == 1).sum())
    return Outcome(prepared.inside.root[0] + shared, 0, values, values, time.perf_counter() - start)


def optimum(data: Data, space: adtc.Space, monitor: adtc.Monitor) -> Outcome:
    """Find the tree with the fewest errors."""
    best = adtc.optimize(data, space, minimize="error", monitor=monitor)
    return _of_record(best.value, best.record)


def average(data: Data, space: adtc.Space, monitor: adtc.Monitor) -> Outcome:
    """Average over all trees and predict the table's rows; answer with the log evidence."""
    found = adtc.posterior(data, space, monitor=monitor)
    start = time.perf_counter()
    shares = found.predict_proba(monitor=monitor)
    seconds = found.record.seconds + time.perf_counter() - start
    values = len(found.sums.counts)
    return Outcome(round(found.log_evidence, 6), 0, len(shares), values, seconds)


def _near_best(leaf: int, share: Fraction) -> str:
    """Write the constraint of trees near the least errors + ``leaf`` per leaf."""
    objective = f"error + {leaf} * size"
    return f"{objective} <= {1 + share} * least({objective})"


def reliance(data: Data, space: adtc.Space, monitor: adtc.Monitor, *, where: str) -> Outcome:
    """Find the range of reliance on every source column; answer with their number."""
    start = time.perf_counter()
    found = adtc.reliance(data, space, where, monitor=monitor)
    return Outcome(len(found), engine=time.perf_counter() - start)


def near_best(
    data: Data,
    space: adtc.Space,
    monitor: adtc.Monitor,
    *,
    leaf: int,
    share: Fraction,
    metrics: tuple[str, ...] = (),
) -> Outcome:
    """Count the trees whose errors + ``leaf`` per leaf exceed the least by at most ``share``."""
    start = time.perf_counter()
    where = _near_best(leaf, share)
    if metrics:
        return tensor(data, space, monitor, metrics=metrics, where=where, start=start)
    found = adtc.count(data, space, where=where, monitor=monitor)
    return _of_record(int(found), found.record)


def sufficient(
    data: Data, space: adtc.Space, monitor: adtc.Monitor, *, leaf: int, share: Fraction
) -> Outcome:
    """Find which features suffice for a tree near the best; answer with how many sets there are."""
    start = time.perf_counter()
    near = adtc.profile(data, space, ["error"], where=_near_best(leaf, share), monitor=monitor)
    engine = time.perf_counter() - start
    sets = near.evaluate("feature-sets", monitor=monitor)
    return replace(_of_record(len(sets), near.record), engine=engine)


def minimal_variables(
    data: Data, space: adtc.Space, monitor: adtc.Monitor, *, leaf: int, share: Fraction
) -> Outcome:
    """Find which columns suffice for a tree near the best; answer with how many sets there are."""
    start = time.perf_counter()
    near = adtc.profile(data, space, ["error"], where=_near_best(leaf, share), monitor=monitor)
    engine = time.perf_counter() - start
    sets = near.variables(monitor=monitor).minimal_sets
    return replace(_of_record(len(sets), near.record), engine=engine)


def builder_steps(data: Data, space: adtc.Space, monitor: adtc.Monitor) -> Outcome:
    """Fix three tests by hand, told the best of all ways to go on; answer with the trees left."""
    start = time.perf_counter()
    metrics = ["size", "acc", "f1", "eodd_sum"]
    profile = adtc.profile(data, space, metrics, monitor=monitor)
    builder = profile.builder()
    engine = time.perf_counter() - start
    for _ in range(3):
        told = ((place, builder.choices(place, maximize="acc")) for place in builder.open)
        ways = ((place, choices.features) for place, choices in told)
        place, features = max(ways, key=lambda way: len(way[1]))
        builder.split(features[0].name, place)
    return replace(_of_record(builder.count, profile.record), engine=engine)


def tensor(
    data: Data,
    space: adtc.Space,
    monitor: adtc.Monitor,
    *,
    metrics: tuple[str, ...],
    where: str | None = None,
    start: float | None = None,
) -> Outcome:
    """Make the table of all trees by metrics, as `model_tensor` does; answer with their number."""
    start = start or time.perf_counter()
    question, known = _asked(data, space, monitor, metrics, where)
    result = fast.run(question, data, monitor=monitor, known=known)
    engine = time.perf_counter() - start
    cells = result.tensor()
    live = sum(result.circuit.outside.live_paths)
    return Outcome(sum(cells.values()), result.circuit.cell_scan, len(cells), live, engine)


def cells(
    data: Data, space: adtc.Space, monitor: adtc.Monitor, *, metrics: tuple[str, ...]
) -> Outcome:
    """Make the cells of all trees by metrics, as a profile keeps them; answer with their number."""
    start = time.perf_counter()
    question, known = _asked(data, space, monitor, metrics, None)
    result = fast.run(question, data, monitor=monitor, known=known)
    engine, live = time.perf_counter() - start, sum(result.circuit.outside.live_paths)
    return Outcome(result.total, result.circuit.cell_scan, len(result.keys), live, engine)


def _asked(
    data: Data,
    space: adtc.Space,
    monitor: adtc.Monitor,
    metrics: tuple[str, ...],
    where: str | None,
) -> tuple[Question, Prepared | None]:
    """Bind a question as `model_tensor` does, with the stages that found its least values."""
    with opened(data, space, {}, define=None, engine="auto", monitor=monitor) as run:
        question = run.ask(where=where, metrics=metrics)
    return question, run.prepared


def near_best_tensors(
    data: Data,
    space: adtc.Space,
    monitor: adtc.Monitor,
    *,
    leaf: int,
    share: Fraction,
    metrics: tuple[str, ...],
) -> Outcome:
    """Do what `near_best` does with metrics; *engine* is only what comes after the inside pass."""
    question, known = _asked(data, space, monitor, metrics, _near_best(leaf, share))
    prepared = prepare(make_plan(question), data, Switches(), monitor, known=known)
    start = time.perf_counter()
    limits = [budget.limit for budget in prepared.plan.budgets]
    result = fast.good_cells(circuit.grow(prepared, limits, monitor))
    engine = time.perf_counter() - start
    live = sum(result.circuit.outside.live_paths)
    return Outcome(result.total, result.circuit.cell_scan, len(result.keys), live, engine)


def number(data: Data, space: adtc.Space, monitor: adtc.Monitor, *, where: str) -> Outcome:
    """Count the trees that satisfy a constraint."""
    found = adtc.count(data, space, where=where, monitor=monitor)
    return _of_record(int(found), found.record)


def alive(
    data: Data,
    space: adtc.Space,
    monitor: adtc.Monitor,
    *,
    where: str,
    switches: Switches = _ALL_ON,
) -> Outcome:
    """Count the subproblems that a constraint leaves alive; no tensors are made."""
    start = time.perf_counter()
    question = ask(data, space, semiring=COUNT, where=where)
    prepared = prepare(make_plan(question), data, switches, monitor)
    limits = np.array([budget.limit for budget in prepared.plan.budgets], np.int64)
    found = outside_pass(prepared.lattice, prepared.inside, limits, monitor)
    live = sum(found.live_paths)
    return Outcome(live, 0, 0, live, time.perf_counter() - start)


def profile(
    data: Data, space: adtc.Space, monitor: adtc.Monitor, *, metrics: tuple[str, ...]
) -> Outcome:
    """Make the profile of all trees by metrics; answer with their number.

    Without the case's limits: within them, a result that is too large to be read as a whole is
    replaced by that of a smaller depth. The process has limits of its own.
    """
    found = adtc.profile(data, space, metrics, monitor=adtc.Monitor(threads=monitor.threads))
    return replace(_of_record(found.count, found.record), num_cells=found.num_cells)


_DRAWN = 10_000
_PROFILES: dict[Any, Any] = {}
_SEEDS = itertools.count()


def draw(
    data: Data,
    space: adtc.Space,
    monitor: adtc.Monitor,
    *,
    metrics: tuple[str, ...] = ("error",),
    where: str | None = None,
) -> Outcome:
    """Draw 10,000 trees, other ones each time; the circuit stays in memory from the first call on.

    Every tree is scored on the table again; *engine* is the time without the circuit's.
    """
    key = id(data), space, metrics, where
    if key not in _PROFILES:
        # with the table, so that no other one gets its number
        _PROFILES[key] = data, adtc.profile(data, space, metrics, where=where, monitor=monitor)
    _, profile = _PROFILES[key]
    start = time.perf_counter()
    drawn = profile.draw(_DRAWN, seed=next(_SEEDS))
    found = _of_record(len(drawn), profile.record)
    return replace(found, engine=time.perf_counter() - start, num_cells=profile.num_cells)


def vote(data: Data, space: adtc.Space, monitor: adtc.Monitor, *, where: str) -> Outcome:
    """Count the votes of all good trees on all rows; answer with their number.

    *engine* is the profile alone, which the votes are measured by.
    """
    metrics = ("error", "size") if "size" in where else ("error",)
    start = time.perf_counter()
    found = adtc.profile(data, space, metrics, where=where, monitor=monitor)
    engine = time.perf_counter() - start
    votes = votes_of(found, monitor=monitor)
    return replace(_of_record(votes.total, found.record), engine=engine)


def _of_record(answer: Any, record: Any) -> Outcome:
    live = sum(record.details.get("live_subproblems", ()))  # a search alone has none
    return Outcome(answer, record.cell_scan, record.num_cells, live, record.seconds)


def _cases() -> list[Case]:
    space = adtc.Space
    found = [
        Case("subproblems", "adult", space(5, relminsup=share), subproblems, least, threads)
        for share, least in (("0.05", 5571), ("0.01", 5373))
        for threads in (1, 2)
    ]
    found += [
        Case("optimum", table, space(depth), optimum, errors)
        for table, depth, errors in (
            ("anneal", 4, 91),
            ("anneal", 5, 70),
            ("australian-credit", 4, None),
            ("australian-credit", 5, None),
            ("breast-wisconsin", 4, None),
            ("breast-wisconsin", 5, None),
            ("german-credit", 4, 204),
            ("german-credit", 5, 161),
            ("hepatitis", 4, 3),
            ("hepatitis", 5, 0),
            ("kr-vs-kp", 4, 144),
            ("kr-vs-kp", 5, 81),
            ("lymph", 4, 3),
            ("lymph", 5, 0),
            ("mushroom", 4, 0),
            ("mushroom", 5, 0),
            ("primary-tumor", 4, 34),
            ("primary-tumor", 5, 26),
            ("segment", 4, None),
            ("segment", 5, None),
            ("tic-tac-toe", 4, 137),
            ("tic-tac-toe", 5, 63),
            ("vote", 4, 5),
            ("vote", 5, 1),
        )
    ]
    found += [
        Case(
            "rashomon-5%",
            table,
            space(depth),
            partial(near_best, leaf=leaf, share=Fraction(5, 100)),
            trees,
        )
        for table, leaf, depth, trees in (
            ("compas-binned", 69, 4, 2780),
            ("compas-binned", 69, 5, 3254),
            ("bar-7", 19, 4, 1858),
            ("bar-7", 19, 5, 2422),
        )
    ]
    found += [
        Case(
            "builder-3-steps",
            "adult",
            space(5, relminsup="0.15"),
            builder_steps,
            880,
        ),
        Case(
            "minimal-variables-2%",
            "adult",
            space(5, relminsup="0.05"),
            partial(minimal_variables, leaf=33, share=Fraction(2, 100)),
            2,
        ),
        Case(
            "sufficient-5%",
            "compas-binned",
            space(5),
            partial(sufficient, leaf=69, share=Fraction(5, 100)),
            3,
        ),
        Case(
            "sufficient-2%",
            "adult",
            space(5, relminsup="0.05"),
            partial(sufficient, leaf=33, share=Fraction(2, 100)),
            None,
        ),
    ]
    found += [
        Case("histogram", table, space(depth), partial(tensor, metrics=("error",)), trees)
        for table, depth, trees in (
            ("monk-1", 5, 4277467962724242143792287044877198),
            ("compas-binned", 5, 16932857550861998884207046032514),
            ("compas-binary", 4, 368364875883654056991806),
            ("anneal", 3, 527515737920962),
            ("german-credit", 3, 23556313447286202),
            ("german-credit", 4, None),
        )
    ]
    found += [
        Case(
            "joint-majority",
            "compas-binned",
            space(3, labels="majority"),
            partial(tensor, metrics=("N01", "N10", "size")),
            5341804,
        ),
        *(
            Case(
                "joint-by-three",
                "german-fair",
                space(3, relminsup="0.1"),
                partial(cells, metrics=("size", "acc", "dp")),
                464282398,
                threads,
            )
            for threads in (1, 2)
        ),
        Case(
            "rashomon-3%-axes",
            "adult",
            space(5, relminsup="0.05"),
            partial(near_best, leaf=33, share=Fraction(3, 100), metrics=("size", "N11", "N01")),
            None,
        ),
        Case(
            "tensors-3%-axes",
            "adult",
            space(5, relminsup="0.05"),
            partial(
                near_best_tensors,
                leaf=33,
                share=Fraction(3, 100),
                metrics=("size", "N11", "N01"),
            ),
            None,
        ),
        Case(
            "paper",
            "adult",
            space(5, relminsup="0.15", max_size=6),
            partial(profile, metrics=_PAPER),
            438390,
        ),
        Case(
            "paper",
            "adult",
            space(5, relminsup="0.10", max_size=6),
            partial(profile, metrics=_PAPER),
            336837434,
        ),
        Case(
            "fair-none",
            "adult",
            space(3, relminsup="0.05"),
            partial(number, where="acc >= 0.82 and dp <= 0.02"),
            0,
        ),
        Case(
            "fair-trees",
            "adult",
            space(4, relminsup="0.01"),
            partial(number, where=_FAIR),
            826446641436151,
        ),
    ]
    # small questions, asked again of the same table: what is left is Python
    found += [
        Case("asked-again", table, space(2), partial(number, where=where), trees)
        for table, where, trees in (
            ("monk-1", "error + 3 * size <= 1.5 * least(error + 3 * size)", 335),
            ("german-fair", "acc >= 0.74 and dp <= 0.05", None),
        )
    ]
    # a further table sent down the same trees, against the same without it
    found += [
        Case(
            what,
            table,
            space(5, relminsup="0.15"),
            partial(profile, metrics=metrics),
            438390,
        )
        for what, table, metrics in (
            ("one-table", "adult", ("size", "acc")),
            ("two-tables", "adult+test", ("size", "acc", "test.acc")),
        )
    ]
    found += [
        Case(
            "reliance-5%",
            "compas-binned",
            space(4),
            partial(reliance, where=_near_best(69, Fraction(5, 100))),
            12,
        )
    ]
    found += [
        Case("posterior", "adult", space(depth, relminsup="0.05"), average, log)
        for depth, log in ((4, -12447.445429), (5, -12372.269467))
    ]
    found += [
        Case("draw-10000", table, space(depth, **limits), partial(draw, **asked), _DRAWN)
        for table, depth, limits, asked in (
            ("tic-tac-toe", 4, {}, {}),
            ("adult", 5, {"relminsup": "0.05"}, {"where": _near_best(0, Fraction(3, 100))}),
            ("compas-binned", 5, {}, {"where": _near_best(69, Fraction(10, 100))}),
            ("german-credit", 4, {}, {"where": _near_best(0, Fraction(10, 100))}),
            (
                "adult",
                5,
                {"relminsup": "0.15", "max_size": 6},
                {"metrics": ("acc", "dp", "eodd_sum", "size")},
            ),
        )
    ]
    found += [
        Case(what, table, space(depth, **limits), partial(vote, where=where), trees)
        for what, table, depth, limits, where, trees in (
            (
                "votes-1%",
                "adult",
                4,
                {"relminsup": "0.05"},
                _near_best(0, Fraction(1, 100)),
                3360546,
            ),
            ("votes-10%", "compas-binned", 5, {}, _near_best(69, Fraction(10, 100)), 2628079),
            (
                "votes-3%",
                "adult",
                5,
                {"relminsup": "0.05"},
                _near_best(33, Fraction(3, 100)),
                11341681,
            ),
        )
    ]
    # what a fairness constraint prunes: besides accuracy, with and without combined budgets
    found += [
        Case(what, "adult", space(4, relminsup="0.01"), task, None)
        for what, task in (
            ("live-acc", partial(alive, where="acc >= 0.82")),
            ("live-acc-eodd", partial(alive, where=_FAIR)),
            ("live-acc-eodd-tight", partial(alive, where="acc >= 0.82 and eodd_max <= 0.02")),
            ("live-acc-dp", partial(alive, where="acc >= 0.82 and dp <= 0.05")),
            ("live-acc-eodd-apart", partial(alive, where=_FAIR, switches=Switches(combine=False))),
        )
    ]
    # no bound can change what good trees are made of
    return found


@cache
def load(table: str) -> Data:
    """Read a table as `Data`; at most one process holds it, cases on it share it."""
    if table.endswith(_TEST):
        data = load(table.removesuffix(_TEST))
        return data.with_table("test", tables.adult_test())
    return adtc.load_dataset("adult", nbins=7) if table == "adult" else _data(tables.read(table))


def _data(arrays: tables.Arrays) -> Data:
    return Data.from_arrays(arrays.X, arrays.y, z=arrays.z if arrays.z.any() else None)


CASES = _cases()


if __name__ == "__main__":
    memory.limit(GIGABYTES)
    [_case] = [case for case in CASES if case.name == sys.argv[1]]
    _case.warm()
    _table = load(_case.table)
    _peak = memory.Peak()
    _case.run(_table)
    print(json.dumps({"peak_mb": _peak.megabytes()}))
