"""Commands about all good trees at once: make a profile, cross-tabulate it, find its front."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Literal

import click

from adtc.cli import beside, bounded, completion, fronts, modes, ranged, text
from adtc.cli.asking import Asked
from adtc.cli.decorators import table_command
from adtc.cli.infeasible import nearest_report
from adtc.cli.options import FILE, OUTPUT, Option, metric_names
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.provenance import provenance
from adtc.cli.running import interrupted
from adtc.cli.saved import is_saved
from adtc.cli.sources import Opened, opened_any, source_command
from adtc.text import percent

if TYPE_CHECKING:
    from adtc.profiles import Profile
    from adtc.profiles.crosstab import Crosstab
    from adtc.profiles.generalization import Generalization
    from adtc.profiles.inexact.ranged import Ranged
    from adtc.profiles.marginals import Moments

MAXIMIZE, MINIMIZE = (
    Option(f"--{goal}", metavar="METRIC", multiple=True, shell_complete=completion.metrics,
           help=f"Metric or term to {goal}. Repeatable.")
    for goal in ("maximize", "minimize")
)  # fmt: skip
Of = Literal["all", "x", "y"]
_AXIS_BINS = "N, 'values', or edges such as 0.7,0.8,0.9"


def picture(about: str) -> Option:
    """Make the option for a picture."""
    return Option("--plot", metavar="FILE", type=FILE, section=OUTPUT, help=about)


@table_command(
    Option("--metrics", metavar="NAMES", callback=metric_names, shell_complete=completion.metrics,
           help="Metrics to tell trees apart by (default: size, acc, f1 where there is a positive "
                "label, dp where there is a sensitive column)."),
    Option("--exact-means", is_flag=True,
           help="Compute the means as exact fractions, too, which may take long; printed ones are "
                "rounded from floats, off by less than 1e-12 of the mean size."),
    Option("-o", "--output", "path", section=OUTPUT, metavar="FILE", type=FILE,
           help="Save the profile to a file, by custom NAME.adtc."),
    Option("--circuit/--no-circuit", section=OUTPUT, default=None,
           help="Keep the circuit in the file (default: yes), which drawing trees needs; the file "
                "then holds the binarised rows: share it only with those who may see them. Of a "
                "bounded or estimated profile only the rows are kept, for `adtc verify`."),
    *modes.ESTIMATED,
    *bounded.BOUNDED,
    example="adtc profile german-credit --relminsup 0.2 --metrics 'size, acc, dp'",
)  # fmt: skip
def profile(
    asked: Asked,
    metrics: tuple[str, ...],
    exact_means: bool,
    path: Path | None,
    circuit: bool | None,
    **mode: Any,
) -> Answer:
    """Count the trees by several metrics at once, and save that."""
    check_output(path, asked.table)
    saved = ranged.Saved(path, circuit is not False)
    if (options := modes.pop_options(mode)) is not None:
        return modes.profile_answer(asked, list(metrics), options, saved)
    if (options := bounded.pop_options(mode)) is not None:
        return bounded.profile_answer(asked, list(metrics), options, saved)
    data = asked.data()
    wanted = list(metrics) or modes.default_metrics(data)
    asked.announce(data)
    asked = replace(asked, run={**asked.run, "exact_means": exact_means})
    made, first = beside.profile_within(asked, data, wanted)
    number, drawn = beside.with_drawn(made.count, first, asked, data, wanted)
    made.record.details["made"] = provenance(asked.table)
    ranges = [made.moments(name, exact=exact_means) for name in made.names]
    kept = made.source is not None if circuit is None else circuit
    nearest, near = nearest_report(asked, data) if number.upper == 0 else ({}, [])
    path = None if interrupted() else path
    losses = _losses(made) if made.total else []
    guess = beside.of_asked(drawn)
    if path is not None and guess is not None:
        guess.record.details["made"] = made.record.details["made"]
        guess.save(path, rows=kept)
    elif path is not None:
        made.save(path, circuit=kept)
    return Answer(
        {
            **number.to_json(),
            "num_cells": made.num_cells,
            "cell_scan": made.record.cell_scan,
            "path": None if path is None else str(path),
            "circuit": (kept and guess is None) if path is not None else None,
            "metrics": {found.metric: _range_json(found) for found in ranges},
            **({} if number.status != "exact" else {"status": made.status}),
            **beside.beside_json(drawn),
            **({"generalization": [one.to_json() for one in losses]} if losses else {}),
            **nearest,
            "record": made.record.to_json(),
        },
        [
            text.answer(
                number,
                number.status if drawn else made.status,
                "" if drawn else f" in {made.num_cells:,} cells",
            ),
            *text.limit_lines(made.record),
            *near,
            *beside.beside_lines(drawn, made.record.details.get("finished")),
            *(_range_lines(ranges) if made.total else []),
            *([Line("")] if losses else []),
            *(Line(one.to_text()) for one in losses),
            *_saved_lines(path, kept, guess),
            *text.footer(made.record if guess is None else guess.record),
        ],
    )


def _losses(made: "Profile") -> "list[Generalization]":
    """Compare the metrics that a profile has on the table itself and on a further one."""
    tables = [table["name"] for table in made.record.data.get("tables", ())]
    return [
        made.generalization(table, metric=name)
        for table in tables
        for name in made.names
        if f"{table}.{name}" in made.metrics
    ]


def _range_json(found: "Moments") -> dict[str, Any]:
    from fractions import Fraction

    from adtc.profiles.writing import exact_text

    exact = {"least": exact_text(found.least), "largest": exact_text(found.largest)}
    if isinstance(found.mean, Fraction):
        exact["mean"] = exact_text(found.mean)
    return {k: v for k, v in found.to_json().items() if k != "metric"} | {"exact": exact}


def _range_lines(ranges: "Sequence[Moments]") -> list[Line]:
    """Write one line per metric: its least, mean and largest value."""
    from fractions import Fraction

    from adtc.profiles.writing import aligned, approximate

    some = any(found.undefined for found in ranges)
    head = ["metric", "least", "mean", "largest", *(["undefined for"] if some else [])]
    rows = [
        [
            found.metric,
            approximate(found.least),
            approximate(None if found.mean is None else Fraction(found.mean)),
            approximate(found.largest),
            *([text.trees(found.undefined)] if some else []),
        ]
        for found in ranges
    ]
    return [Line(""), *(Line(line) for line in aligned([head, *rows]).splitlines())]


def _saved_lines(path: Path | None, circuit: bool, guess: "Ranged | None") -> list[Line]:
    if path is None:
        return []
    if guess is not None:
        return ranged.Saved(path, circuit).lines(guess)
    size = text.file_size(path.stat().st_size)
    holds = (
        "with the circuit, so it holds the binarised rows"
        if circuit
        else "without the circuit, so trees cannot be drawn from it"
    )
    return [Line(""), Line(f"saved: {path} ({size}, {holds})", "bold")]


def _bins(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> int | str | list[str] | tuple[int | str, int | str] | None:
    """Read a number of bins, 'values', edges, or for ``--bins`` two of the first, x and y."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    counts = [count for part in parts if (count := _count_of_bins(part)) is not None]
    pair = parameter.name == "bins" and len(parts) == 2  # noqa: PLR2004
    if len(counts) == len(parts) and (pair or len(parts) == 1):
        if any(isinstance(count, int) and count < 1 for count in counts):
            sentence = f"'{value}' is not a number of bins above 0."
            raise click.BadParameter(sentence, context, parameter)
        return (counts[0], counts[1]) if pair else counts[0]
    if len(parts) == 1 or not all(map(_is_number, parts)):
        form = f"{_AXIS_BINS}, or NX,NY" if parameter.name == "bins" else _AXIS_BINS
        raise click.BadParameter(f"'{value}' is none of {form}.", context, parameter)
    return parts


def _count_of_bins(part: str) -> int | str | None:
    if part == "values":
        return part
    try:
        return int(part)
    except ValueError:
        return None


def _is_number(part: str) -> bool:
    from fractions import Fraction

    try:
        Fraction(part)
    except (ValueError, ZeroDivisionError):
        return False
    return True


@source_command(
    click.Argument(["x"], shell_complete=completion.metrics),
    click.Argument(["y"], shell_complete=completion.metrics),
    Option("--bins", metavar="BINS", callback=_bins,
           help=f"For both axes: {_AXIS_BINS}; or NX,NY (default: at most 10 of round width)."),
    Option("--x-bins", metavar="BINS", callback=_bins, help=f"For the rows: {_AXIS_BINS}."),
    Option("--y-bins", metavar="BINS", callback=_bins, help=f"For the columns: {_AXIS_BINS}."),
    Option("--shares", type=click.Choice(["all", "x", "y"]),
           help="Show shares of all trees, of those in a row (x) or in a column (y)."),
    picture("Draw it into a .png, .svg or .pdf file."),
    Option("--html", metavar="FILE", type=FILE, section=OUTPUT,
           help="Write the table as HTML, too."),
    *modes.ESTIMATED,
    *bounded.BOUNDED,
    example="adtc crosstab german-credit acc dp --relminsup 0.2 --x-bins 4 --y-bins 0,0.05,0.1,1",
)  # fmt: skip
def crosstab(
    asked: Asked, x: str, y: str, *, shares: Of | None, plot: Path | None, html: Path | None,
    **bins: Any,
) -> Answer:  # fmt: skip
    """Count the trees by two metrics, X in rows and Y in columns."""
    check_output(html, asked.table, "--html")
    check_picture(plot, asked.table)
    names = [str(option.name) for option in (*modes.ESTIMATED, *bounded.BOUNDED)]
    mode = {name: bins.pop(name) for name in names}
    if (options := modes.pop_options(mode)) is not None:
        ranged.refuse_shares("estimated", shares)
        return modes.table_answer(asked, (x, y), _per_axis(**bins), options, (plot, html))
    if (options := bounded.pop_options(mode)) is not None:
        ranged.refuse_shares("bounded", shares)
        return bounded.table_answer(asked, (x, y), _per_axis(**bins), options, (plot, html))
    wanted = _per_axis(**bins)
    metrics, first = list(dict.fromkeys([x, y])), None
    source: Opened | Ranged
    if is_saved(asked.table):
        source = opened_any(asked, lambda data: metrics, circuit=False)
    else:
        data = asked.data()
        made, first = beside.profile_within(asked, data, metrics)
        source = Opened(made, None, None, data)
    if not isinstance(source, Opened):
        ranged.refuse_shares(source.status, shares)
        return ranged.table_answer(source, (x, y), wanted, (plot, html), asked)
    table = source.profile.crosstab(
        x, y, bins=wanted, where=source.where,
        round_edges=all(value is None for value in bins.values()),
    )  # fmt: skip
    axes = {"x": table.x_bins.to_json(), "y": table.y_bins.to_json()}
    number = source.number(table.total)
    nearest, near = source.nearest_report(asked) if number.upper == 0 else ({}, [])
    shown = [Line(""), *map(Line, _table_text(table, shares).splitlines())]
    number, drawn = beside.with_drawn(number, first, asked, source.data, metrics)
    guess = None if drawn is None else drawn.profile.crosstab(x, y, bins=wanted)
    whole = beside.of_asked(drawn)
    best = table if guess is None or whole is None else guess
    finished = source.profile.record.details.get("finished")
    files = ranged.written(best, (plot, html))
    return Answer(
        {
            **{axis: _numbers(one) for axis, one in axes.items()},
            "counts": [list(row) for row in table.counts],
            **number.to_json(),
            "axes": axes,
            **({"shares": _floats(table, shares)} if shares else {}),
            **nearest,
            "files": files,
            **source.json(),
            **beside.table_json(drawn, guess),
        },
        [
            text.table_answer(
                number, source.profile.status if whole is None else whole.status, x, y
            ),
            *text.limit_lines(source.profile.record),
            *near,
            *beside.table_lines(drawn, guess, finished),
            *(shown if table.total else []),
            *text.files(files),
            *(source.footer() if whole is None else text.footer(whole.record)),
        ],
    )


def _per_axis(bins: Any, x_bins: Any, y_bins: Any) -> tuple[Any, Any]:
    """Let the options of an axis go before those of both."""
    both = bins if isinstance(bins, tuple) else (bins, bins)
    x, y = (
        next(one for one in (own, common, 10) if one is not None)
        for own, common in zip((x_bins, y_bins), both, strict=True)
    )
    return x, y


def _numbers(axis: dict[str, Any]) -> list[Any]:
    """Give the edges of an axis, or its values."""
    found: list[Any] = axis["edges"] if "edges" in axis else axis["values"]
    return found


def _floats(table: "Crosstab", of: Of) -> list[list[float | None]]:
    return [[None if s is None else float(s) for s in row] for row in table.shares(of)]


def _table_text(table: "Crosstab", shares: Of | None) -> str:
    """Write all digits, unless a terminal is too narrow for them."""
    if shares is not None:
        return _shares_text(table, shares)
    full = table.to_text()
    wide = max(map(len, full.splitlines())) > get_terminal_size().columns
    return table.to_text(shorten=True) if wide and sys.stdout.isatty() else full


def _shares_text(table: "Crosstab", of: Of) -> str:
    from adtc.profiles.writing import aligned

    whole = {"all": "of all", "x": "of the row", "y": "of the column"}[of]
    head = [f"{table.x} \\ {table.y}, shares {whole}", *table.y_bins.labels]
    found = zip(table.x_bins.labels, table.shares(of), strict=True)
    return aligned([head, *([label, *map(percent, row)] for label, row in found)])


def check_picture(path: Path | None, read: str, option: str = "--plot") -> None:
    """Refuse a picture that cannot be written, before any work is done."""
    from adtc.errors import QueryError

    check_output(path, read, option)
    if path is not None and path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise QueryError(
            f"cannot save a picture as '{path}': expected a name that ends in .png, .svg or .pdf."
        )
    if path is not None:
        from adtc.show.style import matplotlib

        matplotlib()


@source_command(
    MAXIMIZE,
    MINIMIZE,
    Option("--counts", is_flag=True,
           help="Count the trees on each point of a table's front; a saved profile has them."),
    picture("Draw it, by its first two criteria, into a .png, .svg or .pdf file."),
    example="adtc pareto german-credit --relminsup 0.2 --maximize acc --minimize dp",
)  # fmt: skip
def pareto(
    asked: Asked,
    maximize: tuple[str, ...],
    minimize: tuple[str, ...],
    counts: bool,
    plot: Path | None,
) -> Answer:
    """Find the trees that no other tree beats in every criterion.

    The front of a TABLE is found by search, without a profile: each point with a tree, and within
    a limit the points found so far.
    """
    from adtc.errors import QueryError

    criteria = [*maximize, *minimize]
    if not criteria:
        raise QueryError("a front needs a criterion: give --maximize METRIC or --minimize METRIC.")
    if plot is not None and len(criteria) == 1:
        raise QueryError("a picture of a front needs two criteria: give one more.")
    check_picture(plot, asked.table)
    goals = {"maximize": maximize, "minimize": minimize}
    if is_saved(asked.table):
        found = fronts.of_profile(asked, goals)
    else:
        found = fronts.of_table(asked, goals, counts)
    if plot is not None:
        found.front.plot(x=criteria[0], y=criteria[1]).save(plot)
    return found.answer([] if plot is None else [str(plot)])
