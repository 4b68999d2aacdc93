r"""Distribution of a sum of increments in ball arithmetic: what the certified contour is measured against.

Every figure is a ball that contains the true value (python-flint, the bindings of Arb). The transforms
are those of the definition (a Bessel function, adaptive rigorous quadrature, a finite sum) and the
parts of the Bromwich integral that are left out are bounded without the theorems that
`depl.models.risk.contour` uses:

- the aliases by a period so long that 1 and Chernoff's bound suffice;
- the tail beyond the last node by turning the line of integration: for the density of Y = log X and
  0 <= theta < pi/2,  |E exp(-(c + i t) w X)| <= J(theta) E exp(-w (c cos theta + t sin theta) X'),
  which decreases in t; J and X' are closed forms for the inverse gamma and the lognormal. Octaves of
  t are bounded one by one, and all that follows by E exp(-beta X) <= n! E X^-n / beta^n.

python-flint belongs to the development requirements; nothing of the toolkit proper needs this module.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import flint
import numpy as np
from flint import acb, arb

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import (
    Empirical,
    InverseGamma,
    Law,
    Lognormal,
    Normal,
    StudentT,
)
from depl.models.risk.contour import cumulant
from depl.models.risk.transforms import centred_log_transform as double_transform

BITS = 110
"""Correct bits of a transform, unless more are asked for."""

_OCTAVES = 12
_GUARD_BITS = 30


def transform(law: Law, z: acb, bits: int = BITS) -> acb:
    """E exp(-z X) with about ``bits`` correct bits; Re z > 0 for the inverse gamma and the lognormal.

    Raises
    ------
    NotCoveredError
        If no precision brings that, for instance because ``z`` is itself a wide ball.
    """
    return _converged(law, z, bits, bits + _GUARD_BITS)[0]


def mean(law: Law) -> arb:
    """E X as a ball, at the working precision."""
    if isinstance(law, InverseGamma):
        shape, scale = _shape_scale(law)
        return scale / (shape - 1)
    if isinstance(law, Normal):
        return arb(law.mean)
    if isinstance(law, Lognormal):
        mu, variance = _log_parameters(law)
        return (mu + variance / 2).exp()
    if isinstance(law, Empirical):
        points, masses = _atoms(law)
        return sum((x * mass for x, mass in zip(points, masses, strict=True)), arb(0))
    if not isinstance(law, StudentT):
        raise NotCoveredError(f"no ball arithmetic for {law}")
    return _student_integral(law, lambda x: x).real / _student_integral(law, lambda x: acb(1)).real


def error_of(law: Law, z: complex | acb, value: complex, bits: int = BITS) -> float:
    """|value - log E exp(-z (X - E X))| modulo 2 pi i, rounded up."""
    with flint.ctx.workprec(bits + _GUARD_BITS):
        argument = z if isinstance(z, acb) else acb(z.real, z.imag)
        reference = transform(law, argument, bits).log() + argument * mean(law)
        difference = acb(value.real, value.imag) - reference
        turns = round(float(difference.imag.mid()) / (2 * math.pi))
        return float(abs(difference - acb(0, 2 * turns * arb.pi())).upper())


def distribution_function(law: Law, x: acb) -> acb:
    """P(X <= x) of an inverse gamma, lognormal or normal law, continued to complex x."""
    if isinstance(law, InverseGamma):
        shape, scale = _shape_scale(law)
        return acb.gamma_upper(scale / x, acb(shape), regularized=1)
    if isinstance(law, Lognormal):
        mu, variance = _log_parameters(law)
        return ((mu - x.log()) / (2 * variance).sqrt()).erfc() / 2
    if isinstance(law, Normal):
        return ((arb(law.mean) - x) / (2 * arb(law.variance)).sqrt()).erfc() / 2
    raise NotCoveredError(f"no distribution function for {law}")


def convolved(first: Term, second: Term, deviation: float) -> arb:
    """P(Y <= deviation) for the gain of two increments, by rigorous quadrature of their convolution.

    The first is an inverse gamma, integrated in v = scale / X, which is gamma distributed; the second is
    an inverse gamma, lognormal or normal with a positive weight.
    """
    law, weight, other = first.law, arb(-first.coefficient), arb(-second.coefficient)
    if not isinstance(law, InverseGamma):
        raise NotCoveredError("the first increment has to be an inverse gamma")
    shape, scale = _shape_scale(law)
    gain = arb(deviation) + weight * mean(law) + other * mean(second.law)
    least = arb(_negligible_below(second.law))
    low = float((weight * scale / (gain - other * least)).mid())
    high = low + float(shape.mid()) + 140 + 18 * math.sqrt(float(shape.mid()))

    def integrand(v: acb, analytic: bool) -> acb:
        density = ((shape - 1) * v.log(analytic=analytic) - v - shape.lgamma()).exp()
        return density * distribution_function(second.law, (gain - weight * scale / v) / other)

    total = acb.integral(integrand, low, high, eval_limit=10**6, depth_limit=3000).real
    beyond = acb.gamma_upper(acb(high), acb(shape), regularized=1).real
    # Left out below: the second increment is then at most (gain - weight * scale / low) / other.
    below = distribution_function(second.law, acb((gain - weight * scale / arb(low)) / other)).real
    return total + arb(0).union(beyond) + arb(0).union(below)


@dataclass(frozen=True)
class _Factor:
    law: Law
    weight: float
    count: int


class BallSum:
    """P(Y <= y), Y = G - E G, for G = - sum of coefficient * X over independent terms.

    Parameters
    ----------
    terms : sequence of (Term, int)
        As in `FinalLoss`; at least one inverse gamma, lognormal or normal term.
    probability : float
        About the values that will be asked for; only the size of the balls depends on it.
    deviation : float
        The greatest y that will be asked for, likewise.
    digits : float, default 22
        The balls are to be smaller than 10**-digits * probability.
    bits : int
        Least number of correct bits of every transform.
    """

    def __init__(
        self,
        terms: Sequence[tuple[Term, int]],
        probability: float,
        deviation: float,
        digits: float = 22.0,
        bits: int = BITS,
    ) -> None:
        pairs = [(term, count) for term, count in terms if count]
        self._factors = [_Factor(term.law, -term.coefficient, count) for term, count in pairs]
        self._bits = max(int(digits * 3.33) + 40, bits)
        self._precisions: dict[Law, int] = {}
        self._wanted = math.log(probability) - digits * math.log(10)
        with flint.ctx.workprec(self._bits + _GUARD_BITS):
            self._mean = sum((f.count * arb(f.weight) * mean(f.law) for f in self._factors), arb(0))
            self._abscissa, self._tilt, period = _line(pairs, math.log(probability), deviation, self._wanted)
            self._spacing = arb(2 * math.pi / period)  # a double, so that the nodes are exact
            self._count, self._tail = self._truncate(pairs, deviation)
            self._chernoff = self._product(acb(self._tilt)).real
            self._values = [self._product(self._node(j)) / self._node(j) for j in range(self._count)]

    @property
    def expectation(self) -> arb:
        """E G."""
        return self._mean

    def probability(self, deviation: float | arb) -> arb:
        """Ball that contains P(G - E G <= deviation)."""
        with flint.ctx.workprec(self._bits + _GUARD_BITS):
            y, c, period = arb(deviation), arb(self._abscissa), 2 * arb.pi() / self._spacing
            total = self._bromwich(y)
            alias = (-c * period).exp() / (1 - (-c * period).exp())
            gap = arb(self._tilt) - c
            low = (arb(self._tilt) * y - gap * period).exp() * self._chernoff / (1 - (-gap * period).exp())
            tail = (c * y).exp() * self._tail
            return total + (-alias - low).union(arb(0)) + (-tail).union(tail)

    def _bromwich(self, y: arb) -> arb:
        c = arb(self._abscissa)
        total = self._values[0].real / 2
        for j, value in enumerate(self._values[1:], start=1):
            total = total + (value * acb(0, j * self._spacing * y).exp()).real
        return total * self._spacing / arb.pi() * (c * y).exp()

    def _node(self, j: int) -> acb:
        return acb(self._abscissa, j * self._spacing)

    def _product(self, s: acb) -> acb:
        """E exp(-s Y)."""
        with flint.ctx.workprec(self._bits + _GUARD_BITS):
            # Logarithms, because the radii of long complex products double every second factor.
            exponent = s * self._mean
            for factor in self._factors:
                precision = self._precisions.get(factor.law, self._bits + _GUARD_BITS)
                value, precision = _converged(factor.law, s * arb(factor.weight), self._bits, precision)
                self._precisions[factor.law] = precision  # what one node needed, the next one will
                exponent = exponent + factor.count * value.log()
            return exponent.exp()

    def _truncate(self, pairs: Sequence[tuple[Term, int]], deviation: float) -> tuple[int, arb]:
        """Number of nodes, and a bound of the sum over all later ones without the factor e^{cy}."""
        step = float(self._spacing.mid())
        goal = self._wanted - self._abscissa * deviation
        heights = step * np.unique(np.geomspace(8, 4_000_000, 400).astype(int))
        sizes = np.zeros(len(heights))
        for term, count in pairs:
            shape = heights if _decaying(term.law) else 0 * heights
            line = np.asarray(self._abscissa + 1j * shape, dtype=np.complex128)
            sizes += count * double_transform(term.law, -term.coefficient * line)[0].real
        first = int(np.argmax(sizes < goal - 2))
        if not sizes[first] < goal - 2:
            raise NotCoveredError("the transform does not decay within four million nodes")
        count = round(heights[first] / step)
        while True:
            bound = self._tail_bound(count)
            if float(bound.log().upper()) < goal:
                return count, bound
            count = math.ceil(count * 1.15)

    def _tail_bound(self, count: int) -> arb:
        """sum over j >= count of spacing / (pi t_j) times a bound of |E exp(-s_j Y)|."""
        total, start = arb(0), count * self._spacing
        largest = sorted((f for f in self._factors if _decaying(f.law)), key=lambda f: -abs(f.weight))[:4]
        rest = arb(0)
        for _ in range(_OCTAVES):
            sizes = {factor: self._turned(factor, start) for factor in self._factors}
            logs = (factor.count * size.log() for factor, size in sizes.items())
            bound = (sum(logs, arb(0)) + arb(self._abscissa) * self._mean).exp()
            octave = bound * (arb(2).log() + self._spacing / start)
            # All that follows, one copy by a power of t and the others by their size here.
            rest = min(
                (bound / sizes[factor] * self._power_bound(factor, start) for factor in largest),
                key=lambda ball: float(ball.log().mid()),
            )
            if rest < octave:
                break
            total, start = total + octave, 2 * start
        return (total + rest) / arb.pi()

    def _on_axis(self, factor: _Factor) -> arb:
        return transform(factor.law, acb(arb(self._abscissa) * factor.weight), 40).real.abs_upper()

    def _turned(self, factor: _Factor, t: arb) -> arb:
        """min over some theta of the bound by the turned line, for one copy."""
        c, law, weight = arb(self._abscissa), factor.law, arb(factor.weight)
        if isinstance(law, Normal):
            exponent = (c * c - t * t) * weight * weight * arb(law.variance) / 2 - c * weight * arb(law.mean)
            return exponent.exp()
        best = self._on_axis(factor)
        if not _decaying(law):
            return best
        for theta in _angles(law, complex(self._abscissa, float(t.mid())) * factor.weight):
            angle = arb(theta)
            rate = weight * (c * angle.cos() + t * angle.sin())
            bound = _turned_bound(law, angle, rate)
            if bound < best:
                best = bound
        return best

    def _power_bound(self, factor: _Factor, t: arb) -> arb:
        """Bound of the sum over t_j >= t of spacing / t_j |transform of one copy|."""
        law, weight = factor.law, arb(factor.weight)
        if isinstance(law, Normal):
            decay = weight * weight * arb(law.variance) * t * t / 2
            return self._turned(factor, t) * (1 / (2 * decay) + self._spacing / t)
        angle = arb(math.pi / 4)
        rate = weight * t * angle.sin()
        best = arb(1e300)
        for n in (2, 5, 10, 20, 40, 80, 160, 320, 640, 1280):
            bound = _inverse_moment_bound(law, angle, rate, n) * (arb(1) / n + self._spacing / t)
            if bound < best:
                best = bound
        return best


def _line(
    pairs: Sequence[tuple[Term, int]], log_probability: float, deviation: float, wanted: float
) -> tuple[float, float, float]:
    """Abscissa, abscissa of the Chernoff bound, period."""
    variances = [term.law.moments().variance for term, _ in pairs]
    means = [term.law.moments().mean for term, _ in pairs]
    scale = math.sqrt(
        sum(
            count * term.coefficient**2 * min(variance, 4 * mu * mu if mu else variance)
            for (term, count), variance, mu in zip(pairs, variances, means, strict=True)
        )
    )
    rates = np.geomspace(1e-3, 1e4, 400) / scale
    logs = cumulant(pairs, rates)
    chosen = int(np.argmin((logs - log_probability) / rates))
    abscissa = float(rates[chosen])
    later = slice(min(chosen + 5, len(rates) - 1), None)
    with np.errstate(all="ignore"):
        needed = (logs[later] + rates[later] * deviation - wanted + 3) / (rates[later] - abscissa)
    best = int(np.nanargmin(needed))
    period = max((3 - wanted) / abscissa, float(needed[best]))
    return abscissa, float(rates[later][best]), period


def _negligible_below(law: Law) -> float:
    """A point below which next to nothing (about 1e-40) of the law lies."""
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        return scale / (shape + 120 + 18 * math.sqrt(shape))
    if isinstance(law, Lognormal):
        mu, sigma = law.log_parameters()
        return math.exp(mu - 13.5 * sigma)
    moments = law.moments()
    return moments.mean - 13.5 * math.sqrt(moments.variance)


def _converged(law: Law, z: acb, bits: int, precision: int) -> tuple[acb, int]:
    """The transform with ``bits`` correct bits, and the working precision that it took."""
    while precision <= 64 * bits:
        with flint.ctx.workprec(precision):
            value = _transform(law, z)
        if value.rel_accuracy_bits() >= bits:
            return value, precision
        precision = precision * 4 // 3
    raise NotCoveredError(f"the transform of {law} at {z.str(10)} does not converge")


def _decaying(law: Law) -> bool:
    return isinstance(law, InverseGamma | Lognormal | Normal)


def _transform(law: Law, z: acb) -> acb:
    if isinstance(law, InverseGamma):
        shape, scale = _shape_scale(law)
        u = z * scale
        bessel = acb.bessel_k(2 * u.sqrt(), acb(shape))
        return 2 * (u.log() * shape / 2).exp() * bessel / shape.gamma()
    if isinstance(law, Normal):
        return (z * z * arb(law.variance) / 2 - z * arb(law.mean)).exp()
    if isinstance(law, Lognormal):
        return _lognormal_transform(law, z)
    if isinstance(law, Empirical):
        points, masses = _atoms(law)
        return sum(((-z * x).exp() * mass for x, mass in zip(points, masses, strict=True)), acb(0))
    if not isinstance(law, StudentT):
        raise NotCoveredError(f"no ball arithmetic for {law}")
    # Relative accuracy is only sought near the location, so the exponential is 1 there.
    above = _student_integral(law, lambda x: (-z * (x - law.location)).exp())
    return above / _student_integral(law, lambda x: acb(1)) * (-z * law.location).exp()


def _lognormal_transform(law: Lognormal, z: acb) -> acb:
    """Rigorous quadrature of the normal density of (log X - mu) / sigma on [-R, R], and its tails."""
    mu, variance = _log_parameters(law)
    sigma, expectation = variance.sqrt(), (mu + variance / 2).exp()

    def integrand(x: acb, _: bool) -> acb:
        return (-x * x / 2 - z * ((sigma * x + mu).exp() - expectation)).exp()

    tilt, room = z.real * expectation * sigma, 1.4 * flint.ctx.prec + 60
    high = math.sqrt(room)
    crude = math.sqrt(2 * float((z.real * expectation).upper()) + room)
    low = -min(float(tilt.upper()) + high, crude)
    pieces = np.linspace(low, high, 9)
    total = acb(0)
    for start, end in itertools.pairwise(pieces):
        total = total + acb.integral(integrand, float(start), float(end), eval_limit=10**6, depth_limit=2000)
    # Above the range the exponential is at most 1; below it its exponent is at most Re z E X, and at most
    # Re z E X (sigma |x| + sigma^2 / 2).
    below = (-(arb(low) ** 2) / 2 + z.real * expectation).exp()
    linear = (tilt * sigma / 2 + tilt * tilt / 2 - (arb(low) + tilt) ** 2 / 2).exp() * 2
    if -low > tilt + 1 and linear < below:
        below = linear
    rest = (below + (-(arb(high) ** 2) / 2).exp()).upper()
    total = total + acb(arb(0, rest), arb(0, rest))
    return total / (2 * arb.pi()).sqrt() * (-z * expectation).exp()


def _student_integral(law: StudentT, factor: Callable[[acb], acb]) -> acb:
    """Integral of factor(x) (1 + ((x - location) / scale)^2 / nu)^(-(nu + 1) / 2) over the interval."""
    if law.lower is None or law.upper is None:
        raise NotCoveredError("an untruncated Student-t has no transform")
    location, scale, nu = arb(law.location), arb(law.scale), arb(law.degrees_of_freedom)

    def integrand(x: acb, analytic: bool) -> acb:
        standard = (x - location) / scale
        return ((1 + standard * standard / nu).log(analytic=analytic) * (-(nu + 1) / 2)).exp() * factor(x)

    return acb.integral(integrand, law.lower, law.upper, eval_limit=10**6, depth_limit=2000)


def _angles(law: Law, z: complex) -> tuple[float, ...]:
    """Angles near the one of the saddle point, where the bound is nearly attained."""
    if isinstance(law, InverseGamma):
        shape, scale = law.shape_scale()
        saddle = -float(np.angle(2 / (1 + np.sqrt(1 + 4 * z * scale / shape**2))))
    else:
        saddle = 0.5 * float(np.angle(z))
    return tuple(min(share * saddle, 1.4) for share in (0.9, 1.0))


def _turned_bound(law: Law, angle: arb, rate: arb) -> arb:
    """J(theta) E exp(-rate X') of the module's docstring."""
    if isinstance(law, InverseGamma):
        shape, _ = _shape_scale(law)
        return angle.cos() ** -shape * transform(law, acb(rate * angle.cos()), 40).real.abs_upper()
    if not isinstance(law, Lognormal):
        raise NotCoveredError(f"no turned line for {law}")
    _, variance = _log_parameters(law)
    return (angle * angle / (2 * variance)).exp() * transform(law, acb(rate), 40).real.abs_upper()


def _inverse_moment_bound(law: Law, angle: arb, rate: arb, n: int) -> arb:
    """The same bound with E exp(-rate X) replaced by n! E X^-n / rate^n."""
    factorial = arb(n + 1).gamma()
    if isinstance(law, InverseGamma):
        shape, scale = _shape_scale(law)
        moment = ((shape + n).lgamma() - shape.lgamma()).exp() / scale**n
        return angle.cos() ** -shape * factorial * moment / (rate * angle.cos()) ** n
    if not isinstance(law, Lognormal):
        raise NotCoveredError(f"no turned line for {law}")
    mu, variance = _log_parameters(law)
    moment = (-n * mu + n * n * variance / 2).exp()
    return (angle * angle / (2 * variance)).exp() * factorial * moment / rate**n


def _shape_scale(law: InverseGamma) -> tuple[arb, arb]:
    if law.shape is not None and law.scale is not None:
        return arb(law.shape), arb(law.scale)
    expectation, variance = (arb(value) for value in law.moments())
    shape = expectation**2 / variance + 2
    return shape, expectation * (shape - 1)


def _log_parameters(law: Lognormal) -> tuple[arb, arb]:
    """Mean and variance of the logarithm."""
    if law.log_mean is not None and law.log_variance is not None:
        return arb(law.log_mean), arb(law.log_variance)
    expectation, variance = (arb(value) for value in law.moments())
    log_variance = (1 + variance / expectation**2).log()
    return expectation.log() - log_variance / 2, log_variance


def _atoms(law: Empirical) -> tuple[list[arb], list[arb]]:
    weights = [arb(1)] * len(law.values) if law.weights is None else [arb(w) for w in law.weights]
    total = sum(weights, arb(0))
    return [arb(x) for x in law.values], [weight / total for weight in weights]
