"""Arrow's arrays to NumPy and back.

Arrow's own conversions (`to_numpy`, `pa.array`, `fill_null`) load pandas first wherever it is
installed, which takes longer than everything else in reading a table.
"""

import itertools
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from adtc.errors import DataError


def numbers_of(array: Any) -> npt.NDArray[Any]:
    """Take an Arrow array of numbers or truth values, none of them missing; it cannot be changed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers_of(pa.array([3, 1])), numbers_of(pa.array([True, False]))
    (array([3, 1]), array([ True, False]))
    """
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        return np.from_dlpack(array.cast(pa.uint8())).astype(np.bool_)
    return np.from_dlpack(array)


def text_array(texts: Collection[str]) -> Any:
    """Make an Arrow array of texts.

    Examples
    --------
    >>> text_array(["ä", "", "bc"]).to_pylist()
    ['ä', '', 'bc']
    """
    import pyarrow as pa

    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        shown = str(error.object).encode("utf-8", "replace").decode()
        raise DataError(f"'{shown}' is not UTF-8 text, as it should be here.") from None
    ends = np.array([0, *itertools.accumulate(map(len, encoded))], np.int64)
    buffers = pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))
    return pa.LargeStringArray.from_buffers(len(encoded), *buffers)
