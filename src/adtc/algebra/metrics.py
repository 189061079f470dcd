"""Metrics as values: what a tree is measured by (the paper's Sec. 2.3 and 4.1).

A *primitive* metric is decomposable: a value at each leaf, put together by a commutative monoid.
A *rational* metric is a term of the constraint language over primitives, e.g. acc and f1.
Our choices: ``depth`` is the maximum over leaves of the number of tests above them, ``support``
the minimum with identity ∞, so that both are monoids; everything else is a sum.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from adtc.algebra.formula import Name, Term, names, parse_term, substitute
from adtc.errors import QueryError, UnknownMetricError, unknown


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


@dataclass(frozen=True, slots=True)
class Schema:
    """The shape of a table as metrics see it.

    Parameters
    ----------
    totals
        Weight of each row group in the whole table: all model-independent counts follow.
    positive
        Index of the positive label, or None if several classes and none was named.
    tables
        The names of further tables, whose row groups are among those of ``totals``.
    """

    labels: int
    groups: int
    positive: int | None
    references: tuple[str, ...]
    totals: Mapping[RowGroup, int]
    tables: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Count the rows of the table: the N of every formula."""
        return self.total_of("")

    def total_of(self, table: str) -> int:
        """Count the rows of the table itself, or of a further one."""
        return sum(n for group, n in self.totals.items() if group.table == table)


def _spread(rates: Sequence[str]) -> str:
    """Largest minus smallest; for two groups in the form that is linear up to its sign."""
    if len(rates) == 2:  # noqa: PLR2004
        return f"abs({rates[1]} - {rates[0]})"
    return f"max({', '.join(rates)}) - min({', '.join(rates)})"


class _Rates(NamedTuple):
    """Rates of the positive label, per sensitive group."""

    selection: list[str]
    tpr: list[str]
    fpr: list[str]


def _rates(schema: Schema) -> _Rates:
    p, groups = schema.positive, range(schema.groups)
    return _Rates(
        [f"N[*,{p},{k}] / N[*,*,{k}]" for k in groups],
        [f"N[{p},{p},{k}] / N[{p},*,{k}]" for k in groups],
        [f"N[~{p},{p},{k}] / N[~{p},*,{k}]" for k in groups],
    )


def _gap(rate: str) -> Callable[[Schema], str]:
    return lambda schema: _spread(getattr(_rates(schema), rate))


def _signed(rate: str) -> Callable[[Schema], str]:
    def define(schema: Schema) -> str:
        zero, one = getattr(_rates(schema), rate)
        return f"{one} - {zero}"

    return define


def _both_gaps(template: str) -> Callable[[Schema], str]:
    return lambda schema: template.format(tpr=_gap("tpr")(schema), fpr=_gap("fpr")(schema))


def _ratio(schema: Schema) -> str:
    rates = ", ".join(_rates(schema).selection)
    return f"min({rates}) / max({rates})"


def _balanced(schema: Schema) -> str:
    recalls = " + ".join(f"N[{i},{i}] / N[{i},*]" for i in range(schema.labels))
    return f"({recalls}) / {schema.labels}"


def _of_positive(template: str) -> Callable[[Schema], str]:
    return lambda schema: template.replace("p", str(schema.positive))


class Needs(NamedTuple):
    """What a table must have for a metric to exist."""

    positive: bool = False
    sensitive: bool = False
    two_groups: bool = False


@dataclass(frozen=True, slots=True)
class Rational:
    """A metric that is a term over primitives, written once for every shape of table."""

    name: str
    about: str
    needs: Needs
    define: Callable[[Schema], str]


_POSITIVE = Needs(positive=True)
_FAIR = Needs(positive=True, sensitive=True)
_TWO = Needs(positive=True, sensitive=True, two_groups=True)

# One line per metric: a new one is a new line here and a line of test values.
RATIONALS: Mapping[str, Rational] = {
    m.name: m
    for m in (
        Rational("acc", "share of rows predicted right", Needs(), lambda s: "(N - error) / N"),
        Rational("bacc", "mean of the classes' recalls", Needs(), _balanced),
        Rational(
            "precision",
            "share of positive predictions that are right",
            _POSITIVE,
            _of_positive("N[p,p] / N[*,p]"),
        ),
        Rational(
            "recall",
            "share of positive rows predicted positive",
            _POSITIVE,
            _of_positive("N[p,p] / N[p,*]"),
        ),
        Rational("tpr", "true positive rate, = recall", _POSITIVE, _of_positive("N[p,p] / N[p,*]")),
        Rational("fpr", "false positive rate", _POSITIVE, _of_positive("N[~p,p] / N[~p,*]")),
        Rational("tnr", "true negative rate", _POSITIVE, _of_positive("N[~p,~p] / N[~p,*]")),
        Rational("fnr", "false negative rate", _POSITIVE, _of_positive("N[p,~p] / N[p,*]")),
        Rational(
            "f1",
            "harmonic mean of precision and recall",
            _POSITIVE,
            _of_positive("2 * N[p,p] / (2 * N[p,p] + N[~p,p] + N[p,~p])"),
        ),
        Rational(
            "selection_rate",
            "share of rows predicted positive",
            _POSITIVE,
            _of_positive("N[*,p] / N"),
        ),
        Rational("dp", "demographic parity: gap of selection rates", _FAIR, _gap("selection")),
        Rational("eopp", "equal opportunity: gap of true positive rates", _FAIR, _gap("tpr")),
        Rational("eodd_sum", "TPR gap + FPR gap", _FAIR, _both_gaps("{tpr} + {fpr}")),
        Rational("eodd_max", "larger of TPR and FPR gap", _FAIR, _both_gaps("max({tpr}, {fpr})")),
        Rational("eodd_mean", "mean of TPR and FPR gap", _FAIR, _both_gaps("({tpr} + {fpr}) / 2")),
        Rational(
            "dp_signed",
            "selection rate of group 1 minus that of group 0",
            _TWO,
            _signed("selection"),
        ),
        Rational("eopp_signed", "TPR of group 1 minus that of group 0", _TWO, _signed("tpr")),
        Rational("dp_ratio", "smallest selection rate over the largest", _FAIR, _ratio),
    )
}

PRIMITIVES: Mapping[str, Primitive] = {m.name: m for m in (SIZE, DEPTH, SUPPORT, ERROR)}

_WHOLE_TREE = (SIZE.name, DEPTH.name, SUPPORT.name)  # what no further table has of its own

_SHORT = re.compile(r"N(\d)(\d)(\d?)")
_LONG = re.compile(r"N\[\s*([^\]]*?)\s*\]")
_PART = re.compile(r"\*|~?\d+")
_OF_TABLE = re.compile(r"([A-Za-z_0-9]+)\.(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All metrics of one table: the built-in ones and the user's own.

    Parameters
    ----------
    own
        The user's metrics: a `Primitive`, or the text of a term over other metrics.
    table
        Which rows they look at: those of the table itself, or of a further one.
    """

    schema: Schema
    own: Mapping[str, Primitive | str] = field(default_factory=dict)
    table: str = ""

    def lookup(self, name: str) -> Primitive | Term | int:
        """Return what ``name`` stands for: a primitive, a term over others, or a constant."""
        if name not in self.own and (prefixed := _OF_TABLE.fullmatch(name)):
            return self._of_table(*prefixed.groups())
        found = self._lookup(name)
        if isinstance(found, Primitive) and self.schema.tables and name not in _WHOLE_TREE:
            return of_table(found, self.table)
        return found

    def _of_table(self, table: str, name: str) -> Primitive | Term | int:
        """Look up a metric of a further table."""
        if table not in self.schema.tables:
            if not self.schema.tables:
                raise UnknownMetricError(
                    f"'{table}.{name}' is a metric of a further table '{table}', but there is "
                    f"none: add one with data.with_table('{table}', …), --test or --table."
                )
            raise UnknownMetricError(unknown("further table", table, self.schema.tables))
        if name in _WHOLE_TREE:
            raise QueryError(
                f"'{table}.{name}' does not exist: the {name} of a tree has nothing to do with "
                f"further tables; write '{name}'."
            )
        found = replace(self, table=table).lookup(name)
        if isinstance(found, Primitive | int):
            return found
        # the parts of a term are looked up next, and they are the further table's, too
        own = {part: Name(f"{table}.{part}") for part in names(found) if part not in _WHOLE_TREE}
        return substitute(found, {k: v for k, v in own.items() if not _OF_TABLE.fullmatch(k)})

    def _lookup(self, name: str) -> Primitive | Term | int:
        if name in self.own:
            own = self.own[name]
            return parse_term(own) if isinstance(own, str) else own
        if name == "N":
            return self.schema.total_of(self.table)
        if name in PRIMITIVES:
            return PRIMITIVES[name]
        if name in RATIONALS:
            return self._rational(RATIONALS[name])
        if name.startswith("agreement["):
            return self._agreement(name[len("agreement[") : -1])
        if match := _SHORT.fullmatch(name):
            return self._contingency(name, [part for part in match.groups() if part])
        if match := _LONG.fullmatch(name):
            return self._contingency(name, [part.strip() for part in match[1].split(",")])
        raise UnknownMetricError(unknown("metric", name, self.names()))

    def names(self) -> list[str]:
        """List the names that can be used for this table."""
        usable = [m.name for m in RATIONALS.values() if self._lacks(m) is None]
        cells = [f"N{i}{j}" for i in range(self.schema.labels) for j in range(self.schema.labels)]
        agreements = [f"agreement[{name}]" for name in self.schema.references]
        plain = {*PRIMITIVES, *usable, *self.own, *agreements, *cells, "N"}
        prefixed = {f"{t}.{n}" for t in self.schema.tables for n in plain - {*_WHOLE_TREE}}
        return sorted(plain if self.table else plain | prefixed)

    def _rational(self, metric: Rational) -> Term:
        if lack := self._lacks(metric):
            raise QueryError(f"the metric '{metric.name}' {lack}.")
        # our own text may grow with the number of classes and groups
        return parse_term(metric.define(self.schema), max_length=10**6)

    def _lacks(self, metric: Rational) -> str | None:
        if metric.needs.sensitive and self.schema.groups == 0:
            return "compares sensitive groups, but no sensitive column was given: name one"
        if metric.needs.two_groups and self.schema.groups != 2:  # noqa: PLR2004
            return (
                f"is a signed difference of two groups, but the sensitive column has "
                f"{self.schema.groups}: use the unsigned gap"
            )
        if metric.needs.positive and self.schema.positive is None:
            return (
                f"needs a positive label, but the target has {self.schema.labels} classes "
                f"and none was named as positive: name one"
            )
        return None

    def _agreement(self, reference: str) -> Primitive:
        if reference not in self.schema.references:
            raise UnknownMetricError(unknown("reference column", reference, self.schema.references))
        at = self.schema.references.index(reference)
        return additive(
            f"agreement[{reference}]", lambda label, group: int(group.references[at] == label)
        )

    def _contingency(self, name: str, parts: list[str]) -> Primitive | int:
        limits = [self.schema.labels, self.schema.labels, max(1, self.schema.groups)]
        if len(parts) == 3 and self.schema.groups == 0:  # noqa: PLR2004
            raise QueryError(
                f"the metric '{name}' counts by sensitive value, but no sensitive column was "
                f"given: name one."
            )
        if len(parts) not in (2, 3) or not all(_PART.fullmatch(part) for part in parts):
            raise QueryError(
                f"cannot read '{name}': expected N[i,j] or N[i,j,k] with i the true label, j the "
                f"predicted label and k the sensitive value, each a number, ~number or *."
            )
        for part, limit in zip(parts, limits, strict=False):
            if part != "*" and int(part.lstrip("~")) >= limit:
                raise QueryError(
                    f"the metric '{name}' has the index {part.lstrip('~')}, but this table has "
                    f"indices 0 to {limit - 1} there."
                )
        metric = contingency(",".join(parts))
        assert metric.functional is not None  # contingency counts are sums
        if parts[1] == "*":  # the same for every tree: a constant of the table
            hits = metric.functional.weight
            own = (c for c in self.schema.totals.items() if c[0].table == self.table)
            return sum(n * hits(0, group) for group, n in own)
        return metric
