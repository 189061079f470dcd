"""Which tree of all to take: an objective, a constraint, and what to do about ties."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from adtc.algebra.formula import Comparison, Formula, Number, all_of, parse, parse_term
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.nearest import nearest
from adtc.engine.query import Space
from adtc.engine.questions import exists, optimize
from adtc.engine.results import Optimum
from adtc.errors import ADTCError, QueryError
from adtc.profiles import profile

Wanted = tuple[int, str]  # 1 to minimise or -1 to maximise, and a term
TIES = ("smallest", "first", "random")
_OBJECTIVE = re.compile(r"\s*(min|max)(?:imi[sz]e)?\s+(.+?)\s*", re.IGNORECASE | re.DOTALL)
_SECONDS = 30.0  # to look up what could be reached, for an error message


@dataclass(frozen=True, slots=True)
class Rule:
    """How a tree is picked.

    Parameters
    ----------
    optimize
        ``"min TERM"`` or ``"max TERM"``, where TERM is a metric or a term over metrics.
    where
        A constraint that the tree must satisfy.
    tie
        Among equally good trees, take one of the ``smallest``, the ``first``, or a ``random`` one
        of all.
    """

    optimize: str
    where: str | Formula | None
    tie: str

    def __post_init__(self) -> None:
        if self.tie not in TIES:
            raise QueryError(f"tie is {self.tie!r}, expected one of: {', '.join(TIES)}.")
        if not isinstance(self.optimize, str) or not _OBJECTIVE.fullmatch(self.optimize):
            raise QueryError(
                f"optimize is {self.optimize!r}, expected 'min' or 'max' and a metric, such as "
                f"'min error' or 'max f1'."
            )

    @property
    def sign(self) -> int:
        """Return 1 to minimise and -1 to maximise."""
        return 1 if self._parts[0].lower() == "min" else -1

    @property
    def term(self) -> str:
        """Return the metric."""
        return self._parts[1]

    @property
    def constraint(self) -> Formula:
        """Return the constraint; ``true`` without one."""
        return parse(self.where) if isinstance(self.where, str) else self.where or all_of()

    @property
    def _parts(self) -> tuple[str, str]:
        match = _OBJECTIVE.fullmatch(self.optimize)
        assert match is not None
        return match[1], match[2]

    def best(self, value: Fraction | int) -> Formula:
        """Write that a tree is good and as good as the best."""
        op = "<=" if self.sign > 0 else ">="
        bound = Comparison((parse_term(self.term), Number(Fraction(value))), (op,))
        return all_of(self.constraint, bound)


def pick(rule: Rule, data: Data, space: Space, seed: int, monitor: Monitor) -> Optimum:
    """Find the tree; the seed is used where the rule draws among the best."""
    found = _optimum(data, space, (rule.sign, rule.term), rule.where, monitor)
    if found.tree is None or found.value is None:
        raise QueryError(_no_tree(rule, data, space, monitor))
    tree = found.tree
    if rule.tie == "smallest" and rule.term != "size":
        smallest = _optimum(data, space, (1, "size"), rule.best(found.value), monitor)
        assert smallest.tree is not None
        tree = smallest.tree
    elif rule.tie == "random":
        every = profile(data, space, [rule.term], where=rule.best(found.value), monitor=monitor)
        tree = every.draw(1, seed=seed)[0].tree
        found.record.seed = seed
    return replace(found, tree=tree)


def _optimum(
    data: Data, space: Space, wanted: Wanted, where: str | Formula | None, monitor: Monitor
) -> Optimum:
    sign, term = wanted
    if sign > 0:
        return optimize(data, space, minimize=term, where=where, monitor=monitor)
    return optimize(data, space, maximize=term, where=where, monitor=monitor)


def _no_tree(rule: Rule, data: Data, space: Space, monitor: Monitor) -> str:
    """Say that no tree fits, and how near the trees come to each part of the constraint."""
    asked = rule.constraint
    if exists(data, space, asked, monitor=monitor):
        return f"{rule.term} is undefined for every tree with {asked}; optimise another metric."
    sentence = f"no tree satisfies where='{asked}'"
    try:
        patience = Monitor(time_limit=_SECONDS, threads=monitor.threads)
        found = nearest(data, space, asked, monitor=patience)
    except ADTCError:  # too large to look up: the sentence does without it
        return f"{sentence}; relax the constraint or allow more trees."
    return f"{sentence}; the nearest: {'; '.join(map(str, found))}."
