"""Cost curves: several lines over one scale, both axes logarithmic if wished."""

from collections.abc import Mapping, Sequence
from typing import Any

from adtc.show import Picture
from adtc.show.style import BLUE, COLUMN, FAINT, INK, MARK, font_size, new_figure, styled

_LINES = ((BLUE, "o"), (MARK, "s"), (INK, "^"))  # colour and marker: they print in grey, too
_HEIGHT = 1.75  # inches per panel


def paint_lines(
    title: str,
    x: tuple[str, Sequence[float]],
    lines: Mapping[str, Sequence[float]],
    *,
    log_x: bool = True,
    width: float = COLUMN,
) -> Picture:
    """Paint one panel per line, one above the other, with a common horizontal axis.

    Parameters
    ----------
    x
        Name and values of the horizontal axis.
    lines
        Name and values of each line; the vertical axes are logarithmic, zeros are left out.
    """
    size = font_size(width)
    with styled():
        figure = new_figure(width, 0.3 + 0.72 * _HEIGHT * len(lines))
        figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
        panels: Any = figure.subplots(len(lines), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (name, ys), (colour, marker) in zip(panels, lines.items(), _LINES, strict=False):
            shown = [(at, y) for at, y in zip(x[1], ys, strict=True) if y > 0]
            ax.plot(
                [at for at, _ in shown],
                [y for _, y in shown],
                marker=marker,
                markersize=3,
                linewidth=1.1,
                color=colour,
            )
            ax.set_yscale("log")
            if log_x:
                ax.set_xscale("log")
            ax.set_ylabel(name, fontsize=size, labelpad=2.5)
            ax.tick_params(which="both", labelsize=size - 1, pad=2)
            ax.grid(True, color=FAINT, linewidth=0.4)
            ax.set_axisbelow(True)
            for side in ("top", "right"):
                ax.spines[side].set_visible(False)
        panels[0].set_title(title, fontsize=size, loc="left")
        panels[-1].set_xlabel(x[0], fontsize=size, labelpad=2.5)
        if not log_x:
            panels[-1].locator_params(axis="x", integer=True)
        figure.draw_without_rendering()
    return Picture(figure)
