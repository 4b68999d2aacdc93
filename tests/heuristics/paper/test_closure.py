"""A lecture shows a stage from its one file: how much of the heuristics whoever reads it has to open."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def imported(path):
    """Files of the heuristics that a file imports, anywhere in it."""
    names = [
        node.module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("depl.heuristics.")
    ]
    return {ROOT / f"{name.removeprefix('depl.').replace('.', '/')}.py" for name in names}


def closure(path):
    """A file with all that it imports within the heuristics, directly or not."""
    found, waiting = {path}, [path]
    while waiting:
        new = imported(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize(
    ("stage", "files", "lines"), [("data", 6, 1500), ("models", 3, 900), ("resources", 3, 700)]
)
def test_a_stage_is_read_in_few_files(stage, files, lines):
    found = closure(ROOT / "heuristics" / "paper" / f"{stage}.py")
    assert len(found) <= files
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in found) <= lines
