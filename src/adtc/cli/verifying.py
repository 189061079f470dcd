"""The command that checks what was written: certificates and saved profiles."""

from typing import Any

import click

from adtc.cli import completion
from adtc.cli.decorators import command
from adtc.cli.executing import opened_run
from adtc.cli.options import RUN, SHARED, Option
from adtc.cli.output import Answer, Line
from adtc.cli.running import watched

INVALID = 1  # the exit code of a file that is refused
_LIMITS = [option for option in SHARED if option.section == RUN and option.name != "engine"]


@command(
    click.Argument(["source"], metavar="FILE", shell_complete=completion.verifiable),
    click.Argument(["table"], metavar="[TABLE]", required=False, shell_complete=completion.tables),
    Option("--recount/--no-recount", " /--quick", default=True,
           help="Count the trees again (default: yes). Else only the table and the trees shown are "
                "checked, or of a profile what its file holds."),
    *_LIMITS,
    example="adtc verify claim.json german-credit",
)  # fmt: skip
def verify(source: str, table: str | None, recount: bool, **limits: Any) -> Answer:
    """Check a certificate or a saved profile, and say line by line what was checked.

    FILE is what `adtc certify -o` or `adtc profile -o` wrote. A certificate is checked against its
    TABLE, the path of a CSV or Parquet file or a bundled name, by code that shares nothing with the
    engine; a saved profile needs no table. The exit code is 1 if FILE is refused.
    """
    import adtc
    from adtc.engine.monitor import Monitor

    given = {name: value for name, value in limits.items() if value is not None}
    monitor = Monitor(**opened_run(given))
    found = watched(lambda: adtc.verify(source, table, recount=recount, monitor=monitor), monitor)
    head, *rest = str(found).splitlines()
    lines = [Line(head, "bold"), *map(Line, rest)]
    return Answer(found.to_json(), lines, exit_code=0 if found else INVALID)
