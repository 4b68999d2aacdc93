"""Under a time limit a method without a plan of its own returns a greedy one, and no other does."""

import pytest

import depl
from depl.heuristics.auto import greedy_fallback
from depl.heuristics.auto.greedy_fallback import with_greedy_fallback
from depl.models.evaluation.evaluate import plan_cost
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.problem.plan import Plan
from depl.models.solving.limits import Cutoff, Limits
from depl.models.solving.methods import find
from depl.models.solving.result import Outcome, Termination
from depl.models.solving.solve import VerificationError


def limits_now():
    """Of which nothing is used up."""
    return Limits(time_limit=20.0)


def nothing(instance, limits):
    """Proves a bound and finds no plan."""
    return Outcome(Termination.TIME_LIMIT, None, 1.5, "no time")


def late(instance, limits):
    """Leaves the end of its time to the caller."""
    raise OutOfTimeError


def test_a_method_without_a_plan_returns_the_greedy_one_with_its_own_bound(tiny):
    found = with_greedy_fallback(nothing)(tiny, limits_now())
    assert plan_cost(tiny, found.plan) == pytest.approx(found.phases[0].cost)
    assert (found.termination, found.lower_bound, found.reason) == (Termination.TIME_LIMIT, 1.5, None)
    assert [row.method for row in found.phases] == ["density-greedy", "nothing"]
    assert found.phases[1].cost is None
    assert found.phases[0].cost >= depl.solve(tiny, "density-greedy").cost - 1e-9  # the first plan will do
    found = with_greedy_fallback(late)(tiny, limits_now())
    assert (found.termination, found.lower_bound) == (Termination.TIME_LIMIT, 0.0)
    assert found.plan is not None


def test_a_method_with_a_plan_returns_it_and_says_nothing_of_another(tiny):
    def held(instance, limits):
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)

    assert with_greedy_fallback(held)(tiny, limits_now()) == held(tiny, limits_now())
    for method in ("depl", "exact"):  # fall back on it
        assert find(method).run.__wrapped__.__name__ == method


@pytest.mark.parametrize("limits", [Limits(), Limits(time_limit=2e6, cutoff=Cutoff(3.0))])
def test_without_a_limit_or_for_a_caller_with_a_plan_the_method_runs_alone(tiny, limits, monkeypatch):
    monkeypatch.setattr(greedy_fallback, "density_greedy", None)  # calling it would fail
    assert with_greedy_fallback(nothing)(tiny, limits) == nothing(tiny, limits)
    with pytest.raises(OutOfTimeError):
        with_greedy_fallback(late)(tiny, limits)


def test_a_bound_above_the_greedy_plan_is_a_defect_and_is_told(tiny):
    def wrong(instance, limits):
        return Outcome(Termination.TIME_LIMIT, None, 1e9)

    with pytest.raises(VerificationError, match="says 'wrong'; a greedy plan costs"):
        with_greedy_fallback(wrong)(tiny, limits_now())
