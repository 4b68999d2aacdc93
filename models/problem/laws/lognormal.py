"""The lognormal law."""

import functools
import math
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special
from scipy.special import lambertw

from depl.models.foundation.documents import Positive
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.laws.law import (
    MOMENT_ROUNDING,
    Law,
    Moments,
    Nodes,
    require_one_pair,
    require_spread,
)
from depl.models.problem.laws.log_variable import (
    COARSEST,
    FINEST,
    ComplexArray,
    FloatArray,
    LogVariable,
    weighed,
)


class Lognormal(Law, frozen=True, kw_only=True, tag="lognormal"):
    """Law of ``exp(Y)`` with Y normal, given by (log_mean, log_variance) of Y or by (mean, variance)."""

    for_switches: ClassVar[bool] = False
    unimodal: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    heavy_right_tail: ClassVar[bool] = True
    decays: ClassVar[bool] = True
    tilts: ClassVar[bool] = True

    log_mean: float | None = None
    log_variance: Positive | None = None
    mean: Positive | None = None
    variance: Positive | None = None

    def validate(self) -> None:
        """Require exactly one of the two parameter pairs, some spread, and no overflow."""
        require_one_pair(self, ("log_mean", "log_variance"), ("mean", "variance"))
        mu, sigma = self.log_parameters()
        if 2 * abs(mu) + 2 * sigma**2 > 300:
            raise InvalidInputError("the moments overflow; rescale, or choose a smaller variance")
        require_spread(math.expm1(sigma**2))

    def log_parameters(self) -> tuple[float, float]:
        """Mean and standard deviation of the logarithm."""
        if self.log_mean is not None and self.log_variance is not None:
            return self.log_mean, math.sqrt(self.log_variance)
        mean, variance = self.moments()
        log_variance = math.log1p(variance / mean**2)
        return math.log(mean) - log_variance / 2, math.sqrt(log_variance)

    def moments(self) -> Moments:
        """Mean ``exp(mu + sigma**2 / 2)`` and variance ``mean**2 (exp(sigma**2) - 1)``."""
        if self.mean is not None and self.variance is not None:
            return Moments(self.mean, self.variance)
        mu, sigma = self.log_parameters()
        mean = math.exp(mu + sigma**2 / 2)
        return Moments(mean, mean**2 * math.expm1(sigma**2))

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Exponentials of normal draws."""
        mu, sigma = self.log_parameters()
        return rng.lognormal(mu, sigma, size)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Exponentials of normal quantiles."""
        mu, sigma = self.log_parameters()
        return np.asarray(np.exp(mu + sigma * special.ndtri(u)), dtype=float)

    def distribution(self) -> Any:
        """scipy's lognormal."""
        mu, sigma = self.log_parameters()
        return scipy.stats.lognorm(sigma, 0.0, math.exp(mu))

    def mean_rounding(self) -> float:
        """Where the logarithm was given, the exponent is rounded in its own size."""
        mean = abs(self.moments().mean)
        if self.log_mean is None:
            return 0.51 * mean
        mu, sigma = self.log_parameters()
        return mean * (4 + abs(mu) + sigma**2)

    def third_moment(self) -> float:
        """By E |.|**3 <= sqrt(E (.)**2 E (.)**4)."""
        mean, variance = self.moments()
        spread = math.log1p(variance / mean**2)
        kurtosis = math.exp(4 * spread) + 2 * math.exp(3 * spread) + 3 * math.exp(2 * spread) - 3
        return variance * math.sqrt(variance) * math.sqrt(kurtosis) * (1 + MOMENT_ROUNDING)

    def argument_sensitivity(self, greatest: float) -> float:
        """x f(x) is the density of the logarithm."""
        return 1 / self.log_parameters()[1]

    def transform_domain(self) -> tuple[float, float]:
        """Re z > 0."""
        return 0.0, math.inf

    def log_variable(self) -> LogVariable:
        """Of the normal logarithm."""
        return _log_normal(self)

    def tilt_points(self, least: float) -> Nodes:
        """The trapezoidal rule for log X, which is exact to rounding; see `InverseGamma.tilt_points`."""
        centre, spread = self.log_parameters()
        step = min(FINEST * spread, COARSEST)
        grid = np.arange(centre - 38 * spread, centre + spread**2 + 11 * spread, step)
        return weighed(grid, -((grid - centre) ** 2) / (2 * spread**2), self.moments().mean)


@functools.lru_cache(maxsize=256)
def _log_normal(law: Lognormal) -> LogVariable:
    mu, sigma = law.log_parameters()
    unit = math.exp(mu) if law.mean is None else law.mean * math.exp(-(sigma**2) / 2)

    def log_density(y: ComplexArray) -> ComplexArray:
        return -(y**2) / (2 * sigma**2)

    def damping(a: FloatArray) -> FloatArray:
        # exp(y) >= exp(t) (1 + y - t) for every t; this one is the best. Without it a narrow law, for which
        # E exp(-z (X - E X)) is small against exp(Re z E X), would be summed over a million points.
        t = -lambertw(a * sigma**2).real
        return np.asarray(t * (1 - t / 2) / sigma**2, dtype=float)

    return LogVariable(
        unit=unit,
        excess=math.expm1(sigma**2 / 2),
        spread=math.exp(sigma**2 / 2) * min(math.sqrt(math.expm1(sigma**2)), 2.0),
        log_density=log_density,
        inflation=lambda angle: angle**2 / (2 * sigma**2),
        damping=damping,
        turning_point=lambda z: -lambertw(z * sigma**2),
        largest_angle=math.inf,
        condition=16.0,
        remainder_ok=True,
        left=12 * sigma,
        right=12 * sigma + 3 * sigma**2,
        log_norm=math.log(sigma * math.sqrt(2 * math.pi)),
    )
