"""How kernels are compiled: one thread, no GIL, cached on disk where a cache can be written."""

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a kernel; without a writable cache directory it is compiled once per process."""
    try:
        return _compiled(function, cache=True)
    except RuntimeError:  # Numba found no place for its cache
        return _compiled(function, cache=False)


def _compiled(function: F, *, cache: bool) -> F:
    # error_model="numpy": no zero-division branches in inner loops; kernels never divide by data.
    # No C callbacks are needed: without them each kernel is compiled once less.
    options: dict[str, Any] = {"cache": cache, "no_cfunc_wrapper": True}
    jit = numba.njit(nogil=True, error_model="numpy", **options)
    return cast(F, jit(function))


JIT_ENABLED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
