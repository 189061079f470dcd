"""Which unpublished conventions would give the paper's numbers: a fixed grid, all of it shown.

The paper does not say how columns became features nor which 432 rows were left out. Every
combination of the plausible choices below is counted in the paper's setting. Nothing else in the
package depends on what comes out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np

from adtc.data import Data, load_dataset
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.paper import reported
from adtc.paper.results import Cell, Result
from adtc.paper.setting import Setting
from adtc.paper.tables import take
from adtc.profiles import profile

_SHOWN = 8  # combinations in the main table
_MISSING = " is missing"


@dataclass(frozen=True, slots=True)
class Convention:
    """One combination of choices that the paper leaves open.

    Parameters
    ----------
    complete
        Whether rows with a missing value are left out.
    round_down
        Whether relminsup is rounded down to whole rows, not up.
    """

    numeric: str
    binning: str
    onehot: str
    use_sensitive: bool
    drop: tuple[str, ...]
    complete: bool
    labels: Literal["any", "majority"]
    trivial_splits: bool
    round_down: bool

    @property
    def is_default(self) -> bool:
        """Tell whether these are the product's defaults."""
        return self == DEFAULT

    @property
    def is_papers(self) -> bool:
        """Tell whether trees are those of the paper's definition; it leaves only reading open."""
        return self.labels == "any" and self.trivial_splits

    def reading(self) -> dict[str, Any]:
        """Return the options with which the table is read."""
        return {
            "numeric": self.numeric,
            "binning": self.binning,
            "onehot": self.onehot,
            "use_sensitive": self.use_sensitive,
            "drop": list(self.drop),
        }

    def space(self, data: Data, setting: Setting) -> Space:
        """Return the space of trees."""
        space = replace(setting.space(), labels=self.labels, trivial_splits=self.trivial_splits)
        if self.round_down:
            least = int(Fraction(setting.relminsup) * data.total)
            space = replace(space, relminsup=None, minsup=least)
        return space


Line = tuple[Convention, int, int, int, int]
"""A convention with rows, features, trees, and trees with acc ≥ 0.749."""

DEFAULT = Convention("thresholds", "quantile", "drop", False, (), False, "any", True, False)

_DROPS: tuple[tuple[str, ...], ...] = (
    (),
    ("fnlwgt",),
    ("education",),
    ("education-num",),
    ("fnlwgt", "education"),
    ("fnlwgt", "education-num"),
)

_COUNTING: tuple[tuple[Literal["any", "majority"], bool], ...] = (
    ("any", True),
    ("any", False),
    ("majority", True),
)


def grid() -> Iterator[Convention]:
    """Yield every combination: how the table is read first, then what is counted."""
    readings = product(
        ("thresholds", "bins"), ("quantile", "width"), ("drop", "all"), (False, True), _DROPS,
        (False, True),
    )  # fmt: skip
    for numeric, binning, onehot, use_sensitive, drop, complete in readings:
        if onehot == "all" and not use_sensitive:
            continue  # sex is adult's only column of two values, so nothing would change
        for labels, trivial in _COUNTING:
            for down in (False, True):
                yield Convention(
                    numeric, binning, onehot, use_sensitive, drop, complete, labels, trivial, down
                )


def compare(data: Data, setting: Setting, monitor: Monitor | None = None) -> Result:
    """Count the trees of the paper's setting under every combination of conventions.

    Parameters
    ----------
    data
        Says which rows to take; the table is read anew under each convention.
    """
    watch = monitor or Monitor()
    found: list[Line] = []
    combinations = list(grid())
    tables: dict[Any, Data] = {}
    for done, convention in enumerate(combinations):
        if watch.progress is not None:
            watch.progress("conventions", done, len(combinations))
        key = (tuple(map(str, convention.reading().values())), convention.complete)
        if key not in tables:
            tables = {key: _read(convention, setting, data.n_rows)}  # one at a time
        table = tables[key]
        space = convention.space(table, setting)
        quiet = replace(watch, progress=None)
        counted = profile(table, space, ["acc"], monitor=quiet)
        near = counted.where(f"acc >= {reported.NEAR_OPTIMAL_ACCURACY}").total
        found.append((convention, table.total, table.n_features, counted.total, near))
    found.sort(key=lambda line: (abs(line[3] - reported.TREES), len(_words(line[0]))))
    default = next(line for line in found if line[0].is_default)
    nearest = found[0]
    by_definition = [line for line in found if line[0].is_papers]
    shown = [*_distinct(found)[:_SHOWN], *_distinct(by_definition)[:_SHOWN], default]
    rows = [_row(line) for line in dict.fromkeys(shown)]
    exact = sum(line[3] == reported.TREES for line in found)
    sentence = (
        f"Of {len(found):,} combinations {exact} give exactly {reported.TREES:,} trees; the "
        f"nearest gives {nearest[3]:,} ({_words(nearest[0])}), the nearest one with every label "
        f"and every split, as the paper defines trees, {by_definition[0][3]:,} "
        f"({_words(by_definition[0][0])}), and the defaults give "
        f"{default[3]:,}; no combination has {reported.NEAR_OPTIMAL:,} trees with acc ≥ "
        f"{reported.NEAR_OPTIMAL_ACCURACY} (at most {max(line[4] for line in found):,})."
    )
    facts = {
        "combinations": len(found),
        "nearest": nearest[3],
        "nearest_by_definition": by_definition[0][3],
        "default": default[3],
        "all": [[_words(line[0]), *line[1:]] for line in found],
    }
    head = ("conventions", "rows", "features", "trees", f"off {reported.TREES:,} by", "acc ≥ 0.749")
    return Result(sentence, head, tuple(rows), (), facts)


def _read(convention: Convention, setting: Setting, n: int) -> Data:
    """Read adult under a convention, as far as row n; complete rows only if it says so."""
    data = load_dataset("adult", nbins=setting.nbins, **convention.reading())
    if n < data.n_rows:
        data = take(data, np.arange(n))
    if not convention.complete:
        return data
    gaps = [i for i, name in enumerate(data.feature_names) if name.endswith(_MISSING)]
    missing = data.dense()[:, gaps].any(axis=1) if gaps else np.zeros(data.n_rows, bool)
    return take(data, np.flatnonzero(~missing))


def _distinct(lines: list[Line]) -> list[Line]:
    """Keep the first line of each number of trees: several conventions may come to the same."""
    return list({line[3]: line for line in reversed(lines)}.values())[::-1]


def _row(line: Line) -> tuple[Cell, ...]:
    convention, rows, features, trees, near = line
    return _words(convention), rows, features, trees, trees - reported.TREES, near


def _words(convention: Convention) -> str:
    """Name what differs from the defaults."""
    parts = []
    if convention.numeric != DEFAULT.numeric:
        parts.append("one feature per bin")
    if convention.binning != DEFAULT.binning:
        parts.append("bins of equal width")
    if convention.use_sensitive:
        parts.append("sex is a feature" if convention.onehot == "drop" else "sex is two features")
    if convention.drop:
        parts.append(f"without {' and '.join(convention.drop)}")
    if convention.complete:
        parts.append("complete rows only")
    if convention.labels != DEFAULT.labels:
        parts.append("majority labels")
    if not convention.trivial_splits:
        parts.append("no trivial splits")
    if convention.round_down:
        parts.append("minsup rounded down")
    return "; ".join(parts) or "the defaults"
