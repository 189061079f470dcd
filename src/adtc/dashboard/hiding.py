"""Suppressed bars of histograms by group: those of few people, and others that would tell them."""

from collections.abc import Iterator, Mapping, Sequence

from adtc.models.small import hidden_counts

Counts = Mapping[str, Sequence[int]]
Cell = tuple[str, int]


def hidden_bars(counts: Counts, small: int) -> set[Cell]:
    """Tell which bars of everybody and of groups to hide.

    A bar is known if it alone is hidden among those of its part, whose people are known, or among
    those of its bin, where groups add up to everybody. So at least two are hidden, or none.

    Examples
    --------
    >>> bars = {"everybody": [70, 30, 50], "f": [4, 16, 20], "m": [66, 14, 30]}
    >>> sorted(hidden_bars(bars, 10))
    [('f', 0), ('f', 1), ('m', 0), ('m', 1)]
    """
    hidden: set[Cell] = set()
    for part, bars in counts.items():
        filled = [at for at, n in enumerate(bars) if n]
        gone = hidden_counts([bars[at] for at in filled], small)
        hidden.update((part, at) for at, is_gone in zip(filled, gone, strict=True) if is_gone)
    before = -1
    while len(hidden) != before:
        before = len(hidden)
        for line in _lines(counts):
            if len(hidden.intersection(line)) == 1:
                free = [cell for cell in line if cell not in hidden]
                # an empty bar is the last choice: that nobody is there tells of nobody
                free.sort(key=lambda cell: (not counts[cell[0]][cell[1]], counts[cell[0]][cell[1]]))
                hidden.update(free[:1])
    return hidden


def _lines(counts: Counts) -> Iterator[list[Cell]]:
    """Yield the cells that add up to something known: per bin, then per part."""
    bins = len(next(iter(counts.values()), ()))
    if len(counts) > 1:
        for at in range(bins):
            yield [(part, at) for part in counts]
    for part in counts:
        yield [(part, at) for at in range(bins)]
