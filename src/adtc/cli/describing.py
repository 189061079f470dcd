"""`adtc describe`: what a table looks like before a question is asked about it."""

import time
from typing import Any

import click

from adtc.cli import completion
from adtc.cli.asking import Asked
from adtc.cli.decorators import TABLES, command
from adtc.cli.options import SHARED, TABLE
from adtc.cli.output import Answer, Line
from adtc.cli.running import watched

HELP = f"""Describe a table: shares, columns, cuts, missing values, and what to beware of.

Without --target a file's columns are described by themselves. Columns that look like identifiers
are no error here.

{TABLES}"""


def describe(table: str, **reading: Any) -> Answer:  # noqa: D103 - the help is HELP
    from adtc.data.description import describe_sheet
    from adtc.engine.monitor import Monitor

    given = {name: value for name, value in reading.items() if value not in (None, ())}
    asked = Asked(table, given, {}, {}, None, None, time.monotonic())
    monitor = Monitor()
    sheet = watched(lambda: asked.sheet(need_target=False, watch=monitor), monitor)
    found = describe_sheet(sheet)
    lines = str(found).splitlines()
    styles = {"warning:": "yellow", f"{found.name}:": "bold"}
    return Answer(
        found.to_json(), [Line(line, styles.get(line.partition(" ")[0], "")) for line in lines]
    )


describe.__doc__ = HELP
command(
    click.Argument(["table"], shell_complete=completion.tables),
    *(option for option in SHARED if option.section == TABLE),
    example="adtc describe adult --sensitive race",
)(describe)
