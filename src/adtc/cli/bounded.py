"""Answers between two proved numbers, asked for by ``--bounded``: trees counted in coarse steps."""

import math
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import ranged, text
from adtc.cli.asking import Asked
from adtc.cli.modes import asked_as
from adtc.cli.options import RUN, Option
from adtc.cli.output import Answer, Line
from adtc.cli.ranged import Files, Saved

if TYPE_CHECKING:
    from adtc.profiles.inexact.bounding import BoundedProfile


def _rows(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read a number of rows, of which a part will do."""
    try:
        rows = None if value is None else float(value)
    except ValueError:
        rows = 0.0
    if rows is not None and not 0 < rows < math.inf:
        sentence = f"'{value}' is not a number of rows above 0, such as 20 or 0.5."
        raise click.BadParameter(sentence, context, parameter)
    return rows


BOUNDED = (
    Option("--bounded", section=RUN, is_flag=True,
           help="Count in steps of several rows, so that numbers lie between two proved ones."),
    Option("--step", section=RUN, callback=_rows, metavar="ROWS",
           help="With --bounded: rows of a step, such as 20 or 0.5; smaller ones make ranges "
                "narrower."),
)  # fmt: skip


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
        [text.answer(found.count, found.status), ranged.how(found), *text.footer(found.record)],
    )


def profile_answer(
    asked: Asked, metrics: list[str], options: dict[str, Any], saved: Saved
) -> Answer:
    """Bound a number of trees, and what they measure."""
    from adtc.profiles.writing import aligned, approximate, json_number

    found: BoundedProfile = asked_as("bounded", asked, metrics, options)
    ends = {name: found.ends(name) for name in found.names}
    rows = [[name, *map(approximate, pair)] for name, pair in ends.items()]
    told = {
        name: {"at_least": json_number(low), "at_most": json_number(high)}
        for name, (low, high) in ends.items()
    }
    lines = aligned([["metric", "at least", "at most"], *rows]).splitlines()
    return saved.answer(asked, found, told, [Line(""), *map(Line, lines)])


def table_answer(
    asked: Asked, axes: tuple[str, str], bins: Any, options: dict[str, Any], files: Files
) -> Answer:
    """Bound a cross-table."""
    found: BoundedProfile = asked_as("bounded", asked, list(dict.fromkeys(axes)), options)
    return ranged.table_answer(found, axes, bins, files)
