"""What is fuzzed: a target is a name, its share of all inputs, and how to make and try inputs.

A new target is a function that returns ``Trial(generate, call)`` and one line in ``targets``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

ACCEPTED = 0  # answered, but compared with nothing


class WrongError(Exception):
    """An answer came, but not the right one, or it broke a promise."""


@dataclass(frozen=True)
class Trial:
    """How inputs are made and tried.

    Parameters
    ----------
    generate
        Makes one input from a random source alone, so that its number makes it again.
    call
        Tries it, and returns how many answers the oracle gave as well; an `ADTCError` refuses the
        input; anything else that is raised is a finding.
    """

    generate: Callable[[Random], Any]
    call: Callable[[Any], int]


@dataclass(frozen=True)
class Target:
    """A part of adtc that takes input from outside.

    Parameters
    ----------
    share
        How many of a thousand inputs are for this target.
    prepare
        Makes the trial; files go into the folder it is given.
    """

    name: str
    share: int
    prepare: Callable[[Path], Trial]
