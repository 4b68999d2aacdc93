"""Student-t switches and their tails: bounds of probabilities, cores, and what lies beyond the cores.

Probabilities of tails are taken from the tails themselves: one minus the probability of a core is
rounding noise where budgets of 1e-14 are decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.epochs import Term
from depl.models.problem.laws import FloatArray, StudentT
from depl.models.problem.laws.law import Bounds
from depl.models.problem.laws.student_t import SURVIVAL_SLACK
from depl.models.risk.transforms import EPSILON

_MUCH_NARROWER = 0.5
"""A truncated law is cut where its core is at most so wide in comparison: less would not save work."""


def core_term(term: Term, tails: float) -> Term:
    """A Student-t cut to its core, which leaves out the probability ``tails``; others as they are.

    So is a truncated one that is cut much farther out: a transform is a sum over points all over its support.
    """
    if term.law.tailed is None:
        return term
    law = term.law.tailed.scaled(term.coefficient)
    core = law.core(tails)
    (lower, upper), (first, last) = law.support(), core.support()
    return Term(1.0, core) if last - first <= _MUCH_NARROWER * (upper - lower) else term


def beyond(law: StudentT, core: StudentT) -> tuple[float, float]:
    """Bounds of the probability that S is outside of its core."""
    lower, upper = core.support()
    right, left = law.exceedance(np.array([upper])), law.shortfall(np.array([lower]))
    low, high = float(right[0][0] + left[0][0]), float(right[1][0] + left[1][0])
    return low * (1 - EPSILON), high * (1 + EPSILON)


def outside(term: Term, core: Term) -> tuple[float, float]:
    """Bounds of the probability that a Student-t is outside of its core; 0 for terms that were not cut."""
    if core == term or term.law.tailed is None or core.law.tailed is None:
        return 0.0, 0.0
    return beyond(term.law.tailed.scaled(term.coefficient), core.law.tailed.scaled(core.coefficient))


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
