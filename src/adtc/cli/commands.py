"""The commands, one function each: what is asked goes to the public API, what it says comes back.

Options that many commands share are in `options`, the wording of answers in `text`.
"""

from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from adtc.cli import beside, bounded, completion, modes, text
from adtc.cli.asking import Asked
from adtc.cli.decorators import command, table_command
from adtc.cli.infeasible import nearest_report
from adtc.cli.options import Option, metric_names
from adtc.cli.output import Answer, Line
from adtc.cli.running import interrupted
from adtc.text import json_number

if TYPE_CHECKING:
    from adtc.algebra.trees import Tree
    from adtc.data import Data

GAPS = ("dp", "eopp", "eodd_max")


@command(example="adtc datasets --json")
def datasets() -> Answer:
    """List the bundled tables."""
    import adtc

    tables = adtc.datasets()
    head = ("name", "rows", "columns", "target", "sensitive", "licence")
    rows = [
        (t.name, f"{t.rows:,}", str(t.columns), t.target, t.sensitive or "-", t.licence)
        for t in tables
    ]
    lines = text.columns(head, rows)
    for t in tables:
        lines += [Line(""), Line(f"{t.name}: {t.title}. {t.note}".strip()), Line(t.citation, "dim")]
    return Answer({"datasets": [asdict(t) for t in tables]}, lines)


@table_command(
    *modes.ESTIMATED,
    *bounded.BOUNDED,
    example="adtc count german-credit --maxdep 1 --where 'acc >= 0.7 and dp <= 0.05'",
)
def count(asked: Asked, **mode: Any) -> Answer:
    """Count the trees that satisfy a constraint."""
    import adtc

    if (options := modes.pop_options(mode)) is not None:
        return modes.count_answer(asked, options)
    if (options := bounded.pop_options(mode)) is not None:
        return bounded.count_answer(asked, options)
    data = asked.data()
    asked.announce(data)
    found = asked.answer(adtc.count, data, asked.space(), asked.where)
    record = found.record
    assert record is not None  # of an answer
    if isinstance(found, adtc.Bracket) and not interrupted():
        found = beside.tightened(found, asked, data)
        record.status = found.status
    nearest, near = nearest_report(asked, data) if found.upper == 0 else ({}, [])
    return Answer(
        {**found.to_json(), **nearest, "record": record.to_json()},
        [
            text.answer(found, found.status),
            *text.limit_lines(record),
            *near,
            *text.footer(record),
        ],
    )


@table_command(example="adtc exists german-credit --maxdep 1 --where 'acc >= 0.72'")
def exists(asked: Asked) -> Answer:
    """Tell whether a tree satisfies a constraint, and show one."""
    import adtc

    data = asked.data()
    found = asked.answer(adtc.exists, data, asked.space(), asked.where)
    tree, record = found.tree, found.record
    none = found.exists is False
    nearest, near = nearest_report(asked, data) if none else ({}, [])
    head = "no such tree exists" if none else "not decided whether such a tree exists"
    lines = [Line(f"{head} ({record.status})", "bold"), *text.limit_lines(record), *near]
    if tree is not None:
        lines = [
            Line(f"yes, such a tree exists ({record.status})", "bold"),
            *text.rule_lines(tree, data),
            text.metric_line(_scores(tree, data, asked)),
        ]
    return Answer(
        {
            "exists": found.exists,
            "tree": _tree(tree, data),
            "status": record.status,
            **nearest,
            "record": record.to_json(),
        },
        [*lines, *text.footer(record)],
    )


@table_command(
    Option("--minimize", metavar="METRIC", shell_complete=completion.metrics,
           help="Metric or term to minimize (default error)."),
    Option("--maximize", metavar="METRIC", shell_complete=completion.metrics,
           help="Metric or term to maximize instead."),
    example="adtc optimize german-credit --maxdep 1 --maximize f1 --where 'dp <= 0.05'",
)  # fmt: skip
def optimize(asked: Asked, minimize: str | None, maximize: str | None) -> Answer:
    """Find a best tree among those that satisfy a constraint."""
    import adtc

    data = asked.data()
    asked.announce(data, constrained=True)
    best = asked.answer(
        adtc.optimize,
        data,
        asked.space(),
        minimize=minimize,
        maximize=maximize,
        where=asked.where,
    )
    objective, record = minimize or maximize or "error", best.record
    proof = f"{record.status}, {'proved' if best.proved else 'not proved'}"
    metrics: dict[str, text.Value] = {}
    # a tree may satisfy the constraint and still not be comparable
    none = best.tree is None and best.proved
    nearest, near = nearest_report(asked, data, sure=False) if none else ({}, [])
    head = f"no tree {'satisfies' if none else 'found yet that satisfies'} the constraint with"
    bound = [Line(f"no tree has a better value than {text.number(best.bound)}")]
    limits = [
        *(bound if best.bound is not None and not best.proved else []),
        *text.limit_lines(record),
    ]
    lines = [Line(f"{head} {objective} defined ({proof})", "bold"), *limits, *near]
    if best.tree is not None:
        metrics = _scores(best.tree, data, asked, objective)
        lines = [
            Line(f"{objective} = {text.number(best.value)} ({proof})", "bold"),
            *limits,
            *text.rule_lines(best.tree, data),
            text.metric_line(metrics),
        ]
    return Answer(
        {
            "value": json_number(best.value),
            "value_exact": _exact(best.value),
            "error": metrics.get("error"),
            "tree": _tree(best.tree, data),
            "rules": [line.text.strip() for line in text.rule_lines(best.tree, data)]
            if best.tree is not None
            else [],
            "metrics": {name: json_number(value) for name, value in metrics.items()},
            "status": record.status,
            "proved": best.proved,
            "lower": json_number(best.bound if maximize is None else best.value),
            "upper": json_number(best.value if maximize is None else best.bound),
            "bound": json_number(best.bound),
            "bound_exact": _exact(best.bound),
            **nearest,
            "record": record.to_json(),
        },
        [*lines, *text.footer(record)],
    )


@table_command(
    Option("--metrics", metavar="NAMES", callback=metric_names, shell_complete=completion.metrics,
           help="Metrics to tell trees apart by, such as 'size, acc, dp'."),
    Option("--run", "run_it", is_flag=True,
           help="Run it, too, and print what it needed beside what was foreseen."),
    example="adtc explain german-credit --relminsup 0.1 --where 'acc >= 0.75 and dp <= 0.1'",
)  # fmt: skip
def explain(asked: Asked, metrics: tuple[str, ...], run_it: bool) -> Answer:
    """Show how a question would be answered and what it would cost."""
    from adtc.engine.forecast.explain import explain, measure
    from adtc.errors import LimitError

    about = (asked.data(), asked.space(), asked.where, metrics)
    plan = asked.answer(explain, *about, axes=len(metrics))
    fields, lines = plan.to_json(), [Line(line) for line in str(plan).splitlines()]
    if not run_it:
        return Answer(fields, lines)
    try:
        record = asked.answer(measure, *about, axes=len(metrics))
    except LimitError as error:
        if asked.limits["exact"]:
            raise
        return Answer(
            {**fields, "compared": None, "stopped": str(error)},
            [*lines, Line(""), Line(f"stopped: {error}")],
        )
    compared = plan.compared_with(record)
    return Answer(
        {**fields, "compared": compared.to_json(), "record": record.to_json()},
        [*lines, Line(""), *(Line(line) for line in str(compared).splitlines())],
    )


def _scores(tree: "Tree", data: "Data", asked: Asked, *objectives: str) -> dict[str, text.Value]:
    """Measure a tree anew, row by row: the usual metrics and those of the question."""
    from adtc.algebra.formula import names, parse
    from adtc.engine.score import score

    mentioned = sorted(names(parse(asked.where)) - {"N"}) if asked.where else []
    wanted = dict.fromkeys([*objectives, "size", "error", "acc", *_gaps(data), *mentioned])
    return score(tree, data, list(wanted), define=asked.define)


def _gaps(data: "Data") -> tuple[str, ...]:
    """Name the gaps between groups that people ask for first, where a table has groups."""
    from adtc.engine.query import schema_of

    schema = schema_of(data)
    return GAPS if schema.groups and schema.positive is not None else ()


def _tree(tree: "Tree | None", data: "Data") -> Any:
    from adtc.algebra.trees import to_json

    return None if tree is None else to_json(tree, data.feature_names, data.labels)


def _exact(value: text.Value) -> str | None:
    return None if value is None else f"{Fraction(value).numerator}/{Fraction(value).denominator}"
