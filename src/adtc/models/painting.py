"""A tree painted with matplotlib, with the same layout as the SVG."""

from typing import TYPE_CHECKING, Any

from adtc.errors import ADTCError
from adtc.models import colours, layout
from adtc.models.layout import Box, Edge, Entry, Layout, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from adtc.models.model import TreeModel

_POINTS = 72.0
_SCALE = 0.8  # points per pixel on a figure of our own


def paint(
    model: "TreeModel", ax: "Axes | None", highlight: frozenset[int], small: int = 0
) -> "Axes":
    """Paint a model's tree on axes, or on a new figure of fitting size."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.font_manager import FontProperties
    except ImportError as error:
        raise ADTCError(
            "drawing with plot() needs matplotlib: pip install 'adtc[plot]'."
        ) from error
    hidden = model.hidden(small)
    plan = lay_out(model.nodes, model.feature_names, model.label_texts, hidden)
    if ax is None:
        ax = _new_axes(Figure, plan)
    ax.set_xlim(0, plan.width)
    ax.set_ylim(plan.height, 0)
    ax.set_aspect("equal")
    ax.axis("off")
    pen = _Pen(ax, _points_per_pixel(ax, plan), FontProperties)
    for edge in plan.edges:
        pen.edge(edge, edge.child in highlight)
    for box in plan.boxes:
        pen.box(box, box.node.number in highlight)
        if box.node.leaf is not None and box.node.number not in hidden:
            pen.bar(box)
    for entry in plan.legend:
        pen.entry(entry)
    return ax


def _new_axes(figure: Any, plan: Layout) -> "Axes":
    """Make a figure in which a pixel of the layout has the size the text is set for."""
    made = _figure(figure, (plan.width * _SCALE / _POINTS, plan.height * _SCALE / _POINTS))
    axes: Axes = made.add_axes((0, 0, 1, 1))
    return axes


def _figure(figure: Any, size: tuple[float, float]) -> Any:
    """Make a figure that pyplot shows where it is in use, and a plain one elsewhere."""
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot.figure(figsize=size) if pyplot else figure(figsize=size)


def _points_per_pixel(ax: "Axes", plan: Layout) -> float:
    """Measure how large the layout comes out on these axes."""
    figure: Any = ax.get_figure(root=True)
    extent = ax.get_window_extent()
    pixels = min(extent.width / plan.width, extent.height / plan.height)
    return float(pixels * _POINTS / figure.dpi)


class _Pen:
    """Paints on axes whose units are the layout's pixels."""

    def __init__(self, ax: "Axes", points: float, font: Any) -> None:
        self.ax, self.points, self.font = ax, points, font

    def edge(self, edge: Edge, on: bool) -> None:
        xs, ys = zip(*edge.points, strict=True)
        colour = colours.STRONG if on else colours.LINE
        style: Any = {"solid_capstyle": "butt", "solid_joinstyle": "round"}
        self.ax.plot(xs, ys, color=colour, lw=edge.width * self.points, **style)
        x, y = edge.label_at
        side, align = (-4, "right") if edge.answer == "yes" else (4, "left")
        self.words(edge.answer, x + side, y, align=align, colour=colours.FAINT, size=11)

    def box(self, box: Box, on: bool) -> None:
        leaf = box.node.feature is None
        colour = colours.class_colour(box.node.label or 0) if leaf else colours.LINE
        fill = colours.LEAF if leaf else colours.SPLIT
        self.rectangle(
            (box.x, box.y, box.width, box.height),
            fill,
            colours.STRONG if on and not leaf else colour,
            3 if on else 1.5,
        )
        names = len(box.lines) - 2 if leaf else 0
        space = 0.0 if leaf else (box.height - layout.LINE * len(box.lines)) / 2 - layout.PAD
        for at, line in enumerate(box.lines):
            y = box.y + layout.PAD + space + layout.LINE * at + layout.FONT - 1
            faint = leaf and at >= names
            ink = colours.FAINT if faint else colours.INK
            self.words(line, box.middle, y, colour=ink, bold=at < names)

    def bar(self, box: Box) -> None:
        x, whole = box.x + layout.PAD, box.width - 2 * layout.PAD
        y = box.y + box.height - layout.PAD - layout.BAR
        for label, share in enumerate(box.node.shares if box.node.support else ()):
            width = whole * float(share)
            colour = colours.class_colour(label)
            self.rectangle((x, y, width, layout.BAR), colour, "none", 0)
            x += width

    def entry(self, entry: Entry) -> None:
        if entry.label is not None:
            x, y = entry.x - layout.SWATCH - layout.PAD / 2, entry.y - layout.SWATCH + 2
            square = (x, y, layout.SWATCH, layout.SWATCH)
            self.rectangle(square, colours.class_colour(entry.label), "none", 0)
        self.words(entry.text, entry.x, entry.y, align="left")

    def rectangle(
        self, place: tuple[float, float, float, float], fill: str, line: str, width: float
    ) -> None:
        from matplotlib.patches import Rectangle

        x, y, w, h = place
        self.ax.add_patch(
            Rectangle((x, y), w, h, fc=fill, ec=line, lw=width * self.points, zorder=2)
        )

    def words(
        self,
        text: str,
        x: float,
        y: float,
        *,
        align: str = "center",
        colour: str = colours.INK,
        bold: bool = False,
        size: float = layout.FONT,
    ) -> None:
        font = self.font(size=size * self.points, weight="bold" if bold else "normal")
        # A dollar sign in a name is no mathematics.
        self.ax.text(
            x, y, text, ha=align, va="baseline", color=colour, fontproperties=font,
            parse_math=False, zorder=3,
        )  # fmt: skip
