"""Ranges of reliance as bars from the least to the largest, one per variable: data and picture."""

from dataclasses import dataclass
from typing import Any

from adtc.profiles.reliance import RelianceRanges
from adtc.show.style import BLUE, INK, fitted

_BAR = 0.55  # of the height that a variable has


@dataclass(frozen=True, slots=True)
class RangeData:
    """One bar per variable, the one that good trees may rely on most at the top.

    Parameters
    ----------
    neutral
        Where a tree does not rely on a variable: 1 for ratios, 0 for differences.
    """

    names: tuple[str, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    neutral: float
    label: str


def range_data(ranges: RelianceRanges) -> RangeData:
    """Collect the bars; variables on which no reliance is defined are left out."""
    found = [(one.max, one.min, one.column) for one in ranges if one.max is not None]
    found.sort(key=lambda bar: (bar[0], bar[2]))
    variant = ranges[0].variant if ranges else "reliance"
    by_difference = variant.endswith("difference")
    return RangeData(
        names=tuple(column for _, _, column in found),
        lows=tuple(float(low or 0) for _, low, _ in found),
        highs=tuple(float(high) for high, _, _ in found),
        neutral=0.0 if by_difference else 1.0,
        label="error shuffled − error" if by_difference else "error shuffled / error",
    )


def draw_ranges(ax: Any, data: RangeData, size: float, room: float) -> None:
    """Draw the bars; names get so many points of room."""
    places = range(len(data.names))
    widths = [high - low for low, high in zip(data.lows, data.highs, strict=True)]
    ax.axvline(data.neutral, color=INK, linewidth=0.6, linestyle=(0, (4, 2)))
    ax.barh(places, widths, left=data.lows, height=_BAR, color=BLUE)
    # a range of one value is no bar, but can be seen
    ends = [*data.lows, *data.highs]
    ax.plot(ends, [*places, *places], "|", color=INK, markersize=size * 0.9, linewidth=0.8)
    ax.set_yticks(list(places), labels=[fitted(name, room, size - 1)[0] for name in data.names])
    ax.tick_params(axis="y", length=0)
    ax.margins(y=0.02)
    low, high = min(*ends, data.neutral), max(*ends, data.neutral)
    room_beside = 0.03 * (high - low) or 0.01  # else a bar that begins at the axis seems cut off
    ax.set_xlim(low - room_beside, high + room_beside)
