"""Every function, class and method of the product is used by it, or named by one of its texts or by a page.

Vulture finds what no source uses; tests are no users, and neither is the reference, which lists everything.
"""

import ast
import re

import pytest
from vulture import Vulture

from tests.checks.rooms import ROOT, parsed, sources

MPI_SPPY = ("inparser_adder", "kw_creator", "scenario_denouement")
CALLED_BY_OTHERS = ("__*", "on_*", "format_help", *MPI_SPPY, "*_sections", "*_content", "*_brief")
"""By Python, Keras and Lightning, click, mpi-sppy, and by names that are put together in `depl.showing`."""
COMMANDS = ["@*.command", "@command"]
"""Decorators that make a function a command."""


def texts():
    """Pages that people read or that run commands, and the texts inside sources, but no docstring."""
    docs = ROOT / "docs"
    for path in (
        ROOT / "README.md",
        ROOT / "Makefile",
        *docs.rglob("*.rst"),
        *docs.glob("*/*.py"),
        *docs.glob("*.py"),
    ):
        if not {"reference", "built_lessons"} & set(path.parts):
            yield path.read_text(encoding="utf-8")
    for _, path in sources():
        nodes = list(ast.walk(parsed(path)))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield node.value


def unused(files, named):
    """Functions, classes, methods and properties that no file uses and no text names."""
    known = set(re.findall(r"\w+", named))
    found = Vulture(ignore_names=list(CALLED_BY_OTHERS), ignore_decorators=COMMANDS)
    found.scavenge(map(str, files))
    items = [
        item for item in found.get_unused_code(60) if item.typ in ("function", "class", "method", "property")
    ]
    return [f"{item.filename}: {item.name}" for item in items if item.name not in known]


def test_whatever_the_product_defines_is_used_or_named():
    assert unused([path for _, path in sources()], "\n".join(texts())) == [], "use it, or delete it"


@pytest.mark.parametrize(
    ("source", "named", "found"),
    [
        ("def lonely(): ...", "", True),
        ("class Kept:\n    def lonely(self): ...\nKept()", "", True),
        ("def lonely(): ...\nlonely()", "", False),
        ("def lonely(): ...", "python -m depl.lonely", False),
        ("@click.command()\ndef lonely(): ...", "", False),
    ],
)
def test_what_is_neither_used_nor_named_is_found(source, named, found, tmp_path):
    path = tmp_path / "some.py"
    path.write_text(source, encoding="utf-8")
    assert unused([path], named) == [f"{path}: lonely"] * found
