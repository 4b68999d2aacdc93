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
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from depl.models.foundation.interval import float_below
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws.law import Bounds
from depl.models.problem.laws.student_t import SURVIVAL_SLACK
from depl.models.risk.certify import certified_violation
from depl.models.risk.contour import MOST_WORK, Contour, choose_contour, label_table, violation, work_of
from depl.models.risk.cores import beyond, core_term
from depl.models.risk.labels import Labels, LabelSums
from depl.models.risk.transforms import EPSILON, FloatArray, transformable

_FEW = 4
"""Losses for which no common contour is sought: set by hand, since choosing one pays only if several share
it. Twice or half as many: the same verdicts up to what intervals leave undecided, in other time."""

_ROUNDS = 12
"""Contours tried at most: set by hand; the loop ends sooner if one decides nothing. More cost time, fewer
leave more losses to `certified_verdict`; the bounds hold for any number."""

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

_UNTRANSFORMED, _DECAYING, _WITHOUT_ATOMS, _CUT = 1, 2, 4, 8
"""Bits: no transform is offered, the transform decays, there are no atoms, the core leaves something out."""

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
        asked = self._increments.asked(loss, self.budget)
        quick = self._quick(asked) if asked.has_contour else Verdict.UNDECIDED
        if quick is not Verdict.UNDECIDED:
            return quick
        return certified_verdict(loss, self.maximum_loss, self.budget)

    def violation(self, loss: FinalLoss) -> tuple[float, float] | None:
        """Bounds of P(l(K) > l_max) by the contour used last; None where there is none yet."""
        asked = self._increments.asked(loss, self.budget)
        if not self._prepared or not asked.has_contour or self._prepared[0].is_too_much(asked):
            return None
        return self._bounds(self._prepared[0], asked)

    def many(self, classes: "LossClasses") -> NDArray[np.int8]:
        """What a few contours certify of every class, shape (P,), values of `Verdict`."""
        found = np.zeros(len(classes.counts), dtype=np.int8)
        fitted, kept, covered = _fitted(classes, float(self.budget))
        undecided = np.flatnonzero(covered)
        scores, wanted = classes.scores(self.maximum_loss), -float(special.ndtri(float(self.budget)))
        clearly, barely = self._limits
        for _ in range(_ROUNDS):
            if len(undecided) <= _FEW:
                break
            reference = int(undecided[np.argmin(np.abs(scores[undecided] - wanted))])
            contour = choose_contour(fitted.loss(reference).terms, float(self.budget))
            if contour is None:
                break
            costly = np.array([work_of(contour, [term]) > MOST_WORK for term in fitted.terms], dtype=bool)
            rows = undecided[(fitted.counts[undecided][:, costly] == 0).all(axis=1)]
            if not rows.size:
                break
            lower, upper = kept[rows].whole(*_violations(fitted.select(rows), contour, self.maximum_loss))
            found[rows[upper <= clearly]] = Verdict.MET
            found[rows[lower > barely]] = Verdict.VIOLATED
            remaining = undecided[found[undecided] == Verdict.UNDECIDED]
            if len(remaining) == len(undecided):
                break
            undecided = remaining
        return found

    def _quick(self, asked: "_Asked") -> Verdict:
        for prepared in self._prepared:
            if prepared.is_too_much(asked):
                continue
            found, near = self._decided(prepared, asked)
            if near or found is not Verdict.UNDECIDED:
                return found
        if len(self._prepared) == _MOST_CONTOURS:
            return Verdict.UNDECIDED
        contour = choose_contour(zip(asked.cores, asked.counts, strict=True), float(self.budget))
        if contour is None:
            return Verdict.UNDECIDED
        prepared = _Prepared(contour)
        found, near = self._decided(prepared, asked)
        if near or found is not Verdict.UNDECIDED:
            self._prepared.insert(0, prepared)
        return found

    def _decided(self, prepared: "_Prepared", asked: "_Asked") -> tuple[Verdict, bool]:
        """What a contour says, and whether it keeps the budget but so nearly that another has the word."""
        clearly, barely = self._limits
        for elementary in (False, True):
            least, most = self._bounds(prepared, asked, elementary)
            if most <= clearly:
                return Verdict.MET, False
            if least > barely:
                return Verdict.VIOLATED, False
        return Verdict.UNDECIDED, most <= barely

    def _bounds(self, prepared: "_Prepared", asked: "_Asked", elementary: bool = True) -> tuple[float, float]:
        size = abs(asked.constant) + abs(asked.constant - self.maximum_loss)
        threshold = asked.constant - self.maximum_loss
        lower, upper = violation(prepared.contour, prepared.labels(asked), threshold, size, elementary)
        if asked.bits & _CUT:
            lower, upper = Kept.of(asked.outsides, np.array([asked.counts], dtype=float)).whole(lower, upper)
        return float(lower[0]), float(upper[0])


def _fitted(classes: LossClasses, budget: float) -> tuple[LossClasses, "Kept", NDArray[np.bool_]]:
    """Classes with cores for far Student-t laws, the probability of these, and which have a contour."""
    heavy = np.array([term.law.tailed is not None for term in classes.terms], dtype=bool)
    most = max(int(classes.counts[:, heavy].sum(axis=1).max(initial=0)), 1)
    terms = [core_term(term, CORE_SHARE * budget / most) for term in classes.terms]
    outsides = [outside(term, core) for term, core in zip(classes.terms, terms, strict=True)]
    decaying = np.array([term.law.decays for term in terms], dtype=bool)
    without = np.array([not transformable(term) for term in terms], dtype=bool)
    covered = (classes.counts[:, without] == 0).all(axis=1) & (classes.counts[:, decaying] > 0).any(axis=1)
    fitted = LossClasses(terms, classes.counts, classes.constants)
    return fitted, Kept.of(outsides, classes.counts.astype(float)), covered


def _violations(chosen: LossClasses, contour: Contour, maximum_loss: float) -> tuple[FloatArray, FloatArray]:
    """Certified bounds of P(L > l_max) of classes that have labels."""
    used = [int(column) for column in np.flatnonzero((chosen.counts > 0).any(axis=0))]
    labels = label_table([chosen.terms[column] for column in used], contour).combine(chosen.counts[:, used])
    # Constants were added up in floating point: a few units, where one loss alone is rounded once.
    size = 32 * np.abs(chosen.constants) + 4 * abs(maximum_loss)
    return violation(contour, labels, chosen.constants - maximum_loss, size)


class _Asked(NamedTuple):
    """A loss by increments that have numbers: far Student-t laws cut, and bounds of what that leaves out."""

    constant: float
    numbers: list[int]
    counts: list[int]
    cores: list[Term]
    outsides: list[tuple[float, float]]
    bits: int

    @property
    def has_contour(self) -> bool:
        """As `depl.models.risk.certify.has_contour` of the loss."""
        return self.bits & (_UNTRANSFORMED | _DECAYING | _WITHOUT_ATOMS) == _DECAYING | _WITHOUT_ATOMS


class _Increments:
    """All increments seen so far, by what is cut off."""

    def __init__(self) -> None:
        self._known: dict[tuple[Term, float], tuple[int, Term, tuple[float, float], int]] = {}
        self._numbers: dict[tuple[Term, tuple[float, float]], int] = {}

    def asked(self, loss: FinalLoss, budget: Fraction) -> _Asked:
        """A loss with cores that leave out a small share of the budget."""
        counts = [count for _, count in loss.terms]
        tails = CORE_SHARE * float(budget) / max(1, sum(counts))
        tails = 2.0 ** math.floor(math.log2(tails))  # few different cores for losses of any length
        rows = [self._known.get((term, tails)) or self._new(term, tails) for term, _ in loss.terms]
        numbers, cores, outsides, bits = zip(*rows, strict=True) if rows else ((), (), (), ())
        return _Asked(
            loss.constant, list(numbers), counts, list(cores), list(outsides), functools.reduce(or_, bits, 0)
        )

    def _new(self, term: Term, tails: float) -> tuple[int, Term, tuple[float, float], int]:
        core = core_term(term, tails)
        left = outside(term, core)
        answers = {
            _UNTRANSFORMED: not transformable(core),
            _DECAYING: core.law.decays,
            _WITHOUT_ATOMS: not core.law.has_atoms,
            _CUT: left != (0.0, 0.0),
        }
        number = self._numbers.setdefault((core, left), len(self._numbers))
        row = number, core, left, sum(bit for bit, answer in answers.items() if answer)
        self._known[term, tails] = row
        return row


@dataclass
class _Prepared:
    """A contour with the labels of all increments asked for so far."""

    contour: Contour
    _table: Labels | None = None
    _sums: LabelSums | None = None
    _rows: dict[int, int] = field(default_factory=dict)

    def is_too_much(self, asked: _Asked) -> bool:
        """Whether the labels of a loss would be much work: its laws may reach farther than those before."""
        return work_of(self.contour, self._missing(asked).values()) > MOST_WORK

    def _missing(self, asked: _Asked) -> dict[int, Term]:
        """Increments that have no label yet."""
        pairs = zip(asked.numbers, asked.cores, strict=True)
        return {number: core for number, core in pairs if number not in self._rows}

    def labels(self, asked: _Asked) -> Labels:
        """Those of a loss."""
        missing = self._missing(asked)
        if missing or self._table is None:
            rows = label_table(list(missing.values()), self.contour)  # may be broken off
            self._table = rows if self._table is None else self._table.followed_by(rows)
            self._rows |= {number: len(self._rows) + place for place, number in enumerate(missing)}
            self._sums = None
        total = float(sum(asked.counts))
        if self._sums is None or self._sums.most < total:
            self._sums = LabelSums(self._table, 2.0 ** math.ceil(math.log2(total)))
        places = np.array([self._rows[number] for number in asked.numbers], dtype=np.intp)
        return self._sums.of_rows(places, np.array(asked.counts, dtype=float))


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
