"""Fronts: every point against enumeration, accepted by the verifier, monotone, gone on with from its file."""

import json
import math
from dataclasses import replace

import pytest

from depl.models.exact.listing import enumerate_plans
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.solving import front as module
from depl.models.solving.edge import Budget, default_range
from depl.models.solving.front import front
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from depl.models.verifier.verify import verify
from tests.cases.memory_cases import instance_of
from tests.cases.memory_search_cases import case_of, drawn
from tests.cases.traced_law_cases import halves

RANGES = {"loss": (4.0, 15.0), "time": (1.0, 12.0), "probability": (0.5, 0.999)}


@pytest.mark.parametrize("against", RANGES)
def test_points_are_those_of_enumeration_and_accepted_at_their_budgets(tiny, against):
    found = front(tiny, against, between=RANGES[against], points=3)
    assert len(found) >= 3
    assert found.complete
    assert {True, False} == {point.infeasible for point in found} or against == "probability"
    for point in found:
        instance = found.instance_at(point.budget)
        oracle = enumerate_plans(instance, Limits())
        if oracle.plan is None:
            assert oracle.termination is point.result.termination is Termination.INFEASIBLE
            continue
        assert point.lower_bound <= point.cost == pytest.approx(oracle.lower_bound, rel=1e-9)
        assert verify(instance, point.plan).ok
        assert point.violation.highest <= instance.target.violation_budget
    costs = [math.inf if point.cost is None else point.cost for point in found]
    bounds = [point.lower_bound for point in found]
    assert costs == sorted(costs)
    assert bounds == sorted(bounds)


def test_a_range_of_its_own_ends_a_step_beyond_what_is_reached_and_has_the_budget_of_the_instance(tiny):
    found = front(tiny, "loss", points=2)
    assert 6.5 in {point.budget for point in found}
    assert not found.range_cut
    inside = [point for point in found if found.between[-1] == point.budget or point.cost is not None]
    assert [point.infeasible for point in inside] == [False] * (len(inside) - 1) + [True]


def test_ranges_end_where_plans_do(tiny):
    """The safest plan of tiny misses with probability 1/8, and an omega of 0.911 is one step from it."""

    def plan_of(instance):
        return solve(instance, "exact", gap=0.99)

    def of(against=Budget.PROBABILITY, **changes):
        return default_range(tiny.replace(**changes), against, plan_of, plan_of)

    low, high = of()
    assert (low, 0.875 < high < 0.9) == (0.5, True)
    assert of(maximum_loss=14.0) == (0.5, 0.999)  # which one epoch keeps whatever happens
    assert of(maximum_loss=-40.0, quantile_level=0.8) == (0.5, 0.8)
    assert of(maximum_loss=14.0, quantile_level=0.25) == (0.25, 0.999)
    assert of(Budget.TIME, maximum_loss=15.0) == (20.0, 0.005)  # no training takes no time
    assert of(Budget.TIME, maximum_loss=-40.0) == (5000.0, 5000.0)
    assert 2.1 < of(Budget.TIME, maximum_time=1.5)[1] < 2.25  # the fastest plan takes as long


def test_the_range_is_that_of_the_work_and_not_of_the_clock_or_says_so(tiny, monkeypatch):
    monkeypatch.setattr(module, "ANY_LOOKS", 0)
    counted = front(tiny, "probability", points=2)
    assert {0.7, 0.9, 0.95, 0.99} <= {point.budget for point in counted}
    assert not counted.range_cut
    monkeypatch.undo()
    monkeypatch.setattr(module, "_PROBE_SECONDS", 1e-6)
    cut = front(tiny, "loss", points=2)
    assert cut.range_cut


def test_no_solve_is_begun_for_the_range_once_the_time_of_the_front_is_over(tiny, monkeypatch):
    """Each takes a second here, of two that there are; a dozen more were begun, with a leeway each."""
    seconds, begun = [0.0], []

    def slow(*given, **named):
        begun.append(named["time_limit"])
        seconds[0] += 1.0
        return solve(tiny, "exact", time_limit=1e-9)

    monkeypatch.setattr(module, "now", lambda: seconds[0])
    monkeypatch.setattr(module, "solve", slow)
    found = front(tiny, "probability", points=2, time_limit=2.0)
    assert len(begun) == 2  # and none of zero seconds, where the limit is over to the digit
    assert found.range_cut
    assert found.stopped is Termination.TIME_LIMIT
    assert len(found) == 0


def test_a_front_that_was_interrupted_goes_on_from_its_file(tiny, tmp_path):
    file = tmp_path / "front.json"

    def interrupting(done):
        if len(done) == 2:
            raise KeyboardInterrupt

    asked = {"between": (4, 15), "points": 5}
    first = front(tiny, "loss", **asked, file=file, on_point=interrupting)
    assert (len(first), first.stopped, first.complete) == (2, Termination.INTERRUPTED, False)
    resumed, whole = front(tiny, "loss", **asked, file=file), front(tiny, "loss", **asked)
    for one, other in zip(resumed, whole, strict=True):
        assert (one.budget, one.cost, one.lower_bound) == (other.budget, other.cost, other.lower_bound)
        assert one.result.termination is other.result.termination
    assert resumed.complete
    with pytest.raises(InvalidInputError, match="another instance"):
        front(tiny.replace(maximum_epochs=2), "loss", **asked, file=file)
    with pytest.raises(InvalidInputError, match="against loss, not time"):
        front(tiny, "time", between=(4, 15), points=5, file=file)


NONE = ("infeasible", None)


@pytest.mark.parametrize(
    ("against", "between", "change", "words"),
    [
        ("loss", (9, 15), {0: NONE, 1: NONE}, "no plan keeps maximum_loss 15, and one that costs"),
        ("loss", (9, 15), {1: NONE}, "no plan keeps maximum_loss 9, and one that costs"),
        ("loss", (9, 15), {0: NONE}, "no plan costs less than inf"),
        ("loss", (9, 15), {0: ("time_limit", 1e6)}, "no plan costs less than 1000000"),
        # under a law with memory, against the probability, points say nothing of each other
        ("probability", (0.4, 0.6), {0: NONE}, r"no plan keeps quantile_level 0\.4, and one that costs"),
    ],
)
def test_that_there_is_no_plan_is_not_believed_where_one_is_quickly_found(
    tiny, tmp_path, against, between, change, words
):
    file, instance = tmp_path / "front.json", tiny if against == "loss" else drawn(2).instance
    asked = {"between": between, "points": 2, "file": file}
    assert None not in [point.plan for point in front(instance, against, **asked)]
    content = json.loads(file.read_text())
    for index, (ending, bound) in change.items():
        point = {"budget": content["points"][index]["budget"], "termination": ending, "lower_bound": bound}
        content["points"][index] = {**point, "method": "exact"}
    file.write_text(json.dumps(content))
    with pytest.raises(InvalidInputError, match=words) as refused:
        front(instance, against, **asked)
    assert refused.value.path == str(file)


@pytest.mark.parametrize(
    ("against", "given", "words"),
    [
        ("cost", {}, "known are loss, time, probability"),
        ("loss", {"between": (5, 4)}, "must not exceed"),
        ("probability", {"between": (0.5, 1.0)}, "cannot be quantile_level"),
        ("loss", {"between": (4, 5), "points": 0}, "from 1 on"),
        ("loss", {"method": "scenario-search"}, "counts scenarios"),
    ],
)
def test_what_cannot_be_used_is_refused(tiny, against, given, words):
    with pytest.raises((InvalidInputError, NotCoveredError), match=words):
        front(tiny, against, **given)


@pytest.mark.parametrize("memory", [False, True])
def test_a_plan_of_a_tighter_budget_stands_where_a_solve_ended_without_one(tiny, memory, monkeypatch):
    instance = drawn(2).instance if memory else tiny
    tightest, loosest = (instance.target.maximum_loss + more for more in (0.5, 1.0))

    def in_vain_at_the_loosest(given, name, **_):
        if given.target.maximum_loss == loosest:
            return replace(solve(given, name, time_limit=1e-9), termination=Termination.EXHAUSTED)
        return solve(given, name)

    monkeypatch.setattr(module, "solve", in_vain_at_the_loosest)
    between, method = (tightest, loosest), "enumerate" if memory else "exact"
    loose, tight = front(instance, "loss", between=between, points=2, method=method)
    assert (loose.budget, loose.cost, loose.plan.schedule) == (loosest, tight.cost, tight.plan.schedule)
    assert loose.lower_bound < tight.lower_bound == tight.cost
    assert loose.result.termination is Termination.EXHAUSTED


@pytest.mark.parametrize("against", ["time", "probability"])
def test_points_under_a_traced_law_are_those_of_all_schedules_judged_by_hand(against):
    """The law, its quantiles and the cheapest resources are recomputed without code of the product."""
    instance = drawn(2).instance
    target = instance.target
    time = target.maximum_time or 20.0
    between = (0.7 * time, 1.5 * time) if against == "time" else (0.4, 0.95)
    found = front(instance, against, between=between, points=4)
    assert found.nested == (against != "probability")
    assert found.complete
    for point in found:
        met = case_of(found.instance_at(point.budget)).met()
        assert point.infeasible == (not met)
        if met:
            assert point.lower_bound <= point.cost == pytest.approx(met[0][0], rel=1e-9, abs=1e-12)
            assert verify(found.instance_at(point.budget), point.plan).ok
    assert any(point.cost for point in found)
    inside = found.bounds((found.points[0].budget + found.points[1].budget) / 2)
    assert found.nested or inside == (0.0, math.inf)


def test_no_point_of_a_front_against_the_loss_promises_more_than_its_runs_carry():
    """Twenty runs begin at 4, the loosest target, and end at 1 or 2; two that count beside them miss all."""
    law = halves(20, unseen_loss=4.0, diverged=1)
    instance = instance_of(law, initial_loss=4.0, maximum_loss=2.0, quantile_level=0.5)
    found = front(instance, "loss", points=3)
    kept = [point for point in found if point.cost is not None]
    assert kept[0].budget == 4
    assert {float(point.violation.exact) for point in kept} <= {2 / 22, 12 / 22}
