"""Which source files does nobody enter? ``tests/checks/test_doors.py`` asks that there is none.

A file has a door if one of these leads to it along imports: the face (`depl`), the command line
(`depl.cli`), a module that is run by ``python -m`` and that a page, the Makefile or another file of the
product names, a case or a suite (they are found by their files), or an import in a page, a lesson or the
README. The pages of the reference, which list every module, are no doors, and neither are tests.
"""

import ast
import re
from functools import cache
from pathlib import Path

from depl.cli import COMMANDS
from tests.checks.rooms import LAYERS, ROOT, modules_named, parsed

FACE = ("depl", "depl.cli", "depl.__main__")
FROM_BEFORE = ("depl.benchmarks.__main__", "depl.benchmarks.suites.suite")
"""What commands in records, and files of users, named when no page did so any more."""
FOUND_BY_FILE = ("depl.benchmarks.studies",)
"""Packages each of whose modules is found by its file alone (`depl.benchmarks.measure.catalogue`)."""
_QUOTED = re.compile(r"""["']depl\b""")
_IMPORT = re.compile(r"(?:from (depl[\w.]*) import (\([^)]*\)|[^\n]*)|import (depl[\w.]*))")


def modules() -> dict[str, Path]:
    """Every module of the product by its import name."""
    found: dict[str, Path] = {}
    for layer in ("depl", *LAYERS):
        for path in (ROOT / layer).rglob("*.py"):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            if layer == "depl" and len(parts) > 1 and parts[1] in LAYERS:  # through a link
                continue
            name = ".".join(parts if layer == "depl" else ["depl", *parts]).removesuffix(".__init__")
            found[name] = path
    return found


def pages() -> dict[Path, str]:
    """Texts that people read or that run commands, without the pages that list every module."""
    paths = [ROOT / "README.md", ROOT / "Makefile", *sorted((ROOT / "docs").rglob("*.rst"))]
    paths += sorted((ROOT / "docs" / "lessons").glob("*.py"))
    paths += sorted((ROOT / "docs").glob("*.py"))  # what makes the pages
    paths += sorted((ROOT / "docs" / "training_examples").glob("*.py"))  # they stand in a page as a whole
    apart = ("reference", "built_lessons")
    return {path: path.read_text(encoding="utf-8") for path in paths if not set(apart) & set(path.parts)}


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the product that a file imports, wherever in it, or starts as a process."""
    return _named(path) & known.keys()


@cache
def _named(path: Path) -> frozenset[str]:
    """What a file imports, and its texts up to a colon; read once."""
    found = set(modules_named(path))
    if _QUOTED.search(path.read_text(encoding="utf-8")):  # in most files no text begins with our name
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value.partition(":")[0])  # "module:function" and the arguments of python -m
    return frozenset(found)


def doors(known: dict[str, Path]) -> set[str]:
    """The modules that are entered from outside."""
    found = {*FACE, *FROM_BEFORE, *(where.partition(":")[0] for where in COMMANDS.values())}
    for package in FOUND_BY_FILE:
        found |= {name for name in known if name.rpartition(".")[0] == package}
    for text in pages().values():
        for source, names, whole in _IMPORT.findall(text):
            words = re.findall(r"\w+", names)
            found |= {whole, source, *(f"{source}.{word}" for word in words)}
        found |= set(re.findall(r"-m (depl[\w.]+)", text))
    for name in tuple(found):
        found.add(f"{name}.__main__")
    return found & set(known)


def reached(known: dict[str, Path]) -> set[str]:
    """Every module that a door leads to; a package is reached with anything inside it."""
    waiting, seen = sorted(doors(known)), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        parents = {name.rsplit(".", count)[0] for count in range(1, name.count(".") + 1)}
        waiting += sorted((imported(known[name], known) | parents & set(known)) - seen)
    return seen


def without_door() -> list[str]:
    """The modules that nothing leads to."""
    known = modules()
    return sorted(set(known) - reached(known))
