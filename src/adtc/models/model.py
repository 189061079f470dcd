"""A decision tree with the table it was made for: predict, explain, measure, write, plot.

The tree itself is a value of `algebra.trees`; here it gets names, cuts and class counts. Which tree
to take is decided elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from adtc.algebra import trees
from adtc.algebra.tree_names import nth
from adtc.algebra.trees import Tree
from adtc.data import Binarizer, Codes, Data, Scalar
from adtc.data.bits import unpack
from adtc.data.columns import format_scalar
from adtc.data.frames import arrow_table, column
from adtc.engine.query import Definitions
from adtc.engine.score import score
from adtc.errors import DataError, QueryError, UnknownColumnError
from adtc.models import texts
from adtc.models.nodes import Node, leaf_counts, nodes_of, renumbered
from adtc.models.painting import paint
from adtc.models.rules import Rule, reading
from adtc.models.saving import FORMAT, VERSION, checked_json, with_counts
from adtc.models.small import NOTHING, Hidden, hidden_nodes
from adtc.models.svg import paint_svg
from adtc.models.walks import Step, Walk

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, init=False)
class TreeModel:
    """A tree bound to a table.

    Parameters
    ----------
    tree
        The tree; its features and labels are positions in those of ``data``.
    data
        The table: names, cuts, and the rows that the class shares at the leaves come from.

    Notes
    -----
    New tables are read through the same cuts. They need the columns that the tree tests, and no
    others. A category that the table did not have counts as ``(other)`` where that feature exists
    and matches no ``=`` feature elsewhere; a missing value fails every test but ``is missing``.

    Examples
    --------
    >>> from adtc.algebra.trees import Leaf, Split
    >>> data = Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
    >>> model = TreeModel(Split(0, Leaf(0), Leaf(1)), data)
    >>> model.predict({"age": [18, 65]}).tolist()
    ['no', 'yes']
    >>> print(model.rules()[1])
    if age > 25 then yes   (2 rows, 100 %)
    """

    tree: Tree
    name: str
    binarizer: Binarizer
    nodes: tuple[Node, ...]
    data: Data | None = field(compare=False, repr=False)

    def __init__(self, tree: Tree, data: Data) -> None:
        _check_names(tree, data.binarizer)
        shape = (trees.size(tree), len(data.labels))
        used = sorted(trees.features(tree))
        leaves = _leaves(tree, used, data.bits[used], data.n_rows)
        counts = leaf_counts(leaves, data.y, data.weights, shape)
        self._fill(tree, data.name, data.binarizer, nodes_of(tree, counts), data)

    def _fill(
        self,
        tree: Tree,
        name: str,
        binarizer: Binarizer,
        nodes: tuple[Node, ...],
        data: Data | None,
    ) -> None:
        values = {"tree": tree, "name": name, "binarizer": binarizer, "nodes": nodes, "data": data}
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def __deepcopy__(self, memo: object) -> Self:
        return self  # nothing in it changes, and the table may be large

    @property
    def labels(self) -> tuple[Scalar, ...]:
        """The classes, in the order of counts, shares and probabilities."""
        return self.binarizer.target.values

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features of the table."""
        return tuple(feature.name for feature in self.binarizer.features)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return trees.size(self.tree)

    @property
    def depth(self) -> int:
        """The number of tests on the longest path."""
        return trees.depth(self.tree)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """The names of the features that the tree tests, in the table's order."""
        return tuple(self.feature_names[f] for f in sorted(trees.features(self.tree)))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the tree looks at, in the table's order."""
        return self._used.columns

    @cached_property
    def _used(self) -> Binarizer:
        """The recipe for the tested features alone."""
        tested = sorted(trees.features(self.tree))
        return replace(self.binarizer, features=tuple(self.binarizer.features[f] for f in tested))

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """The leaves from the left, in the order of their numbers."""
        return tuple(node for node in self.nodes if node.leaf is not None)

    @cached_property
    def label_texts(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(map(format_scalar, self.labels))

    def apply(self, table: object) -> Codes:
        """Find the leaf that each row reaches, numbered from the left.

        Parameters
        ----------
        table
            Any Arrow-speaking frame (pandas, polars, ``pyarrow.Table``), a dict of columns, or a
            `Data` with the same features.
        """
        used = sorted(trees.features(self.tree))
        if isinstance(table, Data):
            if table.features != self.binarizer.features:
                raise QueryError(
                    f"the table '{table.name}' has other features than the tree's table "
                    f"'{self.name}': give the raw table, or one made with Data.apply."
                )
            return _leaves(self.tree, used, table.bits[used], table.n_rows)
        frame = arrow_table(table)
        for name in self.columns:
            if name not in frame.column_names:
                raise UnknownColumnError(
                    f"the tree tests the column '{name}', which the table does not have; "
                    f"its columns are: {', '.join(frame.column_names)}."
                )
        columns = {name: column(frame, name, self.binarizer.na) for name in self.columns}
        return _leaves(self.tree, used, self._used.bits(columns, frame.num_rows), frame.num_rows)

    def predict(self, table: object) -> npt.NDArray[Any]:
        """Predict the class of each row, in the classes' own type."""
        at_leaves = np.array([node.label for node in self.leaves])
        labels: npt.NDArray[Any] = np.array(self.labels)[at_leaves]
        return labels[self.apply(table)]

    def predict_proba(self, table: object) -> npt.NDArray[np.float64]:
        """Give each row the class shares of its leaf, on the table the tree was made for.

        Notes
        -----
        Columns follow ``labels``. A leaf that no row of that table reaches gives its own label the
        share 1.
        """
        shares = np.array([[float(s) for s in node.shares] for node in self.leaves], np.float64)
        return shares[self.apply(table)]

    def rules(self, *, small: int = 0) -> list[Rule]:
        """Write one if/then rule per leaf, from the left.

        Parameters
        ----------
        small
            Leaves of fewer rows say "fewer than …" instead of their rows and shares, and so do
            others from which theirs would follow; 0 shows all. In `to_text`, `to_dot`, `to_svg`
            and `plot` it means the same.

        Examples
        --------
        >>> from adtc.algebra.trees import Leaf, Split
        >>> data = Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
        >>> print(TreeModel(Split(0, Leaf(0), Leaf(1)), data).rules(small=2)[0])
        if age <= 25 then no   (fewer than 2 rows)
        """
        hidden = self.hidden(small)
        return [self._rule(node, hidden) for node in self.leaves]

    def hidden(self, small: int) -> Hidden:
        """Find the nodes whose rows are not shown where leaves below ``small`` rows are hidden."""
        return hidden_nodes(self.nodes, small)

    def _rule(self, leaf: Node, hidden: Hidden = NOTHING) -> Rule:
        way = self._way(leaf)
        tested = [(self.binarizer.features[n.feature or 0], value) for n, value in way]
        assert leaf.label is not None
        assert leaf.leaf is not None
        return Rule(
            leaf=leaf.leaf,
            conditions=reading(tested, self._may_miss),
            literals=tuple((feature.name, value) for feature, value in tested),
            label=self.labels[leaf.label],
            support=leaf.support,
            counts=leaf.counts,
            shares=leaf.shares,
            share=leaf.shares[leaf.label],
            hidden=texts.leaf_evidence(leaf, hidden) if leaf.number in hidden else None,
        )

    @cached_property
    def _may_miss(self) -> frozenset[str]:
        """The columns in which the table had missing values: each of them has an indicator."""
        return frozenset(f.column for f in self.binarizer.features if f.test == "missing")

    def _way(self, leaf: Node) -> list[tuple[Node, bool]]:
        """List the splits above a leaf, root first, with the outcomes that lead to it."""
        way: list[tuple[Node, bool]] = []
        node = leaf
        while node.parent is not None:
            way.append((self.nodes[node.parent], bool(node.branch)))
            node = self.nodes[node.parent]
        return way[::-1]

    def path(self, row: object) -> Walk:
        """Follow one row down the tree.

        Parameters
        ----------
        row
            A dict from column to value, a row of a pandas frame, or a frame of one row.

        Examples
        --------
        >>> from adtc.algebra.trees import Leaf, Split
        >>> data = Data.from_frame({"age": [20, 30, 40], "y": ["no", "yes", "yes"]}, target="y")
        >>> print(TreeModel(Split(0, Leaf(0), Leaf(1)), data).path({"age": 33}))
        age <= 25? no (age: 33)
        so: yes   (if age > 25 then yes   (2 rows, 100 %))
        """
        if hasattr(row, "to_dict") and not hasattr(row, "columns"):
            row = row.to_dict()
        if isinstance(row, Mapping):
            row = {key: value if _is_column(value) else [value] for key, value in row.items()}
        frame = arrow_table(row)
        if frame.num_rows != 1:
            raise DataError(f"one row was expected, but the table has {frame.num_rows}.")
        leaf = self.leaves[int(self.apply(frame)[0])]
        steps = []
        for node, outcome in self._way(leaf):
            feature = self.binarizer.features[node.feature or 0]
            value = frame[feature.column][0].as_py()
            steps.append(Step(node.number, feature.name, feature.column, value, outcome))
        return Walk(tuple(steps), leaf.number, self._rule(leaf))

    def metrics(
        self, *names: str, data: Data | None = None, define: Definitions | None = None
    ) -> dict[str, Fraction | int | None]:
        """Compute metrics of the tree exactly, on its own table or on another one.

        Parameters
        ----------
        names
            Metrics, or terms over them such as ``"error + 10 * size"``.
        data
            Another table with the same features, made with ``Data.apply``.
        """
        table = data or self.data
        if table is None:
            raise QueryError(
                "this tree was read from a file, without its table: pass the table as data=…."
            )
        if table.features != self.binarizer.features:
            raise QueryError(f"the table '{table.name}' has other features than the tree's.")
        return score(self.tree, table, names, define=define)

    def to_json(self) -> dict[str, Any]:
        """Write all but the table as plain values that the ``json`` module can store.

        Notes
        -----
        ``counts`` has the rows per class for every node in preorder, child 1 first.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "tree": trees.to_json(self.tree, self.feature_names, self.labels),
            "counts": [list(node.counts) for node in self.nodes],
            "binarizer": self.binarizer.to_json(),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any] | str, data: Data | None = None) -> Self:
        """Read what `to_json` wrote, as values or as JSON text.

        Parameters
        ----------
        data
            The table, if it is at hand; without it the model cannot compute ``metrics``.
        """
        values = checked_json(saved)
        try:
            binarizer = Binarizer.from_json(values["binarizer"])
            names = [feature.name for feature in binarizer.features]
            tree = trees.from_json(values["tree"], names, binarizer.target.values)
            nodes = with_counts(tree, values["counts"], len(binarizer.target.values))
            name = str(values["name"])
        except (KeyError, TypeError, ValueError) as error:
            reason = str(error) if isinstance(error, QueryError) else "a part is missing or broken."
            raise DataError(f"the saved tree cannot be read: {reason}") from None
        model = cls.__new__(cls)
        model._fill(tree, name, binarizer, nodes, data)
        return model

    def to_text(self, *, small: int = 0) -> str:
        """Write the tree as indented lines with supports."""
        hidden = self.hidden(small)
        return texts.to_text(self.nodes, self.feature_names, self.label_texts, hidden)

    def to_dot(self, *, small: int = 0) -> str:
        """Write the tree for Graphviz, with supports."""
        hidden = self.hidden(small)
        return texts.to_dot(self.nodes, self.feature_names, self.label_texts, hidden)

    def to_svg(self, *, highlight: Iterable[int] = (), small: int = 0) -> str:
        """Paint the tree as a self-contained SVG.

        Parameters
        ----------
        highlight
            Numbers of nodes to emphasise, such as ``model.path(row).nodes``.
        small
            Leaves of fewer rows show no numbers; see `rules`.
        """
        return paint_svg(self, frozenset(highlight), small)

    def plot(
        self, ax: "Axes | None" = None, *, highlight: Iterable[int] = (), small: int = 0
    ) -> "Axes":
        """Plot the tree with matplotlib, on ``ax`` or on a new figure of fitting size."""
        return paint(self, ax, frozenset(highlight), small)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow-x: auto">{self.to_svg()}</div>'

    def __str__(self) -> str:
        return self.to_text()


def _leaves(tree: Tree, used: list[int], bits: npt.NDArray[np.uint64], n_rows: int) -> Codes:
    """Find each row's leaf from the bits of the tested features alone."""
    place = {feature: at for at, feature in enumerate(used)}
    return trees.leaf_of(renumbered(tree, place), unpack(bits, n_rows).T)


def _check_names(tree: Tree, binarizer: Binarizer) -> None:
    """Refuse a tree that was made for another table."""
    names = [feature.name for feature in binarizer.features]
    for feature in trees.features(tree):
        nth("feature", feature, names)
    for path in trees.paths(tree):
        nth("label", path.label, binarizer.target.values)


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)
