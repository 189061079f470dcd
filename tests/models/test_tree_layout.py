"""Nothing in a drawn tree overlaps, however long the names and however lopsided the tree."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.algebra import trees
from adtc.algebra.trees import Leaf, Split, Tree
from adtc.models.layout import (
    BAR,
    LINE,
    PAD,
    Box,
    Layout,
    lay_out,
    shortened,
    text_width,
    wrapped,
)
from adtc.models.nodes import nodes_of

NAMES = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=80),
    st.sampled_from(
        ["age <= 37.5", "W" * 60, "the_name_of_a_feature_" * 3, "a b c d " * 12, "円" * 40]
    ),
)


@st.composite
def drawings(draw: st.DrawFn) -> tuple[Layout, Tree]:
    features, labels = (draw(st.lists(NAMES, min_size=2, max_size=6)) for _ in range(2))
    tree = draw(_trees(len(features), len(labels), draw(st.integers(0, 5))))
    count = st.lists(st.sampled_from([0, 1, 10**12]), min_size=len(labels), max_size=len(labels))
    counts = [draw(count) for _ in range(trees.size(tree))]
    return lay_out(nodes_of(tree, counts), features, labels), tree


def _trees(features: int, labels: int, depth: int) -> st.SearchStrategy[Tree]:
    leaf = st.integers(0, labels - 1).map(Leaf)
    if depth == 0:
        return leaf
    below = _trees(features, labels, depth - 1)
    return st.builds(Split, st.integers(0, features - 1), below, below) | leaf


def overlap(a: Box, b: Box) -> bool:
    beside = a.x + a.width < b.x or b.x + b.width < a.x
    return not (beside or a.y + a.height < b.y or b.y + b.height < a.y)


@given(drawings())
@settings(max_examples=60)
def test_no_two_boxes_overlap_and_all_lie_on_the_sheet(drawn):
    plan, tree = drawn
    assert len(plan.boxes) == 2 * trees.size(tree) - 1
    for a, b in itertools.combinations(plan.boxes, 2):
        assert not overlap(a, b)
    for box in plan.boxes:
        assert box.x > 0
        assert box.x + box.width < plan.width
        assert box.y > 0
        assert box.y + box.height < plan.height
        assert all(text_width(line) <= box.width for line in box.lines)


@given(drawings())
@settings(max_examples=60)
def test_edges_run_between_levels_from_parents_midway_above_their_children(drawn):
    plan, _ = drawn
    for edge in plan.edges:
        (x1, y1), (x2, y2) = edge.bend, edge.end
        parent, child = plan.boxes[edge.parent], plan.boxes[edge.child]
        assert edge.start == (parent.middle, parent.y + parent.height)
        assert (x2, y2) == (child.middle, child.y)
        assert (x2 < x1) == (edge.answer == "yes")
        # The stem goes straight down, and no box reaches into the strip between the two levels.
        assert x1 == parent.middle
        assert y1 >= edge.start[1]
        assert all(box.y + box.height <= y1 or box.y >= y2 for box in plan.boxes)
    for yes, no in zip(plan.edges[::1], plan.edges[1::1], strict=False):
        if yes.parent == no.parent:
            assert yes.end[0] + no.end[0] == pytest.approx(2 * yes.start[0])


@given(drawings())
@settings(max_examples=40)
def test_answers_stand_apart_and_within_their_strip(drawn):
    plan, _ = drawn
    places = []
    for edge in plan.edges:
        x, y = edge.label_at
        assert edge.bend[1] < y - 11 < y < edge.end[1]
        places.append((x - 26, x - 4, y) if edge.answer == "yes" else (x + 4, x + 26, y))
    for (a1, a2, ya), (b1, b2, yb) in itertools.combinations(places, 2):
        assert a2 < b1 or b2 < a1 or abs(ya - yb) >= 11


@given(drawings())
@settings(max_examples=40)
def test_legend_entries_stand_apart(drawn):
    plan, _ = drawn
    bottom = max(box.y + box.height for box in plan.boxes)
    for a, b in itertools.combinations(plan.legend, 2):
        assert a.y != b.y or a.x + text_width(a.text) < b.x
    for entry in plan.legend:
        assert bottom < entry.y - 10
        assert entry.y < plan.height
        assert entry.x + text_width(entry.text) < plan.width


def mirrored(tree: Tree) -> Tree:
    if isinstance(tree, Leaf):
        return tree
    return Split(tree.feature, mirrored(tree.t0), mirrored(tree.t1))


@given(_trees(3, 2, 5))
@settings(max_examples=40)
def test_the_mirrored_tree_is_drawn_mirrored(tree):
    names, labels = ["a", "a longer name <= 1", "b"], ["no", "perhaps"]
    plan, other = (
        lay_out(nodes_of(t, [(1, 1)] * trees.size(t)), names, labels)
        for t in (tree, mirrored(tree))
    )
    right = max(box.x + box.width for box in plan.boxes)
    left = min(box.x for box in plan.boxes)
    turned = sorted((round(left + right - b.middle, 6), b.y, b.lines) for b in other.boxes)
    assert sorted((round(b.middle, 6), b.y, b.lines) for b in plan.boxes) == turned


def test_many_classes_are_counted_in_the_legend():
    labels = [f"class {k}" for k in range(12)]
    plan = lay_out(nodes_of(Leaf(0), [[1] * 12]), [], labels)
    assert [entry.text for entry in plan.legend] == [*labels[:8], "and 4 more classes"]


@given(NAMES, st.integers(40, 200), st.integers(1, 3))
def test_wrapped_lines_fit(text, width, most):
    lines = wrapped(text, width, most)
    assert 1 <= len(lines) <= most
    assert all(text_width(line) <= width for line in lines)


def test_a_name_that_just_fits_but_for_rounding_leaves_no_empty_line():
    lines = wrapped("\u0e5c" * 10, 126, 2)
    assert all(lines)
    assert all(text_width(line) <= 126 for line in lines)


def test_a_name_that_fits_is_kept_whole():
    name = "marital-status = Married-civ-spouse"
    assert "".join(wrapped(name, 150, 3)).replace(" ", "") == name.replace(" ", "")
    assert wrapped("education-num <= 11.5", 120, 3) == ("education-num", "<= 11.5")


@given(st.text(max_size=60), st.integers(1, 40))
def test_a_name_is_shortened_in_the_middle(text, length):
    short = shortened(text, length)
    assert len(short) <= max(length, 1)
    if len(text) > length:
        head, tail = short.split("…", 1) if "…" not in text else ("", "")
        assert text.startswith(head)
        assert text.endswith(tail)
    else:
        assert short == text


@given(drawings())
@settings(max_examples=40)
def test_boxes_are_as_high_as_their_text(drawn):
    plan, _ = drawn
    for box in plan.boxes:
        bar = BAR + PAD / 2 if box.node.feature is None else 0
        assert box.height == LINE * len(box.lines) + 2 * PAD + bar


@pytest.mark.parametrize(
    "name",
    [
        "demographic_parity_difference <= 0.5",
        "Donaudampfschifffahrtsgesellschaft = yes",
        "in-unverhaeltnismaessigkeitsverdacht",
    ],
)
def test_no_word_is_broken_inside(name):
    plan = lay_out(nodes_of(Split(0, Leaf(0), Leaf(0)), [(1,), (1,)]), [name], ["yes"])
    lines = plan.boxes[0].lines
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert all(
        line[-1] in "_-" or line == lines[-1] or name.find(f"{line} ") >= 0 for line in lines
    )
