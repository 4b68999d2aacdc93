"""What an answer can do without is left out where it would break the time limit, and nothing else is."""

import dataclasses
import math
import time

import msgspec
import pytest

import depl
from depl.heuristics.auto import method as automatic
from depl.models.evaluation.evaluate import LEFT_OUT, evaluate
from depl.models.foundation import deadline as deadlines
from depl.models.foundation.compiling import Kernel
from depl.models.foundation.deadline import OutOfTimeError, keep_time
from depl.models.risk import transforms
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving import methods, solve
from depl.models.solving import solve as solving
from depl.models.solving.limits import Limits
from depl.models.solving.methods import find
from depl.models.solving.solve import Request
from depl.models.verifier.verify import verify

FOREVER = Limits()


def over(seconds):
    """Limits of ten seconds that are over since so many."""
    return Limits(time_limit=8.0, reserve=2.0, started=time.perf_counter() - 10 - seconds)


@pytest.fixture
def plan(tiny):
    return depl.solve(tiny, "exact").plan


def evaluated(instance, plan, limits, sample=None):
    """The evaluation within limits, and whether the verifier may be brief."""
    limits = dataclasses.replace(limits, scenarios=sample)
    return solving._evaluated(Request(instance, find("exact"), limits), plan)


def test_the_quantile_alone_is_left_out_where_there_is_no_time_for_it(tiny, plan):
    whole = evaluate(tiny, plan)
    assert evaluated(tiny, plan, over(-5)) == evaluated(tiny, plan, FOREVER) == (whole, False)
    assert evaluated(tiny, plan, over(3)) == (dataclasses.replace(whole, quantile=None), False)


def test_a_quantile_that_takes_too_long_is_broken_off(tiny, plan, monkeypatch):
    def slow(law, budget):
        while True:
            time.sleep(0.001)
            keep_time()

    monkeypatch.setattr("depl.models.evaluation.end_law.EndLaw.quantile", slow)
    assert evaluated(tiny, plan, over(1.5))[0].quantile is None  # what is not broken off never ends


@pytest.mark.parametrize("slow", [False, True])
def test_of_a_plan_for_scenarios_all_that_holds_under_the_law_is_left_out(tiny, plan, monkeypatch, slow):
    def late(*given, probability=True, **options):
        if probability:
            raise OutOfTimeError
        return evaluate(*given, probability=False, **options)

    sample = draw_scenarios(tiny, 20, 1)
    assert evaluated(tiny, plan, over(-5), sample) == (evaluate(tiny, plan), False)
    if slow:
        monkeypatch.setattr(solving, "evaluate", late)
    found, brief = evaluated(tiny, plan, over(-5 if slow else 3), sample)
    assert (found.violation.how, found.certified, found.quantile, brief) == (LEFT_OUT, None, None, True)


def test_a_late_solve_claims_nothing_of_the_law_on_scenarios_and_keeps_its_certificate_under_it(
    tiny, monkeypatch
):
    whole = depl.solve(tiny, "exact")
    monkeypatch.setattr(Request, "spare", lambda self: -1.0)
    found = depl.solve(tiny, "exact")
    assert (found.cost, found.violation, found.quantile) == (whole.cost, whole.violation, None)
    assert found.plan.claims.violation == whole.plan.claims.violation
    found = depl.solve(tiny, "scenario-search", scenarios=30)
    assert found.plan.claims.scenarios.misses == found.scenarios.misses
    assert (found.violation, found.quantile, found.scenarios.fresh) == (None, None, None)
    assert (found.plan.claims.violation, found.plan.claims.quantile) == (None, None)
    assert verify(tiny, found.plan).ok  # at leisure, with the scenarios drawn again


def test_a_brief_check_takes_given_scenarios_and_still_counts_them(tiny):
    sample = draw_scenarios(tiny, 30, 0)
    plan = depl.solve(tiny, "scenario-search", scenarios=sample).plan
    draws = sample.improvements, sample.switch_losses
    brief = verify(tiny, plan, draws, brief=True)
    assert brief.ok
    assert (float(brief.violation.lower), float(brief.violation.upper)) == (0, 1)
    claim = plan.claims.scenarios
    for wrong in ({"misses": claim.misses + 1}, {"digest": "0" * 64}):
        claims = msgspec.structs.replace(plan.claims, scenarios=msgspec.structs.replace(claim, **wrong))
        assert not verify(tiny, msgspec.structs.replace(plan, claims=claims), draws, brief=True).ok


class Clock:
    """What a simulated clock shows: it goes on only while certificates are computed."""

    def __init__(self):
        self.now, self.blocks = 0.0, 0

    def perf_counter(self):
        return self.now

    def process_time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """One second a block, from a simulated clock that limits look at, too."""
    found = Clock()
    sums = transforms._line_sums

    def slow(*arguments):
        result = sums(*arguments)
        found.now += 1.0
        found.blocks += 1
        return result

    transforms._kept_trapezoid.cache_clear()
    monkeypatch.setattr(transforms, "_line_sums", slow)
    for module in (deadlines, automatic):  # all that look at the clock on the way
        monkeypatch.setattr(module, "time", found)
    # Compiling takes no time of this clock, in which it would not end; interpreted, all takes minutes.
    monkeypatch.setattr(Kernel, "in_time", lambda _: True)
    yield found
    transforms._kept_trapezoid.cache_clear()


@pytest.fixture
def smooth():
    """Laws whose transforms are computed by quadrature."""
    return depl.load("paper-alexnet-deadline", 9)


METHODS = ("auto", "density-greedy", "depl", "exact")


@pytest.mark.parametrize("method", METHODS)
def test_work_ends_at_the_limit_whatever_is_being_computed(method, clock, smooth, monkeypatch):
    def begun(*given, **named):
        return Limits(*given, **{**named, "started": clock.now})

    monkeypatch.setattr(solve, "Limits", begun)
    taken = []
    run = solve._run

    def measured(*given):
        before = clock.now
        found = run(*given)
        taken.append(clock.now - before)
        return found

    monkeypatch.setattr(solve, "_run", measured)
    depl.solve(smooth, method, time_limit=3.0)
    assert clock.blocks
    # Work is broken off, and once more in what follows; auto ends two methods, one after the other.
    breaks = 4 if method == "auto" else 2
    assert max(taken) <= 3.0 + breaks * (deadlines.LEEWAY + 1.0)  # each time within one block


def test_the_reserve_is_taken_off_what_the_method_gets(tiny, monkeypatch):
    given = []

    def method(instance, limits):
        given.append(limits)

    monkeypatch.setattr(solve, "find", lambda name: methods.Registered(name, method, ""))
    depl.solve(tiny.replace(maximum_epochs=10_000), "some", time_limit=10)
    (limits,) = given
    assert (limits.time_limit, limits.reserve) == (pytest.approx(8.0), pytest.approx(2.0))


def test_only_a_turn_to_the_end_may_take_of_the_reserve():
    limits = Limits(time_limit=10.0, reserve=3.0)
    assert (limits.part(0.5).reserve, limits.turn(1.0, math.inf).reserve) == (0.0, 3.0)
    assert limits.lateness() == pytest.approx(-13.0, abs=0.5)
    assert Limits().lateness() == -math.inf
