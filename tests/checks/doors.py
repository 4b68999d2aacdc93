"""Which source files and names of the product does nobody enter?

``python -m tests.checks.doors`` prints them; ``tests/checks/test_doors.py`` asks that there is no such file.

A file has a door if one of these leads to it along imports: the face (`depl`), the command line
(`depl.cli`), a module that is run by ``python -m`` and that a page, the Makefile or another file of the
product names, a case or a suite (they are found by their files), or an import in a page, a lesson or the
README. The pages of the reference, which list every module, are no doors, and neither are tests.

A name (function, class, constant, method) is unused if no file of the product and no page mentions it outside
its own definition. Names are compared as words, so what shares its name with something used is not found:
the list is a place to look, and no verdict.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from depl.cli import COMMANDS
from tests.checks.rooms import imports_of, parsed

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("models", "heuristics", "instances", "benchmarks")
FACE = ("depl", "depl.cli", "depl.__main__")
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
    found: set[str] = set()
    for _, name in imports_of(path):
        found |= {name, name.rpartition(".")[0]}
    if _QUOTED.search(path.read_text(encoding="utf-8")):  # in most files no text begins with our name
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value.partition(":")[0])  # "module:function" and the arguments of python -m
    return frozenset(found)


def doors(known: dict[str, Path]) -> set[str]:
    """The modules that are entered from outside."""
    found = {*FACE, *(where.partition(":")[0] for where in COMMANDS.values())}
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


def defined(path: Path) -> Iterator[str]:
    """Names of functions, classes, constants and methods that a file defines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (item.name for item in node.body if isinstance(item, ast.FunctionDef))
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        yield from (item.id for item in targets if isinstance(item, ast.Name))


def mentions(text: str) -> Iterator[str]:
    """Every word of a source but those that only define or import a name, or stand in a docstring."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            continue
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            yield from re.findall(r"\w+", node.value)


def unused() -> Iterator[tuple[str, str]]:
    """Module and name of what nobody in the product mentions."""
    known = modules()
    words: set[str] = set()
    for path in known.values():
        words |= set(mentions(path.read_text(encoding="utf-8")))
    for text in pages().values():
        words |= set(re.findall(r"\w+", text))
    for module, path in sorted(known.items()):
        for name in defined(path):
            if name not in words and not name.startswith("__") and name not in ("STUDY", "SUITE"):
                yield module, name


def main() -> None:
    """Print both lists."""
    for name in without_door():
        sys.stdout.write(f"no door: {name}\n")
    for module, name in unused():
        sys.stdout.write(f"unused: {module}.{name}\n")


if __name__ == "__main__":
    main()
