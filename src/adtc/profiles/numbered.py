"""The trees of a profile, numbered: from a rank to a tree and back, each checked against the data.

The rank of a tree is the number of trees in earlier cells of the profile plus its number within its
cell. A tree is scored on the data again before it is handed out and must have its cell's metrics.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.forests import Forest
from adtc.algebra.trees import Tree, to_string
from adtc.data import Data
from adtc.engine.exact.columns import Ratios, evaluate, fractions, from_columns, reduced
from adtc.engine.exact.limbs import counts_of, total_of
from adtc.engine.plan.keys import find_key, find_keys, key_integers, key_order
from adtc.engine.ranks import Ranks
from adtc.engine.score import as_integer
from adtc.engine.signed import SignedBeginnings
from adtc.errors import QueryError
from adtc.models import TreeModel
from adtc.profiles.profile import Profile
from adtc.profiles.rescoring import Scorer, Value
from adtc.text import is_whole

Array = npt.NDArray[Any]
_NARROW = 2**62
_CHUNK = 1024  # trees that are found at once when all are wanted, at most
_TOGETHER = 2**15  # trees that are drawn at once, at most
_RARE = 256  # trees of a cell, for one that is admitted, that are not worth looking at


@dataclass(frozen=True, slots=True)
class DrawnTree:
    """A tree of a profile, checked against the data.

    Parameters
    ----------
    rank
        Its number within the profile, from 0. Where a space requires columns or limits their
        number, trees that it leaves out have numbers, too.
    cell_rank, cell_count
        Its number among the trees with the same axis values, and how many these are.
    metrics
        Its values of the profile's metrics, exact; None where undefined.
    seed
        The seed that drew it; None if it was not drawn.
    """

    tree: Tree
    rank: int
    cell_rank: int
    cell_count: int
    metrics: Mapping[str, Value]
    data: Data = field(repr=False)
    seed: int | None = None

    @property
    def model(self) -> TreeModel:
        """Make it a model: rules, pictures, predictions."""
        return TreeModel(self.tree, self.data)

    def _repr_html_(self) -> str:
        return self.model._repr_html_()


@dataclass(slots=True)
class _Tools:
    """What all profiles over one circuit share."""

    ranks: Ranks
    scorer: Scorer


class NumberedTrees:
    """The cells of a profile as parts of one long list of trees."""

    def __init__(self, profile: Profile) -> None:
        source = profile.need_source("drawing")
        assert profile.keys is not None
        tools = source.kept.get("tools")
        if tools is None:
            circuit = source.circuit
            with source.guard():
                question = circuit.prepared.plan.question
                tools = _Tools(Ranks(circuit), Scorer(source.data, question))
            source.kept["tools"] = tools
        self.profile, self.data, self._tools = profile, source.data, tools
        self.keys = key_integers(profile.keys)
        self.count = profile.total
        self._beginnings: dict[int, SignedBeginnings] = {}
        self.allowed = source.circuit.prepared.plan.question.allowed
        trees = self._all_trees(profile) if self.allowed.selective else profile.trees
        self.numbers = total_of(trees)
        self._until: Array | list[int]
        if self.numbers < _NARROW:
            self._until = np.cumsum(trees[:, 0].astype(np.int64))
        else:
            self._until = list(itertools.accumulate(counts_of(trees)))
        self._by_key = key_order(profile.keys)
        self._sorted_keys = profile.keys[self._by_key]

    def _all_trees(self, profile: Profile) -> Array:
        """Count the trees of each cell, also those that conditions on all tests leave out."""
        assert profile.source is not None
        assert profile.keys is not None
        root = profile.source.circuit.root
        order = key_order(root.keys)
        found: Array = root.values[order[find_keys(root.keys[order], profile.keys)]]
        return found

    @classmethod
    def of(cls, profile: Profile) -> "NumberedTrees":
        """Return a profile's cells, made once as a cached property would."""
        kept: dict[str, Any] = vars(profile)
        if "_numbered_trees" not in kept:
            kept["_numbered_trees"] = cls(profile)
        found: NumberedTrees = kept["_numbered_trees"]
        return found

    def some(self, what: str) -> int:
        """Return the number of trees if there are any."""
        if not self.count:
            raise QueryError(f"no tree satisfies {what}, so there is none to draw: ask for less.")
        return self.count

    def check(self, rank: int, name: str = "rank") -> None:
        """Refuse a rank that no tree has."""
        if not is_whole(rank):
            raise QueryError(f"{name} is {rank!r}, expected a whole number.")
        if not self.count:
            raise QueryError(f"{name} {rank:,} is out of range: the profile holds no tree.")
        if not 0 <= rank < self.numbers:
            trees = "there is 1 tree, rank 0" if self.numbers == 1 else (
                f"there are {self.numbers:,} trees, ranks 0 to {self.numbers - 1:,}"
            )  # fmt: skip
            raise QueryError(f"{name} {rank:,} is out of range: {trees}.")

    def before(self, cell: int) -> int:
        """Count the trees of earlier cells."""
        return int(self._until[cell - 1]) if cell else 0

    def cell_of(self, rank: int) -> int:
        """Find the cell that holds a rank."""
        if isinstance(self._until, list):
            return bisect_right(self._until, rank)
        return int(self._until.searchsorted(rank, "right"))

    def from_part(self, part: "NumberedTrees", rank: int) -> int:
        """Turn a rank within some of the cells into one within all."""
        cell = part.cell_of(rank)
        return self.before(self._at(part.keys[cell])) + rank - part.before(cell)

    def rank(self, tree: Tree) -> int:
        """Return the rank of a tree."""
        if not self.allowed.admits(tree):
            raise QueryError(
                "the tree is not in this profile: its tests are not those that the space admits."
            )
        key, cell_rank = self._tools.ranks.rank(tree)
        cell = self._at(key)
        if cell < 0:
            values = self._tools.scorer.describe(tree)
            raise QueryError(
                f"the tree is not in this profile, whose constraints leave it out: it has {values}."
            )
        return self.before(cell) + cell_rank

    def trees(self, ranks: Iterable[int], seed: int | None = None) -> list[DrawnTree]:
        """Return the trees of some ranks; each is found and scored once."""
        ranks = list(map(int, ranks))
        some = sorted(set(ranks))
        by_rank: dict[int, DrawnTree] = {}
        for at in range(0, len(some), _TOGETHER):
            found = self._found(some[at : at + _TOGETHER], seed)
            by_rank.update((drawn.rank, drawn) for drawn in found)
        return [by_rank[rank] for rank in ranks]

    def admits(self, tree: Tree) -> bool:
        """Tell whether the space admits a tree by all its tests."""
        return not self.allowed.selective or self.allowed.admits(tree)

    def rare(self, cell: int) -> bool:
        """Tell whether so few trees of a cell are admitted that it is not worth looking at all."""
        if not self.allowed.selective:
            return False
        (admitted,) = counts_of(self.profile.trees[cell : cell + 1])
        return self.before(cell + 1) - self.before(cell) > _RARE * admitted

    def admitted(self, cell: int, numbers: Iterable[int]) -> list[int]:
        """Return the ranks of admitted trees of a cell, by their numbers among these."""
        assert self.profile.keys is not None
        assert self.profile.source is not None
        if cell not in self._beginnings:
            keys = self.profile.keys[cell : cell + 1]
            self._beginnings[cell] = SignedBeginnings.of(self.profile.source.circuit, keys)
        return [self.rank(self._beginnings[cell].nth(None, number)) for number in numbers]

    def first(self, cell: int) -> DrawnTree:
        """Return an admitted tree of a cell, always the same: the first where they are not rare."""
        if self.rare(cell):
            return self.trees(self.admitted(cell, [0]))[0]
        return next(self.in_order(self.before(cell), self.before(cell + 1)))

    def in_order(self, start: int, stop: int) -> Iterator[DrawnTree]:
        """Yield the trees from one rank to another, found and scored in growing groups."""
        size = 1
        while start < stop:
            some = range(start, min(stop, start + size))
            yield from (one for one in self._found(some, None) if self.admits(one.tree))
            start, size = some.stop, min(2 * size, _CHUNK)

    def _found(self, ranks: Sequence[int], seed: int | None) -> list[DrawnTree]:
        """Find the trees of ascending ranks, and check them."""
        cells = np.array([self.cell_of(rank) for rank in ranks], np.int64)
        distinct, code = np.unique(cells, return_inverse=True)
        before = [self.before(cell) for cell in distinct.tolist()]
        within = [rank - before[c] for rank, c in zip(ranks, code.tolist(), strict=True)]
        assert self.profile.keys is not None
        assert self.profile.source is not None
        with self.profile.source.guard():
            forest = self._tools.ranks.unrank_many(self.profile.keys[cells], within)
            metrics = self._checked(forest, distinct, code)
        counts = [self.before(c + 1) - b for c, b in zip(distinct.tolist(), before, strict=True)]
        rows = zip(forest.trees(), ranks, within, code.tolist(), strict=True)
        return [
            DrawnTree(tree, rank, cell_rank, counts[c], dict(metrics[c]), self.data, seed)
            for tree, rank, cell_rank, c in rows
        ]

    def _at(self, key: int) -> int:
        """Find the cell of a key; −1 if there is none."""
        at = find_key(self._sorted_keys, key)
        return int(self._by_key[at]) if at >= 0 else -1

    def _checked(self, forest: Forest, cells: Array, code: Array) -> list[dict[str, Value]]:
        """Score trees on the data and hold the values against those of their cells.

        Returns the metrics of the cells; the tree at ``i`` is in the cell ``cells[code[i]]``.
        """
        axes = {name: column[cells] for name, column in self.profile.axes.items()}
        lookup = from_columns(axes, len(cells))
        plan = self._tools.ranks.circuit.prepared.plan
        terms = {name: plan.over_axes(term) for name, term in plan.question.metrics}
        values = {name: reduced(evaluate(term, lookup)) for name, term in terms.items()}
        for name, scored in self._tools.scorer.values(forest).items():
            _compare(name, scored, values[name], forest, code)
        shown = {
            name: values[name] if terms.get(name) == term else evaluate(term, lookup)
            for name, term in self.profile.metrics.items()
        }
        columns = {name: _plain(column) for name, column in shown.items()}
        return [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ] or [{} for _ in cells]


def _plain(column: Ratios) -> list[Value]:
    return [as_integer(value) for value in fractions(column)]


def _compare(name: str, scored: Ratios, cells: Ratios, forest: Forest, code: Array) -> None:
    """Raise if a tree has another value of a metric than its cell; both are in lowest terms."""
    differ = (scored.top != cells.top[code]) | (scored.bottom != cells.bottom[code])
    if differ.any():
        at = int(np.flatnonzero(differ)[0])
        here, there = _plain(scored)[at], _plain(cells)[code[at]]
        raise RuntimeError(
            f"the tree {to_string(forest.trees()[at])} has {name} = {here} on the data, but its "
            f"cell says {there}."
        )
