"""The pages of the reference, one per room, written from the sources when the documentation is built."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference" / "rooms"
LAYERS = ("depl", "benchmarks", "heuristics", "instances", "models")


def rooms() -> Iterator[tuple[str, list[str]]]:
    """Import name of each room, and of the modules in it; a layer is the room of its loose files."""
    for layer in LAYERS:
        folders = [path for path in (ROOT / layer).iterdir() if path.is_dir() and not path.is_symlink()]
        yield _dotted(ROOT / layer), [_dotted(path) for path in _modules((ROOT / layer).glob("*.py"))]
        for folder in sorted(folders):
            found = _modules(folder.rglob("*.py"))
            if found:
                yield _dotted(folder), [_dotted(path) for path in found]


def write_pages() -> None:
    """Write them all; a page that has not changed keeps its time, and one without a room is removed."""
    PAGES.mkdir(parents=True, exist_ok=True)
    pages = {f"{room}.rst": page(room, modules) for room, modules in rooms() if modules}
    for path in PAGES.glob("*.rst"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = PAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def page(room: str, modules: list[str]) -> str:
    """What the room says of itself, and every module in it."""
    title = room.removeprefix("depl.").replace(".", "/")
    head = f"{title}\n{'=' * len(title)}\n\n"
    if room != "depl":  # its own docstring stands on the page of the public face
        head += f".. automodule:: {room}\n   :no-members:\n\n"
    sections = (f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n" for name in modules)
    return head + "\n".join(sections)


def _modules(paths: Iterator[Path]) -> list[Path]:
    return sorted(path for path in paths if not path.name.startswith("_"))


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "depl" else ("depl", *parts))
