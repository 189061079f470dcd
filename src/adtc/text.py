"""Numbers as people read them: what every room needs, once."""

from fractions import Fraction


def percent(share: Fraction | None) -> str:
    """Write a share with one decimal; only 0 and 1 themselves become 0 % and 100 %.

    Examples
    --------
    >>> percent(Fraction(1, 3)), percent(Fraction(1, 10**6)), percent(Fraction(1)), percent(None)
    ('33.3 %', '<0.1 %', '100 %', '-')
    """
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{int(100 * share)} %"
    shown = f"{float(100 * share):.1f} %"
    return {"0.0 %": "<0.1 %", "100.0 %": ">99.9 %"}.get(shown, shown)
