"""Every tree of a small space, listed one by one: what the engines are compared with.

Nothing here comes from adtc, and nothing is clever: trees are nested tuples, predictions are made
row by row, and counts are kept in dicts. A leaf is its label (an int); a split is (f, t1, t0).
"""

import ast
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import ceil

Tree = int | tuple  # a label, or (feature, t1, t0)
Number = int | Fraction
Row = tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """Rows of 0/1 features with true labels 0, 1, …, and optionally groups, weights, references.

    Further tables have the same features, labels and groups (one more is a group that is unknown
    here) and other rows; they are ``like`` this one.
    """

    rows: tuple[Row, ...]
    y: tuple[int, ...]
    z: tuple[int, ...] | None = None
    weights: tuple[int, ...] | None = None
    references: tuple[tuple[str, tuple[int, ...]], ...] = ()
    positive: int | None = None  # two classes: always label 1
    further: "tuple[tuple[str, Table], ...]" = ()
    like: "Table | None" = None

    @property
    def n_features(self) -> int:
        return len(self.rows[0])

    @property
    def n_labels(self) -> int:
        return self.like.n_labels if self.like else max(self.y) + 1

    @property
    def n_groups(self) -> int:
        if self.like:
            return self.like.n_groups
        return 0 if self.z is None else max(self.z) + 1

    @property
    def total(self) -> int:
        return sum(self.weight(r) for r in range(len(self.rows)))

    def weight(self, r: int) -> int:
        return 1 if self.weights is None else self.weights[r]

    def group(self, r: int) -> int:
        return 0 if self.z is None else self.z[r]


@dataclass(frozen=True)
class Space:
    """Which trees there are; the conventions are those of the design, spelled out below."""

    max_depth: int
    minsup: int = 1
    relminsup: Fraction | None = None
    max_size: int | None = None
    labels: str = "any"  # or "majority": ties go to the smallest label
    trivial_splits: bool = True
    min_leaf_share: Fraction = Fraction(0)  # of a leaf's weight, for its label

    def support(self, table: Table) -> int:
        """Tell the weight that each leaf must hold at least: the larger of the two limits."""
        return max(self.minsup, ceil((self.relminsup or 0) * table.total))


# --- trees ------------------------------------------------------------------------------------


def is_leaf(tree: Tree) -> bool:
    return isinstance(tree, int)


def size(tree: Tree) -> int:
    """Count the leaves.

    >>> size((0, 1, (1, 0, 0)))
    3
    """
    return 1 if is_leaf(tree) else size(tree[1]) + size(tree[2])


def depth(tree: Tree) -> int:
    """Count the tests on the longest path.

    >>> depth(1), depth((0, 1, (1, 0, 0)))
    (0, 2)
    """
    return 0 if is_leaf(tree) else 1 + max(depth(tree[1]), depth(tree[2]))


def features(tree: Tree) -> frozenset[int]:
    """Collect the tested features."""
    if is_leaf(tree):
        return frozenset()
    return frozenset({tree[0]}) | features(tree[1]) | features(tree[2])


def predict(tree: Tree, row: Row) -> int:
    """Follow one row to its leaf; child 1 is for value 1.

    >>> predict((0, 1, 0), (1,)), predict((0, 1, 0), (0,))
    (1, 0)
    """
    while not is_leaf(tree):
        f, t1, t0 = tree
        tree = t1 if row[f] == 1 else t0
    return tree


def leaf_weights(tree: Tree, table: Table, rows: list[int] | None = None) -> list[int]:
    """Tell how much weight arrives at each leaf, from child 1 to child 0."""
    rows = list(range(len(table.rows))) if rows is None else rows
    if is_leaf(tree):
        return [sum(table.weight(r) for r in rows)]
    f, t1, t0 = tree
    yes = [r for r in rows if table.rows[r][f] == 1]
    no = [r for r in rows if table.rows[r][f] == 0]
    return leaf_weights(t1, table, yes) + leaf_weights(t0, table, no)


def has_trivial_split(tree: Tree) -> bool:
    """Tell whether some split has two leaves of equal label as its children."""
    if is_leaf(tree):
        return False
    _, t1, t0 = tree
    if is_leaf(t1) and is_leaf(t0):
        return t1 == t0
    return has_trivial_split(t1) or has_trivial_split(t0)


def majority(table: Table, rows: list[int]) -> int:
    """Find the label that holds most weight; ties, also of an empty leaf: the smallest label."""
    weight = {label: 0 for label in range(table.n_labels)}
    for r in rows:
        weight[table.y[r]] += table.weight(r)
    return min(weight, key=lambda label: (-weight[label], label))


def allowed_labels(table: Table, space: Space, rows: list[int]) -> list[int]:
    """List the labels that a leaf with these rows may carry."""
    whole = sum(table.weight(r) for r in rows)
    if whole < space.support(table):
        return []
    labels = range(table.n_labels) if space.labels == "any" else [majority(table, rows)]
    own = [sum(table.weight(r) for r in rows if table.y[r] == label) for label in labels]
    return [
        label
        for label, weight in zip(labels, own, strict=True)
        if weight >= space.min_leaf_share * whole
    ]


def _grow(
    table: Table, space: Space, max_depth: int, rows: list[int], unused: list[int]
) -> Iterator[Tree]:
    yield from allowed_labels(table, space, rows)
    if max_depth == 0:
        return
    for f in unused:
        rest = [g for g in unused if g != f]
        yes = [r for r in rows if table.rows[r][f] == 1]
        no = [r for r in rows if table.rows[r][f] == 0]
        for t1, t0 in product(
            _grow(table, space, max_depth - 1, yes, rest),
            _grow(table, space, max_depth - 1, no, rest),
        ):
            yield (f, t1, t0)


@lru_cache(maxsize=64)
def list_trees(table: Table, space: Space) -> tuple[Tree, ...]:
    """List every tree of the space.

    >>> table = Table(rows=((1,), (0,)), y=(1, 0))
    >>> list_trees(table, Space(max_depth=1))
    (0, 1, (0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))
    """
    every = _grow(
        table,
        space,
        space.max_depth,
        list(range(len(table.rows))),
        list(range(table.n_features)),
    )
    return tuple(
        t
        for t in every
        if (space.max_size is None or size(t) <= space.max_size)
        and (space.trivial_splits or not has_trivial_split(t))
    )


# --- metrics ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """All that the metrics of one tree are computed from."""

    size: int
    depth: int
    support: int
    n: frozenset[tuple[tuple[int, int, int], int]]  # {((true, predicted, group), weight)}
    agreement: tuple[int, ...]  # one per reference column
    further: "tuple[Measured, ...]" = ()  # the same tree on further tables


def measure(tree: Tree, table: Table) -> Measured:
    """Predict row by row and count."""
    n: Counter[tuple[int, int, int]] = Counter()
    agreement = [0] * len(table.references)
    for r, row in enumerate(table.rows):
        label = predict(tree, row)
        n[table.y[r], label, table.group(r)] += table.weight(r)
        for c, (_, reference) in enumerate(table.references):
            if reference[r] == label:
                agreement[c] += table.weight(r)
    return Measured(
        size(tree),
        depth(tree),
        min(leaf_weights(tree, table)),
        frozenset((cell, weight) for cell, weight in n.items() if weight),
        tuple(agreement),
        tuple(measure(tree, other) for _, other in table.further),
    )


def ratio(a: int | Fraction | None, b: int | Fraction | None) -> Fraction | None:
    """Divide; undefined when a part is undefined or the denominator is 0."""
    return None if a is None or b is None or b == 0 else Fraction(a) / Fraction(b)


def gap(rates: list[Fraction | None]) -> Fraction | None:
    """Tell largest minus smallest; undefined when one of them is."""
    return None if None in rates else max(rates) - min(rates)


def difference(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a - b


class Confusion:
    """n[i][j][k] of one tree, and the rates of the positive label, for a group or for all."""

    def __init__(self, measured: Measured, table: Table) -> None:
        self.n = dict(measured.n)
        self.labels = range(table.n_labels)
        self.groups = range(max(table.n_groups, 1))
        self.positive = 1 if table.n_labels == 2 else table.positive

    def count(
        self,
        true: Callable[[int], bool] = lambda i: True,
        predicted: Callable[[int], bool] = lambda j: True,
        group: int | None = None,
    ) -> int:
        return sum(
            weight
            for (i, j, k), weight in self.n.items()
            if true(i) and predicted(j) and (group is None or group == k)
        )

    def is_positive(self, label: int) -> bool:
        return label == self.positive

    def is_negative(self, label: int) -> bool:
        return label != self.positive

    def selection_rate(self, k: int | None = None) -> Fraction | None:
        return ratio(self.count(predicted=self.is_positive, group=k), self.count(group=k))

    def tpr(self, k: int | None = None) -> Fraction | None:
        return ratio(
            self.count(self.is_positive, self.is_positive, k), self.count(self.is_positive, group=k)
        )

    def fpr(self, k: int | None = None) -> Fraction | None:
        return ratio(
            self.count(self.is_negative, self.is_positive, k), self.count(self.is_negative, group=k)
        )

    def fnr(self) -> Fraction | None:
        return ratio(self.count(self.is_positive, self.is_negative), self.count(self.is_positive))

    def tnr(self) -> Fraction | None:
        return ratio(self.count(self.is_negative, self.is_negative), self.count(self.is_negative))

    def precision(self) -> Fraction | None:
        return ratio(
            self.count(self.is_positive, self.is_positive), self.count(predicted=self.is_positive)
        )

    def f1(self) -> Fraction | None:
        hits = self.count(self.is_positive, self.is_positive)
        false_alarms = self.count(self.is_negative, self.is_positive)
        misses = self.count(self.is_positive, self.is_negative)
        return ratio(2 * hits, 2 * hits + false_alarms + misses)

    def acc(self) -> Fraction | None:
        right = sum(weight for (i, j, _), weight in self.n.items() if i == j)
        return ratio(right, self.count())

    def error(self) -> int:
        return sum(weight for (i, j, _), weight in self.n.items() if i != j)

    def bacc(self) -> Fraction | None:
        recalls = [
            ratio(
                self.count(lambda i, c=c: i == c, lambda j, c=c: j == c),
                self.count(lambda i, c=c: i == c),
            )
            for c in self.labels
        ]
        return None if None in recalls else sum(recalls) / len(recalls)

    def dp(self) -> Fraction | None:
        return gap([self.selection_rate(k) for k in self.groups])

    def dp_signed(self) -> Fraction | None:
        return difference(self.selection_rate(1), self.selection_rate(0))

    def dp_ratio(self) -> Fraction | None:
        rates = [self.selection_rate(k) for k in self.groups]
        return None if None in rates else ratio(min(rates), max(rates))

    def eopp(self) -> Fraction | None:
        return gap([self.tpr(k) for k in self.groups])

    def eopp_signed(self) -> Fraction | None:
        return difference(self.tpr(1), self.tpr(0))

    def _odds(self) -> list[Fraction] | None:
        gaps = [self.eopp(), gap([self.fpr(k) for k in self.groups])]
        return None if None in gaps else gaps

    def eodd_sum(self) -> Fraction | None:
        gaps = self._odds()
        return None if gaps is None else sum(gaps)

    def eodd_max(self) -> Fraction | None:
        gaps = self._odds()
        return None if gaps is None else max(gaps)

    def eodd_mean(self) -> Fraction | None:
        gaps = self._odds()
        return None if gaps is None else sum(gaps) / 2


COUNTS = ["size", "depth", "support", "error", "N"]
RATES = ["acc", "bacc"]
POSITIVE_RATES = ["precision", "recall", "tpr", "fpr", "tnr", "fnr", "f1", "selection_rate"]
GAPS = ["dp", "eopp", "eodd_sum", "eodd_max", "eodd_mean", "dp_ratio"]
SIGNED_GAPS = ["dp_signed", "eopp_signed"]


def metric_names(table: Table) -> list[str]:
    """Name the metrics that mean something on this table."""
    labels = range(table.n_labels)
    names = COUNTS + RATES
    names = names + [f"N{i}{j}" for i in labels for j in labels]
    names = names + [f"agreement[{column}]" for column, _ in table.references]
    names = names + [f"N{i}{j}{k}" for i in labels for j in labels for k in range(table.n_groups)]
    if table.n_labels == 2 or table.positive is not None:
        names = names + POSITIVE_RATES
        if table.n_groups >= 1:
            names = names + GAPS
        if table.n_groups == 2:
            names = names + SIGNED_GAPS
    of_rows = [name for name in names if name not in ("size", "depth", "support")]
    return names + [f"{other}.{name}" for other, _ in table.further for name in of_rows]


def metric(name: str, measured: Measured, table: Table) -> Number | None:
    """Compute one metric from its definition; None when it is undefined."""
    for (other, rows), there in zip(table.further, measured.further, strict=True):
        if name.startswith(f"{other}."):
            return metric(name[len(other) + 1 :], there, rows)
    if name in ("size", "depth", "support"):
        return getattr(measured, name)
    if name == "N":
        return table.total
    if name.startswith("agreement["):
        columns = [column for column, _ in table.references]
        return measured.agreement[columns.index(name[len("agreement[") : -1])]
    if name[0] == "N":
        cell = tuple(int(digit) for digit in name[1:])
        return sum(weight for at, weight in measured.n if at[: len(cell)] == cell)
    if name == "recall":
        name = "tpr"
    return getattr(Confusion(measured, table), name)()


class Metrics(Mapping[str, Number | None]):
    """The metrics of one tree by name, each computed when it is first asked for."""

    def __init__(self, measured: Measured, table: Table) -> None:
        self._measured, self._table = measured, table
        self._known: dict[str, Number | None] = {}

    def __getitem__(self, name: str) -> Number | None:
        if name not in self._known:
            self._known[name] = metric(name, self._measured, self._table)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(metric_names(self._table))

    def __len__(self) -> int:
        return len(metric_names(self._table))


# --- questions --------------------------------------------------------------------------------

Constraint = Callable[[Mapping[str, Number | None]], bool | None]  # Kleene: None is "undefined"


COMPARE = {
    ast.LtE: operator.le,
    ast.Lt: operator.lt,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: ratio,
}
FUNCTIONS = {"abs": abs, "min": min, "max": max}


def constraint(text: str) -> Constraint:
    """Read a formula with Python's own parser, whose precedences are the same.

    >>> constraint("not 1 <= size < 3")({"size": 2})
    False
    >>> print(constraint("f1 > 0.1")({"f1": None}))
    None
    """
    text = re.sub(r"(?<![<>!=])=(?!=)", "==", text)
    node = ast.parse(text, mode="eval").body
    return lambda metrics: _truth(node, text, metrics)


def term(text: str) -> Callable[[Mapping[str, Number | None]], Number | None]:
    """Read a term, such as "error + 10 * size", in the same way."""
    node = ast.parse(text, mode="eval").body
    return lambda metrics: _value(node, text, metrics)


def _truth(node: ast.expr, text: str, metrics: Mapping[str, Number | None]) -> bool | None:
    if isinstance(node, ast.Compare):
        values = [_value(part, text, metrics) for part in (node.left, *node.comparators)]
        links = [
            None if a is None or b is None else COMPARE[type(op)](a, b)
            for a, op, b in zip(values[:-1], node.ops, values[1:], strict=True)
        ]
        return False if False in links else None if None in links else True
    if isinstance(node, ast.UnaryOp):
        truth = _truth(node.operand, text, metrics)
        return None if truth is None else not truth
    parts = [_truth(part, text, metrics) for part in node.values]
    decisive = isinstance(node.op, ast.Or)  # one true part decides "or", one false part "and"
    return decisive if decisive in parts else None if None in parts else not decisive


def _value(node: ast.expr, text: str, metrics: Mapping[str, Number | None]) -> Number | None:
    if isinstance(node, ast.Constant):
        return Fraction(ast.get_source_segment(text, node))  # as written: 0.1 is 1/10
    if isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
        return metrics[ast.get_source_segment(text, node)]
    if isinstance(node, ast.Call):
        values = [_value(part, text, metrics) for part in node.args]
        return None if None in values else FUNCTIONS[node.func.id](*values)
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, text, metrics)
        return None if value is None else -value
    values = [_value(part, text, metrics) for part in (node.left, node.right)]
    return None if None in values else ARITHMETIC[type(node.op)](*values)


@lru_cache(maxsize=64)
def _measure_all(table: Table, space: Space) -> tuple[tuple[Tree, Metrics], ...]:
    shared: dict[Measured, Metrics] = {}  # equal measurements have equal metrics
    result = []
    for tree in list_trees(table, space):
        measured = measure(tree, table)
        if measured not in shared:
            shared[measured] = Metrics(measured, table)
        result.append((tree, shared[measured]))
    return tuple(result)


def good_trees(
    table: Table, space: Space, where: Constraint | None = None
) -> list[tuple[Tree, Metrics]]:
    """List the trees that satisfy ``where``, with their metrics; undefined does not satisfy."""
    every = _measure_all(table, space)
    return [(t, m) for t, m in every if where is None or where(m) is True]


def model_tensor(
    table: Table, space: Space, names: list[str], where: Constraint | None = None
) -> dict[tuple[Number | None, ...], int]:
    """Count the good trees by the values of the named metrics."""
    cells = Counter(tuple(m[name] for name in names) for _, m in good_trees(table, space, where))
    return dict(cells)


def best(
    table: Table, space: Space, name: str, choose: Callable, where: Constraint | None = None
) -> Number | None:
    """Find the least (``choose=min``) or greatest defined value; None when there is none."""
    values = [m[name] for _, m in good_trees(table, space, where)]
    return choose((v for v in values if v is not None), default=None)


def number_of_trees(n_labels: int, max_depth: int, n_features: int) -> int:
    """Compute c(Δ, n) = |L| + n·c(Δ-1, n-1)², c(0, n) = |L|: the whole space without minsup.

    >>> number_of_trees(2, 2, 3)
    302
    """
    if max_depth == 0 or n_features == 0:
        return n_labels
    return n_labels + n_features * number_of_trees(n_labels, max_depth - 1, n_features - 1) ** 2
