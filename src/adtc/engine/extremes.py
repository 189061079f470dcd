"""`least(…)` and `largest(…)` of a question: numbers of the whole space, found before the rest.

That is how one asks for trees near the best: `error <= 1.05 * least(error)`. Where the bound is on
the same sum of counts, the pass that found the least value serves the question itself, too.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from adtc.algebra.affine import Affine, affine
from adtc.algebra.formula import Term, value
from adtc.algebra.tensors import Scan
from adtc.data import Data
from adtc.engine import emt
from adtc.engine.bounds import INFINITY
from adtc.engine.monitor import Monitor
from adtc.engine.query import Question
from adtc.engine.record import RunRecord
from adtc.engine.running import Engine, takes_fast
from adtc.engine.switches import Switches

if TYPE_CHECKING:
    from adtc.engine.prepare import Prepared


@dataclass(slots=True)
class Extremes:
    """Finds extreme values for `ask`, and notes them in the record.

    Parameters
    ----------
    ground
        What the last value stands on, if that can serve other questions.
    """

    data: Data
    engine: Engine
    switches: Switches
    monitor: Monitor | None
    record: RunRecord
    ground: "Prepared | None" = None
    _found: dict[str, Fraction | None] = field(default_factory=dict)

    def __call__(self, question: Question, sign: int) -> Fraction | None:
        """Return the least (sign 1) or largest (−1) value of the question's only metric."""
        ((text, term),) = question.metrics
        if text not in self._found:  # a call may ask more than one question with the same formula
            self._found[text] = self._find(question, sign, term)
        found = self._found[text]
        self.record.details.setdefault("extremes", {})[text] = None if found is None else str(found)
        return found

    def _find(self, question: Question, sign: int, term: Term) -> Fraction | None:
        form = affine(term)
        if form is not None and not form.coefficients:
            return form.constant
        if takes_fast(self.engine, question):
            return self._fast(question, sign, form)
        tensor = emt.model_tensor(question, self.data, Scan())
        scores = (value(term, question.environment(index)) for index in tensor)
        return min((s for s in scores if s is not None), key=lambda s: sign * s, default=None)

    def _fast(self, question: Question, sign: int, form: Affine | None) -> Fraction | None:
        from adtc.engine import search
        from adtc.engine.best import best_tree
        from adtc.engine.prepare import prepare

        monitor = self.monitor or Monitor()
        if form is not None and (planned := search.planned(question, form.scaled(Fraction(sign)))):
            plan, scale, constant = planned
            self.ground = prepare(plan, self.data, self.switches, monitor)
            least = self.ground.inside.root[0]
            return None if least >= INFINITY else sign * (scale * least + constant)
        best = best_tree(
            question, self.data, sign, switches=self.switches, monitor=monitor, record=self.record
        )
        return None if best is None else Fraction(best[0])
