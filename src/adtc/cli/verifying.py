"""The command that checks what was saved."""

import os
from typing import Any

import click

from adtc.cli import completion
from adtc.cli.asking import command
from adtc.cli.options import RUN, SHARED, Option
from adtc.cli.output import Answer, Line
from adtc.cli.running import watched
from adtc.cli.sources import is_saved

INVALID = 1  # the exit code of a file that is refused
_LIMITS = [option for option in SHARED if option.section == RUN and option.name != "engine"]


@command(
    click.Argument(["source"], metavar="FILE", shell_complete=completion.saved),
    Option("--recount/--no-recount", default=True,
           help="Count the trees again from the rows in the file (default: yes), which takes as "
                "long as making the profile did."),
    *_LIMITS,
    example="adtc verify run.adtc",
)  # fmt: skip
def verify(source: str, recount: bool, **limits: Any) -> Answer:
    """Check a saved profile, and say line by line what was checked.

    FILE is a file that `adtc profile -o` wrote. The exit code is 1 if it is refused.
    """
    import adtc
    from adtc.engine.monitor import Monitor
    from adtc.errors import DataError

    if os.path.isfile(source) and not is_saved(source):
        raise DataError(
            f"'{source}' is nothing that can be verified; give a file that `adtc profile -o` wrote."
        )
    monitor = Monitor(**{name: value for name, value in limits.items() if value is not None})
    found = watched(lambda: adtc.verify(source, recount=recount, monitor=monitor), monitor)
    head, *rest = str(found).splitlines()
    lines = [Line(head, "bold"), *map(Line, rest)]
    return Answer(found.to_json(), lines, exit_code=0 if found else INVALID)
