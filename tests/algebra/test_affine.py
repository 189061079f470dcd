"""Affine forms, ratios and convex parts of terms mean what the terms mean."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adtc.algebra.affine import Affine, affine, convex, parts, ratio
from adtc.algebra.formula import Arithmetic, Call, Name, Negate, Number, parse_term, value

NAMES = ["a", "b", "c"]
numbers = st.builds(Fraction, st.integers(-6, 6), st.integers(1, 6)).map(Number)
leaves = st.sampled_from(NAMES).map(Name) | numbers
environments = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})


def _grown(inner):
    return (
        st.builds(Negate, inner)
        | st.builds(Arithmetic, st.sampled_from("++--*/"), inner, inner)
        | st.builds(lambda x: Call("abs", (x,)), inner)
        | st.builds(Call, st.sampled_from(["min", "max"]), st.tuples(inner, inner))
    )


terms = st.recursive(leaves, _grown, max_leaves=6)


def at(form: Affine, environment: dict[str, int]) -> Fraction:
    return form.constant + sum(c * environment[name] for name, c in form.coefficients.items())


@given(terms, environments)
@settings(max_examples=100)
def test_an_affine_form_has_the_terms_value(term, environment):
    form = affine(term)
    assume(form is not None)
    assert at(form, environment) == value(term, environment)
    assert all(form.coefficients.values())  # zero coefficients are left out


@given(terms, environments)
@settings(max_examples=100)
def test_a_ratio_has_the_terms_value_and_is_undefined_where_it_is(term, environment):
    over = ratio(term)
    assume(over is not None)
    top, bottom = (at(form, environment) for form in over)
    assert value(term, environment) == (top / bottom if bottom else None)


@given(terms, environments)
@settings(max_examples=100)
def test_a_convex_term_is_the_largest_of_its_forms(term, environment):
    forms = convex(term)
    assume(forms is not None)
    assert max(at(form, environment) for form in forms) == value(term, environment)


@given(terms, environments, environments)
@settings(max_examples=100)
def test_the_parts_determine_the_value(term, one, other):
    """Make two environments agree on all parts: then they must agree on the term."""
    forms = parts(term)
    assert all(form.coefficients for form in forms)
    if all(at(form, one) == at(form, other) for form in forms):
        assert value(term, one) == value(term, other)


@pytest.mark.parametrize(
    ("text", "coefficients", "constant"),
    [
        ("3", {}, 3),
        ("a", {"a": 1}, 0),
        ("-(a - 2 * b) / 4 + 1", {"a": Fraction(-1, 4), "b": Fraction(1, 2)}, 1),
        ("a * 2 - a - a", {}, 0),
        ("(1 + 2) * (a + 1)", {"a": 3}, 3),
        ("0 * a", {}, 0),
        ("(100 - a) / 100", {"a": Fraction(-1, 100)}, 1),
    ],
)
def test_affine_by_hand(text, coefficients, constant):
    form = affine(parse_term(text))
    assert (dict(form.coefficients), form.constant) == (coefficients, constant)


@pytest.mark.parametrize("text", ["a * b", "1 / a", "a / b", "a / 0", "abs(a)", "max(a, b)"])
def test_not_affine(text):
    assert affine(parse_term(text)) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a + b", 1),
        ("7", 0),
        ("a / b", 2),
        ("abs(a - b) + abs(c)", 2),
        ("(a + b) * c / 2", 2),
        ("max(a, 3, b + c)", 2),
        ("-(a / (b - 1))", 2),
        ("0.8 - 2 * a / (2 * a + b + c)", 2),
    ],
)
def test_number_of_parts(text, count):
    assert len(parts(parse_term(text))) == count


@pytest.mark.parametrize(
    "text", ["a / b", "a / b - 0.8", "2 * (1 - a / b)", "-(a / b)", "a / 3", "0.1 + a / (b + c)"]
)
def test_ratios(text):
    top, bottom = ratio(parse_term(text))
    for a, b, c in [(3, 5, 1), (-2, 7, 0), (0, 4, 4), (1, 0, 2)]:
        environment = {"a": a, "b": b, "c": c}
        below = at(bottom, environment)
        expected = at(top, environment) / below if below else None
        assert value(parse_term(text), environment) == expected


@pytest.mark.parametrize(
    "text",
    ["a / b + c", "a / b + a / c", "a / b * c", "abs(a)", "1 / (a / b)", "a / 0", "a - 0 / 0"],
)
def test_not_a_ratio_of_affine_forms(text):
    assert ratio(parse_term(text)) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("abs(a - b)", 2),
        ("abs(a) + abs(b)", 4),
        ("max(a, b, 3)", 3),
        ("max(a, b) - min(a, b)", 4),
        ("-min(a, b)", 2),
        ("2 * abs(a) - 1", 2),
        ("abs(a) / 2", 2),
        ("-3 * min(a, b)", 2),
        ("a", 1),
    ],
)
def test_convex_terms(text, count):
    assert len(convex(parse_term(text))) == count


@pytest.mark.parametrize(
    "text",
    [
        "-abs(a)",
        "min(a, b)",
        "1 - max(a, b)",
        "abs(a) * b",
        "a / b",
        "abs(abs(a) - b)",
        "0 * abs(a)",
    ],
)
def test_not_convex_or_not_seen_as_such(text):
    assert convex(parse_term(text)) is None


def test_sums_and_multiples():
    a = Affine({"x": Fraction(1), "y": Fraction(2)}, Fraction(3))
    b = Affine({"x": Fraction(-1), "z": Fraction(1)}, Fraction(1))
    assert a + b == Affine({"y": Fraction(2), "z": Fraction(1)}, Fraction(4))
    assert a.scaled(Fraction(1, 2)).coefficients == {"x": Fraction(1, 2), "y": Fraction(1)}
    assert a.scaled(Fraction()) == Affine({}, Fraction())
