"""Methods of lower modules that upper ones provide, such as the pictures of a result.

Whoever stands above both registers where a function is: a room for its own modules, the package
for its rooms. It is loaded when it is first called.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_places: dict[str, str] = {}


def register(places: Mapping[str, str]) -> None:
    """Say where functions are: ``{"plot": "adtc.show:plot"}``."""
    _places.update(places)


def hook(name: str) -> Callable[..., Any]:
    """Return a registered function.

    Examples
    --------
    >>> register({"square root": "math:sqrt"})
    >>> hook("square root")(9)
    3.0
    """
    module, _, function = _places[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
