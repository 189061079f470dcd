"""The rows of several tables below one another, as far as a question looks at them.

A further table has the same features and sends its rows down the same trees. Its rows come after
the table's own and never count as those: which leaves exist is a matter of the table itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adtc.data.bits import BitRows, Codes, Rows, Words, equal_rows, pack, take_rows, unpack

if TYPE_CHECKING:
    from adtc.data.table import Data


class RowKind(NamedTuple):
    """What rows of a stack have in common.

    Parameters
    ----------
    times
        How often a row counts in the sums that ask for it, such as those of hybrid rows.
    table
        The further table's name; empty for the table itself.
    """

    y: int
    z: int = 0
    references: tuple[int, ...] = ()
    table: str = ""
    times: int = 1


@dataclass(frozen=True, eq=False)
class Layer:
    """The rows of one further table.

    Parameters
    ----------
    kinds, member
        The kinds of rows that occur, and which one each row has.
    """

    bits: Words
    weights: Rows
    kinds: tuple[RowKind, ...]
    member: Rows


@dataclass(frozen=True, eq=False)
class Stack(BitRows):
    """The rows of a table, and below them those of further ones.

    Parameters
    ----------
    own
        How many rows are the table's own; they come first.
    total
        The weight of those.
    """

    bits: Words
    weights: Rows
    kinds: tuple[RowKind, ...]
    member: Rows
    own: int
    total: int

    @cached_property
    def y(self) -> Codes:
        """The label of each row."""
        return np.array([kind.y for kind in self.kinds], np.int32)[self.member]

    def merged(self) -> "Stack":
        """Make equal rows of one kind one row of their summed weight; no count changes."""
        return self._merged

    @cached_property
    def _merged(self) -> "Stack":
        first, group = equal_rows(self.bits, [self.member.astype(np.int32)], self.n_rows)
        weights = np.zeros(len(first), np.int64)
        np.add.at(weights, group, self.weights)
        return Stack(
            bits=take_rows(self.bits, self.n_rows, first),
            weights=weights,
            kinds=self.kinds,
            member=self.member[first],
            own=int((first < self.own).sum()),  # rows keep their order, and tables stay apart
            total=self.total,
        )


def layer_of(data: "Data", name: str) -> Layer:
    """Take the rows of a further table for a stack."""
    kinds, member = data.row_kinds
    named = tuple(RowKind(y, z, tuple(rest), name) for y, z, *rest in kinds.tolist())
    return Layer(data.bits, data.weights, named, member)


def stacked(data: "Data", layers: Iterable[Layer]) -> Stack:
    """Put the rows of further tables below those of a table."""
    every: Sequence[Layer] = [layer_of(data, ""), *layers]
    starts = np.cumsum([0, *(len(layer.kinds) for layer in every)]).tolist()
    dense = [unpack(layer.bits, len(layer.weights)) for layer in every]
    return Stack(
        bits=pack(np.concatenate(dense, axis=1)),
        weights=np.concatenate([layer.weights for layer in every]),
        kinds=tuple(kind for layer in every for kind in layer.kinds),
        member=np.concatenate(
            [start + layer.member for start, layer in zip(starts, every, strict=False)]
        ),
        own=data.n_rows,
        total=data.total,
    )
