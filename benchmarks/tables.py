"""The benchmark tables as 0/1 arrays: bundled ones, and public ones that may be absent.

Public tables are looked for in ``../shared/data`` beside the repository, or in the folder that the
environment variable ``ADTC_BENCH_DATA`` names. No package but NumPy is needed to read them.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

DL_TABLES = (
    "anneal",
    "australian-credit",
    "breast-wisconsin",
    "german-credit",
    "hepatitis",
    "kr-vs-kp",
    "lymph",
    "mushroom",
    "primary-tumor",
    "segment",
    "tic-tac-toe",
    "vote",
)
"""All public tables of the DL8 family: the geometric mean is over these."""

FOLDER = Path(
    os.environ.get("ADTC_BENCH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
_SPARSE = "binarized-sparse-trees"
_FILES = {
    "monk-1": f"{_SPARSE}/monk_1.csv",
    "compas-binned": f"{_SPARSE}/compas-binned.csv",
    "bar-7": f"{_SPARSE}/bar-7.csv",
    "compas-binary": "compas/compas-binary.csv",
    "german-fair": "binarized-fairness/german-credit-binarized.csv",
    **{name: f"binarized-dl/{name}.txt" for name in DL_TABLES},
}


class MissingTableError(Exception):
    """A public table is not on this machine."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """A table: features, classes, sensitive groups (all 0 where there are none), and columns.

    Where ``numbers`` are given, the features are all cuts of these columns.
    """

    X: npt.NDArray[np.uint8]
    y: npt.NDArray[np.int64]
    z: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64] | None = None

    def save(self, path: Path) -> None:
        """Write the arrays to a file."""
        columns = {} if self.numbers is None else {"numbers": self.numbers}
        np.savez(path, X=self.X, y=self.y, z=self.z, **columns)

    def part(self, rows: int, features: int) -> "Arrays":
        """Return a small part of the table with rows from all over it."""
        at = np.linspace(0, len(self.y) - 1, min(rows, len(self.y))).astype(int)
        return Arrays(self.X[at, :features], self.y[at], self.z[at])


def read(name: str) -> Arrays:
    """Read a table by its name here; ``adult`` is bundled and cut as `load_dataset` cuts it."""
    if name == "wide":
        return wide()
    if name == "adult":
        import adtc

        data = adtc.load_dataset("adult", nbins=7)
        return Arrays(data.dense(), data.y.astype(np.int64), data.z.astype(np.int64))
    path = FOLDER / _FILES[name]
    if not path.exists():
        raise MissingTableError(f"the public table {_FILES[name]} is not in {FOLDER.name}/")
    if path.suffix == ".txt" or name == "german-fair":
        table = np.loadtxt(path, dtype=np.int64)
        y, X = table[:, 0], table[:, 1:]
    else:
        table = np.loadtxt(path, dtype=np.int64, delimiter=",", skiprows=1)
        y, X = table[:, -1], table[:, :-1]
    none = np.zeros(len(y), np.int64)
    if name == "german-fair":  # the first feature is the sensitive one
        return Arrays(X[:, 1:].astype(np.uint8), y, X[:, 0])
    return Arrays(X.astype(np.uint8), y, none)


def wide(rows: int = 2000, columns: int = 20, bins: int = 101) -> Arrays:
    """Make a numeric table whose cuts are 2,000 features."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(rows, columns))
    y = (values[:, 0] + values[:, 1] * values[:, 2] + rng.normal(size=rows) > 0).astype(np.int64)
    places = values.argsort(axis=0).argsort(axis=0)  # no two values are equal
    numbers = places * bins // rows
    X = (numbers[:, :, None] > np.arange(bins - 1)).reshape(rows, -1).astype(np.uint8)
    return Arrays(X, y, np.zeros(rows, np.int64), numbers)


def adult_test() -> dict[str, list[str]]:
    """Read the test rows of adult as UCI publishes them: no header, but a comment."""
    path = FOLDER / "adult" / "adult.test"
    if not path.exists():
        raise MissingTableError(f"there is no {path}")
    rows = [line.split(", ") for line in path.read_text().splitlines()[1:] if line]
    return {name: [row[i] for row in rows] for i, name in enumerate(_ADULT)}


_ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
