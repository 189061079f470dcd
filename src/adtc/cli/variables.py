"""The command about variables: which columns good trees need, and what the others cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from adtc.cli import text
from adtc.cli.asking import Asked
from adtc.cli.output import Answer, Line, check_output
from adtc.cli.profiling import picture
from adtc.cli.sources import opened, source_command

if TYPE_CHECKING:
    from adtc.profiles.variables import Variables


@source_command(
    picture("Draw the share of good trees that use each variable: .png, .svg or .pdf."),
    example="adtc variables german-credit --relminsup 0.2 --where 'acc >= 0.72'",
)
def variables(asked: Asked, plot: Path | None) -> Answer:
    """Tell which columns the good trees need, may use, and can do without."""
    check_output(plot, asked.table)
    source = opened(asked, lambda data: ["error", "size"])
    found = asked.watch(lambda monitor: source.profile.variables(source.where, monitor=monitor))
    asked.watch(lambda monitor: (found.least_errors, found.minimal_sets))
    numbers, refused = asked.watch(lambda monitor: _by_number(found))
    if plot is not None:
        found.plot().save(plot)
    nearest, told = ({}, []) if found.total else source.nearest_told(asked)
    return Answer(
        {
            **found.to_json(),
            "by_number": numbers,
            **({"by_number_refused": refused} if refused else {}),
            **nearest,
            **source.json(),
        },
        [
            text.answer(found.total, found.status),
            *told,
            *(_lines(found, numbers, refused) if found.total else []),
            *text.files([] if plot is None else [str(plot)]),
            *source.footer(),
        ],
    )


def _by_number(found: "Variables") -> tuple[dict[str, int] | None, str | None]:
    """Count trees by the number of variables, or say why that is refused."""
    from adtc.errors import TooLargeError

    try:
        return {str(n): trees for n, trees in found.by_number.items()}, None
    except TooLargeError as error:
        return None, str(error)


def _lines(found: "Variables", numbers: Any, refused: str | None) -> list[Line]:
    body = [Line(line) for line in ["", *str(found).splitlines(), ""]]
    if refused:
        return [*body, Line(f"good trees by number of variables: {refused}")]
    parts = ", ".join(f"{trees:,} with {n}" for n, trees in numbers.items())
    return [*body, Line(f"good trees by number of variables: {parts}")]
