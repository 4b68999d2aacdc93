"""What the traced law of an instance says of a schedule: its final loss, and when the target is met.

A schedule that no run resembles is refused (`depl.models.evaluation.traced_support.outside_support`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from depl.models.evaluation import traced_prediction as prediction
from depl.models.evaluation.traced_counting import confident_weights
from depl.models.evaluation.traced_lending import lent
from depl.models.evaluation.traced_prediction import independent_step, mixed_loss, mixture_of, runs_through
from depl.models.evaluation.traced_support import outside_support, stages_ahead
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.foundation.wording import counted
from depl.models.problem.affine_law import Scale, positions
from depl.models.problem.epochs import FinalLoss, LossStep, Term
from depl.models.problem.laws import Empirical, FloatArray
from depl.models.problem.traced_law import TracedLaw
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.discrete import decimal
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
        return mixed_loss(traced.law, schedule, traced.counting, traced.deviations)
    found = prediction.final_loss(traced.law, schedule)
    if not traced.deviations:
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
            if not term.law.has_atoms:
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


def below_all_seen(traced: TracedLaw, law: EndLaw, budget: Fraction) -> bool:
    """Whether the (1 - budget)-quantile of l(K) lies below every loss that any run ever had.

    Such a promise is a defect of the fitted law, whatever the equations say.
    """
    return certified_violation(law.scaled, clearly_below(traced)).at_most(budget)


def clearly_below(traced: TracedLaw) -> float:
    """A little less than every loss that any run ever had, on the scale of the law.

    By more than an atom may exceed a maximum and still count as met, so that the least loss itself is not
    below.
    """
    least = traced.law.seen[0]
    return least - 2 * ATOM_TOLERANCE * max(1.0, abs(least))


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
    if traced.only_whole_runs and not whole(traced, schedule):
        through = counted(len(runs_through(traced.law, schedule)), "run")
        raise InvalidInputError(f"{through} went through this plan; {only_whole_runs(traced)}", "$.epochs")


def whole(traced: TracedLaw, schedule: Schedule) -> bool:
    """Whether enough runs went through the whole schedule to be its law by themselves."""
    return traced.residuals == "per_run" and len(runs_through(traced.law, schedule)) >= traced.whole_runs


def only_whole_runs(traced: TracedLaw) -> str:
    """Why plans that fewer than ``whole_runs`` runs went through are refused, and what would help."""
    if traced.confidence is not None:
        return (
            f"a promise with confidence {traced.confidence:g} counts whole runs of a plan, "
            f"{traced.whole_runs} at least: record that many, or fit without a confidence"
        )
    share = decimal(traced.care or 0.0)
    needed = math.ceil(share / (1 - share))
    plans = len({run.trained for run in traced.law.records})
    which, more = f"plans that fewer than {traced.whole_runs} runs went through", " or more runs of a plan"
    if traced.residuals == "independent":
        which, more = "plans with independent residuals", ""
    return (
        f"{which} need a margin, and one that covers {float(share):g} of such plans takes {needed} schedules "
        f"that can be held out; the traces have {plans}: record more schedules{more}, or fit with a lower "
        "--care"
    )


def basis(traced: TracedLaw, schedule: Schedule) -> str:
    """What a promise for a schedule rests on, in words: how many runs, and in which sense it holds."""
    runs = counted(len(runs_through(traced.law, schedule)), "run")
    if not whole(traced, schedule):
        ends = [part[-1] for part in stages_ahead(positions(schedule))]
        lent_by = " and ".join(str(len(lent(traced.law, end).donors)) for end in ends)
        margin = "with a margin" if traced.deviations else "WITHOUT a margin"
        return (
            f"the fitted law, as only {runs} went through this plan: residuals of {lent_by} runs, stage by "
            f"stage, {margin} for plans never run"
        )
    if traced.confidence is not None:
        return (
            f"{runs} of this plan, with confidence {traced.confidence:g}: of promises made so at most "
            f"{1 - traced.confidence:.2g} are too bold, for plans that these runs did not choose"
        )
    if traced.unseen is None:
        return f"{runs} of this plan, taken for its whole law"
    return (
        f"{runs} of this plan and one more counted as a miss: marginal, that is right on average over sets "
        "of runs and not for each set; the fewer the runs, the more single promises are too bold"
    )


def traced_survival(traced: TracedLaw, schedule: Schedule, maximum_loss: float) -> tuple[Fraction, ...]:
    """P(l(0) > l_max, ..., l(k) > l_max) for k = 0, ..., K, exactly, residuals kept per run.

    What a plan as such deviates by is the same in all its epochs; a run unlike all that were seen, whose
    losses from the stage on in which it is so are not known, reaches the target at its end or not at all.
    Where the law has a confidence these are upper ends.

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
    limit = traced.on_scale(maximum_loss) + ATOM_TOLERANCE
    alone = whole(traced, schedule)
    if alone and traced.confidence is not None:
        return _confident_survival(traced, schedule, limit)
    above: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ones((1, 1), dtype=bool)
    found: list[Fraction] = []
    for losses in _whole_paths(traced, schedule) if alone else _staged_paths(traced, schedule):
        above = np.repeat(above, losses.shape[1] // above.shape[1], axis=1) & (losses > limit)
        found.append(Fraction(int(above.sum()), above.size))
    return tuple(found)


def _confident_survival(traced: TracedLaw, schedule: Schedule, limit: float) -> tuple[Fraction, ...]:
    """Upper ends of the same with the confidence of the law, from whole runs."""
    weights = confident_weights(len(runs_through(traced.law, schedule)), traced.confidence or 0.0)
    heavier = np.cumsum(weights[::-1])  # of one unseen and x runs above
    above: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = np.ones(len(weights), dtype=bool)
    found = []
    for (losses,) in _whole_paths(traced, schedule):
        above = above & (losses > limit)
        count = int(above[:-1].sum())
        found.append(Fraction(int(heavier[count]) if above[-1] or count else 0, int(heavier[-1])))
    return tuple(found)


def _whole_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) of whole runs, and last of one unlike all, infinite before its end [loss]."""
    runs = runs_through(traced.law, schedule)
    for k in range(len(schedule) + 1):
        unseen = traced.unseen if k == len(schedule) else math.inf
        beside = [] if traced.unseen is None else [unseen]
        yield np.array([[*(run.losses[k] for run in runs), *beside]])


def _staged_paths(traced: TracedLaw, schedule: Schedule) -> Iterator[FloatArray]:
    """l(0), ..., l(K) by deviation and combination of donors, shape (deviations, combinations) [loss].

    Combinations grow where a stage begins: each is repeated for all its donors in turn, the last of them
    unlike all seen where the law counts one; losses are then infinite until the end.
    """
    law, offsets = traced.law, np.array(traced.deviations or (0.0,))[:, None]
    stages = stages_ahead(positions(schedule))
    ends = mixture_of(law, [stage[-1] for stage in stages], traced.counting)
    if offsets.size * math.prod(part.size for part in ends.parts) > MOST_PATHS:
        raise NotCoveredError("more combinations of runs than can be followed from epoch to epoch")
    losses, unlike = np.zeros(1), np.zeros(1, dtype=bool)
    for number, (stage, part) in enumerate(zip(stages, ends.parts, strict=True)):
        donors, combined = lent(law, stage[-1]), losses.size
        beside = part.size - len(donors.donors)
        losses = np.repeat(losses, part.size)
        if not number:
            losses = np.pad(donors.first_losses, (0, beside))
            yield offsets + np.where(_last(beside, part.size, 1), math.inf, losses)
        unlike = np.repeat(unlike, part.size) | _last(beside, part.size, combined)
        for place, residuals in zip(stage, donors.residuals.T, strict=True):
            step = law.step(place)
            lend = np.tile(np.pad(residuals, (0, beside)), combined)
            losses = step.shift(place.start) + step.retention * losses + lend
            if place is not stages[-1][-1]:
                yield offsets + np.where(unlike, math.inf, losses)
    final = np.array([ends.constant])
    for part in ends.parts:
        final = (final[:, None] + part[None, :]).ravel()
    yield offsets + np.where(unlike, final, losses)


def _last(beside: int, size: int, times: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which of ``size`` donors, gone through so many times, are the last ``beside``."""
    return np.tile(np.arange(size) >= size - beside, times)
