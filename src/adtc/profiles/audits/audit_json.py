"""The parts of an audit as plain JSON values; rationals come as a float and exactly."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adtc.algebra.trees import to_json
from adtc.engine.nearest import Nearest
from adtc.models import TreeModel
from adtc.profiles.audits.rates import Changes, GroupCounts, impact_ratios
from adtc.profiles.writing import json_number

if TYPE_CHECKING:
    from adtc.profiles.audits.audited import Alternatives

Value = Fraction | int | None
_RATES = (
    "base_rate",
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "error_rate",
)


def exact_json(metrics: Mapping[str, Value]) -> dict[str, Any]:
    """Write metrics as JSON numbers, each with its exact text beside it."""
    fields: dict[str, Any] = {}
    for name, value in metrics.items():
        fields |= {name: json_number(value), f"{name}_exact": exact_or_none(value)}
    return fields


def exact_or_none(value: Value) -> str | None:
    """Write a value exactly; None where it is undefined."""
    return None if value is None else str(Fraction(value))


def tree_json(model: TreeModel | None) -> dict[str, Any]:
    """Write a tree and its rules."""
    if model is None:
        return {"tree": None, "rules": []}
    return {
        "tree": to_json(model.tree, model.feature_names, model.labels),
        "rules": [rule.text for rule in model.rules()],
    }


def groups_json(groups: Sequence[GroupCounts]) -> list[dict[str, Any]]:
    """Write counts, rates and impact ratios of groups."""
    return [
        {
            "group": None if at == 0 else group.name,
            "rows": group.rows,
            "positive": group.positive,
            "selected": group.selected,
            "wrong": group.wrong,
            **exact_json({name: getattr(group, name) for name in _RATES}),
            **exact_json({"impact_ratio": ratio}),
        }
        for at, (group, ratio) in enumerate(zip(groups, impact_ratios(groups), strict=True))
    ]


def changes_json(change: Changes) -> dict[str, Any]:
    """Write how the decisions of one group change."""
    return {
        "group": change.name,
        "rows": change.rows,
        "changed": change.changed,
        "gained": change.gained,
        "lost": change.lost,
    }


def best_json(found: "Alternatives", gap: str) -> dict[str, Any] | None:
    """Write the best alternative as `adtc optimize` writes an optimum."""
    best, proved = found.best, found.least is not None
    if best is None:
        return None
    value = best.metrics[gap]
    return {
        "value": json_number(value),
        "value_exact": exact_or_none(value),
        "error": json_number(best.metrics["error"]),
        **best.to_json(),
        "status": "exact" if proved else "partial",
        "proved": proved,
    }


def considered_json(found: "Alternatives", gap: str) -> dict[str, Any]:
    """Write the alternatives that a person would consider."""
    share = found.space.leaf_share
    return {
        "min_leaf_share": float(share),
        "min_leaf_share_exact": str(share),
        "where": found.where,
        "exists": found.exists,
        "count": found.count,
        "best": best_json(found, gap),
        "front": None if found.front is None else found.front.to_json(),
    }


def nearest_json(one: Nearest) -> dict[str, Any]:
    """Write how near trees come to one condition."""
    together = None if one.together is None else list(one.together)
    return {
        "atom": one.atom,
        "alone": [json_number(value) for value in one.alone],
        "together": None if together is None else [json_number(value) for value in together],
        "exact": {
            "alone": [str(value) for value in one.alone],
            "together": None if together is None else [str(value) for value in together],
        },
        "possible": one.possible,
        "text": str(one),
    }
