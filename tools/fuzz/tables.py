"""Tables from files: CSV, packed or not, and Parquet, with options that may not fit them."""

import gzip
import io
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from mutating import ODD_TEXTS, change_bytes, change_text
from target import ACCEPTED, Trial

import adtc

Input = tuple[str, bytes, dict[str, Any]]  # the file's ending, its content, options

TEXTS = [
    "a,b,s,y\n1,0,m,1\n1,1,f,1\n0,1,f,0\n0,0,m,0\n1,1,m,1\n",
    "age;job;w;y\n25;cook;2;yes\n31,5;clerk;1;no\n47;?;0;yes\n",
    'a\tb\ty\r\n"x ""q"""\t1.5\t0\r\n"two\nlines"\t-2e3\t1\r\n\t\t0\r\n',
    "\ufeffä,日本,y\n1,NaN,no\n2,inf,yes\n,-inf,no\n",
    "| a comment\na b  y\n4  5 6 \n\n7 8 9\n",
    "d,e,y\n2020-01-01,true,0\n2021-02-03,False,1\n1999-12-31,TRUE,1\n",
    "y\n0\n1\n",
    "x,y\n" + "".join(f"{i},{i % 3}\n" for i in range(40)),
    "a,a,y\n1,2,3\n",
    "w,s,y\n100000000000000000000,1,1\n1e300,2,0\n-5,3,1\n0.5,1,0\n",
]
COLUMNS = ("y", "y", "y", "a", "b", "s", "w", "age", "job", "x", "0", "2", "(column 1)", "ä", "no")
COLUMN_TYPES: list[list[Any]] = [
    [1, 2, None, 4, 2**53 + 1],
    [0.5, float("nan"), float("inf"), -0.0, None],
    [True, False, None, True, True],
    ["p", "q", "", None, "p"],
    [date(2020, 1, 1), None, date(1, 1, 1), date(9999, 12, 31), date(2020, 1, 1)],
    [datetime(2020, 1, 1, 12), None, datetime(1970, 1, 1), datetime(2262, 1, 1), None],
    [Decimal("1.5"), Decimal("-2.25"), None, Decimal("0"), Decimal("9")],
    [b"x", b"\xff", None, b"", b"x"],
    [[1, 2], [], None, [3], [4]],
    [{"k": 1}, None, {"k": None}, {"k": 2}, {"k": 3}],
    [None] * 5,
    [2**62, -(2**63), 0, 1, 2],
    ["0", "1", "1", "0", "1"],
]


def options(random: Random, names: tuple[str, ...] = COLUMNS) -> dict[str, Any]:
    """Choose options of ``adtc.read``, wrong ones among them."""
    name = lambda: random.choice(names)  # noqa: E731
    found: dict[str, Any] = {"target": random.choice((*names[:1] * 20, name()))}
    every: dict[str, Any] = {
        "sensitive": name(),
        "use_sensitive": True,
        "positive": random.choice(("1", 1, "yes", 0, None, *ODD_TEXTS)),
        "weights": name(),
        "references": [name()],
        "drop": [name()],
        "na": [random.choice(("?", "0", *ODD_TEXTS))],
        "nbins": random.choice((1, 2, 7, 10**6, 0, -1)),
        "binning": random.choice(("quantile", "width", "x")),
        "numeric": random.choice(("thresholds", "bins", "x")),
        "onehot": random.choice(("drop", "all", "x")),
        "max_categories": random.choice((1, 2, 50, 0)),
        "types": {name(): random.choice(("numeric", "category", "ignore", "x"))},
        "cuts": {name(): random.choice(([1], [2, 1], [0.5, 0.5], [], [float("nan")], [1e308]))},
        "test_share": random.choice((0.5, 0, 1, -1, 0.01)),
    }
    for key in random.sample(list(every), random.choice((0, 0, 0, 1, 1, 3))):
        found[key] = every[key]
    return found


def csv_input(random: Random) -> Input:
    """Make a CSV file, in most cases a damaged one."""
    text = random.choice(TEXTS)
    for _ in range(random.choice((0, 1, 1, 3))):
        text = _other_field(random, text)
    if random.random() < 0.15:
        text = change_text(
            random, text, (*ODD_TEXTS, ",", ";", "\t", '"', "\n", "\r\n", "NA", "1.5")
        )
    content = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.3:
        content = change_bytes(random, content, [t.encode() for t in TEXTS])
    chosen = options(random)
    if random.random() < 0.1:
        chosen["sep"] = random.choice((",", ";", "\\t", " ", "|", "", "ab", "\n", '"', "ä"))
    if random.random() < 0.05:
        chosen["header"] = False
    if random.random() < 0.05:
        packed = gzip.compress(content, mtime=0)
        damaged = change_bytes(random, packed) if random.random() < 0.5 else packed
        return ".csv.gz", damaged, chosen
    return ".csv", content, chosen


def _other_field(random: Random, text: str) -> str:
    """Put another value into one field, or repeat a line."""
    lines = text.split("\n")
    at = random.randrange(len(lines))
    if random.random() < 0.3:
        lines.insert(at, lines[at])
        return "\n".join(lines)
    sep = max(",;\t ", key=lines[at].count)
    fields = lines[at].split(sep)
    values = (
        "",
        "0",
        "1",
        "-3",
        "2.5",
        "NA",
        "yes",
        "x y",
        "1e400",
        "inf",
        "ä" * 50,
        "٣",
        "0x1F",
        "1_0",
    )
    fields[random.randrange(len(fields))] = random.choice((*values, *fields))
    lines[at] = sep.join(fields)
    return "\n".join(lines)


def parquet_input(random: Random) -> Input:
    """Make a Parquet file of odd columns, or damage one."""
    names = random.sample(("a", "b", "s", "w", "ä", "", "c"), random.choice((2, 3, 3, 5)))
    height = 5 if random.random() < 0.95 else random.choice((1, 0))
    columns = [pa.array(random.choice(COLUMN_TYPES)[:height]) for _ in names]
    if random.random() < 0.9:
        names[0] = "y"
        columns[0] = pa.array(
            random.choice((COLUMN_TYPES[12], [True, False, True, False, True]))[:height]
        )
    if random.random() < 0.2:
        columns = [_encoded(column) for column in columns]
    stream = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays(columns, names), stream,
        compression=random.choice(("none", "snappy", "zstd")),
    )  # fmt: skip
    content = stream.getvalue()
    if random.random() < 0.5:
        content = change_bytes(random, content)
    return ".parquet", content, options(random, ("y", *names))


def _encoded(column: Any) -> Any:
    """Store texts as a dictionary and whole numbers without a sign."""
    if pa.types.is_string(column.type):
        return column.dictionary_encode()
    return column.cast(pa.uint64(), safe=False) if pa.types.is_integer(column.type) else column


def reading(folder: Path) -> Any:
    """Make a call that reads the file and counts trees on some tables."""
    seen = 0

    def call(given: Input) -> int:
        nonlocal seen
        ending, content, chosen = given
        path = folder / f"table{ending}"
        path.write_bytes(content)
        data = adtc.read(path, **chosen)
        seen += 1
        if seen % 4 == 0:
            adtc.count(
                data, adtc.Space(max_depth=1), monitor=adtc.Monitor(time_limit=10, threads=1)
            )
        if seen % 64 == 0:
            str(adtc.describe(path, **{k: v for k, v in chosen.items() if k != "test_share"}))
        return ACCEPTED

    return call


def prepare_csv(folder: Path) -> Trial:
    """Make the trial of CSV."""
    return Trial(csv_input, reading(folder))


def prepare_parquet(folder: Path) -> Trial:
    """Make the trial of Parquet."""
    return Trial(parquet_input, reading(folder))
