"""Write a table of many rows as Parquet, load it in a process of its own, and print what it took.

``make bench-rows`` takes a million rows; ``make bench-rows ROWS=100000000`` takes a hundred million
(2 GB in the folder for temporary files, or in ``--folder``, while it runs). The rows are the same
every time, and their totals are checked.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 1_000_000  # rows of a row group
FILE = 10 * GROUP
JOBS = ["clerk", "cook", "driver", "farmer", "nurse", "smith", "teacher", "waiter"]
ASKED = {"target": "good", "sensitive": "sex", "nbins": 7}


def main() -> int:
    """Write, load and check; the exit code is 1 if a total is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the files are written for a while")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load is not None:
        print(json.dumps(load(options.load)))
        return 0
    with tempfile.TemporaryDirectory(prefix="adtc-rows-", dir=options.folder) as folder:
        started = time.monotonic()
        good = write(Path(folder), options.rows)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        print(
            f"wrote {options.rows:,} rows of 6 columns, {size / 1e6:,.0f} MB of Parquet, "
            f"in {time.monotonic() - started:.0f} s",
            flush=True,
        )
        command = [sys.executable, __file__, "--load", folder]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    right = told["total"] == options.rows and told["good"] == good
    print(
        f"loaded in {told['seconds']:.1f} s ({told['cpu']:.1f} s of CPU): "
        f"{options.rows / told['seconds']:,.0f} rows/s\n"
        f"distinct rows: {told['distinct']:,} with {told['features']} features\n"
        f"peak resident memory: {told['peak'] / 1e6:,.0f} MB\n"
        f"count of trees of depth 3, at least 1 % of the rows in a leaf: {told['trees']:,} "
        f"in {told['counting']:.2f} s\n"
        f"totals: {'right' if right else 'WRONG'}"
    )
    return 0 if right else 1


def write(folder: Path, rows: int) -> int:
    """Write the files; return how many rows have the label 1."""
    good = 0
    for first in range(0, rows, FILE):
        path = folder / f"part-{first // FILE:04}.parquet"
        with pq.ParquetWriter(path, batch(0, 1).schema) as writer:
            for start in range(first, min(rows, first + FILE), GROUP):
                made = batch(start, min(GROUP, rows - start))
                good += int(np.asarray(made["good"]).sum())
                writer.write_batch(made)
    return good


def batch(start: int, rows: int) -> pa.RecordBatch:
    """Make the rows from this one on; the same number always makes the same rows."""
    rng = np.random.default_rng(start)
    age, hours = rng.integers(17, 91, rows), rng.integers(1, 81, rows)
    income = np.exp(rng.normal(10, 1, rows))  # hardly two are equal
    job, sex = rng.integers(0, len(JOBS), rows), rng.integers(0, 2, rows)
    score = (age > 30) + (income > 22_000) + (job > 3) + rng.normal(0, 1, rows)
    columns = {
        "age": pa.array(age.astype(np.int16)),
        "hours": pa.array(hours.astype(np.int16)),
        "income": pa.array(income),
        "job": pa.DictionaryArray.from_arrays(pa.array(job.astype(np.int8)), JOBS).cast(
            pa.string()
        ),
        "sex": pa.DictionaryArray.from_arrays(pa.array(sex.astype(np.int8)), ["f", "m"]).cast(
            pa.string()
        ),
        "good": pa.array((score > 1.5).astype(np.int8)),
    }
    return pa.RecordBatch.from_pydict(columns)


def load(folder: Path) -> dict[str, float]:
    """Load the table, streamed, and count some trees on it."""
    import adtc

    started, cpu = time.monotonic(), time.process_time()
    data = adtc.read(folder, stream=True, **ASKED)
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    started = time.monotonic()
    trees = adtc.count(data, adtc.Space(max_depth=3, relminsup="0.01"))
    return {
        "seconds": seconds,
        "cpu": cpu,
        "peak": peak,
        "distinct": data.n_rows,
        "features": data.n_features,
        "total": data.total,
        "good": int(data.weights[data.y == 1].sum()),
        "trees": int(trees),
        "counting": time.monotonic() - started,
    }


if __name__ == "__main__":
    sys.exit(main())
