r"""Maximum likelihood for the laws that ratios and switch jumps are fitted with, for many samples at once.

Sec. VI-A of the paper fits an inverse gamma to the ratios x of eq. (8) and a Student-t to the switch
jumps. A parametric bootstrap (erratum E7) repeats the fit a thousand times, so every function here works on
rows: samples have shape (b, n), parameters shape (b, p).

- Inverse gamma, location 0: 1 / x is gamma, whose shape a solves log a - psi(a) = log mean y - mean log y
  with y = 1 / x, by Newton's method in 1 / a; the scale is a / mean y.
- Lognormal, normal: mean and (population) variance of log x, or of x.
- Student-t: location and scale by the EM algorithm with expanded parameters (Liu, Rubin and Wu, Biometrika
  85, 1998), nu by a search of the profile likelihood in 1 / nu over [2.1, 100]. Below 2.1 the variance would
  be (nearly) infinite; at 100 the law is a normal for all that a sample can tell.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.golden import GOLDEN
from depl.models.problem.laws import (
    FloatArray,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    StudentT,
    registered_laws,
)

LEAST_DEGREES, MOST_DEGREES = 2.1, 100.0
"""Bounds of nu, the degrees of freedom of a fitted Student-t."""

_NEWTON_STEPS = 60
"""Steps of Newton's method at most: from within 1.5 % the error is squared by each, so some four reach 1e-14;
the others are for arguments where rounding delays the end."""

_EM_STEPS, _LAST_EM_STEPS = 8, 80
_NODES, _GOLDEN_STEPS = 8, 24
_AT_BOUND, _TIE = 1e-4, 1e-7


class Family:
    """A family of laws that can be fitted to rows of samples.

    Attributes
    ----------
    name : str
        As in the JSON of an instance.
    names : tuple of str
        Of the parameters.
    positive : bool
        Whether the laws live on x > 0, so that one nonpositive value refutes the family.
    """

    name: str
    names: tuple[str, ...]
    positive: bool

    def fit(self, samples: FloatArray) -> FloatArray:
        """Parameters of greatest likelihood, shape (b, p), of samples of shape (b, n)."""
        raise NotImplementedError

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """P(X <= x), row by row, shape (b, n)."""
        raise NotImplementedError

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Sum of the log density over each row, shape (b,)."""
        raise NotImplementedError

    def draw(self, parameters: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Independent draws with one set of parameters, of shape (p,)."""
        raise NotImplementedError

    def law_of_ratios(self, parameters: FloatArray) -> tuple[float, Law]:
        """The mean of the fitted law, and the law of X divided by that mean, so that E[X] = 1.

        Raises
        ------
        InvalidInputError
            If the law has no positive mean, or an improvement cannot follow the family.
        """
        raise InvalidInputError(f"an improvement cannot follow the family {self.name!r}")

    def law_of_jumps(self, parameters: FloatArray) -> Law:
        """The fitted law of a switch jump.

        Raises
        ------
        InvalidInputError
            If a switch cannot follow the family.
        """
        raise InvalidInputError(f"a switch cannot follow the family {self.name!r}")


class InverseGammaFamily(Family):
    """Inverse gamma with location 0: shape, scale."""

    name, names, positive = "inverse_gamma", ("shape", "scale"), True

    def fit(self, samples: FloatArray) -> FloatArray:
        """Maximum likelihood by Newton's method; see the module."""
        logs = -np.log(samples)
        centre = logs.mean(axis=1, keepdims=True)
        excess = np.expm1(logs - centre).mean(axis=1)
        shape = gamma_shape(np.log1p(excess))
        return np.column_stack([shape, shape * np.exp(-centre[:, 0]) / (1 + excess)])

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Upper incomplete gamma function of scale / x; 0 where x <= 0."""
        inside = samples > 0
        reciprocal = 1 / np.where(inside, samples, 1.0)
        found = special.gammaincc(parameters[:, :1], parameters[:, 1:] * reciprocal)
        return np.asarray(np.where(inside, found, 0.0))

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """a log b - log Gamma(a) - (a + 1) log x - b / x, summed."""
        shape, scale = parameters[:, :1], parameters[:, 1:]
        terms = shape * np.log(scale) - special.gammaln(shape) - (shape + 1) * np.log(samples)
        return np.asarray((terms - scale / samples).sum(axis=1))

    def draw(self, parameters: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Reciprocals of gamma draws."""
        return np.asarray(parameters[1] / rng.standard_gamma(parameters[0], shape))

    def law_of_ratios(self, parameters: FloatArray) -> tuple[float, Law]:
        """Of shape and scale."""
        shape, scale = (float(value) for value in parameters)
        if shape <= 1:
            raise InvalidInputError(
                f"the fitted inverse gamma has shape {shape:.3g} <= 1, so no mean; choose another law"
            )
        return scale / (shape - 1), InverseGamma(shape=shape, scale=shape - 1)


class LognormalFamily(Family):
    """Lognormal: mean and standard deviation of the logarithm."""

    name, names, positive = "lognormal", ("log_mean", "log_deviation"), True

    def fit(self, samples: FloatArray) -> FloatArray:
        """Moments of the logarithms."""
        return NORMAL.fit(np.log(samples))

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Normal distribution function of log x; 0 where x <= 0."""
        inside = samples > 0
        found = NORMAL.cdf(parameters, np.log(np.where(inside, samples, 1.0)))
        return np.asarray(np.where(inside, found, 0.0))

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """That of the logarithms, less the sum of log x."""
        logs = np.log(samples)
        return np.asarray(NORMAL.log_likelihood(parameters, logs) - logs.sum(axis=1))

    def draw(self, parameters: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Exponentials of normal draws."""
        return np.asarray(rng.lognormal(parameters[0], parameters[1], shape))

    def law_of_ratios(self, parameters: FloatArray) -> tuple[float, Law]:
        """Of the moments of the logarithm."""
        mu, sigma = (float(value) for value in parameters)
        law = Lognormal(log_mean=-(sigma**2) / 2, log_variance=sigma**2)
        return math.exp(mu + sigma**2 / 2), law


class NormalFamily(Family):
    """Normal: mean and standard deviation."""

    name, names, positive = "normal", ("mean", "deviation"), False

    def fit(self, samples: FloatArray) -> FloatArray:
        """Mean and population standard deviation."""
        return np.column_stack([samples.mean(axis=1), samples.std(axis=1)])

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Normal distribution function."""
        return np.asarray(special.ndtr((samples - parameters[:, :1]) / parameters[:, 1:]))

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """-(z**2 + log(2 pi sigma**2)) / 2, summed."""
        standard = (samples - parameters[:, :1]) / parameters[:, 1:]
        terms = standard**2 + np.log(2 * np.pi * parameters[:, 1:] ** 2)
        return np.asarray(-terms.sum(axis=1) / 2)

    def draw(self, parameters: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Normal draws."""
        return rng.normal(parameters[0], parameters[1], shape)

    def law_of_ratios(self, parameters: FloatArray) -> tuple[float, Law]:
        """Of a positive mean."""
        mean, deviation = (float(value) for value in parameters)
        if mean <= 0:
            raise InvalidInputError(
                "the ratios have no positive mean; the curve does not describe these losses"
            )
        return mean, Normal(mean=1.0, variance=(deviation / mean) ** 2)

    def law_of_jumps(self, parameters: FloatArray) -> Law:
        """Of mean and deviation."""
        return Normal(mean=float(parameters[0]), variance=float(parameters[1]) ** 2)


class StudentTFamily(Family):
    """Student-t with nu in [2.1, 100]: degrees of freedom, location, scale."""

    name, names, positive = "student_t", ("degrees_of_freedom", "location", "scale"), False

    def fit(self, samples: FloatArray) -> FloatArray:
        """Maximum likelihood within the bounds of nu; see the module."""
        location = np.median(samples, axis=1)
        spread = np.median(np.abs(samples - location[:, None]), axis=1)
        scale = np.where(spread > 0, 1.5 * spread, samples.std(axis=1))
        search = _Profile(samples, location, np.maximum(scale, np.finfo(float).tiny))
        inverse = _maximised(search, len(samples), 1 / MOST_DEGREES, 1 / LEAST_DEGREES)
        search(inverse, _LAST_EM_STEPS)
        degrees = np.clip(1 / inverse, LEAST_DEGREES, MOST_DEGREES)
        return np.column_stack([degrees, search.location, search.scale])

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Student-t distribution function."""
        standard = (samples - parameters[:, 1:2]) / parameters[:, 2:]
        return np.asarray(special.stdtr(parameters[:, :1], standard))

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Of the density with these three parameters."""
        degrees, location, scale = parameters.T
        return _t_log_likelihood(samples, degrees, location, scale)

    def draw(self, parameters: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Student-t draws."""
        return np.asarray(parameters[1] + parameters[2] * rng.standard_t(parameters[0], shape))

    def law_of_jumps(self, parameters: FloatArray) -> Law:
        """The normal limit where nu reaches its upper bound."""
        degrees, location, scale = (float(value) for value in parameters)
        if degrees >= MOST_DEGREES * (1 - 1e-6):
            return Normal(mean=location, variance=scale**2 * degrees / (degrees - 2))
        return StudentT(degrees_of_freedom=degrees, location=location, scale=scale)


class RegisteredFamily(Family):
    """The family of a registered law, by its own `Law.fitted`, one row after another."""

    def __init__(self, kind: type[Law]) -> None:
        self.kind = kind
        self.name, self.names, self.positive = kind.tag(), kind.parameters(), kind.positive

    def law(self, parameters: FloatArray) -> Law:
        """The member with these parameters."""
        return self.kind(**dict(zip(self.names, (float(value) for value in parameters), strict=True)))

    def fit(self, samples: FloatArray) -> FloatArray:
        """Parameters of every row."""
        found = [self.kind.fitted(row) for row in samples]
        return np.array([[float(getattr(law, name)) for name in self.names] for law in found])

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """P(X <= x), row by row."""
        rows = zip(parameters, samples, strict=True)
        return np.array([self.law(own).cdf(row) for own, row in rows])

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Sum of the log density over each row."""
        rows = zip(parameters, samples, strict=True)
        return np.array([float(self.law(own).scipy.logpdf(row).sum()) for own, row in rows])

    def draw(self, parameters: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        """Draws with one set of parameters."""
        return self.law(parameters).sample(rng, shape[0] * shape[1]).reshape(shape)

    def law_of_ratios(self, parameters: FloatArray) -> tuple[float, Law]:
        """The law divided by its mean."""
        law = self.law(parameters)
        mean = law.moments().mean
        if not 0 < mean < math.inf:
            raise InvalidInputError(f"the fitted {self.name} law has no positive mean; choose another law")
        return mean, law.rescaled(1 / mean)

    def law_of_jumps(self, parameters: FloatArray) -> Law:
        """The law itself."""
        return self.law(parameters)


INVERSE_GAMMA = InverseGammaFamily()
LOGNORMAL = LognormalFamily()
NORMAL = NormalFamily()
STUDENT_T = StudentTFamily()

IMPROVEMENT_FAMILIES: tuple[Family, ...] = (INVERSE_GAMMA, LOGNORMAL, NORMAL)
"""What the ratios x of eq. (8) are fitted with; the paper's first."""

SWITCH_FAMILIES: tuple[Family, ...] = (STUDENT_T, NORMAL)
"""What the switch jumps are fitted with; the paper's first."""


def improvement_families() -> tuple[Family, ...]:
    """`IMPROVEMENT_FAMILIES`, and those of registered laws that can be fitted."""
    kinds = (kind for kind in registered_laws() if kind.for_improvements and kind.parameters())
    return (*IMPROVEMENT_FAMILIES, *map(RegisteredFamily, kinds))


def switch_families() -> tuple[Family, ...]:
    """`SWITCH_FAMILIES`, and those of registered laws that can be fitted."""
    kinds = (kind for kind in registered_laws() if kind.for_switches and kind.parameters())
    return (*SWITCH_FAMILIES, *map(RegisteredFamily, kinds))


def family_of(name: str) -> Family:
    """The family of that name."""
    return next(item for item in (*improvement_families(), *switch_families()) if item.name == name)


def gamma_shape(deficit: FloatArray) -> FloatArray:
    """The root a > 0 of log a - psi(a) = ``deficit`` > 0, elementwise.

    Newton's method for the score in 1 / a, from a start that is within 1.5 % (Minka, Estimating a Gamma
    distribution, 2002).
    """
    shape = (3 - deficit + np.sqrt((deficit - 3) ** 2 + 24 * deficit)) / (12 * deficit)
    for _ in range(_NEWTON_STEPS):
        slope = shape - shape**2 * special.polygamma(1, shape)
        following = 1 / (1 / shape + (np.log(shape) - special.psi(shape) - deficit) / slope)
        moved = np.abs(following - shape)
        shape = following
        if np.all(moved <= 1e-14 * shape):
            break
    return np.asarray(shape)


class _Profile:
    """Likelihood of rows under a Student-t given 1 / nu, location and scale improved at every call."""

    def __init__(self, samples: FloatArray, location: FloatArray, scale: FloatArray) -> None:
        self.samples, self.location, self.scale = samples, location, scale

    def __call__(self, inverse: FloatArray, steps: int = _EM_STEPS) -> FloatArray:
        degrees = 1 / inverse
        for _ in range(steps):
            distance = (self.samples - self.location[:, None]) ** 2
            weights = 1 / (degrees[:, None] + distance / self.scale[:, None] ** 2)
            total = weights.sum(axis=1)
            self.location = np.einsum("ij,ij->i", weights, self.samples) / total
            distance = (self.samples - self.location[:, None]) ** 2
            self.scale = np.sqrt(np.einsum("ij,ij->i", weights, distance) / total)
        return _t_log_likelihood(self.samples, degrees, self.location, self.scale)


def _t_log_likelihood(
    samples: FloatArray, degrees: FloatArray, location: FloatArray, scale: FloatArray
) -> FloatArray:
    standard = (samples - location[:, None]) / scale[:, None]
    constant = special.gammaln((degrees + 1) / 2) - special.gammaln(degrees / 2)
    constant -= np.log(np.pi * degrees) / 2 + np.log(scale)
    logs = np.log1p(standard**2 / degrees[:, None]).sum(axis=1)
    return np.asarray(samples.shape[1] * constant - (degrees + 1) / 2 * logs)


def _maximised(
    function: Callable[[FloatArray], FloatArray], rows: int, lower: float, upper: float
) -> FloatArray:
    """Row-wise maximiser on [lower, upper]: the best of a few points, then golden sections around it."""
    nodes = np.linspace(lower, upper, _NODES)
    best = np.argmax([function(np.full(rows, node)) for node in nodes], axis=0)
    low, high = nodes[np.maximum(best - 1, 0)], nodes[np.minimum(best + 1, _NODES - 1)]
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_GOLDEN_STEPS):
        keep_left = at_left >= at_right
        low, high = np.where(keep_left, low, left), np.where(keep_left, right, high)
        point = np.where(keep_left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = function(point)
        left, right = np.where(keep_left, point, right), np.where(keep_left, left, point)
        at_left, at_right = np.where(keep_left, value, at_right), np.where(keep_left, at_left, value)
    found = (low + high) / 2
    value = function(found)
    for end in (lower, upper):
        near = np.abs(found - end) <= _AT_BOUND * (upper - lower)
        at_end = function(np.where(near, end, found))
        found = np.where(near & (at_end >= value - _TIE), end, found)
    return np.asarray(found)
