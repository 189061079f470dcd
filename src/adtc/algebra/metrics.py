"""Metrics as values: what a tree is measured by (the paper's Sec. 2.3 and 4.1).

A *primitive* metric is decomposable (``primitives``); a *rational* one is a term of the constraint
language over primitives, e.g. acc and f1. The vocabulary of a table says what a name means there.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from adtc.algebra.formula import Name, Term, names, parse_term, substitute
from adtc.algebra.primitives import (
    DEPTH,
    ERROR,
    LEAF_LABEL,
    SIZE,
    SUPPORT,
    Functional,
    LeafRows,
    Primitive,
    RowGroup,
    additive,
    contingency,
    of_table,
)
from adtc.algebra.tokens import tokenize
from adtc.errors import QueryError, UnknownMetricError, unknown

__all__ = [
    "DEPTH",
    "ERROR",
    "LEAF_LABEL",
    "PRIMITIVES",
    "RATIONALS",
    "RELIANCE",
    "SIZE",
    "SUPPORT",
    "Functional",
    "LeafRows",
    "Needs",
    "Primitive",
    "Rational",
    "RowGroup",
    "Schema",
    "Vocabulary",
    "additive",
    "contingency",
    "hybrids_in",
    "of_table",
]


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
    hybrids
        The same for hybrid rows, which reliance is computed from.
    """

    labels: int
    groups: int
    positive: int | None
    references: tuple[str, ...]
    totals: Mapping[RowGroup, int]
    tables: tuple[str, ...] = ()
    hybrids: tuple[str, ...] = ()

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

# Reliance on a column; `switched` counts errors over all N² pairs of rows, the column from one.
RELIANCE: Mapping[str, str] = {
    "reliance": "(switched - error) / ((N - 1) * error)",
    "reliance_difference": "(switched - N * error) / (N * (N - 1))",
    "reliance_lossless": "switched / (N * error)",
    "reliance_lossless_difference": "(switched - N * error) / (N * N)",
}

_BY_COLUMN = re.compile(rf"({'|'.join(RELIANCE)}|switched)\[(.+)\]", re.DOTALL)
_SHORT = re.compile(r"N(\d)(\d)(\d?)")
_LONG = re.compile(r"N\[\s*([^\]]*?)\s*\]")
_PART = re.compile(r"\*|~?\d+")
_OF_TABLE = re.compile(r"([A-Za-z_0-9]+)\.(.+)", re.DOTALL)


def hybrids_in(text: str) -> Iterator[str]:
    """Yield the hybrid rows that the metrics in a text need.

    Examples
    --------
    >>> list(hybrids_in("reliance[age] <= 1.1 and test.reliance_lossless[sex] > 1 and acc > 0.8"))
    ['switched[age]', 'test.switched[sex]']
    """
    for token in tokenize(text):
        prefixed = _OF_TABLE.fullmatch(token.text)
        table, name = prefixed.groups() if prefixed else ("", token.text)
        if token.kind == "name" and (match := _BY_COLUMN.fullmatch(name)):
            yield f"{table}.switched[{match[2]}]" if table else f"switched[{match[2]}]"


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
        others = self.schema.tables or self.schema.hybrids
        if not others or not isinstance(found, Primitive) or name in _WHOLE_TREE:
            return found
        return found if found.name in self.schema.hybrids else of_table(found, self.table)

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
        if match := _BY_COLUMN.fullmatch(name):
            return self._reliance(*match.groups())
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

    def _reliance(self, variant: str, column: str) -> Primitive | Term:
        hybrid = f"{self.table}.switched[{column}]" if self.table else f"switched[{column}]"
        if hybrid not in self.schema.hybrids:
            raise QueryError(
                f"'{variant}[{column}]' of a further table cannot be asked for within another "
                f"metric: write '{hybrid.replace('switched', variant)}' itself."
            )
        if variant == "switched":
            return additive(
                hybrid,
                lambda label, group: (
                    group.times if group.table == hybrid and group.y != label else 0
                ),
            )
        term = parse_term(RELIANCE[variant])
        return substitute(term, {"switched": Name(f"switched[{column}]")})

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
