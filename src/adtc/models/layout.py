"""Where the boxes, edges and words of a painted tree go, in pixels; it paints nothing itself.

Levels lie below one another, and on a level no two boxes overlap: subtrees are pushed apart until
their outlines clear (Reingold and Tilford), and a parent stands midway above its children. Names
are wrapped, and what does not fit into the lines is left out in the middle.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from adtc.models.nodes import Node
from adtc.models.small import NOTHING, Hidden
from adtc.models.texts import rows_text
from adtc.text import percent

FONT = 12.0
LINE = 15.0
PAD = 8.0  # between a box and its text
BAR = 6.0  # height of the class shares
GAP_X, GAP_Y = 14.0, 46.0  # between boxes
MARGIN = 12.0
SPLIT_WIDTH, LEAF_WIDTH, LEGEND_WIDTH = 150.0, 110.0, 200.0  # of text, at most
LEAST_WIDTH = 72.0
WORD_WIDTH = 300.0  # of a word that a box is widened for rather than breaking it
SWATCH = 12.0
MOST_CLASSES = 8  # in the legend

_LONGEST = 400  # characters looked at
_NARROW = frozenset("iljtfrI.,:;|!'()[]{}/\\ \"")
_WIDE = frozenset("mwMW@%&")
_TIED = "\xa0"  # a blank that no line breaks at
_COMPARISON = re.compile(r" (<=|<|>|=) (?=\S)")
_JOINTS = f"_-/.,;:={_TIED}"  # a line may end after them
_WORD = re.compile(rf"[^\s{re.escape(_JOINTS)}]*[{re.escape(_JOINTS)}]?")


@dataclass(frozen=True, slots=True)
class Box:
    """A node's rectangle (left, top, width, height) and the lines of its text."""

    node: Node
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]

    @property
    def middle(self) -> float:
        """The horizontal centre."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from a split to a child, with the share of all rows that take it.

    Parameters
    ----------
    start, bend, end
        It leaves the split straight down and bends below all boxes of its level, so that it cannot
        run through a neighbour.
    share
        0 where it is not to be shown.
    """

    parent: int
    child: int
    answer: str
    start: tuple[float, float]
    bend: tuple[float, float]
    end: tuple[float, float]
    share: float

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The corners of the line."""
        return (self.start, self.bend, self.end) if self.bend != self.start else (
            self.start, self.end
        )  # fmt: skip

    @property
    def width(self) -> float:
        """How thick the line is."""
        return 1.5 + 7 * self.share

    @property
    def label_at(self) -> tuple[float, float]:
        """Where the baseline of the answer meets the edge's outer side, halfway down."""
        (x1, y1), (x2, y2) = self.bend, self.end
        return (x1 + x2) / 2, (y1 + y2) / 2 - self.width / 2 - 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One class in the legend; ``label`` is None where further classes are only counted."""

    label: int | None
    text: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole picture."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    legend: tuple[Entry, ...]
    width: float
    height: float


def lay_out(
    nodes: Sequence[Node],
    features: Sequence[str],
    labels: Sequence[str],
    hidden: Hidden = NOTHING,
) -> Layout:
    """Place all parts of a picture.

    Parameters
    ----------
    nodes
        In preorder, as a `TreeModel` has them.
    hidden
        The nodes whose rows are not shown, and what stands there instead.
    """
    lines = [_lines(node, features, labels, hidden) for node in nodes]
    widths = [_box_width(texts) for texts in lines]
    heights = _heights(nodes, lines)
    centres = _centres(nodes, widths)
    tops = _tops(nodes, heights)
    boxes = tuple(
        Box(node, x - w / 2, tops[node.depth], w, h, texts)
        for node, x, w, h, texts in zip(nodes, centres, widths, heights, lines, strict=True)
    )
    right = max(box.x + box.width for box in boxes)
    bottom = max(box.y + box.height for box in boxes)
    legend = _legend(nodes, labels, max(right, 3 * LEGEND_WIDTH), bottom + PAD + LINE)
    ends = [entry.x + text_width(entry.text) for entry in legend]
    below = max((entry.y for entry in legend), default=bottom)
    return Layout(
        boxes=boxes,
        edges=tuple(_edge(boxes, node, tops, hidden) for node in nodes if node.parent is not None),
        legend=legend,
        width=max([right, *ends]) + MARGIN,
        height=below + MARGIN,
    )


def text_width(text: str, size: float = FONT) -> float:
    """Estimate the width of a text in a sans-serif font, rather too large than too small.

    Examples
    --------
    >>> text_width("iii") < text_width("mmm")
    True
    """
    return size * sum(_em(character) for character in text)


def _em(character: str) -> float:
    if character in _NARROW or character == _TIED:
        return 0.42
    if character in _WIDE:
        return 1.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.78 if character.isupper() or not character.isascii() else 0.64


def shortened(text: str, length: int) -> str:
    """Leave out the middle, so that at most ``length`` characters stay.

    Examples
    --------
    >>> shortened("education_of_the_parents <= 12.5", 17)
    'educatio… <= 12.5'
    """
    if len(text) <= length:
        return text
    keep = max(0, length - 1)
    head = (keep + 1) // 2
    return f"{text[:head]}…{text[len(text) - (keep - head) :]}"


def wrapped(text: str, width: float, most: int) -> tuple[str, ...]:
    """Break a text into at most ``most`` lines; leave out its middle where they do not suffice.

    Examples
    --------
    >>> wrapped("hours per week <= 40", 80, 2)
    ('hours per', 'week <= 40')
    """
    clean = _COMPARISON.sub(rf" \1{_TIED}", shortened(" ".join(text.split()), _LONGEST))
    for length in range(len(clean), 0, -1):
        lines = _broken(shortened(clean, length), width)
        if len(lines) <= most:
            return tuple(line.replace(_TIED, " ").strip() for line in lines)
    return ("…",)


def _broken(text: str, width: float) -> tuple[str, ...]:
    """Break at blanks; a word that is too long breaks after a joint or anywhere."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if text_width(longer) <= width:
            lines[-1] = longer
            continue
        if not lines[-1]:
            lines.pop()
        lines += _pieces(word, width)
    return tuple(lines)


def _pieces(word: str, width: float) -> list[str]:
    pieces = []
    while text_width(word) > width and len(word) > 1:
        # measured as a whole: summed up letter by letter, rounding could differ from the test above
        fits = max(1, sum(text_width(word[: at + 1]) <= width for at in range(len(word))))
        joints = [at for at in range(fits) if word[at] in _JOINTS]
        cut = joints[-1] + 1 if joints else fits
        pieces.append(word[:cut])
        word = word[cut:]
    return [*pieces, word]


def _whole_words(text: str, width: float, most: int) -> tuple[str, ...]:
    """Break a text between words, in lines that are wider where a word needs it."""
    longest = max(text_width(word) for word in _WORD.findall(text[:_LONGEST]))
    return wrapped(text, max(width, min(longest, WORD_WIDTH)), most)


def _lines(
    node: Node, features: Sequence[str], labels: Sequence[str], hidden: Hidden
) -> tuple[str, ...]:
    """Write what stands in a box: the test, or label, rows and share."""
    if node.feature is not None:
        return _whole_words(features[node.feature], SPLIT_WIDTH, 3)
    assert node.label is not None
    share = percent(node.shares[node.label], 0) if node.support else "no rows"
    evidence = hidden.get(node.number, (rows_text(node.support), share))
    return (*_whole_words(labels[node.label], LEAF_WIDTH, 2), *evidence)


def _box_width(lines: Sequence[str]) -> float:
    return max(LEAST_WIDTH, *(text_width(line) + 2 * PAD for line in lines))


def _heights(nodes: Sequence[Node], lines: Sequence[Sequence[str]]) -> list[float]:
    """Make every box as high as its text, leaves with room for the bar of shares."""
    return [
        LINE * len(texts) + 2 * PAD + (BAR + PAD / 2 if node.feature is None else 0)
        for node, texts in zip(nodes, lines, strict=True)
    ]


def _tops(nodes: Sequence[Node], heights: Sequence[float]) -> list[float]:
    """Put the levels below one another."""
    depth = max(node.depth for node in nodes)
    highest = [max(heights[n.number] for n in nodes if n.depth == d) for d in range(depth + 1)]
    return list(accumulate((h + GAP_Y for h in highest), initial=MARGIN))


def _centres(nodes: Sequence[Node], widths: Sequence[float]) -> list[float]:
    """Place the boxes from left to right."""
    below: dict[int, list[int]] = {}
    for node in nodes:
        if node.parent is not None:
            below.setdefault(node.parent, []).append(node.number)
    offsets = [0.0] * len(nodes)  # from the parent's centre
    outlines: dict[int, list[tuple[float, float]]] = {}
    for node in reversed(nodes):  # children before parents
        half = widths[node.number] / 2
        outline = [(-half, half)]
        if node.number in below:
            one, zero = below[node.number]
            left, right = outlines.pop(one), outlines.pop(zero)
            apart = max(a[1] - b[0] for a, b in zip(left, right, strict=False)) + GAP_X
            offsets[one], offsets[zero] = -apart / 2, apart / 2
            outline += _joined(left, right, apart / 2)
        outlines[node.number] = outline
    leftmost = min(low for low, _ in outlines[0])
    centres = [MARGIN - leftmost]
    for node in nodes[1:]:
        assert node.parent is not None
        centres.append(centres[node.parent] + offsets[node.number])
    return centres


def _joined(
    left: Sequence[tuple[float, float]], right: Sequence[tuple[float, float]], half: float
) -> list[tuple[float, float]]:
    """Join the outlines of two subtrees, level by level."""
    joined = []
    for level in range(max(len(left), len(right))):
        low = left[level][0] - half if level < len(left) else right[level][0] + half
        high = right[level][1] + half if level < len(right) else left[level][1] - half
        joined.append((low, high))
    return joined


def _edge(boxes: Sequence[Box], node: Node, tops: Sequence[float], hidden: Hidden) -> Edge:
    assert node.parent is not None
    parent, child = boxes[node.parent], boxes[node.number]
    total = boxes[0].node.support
    return Edge(
        parent=node.parent,
        child=node.number,
        answer="yes" if node.branch else "no",
        start=(parent.middle, parent.y + parent.height),
        bend=(parent.middle, tops[node.depth] - GAP_Y),
        end=(child.middle, child.y),
        share=node.support / total if total and node.number not in hidden else 0.0,
    )


def _legend(
    nodes: Sequence[Node], labels: Sequence[str], width: float, top: float
) -> tuple[Entry, ...]:
    """List the classes that occur, in rows below the tree."""
    seen = [k for k in range(len(labels)) if nodes[0].counts[k] or any(n.label == k for n in nodes)]
    texts: list[tuple[int | None, str]] = [
        (k, wrapped(labels[k], LEGEND_WIDTH, 1)[0]) for k in seen[:MOST_CLASSES]
    ]
    if len(seen) > MOST_CLASSES:
        texts.append((None, f"and {len(seen) - MOST_CLASSES} more classes"))
    entries: list[Entry] = []
    x, y = MARGIN, top
    for label, text in texts:
        needed = SWATCH + PAD / 2 + text_width(text)
        if entries and x + needed > width:
            x, y = MARGIN, y + LINE + PAD / 2
        entries.append(Entry(label, text, x + SWATCH + PAD / 2, y))
        x += needed + 2 * PAD
    return tuple(entries)
