"""Suppression of small counts: which of them are hidden, and what stands there instead.

A count below a limit could tell of single people, so neither it nor a share of it is written. Where
a sum is known, what is hidden could be recovered from what is shown; so further counts, the
smallest first, are hidden until the hidden ones leave each other room.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from adtc.errors import QueryError
from adtc.models.nodes import Node
from adtc.text import is_whole

SMALL = 10
"""Counts below this are hidden where a page is made to be sent."""

Hidden = Mapping[int, tuple[str, str]]
"""Per number of a hidden node the two short lines that stand for its rows and its share."""

NOTHING: Hidden = MappingProxyType({})


def check_small(small: int) -> None:
    """Refuse a limit that is no whole number of at least 0."""
    if not is_whole(small, 0):
        raise QueryError(f"small is {small!r}, expected a whole number of at least 0.")


def fewer_text(small: int) -> str:
    """Write what is known of a small count.

    Examples
    --------
    >>> fewer_text(10)
    'fewer than 10'
    """
    return f"fewer than {small:,}"


def hidden_counts(counts: Sequence[int], small: int) -> tuple[bool, ...]:
    """Tell which parts of a known sum to hide.

    Parts below ``small`` are hidden, and then the next smallest until no hidden one of these can be
    worked out from the sum and the parts shown.

    Examples
    --------
    >>> hidden_counts([3, 400, 25, 90], 10)
    (True, False, True, False)
    >>> hidden_counts([3, 4, 400], 10), hidden_counts([25, 400], 10)
    ((True, True, False), (False, False))
    """
    order = sorted(range(len(counts)), key=counts.__getitem__)
    n = sum(count < small for count in counts)
    if n:
        while n < len(counts) and not _has_room([counts[at] for at in order[:n]], small):
            n += 1
    gone = set(order[:n])
    return tuple(at in gone for at in range(len(counts)))


def _has_room(hidden: Sequence[int], small: int) -> bool:
    """Tell whether each small one of some hidden counts might be another number, given their sum.

    It is known that the small ones lie between 1 and ``small``, and the others do not.
    """
    total = sum(hidden)
    few = sum(n < small for n in hidden)
    others = len(hidden) - few
    least = few + small * others
    return len(hidden) > 1 and least < total and (others > 0 or total < (small - 1) * few)


def hidden_nodes(nodes: Sequence[Node], small: int) -> Hidden:
    """Find the nodes of a tree whose rows are not shown, and what stands there instead.

    The rows of the root are those of the table and stay. A split above a hidden leaf is hidden as
    well: else the leaf would be the difference of two numbers that are shown.
    """
    check_small(small)
    leaves = [node for node in nodes if node.leaf is not None]
    gone = hidden_counts([leaf.support for leaf in leaves], small)
    if not any(gone):
        return NOTHING
    found: dict[int, tuple[str, str]] = {}
    for leaf, is_hidden in zip(leaves, gone, strict=True):
        if is_hidden:
            few = leaf.support < small
            found[leaf.number] = (
                ("fewer than", f"{small:,} row{'s' * (small != 1)}")
                if few
                else ("number", "not shown")
            )
            above = leaf.parent
            while above:  # not None, and not the root
                found[above] = ("number", "not shown")
                above = nodes[above].parent
    return found
