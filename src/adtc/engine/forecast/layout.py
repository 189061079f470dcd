"""How an explanation is laid out as text: one heading per line, as databases print their plans."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adtc.engine.forecast.explanation import Comparison, Explanation

_WORD = 64
_SHOWN = 7  # levels written out


def explanation_text(e: "Explanation") -> str:
    """Write an explanation for people."""
    return _aligned(_lines(e))


def comparison_text(comparison: "Comparison") -> str:
    """Write estimates and what came out side by side."""
    rows = [("", "estimated", "actual")]
    for c in comparison.costs:
        estimated = "-" if c.estimated is None else _number(c.estimated)
        rows.append((c.what, estimated, _number(c.actual)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        f"{what.ljust(widths[0])}  {e.rjust(widths[1])}  {a.rjust(widths[2])}"
        for what, e, a in rows
    )


def _lines(e: "Explanation") -> list[tuple[str, str]]:
    """List what an explanation says, each line under its heading."""
    rare, twins = e.features - e.usable_features, e.usable_features - e.distinct_features
    name = {"fast": "fast", "spec": "specification"}[e.engine]
    lines = [
        ("engine", f"{name}: {e.reason}"),
        ("rows", f"{e.rows:,} in {e.row_groups} of {e.all_row_groups} groups told apart"),
        *((name, f"{rows:,} rows of a further table") for name, rows in e.tables),
        (
            "features",
            f"{e.distinct_features} of {e.features}: {rare} cannot split the table, {twins} "
            f"{'merge' if twins != 1 else 'merges'} with a twin",
        ),
        (
            "trees",
            f"depth at most {e.max_depth}, at least {e.min_rows_per_leaf:,} "
            f"row{'s'[: e.min_rows_per_leaf != 1]} per leaf, "
            f"{'any number of' if e.max_size is None else f'at most {e.max_size}'} leaves"
            + "".join(f", {part}" for part in e.tests),
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
    filtered = [f"{f.atom}  ({f.reason})" for f in e.filtered]
    lines += _under("at the end", filtered or ["nothing more"])
    lines += [("subproblems", _levels(e.subproblems))]
    if e.live is not None:
        lines += [("live", _levels(e.live))]
    if e.engine == "fast":
        lines += [("cells", _cells(e))]
    if e.key_bits is not None:
        lines += [("index", f"{e.key_bits} bits")]
    words = -(-e.number_bits // _WORD)
    lines += [("numbers", f"at most {_number(e.number_bits)} bits ({_number(words)} x {_WORD})")]
    if e.memory is not None:
        tensors = ", tensors on top" if e.tensor_memory is None else ""
        more = "" if e.tensor_memory is None else f", {_size(e.tensor_memory)} for the tensors"
        lines += [("memory", f"about {_size(e.memory)} for the subproblems{more}{tensors}")]
    about = "more than" if e.engine == "fast" and e.cells is None else "about"
    lines += [("time", f"{about} {time_in_words(e.seconds)} on one thread")]
    lines += [("status", _status(e))]
    if e.refusal is not None:
        lines += [("refused", e.refusal)]
    lines += _under("would fit" if e.cells == 1 else "cheaper", e.advice)
    return lines


def _cells(e: "Explanation") -> str:
    """Write how many cells the result has."""
    if e.most_cells is None:
        return "not estimated: that would take long"
    if e.cells is None:
        return f"at most {_about(e.most_cells)}"
    if e.most_cells == 1 and not e.axes:
        return "1: a number"
    trees = "" if e.trees is None else f" for {_about(e.trees)} trees"
    if e.tried:
        return f"{_number(round(e.cells))}{trees}: it was tried, which took a moment"
    return f"about {_about(e.cells)}{trees}, at most {_about(e.most_cells)}"


def _status(e: "Explanation") -> str:
    """Write what kind of answer there would be."""
    match e.status:
        case "exact":
            return "exact"
        case "partial":
            return (
                "partial: it does not fit the limits, so the deepest depth that fits would be "
                "counted exactly, and trees drawn as deep as time allows"
            )
        case "estimated":
            return (
                "estimated: it does not fit the limits, so trees of the asked depth would be drawn "
                "first, and then the deepest depth that fits counted exactly"
            )
        case "unknown":
            return "unknown: how large its tensors are was not foreseen, so it may not fit"
    return "none: it would be refused; with a limit, or --estimated, it is answered in part"


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


def _about(n: float) -> str:
    """Write an estimate with two digits."""
    if n < 100:  # noqa: PLR2004
        return str(round(n))
    if not math.isfinite(n):
        return "more than 10^308"
    return _number(n if n >= 1e15 else round(round(n, 1 - math.floor(math.log10(n)))))  # noqa: PLR2004


def _size(size: int) -> str:
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= 10 * unit:
            return f"{_number(size // unit)} {name}"
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def time_in_words(seconds: float) -> str:
    """Write a time for people, in the unit that suits it."""
    for unit, name in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{_number(round(seconds / unit))} {name}"
    return f"{seconds:.2g} s"
