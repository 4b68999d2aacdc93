"""Mutants judged in forks of one process that has imported the project and collected the tests of a room.

Starting pytest takes longer than most mutants live. Here one process collects the tests once; for each mutant
it forks, and the fork gives the changed function its new code and runs tests until one fails. What cannot be
changed so (compiled kernels, bodies of modules and classes) is left to copies
(`tests.checks.mutation_copies`). A function that is only called while modules are imported has done its work
before it is changed: such mutants survive here, which can make the score too low but never too high.

When the tests are measured without a fault, the functions of the room that each calls are recorded
(`tests.checks.mutation_calls`), itself or by a fixture that it shares with others. Only tests that call the
changed function are run, file by file, the quickest of a file first. Others could notice the fault only by
what those have cached; without them the score may be too low, but never too high. On a busy machine a test
that measures time may fail without a fault: the test that noticed one is run again at once without it, and
is left out from then on if it fails.

`tests.checks.mutation` runs it in a copy of the project: ``python -m tests.checks.mutation_forks ROOM NAMES
LOG``.
"""

import ast
import contextlib
import gc
import itertools
import json
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.checks.mutation import MOST_SECONDS, SLOWER, Log, chosen_by_name, distance, files_of, tell
from tests.checks.mutation_calls import Calls
from tests.checks.mutation_copies import MEMORY, ROOT, files_testing, module_of
from tests.checks.mutation_hanging import HUNG, awaited
from tests.checks.mutation_operators import Mutant, mutated

LEAST_SECONDS = 20.0
"""Of the processor, before a fork counts as hung: its tests take a fraction of that where they are quick."""

_UNCHANGED, _NOTICED, _NOT_HERE = 0, 1, 2


def main() -> int:
    """Judge what can be judged here, and append it to the log."""
    room, names, log = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    drawn = chosen_by_name(room, json.loads(names.read_text(encoding="utf-8")))
    files = files_testing(ROOT, map(module_of, files_of(room)))
    plugin = Forks(Log(log), drawn, files_of(room))
    pytest.main(["-q", "--tb=no", "-p", "no:cacheprovider", *files], plugins=[plugin, plugin.calls])
    return 0 if plugin.finished else 3


class Forks:
    """The plugin that takes the place of running the tests."""

    def __init__(self, log: Log, drawn: Sequence[Mutant], watched: Sequence[str]) -> None:
        self.log, self.drawn, self.finished = log, drawn, False
        self.watched, self.calls = frozenset(watched), Calls()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests without a fault once, then judge every mutant."""
        by_file: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            by_file[item.nodeid.partition("::")[0]].append(item)
        known = self._without_fault(by_file)
        seconds = {name: row["processor"] for name, row in known.items()}
        for number, mutant in enumerate(self.drawn, start=1):
            calling = callers(known, mutant.path, changed_functions(mutant) or set())
            items = in_order(by_file, seconds, mutant.path, calling)
            ending, unreliable = self._confirmed(mutant, items, seconds)
            for name in unreliable:
                tell(f"left out from here on, failed without a fault: {name}")
                del known[name], seconds[name]
            if ending is not None:
                self.log.add({"mutant": mutant.name, "line": mutant.line, **ending})
                told = f"{ending['how']} in {ending['wall']:.1f} s"
                tell(f"{number} of {len(self.drawn)}: {told}: {mutant.name}")
        self.finished = True
        return True

    def _without_fault(self, by_file: Mapping[str, Sequence[pytest.Item]]) -> dict[str, dict[str, Any]]:
        """The tests that pass without a fault, with their seconds and calls; others are told and left out."""
        known = {row["test"]: row for row in self.log.known if "test" in row}
        for name, items in by_file.items():
            if all(item.nodeid in known for item in items):
                continue
            for row in _measured(items, self.watched, self.calls):
                known[row["test"]] = row
                self.log.add(row)
            tell(f"{name}: {sum(known[item.nodeid]['processor'] for item in items):.1f} CPU-s")
        for row in known.values():
            if row["how"] != "passed":
                tell(f"left out, {row['how']} without a fault: {row['test']}")
        return {name: row for name, row in known.items() if row["how"] == "passed"}

    def _confirmed(
        self, mutant: Mutant, items: Sequence[pytest.Item], seconds: Mapping[str, float]
    ) -> tuple[dict[str, Any] | None, list[str]]:
        """What a fork says of a mutant, and the tests that fail without it, too, which are not believed."""
        by_name = {item.nodeid: item for item in items}
        unreliable: list[str] = []
        while True:
            usual = sum(seconds[name] for name in by_name)
            limit = max(LEAST_SECONDS, SLOWER * usual)
            ending = self._judged(mutant, list(by_name.values()), limit)
            named = by_name.get(ending["by"]) if ending is not None else None
            if named is None:
                return ending, unreliable
            alone = self._judged(None, [named], limit)
            if alone is not None and alone["how"] == "passed":
                return ending, unreliable
            unreliable.append(named.nodeid)
            del by_name[named.nodeid]

    def _judged(
        self, mutant: Mutant | None, items: Sequence[pytest.Item], seconds: float
    ) -> dict[str, Any] | None:
        """What a fork says of a mutant, or of no fault at all; None if it cannot be put in here."""
        reading, writing = os.pipe()
        before, started = _children(), time.perf_counter()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _leave(writing, mutant, items, seconds)
        os.close(writing)
        code, name = _awaited(child, reading, seconds)
        if code == _NOT_HERE:
            return None
        how = {_UNCHANGED: "passed", _NOTICED: "failed"}.get(code, "hung")
        wall, processor = time.perf_counter() - started, _children() - before
        return {"how": how, "by": name, "wall": round(wall, 2), "processor": round(processor, 2)}


def callers(known: Mapping[str, Mapping[str, Any]], path: str, functions: set[str]) -> set[str]:
    """The tests that call one of the functions of a file."""
    names = {f"{path}::{function}" for function in functions}
    return {name for name, row in known.items() if names & set(row["calls"])}


def in_order(
    by_file: Mapping[str, Sequence[pytest.Item]],
    seconds: Mapping[str, float],
    path: str,
    calling: set[str],
) -> list[pytest.Item]:
    """The tests to run, file by file in the order of `distance`, up to `MOST_SECONDS`.

    Those that are ``calling`` alone, the quickest of a file first.
    """
    passing = {
        name: sorted(
            (item for item in items if item.nodeid in seconds and item.nodeid in calling),
            key=lambda item: seconds[item.nodeid],
        )
        for name, items in by_file.items()
    }
    total = {name: sum(seconds[item.nodeid] for item in items) for name, items in passing.items()}
    near = set(files_testing(ROOT, [module_of(path)]))
    files = sorted(passing, key=lambda name: (distance(name, path, near), total[name], name))
    items = [item for name in files for item in passing[name]]
    spent = itertools.accumulate(seconds[item.nodeid] for item in items)
    return [item for item, so_far in zip(items, spent, strict=True) if so_far <= MOST_SECONDS]


# --- in a fork ----------------------------------------------------------------------------------------------


def _leave(writing: int, mutant: Mutant | None, items: Sequence[pytest.Item], seconds: float) -> None:
    """Put the fault in, run the tests, say which one failed, and end."""
    code, name = 3, ""
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if mutant is not None and not put_in(mutant):
            os._exit(_NOT_HERE)
        resource.setrlimit(resource.RLIMIT_CPU, (int(_used() + seconds) + 1, int(_used() + seconds) + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        name = _first_failing(items)
        code = _NOTICED if name else _UNCHANGED
    except BaseException as error:  # noqa: BLE001 - a fault may end pytest itself, which is to notice it
        code, name = _NOTICED, f"{type(error).__name__} outside of a test"
    finally:
        os.write(writing, name.encode()[:4000])
        os._exit(code)


def _first_failing(items: Sequence[pytest.Item]) -> str:
    for item, following in itertools.zip_longest(items, items[1:]):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


def _measured(items: Sequence[pytest.Item], watched: frozenset[str], calls: Calls) -> list[dict[str, Any]]:
    """How the tests of a file end without a fault, in a fork, their seconds, and the functions they call."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with os.fdopen(writing, "w") as file:
                for item, following in itertools.zip_longest(items, items[1:]):
                    before = _used() + _children()
                    with calls.recording():
                        reports = runtestprotocol(item, log=False, nextitem=following)
                    spent = _used() + _children() - before
                    ends = {report.outcome for report in reports}
                    how = "failed" if "failed" in ends else "skipped" if "skipped" in ends else "passed"
                    row = {"test": item.nodeid, "how": how, "processor": round(spent, 3)}
                    called = {(_file_of(code.co_filename), code.co_qualname) for code in calls.of(item)}
                    row["calls"] = sorted(f"{path}::{name}" for path, name in called if path in watched)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        rows = [json.loads(line) for line in file]
    os.waitpid(child, 0)
    told = {row["test"] for row in rows}
    return rows + [
        {"test": item.nodeid, "how": "ended", "processor": 0.0, "calls": []}
        for item in items
        if item.nodeid not in told
    ]


@cache
def _file_of(filename: str) -> str:
    """The file that code is from, below the project: packages are reached through links, too."""
    path = Path(filename).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""


def _awaited(child: int, reading: int, seconds: float) -> tuple[int, str]:
    """Exit code of a fork, `HUNG` where it had to be killed, and what it said; nothing it started stays."""

    def ended() -> int | None:
        found, status = os.waitpid(child, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if found else None

    code = awaited(child, ended, seconds)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if code == HUNG:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)
    with os.fdopen(reading) as file:
        return code, file.read()


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# --- putting a fault into what is imported ------------------------------------------------------------------


def put_in(mutant: Mutant) -> bool:
    """Give the functions that a mutant changes their new code; False if it changes anything else."""
    changed = changed_functions(mutant)
    if changed is None:
        return False
    new = _functions(mutated((ROOT / mutant.path).read_text(encoding="utf-8"), mutant.index))
    for name in changed:
        live = _live(mutant.path).get(name, [])
        if not live or any(_is_compiled(function) for function in live):
            return False
        for function in live:
            if function.__code__.co_freevars != new[name].co_freevars:
                return False
            function.__code__ = new[name]
    return True


def changed_functions(mutant: Mutant) -> set[str] | None:
    """Which functions a mutant changes, by qualified name; None if it changes anything else, or nothing."""
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(source))
    old, new = _functions(plain), _functions(mutated(source, mutant.index))
    if old.keys() != new.keys():
        return None
    changed = {name for name in old if _meaning(old[name]) != _meaning(new[name])}
    if not changed or any(name.endswith("<module>") or name in _classes(plain) for name in changed):
        return None
    return changed


def _functions(source: str) -> dict[str, CodeType]:
    """Code of the module, its classes, functions and methods by name; not what is inside functions."""
    found: dict[str, list[CodeType]] = defaultdict(list)
    classes = _classes(source)

    def walk(code: CodeType, name: str) -> None:
        found[name].append(code)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                inner = constant.co_qualname
                if code.co_name == "<module>" or name in classes:
                    walk(constant, inner)

    walk(compile(source, "mutant", "exec"), "<module>")
    once = {name: codes[0] for name, codes in found.items() if len(codes) == 1}
    # of several functions of one name (a property and its setter) nobody can say which is which
    several = {f"{name}#{n}": code for name, codes in found.items() for n, code in enumerate(codes)}
    return once | {name: code for name, code in several.items() if name.partition("#")[0] not in once}


@cache
def _classes(source: str) -> frozenset[str]:
    """Qualified names of the classes."""

    def walk(node: ast.AST, above: str) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield above + child.name
                yield from walk(child, f"{above}{child.name}.")

    return frozenset(walk(ast.parse(source), ""))


def _meaning(code: CodeType) -> tuple[Any, ...]:
    """What code does, without lines; functions of a class or module count as themselves alone."""
    owner = code.co_name == "<module>" or "__module__" in code.co_names
    constants = tuple(
        (_meaning(item) if not owner else item.co_name)
        if isinstance(item, CodeType)
        else (type(item), repr(item))
        for item in code.co_consts
    )
    return (code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)


@cache
def _live(path: str) -> dict[str, list[FunctionType]]:
    """The functions of a file that are alive, by qualified name."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    file = ROOT / path
    gc.unfreeze()  # what the tests have frozen (tests/conftest.py) is looked at, too
    for item in gc.get_objects():
        if type(item) is not FunctionType or not item.__code__.co_filename.endswith(file.name):
            continue
        if Path(item.__code__.co_filename).resolve() == file:
            found[item.__code__.co_qualname].append(item)
    return found


def _is_compiled(function: FunctionType) -> bool:
    """Whether numba has, or will have, machine code of it."""
    gc.unfreeze()
    return any(
        type(holder).__module__.startswith(("numba", "depl.models.foundation.compiling"))
        or (isinstance(holder, dict) and holder.get("py_func") is function)
        for holder in gc.get_referrers(function)
    )


if __name__ == "__main__":
    sys.exit(main())
