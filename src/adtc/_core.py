"""The native core, in the best build that this machine can run.

Every instruction-set level is a module of its own, made of the same sources in ``src/core``. The
environment variable ``ADTC_ISA`` forces a level, for tests and for finding out what one is worth.
"""

import os
from importlib import import_module
from types import ModuleType

_core_portable = import_module("._core_portable", __package__)

LEVELS = ("v4", "v3", "v2", "portable")
"""Best first; see ``src/core/isa.h`` for what each one needs."""


def available_levels() -> tuple[str, ...]:
    """List the levels that were built and that this machine has, best first."""
    return tuple(level for level in LEVELS if _core_portable.supports(level) and _built(level))


def load_level(level: str) -> ModuleType:
    """Import the core of one level."""
    return import_module(f"._core_{level}", __package__)


def _built(level: str) -> bool:
    try:
        load_level(level)
    except ImportError:
        return False
    return True


def _choose() -> ModuleType:
    forced = os.environ.get("ADTC_ISA")
    levels = available_levels() if forced else (level for level in LEVELS if _usable(level))
    if forced and forced not in levels:
        raise ImportError(
            f"ADTC_ISA is '{forced}', but this machine can run {', '.join(levels)}: choose one of "
            f"them, or unset it."
        )
    return load_level(forced or next(iter(levels)))


def _usable(level: str) -> bool:
    return _core_portable.supports(level) and _built(level)


_chosen = _choose()
globals().update({name: getattr(_chosen, name) for name in dir(_chosen) if name[0] != "_"})
