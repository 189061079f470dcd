"""Further semirings on the trees of a profile: no new pass over the table (Sec. 2.5).

Where a value follows from metrics that the profile has, its cells tell it; all else is found by
walking its circuit.
"""

from typing import Any

from adtc.algebra.formula import names, parse_term
from adtc.algebra.semiring import Semiring
from adtc.algebra.semirings import get_semiring
from adtc.engine.exact.limbs import counts_of
from adtc.engine.exact.values import side_by_side
from adtc.engine.fold import fold
from adtc.engine.monitor import Monitor
from adtc.engine.plan.keys import key_integers
from adtc.engine.query import Aggregation, Definitions, ask, texts_of
from adtc.engine.run import fold_cells
from adtc.profiles.profile import Profile


def evaluate(
    profile: Profile,
    semiring: Semiring[Any] | str,
    *,
    aggregation: Aggregation = None,
    define: Definitions | None = None,
    monitor: Monitor | None = None,
) -> Any:
    """Sum over a profile's trees the product over their leaves, in another semiring.

    Parameters
    ----------
    semiring
        A `Semiring`, or the name of a built-in one.
    aggregation
        α, as in `adtc.evaluate`; its metrics need not be among the profile's.
    define
        The user's own metrics, if the aggregation needs them.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> profile = adtc.profile(data, adtc.Space(max_depth=1), ["error"])
    >>> profile.evaluate("min-plus", aggregation="size + error")
    2
    >>> profile.where("error <= 1").evaluate("feature-sets")
    frozenset({frozenset()})
    """
    R = get_semiring(semiring) if isinstance(semiring, str) else semiring
    source = profile.need_source("evaluating a semiring")
    assert profile.keys is not None  # it comes with the circuit
    question = ask(source.data, source.space, semiring=R, aggregation=aggregation, define=define)
    if R.adds_up and not callable(aggregation):
        texts = texts_of(aggregation)
        if all(names(parse_term(text)) <= {*profile.metrics, "N"} for text in texts):
            cells: Any = side_by_side([profile.values(text) for text in texts], len(profile.trees))
            return R.sum_of(zip(cells, counts_of(profile.trees), strict=True))
    watch, allowed = monitor or Monitor(), source.circuit.prepared.plan.question.allowed
    if not allowed.selective:
        values = fold_cells(
            source.circuit,
            profile.keys,
            source.data,
            question,
            aggregation=aggregation,
            define=define,
            monitor=watch,
        )
        return R.total(values)
    by_tests, leaf = allowed.marked(R), question.aggregate
    found = fold(
        source.circuit, key_integers(profile.keys), source.data, by_tests,
        lambda label, rows: {0: leaf(label, rows)}, monitor=watch,
    )  # fmt: skip
    return allowed.admitted(by_tests.total(found), R)
