"""Verdicts on many final losses one after another, of the same few increments: labels are kept.

A contour is chosen for the first loss, and for later ones that no contour decides so far, a few in all. A
Student-t that reaches far is replaced by its core, at a certified price as in `batch`. What contours do not
decide or cover, or not without much work, is decided by the evaluator made for that loss.

Every increment is looked up once for each loss; what is asked about it is kept in arrays under its number.
"""

import functools
import math
from dataclasses import dataclass, field, fields
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.risk.batch import CLEARLY, CORE_SHARE, Verdict, certified_verdict
from depl.models.risk.contour import MOST_WORK, Contour, choose_contour, label_table, violation, work_of
from depl.models.risk.heavy import Kept, core_term, outside
from depl.models.risk.labels import Labels, LabelSums
from depl.models.risk.transforms import FloatArray, transformable

_MOST_CONTOURS = 6
"""Contours that are kept: set by hand. Each may be tried for every loss, so more cost time where none
decides; fewer send more losses to `certified_verdict`, with the same verdicts but for what intervals leave
open."""

_UNTRANSFORMED, _DECAYING, _WITHOUT_ATOMS, _CUT = 1, 2, 4, 8
"""Bits: no transform is offered, the transform decays, there are no atoms, the core leaves something out."""

Numbers = NDArray[np.intp]
_NONE: Numbers = np.zeros(0, dtype=np.intp)


@dataclass
class PreparedVerdicts:
    """Whether final losses exceed one l_max with more than one budget.

    Attributes
    ----------
    maximum_loss : float
        l_max [loss].
    budget : Fraction
        1 - omega.
    """

    maximum_loss: float
    budget: Fraction
    _prepared: list["_Prepared"] = field(default_factory=list, init=False)
    _increments: "_Increments" = field(default_factory=lambda: _Increments(), init=False)

    @functools.cached_property
    def _limits(self) -> tuple[float, float]:
        """The largest doubles up to the part of the budget that is clearly kept, and up to all of it."""
        return _rounded_down(self.budget * Fraction(CLEARLY)), _rounded_down(self.budget)

    def verdict(self, loss: FinalLoss) -> Verdict:
        """What is certified of P(l(K) > l_max) <= budget."""
        loss = loss.reduced()
        asked = self._asked(loss)
        quick = self._quick(asked) if asked.has_contour else Verdict.UNDECIDED
        if quick is not Verdict.UNDECIDED:
            return quick
        return certified_verdict(loss, self.maximum_loss, self.budget)

    def violation(self, loss: FinalLoss) -> tuple[float, float] | None:
        """Bounds of P(l(K) > l_max) by the contour used last; None where there is none yet."""
        asked = self._asked(loss)
        if not self._prepared or not asked.has_contour or self._prepared[0].is_too_much(asked):
            return None
        return self._bounds(self._prepared[0], asked)

    def _asked(self, loss: FinalLoss) -> "_Asked":
        """The loss with far Student-t laws cut, and what that leaves out."""
        counts = [count for _, count in loss.terms]
        total = sum(counts)
        tails = CORE_SHARE * float(self.budget) / max(1, total)
        tails = 2.0 ** math.floor(math.log2(tails))  # few different cores for losses of any length
        numbers = self._increments.numbers(loss, tails)
        return _Asked(self._increments, loss.constant, numbers, np.array(counts, dtype=float), total)

    def _quick(self, asked: "_Asked") -> Verdict:
        for prepared in self._prepared:
            if prepared.is_too_much(asked):
                continue
            found, near = self._decided(prepared, asked)
            if near or found is not Verdict.UNDECIDED:
                return found
        if len(self._prepared) == _MOST_CONTOURS:
            return Verdict.UNDECIDED
        contour = choose_contour(asked.terms(), float(self.budget))
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
            lower, upper = asked.kept().whole(lower, upper)
        return float(lower[0]), float(upper[0])


def _rounded_down(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)


class _Increments:
    """All increments seen so far, far Student-t laws cut, by number.

    Attributes
    ----------
    cores : list of (Term, (float, float))
        What stands for the increments, and bounds of the probability beyond it.
    bits : uint8 array
        What else is asked about them.
    """

    def __init__(self) -> None:
        self.cores: list[tuple[Term, tuple[float, float]]] = []
        self.bits = np.zeros(0, dtype=np.uint8)
        self._by_tails: dict[float, dict[Term, int]] = {}
        self._known: dict[tuple[Term, tuple[float, float]], int] = {}

    def numbers(self, loss: FinalLoss, tails: float) -> Numbers:
        """Those of the increments of a loss, where cores leave out the probability ``tails``."""
        known = self._by_tails.setdefault(tails, {})
        try:
            return np.array([known[term] for term, _ in loss.terms], dtype=np.intp)
        except KeyError:
            new = dict.fromkeys(term for term, _ in loss.terms if term not in known)
            numbers = {term: self._number(term, tails) for term in new}  # may be broken off
            fresh = [_bits(*entry) for entry in self.cores[len(self.bits) :]]
            self.bits = np.concatenate([self.bits, np.array(fresh, dtype=np.uint8)])
            known |= numbers
            return self.numbers(loss, tails)

    def _number(self, term: Term, tails: float) -> int:
        core = core_term(term, tails)
        entry = core, outside(term, core)
        if entry not in self._known:
            self.cores.append(entry)
            self._known[entry] = len(self.cores) - 1
        return self._known[entry]


def _bits(core: Term, outside: tuple[float, float]) -> int:
    answers = {
        _UNTRANSFORMED: not transformable(core),
        _DECAYING: core.law.decays,
        _WITHOUT_ATOMS: not core.law.has_atoms,
        _CUT: outside != (0.0, 0.0),
    }
    return sum(bit for bit, answer in answers.items() if answer)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A loss as numbers of increments with their counts, and the sum of these."""

    increments: _Increments
    constant: float
    numbers: Numbers
    counts: FloatArray
    total: int

    @functools.cached_property
    def bits(self) -> int:
        """Those of any increment."""
        return int(np.bitwise_or.reduce(self.increments.bits[self.numbers]))

    @property
    def has_contour(self) -> bool:
        """As `depl.models.risk.certify.has_contour` of the loss."""
        return self.bits & (_UNTRANSFORMED | _DECAYING | _WITHOUT_ATOMS) == _DECAYING | _WITHOUT_ATOMS

    def terms(self) -> list[tuple[Term, int]]:
        """The cores with their counts."""
        cores = [self.increments.cores[number][0] for number in self.numbers]
        return [(core, int(count)) for core, count in zip(cores, self.counts, strict=True)]

    def kept(self) -> Kept:
        """The probability that no increment leaves its core."""
        outsides = [self.increments.cores[number][1] for number in self.numbers]
        return Kept.of(outsides, self.counts[None, :])


@dataclass
class _Prepared:
    """A contour with the labels of all increments seen so far."""

    contour: Contour
    _table: Labels | None = None
    _sums: LabelSums | None = None
    _rows: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def is_too_much(self, asked: _Asked) -> bool:
        """Whether the labels of a loss would be much work: its laws may reach farther than those before."""
        missing = self._missing(asked)
        if not len(missing):
            return False
        return work_of(self.contour, [asked.increments.cores[number][0] for number in missing]) > MOST_WORK

    def _missing(self, asked: _Asked) -> Numbers:
        """Increments that have no label yet."""
        if len(self._rows) < len(asked.increments.cores):
            more = np.full(len(asked.increments.cores) - len(self._rows), -1)
            self._rows = np.concatenate([self._rows, more])
        rows = self._rows[asked.numbers]
        return _NONE if rows.min(initial=0) >= 0 else np.unique(asked.numbers[rows < 0])

    def labels(self, asked: _Asked) -> Labels:
        """Those of a loss."""
        missing = self._missing(asked)
        if len(missing) or self._table is None:
            # may be broken off
            rows = label_table([asked.increments.cores[number][0] for number in missing], self.contour)
            first = 0 if self._table is None else len(self._table)
            self._table = rows if self._table is None else _joined(self._table, rows)
            self._rows[missing] = np.arange(first, first + len(missing))
            self._sums = None
        if self._sums is None or self._sums.most < asked.total:
            self._sums = LabelSums(self._table, 2.0 ** math.ceil(math.log2(asked.total)))
        return self._sums.of_rows(self._rows[asked.numbers], asked.counts)


def _joined(first: Labels, second: Labels) -> Labels:
    names = [item.name for item in fields(first)]
    return Labels(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in names))
