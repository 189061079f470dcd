"""The command that writes a saved profile as one page."""

import os
from pathlib import Path
from typing import Any

import click

from adtc.cli import completion, text
from adtc.cli.decorators import command
from adtc.cli.options import FILE, OUTPUT, Option, integer, metric_names, ranks
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.provenance import command_line
from adtc.cli.running import progress_shown, watched
from adtc.cli.saved import is_saved


def _pairs(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...] | None:
    """Read 'X,Y' as the two metrics of a cross-table."""
    pairs = []
    for value in values:
        names = metric_names(context, parameter, value)
        if len(names) != 2:  # noqa: PLR2004
            sentence = f"'{value}' does not name two metrics, as in 'acc,dp'."
            raise click.BadParameter(sentence, context, parameter)
        pairs.append((names[0], names[1]))
    return tuple(pairs) or None


@command(
    click.Argument(["source"], metavar="PROFILE", shell_complete=completion.saved),
    Option("-o", "--output", "path", section=OUTPUT, metavar="FILE", type=FILE, required=True,
           help="The HTML file to write; it needs no other file and no network."),
    Option("--crosstab", "crosstabs", metavar="X,Y", multiple=True, callback=_pairs,
           shell_complete=completion.metrics,
           help="A cross-table to show (default: chosen by the metrics). Repeatable."),
    Option("--where", metavar="FORMULA", shell_complete=completion.metrics,
           help="Report only on the trees that satisfy this, over the profile's metrics."),
    Option("--rank", "ranks", metavar="RANK", multiple=True, callback=ranks,
           help="A tree to show, by its number from 0 in the whole profile. Repeatable."),
    Option("--best", metavar="N", callback=integer(0),
           help="Show the best N trees, by accuracy and then by the gap."),
    Option("--trees", metavar="N", callback=integer(0),
           help="Trees to draw at random (default 3; 0 with --rank or --best)."),
    Option("--seed", metavar="N", callback=integer(0),
           help="The seed that draws them (default 0)."),
    Option("--title", metavar="TEXT", help="The title of the page."),
    Option("--note", metavar="TEXT", help="What you want to say; it stands below the title."),
    Option("--small", metavar="N", callback=integer(0),
           help="Leaves and groups of fewer rows show no numbers (default 10; 0 shows all)."),
    example="adtc report run.adtc -o report.html --where 'acc >= 0.72' --best 2",
)  # fmt: skip
def report(
    source: str,
    path: Path,
    crosstabs: tuple[tuple[str, str], ...] | None,
    **options: Any,
) -> Answer:
    """Write a saved profile as one HTML page that opens from disk.

    PROFILE is a file that `adtc profile -o` wrote.
    """
    import adtc
    from adtc.engine.monitor import Monitor
    from adtc.errors import DataError
    from adtc.show.report import write_report

    check_output(path, source)
    if not is_saved(source) and (os.path.exists(source) or not Path(source).suffix):
        raise DataError(
            f"'{source}' is not a saved profile: make one with `adtc profile {source} -o run.adtc` "
            f"and give that."
        )
    given = {name: value for name, value in options.items() if value is not None}
    given["command"] = command_line()

    profile = watched(lambda: adtc.load_profile(source), Monitor())
    with progress_shown():  # in this thread: Ctrl-C then leaves nothing half-written
        write_report(profile, path, crosstabs=crosstabs, **given)
    size = path.stat().st_size
    found = profile.where(given.get("where")).count
    if isinstance(found, int):
        number, told = {"count": found}, f", about {text.trees(found)}"
    else:
        number, told = found.to_json(), f": {text.answer(found, found.status).text}"
    return Answer(
        {
            "path": str(path),
            "bytes": size,
            **number,
            "where": given.get("where"),
            "ranks": list(given["ranks"]),
            "status": profile.status,
            "seed": given.get("seed", 0),
            "record": profile.record.to_json(),
        },
        [
            Line(
                f"written: {path} ({text.file_size(size)}){told}",
                "bold",
            )
        ],
    )
