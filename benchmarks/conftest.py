"""Shared by the benchmarks: the limits of a run, and the table that it ends with."""

import memory
import pytest
from cases import GIGABYTES

_LINES = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    memory.limit(GIGABYTES)
    config.stash[_LINES] = []


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> list[str]:
    """Give the lines of the final table; a benchmark appends its own."""
    return request.config.stash[_LINES]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash[_LINES]:
        terminalreporter.write_line("")
        head = "| case | answer | seconds | engine | cell_scan | num_cells | live | peak MB |"
        for line in (head, "| --- |" + " ---: |" * 7, *config.stash[_LINES]):
            terminalreporter.write_line(line)
