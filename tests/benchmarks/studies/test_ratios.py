"""Ratios to proven optima are formed where there is an optimum, and every failure of a method is counted."""

import numpy as np
import pytest

from depl.benchmarks.measure.outcome import SolveOutcome, tried
from depl.benchmarks.studies.ratios import Row, figures_of
from depl.instances.random_family import SIZES, competitive_family
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.solving import methods
from depl.models.solving.methods import Limits, Outcome, register
from depl.models.solving.result import Termination

NONE = SolveOutcome("m", "exhausted", 0.1)
INFEASIBLE = SolveOutcome("m", "infeasible", 0.1)
REFUSED = SolveOutcome("m", "refused", 0.0)


def proved(cost: float) -> SolveOutcome:
    return SolveOutcome("m", "optimal", 0.1, cost, cost)


def held(cost: float, bound: float | None = None, seconds: float = 0.1) -> SolveOutcome:
    return SolveOutcome("m", "exhausted", seconds, cost, bound)


def rows(*pairs: tuple[SolveOutcome, SolveOutcome]) -> list[Row]:
    return [Row(f"r{index}", reference, {"m": given}) for index, (reference, given) in enumerate(pairs)]


def test_ratios_are_formed_with_proven_optima_only():
    found = figures_of("m", rows((proved(10), held(12)), (proved(4), held(4)), (held(9, 5), held(7, 6))))
    assert found["m_compared"] == 2
    assert found["m_mean_ratio"] == pytest.approx(1.1)
    assert found["m_largest_ratio"] == 1.2
    assert found["m_found"] == 3


def test_unproved_instances_are_compared_with_the_best_certified_bound():
    found = figures_of("m", rows((held(9, 5), held(7, 6)), (held(9, 5), held(8, 4)), (NONE, held(3, 0))))
    assert found["m_unproved_compared"] == 3
    assert found["m_unproved_largest_ratio_to_bound"] == pytest.approx(8 / 5)
    assert found["m_unproved_mean_ratio_to_bound"] == pytest.approx((7 / 6 + 8 / 5) / 2)
    assert found["m_mean_ratio"] is None


def test_a_feasible_instance_without_a_plan_is_missed_and_called_infeasible_it_is_worse():
    found = figures_of(
        "m", rows((proved(1), NONE), (held(1), INFEASIBLE), (INFEASIBLE, INFEASIBLE), (proved(1), REFUSED))
    )
    assert (found["m_missed"], found["m_false_infeasible"], found["m_compared"]) == (2, 1, 0)


def test_a_plan_of_any_method_shows_that_an_instance_is_feasible():
    row = Row("r", NONE, {"m": INFEASIBLE, "other": held(3, 1)})
    assert figures_of("m", [row])["m_false_infeasible"] == 1


def test_bounds_above_the_optimum_and_costs_below_it_are_counted():
    found = figures_of(
        "m", rows((proved(10), held(11, 10.1)), (proved(10), held(9)), (proved(10), held(10, 10)))
    )
    assert found["m_wrong_bounds"] == 1
    assert found["m_below_optimum"] == 1


def test_an_outcome_holds_what_solve_returns(tiny: Instance):
    found = tried(tiny, "enumerate", time_limit=60.0)
    assert found.proved_optimal
    assert found.cost == found.lower_bound == pytest.approx(28)


def test_a_refusal_and_a_rejected_plan_are_outcomes(tiny: Instance, monkeypatch):
    monkeypatch.setattr(methods, "_REGISTRY", {})

    def refuses(instance: Instance, limits: Limits) -> Outcome:
        raise NotCoveredError("no")

    def wrong(instance: Instance, limits: Limits) -> Outcome:
        epoch = PlannedEpoch(model="full", cluster="edge", resources=1e-3)
        data = ClusterData(cluster="edge", datasets=("sensors",))
        return Outcome(Termination.EXHAUSTED, Plan(data=(data,), epochs=(epoch,)))

    register("refuses", refuses)
    register("wrong", wrong)
    assert tried(tiny, "refuses", time_limit=1.0).ending == "refused"
    assert tried(tiny, "wrong", time_limit=1.0).ending == "rejected"


def test_the_family_keeps_its_sizes_and_does_not_depend_on_the_count():
    drawn = competitive_family(np.random.default_rng(1), 20)
    assert competitive_family(np.random.default_rng(1), 5) == drawn[:5]
    for name in ("models", "clusters", "datasets"):
        numbers = {len(getattr(instance, name)) for instance in drawn}
        assert numbers == set(range(SIZES[name][0], SIZES[name][1] + 1))
    assert all(3 <= instance.target.maximum_epochs <= 10 for instance in drawn)
