"""The questions of `make bench-peers`, each with the peers that can answer it.

Conventions: A every label on every leaf; B majority labels; C majority labels and no split into
two leaves of equal label.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tables import DL_TABLES

Case = dict[str, Any]
ANY: Case = {"labels": "any"}
MAJORITY: Case = {"labels": "majority"}
NO_TRIVIAL: Case = {"labels": "majority", "trivial_splits": False}

SECTIONS = {
    "errors": "One best tree: fewest errors",
    "penalised": "One best tree: errors and a penalty per leaf",
    "f1": "One best tree: largest F1",
    "fair": "One best tree: fewest errors under demographic parity",
    "near": "Trees near the best",
    "space": "All trees",
    "votes": "How the trees near the best vote on each row",
    "reliance": "How far the trees near the best rely on each variable",
}


@dataclass(frozen=True, slots=True)
class Peer:
    """Another program: its package, what must be installed with it, and in which environment."""

    package: str
    beside: tuple[str, ...] = ()
    environment: str = ""  # a folder inside the peers' environment; "" is that one itself


PEERS = {
    "streed": Peer("pystreed"),
    "dl85": Peer("pydl8.5"),
    "gosdt": Peer("gosdt", ("scikit-learn<1.8",), "gosdt"),  # it fails on later ones
    "praxis": Peer("tree-praxis"),
    "arborenum": Peer("arborenum"),
    "treefarms": Peer("treefarms"),
    "sortd": Peer("pysortd", (), "sortd"),
}


def cases() -> Iterable[tuple[Case, tuple[str, ...]]]:
    """Yield the questions, the quick ones of each kind first."""
    for depth in (4, 5):
        for table in DL_TABLES:
            # DL8.5 needs minutes at depth 5
            peers = ("streed", "dl85") if depth == 4 else ("streed",)
            yield _errors(table, depth), peers
    yield _errors("compas-binary", 4), ("streed", "dl85")
    yield _errors("compas-binary", 5), ("streed", "dl85")
    yield _errors("adult", 4, 1629), ("streed",)
    yield _errors("adult", 5, 1629), ("streed",)
    for table, leaf, depth in (
        ("monk-1", 3, 4),
        ("compas-binned", 35, 4),
        ("compas-binary", 36, 3),
        ("compas-binary", 36, 4),
        ("tic-tac-toe", 10, 4),
    ):
        yield {"task": "penalised", "table": table, "depth": depth, "leaf": leaf}, ("gosdt",)
    yield {"task": "f1", "table": "compas-binned", "depth": 3}, ("streed",)
    yield {"task": "f1", "table": "compas-binary", "depth": 3}, ("streed",)
    for depth in (2, 3):
        yield {"task": "fair", "table": "german-fair", "depth": depth, "gap": "0.01"}, ("streed",)
    yield from _near()
    for table, depth in (
        ("monk-1", 5),
        ("compas-binned", 5),
        ("compas-binary", 4),
        ("anneal", 3),
        ("german-credit", 3),
    ):
        yield {"task": "space", "table": table, "depth": depth} | ANY, ("praxis", "arborenum")
    for depth, share in ((4, "0.05"), (5, "0.1")):
        asked = {"table": "compas-binned", "depth": depth, "leaf": 69, "share": share} | ANY
        yield {"task": "votes"} | asked, ("praxis",)
    asked = {"table": "compas-binned", "depth": 4, "leaf": 69, "share": "0.05"} | ANY
    yield {"task": "reliance"} | asked, ("arborenum",)


def _errors(table: str, depth: int, minsup: int = 1) -> Case:
    return {"task": "errors", "table": table, "depth": depth, "minsup": minsup}


def _near() -> Iterable[tuple[Case, tuple[str, ...]]]:
    for table, leaf, depth, share in (
        ("monk-1", 3, 2, "0.5"),
        ("monk-1", 3, 3, "0.5"),
        ("compas-binned", 69, 4, "0.05"),
        ("compas-binned", 69, 5, "0.05"),
        ("compas-binned", 69, 5, "0.1"),
        ("bar-7", 19, 4, "0.05"),
        ("bar-7", 19, 5, "0.1"),
        ("compas-binary", 72, 4, "0.05"),
        ("compas-binary", 72, 5, "0.05"),
    ):
        case = {"task": "near", "table": table, "depth": depth, "leaf": leaf, "share": share}
        yield case | ANY, ("praxis", "arborenum")
        yield case | MAJORITY, ("praxis", "treefarms", "sortd")
        yield case | NO_TRIVIAL, ("treefarms",)
        # where errors and leaves trade at par TreeFARMS loses trees: a thousandth parts them
        yield case | NO_TRIVIAL | {"leaf": f"{leaf}.001"}, ("treefarms",)


def label(case: Case) -> str:
    """Describe a case in a few words."""
    minsup = f", leaves of {case['minsup']:,} rows" if case.get("minsup", 1) > 1 else ""
    leaf = f", {case['leaf']} per leaf" if "leaf" in case else ""
    share = f", {case['share']}" if "share" in case else ""
    gap = f", dp <= {case['gap']}" if "gap" in case else ""
    return f"{convention(case)}{case['table']}, depth {case['depth']}{minsup}{leaf}{share}{gap}"


def convention(case: Case) -> str:
    """Name what is counted, where that must be said."""
    if case["task"] in ("errors", "penalised", "f1", "fair"):
        return ""
    if not case.get("trivial_splits", True):
        return "C: "
    return "B: " if case["labels"] == "majority" else "A: "
