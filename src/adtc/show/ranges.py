"""Reliance in pictures, data and picture: its range for every variable, and errors against it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from adtc.engine.exact.limbs import counts_of
from adtc.engine.record import log10
from adtc.profiles.reliance import Reliance, RelianceRange, RelianceRanges
from adtc.show.style import BLUE, FAINT, INK, MARK, fitted

_BAR = 0.62  # of the height that a variable has
_PARTS = 30  # of a range, in which trees are counted
_ACROSS, _UP = 120, 70  # places at most in a picture of errors against reliance


@dataclass(frozen=True, slots=True)
class LossData:
    """Trees by reliance on a variable and by errors, put together where points would touch.

    Parameters
    ----------
    points
        Reliance, errors, and the decimal logarithm of the number of trees.
    """

    points: tuple[tuple[float, float, float], ...]
    low: float
    high: float
    neutral: float
    label: str


def loss_data(found: Reliance) -> LossData:
    """Collect reliance and errors of all good trees that have errors."""
    table, range_ = found.profile, found.range
    reliance, errors = table.values(range_.metric), table.values("error")
    low, high = (float(end or 0) for end in (range_.min, range_.max))
    most = max((float(e) for e in errors.distinct if e is not None), default=0.0)
    least = min((float(e) for e in errors.distinct if e is not None), default=0.0)
    trees: Counter[tuple[int, int]] = Counter()
    cells = zip(reliance.codes.tolist(), errors.codes.tolist(), counts_of(table.trees), strict=True)
    across, up = (high - low) / _ACROSS or 1.0, max(1.0, (most - least) / _UP)
    for r, e, n in cells:
        x, y = reliance.distinct[r], errors.distinct[e]
        if x is not None and y is not None:
            trees[round((float(x) - low) / across), round((float(y) - least) / up)] += n
    points = tuple((low + i * across, least + j * up, log10(n) or 0) for (i, j), n in trees.items())
    variant = range_.variant
    return LossData(points, low, high, _neutral(variant), f"{range_.column}: {_label(variant)}")


def paint_losses(ax: Any, data: LossData, size: float) -> None:
    """Draw a point for trees alike, larger for more of them, and mark the range."""
    xs, ys, logs = zip(*data.points, strict=True)
    ax.axvline(data.neutral, color=INK, linewidth=0.6, linestyle=(0, (4, 2)))
    ax.scatter(xs, ys, s=[2 + 4 * log for log in logs], color=BLUE, alpha=0.55, linewidth=0)
    for end, name, side in ((data.low, "MCR−", "right"), (data.high, "MCR+", "left")):
        ax.axvline(end, color=MARK, linewidth=0.9)
        ax.annotate(
            name, (end, 1.0), (2 if side == "left" else -2, -1), fontsize=size - 1, ha=side,
            xycoords=("data", "axes fraction"), textcoords="offset points", va="top", color=MARK,
        )  # fmt: skip
    wide = data.high - data.low or 0.01
    ends = (data.low, data.high, data.neutral)
    ax.set_xlim(min(ends) - 0.15 * wide, max(ends) + 0.15 * wide)


@dataclass(frozen=True, slots=True)
class RangeData:
    """One bar per variable, the one that good trees may rely on most at the top.

    Parameters
    ----------
    neutral
        Where a tree does not rely on a variable: 1 for ratios, 0 for differences.
    bodies
        Per variable the trees in equal parts of its range, as logarithms, the largest being 1;
        empty where they are not known.
    """

    names: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    neutral: float
    label: str
    bodies: tuple[tuple[float, ...], ...] = ()


def range_data(ranges: RelianceRanges) -> RangeData:
    """Collect the bars; variables on which no reliance is defined are left out."""
    found = [(float(one.max), one) for one in ranges if one.max is not None]
    found.sort(key=lambda bar: (bar[0], bar[1].column))
    return RangeData(
        names=tuple(one.column for _, one in found),
        lows=tuple(float(one.min or 0) for _, one in found),
        highs=tuple(high for high, _ in found),
        neutral=_neutral(ranges[0].variant if ranges else "reliance"),
        label=_label(ranges[0].variant if ranges else "reliance"),
        bodies=tuple(_body(one) for _, one in found),
    )


def _neutral(variant: str) -> float:
    return 0.0 if variant.endswith("difference") else 1.0


def _label(variant: str) -> str:
    by_difference = variant.endswith("difference")
    return "error shuffled − error" if by_difference else "error shuffled / error"


def _body(one: RelianceRange) -> tuple[float, ...]:
    """Count the trees in equal parts of a range."""
    if one.distribution is None or one.min is None or one.max is None or one.min == one.max:
        return ()
    trees = [0] * _PARTS
    for value, n in one.distribution.defined():
        part = int((value - one.min) / (one.max - one.min) * _PARTS)
        trees[min(part, _PARTS - 1)] += n
    logs = [0.0 if n == 0 else 1 + float(log10(n) or 0) for n in trees]  # one tree is seen, too
    return tuple(log / max(logs) for log in logs)


def paint_ranges(ax: Any, data: RangeData, size: float, room: float) -> None:
    """Draw the bars; names get so many points of room."""
    places = range(len(data.names))
    widths = [high - low for low, high in zip(data.lows, data.highs, strict=True)]
    ax.axvline(data.neutral, color=INK, linewidth=0.6, linestyle=(0, (4, 2)))
    known = [bool(body) for body in data.bodies] or [False for _ in places]
    colours = [FAINT if there else BLUE for there in known]
    ax.barh(places, widths, left=data.lows, height=_BAR, color=colours)
    for at, body in enumerate(data.bodies):
        part = widths[at] / max(1, len(body))
        middles = [data.lows[at] + part * (i + 0.5) for i in range(len(body))]
        ax.bar(middles, [_BAR * share for share in body], part, color=BLUE,
               bottom=[at - _BAR * share / 2 for share in body])  # fmt: skip
    # a range of one value is no bar, but can be seen
    ends = [*data.lows, *data.highs]
    ax.plot(ends, [*places, *places], "|", color=INK, markersize=size * 0.9, linewidth=0.8)
    ax.set_yticks(list(places), labels=[fitted(name, room, size - 1)[0] for name in data.names])
    ax.tick_params(axis="y", length=0)
    ax.margins(y=0.02)
    low, high = min(*ends, data.neutral), max(*ends, data.neutral)
    room_beside = 0.03 * (high - low) or 0.01  # else a bar that begins at the axis seems cut off
    ax.set_xlim(low - room_beside, high + room_beside)
