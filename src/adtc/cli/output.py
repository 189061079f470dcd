"""How an answer leaves the program: text for people or one JSON object, and a file if asked.

On a terminal text is coloured; into a pipe or a file goes the same text without colours.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; ``style`` is a rich style such as "bold"."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say, for programs and for people."""

    json: dict[str, Any]
    text: Sequence[Line]


def deliver(answer: Answer, as_json: bool, output: Path | None) -> None:
    """Write the file first, so that what was printed was also kept."""
    lines = answer.text
    if as_json:
        lines = [Line(json.dumps(answer.json, indent=2, allow_nan=False))]
    if output is not None:
        write(output, "".join(f"{line.text}\n" for line in lines))
    say(lines)
    sys.stdout.flush()  # a closed pipe must be noticed here, where it is silent


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
    target, folder = output.resolve(), output.resolve().parent
    if target.is_dir():
        raise _unwritable(output, "it is a folder", option)
    if not folder.is_dir():
        raise _unwritable(output, f"the folder '{folder}' does not exist", option)
    if not os.access(target if target.exists() else folder, os.W_OK):
        raise _unwritable(output, "permission is denied", option)
    if read is not None and target == Path(read).resolve():
        what = "profile" if target.suffix == ".adtc" else "table"
        raise _unwritable(output, f"it is the {what} itself", option)


def write(output: Path, text: str) -> None:
    """Write a file in one step: under a temporary name, then renamed.

    A link keeps its place and its target is replaced; devices and pipes are written directly.
    """
    target = output.resolve()
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8")
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as error:
        raise _unwritable(output, error.strerror or str(error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _unwritable(output: Path, reason: str, option: str = "--output") -> ValueError:
    from adtc.errors import QueryError

    return QueryError(f"cannot write '{output}': {reason}; give another file to {option}.")
