"""A solve may stop once neither its plan nor its bound has moved for long, and says so."""

import math
from dataclasses import replace

import pytest

import depl
from depl.heuristics.auto import method as automatic
from depl.models.solving import standstill as module
from depl.models.solving.methods import Registered
from depl.models.solving.result import Outcome, Termination
from depl.models.solving.solve import solve
from depl.models.solving.standstill import Standstill


@pytest.mark.parametrize("limit", [30.0, None])
def test_a_standstill_is_a_third_of_the_limit_or_the_time_before_it_and_ten_seconds_at_least(
    limit, monkeypatch
):
    clock = [100.0]
    monkeypatch.setattr(module, "now", lambda: clock[0])
    stands = Standstill(limit)

    def at(seconds, *row):
        clock[0] = 100.0 + seconds
        if row:
            stands.seen(*row)
        return stands.over(), round(stands.bound_stands), round(stands.stood)

    assert at(9.9) == (False, 0, 0)
    assert at(12, math.inf, 5.0) == (False, 0, 0)
    long = 10 if limit else 12  # as long as it took before
    assert at(11.9 + long) == (False, 0, 0)
    assert at(12.1 + long) == (False, long, 0)  # but no plan is held
    assert at(25, 8.0, 5.0004) == (False, 13, 0)  # what no digit of the gap shows is no move
    long = 10 if limit else 25
    assert at(24.9 + long) == (False, 13 + long, 0)
    assert at(25.1 + long, 7.9999, 5.0) == (True, 13 + long, long)
    assert at(25.2 + long, 7.0, 6.0) == (True, 0, long)  # whatever the last step still finds
    stands.turn()
    assert at(26 + long)[0] is False
    assert at((25.2 + long) + (10 if limit else 25.2 + long) + 0.1)[0] is True


def spinning(plan, lower):
    """Reports a plan and a bound and never ends by itself."""

    def run(instance, limits):
        limits.report(28.0 if plan is not None else math.inf, lower)
        replace(limits, progress=None).report(1.0, 2.0 * lower)  # of a search inside the method
        while not limits.expired():
            pass
        return Outcome(Termination.TIME_LIMIT, plan, lower)

    return run


@pytest.mark.parametrize("own", [True, False])
def test_whoever_asks_for_it_gets_the_plan_once_nothing_moves_and_reads_what_was_tried(
    tiny, own, monkeypatch
):
    """A method of one's own; and ``auto``, which lets the loop and then exact search have their turns."""
    plan = depl.solve(tiny, "exact").plan.bare()
    monkeypatch.setattr(module, "_SHARE", 0.005)
    for name in ("_MOMENT", "_FIRST"):
        monkeypatch.setattr(automatic, name, (0.001, 0.1))
    for name, run in {"exact": spinning(None, 11.0), "depl": spinning(plan, 5.0)}.items():
        monkeypatch.setattr(automatic, name, run)
    monkeypatch.setattr(automatic, "density_greedy", lambda *_: Outcome(Termination.EXHAUSTED, None, 0.0))
    method = Registered("own", spinning(plan, 5.0), "", shipped=True) if own else "auto"
    found = solve(tiny, method, time_limit=20.0, stop_when_stuck=True)
    assert (found.termination, found.cost, found.wall_seconds < 2) == (Termination.STUCK, 28.0, True)
    tried = "own" if own else "density-greedy, depl, exact"
    assert found.reason == f"neither the plan nor the bound has moved for 0 s; tried: {tried}"
    assert "a feasible plan; stopped when stuck, as was asked" in str(found)
    endings = [phase.ending for phase in found.phases][1:]
    assert endings == ([] if own else ["stopped, as neither plan nor bound moved"] * 2)
    assert solve(tiny, method, time_limit=0.2).termination is Termination.TIME_LIMIT  # unless it is asked
