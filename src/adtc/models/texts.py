"""Numbers as people read them, and a tree as indented text and as Graphviz DOT."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from adtc.models.nodes import Node
from adtc.models.small import NOTHING, Hidden
from adtc.text import percent


def rows_text(n: int) -> str:
    """Write a number of rows.

    Examples
    --------
    >>> rows_text(1204), rows_text(1)
    ('1,204 rows', '1 row')
    """
    return f"{n:,} row" if n == 1 else f"{n:,} rows"


def node_rows(node: Node, hidden: Hidden = NOTHING) -> str:
    """Write the rows that reach a node, or what stands for them."""
    return " ".join(hidden.get(node.number, (rows_text(node.support),)))


def leaf_evidence(node: Node, hidden: Hidden = NOTHING) -> str:
    """Write a leaf's rows and the share of them that have its label, or what stands for both."""
    assert node.label is not None
    if node.number in hidden:
        return f"({node_rows(node, hidden)})"
    return evidence_text(node.support, node.shares[node.label])


def evidence_text(support: int, share: Fraction) -> str:
    """Write the rows that a rule covers and the share of them that have its label."""
    return f"({rows_text(support)}, {percent(share, 0)})" if support else "(0 rows)"


def to_text(
    nodes: Sequence[Node],
    features: Sequence[str],
    labels: Sequence[str],
    hidden: Hidden = NOTHING,
) -> str:
    """Write the tree as indented lines, child 1 ("yes") first."""
    texts = [
        f"{labels[node.label or 0]}   {leaf_evidence(node, hidden)}"
        if node.feature is None
        else f"{features[node.feature]}   ({node_rows(node, hidden)})"
        for node in nodes
    ]
    return "\n".join(_lines(nodes, texts, 0, ("", "")))


def _lines(
    nodes: Sequence[Node], texts: Sequence[str], number: int, before: tuple[str, str]
) -> Iterator[str]:
    """Indent a subtree; ``before`` stands before its first line and before all others."""
    first, indent = before
    yield first + texts[number]
    if nodes[number].feature is not None:
        yes, no = children(nodes, number)
        yield from _lines(nodes, texts, yes, (f"{indent}├─ yes: ", f"{indent}│  "))
        yield from _lines(nodes, texts, no, (f"{indent}└─ no: ", f"{indent}   "))


def children(nodes: Sequence[Node], number: int) -> tuple[int, int]:
    """Find the two nodes below a split, child 1 first."""
    yes, no = (node.number for node in nodes if node.parent == number)
    return yes, no


def to_dot(
    nodes: Sequence[Node],
    features: Sequence[str],
    labels: Sequence[str],
    hidden: Hidden = NOTHING,
) -> str:
    """Write a Graphviz DOT digraph with supports; nodes are numbered in preorder."""
    lines = []
    for node in nodes:
        if node.feature is None:
            text = f"{labels[node.label or 0]}\n{leaf_evidence(node, hidden)}"
        else:
            text = f"{features[node.feature]}\n{node_rows(node, hidden)}"
        shape = "ellipse" if node.feature is None else "box"
        lines.append(f"{node.number} [label={_dot_text(text)}, shape={shape}];")
        if node.parent is not None:
            answer = "yes" if node.branch else "no"
            lines.append(f'{node.parent} -> {node.number} [label="{answer}"];')
    return "\n".join(["digraph tree {", *(f"  {line}" for line in lines), "}"])


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
