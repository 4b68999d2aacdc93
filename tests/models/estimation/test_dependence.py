"""What dependence does to a promise: the double sum, closed forms, and counts on correlated draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from depl.models.estimation.dependence import (
    Dependence,
    dependent_violation,
    normal_violation,
    variance_ratio,
)
from depl.models.evaluation.evaluate import final_loss
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import ConstantImprovement, Instance, InverseSqrtImprovement, Model, Switch
from depl.models.problem.laws import Deterministic, InverseGamma, Normal
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.risk.certify import certified_quantile

AR1, SHARED = Dependence.AUTOREGRESSIVE, Dependence.SHARED
WEIGHTS = st.lists(st.floats(0.01, 10), min_size=1, max_size=8)


@given(WEIGHTS, st.floats(-0.95, 0.95))
def test_the_ratio_of_ar1_is_the_double_sum(weights: list[float], phi: float) -> None:
    total = sum(a * b * phi ** abs(i - j) for i, a in enumerate(weights) for j, b in enumerate(weights))
    expected = total / sum(a * a for a in weights)
    assert variance_ratio(weights, AR1, phi) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(WEIGHTS, st.floats(0, 1))
def test_the_ratio_of_a_shared_factor_is_the_double_sum(weights: list[float], rho: float) -> None:
    total = sum(a * b * (1 if i == j else rho) for i, a in enumerate(weights) for j, b in enumerate(weights))
    expected = total / sum(a * a for a in weights)
    assert variance_ratio(weights, SHARED, rho) == pytest.approx(expected, rel=1e-9)


def test_ratios_of_equal_increments_in_closed_form() -> None:
    """AR(1): (1 + phi) / (1 - phi) - 2 phi (1 - phi^K) / (K (1 - phi)^2); shared: 1 + rho (K - 1)."""
    phi, epochs = 0.3, 30
    closed = (1 + phi) / (1 - phi) - 2 * phi * (1 - phi**epochs) / (epochs * (1 - phi) ** 2)
    assert variance_ratio(np.ones(epochs), AR1, phi) == pytest.approx(closed, rel=1e-14)
    assert variance_ratio(np.ones(epochs), SHARED, 0.1) == pytest.approx(3.9, rel=1e-14)
    assert variance_ratio(np.ones(5), SHARED, 1) == 5
    assert variance_ratio([3.0], AR1, 0.9) == 1


def test_ar1_of_three_tenths_turns_one_per_cent_into_four() -> None:
    """The figure of the design: 4.2 % within 30 epochs of equal spread."""
    ratio = variance_ratio(np.ones(30), AR1, 0.3)
    assert normal_violation(0.01, ratio) == pytest.approx(0.042, abs=0.0005)
    assert normal_violation(0.01, ratio) == pytest.approx(
        stats.norm.sf(stats.norm.isf(0.01) / math.sqrt(ratio)), rel=1e-12
    )


def test_the_bounds_of_the_verdict_in_violations() -> None:
    assert normal_violation(0.01, 1.5) == pytest.approx(0.0287, abs=5e-4)
    assert normal_violation(0.01, 0.7) == pytest.approx(0.0027, abs=5e-4)
    assert normal_violation(0.5, 7) == 0.5


@given(st.floats(1e-6, 0.4), st.floats(0.1, 10))
def test_a_violation_is_planned_with_by_the_inverse(violation: float, ratio: float) -> None:
    nominal = float(stats.norm.cdf(stats.norm.ppf(violation) * math.sqrt(ratio)))
    assert normal_violation(nominal, ratio) == pytest.approx(violation, rel=1e-6)


def planned(models: list[str]) -> Plan:
    return Plan(
        data=(ClusterData(cluster="site", datasets=("data",)),),
        epochs=tuple(PlannedEpoch(model=name, cluster="site", resources=4.0) for name in models),
    )


def at_one_per_cent(instance: Instance, plan: Plan) -> Instance:
    """The instance with l_max moved to where the plan misses with 1 %."""
    loss = final_loss(instance, plan)
    quantile = certified_quantile(loss, instance.replace(quantile_level=0.99).target.violation_budget)
    return instance.replace(maximum_loss=quantile.upper, maximum_epochs=len(plan.epochs))


@pytest.mark.parametrize(("kind", "correlation"), [(AR1, 0.3), (AR1, -0.3), (SHARED, 0.05), (SHARED, 0.0)])
def test_normal_increments_are_counted_as_the_formula_says(
    bell: Instance, kind: Dependence, correlation: float
) -> None:
    plan = planned(["net"] * 30)
    instance = at_one_per_cent(bell.replace(maximum_epochs=30), plan)
    found = dependent_violation(instance, plan, kind, correlation, np.random.default_rng(1))
    assert found.nominal == pytest.approx(0.01, rel=1e-6)
    assert found.variance_ratio == pytest.approx(variance_ratio(np.ones(30), kind, correlation), rel=1e-12)
    assert found.counted.lower <= found.normal <= found.counted.upper
    assert found.counted.samples == 100_000


def test_the_papers_law_under_ar1_misses_four_times_as_often_as_promised(bell: Instance) -> None:
    improvement = InverseSqrtImprovement(scale=2, offset=3, noise=InverseGamma(mean=1, variance=0.03))
    instance = bell.replace(
        models=[Model(name="net", size=1, demand=2, improvement=improvement)], maximum_epochs=30
    )
    plan = planned(["net"] * 30)
    rng = np.random.default_rng(2)
    found = dependent_violation(at_one_per_cent(instance, plan), plan, AR1, 0.3, rng, samples=30_000)
    assert found.counted.lower > 0.03
    assert found.counted.upper < 0.05


def test_jumps_stay_independent(bell: Instance) -> None:
    """Improvements of variance 1 with correlation rho, a jump of variance 4: R = (2 + 2 rho + 4) / 6."""
    improvement = ConstantImprovement(noise=Normal(mean=2, variance=1))
    models = [Model(name=name, size=1, demand=2, improvement=improvement) for name in ("net", "cut")]
    rows = [Switch(previous="net", following="cut", law=Normal(mean=1, variance=4))]
    instance = bell.replace(models=models, switches=rows)
    found = dependent_violation(instance, planned(["net", "cut"]), SHARED, 0.6, np.random.default_rng(3))
    assert found.variance_ratio == pytest.approx((2 + 1.2 + 4) / 6, rel=1e-12)
    assert found.counted.lower <= found.normal <= found.counted.upper


@pytest.mark.parametrize(
    ("weights", "kind", "correlation", "message"),
    [
        ([1.0], AR1, 1.0, "ar1 must lie between -1 and 1"),
        ([1.0], SHARED, -0.1, "shared must lie between 0 and 1"),
        ([0.0, 0.0], AR1, 0.3, "not all 0"),
        ([1.0, -1.0], AR1, 0.3, "at least 0"),
        ([1.0, math.inf], AR1, 0.3, "finite"),
    ],
)
def test_numbers_out_of_range_are_refused(
    weights: list[float], kind: Dependence, correlation: float, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        variance_ratio(weights, kind, correlation)


@pytest.mark.parametrize("arguments", [(0.0, 1.0), (1.0, 1.0), (0.1, 0.0), (0.1, math.inf)])
def test_only_probabilities_and_positive_ratios_are_translated(arguments: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match="probability inside"):
        normal_violation(*arguments)


def test_plans_without_variance_or_with_too_much_are_refused(steady: Instance) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="not all 0"):
        dependent_violation(steady, planned(["net"]), AR1, 0.3, rng)
    heavy = ConstantImprovement(noise=InverseGamma(shape=1.5, scale=1))
    instance = steady.replace(models=[Model(name="net", size=1, demand=2, improvement=heavy)])
    with pytest.raises(NotCoveredError, match="finite variance"):
        dependent_violation(instance, planned(["net"]), AR1, 0.3, rng)
    assert Deterministic(value=1).moments().variance == 0
