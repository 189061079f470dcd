"""The best tree under a constraint, found in the cheapest way that can: see also `search`."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from adtc.algebra import trees
from adtc.algebra.affine import Affine, affine, as_term, ratio
from adtc.algebra.formula import Comparison, Negate, Number, all_of
from adtc.data import Data
from adtc.engine import search
from adtc.engine.monitor import Monitor
from adtc.engine.narrow import by_depth, narrowed
from adtc.engine.plan import make_plan
from adtc.engine.query import Question
from adtc.engine.record import RunRecord
from adtc.engine.running import run_fast
from adtc.engine.scoring import plain, score_form
from adtc.engine.switches import Switches


def best_tree(
    question: Question,
    data: Data,
    sign: int,
    *,
    switches: Switches,
    monitor: Monitor | None,
    record: RunRecord,
) -> tuple[Fraction | int, trees.Tree] | None:
    """Find the best value of the first metric in the cheapest way that can."""
    watch = monitor or Monitor()
    question = narrowed(question)
    term = question.metrics[0][1]
    if by_depth(question):
        return run_fast(question, data, switches, watch, record, sign=sign).best(sign)

    def least(objective: Affine) -> tuple[Fraction | int, trees.Tree] | None:
        record.details["searches"] = record.details.get("searches", 0) + 1
        found = search.least_of_all(question, data, objective, switches, watch)
        if found is not None:
            record.engine, record.num_cells = "fast", 1
            return found
        asked = replace(question, metrics=(("objective", as_term(objective)),))
        return run_fast(asked, data, switches, watch, record, sign=1).best(1)

    if (form := affine(term)) is not None and form.coefficients:
        best = least(form.scaled(Fraction(sign)))
        return None if best is None else (plain(sign * best[0]), best[1])
    over = ratio(term)
    defined = make_plan(question, push=False).reader.never_negative
    if over is not None and over[1].coefficients and defined(over[1]):
        best = search.largest_ratio(
            over[0].scaled(Fraction(-sign)),
            over[1],
            least,
            lambda tree, form: score_form(tree, data, question, form),
        )
        return None if best is None else (plain(-sign * best[0]), best[1])
    # A gap is the largest of several forms: look below a threshold that rises until a tree is
    # there. At the first one, which no tree can beat, shallow trees may do.
    op, reader = "<=" if sign > 0 else ">=", make_plan(question, push=False).reader
    deepest = question.space.max_depth
    depths: Iterable[int] = range(deepest + 1)
    for threshold in search.thresholds(term if sign > 0 else Negate(term), reader):
        limit = Comparison((term, Number(sign * threshold)), (op,))
        for depth in depths:
            asked = replace(
                question,
                space=replace(question.space, max_depth=depth),
                constraint=all_of(question.constraint, limit),
            )
            record.details["searches"] = record.details.get("searches", 0) + 1
            best = run_fast(asked, data, switches, watch, record).best(sign)
            if best is not None:
                return best
        depths = (deepest,)
    return run_fast(question, data, switches, watch, record, sign=sign).best(sign)
