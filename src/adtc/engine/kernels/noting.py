"""Which kernels are called with which types, noted while they run as plain Python.

Another process reads a noted call, as a line of text, and compiles the kernel for these types, so
that nobody has to write them down. The two are processes of our own, so types go as pickles.
"""

import base64
import importlib
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, FunctionType
from typing import Any, NamedTuple, Self

import numpy as np
from numba import typeof, types
from numba.core.targetconfig import TargetConfig

from adtc.engine.kernels import jit


class Call(NamedTuple):
    """A kernel called with some types: by Python, or by another kernel, as a part of it."""

    module: str
    name: str
    types: str
    whole: bool  # called by Python
    below: tuple[str, ...]  # the kernels that it calls, those that they call, and so on
    work: int  # to compile it once all parts are there, in units of code

    @property
    def kernel(self) -> str:
        """Name the kernel in full."""
        return f"{self.module}.{self.name}"

    def compile(self) -> None:
        """Compile the kernel for these types, and keep it on disk."""
        called: Any = getattr(importlib.import_module(self.module), self.name)
        given = pickle.loads(base64.b64decode(self.types))
        if isinstance(called, FunctionType):
            return  # the few plain functions among the kernels need nothing
        if self.whole:
            called.compile(given)
        else:
            called.compile_part(given)

    def as_line(self) -> str:
        """Write the call down."""
        return json.dumps(self)

    @classmethod
    def of_line(cls, line: str) -> Self:
        """Read a call that was written down."""
        module, name, types, whole, below, work = json.loads(line)
        return cls(module, name, types, whole, tuple(below), work)


def get_ready() -> None:
    """Make this process one that only compiles, with what Numba does once per process done.

    For every name that Numba looks up it compares how the kernel is compiled with how others were,
    option by option, and puts all options into each hash, in which they tell nothing apart.
    """
    from adtc.engine.kernels import bits

    options: Any = TargetConfig
    options.__eq__, options.__hash__ = _same_options, lambda self: 0
    small: Any = bits.popcount
    small.compile_part((types.uint64,))


def _same_options(a: Any, b: object) -> bool:
    """Compare options: those that were set tell enough if they are the same."""
    if not isinstance(b, TargetConfig):
        return False
    return bool(a is b or a._values == b._values or a.values() == b.values())


@contextmanager
def calls_noted(note: Callable[[Call], None]) -> Iterator[None]:
    """Give ``note`` every call of a kernel, once per types."""
    assert not jit.JIT_ENABLED, "compiled kernels cannot be watched: set NUMBA_DISABLE_JIT"
    seen: set[tuple[Any, ...]] = set()
    looks: set[tuple[Any, ...]] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        kernel = _kernel_of(frame) if event == "call" else None
        if kernel is None:
            return
        code, whole = kernel.__code__, _kernel_of(frame.f_back) is None
        given = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount]]
        look = kernel, tuple(map(_look, given)), whole
        if look in looks:
            return
        looks.add(look)
        call = kernel, tuple(map(typeof, given)), whole
        if call not in seen:
            seen.add(call)
            note(_noted(*call))

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)


def _look(value: Any) -> Any:
    """Tell what decides a value's type; to ask Numba for it takes far longer."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    if isinstance(value, tuple):
        return type(value), *map(_look, value)
    return type(value) if isinstance(value, np.generic) else typeof(value)


def _noted(kernel: FunctionType, types: tuple[Any, ...], whole: bool) -> Call:
    below = _below(kernel)
    # a part is translated alone; in a whole, the code of all parts is optimised and assembled
    work = sum(len(each.__code__.co_code) for each in ({kernel} | below if whole else {kernel}))
    return Call(
        kernel.__module__,
        kernel.__name__,
        base64.b64encode(pickle.dumps(types)).decode(),
        whole,
        tuple(f"{each.__module__}.{each.__name__}" for each in below),
        work,
    )


def _below(kernel: FunctionType) -> set[FunctionType]:
    """Find the kernels that one calls, those that they call, and so on."""
    found: set[FunctionType] = set()
    left = [kernel]
    while left:
        caller = left.pop()
        called = (caller.__globals__.get(name) for name in caller.__code__.co_names)
        new = {f for f in called if isinstance(f, FunctionType) and _among_kernels(f)} - found
        found |= new
        left += new
    return found


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
