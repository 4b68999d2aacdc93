"""What an answer can do without is left out where it would break the time limit, and nothing else is."""

import time

import msgspec
import pytest

import depl
from depl.models.evaluation.evaluate import LEFT_OUT
from depl.models.foundation.deadline import OutOfTimeError, keep_time
from depl.models.foundation.interval import Interval
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving import spare as spare_module
from depl.models.solving.methods import Limits
from depl.models.solving.spare import SECONDS, SHARE, Spare
from depl.models.verifier.verify import verify


def over(seconds: float) -> Limits:
    """Limits of ten seconds that are over since so many."""
    return Limits(time_limit=8.0, reserve=2.0, started=time.perf_counter() - 10 - seconds)


@pytest.fixture
def plan(tiny) -> depl.Plan:
    return depl.solve(tiny, "exact").plan


def test_nothing_is_spare_where_the_limit_is_broken_and_everything_without_one():
    assert Spare(over(0)).seconds() == pytest.approx(SHARE * 10 + SECONDS - 0.5, abs=0.1)
    assert Spare(over(3)).seconds() < 0
    assert Spare(Limits()).seconds() == float("inf")


def test_with_time_to_spare_the_quantile_is_certified(tiny, plan):
    assert Spare(over(-5)).evaluated(tiny, plan, None).quantile is not None
    assert Spare(Limits()).evaluated(tiny, plan, None).quantile is not None


def test_without_it_the_quantile_is_left_out_and_the_probability_is_not(tiny, plan):
    late = Spare(over(3))
    found = late.evaluated(tiny, plan, None)
    assert found.quantile is None
    assert found.violation == Spare(Limits()).evaluated(tiny, plan, None).violation
    assert found.feasible
    assert not late.brief  # the verifier has to say all that it can


def test_a_quantile_that_takes_too_long_is_broken_off(tiny, plan, monkeypatch):
    def slow(law: object, budget: object) -> Interval:
        while True:
            time.sleep(0.001)
            keep_time()

    monkeypatch.setattr("depl.models.evaluation.end_law.EndLaw.quantile", slow)
    started = time.perf_counter()
    assert Spare(over(1.5)).evaluated(tiny, plan, None).quantile is None
    assert time.perf_counter() - started < 3


def test_of_a_plan_for_scenarios_all_that_holds_under_the_law_is_left_out(tiny, plan):
    sample = draw_scenarios(tiny, 20, 1)
    late = Spare(over(3))
    found = late.evaluated(tiny, plan, sample)
    assert late.brief
    assert (found.violation.how, found.quantile) == (LEFT_OUT, None)
    in_time = Spare(over(-5))
    assert in_time.evaluated(tiny, plan, sample).violation.upper < 1
    assert not in_time.brief


def test_a_law_that_takes_too_long_is_left_out_of_a_plan_for_scenarios(tiny, plan, monkeypatch):
    evaluate = spare_module.evaluate

    def late(*given: object, probability: bool = True, **options: object) -> object:
        if probability:
            raise OutOfTimeError
        return evaluate(*given, probability=False, **options)

    monkeypatch.setattr(spare_module, "evaluate", late)
    spare = Spare(over(-5))
    assert spare.evaluated(tiny, plan, draw_scenarios(tiny, 20, 1)).violation.how == LEFT_OUT
    assert spare.brief


def test_a_late_solve_on_scenarios_is_verified_and_claims_nothing_of_the_law(tiny, monkeypatch):
    monkeypatch.setattr(Spare, "seconds", lambda self: -1.0)
    found = depl.solve(tiny, "scenario-search", scenarios=30)
    assert found.plan.claims.scenarios.misses == found.scenarios.misses
    assert (found.violation, found.quantile, found.scenarios.fresh) == (None, None, None)
    assert (found.plan.claims.violation, found.plan.claims.quantile) == (None, None)
    assert verify(tiny, found.plan).ok  # at leisure, with the scenarios drawn again


def test_a_late_solve_under_the_law_keeps_its_certificate(tiny, monkeypatch):
    whole = depl.solve(tiny, "exact")
    monkeypatch.setattr(Spare, "seconds", lambda self: -1.0)
    found = depl.solve(tiny, "exact")
    assert (found.cost, found.violation, found.quantile) == (whole.cost, whole.violation, None)
    assert found.plan.claims.violation == whole.plan.claims.violation


def test_a_brief_check_takes_given_scenarios_and_still_counts_them(tiny):
    sample = draw_scenarios(tiny, 30, 0)
    plan = depl.solve(tiny, "scenario-search", scenarios=sample).plan
    draws = sample.improvements, sample.switch_losses
    brief = verify(tiny, plan, draws, brief=True)
    assert brief.ok
    assert float(brief.violation.lower) == 0
    assert float(brief.violation.upper) == 1
    claim = plan.claims.scenarios
    for wrong in (
        msgspec.structs.replace(claim, misses=claim.misses + 1),
        msgspec.structs.replace(claim, digest="0" * 64),
    ):
        claims = msgspec.structs.replace(plan.claims, scenarios=wrong)
        assert not verify(tiny, msgspec.structs.replace(plan, claims=claims), draws, brief=True).ok
