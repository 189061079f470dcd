"""The model in use, and any tree in its place, measured on the table and on held-out rows."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from adtc.algebra.formula import Formula, names
from adtc.algebra.trees import Tree
from adtc.data import Codes, Data
from adtc.data.coding import find_value
from adtc.data.columns import format_scalar
from adtc.engine.query import Definitions
from adtc.engine.score import score_decisions
from adtc.errors import QueryError, unknown
from adtc.models import TreeModel
from adtc.profiles.audits.audited import Alternative, Baseline, Kind, Measured
from adtc.profiles.audits.rates import changes, decision_counts

_USUAL = ("error", "acc", "selection_rate", "dp", "dp_ratio", "eopp", "eodd_max")
_OF_TREES = ("size", "depth", "support")
_UP = ("dp_ratio", "acc", "bacc", "f1", "precision", "recall", "tpr", "tnr", "selection_rate")
_SIGNED = {"dp_signed": "dp", "eopp_signed": "eopp"}


@dataclass(frozen=True, slots=True)
class Scales:
    """Measures decisions by what an audit asks for.

    Parameters
    ----------
    test
        Held-out rows, if there are any.
    floor
        What was asked of a tree, if anything was: its metrics are measured, too.
    """

    data: Data
    test: Data | None
    gap: str
    floor: Formula | None
    define: Definitions | None

    def check(self, decision: object, tree: object) -> None:
        """Refuse what cannot be answered, before any search."""
        if decision is not None and tree is not None:
            raise QueryError(
                "the model in use is given twice, by its decisions and as a tree: leave one out."
            )
        if decision is None and tree is None and self.floor is None:
            raise QueryError(
                "an audit needs the model in use or a floor: name the column of its decisions "
                "(decision, --decision), give it as a tree (tree, --tree), or say what a tree must "
                "reach (floor='acc >= 0.8', --floor 'acc >= 0.8')."
            )
        if not self.data.groups:
            raise QueryError(
                "an audit compares groups, but the table has no sensitive column: name one "
                "(sensitive, --sensitive)."
            )
        if self.data.positive is None:
            raise QueryError(
                f"an audit needs a positive label, and the target '{self.data.target}' has "
                f"{len(self.data.labels)} classes: name the one that people want or fear "
                f"(positive, --positive)."
            )
        if self.gap in _SIGNED:
            raise QueryError(
                f"'{self.gap}' may be negative, so less of it is not fairer: take "
                f"'{_SIGNED[self.gap]}', its size, as the gap."
            )
        if self.gap in _UP:
            raise QueryError(
                f"'{self.gap}' is no gap: less of it is not fairer. Take dp, eopp, eodd_max or "
                f"another gap, or a term such as '1 - {self.gap}'."
            )
        if self.test is not None and self.test.features != self.data.features:
            raise QueryError(
                f"the test table '{self.test.name}' has other features than '{self.data.name}': "
                f"make it with data.apply(frame)."
            )

    def decided(self, decision: str | npt.ArrayLike) -> Baseline:
        """Measure decisions: a reference column, or a label for every row."""
        if not isinstance(decision, str):
            predictions = self._labels(decision)
            return Baseline("decision", "", predictions, self.measure(predictions, self.data))
        columns = dict(self.data.references)
        if decision not in columns:
            known = sorted(columns)
            hint = unknown("column of decisions", decision, known) if known else (
                f"the table has no column of decisions '{decision}'."
            )  # fmt: skip
            raise QueryError(
                f"{hint} Read the table with references=['{decision}'] (--decision {decision})."
            )
        spelled = dict(self.data.binarizer.spelled).get(decision, ())
        labels = [format_scalar(label) for label in self.data.labels]
        test = None if self.test is None else dict(self.test.references).get(decision)
        return Baseline(
            "decision",
            decision,
            columns[decision],
            self.measure(columns[decision], self.data),
            test=None if test is None else self.measure(test, self.test),
            spelled=tuple((value, labels[at]) for value, at in spelled),
        )

    def in_table(self, tree: Tree | TreeModel) -> Tree:
        """Take the tree of a model, if it is over the table's features."""
        if not isinstance(tree, TreeModel):
            return tree
        if tree.binarizer.features != self.data.features:
            raise QueryError(
                f"the tree was made for other features than those of '{self.data.name}': give its "
                f"decisions instead, decision=tree.predict(frame)."
            )
        return tree.tree

    def of_tree(self, kind: Kind, tree: Tree) -> Baseline:
        """Measure a tree as the model in use."""
        model = TreeModel(tree, self.data)
        predictions = predictions_of(model, self.data)
        return Baseline(
            kind, "", predictions, self._measured(model, self.data), model, self._on_test(model)
        )

    def alternative(self, tree: Tree, role: str, before: Codes) -> Alternative:
        """Measure a tree that could take the place of the model in use."""
        model = TreeModel(tree, self.data)
        predictions = predictions_of(model, self.data)
        return Alternative(
            model,
            (role,),
            predictions,
            self._measured(model, self.data),
            tuple(changes(self.data, before, predictions)),
            self._on_test(model),
        )

    def _on_test(self, model: TreeModel) -> Measured | None:
        return None if self.test is None else self._measured(model, self.test)

    def _measured(self, model: TreeModel, table: Data) -> Measured:
        found = self.measure(predictions_of(model, table), table)
        return replace(found, metrics={**found.metrics, "size": model.size})

    def measure(self, predictions: Codes, table: Data | None) -> Measured:
        """Compute metrics and counts by group of decisions about a table."""
        assert table is not None
        mentioned = names(self.floor) if self.floor is not None else frozenset()
        here = [name for name in sorted(mentioned - {"N", *_OF_TREES}) if "." not in name]
        wanted = dict.fromkeys((*_USUAL, self.gap, *here))
        metrics = score_decisions(predictions, table, list(wanted), define=self.define)
        single = bool((table.weights == 1).all())  # else rows are no sample of people
        return Measured(
            metrics, tuple(decision_counts(table, predictions)), table is self.test and single
        )

    def _labels(self, given: npt.ArrayLike) -> Codes:
        values = np.asarray(given)
        if values.shape != (self.data.n_rows,):
            raise QueryError(
                f"decision has the shape {values.shape}, expected a label for each of the "
                f"{self.data.n_rows:,} rows."
            )
        distinct, codes = np.unique(values, return_inverse=True)
        places = [find_value("label", one, self.data.labels) for one in distinct.tolist()]
        return np.array(places, np.int32)[codes]


def predictions_of(model: TreeModel, table: Data) -> Codes:
    """Give each row the position of the label that a tree predicts."""
    at_leaves = np.array([leaf.label for leaf in model.leaves], np.int32)
    return at_leaves[model.apply(table)]
