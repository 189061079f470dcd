"""Which kernels are called with which types, noted while they run as plain Python.

A noted call is a line of text: the size of the kernel, its name, and the types. Another process
reads it and compiles the kernel for these types, so that nobody has to write them down. The two are
processes of our own, so types go as pickles.
"""

import base64
import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any

from numba import typeof

from adtc.engine.kernels import jit


@contextmanager
def calls_noted(note: Callable[[str], None]) -> Iterator[None]:
    """Give ``note`` a line for every kernel that is called from outside, once per types."""
    assert not jit.JIT_ENABLED, "compiled kernels cannot be watched: set NUMBA_DISABLE_JIT"
    seen: set[tuple[Any, ...]] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        kernel = _kernel_of(frame)
        if event == "call" and kernel and not _kernel_of(frame.f_back):
            code = kernel.__code__
            arguments = code.co_varnames[: code.co_argcount]
            types = tuple(typeof(frame.f_locals[name]) for name in arguments)
            if (kernel, types) not in seen:
                seen.add((kernel, types))
                pickled = base64.b64encode(pickle.dumps(types)).decode()
                note(f"{_size(kernel)} {kernel.__module__} {kernel.__name__} {pickled}")

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def compile_noted(line: str) -> None:
    """Compile the kernel of a noted call, and keep it on disk."""
    _, module, name, pickled = line.split()
    called: Any = getattr(importlib.import_module(module), name)
    if hasattr(called, "compile"):  # the few plain functions among the kernels need nothing
        called.compile(pickle.loads(base64.b64decode(pickled)))


def _size(kernel: FunctionType) -> int:
    """Measure the code of a kernel and of all others that it calls, once each."""
    found, left = {kernel}, [kernel]
    while left:
        caller = left.pop()
        called = (caller.__globals__.get(name) for name in caller.__code__.co_names)
        new = {f for f in called if isinstance(f, FunctionType) and _among_kernels(f)} - found
        found |= new
        left += new
    return sum(len(f.__code__.co_code) for f in found)


def _kernel_of(frame: FrameType | None) -> FunctionType | None:
    """Return the kernel that a frame runs; None if it is not one."""
    if frame is None:
        return None
    found = frame.f_globals.get(frame.f_code.co_name)
    if not isinstance(found, FunctionType) or found.__code__ is not frame.f_code:
        return None
    return found if _among_kernels(found) else None


def _among_kernels(function: FunctionType) -> bool:
    module = function.__module__
    return module.startswith(f"{__package__}.") and module not in (__name__, jit.__name__)
