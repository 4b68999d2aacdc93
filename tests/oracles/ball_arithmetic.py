"""Distribution of a sum of increments in ball arithmetic: what certified contours are measured against.

Every figure is a ball (python-flint, the bindings of Arb). Transforms are those of the definition: a Bessel
function, adaptive rigorous quadrature, a finite sum. Aliases of the Bromwich integral are bounded by 1 and by
Chernoff's bound at a period so long that this suffices.
"""

import itertools
import math

import flint
import numpy as np
from flint import acb, arb

from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import Empirical, InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.contour import cumulant

BITS = 110
"""Correct bits of a transform, unless more are asked for."""

_GUARD_BITS, _LAST = 30, 8


def transform(law, z, bits=BITS):
    """E exp(-z X) with about ``bits`` correct bits; Re z > 0 for the inverse gamma and the lognormal.

    Raises
    ------
    NotCoveredError
        If no precision brings that, for instance because ``z`` is itself a wide ball.
    """
    return _converged(law, z, bits, bits + _GUARD_BITS)[0]


def mean(law):
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


def error_of(law, z, value, bits=BITS):
    """|value - log E exp(-z (X - E X))| modulo 2 pi i, rounded up."""
    with flint.ctx.workprec(bits + _GUARD_BITS):
        argument = z if isinstance(z, acb) else acb(z.real, z.imag)
        reference = transform(law, argument, bits).log() + argument * mean(law)
        difference = acb(value.real, value.imag) - reference
        turns = round(float(difference.imag.mid()) / (2 * math.pi))
        return float(abs(difference - acb(0, 2 * turns * arb.pi())).upper())


def distribution_function(law, x):
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

    def __init__(self, terms, probability, deviation, digits=22.0, bits=BITS):
        self._pairs = [(term, count) for term, count in terms if count]
        self._bits = max(int(digits * 3.33) + 40, bits)
        self._precisions = {}
        wanted = math.log(probability) - digits * math.log(10)
        with flint.ctx.workprec(self._bits + _GUARD_BITS):
            parts = (count * arb(term.coefficient) * mean(term.law) for term, count in self._pairs)
            self.expectation = -sum(parts, arb(0))
            self._abscissa, self._tilt, period = _line(self._pairs, math.log(probability), deviation, wanted)
            self._spacing = arb(2 * math.pi / period)  # a double, so that the nodes are exact
            self._values, self._tail = self._until(wanted - self._abscissa * deviation)
            self._chernoff = self._product(acb(self._tilt)).real

    def probability(self, deviation):
        """Ball that contains P(G - E G <= deviation)."""
        with flint.ctx.workprec(self._bits + _GUARD_BITS):
            y, c, period = arb(deviation), arb(self._abscissa), 2 * arb.pi() / self._spacing
            total = self._values[0].real / 2
            for j, value in enumerate(self._values[1:], start=1):
                total = total + (value * acb(0, j * self._spacing * y).exp()).real
            alias = (-c * period).exp() / (1 - (-c * period).exp())
            gap = arb(self._tilt) - c
            low = (arb(self._tilt) * y - gap * period).exp() * self._chernoff / (1 - (-gap * period).exp())
            total = (total * self._spacing / arb.pi() + (-self._tail).union(self._tail)) * (c * y).exp()
            return total + (-alias - low).union(arb(0))

    def _until(self, goal):
        """E exp(-s Y) / s at the nodes, until a bound of what others add is below exp(``goal``), and that.

        In log t the modulus of a decaying law falls ever faster: where it falls like 1 / t**2 already, what
        follows the node n is n times its size at most. Of the last nodes the largest counts, as atoms may
        vanish at one.
        """
        found = []
        while True:
            s = acb(self._abscissa, len(found) * self._spacing)
            found.append(self._product(s) / s)
            last = len(found) - 1
            if last >= 2 * _LAST:
                size, half = (max(abs(v).upper() for v in found[e - _LAST : e]) for e in (last, last // 2))
                left = last * size * self._spacing / arb.pi()
                if 4 * size < half and float(left.log().upper()) < goal:
                    return found, left

    def _product(self, s):
        """E exp(-s Y)."""
        # Logarithms, because the radii of long complex products double every second factor.
        exponent = s * self.expectation
        for term, count in self._pairs:
            precision = self._precisions.get(term.law, self._bits + _GUARD_BITS)
            value, precision = _converged(term.law, -s * arb(term.coefficient), self._bits, precision)
            self._precisions[term.law] = precision  # what one node needed, the next one will
            exponent = exponent + count * value.log()
        return exponent.exp()


def _line(pairs, log_probability, deviation, wanted):
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


def _converged(law, z, bits, precision):
    """The transform with ``bits`` correct bits, and the working precision that it took."""
    while precision <= 64 * bits:
        with flint.ctx.workprec(precision):
            value = _transform(law, z)
        if value.rel_accuracy_bits() >= bits:
            return value, precision
        precision = precision * 4 // 3
    raise NotCoveredError(f"the transform of {law} at {z.str(10)} does not converge")


def _transform(law, z):
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


def _lognormal_transform(law, z):
    """Rigorous quadrature of the normal density of (log X - mu) / sigma on [-R, R], and its tails."""
    mu, variance = _log_parameters(law)
    sigma, expectation = variance.sqrt(), (mu + variance / 2).exp()

    def integrand(x, _):
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


def _student_integral(law, factor):
    """Integral of factor(x) (1 + ((x - location) / scale)^2 / nu)^(-(nu + 1) / 2) over the interval."""
    if law.lower is None or law.upper is None:
        raise NotCoveredError("an untruncated Student-t has no transform")
    location, scale, nu = arb(law.location), arb(law.scale), arb(law.degrees_of_freedom)

    def integrand(x, analytic):
        standard = (x - location) / scale
        return ((1 + standard * standard / nu).log(analytic=analytic) * (-(nu + 1) / 2)).exp() * factor(x)

    return acb.integral(integrand, law.lower, law.upper, eval_limit=10**6, depth_limit=2000)


def _shape_scale(law):
    if law.shape is not None and law.scale is not None:
        return arb(law.shape), arb(law.scale)
    expectation, variance = (arb(value) for value in law.moments())
    shape = expectation**2 / variance + 2
    return shape, expectation * (shape - 1)


def _log_parameters(law):
    """Mean and variance of the logarithm."""
    if law.log_mean is not None and law.log_variance is not None:
        return arb(law.log_mean), arb(law.log_variance)
    expectation, variance = (arb(value) for value in law.moments())
    log_variance = (1 + variance / expectation**2).log()
    return expectation.log() - log_variance / 2, log_variance


def _atoms(law):
    weights = [arb(1)] * len(law.values) if law.weights is None else [arb(w) for w in law.weights]
    total = sum(weights, arb(0))
    return [arb(x) for x in law.values], [weight / total for weight in weights]
