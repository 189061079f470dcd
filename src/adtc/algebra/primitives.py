"""Decomposable metrics: a value at each leaf, put together by a commutative monoid (Definition 1).

Our choices: ``depth`` is the maximum over leaves of the number of tests above them, ``support``
the minimum with identity ∞, so that both are monoids; everything else is a sum.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple


class RowGroup(NamedTuple):
    """What rows must share to count as equal.

    Parameters
    ----------
    y, z, references
        True label, sensitive value, reference labels.
    table
        Where they are from: empty for the table itself, else the name of a further one.
    times
        How often such a row counts in sums over hybrid rows; 1 elsewhere.
    """

    y: int
    z: int = 0
    references: tuple[int, ...] = ()
    table: str = ""
    times: int = 1


class LeafRows(NamedTuple):
    """What a metric may know about the rows in a leaf: how many of each group, and how deep.

    Rows of further tables are among the groups; support and votes do not see them.
    """

    counts: tuple[tuple[RowGroup, int], ...]
    depth: int

    @property
    def support(self) -> int:
        """Count the rows in the leaf."""
        return sum(n for group, n in self.counts if not group.table)

    def votes(self, label: int) -> int:
        """Count the rows whose true label is this one."""
        return sum(n for group, n in self.counts if group.y == label and not group.table)

    def of(self, table: str) -> "LeafRows":
        """Return the rows of one table alone."""
        return LeafRows(tuple(c for c in self.counts if c[0].table == table), self.depth)

    def majority(self, labels: int) -> int:
        """Return the most frequent label; ties go to the smallest."""
        votes = [self.votes(label) for label in range(labels)]
        return votes.index(max(votes))


Weight = Callable[[int, RowGroup], int]


@dataclass(frozen=True, slots=True)
class Functional:
    """A sum over leaves of ``per_leaf`` plus a sum over rows of ``weight(label, group)``."""

    per_leaf: int
    weight: Weight


@dataclass(frozen=True, slots=True)
class Primitive:
    """A decomposable integer metric: Hom[leaf, combine] in the paper's notation.

    Parameters
    ----------
    leaf
        The value at a leaf, from its label and its rows.
    combine, identity
        The commutative monoid; ``combine`` may return None for "there is no such tree".
    functional
        The same metric as a linear functional, if it is one; fast engines need nothing else.
    """

    name: str
    leaf: Callable[[int, LeafRows], int]
    combine: Callable[[int, int], int | None]
    identity: float
    functional: Functional | None = None

    @property
    def public(self) -> bool:
        """False for axes that only engines use; they have no name a formula could hold."""
        return not self.name.startswith("(")


def additive(name: str, weight: Weight, *, per_leaf: int = 0) -> Primitive:
    """Make a metric that adds ``weight(label, group)`` for every row, and ``per_leaf`` per leaf.

    Examples
    --------
    The cost of a false alarm is 1, that of a miss 5:

    >>> cost = additive("cost", lambda label, row: 0 if label == row.y else (1, 5)[row.y])
    >>> cost.leaf(0, LeafRows(((RowGroup(0), 7), (RowGroup(1), 2)), depth=1))
    10
    """

    def leaf(label: int, rows: LeafRows) -> int:
        return per_leaf + sum(n * weight(label, group) for group, n in rows.counts)

    return Primitive(name, leaf, operator.add, 0, Functional(per_leaf, weight))


SIZE = additive("size", lambda label, group: 0, per_leaf=1)
ERROR = additive("error", lambda label, group: int(label != group.y))
DEPTH = Primitive("depth", lambda label, rows: rows.depth, max, 0)
SUPPORT = Primitive("support", lambda label, rows: rows.support, min, math.inf)


def _distinct(a: int, b: int) -> int | None:
    """Join two subtrees unless both are leaves of one label (−1 stands for an inner node)."""
    return None if a == b != INNER else INNER


INNER = -1
# Not a monoid and not for users: an axis that removes trivial splits where they would arise.
LEAF_LABEL = Primitive("(leaf label)", lambda label, rows: label, _distinct, 0)


def contingency(pattern: str) -> Primitive:
    """Make N_ij or N_ijk: rows with true label i, predicted label j, sensitive value k.

    Parameters
    ----------
    pattern
        ``"1,1"`` or ``"1,0,1"``; ``*`` stands for any value and ``~1`` for any but 1.

    Examples
    --------
    >>> rows = LeafRows(((RowGroup(0, 0), 7), (RowGroup(1, 1), 2)), depth=1)
    >>> contingency("1,*,1").leaf(0, rows)
    2
    """
    i, j, k = (_matcher(part) for part in (*pattern.split(","), "*")[:3])
    return additive(
        f"N[{pattern}]", lambda label, group: int(i(group.y) and j(label) and k(group.z))
    )


def of_table(metric: Primitive, table: str) -> Primitive:
    """Measure by the rows of one table alone; the metric of a further table has its prefix.

    Examples
    --------
    >>> rows = LeafRows(((RowGroup(0), 7), (RowGroup(0, table="test"), 2)), depth=1)
    >>> [of_table(ERROR, table).leaf(1, rows) for table in ("", "test")]
    [7, 2]
    """
    functional = metric.functional

    def weight(label: int, group: RowGroup) -> int:
        assert functional is not None
        return functional.weight(label, group) if group.table == table else 0

    return replace(
        metric,
        name=f"{table}.{metric.name}" if table else metric.name,
        leaf=lambda label, rows: metric.leaf(label, rows.of(table)),
        functional=functional and Functional(functional.per_leaf, weight),
    )


def _matcher(part: str) -> Callable[[int], bool]:
    if part == "*":
        return lambda value: True
    if part.startswith("~"):
        return lambda value: value != int(part[1:])
    return lambda value: value == int(part)
