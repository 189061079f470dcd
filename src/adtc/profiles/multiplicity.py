"""Ambiguity and discrepancy (Marx et al. 2020) as the good trees grow with their tolerance."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from adtc.engine.exact.values import Value
from adtc.engine.monitor import Monitor
from adtc.profiles.curves import tolerance_curve
from adtc.profiles.drawing import at_least_one
from adtc.profiles.marginals import Plottable
from adtc.profiles.people import vote_shares
from adtc.profiles.people.baselines import Baseline, baseline_name
from adtc.profiles.people.decisions import CHANGED, discrepancy
from adtc.profiles.profile import Profile
from adtc.profiles.writing import aligned, grouped, json_number

STEPS = 32
"""Tolerances at which a curve is computed, if there are more at which it may grow."""


@dataclass(frozen=True, slots=True)
class MultiplicityCurve(Plottable):
    """How many people's decisions some tree, and how many one tree, within a tolerance changes.

    Parameters
    ----------
    tolerances
        Ascending from 0; G are the trees within (1 + ε) · best.
    trees
        The number of G.
    ambiguity
        The share of people whose decision some tree of G changes.
    discrepancy
        The largest share of decisions that one tree of G changes.
    """

    baseline: str
    objective: str
    best: Value
    tolerances: tuple[Fraction, ...]
    trees: tuple[int, ...]
    ambiguity: tuple[Fraction, ...]
    discrepancy: tuple[Fraction, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the curves as plain JSON values."""
        curves = {"ambiguity": self.ambiguity, "discrepancy": self.discrepancy}
        return {
            "baseline": self.baseline,
            "objective": self.objective,
            "best": json_number(self.best),
            "tolerances": [json_number(tolerance) for tolerance in self.tolerances],
            "tolerances_exact": [str(tolerance) for tolerance in self.tolerances],
            "trees": list(self.trees),
            **{name: [float(x) for x in curve] for name, curve in curves.items()},
            **{f"{name}_exact": [str(x) for x in curve] for name, curve in curves.items()},
        }

    def to_text(self) -> str:
        """Write one line per tolerance."""
        columns = (self.tolerances, self.trees, self.ambiguity, self.discrepancy)
        rows = [
            [f"{float(100 * e):.2f} %", grouped(n), *(f"{float(100 * x):.1f} %" for x in shares)]
            for e, n, *shares in zip(*columns, strict=True)
        ]
        return aligned([["tolerance", "trees", "ambiguity", "discrepancy"], *rows])


def multiplicity_curve(
    profile: Profile,
    baseline: Baseline,
    *,
    objective: str = "error",
    steps: int = STEPS,
    monitor: Monitor | None = None,
) -> MultiplicityCurve:
    """Compute ambiguity and discrepancy against a baseline for growing tolerances, exactly.

    Parameters
    ----------
    baseline
        What was decided: the name of a reference column (or the target), a tree, or one prediction
        per row.
    objective
        A metric of the profile, or a term over its metrics: less is better.
    steps
        Tolerances at most, evenly chosen among those at which the set of trees grows.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> good = adtc.profile(data, adtc.Space(max_depth=1), ["size", "error"])
    >>> curve = good.multiplicity_curve([1, 1, 0], objective="size + error")
    >>> print(curve.to_text())
    tolerance  trees  ambiguity  discrepancy
    0.00 %         2     33.3 %       33.3 %
    50.00 %        4    100.0 %       66.7 %
    100.00 %       5    100.0 %       66.7 %
    150.00 %       6    100.0 %      100.0 %
    """
    at_least_one("steps", steps)
    growing = tolerance_curve(profile, objective)
    n = len(growing.tolerances)
    chosen = [round(x) for x in np.linspace(0, n - 1, min(n, steps))]
    found = discrepancy(profile, baseline, monitor=monitor)
    changes = found.profile.values(CHANGED)
    ambiguity, largest = [], []
    for at in chosen:
        part = profile.take(_within(profile, growing.best, growing.tolerances[at], objective))
        share = vote_shares(part, monitor=monitor).ambiguity(baseline).overall
        ambiguity.append(Fraction(share or 0))
        cells = _within(found.profile, growing.best, growing.tolerances[at], objective)
        most = max(changes.distinct[code] or 0 for code in set(changes.codes[cells].tolist()))
        largest.append(Fraction(most, found.people))
    return MultiplicityCurve(
        baseline_name(baseline),
        objective,
        growing.best,
        tuple(growing.tolerances[at] for at in chosen),
        tuple(growing.trees[at] for at in chosen),
        tuple(ambiguity),
        tuple(largest),
    )


def _within(profile: Profile, best: Value, tolerance: Fraction, objective: str) -> Any:
    """Tell which cells are within a tolerance."""
    values = profile.values(objective)
    limit = Fraction(best or 0) * (1 + tolerance)
    good = np.array([value is not None and value <= limit for value in values.distinct], bool)
    return good[values.codes]
