import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adtc.algebra.formula import (
    MAX_LENGTH,
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
    all_of,
    any_of,
    constant,
    holds,
    locate,
    names,
    parse,
    parse_term,
    substitute,
    syntax_error,
    value,
)
from adtc.algebra.parser import MAX_HEIGHT, MAX_NESTING
from adtc.errors import ConstraintSyntaxError, UnknownMetricError

A, B, C = Name("a"), Name("b"), Name("c")
P, Q, R = (Comparison((x, Number(Fraction(1))), ("<=",)) for x in (A, B, C))
UNDEFINED = {"f1": None}


def num(x):
    return Number(Fraction(x))


# Strategies: the values that reading can give.

WORDS = st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,6}", fullmatch=True).filter(
    lambda w: (
        not w.startswith("__")
        and w.lower() not in {"and", "or", "not", "true", "false"}
        and w not in {"abs", "min", "max"}
    )
)
INDICES = st.text(st.characters(exclude_characters="[]"), min_size=1, max_size=5).filter(str.strip)
NAMES = st.one_of(WORDS, st.builds("{}[{}]".format, WORDS, INDICES)).map(Name)
DECIMALS = st.builds(
    lambda digits, exponent: Number(digits * Fraction(10) ** exponent),
    st.integers(0, 10**12),
    st.one_of(st.integers(-6, 3), st.integers(-300, 280)),
)


def larger_terms(terms):
    return st.one_of(
        st.builds(Negate, terms),
        st.builds(Arithmetic, st.sampled_from("+-*/"), terms, terms),
        st.builds(lambda x: Call("abs", (x,)), terms),
        st.builds(
            Call,
            st.sampled_from(["min", "max"]),
            st.lists(terms, min_size=1, max_size=3).map(tuple),
        ),
    )


TERMS = st.recursive(st.one_of(DECIMALS, NAMES), larger_terms, max_leaves=8)
COMPARISONS = st.lists(
    st.tuples(st.sampled_from(["<=", "<", ">=", ">", "=", "!="]), TERMS), min_size=1, max_size=3
).flatmap(
    lambda links: TERMS.map(
        lambda first: Comparison((first, *(t for _, t in links)), tuple(op for op, _ in links))
    )
)


def larger_formulas(formulas):
    parts = st.lists(formulas, min_size=2, max_size=3)
    return st.one_of(
        st.builds(Not, formulas), parts.map(lambda p: all_of(*p)), parts.map(lambda p: any_of(*p))
    )


FORMULAS = st.recursive(
    st.one_of(COMPARISONS, st.booleans().map(Truth)), larger_formulas, max_leaves=6
)


# Reading


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", Arithmetic("+", A, Arithmetic("*", B, C))),
        ("a * b + c", Arithmetic("+", Arithmetic("*", A, B), C)),
        ("(a + b) * c", Arithmetic("*", Arithmetic("+", A, B), C)),
        ("a - b - c", Arithmetic("-", Arithmetic("-", A, B), C)),
        ("a - (b - c)", Arithmetic("-", A, Arithmetic("-", B, C))),
        ("a / b / c", Arithmetic("/", Arithmetic("/", A, B), C)),
        ("a / b * c", Arithmetic("*", Arithmetic("/", A, B), C)),
        ("-a * b", Arithmetic("*", Negate(A), B)),
        ("a - -b", Arithmetic("-", A, Negate(B))),
        ("+a + +b", Arithmetic("+", A, B)),
        ("((a))", A),
        ("abs(a - b)", Call("abs", (Arithmetic("-", A, B),))),
        ("min(a, b, c)", Call("min", (A, B, C))),
        ("max(a, (b), 1)", Call("max", (A, B, num(1)))),
        ("N[10,3] / agreement[score]", Arithmetic("/", Name("N[10,3]"), Name("agreement[score]"))),
        ("x[a [b] <= $]", Name("x[a [b] <= $]")),
        ("not[1] + abs[2]", Arithmetic("+", Name("not[1]"), Name("abs[2]"))),
    ],
)
def test_terms(text, expected):
    assert parse_term(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= 1 or b <= 1 and c <= 1", Or((P, And((Q, R))))),
        ("a <= 1 and b <= 1 or c <= 1", Or((And((P, Q)), R))),
        ("(a <= 1 or b <= 1) and c <= 1", And((Or((P, Q)), R))),
        ("not a <= 1 and b <= 1", And((Not(P), Q))),
        ("not (a <= 1 and b <= 1)", Not(And((P, Q)))),
        ("not not a <= 1", Not(Not(P))),
        ("a <= 1 and (b <= 1 and c <= 1)", And((P, Q, R))),
        ("(a <= 1 or b <= 1) or c <= 1", Or((P, Q, R))),
        ("a <= b < c", Comparison((A, B, C), ("<=", "<"))),
        ("a >= b > c = a != b", Comparison((A, B, C, A, B), (">=", ">", "=", "!="))),
        ("(a + b) <= (c)", Comparison((Arithmetic("+", A, B), C), ("<=",))),
        ("((a) <= (1))", P),
        ("true", Truth(True)),
        ("not false", Not(Truth(False))),
    ],
)
def test_formulas(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "ascii_text"),
    [
        ("a ≤ 1 ∧ b ≥ 1 ∨ ¬ c ≠ 1", "a <= 1 and b >= 1 or not c != 1"),
        ("2×a · b⋅c − 1 ÷ a == 0", "2 * a * b * c - 1 / a = 0"),
        ("(size ≤ 4)∧(error≤0.05·N)", "size <= 4 and error <= 0.05 * N"),
        ("a<=1 AND NOT b<=1 Or True", "a <= 1 and not b <= 1 or true"),
        ("a\n<=\t1\u00a0and b<=1", "a <= 1 and b <= 1"),
    ],
)
def test_other_spellings_print_in_ascii(text, ascii_text):
    assert str(parse(text)) == ascii_text
    assert parse(ascii_text) == parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.1", Fraction(1, 10)),
        ("5%", Fraction(1, 20)),
        ("12.5 %", Fraction(1, 8)),
        ("1e-3", Fraction(1, 1000)),
        ("2.5E+2", 250),
        (".5", Fraction(1, 2)),
        ("3.", 3),
        ("007", 7),
        ("1e300", 10**300),
        ("0e999", 0),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_numbers_are_exact(text, expected):
    assert parse_term(text) == Number(Fraction(expected))


# Printing


@given(FORMULAS)
def test_formulas_round_trip(formula):
    assert parse(str(formula), max_length=10**6) == formula


@given(TERMS)
def test_terms_round_trip(term):
    assert parse_term(str(term), max_length=10**6) == term


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(1, 1000), "0.001"),
        (Fraction(5, 4), "1.25"),
        (Fraction(1000), "1000"),
        (Fraction(10) ** 30, "1e30"),
        (Fraction(12, 10**30), "12e-30"),
        (Fraction(0), "0"),
        (Fraction(1, 3), "(1/3)"),
        (Fraction(-1, 3), "(-1/3)"),
        (Fraction(-5, 2), "-2.5"),
    ],
)
def test_numbers_print_with_their_value(number, text):
    assert str(Number(number)) == text
    assert constant(parse_term(text)) == number


@pytest.mark.parametrize("number", [Fraction(1, 3), Fraction(-2), Fraction(-1, 3)])
def test_numbers_made_by_programs_keep_their_value_in_context(number):
    term = Arithmetic("/", A, Arithmetic("-", Number(number), Negate(Number(number))))
    assert value(parse_term(str(term)), {"a": 7}) == value(term, {"a": 7}) == 7 / (2 * number)


def test_parentheses_only_where_needed():
    text = "a * (b + c) - (a - b) <= -(a * b) and (a < 1 or b < 1) and not (a < 1 and b < 1)"
    assert str(parse(f"(({text}))")) == text


def test_joining_flattens_and_has_identities():
    assert all_of() == Truth(True)
    assert any_of() == Truth(False)
    assert all_of(P) == any_of(P) == P
    assert all_of(And((P, Q)), R) == And((P, Q, R))
    assert any_of(P, Or((Q, R))) == Or((P, Q, R))


# Meaning


def test_sums_of_decimals_are_exact():
    assert holds(parse("0.1 + 0.2 = 0.3"), {}) is True
    assert holds(parse("acc >= 0.1"), {"acc": Fraction(1, 10)}) is True
    assert holds(parse("acc > 10%"), {"acc": Fraction(1, 10)}) is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", 5),
        ("a - b", -1),
        ("a * b", 6),
        ("a / b", Fraction(2, 3)),
        ("-a", -2),
        ("abs(a - b)", 1),
        ("min(a, b, 7)", 2),
        ("max(a, b, 1)", 3),
        ("a / (b - 3)", None),
        ("0 * (a / 0)", None),
        ("-u", None),
        ("u + a", None),
        ("a - u", None),
        ("abs(u)", None),
        ("min(a, u)", None),
        ("max(u, 1)", None),
    ],
)
def test_values(text, expected):
    assert value(parse_term(text), {"a": 2, "b": 3, "u": None}) == expected


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("<=", (True, True, False)),
        ("<", (True, False, False)),
        (">=", (False, True, True)),
        (">", (False, False, True)),
        ("=", (False, True, False)),
        ("!=", (True, False, True)),
    ],
)
def test_relations(relation, expected):
    formula = parse(f"a {relation} 2")
    assert tuple(holds(formula, {"a": a}) for a in (1, 2, 3)) == expected


TRUTHS = {True: "1 < 2", False: "2 < 1", None: "1 / 0 < 1"}


@pytest.mark.parametrize("truths", list(product(TRUTHS, repeat=2)))
def test_kleene_tables(truths):
    left, right = (TRUTHS[t] for t in truths)
    both = False if False in truths else None if None in truths else True
    either = True if True in truths else None if None in truths else False
    assert holds(parse(f"{left} and {right}"), {}) is both
    assert holds(parse(f"{left} or {right}"), {}) is either


@pytest.mark.parametrize(("truth", "negated"), [(True, False), (False, True), (None, None)])
def test_kleene_not(truth, negated):
    assert holds(parse(f"not ({TRUTHS[truth]})"), {}) is negated


@pytest.mark.parametrize("atom", ["f1 >= 0.8", "f1 < 0.8", "f1 = f1", "f1 != 1", "1 / 0 = 1 / 0"])
def test_undefined_satisfies_no_atom_nor_its_negation(atom):
    assert holds(parse(atom), UNDEFINED) is None
    assert holds(parse(f"not ({atom})"), UNDEFINED) is None


def test_undefined_does_not_hide_what_is_decided():
    assert holds(parse("size <= 4 or f1 >= 0.8"), {"size": 3, **UNDEFINED}) is True
    assert holds(parse("size <= 4 and f1 >= 0.8"), {"size": 5, **UNDEFINED}) is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < a < 3", True),
        ("1 < a < 2", False),
        ("3 > a >= 2 = a", True),
        ("1 < a < u", None),
        ("5 < a < u", False),
    ],
)
def test_chains_are_conjunctions(text, expected):
    assert holds(parse(text), {"a": 2, "u": None}) is expected


@given(FORMULAS, st.data())
def test_evaluation_agrees_with_pairwise_chains(formula, data):
    env = {n: data.draw(st.none() | st.integers(-3, 3)) for n in sorted(names(formula))}

    def unchain(x):
        match x:
            case Comparison(terms, ops):
                links = zip(terms, ops, terms[1:], strict=False)
                return all_of(*(Comparison((a, b), (op,)) for a, op, b in links))
            case And(parts):
                return all_of(*map(unchain, parts))
            case Or(parts):
                return Not(all_of(*(Not(unchain(part)) for part in parts)))
            case Not(part):
                return Not(unchain(part))
        return x

    assert holds(unchain(formula), env) is holds(formula, env)


def test_numpy_integers_do_not_wrap():
    large = np.int64(2**62)
    assert value(parse_term("a * a * a"), {"a": large}) == 2**186


def test_floats_are_refused():
    with pytest.raises(TypeError, match="float"):
        value(A, {"a": 0.1})


def test_missing_metrics_are_named():
    with pytest.raises(UnknownMetricError, match=r"unknown metric 'eror'\. Did you mean 'error'"):
        holds(parse("eror <= 5"), {"error": 1, "size": 2})


def test_constants():
    assert constant(parse_term("-(1 + 2) / 6")) == Fraction(-1, 2)
    assert constant(parse_term("0 * a")) is None
    assert constant(parse_term("1 / 0")) is None


def test_names_of_every_kind_of_part():
    formula = parse("not (-a + b <= abs(c) < N[1,0]) or min(d, e) = 1 and true")
    assert names(formula) == {"a", "b", "c", "N[1,0]", "d", "e"}
    assert names(num(1)) == frozenset()


def test_substitution_reaches_every_kind_of_part():
    formula = parse("not (-a + a <= abs(a) < b) or min(a, 1) = 1 and true")
    replaced = substitute(formula, {"a": parse_term("b - c"), "b": A})
    expected = "not (-(b - c) + (b - c) <= abs(b - c) < a) or min(b - c, 1) = 1 and true"
    assert replaced == parse(expected)


@given(FORMULAS, st.data())
def test_substituting_numbers_is_evaluating(formula, data):
    env = {n: data.draw(st.fractions(-3, 3, max_denominator=4)) for n in sorted(names(formula))}
    closed = substitute(formula, {n: Number(x) for n, x in env.items()})
    assert names(closed) == frozenset()
    assert holds(closed, {}) is holds(formula, env)


def test_values_are_hashable_and_survive_pickling():
    formula = parse("a <= b < 3 and not max(a, b) = 1% or true")
    assert pickle.loads(pickle.dumps(formula)) == formula
    assert len({formula, parse(str(formula))}) == 1


# Errors: the sentence, the text, and carets under the place


@pytest.mark.parametrize(
    ("text", "sentence", "carets"),
    [
        ("size <= and error <= 5", "expected a number after '<='", "        ^^^"),
        ("size <=", "expected a number after '<='", "       ^"),
        ("size ≤ ", "expected a number after '≤'", "       ^"),
        ("<= 4", "expected a number before '<='", "^^"),
        ("* 4 < 1", "expected a number before '*'", "^"),
        ("and a < 1", "expected a comparison before 'and'", "^^^"),
        ("a < 1 or", "expected a comparison after 'or'", "        ^"),
        ("not", "expected a comparison after 'not'", "   ^"),
        ("1 + * 2 < 3", "expected a number after '+'", "    ^"),
        ("a < ()", "expected an expression after '('", "     ^"),
        ("min() < 1", "expected an expression after '('", "    ^"),
        ("min(1, ) < 1", "expected a number after ','", "       ^"),
        ("a $ b", "unknown character '$'", "  ^"),
        ("a < 'x'", 'unknown character "\'"', "    ^"),
        ("σ < 1", "unknown character 'σ'", "^"),
        ("a < \x00", "unknown character '\\x00'", "    ^"),
        ("a < 1 && b < 1", "'&&' is not an operator here; write 'and'", "      ^^"),
        ("a < 1 | b < 1", "'|' is not an operator here; write 'or'", "      ^"),
        ("!(a < 1)", "'!' is not an operator here; write 'not'", "^"),
        ("a => 1", "'=>' is not an operator here; write '>='", "  ^^"),
        ("a ** 2 < 1", "'**' is not an operator here; write 'x * x'", "  ^^"),
        ("a % 2 < 1", "'%' must follow a number, as in 5%", "  ^"),
        (
            "sqrt(a) < 1",
            "unknown function 'sqrt'. Known functions: abs, largest, least, max, min.",
            "^^^^",
        ),
        (
            "1 < maxx(a)",
            "unknown function 'maxx'. Did you mean 'max'? "
            "Known functions: abs, largest, least, max, min.",
            "    ^^^^",
        ),
        ("(size <= 4", "this '(' is never closed", "^"),
        ("a < abs(b", "this '(' is never closed", "       ^"),
        ("size <= 4)", "this ')' has no '(' before it", "         ^"),
        ("(a < 1 b", "expected an operator or ')' before 'b'", "       ^"),
        ("size <= 4 error <= 5", "expected an operator before 'error'", "          ^^^^^"),
        ("2 N11 < 1", "expected an operator before 'N11'", "  ^^^"),
        ("a < 0,5", "expected an operator before ','", "     ^"),
        ("a[1 < 2", "this '[' is never closed", " ^"),
        ("a[ ] < 2", "expected a column or an index between '[' and ']'", " ^^^"),
        ("a [1] < 2", "'[' must follow a name directly, as in agreement[score]", "  ^"),
        ("__import__ < 1", "names that begin with '__' are not allowed", "^^^^^^^^^^"),
        (
            "a. < 1",
            "'.' is only allowed inside a number, or between a further table's name and a metric",
            " ^",
        ),
        (
            "a.b.real < 1",
            "'.' is only allowed inside a number, or between a further table's name and a metric",
            "   ^",
        ),
        ("a.__class__ < 1", "names that begin with '__' are not allowed", "^^^^^^^^^^^"),
        ("min < 1", "'min' is a function; write min(x, y)", "^^^"),
        ("abs < 1", "'abs' is a function; write abs(x)", "^^^"),
        ("abs(a, b) < 1", "'abs' takes one number, got 2", "       ^"),
        ("size + 1", "expected a comparison, found the number 'size + 1'", "^^^^^^^^"),
        ("a < 1 and size", "expected a comparison, found the number 'size'", "          ^^^^"),
        ("not (a)", "expected a comparison, found the number '(a)'", "    ^^^"),
        ("(a < 1) < b", "expected a number, found the condition '(a < 1)'", "^^^^^^^"),
        ("1 + (a<b) < 2", "expected a number, found the condition '(a<b)'", "    ^^^^^"),
        ("-true < 2", "expected a number, found the condition 'true'", " ^^^^"),
        ("a = not b < 1", "expected a number, found the condition 'not b < 1'", "    ^^^^^^^^^"),
        ("abs(a < 1) < 1", "expected a number, found the condition 'a < 1'", "    ^^^^^"),
        (
            "a < 1e999",
            "expected a number between 1e-300 and 1e300, of at most 100 digits",
            "    ^^^^^",
        ),
        (
            "1e-99999999999 < a",
            "expected a number between 1e-300 and 1e300, of at most 100 digits",
            "^^^^^^^^^^^^^^",
        ),
    ],
)
def test_errors_point_at_the_place(text, sentence, carets):
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse(text)
    shown = text.replace("\x00", " ")
    assert str(caught.value) == f"{sentence}\n  {shown}\n  {carets}"


def test_conditions_are_no_terms():
    with pytest.raises(ConstraintSyntaxError, match="expected a number, found the condition 'a<1'"):
        parse_term("a<1")


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_empty_formula(text):
    with pytest.raises(ConstraintSyntaxError, match="the formula is empty; write one such as"):
        parse(text)


def test_no_text():
    with pytest.raises(ConstraintSyntaxError, match=r"expected a formula as text, .* got 5"):
        parse(5)


def test_length_limit():
    text = "a < 1".ljust(MAX_LENGTH)
    assert parse(text) == Comparison((A, num(1)), ("<",))
    with pytest.raises(ConstraintSyntaxError, match="has 2,001 characters; at most 2,000 are read"):
        parse(text + " ")
    assert parse(text + " ", max_length=MAX_LENGTH + 1) == parse("a < 1")


def test_digit_limit():
    assert parse_term("1" * 100) == num("1" * 100)
    with pytest.raises(ConstraintSyntaxError, match="at most 100 digits"):
        parse_term("1" * 101)


@pytest.mark.parametrize(
    ("opening", "inner", "closing"),
    [("(", "a < 1", ")"), ("not ", "a < 1", ""), ("-", "a < 1", ""), ("abs(", "a", ")")],
)
def test_nesting_limit(opening, inner, closing):
    read = parse if "<" in inner else parse_term
    deepest = opening * MAX_NESTING + inner + closing * MAX_NESTING
    assert read(str(read(deepest))) == read(deepest)
    with pytest.raises(ConstraintSyntaxError, match="nested more than 50 levels deep") as caught:
        read(opening + deepest + closing)
    *_, carets = str(caught.value).splitlines()
    assert carets.endswith("^")


def test_parentheses_side_by_side_are_not_nested():
    text = " or ".join(["((-a) < abs(min(1, 2)))"] * (2 * MAX_NESTING // 3))
    assert parse(text).parts == (parse("-a < abs(min(1, 2))"),) * (2 * MAX_NESTING // 3)


def test_nesting_limit_comes_before_the_stack_is_full():
    with pytest.raises(ConstraintSyntaxError, match="nested more than"):
        parse("a<1 or b<1 and 1<2+3*(" * 80)


def test_longest_sum_can_be_walked():
    longest = " + ".join(["a"] * MAX_HEIGHT)
    formula = parse(f"{longest} <= {MAX_HEIGHT}")
    assert parse(str(formula)) == formula
    assert hash(substitute(formula, {"a": B})) != hash(formula)
    assert names(formula) == {"a"}
    assert holds(formula, {"a": 1}) is True
    with pytest.raises(ConstraintSyntaxError, match=r"more than 120 operators .* group long sums"):
        parse(f"{longest} + a <= 1")
    assert holds(parse(f"({longest[:-4]}) + ({longest[:-4]}) = 238"), {"a": 1}) is True


def test_long_lines_are_cut_around_the_place():
    text = "a < 1 and " * 30 + "$" + " and a < 1" * 30
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse(text)
    _, line, carets = str(caught.value).splitlines()
    assert line.startswith("  …")
    assert line.endswith("…")
    assert len(line) <= 104
    assert line[carets.index("^")] == "$"


def test_long_lines_are_filled_up_to_their_end():
    _, line, _ = str(syntax_error("x" * 300, 299, 300, "look")).splitlines()
    assert line == "  …" + "x" * 100


def test_only_the_line_of_the_place_is_shown():
    error = syntax_error("a < 1\nand\tb $ 2\nor c", 12, 13, "look")
    assert str(error) == "look\n  and b $ 2\n        ^"


def test_place_that_spans_lines_is_marked_to_the_end_of_its_line():
    assert str(syntax_error("a + b\n+ c", 2, 9, "look")) == "look\n  a + b\n    ^^^"


def test_wide_characters_take_two_columns():
    assert str(syntax_error("a[分数] $", 6, 7, "look")) == "look\n  a[分数] $\n" + " " * 10 + "^"


def test_locate_finds_whole_names():
    text = "sizes + x[size] <= size"
    assert locate(text, "size") == (19, 23)
    assert locate(text, "x[size]") == (8, 15)
    with pytest.raises(ValueError, match="'acc' does not occur"):
        locate(text, "acc")


PIECES = ["a", "N[1,0]", "1", "0.5", "5%", "1e3", "(", ")", ",", "[", "]", ".", "_", "$", "\n"]
PIECES += ["+", "-", "*", "/", "<=", "<", "=", "≠", "and", "or", "not", "¬", "true", "abs", "min("]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map(" ".join)))
@example("(" * 2000)
@example("-" * 2000)
@example("not " * 500)
@example("a+" * 999 + "a")
@example("a<" * 999 + "a")
@example("abs(" * 500)
@example("9" * 2000)
@example("[" * 2000)
@example("a[" * 1000)
@example("\ud800 < 1")
def test_any_text_is_read_or_refused_with_a_place(text):
    try:
        formula = parse(text)
    except ConstraintSyntaxError as error:
        lines = str(error).splitlines()
        assert len(lines) == 1 or set(lines[2]) == {" ", "^"}
    else:
        assert parse(str(formula), max_length=10**6) == formula
