"""Feasibility of many plans at once: the same few increments, counted differently.

The label of a plan is the sum of the labels of its increments, so one matrix product labels all plans
at the nodes of one contour, chosen for a plan near the boundary. Increments that do not fit a contour
are replaced by ones that do, at a certified price:

- a Student-t that is not truncated, or far out, by its core between loc - U and loc + U: with q the
  probability that no switch leaves its core, P = q P(cores only) + something between 0 and 1 - q;
- where no increment decays, an independent normal N is added: for any delta > 0,
  P(L + N > l + delta) - P(N > delta) <= P(L > l) <= P(L + N > l - delta) / P(N > -delta).

What one contour leaves undecided is tried with a contour of its own kind; what stays open is for
`certified_verdict`, one by one.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import FloatArray, Normal
from depl.models.risk.certify import certified_violation
from depl.models.risk.contour import (
    MOST_WORK,
    Contour,
    choose_contour,
    label_table,
    violation,
    work_of,
)
from depl.models.risk.heavy import Kept, core_term, outside
from depl.models.risk.transforms import transformable

_FEW = 4
"""Losses for which no common contour is sought: set by hand, since choosing one pays only if several share
it. Twice or half as many: the same verdicts up to what intervals leave undecided, in other time."""

_ROUNDS = 12
"""Contours tried at most: set by hand; the loop ends sooner if one decides nothing. More cost time, fewer
leave more losses to `certified_verdict`; the bounds hold for any number."""

CORE_SHARE = 0.01
"""Share of the budget that may lie beyond the cores of all Student-t laws of a loss: set by hand. That
probability is counted, so any value is sound: twice as much leaves losses within 2 % of the budget undecided,
half as much makes cores wider and their labels longer."""

_SMOOTHING = 0.02
"""Deviation of the added normal, in deviations of a typical loss: set by hand, sound for any value. The
threshold moves by `_REACH` times it, 8 % of a deviation; half as much halves that and takes twice as many
nodes."""

_REACH = 4.0
"""delta in deviations of the added normal: set by hand, sound for any value as P(N > delta) = 3.2e-5 is
counted. Greater values move the threshold further, and at 3 the lower bound would lose 1.3e-3."""

CLEARLY = 1 - 2e-4
"""Share of the budget up to which a contour may say that it is kept. Nearer to it the evaluator made for the
loss, which answers for the plan in the end, has the word: it may be wider, by 1e-4 with cores."""

Counts = NDArray[np.integer[Any]]


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

    @classmethod
    def of(cls, losses: Sequence[FinalLoss]) -> "LossClasses":
        """Some final losses with their common parts collected."""
        columns: dict[Term, int] = {}
        for loss in losses:
            for term, _ in loss.terms:
                columns.setdefault(term, len(columns))
        counts = np.zeros((len(losses), len(columns)), dtype=np.int64)
        for row, loss in enumerate(losses):
            for term, count in loss.terms:
                counts[row, columns[term]] += count
        return cls(tuple(columns), counts, np.array([loss.constant for loss in losses]))

    def loss(self, index: int) -> FinalLoss:
        """One of them."""
        row = self.counts[index]
        present = tuple((term, int(count)) for term, count in zip(self.terms, row, strict=True) if count)
        return FinalLoss(float(self.constants[index]), present)

    def select(self, rows: NDArray[np.intp]) -> "LossClasses":
        """Some of them."""
        return LossClasses(self.terms, self.counts[rows], self.constants[rows])

    def means(self) -> FloatArray:
        """Expected final losses, shape (P,)."""
        means = np.array([term.coefficient * term.law.moments().mean for term in self.terms])
        return np.asarray(self.constants + self.counts @ means)

    def scores(self, maximum_loss: float) -> FloatArray:
        """(l_max - mean) / standard deviation, with a stand-in for infinite variances; shape (P,)."""
        variances = []
        for term in self.terms:
            moments = term.law.moments()
            variance = moments.variance
            if not math.isfinite(variance):
                variance = 4 * moments.mean * moments.mean + 1e-12
            variances.append(term.coefficient * term.coefficient * variance)
        spread = np.sqrt(self.counts @ np.array(variances))
        return np.asarray((maximum_loss - self.means()) / np.maximum(spread, 1e-12))


def quick_verdicts(classes: LossClasses, maximum_loss: float, budget: Fraction) -> NDArray[np.int8]:
    """What a few contours certify of every class, shape (P,), values of `Verdict`."""
    found = np.zeros(len(classes.counts), dtype=np.int8)
    if len(found) > _FEW:
        _by_contours(classes, maximum_loss, budget, found)
    return found


def first_met(
    classes: LossClasses, maximum_loss: float, budget: Fraction, proceed: Callable[[], bool]
) -> int | None:
    """Index of the first class that is certified to meet the target; None if none is, or if told to stop."""
    quick = quick_verdicts(classes, maximum_loss, budget)
    for index, verdict in enumerate(quick):
        if not proceed():
            return None
        if verdict == Verdict.UNDECIDED:
            verdict = certified_verdict(classes.loss(index), maximum_loss, budget)
        if verdict == Verdict.MET:
            return index
    return None


def certified_verdict(loss: FinalLoss, maximum_loss: float, budget: Fraction) -> Verdict:
    """What the evaluator made for this loss certifies."""
    interval = certified_violation(loss, maximum_loss)
    if interval.at_most(budget):
        return Verdict.MET
    return Verdict.VIOLATED if interval.exceeds(budget) else Verdict.UNDECIDED


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Classes whose increments all have labels, and what that replacement costs.

    ``kept`` bounds q of the module's docstring, ``smoothed`` marks the classes to which the last term, a
    normal, was added, ``usable`` those all of whose increments have transforms.
    """

    classes: LossClasses
    kept: Kept
    smoothed: NDArray[np.bool_]
    deviation: float
    usable: NDArray[np.bool_]

    def affordable(self, rows: NDArray[np.intp], contour: Contour) -> NDArray[np.intp]:
        """Those classes none of whose increments reaches so far that its label is much work."""
        terms = self.classes.terms
        costly = [column for column, term in enumerate(terms) if work_of(contour, [term]) > MOST_WORK]
        return np.asarray(rows[(self.classes.counts[rows][:, costly] == 0).all(axis=1)])

    def bounds(
        self, rows: NDArray[np.intp], contour: Contour, maximum_loss: float
    ) -> tuple[FloatArray, FloatArray]:
        """Certified bounds of P(L > l_max) of the original classes."""
        chosen = self.classes.select(rows)
        used = [int(column) for column in np.flatnonzero((chosen.counts > 0).any(axis=0))]
        table = label_table([chosen.terms[column] for column in used], contour)
        labels = table.combine(chosen.counts[:, used])
        threshold = chosen.constants - maximum_loss
        # Constants were added up in floating point: a few units, where one loss alone is rounded once.
        size = 32 * np.abs(chosen.constants) + 4 * abs(maximum_loss)
        smoothed, shift = self.smoothed[rows], _REACH * self.deviation
        lower, upper = violation(contour, labels, threshold, size)
        if smoothed.any():
            beyond = float(special.ndtr(-_REACH))
            low = violation(contour, labels, threshold - shift, size)[0] - beyond * (1 + 1e-12)
            high = violation(contour, labels, threshold + shift, size)[1] / (1 - beyond) * (1 + 1e-12)
            lower, upper = np.where(smoothed, low, lower), np.where(smoothed, high, upper)
        return self.kept[rows].whole(np.maximum(lower, 0.0), upper)


def _by_contours(
    classes: LossClasses, maximum_loss: float, budget: Fraction, found: NDArray[np.int8]
) -> None:
    """Decide in ``found`` what contours can decide."""
    probability = _rounded_down(budget)
    fitted = _fitted(classes, maximum_loss, probability)
    undecided = np.flatnonzero((classes.counts > 0).any(axis=1) & fitted.usable)
    scores = classes.scores(maximum_loss)
    wanted = -float(special.ndtri(probability))
    for _ in range(_ROUNDS):
        if len(undecided) <= _FEW:
            return
        reference = int(undecided[np.argmin(np.abs(scores[undecided] - wanted))])
        contour = choose_contour(fitted.classes.loss(reference).terms, probability)
        if contour is None:
            return
        rows = fitted.affordable(undecided, contour)
        lower, upper = fitted.bounds(rows, contour, maximum_loss)
        found[rows[upper <= probability * CLEARLY]] = Verdict.MET
        found[rows[lower > probability]] = Verdict.VIOLATED
        remaining = undecided[found[undecided] == Verdict.UNDECIDED]
        if len(remaining) == len(undecided):
            return
        undecided = remaining


def _fitted(classes: LossClasses, maximum_loss: float, probability: float) -> _Fitted:
    heavy = np.array([term.law.tailed is not None for term in classes.terms], dtype=bool)
    most = max(int(classes.counts[:, heavy].sum(axis=1).max(initial=0)), 1)
    terms = [core_term(term, CORE_SHARE * probability / most) for term in classes.terms]
    outsides = [outside(term, core) for term, core in zip(classes.terms, terms, strict=True)]
    kept = Kept.of(outsides, classes.counts.astype(float))
    decaying = np.array([term.law.decays for term in terms], dtype=bool)
    without = [column for column, term in enumerate(terms) if not transformable(term)]
    usable = (classes.counts[:, without] == 0).all(axis=1)
    smoothed = classes.counts[:, decaying].sum(axis=1) == 0
    scores = np.abs(classes.scores(maximum_loss))
    typical = int(np.argmin(np.where(smoothed, scores, np.inf))) if smoothed.any() else 0
    spread = math.sqrt(
        min(LossClasses(terms, classes.counts, classes.constants).loss(typical).variance(), 1e100)
    )
    deviation = max(_SMOOTHING * spread, 1e-9)
    normal = Term(1.0, Normal(mean=0.0, variance=deviation**2))
    counts = np.column_stack([classes.counts, smoothed])
    fitted = LossClasses([*terms, normal], counts, classes.constants)
    return _Fitted(fitted, kept, smoothed, deviation, usable)


def _rounded_down(budget: Fraction) -> float:
    nearest = float(budget)
    return nearest if Fraction(nearest) <= budget else math.nextafter(nearest, 0.0)
