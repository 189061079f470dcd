"""Make certificates: ask the engine, write down the answer and all that others need to check it.

A claim is about one table, one space and one formula. `certify` makes those about numbers of trees
and best values, `certify_alternative` those that compare with decisions in use.
"""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from adtc._version import __version__
from adtc.algebra.formula import names, parse, parse_term
from adtc.algebra.trees import Leaf, Split, Tree, to_json
from adtc.certificates import verify as plain
from adtc.certificates.certificate import Certificate
from adtc.certificates.proofs import Prover
from adtc.certificates.recipe import reading_of, scalar, table_of
from adtc.data import Data
from adtc.data.binarize import Feature
from adtc.data.bits import Codes, pack
from adtc.engine.monitor import Monitor
from adtc.engine.query import Space
from adtc.engine.questions import count, exists, optimize
from adtc.engine.results import Optimum
from adtc.engine.run import Engine
from adtc.engine.score import score
from adtc.engine.spaces import space_to_json
from adtc.errors import NotExactError, QueryError, UnknownColumnError, unknown
from adtc.profiles.audits.rates import interval

Claim = Literal["count", "existence", "optimum", "none"]
CLAIMS = ("count", "existence", "optimum", "none")
CONVENTIONS = (
    "Trees are counted as they are written: two trees that predict alike are two trees.",
    "A feature occurs at most once on a path; rows that have the feature go to its yes-side.",
    "Numbers in formulas are exact: 0.1 is 1/10, and ratios are compared as fractions.",
    "A rate with an empty denominator is undefined and satisfies no comparison.",
    "N[i,j,k] counts rows of true label i, predicted label j and group k, numbered from 0 in the "
    "order of the recipe; * is any, ~i any but i.",
)
GAPS = ("dp", "dp_ratio", "eopp", "eodd_max")
FAIRER = {"dp_ratio": "maximize"}  # of every other measure of a gap, less is fairer


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

    Examples
    --------
    >>> import adtc
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> certificate = certify(data, adtc.Space(max_depth=1), where="acc > 0.7 and dp <= 0.05")
    >>> print(certificate)
    There are exactly 2 decision trees on german-credit with at most 1 test on a path, at ...
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
    >>> found.count > 0, found.document["answer"]["baseline"]
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
    monitor: Monitor | None
    command: str | None
    further: tuple[tuple[str, Data], ...] = ()

    @classmethod
    def of(
        cls, data: Data, space: Space, *, define: Mapping[str, str] | None, **run: Any
    ) -> "_Maker":
        """Certify the first table; the tree shown is scored on the others."""
        if space.required or space.root or space.max_variables is not None:
            raise QueryError(
                "a certificate's class cannot say which tests come first or must be, or how many "
                "columns a tree tests: leave out 'root', 'required' and 'max_variables', or ban "
                "columns."
            )
        return cls(_alone(data), space, _texts(define), further=data.tables, **run)

    def number(self, where: str | None, sure: str | None) -> Certificate:
        """Certify how many trees there are; none is a claim of its own."""
        n = int(count(self.data, self.space, where, **self._run()))
        if sure == "none" and n:
            raise QueryError(
                f"the claim that no tree satisfies {where or 'true'} is not true: {n:,} trees do; "
                f"certify their number instead (claim='count')."
            )
        kind = "none" if n == 0 and sure != "count" else "count"
        tree = exists(self.data, self.space, where, **self._run()).tree if n else None
        return self._written(kind, _question(where), _answer(count=n), tree)

    def existence(self, where: str | None) -> Certificate:
        """Certify that there is a tree, by showing one."""
        found = exists(self.data, self.space, where, **self._run())
        if not found:
            raise QueryError(
                f"the claim that some tree satisfies {where or 'true'} is not true: none does; "
                f"certify that instead (claim='none')."
            )
        return self._written("existence", _question(where), _answer(), found.tree)

    def optimum(self, where: str | None, sense: str, term: str) -> Certificate:
        """Certify a best value: a tree has it, and none has a better one."""
        best = self._best(where, sense, term)
        if best.tree is None or best.value is None:
            raise QueryError(
                f"no tree satisfies {where or 'true'} with {term} defined, so there is no best "
                f"one; certify that instead (claim='none')."
            )
        answer = _answer(value=str(Fraction(best.value)))
        return self._written("optimum", _question(where, sense, term), answer, best.tree)

    def alternative(self, baseline: str | Tree, floor: str | None, gap: str) -> Certificate:
        """Certify how many trees have a smaller gap than decisions in use, and the best."""
        if not self.data.groups or self.data.positive is None:
            raise QueryError(
                "less discriminatory alternatives need groups and a positive label: name a "
                "sensitive column (sensitive) and the positive label (positive)."
            )
        use = self._decisions(baseline, [gap])
        floor = floor or f"acc >= {use['metrics']['acc']}"
        use = self._decisions(baseline, [gap, *self._mentioned(floor)])
        least = use["metrics"][gap]
        if least is None:
            raise QueryError(f"{gap} of the decisions in use is undefined: choose another gap.")
        sense = FAIRER.get(gap, "minimize")
        asked = _question(floor, sense, gap)
        better = f"({floor}) and {gap} {'>' if sense == 'maximize' else '<'} {least}"
        n = int(count(self.data, self.space, better, **self._run()))
        answer = {**_answer(count=n), "baseline": least}
        tree = None
        if n:
            best = self._best(better, sense, gap)
            tree, answer["value"] = best.tree, str(Fraction(best.value or 0))
        return self._written("alternative", asked, answer, tree, use)

    def _decisions(self, baseline: str | Tree, metrics: Sequence[str]) -> dict[str, Any]:
        """Score decisions in use: a reference column, or a tree."""
        if not isinstance(baseline, str):
            return {"tree": self._tree(baseline), **self._scores(baseline, self.data, metrics)}
        known = dict(self.data.references)
        if baseline not in known:
            raise UnknownColumnError(
                f"{unknown('reference column', baseline, known)} Name the column of decisions as a "
                f"reference when the table is read (references, --reference)."
            )
        tree, decided = _as_tree(self.data, known[baseline])
        return {"column": baseline, **self._scores(tree, decided, metrics, shape=False)}

    def _scores(
        self, tree: Tree, data: Data, more: Sequence[str], *, shape: bool = True
    ) -> dict[str, Any]:
        """Measure a tree: metrics by their names, and rates by group."""
        gaps = GAPS if data.groups and data.positive is not None else ()
        own = ("size", "depth", "support") if shape else ()
        wanted = [*own, "error", "acc", *gaps, *more]
        wanted = [name for name in dict.fromkeys(wanted) if shape or name not in _SHAPE]
        found = score(tree, data, wanted, define=self.define)
        values = {name: None if x is None else str(Fraction(x)) for name, x in found.items()}
        return {"metrics": values, "groups": _by_group(tree, data)}

    def _held_out(self, name: str, rows: Data, tree: Tree) -> dict[str, Any]:
        """Score the tree shown on rows that were not used to choose it, with intervals."""
        told = self._scores(tree, rows, (), shape=False)
        for group in told["groups"]:
            group["interval"] = (
                interval(group["selected"], group["rows"]) if group["rows"] else None
            )
        right = rows.total - int(Fraction(told["metrics"]["error"]))
        return {
            "name": name,
            "rows": rows.total,
            "no_group": rows.total - sum(group["rows"] for group in told["groups"]),
            "sha256": plain.digest(reading_of(rows).rows())["sha256"],
            "acc_interval": interval(right, rows.total) if rows.total else None,
            **told,
        }

    def _mentioned(self, *formulas: str | None) -> list[str]:
        found = [sorted(names(parse(text)) - {"N"}) for text in formulas if text]
        return [name for some in found for name in some]

    def _tree(self, tree: Tree) -> Any:
        labels = [scalar(label) for label in self.data.labels]
        return to_json(tree, self.data.feature_names, labels)

    def _best(self, where: str | None, sense: str, term: str) -> Optimum:
        best = optimize(self.data, self.space, where=where, **{sense: term, **self._run()})
        if not best.proved:
            raise NotExactError(
                f"that {best.value} is the best {term} is not proved, so it cannot be certified: "
                f"raise the limit of time or memory."
            )
        return best

    def _run(self) -> dict[str, Any]:
        return {"define": self.define, "engine": self.engine, "monitor": self.monitor}

    def _written(
        self,
        kind: str,
        asked: dict[str, Any],
        answer: dict[str, Any],
        tree: Tree | None,
        baseline: dict[str, Any] | None = None,
    ) -> Certificate:
        """Put the document together; the proofs are found here."""
        space = {**space_to_json(self.space)}
        for name in ("relminsup", "min_leaf_share"):
            given = getattr(self.space, name)
            space[name] = None if given is None else str(Fraction(str(given)))
        witness = None
        if tree is not None:
            more = [*([asked["term"]] if asked["term"] else []), *self._mentioned(asked["where"])]
            drawn = self._tree(tree)
            witness = {"tree": drawn, "rules": plain.rules(drawn)}
            witness |= self._scores(tree, self.data, more)
        document: dict[str, Any] = {
            "format": plain.FORMAT,
            "version": plain.VERSION,
            "claim": "",
            "kind": kind,
            "status": "exact",
            "question": {**asked, "define": self.define},
            "answer": answer,
            "space": space,
            "conventions": list(CONVENTIONS),
            "witness": witness,
            "baseline": baseline,
            "held_out": [] if tree is None else [self._held_out(*t, tree) for t in self.further],
            "proofs": [],
            "made": {
                "adtc": __version__,
                "python": platform.python_version(),
                "date": datetime.now(UTC).isoformat(timespec="seconds"),
                "command": self.command,
            },
            "check": "adtc verify FILE TABLE, or python verify.py FILE TABLE, where verify.py is "
            "adtc/certificates/verify.py, which needs nothing but Python",
            "table": table_of(self.data, self.space.min_support(self.data.total)),
        }
        document["claim"] = plain.in_words(document)
        prover = Prover(self.data, self.space, reading_of(self.data), self.define, self.monitor)
        document["proofs"] = [
            prover.proof(where, none=not n) for where, n in plain.formulas_of(document)
        ]
        return Certificate(document)


_SHAPE = ("size", "depth", "support")


def _question(
    where: str | None, sense: str | None = None, term: str | None = None
) -> dict[str, Any]:
    """Write formula and term in the one way that the verifier reads."""
    return {
        "where": str(parse(where)) if where else None,
        "sense": sense,
        "term": str(parse_term(term)) if term else None,
    }


def _answer(count: int | None = None, value: str | None = None) -> dict[str, Any]:
    return {"count": count, "value": value, "baseline": None}


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


def _by_group(tree: Tree, data: Data) -> list[dict[str, Any]]:
    """Count rows and selected rows by group, with selection rates and impact ratios."""
    if data.positive is None:
        return []
    groups = range(len(data.groups))
    terms = [f"N[*,{data.positive},{k}]" for k in groups] + [f"N[*,*,{k}]" for k in groups]
    found = [int(x or 0) for x in score(tree, data, terms).values()]
    pairs = list(zip(found[: len(groups)], found[len(groups) :], strict=True))
    rates = [Fraction(selected, rows) if rows else None for selected, rows in pairs]
    most = max((rate for rate in rates if rate is not None), default=Fraction())
    return [
        {
            "group": scalar(group),
            "rows": rows,
            "selected": selected,
            "rate": plain.exact(rate),
            "impact_ratio": plain.exact(rate / most) if rate is not None and most else None,
        }
        for group, (selected, rows), rate in zip(data.groups, pairs, rates, strict=True)
    ]


def _as_tree(data: Data, decisions: Codes) -> tuple[Tree, Data]:
    """Write decisions as a tree over features of their own, one per label."""
    marks = np.array([decisions == label for label in range(len(data.labels))])
    features = tuple(Feature(f"decision {i}", f"decision {i}") for i in range(len(marks)))
    tree: Tree = Leaf(len(marks) - 1)
    for label in range(len(marks) - 2, -1, -1):
        tree = Split(label, Leaf(label), tree)
    return tree, replace(data, features=features, bits=pack(marks))
