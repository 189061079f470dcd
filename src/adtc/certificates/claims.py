"""Make certificates: ask the engine, write down the answer and all that others need to check it.

A claim is about one table, one space and one formula. `certify` makes those about numbers of trees
and best values, `certify_alternative` those that compare with decisions in use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from adtc.algebra.expressions import Call, Comparison, Formula, Number, Truth, all_of, any_of
from adtc.algebra.formula import parse, parse_term, settle
from adtc.algebra.trees import Tree
from adtc.certificates.certificate import Certificate
from adtc.certificates.statements import (
    Statement,
    Writer,
    decisions_as_tree,
    mentioned,
    metric_names,
)
from adtc.data import Data
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.engine.questions import count, exists, optimize
from adtc.engine.results import Optimum
from adtc.engine.run import Engine
from adtc.errors import QueryError, UnknownColumnError, unknown

Claim = Literal["count", "existence", "optimum", "none"]
CLAIMS = ("count", "existence", "optimum", "none")
FAIRER = {"dp_ratio": "maximize"}  # of every other measure of a gap, less is fairer
_BETTER = {"minimize": "<", "maximize": ">"}


def certify(
    data: Data,
    space: Space,
    where: str | None = None,
    *,
    claim: Claim | None = None,
    minimize: str | None = None,
    maximize: str | None = None,
    define: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
    command: str | None = None,
) -> Certificate:
    """Make a certificate of an answer about all trees of a space.

    Parameters
    ----------
    where
        The constraint φ; None admits every tree.
    claim
        ``"count"``: how many trees satisfy φ. ``"existence"``: at least one does, and here it is.
        ``"none"``: none does. ``"optimum"``: the best value of a metric among those that do. By
        default the optimum if there is something to optimise, else the count, or none if it is 0.
    minimize, maximize
        The metric of an optimum, or a term over metrics.
    define
        The user's own metrics, as texts; functions cannot be certified.
    command
        What was typed, to be told in the certificate.

    Returns
    -------
    Certificate
        ``save(path)`` writes it; `adtc.verify` checks it, and so does its module as a single file.

    Raises
    ------
    QueryError
        Where the claim is not true, and so cannot be certified.
    LimitError
        Where it cannot be proved within the limits of time and memory.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> certificate = certify(data, adtc.Space(max_depth=1), where="acc > 0.7 and dp <= 0.05")
    >>> print(certificate)
    There are exactly 2 decision trees in this class with acc > 0.7 and dp <= 0.05. The class ...
    """
    maker = _Maker.of(data, space, define=define, engine=engine, monitor=monitor, command=command)
    sense = "maximize" if maximize is not None else "minimize" if minimize is not None else None
    wanted = claim or ("optimum" if sense else "count")
    if wanted not in CLAIMS:
        raise QueryError(unknown("claim", wanted, CLAIMS))
    if minimize is not None and maximize is not None:
        raise QueryError("give either minimize or maximize, not both.")
    if sense and wanted != "optimum":
        raise QueryError(f"a claim of {wanted} optimises nothing: leave out {sense}, or the claim.")
    if wanted == "optimum":
        return maker.optimum(where, sense or "minimize", minimize or maximize or "error")
    if wanted == "existence":
        return maker.existence(where)
    return maker.number(where, sure=claim)


def certify_alternative(
    data: Data,
    space: Space,
    *,
    baseline: str | Tree,
    floor: str | None = None,
    gap: str = "dp",
    define: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    monitor: Monitor | None = None,
    command: str | None = None,
) -> Certificate:
    """Make a certificate of less discriminatory alternatives to decisions, or of none.

    Parameters
    ----------
    baseline
        The decisions in use: the name of a reference column of the table, or a tree over its
        features, in the space or not.
    floor
        What an alternative must satisfy, such as ``"acc >= 0.8"``; by default to be as accurate
        as the decisions in use.
    gap
        The measure by which an alternative must be better; more is better of ``dp_ratio``, less
        of every other.

    Returns
    -------
    Certificate
        Of kind ``"alternative"``: how many trees are better, the best of them, and rates by group
        of both; or that there is none in this class.

    Notes
    -----
    The numbers are about this table. Whether a tree serves the purpose, and what follows from
    there being one or none, is not for a certificate to say.

    Examples
    --------
    >>> import adtc
    >>> from adtc.algebra.trees import parse_tree
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> rule = parse_tree("<housing = own, good, bad>", data.feature_names, data.labels)
    >>> found = certify_alternative(data, adtc.Space(max_depth=1), baseline=rule, gap="dp")
    >>> found.count > 0, found.baseline
    (True, '2503/21390')
    """
    maker = _Maker.of(data, space, define=define, engine=engine, monitor=monitor, command=command)
    return maker.alternative(baseline, floor, gap)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Asks the engine about one space, and writes the answers down."""

    data: Data
    space: Space
    define: dict[str, str]
    engine: Engine
    monitor: Monitor
    command: str | None
    further: tuple[tuple[str, Data], ...] = ()

    @classmethod
    def of(
        cls,
        data: Data,
        space: Space,
        *,
        define: Mapping[str, str] | None,
        monitor: Monitor | None,
        **run: Any,
    ) -> "_Maker":
        """Certify the first table; the tree shown is scored on the others.

        Within limits what is not exact is refused: only what is proved can be certified.
        """
        if space.required or space.root or space.max_variables is not None:
            raise QueryError(
                "a certificate's class cannot say which tests come first or must be, or how many "
                "columns a tree tests: leave out 'root', 'required' and 'max_variables', or ban "
                "columns."
            )
        strict = (monitor or Monitor()).strict()
        return cls(_alone(data), space, _texts(define), monitor=strict, further=data.tables, **run)

    def number(self, where: str | None, sure: str | None) -> Certificate:
        """Certify how many trees there are; none is a claim of its own."""
        n = int(count(self.data, self.space, where, **self._run()))
        if sure == "none" and n:
            raise QueryError(
                f"the claim that no tree satisfies {where or 'true'} is not true: {n:,} trees do; "
                f"certify their number instead (claim='count')."
            )
        tree = exists(self.data, self.space, where, **self._run()).tree if n else None
        kind = "none" if n == 0 and sure != "count" else "count"
        return self._written(kind, [Statement(_formula(where), n, tree)], where)

    def existence(self, where: str | None) -> Certificate:
        """Certify that there is a tree, by showing one."""
        found = exists(self.data, self.space, where, **self._run())
        if not found:
            raise QueryError(
                f"the claim that some tree satisfies {where or 'true'} is not true: none does; "
                f"certify that instead (claim='none')."
            )
        return self._written("existence", [Statement(_formula(where), None, found.tree)], where)

    def optimum(self, where: str | None, sense: str, term: str) -> Certificate:
        """Certify a best value: a tree has it, and none has a better one."""
        best = self._best(where, sense, term)
        if best.tree is None or best.value is None:
            raise QueryError(
                f"no tree satisfies {where or 'true'} with {term} defined, so there is no best "
                f"one; certify that instead (claim='none')."
            )
        found = self._optimal(_formula(where), sense, term, best)
        return self._written("optimum", found, where, sense, term)

    def alternative(self, baseline: str | Tree, floor: str | None, gap: str) -> Certificate:
        """Certify how many trees have a smaller gap than decisions in use, and the best."""
        if not self.data.groups or self.data.positive is None:
            raise QueryError(
                "less discriminatory alternatives need groups and a positive label: name a "
                "sensitive column (sensitive) and the positive label (positive)."
            )
        use = self._decisions(baseline, [gap])
        floor = floor or f"acc >= {use['metrics']['acc']}"
        use = self._decisions(baseline, [gap, *mentioned(parse(floor))])
        least = use["metrics"][gap]
        if least is None:
            raise QueryError(f"{gap} of the decisions in use is undefined: choose another gap.")
        use["where"] = ["=", gap, least]
        sense = FAIRER.get(gap, "minimize")
        better = f"({floor}) and {gap} {_BETTER[sense]} {least}"
        n = int(count(self.data, self.space, better, **self._run()))
        best = self._best(better, sense, gap) if n else None
        found = [Statement(_formula(better), n, best.tree if best else None)]
        found += self._optimal(_formula(floor), sense, gap, best) if best else []
        return self._written("alternative", found, floor, sense, gap, in_use=use)

    def _optimal(self, where: Formula, sense: str, term: str, best: Optimum) -> list[Statement]:
        """State that a tree has a value, and that none has a better one."""
        value = Fraction(best.value or 0)
        limits = (
            Comparison((parse_term(term), Number(value)), (op,)) for op in ("=", _BETTER[sense])
        )
        has, more = (one if where == Truth(True) else all_of(where, one) for one in limits)
        return [Statement(has, None, best.tree), Statement(more, 0)]

    def _settled(self, formula: Formula) -> tuple[Formula, list[Statement]]:
        """Put in the least and largest values that a formula asks for, and state each of them."""
        found: dict[Call, list[Statement]] = {}

        def find(call: Call) -> Fraction | None:
            (term,) = call.arguments
            sense = "minimize" if call.function == "least" else "maximize"
            best = self._best(None, sense, str(term))
            if best.value is not None:
                found[call] = self._optimal(Truth(True), sense, str(term), best)
                return Fraction(best.value)
            zero = Number(Fraction())
            somewhere = (Comparison((term, zero), (op,)) for op in ("<=", ">"))
            found[call] = [Statement(any_of(*somewhere), 0)]
            return None

        settled = settle(formula, find)
        return settled, [one for some in found.values() for one in some]

    def _decisions(self, baseline: str | Tree, metrics: Sequence[str]) -> dict[str, Any]:
        """Score decisions in use: a reference column, or a tree."""
        writer = self._writer()
        if not isinstance(baseline, str):
            scores = writer.scores(baseline, self.data, metrics, shape=False)
            return {"tree": writer.tree(baseline), "metrics": scores}
        known = dict(self.data.references)
        if baseline not in known:
            raise UnknownColumnError(
                f"{unknown('reference column', baseline, known)} Name the column of decisions as a "
                f"reference when the table is read (references, --reference)."
            )
        tree, decided = decisions_as_tree(self.data, known[baseline])
        return {"column": baseline, "metrics": writer.scores(tree, decided, metrics, shape=False)}

    def _best(self, where: str | None, sense: str, term: str) -> Optimum:
        return optimize(self.data, self.space, where=where, **{sense: term, **self._run()})

    def _run(self) -> dict[str, Any]:
        return {"define": self.define, "engine": self.engine, "monitor": self.monitor}

    def _writer(self) -> Writer:
        return Writer(self.data, self.space, self.define, self.monitor)

    def _written(
        self,
        kind: str,
        found: Sequence[Statement],
        where: str | None,
        sense: str | None = None,
        term: str | None = None,
        *,
        in_use: dict[str, Any] | None = None,
    ) -> Certificate:
        """Settle the statements and write them down, the answer first."""
        statements, lemmas = [], []
        for one in found:
            settled, needed = self._settled(one.where)
            statements.append(replace(one, where=settled))
            lemmas += [lemma for lemma in needed if lemma not in lemmas]
        asked = {
            "kind": kind,
            "where": str(parse(where)) if where else None,
            "sense": sense,
            "term": str(parse_term(term)) if term else None,
        }
        scored = mentioned(*(one.where for one in statements))
        document = self._writer().document(
            [*statements, *lemmas],
            in_use=in_use,
            scored=metric_names(self.data, scored),
            further=self.further,
            question=asked,
            command=self.command,
        )
        return Certificate(document)


def _formula(where: str | None) -> Formula:
    return parse(where) if where else Truth(True)


def _alone(data: Data) -> Data:
    """Leave further tables out: a claim is about one table, and checked against it."""
    return replace(data, tables=()) if data.tables else data


def _texts(define: Mapping[str, str] | None) -> dict[str, str]:
    for name, meaning in (define or {}).items():
        if not isinstance(meaning, str):
            raise QueryError(
                f"the metric '{name}' is a function, which a certificate cannot hold: define it "
                f"as a text over other metrics."
            )
    return {name: str(parse_term(meaning)) for name, meaning in (define or {}).items()}
