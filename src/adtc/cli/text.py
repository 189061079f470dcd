"""The words in which people read an answer: numbers, trees, conventions."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adtc.cli.output import Line

if TYPE_CHECKING:
    from adtc.algebra.trees import Tree
    from adtc.data import Data
    from adtc.engine.limits.bracket import Bracket
    from adtc.engine.record import RunRecord

LONGEST = 60  # digits that a person may still want to see
SHORT = 15  # characters of a fraction that still tell a person something
Value = Fraction | int | None
NOT_FOUND = "not found within the limits"
ENGINES = {"spec": "specification"}  # by the name that a record has; others are words already


def trees(count: int) -> str:
    """Write a number of trees.

    Examples
    --------
    >>> trees(17390), trees(1)
    ('17,390 trees', '1 tree')
    >>> trees(10**100)
    'about 1.000e+100 trees (--json prints all 101 digits)'
    """
    digits = str(count)
    if len(digits) <= LONGEST:
        return f"{count:,} {'tree' if count == 1 else 'trees'}"
    leading = Fraction(int(digits[:8]), 10**7)
    about = f"about {float(leading):.3f}e+{len(digits) - 1}"
    return f"{about} trees (--json prints all {len(digits):,} digits)"


def answer(count: "int | Bracket", status: str, more: str = "") -> Line:
    """Write a number of trees as the first line of an answer.

    Examples
    --------
    >>> answer(2, "exact").text, answer(0, "exact", " in 0 cells").text
    ('2 trees (exact)', '0 trees in 0 cells (exact): no tree exists')
    >>> from adtc.engine.limits.bracket import Bracket
    >>> answer(Bracket(17390, 10**9, finished="depth at most 2"), "partial").text
    'between 17,390 and 1,000,000,000 trees (partial: the first is exact for depth at most 2)'
    """
    if not isinstance(count, int) and count.status != "exact":
        return Line(_range(count, more), "bold")
    count = int(count)
    none = "" if count else ": no tree exists"
    return Line(f"{trees(count)}{more} ({status}){none}", "bold")


def table_answer(count: "int | Bracket", status: str, x: str, y: str) -> Line:
    """Write a number of trees as the first line of a cross-table, whose status may be another.

    Examples
    --------
    >>> table_answer(2, "exact", "acc", "dp").text
    '2 trees by acc in rows and dp in columns (exact)'
    >>> table_answer(2, "bounded", "acc", "dp").text
    '2 trees (exact) by acc in rows and dp in columns (bounded)'
    """
    head = f" by {x} in rows and {y} in columns"
    exact = isinstance(count, int) or count.status == "exact"
    if exact and status != "exact" and int(count):
        return Line(f"{trees(int(count))} (exact){head} ({status})", "bold")
    return answer(count, "exact" if exact else status, head)


def _range(count: "Bracket", more: str) -> str:
    """Write what is known about a number of trees."""
    if (drawn := count.estimate) is not None:
        low, high = drawn.low.__floor__(), drawn.high.__ceil__()
        return (
            f"about {trees(round(drawn.value))}{more} (estimated: {drawn.confidence:.0%} sure "
            f"between {_digits(low)} and {_digits(high)}, {drawn.draws:,} draws, seed {drawn.seed})"
        )
    lower, upper = (None if end is None else int(end) for end in (count.lower, count.upper))
    first = f": the first is exact for {count.finished}" if count.finished else ""
    if upper is None:
        first = first.replace("the first is ", "")
        return f"at least {trees(lower or 0)}{more} ({count.status}{first})"
    return f"between {_digits(lower or 0)} and {trees(upper)}{more} ({count.status}{first})"


def _digits(count: int) -> str:
    return trees(count).split(" tree")[0]


def limit_lines(record: "RunRecord") -> list[Line]:
    """Say what stopped a run and how to go on, if something did."""
    kinds = (("stopped", "stopped"), ("to go on", "advice"))
    return [
        Line(f"{name}: {record.details[key]}") for name, key in kinds if record.details.get(key)
    ]


def number(value: Value) -> str:
    """Write a metric's value, ratios with their exact form where it is short.

    Examples
    --------
    >>> number(Fraction(2, 3)), number(7), number(None)
    ('0.6667 (2/3)', '7', 'undefined')
    """
    if value is None:
        return "undefined"
    if value.denominator == 1:
        return str(int(value))
    exact = f"{value.numerator}/{value.denominator}"
    return f"{float(value):.4f}" + (f" ({exact})" if len(exact) <= SHORT else "")


def metric_line(metrics: Mapping[str, Value]) -> Line:
    """Write several metrics on one line."""
    return Line(", ".join(f"{name} = {number(value)}" for name, value in metrics.items()))


def rule_lines(tree: "Tree", data: "Data") -> list[Line]:
    """Write a tree as if/then rules, each with the rows that reach its leaf."""
    from adtc.models import TreeModel

    return [Line(f"  {rule.text}", "cyan") for rule in TreeModel(tree, data).rules()]


def footer(record: "RunRecord", saved: str | None = None, where: str | None = None) -> list[Line]:
    """Say of what and under which conventions the answer holds, and how long it took.

    Parameters
    ----------
    saved
        The file that the answer was read from: it took no time to speak of.
    where
        What was asked on top of the record's own formula.
    """
    about = [f"{what}: {text}" for what, text in _about(record)]
    if saved is not None:
        about[-1:] = [f"where: {where}"] if where else []
        about.append(f"profile: {saved}")
    return [Line(""), *(Line(text, "dim") for text in about)]


def _about(record: "RunRecord") -> Sequence[tuple[str, str]]:
    from adtc.engine.allowed import tests_in_words

    data, space = record.data, record.conventions
    table = f"{data['name']}, {data['rows']:,} rows, {data['features']} features"
    target = f"target {data['target']} ({_list(data['labels'])})"
    groups = f"sensitive {data['sensitive']} ({_list(data['groups'])})" if data["groups"] else ""
    size = f", at most {space['max_size']} leaves" if space["max_size"] is not None else ""
    rows = space["min_rows_per_leaf"]
    share = space.get("min_leaf_share", 0)
    own = f", at least {share} of its rows" if Fraction(str(share)) else ""
    trivial = "count" if space["trivial_splits"] else "are left out"
    where = record.question.get("where")
    return [
        ("table", ", ".join(filter(None, (table, target, groups)))),
        *((further["name"], _further(further)) for further in data.get("tables", ())),
        (
            "trees",
            f"depth at most {space['max_depth']}{size}, at least {rows:,} row{'s'[: rows != 1]} "
            f"per leaf, {space['labels']} label on a leaf{own}, trivial splits {trivial}"
            f"{''.join(f', {part}' for part in tests_in_words(space))}; {space['trees']}",
        ),
        *([("where", where)] if where else []),
        *(("of all trees", text) for text in _extremes(record)),
        (
            "time",
            f"{record.seconds:.2f} s, {ENGINES.get(record.engine, record.engine)} engine, "
            f"{record.cell_scan:,} cells scanned",
        ),
    ]


def _further(table: Mapping[str, Any]) -> str:
    """Describe a further table in a few words."""
    return "; ".join([f"{table['rows']:,} rows", *table.get("notes", ())])


def _extremes(record: "RunRecord") -> list[str]:
    """Tell the least and largest values that a formula refers to."""
    found = record.details.get("extremes", {})
    return [
        f"{name} = {number(None if text is None else Fraction(text))}"
        for name, text in found.items()
    ]


def _list(values: Sequence[str]) -> str:
    shown = ", ".join(map(str, values[:8]))
    return shown + (", …" if len(values) > 8 else "")  # noqa: PLR2004


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Line]:
    """Align cells under their heads."""
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(c.ljust(w) for c, w in zip(cells, widths, strict=True)).rstrip()

    return [Line(line(head), "bold"), *(Line(line(row)) for row in rows)]


def files(paths: Sequence[str]) -> list[Line]:
    """Name the files that were written."""
    return [Line(""), Line(f"written: {', '.join(paths)}", "bold")] if paths else []


def file_size(size: int) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> file_size(1), file_size(1500), file_size(3_961_052)
    ('1 bytes', '1.5 kB', '4.0 MB')
    """
    for unit, worth in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= worth:
            return f"{size / worth:.1f} {unit}"
    return f"{size} bytes"
