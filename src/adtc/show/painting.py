"""Heat maps painted: the layout follows from the sizes of the texts, so that none overlap."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from adtc.show.heatmap import Axis, HeatMap, Tick, mesh_shades, thinned
from adtc.show.style import (
    CHANGES,
    COLOURS,
    COLUMN,
    FAINT,
    INK,
    LINE,
    MARK,
    fitted,
    font_size,
    ink_on,
    matplotlib,
    measure,
    new_figure,
    styled,
    widest,
)

Place = tuple[float, float]

_SMALLEST = 5.0  # points: smaller numbers cannot be read in print
_TWO_LINES = 4  # the first form of counts that takes two lines
_MOST_NUMBERS = 2500  # cells beyond which numbers are not even tried
_MOST_LINES = 100  # bins beyond which the grid would hide the cells
_DIGIT = 0.75  # height of a digit, of the size of its font
_CELL = (13.0, 30.0)  # least and largest height of a cell


@dataclass(frozen=True, slots=True)
class Frame:
    """The rectangle of the cells within a figure, in points."""

    left: float
    bottom: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Look:
    """How a heat map is painted; sizes in inches."""

    width: float = COLUMN
    height: float | None = None
    title: str | None = None
    numbers: bool = True
    colourbar: bool = True


def paint_heatmap(data: HeatMap, look: Look, ax: Any = None) -> Any:
    """Paint a heat map and return its figure; into ``ax`` if one is given."""
    with styled():
        if ax is not None:
            box, dpi = ax.get_window_extent(), ax.figure.dpi
            frame = Frame(0, 0, 72 * box.width / dpi, 72 * box.height / dpi)
            _fill(ax, data, frame, look)
            return ax.figure
        frame, width, height = _layout(data, look)
        figure = new_figure(width / 72, height / 72)
        ax = figure.add_axes(_rectangle(frame, width, height))
        _fill(ax, data, frame, look)
        if look.colourbar and data.ticks:
            bar = Frame(frame.left + frame.width + 8, frame.bottom, 6, frame.height)
            _paint_scale(figure, figure.add_axes(_rectangle(bar, width, height)), data, bar, look)
        return figure


def _layout(data: HeatMap, look: Look) -> tuple[Frame, float, float]:
    """Place the cells; return also the width and the height of the figure."""
    size = font_size(look.width)
    small = size - 1
    width = 72 * look.width
    left = 3 + 1.5 * size + widest([tick.label for tick in data.y.ticks], small) + 6
    right = 4 + widest([tick.label for tick in data.x.ticks[-2:]], small) / 2
    if look.colourbar and data.ticks:
        right = 8 + 6 + 5 + widest([label for _, label in data.ticks], small) + 1.8 * size
    top = 5 + (1.7 * size if look.title else 0) + (1.6 * size if data.line_name else 0)
    across = max(20.0, width - left - right)
    wide = across / max(1.0, data.x.length)
    bottom = 2 + 1.2 * size + 1.1 * small + 6
    if _turned(data.x, small, wide):
        bottom += widest([tick.label for tick in data.x.ticks], small) - small
    least = _CELL[0]
    if data.line or (look.numbers and _form(data, wide, math.inf) >= _TWO_LINES):
        least *= 1.4  # numbers make way for the front, or take two lines
    tall = min(max(0.75 * wide, least), _CELL[1])
    up = min(max(tall * data.y.length, 45.0), 1.15 * width)
    if look.height is not None:
        up = max(20.0, 72 * look.height - top - bottom)
    return Frame(left, bottom, across, up), width, bottom + up + top


def _rectangle(frame: Frame, width: float, height: float) -> tuple[float, float, float, float]:
    return frame.left / width, frame.bottom / height, frame.width / width, frame.height / height


def _fill(ax: Any, data: HeatMap, frame: Frame, look: Look) -> None:
    """Paint everything that belongs to the rectangle of the cells."""
    size = font_size(look.width)
    small = size - 1
    for side in ax.spines.values():
        side.set_visible(False)
    wide, tall = frame.width / max(1, data.x.length), frame.height / max(1, data.y.length)
    turned = _turned(data.x, small, wide)
    room = partial(_room, size=small)
    _label_axis(ax.xaxis, data.x, small, (lambda tick: small * 1.15) if turned else room, wide)
    _label_axis(ax.yaxis, data.y, small, lambda tick: small * 1.15, tall)
    ax.tick_params(axis="x", labelrotation=90 if turned else 0)
    text, fit = fitted(data.x.name, frame.width + 30, size)
    ax.set_xlabel(text, fontsize=fit, labelpad=2.5)
    text, fit = fitted(data.y.name, frame.height + 6, size)
    ax.set_ylabel(text, fontsize=fit, labelpad=2.5)
    ax.set_xlim(0, max(1, data.x.length))
    ax.set_ylim(0, max(1, data.y.length))
    if not data.x.starts or not data.y.starts:
        ax.text(0.5, 0.5, "no tree", ha="center", va="center", fontsize=size)
        ax.set_xticks([])
        ax.set_yticks([])
        _outline(ax, (0.0, 1.0), (0.0, 1.0), "none")
    else:
        _paint_cells(ax, data)
        _paint_front(ax, data, frame, size)
        if look.numbers:
            _write_numbers(ax, data, wide, tall, size)
    if look.title:
        text, fit = fitted(look.title, 72 * look.width - frame.left - 4, size)
        pad = 4 + (1.6 * size if data.line_name else 0)
        ax.set_title(text, fontsize=fit, pad=pad, loc="left")


def _room(tick: Tick, size: float) -> float:
    return measure(tick.label, size)[0] + 5


def _turned(axis: Axis, size: float, unit: float) -> bool:
    """Tell whether labels that must stay would touch unless they are turned."""
    stay = [tick for tick in axis.ticks if tick.stays]
    return any(
        (b.place - a.place) * unit < (_room(a, size) + _room(b, size)) / 2
        for a, b in pairwise(sorted(stay, key=lambda tick: tick.place))
    )


def _label_axis(axis: Any, data: Axis, size: float, room: Any, unit: float) -> None:
    ticks: list[Tick] = thinned(data.ticks, room, unit)
    axis.set_ticks([tick.place for tick in ticks], labels=[tick.label for tick in ticks])
    axis.set_tick_params(labelsize=size, pad=2)


def _colours(data: HeatMap) -> tuple[Any, Any]:
    """Return the colour scale: dark is many; or two colours that meet in white."""
    library = matplotlib()
    from matplotlib.colors import Normalize

    colours = library.colormaps[CHANGES if data.diverging else COLOURS].reversed()
    return colours, Normalize(*data.limits)


def _paint_cells(ax: Any, data: HeatMap) -> None:
    xs, ys, shades = mesh_shades(data)
    colours, norm = _colours(data)
    behind = "#ececec" if data.diverging else "none"  # white says "no change" there
    for one, other in product(data.x.blocks, data.y.blocks):
        bands = (one[0] == data.x.total) + (other[0] == data.y.total)
        _outline(ax, one, other, "#f3f3f3" if bands else behind)
    many = shades.size > _MOST_LINES**2
    ax.pcolormesh(xs, ys, np.ma.masked_invalid(shades), cmap=colours, norm=norm, rasterized=many)
    for axis, across, lines in ((data.x, data.y, ax.vlines), (data.y, data.x, ax.hlines)):
        if len(axis.starts) <= _MOST_LINES:
            inner = [s for s in axis.starts if s not in {block[0] for block in axis.blocks}]
            for low, high in across.blocks:
                lines(inner, low, high, colors=FAINT, linewidth=0.4, zorder=2)


def _outline(ax: Any, x: tuple[float, float], y: tuple[float, float], fill: str) -> None:
    from matplotlib.patches import Rectangle

    corner, width, height = (x[0], y[0]), x[1] - x[0], y[1] - y[0]
    if fill != "none":
        ax.add_patch(Rectangle(corner, width, height, facecolor=fill, edgecolor="none", zorder=0))
    edge = Rectangle(corner, width, height, facecolor="none", edgecolor=LINE, linewidth=0.6)
    edge.set(zorder=3, clip_on=False)
    ax.add_patch(edge)


def _paint_front(ax: Any, data: HeatMap, frame: Frame, size: float) -> None:
    if not data.line_name:
        return
    xs, ys = [x for x, _ in data.line], [y for _, y in data.line]
    under = {"zorder": 3.5, "clip_on": False, "solid_joinstyle": "miter"}
    ax.plot(xs, ys, drawstyle=data.steps, color="white", linewidth=2.4, **under)
    ax.plot(xs, ys, drawstyle=data.steps, color=MARK, linewidth=1.2, **under)
    dots = {"markersize": 2.6, "markeredgewidth": 0.4, "markeredgecolor": "white"}
    ax.plot(xs, ys, "o", color=MARK, zorder=3.6, clip_on=False, **dots)
    text, fit = fitted(data.line_name, frame.width - 14, size - 1)
    height = 1 + 0.75 * size / frame.height
    where = {"transform": ax.transAxes, "clip_on": False}
    ax.plot([0, 12 / frame.width], [height, height], color=MARK, linewidth=1.2, **where)
    ax.plot([6 / frame.width], [height], "o", color=MARK, **dots, **where)
    ax.text(16 / frame.width, height, text, fontsize=fit, va="center", ha="left", **where)


def _write_numbers(ax: Any, data: HeatMap, wide: float, tall: float, size: float) -> None:
    """Write the most exact form that can be read in every cell; none if none can."""
    form = _form(data, wide, tall)
    if form < len(data.texts):
        chosen = min(size, *_rooms(data, form, wide, tall))
        _write_form(ax, data, form, chosen, (chosen / wide, chosen / tall))


def _form(data: HeatMap, wide: float, tall: float) -> int:
    """Find the first form that is large enough in cells so wide and tall; past the last if none."""
    if len(data.x.starts) * len(data.y.starts) > _MOST_NUMBERS:
        return len(data.texts)
    forms = range(len(data.texts))
    fitting = (form for form in forms if min(_rooms(data, form, wide, tall)) >= _SMALLEST)
    return next(fitting, len(data.texts))


def _rooms(data: HeatMap, form: int, wide: float, tall: float) -> tuple[float, float]:
    """Return how large the letters may be for the width and for the height of the cells."""
    every = [text for row in data.texts[form] for text in row]
    for totals in (data.x_totals, data.y_totals):
        every += totals[form] if totals else []
    lines = max((text.count("\n") + 1 for text in every), default=1)
    return (wide - 2.5) / max(1e-9, widest(every, 10.0) / 10), (tall - 2) / (1.05 * lines)


def _write_form(ax: Any, data: HeatMap, form: int, size: float, unit: tuple[float, float]) -> None:
    """Write one form of the numbers; ``unit`` is the size of the letters in cells."""
    colours, norm = _colours(data)
    path = step_path(data.line, data.steps)
    centred = {"ha": "center", "va": "center_baseline", "fontsize": size, "zorder": 4}
    if any("\n" in text for row in data.texts[form] for text in row):
        centred |= {"va": "center", "linespacing": 0.95}
    for y, shades, texts in zip(data.y.starts, data.shades, data.texts[form], strict=True):
        for x, shade, text in zip(data.x.starts, shades, texts, strict=True):
            if shade is not None:
                colour = colours(norm(shade))
                lines = text.count("\n") + _DIGIT
                box = widest([text], 10.0) / 10 * unit[0], lines * unit[1]
                place = free_place((x, y), box, path)
                dx, dy = place or (0.5, 0.5)
                label = ax.text(x + dx, y + dy, text, color=ink_on(colour), **centred)
                if path:
                    _halo(label, colour)
                if place is None:  # the line makes way where the number cannot
                    label.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 0.6})
    if data.y.total is not None and data.x.total is not None:
        sums = zip((*data.x.starts, data.x.total), data.x_totals[form], strict=True)
        for x, text in sums:
            ax.text(x + 0.5, data.y.total + 0.5, text, color=INK, **centred)
        for y, text in zip(data.y.starts, data.y_totals[form], strict=True):
            ax.text(data.x.total + 0.5, y + 0.5, text, color=INK, **centred)


def step_path(points: Sequence[Place], steps: str) -> list[Place]:
    """Return the corners of a line of steps through points: first up, or first across."""
    path = list(points[:1])
    for (x0, y0), (x1, y1) in pairwise(points):
        path += [(x0, y1) if steps == "steps-pre" else (x1, y0), (x1, y1)]
    return path


def free_place(cell: Place, box: tuple[float, float], path: Sequence[Place]) -> Place | None:
    """Find where in a cell a text stands clear of a line of steps; None if nowhere.

    Parameters
    ----------
    cell
        Its lower left corner; it is 1 by 1.
    box
        Width and height of the text, in cells.
    """
    for clear in (0.06, 0.02):
        if (
            found := _clear_place(cell, (box[0] / 2 + clear, box[1] / 2 + clear), path)
        ) is not None:
            return found
    return None


def _clear_place(cell: Place, half: tuple[float, float], path: Sequence[Place]) -> Place | None:
    wide, tall = half
    across, up = max(0.0, 0.5 - wide), max(0.0, 0.5 - tall)
    for dx, dy in product((0.0, across, -across), (0.0, up, -up)):
        x, y = cell[0] + 0.5 + dx, cell[1] + 0.5 + dy
        inside = (
            min(a, c) < x + wide
            and max(a, c) > x - wide
            and min(b, d) < y + tall
            and max(b, d) > y - tall
            for (a, b), (c, d) in pairwise([*path, *path[-1:]])
        )
        if not any(inside):
            return 0.5 + dx, 0.5 + dy
    return None


def _halo(text: Any, colour: Any) -> None:
    """Keep a number readable where the front runs through it."""
    from matplotlib.patheffects import withStroke

    text.set_path_effects([withStroke(linewidth=1.6, foreground=colour)])


def _paint_scale(figure: Any, cax: Any, data: HeatMap, frame: Frame, look: Look) -> None:
    from matplotlib.cm import ScalarMappable

    colours, norm = _colours(data)
    size = font_size(look.width)
    bar = figure.colorbar(ScalarMappable(norm, colours), cax=cax)
    bar.outline.set_linewidth(0.6)
    bar.set_ticks([place for place, _ in data.ticks], labels=[label for _, label in data.ticks])
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=size - 1, pad=2)
    text, fit = fitted(data.scale, frame.height + 20, size)
    bar.set_label(text, fontsize=fit, labelpad=2)
