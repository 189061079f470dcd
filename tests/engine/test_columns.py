"""Terms and formulas on columns of integers agree with their meaning on single numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.algebra.affine import Affine
from adtc.algebra.formula import (
    And,
    Arithmetic,
    Call,
    Comparison,
    Name,
    Negate,
    Not,
    Number,
    Or,
    Truth,
    holds,
    parse,
    parse_term,
    value,
)
from adtc.engine.exact.columns import (
    Lookup,
    Ratios,
    ascending_rows,
    combine,
    evaluate,
    fractions,
    from_columns,
    satisfied,
)

NAMES = ["a", "b", "c"]
Rows = list[tuple[int, int, int]]

small = st.integers(-4, 4)
large = st.sampled_from([0, 1, -1, 3**30, -(3**30), 2**40 + 1, -(2**52), 2**61, -(2**61) + 1])
numbers = st.builds(Fraction, st.integers(-6, 6), st.integers(1, 6)).map(Number)
leaves = st.sampled_from(NAMES).map(Name) | numbers


def _grown(inner):
    return (
        st.builds(Negate, inner)
        | st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner)
        | st.builds(lambda x: Call("abs", (x,)), inner)
        | st.builds(Call, st.sampled_from(["min", "max"]), st.tuples(inner, inner))
        | st.builds(Call, st.sampled_from(["min", "max"]), st.tuples(inner, inner, inner))
    )


terms = st.recursive(leaves, _grown, max_leaves=6)
OPERATORS = ["<=", "<", ">=", ">", "=", "!="]
an_operator = st.sampled_from(OPERATORS)
atoms = (
    st.builds(lambda a, op, b: Comparison((a, b), (op,)), terms, an_operator, terms)
    | st.builds(
        lambda a, p, b, q, c: Comparison((a, b, c), (p, q)),
        terms, an_operator, terms, an_operator, terms,
    )
    | st.booleans().map(Truth)
)  # fmt: skip
formulas = st.recursive(
    atoms,
    lambda inner: (
        st.builds(Not, inner)
        | st.builds(And, st.tuples(inner, inner))
        | st.builds(Or, st.tuples(inner, inner))
    ),
    max_leaves=4,
)


def rows_of(numbers: st.SearchStrategy[int]) -> st.SearchStrategy[Rows]:
    return st.lists(st.tuples(numbers, numbers, numbers), max_size=6)


def lookup_of(rows: Rows) -> Lookup:
    """Look affine forms up in a table with the columns a, b, c."""
    columns = [np.array([row[i] for row in rows], np.int64) for i in range(3)]

    def look(form: Affine) -> Ratios:
        coefficients = [form.coefficients.get(name, Fraction()) for name in NAMES]
        return combine(coefficients, form.constant, columns, len(rows))

    return look


def environments(rows: Rows) -> list[dict[str, int]]:
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


@pytest.mark.parametrize("numbers", [small, large, small | large], ids=["small", "large", "both"])
@given(data=st.data())
@settings(max_examples=50)
def test_terms_are_exact(numbers, data):
    term, rows = data.draw(terms), data.draw(rows_of(numbers))
    column = evaluate(term, lookup_of(rows))
    assert fractions(column) == [value(term, row) for row in environments(rows)]
    assert all(bottom >= 0 for bottom in column.bottom.tolist())


@pytest.mark.parametrize("numbers", [small, large], ids=["small", "large"])
@given(data=st.data())
@settings(max_examples=50)
def test_formulas_hold_where_they_hold(numbers, data):
    formula, rows = data.draw(formulas), data.draw(rows_of(numbers))
    expected = [holds(formula, row) is True for row in environments(rows)]
    assert satisfied(formula, lookup_of(rows), len(rows)).tolist() == expected


@pytest.mark.parametrize(("empty", "truth"), [(And(()), True), (Or(()), False)])
def test_no_part_at_all(empty, truth):
    lookup = from_columns({}, 3)
    assert satisfied(empty, lookup, 3).tolist() == [truth] * 3
    assert satisfied(Not(empty), lookup, 3).tolist() == [not truth] * 3
    assert holds(empty, {}) is truth


def test_undefined_satisfies_neither_an_atom_nor_its_denial():
    rows = [(1, 0, 0), (1, 1, 0), (1, 2, 0)]
    look = lookup_of(rows)
    assert fractions(evaluate(parse_term("a / b"), look)) == [None, 1, Fraction(1, 2)]
    assert satisfied(parse("a / b >= 1"), look, 3).tolist() == [False, True, False]
    assert satisfied(parse("not a / b >= 1"), look, 3).tolist() == [False, False, True]
    assert satisfied(parse("a / b >= 1 or a = 1"), look, 3).tolist() == [True, True, True]
    assert satisfied(parse("not (a / b >= 1 and a = 2)"), look, 3).tolist() == [True, True, True]


@pytest.mark.parametrize("text", ["a * a", "a * a * a", "(a + b) * (a - c)", "1 / a + 1 / b"])
def test_products_beyond_a_word_are_whole_numbers_of_any_size(text):
    big = 2**61 + 3
    (found,) = fractions(evaluate(parse_term(text), lookup_of([(big, big - 2, -big)])))
    assert found == value(parse_term(text), {"a": big, "b": big - 2, "c": -big})


@pytest.mark.parametrize("offset", [-2, -1, 0, 1, 2])
def test_sums_around_the_largest_word(offset):
    a, b = 2**62 - 1, 2**62 + offset
    for term in (parse_term("abs(a) + abs(b)"), parse_term("a + b"), parse_term("-abs(a) - b")):
        (found,) = fractions(evaluate(term, lookup_of([(a, b, 0)])))
        assert found == value(term, {"a": a, "b": b, "c": 0})


def test_small_numbers_stay_words():
    look = lookup_of([(3, 4, 5)])
    assert evaluate(parse_term("a / b + c * a"), look).top.dtype == np.int64
    assert evaluate(parse_term("a * 1e30"), look).top.dtype == object


@pytest.mark.parametrize("text", ["a", "a / b", "abs(a - b)", "max(a, b) / 3", "a * b"])
def test_no_rows(text):
    look = lookup_of([])
    assert fractions(evaluate(parse_term(text), look)) == []
    assert (
        satisfied(Comparison((parse_term(text), Number(Fraction(1))), ("<=",)), look, 0).size == 0
    )


close_by = st.tuples(st.integers(-3, 3), st.integers(0, 2)).map(
    lambda small: (2**53 * small[1] + small[0], 2**53)
)
ratios = st.lists(
    st.tuples(st.integers(-9, 9), st.integers(0, 5)) | close_by, min_size=1, max_size=12
)


@given(ratios)
def test_rows_are_put_in_order_where_floats_cannot_tell_them_apart(pairs):
    top, bottom = (np.array(part, object) for part in zip(*pairs, strict=True))
    rows = ascending_rows(Ratios(top, bottom)).tolist()
    found = [Fraction(*pairs[row]) for row in rows]
    assert found == sorted(found)
    assert sorted(rows) == [row for row, (_, below) in enumerate(pairs) if below]
