"""The symbol table of the documentation names what exists, all of it, and nothing that has meanwhile come."""

import ast
import dataclasses
import functools
import importlib
import re
from pathlib import Path

import msgspec
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("depl", "models", "heuristics", "instances", "benchmarks")

# Every symbol that Sec. III, IV and VI-A of the paper introduce for the problem and the method.
PAPER = [
    r"n \in \mathcal N",
    r"d \in \mathcal D",
    r"m \in \mathcal M",
    "r(n)",
    "b(n)",
    r"\kappa(n)",
    r"\beta(d, n)",
    "s(m)",
    "c(k, m, d)",
    r"\ell^{\text{run}}(k, d, m)",
    r"\ell^{\text{sw}}(k, d, m, m')",
    "k",
    "y(k, n)",
    "z(d, n)",
    "x(k, n)",
    "K",
    "m(k)",
    "T(k)",
    r"\ell(k)",
    r"\ell(0)",
    r"\ell_\omega(K)",
    r"\ell_\omega^{\max}",
    r"\omega",
    r"T^{\max}",
    r"\hat{\mathcal D}",
    r"\hat K(\hat{\mathcal D})",
    r"\hat T(\hat{\mathcal D})",
    r"\eta",
    "i",
    "j",
    r"\Omega",
    r"\varepsilon",
    "A_m",
    "B_m",
    r"\mathcal X_m",
    r"x \sim \mathcal X_m",
]

# What the toolkit adds to the problem.
OURS = ["q(d)", "Q_0", "h(D)", r"K_{\max}", r"\tau", r"p = 1 - \omega", "N", r"\lambda", r"\psi_k(\lambda)"]


def tables() -> list[list[list[str]]]:
    """The cells of every list-table of the page, header rows left out."""
    text = (ROOT / "docs" / "symbols.rst").read_text(encoding="utf-8")
    found = []
    for block in text.split(".. list-table::")[1:]:
        rows = re.split(r"(?m)^(?=   \* - )", block)[1:]
        found.append([re.findall(r"^   [* ] - (.*)$", row, re.MULTILINE) for row in rows][1:])
    return found


def symbol(cell: str) -> str:
    match = re.fullmatch(r":math:`(.+)`", cell)
    assert match, f"{cell} is not a formula"
    return match[1]


def code(cell: str) -> str:
    match = re.fullmatch(r"``(.+)``", cell)
    assert match, f"{cell} is not a literal"
    return match[1]


def resolves(name: str) -> bool:
    """Whether a dotted name leads to a module, or to an attribute or declared field of something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if isinstance(found, type) and part in fields(found):
                return part == parts[-1]
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def fields(kind: type) -> set[str]:
    if dataclasses.is_dataclass(kind):
        return {field.name for field in dataclasses.fields(kind)}
    if issubclass(kind, msgspec.Struct):
        return set(kind.__struct_fields__)
    return set()


@functools.cache
def identifiers() -> dict[str, str]:
    """Every module, class, function, parameter and field of depl, with the file that defines it."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            place = str(path.relative_to(ROOT))
            found.setdefault(path.stem, place)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.setdefault(node.name, place)
                elif isinstance(node, ast.arg):
                    found.setdefault(node.arg, place)
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    found.setdefault(node.target.id, place)
    return found


def contains(identifier: str, word: str) -> bool:
    return f"_{word}_" in f"_{identifier.lower()}_"


IN_CODE = [row for table in tables()[:2] for row in table]
NOT_YET = tables()[2]


def test_the_page_has_the_three_tables_with_all_their_columns() -> None:
    assert len(tables()) == 3
    assert {len(row) for row in IN_CODE} == {5}
    assert {len(row) for row in NOT_YET} == {4}
    assert all(cell.strip() for row in IN_CODE + NOT_YET for cell in row)


def test_every_symbol_of_the_model_is_listed_exactly_once() -> None:
    listed = [symbol(row[0]) for row in IN_CODE + NOT_YET]
    assert sorted(listed) == sorted(set(listed))
    assert sorted({*PAPER, *OURS} - {*listed}) == []
    ours = {symbol(row[0]) for row in tables()[1]}
    assert sorted({*listed} - ours) == sorted(PAPER)


@pytest.mark.parametrize("row", IN_CODE, ids=lambda row: row[0])
def test_every_name_in_the_table_exists(row: list[str]) -> None:
    assert resolves(code(row[2])), f"{code(row[2])} does not exist (any more): correct docs/symbols.rst"


@pytest.mark.parametrize("name", ["depl.models.nothing", "depl.models.problem.Cluster.nothing"])
def test_a_name_that_does_not_exist_is_noticed(name: str) -> None:
    assert not resolves(name)


@pytest.mark.parametrize("row", NOT_YET, ids=lambda row: row[0])
def test_what_is_said_not_to_be_in_the_code_is_not(row: list[str]) -> None:
    word = code(row[3])
    places = {place for name, place in identifiers().items() if contains(name, word)}
    if "." in word and resolves(word):
        places.add(word)
    assert not places, f"{symbol(row[0])} is in the code ({sorted(places)}): move its row in docs/symbols.rst"


def test_a_word_inside_an_identifier_is_noticed() -> None:
    assert contains("build_expanded_graph", "expanded_graph")
    assert not contains("beta", "eta")
    assert any(contains(name, "bandwidth") for name in identifiers())
