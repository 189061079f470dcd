"""Check a certificate of adtc against its table, with nothing but Python's standard library.

    python verify.py claim.json table.csv [--quick]

A certificate makes statements about all decision trees of a class on one table: that exactly so
many satisfy a formula, that none does, or that one does, which it shows. This file shares no code
with adtc, runs alone, and is meant to be read from top to bottom:

- file: no byte was changed, that is, the digest over the certificate is right
- table: is read anew; each feature, label and group is a test of a column (`fits`) and is called
  by its test (`named`); the digest of all rows so read is the certified one
- formulas: nested lists over counts of rows, decided on counts (`holds`), and turned into linear
  forms of counts that are at most 0 wherever they hold (`bounds`)
- trees: one recursion over paths (`below`). The trees below a path are its leaves and, for each
  feature not on it yet, all pairs of a tree below its one and a tree below its other side; it
  adds up their numbers by their counts, or finds the least value of a linear form
- report: trees shown are sent through the table; trees are counted again. A form that is at most 0
  on trees that satisfy a formula, but above 0 on all trees, proves that there are none
"""

# fmt: off
import csv
import gzip
import hashlib
import io
import json
import math
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from operator import add, eq, ge, gt, le, lt, mul, ne, sub, truediv
from typing import Any

FORMAT, VERSION = "adtc certificate", 3
WORK = 30_000_000  # pairs of cells that are looked at before giving up: about a minute
BLANK = b"0" * 64  # stands for the digest while it is computed
MISSHAPEN = "it is not put together as a certificate is"
Json = dict[str, Any]
Columns = dict[str, list[str]]
WRONG = (  # what reading a forged file may raise; RecursionError: it is nested without end
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)

class Refused(Exception):
    """The certificate does not hold; the message is the reason."""

class TooLarge(Exception):
    """Counting would take too long."""

# --- file -----------------------------------------------------------------------------------------
def opened(content: bytes) -> Json:
    """Read the certificate: its version, and the digest over all its other bytes."""
    try:
        claim = dict(json.loads(content))
        known, digest = claim["format"] == FORMAT, claim["sha256"].encode()
    except WRONG:
        known = False
    if not known: raise Refused("it is no certificate of adtc, or a damaged one")
    if (version := claim["version"]) != VERSION:
        told = f"it has {'the older ' if version < VERSION else ''}version {version}, but this "
        told += f"verifier reads version {VERSION}: use verify.py of the adtc that made it"
        raise Refused(f"{told}, or certify again")
    if sealed(content.replace(digest, BLANK)) != content:
        raise Refused("the file was changed: its SHA-256 is not that of its content")
    return claim

def sealed(content: bytes) -> bytes:
    """Put the digest of a certificate into its place."""
    return content.replace(BLANK, hashlib.sha256(content).hexdigest().encode())

# --- table: columns of text -----------------------------------------------------------------------
def read_table(path: str, about: Json) -> Columns:
    """Read a file in the way that the certificate says."""
    if path.endswith((".parquet", ".pq")): raise Refused("use `adtc verify` for a Parquet file")
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        text = file.read().decode("utf-8-sig", "replace")
    sep = about["file"]["sep"] or max(",;\t", key=text.partition("\n")[0].count)
    if sep == " ":  # several blanks separate as one does
        text = re.sub(r"[ \t]+", " ", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text))
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sep) if row]
    names = [str(i) for i in range(len(rows[0]) if rows else 0)]
    if rows and about["file"]["header"] is not False:
        names = [name.strip() or f"(column {i})" for i, name in enumerate(rows.pop(0), 1)]
    if odd := [r for r, row in enumerate(rows, 1) if len(row) != len(names)]:
        raise Refused(f"the table was changed: row {odd[0]} has not {len(names)} fields")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}

def as_text(x: Any) -> str:
    """Write a value in its shortest form: 40.0 is 40, and a missing value is empty."""
    if isinstance(x, str | bool | int): return str(x)
    if x is None or math.isnan(x): return ""
    return str(int(x)) if float(x).is_integer() and abs(x) < 10**16 else repr(float(x))

def scalar(text: str) -> str | float:
    """Read a number or a truth value, exactly if it is whole; what is neither stays text."""
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"): return text.lower() == "true"
    with suppress(ValueError):
        return int(text, 16) if text.lower().startswith("0x") else int(text)
    with suppress(ValueError):
        return float(text)
    return text

def fits(test: Json, text: str | None) -> bool:
    """Evaluate one test of a column on one of its values; None is a missing one."""
    x = None if text is None else scalar(text)
    if "values" in test:  # texts are compared as they are, numbers and truth values as such
        return text in test["values"] or x in test["values"]
    if x is None or "other" in test: return text is not None and text not in test["other"]
    if isinstance(x, str): raise Refused(f"the table was changed: '{text}' is no number")
    low, high = test["low"], test["high"]
    return (low is None or x > low) and (high is None or x <= high)

def named(column: str, test: Json, *, label: bool = False) -> Any:
    """Name a feature by what it tests; a label or group by its value, or its bin."""
    match test:
        case {"values": [value] | ["(missing)" as value, None]} if label: return value
        case {"values": [None]}: return f"{column} is missing"
        case {"values": [str(value)]}: return f"{column} = {value}"
        case {"values": [1]}: return column
        case {"other": _}: return f"{column} = (other)"
        case {"low": None, "high": high}: return f"{column} <= {as_text(high)}"
        case {"low": low, "high": None}: return f"{column} > {as_text(low)}"
        case {"low": low, "high": high}: return f"{as_text(low)} < {column} <= {as_text(high)}"
    raise Refused(f"a test of the column '{column}' in its recipe has no name")

@dataclass
class Reading:
    """The table as it is read: truth values of features, and codes of rows."""

    names: list[str]
    columns: list[str]
    bits: list[list[bool]]
    labels: list[Any]
    roles: list[str]  # label, group if there are any, agreement[…] for labels from elsewhere
    kinds: list[tuple[int, ...]]  # these codes of every row: all that counts of rows depend on
    weights: list[int]

    def rows(self) -> list[str]:
        """Spell every row: features, codes, weight."""
        features = zip(*self.bits, strict=True) if self.bits else [()] * len(self.kinds)
        rows = zip(features, self.kinds, self.weights, strict=True)
        return [f"{''.join('01'[bit] for bit in bits)} {kind} {w}" for bits, kind, w in rows]

    def counter(self, count: str) -> Callable[..., bool]:
        """Say whether a row counts, by its predicted label and its codes."""
        def match(part: str, x: int) -> bool:
            return part == "*" or (x != int(part[1:]) if part[0] == "~" else x == int(part))
        if count == "error": return lambda said, y, *row: said != y
        if count in self.roles: return lambda said, *row: said == row[self.roles.index(count)]
        parts = count[len("N[") : -1].split(",")
        at = self.roles.index("group") if len(parts) > 2 else 0  # noqa: PLR2004
        return lambda said, *row: all(map(match, parts, (row[0], said, row[at])))

    def total(self, count: str, said: Sequence[int]) -> int:
        """Count rows by what is said of them; where that is nothing, it does not matter."""
        counts, said = self.counter(count), said or [0] * len(self.kinds)
        rows = zip(said, self.kinds, self.weights, strict=True)
        return sum(w for label, kind, w in rows if counts(label, *kind))

def reading_of(recipe: Json, columns: Columns) -> Reading:
    """Read a table by the recipe."""
    def each(column: str, read: Callable[[str | None], Any]) -> list[Any]:
        """Read every distinct text of a column once."""
        if column not in columns:
            raise Refused(f"the table was changed: it lacks the column '{column}'")
        gone = recipe["na"].get(column, recipe["na"][""])
        known = {t: read(None if t.strip() in gone else t.strip()) for t in set(columns[column])}
        return [known[text] for text in columns[column]]

    def coded(column: str, tests: list[Json]) -> list[int]:
        """Give each row the number of the label or group whose test it passes."""
        codes = each(column, lambda t: next((i for i, x in enumerate(tests) if fits(x, t)), -1))
        if -1 in codes:
            row = codes.index(-1) + 1
            raise Refused(f"the table was changed: row {row} has another '{column}' than certified")
        return codes

    features, codes, weights = recipe["features"], recipe["codes"], recipe["weights"]
    known = [(f["column"], value) for f in features for value in f.get("values", ())]
    for test in features:
        if "other" in test:  # is any value but those that features of its column name
            test["other"] = [value for column, value in known if column == test["column"]]
    return Reading(
        names=[named(f["column"], f) for f in features],
        columns=[f["column"] for f in features],
        bits=[each(f["column"], partial(fits, f)) for f in features],
        labels=[named(codes["label"]["column"], t, label=True) for t in codes["label"]["tests"]],
        roles=list(codes),
        kinds=(kinds := list(zip(*(coded(**coding) for coding in codes.values()), strict=True))),
        weights=each(weights, lambda t: int(scalar(t or ""))) if weights else [1] * len(kinds))

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
    if (n := len(ours) - names) != (m := len(theirs) - names):
        raise Refused(f"the table was changed: it has {n:,} rows, but {m:,} are certified")
    if found["sha256"] != certified["sha256"]:
        at = next((i for i, x in enumerate(ours) if x != theirs[i]), None)
        where = "some row" if at is None else f"row {at + 1 - names}" if at >= names else "a name"
        raise Refused(f"the table was changed: {where} is not as certified")

# --- formulas: ["<=", "dp", "0.1"], ["abs", ["-", "N[*,1,0]", "N[*,1,1]"]] ------------------------

Form = dict[str, Fraction]  # a linear form: coefficients of counts, the constant under ""
NUMBER = re.compile(r"-?\d+(\.\d+)?(/\d+)?")
COUNT = re.compile(r"size|depth|support|error|agreement\[.+\]|N\[[*~\d]+(,[*~\d]+){1,2}\]")
OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": add, "-": sub, "*": mul, "/": truediv, "abs": abs,
    "min": lambda *xs: min(xs), "max": lambda *xs: max(xs)}
RELATIONS: dict[str, Any] = {"<=": le, "<": lt, ">=": ge, ">": gt, "=": eq, "!=": ne}
LEVELS = {"or": 0, "and": 1, **dict.fromkeys(RELATIONS, 2), "+": 3, "-": 3, "*": 4, "/": 4}

def text_of(x: Any, level: int = 0) -> str:
    """Write a formula as people do, in parentheses if it binds less tightly than ``level``."""
    if not isinstance(x, list):
        ratio = level >= LEVELS["/"] and isinstance(x, str) and NUMBER.fullmatch(x) and "/" in x
        return f"({x})" if ratio else str(x).lower() if isinstance(x, bool) else str(x)
    op, *parts = x
    if op not in LEVELS: return f"{op}({', '.join(map(text_of, parts))})"
    text = f" {op} ".join(text_of(part, LEVELS[op] + (i > 0)) for i, part in enumerate(parts))
    return f"({text})" if LEVELS[op] < level else text

def counts_in(x: Any) -> set[str]:
    """Collect the counts that a formula is made of."""
    if isinstance(x, list): return set().union(*map(counts_in, x[1:]))
    return {x} if isinstance(x, str) else set()

def expanded(x: Any, define: Json, reading: Reading) -> Any:
    """Put in what metrics stand for, until a formula is made of numbers and counts."""
    match x:
        case bool(): return x
        case [op, *parts]: return [op, *(expanded(part, define, reading) for part in parts)]
        case "N": return expanded("N[*,*]", define, reading)
        case str() if NUMBER.fullmatch(x): return Fraction(x)
        case str() if re.match(r"N\[[^,]*,\*", x): return Fraction(reading.total(x, ()))
        case str() if COUNT.fullmatch(x): return x
        case str() if x in define: return expanded(define[x], define, reading)
    raise Refused(f"it uses a metric '{x}' that it does not define")

def value(x: Any, counts: dict[str, int]) -> Fraction:
    """Compute a term; ZeroDivisionError where it is undefined."""
    if isinstance(x, list):
        return Fraction(OPERATIONS[x[0]](*[value(part, counts) for part in x[1:]]))
    return Fraction(counts[x] if isinstance(x, str) else x)

def holds(x: Any, counts: dict[str, int]) -> bool:
    """Decide a formula; a comparison with an undefined value does not hold."""
    match x:
        case bool(): return x
        case ["and", *parts]: return all(holds(part, counts) for part in parts)
        case ["or", *parts]: return any(holds(part, counts) for part in parts)
    relation, a, b = x
    with suppress(ZeroDivisionError):
        return bool(RELATIONS[relation](value(a, counts), value(b, counts)))
    return False

def bounds(x: Any) -> list[tuple[Form, bool]]:
    """List linear forms that are at most 0 (True: below 0) wherever a formula holds."""
    match x:
        case ["and", *parts]: return [bound for part in parts for bound in bounds(part)]
        case ["=", a, b]: return bounds(["<=", a, b]) + bounds(["<=", b, a])
        case [">=", a, b]: return bounds(["<=", b, a])
        case [">", a, b]: return bounds(["<", b, a])
        case ["<=" | "<" as op, ["/", a, b], c] if positive(b): return bounds([op, a, ["*", c, b]])
        case ["<=" | "<" as op, c, ["/", a, b]] if positive(b): return bounds([op, ["*", c, b], a])
        case ["<=" | "<" as op, a, b]:
            with suppress(ArithmeticError):
                return [(form, op == "<") for form in forms(["-", a, b])]
    return []

def positive(x: Any) -> bool:
    """Tell whether a term is surely above 0 where it can be divided by: counts are not below 0."""
    with suppress(ArithmeticError): return all(c >= 0 for form in forms(x) for c in form.values())
    return False

def forms(x: Any, by: Fraction = Fraction(1)) -> list[Form]:
    """Write by·x as the largest of some linear forms; ArithmeticError where it is not."""
    match x:
        case _ if not counts_in(x): return [{"": by * value(x, {})}]
        case str() if x not in ("depth", "support"): return [{x: by}]
        case ["+", a, b]:
            return [linear((1, p), (1, q)) for p in forms(a, by) for q in forms(b, by)]
        case ["-", a, b]: return forms(["+", a, ["*", Fraction(-1), b]], by)
        case ["*", a, b] if not counts_in(a): return forms(b, by * value(a, {}))
        case ["*", a, b] if not counts_in(b): return forms(a, by * value(b, {}))
        case ["/", a, b] if not counts_in(b): return forms(a, by / value(b, {}))
        case ["abs", a]: return forms(["max", a, ["*", Fraction(-1), a]], by)
        case ["max" | "min" as which, *parts] if (which == "max") == (by > 0):
            return [form for part in parts for form in forms(part, by)]
    raise ArithmeticError("it is not the largest of linear forms")

def linear(*parts: tuple[Fraction | int, Form]) -> Form:
    """Add up multiples of linear forms."""
    names = {name: None for _, form in parts for name in form}
    total = {name: sum(by * form.get(name, Fraction()) for by, form in parts) for name in names}
    return {name: Fraction(c) for name, c in total.items() if c}

def whole(parts: list[tuple[Fraction, Form, bool]]) -> Form:
    """Add up bounds, each times a positive number, to a form of whole numbers that is at most 0."""
    if min(by for by, *_ in parts) <= 0:
        raise Refused("a multiplier of its proof is not above 0")
    form = linear(*((by, form) for by, form, _ in parts))
    form = linear((math.lcm(*(c.denominator for c in form.values())), form))
    below = any(below for *_, below in parts)  # a whole number below 0 is at most -1
    return linear((1, form), (1, {"": Fraction(below)}))

def in_terms(form: Form) -> str:
    """Write a linear form."""
    terms = " + ".join(f"{c}·{name}" if name else str(c) for name, c in sorted(form.items()))
    return terms.replace("+ -", "- ")

# --- trees ----------------------------------------------------------------------------------------

Rows = tuple[int, ...]  # so many rows of each kind
Cells = dict[tuple[Any, ...], float]
Path = frozenset[int]  # the tests on it: f if the f-th feature holds, -f if not
Leaf = Callable[[int, Rows, int], int]  # a value at a leaf: by label, rows, depth
Axis = tuple[Leaf, Callable[[Any, Any], Any]]  # and of two subtrees; None: no such tree
CLASS = {  # what may limit a class, in words
    "max_depth": "{} or fewer tests on a path", "minsup": "{} or more rows in every leaf",
    "max_size": "{} or fewer leaves", "labels": "the {} label on every leaf",
    "trivial_splits": "no split into two leaves of one label", "banned": "no test of {}",
    "min_leaf_share": "{} or more of a leaf's rows of its label"}
INNER = -1  # in place of a leaf's label

@dataclass
class Sum:
    """What is added up over trees: their numbers by the axes, or with (min, +) their least cost."""

    axes: list[Axis]
    leaf: Leaf = lambda label, rows, depth: 1
    plus: Callable[[Any, Any], Any] = add
    zero: float = 0
    times: Callable[[Any, Any], Any] = mul
    costs: "Sum | None" = None  # the last axis, whose least values prune what is too much
    memo: dict[Path, tuple[float, Cells]] = field(default_factory=dict)

class Trees:
    """The trees of a class on a table. Sets of rows are the bits of one integer."""

    def __init__(self, reading: Reading, space: Json) -> None:
        self.max_depth, self.minsup = space["max_depth"], space["minsup"]
        most, labels, banned = space.get("max_size"), space.get("labels"), space.get("banned", [])
        least = min(self.max_depth, self.minsup, 0 if most is None else most - 1)
        odd = labels not in (None, "majority") or not isinstance(banned, list)
        if least < 0 or odd or {*space} - {*CLASS}:
            raise Refused("its class of trees is none that this verifier knows")
        if len(set(reading.names)) != len(reading.names):
            raise Refused("two of its features have the same name")
        self.reading, self.work, self.limits = reading, math.inf, list[Axis]()
        self.majority, self.share = labels is not None, Fraction(space.get("min_leaf_share", 0))
        tests = zip(reading.names, reading.columns, map(bit_set, reading.bits), strict=True)
        self.features = {name: S for name, column, S in tests if not {name, column} & {*banned}}
        kinds = list(zip(reading.kinds, reading.weights, strict=True))
        self.kinds = {kind: bit_set(kind == own for own in kinds) for kind in sorted(set(kinds))}
        self.all, self.labels = (1 << len(kinds)) - 1, range(len(reading.labels))
        if most is not None:
            self.limits += [(lambda *leaf: 1, lambda a, b: a + b if a + b <= most else None)]
        if "trivial_splits" in space:
            self.limits += [(lambda x, *_: x, lambda a, b: None if a == b != INNER else INNER)]
        self.split = 10 + len(kinds) // 1500  # what a split takes, measured in pairs of cells

    def allowed(self, rows: Rows) -> Sequence[int]:
        """List the labels that a leaf with these rows may carry."""
        votes = [0 for _ in self.labels]
        for ((y, *_), _), n in zip(self.kinds, rows, strict=True):
            votes[y] += n
        labels = [votes.index(max(votes))] if self.majority else self.labels
        return [label for label in labels if votes[label] >= self.share * sum(rows)]

    def count(self, S: int) -> Rows:
        """Count rows by kind, each as often as its weight says."""
        return tuple((S & kind).bit_count() * w for (_, w), kind in self.kinds.items())

    def below(self, how: Sum, S: int, path: Path, room: float, shown: Any = None) -> Cells:
        """Sum by the axes over trees below a path: all that cost at most ``room``, or one shown."""
        if path in how.memo and room <= how.memo[path][0]: return how.memo[path][1]
        rows, cells, depth = self.count(S), Cells(), len(path)
        for label in self.allowed(rows) if sum(rows) >= self.minsup else ():
            if shown in (None, {"label": self.reading.labels[label]}):
                key = tuple(leaf(label, rows, depth) for leaf, _ in how.axes)
                cells[key] = how.plus(cells.get(key, how.zero), how.leaf(label, rows, depth))
        deeper = self.features.items() if depth + 1 <= self.max_depth else ()
        for f, (name, feature) in enumerate(deeper, 1):
            if f in path or -f in path or (shown and shown.get("feature") != name): continue
            if not self.minsup <= sum(self.count(S & feature)) <= sum(rows) - self.minsup: continue
            yes, no = (S & feature, path | {f}), (S & ~feature, path | {-f})
            least1, least0 = self.least(how.costs, *yes), self.least(how.costs, *no)
            if least1 + least0 <= room:
                t1 = self.below(how, *yes, room - least0, shown and shown["yes"])
                t0 = self.below(how, *no, room - least1, shown and shown["no"])
                self.join(how, cells, t1, t0, room)
        how.memo[path] = room, cells
        self.work -= 10 * len(cells)  # memory is limited, too
        return cells

    def join(self, how: Sum, cells: Cells, t1: Cells, t0: Cells, room: float) -> None:
        """Add all pairs of a tree on the one and a tree on the other side."""
        self.work -= self.split + len(t1) * len(t0)
        if self.work < 0: raise TooLarge
        for (k1, x1), (k0, x0) in product(t1.items(), t0.items()):
            key = tuple(join(a, b) for (_, join), a, b in zip(how.axes, k1, k0, strict=True))
            if None not in key and (how.costs is None or key[-1] <= room):
                cells[key] = how.plus(cells.get(key, how.zero), how.times(x1, x0))

    def least(self, costs: Sum | None, S: int, path: Path = frozenset()) -> float:
        """Find the least cost of a tree below a path; infinite where there is none."""
        if costs is None: return 0
        return min(self.below(costs, S, path, math.inf).values(), default=math.inf)

    def leaf(self, form: Form) -> Leaf:
        """Make the function that gives a form's value at a leaf; its constant is left out."""
        if form.keys() & {"depth", "support"}:  # of which there is no sum: they come alone
            return lambda label, rows, depth: depth if "depth" in form else sum(rows)
        size, names = int(form.get("size", 0)), form.keys() - {"", "size"}
        terms = [(int(form[name]), self.reading.counter(name)) for name in names]
        weights = [[sum(c * counts(label, *kind) for c, counts in terms) for kind, _ in self.kinds]
                   for label in self.labels]
        return lambda label, rows, depth: size + sum(map(mul, weights[label], rows))

    def cells(self, names: Sequence[str], bound: Form | None = None, shown: Any = None) -> Any:
        """Count trees by the counts of these names; where the bound is above 0 they may lack."""
        joins: Json = {"depth": max, "support": min}
        axes = [(self.leaf({name: Fraction(1)}), joins.get(name, add)) for name in names]
        how, room = Sum([*axes, *self.limits]), math.inf
        if bound is not None:
            how.costs = Sum(self.limits, self.leaf(bound), min, math.inf, add)
            room = -int(bound.get("", 0))
            how.axes.append((how.costs.leaf, add))
        found = self.below(how, self.all, frozenset(), room, shown)
        return [(dict(zip(names, key, strict=False)), n) for key, n in found.items()]

def bit_set(bits: Any) -> int:
    """Write truth values as the bits of an integer."""
    return int("0" + "".join("1" if bit else "0" for bit in bits), 2)

# --- report ---------------------------------------------------------------------------------------
class Report:
    """A certificate held against its table: what was checked, trusted, or too large to count."""

    def __init__(self, content: bytes, table: Callable[[Json], Columns], quick: bool = False):
        self.checked, self.trusted, self.quick = list[str](), list[str](), quick
        self.too_large: list[tuple[str, int]] = []
        self.reason: str | None = None  # why it is refused, if it is
        try:
            claim = opened(content)
            self.run(claim, table(claim["table"]))
        except Refused as refusal: self.reason = str(refusal)
        except WRONG: self.reason = MISSHAPEN

    def run(self, claim: Json, columns: Columns) -> None:
        """Check the table, the decisions in use, and the statements."""
        table, say, trust = claim["table"], self.checked.append, self.trusted.append
        say("no byte of the certificate was changed: its SHA-256 is right")
        if table["raw"]: compare(spelled(columns), table["raw"], names=1)
        self.reading, self.define = reading_of(table["recipe"], columns), claim["define"]
        self.trees, self.metrics = Trees(self.reading, claim["space"]), claim["metrics"]
        compare(self.reading.rows(), table["read"])
        say(f"the {len(self.reading.kinds):,} rows of the table, read anew, are those certified")
        if table["raw"]: say("so is every value in them, in columns that no feature uses, too")
        else: trust("values that change no feature, label, group or weight")
        if claim["claim"] != in_words(claim) or not claim["statements"]:
            raise Refused("its words do not say what its numbers say")
        odd = [x for x in self.define if not x.isidentifier()]  # its name may be a sentence
        odd += [x for x in self.metrics | self.define if x == "N" or COUNT.fullmatch(x)]
        if odd: raise Refused(f"it gives the metric '{max(odd)}' another meaning")
        say(f"its words say its numbers: {claim['claim']}")
        if (use := claim["in_use"]) is not None:
            said = self.said(use["tree"] if "tree" in use else f"agreement[{use['column']}]")
            self.score("the decisions in use", said, {}, use["where"], use["metrics"])
        for one in claim["statements"]:
            if one["shown"] is not None:
                tree = one["shown"]["tree"]
                found = self.trees.cells(("size", "depth", "support"), shown=tree)
                if len(found) != 1: raise Refused("the tree shown is not in the class")
                shown = self.said(tree), found[0][0], one["where"], one["shown"]["metrics"]
                self.score("the tree shown", *shown)
            elif one["trees"] != 0: raise Refused("it shows no tree, but claims that there is one")
            self.count(one["where"], one["trees"], one["proof"])
        for held in claim["held_out"]:
            rows = f"{held['rows']:,} held-out rows of {held['name']}"
            trust(f"the scores on {rows}: they are not in this table")
        trust("which texts are missing values; names of the table and of metrics beside the claim; "
              "date, command, versions and other texts; who made it: it is not signed")

    def said(self, by: Any) -> list[int]:
        """Tell the label that every row gets: by a column of labels, or sent down a tree."""
        def label(at: Json, row: int) -> int:
            if at.keys() == {"label"}: return self.reading.labels.index(at["label"])
            return label(at["yes" if bits[at["feature"]][row] else "no"], row)
        kinds, roles = self.reading.kinds, self.reading.roles
        bits = dict(zip(self.reading.names, self.reading.bits, strict=True))
        if isinstance(by, str): return [kind[roles.index(by)] for kind in kinds]
        return [label(by, row) for row in range(len(kinds))]

    def score(self, what: str, said: list[int], shape: Json, where: Any, told: Json) -> None:
        """Decide a formula on what is said of the rows, and compute metrics again."""
        def counts(x: Any) -> dict[str, int]:
            return shape | {c: self.reading.total(c, said) for c in counts_in(x) - shape.keys()}
        formula = expanded(where, self.define, self.reading)
        if not holds(formula, counts(formula)):
            raise Refused(f"{what}: {text_of(where)} does not hold")
        for name, certified in told.items():
            found, term = None, expanded(name, self.metrics | self.define, self.reading)
            with suppress(ZeroDivisionError):
                found = str(value(term, counts(term)))
            if found != certified:
                raise Refused(f"{name} of {what} is {found}, but {certified} is certified")
        self.checked.append(f"{what}, row by row: {text_of(where)} holds, its metrics are right")

    def count(self, where: Any, trees: int | None, proof: Json | None) -> None:
        """Count the trees that satisfy a formula, or prove that there is none."""
        told, how, bound = text_of(where), "counted again by a recursion over paths", None
        if trees is None: return
        if self.quick:
            self.trusted.append(f"that {trees:,} trees satisfy {told}: not counted")
            return
        formula, self.trees.work = expanded(where, self.define, self.reading), WORK
        try:
            if proof is not None:
                bound, least = self.bound(bounds(formula), proof)
                here = f"{in_terms(bound)} is at least {least} on every tree, but at most 0"
                how = f"proved: {here} on such a tree" if least > 0 else how
            cells = self.trees.cells(sorted(counts_in(formula)), bound)
        except TooLarge:
            self.too_large.append((told, trees))
            return
        if (found := sum(n for counts, n in cells if holds(formula, counts))) != trees:
            raise Refused(f"{found:,} trees satisfy {told}, but {trees:,} are certified")
        self.checked.append(f"{found:,} trees satisfy {told} ({how})")

    def bound(self, found: list[tuple[Form, bool]], proof: Json) -> tuple[Form, float]:
        """Add up bounds that a formula implies, each times a positive number: a bound again."""
        form = whole([(Fraction(by), *found[at]) for at, by in proof["multipliers"]])
        costs = Sum(self.trees.limits, self.trees.leaf(form), min, math.inf, add)
        least = self.trees.least(costs, self.trees.all) + int(form.get("", 0))
        if (proof["form"], proof["least"]) != (in_terms(form), str(least)):
            raise Refused(f"its proof does not hold: {in_terms(form)} is at least {least}")
        return form, least

def in_words(claim: Json) -> str:
    """Say what is claimed, of which trees, and what codes and metrics in it mean."""
    said, table = [], claim["table"]
    for one in claim["statements"]:
        n, such = one["trees"], "" if one["where"] is True else f" with {text_of(one['where'])}"
        some = f"are {'' if n is None else f'exactly {n:,} '}decision trees in this class{such}"
        some = "There " + some.replace("are exactly 1 decision trees", "is exactly 1 decision tree")
        said.append(f"None in this class: there are no decision trees{such}" if n == 0 else some)
    if (use := claim["in_use"]) is not None:
        by = f"in the column {use['column']}" if "column" in use else "of a tree"
        said.append(f"The decisions in use, those {by}, have {text_of(use['where'])}")
    limits = [CLASS[name].format(x if name != "banned" else ", ".join(x))
              for name, x in claim["space"].items()]
    said.append(f"The class is all decision trees on {table['name']} with {', '.join(limits)}")
    said += [f"Here {name} is {text_of(x)}" for name, x in claim["define"].items()]
    if weights := table["recipe"]["weights"]: said.append(f"A row counts as its {weights} says")
    for role, coding in table["recipe"]["codes"].items():
        values = [test.get("values") or [named(coding["column"], test)] for test in coding["tests"]]
        codes = (f"{i} = {' or '.join(map(as_text, some))}" for i, some in enumerate(values))
        said.append(f"Here {role} is {coding['column']}: {', '.join(codes)}")
    return ". ".join(said) + "."

def main(arguments: list[str]) -> int:
    """Check the certificate and the table named on the command line."""
    paths = [a for a in arguments if not a.startswith("--")]
    if len(paths) != 2:  # noqa: PLR2004
        print("usage: python verify.py claim.json table.csv [--quick]")
        return 2
    try:
        with open(paths[0], "rb") as file:
            report = Report(file.read(), partial(read_table, paths[1]), "--quick" in arguments)
    except (OSError, EOFError, zlib.error) as error:
        print(f"a file cannot be read: {error}")
        return 2
    large = [f"that {n:,} trees satisfy {x}: too large to count" for x, n in report.too_large]
    lines = [f"checked: {line}" for line in report.checked]
    lines += [f"trusted: {line}" for line in large + report.trusted]
    lines += [f"refused: {report.reason}"] if report.reason else []
    print("\n  ".join([f"{'not valid' if report.reason else 'valid'}: {paths[0]}", *lines]))
    return 1 if report.reason else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
