"""Everything adtc raises on purpose, and the "did you mean" helper.

Each message is one sentence for the person who asked: what came, what was expected, what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 60  # names listed in a message


class ADTCError(ValueError):
    """Base of all errors that a user can cause and mend."""


class DataError(ADTCError):
    """The table cannot be read or does not fit its description."""


class QueryError(ADTCError):
    """The question is not well posed: a depth, a support, an option out of range."""


class UnknownColumnError(DataError):
    """A named column is not in the table."""


class UnknownMetricError(QueryError):
    """A named metric does not exist for this table."""


class UnknownSemiringError(QueryError):
    """A named semiring does not exist."""


class ConstraintSyntaxError(QueryError):
    """A constraint formula cannot be read; the message points at the place."""


class LawError(ADTCError):
    """A user's semiring breaks a law; the message names it and the values that break it."""


class TooLargeError(ADTCError):
    """The work would exceed a limit; the message says what would make it fit."""


class LimitError(TooLargeError):
    """A limit on time or memory stopped the work, or would; a smaller question may fit."""


class FoundToFitError(LimitError):
    """A limit would be exceeded, and the message names what was found to fit."""


class NotExactError(ADTCError):
    """An exact number was asked of an answer that is bounded, estimated or partial."""


class NotKnownError(QueryError, AttributeError):
    """A profile without exact counts was asked for what only an exact one has."""


class CancelledError(ADTCError):
    """The work was stopped from outside before it was done."""


def unknown(kind: str, name: object, known: Iterable[object]) -> str:
    """Compose the sentence for a name that does not exist.

    Examples
    --------
    >>> unknown("metric", "eror", ["size", "error"])
    "unknown metric 'eror'. Did you mean 'error'? Known metrics: error, size."
    """
    names = sorted(str(k) for k in known)
    by_lower = {k.lower(): k for k in reversed(names)}
    close = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.6)
    hint = f" Did you mean '{by_lower[close[0]]}'?" if close else ""
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return f"unknown {kind} '{name}'.{hint} Known {kind}s: {shown}."
