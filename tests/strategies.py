"""Hypothesis strategies: tiny tables, spaces small enough to list, formulas with their meaning.

A formula is drawn as one structure that carries both its text and a function on the metrics of a
tree, in Kleene logic (None is "undefined"), so its meaning does not come from adtc's parser.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from hypothesis import strategies as st

from oracle import Number, Space, Table, allowed_labels, metric_names

MOST_TREES = 1200  # what the oracle may list for one example

# --- tables and spaces ------------------------------------------------------------------------


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    max_rows: int = 12,
    max_features: int = 5,
    labels: tuple[int, ...] = (2, 2, 3),
    groups: tuple[int, ...] = (2, 0, 3, 2),  # 0: no sensitive column; one group is refused
    further: tuple[str, ...] = (),
) -> Table:
    """Draw rows in which every label and every group occurs, be it with weight 0.

    Further tables of these names have rows of their own, in which neither need occur.
    """
    n_labels, n_groups = draw(st.sampled_from(labels)), draw(st.sampled_from(groups))
    n_rows = max(min(draw(a_height), max_rows), n_labels, n_groups)
    n_features = min(draw(a_width), max_features)
    changes = draw(_column(st.integers(0, 2**n_features - 1), n_rows))
    # Zeros, which are drawn most often, shall mean different rows: equal ones allow no split.
    rows = [tuple((5 * r ^ c) >> f & 1 for f in range(n_features)) for r, c in enumerate(changes)]
    references = draw(st.sampled_from([(), (), ("old",), ("old", "model_2")]))
    codes = st.integers(0, n_labels - 1)
    table = Table(
        rows=tuple(rows),
        y=draw(_covering(n_labels, n_rows)),
        z=draw(_covering(n_groups, n_rows)) if n_groups else None,
        weights=draw(st.none() | _weights(n_rows)),
        references=tuple((name, draw(_column(codes, n_rows))) for name in references),
        positive=None if n_labels == 2 else draw(st.none() | codes),
    )
    return replace(table, further=tuple((name, draw(further_tables(table))) for name in further))


@st.composite
def further_tables(draw: st.DrawFn, table: Table) -> Table:
    """Draw other rows with the same columns; a group may be unknown, a label or group missing."""
    n_rows = draw(st.integers(1, 6))
    bits = draw(_column(st.integers(0, 2**table.n_features - 1), n_rows))
    codes = st.integers(0, table.n_labels - 1)
    return Table(
        rows=tuple(
            tuple((3 * r ^ b) >> f & 1 for f in range(table.n_features)) for r, b in enumerate(bits)
        ),
        y=draw(_column(codes, n_rows)),
        z=None if table.z is None else draw(_column(st.integers(0, table.n_groups), n_rows)),
        weights=draw(st.none() | _weights(n_rows)),
        references=tuple((name, draw(_column(codes, n_rows))) for name, _ in table.references),
        positive=table.positive,
        like=table,
    )


def _column(values: st.SearchStrategy[int], n_rows: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(values, min_size=n_rows, max_size=n_rows).map(tuple)


def _weights(n_rows: int) -> st.SearchStrategy[tuple[int, ...]]:
    return _column(st.integers(0, 4), n_rows).filter(any)


@st.composite
def _covering(draw: st.DrawFn, n_values: int, n_rows: int) -> tuple[int, ...]:
    """Draw a column of 0, …, n_values - 1 in which each occurs."""
    rest = draw(_column(st.integers(0, n_values - 1), n_rows - n_values))
    return tuple(draw(st.permutations([*range(n_values), *rest])))


def number_of_trees(
    table: Table, space: Space, depth: int, rows: list[int], unused: list[int]
) -> int:
    """Count the trees before ``max_size`` and ``trivial_splits`` are looked at."""
    leaves = len(allowed_labels(table, space, rows))
    if depth == 0:
        return leaves
    total = leaves
    for f in unused:
        rest = [g for g in unused if g != f]
        yes = [r for r in rows if table.rows[r][f] == 1]
        no = [r for r in rows if table.rows[r][f] == 0]
        ones = number_of_trees(table, space, depth - 1, yes, rest)
        total += ones * number_of_trees(table, space, depth - 1, no, rest) if ones else 0
    return total


a_leaf_share = st.sampled_from([Fraction(0)] * 3 + [Fraction(2, 5), Fraction(3, 4)])


@st.composite
def problems(draw: st.DrawFn, *, shares: bool = False, **options: object) -> tuple[Table, Space]:
    """Draw a table and a space on it of at most ``MOST_TREES`` trees.

    With ``shares``, a leaf's label may need a share of its rows.
    """
    table = draw(tables(**options))
    space = Space(
        max_depth=draw(a_depth),
        minsup=min(draw(a_minsup), table.total),
        relminsup=draw(a_relminsup),
        max_size=draw(a_size),
        labels=draw(st.sampled_from(["any", "any", "majority"])),
        trivial_splits=draw(st.sampled_from([True, True, False])),
        min_leaf_share=draw(a_leaf_share) if shares else Fraction(0),
    )
    reduced = draw(st.sampled_from([_less_deep, _less_wide, _less_fine]))
    while _number_of_trees(table, space) > MOST_TREES:
        table, space = reduced(table, space)
    return table, space


# Hypothesis draws the first of a list most often: it is a value of which something can go wrong.
a_height = st.sampled_from([6, 7, 8, 9, 10, 11, 12, 5, 4, 3, 2, 1])
a_width = st.sampled_from([3, 4, 2, 3, 5, 1, 3, 4, 2, 5])
a_depth = st.sampled_from([2, 3, 1, 2, 3, 0, 2, 3])
a_minsup = st.sampled_from([1, 0, 1, 0, 1, 0, 2, 3])
a_relminsup = st.sampled_from([None] * 12 + [Fraction(n, 100) for n in (1, 10, 15, 30, 100)])
a_size = st.sampled_from([None] * 9 + [5, 4, 3, 6, 2, 1])


def _number_of_trees(table: Table, space: Space) -> int:
    every = list(range(len(table.rows))), list(range(table.n_features))
    return number_of_trees(table, space, space.max_depth, *every)


def _less_deep(table: Table, space: Space) -> tuple[Table, Space]:
    return table, replace(space, max_depth=space.max_depth - 1)


def _less_wide(table: Table, space: Space) -> tuple[Table, Space]:
    def narrow(rows: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(row[:-1] for row in rows)

    further = tuple((name, replace(t, rows=narrow(t.rows))) for name, t in table.further)
    return replace(table, rows=narrow(table.rows), further=further), space


def _less_fine(table: Table, space: Space) -> tuple[Table, Space]:
    return table, replace(space, minsup=space.minsup + 1)


# --- formulas ---------------------------------------------------------------------------------

Values = Mapping[str, Number | None]

SUM, PRODUCT, SIGNED, ATOM = range(4)  # how tightly a term's outermost sign binds
OR, AND, NOT, COMPARISON = range(4)  # the same for formulas


@dataclass(frozen=True)
class Term:
    """The text of a term, how tightly it binds, and its value; None is undefined."""

    text: str
    binds: int
    value: Callable[[Values], Number | None]

    def within(self, least: int) -> str:
        """Write the term where something that binds at least so tightly is expected."""
        return self.text if self.binds >= least else f"({self.text})"


@dataclass(frozen=True)
class Formula:
    """The text of a formula, how tightly it binds, and whether a tree's metrics satisfy it."""

    text: str
    binds: int
    holds: Callable[[Values], bool | None]

    def within(self, least: int) -> str:
        """Write the formula where something that binds at least so tightly is expected."""
        return self.text if self.binds >= least else f"({self.text})"


def strict(function: Callable[..., Number | None]) -> Callable[..., Number | None]:
    """Make a function undefined wherever an argument is."""

    def undefined_spreads(*values: Number | None) -> Number | None:
        return None if any(v is None for v in values) else function(*values)

    return undefined_spreads


def kleene_not(a: bool | None) -> bool | None:
    return None if a is None else not a


def kleene_and(parts: list[bool | None]) -> bool | None:
    if False in parts:
        return False
    return None if None in parts else True


def kleene_or(parts: list[bool | None]) -> bool | None:
    return kleene_not(kleene_and([kleene_not(p) for p in parts]))


OPERATORS = {
    "+": strict(lambda a, b: a + b),
    "-": strict(lambda a, b: a - b),
    "*": strict(lambda a, b: a * b),
    "/": strict(lambda a, b: None if b == 0 else Fraction(a) / b),
}
FUNCTIONS = {"abs": strict(abs), "min": strict(min), "max": strict(max)}
COMPARISONS = {
    "<=": strict(lambda a, b: a <= b),
    "<": strict(lambda a, b: a < b),
    ">=": strict(lambda a, b: a >= b),
    ">": strict(lambda a, b: a > b),
    "=": strict(lambda a, b: a == b),
    "!=": strict(lambda a, b: a != b),
}


def number(text: str) -> Term:
    """Take a number as it is written: 0.1 is 1/10."""
    return Term(text, ATOM, lambda values: Fraction(text))


def name(of: str) -> Term:
    return Term(of, ATOM, lambda values: values[of])


def negative(term: Term) -> Term:
    value = strict(lambda a: -a)
    return Term(f"-{term.within(ATOM)}", SIGNED, lambda values: value(term.value(values)))


def arithmetic(op: str, left: Term, right: Term) -> Term:
    binds = PRODUCT if op in "*/" else SUM
    text = f"{left.within(binds)} {op} {right.within(binds + 1)}"  # left-associative
    return Term(text, binds, lambda v: OPERATORS[op](left.value(v), right.value(v)))


def call(function: str, arguments: list[Term]) -> Term:
    text = f"{function}({', '.join(a.text for a in arguments)})"
    return Term(text, ATOM, lambda v: FUNCTIONS[function](*[a.value(v) for a in arguments]))


def compare(terms: list[Term], ops: list[str]) -> Formula:
    """Write a chain; it says what its neighbours say one by one."""
    text = terms[0].text + "".join(
        f" {op} {term.text}" for op, term in zip(ops, terms[1:], strict=True)
    )

    def holds(v: Values) -> bool | None:
        values = [term.value(v) for term in terms]
        links = zip(values[:-1], ops, values[1:], strict=True)
        return kleene_and([COMPARISONS[op](a, b) for a, op, b in links])

    return Formula(text, COMPARISON, holds)


def negation(part: Formula) -> Formula:
    # "not a <= b" denies the comparison; and, or and a second not are put in parentheses.
    return Formula(f"not {part.within(COMPARISON)}", NOT, lambda v: kleene_not(part.holds(v)))


def conjunction(parts: list[Formula]) -> Formula:
    text = " and ".join(part.within(AND + 1) for part in parts)
    return Formula(text, AND, lambda v: kleene_and([part.holds(v) for part in parts]))


def disjunction(parts: list[Formula]) -> Formula:
    text = " or ".join(part.within(OR + 1) for part in parts)
    return Formula(text, OR, lambda v: kleene_or([part.holds(v) for part in parts]))


COUNTS = list(map(number, ["0", "1", "2", "3", "4", "5", "6", "8", "10"]))
SHARES = list(map(number, ["0", "0.1", "0.25", "0.3333", "0.5", "0.75", "0.8", "1", "1.0"]))
THIRDS = [  # no decimal number equals them
    arithmetic("/", number(a), number(b)) for a, b in ("13", "23", "16", "56", "17", "37")
]

# Strategies are made once: making them anew for each table would take most of the time.
a_number = st.sampled_from(COUNTS + SHARES)
a_count = st.sampled_from(COUNTS)
a_share = st.sampled_from(SHARES + THIRDS)
a_comparison = st.sampled_from(list(COMPARISONS))
a_kind_of_term = st.sampled_from(["name", "name", "number", *"+-*/", "negative", "abs", "min max"])
a_kind_of_formula = st.sampled_from(["bound", "bound", "chain", "not", "and", "or"])
few = st.integers(2, 3)


@lru_cache(maxsize=256)
def a_name(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.sampled_from(names)


def draw_term(draw: st.DrawFn, names: tuple[str, ...], height: int) -> Term:
    """Draw a term, some of them undefined for some trees."""
    kind = draw(a_kind_of_term)
    if kind == "number":
        return draw(a_number)
    if kind == "name" or height == 0:
        return name(draw(a_name(names)))
    if kind == "negative":
        return negative(draw_term(draw, names, height - 1))
    if kind == "abs":
        return call("abs", [draw_term(draw, names, height - 1)])
    if kind == "min max":
        function = draw(st.sampled_from(["min", "max"]))
        return call(function, [draw_term(draw, names, height - 1) for _ in range(draw(few))])
    left, right = (draw_term(draw, names, height - 1) for _ in range(2))
    return arithmetic(kind, left, right)


def is_count(metric: str) -> bool:
    name = metric.rpartition(".")[2]
    return name in ("size", "depth", "support", "error") or name[0] == "N" or "[" in name


def draw_bound(draw: st.DrawFn, names: tuple[str, ...]) -> Formula:
    """Draw what people ask for: one metric, one threshold that may matter."""
    metric = draw(a_name(names))
    limit = draw(a_count if is_count(metric) else a_share)
    return compare([name(metric), limit], [draw(a_comparison)])


def draw_formula(draw: st.DrawFn, names: tuple[str, ...], height: int) -> Formula:
    kind = draw(a_kind_of_formula)
    if kind == "chain":
        terms = [draw_term(draw, names, 2) for _ in range(draw(few))]
        return compare(terms, [draw(a_comparison) for _ in terms[1:]])
    if kind == "bound" or height == 0:
        return draw_bound(draw, names)
    if kind == "not":
        return negation(draw_formula(draw, names, height - 1))
    parts = [draw_formula(draw, names, height - 1) for _ in range(draw(few))]
    return conjunction(parts) if kind == "and" else disjunction(parts)


@st.composite
def formulas(draw: st.DrawFn, table: Table) -> Formula:
    """Draw formulas over the metrics of a table."""
    names = metric_names(table)
    often = [name for name in names if not is_count(name)] * 3  # else counts would crowd them out
    return draw_formula(draw, (*names, *often), height=2)


@st.composite
def metric_lists(draw: st.DrawFn, table: Table, most: int = 3) -> list[str]:
    """Draw different metrics of a table, in any order."""
    one = a_name(tuple(metric_names(table)))
    return draw(st.lists(one, min_size=1, max_size=most, unique=True))
