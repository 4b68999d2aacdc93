"""A law that the toolkit does not know: gamma, as a user would add it, and a twin that offers the least.

`GammaLaw` offers all that is optional; `BareGammaLaw`, of the same distribution, nothing but that.
"""

import math
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from scipy import optimize, special, stats

from depl.models.problem.laws import Law, Moments, Positive

EPSILON = float(np.finfo(float).eps)


class GammaLaw(Law, frozen=True, kw_only=True, tag="gamma"):
    """Gamma law: the density is proportional to ``x**(shape - 1) * exp(-x / scale)`` on x > 0."""

    positive: ClassVar[bool] = True
    decays: ClassVar[bool] = True
    tilts: ClassVar[bool] = True

    shape: Annotated[float, Meta(gt=0)]
    scale: Positive

    def distribution(self):
        """scipy's gamma."""
        return stats.gamma(self.shape, scale=self.scale)

    def moments(self):
        """Closed forms, which are quicker than scipy's."""
        return Moments(self.shape * self.scale, self.shape * self.scale**2)

    def mean_rounding(self):
        """Two products."""
        return 1.01 * self.shape * self.scale

    def third_moment(self):
        """By E |.|**3 <= sqrt(E (.)**2 E (.)**4), with kurtosis 3 + 6 / shape."""
        variance = self.moments().variance
        return variance**1.5 * math.sqrt(3 + 6 / self.shape) * (1 + 1e-9)

    def argument_sensitivity(self, greatest):
        """x f(x) = y**shape exp(-y) / Gamma(shape), y = x / scale, is greatest at y = shape: Stirling."""
        del greatest
        return math.sqrt(self.shape)

    def transform_domain(self):
        """Re z > -1 / scale."""
        return -1 / self.scale, math.inf

    def centred_log_transform(self, z):
        """-shape (ln(1 + scale z) - scale z)."""
        w = self.scale * z
        value = -self.shape * (special.log1p(w) - w)
        return value, 16 * EPSILON * self.shape * np.abs(w)

    def tilted_cumulants(self, u):
        """A tilted gamma law is a gamma law: of X / E X, with r = u / shape."""
        r, a = u / self.shape, self.shape
        divergence = a * (np.log1p(r) - r / (1 + r))
        cumulants = (math.factorial(j - 1) / (a ** (j - 1) * (1 + r) ** j) for j in (2, 3, 4))
        return divergence, u * r / (1 + r), *cumulants

    @classmethod
    def parameters(cls):
        """Shape and scale."""
        return "shape", "scale"

    @classmethod
    def fitted(cls, sample):
        """The shape solves ln a - psi(a) = ln mean x - mean ln x."""
        deficit = float(np.log(sample.mean()) - np.log(sample).mean())

        def excess(logarithm):
            return logarithm - float(special.psi(math.exp(logarithm))) - deficit

        shape = math.exp(float(optimize.brentq(excess, -20.0, 30.0, xtol=1e-12)))
        return cls(shape=shape, scale=float(sample.mean()) / shape)

    def rescaled(self, factor):
        """The scale times the factor."""
        return GammaLaw(shape=self.shape, scale=self.scale * factor)

    def spread_out(self, factor):
        """By its moments."""
        return GammaLaw(shape=self.shape / factor, scale=self.scale * factor)

    def moved(self, mean, spread):
        """By its moments."""
        ratio = (spread / mean) ** 2
        return GammaLaw(shape=self.shape / ratio, scale=self.scale * ratio * mean)


class BareGammaLaw(Law, frozen=True, kw_only=True, tag="bare_gamma"):
    """The same law, of which nothing is offered but the distribution."""

    shape: Positive
    scale: Positive

    def distribution(self):
        """scipy's gamma."""
        return stats.gamma(self.shape, scale=self.scale)
