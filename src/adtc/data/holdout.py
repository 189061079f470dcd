"""A train/test split: trees are made from one part, test rows are a further table."""

from dataclasses import replace

import numpy as np

from adtc.data.coding import group_codes
from adtc.data.sheet import Sheet
from adtc.data.splitting import set_aside
from adtc.data.table import Data
from adtc.errors import DataError


def held_out(sheet: Sheet, share: float | str, seed: int = 0, *, name: str = "test") -> Data:
    """Make features of some rows, and a further table of the others.

    Parameters
    ----------
    share
        The share of rows to hold out, of each combination of label and sensitive group; at least
        one row of each stays.
    seed
        Which rows; the same seed takes the same rows.

    Notes
    -----
    Cuts and categories come from the rows that stay: the others are read as new rows are.

    Examples
    --------
    >>> from adtc.data.sheet import frame_sheet
    >>> frame = {"age": [20, 30, 40, 50] * 5, "y": ["no", "yes", "yes", "no"] * 5}
    >>> held_out(frame_sheet(frame, target="y"), 0.3)
    <Data table: 14 rows, 3 features, target y (no, yes), test (6 rows)>
    """
    if sheet.labels is None or sheet.target is None:
        raise DataError("a table needs a target: name the column to predict (target).")
    chosen = set_aside(sheet.row_kinds(), share, seed)
    kept, test = (sheet.take(np.flatnonzero(rows)) for rows in (~chosen, chosen))
    data = Data.from_sheet(kept)
    assert test.target is not None
    further = replace(
        data,
        name=name,
        bits=data.binarizer.bits(test.columns, test.n_rows),
        y=sheet.labels.codes(test.target),
        z=group_codes(sheet.groups, test.sensitive, test.n_rows),
        weights=test.weights,
        references=test.references,
        notes=(f"{share} of the rows of '{sheet.name}', by label and group, seed {seed}",),
    )
    return replace(data, tables=((name, further),))
