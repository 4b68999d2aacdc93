"""Verdicts on many final losses of the same few increments: whether they keep l_max with one budget.

The label of a loss is the sum of the labels of its increments, so contours that were chosen for one loss
serve others: one after another, or many by a matrix product. A Student-t that is not truncated, or far out,
is replaced by its core: with q the probability that no switch leaves its core, P = q P(cores only) +
something between 0 and 1 - q. What contours do not decide or cover, or not without much work, is for
`certified_verdict`, one by one.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.foundation.interval import float_below
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws.law import Bounds
from depl.models.problem.laws.log_variable import EPSILON, FloatArray
from depl.models.problem.laws.student_t import SURVIVAL_SLACK
from depl.models.risk.certify import certified_violation
from depl.models.risk.contour import MOST_WORK, Contour, choose_contour, label_table, violation, work_of
from depl.models.risk.cores import beyond, core_term
from depl.models.risk.labels import Labels, LabelSums
from depl.models.risk.transforms import transformable

_FEW = 4
"""Losses of many for which no contour of their own is sought: set by hand, since choosing one pays only if
several share it. Twice or half as many: the same verdicts up to what intervals leave open, in other time."""

_MOST_CONTOURS = 6
"""Contours that are kept: set by hand. Each may be tried for every loss, so more cost time where none
decides; fewer send more losses to `certified_verdict`, with the same verdicts but for what intervals leave
open."""

CORE_SHARE = 0.01
"""Share of the budget that may lie beyond the cores of all Student-t laws of a loss: set by hand. That
probability is counted, so any value is sound: twice as much leaves losses within 2 % of the budget undecided,
half as much makes cores wider and their labels longer."""

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
        losses = [loss.reduced() for loss in losses]
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


def first_met(
    classes: LossClasses, maximum_loss: float, budget: Fraction, proceed: Callable[[], bool]
) -> int | None:
    """Index of the first class that is certified to meet the target; None if none is, or if told to stop."""
    quick = PreparedVerdicts(maximum_loss, budget).many(classes)
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


@dataclass
class PreparedVerdicts:
    """Whether final losses exceed one l_max [loss] with more than one budget, 1 - omega."""

    maximum_loss: float
    budget: Fraction
    _prepared: list["_Prepared"] = field(default_factory=list, init=False)
    _increments: "_Increments" = field(default_factory=lambda: _Increments(), init=False)

    @functools.cached_property
    def _limits(self) -> tuple[float, float]:
        """The largest doubles up to the part of the budget that is clearly kept, and up to all of it."""
        return float_below(self.budget * Fraction(CLEARLY)), float_below(self.budget)

    def verdict(self, loss: FinalLoss) -> Verdict:
        """What is certified of P(l(K) > l_max) <= budget."""
        loss = loss.reduced()
        quick = Verdict(self._settled(self._asked(loss))[0])
        if quick is not Verdict.UNDECIDED:
            return quick
        return certified_verdict(loss, self.maximum_loss, self.budget)

    def violation(self, loss: FinalLoss) -> tuple[float, float] | None:
        """Bounds of P(l(K) > l_max) by the contour used last; None where there is none yet."""
        asked = self._asked(loss.reduced())
        if not self._prepared or not (asked.covered & self._prepared[0].affords(asked)).any():
            return None
        lower, upper = self._bounds(self._prepared[0], asked)
        return float(lower[0]), float(upper[0])

    def many(self, classes: "LossClasses") -> NDArray[np.int8]:
        """What a few contours certify of every class, shape (P,), values of `Verdict`."""
        asked = self._increments.asked(classes, self.budget)
        return self._settled(asked, classes.scores(self.maximum_loss))

    def _asked(self, loss: FinalLoss) -> "_Asked":
        terms, counts = [term for term, _ in loss.terms], [count for _, count in loss.terms]
        alone = LossClasses(terms, np.array([counts], dtype=np.int64), np.array([loss.constant]))
        return self._increments.asked(alone, self.budget)

    def _settled(self, asked: "_Asked", scores: FloatArray | None = None) -> NDArray[np.int8]:
        """What contours certify, kept ones and new ones, each for the loss that is nearest to the budget."""
        found, left = np.zeros(len(asked.constants), dtype=np.int8), asked.covered.copy()
        for prepared in tuple(self._prepared):
            if left.any():
                left &= ~self._decided(prepared, asked, left, found)
        while np.count_nonzero(left) > (0 if scores is None else _FEW):
            if len(self._prepared) == _MOST_CONTOURS:
                break
            rows = np.flatnonzero(left)
            far = 0.0 if scores is None else scores[rows] + special.ndtri(float(self.budget))
            nearest = rows[int(np.argmin(np.abs(far)))]
            counts = asked.counts[nearest].astype(int).tolist()
            contour = choose_contour(zip(asked.cores, counts, strict=True), float(self.budget))
            if contour is None:
                break
            prepared = _Prepared(contour)
            decided = self._decided(prepared, asked, left, found)
            if not decided.any():
                break
            self._prepared.insert(0, prepared)
            left &= ~decided
        return found

    def _decided(
        self, prepared: "_Prepared", asked: "_Asked", left: NDArray[np.bool_], found: NDArray[np.int8]
    ) -> NDArray[np.bool_]:
        """Of which losses a contour says something, if only that others decide: it is a near thing."""
        (clearly, barely), decided = self._limits, np.zeros(len(left), dtype=bool)
        rows = np.flatnonzero(left & prepared.affords(asked))
        for elementary in (False, True):
            if rows.size:
                least, most = self._bounds(prepared, asked.of(rows), elementary)
                met, missed = most <= clearly, least > barely
                found[rows] = Verdict.MET * met + Verdict.VIOLATED * missed
                decided[rows] = settled = met | missed | (elementary & (most <= barely))
                rows = rows[~settled]
        return decided

    def _bounds(self, prepared: "_Prepared", asked: "_Asked", elementary: bool = True) -> Bounds:
        threshold, labels = asked.constants - self.maximum_loss, prepared.labels(asked)
        # Constants may have been added up in floating point: a few units.
        sizes = 32 * np.abs(asked.constants) + 4 * abs(self.maximum_loss)
        lower, upper = violation(prepared.contour, labels, threshold, sizes, elementary)
        if any(outside != (0.0, 0.0) for outside in asked.outsides):
            return Kept.of(asked.outsides, asked.counts).whole(lower, upper)
        return lower, upper


class _Asked(NamedTuple):
    """Losses by increments that have numbers: far Student-t laws cut, and bounds of what that leaves out.

    ``covered`` says which losses have a contour, as `depl.models.risk.certify.has_contour` does.
    """

    constants: FloatArray
    counts: FloatArray
    numbers: Sequence[int]
    cores: Sequence[Term]
    outsides: Sequence[tuple[float, float]]
    covered: NDArray[np.bool_]

    def of(self, rows: NDArray[np.intp]) -> "_Asked":
        """Some of many, with the increments that they have."""
        if len(self.constants) == 1:
            return self
        counts = self.counts[rows]
        used = np.flatnonzero(counts.any(axis=0)).tolist()
        return _Asked(
            self.constants[rows],
            counts[:, used],
            [self.numbers[place] for place in used],
            [self.cores[place] for place in used],
            [self.outsides[place] for place in used],
            self.covered[rows],
        )


class _Increments:
    """All increments seen so far, by what is cut off."""

    def __init__(self) -> None:
        self._known: dict[tuple[Term, float], tuple[int, Term, tuple[float, float], bool, bool]] = {}
        self._numbers: dict[Term, int] = {}

    def asked(self, classes: LossClasses, budget: Fraction) -> _Asked:
        """Losses with cores that leave out a small share of the budget."""
        counts = classes.counts.astype(float)
        tails = CORE_SHARE * float(budget) / max(1.0, float(counts.sum(axis=1).max(initial=0.0)))
        tails = 2.0 ** math.floor(math.log2(tails))  # few different cores for losses of any length
        rows = [self._known.get((term, tails)) or self._new(term, tails) for term in classes.terms]
        numbers, cores, outsides, without, decaying = zip(*rows, strict=True) if rows else ((),) * 5
        barred, smooth = (np.array(said, dtype=bool) & (counts > 0) for said in (without, decaying))
        covered = np.asarray(~barred.any(axis=1) & smooth.any(axis=1))
        return _Asked(classes.constants, counts, numbers, cores, outsides, covered)

    def _new(self, term: Term, tails: float) -> tuple[int, Term, tuple[float, float], bool, bool]:
        core = core_term(term, tails)
        number = self._numbers.setdefault(core, len(self._numbers))
        row = number, core, outside(term, core), not transformable(core), core.law.decays
        self._known[term, tails] = row
        return row


@dataclass
class _Prepared:
    """A contour with the labels of all increments asked for so far."""

    contour: Contour
    _table: Labels | None = None
    _sums: LabelSums | None = None
    _rows: dict[int, int] = field(default_factory=dict)

    def affords(self, asked: _Asked) -> NDArray[np.bool_]:
        """Whether the labels of a loss are not much work: its laws may reach farther than those before."""
        if all(map(self._rows.__contains__, asked.numbers)):
            return np.ones(len(asked.constants), dtype=bool)
        work = [
            0.0 if number in self._rows else work_of(self.contour, [core])
            for number, core in zip(asked.numbers, asked.cores, strict=True)
        ]
        return np.asarray((asked.counts > 0) @ np.array(work) <= MOST_WORK)

    def labels(self, asked: _Asked) -> Labels:
        """Those of all losses."""
        pairs = zip(asked.numbers, asked.cores, strict=True)
        missing = {number: core for number, core in pairs if number not in self._rows}
        if missing or self._table is None:
            rows = label_table(list(missing.values()), self.contour)  # may be broken off
            self._table = rows if self._table is None else self._table.followed_by(rows)
            self._rows |= {number: len(self._rows) + place for place, number in enumerate(missing)}
            self._sums = None
        total = float(asked.counts.sum(axis=1).max())
        if self._sums is None or self._sums.most < total:
            self._sums = LabelSums(self._table, 2.0 ** math.ceil(math.log2(total)))
        places = np.array([self._rows[number] for number in asked.numbers], dtype=np.intp)
        return self._sums.combine(asked.counts, places)


def outside(term: Term, core: Term) -> tuple[float, float]:
    """Bounds of the probability that a Student-t is outside of its core; 0 for terms that were not cut."""
    law, cut = term.tailed, core.tailed
    return (0.0, 0.0) if core == term or law is None or cut is None else beyond(law, cut)


@dataclass(frozen=True)
class Kept:
    """The probability q that no switch leaves its core, for P losses.

    P(L > v) = q P(cores only) + something between 0 and 1 - q.
    """

    # shape (P,): Bounds of q.
    least: FloatArray
    most: FloatArray
    lost: FloatArray  # shape (P,): Upper bound of 1 - q, accurate where q is nearly 1

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
