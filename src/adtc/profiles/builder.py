"""A tree built by hand among the good trees: after each step, how many of them go on like it.

Places of a partial tree have addresses: "" is the root, "1" the side where its test holds, "10" the
other side of the next test, and so on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula
from adtc.algebra.trees import Leaf, Tree
from adtc.algebra.uniform import uniform_below
from adtc.data.bits import unpack
from adtc.engine.exact.columns import Ratios, ascending_rows
from adtc.engine.exact.values import Value
from adtc.engine.partial import LAST, Fork, Order, Partial, places, replaced
from adtc.engine.score import as_integer
from adtc.engine.signed import SignedBeginnings
from adtc.errors import QueryError, unknown
from adtc.models.texts import rows_text
from adtc.profiles.drawing import seeded
from adtc.profiles.numbered import DrawnTree, NumberedTrees
from adtc.profiles.profile import Profile
from adtc.profiles.writing import aligned, approximate, grouped, html_table

_SHOWN = 8  # ways to go on that are printed


@dataclass(frozen=True, slots=True)
class Way:
    """A way to go on at an open place.

    Parameters
    ----------
    name
        The feature or label.
    number
        Its number in the table.
    trees
        The good trees that have it there.
    best
        The best value among them of the metric asked for; None if none was, or if it is undefined
        on all of them.
    """

    name: str
    number: int
    trees: int
    best: Value = None


@dataclass(frozen=True, slots=True)
class Choices:
    """All ways to go on at an open place, those of most trees first.

    Parameters
    ----------
    address
        The place.
    rows
        How many rows of the table reach it.
    """

    address: str
    rows: int
    features: tuple[Way, ...]
    labels: tuple[Way, ...]

    def __str__(self) -> str:
        leaves = [replace(way, name=f"leaf {way.name}") for way in self.labels]
        ways = [*self.features, *leaves]
        rows = [["", "trees"], *([way.name, grouped(way.trees)] for way in ways)]
        if any(way.best is not None for way in ways):
            bests = ["best", *(approximate(way.best) for way in ways)]
            rows = [[*row, best] for row, best in zip(rows, bests, strict=True)]
        return aligned(rows)


@dataclass(frozen=True, slots=True, eq=False)  # one per metric
class _Order:
    """The cells of a profile in the order of a metric, the best first.

    Parameters
    ----------
    cells
        Those where it is defined, in order.
    places
        Per cell its place among them, or ``LAST``.
    """

    column: Ratios
    cells: npt.NDArray[np.intp]
    places: Order

    @classmethod
    def by(cls, column: Ratios, *, largest_first: bool) -> "_Order":
        """Order the cells by a column."""
        cells = ascending_rows(column)[:: -1 if largest_first else 1]
        places = np.full(len(column.top), LAST)
        places[cells] = np.arange(len(cells))
        return cls(column, cells, places)

    def value(self, place: int) -> Value:
        """Return the value at a place."""
        if place == LAST:
            return None
        at = self.cells[place]
        value: Value = as_integer(Fraction(int(self.column.top[at]), int(self.column.bottom[at])))
        return value


class Builder:
    """A partial tree, and the good trees that begin like it.

    Parameters
    ----------
    profile
        The good trees; it must have its circuit.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> space = adtc.Space(max_depth=2, relminsup=0.2)
    >>> builder = adtc.profile(data, space, ["error"], where="error <= 298").builder()
    >>> builder.count
    5
    >>> print(builder.split("job = unskilled resident"))
    job = unskilled resident   (1,000 rows, 1 tree)
    ├─ yes: ?   (200 rows)
    └─ no: ?   (800 rows)
    >>> print(builder.leaf("good").choices())
                          trees
    checking_status = <0      1
    >>> builder.undo().undo().best(minimize="error")
    273
    """

    def __init__(self, profile: Profile) -> None:
        source = profile.need_source("building a tree")
        assert profile.keys is not None
        self.profile, self.data, self.space = profile, source.data, source.space
        self._beginnings = SignedBeginnings.of(source.circuit, profile.keys)
        self._question = source.circuit.prepared.plan.question
        self._history: list[Partial] = [None]
        self._choices: dict[tuple[str, _Order | None], Choices] = {}
        self._orders: dict[tuple[str, bool], _Order] = {}

    @property
    def tree(self) -> Partial:
        """The partial tree: `Leaf`, `Fork`, or None where it is open."""
        return self._history[-1]

    @property
    def open(self) -> tuple[str, ...]:
        """The addresses of the open places, from left to right."""
        return tuple(address for address, part in places(self.tree) if part is None)

    @property
    def count(self) -> int:
        """Count the good trees that begin like this."""
        return self._beginnings.count(self.tree)

    def choices(
        self,
        address: str | None = None,
        *,
        minimize: str | None = None,
        maximize: str | None = None,
    ) -> Choices:
        """Count the good trees for every way to go on at an open place, the first by default.

        Parameters
        ----------
        minimize, maximize
            A metric of the profile, or a term over them: each way then tells the best value that
            its trees reach.
        """
        address = self._place(address)
        order = None if minimize is maximize is None else self._order(minimize, maximize)
        if (address, order) not in self._choices:
            tree, beginnings, names = self.tree, self._beginnings, self.data.feature_names
            splits, leaves = beginnings.splits(tree, address), beginnings.leaves(tree, address)
            best_splits, best_leaves = {}, {}
            if order is not None:
                best_splits = beginnings.first_splits(tree, address, order.places)
                best_leaves = beginnings.first_leaves(tree, address, order.places)
            self._choices[address, order] = Choices(
                address,
                int(self._rows(address) @ self.data.weights),
                _ways({f: str(names[f]) for f in splits}, splits, best_splits, order),
                _ways({c: str(self.data.labels[c]) for c in leaves}, leaves, best_leaves, order),
            )
        return self._choices[address, order]

    def split(self, feature: str | int, address: str | None = None) -> "Builder":
        """Fix a test at an open place, the first by default; return the builder itself.

        Parameters
        ----------
        feature
            Its name, such as ``age <= 30``, or its number.
        """
        address = self._place(address)
        f = self._feature(feature)
        self._check_split(f, address)
        return self._do(address, Fork(f, None, None))

    def leaf(self, label: Any, address: str | None = None) -> "Builder":
        """Fix a leaf at an open place, the first by default; return the builder itself.

        Parameters
        ----------
        label
            The class, as the table has it or as text.
        """
        address = self._place(address)
        known = {str(name): code for code, name in enumerate(self.data.labels)}
        if str(label) not in known:
            raise QueryError(unknown("label", label, known))
        return self._do(address, Leaf(known[str(label)]))

    def undo(self) -> "Builder":
        """Take the last step back."""
        if len(self._history) == 1:
            raise QueryError("there is no step to undo: the tree is as it was at the beginning.")
        self._history.pop()
        self._choices.clear()
        return self

    def good(self, where: str | Formula | None = None) -> Profile:
        """Return the good trees that begin like this as a profile, without their circuit."""
        trees = self._beginnings.cells(self.tree)
        there = np.flatnonzero(trees.any(axis=1))
        chosen = self.profile.take(there)
        found = Profile(chosen.axes, trees[there], chosen.metrics, chosen.record, chosen.keys)
        return found.where(where)

    def best(self, *, minimize: str | None = None, maximize: str | None = None) -> Value:
        """Return the best value of a metric among the good trees that begin like this.

        None if there is no such tree on which it is defined.
        """
        order = self._order(minimize, maximize)
        return order.value(self._beginnings.first(self.tree, order.places))

    def complete(self, *, seed: int | None = None) -> DrawnTree:
        """Draw one of the good trees that begin like this, each with the same probability."""
        seed, rng = seeded(seed)
        tree = self._completed(rng)
        numbered = NumberedTrees.of(self.profile)
        return numbered.trees([numbered.rank(tree)], seed)[0]

    def __str__(self) -> str:
        return "\n".join(self._lines("", "", "", grouped(self.count)))

    def __repr__(self) -> str:
        return f"<Builder: {self.count:,} trees, {len(self.open)} open places>"

    def _repr_html_(self) -> str:
        rows = [["", "trees"]]
        if self.open:
            choices = self.choices()
            ways = [*choices.features, *choices.labels]
            rows += [[way.name, grouped(way.trees)] for way in ways[:_SHOWN]]
        where = f"at the open place {self.open[0]!r}" if self.open else "nothing is open"
        return f"<pre>{escape(str(self))}</pre>" + html_table(rows, f"How to go on: {where}")

    def _order(self, minimize: str | None, maximize: str | None) -> _Order:
        """Order the cells by a metric, the best first."""
        if (minimize is None) == (maximize is None):
            raise QueryError("name what is best: either minimize=... or maximize=..., not both.")
        text, largest_first = (minimize, False) if minimize is not None else (maximize, True)
        assert text is not None
        if (text, largest_first) not in self._orders:
            order = _Order.by(self.profile.column(text), largest_first=largest_first)
            self._orders[text, largest_first] = order
        return self._orders[text, largest_first]

    def _completed(self, rng: np.random.Generator) -> Tree:
        """Fill the open places one after another, each way as often as trees go it."""
        if not self.count:
            raise QueryError(
                "no good tree begins like this, so there is none to draw: undo a step."
            )
        return self._beginnings.nth(self.tree, uniform_below(rng, self.count))

    def _do(self, address: str, part: Partial) -> "Builder":
        self._history.append(replaced(self.tree, address, part))
        self._choices.clear()
        self._beginnings.forget(self.tree)
        return self

    def _place(self, address: str | None) -> str:
        """Find an open place."""
        opened = self.open
        if not opened:
            raise QueryError("nothing is open: the tree is complete; undo a step to go on.")
        if address is None:
            return opened[0]
        if address not in opened:
            listed = ", ".join(map(repr, opened))
            raise QueryError(f"no open place has the address {address!r}: open are {listed}.")
        return address

    def _feature(self, feature: str | int) -> int:
        """Find a feature by name or number."""
        names = self.data.feature_names
        if isinstance(feature, str):
            if feature not in names:
                raise QueryError(unknown("feature", feature, names))
            return names.index(feature)
        if isinstance(feature, bool) or not 0 <= int(feature) < len(names):
            raise QueryError(
                f"feature {feature!r} does not exist: features are numbered from 0 to "
                f"{len(names) - 1}."
            )
        return int(feature)

    def _check_split(self, f: int, address: str) -> None:
        """Refuse a test that no tree of the space has there."""
        name = self.data.feature_names[f]
        if len(address) >= self._question.space.max_depth:
            raise QueryError(
                f"'{name}' would be test {len(address) + 1} on its path, and the space has trees "
                f"of depth at most {self._question.space.max_depth}: make it a leaf."
            )
        if f in (feature for feature, _ in self._path(address)):
            raise QueryError(
                f"'{name}' is tested already on the path to this place: a feature occurs at most "
                f"once on a path."
            )
        rows = self._rows(address)
        ones = rows & (unpack(self.data.bits[[f]], self.data.n_rows)[0] == 1)
        least = min(int(ones @ self.data.weights), int((rows & ~ones) @ self.data.weights))
        if least < self._question.minsup:
            raise QueryError(
                f"'{name}' leaves {rows_text(least)} on one side of this place, and every leaf "
                f"needs at least {self._question.minsup:,}: choose another feature."
            )
        if f in self._question.allowed.banned:
            raise QueryError(f"no tree of this space tests '{name}': it is banned.")

    def _path(self, address: str) -> list[tuple[int, bool]]:
        """List the tests above a place, and how they turn out."""
        part, path = self.tree, []
        for turn in address:
            assert isinstance(part, Fork)
            path.append((part.feature, turn == "1"))
            part = part.t1 if turn == "1" else part.t0
        return path

    def _rows(self, address: str) -> npt.NDArray[np.bool_]:
        """Find the rows that reach a place."""
        rows = np.ones(self.data.n_rows, bool)
        for f, value in self._path(address):
            rows &= (unpack(self.data.bits[[f]], self.data.n_rows)[0] == 1) == value
        return rows

    def _lines(self, address: str, first: str, indent: str, trees: str = "") -> list[str]:
        """Write the part at an address; ``first`` stands before its first line."""
        part = dict(places(self.tree))[address]
        rows = rows_text(int(self._rows(address) @ self.data.weights))
        about = f"({rows}, {trees} tree{'s'[: trees != '1']})" if trees else f"({rows})"
        if part is None:
            return [f"{first}?   {about}"]
        if isinstance(part, Leaf):
            return [f"{first}{self.data.labels[part.label]}   {about}"]
        return [
            f"{first}{self.data.feature_names[part.feature]}   {about}",
            *self._lines(address + "1", f"{indent}├─ yes: ", f"{indent}│  "),
            *self._lines(address + "0", f"{indent}└─ no: ", f"{indent}   "),
        ]


def _ways(
    names: Mapping[int, str],
    trees: Mapping[int, int],
    firsts: Mapping[int, int],
    order: _Order | None,
) -> tuple[Way, ...]:
    """Put what is known of each way together, those of most trees first."""
    ways = [
        Way(names[number], number, n, None if order is None else order.value(firsts[number]))
        for number, n in trees.items()
    ]
    return tuple(sorted(ways, key=lambda way: (-way.trees, way.number)))
