"""Votes as an Arrow table, one line per row of the table they are about."""

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from adtc.atomic import replacing
from adtc.engine.monitor import Monitor
from adtc.profiles.tables import RECORD

if TYPE_CHECKING:
    from adtc.profiles.people import VoteShares


def people_table(votes: "VoteShares") -> pa.Table:
    """Make an Arrow table of votes.

    Notes
    -----
    The columns are ``row``, ``weight``, ``group``, per class ``votes[LABEL]`` and
    ``share[LABEL]``, then ``self_consistency``. Votes are decimal strings (floats under Gibbs
    weights).
    """
    people = votes.people
    columns: dict[str, pa.Array] = {
        "row": pa.array(range(len(votes)), pa.int64()),
        "weight": pa.array(people.weights, pa.int64()),
    }
    if people.groups:
        columns["group"] = pa.array([people.groups[z] for z in people.z.tolist()], pa.string())
    for at, (label, text) in enumerate(zip(votes.labels, votes.label_texts, strict=True)):
        own = votes.counts[:, at].tolist()
        columns[f"votes[{text}]"] = (
            pa.array([str(n) for n in own], pa.string())
            if votes.exact
            else pa.array(own, pa.float64())
        )
        columns[f"share[{text}]"] = pa.array(votes.share(label).floats, from_pandas=True)
    consistency = votes.self_consistency().floats
    columns["self_consistency"] = pa.array(consistency, from_pandas=True)
    record = votes.record.to_json() | {"total": str(votes.total)}
    return pa.table(columns).replace_schema_metadata(
        {RECORD: json.dumps(record, default=str).encode()}
    )


def write_people(
    votes: "VoteShares", path: str | PathLike[str], monitor: Monitor | None = None
) -> None:
    """Write the table as Parquet where the name says so, else as CSV; whole or not at all."""
    from pyarrow import csv, parquet

    packed = Path(path).suffix.lower() == ".parquet"
    writer = parquet.ParquetWriter if packed else csv.CSVWriter
    with replacing(path) as file, writer(file, votes.table.schema) as out:
        for part in _parts(votes, monitor):
            out.write_table(part)


def _parts(votes: "VoteShares", monitor: Monitor | None) -> Iterator[pa.Table]:
    """Yield the lines in the order of the rows, before equal ones were merged."""
    originals = votes.data.originals if votes.frame is None else None
    if originals is None:
        yield votes.table
        return
    start = 0
    for merged, weights in originals.read(monitor):
        part = votes.table.take(pa.array(merged))
        rows = pa.array(np.arange(start, start + len(merged)))
        part = part.set_column(0, "row", rows).set_column(1, "weight", pa.array(weights))
        start += len(merged)
        yield part.replace_schema_metadata(votes.table.schema.metadata)
