"""Measure our own speed (`make bench`): seconds, and the costs that compare across machines."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import cases
import pytest
import tables

import adtc

_ROUNDS = (1, 5)  # fewest and most
_WORTH = 3.0  # seconds that the rounds of a case should take together


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_speed(case: cases.Case, benchmark: Any, lines: list[str]) -> None:
    try:
        data = cases.load(case.table)
    except tables.MissingTableError as absent:
        pytest.skip(str(absent))
    case.warm()
    # This run of the whole question is the one warm call.
    start = time.perf_counter()
    try:
        found = case.run(data)
    except adtc.ADTCError as limit:  # said so that the table is complete without it
        lines.append(f"| {case.name} | {limit} |  |  |  |  |  |  |")
        pytest.skip(str(limit))
    once = time.perf_counter() - start
    if case.answer is not None:
        assert found.answer == case.answer
    fewest, most = _ROUNDS
    rounds = max(fewest, min(most, int(_WORTH / once)))
    benchmark.pedantic(case.run, args=(data,), rounds=rounds, iterations=1)
    seconds = benchmark.stats.stats.median
    peak = _peak(case)
    benchmark.extra_info.update(
        answer=str(found.answer),
        cell_scan=found.cell_scan,
        num_cells=found.num_cells,
        live=found.live,
        engine_seconds=found.engine,
        peak_mb=peak,
        seconds=seconds,
        case=case.name,
    )
    lines.append(as_row(benchmark.extra_info))


def _peak(case: cases.Case) -> float:
    """Measure the peak memory in a process of its own."""
    run = subprocess.run(
        [sys.executable, str(Path(cases.__file__)), case.name],
        check=True,
        capture_output=True,
        text=True,
        timeout=3 * cases.SECONDS,
    )
    return float(json.loads(run.stdout)["peak_mb"])


def as_row(told: dict[str, Any]) -> str:
    """Write a line of the table from what a benchmark keeps."""
    answer = float(told["answer"]) if "." in told["answer"] else int(told["answer"])
    short = f"{answer:,}" if answer < 10**12 else f"{answer:.4e}"
    return (
        f"| {told['case']} | {short} | {told['seconds']:.3g} | {told['engine_seconds']:.3g} | "
        f"{told['cell_scan']:,} | {told['num_cells']:,} | {told['live']:,} | "
        f"{told['peak_mb']:.0f} |"
    )
