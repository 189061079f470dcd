"""The model profiles: Fig. 1, 2, 3 (a) and 7, cross-tables of all trees by two metrics."""

from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.paper import reported
from adtc.paper.results import Cell, Panel, Result
from adtc.paper.setting import Setting
from adtc.paper.tables import balanced
from adtc.profiles import profile
from adtc.profiles.crosstab import Crosstab

_BINS = 10


def accuracy_f1_dp(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Fig. 1: all trees by accuracy and F1, and by accuracy and demographic parity."""
    found = profile(data, setting.space(), ["acc", "f1", "dp"], monitor=monitor)
    tables = [found.crosstab("acc", other, bins=_BINS) for other in ("f1", "dp")]
    best = max(found.values("acc").distinct, key=lambda value: value or 0)
    rows = (
        ("rows of the table", reported.ROWS, data.total),
        ("trees", reported.TREES, found.total),
        ("largest accuracy", "0.831 or less", _decimal(best)),
        ("cells by acc, f1 and dp", None, found.num_cells),
    )
    sentence = (
        f"{found.total:,} trees here, {reported.TREES:,} in the paper; the largest accuracy is "
        f"{_decimal(best)} here, and the paper's highest bin ends at 0.831."
    )
    facts = {"trees": found.total, "cells": found.num_cells, "best_acc": str(best)}
    panels = [
        _panel("acc-f1", tables[0], "Accuracy and F1"),
        _panel("acc-dp", tables[1], "Accuracy and gap of demographic parity"),
    ]
    return Result(sentence, ("quantity", "paper", "here"), rows, tuple(panels), facts)


def accuracy_balanced_accuracy(
    data: Data, setting: Setting, monitor: Monitor | None = None
) -> Result:
    """Fig. 2: all trees by accuracy and balanced accuracy, before and after balancing classes."""
    even = balanced(data, setting.seed)
    rows: list[tuple[Cell, ...]] = []
    panels = []
    for what, table in (("original", data), ("balanced", even)):
        found = profile(table, setting.space(), ["acc", "bacc"], monitor=monitor)
        gap = found.column("acc - bacc")
        apart = found.total - found.where("acc - bacc = 0").total
        largest = max(abs(a / b) for a, b in zip(gap.top, gap.bottom, strict=True) if b)
        rows.append((what, table.total, reported.TREES, found.total, apart, f"{largest:.4f}"))
        shown = found.crosstab("acc", "bacc", bins=_BINS)
        panels.append(_panel(what, shown, f"Accuracy and balanced accuracy, {what} classes"))
    first, second = rows
    sentence = (
        f"{first[3]:,} trees on the original and {second[3]:,} on the class-balanced rows "
        f"({reported.TREES:,} in the paper): accuracy and balanced accuracy differ by up to "
        f"{first[5]} before balancing and by {second[5]} after it, the calibration that the "
        f"paper's Fig. 2 shows."
    )
    facts = {
        str(what): {"rows": n, "trees": trees, "apart": apart}
        for what, n, _, trees, apart, _ in rows
    }
    head = (
        "classes",
        "rows",
        "trees (paper)",
        "trees (here)",
        "acc ≠ bacc",
        "largest difference",
    )
    return Result(sentence, head, tuple(rows), tuple(panels), facts)


def size_depth(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Fig. 3 (a): the near-optimal trees by size and depth."""
    where = f"acc >= {reported.NEAR_OPTIMAL_ACCURACY}"
    found = profile(data, setting.space(), ["size", "depth"], where=where, monitor=monitor)
    table = found.crosstab("size", "depth", bins="values")
    cells = [
        (n, size.low, depth.low)
        for size, row in zip(table.x_bins, table.counts, strict=True)
        for depth, n in zip(table.y_bins, row, strict=True)
    ]
    most, size, depth = max(cells, default=(0, None, None))
    rows = (
        (f"trees with acc ≥ {reported.NEAR_OPTIMAL_ACCURACY}", reported.NEAR_OPTIMAL, found.total),
        ("most frequent depth", 4, None if depth is None else int(depth)),
        ("most frequent size", "4 to 5", None if size is None else int(size)),
        ("trees of that size and depth", None, most),
    )
    sentence = (
        f"{found.total:,} trees with acc ≥ {reported.NEAR_OPTIMAL_ACCURACY} here and "
        f"{reported.NEAR_OPTIMAL:,} in the paper (more than its {reported.TREES:,} trees of all "
        f"accuracies, so of another setting); most of them, {most:,}, have size {size} and depth "
        f"{depth}, where the paper names sizes 4 to 5 and depth 4."
    )
    facts = {
        "trees": found.total,
        "most": most,
        "size": None if size is None else int(size),
        "depth": None if depth is None else int(depth),
    }
    panels = (_panel("counts", table, f"Size and depth of trees with {where}"),)
    return Result(sentence, ("quantity", "paper", "here"), rows, panels, facts)


def fairness(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Fig. 7: all trees by accuracy and the gaps of equalized odds and equal opportunity."""
    found = profile(data, setting.space(), ["acc", "eodd_sum", "eopp"], monitor=monitor)
    rows: list[tuple[Cell, ...]] = [("trees", None, reported.TREES, found.total)]
    for cell in reported.NAMED_CELLS:
        rows.append((cell.what, cell.where, cell.trees, found.where(cell.where).total))
    low, high, moderate = (int(row[3] or 0) for row in rows[1:])
    table = found.crosstab("acc", "eodd_sum", bins=_BINS)
    corner = table.counts[-1][0]
    where = f"acc in {table.x_bins.labels[-1]}, eodd_sum in {table.y_bins.labels[0]}"
    first, second, third = reported.NAMED_CELLS
    rows.append(("our own bins: highest accuracy, lowest EOdd", where, first.trees, corner))
    sentence = (
        f"Of {found.total:,} trees ({reported.TREES:,} in the paper) {low:,} are in its cell of "
        f"high accuracy and low EOdd ({first.trees:,}), {high:,} in that of high accuracy and high "
        f"EOdd ({second.trees:,}) and {moderate:,} in that of moderate accuracy and high EOdd "
        f"({third.trees:,}); the corner of highest accuracy and lowest EOdd of our own table holds "
        f"{corner:,}."
    )
    panels = (
        _panel("acc-eodd", table, "Accuracy and EOdd"),
        _panel("acc-eopp", found.crosstab("acc", "eopp", bins=_BINS), "Accuracy and EOpp"),
    )
    facts = {"trees": found.total, "named": [low, high, moderate], "corner": corner}
    head = ("trees with", "formula", "paper", "here")
    return Result(sentence, head, tuple(rows), panels, facts)


def _panel(name: str, table: Crosstab, title: str) -> Panel:
    head = (f"{table.x} \\ {table.y}", *table.y_bins.labels)
    rows: list[tuple[Cell, ...]] = [head]
    rows += [(label, *row) for label, row in zip(table.x_bins.labels, table.counts, strict=True)]
    return Panel(name, title, rows, lambda: table.plot(title=title))


def _decimal(value: object) -> str:
    return f"{float(value):.4f}"  # type: ignore[arg-type]
