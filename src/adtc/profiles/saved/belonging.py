"""Whether the parts of a saved profile belong together: record, rows, circuit and cells.

Whoever edits a file can compute its digest anew, so each part is held against what follows from the
others. No tree is counted here, unless a formula has ``least(…)``.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import parse_term, settle
from adtc.algebra.store import formula_to_json, term_to_json
from adtc.data import Data
from adtc.engine.exact.columns import satisfied
from adtc.engine.exact.limbs import counts_of
from adtc.engine.plan import AxisColumns, Plan, make_plan
from adtc.engine.plan.keys import find_keys, key_order
from adtc.engine.plan.narrow import narrowed
from adtc.engine.query import Question, Space
from adtc.engine.record import RunRecord, recording
from adtc.engine.run import opened
from adtc.engine.spaces import space_to_json
from adtc.errors import ADTCError, DataError
from adtc.profiles.profile import Profile

Array = npt.NDArray[Any]
ROOT = ("level0.keys", "level0.values", "level0.starts", "level0.stops")
"""The arrays of a circuit that hold the tensor of all trees."""

_ARITHMETIC = ("+", "-", "*", "/")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a file with a circuit holds.

    Parameters
    ----------
    profile
        The cells, the metrics and the record; its source is not looked at.
    circuit, root
        The circuit's plain values, and its arrays named by `ROOT` if it has any.
    filtered
        Whether cells were left out after the run.
    """

    profile: Profile
    data: Data
    space: Space
    circuit: Mapping[str, Any]
    root: Mapping[str, Array]
    filtered: bool


def all_cells(circuit: Mapping[str, Any], root: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return keys and numbers of trees of the circuit's root."""
    if not circuit["levels"]:
        return np.zeros(0, np.int64), np.zeros((0, 1), np.uint64)
    keys, values, starts, stops = (root[name] for name in ROOT)
    part = slice(int(starts[0]), int(stops[0]))
    return keys[part], values[part]


def belonging(parts: Parts) -> Iterator[str]:
    """Check one thing after another; say what was checked.

    Raises
    ------
    DataError
        With what does not fit, not as a whole sentence.
    """
    record = parts.profile.record
    yield from check_rows(record, parts.data, parts.space)
    question = _question(parts, record)
    yield "the circuit answers the question of the record: its space, metrics and formula"
    plan = _plan(parts.circuit, question)
    yield _check_cells(parts, plan)
    _check_metrics(parts.profile, plan)
    yield "the metrics are computed from the cells as their names say"


def check_rows(record: RunRecord, data: Data, space: Space) -> Iterator[str]:
    """Check that a record is about these rows and this space."""
    with recording(data, space, "fast", {}) as expected:
        pass
    _same("the rows", "fingerprint, names and counts", record.data, expected.data)
    yield f"the rows have the fingerprint of the record, {record.data['fingerprint']}"
    _same("the conventions", "space and rows", record.conventions, expected.conventions)
    yield "the conventions of the record follow from the space and the rows"


def _question(parts: Parts, record: RunRecord) -> Question:
    """Read the record's question, and find it in the circuit."""
    asked, circuit = record.question, parts.circuit
    try:
        with opened(
            parts.data, parts.space, {}, define=asked.get("define"), engine="auto", monitor=None
        ) as run:
            question = run.ask(where=asked.get("where"), metrics=tuple(asked["metrics"]))
    except ADTCError as error:
        raise DataError(f"the question of its record cannot be asked: {error}") from None
    question = narrowed(question)
    told = circuit["question"]
    for what, one, other in (
        ("formula", formula_to_json(question.constraint), told["constraint"]),
        ("metrics", [[n, term_to_json(t)] for n, t in question.metrics], told["metrics"]),
        ("axes", [axis.name for axis in question.axes], told["axes"]),
        ("space", space_to_json(question.space), circuit["space"]),
        ("cost", record.cell_scan, circuit["cell_scan"]),
        # a partial profile is exact for its own space, which is that of the circuit
        ("status", "exact", "exact" if record.status == "partial" else record.status),
        ("least values", run.record.details.get("extremes"), record.details.get("extremes")),
    ):
        if folded(one) != folded(other):
            raise DataError(f"the {what} of its record and of its circuit differ")
    return question


def _plan(circuit: Mapping[str, Any], question: Question) -> Plan:
    """Plan the question again: the axes must be those of the circuit."""
    stored = circuit["plan"]["axes"]
    for push in (True, False):
        plan = make_plan(question, push=push)
        axes = [
            [[a.form.name, a.form.per_leaf, a.form.weights], a.low, a.radix, a.stride]
            for a in plan.axes
        ]
        if _plain(axes) == stored:
            return plan
    raise DataError("the axes of its circuit are not those of its question")


def _check_cells(parts: Parts, plan: Plan) -> str:
    """Compare the cells with the root of the circuit."""
    profile = parts.profile
    keys, trees = all_cells(parts.circuit, parts.root)
    good = satisfied(plan.question.constraint, plan.lookup(keys), len(keys))
    order = key_order(keys[good])
    keys, trees = keys[good][order], trees[good][order]
    if profile.keys is None:
        raise DataError("its cells have no keys")
    places = slice(None) if np.array_equal(profile.keys, keys) else _places(profile.keys, keys)
    if len(profile.keys) < len(keys) and not parts.filtered:
        raise DataError(f"{len(keys) - len(profile.keys):,} cells of its circuit are missing")
    if plan.question.allowed.selective:  # which trees are left out, the circuit does not tell
        pairs = zip(counts_of(profile.trees), counts_of(trees[places]), strict=True)
        same = all(0 < some <= every for some, every in pairs)
    else:
        same = np.array_equal(profile.trees, trees[places])
    if not same:
        raise DataError("the numbers of trees in its cells and in its circuit differ")
    axes = AxisColumns(plan.axes, profile.keys)
    if list(axes) != list(profile.axes) or not all(
        np.array_equal(axes[name], profile.axes[name]) for name in axes
    ):
        raise DataError("the values in its cells are not those of its circuit")
    n = len(profile.keys)
    kept = "all" if n == len(keys) else f"filtered after the run, {n:,} of"
    return f"the cells are those of the circuit's root: {kept} {len(keys):,}"


def _places(some: Array, keys: Array) -> Array:
    """Find some keys among all, which ascend."""
    places = find_keys(keys, some)
    if (places < 0).any() or len(np.unique(places)) != len(some):
        raise DataError("its cells are not those of its circuit")
    return places


def _check_metrics(profile: Profile, plan: Plan) -> None:
    """Compare how metrics are computed with what their names say."""
    asked = {name: plan.over_axes(term) for name, term in plan.question.metrics}
    every = Profile(profile.axes, profile.trees, asked, profile.record)
    for name, term in profile.metrics.items():
        if name not in asked and _has_extremes(name):
            continue  # it was a value of the cells there were then
        try:
            expected = every.term(name)
        except ADTCError:
            raise DataError(f"its metric '{name}' is not among those asked for") from None
        if folded(term_to_json(term)) != folded(term_to_json(expected)):
            raise DataError(f"its metric '{name}' is computed in another way")


def _has_extremes(name: str) -> bool:
    seen: list[object] = []

    def find(call: object) -> Fraction:
        seen.append(call)
        return Fraction()

    settle(parse_term(name), find)
    return bool(seen)


def _same(what: str, of: str, told: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Compare plain values as they are written: 3 and np.int64(3) are the same."""
    for name in {**expected, **told}:
        if str(told.get(name)) != str(expected.get(name)):
            raise DataError(
                f"{what} in its record ({name}: {told.get(name)}) are not those that follow from "
                f"{of} ({expected.get(name)})"
            )


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=int))


def folded(saved: Any) -> Any:
    """Compute with the numbers in a saved term: what was a number may be read as a quotient."""
    if not isinstance(saved, list | tuple):
        return saved
    parts = [folded(part) for part in saved]
    numbers = [Fraction(p["number"]) for p in parts[1:] if isinstance(p, dict) and "number" in p]
    if not parts or parts[0] not in _ARITHMETIC or len(numbers) != len(parts) - 1:
        return parts
    if len(numbers) == 1:
        return {"number": str(-numbers[0])}
    a, b = numbers
    if parts[0] == "/":
        return {"number": str(a / b)} if b else parts
    return {"number": str({"+": a + b, "-": a - b, "*": a * b}[parts[0]])}
