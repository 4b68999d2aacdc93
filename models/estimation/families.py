"""Families of laws, fitted by maximum likelihood to many samples at once, and how well they fit (Sec. VI-A).

The textbook's Kolmogorov-Smirnov p-value is that of a law fixed before the data were seen; with *fitted*
parameters put in it hardly ever rejects. The honest one, a parametric bootstrap (erratum E7), repeats all
that was done to the data, so functions work on rows: samples have shape (b, n), parameters shape (b, p).
The Student-t has location and scale by the EM algorithm with expanded parameters (Liu, Rubin and Wu,
Biometrika 85, 1998). Below nu = 2.1 its variance is (nearly) infinite, at 100 it is a normal law.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import special

from depl.models.estimation.choices import RESAMPLES
from depl.models.estimation.curve import row_maxima
from depl.models.foundation.errors import InvalidInputError
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

LEAST_SAMPLE = 5
"""Fewest numbers that a law with two or three parameters is fitted to."""

NO_SPREAD = 1e-12
"""Relative range of values that are the same but for rounding: differences of losses of like size are off by
some units of 2**-53, and a law of no spread cannot be fitted."""

_LARGEST_BLOCK = 2_000_000
"""Doubles of resamples in memory at a time: 16 MB."""


class Family(NamedTuple):
    """A family of laws that can be fitted to rows of samples.

    Attributes
    ----------
    name : str
        As in the JSON of an instance.
    names : tuple of str
        Of the parameters.
    positive : bool
        Whether the laws live on x > 0, so that one nonpositive value refutes the family.
    fit : callable
        Parameters of greatest likelihood, shape (b, p), of samples of shape (b, n).
    distribution : callable
        The distribution of `scipy.stats` that every row of parameters stands for.
    draw : callable
        Independent draws with one set of parameters, of a generator and a shape.
    law : callable
        The law of X / unit, of one set of parameters and a unit.
    """

    name: str
    names: tuple[str, ...]
    positive: bool
    fit: Callable[[FloatArray], FloatArray]
    distribution: Callable[[FloatArray], Any]
    draw: Callable[[FloatArray, np.random.Generator, tuple[int, int]], FloatArray]
    law: Callable[[Sequence[float], float], Law]

    def cdf(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """P(X <= x), row by row, shape (b, n)."""
        return np.asarray(self.distribution(parameters).cdf(samples))

    def log_likelihood(self, parameters: FloatArray, samples: FloatArray) -> FloatArray:
        """Sum of the log density over each row, shape (b,)."""
        return np.asarray(self.distribution(parameters).logpdf(samples).sum(axis=1))

    def law_of_ratios(self, parameters: Sequence[float]) -> tuple[float, Law]:
        """The mean of the fitted law, and the law of X divided by that mean, so that E[X] = 1.

        Raises
        ------
        InvalidInputError
            If the law has no positive mean, like an inverse gamma of shape 1 or less.
        """
        fitted = f"the fitted {self.name.replace('_', ' ')} law"
        try:
            mean = self.law(parameters, 1.0).moments().mean
        except InvalidInputError as error:
            raise InvalidInputError(f"{fitted} has no mean ({error}); choose another law") from error
        if not 0 < mean < np.inf:
            raise InvalidInputError(f"{fitted} has no positive mean; choose another law")
        return mean, self.law(parameters, mean)


@dataclass(frozen=True)
class GoodnessOfFit:
    """How far a sample is from its fitted law.

    Attributes
    ----------
    statistic : float
        Kolmogorov-Smirnov distance D, the greatest difference of the two distribution functions.
    paper_p_value : float
        P(D or more) for a law that was not fitted to the data (exactly); the reading of Sec. VI-A.
    bootstrap_p_value : float
        The same with the fit repeated on every resample; between 1 / (resamples + 1) and 1.
    """

    statistic: float
    paper_p_value: float
    bootstrap_p_value: float


def goodness_of_fit(
    family: Family,
    sample: FloatArray,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    again: Callable[[FloatArray], FloatArray] | None = None,
) -> GoodnessOfFit:
    """Fit one sample of independent draws and judge the fit.

    Parameters
    ----------
    sample : float array (n,)
        Finite, and positive if the family is.
    rng : numpy.random.Generator
        Of the resamples.
    resamples : int
        How many.
    again : callable, optional
        What else was done to the data before the fit, and is done to resamples, too, shape (b, n).

    Raises
    ------
    InvalidInputError
        If the sample is too small, or without spread.
    """
    size = sample.size
    if size < LEAST_SAMPLE:
        raise InvalidInputError(f"a law is fitted to at least {LEAST_SAMPLE} numbers, not {size}")
    if np.ptp(sample) <= NO_SPREAD * np.abs(sample).max():
        raise InvalidInputError(f"all {size} numbers are {sample[0]:g}; use a deterministic law")
    parameters = family.fit(sample[None, :])
    statistic = float(distances(family, parameters, sample[None, :])[0])
    rows, as_far = max(1, _LARGEST_BLOCK // size), 1
    for done in range(0, resamples, rows):
        block = family.draw(parameters[0], rng, (min(rows, resamples - done), size))
        block = block if again is None else again(block)
        as_far += int(np.count_nonzero(distances(family, family.fit(block), block) >= statistic))
    paper_p_value = float(scipy.stats.kstwo.sf(statistic, size))
    return GoodnessOfFit(statistic, paper_p_value, as_far / (1 + resamples))


def distances(family: Family, parameters: FloatArray, samples: FloatArray) -> FloatArray:
    """Kolmogorov-Smirnov distance of every row from its law, shape (b,).

    Parameters
    ----------
    parameters : float array (b, p)
    samples : float array (b, n)
    """
    heights = family.cdf(parameters, np.sort(samples, axis=1))
    size = samples.shape[1]
    ranks = np.arange(size) / size
    return np.asarray(np.maximum(ranks + 1 / size - heights, heights - ranks).max(axis=1))


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


def _fitted_inverse_gamma(samples: FloatArray) -> FloatArray:
    """With y = 1 / x: log a - psi(a) = log mean y - mean log y, and the scale is a / mean y."""
    logs = -np.log(samples)
    centre = logs.mean(axis=1, keepdims=True)
    excess = np.expm1(logs - centre).mean(axis=1)
    shape = gamma_shape(np.log1p(excess))
    return np.column_stack([shape, shape * np.exp(-centre[:, 0]) / (1 + excess)])


def _fitted_normal(samples: FloatArray) -> FloatArray:
    return np.column_stack([samples.mean(axis=1), samples.std(axis=1)])


def _fitted_student_t(samples: FloatArray) -> FloatArray:
    """Maximum likelihood within the bounds of nu."""
    location = np.median(samples, axis=1)
    spread = np.median(np.abs(samples - location[:, None]), axis=1)
    scale = np.where(spread > 0, 1.5 * spread, samples.std(axis=1))
    profile = _Profile(samples, location, np.maximum(scale, np.finfo(float).tiny))
    lower, upper = 1 / MOST_DEGREES, 1 / LEAST_DEGREES
    nodes = np.linspace(lower, upper, _NODES)
    heights = np.stack([profile(np.full(len(samples), node)) for node in nodes], axis=1)
    inverse = row_maxima(profile, nodes, heights, _GOLDEN_STEPS)
    value = profile(inverse)
    for end in (lower, upper):
        near = np.abs(inverse - end) <= _AT_BOUND * (upper - lower)
        at_end = profile(np.where(near, end, inverse))
        inverse = np.where(near & (at_end >= value - _TIE), end, inverse)
    profile(inverse, _LAST_EM_STEPS)
    degrees = np.clip(1 / inverse, LEAST_DEGREES, MOST_DEGREES)
    return np.column_stack([degrees, profile.location, profile.scale])


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
        standard = (self.samples - self.location[:, None]) / self.scale[:, None]
        constant = special.gammaln((degrees + 1) / 2) - special.gammaln(degrees / 2)
        constant -= np.log(np.pi * degrees) / 2 + np.log(self.scale)
        logs = np.log1p(standard**2 / degrees[:, None]).sum(axis=1)
        return np.asarray(self.samples.shape[1] * constant - (degrees + 1) / 2 * logs)


def _student_t(parameters: Sequence[float], unit: float) -> Law:
    """The normal limit where nu reaches its upper bound."""
    degrees, location, scale = parameters[0], parameters[1] / unit, parameters[2] / unit
    if degrees >= MOST_DEGREES * (1 - 1e-6):
        return Normal(mean=location, variance=scale**2 * degrees / (degrees - 2))
    return StudentT(degrees_of_freedom=degrees, location=location, scale=scale)


INVERSE_GAMMA = Family(
    "inverse_gamma",
    ("shape", "scale"),
    True,
    fit=_fitted_inverse_gamma,
    distribution=lambda own: scipy.stats.invgamma(own[:, :1], scale=own[:, 1:]),
    draw=lambda own, rng, shape: np.asarray(own[1] / rng.standard_gamma(own[0], shape)),
    law=lambda own, unit: InverseGamma(shape=own[0], scale=own[1] / unit),
)
LOGNORMAL = Family(
    "lognormal",
    ("log_mean", "log_deviation"),
    True,
    fit=lambda samples: _fitted_normal(np.log(samples)),
    distribution=lambda own: scipy.stats.lognorm(own[:, 1:], scale=np.exp(own[:, :1])),
    draw=lambda own, rng, shape: rng.lognormal(own[0], own[1], shape),
    law=lambda own, unit: Lognormal(log_mean=own[0] - float(np.log(unit)), log_variance=own[1] ** 2),
)
NORMAL = Family(
    "normal",
    ("mean", "deviation"),
    False,
    fit=_fitted_normal,
    distribution=lambda own: scipy.stats.norm(own[:, :1], own[:, 1:]),
    draw=lambda own, rng, shape: rng.normal(own[0], own[1], shape),
    law=lambda own, unit: Normal(mean=own[0] / unit, variance=(own[1] / unit) ** 2),
)
STUDENT_T = Family(
    "student_t",
    ("degrees_of_freedom", "location", "scale"),
    False,
    fit=_fitted_student_t,
    distribution=lambda own: scipy.stats.t(own[:, :1], own[:, 1:2], own[:, 2:]),
    draw=lambda own, rng, shape: np.asarray(own[1] + own[2] * rng.standard_t(own[0], shape)),
    law=_student_t,
)


def improvement_families() -> tuple[Family, ...]:
    """What the ratios x of eq. (8) are fitted with: the paper's first, registered laws last."""
    kinds = (kind for kind in registered_laws() if kind.for_improvements and kind.parameters())
    return (INVERSE_GAMMA, LOGNORMAL, NORMAL, *map(_registered, kinds))


def switch_families() -> tuple[Family, ...]:
    """What the switch jumps are fitted with: the paper's first, registered laws last."""
    kinds = (kind for kind in registered_laws() if kind.for_switches and kind.parameters())
    return (STUDENT_T, NORMAL, *map(_registered, kinds))


def family_of(name: str) -> Family:
    """The family of that name."""
    return next(item for item in (*improvement_families(), *switch_families()) if item.name == name)


def _registered(kind: type[Law]) -> Family:
    """The family of a registered law, by its own `Law.fitted`, one row after another."""
    names = kind.parameters()

    def law(own: Sequence[float], unit: float = 1.0) -> Law:
        member = kind(**dict(zip(names, map(float, own), strict=True)))
        return member if unit == 1.0 else member.rescaled(1 / unit)

    def fit(samples: FloatArray) -> FloatArray:
        found = [kind.fitted(row) for row in samples]
        return np.array([[float(getattr(member, name)) for name in names] for member in found])

    def draw(own: FloatArray, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
        return law(own.tolist()).sample(rng, shape[0] * shape[1]).reshape(shape)

    return Family(
        kind.tag(), names, kind.positive, fit, lambda own: _Rows([law(row) for row in own]), draw, law
    )


class _Rows:
    """A law of its own for every row, as `scipy.stats` has one distribution of many parameters."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self.laws = laws

    def cdf(self, samples: FloatArray) -> FloatArray:
        return np.array([law.cdf(row) for law, row in zip(self.laws, samples, strict=True)])

    def logpdf(self, samples: FloatArray) -> FloatArray:
        return np.array([law.scipy.logpdf(row) for law, row in zip(self.laws, samples, strict=True)])
