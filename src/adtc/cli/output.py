"""How an answer leaves the program: text for people or one JSON object, and a file if asked.

On a terminal text is coloured; into a pipe or a file goes the same text without colours.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

PIPE_CLOSED = 141  # as if SIGPIPE had ended the program


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; ``style`` is a rich style such as "bold"."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say, for programs and for people.

    Parameters
    ----------
    written
        Whether the command has written the file of ``-o`` itself, with more than is printed.
    """

    json: dict[str, Any]
    text: Sequence[Line]
    exit_code: int = 0
    written: bool = False


def deliver(answer: Answer, as_json: bool, output: Path | None) -> None:
    """Write the file first, so that what was printed was also kept."""
    lines = answer.text
    if as_json:
        lines = [Line(json.dumps(answer.json, indent=2, allow_nan=False))]
    if output is not None and not answer.written:
        from adtc.atomic import write_whole

        write_whole(output, "".join(f"{line.text}\n" for line in lines))
    try:
        say(lines)
        sys.stdout.flush()  # what cannot be written must be noticed here, not at the end
    except BrokenPipeError:
        raise click.exceptions.Exit(PIPE_CLOSED) from None  # whoever reads has seen enough
    except OSError as error:
        from adtc.atomic import reason_of
        from adtc.errors import QueryError

        raise QueryError(f"the answer cannot be printed: {reason_of(error)}.") from None


def say(lines: Sequence[Line]) -> None:
    """Print, with colours on a terminal; it wraps long lines, so that copying keeps them whole."""
    if not sys.stdout.isatty():
        click.echo("\n".join(line.text for line in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(Text(line.text, style=line.style))


def check_output(output: Path | None, read: str | None, option: str = "--output") -> None:
    """Refuse a file that cannot be written, or that is read, before any work is done."""
    if output is None:
        return
    from adtc.atomic import why_unwritable
    from adtc.errors import QueryError

    reason = why_unwritable(output)
    if reason is None and read is not None and output.resolve() == Path(read).resolve():
        reason = f"it is the {'profile' if output.suffix == '.adtc' else 'table'} itself"
    if reason is not None:
        raise QueryError(f"cannot write '{output}': {reason}; give another file to {option}.")
