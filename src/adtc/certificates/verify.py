"""Check a certificate of adtc against its table, with nothing but Python's standard library.

    python verify.py claim.json table.csv [--quick]

A certificate claims something about all decision trees of a class on one table: how many satisfy a
formula, that one does, that none does, or which value of a metric is the best. This file shares no
code with adtc, runs alone, and is meant to be read from top to bottom:

file      no byte was changed: the digest over the certificate is right
table     the table is read anew; each feature, label and group is a test of a column (`fits`),
          and the digest of all rows so read is the certified one
formulas  metrics are formulas over counts N[true label, predicted label, group]; a formula is
          evaluated on counts, and a comparison is turned into bounds on linear forms of counts
trees     one recursion over paths: the trees below a path are its leaves and, for each feature
          not on it yet, all pairs of a tree below its one and a tree below its other side. It
          adds up their numbers by their counts, or finds the least value of a linear form
claim     its words say its numbers; the tree shown is sent through the table; the trees are
          counted again, or a proof of none is checked: a linear form that is at most 0 on trees
          that satisfy the formula, but above 0 on all trees of the class
report    what was checked, what was trusted (said, but not checked), or why it is refused
"""

import ast
import csv
import gzip
import hashlib
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, eq, ge, gt, le, lt, mul, ne, sub, truediv
from typing import Any

FORMAT, VERSION = "adtc certificate", 2
WORK = 30_000_000  # pairs of cells that are looked at before giving up: about a minute
BLANK = b"0" * 64  # stands for the digest while it is computed
MISSHAPEN = "it is not put together as a certificate is"
Json = dict[str, Any]
Columns = dict[str, list[str]]
WRONG = (  # what reading a forged file may raise; RecursionError: it is nested without end
    LookupError, TypeError, ValueError, AttributeError, SyntaxError, ArithmeticError, RecursionError
)  # fmt: skip


class Refused(Exception):
    """The certificate does not hold; the message is the reason."""


class TooLarge(Exception):
    """Counting would take too long."""


@dataclass
class Report:
    """What was checked, what was trusted, what was too large, and why it is refused, if it is."""

    checked: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    too_large: list[tuple[str, int]] = field(default_factory=list)
    reason: str | None = None


def verify(content: bytes, columns: Columns, *, quick: bool = False) -> Report:
    """Check a certificate against the columns of its table; ``quick`` does not count."""
    report = Report()
    try:
        Check(opened(content), columns, report, quick).run()
    except Refused as refusal:
        report.reason = str(refusal)
    except WRONG:
        report.reason = MISSHAPEN
    return report


# --- file -----------------------------------------------------------------------------------------


def opened(content: bytes) -> Json:
    """Read the certificate: its version, and the digest over all its other bytes."""
    try:
        claim = dict(json.loads(content))
        known, digest = claim["format"] == FORMAT, claim["sha256"].encode()
    except WRONG:
        known = False
    if not known:
        raise Refused("it is no certificate of adtc, or a damaged one")
    if claim["version"] != VERSION:
        told = f"it has version {claim['version']}, but this verifier reads version {VERSION}"
        raise Refused(f"{told}: use verify.py of the adtc that made it, or certify again")
    if sealed(content.replace(digest, BLANK)) != content:
        raise Refused("the file was changed: its SHA-256 is not that of its content")
    return claim


def sealed(content: bytes) -> bytes:
    """Put the digest of a certificate into its place."""
    return content.replace(BLANK, hashlib.sha256(content).hexdigest().encode())


# --- table: columns of text, whatever the file ----------------------------------------------------


def read_table(path: str, about: Json) -> Columns:
    """Read a file in the way that the certificate says."""
    if path.lower().endswith((".parquet", ".pq")):
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise Refused("Parquet needs pyarrow: install it, or give a CSV file") from None
        return as_columns(pq.ParquetFile(path).read().to_pydict())
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        text = file.read().decode("utf-8-sig")
    sep = about["file"]["sep"] or max(",;\t", key=text.partition("\n")[0].count)
    if sep == " ":  # several blanks separate as one does
        text = re.sub(r"[ \t]+", " ", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text))
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep) if row]
    names = [str(i) for i in range(len(rows[0]) if rows else 0)]
    if rows and about["file"]["header"] is not False:
        names = [name.strip() or f"(column {i})" for i, name in enumerate(rows.pop(0), 1)]
    for r, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise Refused(f"the table was changed: row {r} has not {len(names)} fields")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def as_columns(frame: dict[str, list[Any]]) -> Columns:
    """Write typed values as text."""
    return {name: [as_text(x) for x in column] for name, column in frame.items()}


def as_text(x: Any) -> str:
    """Write a value in its shortest form: 40.0 is 40, and a missing value is empty."""
    if isinstance(x, str | bool | int):
        return str(x)
    if x is None or math.isnan(x):
        return ""
    return str(int(x)) if float(x).is_integer() and abs(x) < 10**16 else repr(float(x))


def scalar(text: str) -> str | float:
    """Read a number or a truth value, exactly if it is whole; what is neither stays text."""
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    with suppress(ValueError):
        return int(text, 16) if text.lower().startswith("0x") else int(text)
    try:
        return float(text)
    except ValueError:
        return text


def number(text: str) -> float:
    """Read what is certified to be a number."""
    if isinstance(x := scalar(text), str):
        raise Refused(f"the table was changed: '{text}' is no number")
    return x


def fits(test: Json, text: str | None) -> bool:
    """Evaluate one test of a column on one of its values; None is a missing one."""
    kind, values = test["test"], test.get("values", ())
    if kind in ("missing", "equals"):
        return text is None if kind == "missing" else text in values
    if text is None or kind == "other":
        return text is not None and text not in values
    if kind == "reads":
        return text in values or scalar(text) in values
    x = number(text)
    if kind == "is" and x not in (0, 1):
        raise Refused(f"the table was changed: '{text}' is neither 0 nor 1")
    if kind == "is":
        return x == 1
    low, high = test["low"], test["high"]
    return (low is None or float(x) > low) and (high is None or float(x) <= high)


def tests_of(coding: Json) -> list[Json]:
    """Say which values of a column are a label or group: those it names, or those of its bin."""
    tests = []
    for value, ends in zip(coding["values"], coding["bins"], strict=True):
        values = [value, None] if value == "(missing)" else [value]
        same = {"test": "equals" if isinstance(value, str) else "reads", "values": values}
        tests.append({"test": "in", "low": ends[0], "high": ends[1]} if ends else same)
    return tests


@dataclass
class Reading:
    """The table as it is read: a column of truth values per feature, and codes."""

    names: list[str]
    columns: list[str]
    bits: list[list[bool]]
    labels: list[Any]
    positive: int | None
    y: list[int]
    groups: list[Any]
    z: list[int]
    weights: list[int]
    references: dict[str, list[int]]

    def kinds(self) -> list[tuple[int, ...]]:
        """List label, group and references of every row: all that counts of rows depend on."""
        return list(zip(self.y, self.z, *self.references.values(), strict=True))

    def rows(self) -> list[str]:
        """Spell every row: features, then label, group and references, then weight."""
        features = zip(*self.bits, strict=True) if self.bits else [()] * len(self.y)
        rows = zip(features, self.kinds(), self.weights, strict=True)
        return [f"{''.join('01'[bit] for bit in bits)} {kind} {w}" for bits, kind, w in rows]


def reading_of(recipe: Json, columns: Columns) -> Reading:
    """Read a table by the recipe."""

    def each(column: str, read: Callable[[str | None], Any]) -> list[Any]:
        """Read every distinct text of a column once."""
        if column not in columns:
            raise Refused(f"the table was changed: it lacks the column '{column}'")
        texts = {text: text.strip() for text in set(columns[column])}
        gone = set(recipe["na"])
        if column in recipe["numeric"]:
            gone |= {t for t in texts.values() if t.lower().lstrip("+-") == "nan"}
        known = {text: read(None if t in gone else t) for text, t in texts.items()}
        return [known[text] for text in columns[column]]

    def codes(column: str, tests: list[Json]) -> list[int]:
        """Give each row the number of the label or group whose test it passes."""
        found = each(column, lambda t: next((i for i, x in enumerate(tests) if fits(x, t)), -1))
        if -1 in found:
            row = found.index(-1) + 1
            raise Refused(f"the table was changed: row {row} has another '{column}' than certified")
        return found

    features, target, groups = recipe["features"], recipe["target"], recipe["sensitive"]
    y, weights = codes(target["column"], tests_of(target)), recipe["weights"]
    return Reading(
        names=[f["name"] for f in features],
        columns=[f["column"] for f in features],
        bits=[each(f["column"], lambda text, f=f: fits(f, text)) for f in features],  # type: ignore[misc]
        labels=target["values"],
        positive=recipe["positive"],
        y=y,
        groups=groups["values"] if groups else [],
        z=codes(groups["column"], tests_of(groups)) if groups else [0] * len(y),
        weights=each(weights, lambda t: int(number(t or ""))) if weights else [1] * len(y),
        references={name: codes(name, tests) for name, tests in recipe["references"].items()},
    )


def digest(rows: list[str]) -> Json:
    """Digest all rows together, and each of them in two bytes, which tell where a change is."""
    each = "".join(hashlib.sha256(row.encode()).hexdigest()[:4] for row in rows)
    return {"sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest(), "rows": each}


def spelled(columns: Columns) -> list[str]:
    """Spell the names of all columns, then every row."""
    return [json.dumps(row) for row in [list(columns), *zip(*columns.values(), strict=True)]]


def compare(rows: list[str], certified: Json, names: int = 0) -> None:
    """Refuse rows that are not the certified ones, and tell the first that differs."""
    found = digest(rows)
    ours, theirs = (re.findall("....", x["rows"]) for x in (found, certified))
    if len(ours) != len(theirs):
        n, m = len(ours) - names, len(theirs) - names
        raise Refused(f"the table was changed: it has {n:,} rows, but {m:,} are certified")
    if found["sha256"] != certified["sha256"]:
        at = next((i for i, x in enumerate(ours) if x != theirs[i]), None)
        where = "some row" if at is None else f"row {at + 1 - names}" if at >= names else "a name"
        raise Refused(f"the table was changed: {where} is not as certified")


# --- formulas -------------------------------------------------------------------------------------

Form = dict[str, Fraction]  # a linear form: coefficients of counts, the constant under ""
ONE: Form = {"": Fraction(1)}
TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\d.]*(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*(?:\[(?:[^\[\]]|\[[^\]]*\])*\])?)|(?P<sign>[<>!=]=|[-+*/<>=(),]))"
)
COUNTS = ("size", "depth", "support", "error")  # besides N[…] and agreement[reference]
EXTREMES = {"least": 1, "largest": -1}
FUNCTIONS: dict[str, Callable[..., Fraction]] = {"abs": abs, "min": min, "max": max}
PYTHON = {"=": "==", "true": "True", "false": "False"}  # what Python spells otherwise
PYTHON |= {word: f" {word} " for word in ("and", "or", "not", *FUNCTIONS, *EXTREMES)}
ARITHMETIC: dict[type, Callable[..., Fraction]] = {
    ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv
}  # fmt: skip
RELATIONS: dict[type, Any] = {
    ast.LtE: le, ast.Lt: lt, ast.GtE: ge, ast.Gt: gt, ast.Eq: eq, ast.NotEq: ne
}  # fmt: skip


class Formulas:
    """Formulas about one table; ``extreme`` finds least(…) and largest(…) of all trees."""

    def __init__(self, reading: Reading, define: dict[str, str]) -> None:
        self.reading, self.found = reading, dict[str, Fraction | None]()
        self.extreme: Callable[[ast.expr, int], Fraction | None]
        metrics = self.metrics()
        if taken := define.keys() & {*metrics, *PYTHON, *COUNTS, "N"}:
            raise Refused(f"it gives the metric '{min(taken)}' another meaning")
        self.define = metrics | define

    def metrics(self) -> dict[str, str]:
        """Define all metrics by N[true label, predicted label, group]; * is any, ~i any but i."""
        p, groups, labels = self.reading.positive, self.reading.groups, len(self.reading.labels)
        selected, tpr, fpr = (
            [f"N[{i},{p},{k}] / N[{i},*,{k}]" for k in range(len(groups))]
            for i in ("*", p, f"~{p}")
        )
        dp, eopp, fp = (
            f"abs({x[0]} - {x[1]})" if len(x) == 2 else f"(max({','.join(x)}) - min({','.join(x)}))"  # noqa: PLR2004
            for x in (selected, tpr, fpr)
        )
        return {
            "acc": "(N - error) / N",
            "bacc": f"({'+'.join(f'N[{i},{i}] / N[{i},*]' for i in range(labels))}) / {labels}",
            "precision": f"N[{p},{p}] / N[*,{p}]",
            "recall": f"N[{p},{p}] / N[{p},*]",
            "tpr": f"N[{p},{p}] / N[{p},*]",
            "fpr": f"N[~{p},{p}] / N[~{p},*]",
            "tnr": f"N[~{p},~{p}] / N[~{p},*]",
            "fnr": f"N[{p},~{p}] / N[{p},*]",
            "f1": f"2 * N[{p},{p}] / (2 * N[{p},{p}] + N[~{p},{p}] + N[{p},~{p}])",
            "selection_rate": f"N[*,{p}] / N",
            "dp": dp,
            "eopp": eopp,
            "eodd_sum": f"{eopp} + {fp}",
            "eodd_max": f"max({eopp}, {fp})",
            "eodd_mean": f"({eopp} + {fp}) / 2",
            "dp_ratio": f"min({','.join(selected)}) / max({','.join(selected)})",
            "dp_signed": " - ".join(selected[::-1]),
            "eopp_signed": " - ".join(tpr[::-1]),
        }

    def read(self, text: str) -> ast.expr:
        """Let Python parse a formula or term, with counts as its strings."""
        return ast.parse(self.python(text).strip(), mode="eval").body

    def python(self, text: str) -> str:
        """Put in definitions of metrics and fractions, until there are only numbers and counts."""
        python, at = "", 0
        while at < len(text.rstrip()):
            if (token := TOKEN.match(text, at)) is None:
                raise Refused(f"the formula '{text}' cannot be read")
            at, word = token.end(), token[0].strip()
            if token["sign"] or word in PYTHON:
                python += PYTHON.get(word, word)
            elif token["number"]:
                python += f"({Fraction(word)})"
            else:
                python += f"({self.meaning(word)})"
        return python

    def meaning(self, name: str) -> str:
        """Say what a metric is: a number of the table, a count, or a term over such."""
        if short := re.fullmatch(r"N(\d)(\d)(\d?)", name):
            name = f"N[{','.join(filter(None, short.groups()))}]"
        name = name.replace(" ", "") if name.startswith("N[") else name
        if name == "N" or re.match(r"N\[[^,]*,\*", name):  # whatever is predicted
            rows = zip(self.reading.kinds(), self.reading.weights, strict=True)
            weight = self.weight("N[*,*]" if name == "N" else name)
            return str(sum(n * weight(0, *kind) for kind, n in rows))
        if name in COUNTS or name.startswith(("N[", "agreement[")):
            return repr(name)
        if name not in self.define:
            raise Refused(f"it uses a metric '{name}' that this verifier does not know")
        return self.python(self.define[name])

    def weight(self, name: str) -> Callable[..., int]:
        """Say what a row adds to a count, by predicted label, true label, group, references."""
        if name == "error":
            return lambda label, y, *rest: int(label != y)
        if name.startswith("agreement["):
            at = list(self.reading.references).index(name[len("agreement[") : -1])
            return lambda label, y, z, *references: int(references[at] == label)

        def match(part: str, x: int) -> bool:
            return part == "*" or (x != int(part[1:]) if part[0] == "~" else x == int(part))

        i, j, k = (*name[len("N[") : -1].split(","), "*")[:3]
        return lambda label, y, z, *rest: int(match(i, y) and match(j, label) and match(k, z))

    def counts(self, x: ast.AST) -> set[str]:
        """Collect the counts that a term or formula is made of."""
        match x:
            case ast.Constant(str(name)):
                return {name}
            case ast.Call(ast.Name(name)) if name in EXTREMES:
                return set()
        return set().union(*map(self.counts, ast.iter_child_nodes(x)))

    def value(self, term: ast.expr, counts: dict[str, int]) -> Fraction | None:
        """Compute a term; None (undefined) where something is divided by zero."""
        with suppress(ZeroDivisionError):
            return self.defined(term, counts)
        return None

    def defined(self, term: ast.expr, counts: dict[str, int]) -> Fraction:
        """Compute a term; ZeroDivisionError where it is undefined."""
        match term:
            case ast.Constant(str(name)):
                return Fraction(counts[name])
            case ast.Constant(int(number)):
                return Fraction(number)
            case ast.BinOp(ast.Constant(int(number)), ast.Div(), ast.Constant(int(by))):
                return Fraction(number, by)
            case ast.UnaryOp(ast.USub(), inner):
                return -self.defined(inner, counts)
            case ast.BinOp(left, op, right):
                a, b = self.defined(left, counts), self.defined(right, counts)
                return ARITHMETIC[type(op)](a, b)
            case ast.Call(ast.Name(name), [inner]) if name in EXTREMES:
                key = f"{name} {ast.dump(inner)}"
                if key not in self.found:
                    self.found[key] = self.extreme(inner, EXTREMES[name])
                if (found := self.found[key]) is None:
                    raise ZeroDivisionError
                return found
            case ast.Call(ast.Name(name), parts):
                return FUNCTIONS[name](*[self.defined(part, counts) for part in parts])
        raise Refused("a formula cannot be read")

    def holds(self, formula: ast.expr, counts: dict[str, int]) -> bool | None:
        """Decide a formula in Kleene's logic; None where an undefined value leaves it open."""
        truths: list[bool | None]
        match formula:
            case ast.Constant(bool(truth)):
                return truth
            case ast.UnaryOp(ast.Not(), inner):
                inside = self.holds(inner, counts)
                return None if inside is None else not inside
            case ast.BoolOp(_, parts):
                truths = [self.holds(part, counts) for part in parts]
            case ast.Compare(left, ops, rest):
                xs = [self.value(term, counts) for term in (left, *rest)]
                links = zip(xs, ops, xs[1:], strict=False)
                truths = [None if None in (a, b) else RELATIONS[type(r)](a, b) for a, r, b in links]
            case _:
                raise Refused("a formula cannot be read")
        decisive = isinstance(formula, ast.BoolOp) and isinstance(formula.op, ast.Or)
        return decisive if decisive in truths else None if None in truths else not decisive

    def bounds(self, formula: ast.expr) -> list[tuple[Form, bool]]:
        """List linear forms that are at most 0 (True: below 0) wherever the formula holds."""
        if isinstance(formula, ast.BoolOp) and isinstance(formula.op, ast.And):
            return [bound for part in formula.values for bound in self.bounds(part)]
        found: list[tuple[Form, bool]] = []
        terms = [formula.left, *formula.comparators] if isinstance(formula, ast.Compare) else []
        for a, op, b in zip(terms, getattr(formula, "ops", ()), terms[1:], strict=False):
            below = isinstance(op, ast.Lt | ast.Gt)
            sides = [(a, b)] if isinstance(op, ast.LtE | ast.Lt | ast.Eq) else []
            sides += [(b, a)] if isinstance(op, ast.GtE | ast.Gt | ast.Eq) else []
            for low, high in sides:  # p/q <= 0 with q > 0 says p <= 0
                with suppress(ArithmeticError):
                    ratios = self.ratios(ast.BinOp(low, ast.Sub(), high), Fraction(1))
                    found += [(p, below) for p, _ in ratios]
        return found

    def ratios(self, term: ast.expr, by: Fraction) -> list[tuple[Form, Form]]:
        """Write by·term as the largest of ratios p/q of linear forms with q >= 0, or raise."""
        if not self.counts(term):
            return [(linear((by * self.defined(term, {}), ONE)), ONE)]
        match term:
            case ast.Constant(str(name)) if name not in ("depth", "support"):
                return [({name: by}, ONE)]
            case ast.UnaryOp(ast.USub(), inner):
                return self.ratios(inner, -by)
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                rest = self.ratios(right, by if isinstance(op, ast.Add) else -by)
                return [plus(x, y) for x in self.ratios(left, by) for y in rest]
            case ast.BinOp(left, ast.Mult(), right) if not self.counts(left):
                return self.ratios(right, by * self.defined(left, {}))
            case ast.BinOp(left, ast.Mult(), right) if not self.counts(right):
                return self.ratios(left, by * self.defined(right, {}))
            case ast.BinOp(left, ast.Div(), right) if not self.counts(right):
                return self.ratios(left, by / self.defined(right, {}))
            case ast.BinOp(left, ast.Div(), right):
                match self.ratios(left, by), self.ratios(right, Fraction(1)):
                    case [(p, one)], [(q, same)] if one == same == ONE and min(q.values()) > 0:
                        return [(p, q)]
            case ast.Call(ast.Name("abs"), [inner]) if by > 0:
                return self.ratios(inner, by) + self.ratios(inner, -by)
            case ast.Call(ast.Name(name), parts) if name == ("max" if by > 0 else "min"):
                return [ratio for part in parts for ratio in self.ratios(part, by)]
        raise ArithmeticError("it is not the largest of ratios of linear forms")


def linear(*parts: tuple[Fraction, Form]) -> Form:
    """Add up multiples of linear forms."""
    total = {name: Fraction() for _, form in parts for name in form}
    for by, form in parts:
        for name, c in form.items():
            total[name] += by * c
    return {name: c for name, c in total.items() if c}


def plus(a: tuple[Form, Form], b: tuple[Form, Form]) -> tuple[Form, Form]:
    """Add two ratios of equal denominators, or a constant to a ratio."""
    one = Fraction(1)
    if a[1] == b[1]:
        return linear((one, a[0]), (one, b[0])), a[1]
    a, b = (a, b) if a[1] == ONE else (b, a)
    if a[1] != ONE or a[0].keys() - {""}:
        raise ArithmeticError("two ratios have different denominators")
    return linear((one, b[0]), (a[0].get("", Fraction()), b[1])), b[1]


def whole(form: Form) -> Form:
    """Multiply a linear form such that its coefficients are whole numbers."""
    return linear((Fraction(math.lcm(*(c.denominator for c in form.values()))), form))


def in_terms(form: Form) -> str:
    """Write a linear form."""
    terms = " + ".join(f"{c}·{name}" if name else str(c) for name, c in sorted(form.items()))
    return terms.replace("+ -", "- ")


# --- trees ----------------------------------------------------------------------------------------

Key = tuple[int, ...]
Cells = dict[Key, int]
Axis = Callable[[int, Key, int], int]  # the value at a leaf, by label, rows by kind, and depth
INNER = -1  # in place of a leaf's label


@dataclass
class Sum:
    """What is added up over trees: their numbers by the axes, or the least cost."""

    axes: list[Axis]
    joins: list[Callable[[int, int], int]]  # of two subtrees' values, one for each axis
    cost: Axis | None = None  # find the least value of this, and no numbers
    costs: "Sum | None" = None  # the least costs by which numbers are pruned: they are axis 0
    memo: dict[frozenset[int], tuple[float, Cells]] = field(default_factory=dict)

    def put(self, cells: Cells, key: Key, value: int) -> None:
        """Add a number, or keep the less of two costs."""
        old = cells.get(key)
        cells[key] = value if old is None else min(old, value) if self.cost else old + value


class Trees:
    """The trees of a class on a table. Sets of rows are the bits of one integer."""

    def __init__(self, reading: Reading, formulas: Formulas, space: Json) -> None:
        if any(space.get(name) is not None for name in ("root", "required", "max_variables")):
            raise Refused("its class says which tests come first or must be: that is not checked")
        self.formulas, self.labels, self.work = formulas, range(len(reading.labels)), WORK
        rows = sum(reading.weights) * Fraction(space["relminsup"] or 0)
        self.minsup = max(space["minsup"], math.ceil(rows))
        self.max_depth, self.max_size = space["max_depth"], space["max_size"]
        self.majority, self.trivial = space["labels"] == "majority", space["trivial_splits"]
        self.share, banned = Fraction(space["min_leaf_share"]), set(space.get("banned") or ())
        self.features = dict(zip(reading.names, map(bit_set, reading.bits), strict=True))
        if len(self.features) != len(reading.names):
            raise Refused("two of its features have the same name")
        tests = zip(reading.names, reading.columns, strict=True)
        self.banned = {name for name, column in tests if banned & {name, column}}
        self.all, kinds = (1 << len(reading.y)) - 1, reading.kinds()
        self.kinds = sorted(set(kinds))
        weighed = list(zip(kinds, reading.weights, strict=True))
        digits = range(max(reading.weights, default=0).bit_length())
        self.planes = [  # rows by kind and binary digit of their weight
            (k, digit, bit_set(kind == own and w >> digit & 1 for own, w in weighed))
            for k, kind in enumerate(self.kinds)
            for digit in digits
        ]
        self.split = 10 + len(kinds) // 1500  # what a split takes, measured in pairs of cells

    def count(self, S: int) -> Key:
        """Count rows by kind, each as often as its weight says."""
        found = [0] * len(self.kinds)
        for kind, digit, plane in self.planes:
            found[kind] += (S & plane).bit_count() << digit
        return tuple(found)

    def allowed(self, rows: Key) -> Sequence[int]:
        """List the labels that a leaf with these rows may carry."""
        if sum(rows) < self.minsup:
            return ()
        if not self.majority and not self.share:
            return self.labels
        votes = [0 for _ in self.labels]
        for (y, *_), n in zip(self.kinds, rows, strict=True):
            votes[y] += n
        labels = [votes.index(max(votes))] if self.majority else self.labels
        return [label for label in labels if votes[label] >= self.share * sum(votes)]

    def below(
        self,
        how: Sum,
        S: int,
        rows: Key,
        path: frozenset[int] = frozenset(),
        room: float = math.inf,
    ) -> Cells:
        """Sum over the trees below a path; what costs more than ``room`` is left out.

        A path is the set of its tests: f if the f-th feature holds, -f if not. Keys are the number
        of leaves (0 if any will do), the label of a single leaf (INNER if it does not matter), and
        the axes.
        """
        if path in how.memo and room <= how.memo[path][0]:
            return how.memo[path][1]
        cells: Cells = {}
        for label in self.allowed(rows):
            index = [axis(label, rows, len(path)) for axis in how.axes]
            key = int(self.max_size is not None), INNER if self.trivial else label, *index
            how.put(cells, key, how.cost(label, rows, len(path)) if how.cost else 1)
        if len(path) == self.max_depth:
            return cells
        for f, (name, feature) in enumerate(self.features.items(), 1):
            if name in self.banned or f in path or -f in path:
                continue
            rows1 = self.count(S & feature)
            rows0 = tuple(map(sub, rows, rows1))
            if sum(rows1) < self.minsup or sum(rows0) < self.minsup:
                continue
            yes, no = (S & feature, rows1, path | {f}), (S & ~feature, rows0, path | {-f})
            least1, least0 = self.least(how.costs, *yes), self.least(how.costs, *no)
            if least1 + least0 <= room:
                t1, t0 = self.below(how, *yes, room - least0), self.below(how, *no, room - least1)
                self.join(how, cells, t1, t0, room)
        how.memo[path] = room, cells
        self.work -= 10 * len(cells)  # memory is limited, too
        return cells

    def join(self, how: Sum, cells: Cells, t1: Cells, t0: Cells, room: float) -> None:
        """Add all pairs of a tree on the one and a tree on the other side."""
        self.work -= self.split + len(t1) * len(t0)
        if self.work < 0:
            raise TooLarge
        for k1, v1 in t1.items():
            for k0, v0 in t0.items():
                size = k1[0] + k0[0]
                if size > (self.max_size or 0) or k1[1] == k0[1] != INNER:
                    continue  # too many leaves, or a trivial split
                index = [join(a, b) for join, a, b in zip(how.joins, k1[2:], k0[2:], strict=True)]
                if how.costs is None or index[0] <= room:
                    how.put(cells, (size, INNER, *index), v1 + v0 if how.cost else v1 * v0)

    def least(self, costs: Sum | None, S: int, rows: Key, path: frozenset[int]) -> float:
        """Find the least cost of a tree below a path; infinite where there is none."""
        return min(self.below(costs, S, rows, path).values(), default=math.inf) if costs else 0

    def axis(self, form: Form) -> Axis:
        """Make the function that gives a form's value at a leaf; its constant is left out."""
        if form.keys() & {"depth", "support"}:  # of which there is no sum: they come alone
            return lambda label, rows, depth: depth if "depth" in form else sum(rows)
        per_leaf = int(form.get("size", 0))
        terms = [(self.formulas.weight(x), int(form[x])) for x in form.keys() - {"", "size"}]
        weights = [
            [sum(c * weight(label, *kind) for weight, c in terms) for kind in self.kinds]
            for label in self.labels
        ]
        return lambda label, rows, depth: per_leaf + sum(map(mul, weights[label], rows))

    def cells(
        self, x: ast.expr, bound: tuple[Form, bool] | None
    ) -> list[tuple[dict[str, int], int]]:
        """Count the trees within a bound by the counts that a term or formula is made of."""
        names, room = sorted(self.formulas.counts(x)), math.inf
        joins: Json = {"depth": max, "support": min}
        axes = [self.axis({name: Fraction(1)}) for name in names]
        how = Sum(axes, [joins.get(name, add) for name in names])
        if bound:
            form = whole(bound[0])
            room = -int(form.get("", 0)) - bound[1]  # whole numbers: below 0 is at most -1
            cost = self.axis(form)
            how = Sum([cost, *how.axes], [add, *how.joins], costs=Sum([], [], cost))
        found = self.below(how, self.all, self.count(self.all), room=room).items()
        return [
            (dict(zip(names, key[len(key) - len(names) :], strict=True)), n) for key, n in found
        ]

    def extreme(self, term: ast.expr, sign: int) -> Fraction | None:
        """Find the least (sign 1) or largest (-1) value of a term on any tree."""
        with suppress(ArithmeticError):
            match self.formulas.ratios(term, Fraction(sign)):
                case [(form, bottom)] if bottom == ONE:
                    least = self.least_value(form)
                    return None if least is None else sign * least
        cells = self.cells(term, None)
        values = [v for counts, _ in cells if (v := self.formulas.value(term, counts)) is not None]
        return min(values, key=lambda v: sign * v, default=None)

    def least_value(self, form: Form) -> Fraction | None:
        """Find the least value of a linear form on any tree."""
        costs = Sum([], [], self.axis(whole(form)))
        least = self.least(costs, self.all, self.count(self.all), frozenset())
        scale = math.lcm(*(c.denominator for c in form.values()))
        return None if least == math.inf else Fraction(int(least), scale) + form.get("", 0)


def bit_set(bits: Any) -> int:
    """Write truth values as the bits of an integer."""
    return int("0" + "".join("1" if bit else "0" for bit in bits), 2)


# --- claim ----------------------------------------------------------------------------------------


def formulas_of(claim: Json) -> list[tuple[str, int]]:
    """List the formulas on which a claim stands, each with the number of trees that satisfy it."""
    asked, answer, good = claim["question"], claim["answer"], claim["question"]["where"] or "true"
    better = f"({good}) and {asked['term']} {'>' if asked['sense'] == 'maximize' else '<'}"
    found = [(f"{better} {answer['baseline']}" if answer["baseline"] else good, answer["count"])]
    if answer["value"] is not None:  # a tree has it, and none has a better one
        found.append((f"{better} {answer['value']}", 0))
    return [pair for pair in found if pair[1] is not None]


def in_words(claim: Json) -> str:
    """Say what is claimed."""
    asked, answer, space, kind = (claim[x] for x in ("question", "answer", "space", "kind"))
    share, n, term = Fraction(space["min_leaf_share"]), answer["count"], asked["term"]
    limits = [
        f"at most {many(space['max_depth'], 'test')} on a path",
        f"at most {many(space['max_size'] or 0, 'leaf')}" if space["max_size"] is not None else "",
        f"at least {many(claim['table']['least_rows'], 'row')} in every leaf",
        "the majority label on every leaf" if space["labels"] == "majority" else "",
        f"at least {share} of a leaf's rows of its label" if share else "",
        "" if space["trivial_splits"] else "no split into two leaves of one label",
        f"no test of {', '.join(space['banned'])}" if space.get("banned") else "",
    ]
    one = n in (0, 1) or kind == "existence"
    most, than = ("largest", "above") if asked["sense"] == "maximize" else ("least", "below")
    tree = f"decision tree{'' if one else 's'} on {claim['table']['name']} with "
    tree += ", ".join(filter(None, limits))
    if asked["where"]:
        tree += f", that {'satisfies' if one else 'satisfy'} {asked['where']}"
    if answer["baseline"] is not None:
        tree += f", whose {term} is {than} {answer['baseline']}, that of the decisions in use"
    best = f"the {most} {term} is {answer['value']}"
    said = f"There {'is' if one else 'are'} exactly {n or 0:,} {tree}"
    said += f"; {best}" if kind == "alternative" else ""
    said = f"None in this class: there is no {tree}" if n == 0 else said
    said = {"existence": f"There is a {tree}", "optimum": f"Of all {tree}, {best}"}.get(kind, said)
    return f"{said}." + "".join(f" Here {name} is {x}." for name, x in asked["define"].items())


def many(n: int, one: str) -> str:
    """Write a number of things."""
    return f"{n:,} {one}" if n == 1 else f"{n:,} {'leaves' if one == 'leaf' else one + 's'}"


def exact(x: Fraction | None) -> str | None:
    """Write a value as a fraction in lowest terms; None where it is undefined."""
    return None if x is None else str(x)


def rules(tree: Json, tests: tuple[str, ...] = ()) -> list[str]:
    """Write one rule for each leaf."""
    if "label" in tree:
        return [f"{'if ' + ' and '.join(tests) + ' then' if tests else 'always'} {tree['label']}"]
    name = tree["feature"]
    denied = f"not ({name})" if " " in name else f"not {name}"
    return rules(tree["yes"], (*tests, name)) + rules(tree["no"], (*tests, denied))


class Tally(dict[str, int]):
    """The counts of one tree, or of other decisions, found where a formula asks for them."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas, self.rows = formulas, Counter[tuple[int, ...]]()

    def __missing__(self, name: str) -> int:
        weight = self.formulas.weight(name)
        return sum(n * weight(*row) for row, n in self.rows.items())


class Check:
    """One certificate held against one table."""

    def __init__(self, claim: Json, columns: Columns, report: Report, quick: bool) -> None:
        self.claim, self.report, self.quick = claim, report, quick
        if claim["table"]["raw"]:
            compare(spelled(columns), claim["table"]["raw"], names=1)
        self.reading = reading_of(claim["table"]["recipe"], columns)
        self.formulas = Formulas(self.reading, claim["question"]["define"])
        self.trees = Trees(self.reading, self.formulas, claim["space"])
        self.formulas.extreme = self.trees.extreme

    def run(self) -> None:
        """Check the table, the words, the decisions and the numbers."""
        claim, table, trusted = self.claim, self.claim["table"], self.report.trusted
        say = self.report.checked.append
        say("no byte of the certificate was changed: its SHA-256 is right")
        compare(self.reading.rows(), table["read"])
        rows = f"the {len(self.reading.y):,} rows of the table"
        say(f"{rows}, read by the recipe, are those certified")
        if table["raw"]:
            say("so is every value in them, in columns that no feature uses, too")
        else:
            trusted.append("values that change no feature, label, group or weight")
        self.kind()
        if claim["claim"] != in_words(claim) or table["least_rows"] != self.trees.minsup:
            raise Refused("its words do not say what its numbers say")
        try:
            self.decisions()
            for formula, proof in zip(formulas_of(claim), claim["proofs"], strict=True):
                self.number(*formula, proof)
        except TooLarge:
            trusted.append("whether the tree shown is good: it takes too long to find the least or "
                           "largest value in the formula")  # fmt: skip
            self.report.too_large += formulas_of(claim)
        for held in claim["held_out"]:
            name = f"the {many(held['rows'], 'held-out row')} of {held['name']}"
            trusted.append(f"the scores on {name}: they are not in this table")
        trusted.append("date, command and versions; who made it: it is not signed")

    def kind(self) -> None:
        """Refuse a claim that lacks a number which its kind has, or has one that it has not."""
        answer, kind = self.claim["answer"], self.claim["kind"]
        has = tuple(answer[name] is not None for name in ("count", "value", "baseline"))
        shapes = {"count": (True, False, False), "existence": (False, False, False)}
        shapes |= {"optimum": (False, True, False), "none": (answer["count"] == 0, False, False)}
        shapes |= {"alternative": (True, answer["count"] != 0, True)}
        if has != shapes[kind] or has[2] != (self.claim["baseline"] is not None):
            raise Refused(f"its numbers are not those of a claim of the kind '{kind}'")
        shown = self.claim["witness"] is not None
        if not shown and (kind == "existence" or answer["count"] or has[1]):
            raise Refused("it shows no tree, but claims that there is one")

    def decisions(self) -> None:
        """Score the decisions in use, if the claim compares with them, and the tree shown."""
        answer, where = self.claim["answer"], self.claim["question"]["where"]
        if (use := self.claim["baseline"]) is not None:
            tally = self.walk(use["tree"])[0] if "tree" in use else Tally(self.formulas)
            if "column" in use:
                decided = self.reading.references[use["column"]], self.reading.kinds()
                for label, kind, n in zip(*decided, self.reading.weights, strict=True):
                    tally.rows[label, *kind] += n
            self.scores("the decisions in use", tally, use, answer["baseline"])
            self.report.checked.append("the decisions in use have the rates and gaps certified")
        if (witness := self.claim["witness"]) is not None:
            tally, fault = self.walk(witness["tree"])
            if fault or witness["rules"] != rules(witness["tree"]):
                fault = fault or "its rules are others"
                raise Refused(f"the tree shown is not in the class: {fault}")
            if not self.formulas.holds(self.formulas.read(where or "true"), tally):
                raise Refused(f"the tree shown does not satisfy {where}")
            self.scores("the tree shown", tally, witness, answer["value"])
            self.report.checked.append("the tree shown, row by row: it is in the class, satisfies "
                                       "the formula, and has the metrics certified")  # fmt: skip

    def walk(self, tree: Json) -> tuple[Tally, str | None]:
        """Send all rows down a tree; say why it is not in the class, if it is not."""
        trees, tally, leaves, faults = self.trees, Tally(self.formulas), [], []

        def down(tree: Json, S: int, above: tuple[str, ...]) -> None:
            if "label" in tree:
                label, rows = self.reading.labels.index(tree["label"]), trees.count(S)
                for kind, n in zip(trees.kinds, rows, strict=True):
                    tally.rows[label, *kind] += n
                leaves.append((len(above), sum(rows)))
                if label not in trees.allowed(rows):
                    faults.append("a leaf has too few rows, or not a label that it may have")
                return
            name, yes, no = tree["feature"], tree["yes"], tree["no"]
            if name in above or len(above) >= trees.max_depth:
                faults.append("a path tests a feature twice, or too many")
            if yes == no and "label" in yes and not trees.trivial:
                faults.append("it has a trivial split")
            if name in trees.banned:
                faults.append("it tests what no tree may test")
            down(yes, S & trees.features[name], (*above, name))
            down(no, S & ~trees.features[name], (*above, name))

        down(tree, trees.all, ())
        if trees.max_size is not None and len(leaves) > trees.max_size:
            faults.append("it has too many leaves")
        tally |= dict(size=len(leaves), depth=max(leaves)[0], support=min(n for _, n in leaves))
        return tally, next(iter(faults), None)

    def scores(self, what: str, tally: Tally, told: Json, best: str | None) -> None:
        """Compute metrics, and rates by group, again."""
        terms = told["metrics"] | ({} if best is None else {self.claim["question"]["term"]: best})
        for name, text in terms.items():
            if (found := exact(self.formulas.value(self.formulas.read(name), tally))) != text:
                raise Refused(f"{name} of {what} is {found}, but {text} is certified")
        p, groups, rates = self.reading.positive, [], []
        for k, group in enumerate(self.reading.groups if p is not None else ()):
            rows, selected = tally[f"N[*,*,{k}]"], tally[f"N[*,{p},{k}]"]
            groups.append({"group": group, "rows": rows, "selected": selected})
            rates.append(Fraction(selected, rows) if rows else None)
        most = max((rate for rate in rates if rate is not None), default=Fraction())
        for one, rate in zip(groups, rates, strict=True):
            impact = rate / most if rate is not None and most else None
            one |= {"rate": exact(rate), "impact_ratio": exact(impact)}
        if told["groups"] != groups:
            raise Refused(f"the rates by group of {what} are not those certified")

    def number(self, where: str, certified: int, proof: Json | None) -> None:
        """Count the trees that satisfy a formula, or prove that there is none."""
        if self.quick:
            self.report.trusted.append(f"that {certified:,} trees satisfy {where}: not counted")
            return
        formula, self.trees.work, found = self.formulas.read(where), WORK, 0
        try:
            bound = None if proof is None else self.bound(formula, proof)
            if bound and proof and proof["least"] is not None:
                how = self.disproved(*bound, proof["least"])
            else:
                how = "counted again by a recursion over paths"
                cells = self.trees.cells(formula, bound)
                found = sum(n for counts, n in cells if self.formulas.holds(formula, counts))
        except TooLarge:
            self.report.too_large.append((where, certified))
            return
        if found != certified:
            raise Refused(f"{found:,} trees satisfy {where}, but {certified:,} are certified")
        self.report.checked.append(f"{found:,} trees satisfy {where} ({how})")

    def bound(self, formula: ast.expr, proof: Json) -> tuple[Form, bool]:
        """Add up bounds that a formula implies, each times a positive number: a bound again."""
        bounds = self.formulas.bounds(formula)
        parts = [(Fraction(by), *bounds[at]) for at, by in proof["multipliers"]]
        if min(by for by, *_ in parts) <= 0:
            raise Refused("a multiplier of its proof is not above 0")
        form = linear(*((by, form) for by, form, _ in parts))
        if proof["form"] != in_terms(form):
            raise Refused("the form of its proof is not the sum of the formula's bounds")
        return form, any(below for *_, below in parts)

    def disproved(self, form: Form, below: bool, certified: str) -> str:
        """Check that a form which is at most 0 (or below 0) on good trees is more on all trees."""
        least = self.trees.least_value(form)
        above = least is not None and (least > 0 or (least == 0 and below))
        if exact(least) != certified or not above:
            raise Refused(f"its proof does not hold: the least value of the form is {least}")
        here = f"proved: {in_terms(form)} is at least {least} on every tree"
        return f"{here}, but {'below' if below else 'at most'} 0 on such a tree"


# --- report ---------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Check the certificate and the table named on the command line."""
    paths = [a for a in arguments if not a.startswith("--")]
    if len(paths) != 2:  # noqa: PLR2004
        print("usage: python verify.py claim.json table.csv [--quick]")
        return 2
    try:
        with open(paths[0], "rb") as file:
            content = file.read()
        columns = read_table(paths[1], opened(content)["table"])
        report = verify(content, columns, quick="--quick" in arguments)
    except Refused as refusal:
        report = Report(reason=str(refusal))
    except (OSError, UnicodeDecodeError) as error:
        print(f"a file cannot be read: {error}")
        return 2
    except WRONG:
        report = Report(reason=MISSHAPEN)
    lines = [f"checked: {line}" for line in report.checked]
    for where, n in report.too_large:
        lines.append(f"trusted: that {n:,} trees satisfy {where}: too many steps to count them")
    lines += [f"trusted: {line}" for line in report.trusted]
    lines += [f"refused: {report.reason}"] if report.reason else []
    print("\n  ".join([f"{'not valid' if report.reason else 'valid'}: {paths[0]}", *lines]))
    return 1 if report.reason else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
