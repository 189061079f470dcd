"""What a request asks for, read from its query and checked: every mistake is one sentence."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from adtc.algebra.formula import MAX_LENGTH, locate, names, parse, syntax_error
from adtc.errors import ADTCError, ConstraintSyntaxError, QueryError, unknown
from adtc.profiles.profile import Profile

T = TypeVar("T")
MOST_BINS = 40
MOST_TREES = 12
MOST_STEPS = 512
_WHOLE = re.compile(r"\d{1,4000}")
_NUMBER = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,12})?")
_STEP = re.compile(r"([01]*)([fl])([0-9]{1,9})")
_SHOWN = 60


class NotFoundError(ADTCError):
    """A cell, a rank or a row that does not exist."""


class FormulaError(QueryError):
    """A formula that cannot be read, with the place of the mistake.

    Parameters
    ----------
    sentence
        What is wrong.
    pointer
        Two lines: the formula, and carets below the mistake.
    place
        Start and end of the mistake in the text, where it is known.
    """

    def __init__(self, sentence: str, pointer: list[str], place: tuple[int, int] | None) -> None:
        super().__init__(sentence)
        self.pointer, self.place = pointer, place


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the landscape: which landscape, and the positions of its two bins."""

    i: int
    j: int


@dataclass(frozen=True, slots=True)
class Step:
    """A step of building a tree: a test (``"10f7"``) or a leaf (``"10l0"``) at an open place."""

    address: str
    is_test: bool
    number: int

    def __str__(self) -> str:
        return f"{self.address}{'f' if self.is_test else 'l'}{self.number}"


class Query:
    """The parameters of a request, each read once by its name.

    Parameters
    ----------
    pairs
        Names and values as they came.
    known
        The names that the request may have.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], known: Iterable[str]) -> None:
        self.values: dict[str, str] = {}
        known = tuple(known)
        for name, value in pairs:
            if name not in known:
                raise QueryError(unknown("parameter", name[:_SHOWN], known))
            if name in self.values:
                raise QueryError(f"the parameter '{name}' is given twice; give it once.")
            self.values[name] = value

    def text(self, name: str) -> str | None:
        """Return a text, None where it is missing or empty."""
        return self.values.get(name) or None

    def integer(self, name: str, least: int, most: int | None, default: int | None = None) -> int:
        """Return a whole number within limits."""
        text = self.values.get(name)
        if text is None and default is not None:
            return default
        if text is None:
            raise QueryError(f"the parameter '{name}' is missing; give a whole number.")
        limits = f"of at least {least}" if most is None else f"from {least:,} to {most:,}"
        if not _WHOLE.fullmatch(text, 0) or not text.isascii():
            raise QueryError(f"{name} is '{text[:_SHOWN]}', expected a whole number {limits}.")
        number = int(text)
        if number < least or (most is not None and number > most):
            raise QueryError(f"{name} is {text[:_SHOWN]}, expected a whole number {limits}.")
        return number

    def maybe(self, name: str, read: Callable[[str], T]) -> T | None:
        """Read a parameter if it is there."""
        return read(name) if self.text(name) is not None else None

    def flag(self, name: str) -> bool:
        """Return a truth value, written 0 or 1."""
        text = self.values.get(name, "0")
        if text not in ("0", "1"):
            raise QueryError(f"{name} is '{text[:_SHOWN]}', expected 0 or 1.")
        return text == "1"

    def metric(self, name: str, profile: Profile) -> str:
        """Return the name of a metric of the profile."""
        text = self.text(name)
        if text is None:
            raise QueryError(f"the parameter '{name}' is missing; give the name of a metric.")
        if text not in profile.metrics:
            raise QueryError(unknown("metric", text[:_SHOWN], profile.metrics))
        return text

    def cell(self, name: str = "cell") -> Cell | None:
        """Return a cell, written as two positions with a comma between."""
        text = self.text(name)
        if text is None:
            return None
        parts = text.split(",")
        if len(parts) != 2 or not all(re.fullmatch(r"\d{1,6}", p, re.ASCII) for p in parts):  # noqa: PLR2004
            raise QueryError(f"{name} is '{text[:_SHOWN]}', expected two positions such as 3,5.")
        return Cell(int(parts[0]), int(parts[1]))

    def side(self, name: str = "side") -> int:
        """Return which of two compared profiles is meant, 0 where nothing is said."""
        text = self.text(name) or "0"
        if text not in ("0", "1", "2"):
            raise QueryError(
                f"{name} is '{text[:_SHOWN]}', expected 1 or 2: which of the two profiles."
            )
        return int(text)

    def ranks(self, name: str) -> tuple[int, ...]:
        """Return a list of ranks with commas between."""
        text = self.text(name)
        parts = text.split(",") if text else []
        if not all(_WHOLE.fullmatch(part) and part.isascii() for part in parts):
            raise QueryError(f"{name} is '{str(text)[:_SHOWN]}', expected ranks such as 0,17.")
        if len(parts) > MOST_TREES:
            raise QueryError(f"{name} has {len(parts)} ranks, expected at most {MOST_TREES}.")
        return tuple(map(int, parts))

    def one_of(self, name: str, known: Sequence[str], default: str | None = None) -> str:
        """Return one of some words, the default where nothing is said."""
        text = self.text(name) or default
        if text is None:
            raise QueryError(f"the parameter '{name}' is missing; give one of {', '.join(known)}.")
        if text not in known:
            raise QueryError(unknown(name, text[:_SHOWN], known))
        return text

    def address(self, name: str) -> str | None:
        """Return the address of a place in a tree, "root" for the root; None if it is missing."""
        text = self.text(name)
        if text is not None and not re.fullmatch(r"root|[01]{1,64}", text):
            raise QueryError(
                f"{name} is '{text[:_SHOWN]}', expected a place: root, or its way from the root, "
                f"1 for yes and 0 for no."
            )
        return "" if text == "root" else text

    def steps(self, name: str = "steps") -> tuple[Step, ...]:
        """Return the steps of building a tree, with commas between."""
        text = self.text(name)
        parts = text.split(",") if text else []
        if len(parts) > MOST_STEPS:
            raise QueryError(f"{name} has {len(parts):,} steps, expected at most {MOST_STEPS}.")
        found = [_STEP.fullmatch(part) for part in parts]
        if not all(found):
            raise QueryError(
                f"{name} is '{str(text)[:_SHOWN]}', expected steps such as f12,1f3,0l1: a place, "
                f"f for a test or l for a leaf, and its number."
            )
        return tuple(Step(m[1], m[2] == "f", int(m[3])) for m in found if m)

    def number(self, name: str, default: str) -> Fraction:
        """Return a number as it is written."""
        text = self.text(name) or default
        if not _NUMBER.fullmatch(text):
            raise QueryError(f"{name} is '{text[:_SHOWN]}', expected a number such as 0.05.")
        return Fraction(text)

    def formula(self, profile: Profile, name: str = "where") -> str | None:
        """Return a formula over the profile's metrics, or say where it is wrong."""
        text = self.text(name)
        if text is None or not text.strip():
            return None
        return checked_formula(text, profile.metrics)


def checked_formula(text: str, metrics: Mapping[str, Any]) -> str:
    """Return a formula that can be read and knows only these metrics."""
    if len(text) > MAX_LENGTH:
        raise QueryError(
            f"the formula has {len(text):,} characters, and at most {MAX_LENGTH:,} are read."
        )
    try:
        strange = sorted(names(parse(text)) - set(metrics) - {"N"})
        if strange:
            start, end = min(locate(text, name) for name in strange)
            sentence = unknown("metric", text[start:end], metrics)
            raise syntax_error(text, start, end, sentence)
    except ConstraintSyntaxError as error:
        raise _formula_error(str(error), text) from None
    return text


def _formula_error(message: str, text: str) -> FormulaError:
    sentence, *pointer = message.split("\n")
    place = None
    if len(pointer) == 2 and pointer[0][2:] == text:  # noqa: PLR2004 (shown in full, on one line)
        carets = pointer[1][2:]
        start = len(carets) - len(carets.lstrip())
        place = (start, min(len(text), start + carets.count("^")))
    return FormulaError(sentence, [line[2:] for line in pointer], place)
