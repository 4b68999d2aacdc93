"""The final loss of a schedule under the affine law of traces; derived on the page "Estimation".

With *independent* residuals it is a constant plus independent terms. Residuals kept *per run* make it a
mixture over donors: whole runs, or stages that different runs lend, each with each. How runs are counted, one
more and those that diverged as misses, stands there under ``counting-runs``. Whether the traces support a
schedule (`depl.models.evaluation.traced_support`) is the business of who asks.
"""

import bisect
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.end_law import EndLaw
from depl.models.foundation.documents import Checked, decimal
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.affine_law import (
    AffineLaw,
    Known,
    Position,
    RunRecord,
    Scale,
    Trained,
    ends_of,
    maturity,
    positions,
)
from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.sampling import upper_end
from depl.models.traces.table import Schedule

LEAST_DONORS = 20
"""Fewest donors with the right predecessor, below which all predecessors do."""

_MOST_RUNS = 10**16
"""More than carry any promise: with so many the upper end is below `SMALLEST_VIOLATION_BUDGET`."""

_SHARES = 10**6
"""Probabilities with a confidence are multiples of 1 / _SHARES above the true ones, so that they are exact
numbers."""


@dataclass(frozen=True, eq=False)
class Mixed:
    """The final loss as a constant and independent parts, all atoms of a part equally likely unless weighted.

    An infinite atom is a run unlike all seen: the loss is then above every target.
    """

    constant: float  # [loss]
    parts: tuple[FloatArray, ...]  # what runs lend, by stage, or by whole run [loss]
    together: bool  # whether runs are whole
    weights: NDArray[np.int64] | None = None  # of the atoms of whole runs counted with a confidence

    def law(self, deviations: Sequence[float] = (), scale: Scale = "loss") -> EndLaw:
        """The same as a law of runs that resemble those seen, and the probability that one does not.

        Parameters
        ----------
        deviations : sequence of float
            By how much plans as such were off the law [loss], all equally likely; added where no run went
            through the whole schedule.
        """
        laws, like = list[Empirical](), Fraction(1)
        for part in self.parts:
            seen, weights = np.isfinite(part), None
            share = Fraction(int(seen.sum()), part.size)
            if self.weights is not None:
                share = Fraction(int(self.weights[seen].sum()), int(self.weights.sum()))
                if share:  # of no weight at all, any law will do
                    seen &= self.weights > 0
                    weights = tuple(map(float, self.weights[seen]))
            laws.append(Empirical(values=tuple(part[seen].tolist()), weights=weights))
            like *= share
        if not self.together and len(deviations):
            laws.append(Empirical(values=tuple(deviations)))
        found = FinalLoss(self.constant, tuple((Term(1.0, drawn), 1) for drawn in laws))
        return EndLaw(found, scale, 1 - like)


def mixture_of(traced: TracedLaw, ends: Sequence[Position]) -> Mixed:
    """What a schedule ends with, given by the last positions of all its stages, past ones among them."""
    law, known, settled = traced.law, traced.known, traced.settled_epochs
    found = law.beginnings.get(tuple((end.trained, end.age) for end in ends), ())
    if len(found) < traced.whole_runs:
        return staged(law, ends, known, traced.beside)
    runs, last = [law.records[index] for index in found], ends[-1].start + ends[-1].age
    if known is not None:
        retained = retained_since(law, ends, known)
        return whole_runs(settled_losses(runs, last, settled, known, retained), traced)
    key = ("settled", settled, *((end.trained, end.age) for end in ends))
    return whole_runs(law.once(key, lambda: settled_losses(runs, last, settled)), traced)


def whole_runs(losses: FloatArray, traced: TracedLaw) -> Mixed:
    """Ascending losses of whole runs, and infinite ones for those counted beside."""
    weights = None
    if traced.confidence is not None:
        weights = confident_weights(len(losses) + traced.diverged, traced.confidence)
    atoms = np.append(losses, [math.inf] * traced.beside)
    return Mixed(0.0, (atoms,), together=True, weights=weights)


def staged(law: AffineLaw, ends: Sequence[Position], known: Known | None = None, beside: int = 0) -> Mixed:
    """Stages lent by different runs, given by their last positions.

    Parameters
    ----------
    known : Known, optional
        The state of a run under way; without one the donors of a first stage bring their own l(0).
    beside : int
        Donors more of every stage, unlike all seen: one, and one for every run that diverged. With one of
        them the loss is infinite, whatever the others lend.
    """
    ends = ends_ahead(ends, known)
    lending = lenders(law, ends, known)
    after = suffix_weights([stage.retained for stage in lending])
    constant, values = float(after[0]) * (0.0 if known is None else known.loss), []
    for number, (end, stage) in enumerate(zip(ends, lending, strict=True)):
        weight = float(after[number + 1])
        constant += weight * (stage.intercept + stage.slope * maturity(end.start))
        gains = stage.gains
        if number == 0 and known is None:
            gains = gains + stage.retained * stage.first_losses
        # numbers too small for a document are 0: a stage long past leaves products of all retentions since
        lends = np.where(np.abs(weight * gains) * Checked.largest_number < 1, 0.0, weight * gains)
        values.append(np.append(lends, [math.inf] * beside))
    return Mixed(constant, tuple(values), together=False)


def independent_loss(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> FinalLoss:
    """The final loss with residuals independent of each other.

    Raises
    ------
    InvalidInputError
        As `epochs_ahead`.
    """
    ahead, loss = epochs_ahead(schedule, known)
    return compose(loss, [independent_step(law, place, known) for place in ahead])


def independent_step(law: AffineLaw, place: Position, known: Known | None = None) -> LossStep:
    """An epoch as the step that evaluators consume, its residual independent of all others.

    The very first epoch also draws the loss before it, one of those seen, and so forgets what it is given,
    unless the loss before it is known.
    """
    step = law.step(place)
    residual = Term(1.0, Empirical(values=tuple(step.residuals.tolist())))
    if known is not None or place.previous is not None or place.age > 1:
        return LossStep(step.retention, step.shift(place.start), (residual,))
    before = Term(step.retention, Empirical(values=tuple(first_losses(law, place.trained).tolist())))
    return LossStep(0.0, step.shift(0), (before, residual) if step.retention else (residual,))


# --- what runs lend ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lent:
    """What some epochs of one stage, up to age t, do to the loss l before them, by what runs lend.

    Afterwards it is retained * l + intercept + slope * ln s, plus the gain of a donor.
    """

    donors: tuple[RunRecord, ...]
    starts: NDArray[np.int64]  # (n,): Epochs that each of them had trained before its stage
    residuals: FloatArray  # [loss]
    gains: FloatArray  # (n,): Weighted sums of them [loss]
    first_losses: FloatArray  # (n,): l(0) of the donors [loss]
    retained: float  # product of the retentions
    # Weighted sums of those of the steps; NaN where a step is missing.
    intercept: float
    slope: float


def lent(law: AffineLaw, last: Position, first_age: int = 1) -> Lent:
    """What donors lend to the epochs of a stage from ``first_age`` to that of ``last``; worked out once.

    Donors trained it for long enough; those with the same predecessor are preferred if there are at least
    `LEAST_DONORS`. A plan that was never run resembles another *plan*, not another run: no schedule lends
    more runs than the median schedule among the donors (or than it takes to have `LEAST_DONORS` in all), the
    first in the order of the traces, lest the deviations of one plan stand for those of all. Of runs that
    share their first epochs, before that, one lends.
    """
    key = (last.trained, last.previous, first_age, last.age)
    return law.once(key, lambda: _lent(law, last, first_age))


def lenders(law: AffineLaw, ends: Sequence[Position], known: Known | None) -> list[Lent]:
    """The same for stages with epochs to come, of a run under way from its next epoch on."""
    return [lent(law, end, 1 if known is None else known.first_age(end)) for end in ends]


def _lent(law: AffineLaw, last: Position, first_age: int) -> Lent:
    donors, starts, rows = _donors(law, last, first_age)
    steps = [law.find(last._replace(age=age)) for age in range(first_age, last.age + 1)]
    known = [step for step in steps if step is not None]
    weights = suffix_weights([step.retention for step in known])
    complete = len(known) == len(steps)
    residuals = np.array(rows).reshape(len(rows), len(steps))
    return Lent(
        donors=donors,
        starts=np.array(starts, dtype=np.int64),
        residuals=residuals,
        gains=residuals @ weights[1:] if donors and complete else np.zeros(0),
        first_losses=np.array([run.losses[0] for run in donors]),
        retained=float(weights[0]),
        intercept=float(weights[1:] @ [step.intercept for step in known]) if complete else math.nan,
        slope=float(weights[1:] @ [step.start_slope for step in known]) if complete else math.nan,
    )


def _donors(
    law: AffineLaw, last: Position, first_age: int
) -> tuple[tuple[RunRecord, ...], list[int], list[FloatArray]]:
    """The runs whose residuals can stand for those of a stage, when theirs began, and these residuals."""
    able: dict[int, slice] = {}
    for index, start, length in law.by_stage.get((last.trained, last.previous is None), ()):
        if length < last.age or index in able:
            continue
        here = slice(start + first_age - 1, start + last.age)
        if law.complete[index] or np.isfinite(law.records[index].residuals[here]).all():
            able[index] = here
    alike = [
        row for row, here in able.items() if law.records[row].positions[here.start].previous == last.previous
    ]
    same = _balanced(law, law.apart(alike))
    chosen = same if len(same) >= LEAST_DONORS else _balanced(law, law.apart(able))
    donors = tuple(law.records[index] for index in chosen)
    starts = [able[index].start - first_age + 1 for index in chosen]
    return donors, starts, [law.records[index].residuals[able[index]] for index in chosen]


def _balanced(law: AffineLaw, donors: Sequence[int]) -> list[int]:
    """Of every schedule at most as many runs as the median schedule has, or as it takes for enough."""
    counts = Counter(law.schedule_numbers[index] for index in donors)
    if not counts:
        return []
    most = max(math.ceil(np.median(list(counts.values()))), math.ceil(LEAST_DONORS / len(counts)))
    taken: Counter[int] = Counter()
    chosen = []
    for index in donors:
        taken[law.schedule_numbers[index]] += 1
        if taken[law.schedule_numbers[index]] <= most:
            chosen.append(index)
    return chosen


def first_losses(law: AffineLaw, trained: Trained) -> FloatArray:
    """Losses before training of the runs that begin with this, l(0) [loss]."""
    return lent(law, Position(trained, None, 1, 0)).first_losses


def suffix_weights(retentions: Sequence[float]) -> FloatArray:
    """w_0, ..., w_K: the products of the retentions after epoch k; shape (K + 1,), w_K = 1."""
    return np.append(np.cumprod(np.asarray(retentions, dtype=float)[::-1])[::-1], 1.0)


def runs_through(law: AffineLaw, schedule: Schedule) -> tuple[RunRecord, ...]:
    """The runs whose first epochs are those of the schedule."""
    if not schedule:
        return tuple(law.records[index] for index in law.apart(range(len(law.records))))
    ends = tuple((end.trained, end.age) for end in ends_of(schedule))
    return tuple(law.records[index] for index in law.beginnings.get(ends, ()))


# --- the epochs to come -----------------------------------------------------------------------------------


def epochs_ahead(schedule: Schedule, known: Known | None) -> tuple[list[Position], float]:
    """The epochs to come, and the loss before them if it is known, else 0.

    Raises
    ------
    InvalidInputError
        If the schedule is empty or ``known`` is no epoch before its last.
    """
    places = list(positions(schedule))
    if not places:
        raise InvalidInputError("a schedule has at least one epoch", ".schedule")
    if known is None:
        return places, 0.0
    if not 0 <= known.epoch < len(places) or not math.isfinite(known.loss):
        raise InvalidInputError(f"no finite loss before the last of {len(places)} epochs: {known}", ".known")
    return places[known.epoch :], known.loss


def stages_ahead(ahead: Sequence[Position]) -> list[list[Position]]:
    """The epochs to come, stage by stage."""
    return [list(items) for _, items in groupby(ahead, key=lambda item: (item.trained, item.start))]


def ends_ahead(ends: Sequence[Position], known: Known | None) -> list[Position]:
    """The last positions of the stages that have epochs to come."""
    return [end for end in ends if known is None or end.start + end.age > known.epoch]


def retained_since(law: AffineLaw, ends: Sequence[Position], known: Known) -> FloatArray:
    """What is left of the known loss after each later epoch: products of retentions, shape (K - e,)."""
    ahead = [
        end._replace(age=age)
        for end in ends_ahead(ends, known)
        for age in range(known.first_age(end), end.age + 1)
    ]
    return np.asarray(np.cumprod([law.step(place).retention for place in ahead]))


# --- how runs are counted ---------------------------------------------------------------------------------


def runs_to_carry(level: float, confidence: float | None = None, diverged: int = 0, misses: int = 0) -> int:
    """Fewest runs of one plan that can carry a promise of ``level``, if so many of them miss the target.

    Without a confidence n runs carry n / (n + 1): 9, 19 and 99 for 0.90, 0.95 and 0.99. With one they must
    satisfy level**n <= 1 - confidence: 29, 59 and 299 at 0.95. Where d more diverged and x miss, n carry
    (n - x) / (n + d + 1); with a confidence the upper end for d + x of n + d must be within 1 - level.
    """
    budget = 1 - Fraction(decimal(level))
    if confidence is None:
        return math.ceil((misses + diverged + 1) / budget) - diverged - 1

    def carry(runs: int) -> bool:
        return _upper_share(misses + diverged, runs + diverged, confidence) <= budget * _SHARES

    counts = range(misses + 1, _MOST_RUNS)
    return misses + 1 + bisect.bisect_left(counts, True, key=carry)  # the end falls with the runs


def settled_losses(
    runs: Sequence[RunRecord],
    last: int,
    epochs: int,
    known: Known | None = None,
    retained: FloatArray | None = None,
) -> FloatArray:
    """What runs count with after epoch ``last``, all on the same schedule until then; ascending [loss].

    Above every limit lie as many of the losses returned as there were runs above it after that one of the
    last ``epochs`` epochs after which they were most; l(0) is not among them. Where all runs end with this
    epoch, no search has picked it out of those that they went through, and it counts alone.

    Parameters
    ----------
    known : Known, optional
        The state of another run under way on this schedule; only later epochs are then looked at, and what
        runs retain of their loss after epoch e is replaced by what this run retains of its own.
    retained : float array (last - e,)
        What is left of that loss after epochs e + 1, ..., last; with ``known`` alone.
    """
    picked = any(len(run.losses) > last + 1 for run in runs)
    begun = 0 if known is None else known.epoch
    first = max(begun + 1, last + 1 - epochs) if picked else last
    table = np.array([run.losses[first : last + 1] for run in runs])
    if known is not None and retained is not None:
        apart = known.loss - np.array([run.losses[begun] for run in runs])
        table = table + np.outer(apart, retained[first - begun - 1 :])
    found: FloatArray = np.sort(table, axis=0).max(axis=1)
    return found


@lru_cache(maxsize=256)
def confident_weights(runs: int, confidence: float) -> NDArray[np.int64]:
    """Weights of n ascending losses and of one unseen: x above a limit weigh what may be with the confidence.

    Those of the last x + 1 add up to the upper end of the one-sided Clopper-Pearson interval of x of n,
    rounded up and one millionth more, times their sum; shape (n + 1,).
    """
    shares = np.array([_upper_share(above, runs, confidence) for above in range(runs + 1)])
    weights = np.diff(shares, prepend=0)[::-1]
    weights.flags.writeable = False
    return weights


def _upper_share(above: int, runs: int, confidence: float) -> int:
    """The end for x of n as a multiple of 1 / _SHARES, rounded up and one more."""
    if above == runs:
        return _SHARES
    # where an end is such a multiple, rounding must not decide; the one more is greater than either
    return min(_SHARES, math.ceil(upper_end(above, runs, 1 - confidence) * _SHARES - 1e-3) + 1)
