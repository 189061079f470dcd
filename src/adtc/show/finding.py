"""The finding in words: how many trees, under which condition, the best, the fairest, the front."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from adtc.algebra.trees import paths
from adtc.engine.exact.values import Value
from adtc.engine.limits.bracket import Bracket
from adtc.profiles.inexact.brackets import end_text, ends_of
from adtc.profiles.pareto import Front
from adtc.profiles.profile import Profile
from adtc.profiles.writing import approximate, fixed, grouped
from adtc.show import views, words

if TYPE_CHECKING:
    from adtc.profiles.numbered import DrawnTree


def space_text(profile: Profile) -> str:
    """Say which trees are counted."""
    space = profile.record.conventions
    size = space.get("max_size")
    leaves = f", at most {words.many(size, 'leaf', 'leaves')}" if size else ""
    return (
        f"with at most {words.many(space['max_depth'], 'test')} on a path{leaves} and at least "
        f"{words.many(space['min_rows_per_leaf'], 'row')} in every leaf"
    )


def count_sentence(profile: Profile, whole: Profile, where: str | None) -> str:
    """Say how many trees there are, of which, under which condition."""
    n, data = profile.total, profile.record.data
    asked = profile.record.question.get("where")
    among = f"Among all decision trees on {data['name']} {space_text(profile)}"
    conditions = [part for part in (asked, where) if part]
    if not conditions:
        return f"{among}, there {_are(n)} {trees_text(n)}."
    both = " and ".join(f"({part})" if len(conditions) > 1 else part for part in conditions)
    sentence = f"{among}, {trees_text(n)} {'satisfies' if n == 1 else 'satisfy'} {both}"
    if where and whole.total != n:
        share = views.share_text(n, whole.total)
        of = f"satisfying {asked}" if asked else "there are"
        return f"{sentence}: {share} of the {views.count_text(whole.total)} {of}."
    return f"{sentence}."


def asked_sentence(profile: Profile, where: str | None) -> str:
    """Say of which trees a partial count is exact, and what is known about those asked for."""
    details, asked = profile.record.details, profile.count
    exact = f"A limit stopped the run: this is exact for {details.get('finished', 'a part')}"
    if where is not None or not isinstance(asked, Bracket) or "asked_max_depth" not in details:
        return f"{exact}, a part of what was asked."
    low, high = ends_of(asked)
    many = f"at least {end_text(low, up=False)}"
    if high is not None:
        many = f"between {end_text(low, up=False)} and {end_text(high, up=True)}"
    return (
        f"{exact}. Of depth at most {details['asked_max_depth']}, as asked, there are {many} trees."
    )


def best_sentences(front: Front, ends: "Sequence[DrawnTree]") -> list[str]:
    """Say which tree is the best and which the fairest (or smallest), and what lies between."""
    good, cost = (words.title_text(name) for name in front.names)
    first, last = front.points[0], front.points[-1]
    if len(front) == 1:
        return [
            f"{_named(ends, 0, 'The tree')} is the best in both: {good} {value_text(first[0])} is "
            f"the largest there is, and {cost} {value_text(first[1])} the least.{_alike(ends, 0)}"
        ]
    sentences = [
        f"The largest {good} is {value_text(first[0])}{_by(ends, 0)}; the least {cost} among trees "
        f"that reach it is {value_text(first[1])}.{_alike(ends, 0)}",
        f"The least {cost} is {value_text(last[1])}{_by(ends, -1)}; the largest {good} among trees "
        f"that reach it is {value_text(last[0])}.{_alike(ends, -1)}",
    ]
    inner = len(front) - 2
    between = f"with {words.many(inner, 'trade-off')} in between" if inner else "with none between"
    lost, won = _difference(first[0], last[0]), _difference(first[1], last[1])
    sentences.append(
        f"From the one to the other runs a front of {len(front):,} points, {between}: lowering "
        f"the {cost} by {won} costs at least {lost} of {good}."
    )
    return sentences


def single_sentence(profile: Profile, good: str) -> str:
    """Say how good the best tree is where there is nothing to weigh it against."""
    found = profile.moments(good)
    return f"The largest {words.title_text(good)} is {value_text(found.largest)}."


def trees_text(n: int, such: str = "") -> str:
    """Write a number of trees, with a word before them."""
    if not n:
        return f"no {such}tree"
    return f"{views.count_text(n)} {such}{'tree' if n == 1 else 'trees'}"


def _are(n: int) -> str:
    return "is" if n <= 1 else "are"


def _by(ends: "Sequence[DrawnTree]", at: int) -> str:
    return f" (tree {grouped(ends[at].rank)})" if ends else ""


def _named(ends: "Sequence[DrawnTree]", at: int, otherwise: str) -> str:
    return f"Tree {grouped(ends[at].rank)}" if ends else otherwise


def _alike(ends: "Sequence[DrawnTree]", at: int) -> str:
    """Warn of a tree that gives every row the same answer: it is fair for no good reason."""
    if not ends:
        return ""
    drawn = ends[at]
    predicted = {path.label for path in paths(drawn.tree)}
    if len(predicted) > 1:
        return ""
    return f" That tree says {drawn.data.labels[predicted.pop()]} for every row."


def value_text(value: Value) -> str:
    """Write a value for people; one that is not 0 never looks like 0.

    Examples
    --------
    >>> value_text(Fraction(1, 3)), value_text(Fraction(1, 300_000)), value_text(0)
    ('0.33333', '0.0000033', '0')
    """
    text = approximate(value)
    if value and not float(text.replace(",", "")):
        return fixed(value, 1 - math.floor(math.log10(abs(value))))
    return text


def _difference(a: Value, b: Value) -> str:
    if a is None or b is None:
        return "an undefined amount"
    return value_text(abs(Fraction(a) - Fraction(b)))
