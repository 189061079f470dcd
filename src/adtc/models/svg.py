"""A tree as self-contained SVG: real text, no outside program, file or font.

Every colour is an attribute, so any viewer shows it, and a CSS variable, so a page can restyle it:
``--adtc-paper``, ``--adtc-ink``, ``--adtc-faint``, ``--adtc-line``, ``--adtc-split``,
``--adtc-leaf``, ``--adtc-strong``. Nodes carry ``data-node`` (and leaves ``data-leaf``), edges
``data-from`` and ``data-to``.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from adtc.models import colours, layout
from adtc.models.layout import Box, Edge, Entry, lay_out
from adtc.models.small import Hidden
from adtc.models.texts import node_rows, rows_text
from adtc.text import percent

if TYPE_CHECKING:
    from adtc.models.model import TreeModel

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLE = """
.adtc-tree text { fill: var(--adtc-ink, #1A1A1A); }
.adtc-tree .adtc-paper { fill: var(--adtc-paper, #FFFFFF); }
.adtc-tree .adtc-split rect { fill: var(--adtc-split, #F2F2F2); stroke: var(--adtc-line, #9A9A9A); }
.adtc-tree .adtc-leaf .adtc-box { fill: var(--adtc-leaf, #FFFFFF); }
.adtc-tree .adtc-edge polyline { stroke: var(--adtc-line, #9A9A9A); }
.adtc-tree text.adtc-faint { fill: var(--adtc-faint, #555555); }
.adtc-tree .adtc-on polyline, .adtc-tree .adtc-split.adtc-on rect
{ stroke: var(--adtc-strong, #000000); }
.adtc-tree .adtc-on .adtc-box { stroke-width: 3; }
"""


def paint_svg(model: "TreeModel", highlight: frozenset[int], small: int = 0) -> str:
    """Paint a model's tree.

    Parameters
    ----------
    highlight
        Numbers of nodes to emphasise, with the edges that lead to them.
    small
        Leaves of fewer rows show no numbers.
    """
    hidden = model.hidden(small)
    plan = lay_out(model.nodes, model.feature_names, model.label_texts, hidden)
    rules = "; ".join(rule.text for rule in model.rules(small=small))
    width, height = _number(plan.width), _number(plan.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="adtc-tree" role="img" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" '
        f"font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\" "
        f'font-size="{_number(layout.FONT)}">',
        f"<title>{_text(_title(model))}</title>",
        f"<desc>{_text(rules)}</desc>",
        f"<style>{_STYLE}</style>",
        f'<rect class="adtc-paper" width="{width}" height="{height}" fill="{colours.PAPER}"/>',
        *(part for edge in plan.edges for part in _edge(edge, edge.child in highlight)),
        *(part for box in plan.boxes for part in _box(model, box, highlight, hidden)),
        *(part for entry in plan.legend for part in _entry(entry)),
        "</svg>",
    ]
    return "\n".join(parts)


def _title(model: "TreeModel") -> str:
    leaves = "1 leaf" if model.size == 1 else f"{model.size} leaves"
    return f"Decision tree on {model.name}: {leaves}, depth {model.depth}"


def _edge(edge: Edge, on: bool) -> Iterator[str]:
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in edge.points)
    x, y = edge.label_at
    anchor, side = ("end", -4) if edge.answer == "yes" else ("start", 4)
    stroke = colours.STRONG if on else colours.LINE
    yield f'<g class="adtc-edge{_on(on)}" data-from="{edge.parent}" data-to="{edge.child}">'
    yield (
        f'<polyline points="{points}" fill="none" stroke="{stroke}" '
        f'stroke-width="{_number(edge.width)}" stroke-linejoin="round"/>'
    )
    yield _words(edge.answer, x + side, y, anchor=anchor, faint=True, size=11)
    yield "</g>"


def _box(model: "TreeModel", box: Box, highlight: frozenset[int], hidden: Hidden) -> Iterator[str]:
    node, rows = box.node, _counts(model, box, hidden)
    on = node.number in highlight
    if node.feature is None:
        assert node.label is not None
        kind, stroke = "leaf", colours.class_colour(node.label)
        extra = f' data-leaf="{node.leaf}" data-label={_attribute(model.label_texts[node.label])}'
        fill, title = colours.LEAF, f"{model.label_texts[node.label]}: {rows}"
    else:
        name = model.feature_names[node.feature]
        kind, stroke = "split", colours.STRONG if on else colours.LINE
        extra = f" data-feature={_attribute(name)}"
        fill, title = colours.SPLIT, f"{name}: {rows}"
    yield f'<g class="adtc-node adtc-{kind}{_on(on)}" data-node="{node.number}"{extra}>'
    yield f"<title>{_text(title)}</title>"
    yield (
        f'<rect class="adtc-box" x="{_number(box.x)}" y="{_number(box.y)}" '
        f'width="{_number(box.width)}" height="{_number(box.height)}" '
        f'rx="{0 if kind == "split" else 6}" fill="{fill}" stroke="{stroke}" '
        f'stroke-width="{3 if on else 1.5}"/>'
    )
    yield from _box_lines(box)
    if kind == "leaf" and node.number not in hidden:
        yield from _bar(model, box)
    yield "</g>"


def _box_lines(box: Box) -> Iterator[str]:
    """Write the lines of a box; a leaf's label is bold, its evidence faint."""
    leaf = box.node.feature is None
    names = len(box.lines) - 2 if leaf else 0
    space = 0.0 if leaf else (box.height - layout.LINE * len(box.lines)) / 2 - layout.PAD
    for at, line in enumerate(box.lines):
        y = box.y + layout.PAD + space + layout.LINE * at + layout.FONT - 1
        yield _words(line, box.middle, y, bold=at < names, faint=leaf and at >= names)


def _bar(model: "TreeModel", box: Box) -> Iterator[str]:
    """Paint the class shares of a leaf side by side."""
    x, whole = box.x + layout.PAD, box.width - 2 * layout.PAD
    y = box.y + box.height - layout.PAD - layout.BAR
    for label, share in enumerate(box.node.shares):
        if not share or not box.node.support:
            continue
        width = whole * float(share)
        hint = f"{model.label_texts[label]}: {rows_text(box.node.counts[label])}"
        yield (
            f'<rect class="adtc-share adtc-class-{label}" x="{_number(x)}" y="{_number(y)}" '
            f'width="{_number(width)}" height="{_number(layout.BAR)}" '
            f'fill="{colours.class_colour(label)}">'
            f"<title>{_text(f'{hint}, {percent(share, 0)}')}</title></rect>"
        )
        x += width


def _entry(entry: Entry) -> Iterator[str]:
    if entry.label is not None:
        yield (
            f'<rect class="adtc-share adtc-class-{entry.label}" '
            f'x="{_number(entry.x - layout.SWATCH - layout.PAD / 2)}" '
            f'y="{_number(entry.y - layout.SWATCH + 2)}" width="{_number(layout.SWATCH)}" '
            f'height="{_number(layout.SWATCH)}" fill="{colours.class_colour(entry.label)}"/>'
        )
    yield _words(entry.text, entry.x, entry.y, anchor="start")


def _words(
    text: str,
    x: float,
    y: float,
    *,
    anchor: str = "middle",
    bold: bool = False,
    faint: bool = False,
    size: float | None = None,
) -> str:
    style = ' class="adtc-faint"' if faint else ""
    style += ' font-weight="bold"' if bold else ""
    style += f' font-size="{_number(size)}"' if size else ""
    fill = colours.FAINT if faint else colours.INK
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}" fill="{fill}"{style}>'
        f"{_text(text)}</text>"
    )


def _counts(model: "TreeModel", box: Box, hidden: Hidden) -> str:
    """Write the rows of each class that occurs in a node."""
    if box.node.number in hidden:
        return node_rows(box.node, hidden)
    counts = zip(model.label_texts, box.node.counts, strict=True)
    parts = ", ".join(f"{label} {n:,}" for label, n in counts if n)
    return f"{rows_text(box.node.support)}{f' ({parts})' if parts else ''}"


def _on(on: bool) -> str:
    return " adtc-on" if on else ""


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text))


def _attribute(text: str) -> str:
    return quoteattr(_NO_XML.sub("\ufffd", text))
