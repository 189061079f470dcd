"""Measure one given tree on a table, row by row: every answer's tree can be checked against it.

Metrics are those of Sec. 2.3, computed from the rows that reach each leaf. Nothing here looks at
more than one tree, and nothing is shared with the engines that count.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from adtc.algebra.affine import Affine
from adtc.algebra.formula import value
from adtc.algebra.metrics import DEPTH, SIZE, SUPPORT, LeafRows, Primitive
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Tree, leaf_of, paths
from adtc.data import Codes, Data
from adtc.data.stack import Stack
from adtc.engine.query import Definitions, Question, Space, ask, every_row, row_groups
from adtc.errors import QueryError


def score(
    tree: Tree, data: Data, metrics: Sequence[str], *, define: Definitions | None = None
) -> dict[str, Fraction | int | None]:
    """Compute metrics of one tree exactly.

    Parameters
    ----------
    metrics
        Names of metrics, or terms over them such as ``"error + 10 * size"``.
    define
        The user's own metrics, as in `count`.

    Returns
    -------
    dict
        By the text asked for: an integer, a fraction, or None where a ratio is undefined.

    Examples
    --------
    >>> import adtc
    >>> from adtc.algebra.trees import Leaf, Split
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 0, 0])
    >>> score(Split(0, Leaf(1), Leaf(0)), data, ["size", "error", "acc"])
    {'size': 2, 'error': 1, 'acc': Fraction(2, 3)}
    """
    question = ask(data, Space(minsup=0), semiring=COUNT, metrics=metrics, define=define)
    leaves = _leaves(tree, every_row(data, question.schema))
    environment = question.environment([_measure(axis, leaves) for axis in question.axes])
    scores = ((text, value(term, environment)) for text, term in question.metrics)
    return {text: as_integer(score) for text, score in scores}


def score_decisions(
    decisions: Codes, data: Data, metrics: Sequence[str], *, define: Definitions | None = None
) -> dict[str, Fraction | int | None]:
    """Compute metrics of decisions that any model has made, exactly.

    Parameters
    ----------
    decisions
        Per row of the table the position of the label that was decided.
    metrics, define
        As in `score`; without those of a tree itself, such as its size.

    Examples
    --------
    >>> import adtc, numpy as np
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 0, 0])
    >>> score_decisions(np.array([1, 1, 0], np.int32), data, ["error", "acc"])
    {'error': 1, 'acc': Fraction(2, 3)}
    """
    question = ask(data, Space(minsup=0), semiring=COUNT, metrics=metrics, define=define)
    for axis in question.axes:
        if axis.name in (SIZE.name, DEPTH.name, SUPPORT.name):
            raise QueryError(
                f"'{axis.name}' is a property of a tree, and decisions that came without one have "
                f"none: ask for a metric of what is predicted."
            )
    # the rows that were decided alike are one leaf: such metrics only add up over rows
    leaves = _arrived(range(len(data.labels)), decisions, data)
    environment = question.environment([_measure(axis, leaves) for axis in question.axes])
    scores = ((text, value(term, environment)) for text, term in question.metrics)
    return {text: as_integer(score) for text, score in scores}


def score_form(tree: Tree, data: Data, question: Question, form: Affine) -> Fraction:
    """Compute one affine form over a question's axes for one tree exactly."""
    leaves = _leaves(tree, every_row(data, question.schema))
    axes = {axis.name: axis for axis in question.axes}
    terms = (c * _measure(axes[name], leaves) for name, c in form.coefficients.items())
    return sum(terms, form.constant)


def _leaves(tree: Tree, data: Data | Stack) -> list[tuple[int, LeafRows]]:
    """Send every row down the tree; give each leaf's label and what arrived there, by weight."""
    ways = list(paths(tree))
    arrived = _arrived([way.label for way in ways], leaf_of(tree, data.dense()), data)
    return [
        (label, LeafRows(rows.counts, len(way.literals)))
        for way, (label, rows) in zip(ways, arrived, strict=True)
    ]


def _arrived(labels: Sequence[int], place: Codes, data: Data | Stack) -> list[tuple[int, LeafRows]]:
    """Count the rows at each place by their groups."""
    groups, member = row_groups(data)
    counts = np.zeros((len(labels), len(groups)), dtype=np.int64)
    np.add.at(counts, (place, member), data.weights)
    return [
        (label, LeafRows(tuple((g, n) for g, n in zip(groups, row, strict=True) if n), 0))
        for label, row in zip(labels, counts.tolist(), strict=True)
    ]


def _measure(axis: Primitive, leaves: Sequence[tuple[int, LeafRows]]) -> int:
    """Put the values at the leaves together."""
    total, *rest = (axis.leaf(label, rows) for label, rows in leaves)
    for here in rest:
        joined = axis.combine(total, here)
        assert joined is not None  # only the axis against trivial splits rules trees out
        total = joined
    return total


def as_integer(score: Any) -> Any:
    """Return a whole number as an integer, anything else as it is."""
    return int(score) if score is not None and score.denominator == 1 else score
