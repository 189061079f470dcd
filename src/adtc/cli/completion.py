"""Tab completion: the script for a shell, and what may stand in a place of the command line.

It runs at every press of the key, so it reads names from files and imports no NumPy.
"""

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from adtc.cli.group import COMPLETION, main
from adtc.cli.saved import SAVED

SHELLS = ("bash", "zsh", "fish")
CERTIFICATE = ".json"
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".gz")
_BUNDLED = Path(__file__).parents[1] / "data" / "bundled"
_ENDING = ".csv.gz"


@main.command(epilog=COMPLETION)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that lets a shell complete words."""
    made = get_completion_class(shell)
    assert made is not None  # click has checked the shell
    # not by its `source()`, which would start a shell to ask for its version
    script = made(main, {}, "adtc", "_ADTC_COMPLETE")
    click.echo(script.source_template % script.source_vars())


def tables(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the names of bundled tables, and of files that may be tables."""
    return _named(typed, [*_bundled(), *_files(TABLES)])


def sources(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete saved profiles and tables."""
    return _named(typed, [*_files((SAVED,)), *_bundled(), *_files(TABLES)])


def saved(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete saved profiles."""
    return _named(typed, _files((SAVED,)))


def verifiable(
    context: click.Context, parameter: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Complete certificates and saved profiles."""
    return _named(typed, _files((CERTIFICATE, SAVED)))


def metrics(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the last of several metrics: a saved profile's own, else all there are."""
    before, comma, last = typed.rpartition(",")
    start = before + comma + last[: len(last) - len(last.lstrip())]
    names = _profile_metrics(context) or _known_metrics()
    return [CompletionItem(start + name) for name in names if name.startswith(last.strip())]


def _named(typed: str, names: Iterable[str]) -> list[CompletionItem]:
    """Offer names; where none fits, or a folder is being typed, the shell offers files itself."""
    fitting = [name for name in names if name.startswith(typed)]
    if not fitting or "/" in typed:
        return [CompletionItem(typed, type="file")]
    return [CompletionItem(name) for name in fitting]


def _bundled() -> list[str]:
    return sorted(path.name.removesuffix(_ENDING) for path in _BUNDLED.glob(f"*{_ENDING}"))


def _files(endings: tuple[str, ...]) -> list[str]:
    return sorted(path.name for path in Path().iterdir() if path.name.endswith(endings))


def _known_metrics() -> list[str]:
    from adtc.algebra.metrics import PRIMITIVES, RATIONALS

    return sorted({*PRIMITIVES, *RATIONALS})


def _profile_metrics(context: click.Context) -> list[str]:
    """Read the names of a saved profile's metrics, if one was named before."""
    # behind an option that waits for its value, click has not sorted the arguments yet
    words = [str(context.params.get("source") or ""), *context.args]
    path = next((word for word in words if word.endswith(SAVED)), None)
    if path is None:
        return []
    import json
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return list(json.loads(archive.read("manifest.json"))["metrics"])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return []  # the command itself will say what is wrong with the file
