"""Student-t switches and their tails: bounds of probabilities, cores, and what lies beyond the cores.

Probabilities of tails are taken from the tails themselves: one minus the probability of a core is
rounding noise where budgets of 1e-14 are decided.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, StudentT
from depl.models.risk.transforms import EPSILON

Bounds = tuple[FloatArray, FloatArray]

SURVIVAL_SLACK = 1e-11
"""Relative error granted to scipy's Student-t distribution function."""

_NARROWEST = 0.01
_MUCH_NARROWER = 0.5
"""A truncated law is cut where its core is at most so wide in comparison: less would not save work."""


def untruncated(term: Term) -> bool:
    """Whether the term is a Student-t without truncation, which has no exponential moments."""
    return isinstance(term.law, StudentT) and not term.law.truncated


def scaled(term: Term) -> StudentT:
    """The Student-t law of ``coefficient * X``."""
    law, weight = term.law, term.coefficient
    if not isinstance(law, StudentT):  # pragma: no cover - callers pass such terms only
        raise TypeError("not a Student-t term")
    ends: tuple[float | None, float | None] = (None, None)
    if law.lower is not None and law.upper is not None:
        ends = (min(weight * law.lower, weight * law.upper), max(weight * law.lower, weight * law.upper))
    return StudentT(
        degrees_of_freedom=law.degrees_of_freedom,
        location=weight * law.location,
        scale=abs(weight) * law.scale,
        lower=ends[0],
        upper=ends[1],
    )


def exceedance(law: StudentT, values: FloatArray) -> Bounds:
    """Bounds of P(S > value), accurate in the right tail."""
    if law.lower is None or law.upper is None:
        return _tail(law, values)
    inside = np.clip(values, law.lower, law.upper)
    low, high = _between(law, inside, law.upper)
    least, most = (float(end[0]) for end in _between(law, np.array([law.lower]), law.upper))
    return low / most, np.minimum(high / max(least, 1e-300), 1.0)


def shortfall(law: StudentT, values: FloatArray) -> Bounds:
    """Bounds of P(S < value), accurate in the left tail."""
    mirrored = scaled(Term(-1.0, law))
    return exceedance(mirrored, -values)


def core_of(law: StudentT, tails: float, widest: float = math.inf) -> StudentT:
    """The law cut to where it leaves out the probability ``tails``, or to ``widest`` about its mode."""
    share = tails / 2 * law.interval_mass()
    reach = law.scale * abs(float(special.stdtrit(law.degrees_of_freedom, share)))
    reach = min(reach, max(widest, _NARROWEST * law.scale))
    lower, upper = law.support()
    mode = min(max(law.location, lower), upper)
    return msgspec.structs.replace(law, lower=max(lower, mode - reach), upper=min(upper, mode + reach))


def core_term(term: Term, tails: float) -> Term:
    """A Student-t cut to its core, which leaves out the probability ``tails``; others as they are.

    So is a truncated one that is cut much farther out: a transform is a sum over points all over its support.
    """
    if not isinstance(term.law, StudentT):
        return term
    law = scaled(term)
    core = core_of(law, tails)
    (lower, upper), (first, last) = law.support(), core.support()
    return Term(1.0, core) if last - first <= _MUCH_NARROWER * (upper - lower) else term


def beyond(law: StudentT, core: StudentT) -> tuple[float, float]:
    """Bounds of the probability that S is outside of its core."""
    lower, upper = core.support()
    right, left = exceedance(law, np.array([upper])), shortfall(law, np.array([lower]))
    low, high = float(right[0][0] + left[0][0]), float(right[1][0] + left[1][0])
    return low * (1 - EPSILON), high * (1 + EPSILON)


def outside(term: Term, core: Term) -> tuple[float, float]:
    """Bounds of the probability that a Student-t is outside of its core; 0 for terms that were not cut."""
    if core == term:
        return 0.0, 0.0
    return beyond(scaled(term), scaled(core))


@dataclass(frozen=True)
class Kept:
    """The probability q that no switch leaves its core, for P losses.

    P(L > v) = q P(cores only) + something between 0 and 1 - q.

    Attributes
    ----------
    least, most : ndarray, shape (P,)
        Bounds of q.
    lost : ndarray, shape (P,)
        Upper bound of 1 - q, accurate where q is nearly 1.
    """

    least: FloatArray
    most: FloatArray
    lost: FloatArray

    @classmethod
    def of(cls, outsides: Sequence[tuple[float, float]], counts: FloatArray) -> "Kept":
        """From the bounds of `outside` of every term, and how often each loss has it, shape (P, terms)."""
        low, high = np.log1p(-np.reshape(outsides, (-1, 2))).T @ counts.T
        slack = np.where(high < 0, SURVIVAL_SLACK, 0.0)
        least, most = np.exp(high) * (1 - slack), np.minimum(np.exp(low) * (1 + slack), 1.0)
        return cls(least, most, -np.expm1(high) * (1 + slack))

    def whole(self, lower: FloatArray, upper: FloatArray) -> Bounds:
        """Bounds for the losses themselves from those for the losses with cores only."""
        widened = np.minimum((self.most * upper + self.lost) * (1 + 4 * EPSILON), 1.0)
        return self.least * lower, np.where(self.lost > 0, widened, upper)

    def __getitem__(self, rows: NDArray[np.intp]) -> "Kept":
        """Of some of the losses."""
        return Kept(self.least[rows], self.most[rows], self.lost[rows])


def _tail(law: StudentT, values: FloatArray) -> Bounds:
    """Bounds of P(T > value) for the law without truncation."""
    nu, standard = law.degrees_of_freedom, (values - law.location) / law.scale
    middle = np.asarray(special.stdtr(nu, -standard), dtype=float)
    # The quotient is off by a few ulp of the location over the scale; the hazard rate is at most nu + 1,
    # and at most nu / x as f(y) >= f(x) (x / y)**(nu + 1) for y > x > 0; at -x it is less than at x.
    doubt = 8 * EPSILON * (np.abs(values) + abs(law.location)) / law.scale
    slack = SURVIVAL_SLACK + (nu + 1) * doubt / np.maximum(np.abs(standard), 1.0)
    return middle * np.maximum(1 - slack, 0.0), np.minimum(middle * (1 + slack), 1.0)


def _between(law: StudentT, values: FloatArray, upper: float) -> Bounds:
    """Bounds of P(value < T < upper) for the law without truncation, from the smaller of its two tails."""
    if upper <= law.location:
        mirrored = scaled(Term(-1.0, law))
        near, far = _tail(mirrored, -np.array([upper])), _tail(mirrored, -values)
    else:
        near, far = _tail(law, values), _tail(law, np.array([upper]))
    return np.maximum(near[0] - far[1], 0.0), np.maximum(near[1] - far[0], 0.0)
