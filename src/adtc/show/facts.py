"""What decides which trees a profile counts, as short facts; and where two profiles differ."""

from collections.abc import Mapping
from typing import Any

from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped

_LABELS = {"any": "any label on a leaf", "majority": "majority label on a leaf"}
# Facts that stand for these settings; another setting is told by its own name.
_TOLD = frozenset(
    (
        "max_depth",
        "max_size",
        "min_rows_per_leaf",
        "labels",
        "trivial_splits",
        "minsup",
        "relminsup",
    )
)


def facts(profile: Profile) -> dict[str, str]:
    """List the facts by a name for each, in the order in which people ask.

    Examples
    --------
    >>> import adtc
    >>> data = adtc.Data.from_arrays([[1], [1], [0]], [1, 1, 0])
    >>> found = adtc.profile(data, adtc.Space(max_depth=1), ["acc"], where="acc >= 0.5")
    >>> facts(found)["depth"], facts(found)["condition"]
    ('depth at most 1', 'acc >= 0.5')
    """
    data, space = profile.record.data, profile.record.conventions
    size, rows = space.get("max_size"), space["min_rows_per_leaf"]
    told = {
        "table": str(data["name"]),
        "condition": profile.record.question.get("where") or "",
        "size": f"{grouped(data['rows'])} rows, {data['features']} features",
        "target": f"predicts {data['target']}",
        "groups": f"groups by {data['sensitive']}" if data["groups"] else "",
        "depth": f"depth at most {space['max_depth']}",
        "leaves": f"at most {size} {'leaf' if size == 1 else 'leaves'}" if size else "",
        "rows per leaf": f"at least {grouped(rows)} {'row' if rows == 1 else 'rows'} per leaf",
        "labels": _LABELS.get(space["labels"], str(space["labels"])),
        "splits": "" if space["trivial_splits"] else "no split with equal leaves",
    }
    return {name: text for name, text in told.items() if text}


def differences(first: Profile, second: Profile) -> list[tuple[str, str, str]]:
    """Compare what decides the counts of two profiles: name, first, second where they differ.

    Tables that are called alike but hold other rows differ by their fingerprints.
    """
    one, other = (_all(profile) for profile in (first, second))
    names = [*one, *(name for name in other if name not in one)]
    pairs = [(name, one.get(name, "none"), other.get(name, "none")) for name in names]
    return [(name, a, b) for name, a, b in pairs if a != b]


def _all(profile: Profile) -> dict[str, str]:
    data, space = profile.record.data, profile.record.conventions
    others: Mapping[str, Any] = {name: space[name] for name in space if name not in _TOLD}
    rows = f"fingerprint {str(data['fingerprint'])[:12]}"
    return {**facts(profile), "rows": rows, **{name: str(value) for name, value in others.items()}}
