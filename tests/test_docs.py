"""What the pages say is so: commands print what is shown, names exist, lists are complete.

Examples in Python run as doctests of the pages themselves; this file checks the rest.
"""

import re
import shlex
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

import adtc
from adtc.algebra.formula import parse_term
from adtc.algebra.metrics import PRIMITIVES, RATIONALS, RELIANCE
from adtc.algebra.semirings import SEMIRINGS
from adtc.cli import main
from adtc.data import Data
from adtc.engine.query import schema_of

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("changelog.d/*.md"))
    if "_build" not in path.parts
)
FRAGMENT = re.compile(r"(added|changed|fixed|removed)-[a-z0-9-]+\.md")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def sessions(page: Path) -> Iterator[tuple[str, str]]:
    """Give the commands of a page's console blocks, each with the output shown."""
    for block in re.findall(r"^```console\n(.*?)^```$", read(page), re.MULTILINE | re.DOTALL):
        for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = session.partition("\n")
            yield command, shown


SESSIONS = [pytest.param(*s, id=f"{p.name}: {s[0]}") for p in PAGES for s in sessions(p)]


def timeless(output: str) -> str:
    """Replace the seconds, which differ from run to run."""
    return re.sub(r"^time: [\d.]+ s$", "time: 0.00 s", output, flags=re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), SESSIONS)
def test_commands_print_what_is_shown(command: str, shown: str) -> None:
    program, *args = shlex.split(command)
    assert program == "adtc"
    printed = timeless(CliRunner().invoke(main, args).output)
    shown = timeless(shown)
    assert OutputChecker().check_output(shown, printed, ELLIPSIS), printed


def test_there_are_commands() -> None:
    assert len(SESSIONS) >= 5


def is_there(dotted: str) -> bool:
    """Tell whether a dotted name is a module or something in one."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def test_a_name_that_is_not_there_is_noticed() -> None:
    assert is_there("adtc.algebra.trees.Leaf.label")
    assert not is_there("adtc.algebra.trees.Branch")
    assert not is_there("adtc.algebra.shrubs")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_and_files_exist(page: Path) -> None:
    # Only what is written as code: adtc.room.name, and paths that begin with a folder of ours.
    quoted = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", read(page))
    names = [text for text in quoted if re.fullmatch(r"adtc(\.\w+)+", text)]
    paths = [t for t in quoted if re.fullmatch(r"(src|tests|docs)/[\w./-]+(::\w+)?", t)]
    assert [name for name in names if not is_there(name)] == []
    for text in paths:
        path, _, test = text.partition("::")
        if path.startswith("docs/_build"):
            continue
        assert (ROOT / path).exists(), text
        assert not test or f"\ndef {test}(" in read(ROOT / path), text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(page))
    here = [target for target in targets if "://" not in target]
    assert [target for target in here if not (page.parent / target).exists()] == []


def rows(page: str) -> list[list[str]]:
    """Read the cells of all tables of a page."""
    lines = [line for line in read(DOCS / page).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_row_of_the_paper_map_names_code_and_test() -> None:
    body = [row for row in rows("paper-map.md") if row[0] not in ("paper", "---")]
    assert len(body) >= 40
    for _, code, test in body:
        assert re.fullmatch(r"`adtc\.[\w.]+`(, `adtc\.[\w.]+`)*", code), code
        assert re.fullmatch(r"`tests/[\w./:]+`(, `tests/[\w./:]+`)*", test), test


def test_every_metric_has_a_row() -> None:
    named = {row[0].strip("`") for row in rows("metrics.md")}
    assert {*PRIMITIVES, *RATIONALS} <= named


def test_formulas_of_rates_are_those_of_the_code() -> None:
    data = Data.from_arrays([[1], [0]], [1, 0], z=[1, 0])
    schema = schema_of(data)
    told = {row[0].strip("`"): row[2] for row in rows("metrics.md") if len(row) == 3}
    for name, formula in RELIANCE.items():
        assert told.pop(f"{name}[column]") == f"`{formula}`"
    in_code = {name: text.strip("`") for name, text in told.items() if text.startswith("`N")}
    in_code |= {name: text.strip("`") for name, text in told.items() if text[:2] in ("`(", "`2")}
    assert len(in_code) == 10
    for name, text in in_code.items():
        assert str(parse_term(RATIONALS[name].define(schema))) == text


def test_every_semiring_has_a_row() -> None:
    text = " ".join(row[0] for row in rows("howto/semirings.md"))
    named = {name.replace("_", "-") for name in re.findall(r'`"?([\w-]+)', text)}
    assert set(SEMIRINGS) <= named


def test_every_public_name_is_in_the_reference() -> None:
    page = read(DOCS / "reference" / "api.md")
    names = set(adtc.__all__) - {"__version__"}
    assert [name for name in sorted(names) if f"adtc.{name}" not in page] == []


def test_every_command_is_in_the_reference() -> None:
    included = re.findall(r"generated/adtc-(\w+)\.txt", read(DOCS / "reference" / "cli.md"))
    assert sorted(included) == sorted(main.commands)


def test_fragments_are_named_by_kind() -> None:
    fragments = {path.name for path in ROOT.glob("changelog.d/*")} - {"README.md"}
    assert [name for name in sorted(fragments) if not FRAGMENT.fullmatch(name)] == []
