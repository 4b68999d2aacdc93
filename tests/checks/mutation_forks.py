"""Mutants judged in forks of one process that has imported the project and collected the tests of a room.

Starting pytest takes longer than most mutants live. Here each mutant costs a fork, which gives the changed
function its new code and runs the tests that call it, themselves or by fixtures of their module or session.
Kernels, bodies of modules and classes, and what no test calls are left to copies. A function whose results
others have cached while modules were imported lets mutants survive here: the score may be too low, but never
too high. `tests.checks.mutation` runs it in a copy of the project, with its own words.
"""

import ast
import gc
import itertools
import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.checks import mutation
from tests.checks.mutation import ROOT, Ending, files_testing, forked, tell
from tests.checks.mutation_operators import Mutant, mutated

LEAST_SECONDS = 20.0
"""Of the processor, before a fork counts as hung: its tests take a fraction of that where they are quick."""
_UNCHANGED, _NOTICED, _NOT_HERE = 0, 1, 77


def main() -> int:
    """Judge what can be judged here, and append it to the log."""
    options = mutation.parser().parse_args()
    done = mutation.known(options.out, "mutant")
    drawn = [mutant for mutant in mutation.chosen(options) if mutant.name not in done]
    plugin = Forks(options.out, drawn, mutation.files_of(options.room))
    files = files_testing(ROOT, plugin.watched)
    return pytest.main(["-q", "--tb=no", "-p", "no:cacheprovider", *files], plugins=[plugin])


class Forks:
    """The plugin that takes the place of running the tests."""

    def __init__(self, log: Path, drawn: Sequence[Mutant], watched: Sequence[str]) -> None:
        self.log, self.drawn, self.watched = log, drawn, watched
        self.known: dict[str, dict[str, Any]] = {}
        self.items: dict[str, pytest.Item] = {}
        self.now, self.shared = set[CodeType](), set[CodeType]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure the tests without a fault once, then judge every mutant."""
        self.items = {item.nodeid: item for item in session.items}
        self._without_fault(session.items)
        for mutant in self.drawn:
            ending, unreliable = mutation.confirmed(partial(self._judged, mutant), self._callers(mutant))
            for name in unreliable:
                tell(f"left out from here on, failed without a fault: {name}")
                del self.known[name]
            if ending is not None:
                mutation.answer(self.log, mutant, ending)
        return True

    def _without_fault(self, items: Sequence[pytest.Item]) -> None:
        """The tests that pass without a fault, with their seconds and calls; others are told and left out."""
        self.known = mutation.known(self.log, "test")
        for name, group in itertools.groupby(items, lambda item: item.nodeid.partition("::")[0]):
            found = list(group)
            if not any(item.nodeid in self.known for item in found):
                said = forked(partial(self._measured, found), 3600.0)[1]
                for row in map(json.loads, said.splitlines()):
                    self.known[row["test"]] = row
                    mutation.add(self.log, row)
                tell(f"{name}: measured without a fault")
        assert self.known, "no test of the room passes without a fault"
        for name in self.items.keys() - self.known.keys():
            tell(f"left out, did not pass without a fault: {name}")

    def _measured(self, items: Sequence[pytest.Item], writing: int) -> int:
        """In a fork: which tests of a file pass, their seconds, and what of the room they call."""
        for switch in (sys.settrace, threading.settrace):
            switch(lambda frame, event, argument: self.now.add(frame.f_code))
        for item, following in itertools.zip_longest(items, items[1:]):
            self.now, before = set(), _seconds()
            ends = {report.outcome for report in runtestprotocol(item, log=False, nextitem=following)}
            seconds, codes = _seconds() - before, self.now | self.shared
            names = {f"{_file_of(code.co_filename)}::{code.co_qualname}" for code in codes}
            calls = sorted(name for name in names if name.partition("::")[0] in self.watched)
            if ends == {"passed"}:
                row = {"test": item.nodeid, "processor": round(seconds, 3), "calls": calls}
                os.write(writing, (json.dumps(row) + "\n").encode())
        return 0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Keep what is called by a fixture that several tests share: all read what it computes for one."""
        around, self.now = self.now, set()
        try:
            return (yield)
        finally:
            self.shared |= self.now if fixturedef.scope != "function" else set()
            self.now |= around

    def _callers(self, mutant: Mutant) -> list[str]:
        """The tests to run: those that call a function that a mutant changes."""
        names = {f"{mutant.path}::{name}" for name in changed_functions(mutant)}
        seconds = {name: row["processor"] for name, row in self.known.items() if names & set(row["calls"])}
        return mutation.in_order(seconds, mutant.path, set(files_testing(ROOT, [mutant.path])))

    def _judged(self, mutant: Mutant, fault: bool, names: Sequence[str]) -> Ending | None:
        """What a fork says of a mutant, or of no fault at all; None if it cannot be put in here."""
        items = [self.items[name] for name in names]

        def judge(writing: int) -> int:
            if fault and not (items and put_in(mutant)):  # what no test calls may work during imports
                return _NOT_HERE
            for item, following in itertools.zip_longest(items, items[1:]):
                if any(one.failed for one in runtestprotocol(item, log=False, nextitem=following)):
                    os.write(writing, item.nodeid.encode())
                    return _NOTICED
            return _UNCHANGED

        usual = sum(self.known[name]["processor"] for name in names)
        code, _, ending = forked(judge, max(LEAST_SECONDS, mutation.SLOWER * usual))
        return None if code == _NOT_HERE else ending


def _seconds() -> float:
    """Of the processor, with those of children that have ended."""
    return time.process_time() + sum(os.times()[2:4])


@cache
def _file_of(filename: str) -> str:
    """The file that code is from, below the project: packages are reached through links, too."""
    path = Path(filename).resolve()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""


def put_in(mutant: Mutant) -> bool:
    """Give the functions that a mutant changes their new code; False if it changes anything else."""
    changed = changed_functions(mutant)
    for name, code in changed.items():
        live = _live(mutant.path).get(name, [])
        alike = [
            one for one in live if one.__code__.co_freevars == code.co_freevars and not _is_compiled(one)
        ]
        if not live or len(alike) < len(live):
            return False
        for function in live:
            function.__code__ = code
    return bool(changed)


def changed_functions(mutant: Mutant) -> dict[str, CodeType]:
    """New code of what a mutant changes, by qualified name; none if that is not functions alone."""
    source = (ROOT / mutant.path).read_text(encoding="utf-8")
    old, new = _parts(ast.unparse(ast.parse(source))), _parts(mutated(source, mutant.index))
    names = [name for name, _ in old]
    if names != [name for name, _ in new]:
        return {}
    changed = {name: code for (name, before), (_, code) in zip(old, new, strict=True) if before != code}
    # of several functions of one name (a property and its setter) nobody can say which is which
    return changed if all(name and names.count(name) == 1 for name in changed) else {}


def _parts(source: str) -> list[tuple[str, CodeType]]:
    """Functions and methods of a module by qualified name, and what is left of its body and its classes."""

    def walk(code: CodeType) -> Iterator[tuple[str, CodeType]]:
        if code.co_name != "<module>" and not {"__module__", "__qualname__"} <= set(code.co_names):
            yield code.co_qualname, code
            return
        inner = [item for item in code.co_consts if isinstance(item, CodeType)]
        yield "", code.replace(co_consts=tuple(item for item in code.co_consts if item not in inner))
        for item in inner:
            yield from walk(item)

    return list(walk(compile(source, "mutant", "exec")))


@cache
def _live(path: str) -> dict[str, list[FunctionType]]:
    """The functions of a file that are alive, by qualified name."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    gc.unfreeze()  # what the tests have frozen (tests/conftest.py) is looked at, too
    for item in gc.get_objects():
        if type(item) is FunctionType and _file_of(item.__code__.co_filename) == path:
            found[item.__code__.co_qualname].append(item)
    return found


def _is_compiled(function: FunctionType) -> bool:
    """Whether numba has, or will have, machine code of it."""
    gc.unfreeze()
    return any(
        type(holder).__module__.startswith(("numba", "depl.models.foundation.compil"))
        or (isinstance(holder, dict) and holder.get("py_func") is function)
        for holder in gc.get_referrers(function)
    )


if __name__ == "__main__":
    sys.exit(main())
