"""One door to all pictures: `plot` paints what it is given, each kind in its own way."""

import math
from dataclasses import replace
from functools import partial, singledispatch
from itertools import pairwise
from typing import Any

from adtc.engine.record import log10
from adtc.errors import QueryError
from adtc.profiles.crosstab import Crosstab
from adtc.profiles.curves import PenaltyCurve, ToleranceCurve
from adtc.profiles.difference import DifferenceTable
from adtc.profiles.inexact.brackets import BracketTable
from adtc.profiles.marginals import Marginal
from adtc.profiles.multiplicity import MultiplicityCurve
from adtc.profiles.pareto import Front
from adtc.profiles.people import VoteShares
from adtc.profiles.people.decisions import Discrepancy
from adtc.profiles.reliance import Reliance, RelianceRanges
from adtc.profiles.writing import grouped
from adtc.show.charts import (
    Bars,
    FrontData,
    Piece,
    front_data,
    marginal_data,
    penalty_data,
    tolerance_data,
)
from adtc.show.heatmap import Tick, bracket_data, difference_data, heatmap_data, thinned
from adtc.show.painting import Look, paint_heatmap
from adtc.show.ranges import loss_data, paint_losses, paint_ranges, range_data
from adtc.show.style import (
    BLUE,
    COLOURS,
    FAINT,
    INK,
    MARK,
    Picture,
    compact,
    fitted,
    font_size,
    log_ticks,
    matplotlib,
    measure,
    new_figure,
    styled,
)
from adtc.show.vote_painting import paint_curves, paint_histogram, paint_multiplicity
from adtc.show.voting import BINS, disagreement_data, histogram_data

_ACROSS, _UP = 0.8, 0.75  # about the share of a picture that is not labels
_MOST_TICKS = 20  # bars that are labelled one by one


@singledispatch
def plot(thing: Any, **options: Any) -> Picture:
    """Plot a cross-table, a difference of two, a front, a curve, votes, variables and others.

    Parameters
    ----------
    width, height
        Inches; a column of a paper (3.3) unless told otherwise. The height follows from the
        content.
    title
        Written above the picture.
    ax
        Matplotlib axes to paint into, instead of a figure of its own.
    front, margins, numbers, colourbar
        For cross-tables: a Pareto front on top, the sums of rows and columns, the counts in the
        cells, the scale of colours.
    x, y
        For fronts over more than two criteria: which two to show.
    upto
        For tolerance curves: the largest tolerance.
    kind, label, bins, by_group, small
        For votes: "histogram" of the vote shares for a label, or "disagreement" curve; with a part
        for every group of at least so many people.

    Returns
    -------
    Picture
        Its ``save(path)`` writes PNG, SVG or PDF; ``figure`` is matplotlib's.
    """
    raise QueryError(
        f"there is no picture of a {type(thing).__name__}: plot takes a cross-table, a difference "
        f"of cross-tables, a front, a tolerance or penalty curve, a marginal, votes, a "
        f"discrepancy, or variables."
    )


@plot.register
def _(
    thing: Crosstab,
    *,
    ax: Any = None,
    front: Front | None = None,
    margins: bool = False,
    **look: Any,
) -> Picture:
    data = heatmap_data(thing, front=front, margins=margins)
    return Picture(paint_heatmap(data, _look(look), ax))


@plot.register
def _(thing: BracketTable, *, ax: Any = None, **look: Any) -> Picture:
    return Picture(paint_heatmap(bracket_data(thing), _look(look), ax))


@plot.register
def _(thing: DifferenceTable, *, ax: Any = None, **look: Any) -> Picture:
    return Picture(paint_heatmap(difference_data(thing), _look(look), ax))


@plot.register
def _(
    thing: Front, *, ax: Any = None, x: str | None = None, y: str | None = None, **look: Any
) -> Picture:
    data = front_data(thing, x, y)
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes(f"{data.x} ({data.goals[0]})", f"{data.y} ({data.goals[1]})")
        _paint_front(chart, data)
    return Picture(chart.figure)


@plot.register
def _(
    thing: ToleranceCurve, *, ax: Any = None, upto: float | str | None = None, **look: Any
) -> Picture:
    data = tolerance_data(thing, upto)
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes("tolerance ε (%)", f"trees within (1 + ε) · best\n{thing.objective}")
        if not data.xs:
            chart.say_none()
        else:
            xs, ys = [*data.xs, data.end], [*data.ys, data.ys[-1]]
            chart.ax.plot(xs, ys, drawstyle="steps-post", color=BLUE, linewidth=1.2)
            chart.ax.set_xlim(0, data.end)
            chart.scale_of_counts(min(data.ys), max(data.ys))
    return Picture(chart.figure)


@plot.register
def _(thing: PenaltyCurve, *, ax: Any = None, **look: Any) -> Picture:
    pieces = penalty_data(thing)
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes("penalty λ per leaf", f"{thing.size} of the optimum")
        if not pieces:
            chart.say_none()
        else:
            _paint_pieces(chart, pieces)
    return Picture(chart.figure)


@plot.register
def _(thing: Marginal, *, ax: Any = None, **look: Any) -> Picture:
    data = marginal_data(thing)
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes(thing.metric, "trees")
        if not sum(data.trees) and not data.undefined:
            chart.say_none()
        else:
            _paint_bars(chart, data)
    return Picture(chart.figure)


@plot.register
def _(
    thing: VoteShares,
    *,
    ax: Any = None,
    kind: str = "histogram",
    label: Any = None,
    bins: int = BINS,
    by_group: bool = True,
    small: int = 0,
    **look: Any,
) -> Picture:
    if kind not in ("histogram", "disagreement"):
        raise QueryError(f"kind is {kind!r}, expected 'histogram' or 'disagreement'.")
    with _Chart(ax, _look(look)) as chart:
        if kind == "histogram":
            data = histogram_data(thing, label, bins=bins, by_group=by_group, small=small)
            chart.name_axes(f"share of good trees that predict {data.label}", "people (%)")
            paint_histogram(chart.ax, data, chart.size) if data.parts else chart.say_none()
        else:
            curves = disagreement_data(thing, by_group=by_group, small=small)
            chart.name_axes("variance p(1 − p) of the vote", "people above it (%)")
            paint_curves(chart.ax, curves, chart.size) if curves else chart.say_none()
    return Picture(chart.figure)


@plot.register
def _(thing: RelianceRanges, *, ax: Any = None, **look: Any) -> Picture:
    data, chosen = range_data(thing), _look(look)
    if chosen.height is None:  # a line for each variable
        chosen = replace(chosen, height=0.6 + 0.16 * max(3, len(data.names)) * chosen.width / 3.3)
    with _Chart(ax, chosen) as chart:
        chart.name_axes(data.label, "")
        if data.names:
            paint_ranges(chart.ax, data, chart.size, 72 * chosen.width / 3)
        else:
            chart.say_none()
    return Picture(chart.figure)


@plot.register
def _(thing: Reliance, *, ax: Any = None, **look: Any) -> Picture:
    data = loss_data(thing)
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes(data.label, "errors")
        paint_losses(chart.ax, data, chart.size) if data.points else chart.say_none()
    return Picture(chart.figure)


@plot.register
def _(thing: MultiplicityCurve, *, ax: Any = None, **look: Any) -> Picture:
    with _Chart(ax, _look(look)) as chart:
        chart.name_axes("tolerance ε (%)", "people (%)")
        paint_multiplicity(chart.ax, thing, chart.size) if thing.trees else chart.say_none()
    return Picture(chart.figure)


@plot.register
def _(thing: Discrepancy, *, ax: Any = None, **look: Any) -> Picture:
    renamed = replace(thing.distribution, metric=f"decisions changed against {thing.baseline}")
    return plot(renamed, ax=ax, **look)


class _Chart:
    """Axes in our style, in a figure of their own unless some are given."""

    def __init__(self, ax: Any, look: Look) -> None:
        self.look, self.size = look, font_size(look.width)
        self.style = styled()
        self.own = ax is None
        self.style.__enter__()
        self.height = look.height if look.height is not None else 0.62 * look.width
        if ax is None:
            figure = new_figure(look.width, self.height)
            figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
            ax = figure.add_subplot()
        self.ax, self.figure = ax, ax.figure

    def __enter__(self) -> "_Chart":
        for side in ("top", "right"):
            self.ax.spines[side].set_visible(False)
        self.ax.tick_params(labelsize=self.size - 1, pad=2)
        self.ax.locator_params(nbins=6)
        if self.look.title:
            text, fit = fitted(self.look.title, 72 * self.look.width - 30, self.size)
            self.ax.set_title(text, fontsize=fit, loc="left")
        return self

    def __exit__(self, *error: object) -> None:
        if self.own and not any(error):
            self.figure.draw_without_rendering()
        self.style.__exit__(*error)

    def name_axes(self, x: str, y: str) -> None:
        """Label the axes, long names fitted."""
        text, fit = fitted(x, 72 * self.look.width - 40, self.size)
        self.ax.set_xlabel(text, fontsize=fit, labelpad=2.5)
        lines = [fitted(line, 72 * self.height - 20, self.size) for line in y.split("\n")]
        self.ax.set_ylabel(
            "\n".join(line for line, _ in lines),
            fontsize=min(fit for _, fit in lines),
            labelpad=2.5,
        )

    def scale_of_counts(self, low: float, high: float, base: float | None = None) -> None:
        """Let the vertical axis be a scale of decimal logarithms, from ``base`` if given."""
        room = 0.06 * max(high - low, 0.5)
        bottom = low - room if base is None else base
        self.ax.set_ylim(bottom, high + (room if base is None else 0.12 * (high - base)))
        ticks = log_ticks(low, high)
        self.ax.set_yticks([place for place, _ in ticks], labels=[text for _, text in ticks])

    def write(self, text: str, at: tuple[float, float], by: tuple[float, float], ha: str) -> None:
        """Write above a place, moved by so many points."""
        self.ax.annotate(
            text, at, by, textcoords="offset points", fontsize=self.size - 1, ha=ha, va="bottom"
        )

    def say_none(self) -> None:
        """Show an empty answer as one."""
        middle = {"ha": "center", "va": "center", "transform": self.ax.transAxes}
        self.ax.text(0.5, 0.5, "no tree", fontsize=self.size, **middle)
        self.ax.set_xticks([])
        self.ax.set_yticks([])


def _look(options: dict[str, Any]) -> Look:
    known = {"width", "height", "title", "numbers", "colourbar"}
    if extra := sorted(set(options) - known):
        raise QueryError(
            f"a picture of this kind has no option '{extra[0]}': plot takes "
            f"{', '.join(sorted(known))} and what its documentation lists for each kind."
        )
    return Look(**options)


def _paint_front(chart: _Chart, data: FrontData) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    if not data.points:
        chart.say_none()
        return
    ax = chart.ax
    if data.cloud:  # a front found by search knows no other trees
        across, up = zip(*data.cloud, strict=True)
        ax.plot(across, up, "s", markersize=1.1, color=FAINT, markeredgewidth=0, rasterized=True)
    xs, ys = zip(*data.points, strict=True)
    ax.plot(xs, ys, drawstyle=data.steps, color=MARK, linewidth=0.9, zorder=3)
    ax.set_xlim(*data.view[0])
    ax.set_ylim(*data.view[1])
    low, high = min(data.logs), max(data.logs)
    norm = Normalize(low, high if high > low else low + 1)
    colours = matplotlib().colormaps[COLOURS].reversed()
    shades = [colours(norm(log)) for log in data.logs]
    ax.scatter(xs, ys, s=14, c=shades, edgecolors=INK, linewidths=0.5, zorder=4)
    if chart.look.colourbar and high > low:
        bar = chart.figure.colorbar(ScalarMappable(norm, colours), ax=ax, pad=0.02, aspect=25)
        ticks = log_ticks(low, high)
        bar.set_ticks([place for place, _ in ticks], labels=[text for _, text in ticks])
        bar.ax.minorticks_off()
        bar.ax.tick_params(labelsize=chart.size - 1, pad=2)
        bar.outline.set_linewidth(0.6)
        bar.set_label("trees on the point", fontsize=chart.size, labelpad=2)


def _paint_pieces(chart: _Chart, pieces: list[Piece]) -> None:
    """Paint the size of the optimum; sizes fall, so there is room for words right of each step."""
    ax, size = chart.ax, chart.size - 1
    lows, sizes = [math.log10(piece.low) for piece in pieces], [piece.size for piece in pieces]
    left, right = lows[0], math.log10(pieces[-1].high)
    for low, piece in zip(lows, pieces, strict=True):  # words must end before the picture does
        share = min(0.6, (measure(piece.text, size)[0] + 8) / (_ACROSS * 72 * chart.look.width))
        right = max(right, (low - share * left) / (1 - share))
    ax.plot([*lows, right], [*sizes, sizes[-1]], drawstyle="steps-post", color=BLUE, linewidth=1.3)
    ax.set_xlim(left, right)
    top, bottom = max(sizes), min(sizes)
    ax.set_ylim(bottom - 0.08 * (top - bottom or 1), top + 0.16 * (top - bottom or 1))
    ticks = log_ticks(left, right)
    ax.set_xticks([place for place, _ in ticks], labels=[text for _, text in ticks])
    ax.yaxis.get_major_locator().set_params(integer=True)
    least = 1.4 * size * 1.24 * (top - bottom) / (_UP * 72 * chart.height)
    written: float | None = None
    for low, piece in zip(lows, pieces, strict=True):
        if written is None or written - piece.size >= least:
            chart.write(piece.text, (low, piece.size), (3, 2), "left")
            written = piece.size


def _paint_bars(chart: _Chart, data: Bars) -> None:
    ax = chart.ax
    logs = [log for log in data.logs if log is not None]
    if data.undefined:
        logs.append(_log(data.undefined))
    base = min(logs) - 0.1 * max(max(logs) - min(logs), 1.0)
    shown = [(a, b, n) for a, b, n in zip(data.left, data.right, data.trees, strict=True) if n]
    places = [a for a, _, _ in shown]
    widths = [b - a for a, b, _ in shown]
    heights = [_log(n) - base for _, _, n in shown]
    ax.bar(places, heights, widths, bottom=base, align="edge", color=BLUE, linewidth=0)
    end = max((b for _, b, _ in shown), default=0.0)
    span = end - min(places, default=0.0) or 1.0
    if data.undefined:
        wide = max(span / 25, min(widths, default=span / 25))
        at = end + 2 * wide
        height = _log(data.undefined) - base
        ax.bar([at], [height], [wide], bottom=base, color="white", edgecolor=INK, hatch="////",
               linewidth=0.6)  # fmt: skip
        chart.write("undefined", (at, base + height), (0, 2), "center")
        shown.append((at - wide / 2, at + wide / 2, data.undefined))
    edge = 1.5 * span if len(shown) == 1 else span / 50  # a single bar shall not fill the picture
    ax.set_xlim(
        min(a for a, _, _ in shown) - edge,
        max(b for _, b, _ in shown) + (span / 12 if data.undefined else edge),
    )
    chart.scale_of_counts(min(logs), max(logs), base)
    if data.labels:
        middles = [(a + b) / 2 for a, b in zip(data.left, data.right, strict=True)]
        ticks = [Tick(*pair) for pair in zip(middles, data.labels, strict=True)]
        first, last = ax.get_xlim()
        unit = _ACROSS * 72 * chart.look.width / (last - first)
        kept = thinned(ticks, lambda tick: measure(tick.label, chart.size - 1)[0] + 5, unit)
        if len(ticks) <= _MOST_TICKS:
            ax.set_xticks([t.place for t in kept], labels=[t.label for t in kept])
    if data.labels and not data.undefined:
        _write_heights(chart, shown)


def _write_heights(chart: _Chart, shown: list[tuple[float, float, int]]) -> None:
    """Write the counts above the bars if they fit beside each other."""
    left, right = chart.ax.get_xlim()
    point = (right - left) / (_ACROSS * 72 * chart.look.width)
    size = chart.size - 1
    for write in (grouped, partial(compact, digits=2)):
        widths = [measure(write(n), size)[0] * point for _, _, n in shown]
        middles = [(a + b) / 2 for a, b, _ in shown]
        gaps = [b - a for a, b in pairwise(middles)]
        if all(w * 1.1 < gap for w, gap in zip(widths, [*gaps, right - left], strict=True)):
            for middle, (_, _, n) in zip(middles, shown, strict=True):
                chart.write(write(n), (middle, _log(n)), (0, 1.5), "center")
            return


def _log(n: int) -> float:
    return log10(n) or 0.0
