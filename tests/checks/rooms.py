"""The rooms of the project, which of them may import which, and both as a table.

``python -m tests.checks.rooms`` writes ``docs/drawings/rooms.txt`` from the imports and the docstrings; a
test fails where the committed file is not what they make. Nothing of depl is imported here.
"""

import ast
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "drawings" / "rooms.txt"
LAYERS = ("models", "heuristics", "instances", "benchmarks")

# What a layer may import besides itself. The face and the command line, in depl/ itself, may import all.
BELOW = {
    "models": set(),
    "heuristics": {"models"},
    "instances": {"models"},
    "benchmarks": {"models", "heuristics", "instances", "depl"},
    "depl": set(LAYERS),
}

# Rooms inside a layer, lowest first: a room may import those on lower floors, and nothing beside it.
FLOORS = {
    "models": (
        ("foundation",),
        ("traces",),
        ("problem", "tool_logs"),
        ("risk", "verifier"),
        ("evaluation",),
        ("scenarios",),
        ("solving",),
        ("estimation", "exact", "policy"),
        ("programs",),
    ),
    "heuristics": (
        ("paths", "placement", "submodular"),
        ("data",),
        ("bounds",),
        ("baselines", "depl", "paper"),
        ("auto",),
    ),
}


def sources() -> Iterator[tuple[str, Path]]:
    """Each source file with its layer, found through the real folders and not through the links."""
    for layer in ("depl", *LAYERS):
        for folder, folders, files in os.walk(ROOT / layer, followlinks=False):
            folders[:] = [name for name in folders if name != "__pycache__"]
            yield from ((layer, Path(folder, name)) for name in files if name.endswith(".py"))


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a syntax tree, in whatever block; its expressions, most of it, are passed by."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, name, ()):
            yield node
            yield from statements(node)


def imported_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a file imports, wherever it stands, at once or `Deferred`."""
    for node in deferred(tree):
        module, name = (str(getattr(given, "value", "")) for given in node.args)
        yield node.lineno, f"{module}.{name}"
    for node in statements(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{prefix}.{alias.name}") for alias in node.names)


def deferred(tree: ast.AST) -> Iterator[ast.Call]:
    """What is imported when it is first called (`depl.models.foundation.later.Deferred`)."""
    if any(
        name.name == "Deferred"
        for node in statements(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    ):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Deferred":
                yield node


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a source file, read once; whoever changes a tree reads one of its own."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of everything that a source file imports."""
    return tuple(imported_names(parsed(path)))


@cache
def modules_named(path: Path) -> frozenset[str]:
    """The modules that a source file may mean by its imports, wherever they stand."""
    names = [name for _, name in imports_of(path)]
    return frozenset([*names, *(name.rpartition(".")[0] for name in names)])


def rooms_imported(layer: str) -> dict[str, set[str]]:
    """Every room of a layer with the rooms of this layer that it imports."""
    found: dict[str, set[str]] = {room: set() for floor in FLOORS[layer] for room in floor}
    for owner, path in sources():
        parts = path.relative_to(ROOT / owner).parts
        if owner == layer and len(parts) > 1:
            for _, name in imports_of(path):
                words = name.split(".")
                if words[:2] == ["depl", layer] and len(words) > 2 and words[2] != parts[0]:
                    found[parts[0]].add(words[2])
    return found


def direct(imported: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same without what follows from the rest: arrows from a room to those that no other leads to."""

    def reached(room: str) -> set[str]:
        return imported[room].union(*(reached(below) for below in imported[room]))

    return {
        room: {one for one in below if not any(one in reached(other) for other in below - {one})}
        for room, below in imported.items()
    }


def _folders(layer: str) -> list[Path]:
    """The rooms of a layer, by name."""
    return sorted(
        path.parent for path in (ROOT / layer).glob("*/__init__.py") if not path.parent.is_symlink()
    )


def job(folder: Path) -> str:
    """What a room says of itself: the first sentence of its docstring, without references to the paper."""
    text = " ".join((ast.get_docstring(parsed(folder / "__init__.py")) or "").split())
    text = re.sub(r" \([^)]*\)|``", "", text)
    return re.split(r"(?<!Fig)(?<!Sec)\. ", text)[0].rstrip(".")


_MARKUP = re.compile(r"[*|`\\]")
"""Characters of a docstring that would be markup in the table."""


def rooms_table() -> str:
    """Every room with those that it imports directly and with its job: a simple table of reStructuredText.

    The rooms of a layer with floors stand from the highest down.
    """
    rows = [("room", "stands on", "job")]
    for layer in ("depl", "benchmarks", "heuristics", "instances", "models"):
        arrows = direct(rooms_imported(layer)) if layer in FLOORS else {}
        for room in _from_the_top(layer):
            rows.append(
                (f"``{layer}/{room}``", ", ".join(sorted(arrows.get(room, ()))), _as_text(layer, room))
            )
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def _from_the_top(layer: str) -> list[str]:
    """The rooms of a layer: by floors where it has them, otherwise by name."""
    if layer in FLOORS:
        return [room for floor in reversed(FLOORS[layer]) for room in floor]
    return [folder.name for folder in _folders(layer)]


def _as_text(layer: str, room: str) -> str:
    """The job of a room, in which no character is markup."""
    return _MARKUP.sub(lambda found: "\\" + found[0], job(ROOT / layer / room))


if __name__ == "__main__":
    waiting = TABLE.with_suffix(".new")
    waiting.write_text(rooms_table(), encoding="utf-8")
    waiting.replace(TABLE)
