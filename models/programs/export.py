"""Programs as files: LP, MPS or NL, named in ASCII, and called a relaxation in the first line if they are.

Names in such files are short and made of few characters, while those of an instance are any text. `symbols`
gives every component a name of its own in ASCII letters, digits, parentheses and underscores; names that do
not survive this as they are stand in the head of the file, so that a solution can be read back from it alone
(`read_names`).
"""

import io
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
from pyomo.repn.plugins.nl_writer import NLWriter

from depl.models.foundation.documents import write_bytes
from depl.models.foundation.errors import InvalidInputError
from depl.models.programs.notes import is_linear, note_lines

_LONGEST = 40
"""Characters of a symbol: CBC 2.10 reads up to 100 in LP files and 52 in MPS files, of which writers add 5 to
rows, and what tells equal ones apart takes some."""
_PLAIN = re.compile(r"[A-Za-z0-9_,+.\[\]]*")
_KINDS = {
    ".lp": "cpxlp",
    ".mps": "mps",
    ".nl": "nl",
}  # Pyomo's names; by "lp" it warns that the ending does not match
_COMMENT = {".lp": "\\ ", ".mps": "* "}
_NAMED = re.compile(r"(\S+) stands for (\".*\")")
_WIDTH = 240
"""Characters of a comment, which goes on in further lines. SCIP 10 refuses MPS files with one of 1300, CBC
2.10 LP files with one of 4100; with its marks a line stays below 256."""
_GOES_ON = "+ "


def export(model: pyo.ConcreteModel, path: str | Path) -> Path:
    """Write a program as LP, MPS or NL, by the ending of ``path``, with the names of its components.

    The first line says whether it is a relaxation. NL has no names: they are written beside it, line by line,
    to files with the endings ``.col`` and ``.row``. A file appears under its name only when it is complete.

    Raises
    ------
    InvalidInputError
        For another ending, or a program with squares or products as MPS.
    """
    target = Path(path)
    ending = require_format(target, cones=not is_linear(model))
    names = symbols(model)
    if ending == ".nl":
        return _export_nl(model, target, names)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"program{ending}"
        options: dict[str, Any] = {"labeler": _labeler(names)}
        if ending == ".mps" and not _maximises(model):
            options["skip_objective_sense"] = True  # MPS minimises anyway, and GLPK refuses the section
        model.write(str(draft), format=_KINDS[ending], io_options=options)
        head = "".join(f"{_COMMENT[ending]}{part}\n" for line in _head(model, names) for part in _parts(line))
        text = draft.read_bytes().replace(b" ^ 2\n", b" ^2\n")  # SCIP reads a square in this way alone
        write_bytes(target, head.encode("ascii") + text)
    return target


def require_format(path: str | Path, cones: bool) -> str:
    """The ending of a file of a program, with cones or without, in small letters.

    Raises
    ------
    InvalidInputError
        For another ending than those of `export`, or cones as MPS.
    """
    ending = Path(path).suffix.lower()
    if ending not in _KINDS:
        raise InvalidInputError(f"the file must end in .lp, .mps or .nl, not {Path(path).suffix!r}", "path")
    if ending == ".mps" and cones:
        raise InvalidInputError("MPS files have no cones; write the program as .lp or .nl", "path")
    return ending


def _export_nl(model: pyo.ConcreteModel, target: Path, names: pyo.ComponentMap) -> Path:
    """Write AMPL's format, its note as the comment of the first line, and the names beside it."""
    text = io.StringIO()
    # without the presolver of the writer: it would leave variables out
    written = NLWriter().write(model, text, linear_presolve=False, scale_model=False)
    first, rest = text.getvalue().split("\n", 1)
    note = next(note_lines(model), "problem depl")  # one line: readers of the format have short ones
    for ending, items in (
        (".col", written.variables),
        (".row", [*written.constraints, *written.objectives]),
    ):
        lines = "".join(f"{names[item]}\n" for item in items)
        write_bytes(target.with_suffix(ending), lines.encode("ascii"))
    write_bytes(target, f"{first.split(chr(9))[0]}\t# {note}\n{rest}".encode("ascii"))
    return target


def symbols(model: pyo.ConcreteModel) -> pyo.ComponentMap:
    """The symbol of every variable, constraint and objective in a file.

    Two components never share a symbol; the same program has the same symbols in every file.
    """
    found, taken = pyo.ComponentMap(), set[str]()
    for kind in (pyo.Var, pyo.Constraint, pyo.Objective):
        for item in model.component_data_objects(kind):
            symbol = plain = _translated(item.getname(True))
            number = 1
            while symbol.lower() in taken:  # some readers do not tell cases apart
                number += 1
                symbol = f"{plain}_{number}"
            taken.add(symbol.lower())
            found[item] = symbol
    return found


def read_names(path: str | Path) -> dict[str, str]:
    """What the symbols of an exported file stand for, as far as they are not the names themselves."""
    whole: list[str] = []
    with Path(path).open(encoding="ascii") as lines:
        for line in lines:
            if not line.startswith(tuple(_COMMENT.values())):
                break
            said = line.removesuffix("\n")[2:]
            if whole and said.startswith(_GOES_ON):
                whole[-1] += said.removeprefix(_GOES_ON)
            else:
                whole.append(said)
    rows = (_NAMED.fullmatch(line) for line in whole)
    return {row[1]: json.loads(row[2]) for row in rows if row}


def _maximises(model: pyo.ConcreteModel) -> bool:
    return any(
        item.sense == pyo.maximize for item in model.component_data_objects(pyo.Objective, active=True)
    )


def _head(model: pyo.ConcreteModel, names: pyo.ComponentMap) -> Iterator[str]:
    """The lines before the program."""
    yield from note_lines(model)
    for item, symbol in names.items():
        name = item.getname(True)
        if _PLAIN.fullmatch(name) is None or symbol != _translated(name):
            yield f"{symbol} stands for {json.dumps(name)}"


def _parts(line: str) -> Iterator[str]:
    """A line of the head in lines that solvers read."""
    yield line[:_WIDTH]
    for start in range(_WIDTH, len(line), _WIDTH):
        yield _GOES_ON + line[start : start + _WIDTH]


def _labeler(names: pyo.ComponentMap) -> Callable[[Any], str]:
    """Symbols as Pyomo asks for them; what a writer makes up itself has a plain name."""
    return lambda item: names[item] if item in names else _translated(item.getname(True))


def _translated(name: str) -> str:
    """A name in the characters of a file; different ones may become the same."""
    legal = name.translate(str.maketrans("[]{}", "()()"))
    return re.sub(r"[^A-Za-z0-9()_]", "_", legal)[:_LONGEST]
