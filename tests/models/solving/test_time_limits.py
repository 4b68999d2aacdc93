"""Limits are kept though a certificate takes long: it is broken off, and the solve ends with what is held.

Clocks are simulated: every block of a certificate takes a simulated second.
"""

import math
from collections.abc import Iterator

import pytest

import depl
from depl.heuristics.auto import method as automatic
from depl.models.foundation import clock as clocks
from depl.models.foundation import deadline as deadlines
from depl.models.problem.instance import Instance
from depl.models.risk import transforms
from depl.models.solving import methods, solve
from depl.models.solving.methods import Limits


class Clock:
    """What a simulated clock shows: it goes on only while certificates are computed."""

    def __init__(self) -> None:
        self.now, self.blocks = 0.0, 0

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """One second a block, from a simulated clock that limits look at, too."""
    found = Clock()
    sums = transforms._line_sums

    def slow(*arguments: object) -> object:
        result = sums(*arguments)  # type: ignore[arg-type]
        found.now += 1.0
        found.blocks += 1
        return result

    transforms._kept_trapezoid.cache_clear()
    monkeypatch.setattr(transforms, "_line_sums", slow)
    for module in (clocks, automatic):  # all that look at the clock on the way
        monkeypatch.setattr(module, "time", found)
    yield found
    transforms._kept_trapezoid.cache_clear()


@pytest.fixture
def smooth() -> Instance:
    """Laws whose transforms are computed by quadrature."""
    return depl.load("paper-alexnet-deadline", 9)


METHODS = ("auto", "density-greedy", "depl", "depl-paper", "exact", "fastest-cluster", "random")


@pytest.mark.parametrize("method", METHODS)
def test_work_ends_at_the_limit_whatever_is_being_computed(method, clock, smooth, monkeypatch):
    def begun(*given: object, **named: object) -> Limits:
        return Limits(*given, **{**named, "started": clock.now})  # type: ignore[arg-type]

    monkeypatch.setattr(solve, "Limits", begun)
    taken: list[float] = []
    run = solve._run

    def measured(*given: object) -> object:
        before = clock.now
        found = run(*given)  # type: ignore[arg-type]
        taken.append(clock.now - before)
        return found

    monkeypatch.setattr(solve, "_run", measured)
    depl.solve(smooth, method, time_limit=3.0)
    assert clock.blocks
    # Work is broken off, and once more in what follows; auto ends two methods, one after the other.
    breaks = 4 if method == "auto" else 2
    assert max(taken) <= 3.0 + breaks * (deadlines.LEEWAY + 1.0)  # each time within one block


@pytest.mark.parametrize(
    ("epochs", "time_limit", "expected"),
    [
        (100, 10.0, 0.0),
        (3000, 10.0, 0.0),
        (5000, 10.0, 0.5),
        (5000, 60.0, 0.5),
        (50_000, 60.0, 14.0),
        (50_000, 10.0, 5.0),
    ],
)
def test_time_for_the_certificate_of_a_long_plan_is_kept(tiny, epochs, time_limit, expected):
    longer = tiny.replace(maximum_epochs=epochs)
    assert solve._reserve(longer, time_limit) == pytest.approx(expected)


def test_the_reserve_is_taken_off_what_the_method_gets(tiny, monkeypatch):
    given: list[Limits] = []

    def method(instance: Instance, limits: Limits) -> None:
        given.append(limits)

    monkeypatch.setattr(solve, "find", lambda name: methods.Registered(name, method, ""))
    depl.solve(tiny.replace(maximum_epochs=10_000), "some", time_limit=10)
    (limits,) = given
    assert (limits.time_limit, limits.reserve) == (pytest.approx(8.0), pytest.approx(2.0))


def test_only_a_turn_to_the_end_may_take_of_the_reserve() -> None:
    limits = Limits(time_limit=10.0, reserve=3.0)
    assert limits.part(0.5).reserve == 0.0
    assert limits.turn(1.0, math.inf).reserve == 3.0
    assert limits.lateness() == pytest.approx(-13.0, abs=0.5)
    assert Limits().lateness() == -math.inf
