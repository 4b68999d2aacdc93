"""What an answer can do without is left out where it would break the time limit, and nothing else is."""

import dataclasses
import math
import time

import msgspec
import pytest

import depl
from depl.models.evaluation.evaluate import LEFT_OUT, evaluate
from depl.models.foundation.deadline import OutOfTimeError, keep_time
from depl.models.foundation.interval import Interval
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving import solve as solving
from depl.models.solving.methods import Limits, find
from depl.models.solving.solve import SECONDS, SHARE, Request
from depl.models.verifier.verify import verify

FOREVER = Limits()


def over(seconds: float) -> Limits:
    """Limits of ten seconds that are over since so many."""
    return Limits(time_limit=8.0, reserve=2.0, started=time.perf_counter() - 10 - seconds)


@pytest.fixture
def plan(tiny) -> depl.Plan:
    return depl.solve(tiny, "exact").plan


def evaluated(instance, plan, limits, sample=None):
    """The evaluation within limits, and whether the verifier may be brief."""
    limits = dataclasses.replace(limits, scenarios=sample)
    return solving._evaluated(Request(instance, find("exact"), limits), plan)


def test_nothing_is_spare_where_the_limit_is_broken_and_everything_without_one(tiny):
    left = [Request(tiny, find("exact"), limits).spare() for limits in (over(0), over(3), FOREVER)]
    assert left == [pytest.approx(SHARE * 10 + SECONDS - 0.5, abs=0.1), pytest.approx(-1, abs=0.1), math.inf]


def test_the_quantile_alone_is_left_out_where_there_is_no_time_for_it(tiny, plan):
    whole = evaluate(tiny, plan)
    assert evaluated(tiny, plan, over(-5)) == evaluated(tiny, plan, FOREVER) == (whole, False)
    assert evaluated(tiny, plan, over(3)) == (dataclasses.replace(whole, quantile=None), False)


def test_a_quantile_that_takes_too_long_is_broken_off(tiny, plan, monkeypatch):
    def slow(law: object, budget: object) -> Interval:
        while True:
            time.sleep(0.001)
            keep_time()

    monkeypatch.setattr("depl.models.evaluation.end_law.EndLaw.quantile", slow)
    assert evaluated(tiny, plan, over(1.5))[0].quantile is None  # what is not broken off never ends


@pytest.mark.parametrize("slow", [False, True])
def test_of_a_plan_for_scenarios_all_that_holds_under_the_law_is_left_out(tiny, plan, monkeypatch, slow):
    def late(*given: object, probability: bool = True, **options: object) -> object:
        if probability:
            raise OutOfTimeError
        return evaluate(*given, probability=False, **options)

    sample = draw_scenarios(tiny, 20, 1)
    assert evaluated(tiny, plan, over(-5), sample) == (evaluate(tiny, plan), False)
    if slow:
        monkeypatch.setattr(solving, "evaluate", late)
    found, brief = evaluated(tiny, plan, over(-5 if slow else 3), sample)
    assert (found.violation.how, found.certified, found.quantile, brief) == (LEFT_OUT, None, None, True)


def test_a_late_solve_on_scenarios_is_verified_and_claims_nothing_of_the_law(tiny, monkeypatch):
    monkeypatch.setattr(Request, "spare", lambda self: -1.0)
    found = depl.solve(tiny, "scenario-search", scenarios=30)
    assert found.plan.claims.scenarios.misses == found.scenarios.misses
    assert (found.violation, found.quantile, found.scenarios.fresh) == (None, None, None)
    assert (found.plan.claims.violation, found.plan.claims.quantile) == (None, None)
    assert verify(tiny, found.plan).ok  # at leisure, with the scenarios drawn again


def test_a_late_solve_under_the_law_keeps_its_certificate(tiny, monkeypatch):
    whole = depl.solve(tiny, "exact")
    monkeypatch.setattr(Request, "spare", lambda self: -1.0)
    found = depl.solve(tiny, "exact")
    assert (found.cost, found.violation, found.quantile) == (whole.cost, whole.violation, None)
    assert found.plan.claims.violation == whole.plan.claims.violation


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
