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

from adtc.algebra.trees import Tree, to_string
from adtc.data import Data
from adtc.engine.columns import evaluate, fractions, from_columns
from adtc.engine.scoring import plain
from adtc.engine.walk import Walk
from adtc.engine.wide import counts_of
from adtc.errors import QueryError
from adtc.models import TreeModel
from adtc.profiles.profile import Profile
from adtc.profiles.rescoring import Scorer, Value

Array = npt.NDArray[Any]
_NARROW = 2**62
_CHUNK = 512  # trees that are scored at once when all are wanted, at most


@dataclass(frozen=True, slots=True)
class DrawnTree:
    """A tree of a profile, checked against the data.

    Parameters
    ----------
    rank
        Its number within the profile, from 0.
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

    walk: Walk
    scorer: Scorer


class NumberedTrees:
    """The cells of a profile as parts of one long list of trees."""

    def __init__(self, profile: Profile) -> None:
        source = profile.need_source("drawing")
        assert profile.keys is not None
        tools = source.kept.get("tools")
        if tools is None:
            question = source.circuit.ground.plan.question
            tools = _Tools(Walk(source.circuit), Scorer(source.data, question))
            source.kept["tools"] = tools
        self.profile, self.data, self._tools = profile, source.data, tools
        self.keys: list[int] = profile.keys.tolist()
        self.count = profile.count
        self._until: Array | list[int]
        if self.count < _NARROW:
            self._until = np.cumsum(profile.trees[:, 0].astype(np.int64))
        else:
            self._until = list(itertools.accumulate(counts_of(profile.trees)))
        self._by_key = np.argsort(profile.keys, kind="stable")
        self._sorted_keys = profile.keys[self._by_key]

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
        if isinstance(rank, bool) or not isinstance(rank, int | np.integer):
            raise QueryError(f"{name} is {rank!r}, expected a whole number.")
        if not self.count:
            raise QueryError(f"{name} {rank:,} is out of range: the profile holds no tree.")
        if not 0 <= rank < self.count:
            trees = "there is 1 tree, rank 0" if self.count == 1 else (
                f"there are {self.count:,} trees, ranks 0 to {self.count - 1:,}"
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
        key, cell_rank = self._tools.walk.rank(tree)
        cell = self._at(key)
        if cell < 0:
            values = self._tools.scorer.describe(tree)
            raise QueryError(
                f"the tree is not in this profile, whose constraints leave it out: it has {values}."
            )
        return self.before(cell) + cell_rank

    def trees(self, ranks: Iterable[int], seed: int | None = None) -> list[DrawnTree]:
        """Return the trees of some ranks; each is found and scored once."""
        ranks = list(ranks)
        found = []
        for rank in sorted(set(map(int, ranks))):  # neighbours share the way down
            cell = self.cell_of(rank)
            tree = self._tools.walk.unrank(self.keys[cell], rank - self.before(cell))
            found.append((rank, cell, tree))
        by_rank = {drawn.rank: drawn for drawn in self._checked(found, seed)}
        return [by_rank[rank] for rank in ranks]

    def in_order(self, start: int, stop: int) -> Iterator[DrawnTree]:
        """Yield the trees from one rank to another, scored in growing groups."""
        following = itertools.islice(self._following(start), max(0, stop - start))
        size = 1
        while group := list(itertools.islice(following, size)):
            yield from self._checked(group, None)
            size = min(2 * size, _CHUNK)

    def _following(self, start: int) -> Iterator[tuple[int, int, Tree]]:
        first = self.cell_of(start)
        for cell in range(first, len(self.keys)):
            before = self.before(cell)
            offset = start - before if cell == first else 0
            trees = self._tools.walk.trees(self.keys[cell], offset)
            yield from ((rank, cell, tree) for rank, tree in enumerate(trees, before + offset))

    def _at(self, key: int) -> int:
        """Find the cell of a key; −1 if there is none."""
        at = int(self._sorted_keys.searchsorted(key))
        if at == len(self._sorted_keys) or self._sorted_keys[at] != key:
            return -1
        return int(self._by_key[at])

    def _checked(self, found: Sequence[tuple[int, int, Tree]], seed: int | None) -> list[DrawnTree]:
        """Score trees on the data and hold the values against those of their cells."""
        if not found:
            return []
        positions = np.array([cell for _, cell, _ in found])
        axes = {name: column[positions] for name, column in self.profile.axes.items()}
        lookup = from_columns(axes, len(found))
        plan = self._tools.walk.circuit.ground.plan
        scores = self._tools.scorer.values([tree for *_, tree in found])
        terms = {name: plan.over_axes(term) for name, term in plan.question.metrics}
        values = {
            name: [plain(value) for value in fractions(evaluate(term, lookup))]
            for name, term in terms.items()
        }
        for name, scored in scores.items():
            for (_, _, tree), here, cell in zip(found, scored, values[name], strict=True):
                if here != cell:
                    raise RuntimeError(
                        f"the tree {to_string(tree)} has {name} = {here} on the data, but its "
                        f"cell says {cell}."
                    )
        shown = {
            name: values[name]
            if terms.get(name) == term
            else [plain(value) for value in fractions(evaluate(term, lookup))]
            for name, term in self.profile.metrics.items()
        }
        return [
            DrawnTree(
                tree,
                rank,
                rank - self.before(cell),
                self.before(cell + 1) - self.before(cell),
                {name: column[at] for name, column in shown.items()},
                self.data,
                seed,
            )
            for at, (rank, cell, tree) in enumerate(found)
        ]
