"""The laws of the loss increments as the verifier sees them: scipy's densities and tails, nothing of ours.

Of `depl.models.problem.laws` only the recorded parameters are read, and of a law that was registered by
`depl.register_law` the distribution of scipy that it names; every number comes from scipy or from sums over
the recorded values. The solvers' own methods of the laws, their transforms and quadratures are not used, so
that an error there cannot hide itself here.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
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
from depl.models.verifier.densities import Density, inverse_gamma, lognormal, normal, student

FloatArray: TypeAlias = NDArray[np.float64]


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

    def __str__(self) -> str:
        if self.lower == self.upper:
            return f"= {float(self.lower):.12g}"
        return f"in [{float(self.lower):.12g}, {float(self.upper):.12g}]"


class Number(NamedTuple):
    """One number per scenario: of a model at an epoch, or of a pair of models (before, after)."""

    epoch: int
    models: tuple[str, ...]


NO_NUMBER = Number(0, ())


@dataclass(frozen=True)
class Increment:
    """``count`` independent copies of ``coefficient * X``, each added to the loss.

    The coefficient is exact where the instance's decimals determine it, because purely discrete laws are
    summed without rounding. Under a traced law, there is the number of a scenario at which the quantile is
    taken, and the share of the weight that is of runs that were seen, ``alike``: the rest lies above all
    atoms, is of runs unlike them, and makes the loss infinite.
    """

    coefficient: Fraction
    law: Law
    count: int = 1
    number: Number = NO_NUMBER
    alike: Fraction = Fraction(1)

    @property
    def factor(self) -> float:
        """The coefficient as a float."""
        return float(self.coefficient)


@functools.lru_cache(maxsize=16_384)  # a few MiB: the values of a law are asked for again and again
def decimal(value: float) -> Fraction:
    """The decimal number that was written, exactly: 0.1 is 1/10."""
    return Fraction(repr(value))


def is_discrete(law: Law) -> bool:
    """Whether the law consists of atoms."""
    return isinstance(law, Empirical)


def cut_of(law: Law) -> tuple[float, float] | None:
    """Between which ends a Student-t is truncated, where its density jumps; None for other laws."""
    if isinstance(law, StudentT) and law.lower is not None and law.upper is not None:
        return law.lower, law.upper
    return None


def is_polynomial(law: Law) -> bool:
    """Whether both tails decay so slowly that no exponential moment exists: the untruncated Student-t."""
    return isinstance(law, StudentT) and law.lower is None


def is_smooth(law: Law) -> bool:
    """Whether the law has a smooth density whose loss-raising tail decays exponentially or faster."""
    return isinstance(law, InverseGamma | Lognormal | Normal) or _starts_at_zero(law)


def is_plain(increment: "Increment") -> bool:
    """Whether nothing but its distribution function is known of an increment.

    So it is of every law that no formula here is made for, unless X > 0 lowers the loss: then every tilt is
    finite, and whether samples of the density suffice is measured.
    """
    law = increment.law
    return not isinstance(law, _WITH_FORMULAS) and not (_starts_at_zero(law) and increment.coefficient < 0)


def _starts_at_zero(law: Law) -> bool:
    return not isinstance(law, _WITH_FORMULAS) and _support(law)[0] == 0.0


@functools.lru_cache(maxsize=8192)  # a few KiB each, a millisecond to make; long plans have thousands of laws
def distribution(law: Law) -> Density:
    """Of a truncated Student-t, its distribution before truncation."""
    for kind, made in _DISTRIBUTIONS.items():
        if isinstance(law, kind):
            return made(law)
    if is_registered(law):
        return Density.of(law.distribution())
    raise TypeError(f"the verifier knows no density of {type(law).__name__}")


def exceedance(increment: Increment, threshold: FloatArray) -> FloatArray:
    """P(coefficient * X > threshold) of one copy, elementwise, for a law with a density."""
    law, points = increment.law, threshold / increment.factor
    base, above, cut = distribution(law), increment.factor > 0, cut_of(law)
    if cut is None:
        return np.asarray(base.sf(points) if above else base.cdf(points), dtype=float)
    inside, far = np.clip(points, *cut), np.float64(cut[above])
    part = _between(law, np.minimum(inside, far), np.maximum(inside, far))
    return part / _between(law, *np.array(cut))


def ends(increment: Increment) -> tuple[float, float]:
    """Essential infimum and supremum of ``coefficient * X``."""
    low, high = sorted(increment.factor * end for end in _support(increment.law))
    return low, high


def window(item: Increment, tail: float) -> tuple[float, float]:
    """The ends of ``coefficient * X``, or where the tails beyond have the given probability."""
    base, found = distribution(item.law), []
    for end, upper in zip(ends(item), (False, True), strict=True):
        point = base.isf if upper == (item.factor > 0) else base.ppf
        found.append(end if math.isfinite(end) else item.factor * float(point(np.float64(tail))))
    return found[0], found[1]


@functools.lru_cache(maxsize=8192)
def _support(law: Law) -> tuple[float, float]:
    """Essential infimum and supremum of X: as written, or as scipy says of the distribution."""
    if isinstance(law, Empirical):
        return min(law.values), max(law.values)
    return cut_of(law) or (distribution(law).lowest, distribution(law).highest)


@functools.lru_cache(maxsize=1024)
def expectation(law: Law) -> float:
    """E X, kept: thousands of epochs share a law."""
    if isinstance(law, Empirical):
        weights = [weight for _, weight in integer_atoms(law)]
        return float(sum(value * weight for value, weight in integer_atoms(law)) / sum(weights))
    if cut_of(law):
        points, nodes = point_nodes(law, math.inf)
        return float(points @ nodes)
    return distribution(law).mean


def log_expectation(increment: Increment) -> float:
    """ln E exp(coefficient * X) of one copy, X with atoms."""
    values, weights = point_nodes(increment.law, math.inf)
    return float(logsumexp(increment.factor * values, b=weights))


@functools.lru_cache(maxsize=1024)
def variance_of(law: Law) -> float:
    """Var X; infinite where the integral diverges."""
    if is_discrete(law) or cut_of(law):
        points, weights = point_nodes(law, math.inf)
        return float((points - points @ weights) ** 2 @ weights)
    return distribution(law).variance


def middle(law: Law) -> float:
    """About where the law is: its median, the location of a Student-t or the mean of atoms."""
    if isinstance(law, StudentT):
        return law.location
    return expectation(law) if is_discrete(law) else float(distribution(law).ppf(np.float64(0.5)))


@functools.lru_cache(maxsize=1024)
def spread(law: Law) -> float:
    """About how wide the law is: between its quartiles, or its standard deviation."""
    if is_discrete(law) or cut_of(law):
        return math.sqrt(variance_of(law))
    low, high = distribution(law).ppf(np.array([0.25, 0.75]))
    return float(high - low)


def peak_width(law: Law) -> float:
    """Length on which the density of a Student-t changes."""
    if not isinstance(law, StudentT):
        raise TypeError("only a Student-t is asked for its width")
    return law.scale * min(math.sqrt(law.degrees_of_freedom), 4.0)


def integer_atoms(law: Law) -> list[tuple[Fraction, int]]:
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


def shares_of(increment: Increment) -> tuple[FloatArray, FloatArray]:
    """Atoms of one copy in increasing order, and the share of the weight up to each."""
    pairs = [(increment.coefficient * value, weight) for value, weight in integer_atoms(increment.law)]
    values, weights = zip(*sorted(pairs), strict=True)
    reached = list(itertools.accumulate(weights))
    return np.array(values, dtype=float), np.array([share / reached[-1] for share in reached])


def point_nodes(law: Law, longest_panel: float, marks: Sequence[float] = ()) -> tuple[FloatArray, FloatArray]:
    """Points and weights (shapes (n,)) that integrate smooth functions under a discrete or truncated law.

    Under a truncated Student-t these are Gauss points of panels that double in width away from the centre,
    where the density is a smooth function of the distance, and are at most ``longest_panel`` wide so that
    oscillating integrands are resolved; panels end at ``marks``, too, where an integrand may have a kink.
    """
    if isinstance(law, Empirical):
        weights = np.ones(len(law.values)) if law.weights is None else np.array(law.weights)
        return np.array(law.values), weights / weights.sum()
    cut = cut_of(law)
    if not isinstance(law, StudentT) or cut is None:
        raise TypeError("only atoms and a truncated Student-t are given by points")
    reach = max(abs(end - law.location) for end in cut)
    unit = min(0.5 * peak_width(law), law.scale)
    outward = unit * 2.0 ** np.arange(max(0, math.ceil(math.log2(reach / unit))))
    inside = np.concatenate([law.location - outward, [law.location], law.location + outward, marks])
    inside = np.unique(inside[(inside > cut[0]) & (inside < cut[1])])
    edges = _subdivided(np.concatenate([cut[:1], inside, cut[1:]]), longest_panel)
    nodes, lengths = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    half = 0.5 * np.diff(edges)[:, None]
    points = (edges[:-1, None] + half * (nodes + 1.0)).ravel()
    weights = (half * lengths).ravel() * np.exp(distribution(law).logpdf(points))
    return points, weights / weights.sum()


def number_of_points(law: Law, longest_panel: float) -> float:
    """At least about as many as `point_nodes` finds, marks apart."""
    if isinstance(law, Empirical):
        return len(law.values)
    low, high = _support(law)
    return _NODES_PER_PANEL * (high - low) / longest_panel


def merged(increments: Iterable[Increment]) -> tuple[Increment, ...]:
    """Equal increments counted together, those with coefficient zero left out."""
    counts: dict[tuple[Fraction, Law], int] = {}
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


def _between(law: Law, low: FloatArray | np.float64, high: FloatArray | np.float64) -> FloatArray:
    """Mass of the untruncated law in [low, high], from the tails on the far side of the centre."""
    base = distribution(law)
    by_upper_tails = base.sf(low) - base.sf(high)
    by_lower_tails = base.cdf(high) - base.cdf(low)
    return np.asarray(np.where(low > middle(law), by_upper_tails, by_lower_tails), dtype=float)


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


def _inverse_gamma(law: InverseGamma) -> Density:
    if law.shape is not None:
        return inverse_gamma(law.shape, _given(law.scale))
    mean, variance = _given(law.mean), _given(law.variance)
    # mean = b / (a - 1) and variance = mean^2 / (a - 2)
    shape = 2.0 + mean * mean / variance
    return inverse_gamma(shape, mean * (shape - 1.0))


def _lognormal(law: Lognormal) -> Density:
    if law.log_mean is not None:
        return lognormal(law.log_mean, _given(law.log_variance))
    mean, variance = _given(law.mean), _given(law.variance)
    # E exp(2 Y) / (E exp(Y))^2 = exp(sigma^2), and the median is mean exp(-sigma^2 / 2)
    spread = math.log1p(variance / (mean * mean))
    return lognormal(math.log(mean) - 0.5 * spread, spread)


_DISTRIBUTIONS: dict[type[Law], Callable[[Any], Density]] = {
    InverseGamma: _inverse_gamma,
    Lognormal: _lognormal,
    Normal: lambda law: normal(law.mean, math.sqrt(law.variance)),
    StudentT: lambda law: student(law.degrees_of_freedom, law.location, law.scale),
}
"""The distribution of every shipped law that has a density, from the recorded fields alone."""

_WITH_FORMULAS = (Empirical, InverseGamma, Lognormal, Normal, StudentT)
"""Laws of which more is known here; of all others, the distribution function and the support alone."""
