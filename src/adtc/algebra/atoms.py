"""Atoms of formulas: relations and their tables, links of chains, negation normal form."""

from collections.abc import Iterator

from adtc.algebra.expressions import And, Comparison, Formula, Not, Or, Truth, all_of, any_of

NEGATED = {"<=": ">", "<": ">=", ">=": "<", ">": "<=", "=": "!=", "!=": "="}
"""What holds of two numbers iff a relation does not."""

MIRRORED = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "=": "=", "!=": "!="}
"""A relation read from right to left."""


def links(comparison: Comparison) -> list[Comparison]:
    """Cut a chain of comparisons into atoms of one relation.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> [str(link) for link in links(parse("2 <= size < 4"))]
    ['2 <= size', 'size < 4']
    """
    terms, ops = comparison.terms, comparison.ops
    triples = zip(terms, ops, terms[1:], strict=False)
    return [Comparison((left, right), (op,)) for left, op, right in triples]


def negated(atom: Comparison) -> Comparison:
    """Return the atom that holds where one does not; undefined stays undefined."""
    return Comparison(atom.terms, (NEGATED[atom.ops[0]],))


def conjuncts(formula: Formula) -> Iterator[Formula]:
    """Yield the parts of a conjunction, chains cut into atoms; negations stay where they are."""
    match formula:
        case And(parts):
            for part in parts:
                yield from conjuncts(part)
        case Comparison():
            yield from links(formula)
        case Truth(True):
            return
        case _:
            yield formula


def normal(formula: Formula, *, positive: bool = True) -> Formula:
    """Push negations into the atoms, each of one relation: the negation normal form.

    Examples
    --------
    >>> from adtc.algebra.formula import parse
    >>> str(normal(parse("not (error > 5 or 2 <= size <= 4)")))
    'error <= 5 and (2 > size or size > 4)'
    """
    match formula:
        case Not(part):
            return normal(part, positive=not positive)
        case Truth(value):
            return Truth(value is positive)
        case And(parts) | Or(parts):
            join = all_of if isinstance(formula, And) is positive else any_of
            return join(*(normal(part, positive=positive) for part in parts))
        case Comparison():
            atoms = links(formula)
            return all_of(*atoms) if positive else any_of(*map(negated, atoms))
    raise TypeError(f"not a formula: {formula!r}")


def atoms(formula: Formula) -> Iterator[Comparison]:
    """Yield the comparisons of a formula, under negations and disjunctions, too."""
    match formula:
        case Comparison():
            yield formula
        case Not(part):
            yield from atoms(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms(part)
