"""The command line: arguments become calls of the public API, their answers text or JSON.

A new command is one function in `commands` under `@table_command` that returns an `Answer`.
Nothing of adtc beyond this package is imported before a command runs, so `--help` is immediate.
"""

from adtc.cli import commands, demo
from adtc.cli.group import main

__all__ = ["commands", "demo", "main"]
