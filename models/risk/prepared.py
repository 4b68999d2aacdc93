"""Verdicts on many final losses one after another, of the same few increments: labels are kept.

A contour is chosen for the first loss, and for later ones that no contour decides so far, a few in all. A
Student-t that reaches far is replaced by its core, at a certified price as in `batch`. What contours do not
decide or cover, or not without much work, is decided by the evaluator made for that loss.
"""

import math
from dataclasses import dataclass, field, fields
from fractions import Fraction

import numpy as np

from depl.models.problem.epochs import FinalLoss, Term
from depl.models.risk.batch import CLEARLY, CORE_SHARE, Verdict, certified_verdict
from depl.models.risk.certify import has_contour
from depl.models.risk.contour import (
    MOST_WORK,
    Contour,
    Labels,
    choose_contour,
    label_table,
    violation,
    work_of,
)
from depl.models.risk.heavy import Kept, core_term, outside

_MOST_CONTOURS = 6
"""Contours that are kept: set by hand. Each may be tried for every loss, so more cost time where none
decides; fewer send more losses to `certified_verdict`, with the same verdicts but for what intervals leave
open."""


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
    _cores: dict[tuple[Term, float], tuple[Term, tuple[float, float]]] = field(
        default_factory=dict, init=False
    )

    def verdict(self, loss: FinalLoss) -> Verdict:
        """What is certified of P(l(K) > l_max) <= budget."""
        loss = loss.reduced()
        core, kept = self._core(loss)
        quick = self._quick(core, kept) if has_contour(core) else Verdict.UNDECIDED
        if quick is not Verdict.UNDECIDED:
            return quick
        return certified_verdict(loss, self.maximum_loss, self.budget)

    def violation(self, loss: FinalLoss) -> tuple[float, float] | None:
        """Bounds of P(l(K) > l_max) by the contour used last; None where there is none yet."""
        core, kept = self._core(loss)
        if not self._prepared or not has_contour(core) or self._prepared[0].is_too_much(core):
            return None
        return self._bounds(self._prepared[0], core, kept)

    def _core(self, loss: FinalLoss) -> tuple[FinalLoss, Kept]:
        """The loss with far Student-t laws cut, and what that leaves out."""
        tails = CORE_SHARE * float(self.budget) / max(1, sum(count for _, count in loss.terms))
        tails = 2.0 ** math.floor(math.log2(tails))  # few different cores for losses of any length
        pairs = [(*self._cut(term, tails), count) for term, count in loss.terms]
        counts = np.array([[float(count) for *_, count in pairs]])
        kept = Kept.of([beyond for _, beyond, _ in pairs], counts)
        return FinalLoss(loss.constant, tuple((core, count) for core, _, count in pairs)), kept

    def _cut(self, term: Term, tails: float) -> tuple[Term, tuple[float, float]]:
        """The core of a term, and bounds of the probability beyond it."""
        if term.law.tailed is None:
            return term, (0.0, 0.0)
        if (term, tails) not in self._cores:
            core = core_term(term, tails)
            self._cores[term, tails] = core, outside(term, core)
        return self._cores[term, tails]

    def _quick(self, loss: FinalLoss, kept: Kept) -> Verdict:
        for prepared in self._prepared:
            if prepared.is_too_much(loss):
                continue
            found, near = self._decided(prepared, loss, kept)
            if near or found is not Verdict.UNDECIDED:
                return found
        if len(self._prepared) == _MOST_CONTOURS:
            return Verdict.UNDECIDED
        contour = choose_contour(loss.terms, float(self.budget))
        if contour is None:
            return Verdict.UNDECIDED
        prepared = _Prepared(contour)
        found, near = self._decided(prepared, loss, kept)
        if near or found is not Verdict.UNDECIDED:
            self._prepared.insert(0, prepared)
        return found

    def _decided(self, prepared: "_Prepared", loss: FinalLoss, kept: Kept) -> tuple[Verdict, bool]:
        """What a contour says, and whether it keeps the budget but so nearly that another has the word."""
        least, most = self._bounds(prepared, loss, kept)
        if Fraction(most) <= self.budget * Fraction(CLEARLY):
            return Verdict.MET, False
        violated = Fraction(least) > self.budget
        return Verdict.VIOLATED if violated else Verdict.UNDECIDED, Fraction(most) <= self.budget

    def _bounds(self, prepared: "_Prepared", loss: FinalLoss, kept: Kept) -> tuple[float, float]:
        size = abs(loss.constant) + abs(loss.constant - self.maximum_loss)
        threshold = loss.constant - self.maximum_loss
        lower, upper = violation(prepared.contour, prepared.labels(loss), threshold, size)
        least, most = kept.whole(lower, upper)
        return float(least[0]), float(most[0])


@dataclass
class _Prepared:
    """A contour with the labels of all increments seen so far."""

    contour: Contour
    _table: Labels | None = None
    _rows: dict[Term, int] = field(default_factory=dict)

    def is_too_much(self, loss: FinalLoss) -> bool:
        """Whether the labels of a loss would be much work: its laws may reach farther than those before."""
        return work_of(self.contour, self._missing(loss)) > MOST_WORK

    def _missing(self, loss: FinalLoss) -> list[Term]:
        """Increments that have no label yet."""
        return list(dict.fromkeys(term for term, _ in loss.terms if term not in self._rows))

    def labels(self, loss: FinalLoss) -> Labels:
        """Those of a loss."""
        missing = self._missing(loss)
        if missing or self._table is None:
            rows = label_table(missing, self.contour)  # may be broken off
            self._rows |= {term: len(self._rows) + index for index, term in enumerate(missing)}
            self._table = rows if self._table is None else _joined(self._table, rows)
        counts = np.zeros((1, len(self._table)))
        for term, count in loss.terms:
            counts[0, self._rows[term]] += count
        return self._table.combine(counts)


def _joined(first: Labels, second: Labels) -> Labels:
    names = [item.name for item in fields(first)]
    return Labels(*(np.concatenate([getattr(first, name), getattr(second, name)]) for name in names))
