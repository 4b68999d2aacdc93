"""The laws of the loss increments as the verifier sees them: scipy's densities and tails, nothing of ours.

Of `depl.models.problem.laws` only the recorded parameters are read, and of a law that was registered by
`depl.register_law` the distribution of scipy that it names; every number comes from `scipy.stats` or from
sums over the recorded values. The solvers' own methods of the laws, their transforms and quadratures are
not used, so that an error there cannot hide itself here.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import logsumexp

from depl.models.problem.laws import (
    Empirical,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    StudentT,
    is_registered,
)

FloatArray: TypeAlias = NDArray[np.float64]
RandomLaw: TypeAlias = Law

_NODES_PER_PANEL = 24
"""Gauss points of a panel. Panels end at twice the distance from the centre where they begin, so the error
for the density falls by (3 + sqrt 8)**2 = 34 a point, to 1e-17 with 11; the rest is for waves and tilts."""

_GREATEST_VARIANCE = Fraction(10) ** 99
"""Of a normal law that stands for several, and the least is one over it: no law may have more than 1e100."""


@dataclass(frozen=True)
class Bracket:
    """lower <= probability <= upper; both are the same fraction where the probability is known exactly."""

    lower: float | Fraction
    upper: float | Fraction


@dataclass(frozen=True)
class Increment:
    """``count`` independent copies of ``coefficient * X``, each added to the loss.

    The coefficient is exact where the instance's decimals determine it, because purely discrete laws
    are summed without rounding.
    """

    coefficient: Fraction
    law: RandomLaw
    count: int = 1

    @property
    def factor(self) -> float:
        """The coefficient as a float."""
        return float(self.coefficient)


@functools.lru_cache(maxsize=16_384)  # a few MiB: the values of a law are asked for again and again
def decimal(value: float) -> Fraction:
    """The decimal number that was written, exactly: 0.1 is 1/10."""
    return Fraction(repr(value))


def is_discrete(law: RandomLaw) -> bool:
    """Whether the law consists of atoms."""
    return isinstance(law, Empirical)


def is_truncated(law: RandomLaw) -> bool:
    """Whether the law has a density with jumps at the two ends of an interval."""
    return isinstance(law, StudentT) and law.lower is not None


def is_polynomial(law: RandomLaw) -> bool:
    """Whether both tails decay so slowly that no exponential moment exists: the untruncated Student-t."""
    return isinstance(law, StudentT) and law.lower is None


def is_smooth(law: RandomLaw) -> bool:
    """Whether the law has a smooth density whose loss-raising tail decays exponentially or faster."""
    return isinstance(law, InverseGamma | Lognormal | Normal) or _starts_at_zero(law)


def is_plain(increment: "Increment") -> bool:
    """Whether nothing but its distribution function is known of an increment.

    So it is of every law that no formula here is made for, unless X > 0 lowers the loss: then every tilt is
    finite, and whether samples of the density suffice is measured.
    """
    law = increment.law
    return not isinstance(law, _WITH_FORMULAS) and not (_starts_at_zero(law) and increment.coefficient < 0)


def _starts_at_zero(law: RandomLaw) -> bool:
    return not isinstance(law, _WITH_FORMULAS) and _support(law)[0] == 0.0


@functools.lru_cache(maxsize=1024)
def density_doubt(law: RandomLaw) -> float:
    """Relative error of scipy's density that comes with the parameters: its terms cancel at large shapes."""
    if not isinstance(law, InverseGamma):
        return 0.0
    return 4.0 * 2.0**-53 * abs(math.lgamma(float(distribution(law).args[0])))


@functools.lru_cache(maxsize=8192)  # a few KiB each, a millisecond to make; long plans have thousands of laws
def distribution(law: RandomLaw) -> Any:
    """scipy's frozen distribution; of a truncated Student-t, the one before truncation."""
    for kind, made in _DISTRIBUTIONS.items():
        if isinstance(law, kind):
            return made(law)
    if is_registered(law):
        return law.distribution()
    raise TypeError(f"the verifier knows no density of {type(law).__name__}")


def exceedance(increment: Increment, threshold: FloatArray) -> FloatArray:
    """P(coefficient * X > threshold) of one copy, elementwise, for a law with a density."""
    points = threshold / increment.factor
    return _above(increment.law, points) if increment.factor > 0 else _below(increment.law, points)


def ends(increment: Increment) -> tuple[float, float]:
    """Essential infimum and supremum of ``coefficient * X``."""
    low, high = sorted(increment.factor * end for end in _support(increment.law))
    return low, high


@functools.lru_cache(maxsize=8192)
def _support(law: RandomLaw) -> tuple[float, float]:
    """Essential infimum and supremum of X: as written, or as scipy says of the distribution."""
    if isinstance(law, Empirical):
        return min(law.values), max(law.values)
    if isinstance(law, StudentT) and law.lower is not None and law.upper is not None:
        return law.lower, law.upper
    low, high = distribution(law).support()
    return float(low), float(high)


@functools.lru_cache(maxsize=1024)
def expectation(law: RandomLaw) -> float:
    """E X, kept: thousands of epochs share a law."""
    if isinstance(law, Empirical):
        weights = [weight for _, weight in integer_atoms(law)]
        return float(sum(value * weight for value, weight in integer_atoms(law)) / sum(weights))
    if is_truncated(law):
        points, weights_there = panel_nodes(law, math.inf)
        return float(points @ weights_there)
    return float(distribution(law).mean())


def log_expectation(increment: Increment) -> float:
    """ln E exp(coefficient * X) of one copy, X with atoms."""
    values, weights = point_nodes(increment.law, math.inf)
    return float(logsumexp(increment.factor * values, b=weights))


def ordered_atoms(increment: Increment) -> FloatArray:
    """What coefficient * X may be, in increasing order, of equally likely X."""
    return np.sort(increment.factor * point_nodes(increment.law, math.inf)[0])


def ordered_weights(increment: Increment) -> FloatArray:
    """Weights of `ordered_atoms`, all 1 where they are equally likely."""
    law = increment.law
    if not isinstance(law, Empirical) or law.weights is None:
        return np.ones(len(ordered_atoms(increment)))
    return np.array(law.weights)[np.argsort(increment.factor * np.array(law.values), kind="stable")]


@functools.lru_cache(maxsize=1024)
def variance_of(law: RandomLaw) -> float:
    """Var X; infinite where the integral diverges."""
    if isinstance(law, Empirical) or is_truncated(law):
        points, weights = point_nodes(law, math.inf)
        return float((points - points @ weights) ** 2 @ weights)
    return float(distribution(law).var())


def absolute_deviation(law: RandomLaw) -> float:
    """A bound of E |X - E X|: twice the mean of a positive law, else the standard deviation."""
    if isinstance(law, InverseGamma | Lognormal) or _starts_at_zero(law):
        return 2.0 * expectation(law)
    return math.sqrt(variance_of(law))


def peak_width(law: RandomLaw) -> float:
    """Length on which the density of a Student-t changes."""
    if not isinstance(law, StudentT):
        raise TypeError("only a Student-t is asked for its width")
    return law.scale * min(math.sqrt(law.degrees_of_freedom), 4.0)


def integer_atoms(law: RandomLaw) -> list[tuple[Fraction, int]]:
    """Values and integer weights of an empirical law, both exactly as written."""
    if not isinstance(law, Empirical):
        raise TypeError("only an empirical law has atoms")
    written = (
        [Fraction(1)] * len(law.values)
        if law.weights is None
        else [decimal(weight) for weight in law.weights]
    )
    common = math.lcm(*(weight.denominator for weight in written))
    return [(decimal(value), int(weight * common)) for value, weight in zip(law.values, written, strict=True)]


def point_nodes(law: RandomLaw, longest_panel: float) -> tuple[FloatArray, FloatArray]:
    """Points and weights (shapes (n,)) that integrate smooth functions under a discrete or truncated law."""
    if isinstance(law, Empirical):
        weights = np.ones(len(law.values)) if law.weights is None else np.array(law.weights)
        return np.array(law.values), weights / weights.sum()
    return panel_nodes(law, longest_panel)


def panel_nodes(law: RandomLaw, longest_panel: float) -> tuple[FloatArray, FloatArray]:
    """Gauss points and probability weights (shapes (n,)) under a truncated Student-t.

    The panels double in width away from the centre, where the density is a smooth function of the
    distance, and are at most ``longest_panel`` wide so that oscillating integrands are resolved.
    """
    if not isinstance(law, StudentT) or law.lower is None or law.upper is None:
        raise TypeError("only a truncated Student-t is integrated in panels")
    reach = max(abs(law.lower - law.location), abs(law.upper - law.location))
    unit = min(0.5 * peak_width(law), law.scale)
    doublings = max(0, math.ceil(math.log2(reach / unit)))
    outward = np.concatenate([[0.0], unit * 2.0 ** np.arange(doublings)])
    marks = law.location + np.concatenate([-outward[:0:-1], outward])
    inner = marks[(marks > law.lower) & (marks < law.upper)]
    edges = _subdivided(np.concatenate([[law.lower], inner, [law.upper]]), longest_panel)
    points, lengths = gauss_panels(edges, _NODES_PER_PANEL)
    weights = lengths * distribution(law).pdf(points)
    return points, weights / weights.sum()


def gauss_panels(edges: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights, shapes (order * panels,), of the Gauss rule on every panel between ``edges``."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = 0.5 * np.diff(edges)[:, None]
    points = edges[:-1, None] + half * (nodes + 1.0)
    return points.ravel(), (half * weights).ravel()


def merged(increments: Iterable[Increment]) -> tuple[Increment, ...]:
    """Equal increments counted together, those with coefficient zero left out."""
    counts: dict[tuple[Fraction, RandomLaw], int] = {}
    for item in increments:
        if item.coefficient != 0:
            key = (item.coefficient, item.law)
            counts[key] = counts.get(key, 0) + item.count
    return tuple(Increment(coefficient, law, count) for (coefficient, law), count in counts.items())


def normals_together(increments: Sequence[Increment]) -> tuple[tuple[Increment, ...], Fraction]:
    """Increments with one normal law of mean 0 for all normal ones, and the sum of their means [loss].

    Sums of independent normal variables are normal; means and variances add up exactly, as decimals. Where
    the variance would be none that a law may have, they are left as they are.
    """
    normal = [(item, item.law) for item in increments if isinstance(item.law, Normal)]
    mean, variance = Fraction(0), Fraction(0)
    for item, law in normal:
        mean += item.count * item.coefficient * decimal(law.mean)
        variance += item.count * item.coefficient**2 * decimal(law.variance)
    if not 1 / _GREATEST_VARIANCE <= variance <= _GREATEST_VARIANCE:
        return tuple(increments), Fraction(0)
    others = [item for item in increments if not isinstance(item.law, Normal)]
    return (*others, Increment(Fraction(1), Normal(mean=0.0, variance=float(variance)))), mean


def _above(law: RandomLaw, points: FloatArray) -> FloatArray:
    if isinstance(law, InverseGamma):
        return _above_inverse_gamma(law, points)
    if not isinstance(law, StudentT) or law.lower is None or law.upper is None:
        return np.asarray(distribution(law).sf(points), dtype=float)
    return _between(law, np.clip(points, law.lower, law.upper), np.float64(law.upper)) / _between(
        law, np.float64(law.lower), np.float64(law.upper)
    )


def _below(law: RandomLaw, points: FloatArray) -> FloatArray:
    if not isinstance(law, StudentT) or law.lower is None or law.upper is None:
        base = distribution(law)
        return np.asarray(base.cdf(points), dtype=float)
    return _between(law, np.float64(law.lower), np.clip(points, law.lower, law.upper)) / _between(
        law, np.float64(law.lower), np.float64(law.upper)
    )


def _between(law: StudentT, low: FloatArray | np.float64, high: FloatArray | np.float64) -> FloatArray:
    """Mass of the untruncated law in [low, high], from the tails on the far side of the centre."""
    base = distribution(law)
    by_upper_tails = base.sf(low) - base.sf(high)
    by_lower_tails = base.cdf(high) - base.cdf(low)
    return np.asarray(np.where(low > law.location, by_upper_tails, by_lower_tails), dtype=float)


def _subdivided(edges: FloatArray, longest: float) -> FloatArray:
    pieces = [
        np.linspace(low, high, max(1, math.ceil((high - low) / longest)), endpoint=False)
        for low, high in itertools.pairwise(edges)
    ]
    return np.concatenate([*pieces, edges[-1:]])


def _given(value: float | None) -> float:
    if value is None:
        raise TypeError("the law records neither of its parameter pairs")
    return value


_LARGE_SHAPE = 2e5
"""From here on scipy 1.17 leaves out terms of the upper tail: 1e-5 of it at 1e6, a third at 1e8."""


def _above_inverse_gamma(law: InverseGamma, points: FloatArray) -> FloatArray:
    """Where scipy cannot be trusted, by a quadrature of the density of 1 / X below a = scale / point.

    With t = a exp(-s) the integral of t**(shape - 1) exp(-t) is a**shape exp(-a) times that of
    exp(-(shape - a) s - a (exp(-s) - 1 + s)), which falls as exp(-u) at s = u / (shape - a); the factor in
    front of it divided by Gamma(shape) is Stirling's.
    """
    base = distribution(law)
    shape, scale = float(base.args[0]), float(base.kwds["scale"])
    found = np.asarray(base.sf(points), dtype=float)
    far = points > scale / (shape - 4.0 * math.sqrt(shape)) if shape > 16.0 else np.zeros_like(points, bool)
    if shape < _LARGE_SHAPE or not far.any():
        return found
    a = np.where(far, scale / np.where(far, points, 1.0), 0.5 * shape)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    u, gap, lack = 20.0 * (nodes + 1.0), shape - a, (a - shape) / shape
    s = u / gap[..., None]
    inner = np.exp(-u - a[..., None] * (np.expm1(-s) + s)) @ (20.0 * weights) / gap
    log_front = shape * (np.log1p(lack) - lack) - 0.5 * math.log(2.0 * math.pi / shape) - 1.0 / (12.0 * shape)
    return np.asarray(np.where(far, np.exp(log_front) * inner, found), dtype=float)


def _inverse_gamma(law: InverseGamma) -> Any:
    if law.shape is not None:
        return scipy.stats.invgamma(law.shape, scale=law.scale)
    mean, variance = _given(law.mean), _given(law.variance)
    # mean = b / (a - 1) and variance = mean^2 / (a - 2)
    shape = 2.0 + mean * mean / variance
    return scipy.stats.invgamma(shape, scale=mean * (shape - 1.0))


def _lognormal(law: Lognormal) -> Any:
    if law.log_mean is not None:
        return scipy.stats.lognorm(math.sqrt(_given(law.log_variance)), scale=math.exp(law.log_mean))
    mean, variance = _given(law.mean), _given(law.variance)
    # E exp(2 Y) / (E exp(Y))^2 = exp(sigma^2), and the median is mean exp(-sigma^2 / 2)
    spread = math.log1p(variance / (mean * mean))
    return scipy.stats.lognorm(math.sqrt(spread), scale=mean * math.exp(-0.5 * spread))


_DISTRIBUTIONS: dict[type[Law], Callable[[Any], Any]] = {
    InverseGamma: _inverse_gamma,
    Lognormal: _lognormal,
    Normal: lambda law: scipy.stats.norm(law.mean, math.sqrt(law.variance)),
    StudentT: lambda law: scipy.stats.t(law.degrees_of_freedom, law.location, law.scale),
}
"""scipy's distribution of every shipped law that has a density, from the recorded fields alone."""

_WITH_FORMULAS = (Empirical, InverseGamma, Lognormal, Normal, StudentT)
"""Laws of which more is known here; of all others, the distribution function and the support alone."""
