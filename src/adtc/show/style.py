"""How every picture looks, how its text is measured, and how it is saved.

Sizes are points (1/72 inch) unless they say otherwise. Pictures use matplotlib's objects, never
its global state, and one font that comes with it, so they look the same everywhere.
"""

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from adtc.atomic import write_whole
from adtc.errors import ADTCError, QueryError
from adtc.profiles.writing import grouped, outward, scientific

COLUMN = 3.3
"""Inches: the width of a column of a paper, and of pictures unless told otherwise."""

INK, FAINT, LINE = "#262626", "#d9d9d9", "#4d4d4d"
MARK = "#d55e00"  # vermilion: tells itself apart from blue and yellow for everyone
BLUE = "#0072b2"
COLOURS = "viridis"  # tells itself apart for readers with colour vision deficiency, and in grey
CHANGES = "PuOr"

_FONT = "DejaVu Sans"
_STYLE = {
    "font.family": [_FONT],
    "mathtext.fontset": "dejavusans",
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.unicode_minus": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "pdf.fonttype": 42,  # some publishers refuse the default
    "svg.hashsalt": "adtc",
    "svg.fonttype": "path",
    "path.simplify": True,
}
# Without dates the same picture is the same file.
_METADATA: dict[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_THOUSAND, _MILLION = 10**3, 10**6


@dataclass(frozen=True, eq=False)
class Picture:
    """A painted figure; ``figure`` is matplotlib's own, for those who want to change it."""

    figure: Any

    def save(self, path: str | os.PathLike[str], *, dpi: int = 300) -> None:
        """Write a PNG, SVG or PDF file, by the ending of its name."""
        suffix = Path(path).suffix.lower()
        if suffix not in _METADATA:
            raise QueryError(
                f"cannot save a picture as '{path}': expected a name that ends in .png, .svg or "
                f".pdf."
            )
        write_whole(path, self.to_bytes(suffix[1:], dpi=dpi))

    def to_bytes(self, form: str = "png", *, dpi: int = 200) -> bytes:
        """Return the picture as "png", "svg" or "pdf"."""
        buffer = io.BytesIO()
        with styled():
            self.figure.savefig(buffer, format=form, dpi=dpi, metadata=_METADATA[f".{form}"])
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        return self.to_bytes()


def matplotlib() -> Any:
    """Import matplotlib, or say how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise ADTCError(
            "pictures need matplotlib, which is not installed: pip install 'adtc[plot]'."
        ) from None
    return matplotlib


def styled() -> Any:
    """Open a context in which matplotlib paints in our style."""
    return matplotlib().rc_context(_STYLE)


def new_figure(width: float, height: float) -> Any:
    """Make an empty figure, sizes in inches."""
    if not 0 < width <= 100 or not 0 < height <= 100:  # noqa: PLR2004
        raise QueryError(f"a picture of {width} by {height} inches cannot be drawn.")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), facecolor="white")


def font_size(width: float) -> float:
    """Choose the size of labels for a picture so many inches wide."""
    return 7.0 if width < 5 else 8.0  # noqa: PLR2004


@lru_cache(maxsize=4096)
def measure(text: str, size: float) -> tuple[float, float]:
    """Return width and height of a line of text."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=_FONT, size=size)
    width, height, _ = text_to_path.get_text_width_height_descent(text, font, False)
    return float(width), float(height)


def widest(texts: Sequence[str], size: float) -> float:
    """Return the width of the widest line, 0 without any."""
    lines = (line for text in texts for line in text.split("\n"))
    return max((measure(line, size)[0] for line in lines), default=0.0)


def fitted(text: str, room: float, size: float) -> tuple[str, float]:
    """Make a text fit: in smaller letters, and if that is not enough with its middle left out.

    Examples
    --------
    >>> fitted("acc", 100, 7.0)
    ('acc', 7.0)
    """
    room *= 0.95  # screens round the widths of letters to whole dots
    smallest = 0.8 * size
    while size > smallest and measure(text, size)[0] > room:
        size -= 0.25
    kept = len(text)
    short = text
    while measure(short, size)[0] > room and kept > 4:  # noqa: PLR2004
        kept -= 1
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
    return short, size


def power_of_ten(exponent: int) -> str:
    """Write 1, 10, 100 or 10⁴ and so on."""
    return str(10**exponent) if 0 <= exponent < 3 else f"10{superscript(exponent)}"  # noqa: PLR2004


def superscript(number: int) -> str:
    """Write a whole number in raised digits."""
    return str(number).translate(_SUPERSCRIPTS)


def compact(count: int, digits: int) -> str:
    """Write a count for a small space: 15.3k, 1.23M, 1.23·10¹⁵.

    Examples
    --------
    >>> compact(15_340, 3), compact(15_340, 1), compact(1_234_567_890_123, 2)
    ('15.3k', '15k', '1.2·10¹²')
    """
    if count < _THOUSAND:
        return str(count)
    mantissa, exponent = scientific(count, digits)
    rounded = round(float(mantissa) * 10 ** (digits - 1)) * 10 ** (exponent - digits + 1)
    if exponent >= 9:  # noqa: PLR2004
        power = f"10{superscript(exponent)}"
        return power if mantissa == "1" else f"{mantissa}·{power}"
    unit, letter = (_THOUSAND, "k") if rounded < _MILLION else (_MILLION, "M")
    places = max(0, digits - 1 - exponent % 3)
    return f"{count / unit:.{places}f}{letter}"


def count_forms() -> list[Callable[[int], str]]:
    """List ways to write counts, from exact to short; the last ones take two lines."""
    one_line = [partial(compact, digits=digits) for digits in (3, 2, 1)]
    return [grouped, *one_line, *(partial(_two_lines, digits=digits) for digits in (2, 1))]


def range_forms() -> list[Callable[[int, bool | None], str]]:
    """List ways to write the ends of ranges; the last ones are for one end below the other.

    A lower end (False) is rounded down, an upper one (True) up; a number alone (None) to nearest.
    """
    one_line = [partial(_compact_end, digits=digits) for digits in (3, 2, 1)]
    return [lambda count, _: grouped(count), *one_line, *one_line]


def _compact_end(count: int, up: bool | None, digits: int) -> str:
    """Write the end of a range for a small space, rounded so that the range only grows."""
    if count < _THOUSAND or up is None:
        return compact(count, digits)
    exponent = len(str(count)) - 1
    shown = digits if exponent >= 9 else max(digits, exponent % 3 + 1)  # noqa: PLR2004
    return compact(outward(count, shown, up=up), shown)


def _two_lines(count: int, digits: int) -> str:
    if count < _THOUSAND:
        return str(count)
    mantissa, exponent = scientific(count, digits)
    return f"{mantissa}·\n10{superscript(exponent)}"


def ink_on(colour: Sequence[float]) -> str:
    """Choose black or white text, whichever has the larger contrast on a colour (WCAG)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]  # noqa: PLR2004
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"


def log_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Choose ticks for a scale of decimal logarithms: powers of ten, or 1-2-5 if it is short.

    Examples
    --------
    >>> log_ticks(0.2, 3.1)
    [(1.0, '10'), (2.0, '100'), (3.0, '10³')]
    """
    if floor(high) - ceil(low) < 1:
        return _fine_ticks(low, high, most)
    for step in chain.from_iterable((t, 2 * t, 5 * t) for t in (1, 10, 100, 1000)):
        powers = range(ceil(low / step) * step, floor(high) + 1, step)
        if len(powers) <= most:
            break
    return [(float(power), power_of_ten(power)) for power in powers]


def _fine_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Choose 1-2-5 ticks, or the two ends where not even two of those fit."""
    ticks = []
    for power in range(int(low // 1), int(high // 1) + 1):
        for factor in (1, 2, 5):
            place = power + log10(factor)
            if low - 1e-9 <= place <= high + 1e-9:
                ticks.append((place, _round_count(factor, power)))
    if len(ticks) > 1:
        return ticks[:most]
    ends = [low, high] if high - low > 1e-9 else [low]  # noqa: PLR2004
    return list({_near(end): (end, _near(end)) for end in ends}.values())


def _round_count(factor: int, power: int) -> str:
    if 0 <= power < 6:  # noqa: PLR2004
        return grouped(factor * 10**power)
    return f"{'' if factor == 1 else f'{factor}·'}10{superscript(power)}"


def _near(place: float) -> str:
    """Write the count whose logarithm is given, to three digits."""
    power = int(place // 1)
    if power < 6:  # noqa: PLR2004
        return grouped(round(10**place))
    return f"{10 ** (place - power):.2f}·10{superscript(power)}"
