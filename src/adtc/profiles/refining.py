"""The same good trees, told apart further: one more run, with decisions on some rows as an axis.

A profile keeps trees by its own metrics alone. To know more of them, rows are put into groups of
their own, what is to be known becomes a further count over leaves, and the axes of the profile come
along: they say which of the cells that are found belong to it, however it was filtered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula, Name, all_of, substitute
from adtc.algebra.metrics import Primitive, RowGroup, additive
from adtc.data import Codes
from adtc.engine.columns import Ratios, evaluate, from_columns
from adtc.engine.monitor import Monitor
from adtc.engine.plan import Form, Plan
from adtc.engine.query import schema_of
from adtc.engine.run import fast_question, opened
from adtc.profiles.making import profile_of
from adtc.profiles.profile import Profile, joint_codes

Array = npt.NDArray[Any]
_AXIS = "(axis {})"  # no name that a formula could hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Finer:
    """How trees are told apart further.

    Parameters
    ----------
    codes
        Per row a whole number; rows with another number are groups of their own. A metric finds it
        last among the ``references`` of a row group.
    metrics
        What adds up over leaves and rows; each becomes a metric of the profile.
    constraint
        What the trees must satisfy on top, over these metrics.
    asked
        The question in words, for the record.
    """

    codes: Codes
    metrics: Sequence[Primitive]
    constraint: Formula | None = None
    asked: Mapping[str, Any]


def refined(profile: Profile, finer: Finer, monitor: Monitor | None = None) -> Profile:
    """Make a profile of the same trees with further metrics.

    Its ranks are its own; `Profile.rank` tells a tree's rank in the first profile.
    """
    source = profile.need_source(str(finer.asked["ask"]))
    plan = source.circuit.prepared.plan
    data = replace(
        source.data, references=(*source.data.references, ("(rows)", finer.codes)), origin=None
    )
    own = {axis.name: axis for axis in plan.question.axes}
    kept = [_axis(i, form, plan) for i, form in enumerate(plan.basis)]
    added = [*finer.metrics, *kept]
    question = replace(
        plan.question,
        schema=schema_of(data),
        axes=(*own.values(), *added),
        shape=(*plan.question.shape, *(float("inf") for _ in added)),
        metrics=tuple((one.name, Name(one.name)) for one in added),
        constraint=all_of(plan.question.constraint, finer.constraint or all_of()),
    )
    asked = {**profile.record.question, **finer.asked}
    narrow = fast_question("fast", question)
    assert narrow is not None
    with opened(
        source.data, source.space, asked, define=None, engine="fast", monitor=monitor
    ) as run:
        result = replace(run, data=data).fast(narrow)
        found = profile_of(result, data, source.space, run.record)
    axes = [found.metrics[one.name] for one in kept]
    lookup = from_columns(found.axes, len(found.trees))
    columns = [_whole(evaluate(term, lookup)) for term in axes]
    terms = dict(zip(plan.axis_names, axes, strict=True))
    metrics = {name: substitute(term, terms) for name, term in profile.metrics.items()}
    metrics |= {one.name: found.metrics[one.name] for one in finer.metrics}
    mine = _among(columns, [profile.axes[name] for name in plan.axis_names])
    return replace(found.take(mine), metrics=metrics)


def _axis(i: int, form: Form, plan: Plan) -> Primitive:
    """Make an axis of the plan a metric on finer row groups."""
    place = {key: g for g, key in enumerate(plan.reader.keys)}
    width = len(plan.question.schema.references)

    def weight(label: int, group: RowGroup) -> int:
        coarse = RowGroup(group.y, group.z, group.references[:width])
        return form.weights[label][place[coarse]] if coarse in place else 0

    return additive(_AXIS.format(i), weight, per_leaf=form.per_leaf)


def _among(found: Sequence[Array], known: Sequence[Array]) -> Array:
    """Tell which combinations of values are known."""
    if not found:
        return np.ones(1, bool)  # without axes there is one cell, that of all trees
    both = (np.concatenate([a, b]) for a, b in zip(found, known, strict=True))
    codes = joint_codes(np.unique(column, return_inverse=True)[1].reshape(-1) for column in both)
    cut = len(found[0])
    return np.isin(codes[:cut], codes[cut:])


def _whole(column: Ratios) -> Array:
    values: Array = column.top // column.bottom
    return values
