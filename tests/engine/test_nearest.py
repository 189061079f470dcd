"""The nearest values of atoms are those that listing all trees finds."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adtc
import oracle
from adtc.algebra.metrics import additive
from adtc.engine.nearest import Nearest, nearest
from strategies import COMPARISONS, formulas, problems

LIMITS = ["0", "1", "2", "5", "0.25", "0.5", "2 / 3", "0.9", "-1"]
METRICS = ["size", "error", "acc", "bacc", "N00", "precision", "dp"]


def table_of(table):
    references = dict(table.references)
    positive = None if len(set(table.y)) == 2 else table.positive
    return adtc.Data.from_arrays(
        table.rows, table.y, z=table.z, weights=table.weights, references=references,
        positive=positive,
    )  # fmt: skip


def space_of(table, space):
    return adtc.Space(
        max_depth=space.max_depth,
        minsup=space.support(table),
        max_size=space.max_size,
        labels=space.labels,
        trivial_splits=space.trivial_splits,
    )


def listed(table, space, term, op, asked, *, where=None):
    """Look at every tree."""
    constraint = None if where is None else oracle.constraint(where)
    value = oracle.term(term)
    values = {value(m) for _, m in oracle.good_trees(table, space, constraint)} - {None}
    if op[0] in "<>":
        return (min if op[0] == "<" else max)([[v] for v in values], default=[])
    if op == "=" and asked in values:
        return [asked]
    below, above = sorted(v for v in values if v < asked), sorted(v for v in values if v > asked)
    return below[-1:] + above[:1]


@given(
    drawn=problems(max_rows=8, max_features=3, labels=(2,), groups=(2,)),
    atoms=st.lists(
        st.tuples(
            st.sampled_from(METRICS), st.sampled_from(list(COMPARISONS)), st.sampled_from(LIMITS)
        ),
        min_size=1,
        max_size=3,
    ),
    engine=st.sampled_from(["auto", "spec"]),
)
@settings(max_examples=40)
def test_conjunctions_agree_with_the_list_of_all_trees(drawn, atoms, engine):
    table, space = drawn
    texts = [" ".join(atom) for atom in atoms]
    found = nearest(table_of(table), space_of(table, space), " and ".join(texts), engine=engine)
    assert [n.atom for n in found] == texts
    for at, (n, (term, op, limit)) in enumerate(zip(found, atoms, strict=True)):
        asked = Fraction(limit.replace(" ", ""))
        assert (n.term, n.op, n.asked) == (term, op, asked)
        assert list(n.alone) == listed(table, space, term, op, asked)
        assert n.possible is any(
            oracle.constraint(texts[at])(m) is True for _, m in oracle.good_trees(table, space)
        )
        others = " and ".join(texts[:at] + texts[at + 1 :])
        if others:
            assert list(n.together) == listed(table, space, term, op, asked, where=others)
        else:
            assert n.together is None


@given(drawn=problems(max_rows=8, max_features=3), data=st.data())
@settings(max_examples=40)
def test_every_atom_of_any_formula_is_answered_alone(drawn, data):
    table, space = drawn
    formula = data.draw(formulas(table))
    found = nearest(table_of(table), space_of(table, space), formula.text)
    assert found
    for n in found:
        assert list(n.alone) == listed(table, space, n.term, n.op, n.asked)
        assert str(n).startswith(f"{n.atom}: ")


def small(where, **options):
    data = adtc.Data.from_arrays(
        [[1, 0], [1, 1], [0, 1], [0, 0], [1, 1]], [1, 0, 0, 0, 1], z=[0, 1, 0, 1, 1]
    )
    return nearest(data, adtc.Space(max_depth=2), where, **options)


def lines(where, **options):
    return [str(n) for n in small(where, **options)]


def test_chains_are_cut_into_links():
    assert [n.atom for n in small("0.9 < acc <= 1 < size")] == ["0.9 < acc", "acc <= 1", "1 < size"]
    assert small("0.9 < acc < 1")[0].op == ">"
    assert (
        lines("0.9 < acc < 1")[0] == "0.9 < acc: acc is at most 0.8 (0.8 with the other conditions)"
    )


def test_negations_reach_the_atoms():
    assert [n.atom for n in small("not (size <= 9 or acc < 0.9)")] == ["size > 9", "acc >= 0.9"]
    assert all(n.together is not None for n in small("not (size <= 9 or acc < 0.9)"))
    assert [n.atom for n in small("not not size > 9")] == ["size > 9"]
    # the negation of a chain is a disjunction
    assert [(n.atom, n.together) for n in small("not 0 <= acc <= 1")] == [
        ("0 > acc", None),
        ("acc > 1", None),
    ]


def test_atoms_of_a_disjunction_are_looked_at_alone():
    found = small("(acc > 0.9 or size > 7) and error >= 5")
    assert [n.atom for n in found] == ["acc > 0.9", "size > 7", "error >= 5"]
    assert [n.together for n in found] == [None, None, ()]
    assert str(found[2]) == "error >= 5: at most 4 (no tree with the other conditions)"


def test_equalities_are_approached_from_both_sides():
    assert lines("acc = 0.7") == ["acc = 0.7: nearest 0.6 and 0.8"]
    assert lines("size = 9") == ["size = 9: nearest 4"]
    assert lines("size = 3 and size != 3")[0] == (
        "size = 3: nearest 3 (2 and 4 with the other conditions)"
    )


def test_two_sides_that_vary_are_compared_by_their_difference():
    (n,) = small("acc >= size")
    assert (n.term, n.asked, n.alone) == ("acc - size", 0, (Fraction(-2, 5),))
    assert str(n) == "acc >= size: acc - size is at most -0.4"


def test_sides_that_no_tree_changes():
    assert lines("error > N and N > 10") == [
        "error > N: at most 4 (no tree with the other conditions)",
        "N > 10: at most 5",
    ]
    assert lines("N != 5") == ["N != 5: no tree has another value"]


def test_an_undefined_term_is_no_value():
    data = adtc.Data.from_arrays([[1], [0]], [0, 0], labels=[0, 1])
    (n,) = nearest(data, adtc.Space(max_depth=1), "recall >= 0.5")
    assert (n.alone, n.possible) == ((), False)
    assert str(n) == "recall >= 0.5: undefined for every tree"
    (n,) = nearest(data, adtc.Space(max_depth=0), "size != 1")
    assert str(n) == "size != 1: no tree has another value"


def test_own_metrics_and_truth_values():
    own = {"cost": additive("cost", lambda label, group: 3 * int(label != group.y))}
    assert lines("cost < 3 and true", define=own) == [
        "cost < 3: at least 3 (3 with the other conditions)"
    ]
    assert lines("false") == []


def test_a_value_near_the_one_asked_for_is_told_from_it():
    near = Fraction(94999999, 100000000)
    assert str(Nearest("acc >= 0.95", "acc", ">=", Fraction("0.95"), (near,))) == (
        "acc >= 0.95: at most 0.94999999"
    )
    third = Nearest("acc = 1/3", "acc", "=", Fraction(1, 3), (Fraction(1, 3),))
    assert str(third) == "acc = 1/3: nearest 1/3"


def test_an_unknown_metric_is_an_error():
    with pytest.raises(adtc.ADTCError, match="unknown metric 'acuracy'"):
        small("acuracy >= 0.5")
