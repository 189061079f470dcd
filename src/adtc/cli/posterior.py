"""The command that averages over all trees of a table by their posterior probability."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.decorators import table_command
from adtc.cli.options import FILE, Option, integer
from adtc.cli.output import Answer, Line

if TYPE_CHECKING:
    from adtc.profiles.posterior import LikelyTree, Posterior

_FEW = 1e-4  # below, a probability is written by its order


def _numbers(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> float | tuple[float, ...] | None:
    """Read a number, or several between commas."""
    if value is None:
        return None
    try:
        numbers = tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"'{value}' is neither a number nor numbers between commas.", context, parameter
        ) from None
    return numbers if len(numbers) > 1 else numbers[0]


@table_command(
    Option("--prior", type=click.Choice(["bcart", "bcart-all", "flat"]),
           help="Splits chosen among the valid ones or among all features, or every tree equally "
                "probable (default bcart)."),
    Option("--alpha", metavar="P", callback=_numbers,
           help="Probability that the root splits (default 0.95)."),
    Option("--beta", metavar="X", callback=_numbers,
           help="A node at depth d splits with probability alpha * (1 + d)^-beta (default 0.5)."),
    Option("--rho", metavar="X[,Y,...]", callback=_numbers,
           help="Dirichlet prior of the classes at a leaf: one number, or one for each class in "
                "order (default 2.5)."),
    Option("--draws", metavar="N", callback=integer(1), help="Draw this many trees, too."),
    Option("--seed", metavar="N", callback=integer(0),
           help="The same seed draws the same trees (default: a fresh one, which is told)."),
    Option("--predict", metavar="FILE", type=FILE,
           help="Predict the rows of another file with the same columns; no target is needed."),
    Option("--rows", is_flag=True, help="Predict the table's own rows."),
    example="adtc posterior german-credit --nbins 2 --maxdep 2 --relminsup 0.2",
)  # fmt: skip
def posterior(
    asked: Asked,
    *,
    draws: int | None,
    seed: int | None,
    predict: Path | None,
    rows: bool,
    **prior: Any,
) -> Answer:
    """Average over all trees: evidence, class probabilities, likely variables and trees."""
    import adtc

    _refuse(asked, prior)
    data = asked.data()
    frame = None if predict is None else _frame(predict, asked)
    chosen = {name: value for name, value in prior.items() if value is not None}
    found = asked.under_limits(
        lambda monitor: adtc.posterior(data, asked.space(), **chosen, monitor=monitor)
    )
    drawn = found.draw(draws, seed=seed) if draws else []
    predicted = {
        name: _predicted(asked, found, of)
        for name, of, wanted in (("rows", None, rows), ("predictions", frame, predict is not None))
        if wanted
    }
    errors = {"absolute_error": found.absolute_error} if predicted else {}
    return Answer(
        {
            "log_evidence": found.log_evidence,
            "log_mass": found.log_mass,
            "lost_mass": found.lost_mass,
            "relative_error": found.relative_error,
            "inclusion": found.inclusion,
            "map": _tree(found.best),
            "draws": [_tree(one) for one in drawn],
            "seed": drawn[0].seed if drawn else None,
            "labels": [str(label) for label in data.labels],
            **{name: shares.tolist() for name, shares in predicted.items()},
            **errors,
            "status": found.status,
            "record": found.record.to_json(),
        },
        [
            *_summary(found),
            *(line for one in drawn for line in _lines("drawn tree", one)),
            *(line for name, shares in predicted.items() for line in _table(name, shares, found)),
            *text.footer(found.record),
        ],
    )


def _predicted(asked: Asked, found: "Posterior", frame: Any) -> Any:
    return asked.under_limits(lambda monitor: found.predict_proba(frame, monitor=monitor))


def _refuse(asked: Asked, prior: dict[str, Any]) -> None:
    """Refuse shared options that mean nothing here."""
    from adtc.errors import QueryError

    if asked.where is not None or asked.define:
        raise QueryError(
            "a posterior is over all trees of the space, so --where and --define cannot be used "
            "here: limit the trees by --maxdep, --minsup, --relminsup or --siz."
        )
    if asked.engine == "spec":
        raise QueryError("only the fast engine averages over trees: leave out --engine.")
    for name in ("alpha", "beta"):
        if isinstance(prior[name], tuple):
            raise QueryError(f"--{name} takes a single number.")


def _frame(path: Path, asked: Asked) -> Any:
    from adtc.data import read_table

    file = {key: asked.reading[key] for key in ("sep", "header") if key in asked.reading}
    return read_table(path, **file)


def _probability(p: float) -> str:
    """Write a probability; small ones keep their order.

    Examples
    --------
    >>> _probability(0.93158), _probability(3.2e-7), _probability(0.0)
    ('0.9316', '3.2e-07', '0')
    """
    return "0" if p == 0 else f"{p:.4f}" if p >= _FEW else f"{p:.1e}"


def _summary(found: "Posterior") -> list[Line]:
    prior = found.prior
    of = "" if prior.name == "flat" else f", alpha {prior.alpha:g}, beta {prior.beta:g}"
    rho = ", ".join(f"{r:g}" for r in dict.fromkeys(prior.rho))
    finished = found.record.details.get("finished")
    status = f"{found.status}, for {finished}" if finished else found.status
    lines = [
        Line(
            f"log evidence = {found.log_evidence:.6f} ({status}: relative error of the "
            f"evidence at most {found.relative_error:.1e})",
            "bold",
        ),
        *text.limit_lines(found.record),
        Line(f"prior {prior.name}{of}, rho {rho}{_mass(found)}"),
    ]
    likely = sorted(found.inclusion.items(), key=lambda pair: -pair[1])
    least = 2 * found.relative_error  # below, digits say nothing
    shown = [(name, f"<{least:.0e}" if 0 < p < least else _probability(p)) for name, p in likely]
    lines += [Line(""), *text.columns(("variable", "probability that a tree tests it"), shown)]
    return [*lines, *_lines("most probable tree", found.best)]


def _mass(found: "Posterior") -> str:
    """Say how much of the prior lies on the trees of the space."""
    if found.lost_mass is None:
        return f"; about 10^{found.log_mass / 2.302585092994046:.2f} trees"
    if not found.lost_mass:
        return ""
    return f"; {found.lost_mass:.4g} of the prior is on no tree of the space, and is divided out"


def _lines(what: str, one: "LikelyTree") -> list[Line]:
    return [
        Line(""),
        Line(f"{what}, posterior probability {_probability(one.probability)}", "bold"),
        *(Line(f"  {rule.text}", "cyan") for rule in one.model.rules()),
    ]


def _tree(one: "LikelyTree") -> dict[str, Any]:
    from adtc.algebra.trees import to_json

    return {
        "probability": one.probability,
        "tree": to_json(one.tree, one.data.feature_names, one.data.labels),
        "rules": [rule.text for rule in one.model.rules()],
    }


def _table(name: str, shares: Any, found: "Posterior") -> list[Line]:
    """Write class probabilities, row by row."""
    labels = [str(label) for label in found.data.labels]
    rows = [(str(r), *(f"{p:.4f}" for p in row)) for r, row in enumerate(shares.tolist())]
    about = {"rows": "the table's rows", "predictions": "the other file's rows"}[name]
    head = f"class probabilities of {about} (error at most {found.absolute_error:.1e})"
    return [Line(""), Line(head, "bold"), *text.columns(("row", *labels), rows)]
