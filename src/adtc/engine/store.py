"""A circuit as plain JSON and named arrays, and back: everything that walks it works again.

The plan is stored as it was made, so a later planner cannot disagree with the stored cells; what
follows from plan and table (bit planes, numbered paths, the metrics' own functions) is made again.
Nothing here touches a file.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.metrics import LEAF_LABEL, Primitive, RowGroup, Schema, Vocabulary
from adtc.algebra.semirings import COUNT
from adtc.algebra.store import formula_from_json, formula_to_json, term_from_json, term_to_json
from adtc.data import Data
from adtc.data.stack import Stack
from adtc.engine.bounds import Inside, Outside
from adtc.engine.circuit import Circuit
from adtc.engine.intact import is_array
from adtc.engine.lattice import (
    Features,
    Twin,
    bit_planes,
    group_of_rows,
    numbered_paths,
    path_counts,
    rows_of,
)
from adtc.engine.plan import Axis, Budget, Form, Plan, Reader
from adtc.engine.prepare import Prepared, first_level, leaves_of
from adtc.engine.query import Question, Space, ask
from adtc.engine.spaces import space_from_json, space_to_json
from adtc.engine.switches import Switches
from adtc.engine.tensors import Cells, Level
from adtc.errors import DataError, QueryError

Array = npt.NDArray[Any]
Arrays = dict[str, Array]
Stored = Mapping[str, Array]


def circuit_to_json(circuit: Circuit) -> tuple[dict[str, Any], Arrays]:
    """Take a circuit apart: plain JSON, and the arrays by name.

    Raises
    ------
    QueryError
        Where a metric is a Python function of the user's own, which no file can hold.
    """
    arrays: Arrays = {}
    prepared = circuit.prepared
    saved = {
        "space": space_to_json(prepared.plan.question.space),
        "question": _question_to_json(prepared.plan.question),
        "plan": _plan_to_json(prepared.plan),
        "rows": prepared.features.columns.shape[1],
        "twins": [
            [[twin.feature, twin.flipped] for twin in twins] for twins in prepared.features.twins
        ],
        "inside": _apart("inside", prepared.inside, arrays),
        "outside": _apart("outside", circuit.outside, arrays),
        "levels": len(circuit.levels),
        "cell_scan": int(circuit.cell_scan),
    }
    for i, level in enumerate(circuit.levels):
        arrays |= {f"level{i}.starts": level.starts, f"level{i}.stops": level.stops}
        _apart(f"level{i}", level.cells, arrays)
    return saved, arrays


def circuit_from_json(saved: Mapping[str, Any], arrays: Stored, data: Data) -> Circuit:
    """Put a circuit together again on the table it was made from."""
    space = space_from_json(saved["space"])
    plan = _plan_from_json(saved["plan"], _question_from_json(saved["question"], data, space))
    rows = rows_of(data, plan.groups, merge=False)
    rows = rows if rows.n_rows == saved["rows"] else rows.merged()
    features = _features(saved["twins"], rows)
    groups = group_of_rows(rows, plan.groups)
    inside = _together("inside", Inside, saved["inside"], arrays)
    prepared = Prepared(
        plan=plan,
        features=features,
        table=bit_planes(features, rows, groups, len(plan.groups)),
        lattice=numbered_paths(
            len(features.twins), space.max_depth, least=first_level(plan.question.allowed)
        ),
        leaves=leaves_of(plan, Switches()),
        inside=inside,
    )
    outside = _together("outside", Outside, saved["outside"], arrays)
    levels = tuple(
        Level(
            _together(f"level{i}", Cells, {}, arrays),
            arrays[f"level{i}.starts"],
            arrays[f"level{i}.stops"],
        )
        for i in range(saved["levels"])
    )
    circuit = Circuit(
        prepared, replace(outside, live_paths=tuple(outside.live_paths)), levels, saved["cell_scan"]
    )
    _check(circuit)
    return circuit


def _apart(prefix: str, value: Any, arrays: Arrays) -> dict[str, Any]:
    """Put the arrays of a record into ``arrays`` and return its other fields."""
    plain = {}
    for name in _field_names(type(value)):
        entry = getattr(value, name)
        if isinstance(entry, np.ndarray):
            arrays[f"{prefix}.{name}"] = entry
        else:
            plain[name] = entry.item() if isinstance(entry, np.generic) else entry
    return plain


def _together(
    prefix: str, kind: Callable[..., Any], saved: Mapping[str, Any], arrays: Stored
) -> Any:
    """Make a record of its plain fields and its arrays."""
    return kind(
        **{n: saved[n] if n in saved else arrays[f"{prefix}.{n}"] for n in _field_names(kind)}
    )


def _field_names(kind: Any) -> tuple[str, ...]:
    named: tuple[str, ...] | None = getattr(kind, "_fields", None)
    return tuple(field.name for field in fields(kind)) if named is None else named


def _features(saved: list[Any], rows: Data | Stack) -> Features:
    """Take the distinct features from the table again, oriented as they were."""
    twins = tuple(tuple(Twin(f, flipped) for f, flipped in some) for some in saved)
    dense = np.ascontiguousarray(rows.dense().T)
    chosen = [dense[first.feature] ^ np.uint8(first.flipped) for first, *_ in twins]
    return Features(np.array(chosen, np.uint8).reshape(len(chosen), rows.n_rows), twins)


def _question_to_json(question: Question) -> dict[str, Any]:
    return {
        "axes": [axis.name for axis in question.axes if _built_in(axis, question.schema)],
        "shape": [None if k == math.inf else int(k) for k in question.shape],
        "metrics": [[name, term_to_json(term)] for name, term in question.metrics],
        "constraint": formula_to_json(question.constraint),
    }


def _question_from_json(saved: Mapping[str, Any], data: Data, space: Space) -> Question:
    hybrids = [name for name in saved["axes"] if "[" in name]
    question = ask(data, space, semiring=COUNT, metrics=hybrids)
    vocabulary = Vocabulary(question.schema)
    return replace(
        question,
        axes=tuple(_primitive(name, vocabulary) for name in saved["axes"]),
        shape=tuple(math.inf if k is None else k for k in saved["shape"]),
        metrics=tuple((name, term_from_json(term)) for name, term in saved["metrics"]),
        constraint=formula_from_json(saved["constraint"]),
    )


def _built_in(axis: Primitive, schema: Schema) -> bool:
    """Tell whether an axis can be looked up by name; raise if it is a function of the user's."""
    try:
        known = _primitive(axis.name, Vocabulary(schema))
    except QueryError:
        known = None
    if known is None or _tabulated(known, schema) != _tabulated(axis, schema):
        raise QueryError(
            f"the metric '{axis.name}' is defined by a Python function, which cannot be saved "
            f"with the circuit: save the profile without its circuit, or define the metric as a "
            f"term over the built-in ones."
        )
    return True


def _primitive(name: str, vocabulary: Vocabulary) -> Primitive:
    if name == LEAF_LABEL.name:
        return LEAF_LABEL
    found = vocabulary.lookup(name)
    if not isinstance(found, Primitive):
        raise QueryError(f"'{name}' is no count over leaves.")
    return found


def _tabulated(axis: Primitive, schema: Schema) -> tuple[int, ...] | None:
    """List what a metric adds per leaf and per row: all that tells two of them apart."""
    if axis.functional is None:
        return None
    weight = axis.functional.weight
    rows = (weight(label, group) for label in range(schema.labels) for group in schema.totals)
    return (axis.functional.per_leaf, *rows)


def _plan_to_json(plan: Plan) -> dict[str, Any]:
    return {
        "groups": [[_group_to_json(g) for g in members] for members in plan.groups],
        "totals": list(plan.totals),
        "axes": [
            [_form_to_json(axis.form), axis.low, axis.radix, axis.stride] for axis in plan.axes
        ],
        "budgets": [[_form_to_json(b.form), int(b.limit), b.source] for b in plan.budgets],
        "basis": [_form_to_json(form) for form in plan.basis],
        "most_leaves": plan.most_leaves,
    }


def _group_to_json(group: RowGroup) -> list[Any]:
    y, z, references, *rest = group
    return [y, z, list(references), *(rest if group.table else [])]


def _plan_from_json(saved: Mapping[str, Any], question: Question) -> Plan:
    totals = {key: n for key, n in question.schema.totals.items() if n}
    primitives = {axis.name: axis for axis in question.axes if axis.functional is not None}
    return Plan(
        question=question,
        groups=tuple(
            tuple(RowGroup(y, z, tuple(references), *rest) for y, z, references, *rest in members)
            for members in saved["groups"]
        ),
        totals=tuple(saved["totals"]),
        axes=tuple(Axis(_form_from_json(form), *rest) for form, *rest in saved["axes"]),
        budgets=tuple(
            Budget(_form_from_json(form), limit, source) for form, limit, source in saved["budgets"]
        ),
        residual=question.constraint,
        reader=Reader(primitives, list(totals), question.schema.labels, list(totals.values())),
        basis=tuple(map(_form_from_json, saved["basis"])),
        most_leaves=saved["most_leaves"],
    )


def _form_to_json(form: Form) -> list[Any]:
    return [form.name, int(form.per_leaf), [[int(w) for w in row] for row in form.weights]]


def _form_from_json(saved: list[Any]) -> Form:
    name, per_leaf, weights = saved
    return Form(name, per_leaf, tuple(map(tuple, weights)))


def _check(circuit: Circuit) -> None:
    """Refuse arrays that do not belong together: kernels read them without looking."""
    prepared, inside, outside = circuit.prepared, circuit.prepared.inside, circuit.outside
    groups, forms = len(prepared.plan.groups), len(prepared.plan.budgets)
    sizes = path_counts(prepared.lattice)
    paths = sum(sizes)
    fits = [
        is_array(inside.counts, np.int64, paths, groups),
        is_array(inside.least, np.int64, forms, paths),
        is_array(inside.exists, np.bool_, paths),
        is_array(outside.budgets, np.int64, paths, forms),
        is_array(outside.live, np.bool_, paths),
        len(circuit.levels) == (len(sizes) if outside.live[0] else 0),
    ]
    for at, (level, size) in enumerate(zip(circuit.levels, sizes, strict=False)):
        cells, n = level.cells, len(level.cells.keys)
        uncosted = at == 0 and is_array(cells.costs, np.int64, n, 0)  # nobody multiplies the root
        fits += [
            is_array(cells.keys, np.int64, n, *([2] if prepared.leaves.wide else [])),
            is_array(cells.values, np.uint64, n, max(1, cells.values.shape[-1])),
            uncosted or is_array(cells.costs, np.int64, n, forms),
            is_array(level.starts, np.int64, size) and _between(0, level.starts, n),
            is_array(level.stops, np.int64, size) and _between(0, level.stops, n),
        ]
    if not all(fits):
        raise DataError("the arrays of the circuit do not belong together.")


def _between(low: int, array: Array, high: int) -> bool:
    return bool(((low <= array) & (array <= high)).all())
