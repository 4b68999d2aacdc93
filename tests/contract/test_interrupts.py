"""Ctrl-C at any moment of any method: it ends at once, with what it holds, whatever it was about to call."""

import inspect
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import depl
from depl.commands.answer import ExitCode, code_of
from depl.models.foundation.compiling import compiled_at_once
from depl.models.solving import solve as solving
from depl.models.solving.interrupts import first_interrupt_ignored, uninterrupted
from depl.models.solving.limits import Limits
from depl.models.solving.methods import find
from depl.models.solving.result import Solution, Termination
from tests.cases.memory_cases import instance_of, random_law

LOOKS_AFTERWARDS = 2
"""Looks at the clock that may follow a press; a method that goes on takes hundreds."""
ONE_PLACE = ("expected-cost", "expected-greedy")
METHODS = [item.name for item in depl.methods()]
PROVED_BEFORE = ("auto", "milp", "scenario-search")
"""Methods that have something left to do once the optimum is proved."""


class Press:
    """Raises the interrupt at one call of a function of depl, and counts the looks at the clock after it."""

    def __init__(self, moment):
        self.moment, self.calls, self.looks = moment, 0, 0

    @property
    def done(self):
        return self.calls >= self.moment

    def __call__(self, frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and ("/models/" in path or "/heuristics/" in path):
            self.calls += 1
            closing = frame.f_code.co_flags & inspect.CO_GENERATOR  # where Python drops what is raised
            if self.done and not closing:  # Python takes a profiler that raises away
                raise KeyboardInterrupt


def pressed(press, instance, method, monkeypatch, seed=0):
    """A solve with a press within the method itself; what solve does with its answer is not counted."""
    expired, own = Limits.expired, find(method)

    def look(limits):
        press.looks += press.done
        return expired(limits)

    def run(given, limits):
        sys.setprofile(press)
        try:
            return own.run(given, limits)
        finally:
            sys.setprofile(None)

    with monkeypatch.context() as patched, compiled_at_once():  # which calls there are is to be no chance
        patched.setattr(Limits, "expired", look)
        patched.setattr(solving, "find", lambda _: replace(own, run=run))
        return depl.solve(instance, method, seed=seed)


def require_stopped(press, result):
    assert result.termination is Termination.INTERRUPTED
    assert press.looks <= LOOKS_AFTERWARDS
    held = result.plan is not None
    assert code_of(result.termination.value, held) == (ExitCode.STOPPED if held else ExitCode.NOTHING)
    assert result.solution is (Solution.FEASIBLE if held else Solution.NONE)


def stopped(tiny, bell, method, moment, patch):
    """Whether the method ended at a press at that moment, as it has to unless it has ended before."""
    press = Press(moment)
    result = pressed(press, bell if method in ONE_PLACE else tiny, method, patch)
    if not press.done or (result.termination is Termination.OPTIMAL and method in PROVED_BEFORE):
        return False  # it came while what was proved already got its root bound, or its words
    require_stopped(press, result)
    return True


@pytest.mark.parametrize("method", METHODS)
def test_a_press_at_any_moment_ends_every_method_at_once(tiny, bell, method, monkeypatch):
    """Moments sixteen times as far apart each time."""
    assert sum(stopped(tiny, bell, method, 16**exponent, monkeypatch) for exponent in range(4)) >= 2


@pytest.mark.parametrize("method", [item.name for item in depl.methods() if item.memory])
def test_so_it_does_under_a_law_with_memory(method, monkeypatch):
    instance = instance_of(random_law(np.random.default_rng(19)))
    for moment in (1, 20, 400):
        press = Press(moment)
        require_stopped(press, pressed(press, instance, method, monkeypatch))


def test_a_loop_over_many_answers_ends_at_the_first_that_was_interrupted(tiny, monkeypatch):
    result = pressed(Press(50), tiny, "depl", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        uninterrupted(result)
    whole = depl.solve(tiny, "exact")
    assert uninterrupted(whole) is whole


def test_the_first_interrupt_is_ignored_and_the_second_or_one_after_the_block_is_not():
    for inside in (2, 1):
        with first_interrupt_ignored():
            signal.raise_signal(signal.SIGINT)
            if inside == 2:
                with pytest.raises(KeyboardInterrupt):
                    signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_handler_of_someone_else_is_left_alone(monkeypatch):
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append("theirs"))
    try:
        with first_interrupt_ignored():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == ["theirs"]


def test_it_works_in_other_threads_where_no_handler_can_be_set():
    def work():
        with first_interrupt_ignored():
            return True

    with ThreadPoolExecutor(1) as other:
        assert other.submit(work).result()
