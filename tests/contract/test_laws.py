"""Every law, those included that the tests alone know, passes `depl.testing.check_law`; wrong ones do not."""

import math

import numpy as np
import pytest
from scipy import stats

from depl.models.problem.laws import (
    BUILT_IN,
    Deterministic,
    Empirical,
    Forbidden,
    InverseGamma,
    Lognormal,
    Moments,
    Normal,
    StudentT,
    Undeclared,
    Zero,
    register_law,
)
from depl.testing import BrokenPromiseError, check_law
from tests.cases.gamma_law import BareGammaLaw, GammaLaw

CONTINUOUS = [
    (InverseGamma(shape=5.5, scale=4.0), stats.invgamma(5.5, scale=4.0)),
    (InverseGamma(mean=1.0, variance=0.01), stats.invgamma(102.0, scale=101.0)),
    (InverseGamma(shape=1.9, scale=1.0), stats.invgamma(1.9, scale=1.0)),
    (Lognormal(log_mean=0.2, log_variance=0.25), stats.lognorm(0.5, scale=math.exp(0.2))),
    (Lognormal(mean=1.0, variance=0.01), stats.lognorm(math.sqrt(math.log1p(0.01)), scale=1.01**-0.5)),
    (Normal(mean=-2.0, variance=9.0), stats.norm(-2.0, 3.0)),
    (StudentT(degrees_of_freedom=5.0, location=0.3, scale=0.1), stats.t(5.0, 0.3, 0.1)),
    (GammaLaw(shape=25.0, scale=0.04), stats.gamma(25.0, scale=0.04)),
    (GammaLaw(shape=0.7, scale=2.0), stats.gamma(0.7, scale=2.0)),
    (BareGammaLaw(shape=4.0, scale=0.5), stats.gamma(4.0, scale=0.5)),
]
OTHERS = [
    Deterministic(value=-2.5),
    Empirical(values=(1.0, 2.0, 4.0)),
    Empirical(values=(3.0, -1.0), weights=(1.0, 4.0)),
    Zero(),
    Forbidden(),
    Undeclared(),
]


@pytest.fixture(autouse=True)
def _registered(own_laws):
    register_law(GammaLaw)
    register_law(BareGammaLaw)


def test_no_law_of_the_toolkit_is_left_out():
    assert {type(law) for law in [*(law for law, _ in CONTINUOUS), *OTHERS]} >= set(BUILT_IN)


@pytest.mark.parametrize(("law", "reference"), CONTINUOUS, ids=lambda item: type(item).__name__)
def test_a_law_is_what_an_independent_distribution_says(law, reference):
    check_law(law, reference)


@pytest.mark.parametrize("law", OTHERS, ids=repr)
def test_a_law_without_a_density_is_what_its_values_say_and_one_that_knows_nothing_says_so(law):
    check_law(law)


TRUE = GammaLaw(shape=6.0, scale=0.5)
"""Mean 3 and variance 1.5."""

WRONG = {
    "the mean": ("moments", lambda _: Moments(3.001, 1.5)),
    "the variance": ("moments", lambda _: Moments(3.0, 1.51)),
    "the third moment": ("third_moment", lambda _: 1.0),
    "the slack of its tails": ("survival_slack", lambda _, points: 1e-6),
    "P(X > x)": ("survival", lambda law, x: law.scipy.sf(x) * (1 + 1e-9)),
    "P(X <= x)": ("cdf", lambda law, x: law.scipy.cdf(x) * (1 + 1e-9)),
    "the density": ("density", lambda law, x: law.scipy.pdf(x) * (1 + 1e-7)),
    "quantiles": ("quantile", lambda law, level, upper=False: law.scipy.ppf(level) * (1 + 1e-6)),
    "upper quantiles": ("quantile", lambda law, level, upper=False: law.scipy.ppf(level)),
    "the quantiles of draws": ("inverse_cdf", lambda law, u: law.scipy.isf(u)),
    "the sensitivity": ("argument_sensitivity", lambda _, greatest: 0.1),
    "the support": ("support", lambda _: (0.1, math.inf)),
    "the transform": ("centred_log_transform", lambda _, z: (6.001 * (z / 2 - np.log1p(z / 2)), 0 * z.real)),
    "the error of the transform": ("centred_log_transform", lambda _, z: (transform(z), 1e-6 + 0 * z.real)),
    "no transform": ("transform_domain", lambda _: None),
    "the tilted divergence": ("tilted_cumulants", lambda _, u: (u, *CUMULANTS(TRUE, u)[1:])),
    "the third tilted cumulant": ("tilted_cumulants", lambda _, u: (*CUMULANTS(TRUE, u)[:3], u, u)),
    "draws": ("sample", lambda law, rng, size: 1.05 * law.scipy.rvs(size, random_state=rng)),
    "words": ("in_words", lambda _: "GammaLaw(shape=6)"),
    "its document": ("__eq__", lambda law, other: False),
    "its fit": ("fitted", lambda sample: GammaLaw(shape=7.0, scale=float(sample.mean()) / 7)),
}
"""What a law says wrongly, by the relation that it breaks."""

CUMULANTS = GammaLaw.tilted_cumulants


def transform(z):
    """The centred one of `TRUE`."""
    return 6 * (z / 2 - np.log1p(z / 2))


@pytest.mark.parametrize("relation", WRONG)
def test_what_a_law_says_wrongly_is_named(relation, monkeypatch):
    method, wrong = WRONG[relation]
    monkeypatch.setattr(GammaLaw, method, wrong)
    with pytest.raises(BrokenPromiseError, match="GammaLaw") as found:
        check_law(TRUE)
    assert found.value.relation == relation
