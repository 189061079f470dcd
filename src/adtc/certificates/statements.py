"""Statements about all trees of a space, written as the document that others check.

A statement is a formula with the number of trees that satisfy it, or a tree that does, or both.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from adtc._version import __version__
from adtc.algebra.expressions import Formula
from adtc.algebra.formula import names
from adtc.algebra.trees import Leaf, Split, Tree, from_json, to_json
from adtc.certificates import verify as plain
from adtc.certificates.certificate import BY_GROUP
from adtc.certificates.formulas import count_name, definitions, expression
from adtc.certificates.proofs import Prover
from adtc.certificates.recipe import reading_of, scalar, table_of
from adtc.data import Data
from adtc.data.binarize import Feature
from adtc.data.bits import Codes, pack
from adtc.data.coding import MISSING
from adtc.data.columns import format_scalar
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.engine.score import score
from adtc.profiles.audits.rates import FEW as SHARE
from adtc.profiles.audits.rates import gap_interval, interval

CONVENTIONS = (
    "Trees are counted as they are written: two trees that predict alike are two trees.",
    "A feature occurs at most once on a path; rows that have the feature go to its yes-side.",
    "Numbers in formulas are exact: 0.1 is 1/10, and ratios are compared as fractions.",
    "A rate with an empty denominator is undefined and satisfies no comparison.",
    "N[i,j,k] counts rows of true label i, predicted label j and group k, numbered from 0 in the "
    "order of the recipe; * is any, ~i any but i.",
)
CHECK = (
    "adtc verify FILE TABLE, or python verify.py FILE TABLE, where verify.py is "
    "adtc/certificates/verify.py, which needs nothing but Python"
)
NOTICE = (
    "A certificate states facts about one table and one class of trees. It is no legal advice: "
    "whether a measure, a floor or a class is the right one is not decided here."
)
FEW = 30  # a group of fewer rows, or of a smaller share of all, is small
GAPS = ("dp", "dp_ratio", "eopp", "eodd_max")
_PAIR = 2
SHAPE = ("size", "depth", "support")  # what only trees have


@dataclass(frozen=True, slots=True)
class Statement:
    """That so many trees satisfy a formula (None: at least one), and one of them.

    Parameters
    ----------
    where
        The formula, without ``least(…)`` and ``largest(…)``.
    """

    where: Formula
    trees: int | None
    tree: Tree | None = None


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes statements about one space down, with all that others need to check them.

    Parameters
    ----------
    define
        The user's own metrics, as texts.
    """

    data: Data
    space: Space
    define: Mapping[str, str]
    monitor: Monitor | None = None

    def document(
        self,
        statements: Sequence[Statement],
        *,
        in_use: dict[str, Any] | None,
        scored: Sequence[str],
        further: Sequence[tuple[str, Data]],
        question: Mapping[str, Any],
        command: str | None,
    ) -> dict[str, Any]:
        """Put the document together; the proofs are found here.

        Parameters
        ----------
        in_use
            What is known of the decisions in use: tree or column, formula, metrics.
        scored
            Further metrics by which trees shown are scored.
        further
            Tables of held-out rows on which the first tree shown is scored.
        """
        formulas = [expression(one.where) for one in statements]
        told = [*formulas, *([in_use["where"]] if in_use else [])]
        own = definitions(self.data, self.define, *told)
        metrics = {**own, **self.metrics(scored)}
        prover = Prover(
            self.data, self.space, reading_of(self.data), dict(self.define), self.monitor
        )
        shown = next((one.tree for one in statements if one.tree is not None), None)
        document: dict[str, Any] = {
            "format": plain.FORMAT,
            "version": plain.VERSION,
            "claim": "",
            "status": "exact",
            "statements": [
                {
                    "where": formula,
                    "trees": one.trees,
                    "shown": None if one.tree is None else self.shown(one.tree, scored),
                    "proof": None
                    if one.trees is None
                    else prover.proof(
                        plain.expanded(formula, metrics, prover.reading), none=not one.trees
                    ),
                }
                for one, formula in zip(statements, formulas, strict=True)
            ],
            "in_use": in_use,
            "space": self._limits(),
            "define": own,
            "metrics": {name: x for name, x in metrics.items() if name not in own},
            "held_out": []
            if shown is None
            else [self._held_out(name, rows, shown, in_use) for name, rows in further],
            "question": {**question, "positive": self._positive()},
            "groups": self._groups(),
            "notice": NOTICE,
            "conventions": list(CONVENTIONS),
            "made": {
                "adtc": __version__,
                "python": platform.python_version(),
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "command": command,
            },
            "check": CHECK,
            "table": table_of(self.data),
        }
        document["claim"] = plain.in_words(document)
        return document

    def _positive(self) -> Any:
        data = self.data
        return None if data.positive is None else scalar(data.labels[data.positive])

    def _groups(self) -> dict[str, Any] | None:
        """Say which column makes the groups, how many rows are of none, which groups are small."""
        data = self.data
        if not data.groups:
            return None
        names = [format_scalar(scalar(group)) for group in data.groups]
        rows = [int(data.weights[data.z == k].sum()) for k in range(len(names))]
        few = max(Fraction(FEW), SHARE * data.total)
        return {
            "column": data.sensitive,
            "unknown": dict(zip(names, rows, strict=True)).get(MISSING, 0),
            "small": [name for name, n in zip(names, rows, strict=True) if n < few],
        }

    def _limits(self) -> dict[str, Any]:
        """Write what limits the space; what does not is left out."""
        space = self.space
        limits = {
            "max_depth": int(space.max_depth),
            "minsup": space.min_support(self.data.total),
            "max_size": None if space.max_size is None else int(space.max_size),
            "labels": None if space.labels == "any" else space.labels,
            "trivial_splits": None if space.trivial_splits else False,
            "min_leaf_share": str(space.leaf_share) if space.leaf_share else None,
            "banned": list(space.banned) or None,
        }
        return {name: x for name, x in limits.items() if x is not None}

    def metrics(self, scored: Sequence[str]) -> dict[str, Any]:
        """Define all metrics by which decisions are scored, those of every group among them."""
        by_group = group_metrics(self.data)
        return {**definitions(self.data, self.define, ["", *scored]), **by_group}

    def shown(self, tree: Tree, more: Sequence[str]) -> dict[str, Any]:
        """Write a tree and its scores."""
        return {"tree": self.tree(tree), "metrics": self.scores(tree, self.data, more)}

    def tree(self, tree: Tree) -> Any:
        """Write a tree with features and labels by their names."""
        labels = [scalar(label) for label in self.data.labels]
        return to_json(tree, self.data.feature_names, labels)

    def scores(
        self, tree: Tree, data: Data, more: Sequence[str], *, shape: bool = True
    ) -> dict[str, str | None]:
        """Measure a tree: metrics by their names, then rates by group."""
        by_group = {name: plain.text_of(x) for name, x in group_metrics(data).items()}
        wanted = [*(SHAPE if shape else ()), *metric_names(data, more)]
        wanted = [name for name in dict.fromkeys(wanted) if shape or name not in SHAPE]
        found = score(tree, data, [*wanted, *by_group.values()], define=self.define)
        texts = {**{name: name for name in wanted}, **by_group}
        return {
            name: None if (x := found[text]) is None else str(Fraction(x))
            for name, text in texts.items()
        }

    def _held_out(
        self, name: str, rows: Data, tree: Tree, in_use: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Score the tree shown on rows that were not used to choose it, with intervals."""
        metrics = self.scores(tree, rows, (), shape=False)
        groups = [format_scalar(scalar(group)) for group in rows.groups]
        ends: dict[str, Any] = {}
        pairs: list[tuple[int, int]] = []
        for group in groups if rows.positive is not None else ():
            selected, of = (int(metrics[f"{x}[{group}]"] or 0) for x in ("selected", "rows"))
            ends[f"selection_rate[{group}]"] = interval(selected, of) if of else None
            pairs.append((selected, of))
        if len(pairs) == _PAIR and all(of for _, of in pairs):
            ends["dp"] = gap_interval(*pairs)
        right = rows.total - int(Fraction(metrics["error"] or 0))
        known = sum(int(metrics.get(f"rows[{group}]") or 0) for group in groups)
        return {
            "name": name,
            "rows": rows.total,
            "no_group": rows.total - known if ends else 0,
            "sha256": plain.digest(reading_of(rows).rows())["sha256"],
            "metrics": metrics,
            "intervals": {"acc": interval(right, rows.total) if rows.total else None, **ends},
            "in_use": self._in_use(rows, in_use),
        }

    def _in_use(self, rows: Data, in_use: dict[str, Any] | None) -> dict[str, str | None] | None:
        """Score the decisions in use on other rows, if these have them."""
        if in_use is None:
            return None
        if "tree" in in_use:
            tree = from_json(in_use["tree"], rows.feature_names, rows.labels)
            return self.scores(tree, rows, (), shape=False)
        decided = dict(rows.references).get(in_use["column"])
        if decided is None:
            return None
        return self.scores(*decisions_as_tree(rows, decided), (), shape=False)


def decisions_as_tree(data: Data, decisions: Codes) -> tuple[Tree, Data]:
    """Write decisions as a tree over features of their own, one per label."""
    marks = np.array([decisions == label for label in range(len(data.labels))])
    features = tuple(Feature(f"decision {i}", f"decision {i}") for i in range(len(marks)))
    tree: Tree = Leaf(len(marks) - 1)
    for label in range(len(marks) - 2, -1, -1):
        tree = Split(label, Leaf(label), tree)
    return tree, replace(data, features=features, bits=pack(marks))


def metric_names(data: Data, more: Sequence[str]) -> list[str]:
    """List the metrics by which decisions are scored on a table."""
    gaps = GAPS if data.groups and data.positive is not None else ()
    return list(dict.fromkeys(["error", "acc", *gaps, *map(count_name, more)]))


def group_metrics(data: Data) -> dict[str, Any]:
    """Define rows, selected rows, selection rates and impact ratios of every group."""
    if data.positive is None:
        return {}
    found: dict[str, Any] = {}
    counts = [(f"N[*,*,{k}]", f"N[*,{data.positive},{k}]") for k in range(len(data.groups))]
    rates = [["/", selected, rows] for rows, selected in counts]
    full = [rate for k, rate in enumerate(rates) if data.weights[data.z == k].sum()]
    for name, (rows, selected), rate in zip(data.groups, counts, rates, strict=True):
        parts = (rows, selected, rate, ["/", rate, ["max", *full]])
        title = format_scalar(scalar(name))
        found |= {f"{x}[{title}]": part for x, part in zip(BY_GROUP, parts, strict=True)}
    return found


def mentioned(*formulas: Formula) -> list[str]:
    """List the metrics that formulas mention."""
    return [name for formula in formulas for name in sorted(names(formula) - {"N"})]
