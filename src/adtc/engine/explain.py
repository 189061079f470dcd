"""What a question will cost, before anything runs: the query plan in the words of the question.

`explain` plans and looks at single features, no more; `analyze` then runs the question and sets
what came out beside what was foreseen.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from adtc.algebra.affine import Affine
from adtc.algebra.formula import And, Formula, Truth, parse
from adtc.algebra.metrics import DEPTH
from adtc.algebra.semirings import COUNT
from adtc.data import Data
from adtc.engine import answers
from adtc.engine.lattice import distinct_features
from adtc.engine.monitor import Monitor
from adtc.engine.narrow import absorbed, narrowed
from adtc.engine.plan import Form, Plan, conjuncts, make_plan
from adtc.engine.query import Definitions, Question, Space, ask
from adtc.engine.record import RunRecord, recording
from adtc.engine.switches import Switches

# Measured on the bundled tables, on one thread; see `Explanation.seconds`.
SECONDS_PER_SUBPROBLEM = {"fast": 8e-6, "spec": 5e-5}
SECONDS_TO_START = {"fast": 0.5, "spec": 0.0}  # loading compiled kernels, preparing the table
_CLOSED = 2  # levels above the leaves that the fast engine takes in one step
_WORD = 64
_SHOWN = 7  # levels written out


@dataclass(frozen=True, slots=True)
class AxisRange:
    """An axis of the tensor with its least and largest value; None where it is not known."""

    name: str
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class PushedAtom:
    """An atom of the constraint, and the bounds that it becomes inside the computation.

    Parameters
    ----------
    idle
        The bounds that change nothing: every tree meets them, or another atom's is tighter.
    """

    atom: str
    bounds: tuple[str, ...]
    idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a question will be answered; ``print`` it, or take its fields.

    Parameters
    ----------
    engine, reason
        Which engine answers, and why.
    features, usable_features, distinct_features
        All features; those that can split the table at all; those left when twins are merged.
    row_groups, all_row_groups
        Kinds of rows that the question tells apart, of those that the table has.
    pushed, filtered
        Atoms of the constraint that cut the computation short, and those only checked at the end.
    subproblems
        Paths per level. The fast engine goes to two levels above the leaves and takes unordered
        paths; the specification engine takes sequences of tests, down to the leaves.
    key_bits, number_bits
        Width of a packed index, and a width that surely holds every count.
    memory
        Bytes of the fast engine's table of subproblems, tensors not included.
    seconds
        A rough estimate: a fixed time to start and one for each subproblem, as measured on the
        bundled tables. Tensors come on top; how large they grow shows only in the run.
    """

    engine: Literal["fast", "spec"]
    reason: str
    rows: int
    features: int
    usable_features: int
    distinct_features: int
    row_groups: int
    all_row_groups: int
    max_depth: int
    min_rows_per_leaf: int
    max_size: int | None
    axes: tuple[AxisRange, ...]
    pushed: tuple[PushedAtom, ...]
    filtered: tuple[str, ...]
    subproblems: tuple[int, ...]
    key_bits: int | None
    number_bits: int
    memory: int | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values."""
        return asdict(self)

    def compared_with(self, record: RunRecord) -> "Comparison":
        """Set what a run needed beside what was foreseen."""
        live = record.details.get("live_subproblems", ())
        levels = tuple(
            Compared(f"live subproblems, level {level}", most, int(found))
            for level, (most, found) in enumerate(zip(self.subproblems, live, strict=False))
        )
        return Comparison(
            (
                *levels,
                Compared("cell_scan", None, record.cell_scan),
                Compared("num_cells", None, record.num_cells),
                Compared("seconds", self.seconds, round(record.seconds, 3)),
            )
        )

    def __str__(self) -> str:
        return _aligned(_lines(self))


@dataclass(frozen=True, slots=True)
class Compared:
    """One cost as foreseen (None: not foreseeable) and as found."""

    what: str
    estimated: float | None
    actual: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a run needed beside what was foreseen."""

    costs: tuple[Compared, ...]

    def to_json(self) -> list[dict[str, Any]]:
        """Return the comparison as plain JSON values."""
        return [asdict(cost) for cost in self.costs]

    def __str__(self) -> str:
        rows = [("", "estimated", "actual")]
        for c in self.costs:
            estimated = "-" if c.estimated is None else _number(c.estimated)
            rows.append((c.what, estimated, _number(c.actual)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            f"{what.ljust(widths[0])}  {e.rjust(widths[1])}  {a.rjust(widths[2])}"
            for what, e, a in rows
        )


def explain(
    data: Data,
    space: Space,
    where: answers.Where = None,
    metrics: Sequence[str] = (),
    define: Definitions | None = None,
    *,
    engine: answers.Engine = "auto",
) -> Explanation:
    """Say how a question would be answered, and what it would cost, without answering it.

    Parameters
    ----------
    where
        The constraint φ; None admits every tree.
    metrics
        Metrics by which trees are to be told apart, as in `model_tensor`; none for `count`.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit")
    >>> plan = adtc.explain(data, adtc.Space(max_depth=4, relminsup=0.15), where="acc >= 0.72")
    >>> plan.engine, plan.distinct_features, plan.subproblems
    ('fast', 42, (1, 84, 3444))
    >>> plan.pushed[0].atom, plan.pushed[0].bounds
    ('acc >= 0.72', ('error <= 280',))
    """
    question = ask(data, space, semiring=COUNT, metrics=metrics, where=where, define=define)
    told = parse(where) if isinstance(where, str) else where or Truth(True)
    fast, constraint = answers.takes_fast(engine, question), question.constraint
    if fast:
        question = narrowed(question)
        space = question.space
    features = distinct_features(data, question.minsup)
    usable, distinct = int(features.multiplicity.sum()), len(features.twins)
    groups = sum(n > 0 for n in question.schema.totals.values())
    if fast:
        plan = make_plan(question)
        pushed, filtered = _pushed(plan, told, constraint)
        levels = min(max(0, space.max_depth - _CLOSED), distinct)
        subproblems = tuple(math.comb(distinct, k) << k for k in range(levels + 1))
        entry = len(plan.groups) * (4 if data.total < 2**30 else 8) + len(plan.budgets) * 12 + 1
        details: dict[str, Any] = {
            "engine": "fast",
            "row_groups": len(plan.groups),
            "axes": tuple(_axis(plan, at) for at in range(len(plan.axes))),
            "pushed": pushed,
            "filtered": filtered,
            "subproblems": subproblems,
            "key_bits": (math.prod(axis.radix for axis in plan.axes) - 1).bit_length(),
            "memory": sum(subproblems) * entry,
        }
    else:
        n, deepest = data.n_features, min(space.max_depth, data.n_features)
        subproblems = tuple(math.perm(n, k) << k for k in range(deepest + 1))
        details = {
            "engine": "spec",
            "row_groups": groups,
            "axes": tuple(AxisRange(axis.name, None, None) for axis in question.axes),
            "pushed": (),
            "filtered": () if told == Truth(True) else tuple(map(str, _parts(told))),
            "subproblems": subproblems,
            "key_bits": None,
            "memory": None,
        }
    return Explanation(
        reason=_reason(engine, question),
        rows=data.total,
        features=data.n_features,
        usable_features=usable,
        distinct_features=distinct,
        all_row_groups=groups,
        max_depth=space.max_depth,
        min_rows_per_leaf=question.minsup,
        max_size=space.max_size,
        seconds=_seconds(details["engine"], details["subproblems"]),
        number_bits=_bits_of_all_trees(space.max_depth, usable, question.schema.labels),
        **details,
    )


def analyze(
    data: Data,
    space: Space,
    where: answers.Where = None,
    metrics: Sequence[str] = (),
    define: Definitions | None = None,
    *,
    engine: answers.Engine = "auto",
    monitor: Monitor | None = None,
) -> tuple[Explanation, RunRecord]:
    """Explain a question, run it, and return the explanation with the record of the run.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0])
    >>> plan, record = analyze(data, adtc.Space(max_depth=2), where="acc >= 0.75")
    >>> record.engine, record.details["live_subproblems"]
    ('fast', [1])
    """
    explanation = explain(data, space, where, metrics, define, engine=engine)
    asked = {
        "ask": "analyze",
        "metrics": list(metrics) or None,
        "where": None if where is None else str(where),
    }
    with recording(data, space, engine, asked) as record:
        question = ask(data, space, semiring=COUNT, metrics=metrics, where=where, define=define)
        if explanation.engine == "fast":
            result = answers.run_fast(question, data, Switches(), monitor, record)
            record.details["live_subproblems"] = list(result.circuit.outside.live_paths)
        else:
            answers.good_cells(question, data, record)
    return explanation, record


def _reason(engine: str, question: Question) -> str:
    if engine != "auto":
        return "it was asked for"
    for axis in narrowed(question).axes:
        if axis.functional is None and axis.public and axis is not DEPTH:
            return f"the metric '{axis.name}' does not add up over leaves"
    return "every metric needed adds up over leaves"


def _seconds(engine: str, subproblems: Sequence[int]) -> float:
    return SECONDS_TO_START[engine] + SECONDS_PER_SUBPROBLEM[engine] * sum(subproblems)


def _parts(formula: Formula) -> Iterable[Formula]:
    """Yield the members of a conjunction, nested ones too."""
    if not isinstance(formula, And):
        yield formula
        return
    for part in formula.parts:
        yield from _parts(part)


def _pushed(
    plan: Plan, told: Formula, constraint: Formula
) -> tuple[tuple[PushedAtom, ...], tuple[str, ...]]:
    """Read off which atoms became bounds; ``told`` is the constraint in the user's words.

    Replacing metrics by their definitions keeps the shape of a formula, so the user's atoms and
    those of the plan come in the same order.
    """
    kept = {(budget.source, budget.limit) for budget in plan.budgets}
    pushed: list[PushedAtom] = []
    filtered: list[str] = []
    for words, meaning in zip(_parts(told), _parts(constraint), strict=True):
        links = list(zip(conjuncts(words), conjuncts(meaning), strict=True))
        if not links and words != Truth(True):
            filtered.append(str(words))
        for (_, text), (atom, source) in links:
            bounds = [
                (_bound(plan, form, limit), (source, limit) in kept)
                for form, limit in plan.reader.bounds(atom)
            ]
            narrows = absorbed(*atom)
            if narrows is not None:
                pushed.append(PushedAtom(text, (_of_space(*narrows),), ()))
            elif bounds:
                used = tuple(bound for bound, is_used in bounds if is_used)
                idle = tuple(bound for bound, is_used in bounds if not is_used)
                pushed.append(PushedAtom(text, used, idle))
            else:
                filtered.append(text)
    return tuple(pushed), tuple(filtered)


def _of_space(name: str, limit: int) -> str:
    return f"{name} {'<=' if name == DEPTH.name else '>='} {limit} of the space"


def _axis(plan: Plan, at: int) -> AxisRange:
    """Name an axis and its values, in terms of a metric where it is one up to a constant."""
    form, axis = plan.basis[at], plan.axes[at]
    low, high = axis.low, axis.low + axis.radix - 1
    name, scale, constant = _metric(plan, form)
    ends = sorted((int(scale * low + constant), int(scale * high + constant)))
    return AxisRange(name, *ends)


def _bound(plan: Plan, form: Form, limit: int) -> str:
    """Write a bound so that it may be asked as a constraint of its own."""
    name, scale, constant = _metric(plan, form)
    return f"{name} {'<=' if scale > 0 else '>='} {int(scale * limit + constant)}"


def _metric(plan: Plan, form: Form) -> tuple[str, Fraction, Fraction]:
    """Find a metric = scale · form + constant; failing that, write the form itself out."""
    opposite = tuple(-c for c in form.vector())
    for name in sorted(plan.reader.primitives):
        metric = Affine({name: Fraction(1)}, Fraction())
        if plan.reader.form(metric).vector() in (form.vector(), opposite):
            (scale,), constant = plan.reader.over(metric, [form])
            return name, scale, constant
    return _written_out(plan, form), Fraction(1), Fraction()


def _written_out(plan: Plan, form: Form) -> str:
    """Write a form as a sum of counts N[true, predicted, group] of whole trees."""
    weights: dict[str, int] = {"size": form.per_leaf} if form.per_leaf else {}
    for label in range(1, plan.question.schema.labels):
        cells: dict[tuple[int, int], int] = {}
        for key, weight in zip(plan.reader.keys, form.weights[label], strict=True):
            if cells.setdefault((key.y, key.z), weight) != weight:
                return form.name  # references tell rows apart that N does not
        if len(set(cells.values())) == 1:
            weights[f"N[*,{label}]"] = next(iter(cells.values()))
            continue
        by_truth = {y: {w for (v, _), w in cells.items() if v == y} for y, _ in cells}
        by_group = {z: {w for (_, v), w in cells.items() if v == z} for _, z in cells}
        if all(len(found) == 1 for found in by_truth.values()):
            weights |= {f"N[{y},{label}]": min(found) for y, found in by_truth.items()}
        elif all(len(found) == 1 for found in by_group.values()):
            weights |= {f"N[*,{label},{z}]": min(found) for z, found in by_group.items()}
        else:
            weights |= {f"N[{y},{label},{z}]": w for (y, z), w in cells.items()}
    terms = [name if w == 1 else f"{w}·{name}" for name, w in weights.items() if w]
    return " + ".join(terms).replace("+ -1·", "- ").replace("+ -", "- ")


def _bits_of_all_trees(depth: int, features: int, labels: int) -> int:
    """Bound the width of any count by that of all trees: c(Δ, n) = |L| + n · c(Δ − 1, n − 1)².

    In logarithms, since the number itself doubles its length with every level.
    """
    logarithm = math.log2(labels)
    for n in range(features - min(depth, features) + 1, features + 1):
        squared = math.log2(n) + 2 * logarithm
        logarithm = squared + math.log2(1 + labels * 2.0**-squared)
        if not math.isfinite(logarithm):
            break
    return math.floor(logarithm * (1 + 1e-12) + 1e-9) + 1


def _lines(e: Explanation) -> list[tuple[str, str]]:
    """List what an explanation says, each line under its heading."""
    rare, twins = e.features - e.usable_features, e.usable_features - e.distinct_features
    name = {"fast": "fast", "spec": "specification"}[e.engine]
    lines = [
        ("engine", f"{name}: {e.reason}"),
        ("rows", f"{e.rows:,} in {e.row_groups} of {e.all_row_groups} groups told apart"),
        (
            "features",
            f"{e.distinct_features} of {e.features}: {rare} cannot split the table, {twins} "
            f"{'merge' if twins != 1 else 'merges'} with a twin",
        ),
        (
            "trees",
            f"depth at most {e.max_depth}, at least {e.min_rows_per_leaf:,} "
            f"row{'s'[: e.min_rows_per_leaf != 1]} per leaf, "
            f"{'any number of' if e.max_size is None else f'at most {e.max_size}'} leaves",
        ),
    ]
    width = max((len(axis.name) for axis in e.axes), default=0)
    axes = [
        axis.name
        if axis.low is None or axis.high is None
        else f"{axis.name.ljust(width)}  {axis.low:,} to {axis.high:,}"
        for axis in e.axes
    ]
    lines += _under("axes", axes or ["none: one number answers the question"])
    width = max((len(pushed.atom) for pushed in e.pushed), default=0)
    pushed = [
        f"{(p.atom if at == 0 else '').ljust(width)}  ->  {bound}"
        for p in e.pushed
        for at, bound in enumerate([*p.bounds, *(f"{b} (changes nothing)" for b in p.idle)])
    ]
    lines += _under("pushed", pushed or ["nothing"])
    lines += _under("at the end", list(e.filtered) or ["nothing more"])
    lines += [("subproblems", _levels(e.subproblems))]
    if e.key_bits is not None:
        lines += [("index", f"{e.key_bits} bits")]
    words = -(-e.number_bits // _WORD)
    lines += [("numbers", f"at most {_number(e.number_bits)} bits ({_number(words)} x {_WORD})")]
    if e.memory is not None:
        lines += [("memory", f"about {_size(e.memory)} for the subproblems, tensors on top")]
    start, rate = SECONDS_TO_START[e.engine], SECONDS_PER_SUBPROBLEM[e.engine] * 1e6
    rough = f"rough: {f'{start:g} s and ' if start else ''}{rate:.0f} µs per subproblem"
    lines += [("time", f"about {_time(e.seconds)}, tensors on top ({rough})")]
    return lines


def _levels(subproblems: Sequence[int]) -> str:
    """Write the sizes of the levels as a sum; of many, the first and the last."""
    shown = [_number(n) for n in subproblems]
    if len(shown) > _SHOWN:
        shown = [*shown[: _SHOWN - 1], "...", shown[-1]]
    return f"{' + '.join(shown)} (levels 0 to {len(subproblems) - 1})"


def _under(heading: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Put several texts under one heading."""
    return [(heading if at == 0 else "", text) for at, text in enumerate(texts)]


def _aligned(lines: Sequence[tuple[str, str]]) -> str:
    width = max(len(heading) for heading, _ in lines)
    return "\n".join(f"{heading.ljust(width)}  {text}" for heading, text in lines)


def _number(n: float) -> str:
    """Write a number for people: whole with commas, very large ones by their order."""
    if n >= 1e15:  # noqa: PLR2004
        return f"10^{math.log10(n):.1f}"
    return f"{n:,}" if isinstance(n, int) else f"{n:,.2f}"


def _size(size: int) -> str:
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= 10 * unit:
            return f"{_number(size // unit)} {name}"
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def _time(seconds: float) -> str:
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{_number(round(seconds / unit))} {name}"
    return f"{seconds:.2g} s"
