"""The command line: arguments become calls of the public API, their answers text or JSON.

A new command is one function under `@table_command` or `@source_command` that returns an `Answer`.
Nothing of adtc beyond this package is imported before a command runs, so `--help` is immediate.
"""

from adtc.cli import (
    auditing,
    commands,
    completion,
    dashboard,
    demo,
    describing,
    drawing,
    paper,
    profiling,
    reporting,
    verifying,
    voting,
)
from adtc.cli.group import main

__all__ = [
    "auditing",
    "commands",
    "completion",
    "dashboard",
    "demo",
    "describing",
    "drawing",
    "main",
    "paper",
    "profiling",
    "reporting",
    "verifying",
    "voting",
]
