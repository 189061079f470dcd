"""The command that shows single trees."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import completion, text
from adtc.cli.asking import Asked
from adtc.cli.modes import default_metrics
from adtc.cli.options import FILE, OUTPUT, Option, integer, metric_names, ranks
from adtc.cli.output import Answer, Line
from adtc.cli.picking import PICKS, Picking
from adtc.cli.saved import is_saved
from adtc.cli.sources import Opened, opened, source_command

if TYPE_CHECKING:
    from adtc.data import Data
    from adtc.models import TreeModel
    from adtc.profiles.numbered import DrawnTree


@source_command(
    Option("-n", "-k", "n", metavar="N", callback=integer(1), help="How many trees (default 1)."),
    Option("--seed", metavar="N", callback=integer(0),
           help="The same seed draws the same trees (default: a fresh one, which is told)."),
    Option("--rank", "ranks", metavar="RANK", multiple=True, callback=ranks,
           help="The tree with this rank instead, from 0. Repeatable."),
    Option("--maximize", metavar="METRIC", shell_complete=completion.metrics,
           help="The best N by a metric or term instead."),
    Option("--minimize", metavar="METRIC", shell_complete=completion.metrics,
           help="The best N the other way round."),
    Option("--pick", type=click.Choice(PICKS),
           help="Draw each tree with the same probability, or pick trees whose metrics lie far "
                "apart (spread) or which predict differently (default uniform)."),
    Option("--metrics", metavar="NAMES", callback=metric_names, shell_complete=completion.metrics,
           help="Metrics to show of a table's trees; a saved profile has its own."),
    Option("--small", metavar="N", callback=integer(0), section=OUTPUT,
           help="Leaves of fewer rows show no numbers (default 0: all are shown)."),
    Option("--svg", "folder", metavar="FOLDER", type=FILE, section=OUTPUT,
           help="Draw each tree into FOLDER/tree-RANK.svg."),
    example="adtc draw german-credit --relminsup 0.2 -n 2 --seed 0 --where 'acc >= 0.72'",
)  # fmt: skip
def draw(
    asked: Asked, *, metrics: tuple[str, ...], small: int | None, folder: Path | None, **choice: Any
) -> Answer:
    """Show trees: drawn uniformly, by rank, or the best ones."""
    picking = Picking(**choice)
    if metrics and is_saved(asked.table):
        raise _own_metrics(asked.table)
    _check_folder(folder)
    source = opened(asked, lambda data: _shown(asked, data, metrics, picking.goals))
    drawn = picking.trees(source)
    models = [_model(one) for one in drawn]
    few = small or 0
    files = [] if folder is None else _write_pictures(folder, drawn, models, few)
    return Answer(
        {
            "trees": [
                _tree_json(one, model, few) for one, model in zip(drawn, models, strict=True)
            ],
            "seed": drawn[0].seed if drawn else None,
            **source.profile.count.to_json(),
            "files": files,
            **source.json(),
        },
        [
            Line(picking.heading(source, drawn), "bold"),
            *text.limit_lines(source.profile.record),
            *(
                line
                for one, model in zip(drawn, models, strict=True)
                for line in _lines(one, model, source, few)
            ),
            *text.files(files),
            *source.footer(),
        ],
    )


def _own_metrics(path: str) -> ValueError:
    from adtc.errors import QueryError

    return QueryError(
        f"'{path}' is a saved profile, which has its own metrics: leave out --metrics."
    )


def _check_folder(folder: Path | None) -> None:
    from adtc.errors import QueryError

    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise QueryError(f"cannot write into '{folder}': it is no folder; give another to --svg.")
    if not folder.exists() and not folder.resolve().parent.is_dir():
        raise QueryError(
            f"cannot make '{folder}': the folder above it does not exist; give another to --svg."
        )


def _shown(asked: Asked, data: "Data", metrics: tuple[str, ...], goals: Sequence[str]) -> list[str]:
    """Choose the metrics of a table's trees: the usual ones and those of the question."""
    from adtc.algebra.formula import names, parse

    mentioned = sorted(names(parse(asked.where)) - {"N"}) if asked.where else []
    usual = list(metrics) or [*default_metrics(data), *mentioned]
    return list(dict.fromkeys([*usual, *goals]))


def _model(drawn: "DrawnTree") -> "TreeModel":
    from adtc.models import TreeModel

    return TreeModel(drawn.tree, drawn.data)


def _write_pictures(
    folder: Path, drawn: "Sequence[DrawnTree]", models: "Sequence[TreeModel]", small: int
) -> list[str]:
    from adtc.atomic import write_whole

    pictures = {
        folder / f"tree-{one.rank}.svg": model.to_svg(small=small)
        for one, model in zip(drawn, models, strict=True)
    }
    folder.mkdir(exist_ok=True)
    for path, picture in pictures.items():
        write_whole(path, picture)
    return [str(path) for path in pictures]


def _tree_json(drawn: "DrawnTree", model: "TreeModel", small: int) -> dict[str, Any]:
    from adtc.algebra.trees import to_json
    from adtc.profiles.writing import exact_text, json_number

    rules = model.rules(small=small)
    return {
        "rank": drawn.rank,
        "metrics": {name: json_number(value) for name, value in drawn.metrics.items()},
        "exact": {name: exact_text(value) for name, value in drawn.metrics.items()},
        "tree": to_json(drawn.tree, model.feature_names, model.labels),
        "rules": [rule.text for rule in rules],
        "leaves": [
            {
                "conditions": list(rule.conditions),
                "label": model.label_texts[model.leaves[rule.leaf].label or 0],
                "support": int(rule.support) if rule.hidden is None else None,
                "counts": [int(n) for n in rule.counts] if rule.hidden is None else None,
                "shares": [float(s) for s in rule.shares] if rule.hidden is None else None,
            }
            for rule in rules
        ],
        "cell_rank": drawn.cell_rank,
        "cell_count": drawn.cell_count,
    }


def _lines(drawn: "DrawnTree", model: "TreeModel", source: Opened, small: int) -> list[Line]:
    return [
        Line(""),
        Line(f"tree {drawn.rank:,} of {source.profile.total:,}", "bold"),
        *(Line(f"  {rule.text}", "cyan") for rule in model.rules(small=small)),
        Line(f"  {text.metric_line(drawn.metrics).text}"),
    ]
