"""Answers between two proved numbers, asked for by ``--bounded``: trees counted in coarse steps."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.modes import asked_as, ranges_answer
from adtc.cli.options import RUN, Option, whole
from adtc.cli.output import Answer, Line

if TYPE_CHECKING:
    from pathlib import Path

    from adtc.profiles.inexact.bounding import BoundedProfile

BOUNDED = (
    Option("--bounded", section=RUN, is_flag=True,
           help="Count in steps of several rows, so that numbers lie between two proved ones."),
    Option("--step", section=RUN, callback=whole(1), metavar="ROWS",
           help="With --bounded: rows of a step; smaller ones make ranges narrower."),
)  # fmt: skip
_BINS = 10
_STEPS = 100  # edges are hundredths of whole numbers


def pop_options(values: dict[str, Any]) -> dict[str, Any] | None:
    """Take the options of a bounded answer out of a command's; None if none is asked for."""
    from adtc.errors import QueryError

    asked, step = values.pop("bounded"), values.pop("step")
    if step is not None and not asked:
        raise QueryError("--step is for bounded answers: give --bounded, too.")
    return {"width": step} if asked else None


def count_answer(asked: Asked, options: dict[str, Any]) -> Answer:
    """Bound a number of trees."""
    found: BoundedProfile = asked_as("bounded", asked, ["size"], options)
    return Answer(
        {**found.count.to_json(), "record": found.record.to_json()},
        [text.answer(found.count, found.status), _how(found), *text.footer(found.record)],
    )


def profile_answer(asked: Asked, metrics: list[str], options: dict[str, Any]) -> Answer:
    """Bound a number of trees, and what they measure."""
    from adtc.profiles.writing import aligned, approximate, json_number

    found: BoundedProfile = asked_as("bounded", asked, metrics, options)
    ends = {name: found.ends(name) for name in found.names}
    rows = [[name, *map(approximate, pair)] for name, pair in ends.items()]
    return Answer(
        {
            **found.count.to_json(),
            "status": found.status,
            "num_cells": found.record.num_cells,
            "cell_scan": found.record.cell_scan,
            "path": None,
            "metrics": {
                name: {"at_least": json_number(low), "at_most": json_number(high)}
                for name, (low, high) in ends.items()
            },
            "record": found.record.to_json(),
        },
        [
            text.answer(found.count, found.status),
            Line(""),
            *map(Line, aligned([["metric", "at least", "at most"], *rows]).splitlines()),
            Line(""),
            _how(found),
            *text.footer(found.record),
        ],
    )


def table_answer(
    asked: Asked, axes: tuple[str, str], bins: Any, options: dict[str, Any], plot: "Path | None"
) -> Answer:
    """Bound a cross-table."""
    found: BoundedProfile = asked_as("bounded", asked, list(dict.fromkeys(axes)), options)
    edges = [_edges(found, name, wanted) for name, wanted in zip(axes, bins, strict=True)]
    table = found.crosstab(*axes, bins=(edges[0], edges[1]))
    return ranges_answer(table, [Line(""), _how(found)], plot)


def _edges(found: "BoundedProfile", name: str, wanted: Any) -> list[Any]:
    """Take edges as given, or place so many bins evenly between what the metric may be."""
    from adtc.errors import QueryError

    if isinstance(wanted, list):
        return wanted
    if wanted == "values":
        raise QueryError(
            "values are not known one by one in steps: give edges, such as 0.7,0.8,0.9."
        )
    low, high = found.ends(name)
    if low is None or high is None:
        return [0, 1]
    first, last = _hundredths(low, up=False), _hundredths(high, up=True)
    width = max(1, -(-(last - first) // int(wanted or _BINS)))
    return [Fraction(at, _STEPS) for at in range(first, last + width, width)]


def _hundredths(number: Fraction, *, up: bool) -> int:
    scaled = number * _STEPS
    return scaled.__ceil__() if up else scaled.__floor__()


def _how(found: "BoundedProfile") -> Line:
    rows = f"{found.width:,} row{'s'[: found.width != 1]}"
    return Line(
        f"counted in steps of {rows}, in {found.record.num_cells:,} cells: the numbers surely lie "
        f"in their ranges; a smaller --step, or a condition on what you look at, narrows them"
    )
