"""Paints votes on people into matplotlib axes: histogram and curve, groups in colours."""

from collections.abc import Sequence
from typing import Any

from adtc.profiles.multiplicity import MultiplicityCurve
from adtc.show.style import BLUE, FAINT, INK, LINE, MARK
from adtc.show.voting import CurvePart, Histogram

# after Okabe and Ito: told apart by everyone; with dashes, in grey, too
_COLOURS = (BLUE, MARK, "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_DASHES = ("-", "--", "-.", ":")


def paint_histogram(ax: Any, data: Histogram, size: float) -> None:
    """Paint everybody as bars, and every group as an outline."""
    whole, *groups = data.parts
    edges = [i / data.bins for i in range(data.bins + 1)]
    heights = [float(100 * share) for share in whole.shares]
    ax.bar(edges[:-1], heights, 1 / data.bins, align="edge", color=FAINT, edgecolor="white",
           linewidth=0.4, label=whole.name)  # fmt: skip
    for at, group in enumerate(groups):
        outline = [float(100 * share) for share in group.shares]
        colour, dash = _look(at)
        ax.stairs(outline, edges, color=colour, linestyle=dash, linewidth=1.1, label=group.name)
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    _legend(ax, groups, size)


def paint_curves(ax: Any, parts: Sequence[CurvePart], size: float) -> None:
    """Paint one falling curve per part; p(1 − p) is at most 1/4."""
    end = max(0.25, *(float(part.values[-1]) for part in parts))  # of several classes more
    for at, part in enumerate(parts):
        colour, dash = (INK, "-") if at == 0 else _look(at - 1)
        xs = [*map(float, part.values), end]
        ys = [*(float(100 * share) for share in part.shares), 0.0]
        ax.plot(xs, ys, drawstyle="steps-post", color=colour, linestyle=dash, linewidth=1.2,
                label=part.name)  # fmt: skip
    ax.set_xlim(0, end)
    ax.set_ylim(0, None)
    _legend(ax, parts[1:], size)


def paint_multiplicity(ax: Any, data: MultiplicityCurve, size: float) -> None:
    """Paint ambiguity and discrepancy as steps in the tolerance."""
    xs = [float(100 * tolerance) for tolerance in data.tolerances]
    for at, (name, curve) in enumerate(
        {"ambiguity: some tree differs": data.ambiguity,
         "discrepancy: most that one tree changes": data.discrepancy}.items()
    ):  # fmt: skip
        colour, _ = _look(at)
        ys = [float(100 * share) for share in curve]
        ax.plot(xs, ys, drawstyle="steps-post", color=colour, linestyle=_DASHES[at], linewidth=1.2,
                marker="." if len(xs) == 1 else None, label=name)  # fmt: skip
    ax.set_xlim(0, 1.03 * xs[-1] or 1)
    ax.set_ylim(0, None)
    _legend(ax, (data,), size)


def _look(at: int) -> tuple[str, str]:
    return _COLOURS[at % len(_COLOURS)], _DASHES[at // len(_COLOURS) % len(_DASHES)]


def _legend(ax: Any, groups: Sequence[object], size: float) -> None:
    if groups:
        found = ax.legend(fontsize=size - 1, frameon=False, handlelength=1.6)
        for text in found.get_texts():
            text.set_color(LINE)
