"""Trees as flat arrays and back."""

import copy
import gc
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adtc import _core
from adtc.algebra.forests import Forest
from adtc.algebra.trees import Leaf, Split, size

TREES = st.recursive(
    st.builds(Leaf, st.integers(0, 3)),
    lambda below: st.builds(Split, st.integers(0, 300), below, below),
    max_leaves=12,
)


@given(st.lists(TREES, max_size=6))
def test_trees_come_back(trees):
    forest = Forest.of(trees)
    back = forest.trees()
    assert back == trees
    assert len(forest) == len(trees)
    assert forest.sizes.tolist() == [size(tree) for tree in trees]
    # made by the core, and yet like any other
    assert [hash(tree) for tree in back] == [hash(tree) for tree in trees]
    assert pickle.loads(pickle.dumps(back)) == copy.deepcopy(back) == trees
    assert [repr(tree) for tree in back] == [repr(tree) for tree in trees]


def test_nothing_is_left_of_trees_that_nobody_needs():
    forest = Forest.of([Split(1, Split(0, Leaf(1), Leaf(0)), Leaf(1))] * 50)
    leaf = Leaf(1)
    leaves = [Leaf(0), leaf]
    before = sys.getrefcount(leaf)
    for _ in range(20):
        _core.build_trees(forest.starts, forest.codes, leaves, Split)
    gc.collect()
    assert sys.getrefcount(leaf) == before


@pytest.mark.parametrize("codes", [[], [0, -1], [-1, -1], [0, -1, -3]])
def test_codes_that_are_no_tree_are_refused(codes):
    starts = np.array([0, len(codes)], np.int64)
    with pytest.raises(ValueError, match="do not make up trees"):
        _core.build_trees(starts, np.array(codes, np.int64), [Leaf(0), Leaf(1)], Split)
