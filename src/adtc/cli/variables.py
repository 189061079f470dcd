"""The command about variables: which columns good trees need, and what the others cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.options import FILE, OUTPUT, Option
from adtc.cli.output import Answer, Line
from adtc.cli.profiling import check_picture, picture
from adtc.cli.sources import opened, source_command

if TYPE_CHECKING:
    from adtc.cli.sources import Opened
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
    source = opened(asked, lambda data: ["error", "size"])
    found = asked.under_limits(
        lambda monitor: source.profile.variables(source.where, monitor=monitor)
    )
    asked.under_limits(lambda monitor: (found.least_errors, found.minimal_sets))
    numbers, refused = asked.under_limits(lambda monitor: _by_number(found))
    wanted = reliance or (reliance_plot is not None and reliance_of is None)
    ranges = _reliance(asked, source) if wanted and found.total else None
    if plot is not None:
        found.plot().save(plot)
    if reliance_plot is not None:
        _draw_reliance(asked, source, ranges, reliance_of, reliance_plot)
    files = [str(path) for path in (plot, reliance_plot) if path is not None]
    told_ranges = ranges if reliance and ranges is not None else ()
    nearest, near = ({}, []) if found.total else source.nearest_report(asked)
    return Answer(
        {
            **_with_reliance(found.to_json(), told_ranges),
            "by_number": numbers,
            **({"by_number_refused": refused} if refused else {}),
            **nearest,
            **source.json(),
        },
        [
            text.answer(found.total, found.status),
            *near,
            *(_lines(found, numbers, refused) if found.total else []),
            *_reliance_lines(told_ranges),
            *text.files(files),
            *source.footer(),
        ],
    )


def _reliance(asked: Asked, source: "Opened") -> "RelianceRanges":
    """Find the range of reliance on every column, among the trees that were asked for."""
    import adtc
    from adtc.errors import QueryError

    if source.data is not None:
        return asked.answer(adtc.reliance, source.data, asked.space(), asked.where)
    of, own = source.profile.need_source("reliance"), source.profile.record.question
    if source.where is not None and ("least(" in source.where or "largest(" in source.where):
        raise QueryError(
            "with --reliance, write the value of least(...) as a number: in a saved profile it is "
            "that of its trees, and reliance is computed from the table again."
        )
    parts = [f"({part})" for part in (own.get("where"), source.where) if part is not None]
    where, define = " and ".join(parts) or None, own.get("define")
    return asked.under_limits(
        lambda monitor: adtc.reliance(of.data, of.space, where, define=define, monitor=monitor)
    )


def _check_of(column: str | None, plot: Path | None) -> None:
    from adtc.errors import QueryError

    if column is not None and plot is None:
        raise QueryError("--reliance-of says what to draw: give --reliance-plot FILE, too.")


def _draw_reliance(
    asked: Asked, source: "Opened", ranges: "RelianceRanges | None", column: str | None, path: Path
) -> None:
    """Draw the ranges of all columns, or the errors against the reliance on one."""
    from adtc.profiles.reliance import RelianceRanges

    if column is None:
        (RelianceRanges() if ranges is None else ranges).plot().save(path)
    else:
        chosen = asked.under_limits(
            lambda monitor: source.profile.reliance(column, where=source.where)
        )
        chosen.plot().save(path)


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
