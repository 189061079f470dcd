"""Decision trees as values, and the ways to write and read them (Sec. 2.2).

A tree is ``Leaf(label)`` or ``Split(feature, t1, t0)``, child 1 before child 0; features and labels
are indices, and names are given only where text is made or read. Names left out are ``f0, f1, ...``
for features and ``0, 1, ...`` for labels. Nothing here knows a table or a hypothesis space.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from adtc.algebra.tree_names import (
    Label,
    Token,
    feature_lookup,
    feature_text,
    label_lookup,
    label_text,
    nth,
    quoted,
    tokens,
)
from adtc.errors import QueryError

Json: TypeAlias = "dict[str, Label | Json]"
Codes: TypeAlias = npt.NDArray[np.int32]

# Read trees stay far below Python's recursion limit, which every function here relies on.
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf that predicts ``label`` (an index)."""

    label: int


@dataclass(frozen=True, slots=True)
class Split:
    """The tree ⟨f, t1, t0⟩: rows with feature 1 go to ``t1``, rows with feature 0 to ``t0``."""

    feature: int
    t1: "Tree"
    t0: "Tree"


Tree: TypeAlias = Leaf | Split


class Path(NamedTuple):
    """The way to one leaf: (feature, value) from the root down, and the leaf's label."""

    literals: tuple[tuple[int, bool], ...]
    label: int


def size(tree: Tree) -> int:
    """Count the leaves."""
    return 1 if isinstance(tree, Leaf) else size(tree.t1) + size(tree.t0)


def depth(tree: Tree) -> int:
    """Count the tests on the longest path; a leaf has depth 0."""
    return 0 if isinstance(tree, Leaf) else 1 + max(depth(tree.t1), depth(tree.t0))


def features(tree: Tree) -> frozenset[int]:
    """Collect the features that the tree tests."""
    if isinstance(tree, Leaf):
        return frozenset()
    return frozenset((tree.feature,)) | features(tree.t1) | features(tree.t0)


def paths(tree: Tree) -> Iterator[Path]:
    """Yield the way to each leaf, child 1 before child 0.

    Examples
    --------
    >>> [path.label for path in paths(Split(3, Leaf(1), Leaf(0)))]
    [1, 0]
    """
    if isinstance(tree, Leaf):
        yield Path((), tree.label)
        return
    for child, value in ((tree.t1, True), (tree.t0, False)):
        for path in paths(child):
            yield Path(((tree.feature, value), *path.literals), path.label)


def leaf_of(tree: Tree, X: npt.ArrayLike) -> Codes:
    """Find the leaf that each row reaches, numbered in the order of `paths`.

    Parameters
    ----------
    X
        Table of 0/1 values, shape (rows, features).
    """
    table = np.asarray(X)
    if table.ndim != 2:  # noqa: PLR2004 - rows and features
        raise QueryError(
            f"a tree is applied to a table of shape (rows, features), but the array has"
            f" {table.ndim} dimension(s); use X.reshape(1, -1) for one row."
        )
    columns = {feature: _column(table, feature) for feature in features(tree)}
    leaves = np.empty(len(table), dtype=np.int32)
    for number, path in enumerate(paths(tree)):
        reached = np.ones(len(table), dtype=np.bool_)
        for feature, value in path.literals:
            reached &= columns[feature] if value else ~columns[feature]
        leaves[reached] = number
    return leaves


def predict(tree: Tree, X: npt.ArrayLike) -> Codes:
    """Predict the label index of each row.

    Parameters
    ----------
    X
        Table of 0/1 values, shape (rows, features).

    Examples
    --------
    >>> predict(Split(1, Leaf(1), Leaf(0)), [[0, 1], [1, 0]]).tolist()
    [1, 0]
    """
    labels = np.array([path.label for path in paths(tree)], dtype=np.int32)
    return labels[leaf_of(tree, X)]


def to_string(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Label] | None = None,
) -> str:
    """Write the string notation ⟨f, t1, t0⟩.

    A name stands as it is when it consists of words separated by single spaces and holds none of
    ``⟨ ⟩ < > , "``; every other name is written as a JSON string, in double quotes.

    Examples
    --------
    >>> tree = Split(0, Leaf(1), Split(1, Leaf(0), Leaf(1)))
    >>> to_string(tree)
    '⟨f0, 1, ⟨f1, 0, 1⟩⟩'
    >>> print(to_string(tree, ["age <= 37.5", "sex = Male"], ["no", "yes"]))
    ⟨"age <= 37.5", yes, ⟨sex = Male, no, yes⟩⟩
    """
    if isinstance(tree, Leaf):
        return quoted(label_text(tree.label, labels))
    name = quoted(feature_text(tree.feature, feature_names))
    children = (to_string(child, feature_names, labels) for child in (tree.t1, tree.t0))
    return f"⟨{name}, {', '.join(children)}⟩"


def parse_tree(
    text: str,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Label] | None = None,
) -> Tree:
    """Read the string notation; ``<f, t1, t0>`` in plain ASCII is read too.

    Examples
    --------
    >>> parse_tree('<"age <= 37.5", yes, no>', ["age <= 37.5"], ["no", "yes"])
    Split(feature=0, t1=Leaf(label=1), t0=Leaf(label=0))
    """
    reader = _TreeReader(tokens(text), feature_lookup(feature_names), label_lookup(labels))
    tree = reader.tree(0)
    reader.take("end of text")
    return tree


def rules(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Label] | None = None,
) -> list[str]:
    """Write one if/then rule per leaf, in the order of `paths`.

    Examples
    --------
    >>> rules(Split(0, Leaf(1), Leaf(0)), ["sex = Male"], ["no", "yes"])
    ['if sex = Male then yes', 'if not (sex = Male) then no']
    """
    return [_rule(path, feature_names, labels) for path in paths(tree)]


def to_json(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Label] | None = None,
) -> Json:
    """Write plain dictionaries that the ``json`` module can store.

    Examples
    --------
    >>> to_json(Split(0, Leaf(1), Leaf(0)), ["age <= 37.5"], ["no", "yes"])
    {'feature': 'age <= 37.5', 'yes': {'label': 'yes'}, 'no': {'label': 'no'}}
    """
    if isinstance(tree, Leaf):
        return {"label": tree.label if labels is None else nth("label", tree.label, labels)}
    return {
        "feature": feature_text(tree.feature, feature_names),
        "yes": to_json(tree.t1, feature_names, labels),
        "no": to_json(tree.t0, feature_names, labels),
    }


def from_json(
    value: object,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Label] | None = None,
) -> Tree:
    """Read what `to_json` wrote, and refuse anything else."""
    return _from_json(
        value, feature_lookup(feature_names), label_lookup(labels), where="tree", level=0
    )


def to_dot(
    tree: Tree,
    feature_names: Sequence[str] | None = None,
    labels: Sequence[Label] | None = None,
) -> str:
    """Write a Graphviz DOT digraph; nodes are numbered in preorder, child 1 first.

    Examples
    --------
    >>> print(to_dot(Split(0, Leaf(1), Leaf(0))))
    digraph tree {
      0 [label="f0", shape=box];
      0 -> 1 [label="yes"];
      1 [label="1", shape=ellipse];
      0 -> 2 [label="no"];
      2 [label="0", shape=ellipse];
    }
    """
    lines = _dot_lines(tree, 0, feature_names, labels)
    return "\n".join(["digraph tree {", *(f"  {line}" for line in lines), "}"])


def _column(table: npt.NDArray[np.generic], feature: int) -> npt.NDArray[np.bool_]:
    """Check one 0/1 column and return it as truth values."""
    if not 0 <= feature < table.shape[1]:
        raise QueryError(
            f"the tree tests feature {feature}, but the table has {table.shape[1]} feature(s);"
            " apply it to a table with the features it was made for."
        )
    column = table[:, feature]
    ones = np.asarray(column == 1)
    if not np.all(ones | (column == 0)):
        raise QueryError(f"feature {feature} holds values other than 0 and 1; binarize it first.")
    return ones


class _TreeReader:
    """Recursive descent over the tokens: tree = name | ⟨ name , tree , tree ⟩."""

    def __init__(
        self,
        tokens: Iterator[Token],
        feature: Callable[[str], int],
        label: Callable[[str], int],
    ) -> None:
        self.tokens, self.feature, self.label = tokens, feature, label
        self.next = next(tokens)

    def tree(self, level: int) -> Tree:
        if self.next.kind == "name":
            return Leaf(self.label(self.take("name").text))
        self.take("⟨", "a label or '⟨'")
        if level == _DEEPEST:
            raise QueryError(_too_deep())
        feature = self.feature(self.take("name", "a feature").text)
        self.take(",", "','")
        t1 = self.tree(level + 1)
        self.take(",", "','")
        t0 = self.tree(level + 1)
        self.take("⟩", "'⟩'")
        return Split(feature, t1, t0)

    def take(self, kind: str, expected: str = "") -> Token:
        token = self.next
        if token.kind != kind:
            raise QueryError(
                f"cannot read the tree at character {token.at}: expected {expected or kind}, found"
                f' {token.text}; names that hold < > , or " go into double quotes.'
            )
        self.next = next(self.tokens, token)
        return token


def _too_deep() -> str:
    return f"the tree is more than {_DEEPEST} tests deep; give a tree of at most that depth."


def _rule(path: Path, names: Sequence[str] | None, labels: Sequence[Label] | None) -> str:
    label = label_text(path.label, labels)
    if not path.literals:
        return f"always {label}"
    tests = (_test(feature_text(f, names), value) for f, value in path.literals)
    return f"if {' and '.join(tests)} then {label}"


def _test(name: str, value: bool) -> str:
    if value:
        return name
    return f"not ({name})" if " " in name else f"not {name}"


def _from_json(
    value: object,
    feature: Callable[[str], int],
    label: Callable[[str], int],
    where: str,
    level: int,
) -> Tree:
    if level > _DEEPEST:
        raise QueryError(_too_deep())
    match value:
        case {"label": str() | int() | float() as name, **rest} if not rest:
            return Leaf(label(str(name)))
        case {"feature": str() as name, "yes": t1, "no": t0, **rest} if not rest:
            return Split(
                feature(name),
                _from_json(t1, feature, label, f"{where}.yes", level + 1),
                _from_json(t0, feature, label, f"{where}.no", level + 1),
            )
    raise QueryError(
        f"{where} is no tree: expected {{'label': ...}} or {{'feature': ..., 'yes': ..., 'no':"
        f" ...}}, found {_shortened(value)}."
    )


def _shortened(value: object) -> str:
    keys = sorted(map(str, value)) if isinstance(value, dict) else None
    return f"the keys {keys}" if keys is not None else repr(value)[:60]


def _dot_lines(
    tree: Tree, number: int, names: Sequence[str] | None, labels: Sequence[Label] | None
) -> list[str]:
    if isinstance(tree, Leaf):
        return [f"{number} [label={_dot_text(label_text(tree.label, labels))}, shape=ellipse];"]
    first, second = number + 1, number + 2 * size(tree.t1)
    return [
        f"{number} [label={_dot_text(feature_text(tree.feature, names))}, shape=box];",
        f'{number} -> {first} [label="yes"];',
        *_dot_lines(tree.t1, first, names, labels),
        f'{number} -> {second} [label="no"];',
        *_dot_lines(tree.t0, second, names, labels),
    ]


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
