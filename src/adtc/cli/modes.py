"""Answers of another kind than exact, asked for by ``--estimated``: from drawn trees."""

from typing import TYPE_CHECKING, Any

import click

from adtc.cli import ranged, text
from adtc.cli.asking import Asked
from adtc.cli.options import RUN, Option, integer
from adtc.cli.output import Answer, Line
from adtc.cli.ranged import Files, Saved
from adtc.cli.saved import is_saved

if TYPE_CHECKING:
    from adtc.data import Data
    from adtc.profiles.inexact.estimating import EstimatedProfile


def _share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read a number between 0 and 1."""
    try:
        number = None if value is None else float(value)
    except ValueError:
        number = -1.0
    if number is not None and not 0 < number < 1:
        sentence = f"'{value}' is not a number between 0 and 1, such as 0.95."
        raise click.BadParameter(sentence, context, parameter)
    return number


ESTIMATED = (
    Option("--estimated", section=RUN, is_flag=True,
           help="Estimate from drawn trees, with intervals, instead of counting all."),
    Option("--draws", section=RUN, callback=integer(1), metavar="N",
           help="With --estimated: how many trees to draw (default 10000)."),
    Option("--seed", section=RUN, callback=integer(0), metavar="N",
           help="With --estimated: the same seed draws the same trees."),
    Option("--confidence", section=RUN, callback=_share, metavar="SHARE",
           help="With --estimated: how sure all intervals are at once (default 0.95)."),
)  # fmt: skip


def pop_options(values: dict[str, Any]) -> dict[str, Any] | None:
    """Take the options of an estimate out of a command's; None if none is asked for."""
    from adtc.errors import QueryError

    asked = values.pop("estimated")
    if asked and values.get("bounded"):
        raise QueryError("--bounded and --estimated are two kinds of answers: give one of them.")
    given = {name: values.pop(name) for name in ("draws", "seed", "confidence")}
    given = {name: value for name, value in given.items() if value is not None}
    if given and not asked:
        raise QueryError(f"--{next(iter(given))} is for estimates: give --estimated, too.")
    return given if asked else None


def default_metrics(data: "Data") -> list[str]:
    """Choose the metrics that most people ask for, as far as a table has them."""
    from adtc.engine.query import schema_of

    schema = schema_of(data)
    fair = schema.positive is not None and schema.groups > 0
    if schema.tables:  # few of each table: cells are told apart by all of them
        return ["size", "acc", *(f"{table}.acc" for table in schema.tables)]
    return ["size", "acc", *(["f1"] if schema.positive is not None else []), *["dp"][: int(fair)]]


def asked_as(name: str, asked: Asked, metrics: list[str] | None, options: dict[str, Any]) -> Any:
    """Make the profile of a table that is ``"estimated"`` or ``"bounded"``."""
    import adtc
    from adtc.errors import QueryError

    if is_saved(asked.table):
        raise QueryError(
            f"'{asked.table}' is a saved profile, whose trees are counted already: leave out "
            f"--{name}, or give the table instead."
        )
    data = asked.data()
    return asked.answer(
        adtc.estimate if name == "estimated" else adtc.bound,
        data,
        asked.space(),
        metrics or default_metrics(data),
        where=asked.where,
        **options,
    )


def count_answer(asked: Asked, options: dict[str, Any]) -> Answer:
    """Estimate a number of trees."""
    found: EstimatedProfile = asked_as("estimated", asked, ["size"], options)
    return Answer(
        {**found.count.to_json(), "record": found.record.to_json()},
        [text.answer(found.count, found.status), *text.footer(found.record)],
    )


def profile_answer(
    asked: Asked, metrics: list[str], options: dict[str, Any], saved: Saved
) -> Answer:
    """Estimate a number of trees and how their metrics are spread."""
    found: EstimatedProfile = asked_as("estimated", asked, metrics, options)
    spread = {name: found.quantiles(name) for name in found.names}
    told = {name: quantiles_json(one) for name, one in spread.items()}
    return saved.answer(asked, found, told, quantile_lines(spread))


def table_answer(
    asked: Asked, axes: tuple[str, str], bins: Any, options: dict[str, Any], files: Files
) -> Answer:
    """Estimate a cross-table."""
    found: EstimatedProfile = asked_as("estimated", asked, list(dict.fromkeys(axes)), options)
    return ranged.table_answer(found, axes, bins, files)


def quantile_lines(spread: dict[str, Any]) -> list[Line]:
    """Write how metrics are spread, one on a line."""
    from adtc.profiles.writing import aligned, approximate

    rows = [
        [name, *(
            f"{approximate(value)} ({approximate(low)} to {approximate(high)})"
            for value, low, high in one.values()
        )]
        for name, one in spread.items()
        if one
    ]  # fmt: skip
    if not rows:
        return []
    head = ["metric", *(f"{float(q):.0%} are below" for q in next(iter(spread.values())))]
    return [Line(""), *map(Line, aligned([head, *rows]).splitlines())]


def quantiles_json(one: Any) -> list[dict[str, Any]]:
    """Tell programs how a metric is spread."""
    from adtc.profiles.writing import json_number

    return [
        {
            "share": float(share),
            "value": json_number(value),
            "low": json_number(low),
            "high": json_number(high),
            "exact": [str(value), str(low), str(high)],
        }
        for share, (value, low, high) in one.items()
    ]
