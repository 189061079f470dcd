"""The profile as an Arrow table, and from there to pandas, polars, SQL, CSV and Parquet.

One row per combination of metric values. Numbers of trees are decimal strings, since integers of
128 bits are misread elsewhere; ``log10_trees`` is their size for sorting and plotting.
"""

import json
import os
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from adtc.algebra.affine import affine
from adtc.atomic import replacing
from adtc.engine.exact.values import Value, Values
from adtc.engine.record import log10
from adtc.errors import ADTCError, QueryError
from adtc.profiles.profile import Profile, joint_codes

RECORD = b"adtc_record"
"""The key of the run record in the schema's metadata."""

_MOST_IN_SQL = 10**38  # DuckDB's widest decimal
_WORD = 2**63


def to_arrow(profile: Profile) -> pa.Table:
    """Make an Arrow table with one row per combination of metric values, in ascending order.

    Notes
    -----
    A metric of whole numbers is an int64 column. A ratio is a float64 column beside its exact
    ``NAME_num`` and ``NAME_den``, all null where it is undefined. Whole numbers beyond int64 are
    decimal strings. The metadata hold the run record as JSON.
    """
    found = {name: profile.values(name) for name in profile.names}
    if not found:
        raise QueryError("this profile has no metrics: a table needs at least one column.")
    joint = joint_codes(values.codes for values in found.values())
    rows, first = np.unique(joint, return_index=True)
    trees = profile.totals(joint, len(rows))
    columns: dict[str, pa.Array] = {}
    for name, values in found.items():
        for title, column in _columns(name, values, first, _is_whole(profile, name)):
            _add(columns, title, column)
    _add(columns, "trees", pa.array([str(n) for n in trees], pa.string()))
    _add(columns, "log10_trees", pa.array([log10(n) for n in trees], pa.float64()))
    record = json.dumps(profile.record.to_json(), default=str).encode()
    return pa.table(columns).replace_schema_metadata({RECORD: record})


def to_pandas(profile: Profile) -> Any:
    """Make a pandas frame; ``trees`` holds Python integers of any size."""
    pandas = _optional("pandas", "pip install pandas")
    table = to_arrow(profile)
    frame = table.to_pandas(ignore_metadata=True)
    counts = [int(n) for n in table["trees"].to_pylist()]
    frame["trees"] = pandas.Series(counts, dtype=object, index=frame.index)
    for field in table.schema:
        if table[field.name].null_count and pa.types.is_int64(field.type):
            # nullable integers: floats would round the exact parts of a ratio
            frame[field.name] = pandas.array(table[field.name].to_pylist(), dtype="Int64")
    return frame


def to_polars(profile: Profile) -> Any:
    """Make a polars frame; ``trees`` holds decimal strings."""
    return _optional("polars", "pip install polars").from_arrow(to_arrow(profile))


def to_csv(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Write the table as CSV; the file is whole or not there."""
    from pyarrow import csv

    table = to_arrow(profile)
    with replacing(path) as file:
        csv.write_csv(table, file)


def to_parquet(profile: Profile, path: str | os.PathLike[str]) -> None:
    """Write the table as Parquet, run record included; the file is whole or not there."""
    from pyarrow import parquet

    table = to_arrow(profile)
    with replacing(path) as file:
        parquet.write_table(table, file)


def sql(profile: Profile, query: str) -> pa.Table:
    """Ask a question in SQL; the table is called ``profile``.

    Notes
    -----
    ``trees`` is a number that can be summed exactly as long as all trees are fewer than 10^38,
    and a decimal string beyond. A query sees this table alone, no files.
    """
    duckdb = _optional("duckdb", "pip install 'adtc[sql]'")
    trees = "CAST(trees AS DECIMAL(38, 0))" if profile.total < _MOST_IN_SQL else "trees"
    with duckdb.connect(config={"enable_external_access": "false"}) as connection:
        connection.register("cells", to_arrow(profile))
        view = f"CREATE VIEW profile AS SELECT * REPLACE ({trees} AS trees) FROM cells"
        connection.execute(view)
        try:
            kinds = [
                str(one.type).rpartition(".")[2] for one in connection.extract_statements(query)
            ]
            if kinds != ["SELECT"]:
                raise QueryError("a query is one statement: SELECT … FROM profile …")
            return connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise QueryError(f"DuckDB cannot answer this query: {reason}") from None


def _columns(name: str, values: Values, first: Any, whole: bool) -> list[tuple[str, pa.Array]]:
    """Make the columns of one metric from the values of the rows' first cells."""
    cells = values.codes[first].tolist()
    if whole:
        return [(name, _whole_numbers([values.distinct[code] for code in cells]))]
    floats = [None if v is None else float(v) for v in values.distinct]
    tops = [None if v is None else v.numerator for v in values.distinct]
    bottoms = [None if v is None else v.denominator for v in values.distinct]
    return [
        (name, pa.array([floats[code] for code in cells], pa.float64())),
        (f"{name}_num", _whole_numbers([tops[code] for code in cells])),
        (f"{name}_den", _whole_numbers([bottoms[code] for code in cells])),
    ]


def _whole_numbers(numbers: list[Value]) -> pa.Array:
    if all(n is None or -_WORD <= n < _WORD for n in numbers):
        return pa.array(numbers, pa.int64())
    return pa.array([None if n is None else str(n) for n in numbers], pa.string())


def _is_whole(profile: Profile, name: str) -> bool:
    """Tell whether a metric is a whole number for every tree, not only for these."""
    form = affine(profile.term(name))
    if form is None:
        return False
    return all(c.denominator == 1 for c in chain(form.coefficients.values(), [form.constant]))


def _add(columns: dict[str, pa.Array], title: str, column: pa.Array) -> None:
    if title in columns:
        raise QueryError(
            f"two columns of the table would be called '{title}': rename the metric of that name."
        )
    columns[title] = column


def _optional(package: str, install: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise ADTCError(f"this needs {package}, which is not installed: {install}.") from None
