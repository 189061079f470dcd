"""Further tables in a report: how much trees lose there, the landscape of both, the worst tree."""

from collections.abc import Mapping
from fractions import Fraction

from adtc.models import TreeModel
from adtc.profiles.generalization import Generalization
from adtc.profiles.profile import Profile
from adtc.profiles.writing import grouped
from adtc.show import finding, words
from adtc.show.markup import bar_html, escaped, table_html
from adtc.show.sections import title_html, tree_body
from adtc.text import percent


def on_both_tables(profile: Profile) -> list[tuple[str, str]]:
    """List the further tables with each metric that the profile has on both."""
    known = [table["name"] for table in profile.record.data.get("tables", ())]
    pairs = [words.of_table(name) for name in profile.names]
    return [(str(t), name) for t, name in pairs if t in known and name in profile.metrics]


def further_html(profile: Profile, landscapes: Mapping[str, str], small: int) -> str:
    """Say how the trees do on further tables; empty if no metric is there on both.

    Parameters
    ----------
    landscapes
        Pictures of the table against a further one, by the name of the metric there.
    """
    if not profile.total:
        return ""
    return "".join(
        _losses(profile.generalization(table, metric=metric))
        + landscapes.get(f"{table}.{metric}", "")
        + _worst(profile.generalization(table, metric=metric), small)
        for table, metric in on_both_tables(profile)
    )


def _losses(found: Generalization) -> str:
    total = found.profile.total
    rows = [
        [f"{float(x):g}", bar_html(n / total, percent(Fraction(n, total))), grouped(n)]
        for x, n in found.steps()
    ]
    return (
        f"<h3>{title_html(f'{found.table}.{found.metric}')}</h3><p>{escaped(found.to_text())} The "
        f"trees were chosen by {escaped(found.defined_by)}; a table that chose them flatters them."
        f"</p>{table_html(['loss of more than', 'share of the trees', 'trees'], rows)}"
    )


def _worst(found: Generalization, small: int) -> str:
    """Draw the tree that loses most, if one loses and the circuit is there."""
    if found.profile.source is None or not found.largest or found.largest < 0:
        return ""
    worst = found.worst()
    assert worst is not None  # somebody loses
    metrics = ", ".join(f"{name} {finding.value_text(x)}" for name, x in worst.metrics.items())
    name = f"The tree that loses most on {found.table}"
    body, wide = tree_body(TreeModel(worst.tree, worst.data), small, name)
    return (
        f'<article class="tree-card{wide}"><h3>{escaped(name)}</h3>'
        f'<p class="note">{escaped(metrics)}</p>{body}</article>'
    )
