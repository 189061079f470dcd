"""Sums over all trees in a semiring of floats that brings its own C functions.

There are no axes and no constraint here: one value per path, in one walk over paths. Under a
constraint `folding` calls the same functions over the circuit of the good trees.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc import _core
from adtc.algebra.c_functions import LEAF, address_of
from adtc.algebra.formula import Truth
from adtc.algebra.metrics import Vocabulary
from adtc.algebra.semiring import Semiring
from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.bounds import Found, Walker, path_costs, support
from adtc.engine.executors import run_jobs
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Question, every_row, linear_parts, row_groups
from adtc.engine.switches import Switches


def summable(question: Question, semiring: Semiring[Any]) -> bool:
    """Tell whether this can answer: C functions, and every tree of the space is good."""
    plain = question.constraint == Truth(True) and question.space.max_size is None
    return semiring.compiled is not None and plain


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
    given = semiring.compiled
    assert given is not None
    every = every_row(data, question.schema)
    rows = every.merged() if switches.merge_rows else every
    groups, member = row_groups(rows)
    features = lattices.distinct_features(rows, question.minsup, merge=switches.merge_features)
    table = lattices.bit_planes(features, rows, member, len(groups))
    lattice = lattices.numbered_paths(len(features.twins), question.space.max_depth)
    costs = path_costs((), lattices.label_of_groups([[g] for g in groups]), question)
    leaves = _core.LeafMetrics(
        *_metrics(question, groups, texts, define), costs, question.space.trivial_splits
    )
    # without metrics, the aggregation is the constant one
    constant = LEAF(lambda label, values, n: semiring.one)
    leaf = given.leaf if texts else address_of("leaf", constant)
    assert leaf is not None  # it is no Python function
    functions = _core.SemiringFunctions(given.add, given.mul, leaf)
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
