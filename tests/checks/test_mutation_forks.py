"""Mutants in forks: which tests are run, which of them are believed, and when a run hangs."""

import contextlib
import os
import signal
import subprocess
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.checks.mutation import MOST_SECONDS, Log
from tests.checks.mutation_calls import Calls
from tests.checks.mutation_forks import Forks, in_order
from tests.checks.mutation_hanging import HUNG, awaited
from tests.checks.mutation_operators import Mutant


def item(name: str, *fixtures: str) -> pytest.Item:
    return cast(pytest.Item, SimpleNamespace(nodeid=name, fixturenames=fixtures))


def test_only_tests_that_call_the_changed_function_are_run_the_quickest_of_a_file_first() -> None:
    mirror, other = "tests/models/risk/test_certify.py", "tests/models/risk/test_grid.py"
    seconds = {f"{mirror}::slow": 2.0, f"{mirror}::quick": 1.0, f"{mirror}::not": 0.1, f"{other}::one": 0.5}
    by_file = {name: [item(test) for test in seconds if test.startswith(name)] for name in (other, mirror)}
    calling = set(seconds) - {f"{mirror}::not"}
    found = [one.nodeid for one in in_order(by_file, seconds, "models/risk/certify.py", calling)]
    assert found == [f"{mirror}::quick", f"{mirror}::slow", f"{other}::one"]
    slower = seconds | {f"{mirror}::slow": MOST_SECONDS}
    found = [one.nodeid for one in in_order(by_file, slower, "models/risk/certify.py", calling)]
    assert found == [f"{mirror}::quick"]


def called() -> None:
    """Something to be called."""


def test_what_a_shared_fixture_calls_is_recorded_for_every_test_that_uses_it() -> None:
    calls = Calls()

    def made(scope: str) -> None:
        fixture = cast(Any, SimpleNamespace(scope=scope, argname=scope))
        setup = calls.pytest_fixture_setup(fixture, cast(Any, None))
        next(setup)
        called()
        with pytest.raises(StopIteration):
            setup.send(None)

    with calls.recording():
        made("module")
        assert called.__code__ in calls.of(item("a"))
    with calls.recording():
        assert called.__code__ not in calls.of(item("b", "function"))
        assert called.__code__ in calls.of(item("c", "function", "module"))
    with calls.recording():
        made("function")
    with calls.recording():
        assert called.__code__ not in calls.of(item("d", "function"))


def judging(verdicts: list[tuple[str, str]]) -> tuple[Forks, list[list[str]]]:
    """A plugin whose forks say these things, one after the other, and the tests that each was asked."""
    asked: list[list[str]] = []

    class Said(Forks):
        def _judged(self, mutant: Mutant | None, items: Any, seconds: float) -> dict[str, Any]:
            asked.append([("" if mutant else "without a fault: ") + one.nodeid for one in items])
            how, name = verdicts.pop(0)
            return {"how": how, "by": name}

    return Said(cast(Log, None), [], []), asked


def test_a_test_that_fails_without_the_fault_too_has_not_noticed_it() -> None:
    plugin, asked = judging([("failed", "b"), ("failed", "b"), ("passed", "")])
    seconds = {"a": 1.0, "b": 1.0}
    ending, unreliable = plugin._confirmed(Mutant("x.py::f", "x.py", 1, 1), [item("a"), item("b")], seconds)
    assert ending is not None
    assert (ending["how"], unreliable) == ("passed", ["b"])
    assert asked == [["a", "b"], ["without a fault: b"], ["a"]]


def test_a_test_that_passes_without_the_fault_has_noticed_it() -> None:
    plugin, asked = judging([("failed", "b"), ("passed", "")])
    seconds = {"a": 1.0, "b": 1.0}
    ending, unreliable = plugin._confirmed(Mutant("x.py::f", "x.py", 1, 1), [item("a"), item("b")], seconds)
    assert ending is not None
    assert (ending["how"], ending["by"], unreliable) == ("failed", "b", [])
    assert asked == [["a", "b"], ["without a fault: b"]]


BUSY = "while :; do :; done"


@pytest.mark.parametrize(
    ("script", "seconds", "idle", "code"),
    [
        ("exit 7", 9.0, 9.0, 7),
        (BUSY, 0.1, 9.0, HUNG),
        (f"sh -c '{BUSY}'; :", 0.1, 9.0, HUNG),  # what it starts counts
        ("sleep 30; :", 9.0, 0.1, HUNG),
        ("i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; exit 7", 9.0, 0.03, 7),  # busy, not idle
    ],
)
def test_a_run_hangs_by_what_it_takes_of_the_processor_or_by_doing_nothing(
    script: str, seconds: float, idle: float, code: int
) -> None:
    process = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    try:
        assert awaited(process.pid, process.poll, seconds, idle, look=0.01) == code
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
