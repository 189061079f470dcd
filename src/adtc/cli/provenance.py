"""Where a file comes from: the command that made it, the table that was read, the date."""

import hashlib
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from adtc.cli.group import TYPED

_BLOCK = 1 << 20


def command_line() -> str:
    """Return the command as it was typed, quoted for a shell."""
    context = click.get_current_context(silent=True)
    typed = [] if context is None else context.meta.get(TYPED, [])
    return _as_text(shlex.join(["adtc", *typed]))


def provenance(table: str) -> dict[str, Any]:
    """Tell how a profile is made, for its record: command, date, and the file that was read."""
    found: dict[str, Any] = {
        "command": command_line(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path = Path(table)
    if path.is_file():
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
        name = _as_text(path.name)
        found["source"] = {"file": name, "sha256": digest.hexdigest(), "bytes": size}
    else:
        found["source"] = {"bundled": table}
    return found


def _as_text(given: str) -> str:
    """Spell bytes of an argument that are no text as question marks: a record is text."""
    return given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
