"""Which tests trees may have: features that a space bans, bound to a table, and in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adtc.data import Data
from adtc.errors import QueryError, unknown


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a space says about tests, as numbers of features.

    Parameters
    ----------
    banned
        Features that no tree tests.
    """

    banned: frozenset[int] = frozenset()


ANYTHING = Allowed()


def named_features(option: str, names: Iterable[str], data: Data) -> frozenset[int]:
    """Find the features that are named, or made of a column that is."""
    found: set[int] = set()
    for name in names:
        those = [
            f for f, feature in enumerate(data.features) if name in (feature.name, feature.column)
        ]
        if not those:
            columns = dict.fromkeys(feature.column for feature in data.features)
            sentence = unknown("column or feature", name, [*columns, *data.feature_names])
            raise QueryError(f"{option}: {sentence}")
        found.update(those)
    return frozenset(found)


def tests_in_words(conventions: Mapping[str, Any]) -> list[str]:
    """Say what the conventions of a record hold about tests.

    Examples
    --------
    >>> tests_in_words({"banned": "age, sex"})
    ['no test of age, sex']
    """
    said = {"banned": "no test of {}"}
    return [text.format(conventions[name]) for name, text in said.items() if conventions.get(name)]
