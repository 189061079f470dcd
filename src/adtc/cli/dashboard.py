"""The command that opens a profile in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import completion
from adtc.cli.asking import Asked, say_warning
from adtc.cli.decorators import SectionedCommand
from adtc.cli.group import main
from adtc.cli.modes import default_metrics
from adtc.cli.options import FURTHER, OUTPUT, QUIET, SHARED, Option, integer, metric_names
from adtc.cli.saved import is_saved
from adtc.cli.sources import SOURCES, Opened, load_exact, opened_any

if TYPE_CHECKING:
    from adtc.profiles import Profile

HELP = f"""\
Walk through all good trees in the browser.

The server runs on this machine only, reads only, and stops with Ctrl-C. The link that is printed
carries a token; without it nobody else on the machine gets in.

{SOURCES}"""


def run(
    source: str,
    *,
    port: int | None,
    browser: bool,
    compare: str | None,
    metrics: tuple[str, ...],
    small: int | None,
    **values: Any,
) -> None:
    """Load or make the profile, then serve it until it is stopped."""
    from adtc.dashboard import serve

    asked = Asked.take({**values, "table": source})
    other = None if compare is None else _other(compare)
    found = opened_any(asked, lambda data: list(metrics) or default_metrics(data))
    say_warning()
    given = {"port": port, "small": small}
    chosen = {name: value for name, value in given.items() if value is not None}
    titles = None if compare is None else titles_of(source, compare)
    profile, where = (found.profile, found.where) if isinstance(found, Opened) else (found, None)
    serve(
        profile,
        other,
        titles=titles,
        browser=browser,
        where=where,
        say=click.echo,
        **chosen,
    )


def titles_of(source: str, compare: str) -> tuple[str, str]:
    """Name two profiles after their files, with as much of the path as tells them apart.

    Examples
    --------
    >>> titles_of("original.adtc", "out/balanced.adtc"), titles_of("a/run.adtc", "b/run.adtc")
    (('original.adtc', 'balanced.adtc'), ('a/run.adtc', 'b/run.adtc'))
    """
    if Path(source).name != Path(compare).name:
        return Path(source).name, Path(compare).name
    return (source, compare) if source != compare else (f"{source} (1)", f"{compare} (2)")


def _other(path: str) -> "Profile":
    """Load the profile to compare with."""
    from adtc.errors import DataError

    if not is_saved(path):
        raise DataError(
            f"--compare takes a saved profile, and '{path}' is none: make one with "
            f"`adtc profile {path} -o other.adtc` and give that."
        )
    return load_exact(path)


dashboard = SectionedCommand(
    "dashboard",
    callback=run,
    help=HELP,
    params=[
        click.Argument(["source"], shell_complete=completion.sources),
        Option("--metrics", metavar="NAMES", callback=metric_names,
               shell_complete=completion.metrics,
               help="Metrics of the profile that is made of a table (default: as `adtc profile`)."),
        Option("--compare", metavar="PROFILE", shell_complete=completion.saved,
               help="A saved profile with the same metrics, to be shown beside the first."),
        Option("--port", section=OUTPUT, metavar="N", callback=integer(0),
               help="Where to listen (default 8765); if it is taken, the next free port."),
        Option("--small", section=OUTPUT, metavar="N", callback=integer(0),
               help="Leaves of fewer rows show 'fewer than N' (default 10)."),
        Option("--browser/--no-browser", section=OUTPUT, default=True,
               help="Whether to open a browser (default: yes)."),
        *SHARED,
        *FURTHER,
        QUIET,
    ],
)  # fmt: skip
dashboard.example = "adtc dashboard run.adtc --compare balanced.adtc"
main.add_command(dashboard)
