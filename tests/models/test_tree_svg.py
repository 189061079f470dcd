"""The SVG is well formed, complete, harmless and styled by classes."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models_samples import COLUMNS, full_tree, table, trees_on

from adtc.algebra.trees import Leaf, Split
from adtc.data import Data
from adtc.models import TreeModel

DATA = table()
SVG = "{http://www.w3.org/2000/svg}"


def parsed(model: TreeModel, **options) -> ET.Element:
    return ET.fromstring(model.to_svg(**options))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if name in e.get("class", "").split()]


@given(tree=trees_on(DATA))
@settings(max_examples=40)
def test_every_node_and_edge_is_drawn_with_its_name_and_number(tree):
    model = TreeModel(tree, DATA)
    root = parsed(model)
    nodes = {int(e.get("data-node")): e for e in of_class(root, "adtc-node")}
    assert sorted(nodes) == [node.number for node in model.nodes]
    for node in model.nodes:
        drawn = nodes[node.number]
        hint = drawn.find(f"{SVG}title").text
        words = [text.text for text in drawn.iter(f"{SVG}text")]
        if node.leaf is None:
            name = model.feature_names[node.feature]
            assert drawn.get("data-feature") == name
            assert " ".join(words) == name
        else:
            name = model.label_texts[node.label]
            assert drawn.get("data-leaf") == str(node.leaf)
            assert words[0] == drawn.get("data-label") == name
        assert hint.startswith(f"{name}: {node.support:,} row")
    edges = {(e.get("data-from"), e.get("data-to")) for e in of_class(root, "adtc-edge")}
    assert edges == {(str(n.parent), str(n.number)) for n in model.nodes if n.number}


def test_it_says_what_it_is():
    root = parsed(TreeModel(Split(0, Leaf(0), Leaf(1)), DATA))
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "Decision tree on people: 2 leaves, depth 1"
    assert root[1].tag == f"{SVG}desc"
    assert root[1].text.startswith("if age <= 24 then maybe")


def test_the_bar_of_a_leaf_shows_its_class_shares():
    model = TreeModel(Split(0, Leaf(0), Leaf(1)), DATA)
    leaf = next(e for e in of_class(parsed(model), "adtc-leaf") if e.get("data-leaf") == "1")
    bars = [e for e in leaf.iter(f"{SVG}rect") if "adtc-share" in e.get("class")]
    widths = [float(e.get("width")) for e in bars]
    shares = [float(share) for share in model.leaves[1].shares]
    assert [w / sum(widths) for w in widths] == pytest.approx([s for s in shares if s], abs=1e-3)


def test_edges_are_as_wide_as_their_share_of_the_rows():
    model = TreeModel(Split(0, Leaf(0), Leaf(1)), DATA)
    yes, no = (
        float(e.find(f"{SVG}polyline").get("stroke-width"))
        for e in of_class(parsed(model), "adtc-edge")
    )
    assert (yes < no) == (model.nodes[1].support < model.nodes[2].support)


@given(st.text(min_size=1, max_size=30))
def test_any_name_is_escaped(name):
    data = Data.from_arrays([[1], [0]], [0, 1], feature_names=[name], name=name)
    root = parsed(TreeModel(Split(0, Leaf(1), Leaf(0)), data))
    assert len(of_class(root, "adtc-node")) == 3


def test_markup_in_names_stays_text():
    name = "<script>alert(\"x\")</script> & 'y'"
    data = Data.from_arrays([[1], [0]], [0, 1], feature_names=[name])
    root = parsed(TreeModel(Split(0, Leaf(1), Leaf(0)), data))
    assert not list(root.iter(f"{SVG}script"))
    assert of_class(root, "adtc-split")[0].get("data-feature") == name


def test_it_needs_nothing_from_outside():
    text = TreeModel(Split(0, Leaf(0), Leaf(1)), DATA).to_svg()
    assert re.findall(r"https?://[^\"'\s]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|<image|<script", text)


def test_highlighted_nodes_are_marked():
    model = TreeModel(full_tree(2, 3), DATA)
    walk = model.path({name: values[0] for name, values in COLUMNS.items()})
    root = parsed(model, highlight=walk.nodes)
    marked = [e for e in of_class(root, "adtc-on") if "adtc-node" in e.get("class")]
    assert sorted(int(e.get("data-node")) for e in marked) == sorted(walk.nodes)
    assert len(of_class(root, "adtc-on")) == len(walk.nodes) + len(walk.steps)


def test_notebooks_show_the_drawing():
    model = TreeModel(Leaf(0), DATA)
    assert model._repr_svg_() == model.to_svg()
    assert model.to_svg() in model._repr_html_()
