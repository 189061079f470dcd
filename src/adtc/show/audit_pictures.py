"""The pictures of an audit as SVG: the model in use before the front, and rates by group.

They take the page's colours, light, dark and on paper; what they show also stands in tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from adtc.engine.exact.values import Value
from adtc.profiles.audits.audited import Audit
from adtc.profiles.pareto import Front
from adtc.profiles.writing import percentage
from adtc.show import words
from adtc.show.audit_words import is_points, is_share, shown_part
from adtc.show.groups import hidden_groups

Point = tuple[float, float]
_WIDTH, _HEIGHT = 720.0, 340.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 24.0, 18.0, 50.0
_ROOM = 0.06  # of an axis, free at both ends
_BAR, _APART, _NAMES = 18.0, 14.0, 200.0
_FONT = 'font-family="system-ui, sans-serif" font-size="13"'


@dataclass(frozen=True, slots=True)
class _Axis:
    """A range of values on a line of pixels; values are shown times ``scale``."""

    low: float
    high: float
    start: float
    end: float
    scale: int

    def at(self, value: float) -> float:
        """Give the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Choose about five round values, with their texts."""
        low, high = self.low * self.scale, self.high * self.scale
        raw = (high - low) / 5
        unit = 10.0 ** floor(log10(raw))
        step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= raw)
        places = max(0, -floor(log10(step) + 1e-9))
        numbers = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
        return [(n * step / self.scale, f"{n * step:.{places}f}") for n in numbers]


def trade_off(found: Audit) -> str:
    """Paint the model in use, the front of the alternatives, and the trees shown."""
    fronts = _fronts(found)
    used = (found.baseline.metrics[found.good], found.baseline.metrics[found.gap])
    shown = [(tree.metrics[found.good], tree.metrics[found.gap]) for tree in found.shown]
    places = [_floats(p) for front, _ in fronts for p in front.points]
    places += [_floats(p) for p in (used, *shown)]
    x = _axis([p[0] for p in places], _LEFT, _WIDTH - _RIGHT, _scale(found.good))
    y = _axis([*(p[1] for p in places), 0.0], _HEIGHT - _BOTTOM, _TOP, _scale(found.gap), zero=True)
    parts = [_frame(x, y, _label(found.good), _label(found.gap))]
    for front, style in fronts:
        parts.append(_line([_floats(p) for p in front.points], x, y, style))
    parts.append(_in_use(_floats(used), x, y))
    parts += [_numbered(n, _floats(point), x, y) for n, point in enumerate(shown, 1)]
    about = f"{words.title_text(found.good)} against {words.title_text(found.gap)}"
    return _svg(_WIDTH, _HEIGHT, about, "".join(parts))


def _fronts(found: Audit) -> list[tuple[Front, str]]:
    """List the fronts to paint: that of all trees faintly, that of the trees shown before it."""
    part = shown_part(found)
    fronts = [] if part.front is None or not len(part.front) else [(part.front, "strong")]
    whole = found.every.front
    if shows_both(found) and whole is not None:
        return [(whole, "faint"), *fronts]
    return fronts


def shows_both(found: Audit) -> bool:
    """Tell whether the front of all trees is painted beside that of the trees shown."""
    part, whole = shown_part(found).front, found.every.front
    if part is None or whole is None or not len(part):
        return False
    return whole.points != part.points


def _floats(point: Sequence[Value]) -> Point:
    return float(point[0] or 0), float(point[1] or 0)


def _scale(name: str) -> int:
    return 100 if is_points(name) or is_share(name) else 1


def _label(name: str) -> str:
    unit = ", percentage points" if is_points(name) else ", %" if is_share(name) else ""
    title = words.title_text(name)
    return title[:1].upper() + title[1:] + unit


def _axis(
    values: Sequence[float], start: float, end: float, scale: int, *, zero: bool = False
) -> _Axis:
    low, high = min(values), max(values)
    room = _ROOM * (high - low) or max(abs(high) * _ROOM, 0.005)
    return _Axis(0.0 if zero and low >= 0 else low - room, high + room, start, end, scale)


def _frame(x: _Axis, y: _Axis, x_label: str, y_label: str) -> str:
    parts = []
    for value, text in y.ticks():
        at = y.at(value)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{at:.1f}" y2="{at:.1f}" '
            f'style="stroke:var(--line)"/>'
            f'<text x="{_LEFT - 8}" y="{at + 4:.1f}" text-anchor="end" style="fill:var(--soft)">'
            f"{text}</text>"
        )
    for value, text in x.ticks():
        at, foot = x.at(value), _HEIGHT - _BOTTOM
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{foot}" y2="{foot + 5}" '
            f'style="stroke:var(--soft)"/>'
            f'<text x="{at:.1f}" y="{foot + 20}" text-anchor="middle" style="fill:var(--soft)">'
            f"{text}</text>"
        )
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle" '
        f'style="fill:var(--ink)">{escape(x_label)}</text>'
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle" '
        f'style="fill:var(--ink)">{escape(y_label)}</text>'
    )
    return "".join(parts)


def _line(points: Sequence[Point], x: _Axis, y: _Axis, style: str) -> str:
    """Paint a front as steps: the least gap of trees that are at least so good."""
    order = sorted(points)
    corners = [order[0]]
    for (left, _), (right, high) in pairwise(order):
        corners += [(left, high), (right, high)]
    way = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in corners)
    strong = style == "strong"
    colour, dash = ("--accent", "") if strong else ("--soft", ";stroke-dasharray:4 4")
    dots = "".join(
        f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="{3.5 if strong else 2}" '
        f'style="fill:var({colour})"/>'
        for a, b in order
    )
    stroke = f"fill:none;stroke:var({colour});stroke-width:{2.5 if strong else 1.2}{dash}"
    return f'<polyline points="{way}" style="{stroke}"/>{dots}'


def _in_use(point: Point, x: _Axis, y: _Axis) -> str:
    a, b = x.at(point[0]), y.at(point[1])
    left = a > _WIDTH - _RIGHT - 90
    anchor, shift = ("end", -12) if left else ("start", 12)
    return (
        f'<rect x="{a - 6:.1f}" y="{b - 6:.1f}" width="12" height="12" '
        f'style="fill:var(--mark);stroke:var(--mark-halo);stroke-width:1.5"/>'
        f'<text x="{a + shift:.1f}" y="{b + 4:.1f}" text-anchor="{anchor}" font-weight="600" '
        f'style="fill:var(--mark);stroke:var(--paper);stroke-width:3;paint-order:stroke">'
        f"in use</text>"
    )


def _numbered(n: int, point: Point, x: _Axis, y: _Axis) -> str:
    a, b = x.at(point[0]), y.at(point[1])
    return (
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="10" style="fill:var(--accent);'
        f'stroke:var(--mark-halo);stroke-width:1.5"/>'
        f'<text x="{a:.1f}" y="{b + 4.5:.1f}" text-anchor="middle" font-weight="700" '
        f'style="fill:var(--accent-ink)">{n}</text>'
    )


def selection_bars(found: Audit, small: int) -> str:
    """Paint the selection rate of every group: by the model in use and by the first tree shown."""
    used = found.baseline.train.groups
    tree = found.shown[0].train.groups if found.shown else None
    kept = [
        (group, None if tree is None else tree[at])
        for at, (group, (gone, _)) in enumerate(zip(used, hidden_groups(used, small), strict=True))
        if at and not gone
    ]
    rates = [g.selection_rate for pair in kept for g in pair if g is not None]
    most = max((rate for rate in rates if rate is not None), default=None)
    if not most:
        return ""
    each = (_BAR * (2 if tree else 1)) + _APART
    height = each * len(kept) + 8
    room = _WIDTH - _NAMES - 70
    parts = []
    for at, (before, after) in enumerate(kept):
        top = at * each + 4
        middle = top + (each - _APART) / 2 + 4
        parts.append(
            f'<text x="{_NAMES - 10}" y="{middle:.1f}" text-anchor="end" style="fill:var(--ink)">'
            f"{escape(_short(f'{found.data.sensitive} = {before.name}'))}</text>"
        )
        for place, (group, colour) in enumerate([(before, "--mark"), (after, "--accent")]):
            if group is None or group.selection_rate is None:
                continue
            y, wide = top + place * _BAR, float(group.selection_rate / most) * room
            parts.append(
                f'<rect x="{_NAMES}" y="{y:.1f}" width="{max(wide, 0.5):.1f}" height="{_BAR - 3}" '
                f'style="fill:var({colour})"/>'
                f'<text x="{_NAMES + wide + 6:.1f}" y="{y + 12.5:.1f}" style="fill:var(--ink)">'
                f"{percentage(group.selection_rate)}</text>"
            )
    return _svg(_WIDTH, height, "Selection rates by group", "".join(parts))


def _short(name: str, most: int = 28) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _svg(width: float, height: float, about: str, content: str) -> str:
    return (
        f'<svg class="audit-picture" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(about)}" {_FONT}>{content}</svg>'
    )
