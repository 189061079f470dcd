"""A profile in plain words: the question, the conventions, each metric's meaning and formula.

Everything comes from the run record and the metrics' own definitions, so a profile that was kept
without its table can be described as well.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from adtc.algebra.metrics import RATIONALS, RELIANCE, Schema
from adtc.engine.allowed import tests_in_words
from adtc.engine.record import RunRecord
from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped

Goal = Literal["max", "min"]

_STRUCTURE = {
    "size": "number of leaves, that is, of rules",
    "depth": "number of tests on the longest path",
    "support": "number of rows in the smallest leaf",
    "error": "number of rows predicted wrong",
    "N": "number of all rows; the same for every tree",
}
# Where the definition itself speaks in abbreviations.
_PLAIN = {
    "tpr": "true positive rate: share of truly positive rows predicted positive (recall)",
    "fpr": "false positive rate: share of truly negative rows predicted positive",
    "tnr": "true negative rate: share of truly negative rows predicted negative",
    "fnr": "false negative rate: share of truly positive rows predicted negative",
    "eodd_sum": "equalized odds: gap of true positive rates plus gap of false positive rates",
    "eodd_max": "equalized odds: the larger of the gaps of true and of false positive rates",
    "eodd_mean": "equalized odds: mean of the gaps of true and of false positive rates",
    "eopp_signed": "true positive rate of group 1 minus that of group 0",
}
_RATES = ("acc", "bacc", "precision", "recall", "tpr", "tnr", "f1", "dp_ratio", "support")
_COSTS = ("size", "depth", "error", "fpr", "fnr")
_GAPS = ("dp", "eopp", "eodd_sum", "eodd_max", "eodd_mean")
_TITLES = {
    "size": "leaves",
    "acc": "accuracy",
    "bacc": "balanced accuracy",
    "f1": "F1 score",
    "dp": "demographic parity gap",
    "eopp": "equal opportunity gap",
    "eodd_sum": "equalized odds gap (sum)",
    "eodd_max": "equalized odds gap (larger)",
    "eodd_mean": "equalized odds gap (mean)",
    "selection_rate": "selection rate",
}
_CONTINGENCY = re.compile(r"N(?:\[([^\]]+)\]|(\d)(\d)(\d?))")
_OF_TABLE = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\.(.+)", re.DOTALL)
_RELIANCE = re.compile(rf"({'|'.join(RELIANCE)})\[(.+)\]", re.DOTALL)
_ENGINES = {"spec": "specification"}


@dataclass(frozen=True, slots=True)
class Definition:
    """What a metric means.

    Parameters
    ----------
    title
        A short name for people.
    goal
        Whether more or less of it is better; None where that is not for us to say.
    """

    name: str
    title: str
    about: str
    formula: str
    goal: Goal | None
    gap: bool


def of_table(name: str) -> tuple[str | None, str]:
    """Take the name of a further table's metric apart; None for the table itself.

    Examples
    --------
    >>> of_table("test.acc"), of_table("agreement[a.b]")
    (('test', 'acc'), (None, 'agreement[a.b]'))
    """
    match = _OF_TABLE.fullmatch(name)
    return (match[1], match[2]) if match else (None, name)


def goal_of(name: str) -> Goal | None:
    """Tell whether more or less of a metric is better."""
    name = of_table(name)[1]
    if name in _RATES or name.startswith("agreement["):
        return "max"
    return "min" if name in _COSTS or name in _GAPS else None


def title_text(name: str) -> str:
    """Name a metric within a sentence."""
    table, name = of_table(name)
    title = "number of leaves" if name == "size" else _TITLES.get(name, name)
    return title if table is None else f"{title} on {table}"


def definition(profile: Profile, name: str) -> Definition:
    """Describe a metric of a profile."""
    table, own = of_table(name)
    if table is not None:
        found = definition(profile, own)
        about = f"{found.about}, on the rows of the further table {table}"
        title = f"{found.title} on {table}"
        return replace(found, name=name, title=title, about=about)
    if match := _RELIANCE.fullmatch(name):
        formula = RELIANCE[match[1]].replace("switched", f"switched[{match[2]}]")
        about = (
            f"how much errors grow where {match[2]} comes from another row "
            f"({'difference' if 'difference' in name else 'ratio'} over "
            f"{'all pairs of rows' if 'lossless' in name else 'all pairs of different rows'})"
        )
        return Definition(name, name, about, formula, None, False)
    about, formula = _STRUCTURE.get(name, ""), ""
    if name in RATIONALS:
        about = _PLAIN.get(name, RATIONALS[name].about)
        formula = RATIONALS[name].define(_schema(profile)).replace("None", "p")
    elif name.startswith("agreement["):
        about = f"number of rows where the tree says what the column {name[10:-1]} says"
    elif match := _CONTINGENCY.fullmatch(name):
        parts = match[1].split(",") if match[1] else [p for p in match.groups()[1:] if p]
        about = _cells(profile.record.data, [part.strip() for part in parts])
    if not about:
        about, formula = "a metric of your own", str(profile.metrics.get(name, name))
        formula = name if formula == name or not name.isidentifier() else ""
    return Definition(name, _TITLES.get(name, name), about, formula, goal_of(name), name in _GAPS)


def _schema(profile: Profile) -> Schema:
    """Describe the table as far as the formulas of metrics go."""
    data = profile.record.data
    labels = len(data["labels"])
    positive = profile.source.data.positive if profile.source else 1 if labels == 2 else None  # noqa: PLR2004
    return Schema(labels, len(data["groups"]), positive, (), {})


def _cells(data: Mapping[str, Any], parts: list[str]) -> str:
    """Say in words which rows a contingency count has."""
    what = (("true label", "labels"), ("predicted label", "labels"), ("group", "groups"))
    conditions = []
    for part, (kind, names) in zip(parts, what, strict=False):
        if part == "*":
            continue
        values, at = data[names], int(part.lstrip("~"))
        value = values[at] if at < len(values) else part
        conditions.append(f"{kind} {'other than ' if part.startswith('~') else ''}{value}")
    return f"number of rows with {', '.join(conditions)}" if conditions else "number of all rows"


def glossary(profile: Profile) -> list[str]:
    """Explain the letters and words that formulas and meanings use, as sentences."""
    data = profile.record.data

    def numbered(values: list[str]) -> str:
        return ", ".join(f"{at} = {value}" for at, value in enumerate(values))

    sentences = [
        "N with i,j is the number of rows with true label i and predicted label j "
        f"({numbered(data['labels'])}); a star stands for any value, ~1 for any but 1, and N alone "
        "is the number of all rows."
    ]
    if data["groups"]:
        groups = numbered(data["groups"])
        sentences.append(f"A third index is the group by {data['sensitive']} ({groups}).")
    positive = _schema(profile).positive
    if positive is not None:
        sentences.append(
            f"The positive label is {data['labels'][positive]}. Precision is the share of positive "
            "predictions that are right, recall (the true positive rate) the share of truly "
            "positive rows predicted positive, and the selection rate the share of all rows "
            "predicted positive."
        )
    if data["groups"] and any(name in _GAPS for name in profile.metrics):
        sentences.append(
            "A gap is the largest rate of a group minus the smallest: 0 means that all groups are "
            "treated alike in this respect."
        )
    return sentences


def title_of(profile: Profile) -> str:
    """Name the profile."""
    return f"All decision trees on {profile.record.data['name']}"


def question(profile: Profile, extra: str | None = None) -> list[tuple[str, str]]:
    """Put the question into words: pairs of a heading and a sentence.

    Parameters
    ----------
    extra
        A further condition on top of the profile's own.
    """
    data, space = profile.record.data, profile.record.conventions
    labels = _listed(data["labels"])
    table = (
        f"The table {data['name']} has {grouped(data['rows'])} rows and {data['features']} yes/no "
        f"features. Trees predict the column {data['target']} ({labels})."
    )
    if data["groups"]:
        table += f" Groups are told apart by {data['sensitive']} ({_listed(data['groups'])})."
    rows, size = space["min_rows_per_leaf"], space.get("max_size")
    most = f", at most {many(size, 'leaf', 'leaves')}," if size else ""
    pairs = [
        ("Data", table),
        (
            "Trees",
            f"Every decision tree with at most {many(space['max_depth'], 'test')} on a path"
            f"{most} and at least {many(rows, 'row')} in every leaf"
            + "".join(f", {part}" for part in tests_in_words(space))
            + ".",
        ),
        ("Condition", _conditions(profile, extra)),
        (
            "Measured by",
            "; ".join(
                f"{name} ({definition(profile, name).about})" for name in profile.metrics
            )
            + ".",
        ),
    ]  # fmt: skip
    return pairs


def _conditions(profile: Profile, extra: str | None) -> str:
    where = profile.record.question.get("where")
    parts = [part for part in (where, extra) if part]
    if not parts:
        return "None: every such tree is counted."
    told = "Only trees with " + ", and on top of that ".join(parts) + "."
    found = profile.record.details.get("extremes", {})
    values = ", ".join(f"{name} is {value or 'undefined'}" for name, value in found.items())
    return f"{told} Over all trees, {values}." if values else told


def conventions(run: RunRecord) -> list[str]:
    """List the choices that decide every count, as sentences."""
    space = run.conventions
    majority = space["labels"] == "majority"
    share = space.get("min_leaf_share", 0)
    return [
        "A tree is counted as it is written: two trees that predict alike are two trees.",
        "A feature occurs at most once on a path.",
        f"Every leaf holds at least {many(space['min_rows_per_leaf'], 'row')}"
        + (f" ({space['relminsup']} of all rows, rounded up)" if space.get("relminsup") else "")
        + "; a split that would make a smaller one does not exist.",
        "A leaf carries the most frequent label of its rows; ties go to the first label."
        if majority
        else "A leaf may carry any label, also one that few of its rows have.",
        *(
            [f"A leaf's label is that of at least {share} of its rows."]
            if Fraction(str(share))
            else []
        ),
        "A split whose two leaves say the same is counted like any other."
        if space["trivial_splits"]
        else "Trees with a split whose two leaves say the same are left out.",
        *(f"{part[0].upper()}{part[1:]}." for part in tests_in_words(space)),
        "A rate whose denominator is 0 is undefined: it satisfies no condition and is never shown "
        "as 0.",
        f"{'Comparisons' if run.status in ('bounded', 'estimated') else 'Numbers'} are exact: "
        f"ratios are compared as fractions, and 0.1 means one tenth.",
    ]


def record(run: RunRecord) -> list[tuple[str, str]]:
    """List what is needed to repeat and to judge the run."""
    exact = {
        "exact": "exact: every number is the true one",
        "bounded": "bounded: the true numbers lie within stated limits",
        "estimated": "estimated from drawn trees, within stated intervals",
        "partial": "partial: exact for what was finished, a part of what was asked",
    }
    limits = [
        (name, str(run.details[key]))
        for name, key in (("Finished", "finished"), ("Stopped by", "stopped"), ("Go on", "advice"))
        if key in run.details
    ]
    return [
        ("Kind of answer", exact[run.status]),
        *_inexact(run),
        *limits,
        ("Software", f"adtc {run.version}, {_ENGINES.get(run.engine, run.engine)} engine"),
        ("Time", f"{run.seconds:.2f} s"),
        ("Work", f"{grouped(run.cell_scan)} pairs of cells combined (cell_scan)"),
        ("Cells", f"{grouped(run.num_cells)} combinations of metric values kept (num_cells)"),
        ("Data fingerprint", str(run.data["fingerprint"])),
    ]


def _inexact(run: RunRecord) -> list[tuple[str, str]]:
    """List what repeats a bounded or an estimated run."""
    told, details = [], run.details
    if "width" in details:
        told.append(("Steps", rows_text(details["width"])))
    if "confidence" in details:
        drawn = f"{many(details['draws'], 'tree')}, seed {run.seed}"
        told.append(("Drawn", f"{drawn}; confidence {details['confidence']:g}"))
    if "filtered" in details:
        told.append(("Filtered after the run", " and ".join(f"({f})" for f in details["filtered"])))
    return told


def rows_text(rows: float) -> str:
    """Write a number of rows, which may be a part of one."""
    return f"{rows:,g} {'row' if rows == 1 else 'rows'}"


def many(n: Any, one: str, several: str | None = None) -> str:
    """Write a number of things: "1 row", "1,204 rows"."""
    return f"{grouped(n)} {one if n == 1 else several or one + 's'}"


def _listed(values: list[str]) -> str:
    shown = ", ".join(map(str, values[:8]))
    return shown + (", …" if len(values) > 8 else "")  # noqa: PLR2004
