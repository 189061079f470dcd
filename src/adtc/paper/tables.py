"""The tables of the experiments: bundled ones, COMPAS from a file, and parts of a table."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from adtc.data import Data, load_dataset
from adtc.data.bits import take_rows
from adtc.errors import DataError
from adtc.paper.setting import Setting

if TYPE_CHECKING:
    import pyarrow as pa

Positions = npt.NDArray[np.int64]

# The forms in which COMPAS is passed around, by the column to predict. Scores of COMPAS itself
# and later events are no features: they would give the answer away.
_ATTRIBUTES = (
    "sex",
    "age",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
)
_COMPAS: dict[str, tuple[str, ...] | None] = {
    "two_year_recid": _ATTRIBUTES,
    "is_recid": _ATTRIBUTES,
    "Two_yr_Recidivism": None,  # all other columns are attributes
    "Recidivate-Within-Two-Years": None,
}
_SCORES = ("score_factor",)
_UNKNOWN = -1  # how cox-violent-parsed_filt.csv writes that the outcome is not known


def load(name: str, setting: Setting, compas: Path | None = None) -> Data:
    """Load a table of the experiments by its name: adult, mushroom or compas."""
    if name != "compas":
        return load_dataset(name, nbins=setting.nbins)
    if compas is None:
        raise DataError(
            "COMPAS is not bundled, because nobody states a licence for it: give the path of a "
            "CSV file with it (--compas PATH)."
        )
    return read_compas(compas, setting)


def read_compas(path: Path, setting: Setting) -> Data:
    """Read COMPAS in one of the forms in which it is passed around; the race is sensitive.

    Notes
    -----
    Known by the column to predict: ``two_year_recid`` (ProPublica), ``is_recid`` (its Cox tables;
    rows with the unknown outcome −1 are left out), ``Two_yr_Recidivism`` (FairML) and
    ``Recidivate-Within-Two-Years`` (0/1 features).
    """
    table = _first_columns(_read(path))
    target = next((column for column in _COMPAS if column in table.column_names), None)
    if target is None:
        raise DataError(
            f"'{path}' is no form of COMPAS known here: expected a column "
            f"{', '.join(_COMPAS)} to predict."
        )
    attributes = _COMPAS[target] or tuple(
        c for c in table.column_names if c != target and c not in _SCORES
    )
    kept = table.select([c for c in table.column_names if c in attributes or c == target])
    known = np.asarray(kept[target].to_numpy()) != _UNKNOWN
    return Data.from_frame(
        kept.filter(known),
        target=target,
        sensitive="race" if "race" in kept.column_names else None,
        nbins=setting.nbins,
        name="compas",
    )


def _read(path: Path) -> "pa.Table":
    # Not `adtc.data.read_table`: the Cox tables name two columns twice, with equal values.
    import pyarrow as pa
    from pyarrow import csv

    try:
        return csv.read_csv(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"cannot read COMPAS from '{path}': {error}") from None


def _first_columns(table: "pa.Table") -> Any:
    """Keep the first of columns that bear one name."""
    names = table.column_names
    return table.select([i for i, name in enumerate(names) if names.index(name) == i])


def take(data: Data, rows: Positions) -> Data:
    """Keep some rows; the features stay those of the whole table."""
    return replace(
        data,
        bits=take_rows(data.bits, data.n_rows, rows),
        y=data.y[rows],
        z=data.z[rows],
        weights=data.weights[rows],
        references=tuple((name, codes[rows]) for name, codes in data.references),
        origin=None,
        source=None,
    )


def some_rows(data: Data, n: int, seed: int) -> Data:
    """Keep n rows at random; with one seed, fewer rows are a part of more."""
    order = np.random.default_rng(seed).permutation(data.n_rows)
    return data if n >= data.n_rows else take(data, np.sort(order[:n]))


def balanced(data: Data, seed: int) -> Data:
    """Keep equally many rows of each class: all of the rarest, others at random."""
    order = np.random.default_rng(seed).permutation(data.n_rows)
    counts = np.bincount(data.y, minlength=len(data.labels))
    least = int(counts.min())
    kept = [order[data.y[order] == label][:least] for label in range(len(data.labels))]
    return replace(take(data, np.sort(np.concatenate(kept))), name=f"{data.name}, class-balanced")
