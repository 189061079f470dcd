"""Shared by the benchmarks: the limits of a run, and the table that it ends with."""

from typing import Any

import machine
import memory
import pytest
from cases import GIGABYTES

_LINES = pytest.StashKey[list[str]]()
_MACHINE = pytest.StashKey[dict[str, Any]]()
HEAD = "| case | answer | seconds | engine | cell_scan | num_cells | live | peak MB |"


def pytest_configure(config: pytest.Config) -> None:
    memory.limit(GIGABYTES)
    config.stash[_LINES] = []
    config.stash[_MACHINE] = machine.describe()


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> list[str]:
    """Give the lines of the final table; a benchmark appends its own."""
    return request.config.stash[_LINES]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash[_LINES]:
        terminalreporter.write_line("")
        for line in (HEAD, "| --- |" + " ---: |" * 7, *config.stash[_LINES]):
            terminalreporter.write_line(line)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(
    config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]
) -> None:
    """Keep with ``--benchmark-json`` what the docs page shows."""
    output_json["machine"] = config.stash[_MACHINE]
    output_json["lines"] = [HEAD, "| --- |" + " ---: |" * 7, *config.stash[_LINES]]
