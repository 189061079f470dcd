"""All landscapes of a profile in one block of JSON, for a page that can ask no server.

Every pair of metrics is cross-tabulated in a few numbers of bins beforehand, so the size depends on
metrics and bins and never on the number of cells; where it would still be large, less is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from adtc.profiles.bins import Bins, Codes, make_bins
from adtc.profiles.crosstab import Crosstab, count_cells
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.show import views, words
from adtc.show.markup import json_text

View = dict[str, Any]
LARGEST = 200_000  # characters of JSON
_MANY_CELLS = 200_000
_MOST_METRICS = 8


@dataclass(frozen=True, slots=True)
class _Extent:
    """How much is kept: numbers of bins, metrics, and whether every pair has its front."""

    bins: tuple[int, ...]
    metrics: int
    fronts: bool


_FULL = _Extent((5, 10, 20), _MOST_METRICS, fronts=True)


def embedded(profile: Profile, start: tuple[str, str]) -> View:
    """Lay out a profile by all pairs of its metrics, within the size that an output may have.

    Parameters
    ----------
    start
        The metrics across and upwards that are shown first.
    """
    extent = _FULL
    if len(profile.trees) > _MANY_CELLS:  # so that it takes a moment, not a minute
        extent = replace(extent, bins=(10,), fronts=False)
    smaller = [
        replace(extent, fronts=False),
        replace(extent, bins=(10,), fronts=False),
        replace(extent, bins=(10,), metrics=4, fronts=False),
        replace(extent, bins=(10,), metrics=2, fronts=False),
    ]
    view = _laid_out(profile, start, extent)
    for less in smaller:
        if len(json_text(view)) <= LARGEST:
            break
        view = _laid_out(profile, start, less)
    return view


def _laid_out(profile: Profile, start: tuple[str, str], extent: _Extent) -> View:
    others = [name for name in profile.names if name not in start]
    kept = {*start, *others[: extent.metrics - len(start)]}
    names = [name for name in profile.names if name in kept]
    binned = {
        (name, n): _binned(profile, name, n) for name in names for n in extent.bins
    }  # fmt: skip
    axes: list[list[View]] = [[{} for _ in extent.bins] for _ in names]
    tables: dict[str, View] = {}
    for a, b in combinations(range(len(names)), 2):
        wanted = extent.fronts or {names[a], names[b]} == set(start)
        front = views.front_for(profile, names[a], names[b]) if wanted else None
        for at, n in enumerate(extent.bins):
            view = _table(profile, [binned[names[a], n], binned[names[b], n]], front)
            axes[a][at], axes[b][at] = view["x"], view["y"]
            tables[f"{a},{b},{at}"] = {
                "rows": [",".join("" if n == "0" else n for n in row) for row in view["counts"]],
                "front": _line(view, front),
            }
    return {
        "metrics": [
            {"name": name, "title": words.definition(profile, name).title} for name in names
        ],
        "bins": list(extent.bins),
        "start": [names.index(name) for name in start],
        "axes": axes,
        "tables": tables,
        "total": str(profile.total),
        "notes": _notes(profile, names, extent),
    }


def _binned(profile: Profile, name: str, n: int) -> tuple[Bins, Codes]:
    bins, (codes,) = make_bins(name, [profile.column(name)], n, round_edges=True)
    return bins, codes


def _table(profile: Profile, pair: Sequence[tuple[Bins, Codes]], front: Front | None) -> View:
    (x, i), (y, j) = pair
    counts = count_cells(profile, i, j, len(x), len(y))
    return views.landscape(Crosstab(x, y, counts, profile, None, i, j), front=front)


def _line(view: View, front: Front | None) -> View | None:
    """Keep where a front runs, to a hundredth of a cell."""
    if front is None or not view["front"]["line"]:
        return None
    places = dict.fromkeys((round(x, 2), round(y, 2)) for x, y in view["front"]["line"])
    goals = ["max" if name in front.maximize else "min" for name in _names(view)]
    return {"goals": goals, "line": [list(place) for place in places]}


def _names(view: View) -> tuple[str, str]:
    return view["x"]["metric"], view["y"]["metric"]


def _notes(profile: Profile, names: Sequence[str], extent: _Extent) -> list[str]:
    """Say what a reader of the output would not guess."""
    notes = []
    if extent.bins != _FULL.bins or not extent.fronts:
        notes.append(
            f"To keep this output small, its {profile.num_cells:,} cells are counted in "
            f"{' or '.join(map(str, extent.bins))} bins per metric, and the best trade-offs are "
            f"drawn for the first two metrics only; the counts are exact."
        )
    left = len(profile.names) - len(names)
    if left:
        notes.append(f"{left} of {len(profile.names)} metrics are left out here.")
    if notes:
        notes.append("The dashboard shows all: adtc.dashboard.serve(profile).")
    return [" ".join(notes)] if notes else []
