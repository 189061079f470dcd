"""The three most telling numbers of the demo, each counted again by a run of its own."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from adtc.text import percent

if TYPE_CHECKING:
    from adtc.profiles import Profile

SETTING = "adult --maxdep 5 --relminsup 0.15 --siz 6"
METRICS = ("size", "acc", "f1", "dp", "eodd_sum", "eopp")
GIVEN_UP = Fraction(2, 100)  # accuracy that fairness may cost
NARROW = Fraction(5, 100)  # a gap between women and men that few would call large


def sentences(path: Path) -> list[str]:
    """Find the numbers in the saved profile, check each of them, and put them into sentences."""
    from adtc.cli.sources import load_exact

    profile = load_exact(str(path))
    return [_better(profile), _price(profile), _narrow(profile)]


def _better(profile: "Profile") -> str:
    always = _always(profile)
    better = profile.where(f"acc > {always}").total
    _check(profile, None, profile.total)
    _check(profile, f"acc > {always}", better)
    return (
        f"There are {profile.total:,} such trees, and {better:,} of them are right more often than "
        f"the rule that nobody earns more than 50,000 dollars, which is right for "
        f"{percent(always)} of the people."
    )


def _price(profile: "Profile") -> str:
    best = _largest(profile, "acc")
    gap = -_largest(profile.where(f"acc = {best}"), "-dp")
    near = f"acc >= {best - GIVEN_UP}"
    least = -_largest(profile.where(near), "-dp")
    _check(profile, f"acc > {best}", 0)
    _check(profile, f"acc = {best} and dp < {gap}", 0)
    _check(profile, f"{near} and dp < {least}", 0)
    reached = profile.where(f"{near} and dp = {least}")
    _check(profile, f"{near} and dp = {least}", reached.total)
    return (
        f"The trees that are right most often ({percent(best)}) say 'more' of one sex at least "
        f"{_points(gap)} more often than of the other; giving up {_points(GIVEN_UP)} of accuracy "
        f"can bring that down to {_points(least)}, and no further."
    )


def _narrow(profile: "Profile") -> str:
    always = _always(profile)
    better = profile.where(f"acc > {always}")
    fair = better.where(f"dp <= {NARROW}")
    _check(profile, f"acc > {always} and dp <= {NARROW}", fair.total)
    best = _largest(fair, "acc")
    _check(profile, f"acc > {best} and dp <= {NARROW}", 0)
    return (
        f"Of the {better.total:,} trees that beat that rule, {fair.total:,} keep women and men "
        f"within {_points(NARROW)} of each other; the best of them is right for {percent(best)}."
    )


def _always(profile: "Profile") -> Fraction:
    """Return the accuracy of the better one of the two trees without a split."""
    return _largest(profile.where("size = 1"), "acc")


def _largest(profile: "Profile", metric: str) -> Fraction:
    values = [value for value in profile.values(metric).distinct if value is not None]
    return Fraction(values[-1])


def _check(profile: "Profile", where: str | None, count: int) -> None:
    """Count anew on the table, without the profile."""
    import adtc

    source = profile.need_source("counting again")
    found = adtc.count(source.data, source.space, where=where)
    if found != count:
        raise RuntimeError(f"the profile has {count} trees with {where}, a count finds {found}.")


def _points(share: Fraction) -> str:
    return f"{float(100 * share):.3g} points"
