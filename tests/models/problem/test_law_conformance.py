"""Every law of the toolkit, and those that the tests alone know, pass the checks of `law_conformance`."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import (
    BUILT_IN,
    Deterministic,
    Empirical,
    FloatArray,
    Forbidden,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    StudentT,
    Undeclared,
    Zero,
    register_law,
)
from tests.cases.gamma_law import BareGammaLaw, GammaLaw
from tests.models.problem import law_conformance as conformance


@dataclass(frozen=True)
class Cut:
    """A Student-t between two ends, from scipy's whole one."""

    base: Any
    low: float
    high: float

    @property
    def mass(self) -> float:
        return float(self.base.cdf(self.high) - self.base.cdf(self.low))

    def pdf(self, x: FloatArray) -> FloatArray:
        inside = (np.asarray(x) >= self.low) & (np.asarray(x) <= self.high)
        return np.where(inside, self.base.pdf(x), 0.0) / self.mass

    def cdf(self, x: FloatArray) -> FloatArray:
        return (self.base.cdf(np.clip(x, self.low, self.high)) - self.base.cdf(self.low)) / self.mass

    def sf(self, x: FloatArray) -> FloatArray:
        return (self.base.sf(np.clip(x, self.low, self.high)) - self.base.sf(self.high)) / self.mass

    def ppf(self, level: FloatArray) -> FloatArray:
        return np.clip(self.base.ppf(self.base.cdf(self.low) + level * self.mass), self.low, self.high)

    def isf(self, level: FloatArray) -> FloatArray:
        return np.clip(self.base.isf(self.base.sf(self.high) + level * self.mass), self.low, self.high)


CONTINUOUS: list[tuple[Law, Any]] = [
    (InverseGamma(shape=5.5, scale=4.0), stats.invgamma(5.5, scale=4.0)),
    (InverseGamma(mean=1.0, variance=0.01), stats.invgamma(102.0, scale=101.0)),
    (InverseGamma(shape=1.9, scale=1.0), stats.invgamma(1.9, scale=1.0)),
    (Lognormal(log_mean=0.2, log_variance=0.25), stats.lognorm(0.5, scale=math.exp(0.2))),
    (Lognormal(mean=1.0, variance=0.01), stats.lognorm(math.sqrt(math.log1p(0.01)), scale=1.01**-0.5)),
    (Normal(mean=-2.0, variance=9.0), stats.norm(-2.0, 3.0)),
    (StudentT(degrees_of_freedom=5.0, location=0.3, scale=0.1), stats.t(5.0, 0.3, 0.1)),
    (
        StudentT(degrees_of_freedom=4.0, location=0.3, scale=0.2, lower=0.0, upper=0.9),
        Cut(stats.t(4.0, 0.3, 0.2), 0.0, 0.9),
    ),
    (GammaLaw(shape=25.0, scale=0.04), stats.gamma(25.0, scale=0.04)),
    (GammaLaw(shape=0.7, scale=2.0), stats.gamma(0.7, scale=2.0)),
    (BareGammaLaw(shape=4.0, scale=0.5), stats.gamma(4.0, scale=0.5)),
]
DISCRETE: list[Law] = [
    Deterministic(value=-2.5),
    Empirical(values=(1.0, 2.0, 4.0)),
    Empirical(values=(3.0, -1.0), weights=(1.0, 4.0)),
    Zero(),
]
UNKNOWN: list[Law] = [Forbidden(), Undeclared()]
PAIRS = pytest.mark.parametrize(("law", "reference"), CONTINUOUS, ids=lambda item: type(item).__name__)


@pytest.fixture(autouse=True)
def _registered(own_laws: None) -> None:
    register_law(GammaLaw)
    register_law(BareGammaLaw)


def test_no_law_of_the_toolkit_is_left_out() -> None:
    assert {type(law) for law in [*(law for law, _ in CONTINUOUS), *DISCRETE, *UNKNOWN]} >= set(BUILT_IN)


@PAIRS
def test_moments_are_integrals(law: Law, reference: Any) -> None:
    conformance.check_moments(law, reference)


@PAIRS
def test_tails_and_quantiles_are_those_of_the_reference(law: Law, reference: Any) -> None:
    conformance.check_tails(law, reference)
    conformance.check_support(law, reference)


@PAIRS
def test_transforms_are_integrals_within_their_bound(law: Law, reference: Any) -> None:
    conformance.check_transform(law, reference)
    conformance.check_decay(law)
    conformance.check_tilt(law, reference)


@PAIRS
def test_samples_follow_the_law(law: Law, reference: Any) -> None:
    conformance.check_samples(law, reference)


@pytest.mark.parametrize("law", [*(law for law, _ in CONTINUOUS), *DISCRETE, *UNKNOWN], ids=repr)
def test_documents_and_words(law: Law) -> None:
    conformance.check_document(law)
    conformance.check_wording(law)


# A truncated Student-t is left out: it is fitted as a whole one, its interval is known and not estimated.
@pytest.mark.parametrize("law", [law for law, base in CONTINUOUS if not isinstance(base, Cut)], ids=repr)
def test_a_fit_recovers_the_law(law: Law) -> None:
    conformance.check_fit(law)


@pytest.mark.parametrize("law", DISCRETE, ids=repr)
def test_laws_without_a_density_agree_with_their_values(law: Law) -> None:
    values, weights = law.atoms() if law.has_atoms else (np.array([law.constant]), np.ones(1))
    mean, variance = law.moments()
    assert mean == pytest.approx(float(weights @ values))
    assert variance == pytest.approx(float(weights @ (values - mean) ** 2))
    assert law.support() == (values.min(), values.max())
    drawn = law.sample(np.random.default_rng(3), 2000)
    for value, weight in zip(values, weights, strict=True):
        assert abs((drawn == value).mean() - weight) < 0.05
        assert float(law.cdf(value) - law.cdf(value - 1e-9)) == pytest.approx(weight)
    with pytest.raises(NotCoveredError, match="density"):
        law.density(0.0)


@pytest.mark.parametrize("law", UNKNOWN, ids=repr)
def test_what_knows_no_probability_says_so(law: Law) -> None:
    asked = (law.moments, law.support, lambda: law.cdf(0.0), lambda: law.sample(np.random.default_rng(0), 1))
    for ask in asked:
        with pytest.raises(NotCoveredError, match=r"law"):
            ask()


def test_one_function_makes_every_check(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name for name in vars(conformance) if name.startswith("check_")} - {"check_law"}
    made: list[str] = []
    for name in names:
        monkeypatch.setattr(conformance, name, lambda *_, name=name: made.append(name))
    conformance.check_law(Normal(mean=1.0, variance=1.0), stats.norm(1.0, 1.0))
    assert sorted(made) == sorted(names)
    assert len(names) >= 10


@pytest.mark.parametrize("law", [Deterministic(value=1.0), Normal(mean=1.0, variance=1.0)], ids=repr)
def test_a_wrong_law_is_noticed(law: Law) -> None:
    with pytest.raises((AssertionError, NotCoveredError)):
        conformance.check_tails(law, stats.norm(1.0, 1.1))
