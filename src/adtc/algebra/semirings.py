"""Semirings: what the sum over all trees computes (Secs. 2.1, 2.5 and 4.2).

A question about all trees is one sum of products; the semiring decides what comes out: existence,
a number, a best value, a tree, a front. A semiring of one's own is one line; `laws.check_laws`
tests it. Semirings of tensors are made in `tensors`.
"""

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from adtc.algebra import minimal, moments
from adtc.algebra.c_functions import BINARY as BINARY  # noqa: PLC0414  so has it these
from adtc.algebra.c_functions import LEAF as LEAF  # noqa: PLC0414
from adtc.algebra.c_functions import c_functions
from adtc.algebra.minimal import FeatureSets, Front
from adtc.algebra.moments import Moments
from adtc.algebra.semiring import Semiring as Semiring  # noqa: PLC0414  `adtc.semirings` has it
from adtc.algebra.semiring import Values
from adtc.algebra.trees import Leaf
from adtc.algebra.witnesses import Costed, Drawn, Found, cheaper, draw_one, join
from adtc.errors import QueryError, UnknownSemiringError, unknown
from adtc.text import is_whole

if TYPE_CHECKING:
    from numpy.random import Generator

R = TypeVar("R")


def _always(value: R) -> Callable[[int, Values], R]:
    return lambda label, values: value


def _exactly(name: str, n: int, values: Values) -> Values:
    """Check how many metric values a leaf brings."""
    if len(values) != n:
        raise QueryError(
            f"semiring '{name}' aggregates {n} metric(s), but {len(values)} came; name {n} of them."
        )
    return values


def _single(name: str) -> Callable[[int, Values], float]:
    return lambda label, values: _exactly(name, 1, values)[0]


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def _log_add(a: float, b: float) -> float:
    """Compute log(eᵃ + eᵇ) without leaving the range of floats."""
    larger = max(a, b)
    if math.isinf(larger):
        return larger
    return larger + math.log1p(math.exp(-abs(a - b)))


BOOLEAN: Semiring[bool] = Semiring(
    "boolean", False, True, operator.or_, operator.and_, _always(True), adds_up=True
)
COUNT: Semiring[int] = Semiring("count", 0, 1, operator.add, operator.mul, _always(1), adds_up=True)
MIN_PLUS: Semiring[float] = Semiring(
    "min-plus", math.inf, 0, min, operator.add, _single("min-plus"), adds_up=True
)
MAX_PLUS: Semiring[float] = Semiring(
    "max-plus", -math.inf, 0, max, operator.add, _single("max-plus"), adds_up=True
)
VITERBI: Semiring[float] = Semiring(
    "viterbi", 0, 1, max, operator.mul, _single("viterbi"), equal=_close
)
# Integers as 0 and 1, so that Fractions stay exact.
REAL: Semiring[float] = Semiring(
    "real", 0, 1, operator.add, operator.mul, _single("real"), equal=_close
)
LOG_SUM_EXP: Semiring[float] = Semiring(
    "log-sum-exp",
    -math.inf,
    0.0,
    _log_add,
    operator.add,
    _single("log-sum-exp"),
    equal=_close,
    adds_up=True,
)


def compiled(
    name: str,
    zero: float,
    one: float,
    add: Callable[[float, float], float],
    mul: Callable[[float, float], float],
    *,
    leaf: Callable[..., float],
) -> Semiring[float]:
    """Make a semiring of floats from C functions, which the fast engine calls by itself.

    Parameters
    ----------
    add, mul
        ⊕ and ⊗: C functions ``double f(double, double)``.
    leaf
        The value of a leaf, from its label and the values of the n metrics aggregated over: a C
        function ``double f(int64_t label, const double *values, int64_t n)``.

    Notes
    -----
    A C function is a function pointer of ctypes or cffi, or what ``numba.cfunc`` makes. The types
    `BINARY` and `LEAF` turn Python functions into such, for trying things out: a call takes about
    a microsecond then, and an exception is printed, not raised. Several threads may call the
    functions at once.

    Where all three are Python functions, nothing runs inside the engine: the sum is taken over
    the circuit of the good trees in plain Python, as for any other `Semiring`, and ``leaf`` gets
    its label and an array. Under a constraint C functions are called from there, too.

    Examples
    --------
    The tree whose weakest leaf is right on the most rows; the C library has both operations:

    >>> import ctypes, ctypes.util, math
    >>> import adtc
    >>> libm = ctypes.CDLL(ctypes.util.find_library("m"))
    >>> weakest = compiled("weakest", -math.inf, math.inf, libm.fmax, libm.fmin,
    ...                    leaf=LEAF(lambda label, values, n: values[0]))
    >>> data = adtc.Data.from_arrays([[1], [1], [1], [0], [0]], [1, 1, 1, 0, 0])
    >>> adtc.evaluate(data, adtc.Space(max_depth=1), weakest, aggregation="N00 + N11")
    3.0
    """
    functions = c_functions(name, add=add, mul=mul, leaf=leaf)
    if functions is not None:
        add, mul, value = functions.operations()
    else:

        def value(label: int, values: Sequence[float]) -> float:
            return leaf(label, np.array([float(v) for v in values]))

    return Semiring(name, zero, one, add, mul, value, equal=_close, compiled=functions)


def _with_features(feature: int, a: FeatureSets, b: FeatureSets) -> FeatureSets:
    return minimal.unite_sets(minimal.unite_sets(a, b), frozenset((frozenset((feature,)),)))


FEATURE_SETS: Semiring[FeatureSets] = Semiring(
    "feature-sets",
    zero=frozenset(),
    one=frozenset((frozenset(),)),
    add=minimal.join_sets,
    mul=minimal.unite_sets,
    embed=_always(frozenset((frozenset[int](),))),
    split=_with_features,
)
"""The minimal sets of features that some tree manages with, as an antichain."""


def witness() -> Semiring[Found]:
    """Make the Boolean semiring with a tree: whether there is one, and the first found."""
    return Semiring(
        "witness",
        zero=Found(False),
        one=Found(True),
        add=lambda a, b: a if a.exists else b,
        mul=lambda a, b: Found(a.exists and b.exists),
        embed=lambda label, values: Found(True, Leaf(label)),
        split=lambda f, a, b: Found(a.exists and b.exists, join(f, a.tree, b.tree)),
        equal=lambda a, b: a.exists == b.exists,
    )


def min_plus_witness() -> Semiring[Costed]:
    """Make min-plus with a tree of least cost; among equals the first one stays."""
    name = "min-plus-witness"
    return Semiring(
        name,
        zero=Costed(math.inf),
        one=Costed(0),
        add=cheaper,
        mul=lambda a, b: Costed(a.cost + b.cost),
        embed=lambda label, values: Costed(_exactly(name, 1, values)[0], Leaf(label)),
        split=lambda f, a, b: Costed(a.cost + b.cost, join(f, a.tree, b.tree)),
        equal=lambda a, b: a.cost == b.cost,
    )


def k_best(k: int) -> Semiring[tuple[float, ...]]:
    """Make the semiring of the ``k`` smallest costs, sorted, one entry per tree.

    Examples
    --------
    >>> three = k_best(3)
    >>> three.add((1, 4), (1, 2)), three.mul((1, 4), (1, 2))
    ((1, 1, 2), (2, 3, 5))
    """
    name = f"k-best({_positive('k', k)})"
    return Semiring(
        name,
        zero=(),
        one=(0,),
        add=lambda a, b: minimal.k_smallest(a, b, k, _itself),
        mul=lambda a, b: tuple(x + y for x, y in minimal.k_smallest_pairs(a, b, k, _itself)),
        embed=lambda label, values: (_exactly(name, 1, values)[0],),
        adds_up=True,
    )


def k_best_trees(k: int) -> Semiring[tuple[Costed, ...]]:
    """Make the semiring of the ``k`` cheapest trees with their costs, cheapest first."""
    name = f"k-best-trees({_positive('k', k)})"

    def pairs(a: Sequence[Costed], b: Sequence[Costed]) -> list[tuple[Costed, Costed]]:
        return list(minimal.k_smallest_pairs(a, b, k, _cost))

    return Semiring(
        name,
        zero=(),
        one=(Costed(0),),
        add=lambda a, b: minimal.k_smallest(a, b, k, _cost),
        mul=lambda a, b: tuple(Costed(x.cost + y.cost) for x, y in pairs(a, b)),
        embed=lambda label, values: (Costed(_exactly(name, 1, values)[0], Leaf(label)),),
        split=lambda f, a, b: tuple(
            Costed(x.cost + y.cost, join(f, x.tree, y.tree)) for x, y in pairs(a, b)
        ),
        equal=lambda a, b: list(map(_cost, a)) == list(map(_cost, b)),
    )


def pareto(d: int) -> Semiring[Front]:
    """Make the semiring of Pareto fronts in ``d`` criteria, all minimised.

    Examples
    --------
    >>> pareto(2).add(((0, 3), (2, 2)), ((1, 2),))
    ((0, 3), (1, 2))
    """
    name = f"pareto({_positive('d', d)})"
    return Semiring(
        name,
        zero=(),
        one=((0,) * d,),
        add=lambda a, b: minimal.pareto_front(a + b),
        mul=minimal.add_points,
        embed=lambda label, values: (_exactly(name, d, values),),
        adds_up=True,
    )


def counting_draw(rng: "Generator") -> Semiring[Drawn]:
    """Make the paper's N × T: the number of trees and one drawn uniformly from them.

    Notes
    -----
    Sec. 4.2. Every ⊕ draws, so a second evaluation yields another tree. One value used in two
    places holds the same tree in both: draw several trees by evaluating several times.
    """
    return Semiring(
        "counting-draw",
        zero=Drawn(0),
        one=Drawn(1),
        add=partial(draw_one, rng),
        mul=lambda a, b: Drawn(a.count * b.count),
        embed=lambda label, values: Drawn(1, Leaf(label)),
        split=lambda f, a, b: Drawn(a.count * b.count, join(f, a.tree, b.tree)),
        equal=lambda a, b: a.count == b.count,
    )


def expectation(d: int) -> Semiring[Moments]:
    """Make the semiring of count, sums and cross sums of ``d`` metrics, in exact integers.

    Examples
    --------
    >>> semiring = expectation(1)
    >>> semiring.add(semiring.embed(0, (1,)), semiring.embed(1, (2,))).mean()
    Fraction(3, 2)
    """
    name = f"expectation({_positive('d', d)})"
    return Semiring(
        name,
        zero=moments.nothing(d),
        one=moments.of((0,) * d),
        add=moments.add,
        mul=moments.mul,
        embed=lambda label, values: moments.of(_exactly(name, d, values)),
        adds_up=True,
    )


def product(
    *parts: Semiring[Any], metrics: Sequence[Sequence[int]] | None = None
) -> Semiring[tuple[Any, ...]]:
    """Combine semirings component by component: several answers from one sum.

    Parameters
    ----------
    metrics
        For each part, the positions of the metrics it embeds; by default each part gets all.

    Examples
    --------
    >>> both = product(COUNT, MIN_PLUS)
    >>> both.add((2, 5), (3, 4)), both.mul((2, 5), (3, 4))
    ((5, 4), (6, 9))
    """
    if metrics is not None and len(metrics) != len(parts):
        raise QueryError(
            f"a product of {len(parts)} semirings needs {len(parts)} choices of metrics, but"
            f" {len(metrics)} came; give one per semiring."
        )

    def chosen(i: int, values: Values) -> Values:
        return values if metrics is None else tuple(values[j] for j in metrics[i])

    def embed(label: int, values: Values) -> tuple[Any, ...]:
        return tuple(p.embed(label, chosen(i, values)) for i, p in enumerate(parts) if p.embed)

    def split(feature: int, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(p.node(feature, x, y) for p, x, y in zip(parts, a, b, strict=True))

    return Semiring(
        " × ".join(p.name for p in parts),
        zero=tuple(p.zero for p in parts),
        one=tuple(p.one for p in parts),
        add=lambda a, b: tuple(p.add(x, y) for p, x, y in zip(parts, a, b, strict=True)),
        mul=lambda a, b: tuple(p.mul(x, y) for p, x, y in zip(parts, a, b, strict=True)),
        embed=embed if all(p.embed for p in parts) else None,
        split=split if any(p.split for p in parts) else None,
        equal=lambda a, b: all(p.same(x, y) for p, x, y in zip(parts, a, b, strict=True)),
        adds_up=all(p.adds_up for p in parts),
    )


SEMIRINGS: dict[str, Semiring[Any] | Callable[[Any], Semiring[Any]]] = {
    "boolean": BOOLEAN,
    "count": COUNT,
    "min-plus": MIN_PLUS,
    "max-plus": MAX_PLUS,
    "viterbi": VITERBI,
    "real": REAL,
    "log-sum-exp": LOG_SUM_EXP,
    "feature-sets": FEATURE_SETS,
    "witness": witness(),
    "min-plus-witness": min_plus_witness(),
    "k-best": k_best,
    "k-best-trees": k_best_trees,
    "pareto": pareto,
    "counting-draw": counting_draw,
    "expectation": expectation,
}
"""The built-in semirings by name; those with a parameter as a function of it."""


def get_semiring(name: str, *parameters: Any) -> Semiring[Any]:
    """Find a built-in semiring by name, and give it its parameter if it takes one.

    Parameters
    ----------
    parameters
        ``k``, ``d`` or a random generator, for the semirings that need one.

    Examples
    --------
    >>> get_semiring("min-plus").one, get_semiring("k-best", 2).name
    (0, 'k-best(2)')
    """
    if name not in SEMIRINGS:
        raise UnknownSemiringError(unknown("semiring", name, SEMIRINGS))
    found = SEMIRINGS[name]
    needed = 0 if isinstance(found, Semiring) else 1
    if len(parameters) != needed:
        raise QueryError(
            f"semiring '{name}' takes {needed} parameter(s), but {len(parameters)} came; write"
            f" get_semiring('{name}'{', ...' * needed})."
        )
    return found if isinstance(found, Semiring) else found(*parameters)


def _positive(parameter: str, value: int) -> int:
    if not is_whole(value, 1):
        raise QueryError(f"{parameter} must be a positive integer, but {value!r} came.")
    return value


def _itself(cost: float) -> float:
    return cost


def _cost(value: Costed) -> float:
    return value.cost
