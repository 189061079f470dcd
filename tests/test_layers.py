"""The order of the rooms: who may import whom, what the package offers, what a file must not hold.

Imports are read from the source, those inside functions too, so nothing hides from the check.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import adtc

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"

# A room may import from itself and from what stands on an earlier line; rooms on one line are
# strangers. "adtc" is the package itself, whose __init__ gathers the public names.
ORDER = (
    {"_version"},
    {"hooks"},
    {"_core"},
    {"errors"},
    {"text"},
    {"atomic", "cache"},
    {"data", "algebra"},
    {"engine"},
    {"models"},
    {"profiles"},
    {"certificates"},
    {"show"},
    {"estimator", "dashboard", "paper"},
    {"adtc"},
    {"cli"},
    {"__main__"},
)
HEIGHT = {room: height for height, rooms in enumerate(ORDER) for room in rooms}


class Import(NamedTuple):
    """One imported module: dotted name, and when it is imported.

    Parameters
    ----------
    at_once
        As soon as the file is, not inside a function.
    typing
        Only where types are checked.
    """

    name: str
    line: int
    at_once: bool
    typing: bool = False


def modules() -> dict[str, Path]:
    """Find every module of the package by its dotted name."""
    files = sorted(SOURCE.rglob("*.py"))
    names = (path.relative_to(SOURCE).with_suffix("").parts for path in files)
    return {
        ".".join(parts).removesuffix(".__init__"): path
        for parts, path in zip(names, files, strict=True)
    }


MODULES = modules()


def imports(source: str, known: frozenset[str] | set[str] = frozenset(MODULES)) -> list[Import]:
    """Read the imports of a source; `from a import b` is a.b where that is a module."""
    found = []
    for node, at_once, typing in _statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write imports from 'adtc', not from '.'"
            base = str(node.module)
            whole = [f"{base}.{alias.name}" for alias in node.names]
            names = [name if name in known else base for name in whole]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [a.value for a in node.args if isinstance(a, ast.Constant) and ours(a.value)]
        else:
            continue
        found += [Import(name, node.lineno, at_once, typing) for name in names]
    return found


def _statements(
    node: ast.AST, at_once: bool = True, typing: bool = False
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Walk a source; what a function or `if TYPE_CHECKING` holds is not run at once."""
    for child in ast.iter_child_nodes(node):
        later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield child, at_once, typing
        yield from _statements(child, at_once and not (later or types), typing or types)


def registered(source: str) -> list[Import]:
    """Read the modules that hooks are said to be in, as in ``"adtc.show:plot"``."""
    strings = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant))
    places = ((n.lineno, n.value) for n in strings if isinstance(n.value, str))
    return [
        Import(text.partition(":")[0], line, at_once=False)
        for line, text in places
        if re.fullmatch(r"adtc(\.\w+)*:\w+", text)
    ]


def room(module: str) -> str:
    """Give the room of a module: the part after 'adtc', or 'adtc' for the package itself."""
    return (*module.split("."), "adtc")[1]


def package(name: str) -> str:
    return name.partition(".")[0]


def ours(name: str) -> bool:
    return package(name) == "adtc"


def upward(module: str, source: str) -> list[str]:
    """Name the imports that point to a room at the same height or above."""
    here = room(module)
    return [
        f"{module}, line {i.line}: {here} must not import {i.name}"
        for i in (*imports(source), *registered(source))
        if ours(i.name) and room(i.name) != here and HEIGHT[room(i.name)] >= HEIGHT[here]
    ]


def foreign_at_once(source: str, allowed: set[str]) -> list[str]:
    """Name the third-party packages that a source imports at its top level without leave."""
    return [
        f"line {i.line}: {i.name}"
        for i in imports(source)
        if i.at_once and not ours(i.name) and package(i.name) not in allowed
    ]


def first_cycle(sources: dict[str, str]) -> list[str] | None:
    """Find modules that import one another in a circle, also inside functions."""
    graph = {
        module: {i.name for i in imports(source, set(sources)) if not i.typing and ours(i.name)}
        for module, source in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


def late(source: str) -> list[str]:
    """Name our own modules that a source imports inside functions."""
    own = (i for i in imports(source) if ours(i.name) and not i.at_once and not i.typing)
    return [f"line {i.line}: {i.name}" for i in own]


def required() -> set[str]:
    """Read the packages that are always installed, and Python's own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=~!\[; ]", text, maxsplit=1)[0] for text in project["dependencies"]}
    return names | set(sys.stdlib_module_names)


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_room(module: str) -> None:
    assert room(module) in HEIGHT, f"{module}: give its room a place in ORDER"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    assert upward(module, MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", MODULES)
def test_optional_dependencies_are_imported_inside_functions(module: str) -> None:
    source = MODULES[module].read_text(encoding="utf-8")
    assert foreign_at_once(source, required()) == []


def test_no_modules_import_one_another() -> None:
    assert first_cycle({m: path.read_text(encoding="utf-8") for m, path in MODULES.items()}) is None


def test_a_cycle_is_found() -> None:
    lazy = "def f():\n    from adtc.data import {}"
    assert first_cycle({"adtc.data.a": lazy.format("b"), "adtc.data.b": "import adtc.data.a"})
    by_name = 'import_module("adtc.data.a")'
    assert first_cycle({"adtc.data.a": lazy.format("b"), "adtc.data.b": by_name})
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import adtc.data.a"
    assert first_cycle({"adtc.data.a": lazy.format("b"), "adtc.data.b": types}) is None


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) not in ("cli", "adtc")])
def test_own_modules_are_imported_at_the_top(module: str) -> None:
    assert late(MODULES[module].read_text(encoding="utf-8")) == []


def test_a_late_import_is_found() -> None:
    assert len(late("def f():\n    from adtc.data import table\n    import pandas")) == 1
    assert len(late('def f():\n    import_module("adtc.show")')) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("adtc.profiles.crosstab", 'import_module("adtc.show").plot(self)'),
        ("adtc.profiles", 'register({"plot": "adtc.show:plot"})'),
        ("adtc.algebra.trees", "from adtc.engine import emt"),
        ("adtc.algebra.trees", "from adtc.data.table import Data"),
        ("adtc.data.table", "from adtc.algebra import trees"),
        ("adtc.data.table", "def f():\n    import adtc"),
        ("adtc.engine.emt", "import adtc.cli"),
        ("adtc.errors", "from adtc import semirings"),
    ],
)
def test_an_upward_import_is_found(module: str, line: str) -> None:
    assert len(upward(module, line)) == 1


def test_downward_imports_are_fine() -> None:
    lines = "from adtc._version import __version__\nfrom adtc import errors\nimport numpy"
    assert upward("adtc.data.table", lines) == []
    assert upward("adtc.cli.commands", "def f():\n    import adtc") == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pandas", 1),
        ("if 1:\n    from matplotlib import pyplot", 1),
        ("class A:\n    import duckdb", 1),
        ("def f():\n    import pandas", 0),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas", 0),
        ("import numpy.typing as npt", 0),
    ],
)
def test_an_optional_dependency_at_the_top_is_found(source: str, found: int) -> None:
    assert len(foreign_at_once(source, required())) == found


def test_all_is_sorted_and_complete() -> None:
    assert adtc.__all__ == sorted(adtc.__all__)
    tree = ast.parse(MODULES["adtc"].read_text(encoding="utf-8"))
    offered = {
        alias.asname or alias.name
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("adtc")
        for alias in statement.names
    }
    assert set(adtc.__all__) == offered - {"register"}  # of hooks, which is no public name
    assert all(hasattr(adtc, name) for name in adtc.__all__)


def repository_files() -> list[Path]:
    """List the files that are in the repository or could be added to it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and a checkout")
    paths = (ROOT / name for name in listed.decode().split("\0") if name)
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_place_on_one_machine() -> None:
    # The places are put together here, so that this file does not hold them itself.
    places = re.compile(rf"(?<![\w.])/(?:{'|'.join(('work', 'root', 'home', 'Users'))})/".encode())
    files = repository_files()
    assert len(files) > len(MODULES)
    texts = ((path, path.read_bytes()) for path in files)
    found = [
        str(path.relative_to(ROOT))
        for path, text in texts
        if b"\0" not in text and places.search(text)
    ]
    assert found == []
