r"""The final loss of a schedule under the affine law of traces, and where the law must not be asked.

With retentions r_k, suffix weights w_k = r_{k+1} ... r_K and residuals e_k,

    l(K) = w_0 l(0) + sum over k of w_k (a_k + b_k s_k + e_k),      w_0 = r_1 ... r_K.

The residuals are kept in one of two ways.

*Independent*: e_k is one of the residuals of its step, drawn afresh in every epoch, and l(0) one of those
seen. Then l(K) is a constant plus independent terms, a `depl.models.epochs.FinalLoss`: quantiles come from
`depl.models.risk.certify`, as certified intervals.

*Per run*: a donor run lends the residuals of all epochs of a stage at once, and in a first stage its l(0), so
that what a run does better throughout stays with it. Runs that went through the whole schedule lend all its
stages together if there are at least `LEAST_TOGETHER`; the atoms of l(K) are then the final losses of these
runs themselves, and the quantile is the order statistic of rank ceil((n + 1) omega), which holds for a next
run with probability omega at least, whatever the law (exchangeability). Otherwise the donors of different
stages are combined each with each. Donors of a stage trained it for long enough; those with the same
predecessor are preferred if there are at least `LEAST_DONORS`. A plan that was never run resembles another
*plan*, not another run: no schedule lends more runs than the median schedule among the donors (or than it
takes to have `LEAST_DONORS` in all), the first in the order of the traces, lest the deviations of one plan
stand for those of all. Where there would be more than `MOST_ATOMS` atoms, groups of neighbours are replaced
by their greatest, which can only raise a quantile.

*Guard.* Outside the support are a model on a cluster that was not trained after that predecessor; an age and
switch epoch outside the convex hull of those seen with the model; and a mean loss that leaves the range of
the losses that a step was fitted to. Both evaluations refuse there.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np

from depl.models.epochs import FinalLoss, LossStep, Term, compose
from depl.models.errors import InvalidInputError, NotCoveredError
from depl.models.estimation.affine import AffineLaw, Position, RunRecord, positions, told
from depl.models.laws import Empirical, FloatArray
from depl.models.risk.discrete import ATOM_TOLERANCE, decimal
from depl.models.traces.table import Schedule

LEAST_TOGETHER = 19
"""Fewest runs of the whole schedule that make up its law alone: just enough for the level .95."""

LEAST_DONORS = 20
"""Fewest donors with the right predecessor, below which all predecessors do."""

FEWEST_DONORS = 6
"""With fewer donors than this a stage is outside the support."""

MOST_ATOMS = 100_000


@dataclass(frozen=True)
class Known:
    """The state of a run under way: the loss after so many epochs."""

    epoch: int
    loss: float


@dataclass(frozen=True, eq=False)
class FinalAtoms:
    """The final loss as a finite mixture over runs, all atoms equally likely.

    Attributes
    ----------
    values : float array (n,)
        Ascending [loss].
    donors : int
        Runs that lend residuals to the stage that has fewest.
    together : bool
        Whether each atom is one run throughout.
    """

    values: FloatArray
    donors: int
    together: bool

    def quantile(self, level: float) -> float:
        """The loss that is promised with probability ``level`` [loss].

        Of n runs that stay together the order statistic of rank ceil((n + 1) level), infinite if the rank
        exceeds n; of combined donors the smallest atom with ``level`` of the weight at or below it.

        Raises
        ------
        InvalidInputError
            If the level is not inside (0, 1).
        """
        return order_statistic(self.values, level, next_run=self.together)

    def violation(self, maximum_loss: float) -> float:
        """P(l(K) > maximum_loss), at most 1 - level if and only if the quantile of the level meets it.

        Of n runs that stay together, x of them above, it is (x + 1) / (n + 1), never 0; of combined donors
        the share of the atoms above. An atom at most 1e-9 above counts as met.
        """
        above = int(np.count_nonzero(self.values > maximum_loss + float(ATOM_TOLERANCE)))
        return (above + int(self.together)) / (len(self.values) + int(self.together))


def order_statistic(values: FloatArray, level: float, *, next_run: bool = True) -> float:
    """The smallest of n ascending values that covers ``level``.

    Parameters
    ----------
    values : float array (n,)
        Ascending.
    level : float
        omega in (0, 1), read as the decimal that it prints as.
    next_run : bool
        Rank ceil((n + 1) level), which an exchangeable next value stays below with probability ``level``
        at least; infinite where n is too small. Else rank ceil(n level), the quantile of the values.

    Raises
    ------
    InvalidInputError
        If the level is not inside (0, 1) or there is no value.
    """
    if not 0 < level < 1 or not len(values):
        raise InvalidInputError(f"needs a level inside (0, 1) and a value, not {level} of {len(values)}")
    rank = math.ceil((len(values) + int(next_run)) * Fraction(decimal(level)))
    return float(values[rank - 1]) if rank <= len(values) else math.inf


def suffix_weights(retentions: Sequence[float]) -> FloatArray:
    """w_0, ..., w_K: the products of the retentions after epoch k; shape (K + 1,), w_K = 1."""
    return np.append(np.cumprod(np.asarray(retentions, dtype=float)[::-1])[::-1], 1.0)


def outside_support(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> tuple[str, ...]:
    """Why the law must not be asked for a schedule; empty if it may.

    Parameters
    ----------
    known : Known, optional
        The loss so far; only later epochs are then looked at, and the loss itself.

    Raises
    ------
    InvalidInputError
        If the schedule is empty or ``known`` is no epoch before its last.
    """
    ahead, _ = _ahead(schedule, known)
    for _stage, items in groupby(ahead, key=_stage_of):
        part = list(items)
        last = part[-1]
        missing = [item for item in part if law.find(item) is None]
        if missing:
            return (f"too few runs were {told(missing[0])}",)
        reach = _greatest_age(law, last)
        if reach is None or last.age > reach + 1e-9:
            why = "switch epochs" if reach is None else f"ages beyond {reach:.0f}"
            return (f"{told(last)}: {why} outside those that were run",)
        if len(_donors(law, part)) < FEWEST_DONORS:
            return (f"fewer than {FEWEST_DONORS} runs were {told(last)}",)
    return _strays(law, ahead, known)


def final_loss(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> FinalLoss:
    """The final loss with residuals independent of each other.

    Raises
    ------
    NotCoveredError
        If the schedule lies outside the support of the traces.
    InvalidInputError
        As `outside_support`.
    """
    _require_support(law, schedule, known)
    ahead, loss = _ahead(schedule, known)
    steps = [law.step(item).loss_step(item.start) for item in ahead]
    if known is None:
        seen = tuple(float(run.losses[0]) for run in _donors(law, ahead[:1]))
        steps.insert(0, LossStep(0.0, 0.0, (Term(1.0, Empirical(values=seen)),)))
    return compose(loss, steps)


def final_atoms(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> FinalAtoms:
    """The final loss with the residuals of each run kept together.

    Raises
    ------
    NotCoveredError
        If the schedule lies outside the support of the traces.
    InvalidInputError
        As `outside_support`.
    """
    _require_support(law, schedule, known)
    ahead, loss = _ahead(schedule, known)
    whole = [run for run in law.records if _went_through(run, ahead)]
    together = len(whole) >= LEAST_TOGETHER
    parts = [ahead] if together else [list(items) for _, items in groupby(ahead, key=_stage_of)]
    fewest, values = len(law.records), np.array([loss])
    for number, part in enumerate(parts):
        donors = whole if together else _donors(law, part)
        weights = suffix_weights([law.step(item).retention for item in part])
        if number == 0 and known is None:
            values = np.array([run.losses[0] for run in donors])
            values = weights[0] * values + _gains(law, part, donors, weights)
        else:
            gains = _gains(law, part, donors, weights)
            values = _fewer((weights[0] * values[:, None] + gains[None, :]).ravel())
        fewest = min(fewest, len(donors))
    return FinalAtoms(np.sort(values), fewest, together)


def _ahead(schedule: Schedule, known: Known | None) -> tuple[list[Position], float]:
    """The epochs to come, and the loss before them if it is known, else 0."""
    places = list(positions(schedule))
    if not places:
        raise InvalidInputError("a schedule has at least one epoch", ".schedule")
    if known is None:
        return places, 0.0
    if not 0 <= known.epoch < len(places) or not math.isfinite(known.loss):
        raise InvalidInputError(f"no finite loss before the last of {len(places)} epochs: {known}", ".known")
    return places[known.epoch :], known.loss


def _stage_of(item: Position) -> tuple[object, ...]:
    return item.trained, item.previous, item.start


def _require_support(law: AffineLaw, schedule: Schedule, known: Known | None) -> None:
    reasons = outside_support(law, schedule, known)
    if reasons:
        raise NotCoveredError(f"outside the support of the traces: {reasons[0]}")


def _greatest_age(law: AffineLaw, last: Position) -> float | None:
    """Greatest age at this switch epoch in the convex hull of the pairs of both seen; None outside."""
    ends: dict[int, int] = {}
    for run in law.records:
        for item in run.positions:
            if item.trained == last.trained and (item.previous is None) == (last.previous is None):
                ends[item.start] = max(ends.get(item.start, 0), item.age)
    if not ends or not min(ends) <= last.start <= max(ends):
        return None
    below = [(start, age) for start, age in ends.items() if start <= last.start]
    above = [(start, age) for start, age in ends.items() if start >= last.start]
    return max(_between(one, other, last.start) for one in below for other in above)


def _between(one: tuple[int, int], other: tuple[int, int], start: int) -> float:
    if one[0] == other[0]:
        return float(max(one[1], other[1]))
    return one[1] + (other[1] - one[1]) * (start - one[0]) / (other[0] - one[0])


def _strays(law: AffineLaw, ahead: Sequence[Position], known: Known | None) -> tuple[str, ...]:
    """Whether the mean loss leaves the range that a step was fitted to."""
    firsts = [run.losses[0] for run in _donors(law, ahead[:1])] if known is None else [known.loss]
    loss = float(np.mean(firsts))
    for item in ahead:
        step = law.step(item)
        lower, upper = step.losses
        if not lower <= loss <= upper:
            seen = f"{lower:.4g} to {upper:.4g}"
            return (f"a loss of {loss:.4g} where {seen} were seen before the epoch {told(item)}",)
        loss = step.shift(item.start) + step.retention * loss
    return ()


def _went_through(run: RunRecord, ahead: Sequence[Position]) -> bool:
    """Whether the run trained exactly these epochs, and has their residuals."""
    first = ahead[0].start + ahead[0].age - 1
    here = slice(first, first + len(ahead))
    return run.positions[here] == tuple(ahead) and bool(np.isfinite(run.residuals[here]).all())


def _donors(law: AffineLaw, part: Sequence[Position]) -> list[RunRecord]:
    """The runs whose residuals can stand for those of a part of one stage."""
    able = [run for run in law.records if _place(run, part) is not None]
    same = _balanced([run for run in able if part[-1].previous == _previous(run, part)])
    return same if len(same) >= LEAST_DONORS else _balanced(able)


def _balanced(donors: Sequence[RunRecord]) -> list[RunRecord]:
    """Of every schedule at most as many runs as the median schedule has, or as it takes for enough."""
    counts = Counter(run.positions for run in donors)
    if not counts:
        return []
    most = max(math.ceil(np.median(list(counts.values()))), math.ceil(LEAST_DONORS / len(counts)))
    taken: Counter[tuple[Position, ...]] = Counter()
    chosen = []
    for run in donors:
        taken[run.positions] += 1
        if taken[run.positions] <= most:
            chosen.append(run)
    return chosen


def _previous(run: RunRecord, part: Sequence[Position]) -> tuple[str, str] | None:
    place = _place(run, part)
    return None if place is None else run.positions[place.start].previous


def _place(run: RunRecord, part: Sequence[Position]) -> slice | None:
    """The epochs of a run that have the model, cluster and ages of a part."""
    for k, item in enumerate(run.positions):
        same = item.trained == part[0].trained and (item.previous is None) == (part[0].previous is None)
        if not same or item.age != part[0].age:
            continue
        here = slice(k, k + len(part))
        stage = [other for other in run.positions[here] if other.start == item.start]
        if len(stage) == len(part) and np.isfinite(run.residuals[here]).all():
            return here
    return None


def _gains(
    law: AffineLaw, part: Sequence[Position], donors: Sequence[RunRecord], weights: FloatArray
) -> FloatArray:
    """Weighted shifts and residuals of a part, one sum per donor [loss]."""
    shifts = np.array([law.step(item).shift(item.start) for item in part])
    first = part[0].start + part[0].age - 1
    together = len({_stage_of(item) for item in part}) > 1
    rows = []
    for run in donors:
        place = slice(first, first + len(part)) if together else _place(run, part)
        rows.append(run.residuals[place])
    return np.asarray((shifts + np.array(rows)) @ weights[1:])


def _fewer(values: FloatArray) -> FloatArray:
    """At most `MOST_ATOMS` atoms: groups of neighbours become their greatest."""
    size = math.ceil(values.size / MOST_ATOMS)
    if size == 1:
        return values
    ordered = np.sort(values)
    padded = np.concatenate([np.full(-values.size % size, ordered[0]), ordered])
    return np.asarray(padded.reshape(-1, size).max(axis=1))
