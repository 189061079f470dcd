"""Check a certificate against its table, with nothing but Python's standard library.

    python verify.py claim.json table.csv [--quick]

This file shares no code with adtc and runs alone. It reads the table anew, makes the Boolean
features by the recipe in the certificate, compares the digest of every row, sends every row down
the tree shown, and counts trees by a recursion of its own: the trees below a path are its leaves
and, for each feature not on it yet, all pairs of a tree below its one and below its other side.
In this order: the file, the table, formulas, trees, claims.
"""

import ast
import bisect
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
from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, and_, eq, ge, gt, le, lt, mul, ne, sub, truediv, xor
from typing import Any

FORMAT, VERSION = "adtc certificate", 1
WORK = 30_000_000  # pairs of cells that are looked at before giving up: about a minute
BLANK = b"0" * 64  # stands for the digest while it is computed
MISSHAPEN = "it is not put together as a certificate is"
Json = dict[str, Any]
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


def verify(content: bytes, columns: dict[str, list[str]], *, quick: bool = False) -> Report:
    """Check a certificate against the columns of its table; ``quick`` does not count."""
    report = Report()
    try:
        Check(opened(content), columns, report, quick).run()
    except Refused as refusal:
        report.reason = str(refusal)
    except WRONG:
        report.reason = MISSHAPEN
    return report


def opened(content: bytes) -> Json:
    """Read the file: its version, and the digest over all its other bytes."""
    try:
        claim = json.loads(content)
        known, digest = claim["format"] == FORMAT, claim["sha256"].encode()
    except WRONG:
        known = False
    if not known:
        raise Refused("it is no certificate of adtc, or a damaged one")
    if claim["version"] != VERSION:
        told = f"it has version {claim['version']}, but this verifier reads version {VERSION}"
        raise Refused(f"{told}: use the verifier of the adtc that made it")
    if sealed(content.replace(digest, BLANK)) != content:
        raise Refused("the file was changed: its SHA-256 is not that of its content")
    return dict(claim)


def sealed(content: bytes) -> bytes:
    """Put the digest of a certificate into its place."""
    return content.replace(BLANK, hashlib.sha256(content).hexdigest().encode())


# --- the table: columns of text, whatever the file ------------------------------------------------

MISSING = ("", "NA", "NaN", "nan", "null", "None")
TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def read_table(path: str, about: Json) -> dict[str, list[str]]:
    """Read the file such that the certificate's columns are found in it."""
    if path.lower().endswith((".parquet", ".pq")):
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise Refused("Parquet needs pyarrow: install it, or give a CSV file") from None
        return as_columns(pq.ParquetFile(path).read().to_pydict())
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        text = file.read().decode("utf-8-sig")
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    told, needed = about["file"], needed_columns(about["recipe"])
    for header in (True, False) if told["header"] is None else (told["header"],):
        for sep in told["sep"] or ",;\t ":
            lines = re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text) if sep == " " else text
            lines = re.sub(r"[ \t]+", " ", lines) if sep == " " else lines
            rows = filter(None, csv.reader(io.StringIO(lines, newline=""), delimiter=sep))
            first = next(rows, [])
            names = [name.strip() or f"(column {i})" for i, name in enumerate(first, 1)]
            names = names if header else [str(i) for i in range(len(first))]
            if needed <= set(names):
                fields = [*rows] if header else [first, *rows]
                for r, row in enumerate(fields, 1):
                    if len(row) != len(names):
                        raise Refused(f"row {r} of the table has not {len(names)} fields")
                return dict(zip(names, map(list, zip(*fields, strict=True)), strict=True))
    raise Refused(f"the table was changed: it lacks columns among {', '.join(sorted(needed))}")


def as_columns(frame: dict[str, list[Any]]) -> dict[str, list[str]]:
    """Write typed values as text."""
    return {name: [as_text(x) for x in column] for name, column in frame.items()}


def as_text(x: Any) -> str:
    """Write a value in its shortest form: 40.0 is 40, and a missing value is empty."""
    if isinstance(x, str | bool | int):
        return str(x)
    if x is None or math.isnan(x):
        return ""
    return str(int(x)) if float(x).is_integer() and abs(x) < 10**16 else repr(float(x))


def needed_columns(recipe: Json) -> set[str]:
    """Collect the columns that a recipe reads."""
    named = {f["column"] for f in recipe["features"]} | {recipe["target"]["column"]}
    named |= {recipe["sensitive"]["column"]} if recipe["sensitive"] else set()
    return named | set(recipe["references"]) | ({recipe["weights"]} if recipe["weights"] else set())


def number(text: str) -> float:
    """Read a number, exactly if it is whole."""
    try:
        if re.fullmatch(r"-?\d+", text):
            return int(text)
        return int(text, 16) if text.lower().startswith("0x") else float(text)
    except ValueError:
        raise Refused(f"the table was changed: '{text}' is no number, as certified") from None


def truth(text: str) -> bool:
    """Read 0, 1, true or false."""
    if text not in TRUTHS and number(text) not in (0, 1):
        raise Refused(f"the table was changed: it holds '{text}' where 0 and 1 are certified")
    return TRUTHS[text] if text in TRUTHS else number(text) == 1


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


def reading_of(recipe: Json, columns: dict[str, list[str]]) -> Reading:
    """Read a table by the recipe."""
    if lacking := needed_columns(recipe) - set(columns):
        raise Refused(f"the table was changed: it lacks the column '{min(lacking)}'")
    missing = {*MISSING, *recipe["na"]}
    numbers = {f["column"] for f in recipe["features"] if f["test"] in ("in", "is")}
    for coding in filter(None, (recipe["target"], recipe["sensitive"])):
        numbers |= {coding["column"]} if coding["read"] == "number" else set()

    def lacks(column: str, text: str) -> bool:
        """Tell whether a value is missing; among numbers, NAN in any spelling is."""
        return text in missing or (column in numbers and text.lower().lstrip("+-") == "nan")

    def each(column: str, read: Callable[[str], Any], otherwise: Any) -> list[Any]:
        """Read every distinct text of a column once."""
        known = {
            text: otherwise if lacks(column, text.strip()) else read(text.strip())
            for text in set(columns[column])
        }
        return [known[text] for text in columns[column]]

    def feature(f: Json) -> list[bool]:
        """Evaluate a feature; where a value is missing, only the indicator of that is 1."""
        low, high, values = f.get("low"), f.get("high"), f.get("values", ())

        def between(text: str) -> bool:
            x = float(number(text))
            return (low is None or x > low) and (high is None or x <= high)

        tests: Json = {"is": truth, "in": between, "equals": lambda text: text in values}
        tests |= {"other": lambda text: text not in values, "missing": lambda text: False}
        return each(f["column"], tests[f["test"]], f["test"] == "missing")

    def codes(column: str, coding: Json) -> list[int]:
        """Give labels or groups their numbers; cuts make bins of them."""
        places = {value: code for code, value in enumerate(coding["values"])}
        read: Any = {"number": number, "truth": truth, "text": str}[coding["read"]]

        def code(text: str) -> int:
            if coding["cuts"]:
                return int(coding["bins"][bisect.bisect_left(coding["cuts"], float(number(text)))])
            return places.get(read(text), -1)

        return known(column, each(column, code, places.get("(missing)", -1)))

    def reference(column: str, spelled: dict[str, int] | None) -> list[int]:
        """Give other labels the numbers of the target's; they may be spelled otherwise."""
        if spelled is None:
            return codes(column, recipe["target"])

        def code(text: str) -> int:
            if text in spelled:
                return spelled[text]
            return spelled.get(as_text(TRUTHS[text] if text in TRUTHS else number(text)), -1)

        return known(column, each(column, code, -1))

    def known(column: str, codes: list[int]) -> list[int]:
        if -1 in codes:
            row = codes.index(-1) + 1
            raise Refused(f"the table was changed: row {row} has another '{column}' than certified")
        return codes

    target, groups = recipe["target"], recipe["sensitive"]
    y = codes(target["column"], target)
    weights = columns[recipe["weights"]] if recipe["weights"] else ["1"] * len(y)
    return Reading(
        names=[f["name"] for f in recipe["features"]],
        columns=[f["column"] for f in recipe["features"]],
        bits=[feature(f) for f in recipe["features"]],
        labels=target["values"],
        positive=recipe["positive"],
        y=y,
        groups=groups["values"] if groups else [],
        z=codes(groups["column"], groups) if groups else [0] * len(y),
        weights=[int(number(text.strip())) for text in weights],
        references={c: reference(c, spelled) for c, spelled in recipe["references"].items()},
    )


def digest(rows: list[str]) -> Json:
    """Digest all rows together, and each of them in two bytes, which tell where a change is."""
    each = "".join(hashlib.sha256(row.encode()).hexdigest()[:4] for row in rows)
    return {"sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest(), "rows": each}


def spelled(columns: dict[str, list[str]]) -> list[str]:
    """Spell the names of all columns, then every row."""
    return [json.dumps(row) for row in [list(columns), *zip(*columns.values(), strict=True)]]


def compare(rows: list[str], certified: Json, names: int = 0) -> None:
    """Refuse rows that are not the certified ones, and tell the first that differs."""
    found = digest(rows)
    if len(found["rows"]) != len(certified["rows"]):
        n, m = (len(x["rows"]) // 4 - names for x in (found, certified))
        raise Refused(f"the table was changed: it has {n:,} rows, but {m:,} are certified")
    if found["sha256"] != certified["sha256"]:
        ours, theirs = (re.findall("....", x["rows"]) for x in (found, certified))
        at = next((i for i, x in enumerate(ours) if x != theirs[i]), None)
        where = "some row" if at is None else f"row {at + 1 - names}" if at >= names else "a name"
        raise Refused(f"the table was changed: {where} is not as certified")


# --- formulas -------------------------------------------------------------------------------------

Values = dict[str, int]
Form = dict[str, Fraction]  # a linear form: coefficients of counts, the constant under ""
ONE: Form = {"": Fraction(1)}
TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<percent>\s*%)?"
    r"|(?P<name>[A-Za-z_]\w*(?:\[(?:[^\[\]]|\[[^\]]*\])*\])?)"
    r"|(?P<sign><=|>=|==|!=|[-+*/<>=(),≤≥≠×·⋅÷−∧∨¬]))"
)
TWINS = {"≤": "<=", "≥": ">=", "≠": "!=", "=": "==", "∧": " and ", "∨": " or ", "¬": " not "}
TWINS |= {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-"}
KEYWORDS = {"and": "and", "or": "or", "not": "not", "true": "True", "false": "False"}
FUNCTIONS: Json = {"abs": abs, "min": min, "max": max}
ARITHMETIC: dict[type, Any] = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}
RELATIONS: dict[type, Any] = {
    ast.LtE: le, ast.Lt: lt, ast.GtE: ge, ast.Gt: gt, ast.Eq: eq, ast.NotEq: ne
}  # fmt: skip
EXTREMES = {"least": 1, "largest": -1}
SHAPE = ("size", "depth", "support")
COUNTS = (*SHAPE, "error")


class Formulas:
    """Formulas about one table; ``extreme`` finds least(…) and largest(…) of all trees."""

    def __init__(self, reading: Reading, define: dict[str, str]) -> None:
        self.reading, self.define = reading, define
        self.extreme: Callable[[ast.expr, int], Fraction | None]
        self.found: dict[str, Fraction | None] = {}
        self.words: list[Fraction | str | ast.expr] = []
        self.rates = self.make_rates()
        if taken := define.keys() & {*COUNTS, *self.rates, "N"}:
            raise Refused(f"it gives the metric '{min(taken)}' another meaning")

    def read(self, text: str) -> ast.expr:
        """Let Python parse a formula in which _0, _1 … stand for its numbers and metrics."""
        python, at = "", 0
        while at < len(text.rstrip()):
            if (token := TOKEN.match(text, at)) is None:
                raise Refused(f"the formula '{text}' cannot be read")
            at, name = token.end(), token["name"]
            if token["sign"]:
                python += TWINS.get(token["sign"], token["sign"])
            elif name and name.lower() in KEYWORDS:
                python += f" {KEYWORDS[name.lower()]} "
            elif name in FUNCTIONS or name in EXTREMES:
                python += f" {name}"
            else:
                percent = Fraction(1, 100) if token["percent"] else 1
                word = self.meaning(name) if name else Fraction(token["number"]) * percent
                python += f" _{len(self.words)} "
                self.words.append(word)
        return ast.parse(python.strip(), mode="eval").body

    def meaning(self, name: str) -> Fraction | str | ast.expr:
        """Say what a metric is: a count, a number of the table, or a term over such."""
        if name in COUNTS or name.startswith("agreement["):
            return name
        if name == "N":
            return Fraction(sum(self.reading.weights))
        if short := re.fullmatch(r"N(\d)(\d)(\d?)", name):
            name = f"N[{','.join(filter(None, short.groups()))}]"
        if name.startswith("N["):
            name = name.replace(" ", "")
            if name[2:-1].split(",")[1] != "*":
                return name
            rows = zip(self.reading.y, self.reading.z, self.reading.weights, strict=True)
            return Fraction(sum(w * self.weight(name)(0, y, z) for y, z, w in rows))
        if (text := self.rates.get(name, self.define.get(name))) is None:
            raise Refused(f"it uses a metric '{name}' that this verifier does not know")
        return self.read(text)

    def make_rates(self) -> dict[str, str]:
        """Define all rates by counts N[true label, predicted label, group]."""
        p, groups = self.reading.positive, range(len(self.reading.groups))
        selection = [f"N[*,{p},{k}] / N[*,*,{k}]" for k in groups]
        tpr = [f"N[{p},{p},{k}] / N[{p},*,{k}]" for k in groups]
        fpr = [f"N[~{p},{p},{k}] / N[~{p},*,{k}]" for k in groups]

        def gap(rates: list[str]) -> str:
            if len(rates) == 2:  # noqa: PLR2004
                return f"abs({rates[1]} - {rates[0]})"
            return f"(max({','.join(rates)}) - min({','.join(rates)}))"

        classes = range(len(self.reading.labels))
        return {
            "acc": "(N - error) / N",
            "bacc": f"({'+'.join(f'N[{i},{i}] / N[{i},*]' for i in classes)}) / {len(classes)}",
            "precision": f"N[{p},{p}] / N[*,{p}]",
            "recall": f"N[{p},{p}] / N[{p},*]",
            "tpr": f"N[{p},{p}] / N[{p},*]",
            "fpr": f"N[~{p},{p}] / N[~{p},*]",
            "tnr": f"N[~{p},~{p}] / N[~{p},*]",
            "fnr": f"N[{p},~{p}] / N[{p},*]",
            "f1": f"2 * N[{p},{p}] / (2 * N[{p},{p}] + N[~{p},{p}] + N[{p},~{p}])",
            "selection_rate": f"N[*,{p}] / N",
            "dp": gap(selection),
            "eopp": gap(tpr),
            "eodd_sum": f"({gap(tpr)} + {gap(fpr)})",
            "eodd_max": f"max({gap(tpr)}, {gap(fpr)})",
            "eodd_mean": f"({gap(tpr)} + {gap(fpr)}) / 2",
            "dp_ratio": f"min({','.join(selection)}) / max({','.join(selection)})",
            "dp_signed": "-".join(selection[::-1]),
            "eopp_signed": "-".join(tpr[::-1]),
        }

    def weight(self, name: str) -> Callable[..., int]:
        """Say what a row adds to a count, by predicted label, true label, group, references."""
        if name == "error":
            return lambda label, y, *rest: int(label != y)
        if name.startswith("agreement["):
            at = list(self.reading.references).index(name[len("agreement[") : -1])
            return lambda label, y, z, *references: int(references[at] == label)

        def fits(part: str, x: int) -> bool:
            return part == "*" or (x != int(part[1:]) if part[0] == "~" else x == int(part))

        i, j, k = (*name[2:-1].split(","), "*")[:3]
        return lambda label, y, z, *rest: int(fits(i, y) and fits(j, label) and fits(k, z))

    def value(self, term: ast.expr, counts: Values) -> Fraction | None:
        """Compute a term; None (undefined) where something is divided by zero."""
        match term:
            case ast.Name(word):
                meaning = self.words[int(word[1:])]
                if isinstance(meaning, ast.expr):
                    return self.value(meaning, counts)
                return meaning if isinstance(meaning, Fraction) else Fraction(counts[meaning])
            case ast.UnaryOp(op, inner):
                x = self.value(inner, counts)
                return -x if x is not None and isinstance(op, ast.USub) else x
            case ast.BinOp(left, op, right):
                a, b = self.value(left, counts), self.value(right, counts)
                if a is None or b is None or (b == 0 and isinstance(op, ast.Div)):
                    return None
                return Fraction(ARITHMETIC[type(op)](a, b))
            case ast.Call(ast.Name(name), [inner]) if name in EXTREMES:
                key = f"{name} {ast.dump(inner)}"
                if key not in self.found:
                    self.found[key] = self.extreme(inner, EXTREMES[name])
                return self.found[key]
            case ast.Call(ast.Name(name), arguments):
                numbers = [self.value(argument, counts) for argument in arguments]
                return None if None in numbers else Fraction(FUNCTIONS[name](*numbers))
        raise Refused("a formula cannot be read")

    def holds(self, formula: ast.expr, counts: Values) -> bool | None:
        """Decide a formula in Kleene's logic; None where an undefined value leaves it open."""
        truths: list[bool | None]
        match formula:
            case ast.Constant(bool(truth)):
                return truth
            case ast.UnaryOp(ast.Not(), inner):
                truths = [self.holds(inner, counts)]
                return None if truths[0] is None else not truths[0]
            case ast.Compare(left, ops, rest):
                xs = [self.value(term, counts) for term in (left, *rest)]
                links = zip(xs, [RELATIONS[type(op)] for op in ops], xs[1:], strict=False)
                truths = [None if a is None or b is None else rel(a, b) for a, rel, b in links]
            case ast.BoolOp(_, parts):
                truths = [self.holds(part, counts) for part in parts]
            case _:
                raise Refused("a formula cannot be read")
        decisive = isinstance(formula, ast.BoolOp) and isinstance(formula.op, ast.Or)
        return decisive if decisive in truths else None if None in truths else not decisive

    def counts(self, x: ast.AST) -> set[str]:
        """Collect the counts that a term or formula is made of."""
        match x:
            case ast.Call(ast.Name(name)) if name in EXTREMES:
                return set()
            case ast.Name(word) if word[0] == "_":
                meaning = self.words[int(word[1:])]
                return {meaning} if isinstance(meaning, str) else (
                    self.counts(meaning) if isinstance(meaning, ast.expr) else set()
                )  # fmt: skip
        return set().union(*map(self.counts, ast.iter_child_nodes(x)))

    def bounds(self, formula: ast.expr) -> list[tuple[Form, bool]]:
        """List linear forms that are at most 0 (True: below 0) wherever the formula holds."""
        if isinstance(formula, ast.BoolOp) and isinstance(formula.op, ast.And):
            return [bound for part in formula.values for bound in self.bounds(part)]
        if not isinstance(formula, ast.Compare):
            return []
        found, terms = [], (formula.left, *formula.comparators)
        for left, op, right in zip(terms, formula.ops, terms[1:], strict=False):
            for relations, difference in (
                ((ast.LtE, ast.Lt, ast.Eq), ast.BinOp(left, ast.Sub(), right)),
                ((ast.GtE, ast.Gt, ast.Eq), ast.BinOp(right, ast.Sub(), left)),
            ):
                if isinstance(op, relations):  # p/q ≤ 0 with q > 0 says p ≤ 0
                    ratios = self.ratios(difference, Fraction(1)) or ()
                    found += [(p, isinstance(op, ast.Lt | ast.Gt)) for p, _ in ratios]
        return [(p, below) for p, below in found if not {"depth", "support"} & set(p)]

    def ratios(  # noqa: PLR0912
        self, term: ast.expr, by: Fraction
    ) -> list[tuple[Form, Form]] | None:
        """Write by·term as the largest of ratios p/q of linear forms with q >= 0, or give up."""
        if not self.counts(term):
            constant = self.value(term, {})
            return None if constant is None else [(linear((by * constant, ONE)), ONE)]
        match term:
            case ast.Name(word):
                meaning = self.words[int(word[1:])]
                if isinstance(meaning, ast.expr):
                    return self.ratios(meaning, by)
                return [({str(meaning): by}, ONE)]
            case ast.UnaryOp(op, inner):
                return self.ratios(inner, -by if isinstance(op, ast.USub) else by)
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                a = self.ratios(left, by)
                b = self.ratios(right, by if isinstance(op, ast.Add) else -by)
                sums = [_sum(x, y) for x in a for y in b] if a and b else [None]
                return None if None in sums else [x for x in sums if x]
            case ast.BinOp(left, ast.Mult(), right):
                for factor, other in ((left, right), (right, left)):
                    if not self.counts(factor) and (c := self.value(factor, {})) is not None:
                        return self.ratios(other, by * c)
            case ast.BinOp(left, ast.Div(), right) if not self.counts(right):
                c = self.value(right, {})
                return self.ratios(left, by / c) if c else None
            case ast.BinOp(left, ast.Div(), right):
                match self.ratios(left, by), self.ratios(right, Fraction(1)):
                    case [(p, one)], [(q, same)] if one == same == ONE and min(q.values()) > 0:
                        return [(p, q)]
            case ast.Call(ast.Name("abs"), [inner]) if by > 0:
                up, down = self.ratios(inner, by), self.ratios(inner, -by)
                return up + down if up and down else None
            case ast.Call(ast.Name(name), parts) if name == ("max" if by > 0 else "min"):
                some = [self.ratios(part, by) for part in parts]
                return None if None in some else [ratio for one in some for ratio in one or ()]
        return None


def linear(*parts: tuple[Fraction, Form]) -> Form:
    """Add up multiples of linear forms."""
    names = {name for _, form in parts for name in form}
    total = {
        name: sum((by * form.get(name, 0) for by, form in parts), Fraction()) for name in names
    }
    return {name: c for name, c in total.items() if c}


def _sum(a: tuple[Form, Form], b: tuple[Form, Form]) -> tuple[Form, Form] | None:
    one = Fraction(1)
    if a[1] == b[1]:
        return linear((one, a[0]), (one, b[0])), a[1]
    for x, y in ((a, b), (b, a)):
        if x[1] == ONE and set(x[0]) <= {""}:  # a constant
            return linear((one, y[0]), (x[0].get("", Fraction()), y[1])), y[1]
    return None


# --- trees ----------------------------------------------------------------------------------------

Key = tuple[int, ...]
Cells = dict[Key, int]
INNER = -1  # in place of a leaf's label


@dataclass
class Sum:
    """What is added up over the trees below a path: their numbers by some axes, or least costs."""

    axes: list[Callable[[int, Key, int], int]]  # the value at a leaf, by label, rows and depth
    joins: list[Callable[[int, int], int]]  # of two subtrees' values
    costs: "Sum | None" = None  # the least costs by which numbers are pruned: they are axis 0
    least: bool = False
    memo: dict[int, tuple[float, Cells]] = field(default_factory=dict)


class Trees:
    """The trees of a space on a table. Rows are bit sets, one for each kind of rows."""

    def __init__(self, reading: Reading, formulas: Formulas, space: Json) -> None:
        self.formulas, self.labels, self.work = formulas, range(len(reading.labels)), WORK
        rows = sum(reading.weights) * Fraction(space["relminsup"] or 0)
        self.minsup = max(space["minsup"], math.ceil(rows))
        self.max_depth, self.max_size = space["max_depth"], space["max_size"]
        self.majority, self.trivial = space["labels"] == "majority", space["trivial_splits"]
        self.share = Fraction(space["min_leaf_share"])
        if any(space.get(name) is not None for name in ("root", "required", "max_variables")):
            raise Refused("its class says which tests come first or must be: that is not checked")
        tests = enumerate(zip(reading.names, reading.columns, strict=True))
        self.banned = {f for f, test in tests if set(test) & set(space.get("banned") or ())}
        kinds = reading.kinds()
        self.kinds = sorted(set(kinds))
        place = {kind: k for k, kind in enumerate(self.kinds)}
        planes: dict[tuple[int, int], list[int]] = {}  # rows by kind and binary digit of weight
        for r, (kind, weight) in enumerate(zip(kinds, reading.weights, strict=True)):
            for digit in range(weight.bit_length()):
                if weight >> digit & 1:
                    planes.setdefault((place[kind], digit), []).append(r)
        self.planes = list(planes)
        self.features = [
            tuple(int("".join("01"[bits[r]] for r in rows), 2) for rows in planes.values())
            for bits in reading.bits
        ]
        self.all = tuple((1 << len(rows)) - 1 for rows in planes.values())
        self.root = self.all, self.count(self.all)
        self.split = 10 + len(kinds) // 1500  # what a split takes, measured in pairs of cells

    def count(self, S: Key) -> Key:
        """Count rows by kind, each as often as its weight says."""
        found = [0] * len(self.kinds)
        for (kind, digit), bits in zip(self.planes, S, strict=True):
            found[kind] += bits.bit_count() << digit
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

    def below(  # noqa: PLR0917
        self, how: Sum, S: Key, rows: Key, path: int = 0, depth: int = 0, room: float = math.inf
    ) -> Cells:
        """Sum over the trees below a path; what costs more than ``room`` is left out.

        Keys are the number of leaves (0 if any will do), the label of a single leaf (INNER if it
        does not matter), and the axes.
        """
        known = how.memo.get(path)
        if known is not None and room <= known[0]:
            return known[1]
        cells: Cells = {}
        for label in self.allowed(rows):
            index = [axis(label, rows, depth) for axis in how.axes]
            key = int(self.max_size is not None), INNER if self.trivial else label
            _put(how, cells, key if how.least else (*key, *index), index[0] if how.least else 1)
        for f, feature in enumerate(self.features if depth < self.max_depth else ()):
            if f in self.banned or path >> 2 * f & 3:
                continue  # or it is on the path
            S1 = tuple(map(and_, S, feature))
            rows1 = self.count(S1)
            rows0 = tuple(map(sub, rows, rows1))
            if sum(rows1) < self.minsup or sum(rows0) < self.minsup:
                continue
            yes = S1, rows1, path | 1 << 2 * f, depth + 1
            no = tuple(map(xor, S, S1)), rows0, path | 2 << 2 * f, depth + 1
            room1 = room0 = math.inf
            if how.costs:
                least1, least0 = (self.least(how.costs, *side) for side in (yes, no))
                if least1 + least0 > room:
                    continue
                room1, room0 = room - least0, room - least1
            self.join(how, cells, self.below(how, *yes, room1), self.below(how, *no, room0), room)
        if depth < self.max_depth:
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
                axes = zip(how.joins, k1[2:], k0[2:], strict=False)  # costs have none in the key
                index = [join(a, b) for join, a, b in axes]
                if how.costs is None or index[0] <= room:
                    _put(how, cells, (size, INNER, *index), v1 + v0 if how.least else v1 * v0)

    def least(self, how: Sum, S: Key, rows: Key, path: int = 0, depth: int = 0) -> float:
        """Find the least cost of a tree below a path; infinite where there is none."""
        return min(self.below(how, S, rows, path, depth).values(), default=math.inf)

    def axis(self, form: Form) -> Callable[[int, Key, int], int]:
        """Make the function that gives a form's value at a leaf; its constant is left out."""
        weights = [[0 for _ in self.kinds] for _ in self.labels]
        for name in form.keys() - {"", "size"}:
            weight = self.formulas.weight(name)
            for label in self.labels:
                for k, kind in enumerate(self.kinds):
                    weights[label][k] += int(form[name]) * weight(label, *kind)
        per_leaf = int(form.get("size", 0))
        return lambda label, rows, depth: per_leaf + sum(map(mul, weights[label], rows))

    def cells(self, x: ast.expr, bound: tuple[Form, bool] | None) -> list[tuple[Values, int]]:
        """Count the trees within a bound by the counts that a term or formula is made of."""
        names = sorted(self.formulas.counts(x))
        own: Json = {
            "depth": lambda label, rows, depth: depth,
            "support": lambda a, rows, b: sum(rows),
        }
        axes = [own.get(name) or self.axis({name: Fraction(1)}) for name in names]
        joins: Json = {"depth": max, "support": min}
        how = Sum(axes, [joins.get(name, add) for name in names])
        room = math.inf
        if bound:
            form = whole(bound[0])
            room = -int(form.get("", 0)) - bound[1]  # whole numbers: below 0 is at most -1
            how.costs = Sum([self.axis(form)], [add], least=True)
            how.axes, how.joins = how.costs.axes + how.axes, [add, *how.joins]
            if self.least(how.costs, *self.root) > room:
                return []
        found = self.below(how, *self.root, room=room).items()
        return [
            (dict(zip(names, key[-len(names) :] if names else (), strict=True)), n)
            for key, n in found
        ]

    def extreme(self, term: ast.expr, sign: int) -> Fraction | None:
        """Find the least (sign 1) or largest (-1) value of a term on any tree."""
        match self.formulas.ratios(term, Fraction(sign)):
            case [(form, bottom)] if bottom == ONE and not {"depth", "support"} & set(form):
                least = self.least_value(form)
                return None if least is None else sign * least
        cells = self.cells(term, None)
        values = [v for counts, _ in cells if (v := self.formulas.value(term, counts)) is not None]
        return min(values, key=lambda v: sign * v, default=None)

    def least_value(self, form: Form) -> Fraction | None:
        """Find the least value of a linear form on any tree."""
        least = self.least(Sum([self.axis(whole(form))], [add], least=True), *self.root)
        scale = math.lcm(*(c.denominator for c in form.values()))
        return None if least == math.inf else Fraction(int(least), scale) + form.get("", 0)


def _put(how: Sum, cells: Cells, key: Key, value: int) -> None:
    cells[key] = min(value, cells.get(key, value)) if how.least else cells.get(key, 0) + value


def whole(form: Form) -> Form:
    """Multiply a linear form such that its coefficients are whole numbers."""
    return linear((Fraction(math.lcm(*(c.denominator for c in form.values()))), form))


# --- claims ---------------------------------------------------------------------------------------

FAIRER = {"dp_ratio": "maximize"}  # of every other measure of a gap, less is fairer


def formulas_of(claim: Json) -> list[tuple[str, int]]:
    """List the formulas on which a claim stands, each with the number of trees that satisfy it."""
    asked, answer, kind = claim["question"], claim["answer"], claim["kind"]
    better = ">" if asked["sense"] == "maximize" else "<"
    good = asked["where"] or "true"
    found = [(good, answer["count"])]
    if kind == "alternative":
        found = [(f"({good}) and {asked['term']} {better} {answer['baseline']}", answer["count"])]
    if answer["value"] is not None:  # a tree has it, and none has a better one
        found.append((f"({good}) and {asked['term']} {better} {answer['value']}", 0))
    return [pair for pair in found if pair[1] is not None]


def check_kind(claim: Json) -> None:
    """Refuse a claim that lacks a number which its kind has, or has one that it has not."""
    answer, n = claim["answer"], claim["answer"]["count"]
    has = [answer[name] is not None for name in ("count", "value", "baseline")]
    shapes = {"count": [True, False, False], "existence": [False, False, False]}
    shapes |= {"optimum": [False, True, False], "none": [n == 0, False, False]}
    shapes |= {"alternative": [True, n != 0, True]}
    if has != shapes[claim["kind"]] or has[2] != (claim["baseline"] is not None):
        raise Refused(f"its numbers are not those of a claim of the kind '{claim['kind']}'")


def in_words(claim: Json) -> str:
    """Say what is claimed."""
    asked, answer, space = claim["question"], claim["answer"], claim["space"]
    share = Fraction(space["min_leaf_share"])
    limits = [
        f"at most {many(space['max_depth'], 'test')} on a path",
        f"at most {many(space['max_size'] or 0, 'leaf')}" if space["max_size"] is not None else "",
        f"at least {many(claim['table']['least_rows'], 'row')} in every leaf",
        "the majority label on every leaf" if space["labels"] == "majority" else "",
        f"at least {share} of a leaf's rows of its label" if share else "",
        "" if space["trivial_splits"] else "no split into two leaves of one label",
        f"no test of {', '.join(space['banned'])}" if space.get("banned") else "",
    ]
    about = f"on {claim['table']['name']} with {', '.join(filter(None, limits))}"
    extreme = "largest" if asked["sense"] == "maximize" else "least"
    n, best = answer["count"], f"the {extreme} {asked['term']} is {answer['value']}"
    good = [f"that satisfies {asked['where']}"] if asked["where"] else []
    if answer["baseline"] is not None:
        than = f"{'above' if extreme == 'largest' else 'below'} {answer['baseline']}"
        good.append(f"whose {asked['term']} is {than}, that of the decisions in use")
    tree = ", ".join([f"decision tree {about}", *good])
    own = "".join(f" Here {name} is {text}." for name, text in asked["define"].items())
    trees = tree.replace("tree on", "trees on", 1).replace("that satisfies", "that satisfy", 1)
    if claim["kind"] == "existence":
        return f"There is a {tree}.{own}"
    if claim["kind"] == "optimum":
        return f"Of all {trees}, {best}.{own}"
    if n == 0:
        return f"None in this class: there is no {tree}.{own}"
    found = f"There {'is' if n == 1 else 'are'} exactly {n:,} {tree if n == 1 else trees}"
    return f"{found}; {best}.{own}" if claim["kind"] == "alternative" else f"{found}.{own}"


def many(n: int, one: str) -> str:
    """Write a number of things."""
    return f"{n:,} {one}" if n == 1 else f"{n:,} {'leaves' if one == 'leaf' else one + 's'}"


def exact(x: Fraction | None) -> str | None:
    """Write a value as a fraction in lowest terms; None where it is undefined."""
    return None if x is None else str(x)


def rules(tree: Json, tests: tuple[str, ...] = ()) -> list[str]:
    """Write one rule for each leaf."""
    if "label" in tree:
        start = f"if {' and '.join(tests)} then" if tests else "always"
        return [f"{start} {tree['label']}"]
    name = tree["feature"]
    denied = f"not ({name})" if " " in name else f"not {name}"
    return rules(tree["yes"], (*tests, name)) + rules(tree["no"], (*tests, denied))


class Check:
    """One certificate held against one table."""

    def __init__(
        self, claim: Json, columns: dict[str, list[str]], report: Report, quick: bool
    ) -> None:
        self.claim, self.columns, self.report, self.quick = claim, columns, report, quick
        if claim["table"]["raw"]:
            compare(spelled(columns), claim["table"]["raw"], names=1)
        self.reading = reading_of(claim["table"]["recipe"], columns)
        self.formulas = Formulas(self.reading, claim["question"]["define"])
        self.trees = Trees(self.reading, self.formulas, claim["space"])
        self.formulas.extreme = self.trees.extreme

    def run(self) -> None:
        """Check the table, the words, the decisions and the numbers."""
        claim, table, say = self.claim, self.claim["table"], self.report.checked.append
        say("no byte of the certificate was changed: its SHA-256 is right")
        compare(self.reading.rows(), table["read"])
        rows = len(self.reading.y)
        say(f"the {rows:,} rows of the table, read by the recipe, are those certified")
        if table["raw"]:
            say("so is every value in them, in columns that no feature uses, too")
        else:
            self.report.trusted.append("values that change no feature, label, group or weight")
        check_kind(claim)
        if claim["claim"] != in_words(claim) or table["least_rows"] != self.trees.minsup:
            raise Refused("its words do not say what its numbers say")
        try:
            self.decisions()
            for formula, proof in zip(formulas_of(claim), claim["proofs"], strict=True):
                self.number(*formula, proof)
        except TooLarge:
            self.report.trusted.append("whether the tree shown is good: it takes too long to find "
                                       "the least or largest value in the formula")  # fmt: skip
            self.report.too_large += formulas_of(claim)
        for held in claim["held_out"]:
            name = f"the {many(held['rows'], 'held-out row')} of {held['name']}"
            self.report.trusted.append(f"the scores on {name}: they are not in this table")
        self.report.trusted.append("date, command and versions; who made it: it is not signed")

    def decisions(self) -> None:
        """Score the decisions in use, if the claim compares with them, and the tree shown."""
        asked, answer, witness = (self.claim[name] for name in ("question", "answer", "witness"))
        if (use := self.claim["baseline"]) is not None:
            decided = None if "tree" in use else self.reading.references[use["column"]]
            counts = self.walk(use["tree"])[0] if decided is None else self.tally(decided)
            self.compare_scores("the decisions in use", counts, use, answer["baseline"])
            self.report.checked.append("the decisions in use have the rates and gaps certified")
        if witness is None:
            if self.claim["kind"] == "existence" or answer["count"] or answer["value"] is not None:
                raise Refused("it shows no tree, but claims that there is one")
            return
        counts, fault = self.walk(witness["tree"])
        if fault or witness["rules"] != rules(witness["tree"]):  # else the rules could be forged
            raise Refused(f"the tree shown is not in the class: {fault or 'its rules are others'}")
        if not self.formulas.holds(self.formulas.read(asked["where"] or "true"), counts):
            raise Refused(f"the tree shown does not satisfy {asked['where']}")
        self.compare_scores("the tree shown", counts, witness, answer["value"])
        self.report.checked.append("the tree shown, row by row: it is in the class, satisfies the "
                                   "formula, and has the metrics certified")  # fmt: skip

    def compare_scores(self, what: str, counts: Values, told: Json, best: str | None) -> None:
        """Compute metrics and rates by group again."""
        terms = dict(told["metrics"])
        terms |= {} if best is None else {self.claim["question"]["term"]: best}
        for name, text in terms.items():
            found = exact(self.formulas.value(self.formulas.read(name), counts))
            if found != text:
                raise Refused(f"{name} of {what} is {found}, but {text} is certified")
        if told["groups"] != self.by_group(counts):
            raise Refused(f"the rates by group of {what} are not those certified")

    def by_group(self, counts: Values) -> list[Json]:
        """Count rows and selected rows by group, with selection rates and impact ratios."""
        p, told, rates, labels = self.reading.positive, [], [], range(len(self.reading.labels))
        for k, group in enumerate(self.reading.groups if p is not None else ()):
            selected = sum(counts[f"N[{i},{p},{k}]"] for i in labels)
            rows = sum(counts[f"N[{i},{j},{k}]"] for i in labels for j in labels)
            rates.append(Fraction(selected, rows) if rows else None)
            told.append({"group": group, "rows": rows, "selected": selected})
        most = max((rate for rate in rates if rate is not None), default=Fraction())
        for one, rate in zip(told, rates, strict=True):
            one["rate"] = exact(rate)
            one["impact_ratio"] = exact(rate / most) if rate is not None and most else None
        return told

    def walk(self, tree: Json) -> tuple[Values, str | None]:
        """Send every row down a tree; say why it is not in the class, if it is not."""
        reading, trees, kinds = self.reading, self.trees, self.reading.kinds()
        predicted, leaves, faults = [0] * len(kinds), [], []

        def down(tree: Json, rows: list[int], above: tuple[str, ...]) -> None:
            if "label" in tree:
                label = reading.labels.index(tree["label"])
                weight = [0 for _ in trees.kinds]
                for r in rows:
                    predicted[r] = label
                    weight[trees.kinds.index(kinds[r])] += reading.weights[r]
                leaves.append((len(above), sum(weight)))
                if label not in trees.allowed(tuple(weight)):
                    faults.append("a leaf has too few rows, or not a label that it may have")
                return
            name, yes, no = tree["feature"], tree["yes"], tree["no"]
            if name in above or len(above) >= trees.max_depth:
                faults.append("a path tests a feature twice, or too many")
            if yes == no and "label" in yes and not trees.trivial:
                faults.append("it has a trivial split")
            if reading.names.index(name) in trees.banned:
                faults.append("it tests what no tree may test")
            bits = reading.bits[reading.names.index(name)]
            down(yes, [r for r in rows if bits[r]], (*above, name))
            down(no, [r for r in rows if not bits[r]], (*above, name))

        down(tree, list(range(len(kinds))), ())
        if trees.max_size is not None and len(leaves) > trees.max_size:
            faults.append("it has too many leaves")
        shape = {"size": len(leaves), "depth": max(leaves)[0], "support": min(n for _, n in leaves)}
        return {**self.tally(predicted), **shape}, next(iter(faults), None)

    def tally(self, predicted: list[int]) -> Values:
        """Count rows by true label, predicted label and group, and for all counts in formulas."""
        reading, asked = self.reading, self.claim["question"]
        rows: Counter[tuple[int, ...]] = Counter()
        for p, kind, w in zip(predicted, reading.kinds(), reading.weights, strict=True):
            rows[p, *kind] += w
        texts = [asked["where"] or "true", asked["term"] or "error"]
        for told in (self.claim["witness"], self.claim["baseline"]):
            texts += told["metrics"] if told else ()
        names = set().union(*(self.formulas.counts(self.formulas.read(text)) for text in texts))
        labels, groups = range(len(reading.labels)), range(max(1, len(reading.groups)))
        names |= {f"N[{i},{j},{k}]" for i in labels for j in labels for k in groups}
        weights = {name: self.formulas.weight(name) for name in names - set(SHAPE)}
        return {name: sum(n * w(*row) for row, n in rows.items()) for name, w in weights.items()}

    def number(self, where: str, certified: int, proof: Json | None) -> None:
        """Count the trees that satisfy a formula, or prove that there is none."""
        if self.quick:
            self.report.trusted.append(f"that {certified:,} trees satisfy {where}: not counted")
            return
        formula, self.trees.work = self.formulas.read(where), WORK
        how, bound = "counted again by a recursion over paths", None
        try:
            bound = None if proof is None else self.bound(formula, proof)
            cells: list[tuple[Values, int]] = []
            if bound and proof and proof["least"] is not None:
                self.disprove(bound, proof["least"])
                how = f"proved: {in_terms(bound[0])} is at least {proof['least']} on every tree, "
                how += "but below 0 on such a tree" if bound[1] else "but at most 0 on such a tree"
            else:
                cells = self.trees.cells(formula, bound)
        except TooLarge:
            self.report.too_large.append((where, certified))
            return
        found = sum(n for counts, n in cells if self.formulas.holds(formula, counts))
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

    def disprove(self, bound: tuple[Form, bool], certified: str) -> None:
        """Check that a form which is at most 0 (or below 0) on good trees is more on all trees."""
        least = self.trees.least_value(bound[0])
        above = least is not None and (least > 0 or (least == 0 and bound[1]))
        if exact(least) != certified or not above:
            raise Refused(f"its proof does not hold: the least value of the form is {least}")


def in_terms(form: Form) -> str:
    """Write a linear form."""
    terms = " + ".join(f"{c}·{name}" if name else str(c) for name, c in sorted(form.items()))
    return terms.replace("+ -", "- ")


def main(arguments: list[str]) -> int:
    """Check the certificate and the table named on the command line."""
    paths = [a for a in arguments if not a.startswith("--")]
    if len(paths) != 2:  # noqa: PLR2004
        print("usage: python verify.py claim.json table.csv [--quick]")
        return 2
    try:
        with open(paths[0], "rb") as file:
            content = file.read()
        report = verify(
            content, read_table(paths[1], opened(content)["table"]), quick="--quick" in arguments
        )
    except Refused as refusal:
        report = Report(reason=str(refusal))
    except (OSError, UnicodeDecodeError) as error:
        print(f"a file cannot be read: {error}")
        return 2
    except WRONG:
        report = Report(reason=MISSHAPEN)
    lines = [f"{'not valid' if report.reason else 'valid'}: {paths[0]}"]
    lines += [f"  checked: {line}" for line in report.checked]
    for where, n in report.too_large:
        lines.append(f"  trusted: that {n:,} trees satisfy {where}: too many steps to count them")
    lines += [f"  trusted: {line}" for line in report.trusted]
    print("\n".join(lines + ([f"  refused: {report.reason}"] if report.reason else [])))
    return 1 if report.reason else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
