"""The Student-t law of switches (Sec. VI-A of the paper), whole or truncated."""

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from depl.models.foundation.documents import Positive
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.wording import number
from depl.models.problem.laws.law import (
    MOMENT_ROUNDING,
    UNIT_ROUNDOFF,
    Bounds,
    Law,
    Moments,
    Nodes,
    sum_rounding,
)
from depl.models.problem.laws.log_variable import EPSILON, ComplexArray, FloatArray

SURVIVAL_SLACK = 1e-11
"""Relative error granted to scipy's Student-t distribution function."""

_NARROWEST = 0.01
"""Least half-width of a core, in scales, whatever is asked for: set by hand. Any core is sound, as what is
beyond is bounded; a narrower one leaves almost all probability to the tails."""

_ORDER, _PANEL = 40, 16.0  # points of a panel, and its length times the greatest |z|
_CUT = 0.01
"""Probability that an untruncated law leaves out, over (u scale)**2 / 2, about what the tilt adds to H: set
by hand. It is counted, so any value is sound: twice as much weakens the bound by 1 % more, half makes the
interval wider."""

_CELLS = 300
"""Cells on which a tilted peak is bounded: set by hand. Each takes the greatest of both factors, so any
number is sound; fewer give a greater bound."""

_MOST_TURNS = 2000.0
"""Most radians, or exponents, by which an integrand changes from the middle of an interval to its ends: set
by hand. What is cut off is counted; the number of points goes with it."""


class StudentT(Law, frozen=True, kw_only=True, tag="student_t"):
    """Student-t law with location and scale, optionally truncated to [lower, upper] and renormalised."""

    for_improvements: ClassVar[bool] = False
    unimodal: ClassVar[bool] = True
    without_transform: ClassVar[str] = "an untruncated Student-t has no exponential moments"

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
        return float(self._mass_between(*self.support()))

    def moments(self) -> Moments:
        """Closed form if untruncated, quadrature of the density otherwise."""
        if not self.truncated:
            nu = self.degrees_of_freedom
            return Moments(self.location, self.scale**2 * nu / (nu - 2) if nu > 2 else math.inf)
        points, weights = self.quadrature()
        mean = float(weights @ points)
        return Moments(mean, float(weights @ (points - mean) ** 2))

    def quadrature(self, panel: float = math.inf) -> Nodes:
        """Composite Gauss-Legendre points and probability weights of the truncated law, shapes (n,).

        Panels are at most ``scale * sqrt(nu)`` wide near the centre and grow in proportion to the
        distance from it, so that the poles of the density stay outside a Bernstein ellipse of
        parameter 3 around every panel; and at most ``6 * scale``, because with many degrees of freedom
        the density is as large as exp(+y**2 / 2) at i y: 40 points then integrate the density to far
        below rounding. ``panel`` bounds the width further, for integrands that oscillate or grow.
        """
        points, masses = _centred_quadrature(self, panel, 0)
        return points + self.location, masses

    @property
    def panel_width(self) -> float:
        """How far panels near the location may reach: see `quadrature`."""
        return self.scale * min(math.sqrt(self.degrees_of_freedom), 6.0)

    def support(self) -> tuple[float, float]:
        """The truncation interval, or the whole line."""
        if self.lower is None or self.upper is None:
            return -math.inf, math.inf
        return self.lower, self.upper

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Student-t distribution function, renormalised to the interval."""
        lower, upper = self.support()
        mass = self._mass_between(lower, np.clip(np.asarray(x, dtype=float), lower, upper))
        return np.asarray(np.clip(mass / self.interval_mass(), 0.0, 1.0), dtype=float)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draws, by inversion where truncated."""
        return self.quantile(rng.random(size)) if self.truncated else super().sample(rng, size)

    def distribution(self) -> Any:
        """scipy's Student-t, before truncation."""
        return scipy.stats.t(self.degrees_of_freedom, self.location, self.scale)

    def density(self, x: ArrayLike) -> FloatArray:
        """Renormalised to the interval."""
        lower, upper = self.support()
        inside = (np.asarray(x) >= lower) & (np.asarray(x) <= upper)
        return np.asarray(np.where(inside, super().density(x), 0.0) / self.interval_mass(), dtype=float)

    def survival(self, x: ArrayLike) -> FloatArray:
        """From the smaller of the two tails."""
        if not self.truncated:
            return super().survival(x)
        lower, upper = self.support()
        mass = self._mass_between(np.clip(np.asarray(x, dtype=float), lower, upper), upper)
        return np.asarray(np.clip(mass / self.interval_mass(), 0.0, 1.0), dtype=float)

    def survival_slack(self, points: FloatArray) -> float:
        """The differences that renormalise a truncated law lose what the cancellation costs."""
        if not self.truncated:
            return super().survival_slack(points)
        lower, upper = self.support()
        argument = 8 * UNIT_ROUNDOFF * self.argument_sensitivity(float(np.abs(points).max()))
        largest = min(float(self.scipy.cdf(upper)), float(self.scipy.sf(lower)))
        return (argument + 8 * self.tail_error * largest) / self.interval_mass() + 4 * UNIT_ROUNDOFF

    def quantile(self, level: ArrayLike, *, upper: bool = False) -> FloatArray:
        """Student-t quantiles; truncated, inverted in the tail that keeps its accuracy."""
        if not self.truncated:
            return super().quantile(level, upper=upper)
        if upper:
            return -self.scaled(-1.0).quantile(level)
        lower, highest = self.support()
        nu, mass = self.degrees_of_freedom, np.asarray(level, dtype=float) * self.interval_mass()
        sign = 1.0 if lower > self.location else -1.0
        base = special.stdtr(nu, -sign * ((lower - self.location) / self.scale))
        drawn = -sign * special.stdtrit(nu, base - sign * mass)
        return np.asarray(np.clip(self.location + self.scale * drawn, lower, highest), dtype=float)

    def mean_rounding(self) -> float:
        """That of a dot product if truncated; else of one product by the weight."""
        if not self.truncated:
            return 0.51 * abs(self.location)
        return sum_rounding(len(self.quadrature()[0]), self.moments())

    def typical_square(self) -> float:
        """The squared scale where there is no variance."""
        return super().typical_square() if math.isfinite(self.moments().variance) else self.scale * self.scale

    def third_moment(self) -> float:
        """Closed form if untruncated; else the variance times the greatest deviation."""
        mean, variance = self.moments()
        if self.truncated:
            lower, upper = self.support()
            return variance * max(upper - mean, mean - lower) * (1 + MOMENT_ROUNDING)
        freedom = self.degrees_of_freedom
        if freedom <= 3:
            return math.inf
        logarithm = math.lgamma((freedom - 3) / 2) - math.lgamma(freedom / 2)
        moment = freedom**1.5 / math.sqrt(math.pi) * math.exp(logarithm)
        return float(self.scale**3 * moment * (1 + MOMENT_ROUNDING))

    def argument_sensitivity(self, greatest: float) -> float:
        """The density without truncation is at most 1 / scale."""
        return greatest / self.scale

    def transform_domain(self) -> tuple[float, float] | None:
        """Everywhere if truncated, else nowhere."""
        return (-math.inf, math.inf) if self.truncated else None

    def sum_for(self, z: ComplexArray) -> Nodes:
        """Gauss-Legendre points fine enough for exp(-z x) as well as for the density.

        About the location, which may be so large that points near it would be rounded to few digits. Real
        arguments of one sign need few points, however wide the interval is.
        """
        damped = 0 if z.imag.any() else -1 if (z.real >= 0).all() else 1 if (z.real <= 0).all() else 0
        panel = _PANEL / max(float(np.abs(z).max(initial=0.0)), 1e-300)
        return _centred_quadrature(self, panel, damped)

    def sum_length(self, largest: float) -> float:
        """Panels on which exp(-z x) turns, and some for the density."""
        lower, upper = self.support()
        return _ORDER * (4 + (upper - lower) * largest / _PANEL) if self.truncated else 0.0

    @property
    def tailed(self) -> "StudentT":
        """The law itself: cut to its core it has exponential moments, and its tails are bounded."""
        return self

    def scaled(self, weight: float) -> "StudentT":
        """The law of ``weight * X``: location, scale and interval times the weight."""
        lower, upper = sorted(weight * end for end in self.support()) if self.truncated else (None, None)
        return StudentT(
            degrees_of_freedom=self.degrees_of_freedom,
            location=weight * self.location,
            scale=abs(weight) * self.scale,
            lower=lower,
            upper=upper,
        )

    def core(self, tails: float, widest: float = math.inf) -> "StudentT":
        """The law cut to where it leaves out the probability ``tails``, or to ``widest`` about its mode."""
        share = tails / 2 * self.interval_mass()
        reach = self.scale * abs(float(special.stdtrit(self.degrees_of_freedom, share)))
        reach = min(reach, max(widest, _NARROWEST * self.scale))
        lower, upper = self.support()
        mode = min(max(self.location, lower), upper)
        return msgspec.structs.replace(self, lower=max(lower, mode - reach), upper=min(upper, mode + reach))

    def exceedance(self, values: FloatArray) -> Bounds:
        """Bounds of P(X > value), from the tails themselves: one minus a core is rounding noise at 1e-14."""
        if not self.truncated:
            return self._tail(values)
        lower, upper = self.support()
        low, high = self._between(np.clip(values, lower, upper), upper)
        least, most = (float(end[0]) for end in self._between(np.array([lower]), upper))
        return low / most, np.minimum(high / max(least, 1e-300), 1.0)

    def shortfall(self, values: FloatArray) -> Bounds:
        """Bounds of P(X < value), accurate in the left tail."""
        return self.scaled(-1.0).exceedance(-values)

    def on_interval(self, share: float) -> tuple["StudentT", float]:
        """The law on an interval that a tilt can move about in, and -ln of its probability.

        It is cut where an untruncated law leaves out little, or where a tilt would need too many panels.
        """
        (low, high), scale = self.support(), self.scale
        if not self.truncated:
            mass = min(_CUT * (share * scale) ** 2 / 2, 1e-2)
            farthest = float(-special.stdtrit(self.degrees_of_freedom, mass / 2))
            width = scale * min(farthest, max(4.0, 3 / (share * scale)))
            low, high = self.location - width, self.location + width
        elif share * (high - low) <= 2 * _MOST_TURNS:
            return self, 0.0
        middle = float(self.quantile(0.5))
        reach = _MOST_TURNS / share
        bounded = msgspec.structs.replace(
            self, lower=max(low, middle - reach), upper=min(high, middle + reach)
        )
        cut = -math.log(bounded.interval_mass() / self.interval_mass()) * (1 + MOMENT_ROUNDING)
        return bounded, cut

    def tilted_peak(self, share: float, logarithm: float) -> float:
        """At least the density of ``share * X`` under the tilt; ``logarithm`` is ln E exp(-share X).

        On every cell it takes the greatest of both factors.
        """
        low, high = ((end - self.location) / self.scale for end in self.support())
        ends = np.sinh(np.linspace(math.asinh(low), math.asinh(high), _CELLS))
        nearest = np.where(ends[1:] < 0, ends[1:], np.maximum(ends[:-1], 0.0))
        freedom = self.degrees_of_freedom
        highest = 1 / (
            math.sqrt(freedom) * float(special.beta(0.5, freedom / 2)) * self.scale * self.interval_mass()
        )
        density = highest * (1 + nearest**2 / freedom) ** (-(freedom + 1) / 2)
        exponents = -share * (self.location + self.scale * ends) - logarithm
        return float(np.max(density * np.exp(np.maximum(exponents[:-1], exponents[1:])))) / abs(share)

    def in_words(self) -> str:
        """All its parameters."""
        cut = f" truncated to [{number(self.lower)}, {number(self.upper)}]" if self.truncated else ""
        return (
            f"Student-t with {number(self.degrees_of_freedom)} degrees of freedom, location "
            f"{number(self.location)}, scale {number(self.scale)}{cut}"
        )

    def moved(self, mean: float, spread: float) -> "StudentT":
        """Location and scale; the interval stays."""
        return msgspec.structs.replace(self, location=self.location * mean, scale=self.scale * spread)

    def _tail(self, values: FloatArray) -> Bounds:
        """Bounds of P(T > value) for the law without truncation."""
        nu, standard = self.degrees_of_freedom, (values - self.location) / self.scale
        middle = np.asarray(special.stdtr(nu, -standard), dtype=float)
        # The quotient is off by a few ulp of the location over the scale; the hazard rate is at most nu + 1,
        # and at most nu / x as f(y) >= f(x) (x / y)**(nu + 1) for y > x > 0; at -x it is less than at x.
        doubt = 8 * EPSILON * (np.abs(values) + abs(self.location)) / self.scale
        slack = SURVIVAL_SLACK + (nu + 1) * doubt / np.maximum(np.abs(standard), 1.0)
        return middle * np.maximum(1 - slack, 0.0), np.minimum(middle * (1 + slack), 1.0)

    def _between(self, values: FloatArray, upper: float) -> Bounds:
        """Bounds of P(value < T < upper) for the law without truncation, from its smaller tail."""
        if upper <= self.location:
            mirrored = self.scaled(-1.0)
            near, far = mirrored._tail(-np.array([upper])), mirrored._tail(-values)
        else:
            near, far = self._tail(values), self._tail(np.array([upper]))
        return np.maximum(near[0] - far[1], 0.0), np.maximum(near[1] - far[0], 0.0)

    def _mass_between(self, lower: float | FloatArray, upper: float | FloatArray) -> FloatArray:
        """P(lower < X <= upper) of the untruncated law; upper-tail differences keep their accuracy."""
        nu, sign = self.degrees_of_freedom, np.where(np.asarray(lower) > self.location, -1.0, 1.0)
        low, high = (sign * ((end - self.location) / self.scale) for end in (lower, upper))
        return np.asarray(sign * (special.stdtr(nu, high) - special.stdtr(nu, low)), dtype=float)


def panel_masses(law: StudentT, edges: FloatArray) -> Nodes:
    """Gauss-Legendre points on panels, counted from the location, and weights that add up to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    half = np.diff(edges)[:, None] / 2
    points = (edges[:-1, None] + half * (1 + nodes)).ravel()
    nu, scale = law.degrees_of_freedom, law.scale
    masses = (half * weights).ravel() * np.exp(-(nu + 1) / 2 * np.log1p((points / scale) ** 2 / nu))
    return points, masses / masses.sum()  # the constant of the density goes with it


def graded_edges(
    start: float,
    stop: float,
    centres: Sequence[tuple[float, float]],
    longest: float = math.inf,
    damped: int = 0,
) -> FloatArray:
    """Edges of panels as long as half of the distance before a centre, the distance behind it, or its width.

    None is longer than for any of the centres and widths, nor than ``longest``. Where what is integrated
    falls exponentially from the lower end on (``damped`` = -1) or from the upper one (+1), panels may exceed
    the latter by as much as half their distance from it: in a Bernstein ellipse of parameter 3, which
    reaches a third of a panel beyond it, it is still below its value at that end.
    """
    edges = [start]
    while edges[-1] < stop:
        here = edges[-1]
        away = (here - start) / 2 if damped < 0 else (stop - here) / 3 if damped > 0 else 0.0
        step = min(max(width, (centre - here) / 2, here - centre) for centre, width in centres)
        edges.append(min(here + min(step, max(longest, away)), stop))
    return np.array(edges)


@functools.lru_cache(maxsize=1024)
def _centred_quadrature(law: StudentT, panel: float, damped: int) -> Nodes:
    """Points about the location, and their weights; ``damped`` as in `graded_edges`."""
    if not law.truncated:
        raise InvalidInputError("an untruncated Student-t has no finite quadrature")
    start, stop = (end - law.location for end in law.support())
    found = panel_masses(law, graded_edges(start, stop, ((0.0, law.panel_width),), panel, damped))
    for values in found:
        values.setflags(write=False)
    return found
