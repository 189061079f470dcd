"""The question Q = (Δ, α, σ, φ), checked once (the paper's Sec. 2.5).

A `Question` is a query bound to a table: names resolved, constants filled in, axes known. Engines
take a `Question` and check nothing again. Which trees exist is said by a `Space`.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from adtc.algebra.affine import affine
from adtc.algebra.expressions import FUNCTIONS
from adtc.algebra.formula import (
    Call,
    Formula,
    Name,
    Number,
    Term,
    Truth,
    names,
    parse,
    parse_term,
    settle,
)
from adtc.algebra.formula import substitute as replace_names
from adtc.algebra.metrics import (
    LEAF_LABEL,
    PRIMITIVES,
    RATIONALS,
    SIZE,
    LeafRows,
    Primitive,
    RowGroup,
    Schema,
    Vocabulary,
    hybrids_in,
)
from adtc.algebra.semiring import Semiring
from adtc.algebra.semirings import COUNT
from adtc.data import Data
from adtc.data.stack import Stack
from adtc.engine.allowed import ANYTHING, Allowed, allowed_tests
from adtc.engine.spaces import Space as Space  # noqa: PLC0414  # they are used together
from adtc.errors import QueryError

Aggregation = str | Sequence[str] | Callable[[int, LeafRows], Any] | None
Definitions = Mapping[str, Primitive | str]
X = TypeVar("X", Formula, Term)


@dataclass(frozen=True, slots=True)
class RowSets:
    """The rows as bit sets (Python integers), one per row group and weight bit."""

    all: int
    groups: tuple[tuple[RowGroup, tuple[int, ...]], ...]

    @classmethod
    def of(cls, data: Data | Stack) -> "RowSets":
        """Collect the rows of each group, weights in binary: bit b of the weight is a set."""
        keys, member = row_groups(data)
        width = max(1, int(data.weights.max()).bit_length())
        groups = []
        for g, key in enumerate(keys):
            weights = np.where(member == g, data.weights, 0)
            groups.append((key, tuple(_bit_set(weights >> b & 1) for b in range(width))))
        return cls(_bit_set(np.ones(data.n_rows, np.int64)), tuple(groups))

    def counts(self, S: int) -> tuple[tuple[RowGroup, int], ...]:
        """Count the rows of ``S`` in each group, by weight; groups without rows are left out."""
        weighted = (
            (key, sum((S & rows).bit_count() << b for b, rows in enumerate(planes)))
            for key, planes in self.groups
        )
        return tuple((key, n) for key, n in weighted if n)


def _bit_set(flags: np.ndarray[Any, Any]) -> int:
    return int.from_bytes(np.packbits(flags.astype(bool), bitorder="little").tobytes(), "little")


def row_groups(data: Data | Stack) -> tuple[list[RowGroup], np.ndarray[Any, Any]]:
    """Return the row groups that occur, in order, and the group of each row.

    Of a table these are its own; of a stack, those of further tables, too.
    """
    if isinstance(data, Stack):
        return [RowGroup(*kind) for kind in data.kinds], data.member
    distinct, member = data.row_kinds
    keys = [RowGroup(y, z, tuple(rest)) for y, z, *rest in distinct.tolist()]
    return keys, member


def every_row(data: Data, schema: Schema) -> Data | Stack:
    """Stack the rows of all tables that a schema speaks about."""
    return data.stack((*schema.tables, *schema.hybrids))


def schema_of(data: Data, texts: Iterable[str] = ()) -> Schema:
    """Describe the table as metrics see it; hybrid rows are there if a text asks for them."""
    hybrids = tuple(dict.fromkeys(name for text in texts for name in hybrids_in(text)))
    found: Schema = data.cache.get(("schema", hybrids), lambda: _schema(data, hybrids))
    return found


def _schema(data: Data, hybrids: tuple[str, ...]) -> Schema:
    tables = tuple(name for name, _ in data.tables)
    totals = _totals(*row_groups(data), data.weights)
    for layer in data.layers((*tables, *hybrids)):
        totals |= _totals([RowGroup(*kind) for kind in layer.kinds], layer.member, layer.weights)
    return Schema(
        labels=len(data.labels),
        groups=len(data.groups),
        positive=data.positive,
        references=tuple(name for name, _ in data.references),
        totals=totals,
        tables=tables,
        hybrids=hybrids,
    )


def _totals(keys: Sequence[RowGroup], member: Any, weights: Any) -> dict[RowGroup, int]:
    """Add up the weights of each group's rows."""
    totals = np.zeros(len(keys), np.int64)
    np.add.at(totals, member, weights)
    return dict(zip(keys, totals.tolist(), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A query bound to a table: everything an engine needs besides the rows.

    Asked again of the same `Data`, it is the same object: what was derived from it is found by it.

    Parameters
    ----------
    axes, shape
        Primitive metrics that determine φ and every requested metric, and the largest value kept.
    metrics
        The requested metrics as terms over the axes, by the name they were asked for.
    constraint
        φ as a formula over the axes alone.
    aggregate
        The value of a leaf with a label in the semiring: the paper's labelling function of α.
    allowed
        What the space says about tests.
    """

    space: Space
    semiring: Semiring[Any]
    schema: Schema
    minsup: int
    axes: tuple[Primitive, ...]
    shape: tuple[float, ...]
    metrics: tuple[tuple[str, Term], ...]
    constraint: Formula
    aggregate: Callable[[int, LeafRows], Any]
    allowed: Allowed = ANYTHING

    def labels(self, leaf: LeafRows) -> Iterable[int]:
        """Return the labels that a leaf may carry."""
        labels: Iterable[int] = range(self.schema.labels)
        if self.space.labels == "majority":
            labels = (leaf.majority(self.schema.labels),)
        share = self.space.leaf_share
        return (
            [label for label in labels if leaf.votes(label) >= share * leaf.support]
            if share
            else labels
        )

    def environment(self, index: Sequence[float]) -> dict[str, int]:
        """Name the entries of an index, for evaluating terms and formulas on it."""
        return {axis.name: int(k) for axis, k in zip(self.axes, index, strict=True)}


Best = Callable[[Question, int], Fraction | None]
"""Finds the least (sign 1) or largest (−1) value of a question's metric; None if it has none."""


def ask(
    data: Data,
    space: Space,
    *,
    semiring: Semiring[Any],
    aggregation: Aggregation = None,
    metrics: Sequence[str] = (),
    where: str | Formula | None = None,
    define: Definitions | None = None,
    best: Best | None = None,
) -> Question:
    """Check a query against a table and resolve all its names.

    Parameters
    ----------
    where
        The constraint φ; None admits every tree.
    define
        The user's own metrics: a `Primitive`, or the text of a term over other metrics.
    best
        What finds ``least(…)`` and ``largest(…)``, which are of all trees of the space, good or
        not; without it they are refused.
    """
    own = (text for text in (define or {}).values() if isinstance(text, str))
    sums = () if callable(aggregation) else texts_of(aggregation)
    texts = (str(where or ""), *metrics, *own, *sums)
    schema = schema_of(data, (text for text in texts if "[" in text))
    vocabulary = Vocabulary(schema, _checked(define or {}))
    binding = _Binding(data, space, vocabulary, space.min_support(schema.total), best)
    aggregate = _aggregate(aggregation, semiring, vocabulary)
    # extreme values are found first, by the engine asked for: a question holds their numbers
    formula = binding.settled(parse(where) if isinstance(where, str) else where or Truth(True))
    terms = tuple((name, binding.settled(parse_term(name))) for name in metrics)
    if semiring is not COUNT or aggregation is not None:
        return binding.bound(formula, terms, semiring, aggregate)
    return binding.again(
        (formula, terms), lambda: binding.bound(formula, terms, semiring, aggregate)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Binding:
    """Puts meanings in place of the names of one query."""

    data: Data
    space: Space
    vocabulary: Vocabulary
    minsup: int
    best: Best | None

    def bound(
        self,
        formula: Formula,
        terms: tuple[tuple[str, Term], ...],
        semiring: Semiring[Any],
        aggregate: Callable[[int, LeafRows], Any],
        within: tuple[str, ...] = (),
    ) -> Question:
        """Make the question; ``within`` are the metrics whose definitions led here."""
        used: dict[str, Primitive] = {}
        space, vocabulary = self.space, self.vocabulary
        constraint = _expand(formula, vocabulary, used, self.extreme, within)
        metrics = tuple(
            (name, _expand(term, vocabulary, used, self.extreme, within)) for name, term in terms
        )
        largest = dict.fromkeys(used, math.inf)
        if space.max_size is not None:
            used[SIZE.name], largest[SIZE.name] = SIZE, space.max_size
        if not space.trivial_splits:
            used[LEAF_LABEL.name], largest[LEAF_LABEL.name] = LEAF_LABEL, math.inf
        return Question(
            space=space,
            semiring=semiring,
            schema=vocabulary.schema,
            minsup=self.minsup,
            axes=tuple(used.values()),
            shape=tuple(largest[name] for name in used),
            metrics=metrics,
            constraint=constraint,
            aggregate=aggregate,
            allowed=self.data.cache.get(
                ("allowed", space), lambda: allowed_tests(space, self.data)
            ),
        )

    def settled(self, x: X) -> X:
        """Put numbers in place of ``least(…)`` and ``largest(…)``."""
        return settle(x, lambda call: self.extreme(call, ()))

    def extreme(self, call: Call, within: tuple[str, ...]) -> Fraction | None:
        """Find a least or largest value: a question of its own, about all trees."""
        if self.best is None:
            return _not_here(call, within)
        terms = ((str(call), call.arguments[0]),)

        def make() -> Question:
            counting = _aggregate(None, COUNT, self.vocabulary)
            return self.bound(Truth(True), terms, COUNT, counting, within)

        alone = make() if within else self.again(terms, make)
        return self.best(alone, 1 if call.function == "least" else -1)

    def again(self, asked: Hashable, make: Callable[[], Question]) -> Question:
        """Make a question, or find the one that was made when the same was asked before."""
        if self.vocabulary.own:  # the user's functions may be others next time
            return make()
        key = "question", self.space, self.vocabulary.schema.hybrids, asked
        found: Question = self.data.cache.get(key, make)
        return found


def _checked(own: Definitions) -> Definitions:
    for name in own:
        if name in PRIMITIVES or name in RATIONALS or name == "N":
            raise QueryError(f"'{name}' is a built-in metric and cannot be defined anew.")
        if name in FUNCTIONS:
            raise QueryError(f"'{name}' is a function of formulas: give the metric another name.")
    return own


def _not_here(call: Call, within: tuple[str, ...]) -> Fraction | None:
    raise QueryError(
        f"'{call}' is a value of all trees, which are not searched here: write it as a number."
    )


def _expand(
    x: X,
    vocabulary: Vocabulary,
    used: dict[str, Primitive],
    extreme: Callable[[Call, tuple[str, ...]], Fraction | None] = _not_here,
    within: tuple[str, ...] = (),
) -> X:
    """Replace every name by the primitives it stands for, and collect those in ``used``.

    Extreme values are numbers in ``x`` already; those within meanings are found here.
    """
    meanings: dict[str, Term] = {}
    for name in sorted(names(x)):
        if name in within:
            raise QueryError(f"the metric '{name}' is defined by itself: {' → '.join(within)}.")
        meaning = vocabulary.lookup(name)
        if isinstance(meaning, Primitive):
            used[meaning.name] = meaning
            if meaning.name != name:
                meanings[name] = Name(meaning.name)
        elif isinstance(meaning, int):
            meanings[name] = Number(Fraction(meaning))
        else:
            meanings[name] = _expand_meaning(meaning, vocabulary, used, extreme, (*within, name))
    return replace_names(x, meanings) if meanings else x


def _expand_meaning(
    meaning: Term,
    vocabulary: Vocabulary,
    used: dict[str, Primitive],
    extreme: Callable[[Call, tuple[str, ...]], Fraction | None],
    within: tuple[str, ...],
) -> Term:
    settled = settle(meaning, lambda call: extreme(call, within))
    return _expand(settled, vocabulary, used, extreme, within)


def texts_of(aggregation: str | Sequence[str] | None) -> tuple[str, ...]:
    """List the sums of metrics that an aggregation names: one, several or none."""
    return (aggregation,) if isinstance(aggregation, str) else tuple(aggregation or ())


def linear_parts(text: str, vocabulary: Vocabulary) -> tuple[tuple[Primitive, Fraction], ...]:
    """Read an objective that adds up over leaves, such as ``error + 33 * size``."""
    used: dict[str, Primitive] = {}
    term = settle(parse_term(text), lambda call: _not_here(call, ()))
    form = affine(_expand(term, vocabulary, used))
    if form is None or form.constant or any(used[n].functional is None for n in form.coefficients):
        raise QueryError(
            f"'{text}' does not add up over leaves, so it cannot be aggregated in a semiring: "
            f"use a sum of counts such as 'error' or 'error + 10 * size'."
        )
    return tuple((used[name], c) for name, c in form.coefficients.items())


def further_tables(
    aggregation: Aggregation, schema: Schema, define: Definitions | None
) -> tuple[str, ...]:
    """Name the further tables whose rows an aggregation looks at; a function may look at all."""
    every = (*schema.tables, *schema.hybrids)
    if not every or callable(aggregation):
        return every
    vocabulary = Vocabulary(schema, define or {})
    parts = (part for text in texts_of(aggregation) for part, _ in linear_parts(text, vocabulary))
    looked_at = {
        group.table
        for part in parts
        for group in schema.totals
        for label in range(schema.labels)
        if part.functional is not None and part.functional.weight(label, group)
    }
    return tuple(table for table in every if table in looked_at)


def _aggregate(
    aggregation: Aggregation, semiring: Semiring[Any], vocabulary: Vocabulary
) -> Callable[[int, LeafRows], Any]:
    """Make α's labelling function: `one`, metric values embedded, or the user's own."""
    if callable(aggregation):
        return aggregation
    if aggregation is None and (semiring.split is None or semiring.embed is None):
        return lambda label, leaf: semiring.one
    embed = semiring.embed
    if embed is None:
        raise QueryError(
            f"the semiring '{semiring.name}' does not say how metric values become its values: "
            f"give it an `embed`, or pass the aggregation as a function of label and leaf."
        )
    objectives = [linear_parts(text, vocabulary) for text in texts_of(aggregation)]

    def value(label: int, leaf: LeafRows) -> Any:
        sums = (
            sum((c * m.leaf(label, leaf) for m, c in parts), Fraction()) for parts in objectives
        )
        values: Any = tuple(int(s) if s.denominator == 1 else s for s in sums)
        return embed(label, values)

    return value
