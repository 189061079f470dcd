"""Settings of the documentation: MyST pages, API from docstrings, nothing from the network."""

from pathlib import Path

from click.testing import CliRunner
from sphinx.application import Sphinx

from adtc import __version__
from adtc.cli import main

project = "adtc"
author = "The adtc developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

# Docstrings write `name` for a link to another object; without a target it stays plain text.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
# Members are listed by autodoc; numpydoc's own tables of them would need a page each.
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"adtc {release}"
html_copy_source = False


def write_help(app: Sphinx) -> None:
    """Write the help of every command to files that reference/cli.md includes."""
    folder = Path(app.srcdir, "reference", "generated")
    folder.mkdir(exist_ok=True)
    for args in ([], *([name] for name in sorted(main.commands))):
        shown = CliRunner().invoke(main, [*args, "--help"], prog_name="adtc").output
        Path(folder, f"{'-'.join(['adtc', *args])}.txt").write_text(shown, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Hook into the build."""
    app.connect("builder-inited", write_help)
