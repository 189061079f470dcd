"""The command about variables: which columns good trees need, and what the others cost."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.options import FILE, OUTPUT, Option
from adtc.cli.output import Answer, Line
from adtc.cli.profiling import check_picture, picture
from adtc.cli.sources import opened_and_read, source_command

if TYPE_CHECKING:
    from adtc.cli.sources import Opened
    from adtc.engine.monitor import Monitor
    from adtc.profiles import Profile
    from adtc.profiles.reliance import RelianceRange, RelianceRanges
    from adtc.profiles.variables import Variables


@source_command(
    Option("--reliance", is_flag=True,
           help="Also tell the least and the largest model reliance on each column, e_switch / "
                "e_orig over the n(n - 1) pairs of rows, among the good trees with errors."),
    picture("Draw the share of good trees that use each variable: .png, .svg or .pdf."),
    Option("--reliance-plot", metavar="FILE", type=FILE, section=OUTPUT,
           help="Draw the range of reliance on each column, with the good trees by their reliance "
                "inside: .png, .svg or .pdf."),
    Option("--reliance-of", metavar="COLUMN",
           help="With --reliance-plot, draw the errors of all good trees against their reliance on "
                "this column instead."),
    example="adtc variables german-credit --relminsup 0.2 --where 'acc >= 0.72'",
)  # fmt: skip
def variables(
    asked: Asked, *, reliance: bool, plot: Path | None, reliance_plot: Path | None,
    reliance_of: str | None,
) -> Answer:  # fmt: skip
    """Tell which columns the good trees need, may use, and can do without."""
    check_picture(plot, asked.table)
    check_picture(reliance_plot, asked.table, "--reliance-plot")
    _check_of(reliance_of, reliance_plot)
    source, found = opened_and_read(asked, lambda data: ["error", "size"], _read)
    number = source.number(found.total)
    numbers, refused = asked.beside(lambda monitor: _by_number(found)) or (None, text.NOT_FOUND)
    nearest, near = source.nearest_report(asked) if number.upper == 0 else ({}, [])
    if asked.beside(lambda monitor: found.costs) is None:
        found.left_out = text.NOT_FOUND
    wanted = reliance or (reliance_plot is not None and reliance_of is None)
    ranges, lost = None, False
    if wanted and found.total:
        ranges = asked.beside(lambda monitor: _reliance(asked, source, monitor))
        lost = ranges is None
    if plot is not None:
        found.plot().save(plot)
    if reliance_plot is not None and not lost:
        lost = not _draw_reliance(asked, source, ranges, reliance_of, reliance_plot)
    drawn = None if lost else reliance_plot
    files = [str(path) for path in (plot, drawn) if path is not None]
    told_ranges = ranges if reliance and ranges is not None else ()
    return Answer(
        {
            **_with_reliance(found.to_json(), told_ranges),
            "by_number": numbers,
            **({"by_number_refused": refused} if refused else {}),
            **({"reliance_refused": text.NOT_FOUND} if lost else {}),
            **nearest,
            **source.json(),
        },
        [
            text.answer(number, found.status),
            *text.limit_lines(source.profile.record),
            *near,
            *(_lines(found, numbers, refused) if found.total else []),
            *_reliance_lines(told_ranges),
            *([Line(""), Line(f"model reliance: {text.NOT_FOUND}")] if lost else []),
            *text.files(files),
            *source.footer(),
        ],
    )


def _read(made: "Profile", monitor: "Monitor") -> "Variables":
    """Find what the answer cannot do without."""
    found = made.variables(monitor=monitor)
    assert found.minimal_sets is not None  # found now, while there is time
    return found


def _reliance(asked: Asked, source: "Opened", monitor: "Monitor") -> "RelianceRanges":
    """Find the range of reliance on every column, among the trees that were asked for."""
    import adtc
    from adtc.errors import QueryError

    if source.data is not None:
        depth = source.profile.record.conventions["max_depth"]  # that of the variables
        space = replace(asked.space(), max_depth=depth)
        options: dict[str, Any] = {"define": asked.define, "engine": asked.engine}
        return adtc.reliance(source.data, space, asked.where, **options, monitor=monitor)
    of, own = source.profile.need_source("reliance"), source.profile.record.question
    if source.where is not None and ("least(" in source.where or "largest(" in source.where):
        raise QueryError(
            "with --reliance, write the value of least(...) as a number: in a saved profile it is "
            "that of its trees, and reliance is computed from the table again."
        )
    parts = [f"({part})" for part in (own.get("where"), source.where) if part is not None]
    where, define = " and ".join(parts) or None, own.get("define")
    return adtc.reliance(of.data, of.space, where, define=define, monitor=monitor)


def _check_of(column: str | None, plot: Path | None) -> None:
    from adtc.errors import QueryError

    if column is not None and plot is None:
        raise QueryError("--reliance-of says what to draw: give --reliance-plot FILE, too.")


def _draw_reliance(
    asked: Asked, source: "Opened", ranges: "RelianceRanges | None", column: str | None, path: Path
) -> bool:
    """Draw the ranges of all columns, or the errors against the reliance on one, if they fit."""
    from adtc.profiles.reliance import RelianceRanges

    if column is None:
        (RelianceRanges() if ranges is None else ranges).plot().save(path)
    else:
        chosen = asked.beside(lambda monitor: source.profile.reliance(column, where=source.where))
        if chosen is None:
            return False
        chosen.plot().save(path)
    return True


def _with_reliance(fields: dict[str, Any], ranges: "Sequence[RelianceRange]") -> dict[str, Any]:
    by_name = {one.column: one.to_json() for one in ranges}
    keys = ("min", "max", "min_exact", "max_exact")
    for variable in fields["variables"]:
        if variable["name"] in by_name:
            variable["reliance"] = {key: by_name[variable["name"]][key] for key in keys}
    return fields


def _reliance_lines(ranges: "Sequence[RelianceRange]") -> list[Line]:
    """Write one line per column, the largest reliance first."""
    from adtc.profiles.writing import aligned, approximate

    if not ranges:
        return []
    rows = [
        [one.column, approximate(one.min), approximate(one.max)]
        for one in sorted(ranges, key=lambda one: -(one.max or 0))
    ]
    head = ["model reliance", "least", "largest"]
    return [Line(""), *(Line(line) for line in aligned([head, *rows]).splitlines())]


def _by_number(found: "Variables") -> tuple[dict[str, int] | None, str | None]:
    """Count trees by the number of variables, or say why that is refused."""
    from adtc.errors import TooLargeError

    try:
        return {str(n): trees for n, trees in found.by_number.items()}, None
    except TooLargeError as error:
        return None, str(error)


def _lines(found: "Variables", numbers: Any, refused: str | None) -> list[Line]:
    body = [Line(line) for line in ["", *str(found).splitlines(), ""]]
    if refused:
        return [*body, Line(f"good trees by number of variables: {refused}")]
    parts = ", ".join(f"{trees:,} with {n}" for n, trees in numbers.items())
    return [*body, Line(f"good trees by number of variables: {parts}")]
