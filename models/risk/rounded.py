"""Laws rounded to a grid in one stated direction: the arithmetic under the certified grid evaluator.

Rounding every summand up gives a sum that is never smaller, rounding every summand down one that is
never larger; the probabilities of the two enclose the true one. The direction is therefore part of
the type, and so is the mass that cannot be placed: it sits at +infinity when rounding up, at
-infinity when rounding down. The habits (direction in the type, explicit mass at infinity, refusal
to mix) are those of privacy accountants such as dp_accounting.

Grid points are integer multiples of a step with few binary digits, hence exact in double precision.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

import numpy as np
from scipy import fft

from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, Law
from depl.models.problem.laws.law import UNIT_ROUNDOFF

_DIRECT_LENGTH = 64
"""Length of the shorter factor up to which a convolution is summed directly: set by hand between time for n m
products and the rounding of a transform. Both ways bound their own rounding."""

SUMMATION_ERROR = 64 * UNIT_ROUNDOFF
"""Rounding of a sum of nonnegative masses that add up to 1, on which soundness rests: numpy adds blocks of
128 in 8 strands and the blocks in pairs, so 2**23 masses take 16 + 3 + 16 = 35 roundings each at most."""


class Rounding(Enum):
    """Direction in which values are moved to the grid."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, eq=False)
class RoundedLaw:
    """A probability law on the grid ``step * integer``, and infinity.

    Attributes
    ----------
    rounding : Rounding
        Whether the law is stochastically above (UP) or below (DOWN) the one that it stands for.
    step : float
        Grid spacing [loss], of few binary digits.
    first : int
        Index of the first grid point of ``masses``.
    masses : ndarray, shape (n,)
        Probability of each grid point.
    escaped : float
        Probability at +infinity (UP) or -infinity (DOWN).
    error : float
        Bound on sup |F - F'|, F the distribution function of what is stored, F' of the law meant.
    """

    rounding: Rounding
    step: float
    first: int
    masses: FloatArray
    escaped: float
    error: float

    @property
    def last(self) -> int:
        """Index of the last grid point of ``masses``."""
        return self.first + len(self.masses) - 1

    def convolve(self, other: "RoundedLaw") -> "RoundedLaw":
        """The law of the sum of two independent variables.

        The distance sup |F - F'| adds up under convolution, and the rounding of the transform adds
        its own bound.

        Raises
        ------
        InvalidInputError
            If the two were rounded in different directions or to different grids.
        """
        if self.rounding is not other.rounding:
            raise InvalidInputError(
                f"a law rounded {self.rounding.value} and one rounded {other.rounding.value} have a sum "
                "that is neither; round both in the same direction"
            )
        if self.step != other.step:
            raise InvalidInputError(
                f"laws on grids of step {self.step} and {other.step} cannot be added; use one step"
            )
        masses, rounding_error = convolved(self.masses, other.masses)
        return RoundedLaw(
            self.rounding,
            self.step,
            self.first + other.first,
            masses,
            self.escaped + other.escaped - self.escaped * other.escaped,
            self.error + other.error + rounding_error,
        )

    def within(self, first: int, last: int) -> "RoundedLaw":
        """The law moved, in its direction, into the grid points ``first`` to ``last`` and infinity.

        Rounding up, mass below ``first`` moves to ``first`` and mass above ``last`` to +infinity;
        rounding down, mass above ``last`` moves to ``last`` and mass below ``first`` to -infinity.
        A monotone map leaves the bound on sup |F - F'| valid.
        """
        if first <= self.first and self.last <= last:
            return self
        low = min(max(first - self.first, 0), len(self.masses))
        high = min(max(last - self.first + 1, low), len(self.masses))
        below, above = float(self.masses[:low].sum()), float(self.masses[high:].sum())
        kept, start = self.masses[low:high].copy(), self.first + low
        if self.rounding is Rounding.UP:
            kept, start = _with_mass(kept, start, below, first)
            escaped = self.escaped + above
        else:
            kept, start = _with_mass(kept, start, above, last)
            escaped = self.escaped + below
        return replace(self, first=start, masses=kept, escaped=escaped, error=self.error + SUMMATION_ERROR)

    def above(self, index: int) -> float:
        """Probability of exceeding grid point ``index``, as stored (see ``error``)."""
        start = min(max(index + 1 - self.first, 0), len(self.masses))
        return float(self.masses[start:].sum()) + (self.escaped if self.rounding is Rounding.UP else 0.0)


def rounded(term: Term, step: float, first: int, last: int) -> tuple[RoundedLaw, RoundedLaw]:
    """``coefficient * X`` rounded up and rounded down, on the grid points ``first`` to ``last``.

    Parameters
    ----------
    step : float
        Grid spacing [loss], of few binary digits so that its multiples are exact.

    Returns
    -------
    tuple of RoundedLaw
        The law rounded UP and the law rounded DOWN.
    """
    if term.law.has_atoms:
        return _atoms_up(term.coefficient, term.law, step, first, last), _atoms_down(
            term.coefficient, term.law, step, first, last
        )
    points: FloatArray = np.arange(first, last + 1, dtype=float) * step
    upper, lower = _survival_bounds(term, points)
    up = np.concatenate([[1 - upper[0]], upper[:-1] - upper[1:]])
    down = np.concatenate([lower[:-1] - lower[1:], [lower[-1]]])
    return (
        RoundedLaw(Rounding.UP, step, first, up, float(upper[-1]), SUMMATION_ERROR),
        RoundedLaw(Rounding.DOWN, step, first, down, 1 - float(lower[0]), SUMMATION_ERROR),
    )


def _survival_bounds(term: Term, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Nonincreasing upper and lower bounds on P(coefficient * X > point) for a continuous law."""
    law, arguments = term.law, points / term.coefficient
    above = law.survival(arguments) if term.coefficient > 0 else law.cdf(arguments)
    slack = law.survival_slack(arguments)
    upper = np.minimum(above * (1 + law.tail_error) + slack, 1.0)
    lower = np.maximum(above * (1 - law.tail_error) - slack, 0.0)
    return np.maximum.accumulate(upper[::-1])[::-1], np.minimum.accumulate(lower)


def _atoms_up(coefficient: float, law: Law, step: float, first: int, last: int) -> RoundedLaw:
    values, weights = law.atoms()
    unit = Fraction(coefficient) / Fraction(step)
    indices = [max(math.ceil(unit * Fraction(value)), first) for value in values.tolist()]
    kept = np.array(indices) <= last
    masses: FloatArray = np.zeros(1)
    start = first
    if kept.any():
        inside = np.array(indices)[kept].astype(np.int64)
        start = int(inside.min())
        masses = np.asarray(np.bincount(inside - start, weights[kept]), dtype=float)
    error = SUMMATION_ERROR + len(weights) * UNIT_ROUNDOFF
    return RoundedLaw(Rounding.UP, step, start, masses, float(weights[~kept].sum()), error)


def _atoms_down(coefficient: float, law: Law, step: float, first: int, last: int) -> RoundedLaw:
    mirrored = _atoms_up(-coefficient, law, step, -last, -first)
    return replace(
        mirrored, rounding=Rounding.DOWN, first=-mirrored.last, masses=mirrored.masses[::-1].copy()
    )


def _with_mass(masses: FloatArray, first: int, mass: float, index: int) -> tuple[FloatArray, int]:
    """``masses`` from ``first`` on, with ``mass`` added at grid point ``index`` (adjacent or inside)."""
    if mass == 0.0:
        return (masses, first) if len(masses) else (np.zeros(1), index)
    if len(masses) == 0:
        return np.array([mass]), index
    start, stop = min(first, index), max(first + len(masses), index + 1)
    widened = np.zeros(stop - start)
    widened[first - start : first - start + len(masses)] = masses
    widened[index - start] += mass
    return widened, start


def convolved(first: FloatArray, second: FloatArray) -> tuple[FloatArray, float]:
    """Linear convolution, and a bound on the sum of the absolute errors of its entries.

    Directly for short factors: relative rounding only. Otherwise by zero-padded FFT of n points. With
    relative error eta <= 8 u log2(n) of a transform in the 2-norm (Higham, Accuracy and Stability of
    Numerical Algorithms, Thm 24.2) and 3 u of a complex product, the 2-norm of the error is at most
    (eta + 3 u)(|a|_2 |b|_1 + |a|_1 |b|_2 + min of both), and the 1-norm at most sqrt(n) times that.
    """
    if not len(first):
        return np.zeros(0), 0.0
    total = float(first.sum()) * float(second.sum())
    shortest = min(len(first), len(second))
    if shortest <= _DIRECT_LENGTH:
        return np.convolve(first, second), 2 * (shortest + 1) * UNIT_ROUNDOFF * total
    length = len(first) + len(second) - 1
    padded = fft.next_fast_len(length, real=True)
    spectrum = fft.rfft(first, padded)
    spectrum *= spectrum if second is first else fft.rfft(second, padded)
    masses = np.maximum(fft.irfft(spectrum, padded)[:length], 0.0)
    left = _norm(first) * float(second.sum())
    right = _norm(second) * float(first.sum())
    relative = (8 * (math.log2(padded) + 1) + 3) * UNIT_ROUNDOFF
    return masses, 1.01 * relative * (left + right + min(left, right)) * math.sqrt(padded)


def _norm(masses: FloatArray) -> float:
    """2-norm without BLAS, whose threads cost more than they save on vectors of this length."""
    return math.sqrt(float(np.square(masses).sum()))
