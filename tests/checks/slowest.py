"""Which tests take more than a second of the processor, and is there a reason?

``make slowest``, or ``pytest -p tests.checks.slowest`` with files, counts the CPU seconds of each test with
its child processes and own fixtures (``--durations`` counts those of the wall, which are noise on a busy
machine), and compares those above `MOST` with the reasons in ``tests/checks/slowest.txt``. A fixture that
several tests share stands under a name of its own, ``file::name (fixture)``, for which test comes first is
chance. Kernels have to be compiled before (any run of the tests does that). Exit code 1: some that are slow
have no reason, or some that have one are quick; of what was not run nothing is said. ``--cpu-seconds FILE``
writes all seconds.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

REASONS = Path(__file__).with_name("slowest.txt")
MOST = 1.0
"""CPU seconds that a test may take without a reason."""
QUICK = 0.5
"""CPU seconds below which a reason is called needless: between the two, a machine may be fast."""
_SPENT = "cpu_seconds"
"""Attribute of a report, by name of the test and of shared fixtures: xdist carries it to the controller."""


def reasons(text: str) -> dict[str, str]:
    """A line ``name: reason`` each; a name without ``[...]`` stands for all parameters."""
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {name: reason.strip() for name, _, reason in (row.partition(": ") for row in rows)}


def complaints(seconds: Mapping[str, float], known: Mapping[str, str]) -> Iterator[str]:
    """A line for each test above `MOST` without a reason, the slowest first, then for needless reasons."""
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        if spent > MOST and not {name, name.partition("[")[0]} & known.keys():
            yield f"{spent:5.1f} s, no reason: {name}"
    for name in known:
        alike = [spent for test, spent in seconds.items() if name in (test, test.partition("[")[0])]
        if alike and max(alike) < QUICK:
            yield f"{max(alike):5.1f} s, needs no reason: {name}"


def spent() -> float:
    """CPU seconds of this process, and of its children that have ended."""
    return time.process_time() + sum(os.times()[2:4])


class Clock:
    """Charges what was spent since it was last read, to a test or to a shared fixture."""

    def __init__(self) -> None:
        self.last, self.shared = spent(), dict[str, float]()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self.last = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        start = spent()
        result = yield
        if fixturedef.scope != "function":
            self.shared[f"{fixturedef.baseid or 'pytest'}::{fixturedef.argname} (fixture)"] = spent() - start
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report, now = (yield), spent()
        own = now - self.last - sum(self.shared.values())
        setattr(report, _SPENT, {report.nodeid: own, **self.shared})
        self.last, self.shared = now, {}
        return report


class Judge:
    """Adds up the reports of all workers, and tells at the end."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.seconds = path, defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, found in getattr(report, _SPENT, {}).items():
            before = self.seconds[name]
            self.seconds[name] = max(before, found) if name.endswith(" (fixture)") else before + found

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.told = list(complaints(self.seconds, reasons(REASONS.read_text(encoding="utf-8"))))
        if self.told and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.path is not None:
            self.path.write_text(json.dumps(self.seconds, indent=0), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole, slow = sum(self.seconds.values()), [found for found in self.seconds.values() if found > MOST]
        told = f"{len(self.seconds)} tests and shared fixtures, {whole:.0f} CPU seconds; {len(slow)} above "
        told += f"{MOST:g} s, {sum(slow):.0f} s together"
        terminalreporter.write_line("\n".join([told, *self.told]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-seconds", type=Path, metavar="FILE", help="write the seconds of each test")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("numprocesses", None):
        config.pluginmanager.register(Clock())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Judge(config.getoption("--cpu-seconds")))
