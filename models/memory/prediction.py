r"""The final loss of a schedule under the affine law of traces, and where the law must not be asked.

With retentions r_k, suffix weights w_k = r_{k+1} ... r_K and residuals e_k,

    l(K) = w_0 l(0) + sum over k of w_k (a_k + b_k ln s_k + e_k),      w_0 = r_1 ... r_K.

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
from depl.models.laws import Empirical, FloatArray
from depl.models.memory.law import AffineLaw, Position, RunRecord, Trained, maturity, positions, told
from depl.models.risk.discrete import ATOM_TOLERANCE, decimal
from depl.models.structure import Checked
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
    for part in _parts(ahead):
        if (reason := stage_outside(law, part[-1], part[0].age)) is not None:
            return (reason,)
    return _strays(law, ahead, known)


def stage_outside(law: AffineLaw, last: Position, first_age: int = 1) -> str | None:
    """Why a stage that goes on to ``last`` is outside the support; None if it is not.

    Parameters
    ----------
    last : Position
        Of its last epoch.
    first_age : int
        Of the first epoch that is looked at.
    """
    for age in range(first_age, last.age):
        if law.find(last._replace(age=age)) is None:
            return f"too few runs were {told(last._replace(age=age))}"
    return epoch_outside(law, last, first_age)


def epoch_outside(law: AffineLaw, last: Position, first_age: int = 1) -> str | None:
    """The same for a stage that was inside the support one epoch earlier."""
    if law.find(last) is None:
        return f"too few runs were {told(last)}"
    reach = _greatest_age(law, last)
    if reach is None or last.age > reach + 1e-9:
        why = "switch epochs" if reach is None else f"ages beyond {reach:.0f}"
        return f"{told(last)}: {why} outside those that were run"
    if len(lent(law, last, first_age).donors) < FEWEST_DONORS:
        return f"fewer than {FEWEST_DONORS} runs were {told(last)}"
    return None


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
    steps = [independent_step(law, item) for item in ahead]
    return compose(loss, steps)


def independent_step(law: AffineLaw, place: Position) -> LossStep:
    """An epoch as the step that evaluators consume, its residual independent of all others.

    The very first epoch also draws the loss before it, one of those seen, and so forgets what it is given.
    """
    step = law.step(place)
    residual = Term(1.0, Empirical(values=tuple(step.residuals.tolist())))
    if place.previous is not None or place.age > 1:
        return LossStep(step.retention, step.shift(place.start), (residual,))
    before = Term(step.retention, Empirical(values=tuple(first_losses(law, place.trained).tolist())))
    return LossStep(0.0, step.shift(0), (before, residual) if step.retention else (residual,))


def final_atoms(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> FinalAtoms:
    """The final loss with the residuals of each run kept together.

    Raises
    ------
    NotCoveredError
        If the schedule lies outside the support of the traces.
    InvalidInputError
        As `outside_support`.
    """
    found = _mixed(law, schedule, known)
    values = np.array([found.constant])
    for lending in found.parts:
        values = _fewer((values[:, None] + lending[None, :]).ravel())
    return FinalAtoms(np.sort(values), found.donors, found.together)


def mixed_loss(
    law: AffineLaw,
    schedule: Schedule,
    known: Known | None = None,
    unseen_loss: float | None = None,
    deviations: Sequence[float] = (),
) -> FinalLoss:
    """The same as a constant and one independent term per stage, or one term for whole runs.

    Parameters
    ----------
    unseen_loss : float, optional
        Counted once beside n runs that stay together [loss]: the next run is unlike all seen with probability
        1 / (n + 1), which is what the rank ceil((n + 1) omega) says.
    deviations : sequence of float
        By how much plans as such were off the law [loss], all equally likely; added where no run went through
        the whole schedule.

    Raises
    ------
    NotCoveredError
        If the schedule lies outside the support of the traces.
    InvalidInputError
        As `outside_support`.
    """
    found = _mixed(law, schedule, known)
    parts = [lending.tolist() for lending in found.parts]
    if found.together and unseen_loss is not None:
        parts = [[*parts[0], unseen_loss - found.constant]]
    if not found.together and len(deviations):
        parts.append(list(deviations))
    terms = tuple((Term(1.0, Empirical(values=tuple(part))), 1) for part in parts)
    return FinalLoss(found.constant, terms)


def first_losses(law: AffineLaw, trained: Trained) -> FloatArray:
    """Losses before training of the runs that begin with this, l(0) [loss]."""
    return lent(law, Position(trained, None, 1, 0)).first_losses


@dataclass(frozen=True, eq=False)
class Lent:
    """What some epochs of one stage, up to age t, do to the loss l before them, by what runs lend.

    Afterwards it is retained * l + intercept + slope * ln s, plus the gain of a donor.

    Attributes
    ----------
    donors : tuple of RunRecord
    residuals : float array (n, t)
        [loss]
    gains : float array (n,)
        Weighted sums of them [loss].
    first_losses : float array (n,)
        l(0) of the donors [loss].
    retained : float
        Product of the retentions.
    intercept, slope : float
        Weighted sums of those of the steps; NaN where a step is missing.
    """

    donors: tuple[RunRecord, ...]
    residuals: FloatArray
    gains: FloatArray
    first_losses: FloatArray
    retained: float
    intercept: float
    slope: float


def lent(law: AffineLaw, last: Position, first_age: int = 1) -> Lent:
    """What donors lend to the epochs of a stage from ``first_age`` to that of ``last``; worked out once."""
    key = (last.trained, last.previous, first_age, last.age)
    if key not in law.lent:
        law.lent[key] = _lent(law, last, first_age)
    found = law.lent[key]
    assert isinstance(found, Lent)  # noqa: S101 - the cache holds nothing else
    return found


@dataclass(frozen=True, eq=False)
class Mixed:
    """The final loss as a constant and independent parts, all atoms of a part equally likely.

    Attributes
    ----------
    constant : float
        [loss]
    parts : tuple of float arrays
        What runs lend, by stage, or by whole run [loss].
    donors : int
        Of the stage that has fewest.
    together : bool
        Whether runs are whole.
    """

    constant: float
    parts: tuple[FloatArray, ...]
    donors: int
    together: bool


def mixture_of(law: AffineLaw, ends: Sequence[Position], unseen_loss: float | None = None) -> Mixed:
    """What a schedule, given by the last positions of its stages, ends with; the support is not checked.

    Parameters
    ----------
    unseen_loss : float, optional
        As for `mixed_loss`.
    """
    found = law.beginnings.get(tuple((end.trained, end.age) for end in ends), ())
    if len(found) < LEAST_TOGETHER:
        return staged(law, ends)
    last = ends[-1].start + ends[-1].age
    own = [float(law.records[index].losses[last]) for index in found]
    own += [] if unseen_loss is None else [unseen_loss]
    return Mixed(0.0, (np.array(own),), len(found), together=True)


def _mixed(law: AffineLaw, schedule: Schedule, known: Known | None) -> Mixed:
    _require_support(law, schedule, known)
    ahead, loss = _ahead(schedule, known)
    whole = runs_through(law, schedule)
    if len(whole) >= LEAST_TOGETHER:
        return _whole(law, ahead, loss, whole, known)
    parts = _parts(ahead)
    ends, first_age = [part[-1] for part in parts], ahead[0].age
    return staged(law, ends, first_age, None if known is None else known.loss)


def staged(law: AffineLaw, ends: Sequence[Position], first_age: int = 1, loss: float | None = None) -> Mixed:
    """Stages lent by different runs, given by their last positions; the support is the caller's business.

    Parameters
    ----------
    first_age : int
        Of the first epoch of the first of them.
    loss : float, optional
        Before it; without one the donors of a first stage bring their own l(0) [loss].
    """
    lending = [lent(law, end, 1 if number else first_age) for number, end in enumerate(ends)]
    after = suffix_weights([stage.retained for stage in lending])
    constant, values = float(after[0]) * (0.0 if loss is None else loss), []
    for number, (end, stage) in enumerate(zip(ends, lending, strict=True)):
        weight = float(after[number + 1])
        constant += weight * (stage.intercept + stage.slope * maturity(end.start))
        gains = stage.gains
        if number == 0 and loss is None:
            gains = gains + stage.retained * stage.first_losses
        values.append(_sayable(weight * gains))
    return Mixed(constant, tuple(values), min(len(stage.donors) for stage in lending), together=False)


def _sayable(values: FloatArray) -> FloatArray:
    """Numbers too small for a document are 0: a stage long past leaves products of all retentions since."""
    return np.where(np.abs(values) * Checked.largest_number < 1, 0.0, values)


def _whole(
    law: AffineLaw, ahead: Sequence[Position], loss: float, runs: Sequence[RunRecord], known: Known | None
) -> Mixed:
    """Whole runs; from a known loss they go on as they did from their own."""
    weights = suffix_weights([law.step(item).retention for item in ahead])
    first, end = ahead[0].start + ahead[0].age - 1, ahead[-1].start + ahead[-1].age
    own = np.array([run.losses[end] for run in runs])
    if known is not None:
        own = own - weights[0] * np.array([run.losses[first] for run in runs])
    return Mixed(float(weights[0]) * loss, (own,), len(runs), together=True)


def runs_through(law: AffineLaw, schedule: Schedule) -> tuple[RunRecord, ...]:
    """The runs whose first epochs are those of the schedule."""
    if not schedule:
        return law.records
    ends = tuple((part[-1].trained, part[-1].age) for part in _parts(positions(schedule)))
    return tuple(law.records[index] for index in law.beginnings.get(ends, ()))


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


def _parts(ahead: Sequence[Position]) -> list[list[Position]]:
    """The epochs to come, stage by stage."""
    return [list(items) for _, items in groupby(ahead, key=lambda item: (item.trained, item.start))]


def _require_support(law: AffineLaw, schedule: Schedule, known: Known | None) -> None:
    reasons = outside_support(law, schedule, known)
    if reasons:
        raise NotCoveredError(f"outside the support of the traces: {reasons[0]}")


def _greatest_age(law: AffineLaw, last: Position) -> float | None:
    """Greatest age at this switch epoch in the convex hull of the pairs of both seen; None outside.

    A model that has a law of its own after its predecessor has a hull of its own, too.
    """
    own = last.previous if (last.trained, last.previous) in law.with_own else None
    ends = law.longest.get((last.trained, last.previous is None, own), {})
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
    loss = float(first_losses(law, ahead[0].trained).mean()) if known is None else known.loss
    for item in ahead:
        if (reason := strays(law, item, loss)) is not None:
            return (reason,)
        loss = mean_after(law, item, loss)
    return ()


def strays(law: AffineLaw, place: Position, loss: float) -> str | None:
    """Why the law of an epoch must not be asked from a mean loss before it; None if it may."""
    lower, upper = law.step(place).losses
    room = 1e-9 * max(abs(lower), abs(upper))  # a mean of equal numbers may be rounded off them
    if lower - room <= loss <= upper + room:
        return None
    seen = f"{lower:.4g} to {upper:.4g}"
    return f"a loss of {loss:.4g} where {seen} were seen before the epoch {told(place)}"


def mean_after(law: AffineLaw, place: Position, loss: float) -> float:
    """The mean loss after an epoch, from that before it."""
    step = law.step(place)
    return step.shift(place.start) + step.retention * loss


def _lent(law: AffineLaw, last: Position, first_age: int) -> Lent:
    donors, rows = _donors(law, last, first_age)
    steps = [law.find(last._replace(age=age)) for age in range(first_age, last.age + 1)]
    known = [step for step in steps if step is not None]
    weights = suffix_weights([step.retention for step in known])
    complete = len(known) == len(steps)
    residuals = np.array(rows).reshape(len(rows), len(steps))
    return Lent(
        donors=donors,
        residuals=residuals,
        gains=residuals @ weights[1:] if donors and complete else np.zeros(0),
        first_losses=np.array([run.losses[0] for run in donors]),
        retained=float(weights[0]),
        intercept=float(weights[1:] @ [step.intercept for step in known]) if complete else math.nan,
        slope=float(weights[1:] @ [step.start_slope for step in known]) if complete else math.nan,
    )


def _donors(law: AffineLaw, last: Position, first_age: int) -> tuple[tuple[RunRecord, ...], list[FloatArray]]:
    """The runs whose residuals can stand for those of a stage, and these residuals."""
    able: dict[int, slice] = {}
    for index, start, length in law.by_stage.get((last.trained, last.previous is None), ()):
        here = slice(start + first_age - 1, start + last.age)
        if length >= last.age and index not in able and np.isfinite(law.records[index].residuals[here]).all():
            able[index] = here
    same = _balanced(law, [row for row in able if _previous(law, row, able[row]) == last.previous])
    chosen = same if len(same) >= LEAST_DONORS else _balanced(law, list(able))
    donors = tuple(law.records[index] for index in chosen)
    return donors, [law.records[index].residuals[able[index]] for index in chosen]


def _previous(law: AffineLaw, index: int, here: slice) -> Trained | None:
    place: Position = law.records[index].positions[here.start]
    return place.previous


def _balanced(law: AffineLaw, donors: Sequence[int]) -> list[int]:
    """Of every schedule at most as many runs as the median schedule has, or as it takes for enough."""
    counts = Counter(law.records[index].trained for index in donors)
    if not counts:
        return []
    most = max(math.ceil(np.median(list(counts.values()))), math.ceil(LEAST_DONORS / len(counts)))
    taken: Counter[Schedule] = Counter()
    chosen = []
    for index in donors:
        schedule = law.records[index].trained
        taken[schedule] += 1
        if taken[schedule] <= most:
            chosen.append(index)
    return chosen


def _fewer(values: FloatArray) -> FloatArray:
    """At most `MOST_ATOMS` atoms: groups of neighbours become their greatest."""
    size = math.ceil(values.size / MOST_ATOMS)
    if size == 1:
        return values
    ordered = np.sort(values)
    padded = np.concatenate([np.full(-values.size % size, ordered[0]), ordered])
    return np.asarray(padded.reshape(-1, size).max(axis=1))
