"""Check what adtc wrote: a certificate against its table, or a saved profile by itself.

Certificates are checked by ``verify``, which shares nothing with the engine. Only what takes too
long there is counted again by the engine, and that is said.
"""

import os
import zlib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from adtc.algebra.formula import parse
from adtc.atomic import reason_of
from adtc.certificates import verify as plain
from adtc.certificates.recipe import as_columns, columns_of
from adtc.data import Data, datasets
from adtc.data.binarize import Binarizer, Feature
from adtc.data.bits import pack
from adtc.data.coding import Coding
from adtc.data.datasets import dataset_path
from adtc.data.frames import arrow_table
from adtc.engine.monitor import Monitor
from adtc.engine.questions import count
from adtc.engine.spaces import space_from_json
from adtc.errors import ADTCError, DataError, NotExactError, QueryError, TooLargeError
from adtc.profiles.saved.verification import Verification
from adtc.profiles.saved.verification import verify as verify_profile

_PACKED = b"PK"  # how a saved profile begins


def verify(
    path: str | PathLike[str],
    table: object = None,
    *,
    recount: bool = True,
    monitor: Monitor | None = None,
) -> Verification:
    """Check a certificate against its table, or a saved profile, and say what was checked.

    Parameters
    ----------
    path
        A file that `certify` or `Profile.save` wrote.
    table
        The table that a certificate is about: a CSV or Parquet file, the name of a bundled table,
        or a frame. A saved profile needs none.
    recount
        Count the trees again. Otherwise only the table and the trees shown are checked, or of a
        profile what its file holds.
    monitor
        Limits and progress of what the engine counts again.

    Returns
    -------
    Verification
        True in a condition if nothing was found wrong. ``print`` shows it line by line.

    Raises
    ------
    DataError
        Where there is no such file, or it is nothing that can be verified.

    Notes
    -----
    A certificate is checked by code that shares nothing with the engine: it reads the table, makes
    the features, scores the trees shown and counts by a plain recursion, or by the least value of
    one linear form. Where that would take more than about a minute, the engine counts again, and
    the answer says so. Of a profile, see `adtc.profiles.saved.verification`.

    Examples
    --------
    >>> import adtc, tempfile
    >>> data = adtc.load_dataset("german-credit", nbins=2)
    >>> claim = adtc.certify(data, adtc.Space(max_depth=1), where="acc >= 0.72")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = adtc.verify(claim.save(f"{folder}/claim.json"), "german-credit")
    >>> found.valid, found.checked[-1]
    (True, '0 trees satisfy acc >= 0.72 (proved: ...)')
    """
    path = Path(path)
    content = _content(path)
    if content.startswith(_PACKED) or path.suffix == ".adtc":
        if table is not None:
            raise QueryError(f"'{path}' is a saved profile, which needs no table: leave it out.")
        return verify_profile(path, recount=recount, monitor=monitor)
    if table is None and path.suffix != ".json" and not content.lstrip().startswith(b"{"):
        raise DataError(
            f"'{path}' is nothing that can be verified; give a file that `adtc certify -o` or "
            f"`adtc profile -o` wrote."
        )
    if table is None:
        raise QueryError(
            f"'{path}' is a certificate, which is checked against its table: give the table, too."
        )
    return _verify_certificate(path, content, table, recount, monitor)


def _verify_certificate(
    path: Path, content: bytes, table: object, recount: bool, monitor: Monitor | None
) -> Verification:
    try:
        claim = plain.opened(content)
        columns = _columns(table, claim["table"])
    except plain.Refused as refusal:
        return Verification(path, (), (), str(refusal))
    except ADTCError:  # about the table, and for its owner
        raise
    except plain.WRONG:
        return Verification(path, (), (), plain.MISSHAPEN)
    report = plain.Report(content, lambda about: columns, quick=not recount)
    checked, trusted = report.checked, report.trusted
    for where, n in report.too_large if report.reason is None else ():
        told = f"{n:,} trees satisfy {where}"
        try:
            found = _counted(claim, columns, where, monitor)
        except (TooLargeError, NotExactError) as error:
            trusted.insert(0, f"that {told}: {error}")
            continue
        if found != n:
            report.reason = f"{found:,} trees satisfy {where}, but {n:,} are certified"
            break
        checked.append(
            f"{told} (counted again by adtc's engine, not independently: a plain recursion takes "
            f"more than {plain.WORK:,} steps)"
        )
    unchecked = () if report.reason else tuple(trusted)
    return Verification(path, tuple(checked), unchecked, report.reason)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(
            f"there is no file '{path}'; give one that `adtc certify` or `adtc profile` wrote."
        ) from None
    except OSError as error:
        raise DataError(f"'{path}' cannot be read: {reason_of(error)}.") from None


def _columns(table: object, about: dict[str, Any]) -> dict[str, list[str]]:
    """Read a table as text: by its path, by its bundled name, or from a frame."""
    if not isinstance(table, str | PathLike):
        return as_columns(arrow_table(table).to_pydict())
    name = os.fspath(table)
    if name in [info.name for info in datasets()]:
        with dataset_path(name) as path:
            return columns_of(str(path), about)
    try:
        return columns_of(name, about)
    except FileNotFoundError:
        raise DataError(
            f"there is no file '{name}'; give the path of the certificate's table."
        ) from None
    except OSError as error:
        raise DataError(f"'{name}' cannot be read: {reason_of(error)}.") from None
    except (EOFError, zlib.error):
        raise plain.Refused("the table was changed: it cannot be unpacked") from None


def _counted(
    claim: dict[str, Any], columns: plain.Columns, where: str, monitor: Monitor | None
) -> int:
    """Count by the engine, on the rows as the certificate's recipe reads them."""
    reading = plain.reading_of(claim["table"]["recipe"], columns)
    told = [one["where"] for one in claim["statements"]]
    formula = next(formula for formula in told if plain.text_of(formula) == where)
    meant = parse(plain.text_of(_in_counts(formula, claim["define"])), max_length=10**6)
    return int(count(_data(reading), space_from_json(claim["space"]), meant, monitor=monitor))


def _in_counts(x: Any, define: dict[str, Any]) -> Any:
    """Put in what metrics stand for."""
    if isinstance(x, list):
        return [x[0], *(_in_counts(part, define) for part in x[1:])]
    return _in_counts(define[x], define) if isinstance(x, str) and x in define else x


def _data(reading: plain.Reading) -> Data:
    named = zip(reading.names, reading.columns, strict=True)
    features = tuple(Feature(name, column) for name, column in named)
    labels = tuple(reading.labels)
    codes = dict(zip(reading.roles, np.array(reading.kinds, np.int32).T, strict=True))
    y, z = codes.pop("label"), codes.pop("group", None)
    return Data(
        name="table",
        features=features,
        bits=pack(np.array(reading.bits, np.uint8).reshape(len(features), -1)),
        y=y,
        labels=labels,
        positive=None,  # a formula over counts does not ask for it
        z=np.zeros(len(y), np.int32) if z is None else z,
        groups=() if z is None else tuple(range(int(z.max()) + 1)),
        sensitive=None if z is None else "group",
        target="label",
        weights=np.array(reading.weights, np.int64),
        references=tuple((role[len("agreement[") : -1], c) for role, c in codes.items()),
        binarizer=Binarizer(features, Coding("label", labels)),
    )
