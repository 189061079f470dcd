"""Sums in a semiring of floats that brings its own C functions, called by the core.

Without a constraint there are no axes: one value per path, in one walk over paths. Under one, the
sum is over the circuit of the good trees: one value per path and cell, as in `fold`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.c_functions import LEAF, address_of
from adtc.algebra.formula import Truth
from adtc.algebra.metrics import RowGroup, Vocabulary
from adtc.algebra.semiring import Semiring
from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.bounds import Found, Walker, path_costs, support
from adtc.engine.circuit import Circuit
from adtc.engine.executors import run_jobs
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Question, every_row, linear_parts, row_groups
from adtc.engine.ranks import Ranks
from adtc.engine.switches import Switches


def summable(question: Question, semiring: Semiring[Any]) -> bool:
    """Tell whether this can answer: C functions, and every tree of the space is good."""
    plain = question.constraint == Truth(True) and question.space.max_size is None
    allowed = question.allowed
    free = allowed.root is None and not allowed.selective
    return semiring.compiled is not None and plain and free


def sum_over_trees(
    question: Question,
    data: Data,
    texts: Sequence[str],
    define: Definitions | None,
    *,
    switches: Switches,
    monitor: Monitor,
) -> float:
    """Compute the sum over all trees of the product over their leaves."""
    semiring: Semiring[float] = question.semiring
    every = every_row(data, question.schema)
    rows = every.merged() if switches.merge_rows else every
    groups, member = row_groups(rows)
    features = lattices.distinct_features(
        rows, question.minsup, merge=switches.merge_features, allowed=question.allowed
    )
    table = lattices.bit_planes(features, rows, member, len(groups))
    lattice = lattices.numbered_paths(len(features.twins), question.space.max_depth)
    costs, leaves = _leaves(question, groups, texts, define)
    functions, _alive = _functions(semiring, texts)
    sizes = lattices.path_counts(lattice)
    monitor.reserve("the table of subproblems", sum(sizes) * (8 * (1 + len(groups)) + 2))
    paths = Found.blank(lattice, len(groups), 0)
    Walker(table, lattice, costs, switches, monitor).visit(range(lattice.features), paths)
    counts = paths.counts
    wanted = leading(lattice, support(counts, costs.group_label) >= question.minsup)
    sums, found = np.zeros(sum(sizes)), np.zeros(sum(sizes), bool)

    def job(some: range) -> None:
        _core.sum_last(
            some.start, some.stop, table, lattice, functions, leaves, features.multiplicity, wanted,
            sums, found, monitor.control,
        )  # fmt: skip

    n = lattice.features if lattice.levels else 1
    step = max(1, n // (4 * monitor.threads)) if monitor.threads > 1 else n
    jobs = [range(first, min(n, first + step)) for first in range(0, n, step)]
    run_jobs(job, jobs, "sums over trees", monitor)
    with monitor.translated():
        total = _core.sum_above(
            lattice, functions, leaves, features.multiplicity, counts, sums, found, monitor.control
        )
    return float(semiring.zero) if total is None else total


def sum_over_cells(
    circuit: Circuit,
    keys: npt.NDArray[np.int64],
    data: Data,
    question: Question,
    *,
    texts: Sequence[str],
    define: Definitions | None,
    monitor: Monitor,
) -> list[float]:
    """Sum over the trees of each of some root cells the product over their leaves."""
    rows = every_row(data, question.schema).merged()
    groups, member = row_groups(rows)
    features = lattices.oriented(circuit.prepared.features, rows)
    table = lattices.bit_planes(features, rows, member, len(groups))
    _, leaves = _leaves(question, groups, texts, define)
    functions, _alive = _functions(question.semiring, texts)
    return Ranks(circuit).sums(keys, table, functions, leaves, monitor)


def _functions(
    semiring: Semiring[float], texts: Sequence[str]
) -> tuple[_core.SemiringFunctions, object]:
    """Hand ⊕, ⊗ and the value of a leaf to the core; the second value is to outlive the calls."""
    given = semiring.compiled
    assert given is not None
    # without metrics, the aggregation is the constant one
    constant = LEAF(lambda label, values, n: semiring.one)
    leaf = given.leaf if texts else address_of("leaf", constant)
    assert leaf is not None  # it is no Python function
    return _core.SemiringFunctions(given.add, given.mul, leaf), constant


def _leaves(
    question: Question,
    groups: Sequence[RowGroup],
    texts: Sequence[str],
    define: Definitions | None,
) -> tuple[_core.Costs, _core.LeafMetrics]:
    """Say which labels a leaf may carry, and what it brings to the metrics."""
    costs = path_costs((), lattices.label_of_groups([[g] for g in groups]), question)
    metrics = _metrics(question, groups, texts, define)
    return costs, _core.LeafMetrics(*metrics, costs, question.space.trivial_splits)


def _metrics(
    question: Question, groups: Sequence[Any], texts: Sequence[str], define: Definitions | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return what a row adds to each metric, ``[metric, label, group]``, and what a leaf adds."""
    vocabulary = Vocabulary(question.schema, define or {})
    labels = range(question.schema.labels)
    metrics = [
        [
            (float(c), part.functional)
            for part, c in linear_parts(text, vocabulary)
            if part.functional is not None
        ]
        for text in texts
    ]
    weights = [
        [
            [sum(c * f.weight(label, group) for c, f in parts) for group in groups]
            for label in labels
        ]
        for parts in metrics
    ]
    constants = [sum(c * f.per_leaf for c, f in parts) for parts in metrics]
    shape = (len(texts), len(labels), len(groups))
    return np.array(weights, np.float64).reshape(shape), np.array(constants, np.float64)


def leading(lattice: _core.Lattice, exists: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Mark the paths of the last level that exist, and those that lead to one."""
    behind = np.zeros(len(exists), np.int64)
    _core.lead_to_live(lattice, exists, behind)
    return behind > 0
