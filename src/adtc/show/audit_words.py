"""An audit in words: the finding, the model in use, the alternatives, who is affected."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from adtc.algebra.formula import names, parse
from adtc.data.columns import format_scalar
from adtc.profiles.audits.audited import Alternative, Alternatives, Audit, Measured, Value
from adtc.profiles.audits.rates import FEW, small_groups
from adtc.profiles.writing import aligned, fixed, grouped
from adtc.show import words
from adtc.show.finding import trees_text, value_text
from adtc.show.groups import AUDIT_HEAD, CHANGES_HEAD, audit_rows, change_rows
from adtc.text import percent

Styled = tuple[str, str]  # a line and how it is set on a terminal
_POINTS = ("dp", "eopp", "eodd_sum", "eodd_max", "eodd_mean")
_SHARES = ("acc", "bacc", "f1", "precision", "recall", "tpr", "tnr", "selection_rate")


def headline(found: Audit) -> str:
    """Say in one line whether there is an alternative."""
    if found.exists is None:
        return "Undecided: a limit ended the search"
    if not found.exists:
        return "No: no tree of this class does as well with a smaller gap"
    if found.count is None:
        return "Yes: trees do as well with a smaller gap; they were not counted"
    does = "does" if found.count == 1 else "do"
    return f"Yes: {trees_text(found.count)} {does} as well with a smaller gap"


def metric_text(name: str, value: Value, places: int = 1) -> str:
    """Write a metric for people: shares in per cent, gaps in percentage points.

    Parameters
    ----------
    places
        Decimals of a share.

    Examples
    --------
    >>> metric_text("acc", Fraction(3, 4)), metric_text("dp", Fraction(1, 40))
    ('75.0 %', '2.50 percentage points')
    """
    if value is None:
        return "undefined"
    if name in _POINTS:
        if not value:
            return "0 percentage points"
        return f"{_hundredfold(value, 2)} percentage points"
    return f"{_hundredfold(value, places)} %" if name in _SHARES else value_text(value)


def role_text(role: str) -> str:
    """Write why a tree is shown, with metrics by their names for people."""
    word, _, name = role.partition(" ")
    return f"{word} {words.title_text(name)}" if word == "largest" else role


def is_points(name: str) -> bool:
    """Tell whether a metric is a difference of rates."""
    return name in _POINTS


def is_share(name: str) -> bool:
    """Tell whether a metric is a share of rows."""
    return name in _SHARES


def _hundredfold(value: Fraction | int, places: int) -> str:
    """Write a share times 100; one that is not 0 never looks like 0, nor one below 1 like 100."""
    text = fixed(100 * Fraction(value), places)
    rounded = Fraction(text) / 100
    if rounded != value and rounded in (0, 1):
        return value_text(100 * Fraction(value))
    return text


def class_text(found: Audit) -> str:
    """Say in words which trees were searched."""
    space = found.record.conventions
    size = space.get("max_size")
    leaves = f", at most {words.many(size, 'leaf', 'leaves')}" if size else ""
    label = "the most frequent label of its rows" if space["labels"] == "majority" else "any label"
    share = found.space.leaf_share
    own = f" that at least {percent(share)} of its rows have" if share else ""
    trivial = "" if space["trivial_splits"] else ", no split into two leaves of equal label"
    return (
        f"all decision trees with at most {words.many(space['max_depth'], 'test')} on a path"
        f"{leaves}, at least {words.many(space['min_rows_per_leaf'], 'row')} in every leaf and "
        f"{label}{own} on a leaf{trivial}, over the {found.data.n_features} yes/no features of "
        f"{found.data.name}"
    )


def in_use_text(found: Audit) -> str:
    """Name the model in use."""
    used = found.baseline
    if used.kind == "decision":
        return f"the decisions in the column '{used.name}'" if used.name else "the decisions given"
    if used.kind == "tree":
        return "the tree given"
    tree = "the most accurate tree" if used.proved else "the most accurate tree found"
    return f"{tree} that reaches the floor" if used.at_floor else f"{tree} (none reaches the floor)"


def spelled_text(found: Audit) -> str:
    """Say what other spellings of labels were read as."""
    if not found.baseline.spelled:
        return ""
    (value, label), *others = found.baseline.spelled
    first = f"'{value}' was read as {label}"
    pairs = [first, *(f"'{value}' as {label}" for value, label in others)]
    return f"In the column '{found.baseline.name}', {_joined(pairs)}."


def sentences(found: Audit) -> list[str]:
    """Write the finding: what is in use, what was asked, what there is, whom it affects."""
    lines = [_used_sentence(found), _asked_sentence(found), *_answer_sentences(found)]
    lines += _considered_sentences(found)
    if found.shown:
        lines.append(_changes_sentence(found, found.shown[0]))
    lines += _test_sentences(found)
    return [one for one in lines if one]


def _used_sentence(found: Audit) -> str:
    used, data = found.baseline, found.data
    groups = used.train.groups
    rates = [g for g in groups[1:] if g.selection_rate is not None]
    most = max(rates, key=lambda g: g.selection_rate or 0)
    least = min(rates, key=lambda g: g.selection_rate or 0)
    positive = format_scalar(data.labels[data.positive or 0])
    spread = (
        f"It predicts '{positive}' for {percent(most.selection_rate)} of the rows with "
        f"{_group(found, most.name)} and for {percent(least.selection_rate)} of those with "
        f"{_group(found, least.name)}"
        if most.selection_rate != least.selection_rate
        else f"It predicts '{positive}' for {percent(most.selection_rate)} of every group"
    )
    acc = metric_text("acc", used.metrics["acc"])
    gap = metric_text(found.gap, used.metrics[found.gap])
    return (
        f"The model in use, {in_use_text(found)}, is right for {acc} of {grouped(groups[0].rows)} "
        f"rows. {spread}; its {words.title_text(found.gap)} is {gap}. "
        f"{spelled_text(found)}"
    ).strip()


def _asked_sentence(found: Audit) -> str:
    floor = " and ".join(_floor_text(found))
    gap = words.title_text(found.gap)
    return f"Asked for are trees with {floor} and a {gap} below that, among {class_text(found)}."


def _floor_text(found: Audit) -> Iterator[str]:
    """Write the floor; that of the model in use in words, for its fraction tells nobody much."""
    if "floor" in found.record.question:
        yield found.floor
    else:
        yield f"at least its accuracy ({found.floor})"


def _answer_sentences(found: Audit) -> list[str]:
    used, least = found.baseline.metrics[found.gap], found.every.least
    gap = words.title_text(found.gap)
    if found.exists is None:
        return ["The search did not finish within the limits, so neither is known."]
    if not found.exists:
        if least is None:
            return ["None in this class: no tree reaches the floor. This is proved, not sampled."]
        if least == used:
            same = _alike(found)
            return [
                *same,
                f"None in this class: no tree at the floor has a smaller {gap} than the model in "
                f"use. This is proved, not sampled.",
            ]
        return [
            f"None in this class: the smallest {gap} at the floor is "
            f"{metric_text(found.gap, least)}, and the model in use has "
            f"{metric_text(found.gap, used)}. This is proved, not sampled."
        ]
    n = "There are such trees" if found.count is None else (
        f"There {'is' if found.count == 1 else 'are'} {trees_text(found.count, 'such ')}"
    )  # fmt: skip
    if least is None:
        return [f"{n}; the smallest gap among them was not found."]
    constant = found.best is not None and found.best.constant
    alike = (
        f" It is reached by saying '{_says(found.best)}' of every row."
        if constant and found.best is not None
        else ""
    )
    return [
        f"{n}. The smallest {gap} among them is {metric_text(found.gap, least)}; that no tree of "
        f"this class has a smaller one is proved.{alike}"
    ]


def _alike(found: Audit) -> list[str]:
    """Warn of a model that says the same of every row, and say what would help."""
    labels = set(found.baseline.predictions.tolist())
    if len(labels) > 1:
        return []
    label = format_scalar(found.data.labels[labels.pop()])
    return [
        f"The model in use says '{label}' of every row, so it has no gap that could be smaller. A "
        f"floor that such a model fails, on bacc, tpr or tnr, makes this a question."
    ]


def _says(tree: Alternative) -> str:
    return tree.model.label_texts[tree.model.leaves[0].label or 0]


def _considered_sentences(found: Audit) -> list[str]:
    part = found.considered
    if part is None or not found.exists:
        return []
    share = percent(part.space.leaf_share)
    which = (
        f"predict both labels and put on each leaf a label that at least {share} of its rows have"
    )
    if part.exists is None:
        return [f"How many of them {which} was not found."]
    if not part.exists:
        return [f"None of them would {which}; the trees shown are chosen among all of them."]
    many = "Some" if part.count is None else grouped(part.count)
    if part.count is not None and part.count == found.count:
        many = "All"
    return [
        f"{many} of them {which}; the trees shown are of these, those that a person would consider."
        f"{_least_considered(found, part)}"
    ]


def _least_considered(found: Audit, part: Alternatives) -> str:
    if part.least is None or part.least == found.every.least:
        return ""
    return f" The smallest gap of these is {metric_text(found.gap, part.least)}."


def _changes_sentence(found: Audit, tree: Alternative) -> str:
    whole, *groups = tree.changes
    positive = format_scalar(found.data.labels[found.data.positive or 0])
    if not whole.changed:
        return "The first tree shown decides every row as the model in use does."
    parts = [
        f"{words.many(one.gained, 'row')} with {_group(found, one.name)} would gain it and "
        f"{grouped(one.lost)} would lose it"
        for one in groups
    ]
    return (
        f"With the first tree shown, {grouped(whole.changed)} of {grouped(whole.rows)} decisions "
        f"({percent(Fraction(whole.changed, whole.rows))}) would change. Of '{positive}': "
        f"{'; '.join(parts)}."
    )


def _group(found: Audit, name: str) -> str:
    return f"{found.data.sensitive} = {name}"


def _test_sentences(found: Audit) -> list[str]:
    if found.test is None or not found.shown:
        return []
    tree, used = found.shown[0].test, found.baseline.test
    if tree is None:
        return []
    name, rows = found.test.name, grouped(found.test.total)
    sentence = f"On the {rows} rows of {name}, which no tree was chosen by, that tree has"
    sentence += f" {measured_text(found, tree)}"
    sentence += f"; the model in use has {measured_text(found, used)}." if used is not None else "."
    return [sentence]


def measured_text(found: Audit, here: Measured) -> str:
    """Write accuracy and gap on a table, with intervals where it is a sample."""
    return " and ".join(
        f"{words.title_text(name)} {interval_text(name, here)}" for name in ("acc", found.gap)
    )


def interval_text(name: str, here: Measured) -> str:
    """Write a metric with its 95 % interval, if it has one."""
    text = metric_text(name, here.metrics[name])
    ends = here.interval(name)
    if ends is None:
        return text
    places = 2 if name in _POINTS else 1
    low, high = (f"{100 * end:.{places}f}" for end in ends)
    return f"{text} (95 % interval {low} to {high})"


def stopped_texts(found: Audit) -> list[str]:
    """Say what a limit left open, each reason once."""
    left: dict[str, list[str]] = {}
    for one in found.stopped:
        what, colon, reason = one.partition(": ")
        left.setdefault(reason if colon else one, []).append(what if colon else "")
    return [
        f"{', '.join(filter(None, what))}: {reason}" if any(what) else reason
        for reason, what in left.items()
    ]


def small_text(found: Audit) -> str:
    """Name the groups whose rates say little."""
    small = small_groups(found.baseline.train.groups)
    if not small:
        return f"No group has less than {percent(FEW)} of the rows."
    named = [
        f"{g.name} ({grouped(g.rows)} rows)" for g in small
    ]  # fmt: skip
    return (
        f"Small groups, with less than {percent(FEW)} of the rows: {_joined(named)}. Rates of so "
        f"few rows say little, and a gap may be theirs alone."
    )


def proof_sentences(found: Audit) -> list[str]:
    """Say why there is no alternative, and how near trees come."""
    lines = []
    if found.proof is not None:
        lines.append(
            f"Every such tree would have {found.proof['every good tree']}. Then the sum "
            f"{found.proof['so its value of']} would be at most {found.proof['is at most']:,}; but "
            f"for every tree of the class it is at least "
            f"{found.proof['but every tree has at least']:,}."
        )
    lines += [f"Nearest to {one}" for one in found.nearest]
    return lines


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def text(found: Audit) -> str:
    """Write an audit as plain text."""
    return "\n".join(line for line, _ in lines(found))


def lines(found: Audit, small: int = 0) -> Iterator[Styled]:
    """Write an audit line by line, each with a style for terminals."""
    yield f"{headline(found)} ({found.status})", "bold"
    for one in sentences(found):
        yield one, ""
    if found.exists is False:
        for one in proof_sentences(found):
            yield one, ""
    yield "", ""
    yield f"model in use: {in_use_text(found)}", "bold"
    if found.baseline.model is not None:
        for rule in found.baseline.model.rules(small=small):
            yield f"  {rule.text}", "cyan"
    yield _figures(found, found.baseline.metrics), ""
    yield from _rates(found, found.baseline.train, small)
    yield small_text(found), ""
    for at, tree in enumerate(found.shown, 1):
        yield "", ""
        yield f"alternative {at}: {', '.join(map(role_text, tree.roles))}", "bold"
        for rule in tree.model.rules(small=small):
            yield f"  {rule.text}", "cyan"
        yield _figures(found, tree.metrics), ""
        if tree.test is not None and found.test is not None:
            yield f"on {found.test.name}: {measured_text(found, tree.test)}", ""
        yield from _rates(found, tree.train, small)
        rows = change_rows(tree.changes, tree.train.groups, small)
        yield from _table("decisions", CHANGES_HEAD, rows)
    part = shown_part(found)
    front = part.front
    if front is not None and len(front):
        yield "", ""
        which = "" if part is found.every else " of trees that a person would consider"
        yield f"the best trade-offs{which}", "bold"
        for line in front.to_text().splitlines():
            yield line, ""
    for one in stopped_texts(found):
        yield f"not found within the limits: {one}", "bold"


def shown_part(found: Audit) -> Alternatives:
    """Return the alternatives that the shown trees are of."""
    part = found.considered
    return part if part is not None and part.exists else found.every


def _rates(found: Audit, here: Measured, small: int) -> Iterator[Styled]:
    short = {"true positive rate": "TPR", "false positive rate": "FPR"}
    head = [short.get(name, name) for name in AUDIT_HEAD]
    yield from _table(found.data.sensitive or "", head, audit_rows(here.groups, small))


def _figures(found: Audit, metrics: object) -> str:
    assert isinstance(metrics, dict)
    asked = [name for name in sorted(names(parse(found.floor))) if name in metrics]
    shown = dict.fromkeys(["size", "error", "acc", *asked, found.gap])
    return ", ".join(
        f"{words.title_text(name)} {metric_text(name, metrics[name])}"
        for name in shown
        if name in metrics
    )


def _table(first: str, head: Sequence[str], rows: list[list[str]]) -> Iterator[Styled]:
    for line in aligned([[first, *head], *rows]).splitlines():
        yield f"  {line}", ""
