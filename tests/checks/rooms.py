"""The rooms of the project, which of them may import which, and both as a drawing and as a table.

``python -m tests.checks.rooms`` writes ``docs/drawings/architecture.svg``, and ``rooms.txt`` beside it, from
the imports and the docstrings; a test fails where one of the committed files is not what they make. Nothing
of depl is imported here.
"""

import ast
import html
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DRAWING = ROOT / "docs" / "drawings" / "architecture.svg"
TABLE = DRAWING.with_name("rooms.txt")
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


# --- the table ----------------------------------------------------------------------------------------------

_MARKUP = re.compile(r"[*|`\\]")
"""Characters of a docstring that would be markup in the table."""


def rooms_table() -> str:
    """Every room with those that it imports directly and with its job: a simple table of reStructuredText.

    Layers are in the order of the drawing, and the rooms of a layer with floors from the highest down.
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


# --- the drawing --------------------------------------------------------------------------------------------

WIDTH, BOX, GAP, TALL, STEP = 920, 284, 20, 66, 96
"""Pixels: of the drawing, of a box and between boxes, height of a box, and from floor to floor."""

COLOURS = {"models": ("#e3eefb", "#2f6db3"), "heuristics": ("#e6f4e4", "#3f8a37")}
OTHERS = ("#f7f3e6", "#b07d00")


def drawing() -> str:
    """The layers and their rooms, with an arrow to each room that is imported directly."""
    parts: list[str] = []
    top = 20
    for layer in ("depl", "benchmarks"):
        top = _outer(parts, layer, top)
    for layer in ("heuristics", "instances", "models"):
        top = _floors(parts, layer, top) if layer in FLOORS else _outer(parts, layer, top)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" font-family="sans-serif" '
        'font-size="12">\n  <title>Layers and rooms: every import runs downward</title>\n'
        '  <defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0 10 5 0 10z" fill="#444"/></marker></defs>\n'
    )
    return head + "".join(f"  {part}\n" for part in parts) + "</svg>\n"


def _outer(parts: list[str], layer: str, top: int) -> int:
    """A layer whose rooms have no floors of their own: their names and jobs, three in a row."""
    folders = _folders(layer)
    rows = -(-len(folders) // 3)
    parts.append(f'<text x="{GAP}" y="{top + 14}" font-size="15" font-weight="bold">{layer}/</text>')
    for number, folder in enumerate(folders):
        left = GAP + (number % 3) * (BOX + GAP // 2)
        _box(parts, folder, left, top + 24 + (number // 3) * (TALL + 8), OTHERS)
    return top + 24 + rows * (TALL + 8) + 22


def _floors(parts: list[str], layer: str, top: int) -> int:
    """A layer with floors, the highest at the top, and arrows from each room to what it stands on."""
    parts.append(f'<text x="{GAP}" y="{top + 14}" font-size="15" font-weight="bold">{layer}/</text>')
    floors = FLOORS[layer]
    arrows = direct(rooms_imported(layer))
    left = _columns(floors, arrows)
    height = {
        room: top + 24 + (len(floors) - 1 - number) * STEP
        for number, floor in enumerate(floors)
        for room in floor
    }
    for room in sorted(arrows):
        for below in sorted(arrows[room]):
            x, y = left[room] + BOX // 2, height[room] + TALL
            end, low = left[below] + BOX // 2, height[below]
            bend = (low - y) // 2
            parts.append(
                f'<path d="M{x} {y}C{x} {y + bend} {end} {low - bend} {end} {low - 2}" fill="none" '
                'stroke="#444" stroke-width="1.5" marker-end="url(#tip)"/>'
            )
    for room in sorted(arrows):
        _box(parts, ROOT / layer / room, left[room], height[room], COLOURS[layer])
    return top + 24 + (len(floors) - 1) * STEP + TALL + 30


def _columns(floors: Sequence[Sequence[str]], arrows: Mapping[str, set[str]]) -> dict[str, int]:
    """Where each room begins: in the middle of those that it stands on, or beside another that is there."""
    found: dict[str, int] = {}
    for floor in floors:
        wanted = {
            room: sum(found[below] for below in arrows[room]) / len(arrows[room]) if arrows[room] else None
            for room in floor
        }
        if len(floor) == 1 and wanted[floor[0]] is not None:
            found[floor[0]] = round(wanted[floor[0]] or 0)
            continue
        space = (WIDTH - len(floor) * BOX) / (len(floor) + 1)
        for number, room in enumerate(floor):
            found[room] = round(space + number * (BOX + space))
    return found


def _box(parts: list[str], folder: Path, left: int, top: int, colours: tuple[str, str]) -> None:
    """A room: its name and its job."""
    lines = textwrap.wrap(job(folder), 45)[:3]
    parts.append(
        f'<rect x="{left}" y="{top}" width="{BOX}" height="{TALL}" rx="6" fill="{colours[0]}" '
        f'stroke="{colours[1]}" stroke-width="1.5"/>'
    )
    x = left + 10
    parts.append(f'<text x="{x}" y="{top + 17}" font-weight="bold" fill="#111">{folder.name}</text>')
    for number, line in enumerate(lines):
        y = top + 33 + 13 * number
        parts.append(f'<text x="{x}" y="{y}" font-size="11" fill="#333">{html.escape(line)}</text>')


if __name__ == "__main__":
    for place, made in ((DRAWING, drawing()), (TABLE, rooms_table())):
        waiting = place.with_suffix(".new")
        waiting.write_text(made, encoding="utf-8")
        waiting.replace(place)
