"""A pytest plugin: the CPU seconds of each test, child processes included.

``pytest -p tests.checks.cpu_seconds --cpu-seconds FILE`` writes a JSON object from names to seconds. A test
is charged with what it did and with its own fixtures; a fixture that several tests share (module or session
scope) stands under a name of its own, ``file::name (fixture)``, for which test comes first is chance.
"""

import json
import resource
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_SHARED = "shared_fixtures"  # both are attributes of a report, which xdist carries from worker to controller
_SECONDS = "cpu_seconds"


def spent() -> float:
    """CPU seconds of this process and of its children that have ended, user and system."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Clock:
    """Charges what was spent since it was last read, to a test or to a shared fixture."""

    def __init__(self) -> None:
        self.last = spent()
        self.shared: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self.last = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        start = spent()
        result = yield
        if fixturedef.scope != "function":
            name = f"{fixturedef.baseid or 'pytest'}::{fixturedef.argname} (fixture)"
            self.shared[name] = self.shared.get(name, 0.0) + spent() - start
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = spent()
        setattr(report, _SECONDS, now - self.last - sum(self.shared.values()))
        setattr(report, _SHARED, self.shared)
        self.last, self.shared = now, {}
        return report


class Table:
    """Adds up the reports of all workers and writes them at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += getattr(report, _SECONDS, 0.0)
        for name, seconds in getattr(report, _SHARED, {}).items():
            self.seconds[name] = max(self.seconds[name], seconds)  # each worker makes it once

    def pytest_sessionfinish(self) -> None:
        rounded = {name: round(seconds, 4) for name, seconds in sorted(self.seconds.items())}
        self.path.write_text(json.dumps(rounded, indent=0) + "\n", encoding="utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-seconds", type=Path, help="write the CPU seconds of each test into this file")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--cpu-seconds")
    if path is None:
        return
    if not config.getoption("numprocesses", None):
        config.pluginmanager.register(Clock())
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Table(path))
