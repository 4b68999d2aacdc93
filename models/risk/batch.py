"""Feasibility of many plans at once: the same few increments, counted differently.

The label of a plan is the sum of the labels of its increments, so one matrix product labels all plans
at the nodes of one contour, chosen for a plan near the boundary. What that contour leaves undecided is
tried with a contour of its own kind, and at last one by one with `certified_violation`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.epochs import FinalLoss, Term
from depl.models.laws import FloatArray
from depl.models.risk.certify import certified_violation
from depl.models.risk.contour import choose_contour, label_table, violation
from depl.models.risk.transforms import decays, has_transform

_FEW = 16
_ROUNDS = 12

Counts = NDArray[np.int16]


class Verdict(IntEnum):
    """What is certified of P(l(K) > l_max) <= 1 - omega."""

    VIOLATED = -1
    UNDECIDED = 0
    MET = 1


@dataclass(frozen=True, eq=False)
class LossClasses:
    """P final losses made of common parts: ``constants[p] + sum of counts[p, t] * terms[t]``."""

    terms: Sequence[Term]
    counts: Counts
    constants: FloatArray

    def loss(self, index: int) -> FinalLoss:
        """One of them."""
        row = self.counts[index]
        present = tuple((term, int(count)) for term, count in zip(self.terms, row, strict=True) if count)
        return FinalLoss(float(self.constants[index]), present)

    def means(self) -> FloatArray:
        """Expected final losses, shape (P,)."""
        means = np.array([term.coefficient * term.law.moments().mean for term in self.terms])
        return np.asarray(self.constants + self.counts @ means)

    def scores(self, maximum_loss: float) -> FloatArray:
        """(l_max - mean) / standard deviation, with a stand-in for infinite variances; shape (P,)."""
        variances = []
        for term in self.terms:
            moments = term.law.moments()
            variance = moments.variance if math.isfinite(moments.variance) else 4 * moments.mean**2 + 1e-12
            variances.append(term.coefficient**2 * variance)
        spread = np.sqrt(self.counts @ np.array(variances))
        return np.asarray((maximum_loss - self.means()) / np.maximum(spread, 1e-12))


def verdicts(classes: LossClasses, maximum_loss: float, budget: Fraction) -> NDArray[np.int8]:
    """Certified verdict on every class, shape (P,), values of `Verdict`."""
    found = np.zeros(len(classes.counts), dtype=np.int8)
    open_classes = _by_contours(classes, maximum_loss, budget, found)
    for index in open_classes:
        interval = certified_violation(classes.loss(int(index)), maximum_loss)
        if interval.at_most(budget):
            found[index] = Verdict.MET
        elif interval.exceeds(budget):
            found[index] = Verdict.VIOLATED
    return found


def _by_contours(
    classes: LossClasses, maximum_loss: float, budget: Fraction, found: NDArray[np.int8]
) -> NDArray[np.intp]:
    """Decide what contours can decide in ``found``; return the classes that stay open."""
    smooth = np.array([decays(term.law) for term in classes.terms], dtype=bool)
    usable = np.array([has_transform(term.law) for term in classes.terms], dtype=bool)
    fit = (classes.counts[:, smooth].sum(axis=1) > 0) & (classes.counts[:, ~usable].sum(axis=1) == 0)
    undecided, probability = np.flatnonzero(fit), _rounded_down(budget)
    scores = classes.scores(maximum_loss)
    wanted = -float(special.ndtri(probability))
    for _ in range(_ROUNDS):
        if len(undecided) <= _FEW:
            break
        reference = int(undecided[np.argmin(np.abs(scores[undecided] - wanted))])
        contour = choose_contour(classes.loss(reference).terms, probability)
        if contour is None:
            break
        used = [int(column) for column in np.flatnonzero((classes.counts[undecided] > 0).any(axis=0))]
        table = label_table([classes.terms[index] for index in used], contour)
        labels = table.combine(classes.counts[undecided][:, used])
        lower, upper = violation(contour, labels, classes.constants[undecided] - maximum_loss)
        found[undecided[upper <= probability]] = Verdict.MET
        found[undecided[lower > probability]] = Verdict.VIOLATED
        remaining = undecided[found[undecided] == Verdict.UNDECIDED]
        if len(remaining) == len(undecided):
            break
        undecided = remaining
    return np.flatnonzero(found == Verdict.UNDECIDED)


def _rounded_down(budget: Fraction) -> float:
    nearest = float(budget)
    return nearest if Fraction(nearest) <= budget else math.nextafter(nearest, 0.0)
