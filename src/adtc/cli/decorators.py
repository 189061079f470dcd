"""How a function becomes a command: its help in sections, its answer printed or written.

`command` and `table_command` turn a function that returns an `Answer` into a command.
"""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from adtc.cli import completion
from adtc.cli.asking import Asked, say_warning
from adtc.cli.group import INTERRUPTED, main
from adtc.cli.options import FURTHER, OUTPUT, PRINTING, QUIET, SECTIONS, SHARED, Option
from adtc.cli.output import Answer, check_output, deliver
from adtc.cli.running import interrupted

Answering = Callable[..., Answer]
TABLES = """\
TABLE is a bundled name (see `adtc datasets`) or the path of a CSV or Parquet file; a directory or a
quoted glob of such files is one table. A file whose name is also that of a bundled table is written
./NAME, and - stands for CSV on standard input."""


class SectionedCommand(click.Command):
    """A command whose help lists the options in sections and ends with an example."""

    example: str = ""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example as it is to be typed, never wrapped."""
        with formatter.section("Example"):
            formatter.write(f"  {self.example}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section, click's own with the output's."""
        for section in SECTIONS:
            records = [
                record
                for option in self.get_params(ctx)
                if isinstance(option, click.Option)
                and getattr(option, "section", OUTPUT) == section
                and (record := option.get_help_record(ctx)) is not None
            ]
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)


def command(*own: click.Parameter, example: str) -> Callable[[Answering], click.Command]:
    """Make a command out of a function that answers; its name and help are the function's.

    A command whose own options take ``-o`` writes something else there than what it prints.
    """
    taken = {spelling for option in own for spelling in option.opts}
    printing = [option for option in PRINTING if not taken.intersection(option.opts)]

    def decorate(function: Answering) -> click.Command:
        def run(as_json: bool, output: Path | None = None, **values: Any) -> int:
            check_output(output, values.get("table") or values.get("source"))
            answer = function(**values)
            say_warning()
            stopped = interrupted()  # what was finished is shown, but no file is written
            deliver(answer, as_json, None if stopped else output)
            return INTERRUPTED if stopped else answer.exit_code

        made = SectionedCommand(
            function.__name__, callback=run, help=function.__doc__, params=[*own, *printing]
        )
        made.example = example
        main.add_command(made)
        return made

    return decorate


def table_command(*own: Option, example: str) -> Callable[[Answering], click.Command]:
    """Make a command about a table: its function takes what is `Asked` and its own options."""

    def decorate(function: Answering) -> click.Command:
        @wraps(function)
        def answer(**values: Any) -> Answer:
            return function(Asked.take(values), **values)

        answer.__doc__ = f"{function.__doc__}\n\n{TABLES}"
        argument = click.Argument(["table"], shell_complete=completion.tables)
        return command(argument, *own, *SHARED, *FURTHER, QUIET, example=example)(answer)

    return decorate
