"""What tests about people share: questions with good trees, listed by the oracle as well."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from hypothesis import strategies as st

import adtc
import oracle
from strategies import problems
from test_agreement import data_of, space_of


@dataclass(frozen=True)
class Sample:
    """A table, a space and a formula that the oracle and adtc can both read."""

    table: oracle.Table
    space: oracle.Space
    where: str

    @cached_property
    def trees(self) -> list[oracle.Tree]:
        """List the good trees."""
        found = oracle.good_trees(self.table, self.space, oracle.constraint(self.where))
        return [tree for tree, _ in found]

    @cached_property
    def data(self) -> adtc.Data:
        return data_of(self.table)

    def profile(self, *metrics: str) -> adtc.Profile:
        names = list(metrics) or ["error", "size"]
        return adtc.profile(self.data, space_of(self.space), names, where=self.where)

    def votes(self) -> list[list[int]]:
        """Count the votes tree by tree and row by row."""
        counts = [[0] * self.table.n_labels for _ in self.table.rows]
        for tree in self.trees:
            for r, row in enumerate(self.table.rows):
                counts[r][oracle.predict(tree, row)] += 1
        return counts

    def mean(self, values, rows=None):
        """Average over people; None without any."""
        rows = range(len(values)) if rows is None else rows
        people = sum(self.table.weight(r) for r in rows)
        return sum(self.table.weight(r) * values[r] for r in rows) / people if people else None

    def by_group(self, values):
        """Average within each group, in the order of the groups."""
        members = [
            [r for r in range(len(values)) if self.table.group(r) == k]
            for k in range(self.table.n_groups)
        ]
        return [self.mean(values, rows) for rows in members]


@st.composite
def samples(draw: st.DrawFn, **options: object) -> Sample:
    """Draw questions whose good sets range from none to all."""
    table, space = draw(problems(shares=True, max_rows=9, max_features=4, **options))
    total = table.total
    limit = draw(st.sampled_from([total // 2, total // 3, total, total // 4, 0, -1]))
    extra = draw(st.sampled_from(["", "", " and size <= 3", " and acc >= 0.4"]))
    return Sample(table, space, f"error <= {limit}{extra}")


def baselines(table: oracle.Table) -> st.SearchStrategy[list[int]]:
    """Draw one prediction per row."""
    labels = st.integers(0, table.n_labels - 1)
    return st.lists(labels, min_size=len(table.rows), max_size=len(table.rows))


def labels_of(data: adtc.Data, codes: list[int]) -> np.ndarray:
    return np.array([data.labels[code] for code in codes])
