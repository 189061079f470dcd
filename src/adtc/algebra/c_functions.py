"""Semiring operations as C functions: where they are, and how Python calls them.

Function pointers of ctypes and cffi and functions compiled by ``numba.cfunc`` are told by what
they offer, so that none of these packages is needed here.
"""

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adtc.errors import QueryError

BINARY = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
"""``double f(double a, double b)``: the type of ⊕ and ⊗."""
LEAF = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_int64, ctypes.POINTER(ctypes.c_double), ctypes.c_int64
)
"""``double f(int64_t label, const double *values, int64_t n)``: the type of a leaf's value."""


@dataclass(frozen=True)
class CFunctions:
    """The addresses of a semiring's operations.

    Parameters
    ----------
    owners
        What was given; the functions live as long as it does.
    """

    add: int
    mul: int
    leaf: int
    owners: tuple[Any, ...] = ()

    def operations(
        self,
    ) -> tuple[
        Callable[[float, float], float],
        Callable[[float, float], float],
        Callable[[int, Sequence[float]], float],
    ]:
        """Return ⊕, ⊗ and the value of a leaf as Python calls them."""
        value = LEAF(self.leaf)

        def leaf(label: int, values: Sequence[float]) -> float:
            array = (ctypes.c_double * len(values))(*map(float, values))
            return float(value(label, array, len(values)))

        return BINARY(self.add), BINARY(self.mul), leaf


def c_functions(name: str, **given: Any) -> CFunctions | None:
    """Find the addresses of ``add``, ``mul`` and ``leaf``; None if all are Python functions.

    Examples
    --------
    >>> larger = BINARY(max)
    >>> found = c_functions("own", add=larger, mul=larger, leaf=LEAF(lambda label, values, n: 0.0))
    >>> found.operations()[0](2, 3)
    3.0
    """
    addresses = {part: address_of(part, function) for part, function in given.items()}
    missing = [part for part, address in addresses.items() if address is None]
    if len(missing) == len(given):
        return None
    if missing:
        raise QueryError(
            f"the functions of the semiring '{name}' must be all C functions or all Python "
            f"functions, but {' and '.join(missing)} came as Python functions: wrap them, as in "
            f"semirings.BINARY(add) or semirings.LEAF(leaf), or compile them with numba.cfunc."
        )
    return CFunctions(**addresses, owners=tuple(given.values()))  # type: ignore[arg-type]


def address_of(part: str, function: Any) -> int | None:
    """Return the address of a C function; None for a Python function."""
    if hasattr(function, "argtypes") and hasattr(function, "restype"):  # ctypes
        _check_types(part, function)
        return ctypes.cast(function, ctypes.c_void_p).value
    if isinstance(getattr(function, "address", None), int):  # numba.cfunc
        return int(function.address)
    if type(function).__module__ == "_cffi_backend":
        ffi = sys.modules["_cffi_backend"].FFI()
        return int(ffi.cast("intptr_t", function))
    if callable(function):
        return None
    raise QueryError(
        f"{part} must be a function, but {function!r} came: give a function of Python, ctypes or "
        f"cffi, or one compiled by numba.cfunc."
    )


def _check_types(part: str, function: Any) -> None:
    """Refuse a ctypes function that declares other types; one of a library declares none."""
    if function.argtypes is None:
        return
    expected = LEAF if part == "leaf" else BINARY
    sizes = [ctypes.sizeof(t) for t in function.argtypes]
    wanted = [ctypes.sizeof(t) for t in expected._argtypes_]
    doubles = part == "leaf" or all(t is ctypes.c_double for t in function.argtypes)
    if function.restype is not ctypes.c_double or sizes != wanted or not doubles:
        types = "int64, double *, int64" if part == "leaf" else "double, double"
        raise QueryError(
            f"{part} must be a C function of ({types}) that returns a double, but it takes "
            f"({', '.join(t.__name__ for t in function.argtypes)}) and returns "
            f"{getattr(function.restype, '__name__', function.restype)}: declare it with "
            f"semirings.{'LEAF' if part == 'leaf' else 'BINARY'}."
        )
