"""Numbers as people write and read them: what every room needs, once."""

from fractions import Fraction
from numbers import Integral
from typing import TypeGuard


def percent(share: Fraction | None, places: int = 1) -> str:
    """Write a share with so many decimals; only 0 and 1 themselves become 0 % and 100 %.

    Examples
    --------
    >>> percent(Fraction(1, 3)), percent(Fraction(1, 10**6)), percent(Fraction(1)), percent(None)
    ('33.3 %', '<0.1 %', '100 %', '-')
    >>> percent(Fraction(93, 100), 0), percent(Fraction(999, 1000), 0)
    ('93 %', '>99 %')
    """
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{int(100 * share)} %"
    shown = f"{float(100 * share):.{places}f}"
    step = float(Fraction(1, 10**places))  # the least share that is written
    nearly = {0.0: f"<{step:.{places}f} %", 100.0: f">{100 - step:.{places}f} %"}
    return nearly.get(float(shown), f"{shown} %")


def json_number(value: Fraction | int | None) -> int | float | None:
    """Write a value as JSON has numbers: an integer, a float, or null where undefined."""
    if value is None:
        return None
    return int(value) if Fraction(value).denominator == 1 else float(value)


def is_whole(value: object, least: int | None = None) -> TypeGuard[int]:
    """Tell whether a value is a whole number, NumPy's among them, of at least so much.

    Examples
    --------
    >>> is_whole(3), is_whole(3, 4), is_whole(True), is_whole(3.0)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return least is None or int(value) >= least
