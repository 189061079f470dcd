"""The query plan: fewest axes, budgets that follow from the constraint, row groups merged."""

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import adtc
from adtc.algebra.formula import all_of, value
from adtc.algebra.metrics import LeafRows, RowGroup, Vocabulary, additive
from adtc.algebra.semirings import COUNT
from adtc.algebra.trees import Leaf, Split, Tree, leaf_of, paths
from adtc.engine.exact.columns import evaluate, fractions
from adtc.engine.plan import Form, Plan, make_plan
from adtc.engine.plan.pushing import parts_of
from adtc.engine.query import Question, ask, row_groups, schema_of
from adtc.errors import TooLargeError
from strategies import formulas, problems


def two_groups() -> adtc.Data:
    """Make a table of 10 rows with two labels and two groups of different size."""
    X = [[r >> b & 1 for b in range(4)] for r in range(10)]
    return adtc.Data.from_arrays(
        X, [0, 1, 1, 0, 1, 0, 0, 1, 0, 1], z=[0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    )


def question(metrics=(), where=None, *, data=None, **space) -> Question:
    return ask(
        data or two_groups(), adtc.Space(**space), semiring=COUNT, metrics=metrics, where=where
    )


def plan_of(metrics=(), where=None, *, push=True, **options) -> Plan:
    return make_plan(question(metrics, where, **options), push=push)


# --- axes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "where", "axes"),
    [
        ([], None, 0),
        (["acc"], None, 1),
        (["acc", "error"], "acc >= 0.5", 1),
        (["size"], None, 1),
        (["dp"], None, 1),  # a gap between two groups is one form up to its sign
        (["dp", "dp_signed"], "dp <= 0.1 or dp_signed > 0.2", 1),
        (["eopp"], None, 1),
        (["selection_rate"], "selection_rate > 0", 1),
        (["f1"], None, 2),  # true and false positives
        (["acc", "f1", "precision", "recall", "fpr"], None, 2),
        (["dp_ratio"], None, 2),
        (["eodd_sum"], None, 2),
        (["acc", "f1", "dp", "eodd_sum", "eopp"], None, 4),
        (["acc", "f1", "dp", "eodd_sum", "eopp", "size"], None, 5),
        (["N11", "N10", "N01", "N00"], None, 2),  # row sums of the table are fixed
        (["N[1,*]", "N"], "N[*,*,0] = 4", 0),  # the same for every tree
        (["error + 3 * size"], None, 1),
        (["error + 3 * size", "size"], None, 2),
        (["error"], "acc >= size / 10", 2),
    ],
)
@pytest.mark.parametrize("push", [True, False])
def test_number_of_axes(metrics, where, axes, push):
    assert len(plan_of(metrics, where, push=push).axes) == axes


def test_the_largest_size_is_an_axis_of_its_own():
    assert [axis.form.name for axis in plan_of(["acc"], max_size=3).axes if axis.form.per_leaf]
    assert len(plan_of(["acc"], max_size=3).axes) == 2


@given(st.data())
@settings(max_examples=25)
def test_axes_are_digits_that_give_every_metric_back(draw):
    """Pack the axes' values of any tree into a key: the key alone tells the metrics."""
    table, _ = draw.draw(problems(groups=(0, 2, 3)))
    data = data_of(table)
    names = [name for name in adtc_names(data) if name not in ("depth", "support")]
    chosen = draw.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    asked = question(chosen, data=data, max_depth=2, minsup=0)
    plan = make_plan(asked)
    tree = draw.draw(trees(data, 2))
    leaves = leaves_of(tree, data)
    digits = [form_value(axis.form, leaves, plan) for axis in plan.axes]
    for axis, digit in zip(plan.axes, digits, strict=True):
        assert axis.low <= digit < axis.low + axis.radix
    key = sum(axis.stride * digit for axis, digit in zip(plan.axes, digits, strict=True))
    keys = np.array([key], np.int64)
    assert [column.tolist() for column in plan.digits(keys)] == [[digit] for digit in digits]
    environment = asked.environment([joined(axis, leaves) for axis in asked.axes])
    for _, term in asked.metrics:
        assert fractions(evaluate(term, plan.lookup(keys))) == [value(term, environment)]


def test_axes_that_do_not_fit_one_number_are_refused_with_advice():
    n = 30
    y, z = np.arange(n) % 2, np.arange(n) // 2 % 5
    data = adtc.Data.from_arrays(np.eye(n, dtype=int), y, z=z, weights=np.full(n, 10**6))
    cells = [f"N{i}1{k}" for i in range(2) for k in range(5)]
    with pytest.raises(TooLargeError) as error:
        plan_of(cells, data=data)
    sentence = str(error.value)
    assert "needs 10 axes" in sentence
    assert "possible cells" in sentence
    assert "ask for fewer metrics at once, or divide the weights" in sentence
    assert len(plan_of(cells[:2], data=data).axes) == 2


@pytest.mark.parametrize("weight", ["1e15", "1e16", "1e18"])
def test_values_far_from_zero_get_keys_that_fit(weight: str) -> None:
    """A single leaf has few values of this sum, but none of them is small."""
    rng = np.random.default_rng(3)
    data = adtc.Data.from_arrays(
        rng.integers(0, 2, (40, 4)), rng.integers(0, 2, 40), z=np.arange(40) % 3 // 2
    )
    asked = {"minimize": "dp", "where": f"error + {weight} * size <= 5 * {weight}"}
    found, told = (
        adtc.optimize(data, adtc.Space(max_depth=2), engine=engine, **asked).value
        for engine in ("fast", "spec")
    )
    assert found == told
    plan = plan_of(["dp", f"error + {weight} * size"], data=data, max_depth=0)
    assert sum(axis.stride * (abs(axis.low) + axis.radix) for axis in plan.axes) < 2**63


# --- row groups -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metrics", "options", "groups"),
    [
        ([], {}, 1),  # nothing tells rows apart
        (["size"], {}, 1),
        (["acc"], {}, 2),  # by label
        (["selection_rate"], {}, 1),  # by prediction alone
        (["dp"], {}, 2),  # by sensitive value
        (["acc", "dp"], {}, 4),
        (["dp"], {"labels": "majority"}, 4),  # the vote needs the label
        ([], {"labels": "majority"}, 2),
        (["N110"], {}, 2),  # rows of this kind, and all others
    ],
)
def test_row_groups_are_merged_where_nothing_tells_them_apart(metrics, options, groups):
    plan = plan_of(metrics, **options)
    assert len(plan.groups) == groups
    assert sorted(key for members in plan.groups for key in members) == [
        RowGroup(y, z) for y in range(2) for z in range(2)
    ]
    assert sum(plan.totals) == 10


def test_groups_without_rows_are_left_out():
    data = adtc.Data.from_arrays([[1], [0], [1]], [0, 1, 1], z=[0, 1, 0], weights=[2, 3, 0])
    plan = plan_of(["acc", "dp"], data=data)
    assert sorted(key for members in plan.groups for key in members) == [
        RowGroup(0, 0),
        RowGroup(1, 1),
    ]


# --- budgets ----------------------------------------------------------------------------------


def limits(where, **options) -> list[tuple[str, int]]:
    return [(b.source, b.limit) for b in plan_of((), where, **options).budgets]


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("acc >= 0.8", 1),
        ("acc >= 0.8 and error <= 3", 1),  # one form: the tighter one
        ("acc >= 0.8 and size <= 3", 2),
        ("acc >= 0.8 or size <= 3", 0),  # neither holds for every good tree
        ("not acc < 0.8", 1),
        ("not (acc < 0.8 or size > 3)", 2),
        ("0.2 <= acc <= 0.8", 2),
        ("acc = 0.5", 2),
        ("acc != 0.5", 0),
        ("dp <= 0.1", 2),  # both signs
        ("dp >= 0.1", 0),  # not convex
        ("eodd_max <= 0.1", 4),
        ("eodd_sum <= 0.1", 4),
        ("f1 >= 0.5", 1),
        ("precision > 0.5", 1),
        ("dp_ratio >= 0.8", 0),
        ("acc <= 1", 0),  # every tree meets it
        ("size >= 1", 0),
        ("acc >= 0.8 and (dp <= 0.1 or size = 1)", 1),
    ],
)
def test_number_of_budgets(where, count):
    assert len(limits(where, max_depth=3)) == count
    assert plan_of((), where, push=False, max_depth=3).budgets == ()


def test_limits_are_exact():
    errors = {
        # 10 rows; the form counts rows, its constant is taken out: compare differences
        "error <= 3": 3,
        "error < 3": 2,
        "error < 2.5": 2,
        "acc >= 0.7": 3,
        "acc > 0.7": 2,
        "acc >= 0.71": 2,
        "3 * error <= 10": 3,
        "error <= 10 / 3": 3,
    }
    base = limits("error <= 0")[0][1]
    assert {where: limits(where)[0][1] - base for where in errors} == errors


def test_max_size_is_a_budget_with_and_without_pushing():
    for push in (True, False):
        (budget,) = plan_of(push=push, max_size=3).budgets
        assert (budget.source, budget.limit, budget.form.per_leaf) == ("max_size", 3, 1)
    assert plan_of(max_size=8, max_depth=3).budgets == ()  # 2³ leaves at most
    assert plan_of(max_size=5, max_depth=3, minsup=2).budgets == ()  # 10 rows make 5 leaves
    ((source, limit),) = limits("size <= 2", max_size=3)
    assert (source, limit) == ("size <= 2", 2)


@given(st.data())
@settings(max_examples=40)
def test_every_good_tree_is_within_every_budget(draw):
    """Compare with the specification: its tensor has the budget's own form as one more metric."""
    table, _ = draw.draw(problems(max_rows=8, max_features=3))
    data = data_of(table)
    where = draw.draw(formulas(table)).text
    note(where)
    space = adtc.Space(
        max_depth=draw.draw(st.integers(0, 2)),
        minsup=draw.draw(st.integers(0, 1)),
        max_size=draw.draw(st.none() | st.integers(1, 3)),
        labels=draw.draw(st.sampled_from(["any", "majority"])),
    )
    asked = ask(data, space, semiring=COUNT, where=where)
    if any(axis.functional is None for axis in asked.axes):
        return  # depth and support do not add up: no plan
    for budget in make_plan(asked).budgets:
        names = {"budget": primitive(budget.form, make_plan(asked))}
        good = adtc.model_tensor(data, space, ["budget"], where=where, define=names, engine="spec")
        assert all(index[0] <= budget.limit for index in good)


def test_budgets_prune_what_they_say():
    """Without this, a plan with budgets that are too loose would pass all the rest."""
    plan = plan_of((), "acc >= 0.8 and dp <= 0.1 and size <= 3", max_depth=3)
    for budget in plan.budgets:
        low, high = budget.form.range(plan.totals, plan.most_leaves)
        assert low <= budget.limit < high


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("error <= 3", "true"),
        ("error < 3 and 2 <= size <= 4", "true"),
        ("error = 3", "true"),
        ("acc >= 0.8 and dp <= 0.1", "true"),
        ("error <= 3 and f1 >= 0.5", "f1 >= 0.5"),  # undefined where nothing is called positive
        ("size <= 3 and error != 2", "error != 2"),
        ("error <= 3 or error <= 5", "error <= 3 or error <= 5"),
        ("size * error <= 9 and size <= 3", "size * error <= 9"),
        ("not (error > 3 or 1 > 2)", "1 <= 2"),
        ("size + 1e16 * error <= 2e16", "size + 1e16 * error <= 2e16"),  # too large for a word
    ],
)
def test_what_budgets_say_exactly_is_not_filtered_again(where: str, left: str) -> None:
    asked = question((), where)
    plan = make_plan(asked)
    assert plan.residual == question((), left).constraint
    whole = make_plan(asked, push=False).residual
    assert all_of(*parts_of(whole)) == all_of(*parts_of(asked.constraint))


# --- help -------------------------------------------------------------------------------------


def data_of(table) -> adtc.Data:
    return adtc.Data.from_arrays(
        table.rows,
        table.y,
        z=table.z,
        weights=table.weights,
        references=dict(table.references) or None,
        positive=table.positive,
    )


def adtc_names(data: adtc.Data) -> list[str]:
    return Vocabulary(schema_of(data)).names()


def trees(data: adtc.Data, depth: int) -> st.SearchStrategy[Tree]:
    leaf = st.builds(Leaf, st.integers(0, len(data.labels) - 1))
    tree = leaf
    for _ in range(min(depth, data.n_features)):
        tree = leaf | st.builds(Split, st.integers(0, data.n_features - 1), tree, tree)
    return tree


def leaves_of(tree: Tree, data: adtc.Data) -> list[tuple[int, LeafRows]]:
    """Send every row down the tree, one by one."""
    keys, member = row_groups(data)
    ways, arrived = list(paths(tree)), leaf_of(tree, data.dense())
    leaves = []
    for at, way in enumerate(ways):
        counts = dict.fromkeys(keys, 0)
        for r in np.flatnonzero(arrived == at).tolist():
            counts[keys[member[r]]] += int(data.weights[r])
        leaves.append((way.label, LeafRows(tuple(counts.items()), len(way.literals))))
    return leaves


def joined(axis, leaves) -> int:
    first, *rest = (axis.leaf(label, rows) for label, rows in leaves)
    for here in rest:
        first = axis.combine(first, here)
    return first


def form_value(form: Form, leaves: list[tuple[int, LeafRows]], plan: Plan) -> int:
    """Evaluate a form of the plan on a whole tree, leaf by leaf and row by row."""
    place = {key: g for g, members in enumerate(plan.groups) for key in members}
    total = 0
    for label, rows in leaves:
        total += form.per_leaf
        total += sum(form.weights[label][place[key]] * n for key, n in rows.counts if n)
    return total


def primitive(form: Form, plan: Plan):
    place = {key: g for g, members in enumerate(plan.groups) for key in members}
    return additive(
        "budget",
        lambda label, key: form.weights[label][place[key]] if key in place else 0,
        per_leaf=form.per_leaf,
    )
