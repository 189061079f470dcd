"""The oracle and every engine give the same answers, whatever is asked and whatever is switched on.

Values are compared, never which of several equally good trees came out: a returned tree must be
one of the listed ones and must have, by the oracle's own count, what was asked for.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra import semirings
from adtc.algebra.semiring import Semiring
from adtc.engine.monitor import Monitor
from adtc.engine.switches import Switches
from adtc.errors import QueryError
from strategies import Formula, formulas, metric_lists, problems

# How each question is asked: every engine, and every switch of an engine on and off. A new engine
# or switch is one more entry here; each entry must give the oracle's answers.
ENGINES: list[dict[str, object]] = [
    {"engine": "spec"},
    {"engine": "auto"},
    {"engine": "auto", "switches": Switches(push=False)},
    {
        "engine": "auto",
        "switches": Switches(merge_features=False, merge_rows=True, combine=False, round=False),
    },
    {
        "engine": "auto",
        "switches": Switches(dense=False, inclusion=False),
        "monitor": Monitor(threads=2),
    },
]


def data_of(table: oracle.Table) -> adtc.Data:
    """Hand the oracle's table to adtc, and its further ones."""
    data = adtc.Data.from_arrays(
        np.array(table.rows),
        np.array(table.y),
        z=None if table.z is None else np.array(table.z),
        weights=None if table.weights is None else np.array(table.weights),
        references={name: np.array(column) for name, column in table.references},
        labels=None if table.like is None else range(table.n_labels),
        positive=table.positive,
    )
    for name, other in table.further:
        data = data.with_table(name, data_of(other))
    return data


def space_of(space: oracle.Space) -> adtc.Space:
    """Say the same space to adtc."""
    return adtc.Space(
        max_depth=space.max_depth,
        minsup=space.minsup,
        relminsup=None if space.relminsup is None else float(space.relminsup),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
        min_leaf_share=space.min_leaf_share,
    )


def plain(tree) -> oracle.Tree:
    """Turn one of adtc's trees into nested tuples."""
    if hasattr(tree, "label"):
        return tree.label
    return (tree.feature, plain(tree.t1), plain(tree.t0))


@st.composite
def questions(draw, **options):
    """Draw a table, a space and a formula or None: on both sides."""
    table, space = draw(problems(shares=True, **options))
    formula = draw(st.none() | formulas(table) | formulas(table))
    note(f"where={formula and formula.text!r}")
    return Asked(table, space, formula)


class Asked:
    """One question, put to the oracle and to adtc."""

    def __init__(self, table: oracle.Table, space: oracle.Space, formula: Formula | None) -> None:
        self.table, self.space = table, space
        self.holds = None if formula is None else formula.holds
        self.where = None if formula is None else formula.text

    @cached_property
    def given(self) -> tuple[adtc.Data, adtc.Space]:
        return data_of(self.table), space_of(self.space)

    def good(self) -> list[tuple[oracle.Tree, oracle.Metrics]]:
        return oracle.good_trees(self.table, self.space, self.holds)

    def __repr__(self) -> str:
        return f"{self.table}, {self.space}, where={self.where!r}"


def total(asked: Asked, semiring, aggregation=None):
    """Ask every engine for one sum over the good trees; all must say the same."""
    answers = [
        adtc.evaluate(*asked.given, semiring, aggregation=aggregation, where=asked.where, **engine)
        for engine in ENGINES
    ]
    for engine, answer in zip(ENGINES, answers, strict=True):
        same = semiring.same if isinstance(semiring, Semiring) else lambda a, b: a == b
        assert same(answer, answers[0]), engine
    return answers[0]


# --- counting ---------------------------------------------------------------------------------


@given(questions(), st.data())
@settings(max_examples=100)
def test_model_tensor(asked, data):
    names = data.draw(metric_lists(asked.table))
    expected = oracle.model_tensor(asked.table, asked.space, names, asked.holds)
    for engine in ENGINES:
        answer = adtc.model_tensor(*asked.given, names, where=asked.where, **engine)
        assert dict(answer) == expected, engine


@given(problems(shares=True), st.data())
@settings(max_examples=60)
def test_trees_near_the_best(problem, data):
    """Bounds by the least or largest value over the whole space, of one metric or a mixture."""
    table, space = problem
    names = oracle.metric_names(table)
    text = data.draw(
        st.sampled_from(names)
        | st.sampled_from(["error + 2 * size", "N00 - 3 * size", "size - error", "acc / size"])
    )
    term = oracle.term(text)
    scores = [(term(m), m["size"]) for _, m in oracle.good_trees(table, space)]
    defined = [score for score, _ in scores if score is not None]
    slack, most = Fraction(data.draw(st.integers(0, 4)), 4), data.draw(st.integers(1, 4))
    for extreme, choose, op, sign in (("least", min, "<=", 1), ("largest", max, ">=", -1)):
        where = f"{text} {op} {extreme}({text}) {'+' if sign > 0 else '-'} {slack}"
        near = [
            size for score, size in scores
            if score is not None and sign * (score - choose(defined)) <= slack
        ]  # fmt: skip
        for engine in ENGINES:
            given_ = (data_of(table), space_of(space))
            assert adtc.count(*given_, where, **engine) == len(near), (where, engine)
            small = adtc.count(*given_, f"{where} and size <= {most}", **engine)
            assert small == sum(size <= most for size in near), (where, engine)


@given(problems(shares=True))
@settings(max_examples=15)
def test_every_metric_of_the_table(problem):
    table, space = problem
    data = data_of(table)
    for name in oracle.metric_names(table):
        expected = oracle.model_tensor(table, space, [name])
        for engine in ENGINES:
            answer = adtc.model_tensor(data, space_of(space), [name], **engine)
            assert dict(answer) == expected, (name, engine)


@given(problems(shares=True), st.data())
@settings(max_examples=20)
def test_types_of_the_index(problem, data):
    table, space = problem
    names = data.draw(metric_lists(table))
    for engine in ENGINES:
        answer = adtc.model_tensor(data_of(table), space_of(space), names, **engine)
        for index, trees in answer.items():
            assert type(trees) is int
            assert all(isinstance(k, int | Fraction | None) for k in index)


@given(questions())
@settings(max_examples=100)
def test_count(asked):
    for engine in ENGINES:
        assert adtc.count(*asked.given, where=asked.where, **engine) == len(asked.good()), engine


@given(questions())
@settings(max_examples=40)
def test_python_reads_the_formula_alike(asked):
    assume(asked.where is not None)
    again = oracle.constraint(asked.where)
    for _, metrics in oracle.good_trees(asked.table, asked.space):
        assert again(metrics) is asked.holds(metrics)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize(("max_depth", "n_features"), [(0, 3), (1, 5), (2, 6), (3, 5), (4, 3)])
def test_without_minsup_the_whole_space_is_counted(n_labels, max_depth, n_features):
    rows = np.arange(n_labels * n_features).reshape(n_labels, n_features) % 2
    data = adtc.Data.from_arrays(rows, np.arange(n_labels))
    expected = oracle.number_of_trees(n_labels, max_depth, n_features)
    for engine in ENGINES:
        space = adtc.Space(max_depth=max_depth, minsup=0)
        assert adtc.count(data, space, **engine) == expected, engine
        tensor = adtc.model_tensor(data, space, ["size", "error"], **engine)
        assert sum(tensor.values()) == expected, engine


# --- trees ------------------------------------------------------------------------------------


@given(questions())
@settings(max_examples=60)
def test_exists_and_shows_a_good_tree(asked):
    good = dict(asked.good())
    for engine in ENGINES:
        answer = adtc.exists(*asked.given, where=asked.where, **engine)
        assert bool(answer) is bool(good), engine
        if good:
            assert plain(answer.tree) in good, engine


@given(questions(), st.data())
@settings(max_examples=100)
def test_optimize(asked, data):
    objective = data.draw(st.sampled_from(oracle.metric_names(asked.table)))
    side, choose = data.draw(st.sampled_from([("minimize", min), ("maximize", max)]))
    expected = oracle.best(asked.table, asked.space, objective, choose, asked.holds)
    for engine in ENGINES:
        answer = adtc.optimize(*asked.given, **{side: objective}, where=asked.where, **engine)
        assert answer.proved, engine
        assert answer.value == expected, engine
        if expected is None:
            assert answer.tree is None, engine
        else:
            check_tree(asked, plain(answer.tree), {objective: expected})


def check_tree(asked, tree, values):
    """Check that a tree belongs to the space, is good, and has these metrics."""
    assert tree in oracle.list_trees(asked.table, asked.space)
    metrics = oracle.Metrics(oracle.measure(tree, asked.table), asked.table)
    assert asked.holds is None or asked.holds(metrics) is True
    assert {name: metrics[name] for name in values} == values


@given(questions())
@settings(max_examples=30)
def test_minimize_error_is_the_default(asked):
    expected = oracle.best(asked.table, asked.space, "error", min, asked.holds)
    for engine in ENGINES:
        assert adtc.optimize(*asked.given, where=asked.where, **engine).value == expected, engine


@given(questions(), st.integers(0, 9))
@settings(max_examples=30)
def test_penalised_objective(asked, cost):
    # "error + cost·size" is a term over metrics, not a metric.
    values = [m["error"] + cost * m["size"] for _, m in asked.good()]
    text = f"error + {cost} * size"
    for engine in ENGINES:
        answer = adtc.optimize(*asked.given, minimize=text, where=asked.where, **engine)
        assert answer.value == min(values, default=None), engine
    assert total(asked, semirings.MIN_PLUS, text) == min(values, default=math.inf)


@given(questions(), st.integers(0, 2**32))
@settings(max_examples=30)
def test_drawn_tree_is_good(asked, seed):
    good = dict(asked.good())
    for engine in ENGINES:
        drawn = adtc.evaluate(
            *asked.given,
            semirings.counting_draw(np.random.default_rng(seed)),
            where=asked.where,
            **engine,
        )
        assert drawn.count == len(good), engine
        if good:
            assert plain(drawn.tree) in good, engine


# --- other semirings --------------------------------------------------------------------------

ADDITIVE = ["error", "size", "N01", "N11"]


@given(questions())
@settings(max_examples=30)
def test_evaluate_count_and_boolean(asked):
    assert total(asked, semirings.COUNT) == len(asked.good())
    assert total(asked, "count") == len(asked.good())
    assert total(asked, semirings.BOOLEAN) is bool(asked.good())


@given(questions(), st.sampled_from(ADDITIVE))
@settings(max_examples=40)
def test_evaluate_min_and_max_plus(asked, name):
    values = [m[name] for _, m in asked.good()]
    assert total(asked, semirings.MIN_PLUS, name) == min(values, default=math.inf)
    assert total(asked, semirings.MAX_PLUS, name) == max(values, default=-math.inf)


@given(questions(), st.permutations(ADDITIVE))
@settings(max_examples=40)
def test_evaluate_expectation(asked, names):
    first, second = names[:2]
    good = asked.good()
    answer = total(asked, semirings.expectation(2), (first, second))
    assert answer.count == len(good)
    assert answer.sums == tuple(sum(m[n] for _, m in good) for n in (first, second))
    assert answer.cross == tuple(
        tuple(sum(m[a] * m[b] for _, m in good) for b in (first, second)) for a in (first, second)
    )
    if good:
        n = len(good)
        mean = Fraction(sum(m[first] for _, m in good), n)
        assert answer.mean(0) == mean
        assert answer.variance(0) == sum((m[first] - mean) ** 2 for _, m in good) / n


@given(questions(), st.integers(1, 5))
@settings(max_examples=30)
def test_evaluate_k_best(asked, k):
    costs = sorted(m["error"] for _, m in asked.good())[:k]
    assert total(asked, semirings.k_best(k), "error") == tuple(costs)
    trees = total(asked, semirings.k_best_trees(k), "error")
    assert [found.cost for found in trees] == costs
    listed = [plain(found.tree) for found in trees]
    assert len(set(listed)) == len(listed)  # different trees
    good = dict(asked.good())
    assert [good[tree]["error"] for tree in listed] == costs


@given(questions())
@settings(max_examples=30)
def test_evaluate_pareto(asked):
    points = {(m["error"], m["size"]) for _, m in asked.good()}
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    answer = total(asked, semirings.pareto(2), ("error", "size"))
    assert Counter(answer) == Counter(front)


@given(questions())
@settings(max_examples=30)
def test_evaluate_feature_sets(asked):
    used = {oracle.features(tree) for tree, _ in asked.good()}
    assert total(asked, semirings.FEATURE_SETS) == {s for s in used if not any(r < s for r in used)}


def errors_at(label, leaf):
    return sum(n for group, n in leaf.counts if group.y != label)


@given(questions())
@settings(max_examples=30)
def test_evaluate_a_function_of_label_and_leaf(asked):
    # The partition function of weight 2^-error per tree, exactly.
    half = Fraction(1, 2)
    answer = total(asked, semirings.REAL, lambda label, leaf: half ** errors_at(label, leaf))
    assert answer == sum(half ** m["error"] for _, m in asked.good())


@given(questions())
@settings(max_examples=30)
def test_evaluate_values_that_cancel(asked):
    # Labels 0 and 1 weigh -1 and 1: sums meet 0 along the way without being without trees.
    def sign(tree):
        if oracle.is_leaf(tree):
            return (-1, 1, 2)[tree]
        return sign(tree[1]) * sign(tree[2])

    answer = total(asked, semirings.REAL, lambda label, leaf: (-1, 1, 2)[label])
    assert answer == sum(sign(tree) for tree, _ in asked.good())


@given(questions())
@settings(max_examples=30)
def test_evaluate_a_semiring_of_ones_own(asked):
    bottleneck = Semiring("bottleneck", -1, math.inf, max, min)
    supports = [m["support"] for _, m in asked.good()]
    answer = total(asked, bottleneck, lambda label, leaf: leaf.support)
    assert answer == max(supports, default=-1)


@given(questions(), st.data())
@settings(max_examples=30)
def test_model_tensor_over_min_plus(asked, data):
    name = data.draw(st.sampled_from(oracle.metric_names(asked.table)))
    expected: dict = {}
    for _, m in asked.good():
        expected[(m[name],)] = min(expected.get((m[name],), math.inf), m["error"])
    for engine in ENGINES:
        answer = adtc.model_tensor(
            *asked.given,
            [name],
            where=asked.where,
            semiring=semirings.MIN_PLUS,
            aggregation="error",
            **engine,
        )
        assert dict(answer) == expected, engine


# --- the same table in another form -----------------------------------------------------------


@given(questions(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_order_of_rows_and_merging_do_not_matter(asked, random):
    order = list(range(len(asked.table.rows)))
    random.shuffle(order)

    def shuffled(column):
        return None if column is None else tuple(column[r] for r in order)

    table = oracle.Table(
        rows=shuffled(asked.table.rows),
        y=shuffled(asked.table.y),
        z=shuffled(asked.table.z),
        weights=shuffled(asked.table.weights),
        references=tuple((name, shuffled(column)) for name, column in asked.table.references),
        positive=asked.table.positive,
    )
    data, space = data_of(table), space_of(asked.space)
    for engine in ENGINES:
        for form in (data, data.merged()):
            assert adtc.count(form, space, where=asked.where, **engine) == len(asked.good()), engine


@given(questions(labels=(2,)))
@settings(max_examples=30)
def test_the_positive_class_can_be_the_smaller_one(asked):
    assume(asked.space.labels == "any")  # the smallest label of a tie would be another one
    table = asked.table
    renamed = adtc.Data.from_arrays(
        np.array(table.rows),
        1 - np.array(table.y),
        z=None if table.z is None else np.array(table.z),
        weights=None if table.weights is None else np.array(table.weights),
        references={name: 1 - np.array(column) for name, column in table.references},
        positive=0,
    )
    for engine in ENGINES:
        answer = adtc.count(renamed, space_of(asked.space), where=asked.where, **engine)
        assert answer == len(asked.good()), engine


def test_a_support_that_no_leaf_can_have_is_refused():
    data = adtc.Data.from_arrays(np.array([[1], [0]]), np.array([1, 0]))
    for engine in ENGINES:
        with pytest.raises(QueryError, match="minsup is 3, but the table has only 2 rows"):
            adtc.count(data, adtc.Space(max_depth=1, minsup=3), **engine)


def test_the_engine_that_was_asked_for_is_the_one_that_ran():
    # Else an entry of ENGINES would agree because another engine answered for it.
    data = adtc.Data.from_arrays(np.array([[1], [0]]), np.array([1, 0]))
    for engine in ENGINES:
        record = adtc.count(data, adtc.Space(max_depth=1), **engine).record
        assert record.engine == ("spec" if engine["engine"] == "spec" else "fast")
