"""Which code do tests call? A plugin of pytest that records it, for `tests.checks.mutation_forks`.

What a fixture calls that several tests share (of a module or a session) is recorded for each of them: they
read what the first of them has it compute.
"""

import contextlib
import sys
import threading
from collections import defaultdict
from collections.abc import Generator, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest


class Calls:
    """Records the code that is entered, in this thread and in those that it starts."""

    def __init__(self) -> None:
        self._now: set[CodeType] = set()
        self._shared: defaultdict[str, set[CodeType]] = defaultdict(set)

    def of(self, item: pytest.Item) -> set[CodeType]:
        """What was called since `recording` began, and by the shared fixtures of a test."""
        names = getattr(item, "fixturenames", ())
        return self._now.union(*(self._shared[name] for name in names if name in self._shared))

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record what is called from here on."""
        self._now = set()
        sys.settrace(self._entered)
        threading.settrace(self._entered)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type] - that is how it is switched off

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Keep apart what is called by a fixture that several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        around, self._now = self._now, set()
        try:
            return (yield)
        finally:
            self._shared[fixturedef.argname] |= self._now
            self._now |= around

    def _entered(self, frame: FrameType, event: str, argument: object) -> None:
        self._now.add(frame.f_code)
