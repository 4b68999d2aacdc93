"""The final loss of a schedule under the affine law of traces; derived on the page "Estimation".

With *independent* residuals it is a constant plus independent terms, whose quantiles come from
`depl.models.risk.certify`. Residuals kept *per run* make it a mixture over donors: whole runs, or stages that
different runs lend (`depl.models.evaluation.traced_lending`), each with each. How runs are counted, one more
and those that diverged as misses, stands there under ``counting-runs``. Both evaluations refuse a schedule
outside the support of the traces (`depl.models.evaluation.traced_support`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from depl.models.evaluation.traced_counting import confident_weights, settled_losses
from depl.models.evaluation.traced_lending import first_losses, lent, suffix_weights
from depl.models.evaluation.traced_support import epochs_ahead, require_support, stages_ahead
from depl.models.foundation.documents import Checked
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.affine_law import (
    AffineLaw,
    Known,
    Position,
    RunRecord,
    ends_of,
    maturity,
    positions,
)
from depl.models.problem.counting import PLAIN, Counting
from depl.models.problem.epochs import FinalLoss, LossStep, Term, compose
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.risk.discrete import decimal
from depl.models.traces.table import Schedule

MOST_ATOMS = 100_000
"""Atoms of combined donors at most: set by hand. Sums with others take memory and time in proportion; fewer
round quantiles up by more, which is on the safe side."""


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
        above = int(np.count_nonzero(self.values > maximum_loss + ATOM_TOLERANCE))
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


def final_loss(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> FinalLoss:
    """The final loss with residuals independent of each other.

    Raises
    ------
    NotCoveredError
        If the schedule lies outside the support of the traces.
    InvalidInputError
        As `outside_support`.
    """
    require_support(law, schedule, known)
    ahead, loss = epochs_ahead(schedule, known)
    steps = [independent_step(law, item, known) for item in ahead]
    return compose(loss, steps)


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


def final_atoms(law: AffineLaw, schedule: Schedule, known: Known | None = None) -> FinalAtoms:
    """The final loss with the residuals of each run kept together.

    Raises
    ------
    NotCoveredError
        If the schedule lies outside the support of the traces.
    InvalidInputError
        As `outside_support`.
    """
    require_support(law, schedule, known)
    found = mixture_of(law, ends_of(schedule), PLAIN, known)
    values = np.array([found.constant])
    for lending in found.parts:
        values = _fewer((values[:, None] + lending[None, :]).ravel())
    return FinalAtoms(np.sort(values), found.donors, found.together)


def mixed_loss(
    law: AffineLaw,
    schedule: Schedule,
    counting: Counting = PLAIN,
    deviations: Sequence[float] = (),
    known: Known | None = None,
) -> tuple[FinalLoss, Fraction]:
    """The same as a constant and one independent term per stage, or one term for whole runs.

    Returns
    -------
    FinalLoss
        Of runs that resemble those seen.
    Fraction
        The probability that the run is unlike all seen, wherever that is counted; it misses every target.

    Parameters
    ----------
    counting : Counting
        How runs are counted.
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
    require_support(law, schedule, known)
    found = mixture_of(law, ends_of(schedule), counting, known)
    seen = [as_seen(part, found.weights) for part in found.parts]
    laws = [law for law, _ in seen]
    like = math.prod((share for _, share in seen), start=Fraction(1))
    if not found.together and len(deviations):
        laws.append(Empirical(values=tuple(deviations)))
    return FinalLoss(found.constant, tuple((Term(1.0, part), 1) for part in laws)), 1 - like


def as_seen(atoms: FloatArray, weights: NDArray[np.int64] | None = None) -> tuple[Empirical, Fraction]:
    """The law of the finite atoms, and their share; the infinite ones are runs unlike all seen."""
    finite = np.isfinite(atoms)
    if weights is None:
        return Empirical(values=tuple(atoms[finite].tolist())), Fraction(int(finite.sum()), atoms.size)
    heavy = finite & (weights > 0)
    if not heavy.any():  # of no weight at all, any law will do
        return Empirical(values=tuple(atoms[finite].tolist())), Fraction(0)
    seen = Empirical(values=tuple(atoms[heavy].tolist()), weights=tuple(map(float, weights[heavy])))
    return seen, Fraction(int(weights[heavy].sum()), int(weights.sum()))


@dataclass(frozen=True, eq=False)
class Mixed:
    """The final loss as a constant and independent parts, all atoms of a part equally likely unless weighted.

    An infinite atom is a run unlike all seen: the loss is then above every target.

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
    weights : int array, optional
        Of the atoms of whole runs counted with a confidence.
    """

    constant: float
    parts: tuple[FloatArray, ...]
    donors: int
    together: bool
    weights: NDArray[np.int64] | None = None


def mixture_of(
    law: AffineLaw, ends: Sequence[Position], counting: Counting = PLAIN, known: Known | None = None
) -> Mixed:
    """What a schedule, given by the last positions of its stages, ends with; the support is not checked.

    Parameters
    ----------
    ends : sequence of Position
        Of all stages, those before ``known`` among them.
    """
    found = law.beginnings.get(tuple((end.trained, end.age) for end in ends), ())
    if len(found) < counting.whole_runs:
        if known is None:
            return staged(law, ends, beside=counting.beside)
        ahead = ends_ahead(ends, known)
        return staged(law, ahead, known.first_age(ahead[0]), known.loss, beside=counting.beside)
    return whole_runs(_settled(law, ends, found, counting.settled_epochs, known), counting)


def whole_runs(losses: FloatArray, counting: Counting) -> Mixed:
    """Losses of whole runs, and infinite ones for those counted beside.

    Parameters
    ----------
    losses : float array (n,)
        Ascending [loss].
    """
    weights = None
    if counting.confidence is not None:
        weights = confident_weights(len(losses) + counting.diverged, counting.confidence)
    atoms = np.append(losses, [math.inf] * counting.beside)
    return Mixed(0.0, (atoms,), len(losses), together=True, weights=weights)


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


def _settled(
    law: AffineLaw, ends: Sequence[Position], found: Sequence[int], epochs: int, known: Known | None
) -> FloatArray:
    """`settled_losses` of the runs that went through a schedule, worked out once unless a loss is known."""
    runs = [law.records[index] for index in found]
    last = ends[-1].start + ends[-1].age
    if known is not None:
        return settled_losses(runs, last, epochs, known, retained_since(law, ends, known))
    key = ("settled", epochs, *((end.trained, end.age) for end in ends))
    if key not in law.lent:
        law.lent[key] = settled_losses(runs, last, epochs)
    losses = law.lent[key]
    assert isinstance(losses, np.ndarray)  # noqa: S101 - the cache holds nothing else under such a key
    return losses


def staged(
    law: AffineLaw,
    ends: Sequence[Position],
    first_age: int = 1,
    loss: float | None = None,
    beside: int = 0,
) -> Mixed:
    """Stages lent by different runs, given by their last positions; the support is the caller's business.

    Parameters
    ----------
    first_age : int
        Of the first epoch of the first of them.
    loss : float, optional
        Before it; without one the donors of a first stage bring their own l(0) [loss].
    beside : int
        Donors more of every stage, unlike all seen: one, and one for every run that diverged. With one of
        them the loss is infinite, whatever the others lend.
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
        values.append(np.append(_sayable(weight * gains), [math.inf] * beside))
    return Mixed(constant, tuple(values), min(len(stage.donors) for stage in lending), together=False)


def runs_through(law: AffineLaw, schedule: Schedule) -> tuple[RunRecord, ...]:
    """The runs whose first epochs are those of the schedule."""
    if not schedule:
        return tuple(law.records[index] for index in law.apart(range(len(law.records))))
    ends = tuple((part[-1].trained, part[-1].age) for part in stages_ahead(positions(schedule)))
    return tuple(law.records[index] for index in law.beginnings.get(ends, ()))


def _sayable(values: FloatArray) -> FloatArray:
    """Numbers too small for a document are 0: a stage long past leaves products of all retentions since."""
    return np.where(np.abs(values) * Checked.largest_number < 1, 0.0, values)


def _fewer(values: FloatArray) -> FloatArray:
    """At most `MOST_ATOMS` atoms: groups of neighbours become their greatest."""
    size = math.ceil(values.size / MOST_ATOMS)
    if size == 1:
        return values
    ordered = np.sort(values)
    padded = np.concatenate([np.full(-values.size % size, ordered[0]), ordered])
    return np.asarray(padded.reshape(-1, size).max(axis=1))
