"""Tables and random trees for the tests of models."""

from hypothesis import strategies as st

from adtc.algebra.trees import Leaf, Split, Tree
from adtc.data import Data

COLUMNS = {
    "age": [18, 25, 31, 38, 44, 52, 60, 67, 23, 35, None, 41],
    "pay": [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 1.0, 0.5, 6.0, 7.0],
    "job": ["a", "b", "c", "a", "b", None, "a", "c", "c", "b", "a", "d"],
    "owner": [0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1],
    "weight": [1, 2, 1, 1, 3, 1, 1, 0, 1, 2, 1, 1],
    "y": ["no", "yes", "no", "no", "maybe", "yes", "no", "yes", "yes", "no", "maybe", "yes"],
}


def table(**options) -> Data:
    """Make the table of all kinds of features: cuts, categories, 0/1, missing values, weights."""
    cuts = {"age": [24, 31, 44, 55], "pay": [2.5, 4]}
    options = {"target": "y", "weights": "weight", "cuts": cuts, "name": "people", **options}
    return Data.from_frame(COLUMNS, **options)


def trees_on(data: Data, depth: int = 4) -> st.SearchStrategy[Tree]:
    """Draw trees for a table in which a feature occurs once on a path."""
    return _trees(tuple(range(data.n_features)), len(data.labels), depth)


@st.composite
def _trees(draw: st.DrawFn, unused: tuple[int, ...], n_labels: int, depth: int) -> Tree:
    if depth == 0 or not unused or draw(st.integers(0, 4)) == 0:
        return Leaf(draw(st.integers(0, n_labels - 1)))
    feature = draw(st.sampled_from(unused))
    rest = tuple(f for f in unused if f != feature)
    ones, zeros = (draw(_trees(rest, n_labels, depth - 1)) for _ in range(2))
    return Split(feature, ones, zeros)


def full_tree(depth: int, n_labels: int, first: int = 0) -> Tree:
    """Make the complete tree that tests another feature at every split."""
    if depth == 0:
        return Leaf(first % n_labels)
    half = 2 ** (depth - 1)
    return Split(
        first,
        full_tree(depth - 1, n_labels, first + 1),
        full_tree(depth - 1, n_labels, first + half),
    )
