"""The same good trees, told apart further: one more run, with decisions on some rows as an axis.

A profile keeps trees by its own metrics alone. To know more of them, rows are put into finer groups
or into a further table, what is to be known becomes a further count over leaves, and the axes of
the profile come along: they say which of the cells that are found belong to it, however it was
filtered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula, Name, all_of, substitute
from adtc.algebra.metrics import Primitive, RowGroup, Schema, additive
from adtc.data import Codes, Data
from adtc.data.bits import Words
from adtc.engine.exact.columns import Ratios, evaluate, from_columns
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Form, Plan
from adtc.engine.query import schema_of
from adtc.engine.run import fast_question, opened
from adtc.profiles.making import profile_of
from adtc.profiles.profile import Profile, joint_codes

Array = npt.NDArray[Any]
_AXIS = "(axis {})"  # no name that a formula could hold
CASES = "(cases)"
"""The further table of the rows that are asked about."""


@dataclass(frozen=True, slots=True)
class Finer:
    """A table that tells more rows apart than the profile's.

    Parameters
    ----------
    coarse
        Finds the row group that the profile knows; None for rows that are new to it.
    """

    data: Data
    schema: Schema
    coarse: Callable[[RowGroup], RowGroup | None]


def by_codes(profile: Profile, codes: Codes) -> Finer:
    """Tell rows apart by a whole number each: the last of a row group's references."""
    data, schema = _known(profile)
    width = len(schema.references)
    finer = replace(data, references=(*data.references, ("(codes)", codes)), origin=None)
    further = {group: n for group, n in schema.totals.items() if group.table}
    own = {group: n for group, n in schema_of(finer).totals.items() if not group.table}
    names = (*schema.references, "(codes)")
    return Finer(
        finer,
        replace(schema, references=names, totals={**own, **further}),
        lambda group: group._replace(references=group.references[:width]),
    )


def with_cases(profile: Profile, bits: Words, labels: Codes) -> Finer:
    """Add a further table of rows, each with the label that is asked about."""
    data, schema = _known(profile)
    n = len(labels)
    cases = replace(
        data, name=CASES, bits=bits, y=labels, z=np.zeros(n, np.int32), references=(), tables=(),
        weights=np.ones(n, np.int64), origin=None,
    )  # fmt: skip
    finer = replace(data, tables=(*data.tables, (CASES, cases)), origin=None)
    added = {group: n for group, n in schema_of(finer).totals.items() if group.table == CASES}
    return Finer(
        finer,
        replace(schema, tables=(*schema.tables, CASES), totals={**schema.totals, **added}),
        lambda group: None if group.table == CASES else group,
    )


def refined(
    profile: Profile,
    finer: Finer,
    metric: Primitive,
    *,
    constraint: Formula | None = None,
    asked: Mapping[str, Any],
    monitor: Monitor | None = None,
) -> Profile:
    """Make a profile of the same trees with a further metric.

    Its ranks are its own; `Profile.rank` tells a tree's rank in the first profile.

    Parameters
    ----------
    metric
        What adds up over leaves and rows of the finer table.
    constraint
        What the trees must satisfy on top, over the metric.
    asked
        The question in words, for the record.
    """
    source = profile.need_source(str(asked["ask"]))
    plan = source.circuit.prepared.plan
    own = [_coarsened(axis, finer.coarse) for axis in plan.question.axes]
    kept = [_axis(i, form, plan, finer.coarse) for i, form in enumerate(plan.basis)]
    added = [metric, *kept]
    question = replace(
        plan.question,
        schema=finer.schema,
        axes=(*own, *added),
        shape=(*plan.question.shape, *(float("inf") for _ in added)),
        metrics=tuple((one.name, Name(one.name)) for one in added),
        constraint=all_of(plan.question.constraint, constraint or all_of()),
    )
    narrow = fast_question("fast", question)
    assert narrow is not None
    recorded = {**profile.record.question, **asked}
    with opened(
        source.data, source.space, recorded, define=None, engine="fast", monitor=monitor
    ) as run:
        result = replace(run, data=finer.data).fast(narrow)
        found = profile_of(result, finer.data, source.space, run.record)
    axes = [found.metrics[one.name] for one in kept]
    lookup = from_columns(found.axes, len(found.trees))
    columns = [_as_integers(evaluate(term, lookup)) for term in axes]
    terms = dict(zip(plan.axis_names, axes, strict=True))
    metrics = {name: substitute(term, terms) for name, term in profile.metrics.items()}
    metrics[metric.name] = found.metrics[metric.name]
    mine = _among(columns, [profile.axes[name] for name in plan.axis_names])
    return replace(found.take(mine), metrics=metrics)


def _known(profile: Profile) -> tuple[Data, Schema]:
    source = profile.need_source("a further run")
    return source.data, source.circuit.prepared.plan.question.schema


def _coarsened(metric: Primitive, coarse: Callable[[RowGroup], RowGroup | None]) -> Primitive:
    """Let a metric see the row groups it knows, and no new rows."""
    if metric.functional is None:
        return metric
    weight = metric.functional.weight

    def own(label: int, group: RowGroup) -> int:
        known = coarse(group)
        return 0 if known is None else weight(label, known)

    return additive(metric.name, own, per_leaf=metric.functional.per_leaf)


def _axis(
    i: int, form: Form, plan: Plan, coarse: Callable[[RowGroup], RowGroup | None]
) -> Primitive:
    """Make an axis of the plan a metric on finer row groups."""
    place = {key: g for g, key in enumerate(plan.reader.keys)}

    def weight(label: int, group: RowGroup) -> int:
        known = coarse(group)
        return form.weights[label][place[known]] if known in place else 0

    return additive(_AXIS.format(i), weight, per_leaf=form.per_leaf)


def _among(found: Sequence[Array], known: Sequence[Array]) -> Array:
    """Tell which combinations of values are known."""
    if not found:
        return np.ones(1, bool)  # without axes there is one cell, that of all trees
    both = (np.concatenate([a, b]) for a, b in zip(found, known, strict=True))
    codes = joint_codes(np.unique(column, return_inverse=True)[1].reshape(-1) for column in both)
    cut = len(found[0])
    return np.isin(codes[:cut], codes[cut:])


def _as_integers(column: Ratios) -> Array:
    values: Array = column.top // column.bottom
    return values
