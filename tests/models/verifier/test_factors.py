"""Series over the factors of many increments: against every factor by itself."""

from fractions import Fraction

import numpy as np
import pytest

from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.verifier import convolution
from depl.models.verifier.convolution import TiltableSum, tail_of_tiltable
from depl.models.verifier.factors import series_over
from depl.models.verifier.laws import Increment


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_series_gives_a_smooth_function_at_every_factor(sign):
    def waves(factors):
        return np.exp(1j * np.outer(factors, [0.0, 1.0, 2.0]))

    factors = sign * np.random.default_rng(1).uniform(0.5, 2.0, 300)
    series = series_over(waves, factors)
    assert series.for_factors(factors) == pytest.approx(waves(factors), abs=3e-14)
    refined = series_over(waves, factors, refinement=1)
    assert len(refined.coefficients) != len(series.coefficients)
    assert refined.for_factors(factors) == pytest.approx(waves(factors), abs=3e-14)


def test_no_series_where_a_function_is_not_smooth_or_not_known():
    factors = np.linspace(0.5, 2.0, 200)
    assert series_over(lambda at: np.abs(at - 1.1)[:, None], factors) is None
    assert series_over(lambda at: None, factors) is None
    equal = series_over(lambda at: at[:, None], np.full(5, 0.25))
    assert equal.for_factors(np.full(5, 0.25))[:, 0] == pytest.approx(0.25, rel=1e-14)


@pytest.mark.parametrize(
    ("law", "share"),
    [
        (InverseGamma(mean=1.0, variance=0.1), 0.3),
        pytest.param(Normal(mean=1.0, variance=0.5), 0.01, marks=pytest.mark.slow),
        pytest.param(InverseGamma(mean=1.0, variance=0.8), 0.01, marks=pytest.mark.slow),
        pytest.param(InverseGamma(mean=1.0, variance=0.8), 0.3, marks=pytest.mark.slow),
        pytest.param(Lognormal(mean=1.0, variance=0.3), 0.01, marks=pytest.mark.slow),
        pytest.param(Lognormal(mean=1.0, variance=0.3), 0.3, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_long_sum_has_the_same_tail_as_with_every_factor_by_itself(law, share, monkeypatch):
    factors = [Fraction(-round(1e6 / (10 + k) ** 0.5), 10**6) for k in range(210)]
    increments = [Increment(factor, law, 1 + (k == 7)) for k, factor in enumerate(factors)]
    spread = float(sum(f * f for f in factors)) ** 0.5 * law.moments().variance ** 0.5
    gap = float(sum(factors)) + {0.01: 2.2, 0.3: 0.5}[share] * spread
    asked = []
    transform_of = convolution.transform_of
    monkeypatch.setattr(convolution, "transform_of", lambda *given: asked.append(1) or transform_of(*given))
    quick = tail_of_tiltable(increments, gap)
    few = len(asked)
    monkeypatch.setattr(convolution, "MANY", 10_000)
    convolution.summed.cache_clear()
    slow = tail_of_tiltable(increments, gap)
    assert few < len(asked) - few
    assert 0 < quick.lower < quick.upper < 1
    assert quick.lower <= slow.upper
    assert slow.lower <= quick.upper
    assert float(quick.upper) == pytest.approx(float(slow.upper), rel=2e-9)


def test_increments_of_both_signs_are_computed_one_by_one(monkeypatch):
    def refused(*given):
        raise AssertionError("a series over factors of both signs")

    law = Normal(mean=0.0, variance=0.5)
    increments = [Increment(Fraction((-1) ** k, 10 + k), law) for k in range(220)]
    monkeypatch.setattr(convolution, "series_over", refused)
    total = TiltableSum(increments)
    expected = sum(0.25 * float(item.coefficient) ** 2 for item in increments)
    assert total.log_moment(1.0) == pytest.approx(expected, rel=1e-9)
