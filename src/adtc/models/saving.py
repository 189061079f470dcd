"""What a saved tree must look like, checked before anything is made of it."""

import json
from collections.abc import Mapping
from typing import Any

from adtc.algebra import trees
from adtc.algebra.trees import Tree
from adtc.errors import DataError, QueryError
from adtc.models.nodes import Node, nodes_of

FORMAT = "adtc tree"
VERSION = 1


def checked_json(saved: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Read JSON text and check that it is a tree of a version that can be read."""
    try:
        values = json.loads(saved) if isinstance(saved, str) else saved
    except json.JSONDecodeError as error:
        raise DataError(f"the saved tree is no JSON: {error}.") from None
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise DataError("this is no saved tree; a tree is saved with TreeModel.to_json.")
    if values.get("version") != VERSION:
        raise DataError(
            f"the tree was saved in version {values.get('version')} of its format, but this adtc "
            f"reads version {VERSION}; use the adtc that saved it, or a newer one."
        )
    return values


def with_counts(tree: Tree, counts: Any, n_labels: int) -> tuple[Node, ...]:
    """Put saved counts back on the nodes, and check that they add up."""
    saved = [tuple(int(n) for n in row) for row in counts]
    blank = nodes_of(tree, [(0,) * n_labels] * trees.size(tree))
    if len(saved) == len(blank) and all(len(row) == n_labels and min(row) >= 0 for row in saved):
        at_leaves = [row for node, row in zip(blank, saved, strict=True) if node.leaf is not None]
        nodes = nodes_of(tree, at_leaves)
        if [node.counts for node in nodes] == saved:
            return nodes
    raise QueryError("the counts of its nodes do not belong to its tree.")
