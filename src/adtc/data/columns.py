"""One column of a table as sorted distinct values and a code per row.

All that follows (cuts, categories, labels, groups) looks at the distinct values only and then
takes by code, so no Python loop ever runs over rows. It decides no cuts and no names.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from adtc.data.arrow import numbers_of, text_array
from adtc.data.bits import Codes, Rows, ranked, sorted_distinct
from adtc.errors import DataError

Scalar = str | int | float | bool
Kind = Literal["number", "boolean", "text"]
DEFAULT_NA = ("", "NA", "NaN", "nan", "null", "None")
_BOOLEANS = {"true": True, "True": True, "TRUE": True} | {
    "false": False,
    "False": False,
    "FALSE": False,
}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """Distinct values of a column and which of them each row has.

    Parameters
    ----------
    values
        Distinct values, ascending: int64, float64, bool, or Python strings as objects.
    codes
        Per row the position of its value; -1 where the value is missing.
    """

    name: str
    kind: Kind
    values: npt.NDArray[Any]
    codes: Codes

    def counts(self, weights: Rows) -> Rows:
        """Sum the weights per distinct value; the last entry is for missing."""
        counts = np.zeros(len(self.values) + 1, np.int64)
        np.add.at(counts, self.codes, weights)
        return counts

    def take(self, rows: Rows) -> "Column":
        """Return the column of some rows; values that none of them has are gone."""
        used, codes = ranked(self.codes[rows])
        present = used >= 0  # -1 is missing
        moved = codes - int((~present).sum())
        return Column(self.name, self.kind, self.values[used[present]], moved.astype(np.int32))

    def find(self, values: Iterable[Scalar]) -> list[int]:
        """Give the positions of those of ``values`` that occur."""
        places = [(int(np.searchsorted(self.values, v)), v) for v in values]
        return [p for p, v in places if p < len(self.values) and self.values[p] == v]

    def numbers(self) -> "Column":
        """Read the values as numbers, or say which value is none."""
        if self.kind == "number":
            return self
        if self.kind == "boolean":
            return _recode(self, "number", self.values.astype(np.int64))
        parsed = _parse_numbers(text_array(self.values))
        if parsed is None:
            bad = next(v for v in self.values if _parse_numbers(text_array([v])) is None)
            raise DataError(
                f"column '{self.name}' should hold numbers, but it holds '{bad}'; "
                "treat it as a category or add that spelling to the missing values (na)."
            )
        return _numbers(self, parsed)

    def booleans(self) -> "Column":
        """Read the values as truth values (0/1 or true/false), or say which value is none."""
        if self.kind == "boolean":
            return self
        if self.kind == "text" and all(v in _BOOLEANS for v in self.values):
            return _recode(self, "boolean", np.array([_BOOLEANS[v] for v in self.values], bool))
        bad = None
        parsed = self.values if self.kind == "number" else _parse_numbers(text_array(self.values))
        if parsed is None:
            bad = next(v for v in self.values if v not in ("0", "1"))
        elif not self.zero_one(parsed):
            bad = next(format_number(v) for v in parsed.tolist() if v not in (0, 1))
        if parsed is None or bad is not None:
            raise DataError(
                f"column '{self.name}' should hold 0 and 1 only, but it holds '{bad}'; "
                "give a table coded like the one the features were made from."
            )
        return _recode(self, "boolean", parsed.astype(bool))

    def text(self) -> "Column":
        """Write the values as text, numbers in their shortest form."""
        if self.kind == "text":
            return self
        return _recode(self, "text", _objects([format_scalar(v) for v in self.values.tolist()]))

    @staticmethod
    def zero_one(values: npt.NDArray[Any]) -> bool:
        """Tell whether all values are 0 or 1 (or truth values)."""
        return values.dtype != object and bool(np.isin(values, (0, 1)).all())


def encode(name: str, array: Any, *, na: Collection[str] = (), parse_text: bool = False) -> Column:
    """Encode one Arrow column.

    Parameters
    ----------
    array
        A ``pyarrow`` Array or ChunkedArray of numbers, truth values or text.
    na
        Spellings of a missing value, besides ``DEFAULT_NA``; a number counts as missing if a
        spelling means it, so ``-9`` works in text and in numbers.
    parse_text
        Turn text into numbers or truth values if all of it can be read so, as in a CSV file.
    """
    import pyarrow.types as pt

    if pt.is_dictionary(array.type):
        array, parse_text = _decode(array), False
    if pt.is_null(array.type):
        return Column(name, "text", _objects([]), np.full(len(array), -1, np.int32))
    if pt.is_boolean(array.type):
        return _recode(_raw(name, "boolean", array), "boolean")
    if (dtype := _number_type(array.type)) is not None:
        return _known_numbers(_raw(name, "number", array.cast(dtype, safe=False)), na)
    if pt.is_string(array.type) or pt.is_large_string(array.type) or _is_view(array.type):
        return _texts(name, array, {*DEFAULT_NA, *na}, parse_text)
    raise DataError(
        f"column '{name}' has the type {array.type}, which cannot become Boolean features; "
        "turn it into numbers or text, or leave it out (drop)."
    )


def encode_numbers(
    name: str, array: Any, na: Collection[str]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None] | None:
    """Take the numbers of an Arrow array as they come, without finding the distinct ones.

    Returns
    -------
    values, present
        The numbers that are there, and which rows have one (None: all of them); None instead of
        both if the array does not hold numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> encode_numbers("age", pa.array([40, -9, None, 30]), na=["-9"])
    (array([40, 30]), array([ True, False, False,  True]))
    """
    dtype = _number_type(array.type)
    if dtype is None:
        return None
    present: npt.NDArray[np.bool_] | None = None
    if array.null_count:
        present, array = numbers_of(array.is_valid()), array.drop_null()
    values = numbers_of(array.cast(dtype, safe=False))
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, bool)
    if marks := _marks(na):
        missing = (missing if len(missing) else False) | np.isin(values, marks)
    if missing.any():
        there = np.ones(len(values), bool) if present is None else present
        there[there] = ~missing
        values, present = values[~missing], there
    _check_finite(name, values)
    return (values + 0 if values.dtype.kind == "f" else values), present


def encode_whole(name: str, numbers: npt.NDArray[np.signedinteger[Any]]) -> Column:
    """Encode whole numbers, of which none is missing: Arrow has nothing to find out about them.

    Examples
    --------
    >>> column = encode_whole("age", np.array([40, -1, 40]))
    >>> column.values.tolist(), column.codes.tolist()
    ([-1, 40], [1, 0, 1])
    """
    values, codes = ranked(numbers)
    return Column(name, "number", values, codes.astype(np.int32))


def format_number(x: float) -> str:
    """Write a number in its shortest form: 40, not 40.0.

    Examples
    --------
    >>> format_number(40.0), format_number(37.5), format_number(-0.0)
    ('40', '37.5', '0')
    """
    return str(int(x)) if float(x).is_integer() and abs(x) < 10**16 else repr(float(x))


def format_scalar(x: Scalar) -> str:
    """Write a value as a person would type it."""
    if isinstance(x, (str, bool)):
        return str(x)
    return str(x) if isinstance(x, int) else format_number(x)


def _known_numbers(column: Column, na: Collection[str]) -> Column:
    """Find the numbers that stand for a missing value."""
    marks = _marks(na)
    codes = column.codes
    values = column.values
    if marks:
        missing = np.isin(values, marks)
        values, codes = values[~missing], _take(_without(missing), codes)
    return _numbers(Column(column.name, "number", values, codes), values)


def _marks(na: Collection[str]) -> list[float]:
    """Give the numbers that spellings of a missing value mean."""
    spelled = [_parse_numbers(text_array([text.strip()])) for text in na]
    return [float(number[0]) for number in spelled if number is not None]


def _number_type(dtype: Any) -> Any:
    """Say as which type numbers of an Arrow type are taken; None if it has none."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_integer(dtype):
        return pa.float64() if dtype == pa.uint64() else pa.int64()
    return pa.float64() if pt.is_floating(dtype) or pt.is_decimal(dtype) else None


def _check_finite(name: str, values: npt.NDArray[Any]) -> None:
    if np.isinf(values).any():
        raise DataError(
            f"column '{name}' holds an infinite value; "
            "replace it by a number or by a missing value."
        )


def _numbers(column: Column, values: npt.NDArray[Any]) -> Column:
    """Put numbers in place of the values; NaN is missing, infinity an error."""
    nan = np.isnan(values)
    _check_finite(column.name, values)
    # -0.0 + 0 is 0.0, so the two zeros become one value.
    codes = _take(_without(nan), column.codes)
    return _recode(Column(column.name, "number", values[~nan] + 0, codes), "number")


def _texts(name: str, array: Any, na: set[str], parse: bool) -> Column:
    """Encode text: strip blanks, find missing values, read numbers if asked to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes, dictionary = _dictionary(array.cast(pa.large_string()))
    stripped = pc.utf8_trim_whitespace(dictionary)
    missing = pc.is_in(stripped, text_array(sorted(na)))
    codes = _take(_without(numbers_of(missing)), codes)
    known = stripped.filter(pc.invert(missing))
    parsed = _parse_numbers(known) if parse and len(known) else None
    if parsed is not None:
        return _numbers(Column(name, "number", parsed, codes), parsed)
    column = _sorted_text(name, known, codes)
    is_boolean = parse and len(known) and all(v in _BOOLEANS for v in column.values)
    return column.booleans() if is_boolean else column


def _sorted_text(name: str, texts: Any, codes: Codes) -> Column:
    """Merge equal texts and sort them, in Arrow because there may be one per row."""
    import pyarrow.compute as pc

    merged = texts.dictionary_encode()
    order = pc.sort_indices(merged.dictionary)
    rank = np.empty(len(order), np.int32)
    rank[numbers_of(order)] = np.arange(len(order), dtype=np.int32)
    values = _objects(merged.dictionary.take(order).to_pylist())
    return Column(name, "text", values, _take(rank[numbers_of(merged.indices)], codes))


def _raw(name: str, kind: Kind, array: Any) -> Column:
    """Encode without sorting the values."""
    codes, dictionary = _dictionary(array)
    return Column(name, kind, numbers_of(dictionary), codes)


def _dictionary(array: Any) -> tuple[Codes, Any]:
    """Let Arrow find the distinct values: codes (-1 for null) and dictionary."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    encoded = array.dictionary_encode(null_encoding="encode")  # null is a value like others
    null = numbers_of(encoded.dictionary.is_null())
    return _take(_without(null), numbers_of(encoded.indices)), encoded.dictionary.drop_null()


def _decode(array: Any) -> Any:
    """Turn dictionary-encoded values into plain ones; Arrow cannot cast views from within."""
    import pyarrow as pa

    dtype = pa.large_string() if _is_view(array.type.value_type) else array.type.value_type
    parts = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return pa.chunked_array([p.dictionary.cast(dtype).take(p.indices) for p in parts], dtype)


def _recode(column: Column, kind: Kind, values: npt.NDArray[Any] | None = None) -> Column:
    """Replace the values one by one, merge those now equal, and sort."""
    distinct, position = sorted_distinct(column.values if values is None else values)
    return Column(column.name, kind, distinct, _take(position.astype(np.int32), column.codes))


def _without(missing: npt.NDArray[np.bool_]) -> Codes:
    """Give the codes that are left when some values become missing."""
    return np.where(missing, -1, np.cumsum(~missing) - 1).astype(np.int32)


def _take(new_codes: Codes, codes: Codes) -> Codes:
    """Map codes to new codes; missing stays missing."""
    return np.append(new_codes, np.int32(-1))[codes]


def _parse_numbers(texts: Any) -> npt.NDArray[Any] | None:
    """Read an Arrow array of texts as int64, else float64, else give up."""
    import pyarrow as pa

    for dtype in (pa.int64(), pa.float64()):
        try:
            parsed = numbers_of(texts.cast(dtype))
        except pa.ArrowInvalid:
            continue
        return parsed
    return None


def _is_view(dtype: Any) -> bool:
    """Recognise the string-view type, which old pyarrow does not know."""
    import pyarrow.types as pt

    return hasattr(pt, "is_string_view") and bool(pt.is_string_view(dtype))


def _objects(values: list[Any]) -> npt.NDArray[Any]:
    """Make a one-dimensional object array, also of strings of equal length."""
    out = np.empty(len(values), object)
    out[:] = values
    return out
