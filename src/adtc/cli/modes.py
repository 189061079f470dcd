"""Answers of another kind than exact: estimated from drawn trees, asked for or beside others."""

import math
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.options import RUN, Option, whole
from adtc.cli.output import Answer, Line

if TYPE_CHECKING:
    from pathlib import Path

    from adtc.data import Data
    from adtc.engine.limits.bracket import Bracket
    from adtc.engine.results import Number
    from adtc.profiles.inexact.brackets import BracketTable
    from adtc.profiles.inexact.estimating import EstimatedProfile


SECONDS, LEAST = 5.0, 0.5  # for an estimate that nobody asked for
DRAWS = 1000


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
    Option("--draws", section=RUN, callback=whole(1), metavar="N",
           help="With --estimated: how many trees to draw (default 10000)."),
    Option("--seed", section=RUN, callback=whole(0), metavar="N",
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
    from adtc.cli.sources import is_saved
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


def drawn_beside(
    asked: Asked, data: "Data", metrics: list[str], seconds: float | None = None
) -> "EstimatedProfile | None":
    """Estimate what a limit left open, in the time that is left; None if there is not enough.

    Parameters
    ----------
    seconds
        At most that long; by default as long as the time limit allows, or a few seconds.
    """
    from dataclasses import replace

    import adtc
    from adtc.cli.running import interrupted, watched
    from adtc.errors import ADTCError

    monitor = asked.monitor()
    left = monitor.time_left
    most = min(
        SECONDS if seconds is None and left is None else seconds or math.inf,
        math.inf if left is None else left,
    )
    if most < LEAST or interrupted() or not monitor.answers:
        return None
    watch = replace(monitor, time_limit=most, started=monotonic(), spare=0.0, exact=True)
    options = {"define": asked.define, "engine": asked.engine, "monitor": watch}
    try:
        return watched(
            lambda: adtc.estimate(
                data, asked.space(), metrics, where=asked.where, draws=DRAWS, seed=0, **options
            ),
            watch,
        )
    except ADTCError:  # too large for that, too: what is finished is all there is
        return None


def with_drawn(
    number: "Number", asked: Asked, data: "Data | None", metrics: list[str]
) -> "tuple[Number, EstimatedProfile | None]":
    """Add an estimate of the asked space to an answer about a part of it."""
    from adtc.engine.limits.bracket import Bracket

    if not isinstance(number, Bracket) or data is None:
        return number, None
    drawn = drawn_beside(asked, data, metrics)
    return (number, None) if drawn is None else (number.tightened(drawn.count), drawn)


def tightened(found: "Bracket", asked: Asked, data: "Data") -> "Bracket":
    """Add an estimate to a number that a limit left open, if one is found in little time."""
    drawn = drawn_beside(asked, data, ["size"], SECONDS)
    return found if drawn is None else found.tightened(drawn.count)


def beside_json(drawn: "EstimatedProfile | None") -> dict[str, Any]:
    """Tell programs what drawn trees say about the space that was asked about."""
    if drawn is None:
        return {}
    spread = {name: _quantiles_json(drawn.quantiles(name)) for name in drawn.names}
    drawing = {"draws": drawn.draws, "seed": drawn.seed, "confidence": drawn.confidence}
    return {"estimated": {**drawing, "metrics": spread}, "status": drawn.status}


def beside_lines(drawn: "EstimatedProfile | None", finished: str | None) -> list[Line]:
    """Write the same for people, before what is exact for a part of it."""
    if drawn is None:
        return []
    spread = {name: drawn.quantiles(name) for name in drawn.names}
    part = [Line(""), Line(f"exact, but only for {finished}:", "bold")] if finished else []
    return [*_quantile_lines(spread), Line(""), Line(_sure(drawn)), *part]


def table_beside(
    drawn: "EstimatedProfile | None", axes: tuple[str, str], bins: Any, finished: str | None
) -> tuple[dict[str, Any], list[Line]]:
    """Estimate a cross-table of the space that was asked about, beside that of a part of it."""
    if drawn is None:
        return {}, []
    table = drawn.crosstab(*axes, bins=bins)
    part = [Line(""), Line(f"exact, but only for {finished}:", "bold")] if finished else []
    drawing = {"draws": drawn.draws, "seed": drawn.seed, "confidence": drawn.confidence}
    return {"estimated": {**drawing, **table.to_json()}, "status": drawn.status}, [
        Line(""),
        *map(Line, table.to_text().splitlines()),
        Line(""),
        Line(_sure(drawn)),
        *part,
    ]


def count_answer(asked: Asked, options: dict[str, Any]) -> Answer:
    """Estimate a number of trees."""
    found: EstimatedProfile = asked_as("estimated", asked, ["size"], options)
    return Answer(
        {**found.count.to_json(), "record": found.record.to_json()},
        [text.answer(found.count, found.status), *text.footer(found.record)],
    )


def profile_answer(asked: Asked, metrics: list[str], options: dict[str, Any]) -> Answer:
    """Estimate a number of trees and how their metrics are spread."""
    found: EstimatedProfile = asked_as("estimated", asked, metrics, options)
    spread = {name: found.quantiles(name) for name in found.names}
    return Answer(
        {
            **found.count.to_json(),
            "status": found.status,
            "num_cells": None,
            "cell_scan": found.record.cell_scan,
            "path": None,
            "metrics": {name: _quantiles_json(one) for name, one in spread.items()},
            "record": found.record.to_json(),
        },
        [
            text.answer(found.count, found.count.status),
            *_quantile_lines(spread),
            Line(""),
            Line(_sure(found)),
            *text.footer(found.record),
        ],
    )


def table_answer(
    asked: Asked, axes: tuple[str, str], bins: Any, options: dict[str, Any], plot: "Path | None"
) -> Answer:
    """Estimate a cross-table."""
    found: EstimatedProfile = asked_as("estimated", asked, list(dict.fromkeys(axes)), options)
    return ranges_answer(found.crosstab(*axes, bins=bins), [Line(""), Line(_sure(found))], plot)


def ranges_answer(table: "BracketTable", more: list[Line], plot: "Path | None") -> Answer:
    """Answer with a cross-table whose cells are ranges, and draw it if asked for."""
    head = f" by {table.x} in rows and {table.y} in columns"
    if plot is not None:
        table.plot().save(plot)
    files = [] if plot is None else [str(plot)]
    return Answer(
        {
            **table.to_json(),
            **{k: v for k, v in table.total.to_json().items() if k in ("count", "log10")},
            "total": table.total.to_json(),
            "status": table.status,
            "files": files,
            "record": table.record.to_json(),
        },
        [
            text.answer(table.total, table.total.status, head),
            Line(""),
            *map(Line, table.to_text().splitlines()),
            *more,
            *text.files(files),
            *text.footer(table.record),
        ],
    )


def _sure(found: "EstimatedProfile") -> str:
    return (
        f"estimated from {found.draws:,} draws, seed {found.seed}: all intervals hold at once "
        f"with a probability of {found.confidence:.0%}"
    )


def _quantile_lines(spread: dict[str, Any]) -> list[Line]:
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


def _quantiles_json(one: Any) -> list[dict[str, Any]]:
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
