"""The command about variables: which columns good trees need, and what the others cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.options import Option
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.profiling import picture
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
    example="adtc variables german-credit --relminsup 0.2 --where 'acc >= 0.72'",
)  # fmt: skip
def variables(asked: Asked, *, reliance: bool, plot: Path | None) -> Answer:
    """Tell which columns the good trees need, may use, and can do without."""
    check_output(plot, asked.table)
    source = opened(asked, lambda data: ["error", "size"])
    found = asked.under_limits(
        lambda monitor: source.profile.variables(source.where, monitor=monitor)
    )
    asked.under_limits(lambda monitor: (found.least_errors, found.minimal_sets))
    numbers, refused = asked.under_limits(lambda monitor: _by_number(found))
    ranges = _reliance(asked, source) if reliance and found.total else []
    if plot is not None:
        found.plot().save(plot)
    nearest, told = ({}, []) if found.total else source.nearest_told(asked)
    return Answer(
        {
            **_with_reliance(found.to_json(), ranges),
            "by_number": numbers,
            **({"by_number_refused": refused} if refused else {}),
            **nearest,
            **source.json(),
        },
        [
            text.answer(found.total, found.status),
            *told,
            *(_lines(found, numbers, refused) if found.total else []),
            *_reliance_lines(ranges),
            *text.files([] if plot is None else [str(plot)]),
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


def _with_reliance(told: dict[str, Any], ranges: "Sequence[RelianceRange]") -> dict[str, Any]:
    by_name = {one.column: one.to_json() for one in ranges}
    keys = ("min", "max", "min_exact", "max_exact")
    for variable in told["variables"]:
        if variable["name"] in by_name:
            variable["reliance"] = {key: by_name[variable["name"]][key] for key in keys}
    return told


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
