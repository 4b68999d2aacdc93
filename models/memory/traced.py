"""What the traced law of an instance says of a schedule: its final loss, and when the target is met.

A schedule that no run resembles is refused (`depl.models.memory.support.outside_support`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

import numpy as np

from depl.models.epochs import FinalLoss, LossStep, Term
from depl.models.errors import InvalidInputError, NotCoveredError
from depl.models.laws import Empirical, FloatArray
from depl.models.memory import prediction
from depl.models.memory.document import TracedLaw
from depl.models.memory.law import AffineLaw, Scale, positions
from depl.models.memory.lending import lent
from depl.models.memory.prediction import LEAST_TOGETHER, independent_step, mixed_loss, runs_through
from depl.models.memory.support import outside_support
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.discrete import ATOM_TOLERANCE
from depl.models.risk.interval import Interval
from depl.models.traces.table import Schedule

MOST_PATHS = 4_000_000
"""Most combinations of runs whose losses are followed from epoch to epoch."""

_EXPONENTIAL = 1e-15
"""Relative rounding of an exponential, whose argument is taken as it is."""


def traced_final_loss(traced: TracedLaw, schedule: Schedule) -> FinalLoss:
    """The law of l(K), on the scale of the traced law.

    Parameters
    ----------
    schedule : Schedule
        Model and cluster of epochs 1, ..., K, at least one.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    """
    require_supported(traced, schedule)
    if traced.residuals == "per_run":
        return mixed_loss(traced.law, schedule, unseen_loss=traced.unseen, deviations=traced.deviations)
    found = prediction.final_loss(traced.law, schedule)
    if not traced.deviations or together(traced.law, schedule):
        return found
    return FinalLoss(found.constant, (*found.terms, (Term(1.0, Empirical(values=traced.deviations)), 1)))


@dataclass(frozen=True)
class EndLaw:
    """The law of l(K): that of a sum of independent parts, or of the exponential of one.

    Attributes
    ----------
    scaled : FinalLoss
        The sum.
    scale : "loss" or "log"
        Whether it is the loss or its logarithm.
    """

    scaled: FinalLoss
    scale: Scale = "loss"

    def violation(self, maximum_loss: float) -> Interval:
        """Interval that contains P(l(K) > maximum_loss)."""
        if self.scale == "log" and maximum_loss <= 0:
            return Interval(1.0, 1.0, "exponential", Fraction(1))
        return certified_violation(self.scaled, self.limit(maximum_loss))

    def quantile(self, budget: Fraction) -> Interval:
        """Interval that contains the (1 - budget)-quantile of l(K) [loss]."""
        found = certified_quantile(self.scaled, budget)
        if self.scale == "loss":
            return found
        lower, upper = math.exp(found.lower), math.exp(found.upper)
        return Interval(lower * (1 - _EXPONENTIAL), upper * (1 + _EXPONENTIAL), found.evaluator)

    def mean(self) -> float:
        """E l(K) [loss]."""
        return self.scaled.mean() if self.scale == "loss" else self._moment(1)

    def variance(self) -> float:
        """Var l(K) [loss squared]."""
        if self.scale == "loss":
            return self.scaled.variance()
        return max(0.0, self._moment(2) - self._moment(1) ** 2)

    def limit(self, maximum_loss: float) -> float:
        """What the sum may be at most, so that the loss is; minus infinity if it never is."""
        if self.scale == "loss":
            return maximum_loss
        return math.log(maximum_loss) if maximum_loss > 0 else -math.inf

    def _moment(self, power: int) -> float:
        """E exp(power * sum), of parts that take finitely many values."""
        product = math.exp(power * self.scaled.constant)
        for term, count in self.scaled.terms:
            if not isinstance(term.law, Empirical):
                raise NotCoveredError("moments of exponentials are computed for observed values only")
            values, probabilities = term.law.atoms()
            product *= float(probabilities @ np.exp(power * term.coefficient * values)) ** count
        return product


def end_law(traced: TracedLaw, schedule: Schedule) -> EndLaw:
    """The law of l(K).

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    """
    return EndLaw(traced_final_loss(traced, schedule), traced.scale)


def traced_steps(traced: TracedLaw, schedule: Schedule) -> list[LossStep]:
    """Every epoch as a step, where residuals are independent; what plans as such deviate by is not in them.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    NotCoveredError
        If residuals stay together per run.
    """
    require_supported(traced, schedule)
    if traced.residuals == "per_run" or traced.scale == "log":
        raise NotCoveredError(
            "residuals stay together per run, or are those of the logarithm of the loss, so the increments "
            "of single epochs have no law of their own"
        )
    return [independent_step(traced.law, place) for place in positions(schedule)]


def require_supported(traced: TracedLaw, schedule: Schedule) -> None:
    """Refuse a schedule that no run resembles.

    Raises
    ------
    InvalidInputError
        With the reason.
    """
    reasons = outside_support(traced.law, schedule)
    if reasons:
        raise InvalidInputError(f"outside the support of the traces: {reasons[0]}", "$.epochs")


def together(law: AffineLaw, schedule: Schedule) -> bool:
    """Whether enough runs went through the whole schedule to be its law by themselves."""
    return len(runs_through(law, schedule)) >= LEAST_TOGETHER


def traced_survival(traced: TracedLaw, schedule: Schedule, maximum_loss: float) -> tuple[Fraction, ...]:
    """P(l(0) > l_max, ..., l(k) > l_max) for k = 0, ..., K, exactly, residuals kept per run.

    What a plan as such deviates by is the same in all its epochs; a run unlike all that were seen, whose
    losses on the way are not known, reaches the target at its end or not at all.

    Raises
    ------
    InvalidInputError
        If the schedule lies outside the support of the traces.
    NotCoveredError
        If residuals are independent, or more than `MOST_PATHS` combinations of runs had to be followed.
    """
    require_supported(traced, schedule)
    if traced.residuals != "per_run":
        raise NotCoveredError("when a target is first met is computed for residuals kept per run")
    limit = traced.on_scale(maximum_loss) + float(ATOM_TOLERANCE)
    whole = together(traced.law, schedule)
    unseen = traced.unseen if whole else None
    beside = int(unseen is not None)
    above: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ones((1, 1), dtype=bool)
    found: list[Fraction] = []
    for losses in _whole_paths(traced.law, schedule) if whole else _staged_paths(traced, schedule):
        repeats = losses.shape[1] // above.shape[1]
        above = np.repeat(above, repeats, axis=1) & (losses > limit)
        misses = int(above.sum()) + int(unseen is not None and (len(found) < len(schedule) or unseen > limit))
        found.append(Fraction(misses, above.size + beside))
    return tuple(found)


def _whole_paths(law: AffineLaw, schedule: Schedule) -> Iterator[FloatArray]:
    runs = runs_through(law, schedule)
    for k in range(len(schedule) + 1):
        yield np.array([[run.losses[k] for run in runs]])


def _staged_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) by deviation and combination of donors, shape (deviations, combinations) [loss].

    Combinations grow where a stage begins: each is repeated for all its donors in turn.
    """
    law, offsets = traced.law, np.array(traced.deviations or (0.0,))[:, None]
    stages = [list(items) for _, items in groupby(positions(schedule), key=lambda item: item.start)]
    lending = [lent(law, stage[-1]) for stage in stages]
    if offsets.size * math.prod(len(stage.donors) for stage in lending) > MOST_PATHS:
        raise NotCoveredError("more combinations of runs than can be followed from epoch to epoch")
    losses = lending[0].first_losses
    yield offsets + losses
    for number, (stage, donors) in enumerate(zip(stages, lending, strict=True)):
        if number:
            losses = np.repeat(losses, len(donors.donors))
        for place, residuals in zip(stage, donors.residuals.T, strict=True):
            step = law.step(place)
            lend = np.tile(residuals, losses.size // residuals.size)
            losses = step.shift(place.start) + step.retention * losses + lend
            yield offsets + losses
