"""Copies of the project into which faults are put, and their tests, run in processes of their own.

A copy holds the working tree (what git tracks, and new files that it does not ignore) with the times of its
files and the compiled kernels beside them, so that nothing is compiled again but what a fault touches.
"""

import ast
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.checks.mutation_hanging import HUNG, awaited
from tests.checks.rooms import statements

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("models", "heuristics", "instances", "benchmarks")
MEMORY = 16 * 2**30
"""Bytes of addresses of a run: a fault may ask for any amount, and a run without one needs far less."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::.+?|\S+)(?: - .*)?$", re.MULTILINE)
"""The name of a test that failed; names of parameters may have spaces."""

_NO_VERDICT = (3, 4, 5)
"""Exit codes of pytest for its own errors, a wrong usage, and no test."""


class BrokenRunError(Exception):
    """A run that says nothing about a fault."""


class Ending(NamedTuple):
    """Whether tests ``passed``, ``failed`` or ``hung``; which one failed; seconds of wall and processor."""

    how: str
    by: str
    wall: float
    processor: float


def copied(target: Path, source: Path = ROOT) -> None:
    """Copy the project, links as links."""
    for name in _files(source):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, place, follow_symlinks=False)
    for layer in LAYERS:
        for folder in (source / layer).rglob("__pycache__"):
            shutil.copytree(folder, target / folder.relative_to(source), dirs_exist_ok=True)


@cache
def _files(source: Path) -> tuple[str, ...]:
    """What belongs to the project; a copy, which is no checkout, is taken whole."""
    if not (source / ".git").exists():
        found = (path for path in source.rglob("*") if path.is_file() or path.is_symlink())
        return tuple(str(path.relative_to(source)) for path in found if "__pycache__" not in path.parts)
    listed = ("git", "-C", str(source), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    return tuple(name for name in names if name and (source / name).exists())


def put_in(copy: Path, base: Path, path: str, source: str) -> None:
    """Write a changed source file into a copy of ``base``.

    Kernels compiled elsewhere contain those of this file without knowing it: if it has any, what was compiled
    from files that import it is dropped.
    """
    (copy / path).write_text(source, encoding="utf-8")
    if "@kernel" not in source:
        return
    for other in importers(base, path):
        for kept in (copy / other).parent.glob(f"__pycache__/{Path(other).stem}.*.nb[ci]"):
            kept.unlink()


def importers(root: Path, path: str) -> set[str]:
    """The files of the four folders that import a file, directly or through others."""
    direct: dict[str, set[str]] = {}
    for layer in LAYERS:
        for found in (root / layer).rglob("*.py"):
            for module in imported(found):
                direct.setdefault(module, set()).add(str(found.relative_to(root)))
    reached: set[str] = set()
    waiting = {module_of(path)}
    while waiting:
        new = direct.get(waiting.pop(), set()) - reached
        reached |= new
        waiting |= {module_of(name) for name in new}
    return reached


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules that a file names in its imports, wherever they stand; read once."""
    found: set[str] = set()
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def module_of(path: str) -> str:
    """The import name of a source file of the four folders."""
    return "depl." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def files_testing(root: Path, modules: Iterable[str]) -> list[str]:
    """The test files that import one of these modules, themselves or through a helper of the tests."""
    files = _imports_of_tests(root)
    reaching, found = set[str](), set(modules)
    while found:
        found = {name for name, imports in files.items() if name not in reaching and imports & found}
        reaching |= found
    paths = (name.replace(".", "/") + ".py" for name in reaching)
    return sorted(path for path in paths if Path(path).name.startswith("test_"))


@cache
def _imports_of_tests(root: Path) -> dict[str, frozenset[str]]:
    """What each module of the tests imports; read once."""
    paths = (root / "tests").rglob("*.py")
    return {".".join(path.relative_to(root).with_suffix("").parts): imported(path) for path in paths}


def run(copy: Path, files: Sequence[str], seconds: float) -> Ending:
    """Run test files in a copy until one fails.

    Parameters
    ----------
    seconds : float
        Of the processor, for the run and what it starts. What takes longer hangs, and so does a run that does
        nothing (`tests.checks.mutation_hanging`): a busy machine makes no run hang.

    Raises
    ------
    BrokenRunError
        If pytest itself fails, or finds no test.
    """
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--tb=no",
        "-rfE",
        "-p",
        "no:cacheprovider",
        *files,
    )
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    before, started = _children(), time.perf_counter()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            command,
            cwd=copy,
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that all that it starts can be ended with it
            preexec_fn=lambda: _limited(seconds),
        )
        try:
            code = awaited(process.pid, process.poll, seconds)
        finally:
            _ended(process)
        said.seek(0)
        output = said.read()
    wall, processor = round(time.perf_counter() - started, 2), round(_children() - before, 2)
    if code in _NO_VERDICT:
        raise BrokenRunError(f"pytest ended with {code}:\n{output[-2000:]}")
    failed = _FAILED.search(output)
    how = "passed" if code == 0 else "hung" if code in (HUNG, -signal.SIGXCPU) else "failed"
    return Ending(how, failed.group(1) if failed else "", wall, processor)


def _limited(seconds: float) -> None:
    """Limits of a process that is about to start; Ctrl-C, which is ignored in the background, works in it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """End a run, and what it left behind."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
