"""Names of features and labels in a tree's text: written, quoted, cut into tokens, found again.

Part of `trees`, which holds the trees themselves.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from adtc.errors import QueryError, unknown

Label: TypeAlias = str | int | float | bool


def nth(kind: str, index: int, names: Sequence[Label]) -> Label:
    """Name the feature or label with this index."""
    if not 0 <= index < len(names):
        raise QueryError(
            f"the tree holds {kind} {index}, but {len(names)} {kind} name(s) were given;"
            " give the names of the table it was made for."
        )
    return names[index]


def feature_text(feature: int, names: Sequence[str] | None) -> str:
    """Name a feature; without names it is ``f0, f1, ...``."""
    return f"f{feature}" if names is None else str(nth("feature", feature, names))


def label_text(label: int, names: Sequence[Label] | None) -> str:
    """Name a label; without names it is its index."""
    return str(label) if names is None else str(nth("label", label, names))


def feature_lookup(names: Sequence[str] | None) -> Callable[[str], int]:
    """Make the function that finds the feature with a given text."""
    return _number_after("f", "feature") if names is None else _index_in(names, "feature")


def label_lookup(names: Sequence[Label] | None) -> Callable[[str], int]:
    """Make the function that finds the label with a given text."""
    return _number_after("", "label") if names is None else _index_in(names, "label")


def _index_in(names: Sequence[Label], kind: str) -> Callable[[str], int]:
    index = {str(name): i for i, name in enumerate(names)}
    if len(index) < len(names):
        raise QueryError(
            f"two {kind}s have the same name, so a name does not say which; rename one."
        )

    def find(text: str) -> int:
        if text not in index:
            raise QueryError(unknown(kind, text, index))
        return index[text]

    return find


def _number_after(prefix: str, kind: str) -> Callable[[str], int]:
    def find(text: str) -> int:
        if not re.fullmatch(prefix + "[0-9]{1,9}", text):
            raise QueryError(
                f"'{text}' is no {kind}; without names a {kind} is written {prefix}0, {prefix}1, …"
            )
        return int(text.removeprefix(prefix))

    return find


_PLAIN = re.compile(r'[^\s⟨⟩<>,"]+( [^\s⟨⟩<>,"]+)*')


def quoted(name: str) -> str:
    """Write a name so that `tokens` reads it back: as it is, or as a JSON string."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


_TOKEN = re.compile(
    r"""\s*(?: (?P<sign>[⟨⟩<>,])
             | (?P<quoted>"(?:[^"\\]|\\.)*")
             | (?P<plain>[^\s⟨⟩<>,"][^⟨⟩<>,"]*) )""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """``kind`` is a sign, "name" or "end of text"; ``at`` counts characters from 1."""

    kind: str
    text: str
    at: int


def tokens(text: str) -> Iterator[Token]:
    """Cut the string notation into signs and names."""
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise QueryError(
                f"cannot read the tree at character {position + 1}: a double quote is not closed."
            )
        yield _token(match)
        position = match.end()
    yield Token("end of text", "the end", end + 1)


def _token(match: re.Match[str]) -> Token:
    kind = str(match.lastgroup)
    text, at = match[kind].strip(), match.start(kind) + 1
    if kind == "sign":
        return Token({"<": "⟨", ">": "⟩"}.get(text, text), f"'{text}'", at)
    if kind == "plain":
        return Token("name", text, at)
    try:
        return Token("name", str(json.loads(text)), at)
    except json.JSONDecodeError as error:
        raise QueryError(
            f"cannot read the tree at character {at}: {text} is no JSON string;"
            r" write a double quote as \" and a backslash as \\ inside quotes."
        ) from error
