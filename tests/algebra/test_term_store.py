"""Terms and formulas come back from JSON exactly, those that no text could carry, too."""

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adtc.algebra.affine import Affine, as_term
from adtc.algebra.formula import Arithmetic, Name, Number, parse, parse_term
from adtc.algebra.store import formula_from_json, formula_to_json, term_from_json, term_to_json
from strategies import formulas, tables


@given(drawn=tables().flatmap(formulas))
@settings(max_examples=60)
def test_formulas_come_back(drawn):
    formula = parse(drawn.text)
    assert formula_from_json(json.loads(json.dumps(formula_to_json(formula)))) == formula


@pytest.mark.parametrize("text", ["true", "not (false or size < 3)", "1 <= size <= 2 and acc > 0"])
def test_truth_values_and_chains_come_back(text):
    assert formula_from_json(formula_to_json(parse(text))) == parse(text)


@given(
    coefficients=st.dictionaries(st.sampled_from(["k0", "k1", "k2"]), st.fractions()),
    constant=st.fractions(),
)
def test_terms_that_their_text_would_change_come_back(coefficients, constant):
    term = as_term(Affine({name: c for name, c in coefficients.items() if c}, constant))
    assert term_from_json(json.loads(json.dumps(term_to_json(term)))) == term


def test_a_long_sum_and_a_negative_number_come_back():
    term = Number(Fraction(-1, 3))
    for i in range(300):
        term = Arithmetic("+", term, Name(f"k{i}"))
    assert term_from_json(json.loads(json.dumps(term_to_json(term)))) == term
    assert term_from_json(term_to_json(parse_term("-size"))) == parse_term("-size")


@pytest.mark.parametrize("saved", [None, 3, [], ["%", "a", "b"], ["max"], ["-", "a", "b", "c"], {}])
def test_what_is_no_term_is_refused(saved):
    with pytest.raises(ValueError, match="not a term"):
        term_from_json(saved)


@pytest.mark.parametrize("saved", [None, "size", ["nor", True, True], ["not"], {}])
def test_what_is_no_formula_is_refused(saved):
    with pytest.raises(ValueError, match="not a formula"):
        formula_from_json(saved)
