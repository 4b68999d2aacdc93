"""The normal law."""

import math
from typing import Any, ClassVar

import numpy as np
import scipy

from depl.models.foundation.documents import Positive
from depl.models.problem.laws.law import MOMENT_ROUNDING, Law, Moments
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray


class Normal(Law, frozen=True, kw_only=True, tag="normal"):
    """Normal law with given mean and variance (> 0; use `Deterministic` for no spread)."""

    is_normal: ClassVar[bool] = True
    unimodal: ClassVar[bool] = True
    decays: ClassVar[bool] = True
    tilts: ClassVar[bool] = True

    mean: float
    variance: Positive

    def moments(self) -> Moments:
        """The two parameters."""
        return Moments(self.mean, self.variance)

    def distribution(self) -> Any:
        """scipy's normal law."""
        return scipy.stats.norm(self.mean, math.sqrt(self.variance))

    def mean_rounding(self) -> float:
        """One product by the weight."""
        return 0.51 * abs(self.mean)

    def third_moment(self) -> float:
        """sqrt(8 / pi) sigma**3."""
        cube = self.variance * math.sqrt(self.variance)
        return math.sqrt(8 / math.pi) * cube * (1 + MOMENT_ROUNDING)

    def argument_sensitivity(self, greatest: float) -> float:
        """The density is at most 1 / sigma."""
        return greatest / math.sqrt(self.variance)

    def transform_domain(self) -> tuple[float, float]:
        """Everywhere."""
        return -math.inf, math.inf

    def centred_log_transform(self, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
        """z**2 sigma**2 / 2."""
        value = z * z * (self.variance / 2)
        return value, 4 * EPSILON * np.abs(value)

    def tilt_unit(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def tilted_cumulants(self, u: FloatArray) -> tuple[FloatArray, ...]:
        """Those of any normal law: a tilt moves it."""
        ones, zeros = np.ones(len(u)), np.zeros(len(u))
        return u**2 / 2, u**2, ones, zeros, zeros

    def moved(self, mean: float, spread: float) -> "Normal":
        """By its moments."""
        return Normal(mean=self.mean * mean, variance=self.variance * spread**2)
