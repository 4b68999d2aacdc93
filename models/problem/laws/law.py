"""What a law of a random increment offers: everything else asks this, and never which law it is.

A law is one frozen class with a frozen distribution of `scipy.stats`, `Law.distribution` (or anything with
the same ``pdf``, ``logpdf``, ``cdf``, ``sf``, ``ppf``, ``isf``, ``rvs``, ``mean``, ``var`` and ``support``).
The rest follows from it, or is optional: without it a bound is weaker, or a method refuses and says why. What
is *granted* is the accuracy of these functions, `Law.tail_error`: intervals are certified under it.
"""

import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from depl.models.foundation.documents import Checked
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.wording import number
from depl.models.problem.laws.log_variable import ComplexArray, FloatArray, LogVariable

if TYPE_CHECKING:
    from depl.models.problem.laws.student_t import StudentT

Bounds = tuple[FloatArray, FloatArray]
Nodes = tuple[FloatArray, FloatArray]
"""Points and weights (or logarithms of weights), both of shape (n,)."""

SMALLEST_RELATIVE_VARIANCE = 1e-12
"""variance / mean**2 of an inverse gamma or lognormal law; below it, its parameters drown in rounding."""

MOMENT_ROUNDING = 1e-9
"""Relative allowance for the rounding of a bound that is computed from moments."""

NO_SPREAD = "only normal, lognormal and inverse gamma laws of finite variance are spread out"

UNIT_ROUNDOFF = 2.0**-53
"""Relative error of one rounding to the nearest double."""

_SCIPY_MEAN = 64.0
"""Rounding granted to a mean that scipy computes, in EPSILON times the size of the law: its closed forms are
off by a few units, its quadratures by some dozens."""


class Moments(NamedTuple):
    """Mean and variance (infinite where the integral diverges) of a law."""

    mean: float
    variance: float


class Law(Checked, frozen=True, kw_only=True):
    """A law of a random increment ``X``; a class of its own has a ``tag`` and overrides `distribution`.

    Class attributes say what is true of all members of the class; methods that return None by default are
    optional. ``z`` is complex, of any shape; ``points`` and ``values`` are float arrays.
    """

    wording: ClassVar[str] = ""
    """What the law is called in texts; its tag unless given."""

    for_improvements: ClassVar[bool] = True
    """Whether X may be the improvement of an epoch."""

    for_switches: ClassVar[bool] = True
    """Whether X may be the change of the loss at a switch."""

    declared: ClassVar[bool] = True
    """Whether probabilities are known at all."""

    forbids: ClassVar[bool] = False
    """Whether the law stands for a switch that may not be made."""

    is_normal: ClassVar[bool] = False
    """Whether X is normal, which some searches know closed forms for."""

    has_atoms: ClassVar[bool] = False
    """Whether X takes finitely many values, those of `atoms` and `decimals`."""

    unimodal: ClassVar[bool] = False
    """Whether X has a density that rises up to one point and falls from there."""

    positive: ClassVar[bool] = False
    """Whether X > 0, so that one nonpositive value refutes the law."""

    heavy_right_tail: ClassVar[bool] = False
    """Whether ``E exp(t X)`` is infinite for every ``t > 0``."""

    decays: ClassVar[bool] = False
    """Whether ``|E exp(-(c + i t) X)|`` is log-log concave in t, so that a secant bounds its tail.

    True for the normal law and for generalised gamma convolutions (Thorin), among them the gamma, the inverse
    gamma and the lognormal: each gamma factor is ((1 + c s)**2 + (s t)**2)**(-alpha / 2), log-log concave.
    """

    tilts: ClassVar[bool] = False
    """Whether X is normal or a generalised gamma convolution on x > 0, and its tilted law is known: the
    sharpest lower bounds need `tilted_cumulants` or `tilt_points`."""

    tail_error: ClassVar[float] = 4e-12
    """Relative error granted to ``cdf`` and ``sf``; the most seen of scipy's inverse gamma, lognormal,
    normal and Student-t against 90 digits is 1.3e-12 (inverse gamma of shape 1e6)."""

    # --- required ---------------------------------------------------------------------------------------

    def distribution(self) -> Any:
        """The frozen distribution of scipy.stats that X has."""
        raise NotCoveredError(f"a law of type {self.tag()} has no density")

    # --- follows from the distribution ------------------------------------------------------------------

    @classmethod
    def tag(cls) -> str:
        """The ``type`` that stands for the law in documents."""
        return str(cls.__struct_config__.tag)

    @functools.cached_property
    def scipy(self) -> Any:
        """`distribution`, made once."""
        return self.distribution()

    @property
    def constant(self) -> float | None:
        """The value that X always has, if it is no random number."""
        return None

    def moments(self) -> Moments:
        """Mean and variance of ``X``."""
        return Moments(float(self.scipy.mean()), float(self.scipy.var()))

    def support(self) -> tuple[float, float]:
        """Essential infimum and supremum of ``X``."""
        low, high = self.scipy.support()
        return float(low), float(high)

    @np.errstate(all="ignore")  # scipy divides by x before it looks at the support
    def density(self, x: ArrayLike) -> FloatArray:
        """Probability density, elementwise.

        Raises
        ------
        NotCoveredError
            If the law has none.
        """
        return np.asarray(self.scipy.pdf(x), dtype=float)

    @np.errstate(all="ignore")
    def cdf(self, x: ArrayLike) -> FloatArray:
        """P(X <= x), elementwise."""
        return np.asarray(self.scipy.cdf(x), dtype=float)

    @np.errstate(all="ignore")
    def survival(self, x: ArrayLike) -> FloatArray:
        """P(X > x) of a law with a density, elementwise, accurate in the upper tail."""
        return np.asarray(self.scipy.sf(np.asarray(x, dtype=float)), dtype=float)

    def survival_slack(self, points: FloatArray) -> float:
        """Absolute error that `survival` and `cdf` may have at ``points`` on top of `tail_error`.

        An argument rounded by a few units in the last place moves the value by that times sup |x| f(x).
        Where no bound of that is offered, the tail is asked on both sides of every point: it falls.
        """
        sensitivity = self.argument_sensitivity(float(np.abs(points).max()))
        if sensitivity is not None:
            return 8 * UNIT_ROUNDOFF * sensitivity + 4 * UNIT_ROUNDOFF
        moved = 8 * UNIT_ROUNDOFF * np.abs(points)
        between = self.survival(points - moved) - self.survival(points + moved)
        return float(between.max()) + 2 * self.tail_error + 4 * UNIT_ROUNDOFF

    @np.errstate(all="ignore")
    def quantile(self, level: ArrayLike, *, upper: bool = False) -> FloatArray:
        """Value exceeded with probability 1 - level (with ``level`` if ``upper``), elementwise."""
        inverse = self.scipy.isf if upper else self.scipy.ppf
        return np.asarray(inverse(np.asarray(level, dtype=float)), dtype=float)

    def inverse_cdf(self, u: ArrayLike) -> FloatArray:
        """Least x with P(X <= x) >= u, elementwise, for 0 < u < 1."""
        return self.quantile(u)

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """``size`` independent draws of ``X``."""
        return np.asarray(self.scipy.rvs(size=size, random_state=rng), dtype=float)

    def in_words(self) -> str:
        """The law in words, with its parameters as they were given."""
        return f"{self.wording or self.tag().replace('_', ' ')} of {moments_in_words(self.moments())}"

    # --- optional: sharper bounds of what is known anyway -----------------------------------------------

    def mean_rounding(self) -> float:
        """Bound of the error of the law's mean times a weight, in EPSILON."""
        mean, variance = self.moments()
        return _SCIPY_MEAN * (math.hypot(mean, math.sqrt(variance)) if math.isfinite(variance) else abs(mean))

    def typical_square(self) -> float:
        """About the variance, with stand-ins where it is infinite or far above the squared mean."""
        mean, variance = self.moments()
        size = variance if math.isfinite(variance) else 4 * mean * mean
        return min(size, 1e4 * mean * mean) if mean else size

    def third_moment(self) -> float:
        """An upper bound of E |X - E X|**3; infinite where none is known to be finite [loss**3]."""
        return math.inf

    def argument_sensitivity(self, greatest: float) -> float | None:
        """At least sup |x| f(x) over |x| <= ``greatest``; None where it is not known."""
        return None

    # --- optional: atoms --------------------------------------------------------------------------------

    def atoms(self) -> Nodes:
        """Values and probabilities of a law with atoms, both of shape (n,)."""
        raise NotCoveredError(f"a law of type {self.tag()} has no atoms")

    def decimals(self) -> list[tuple[float, float]]:
        """Values and weights (not normalised) of a law with atoms, as they were written."""
        raise NotCoveredError(f"a law of type {self.tag()} has no atoms")

    # --- optional: transforms ---------------------------------------------------------------------------

    without_transform: ClassVar[str] = "a law that offers no transform has no exponential moments to use"
    """What is said where `transform_domain` is None."""

    def transform_domain(self) -> tuple[float, float] | None:
        """Open interval of Re z in which E exp(-z X) is finite and offered; it ends at 0 or contains it.

        With it comes one of `centred_log_transform`, `log_variable` and `sum_for`. For gains alone the upper
        end has to be infinite, for increments that raise the loss the lower one.
        """
        return None

    def centred_log_transform(self, z: ComplexArray) -> tuple[ComplexArray, FloatArray] | None:
        """log E exp(-z (X - E X)) and a bound of its absolute error (modulo 2 pi i), by a closed form.

        The bound has to cover z rounded by a relative 2**-52.
        """
        return None

    def log_variable(self) -> LogVariable | None:
        """X = unit * exp(Y) with an entire density of Y, for the trapezoidal rule."""
        return None

    def sum_for(self, z: ComplexArray) -> Nodes | None:
        """Points and masses whose finite sum is E exp(-z X) to rounding."""
        return None

    def sum_length(self, largest: float) -> float:
        """About how many points `sum_for` has for complex |z| <= ``largest``; 0 where there is no sum."""
        return 0.0

    # --- optional: exponential tilts --------------------------------------------------------------------

    def tilt_unit(self) -> float:
        """What a law that `tilts` is counted in: the mean of a positive law."""
        return self.moments().mean

    def tilted_cumulants(self, u: FloatArray) -> tuple[FloatArray, ...] | None:
        """H(u), D(u) and the cumulants 2, 3, 4 of X / unit tilted by exp(-u X / unit), by closed forms.

        H(u) = -ln E exp(-u X) - u E_u X is the divergence of the tilted law, D(u) = u (E X - E_u X).
        """
        return None

    def tilt_points(self, least: float) -> Nodes | None:
        """X / E X as points and weights that serve under all tilts u >= ``least``."""
        return None

    @property
    def tailed(self) -> "StudentT | None":
        """The law itself, if its tails can be cut off at a certified price."""
        return None

    # --- optional: estimation ---------------------------------------------------------------------------

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """Names of the parameters that `fitted` finds; none if the law cannot be fitted."""
        return ()

    @classmethod
    def fitted(cls, sample: FloatArray) -> "Law":
        """The law of greatest likelihood of a sample, shape (n,)."""
        raise NotCoveredError(f"a law of type {cls.tag()} cannot be fitted; it has no method for that")

    def rescaled(self, factor: float) -> "Law":
        """The law of ``factor * X``, factor > 0."""
        del factor
        raise NotCoveredError(f"a law of type {self.tag()} cannot be rescaled; it has no method for that")

    @property
    def family(self) -> str | None:
        """The family that the law is refitted with; None if there is nothing random to fit."""
        return self.tag()

    def spread_out(self, factor: float) -> "Law":
        """The law with the same mean and the variance times ``factor``, where it may be given by the two."""
        mean, variance = self.moments()
        if not {"mean", "variance"} <= set(self.__struct_fields__) or not math.isfinite(variance):
            raise NotCoveredError(NO_SPREAD)
        return type(self)(mean=mean, variance=variance * factor)

    def moved(self, mean: float, spread: float) -> "Law":
        """The law with its mean and its standard deviation multiplied."""
        del mean, spread
        raise NotCoveredError(f"a law of type {self.tag()} cannot be moved; it has no method for that")


def moments_in_words(moments: Moments) -> str:
    """Mean and variance in words."""
    return f"mean {number(moments.mean)}, variance {number(moments.variance)}"


def require_one_pair(law: Law, first: tuple[str, str], second: tuple[str, str]) -> None:
    """Refuse a law that is not given by exactly one of two pairs of parameters."""
    given = [name for name in (*first, *second) if getattr(law, name) is not None]
    if given not in (list(first), list(second)):
        raise InvalidInputError(
            f"give exactly {first[0]} and {first[1]}, or exactly {second[0]} and {second[1]}; "
            f"got {given or 'none'}"
        )


def require_spread(relative_variance: float) -> None:
    """Refuse a law whose parameters drown in rounding."""
    if relative_variance < SMALLEST_RELATIVE_VARIANCE:
        raise InvalidInputError(
            f"the relative variance {relative_variance:.2g} is below {SMALLEST_RELATIVE_VARIANCE:g}; "
            "use a normal or deterministic law"
        )


def sum_rounding(count: int, moments: Moments) -> float:
    """Rounding of a mean that is a dot product, summed in eight lanes or more, in EPSILON."""
    return (16 + count / 8) * math.hypot(moments.mean, math.sqrt(moments.variance))
