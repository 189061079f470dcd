"""Which tests trees may and must have: what a space says about features, bound to a table.

Bans and the first test decide which splits exist. Required columns and the most variables are
conditions on all tests of a tree together: trees are counted by the classes of features they test,
as fine as these conditions can tell apart.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from adtc.algebra.semiring import Semiring
from adtc.algebra.trees import Leaf, Tree, features
from adtc.data import Data
from adtc.errors import QueryError, unknown

R = TypeVar("R")
Marked = dict[int, R]  # values by the marks of the features tested


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a space says about tests, as numbers of features.

    Parameters
    ----------
    banned
        Features that no tree tests.
    root
        Features that the first test is one of; then no tree is a single leaf. None: no condition.
    required
        Of each of these sets a tree tests a feature.
    columns, max_variables
        The column of each feature, and how many of them a tree tests at most; None: no condition.
    """

    banned: frozenset[int] = frozenset()
    root: frozenset[int] | None = None
    required: tuple[frozenset[int], ...] = ()
    columns: tuple[int, ...] = ()
    max_variables: int | None = None

    @property
    def selective(self) -> bool:
        """Tell whether there are conditions on all tests of a tree together."""
        return bool(self.required) or self.max_variables is not None

    def admits(self, tree: Tree) -> bool:
        """Tell whether a tree keeps to everything."""
        tested = features(tree)
        if self.banned & tested or not self.admits_tests(tested):
            return False
        return self.root is None or (not isinstance(tree, Leaf) and tree.feature in self.root)

    def admits_tests(self, tested: Collection[int]) -> bool:
        """Tell whether a tree may test just these features, in whatever order."""
        if not all(any(f in wanted for f in tested) for wanted in self.required):
            return False
        return (
            self.max_variables is None
            or len({self.columns[f] for f in tested}) <= self.max_variables
        )

    def classes(self) -> tuple[list[int], list[int]]:
        """Put features together that the conditions cannot tell apart.

        Returns the class of each feature, and one feature of each class.
        """
        kinds: dict[tuple[object, ...], int] = {}
        members: list[int] = []
        of = []
        for f, column in enumerate(self.columns):
            kind = (
                column if self.max_variables is not None else None,
                *(f in wanted for wanted in self.required),
            )
            if kind not in kinds:
                kinds[kind] = len(members)
                members.append(f)
            of.append(kinds[kind])
        return of, members

    def admits_classes(self, mask: int, members: Sequence[int]) -> bool:
        """Tell whether a tree may test just the classes whose bits are set."""
        return self.admits_tests([f for c, f in enumerate(members) if mask >> c & 1])

    def marked(self, semiring: Semiring[R]) -> Semiring[Marked[R]]:
        """Make the semiring of values by the classes of features that were tested."""
        of, _ = self.classes()

        def add(a: Marked[R], b: Marked[R]) -> Marked[R]:
            total = dict(a)
            for mask, value in b.items():
                total[mask] = semiring.add(total[mask], value) if mask in total else value
            return {mask: value for mask, value in total.items() if value != semiring.zero}

        def join(a: Marked[R], b: Marked[R], f: int | None) -> Marked[R]:
            total: Marked[R] = {}
            for m, x in a.items():
                for n, y in b.items():
                    value = semiring.mul(x, y) if f is None else semiring.node(f, x, y)
                    total = add(total, {m | n | (0 if f is None else 1 << of[f]): value})
            return total

        return Semiring(
            f"{semiring.name} by tests",
            zero={},
            one={0: semiring.one},
            add=add,
            mul=lambda a, b: join(a, b, None),
            split=lambda f, a, b: join(a, b, f),
        )

    def admitted(self, value: Marked[R], semiring: Semiring[R]) -> R:
        """Add up what the conditions admit."""
        _, members = self.classes()
        return semiring.total(
            part for mask, part in value.items() if self.admits_classes(mask, members)
        )


ANYTHING = Allowed()


def allowed_tests(space: Any, data: Data) -> Allowed:
    """Find the features and columns that a space names."""
    banned = named_features("banned", space.banned, data)
    place = {c: i for i, c in enumerate(dict.fromkeys(f.column for f in data.features))}
    columns = tuple(place[f.column] for f in data.features)
    usable = len({c for f, c in enumerate(columns) if f not in banned})
    most = space.max_variables
    return Allowed(
        banned,
        named_features("root", space.root, data) if space.root else None,
        tuple(named_features("required", [name], data) for name in space.required),
        columns,
        None if most is None or most >= usable else int(most),
    )


def named_features(option: str, names: Iterable[str], data: Data) -> frozenset[int]:
    """Find the features that are named, or made of a column that is."""
    found: set[int] = set()
    for name in names:
        those = [f for f, one in enumerate(data.features) if name in (one.name, one.column)]
        if not those:
            columns = dict.fromkeys(feature.column for feature in data.features)
            sentence = unknown("column or feature", name, {*columns, *data.feature_names})
            raise QueryError(f"{option}: {sentence}")
        found.update(those)
    return frozenset(found)


def tests_in_words(conventions: Mapping[str, Any]) -> list[str]:
    """Say what the conventions of a record hold about tests.

    Examples
    --------
    >>> tests_in_words({"banned": "age, sex", "max_variables": 2})
    ['no test of age, sex', 'at most 2 variables in a tree']
    """
    templates = {
        "banned": "no test of {}",
        "root": "first a test of {}",
        "required": "each of {} tested",
        "max_variables": "at most {} variables in a tree",
    }
    return [
        text.format(conventions[name])
        for name, text in templates.items()
        if conventions.get(name) is not None
    ]
