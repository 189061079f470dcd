"""The files of the page, read from the package, and its modules joined for a page without a server.

A module may only import by name (``import { a } from "./b.js";``) and export declarations; then
joining them in order is all that bundling takes. Names must differ between modules.
"""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./([\w-]+\.js)\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function|const|let|class)", re.MULTILINE)
_BLOCK = re.compile(r":root \{([^}]*)\}")
_REM = re.compile(r"(?<![\w.])(\d*\.?\d+)rem\b")
KINDS = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


@cache
def asset(name: str) -> str:
    """Read a file of the page."""
    return (files("adtc.show") / "page" / name).read_text(encoding="utf-8")


@cache
def asset_names() -> tuple[str, ...]:
    """List the files of the page."""
    page = files("adtc.show") / "page"
    names = (file.name for file in page.iterdir() if file.is_file())
    return tuple(sorted(name for name in names if "." + name.rpartition(".")[2] in KINDS))


@cache
def bundled(entry: str) -> str:
    """Join a module and all it imports into one script, what is imported first."""
    order: list[str] = []

    def visit(name: str) -> None:
        for needed in _IMPORT.findall(asset(name)):
            if needed not in order:
                visit(needed)
        if name not in order:
            order.append(name)

    visit(entry)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", asset(name))) for name in order)


@cache
def page_style() -> str:
    """Join the style sheets of a whole page."""
    return "".join(map(asset, ("colours.css", "page.css", "heatmap.css")))


@cache
def report_style() -> str:
    """Join the style sheets of a report."""
    return page_style() + asset("report.css")


@cache
def scoped_style() -> str:
    """Join the style sheets of an output in a notebook, for a shadow tree.

    There the root is the host, dark is what the notebook is, not the system, and sizes are pixels,
    for a notebook may have changed the size of letters.
    """
    light, dark = _BLOCK.findall(asset("colours.css"))[:2]
    light = light.replace("color-scheme: light dark", "color-scheme: light")
    colours = f":host {{{light}}}\n:host([data-dark]) {{color-scheme: dark;{dark}}}\n"
    sheets = colours + asset("heatmap.css") + asset("notebook.css")
    return _REM.sub(lambda m: f"{16 * float(m[1]):g}px", sheets)


@cache
def notebook_script() -> tuple[str, str]:
    """Return the script of an output in a notebook, and the mark of the outputs it paints.

    The mark keeps outputs of different versions of the script in one notebook apart.
    """
    script = bundled("notebook.js")
    mark = hashlib.sha256(script.encode()).hexdigest()[:12]
    return f'(() => {{\n{script}\ndrawAll("{mark}");\n}})();', mark


def hash_of(text: str) -> str:
    """Return the source expression that allows one inline script in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
