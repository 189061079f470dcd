"""What a run costs: Fig. 4 (rows), Fig. 5 (depth) and Fig. 6 (size).

Costs are those of a profile by size, accuracy and F1: the axes are size, N11 and N01. Seconds are
those of the engine on this machine, on its second run.
"""

import math
from collections.abc import Sequence

from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.paper import reported
from adtc.paper.chart import paint_lines
from adtc.paper.results import Panel, Result
from adtc.paper.setting import Setting
from adtc.paper.tables import some_rows
from adtc.profiles import profile

METRICS = ("size", "acc", "f1")
_FEWEST = 40  # rows, as in the paper
_HEAD = ("time (s)", "cell_scan", "num_cells", "trees")
_MOST_SIZE = 16

Cost = tuple[float, int, int, int]


def cost(data: Data, space: Space, monitor: Monitor | None) -> Cost:
    """Measure a second run: seconds, scanned cells, cells, trees."""
    profile(data, space, METRICS, monitor=monitor)
    found = profile(data, space, METRICS, monitor=monitor)
    record = found.record
    return round(record.seconds, 4), record.cell_scan, found.num_cells, found.total


def scalability(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Fig. 4: time, scanned cells and cells for 40, 80, … and all rows."""
    sizes = _doubling(data.n_rows)
    rows = [(n, *cost(some_rows(data, n, setting.seed), setting.space(), monitor)) for n in sizes]
    first, last = rows[0], rows[-1]
    slope = _slope(sizes, [row[1] for row in rows])
    sentence = (
        f"All {last[0]:,} rows take {last[1]:.2f} s and {last[2]:,} scanned cells for "
        f"{last[3]:,} cells ({reported.SECONDS} s and {reported.CELL_SCAN / 1e9:.1f}·10⁹ scanned "
        f"cells in the paper, in Python on another machine, which is no measure of this program: "
        f"see the experiment 'reference'); from {first[0]:,} rows on, time grows like "
        f"rows^{slope:.2f}."
    )
    curves: dict[str, list[float]] = {
        "time (s)": [row[1] for row in rows],
        "cell_scan": [row[2] for row in rows],
        "num_cells": [row[3] for row in rows],
    }
    panel = Panel(
        "costs",
        "Cost and number of rows",
        [("rows", *_HEAD), *rows],
        lambda: paint_lines("Cost and number of rows", ("rows", sizes), curves),
    )
    facts = {"rows": sizes, "cell_scan": curves["cell_scan"], "num_cells": curves["num_cells"]}
    return Result(sentence, ("rows", *_HEAD), tuple(rows), (panel,), facts)


def impact_of_depth(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Fig. 5: cost as maxdep grows and siz with it; on all rows and on a sample."""
    depths = range(1, setting.max_depth + 1)
    few = some_rows(data, setting.rows, setting.seed)
    tables = [few, data] if few.n_rows < data.n_rows else [data]
    rows = []
    for depth in depths:
        siz = _proportional(depth, setting)
        space = setting.space(max_depth=depth, max_size=siz)
        for table in tables:
            rows.append((depth, siz, table.n_rows, *cost(table, space, monitor)))
    scans = {t.n_rows: [row[4] for row in rows if row[2] == t.n_rows] for t in tables}
    curves = {f"cell_scan\n{n:,} rows": scan for n, scan in scans.items()}
    sentence = (
        f"cell_scan grows with depth and reaches {scans[data.n_rows][-1]:,} at maxdep "
        f"{setting.max_depth} on all {data.n_rows:,} rows and {scans[few.n_rows][-1]:,} on "
        f"{few.n_rows:,} rows; the paper reports about 2.0·10⁷ there and not for how many rows."
    )
    head = ("maxdep", "siz", "rows", *_HEAD)
    panel = Panel(
        "costs",
        "Scanned cells and depth",
        [head, *rows],
        lambda: paint_lines(
            "Scanned cells and depth", ("maxdep", list(depths)), curves, log_x=False
        ),
    )
    return Result(sentence, head, tuple(rows), (panel,), {"cell_scan": list(scans.values())})


def effect_of_size(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Fig. 6: cost as siz grows from 1 to 16, on a sample of the rows."""
    few = some_rows(data, setting.rows, setting.seed)
    sizes = range(1, _MOST_SIZE + 1)
    rows = [
        (siz, *cost(few, setting.space(max_depth=setting.depth, max_size=siz), monitor))
        for siz in sizes
    ]
    cells, scans = [row[3] for row in rows], [row[2] for row in rows]
    still = next(siz for siz, n in zip(sizes, cells, strict=True) if n == cells[-1])
    room = few.total // setting.space().min_support(few.total)
    sentence = (
        f"On {few.n_rows:,} rows of {data.name}, num_cells grows to {cells[-1]:,} and cell_scan to "
        f"{scans[-1]:,}, and both stand still from siz {still} on, as the paper describes; leaves "
        f"of at least {float(setting.relminsup):.0%} of the rows leave room for no more than "
        f"{room} of them, so a larger siz changes nothing."
    )
    curves = {"cell_scan": scans, "num_cells": cells}
    title = f"Cost and siz, {data.name}"
    panel = Panel(
        "costs",
        title,
        [("siz", *_HEAD), *rows],
        lambda: paint_lines(title, ("siz", list(sizes)), curves, log_x=False),
    )
    facts = {"cell_scan": scans, "num_cells": cells, "still_from": still}
    return Result(sentence, ("siz", *_HEAD), tuple(rows), (panel,), facts)


def _doubling(most: int) -> list[int]:
    """List 40, 80, 160 … and the whole table."""
    sizes = []
    n = _FEWEST
    while n < most:
        sizes.append(n)
        n *= 2
    return [*sizes, most]


def _proportional(depth: int, setting: Setting) -> int:
    """Scale siz with maxdep: the paper's "proportionally", rounded up."""
    return math.ceil(setting.max_size * depth / setting.max_depth)


def _slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Fit the exponent of a power law by least squares on logarithms."""
    pairs = [(math.log(x), math.log(y)) for x, y in zip(xs, ys, strict=True) if y > 0]
    if len({x for x, _ in pairs}) < 2:  # noqa: PLR2004
        return 0.0
    mean_x = sum(x for x, _ in pairs) / len(pairs)
    mean_y = sum(y for _, y in pairs) / len(pairs)
    above = sum((x - mean_x) * (y - mean_y) for x, y in pairs)
    return above / sum((x - mean_x) ** 2 for x, _ in pairs)
