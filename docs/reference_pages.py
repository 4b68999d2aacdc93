"""The pages of the reference, one per room, written from the sources when the documentation is built."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference" / "rooms"
LAYERS = ("depl", "benchmarks", "heuristics", "instances", "models")
_MARKUP = re.compile(r"(``.+?``|`[^`]+`|(?<![\w*])\*[A-Za-z]+\*(?![\w*]))")


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
        _write(PAGES / name, text)
    _write(PAGES / "summary.txt", summary())
    _write(PAGES / "commands.txt", commands())


def page(room: str, modules: list[str]) -> str:
    """What the room says of itself, and every module in it."""
    title = room.removeprefix("depl.").replace(".", "/")
    head = f"{title}\n{'=' * len(title)}\n\n"
    if room != "depl":  # its own docstring stands on the page of the public face
        head += f".. automodule:: {room}\n   :no-members:\n\n"
    sections = (f"{name}\n{'-' * len(name)}\n\n.. automodule:: {name}\n" for name in modules)
    return head + "\n".join(sections)


def summary() -> str:
    """One line for each public name and for each module: the front page of the reference."""
    parts = ["Names of ``import depl``\n------------------------\n", _list(dict(_names()))]
    for room, modules in rooms():
        lines = {name: _told(_source(name)) for name in modules}
        if lines:
            told = f"{escaped(_told(_source(room)))} (:doc:`All of it <rooms/{room}>`.)"
            parts.append(f"{room}\n{'-' * len(room)}\n\n{told}\n\n{_list(lines)}")
    return "\n".join(parts)


def commands() -> str:
    """A table of all commands with their options, and of what each of them does."""
    from depl.cli import ROOT
    from depl.commands.options import every

    rows = [
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 55 45",
        "",
        "   * - command",
        "     - what it does",
    ]
    for words, command in every(ROOT):
        if not isinstance(command, click.Group):
            told = inspect.cleandoc(command.help or "").split("\n\n")[0].replace("\n", " ")
            params = sorted(command.params, key=lambda param: isinstance(param, click.Option))
            usage = " ".join(["depl", *words, *map(_usage, params)])
            rows += [f"   * - ``{usage}``", f"     - {escaped(told)}"]
    return "\n".join(rows) + "\n"


def _usage(param: click.Parameter) -> str:
    """How a parameter is written; in square brackets where it may be left out."""
    context = click.Context(click.Command("depl"))
    if not isinstance(param, click.Option):
        return param.make_metavar(context)
    written = "|".join((*param.opts, *param.secondary_opts))
    kind = param.make_metavar(context)
    kind = kind.strip("[]") if isinstance(param.type, click.Choice) else kind
    written += "" if param.is_flag else f" {kind}"
    return written if param.required else f"[{written}]"


def escaped(line: str) -> str:
    """A line of a docstring as reStructuredText: beside backticks and *words*, its signs are mathematics."""
    parts = _MARKUP.split(line)
    parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _names() -> Iterator[tuple[str, str]]:
    """Where each public name of depl is described, and the first line of what is said there."""
    import depl

    for name in sorted(set(depl.__all__) - {"__version__"}):
        found = getattr(depl, name)
        room = inspect.ismodule(found)
        home = found.__name__ if room else f"{found.__module__}.{found.__name__}"
        yield f"depl.{name} <{home}>", (inspect.getdoc(found) or "").partition("\n")[0]


def _list(lines: dict[str, str]) -> str:
    return "".join(f"- `{name}`: {escaped(told)}\n" for name, told in lines.items())


def _source(name: str) -> Path:
    """The file of a module or package; layers but depl itself stand at the top of the repository."""
    parts = name.split(".")
    parts = parts[1:] if len(parts) > 1 and parts[1] in LAYERS else parts
    path = ROOT.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _told(path: Path) -> str:
    """The first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _modules(paths: Iterator[Path]) -> list[Path]:
    return sorted(path for path in paths if not path.name.startswith("_"))


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts if parts[0] == "depl" else ("depl", *parts))
