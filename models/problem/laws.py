"""Probability laws of the loss increments: their moments, support, distribution function and samples.

An improvement per epoch is ``X`` of eq. (8) of the paper (inverse gamma there; normal, lognormal,
deterministic or empirical here), a switch changes the loss by a Student-t (Sec. VI-A), normal,
deterministic or empirical amount. The transforms that the certified quantile needs live in
`depl.models.risk.transforms`; nothing here knows about quantiles.
"""

import functools
import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import scipy
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray
from scipy import special

from depl.models.foundation.documents import Checked
from depl.models.foundation.errors import InvalidInputError, NotCoveredError

Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
FloatArray = NDArray[np.float64]

SMALLEST_RELATIVE_VARIANCE = 1e-12
"""variance / mean**2 of an inverse gamma or lognormal law; below it, its parameters drown in rounding."""


NO_LAW = (
    "the instance declares no law of its losses (type undeclared), so no probability is known; "
    "plan on given scenarios, by --method scenario-search, milp or milp-resource with --scenarios FILE.npz, "
    "or declare the laws"
)
"""What is said where a law is needed and none is declared."""


class Moments(NamedTuple):
    """Mean and variance (infinite where the integral diverges) of a law."""

    mean: float
    variance: float


class Law(Checked, frozen=True, kw_only=True):
    """What every law of a random increment ``X`` offers."""

    heavy_right_tail: ClassVar[bool] = False
    """Whether ``E exp(t X)`` is infinite for every ``t > 0``."""

    def moments(self) -> Moments:
        """Mean and variance of ``X``."""
        raise TypeError(f"{type(self).__name__} has no moments")  # pragma: no cover - abstract

    def support(self) -> tuple[float, float]:
        """Essential infimum and supremum of ``X``."""
        raise TypeError(f"{type(self).__name__} has no support")  # pragma: no cover - abstract

    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x), elementwise."""
        raise TypeError(f"{type(self).__name__} has no distribution function")  # pragma: no cover - abstract

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """``size`` independent draws of ``X``."""
        raise TypeError(f"{type(self).__name__} cannot be sampled")  # pragma: no cover - abstract

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Least x with P(X <= x) >= u, elementwise, for 0 < u < 1."""
        raise TypeError(f"{type(self).__name__} cannot be inverted")  # pragma: no cover - abstract


class InverseGamma(Law, frozen=True, kw_only=True, tag="inverse_gamma"):
    """Inverse gamma law, given by (shape, scale) or by (mean, variance).

    The density is proportional to ``x**(-shape - 1) * exp(-scale / x)`` on x > 0. With moments,
    shape = mean**2 / variance + 2 and scale = mean (shape - 1). A shape of at most 1 is refused:
    such a law has no mean.
    """

    heavy_right_tail: ClassVar[bool] = True

    shape: Annotated[float, Meta(gt=1)] | None = None
    scale: Positive | None = None
    mean: Positive | None = None
    variance: Positive | None = None

    def validate(self) -> None:
        """Require exactly one of the two parameter pairs, and some spread."""
        _one_pair(self, ("shape", "scale"), ("mean", "variance"))
        shape, _ = self.shape_scale()
        _require_spread(1 / (shape - 2) if shape > 2 else math.inf)

    def shape_scale(self) -> tuple[float, float]:
        """Shape (> 1) and scale (> 0), whichever way the law was given."""
        if self.shape is not None and self.scale is not None:
            return self.shape, self.scale
        mean, variance = self.moments()
        shape = mean**2 / variance + 2
        return shape, mean * (shape - 1)

    def moments(self) -> Moments:
        """Mean ``scale / (shape - 1)``; the variance is infinite for shape <= 2."""
        if self.mean is not None and self.variance is not None:
            return Moments(self.mean, self.variance)
        shape, scale = self.shape_scale()
        mean = scale / (shape - 1)
        return Moments(mean, mean**2 / (shape - 2) if shape > 2 else math.inf)

    def support(self) -> tuple[float, float]:
        """(0, infinity)."""
        return 0.0, math.inf

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Regularised upper incomplete gamma function of ``scale / x``."""
        shape, scale = self.shape_scale()
        with np.errstate(over="ignore"):  # scale / x of the smallest x is infinite, where the law has no mass
            return np.asarray(scipy.stats.invgamma.cdf(x, shape, scale=scale), dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Reciprocals of gamma draws."""
        shape, scale = self.shape_scale()
        return scale / rng.standard_gamma(shape, size)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Reciprocals of gamma quantiles."""
        shape, scale = self.shape_scale()
        return np.asarray(scale / special.gammainccinv(shape, np.asarray(u, dtype=float)), dtype=float)


class Normal(Law, frozen=True, kw_only=True, tag="normal"):
    """Normal law with given mean and variance (> 0; use `Deterministic` for no spread)."""

    mean: float
    variance: Positive

    def moments(self) -> Moments:
        """The two parameters."""
        return Moments(self.mean, self.variance)

    def support(self) -> tuple[float, float]:
        """The whole line."""
        return -math.inf, math.inf

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Normal distribution function."""
        return np.asarray(scipy.stats.norm.cdf(x, self.mean, math.sqrt(self.variance)), dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Normal draws."""
        return rng.normal(self.mean, math.sqrt(self.variance), size)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Normal quantiles."""
        return np.asarray(self.mean + math.sqrt(self.variance) * special.ndtri(u), dtype=float)


class Lognormal(Law, frozen=True, kw_only=True, tag="lognormal"):
    """Law of ``exp(Y)`` with Y normal, given by (log_mean, log_variance) of Y or by (mean, variance)."""

    heavy_right_tail: ClassVar[bool] = True

    log_mean: float | None = None
    log_variance: Positive | None = None
    mean: Positive | None = None
    variance: Positive | None = None

    def validate(self) -> None:
        """Require exactly one of the two parameter pairs, some spread, and no overflow."""
        _one_pair(self, ("log_mean", "log_variance"), ("mean", "variance"))
        mu, sigma = self.log_parameters()
        if 2 * abs(mu) + 2 * sigma**2 > 300:
            raise InvalidInputError("the moments overflow; rescale, or choose a smaller variance")
        _require_spread(math.expm1(sigma**2))

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

    def support(self) -> tuple[float, float]:
        """(0, infinity)."""
        return 0.0, math.inf

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Normal distribution function of the logarithm."""
        mu, sigma = self.log_parameters()
        return np.asarray(scipy.stats.lognorm.cdf(x, sigma, scale=math.exp(mu)), dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Exponentials of normal draws."""
        mu, sigma = self.log_parameters()
        return rng.lognormal(mu, sigma, size)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Exponentials of normal quantiles."""
        mu, sigma = self.log_parameters()
        return np.asarray(np.exp(mu + sigma * special.ndtri(u)), dtype=float)


class Deterministic(Law, frozen=True, kw_only=True, tag="deterministic"):
    """A constant."""

    value: float

    def moments(self) -> Moments:
        """The value, without variance."""
        return Moments(self.value, 0.0)

    def support(self) -> tuple[float, float]:
        """The value itself."""
        return self.value, self.value

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Step at the value."""
        return np.where(np.asarray(x, dtype=float) >= self.value, 1.0, 0.0)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """The value, ``size`` times."""
        return np.full(size, self.value)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """The value."""
        return np.full(np.shape(u), self.value)


class Empirical(Law, frozen=True, kw_only=True, tag="empirical"):
    """Observed values with equal or given weights (normalised to sum 1)."""

    values: Annotated[tuple[float, ...], Meta(min_length=1)]
    weights: Annotated[tuple[Positive, ...], Meta(min_length=1)] | None = None

    def validate(self) -> None:
        """Require one weight per value."""
        if self.weights is not None and len(self.weights) != len(self.values):
            raise InvalidInputError(
                f"has {len(self.weights)} entries for {len(self.values)} values; give one weight per value",
                ".weights",
            )

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        """Values and probabilities, both of shape (n,)."""
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        return np.array(self.values), weights / weights.sum()

    def moments(self) -> Moments:
        """Weighted mean and (population) variance of the values."""
        values, probabilities = self.atoms()
        mean = float(probabilities @ values)
        return Moments(mean, float(probabilities @ (values - mean) ** 2))

    def support(self) -> tuple[float, float]:
        """Least and greatest value."""
        return min(self.values), max(self.values)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Weight of the values that do not exceed ``x``."""
        values, probabilities = self.atoms()
        order = np.argsort(values, kind="stable")
        cumulative: FloatArray = np.concatenate([[0.0], np.cumsum(probabilities[order])])
        cumulative /= cumulative[-1]  # not quite 1 after rounding
        return np.asarray(
            cumulative[np.searchsorted(values[order], np.asarray(x, dtype=float), side="right")]
        )

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws with replacement."""
        values, probabilities = self.atoms()
        return rng.choice(values, size, p=probabilities)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """The first value whose cumulative weight reaches u."""
        values, probabilities = self.atoms()
        order = np.argsort(values, kind="stable")
        cumulative = np.cumsum(probabilities[order])
        place = np.searchsorted(cumulative / cumulative[-1], np.asarray(u, dtype=float), side="left")
        return np.asarray(values[order][np.minimum(place, len(values) - 1)], dtype=float)


class StudentT(Law, frozen=True, kw_only=True, tag="student_t"):
    """Student-t law with location and scale, optionally truncated to [lower, upper] and renormalised."""

    degrees_of_freedom: Positive
    location: float
    scale: Positive
    lower: float | None = None
    upper: float | None = None

    def validate(self) -> None:
        """Require a proper interval, or a mean where there is none."""
        if (self.lower is None) != (self.upper is None):
            raise InvalidInputError("give both lower and upper to truncate the law, or neither")
        if self.scale < 1e-9 * abs(self.location):
            raise InvalidInputError(
                f"is lost in the rounding of location = {self.location}; use a deterministic law", ".scale"
            )
        if self.lower is None and self.degrees_of_freedom <= 1:
            raise InvalidInputError(
                "an untruncated Student-t needs more than 1 degree of freedom to have a mean; truncate it",
                ".degrees_of_freedom",
            )
        if self.lower is not None and self.upper is not None:
            if self.lower >= self.upper:
                raise InvalidInputError(f"must lie above lower = {self.lower}", ".upper")
            if self.interval_mass() < 1e-12:
                raise InvalidInputError(
                    "the interval [lower, upper] has probability zero under this law; move it", ".lower"
                )

    @property
    def truncated(self) -> bool:
        """Whether the law lives on a bounded interval."""
        return self.lower is not None

    def interval_mass(self) -> float:
        """Probability of the interval before renormalisation (1 if untruncated)."""
        if self.lower is None or self.upper is None:
            return 1.0
        return float(self._mass_between(self.lower, np.asarray(self.upper)))

    def moments(self) -> Moments:
        """Closed form if untruncated, quadrature of the density otherwise."""
        if not self.truncated:
            nu = self.degrees_of_freedom
            return Moments(self.location, self.scale**2 * nu / (nu - 2) if nu > 2 else math.inf)
        points, weights = self.quadrature()
        mean = float(weights @ points)
        return Moments(mean, float(weights @ (points - mean) ** 2))

    def quadrature(
        self, order: int = 40, panel: float = math.inf, damped: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Composite Gauss-Legendre points and probability weights of the truncated law, shapes (n,).

        Panels are at most ``scale * sqrt(nu)`` wide near the centre and grow in proportion to the
        distance from it, so that the poles of the density stay outside a Bernstein ellipse of
        parameter 3 around every panel; and at most ``6 * scale``, because with many degrees of freedom
        the density is as large as exp(+y**2 / 2) at i y: 40 points then integrate the density to far
        below rounding. ``panel`` bounds the width further, for integrands that oscillate or grow; if these
        fall exponentially from the lower (``damped`` = -1) or the upper end (+1) on, only near that end.
        """
        return _truncated_quadrature(self, order, panel, damped)

    def support(self) -> tuple[float, float]:
        """The truncation interval, or the whole line."""
        if self.lower is None or self.upper is None:
            return -math.inf, math.inf
        return self.lower, self.upper

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Student-t distribution function, renormalised to the interval."""
        points = np.asarray(x, dtype=float)
        if self.lower is None or self.upper is None:
            return np.asarray(special.stdtr(self.degrees_of_freedom, self._standard(points)), dtype=float)
        mass = self._mass_between(self.lower, np.clip(points, self.lower, self.upper))
        return np.asarray(np.clip(mass / self.interval_mass(), 0.0, 1.0), dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws, by inversion where truncated."""
        nu = self.degrees_of_freedom
        if self.lower is None or self.upper is None:
            return self.location + self.scale * rng.standard_t(nu, size)
        return self.inverse_cdf(rng.random(size))

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Student-t quantiles; truncated, inverted in the tail that keeps its accuracy."""
        nu, uniform = self.degrees_of_freedom, np.asarray(u, dtype=float)
        if self.lower is None or self.upper is None:
            return np.asarray(self.location + self.scale * special.stdtrit(nu, uniform), dtype=float)
        mass = uniform * self.interval_mass()
        sign = 1.0 if self.lower > self.location else -1.0
        base = special.stdtr(nu, -sign * self._standard(np.asarray(self.lower)))
        drawn = -sign * special.stdtrit(nu, base - sign * mass)
        return np.asarray(np.clip(self.location + self.scale * drawn, self.lower, self.upper), dtype=float)

    def _standard(self, points: FloatArray) -> FloatArray:
        return (points - self.location) / self.scale

    def _mass_between(self, lower: float, upper: FloatArray) -> FloatArray:
        """P(lower < X <= upper) of the untruncated law; upper-tail differences keep their accuracy."""
        sign = -1.0 if lower > self.location else 1.0
        low, high = self._standard(np.asarray(lower)), self._standard(upper)
        nu = self.degrees_of_freedom
        return np.asarray(
            sign * (special.stdtr(nu, sign * high) - special.stdtr(nu, sign * low)), dtype=float
        )


class Undeclared(Law, frozen=True, kw_only=True, tag="undeclared"):
    """No law: what is known of ``X`` are scenarios that are given with it.

    Plans are made for such scenarios only; whatever asks for a probability is refused.
    """

    def moments(self) -> Moments:
        """Refused."""
        raise NotCoveredError(NO_LAW)

    def support(self) -> tuple[float, float]:
        """Refused."""
        raise NotCoveredError(NO_LAW)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Refused."""
        raise NotCoveredError(NO_LAW)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Refused."""
        raise NotCoveredError(NO_LAW)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Refused."""
        raise NotCoveredError(NO_LAW)


class Zero(Checked, frozen=True, kw_only=True, tag="zero"):
    """A switch that leaves the loss as it is."""


class Forbidden(Checked, frozen=True, kw_only=True, tag="forbidden"):
    """A switch that may not be made."""


ImprovementLaw = InverseGamma | Normal | Lognormal | Deterministic | Empirical | Undeclared
SwitchLaw = StudentT | Normal | Deterministic | Empirical | Zero | Forbidden | Undeclared


@functools.cache
def _legendre(order: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return nodes, weights


@functools.lru_cache(maxsize=1024)
def _truncated_quadrature(
    law: StudentT, order: int, panel: float, damped: int
) -> tuple[FloatArray, FloatArray]:
    if law.lower is None or law.upper is None:
        raise InvalidInputError("an untruncated Student-t has no finite quadrature")
    nu, location, scale = law.degrees_of_freedom, law.location, law.scale
    width = scale * min(math.sqrt(nu), 6.0)
    edges = _graded_edges(law.lower - location, law.upper - location, width, panel, damped) + location
    nodes, weights = _legendre(order)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + nodes)).ravel()
    mass = (half * weights).ravel() * scipy.stats.t.pdf(points, nu, location, scale)
    mass /= mass.sum()
    points.setflags(write=False)
    mass.setflags(write=False)
    return points, mass


def _one_pair(law: Law, first: tuple[str, str], second: tuple[str, str]) -> None:
    given = [name for name in (*first, *second) if getattr(law, name) is not None]
    if given not in (list(first), list(second)):
        raise InvalidInputError(
            f"give exactly {first[0]} and {first[1]}, or exactly {second[0]} and {second[1]}; "
            f"got {given or 'none'}"
        )


def _require_spread(relative_variance: float) -> None:
    if relative_variance < SMALLEST_RELATIVE_VARIANCE:
        raise InvalidInputError(
            f"the relative variance {relative_variance:.2g} is below {SMALLEST_RELATIVE_VARIANCE:g}; "
            "use a normal or deterministic law"
        )


def _graded_edges(lower: float, upper: float, width: float, longest: float, damped: int) -> FloatArray:
    """Panel edges on [lower, upper] around the centre 0: max(width, |x|), but at most ``longest``, apart.

    Where what is integrated falls from one end on, panels may be as long as half their distance from it: in
    a Bernstein ellipse of parameter 3, which reaches a third of a panel beyond it, it is still below its
    value at that end.
    """
    edges = [lower]
    while edges[-1] < upper:
        here = edges[-1]
        away = (here - lower) / 2 if damped < 0 else (upper - here) / 3 if damped > 0 else 0.0
        step = max(width, -here / 2 if here < 0 else here)
        edges.append(min(here + min(step, max(longest, away)), upper))
    return np.array(edges)
