"""Sums over all trees in a semiring of floats that brings its own compiled functions.

There are no axes and no constraint here: one value per path, in about the time of an inside pass.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from adtc.algebra.formula import Truth
from adtc.algebra.metrics import Vocabulary
from adtc.algebra.semiring import Semiring
from adtc.data import Data
from adtc.engine import lattice as lattices
from adtc.engine.executors import run_jobs
from adtc.engine.forms import SMALL
from adtc.engine.kernels import scalar
from adtc.engine.monitor import Monitor
from adtc.engine.query import Definitions, Question, linear_parts, row_groups
from adtc.engine.switches import Switches


def summable(question: Question, semiring: Semiring[Any]) -> bool:
    """Tell whether this can answer: compiled functions, and every tree of the space is good."""
    plain = question.constraint == Truth(True) and question.space.max_size is None
    return semiring.compiled and plain


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
    semiring = question.semiring
    assert semiring.embed is not None  # a compiled semiring has one
    data = data.merged() if switches.merge_rows else data
    groups, member = row_groups(data)
    features = lattices.distinct_features(data, question.minsup, merge=switches.merge_features)
    kind = np.int32 if data.total < SMALL else np.int64
    table = lattices.bit_planes(features, data, member, len(groups), kind=kind)
    n, depth = len(features.twins), question.space.max_depth
    lattice = lattices.numbered_paths(n, depth)
    vocabulary = Vocabulary(question.schema, define or {})
    metrics = [linear_parts(text, vocabulary) for text in texts]
    functionals = [
        [(float(c), part.functional) for part, c in parts if part.functional is not None]
        for parts in metrics
    ]
    labels = question.schema.labels
    leaf = scalar.Leaf(
        weights=np.array(
            [
                [
                    [sum(c * f.weight(label, group) for c, f in parts) for group in groups]
                    for label in range(labels)
                ]
                for parts in functionals
            ],
            np.float64,
        ).reshape(len(texts), labels, len(groups)),
        constants=np.array([sum(c * f.per_leaf for c, f in parts) for parts in functionals], float),
        group_label=np.array([group.y for group in groups], np.int64),
        minsup=question.minsup,
        majority=question.space.labels == "majority",
        trivial_splits=question.space.trivial_splits,
        zero=float(semiring.zero),
    )
    sizes = lattices.path_counts(lattice, n)
    monitor.reserve("the table of subproblems", sum(sizes) * 8 * (1 + len(groups)))
    counts = np.zeros((sum(sizes), len(groups)), np.int64)
    sums = np.full(sum(sizes), leaf.zero)
    kernels = scalar.make_kernels(semiring.add, semiring.mul, semiring.embed)
    multiplicity = features.multiplicity
    if lattice.levels == 0:
        kernels.close_root(table, lattice, leaf, multiplicity, counts, sums)
    else:
        counts[0] = table.totals

        def job(first: int) -> None:
            kernels.walk(first, table, lattice, leaf, multiplicity, switches.pext, counts, sums)

        run_jobs(job, range(n), "sums over trees", monitor)
        for level in range(lattice.levels - 1, -1, -1):
            ranks = math.comb(n, level)
            kernels.ascend(level, ranks, n, lattice, leaf, multiplicity, counts, sums)
    own = kernels.leaves(counts[0], leaf, np.zeros(len(texts)))
    return float(semiring.add(own, float(sums[0])))
