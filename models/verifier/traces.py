"""The loss of an instance with a traced law, worked out a second time from what the law records.

"What a traced law means" on the page of the verifier states the law in full. None of this is shared with
`depl.models.problem.affine_law`: the loss is followed forwards here, epoch by epoch, and neither suffix
weights nor products of them occur.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy

from depl.models.problem.laws import Empirical
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import NO_NUMBER, FloatArray, Increment, Number, decimal
from depl.models.verifier.losses import LossFacts
from depl.models.verifier.runs import (
    EDGE,
    Pair,
    Seen,
    SeenRow,
    SeenRun,
    SeenStage,
    pairs_of,
    seen_in,
    stages_of,
    unlike,
)

_FEWEST_DONORS = 6
"""Fewest runs that can lend a stage its residuals: part of what a traced law means, here for the second time
on purpose."""

_NOTHING = 1e-60
"""Residuals below it are rounding noise and count as 0: as exact decimals they would make fractions of 60
digits and more, while losses are compared up to 1e-9."""

_UNIT = 10**6
"""Probabilities with a confidence are multiples of 1 / _UNIT."""


class Past(NamedTuple):
    """How many epochs of a schedule are trained already, and the loss after them; None if that is drawn."""

    epochs: int
    loss: float | None

    def first(self, stage: SeenStage) -> int:
        """The age from which a stage is still to come; above its length if none of it is."""
        return max(1, self.epochs - stage.start + 1)

    def ages(self, stage: SeenStage) -> range:
        """The ages of a stage that are still to come."""
        return range(self.first(stage), stage.length + 1)


def traced_loss(law: TracedLaw, schedule: Sequence[Pair]) -> LossFacts:
    """The final loss after the epochs of a schedule.

    Parameters
    ----------
    law : TracedLaw
        Only its recorded fields are read.
    schedule : sequence of (str, str)
        Model and cluster of epochs 1, ..., K; at least one.
    """
    seen = seen_in(law)
    trained, past = _past(law)
    pairs = (*trained, *schedule)
    stages = stages_of(pairs)
    outside = _outside(seen, stages, past)
    if outside is not None:
        return LossFacts(outside=outside)
    if past.loss is not None and law.confidence is not None:
        return LossFacts(outside=(1, "a confidence says nothing of a run under way"))
    whole = [run for run in seen.runs if run.pairs[: len(pairs)] == pairs]
    whole = unlike(whole, [run.origin for run in whole])
    went = f"{len(whole)} run{'s'[: len(whole) != 1]} went through the whole plan"
    if law.residuals == "per_run" and len(whole) >= law.whole_runs:
        return replace(_of_whole_runs(seen, whole, stages, past, law), support=went + _counted_with(law))
    if law.confidence is not None or (law.care is not None and not law.deviations):
        return LossFacts(outside=(len(schedule), f"{went}, and the law promises others no plan"))
    found = _combined(seen, stages, past, law)
    if law.deviations:
        last = schedule[-1][0]
        moved = _draw(np.array(law.deviations), Number(2, (last, last)))
        found = replace(found, increments=(*found.increments, moved))
    return found


def untrained(law: TracedLaw) -> Increment:
    """l(0), what a plan without epochs ends with: of all runs, on the scale of the loss."""
    first = unlike(law.runs, [run.origin for run in law.runs])
    return _counted(sorted(run.losses[0] for run in first), law, NO_NUMBER)


def stage_outside(seen: Seen, stage: SeenStage, past: Past) -> tuple[int, str] | None:
    """Why no runs lend a stage its residuals, wherever the loss is: the first epoch found, and the reason."""
    name, begun = f"{stage.pair[0]!r} on {stage.pair[1]!r}", stage.start - past.epochs
    for age in past.ages(stage):
        if seen.row(stage, age) is None:
            after = "" if stage.before is None else f" after {stage.before[0]!r}"
            return begun + age, f"the law has no row for {name}{after} at age {age}"
    longest = seen.longest(stage)
    if longest is None:
        return max(1, begun + 1), f"no run began {name} at a switch epoch like {stage.start}"
    if stage.length > longest:
        reached = math.floor(longest)
        message = f"no run trained {name} beyond age {reached} from a switch epoch like {stage.start}"
        return max(1, begun + reached + 1), message
    donors = len(seen.donors(stage, past.first(stage)))
    if donors < _FEWEST_DONORS:
        message = f"{donors} runs can lend {name} its residuals, at least {_FEWEST_DONORS} must"
        return begun + stage.length, message
    return None


def _past(law: TracedLaw) -> tuple[tuple[Pair, ...], Past]:
    """What a run under way trained, and where it stands; nothing where there is none."""
    if law.observed is None:
        return (), Past(0, None)
    trained, loss = pairs_of(law.observed.stages), law.observed.loss
    return trained, Past(len(trained), loss if law.scale == "loss" else math.log(loss))


def _outside(seen: Seen, stages: Sequence[SeenStage], past: Past) -> tuple[int, str] | None:
    """The first reason found, stage by stage and then along the mean loss, but for rounding."""
    for stage in (stage for stage in stages if past.ages(stage)):
        reason = stage_outside(seen, stage, past)
        if reason is not None:
            return reason
    loss = past.loss
    if loss is None:
        loss = statistics.fmean(seen.first_losses(stages[0].pair).tolist())
    for stage, age, row in _ahead(seen, stages, past):
        k = stage.start + age - past.epochs
        slack = EDGE * max(abs(row.least), abs(row.greatest))
        blind = stage.before is None and age == 1 and stage.pair in seen.begun_blind
        if not blind and not row.least - slack <= loss <= row.greatest + slack:
            where = f"where {row.least:.6g} to {row.greatest:.6g} were seen"
            return k, f"a mean {seen.told} of {loss:.6g} {where}"
        loss = row.mean_after(stage.switch, loss)
        if not seen.least - seen.slack <= loss <= seen.greatest + seen.slack:
            ever = f"{seen.least:.6g} to {seen.greatest:.6g} were ever seen"
            return k, f"a mean {seen.told} of {loss:.6g} after it, where {ever}"
    return None


def _ahead(seen: Seen, stages: Sequence[SeenStage], past: Past) -> Iterator[tuple[SeenStage, int, SeenRow]]:
    """The epochs to come: stage, age and row."""
    return ((stage, age, seen.known(stage, age)) for stage in stages for age in past.ages(stage))


def _of_whole_runs(
    seen: Seen, runs: Sequence[SeenRun], stages: Sequence[SeenStage], past: Past, law: TracedLaw
) -> LossFacts:
    last = stages[-1].start + stages[-1].length
    went_on = max(len(run.losses) for run in runs) - 1 > last
    epochs = range(max(past.epochs + 1, last + 1 - law.settled_epochs), last + 1) if went_on else [last]
    paths = [run.losses if past.loss is None else _gone_on(seen, run, stages, past) for run in runs]
    ranked = [sorted(float(losses[k]) for losses in paths) for k in epochs]
    first = next(stage for stage in stages if past.ages(stage))
    worst = [max(losses) for losses in zip(*ranked, strict=True)]
    return LossFacts(increments=(_counted(worst, law, Number(1, (first.pair[0],))),))


def _gone_on(seen: Seen, run: SeenRun, stages: Sequence[SeenStage], past: Past) -> FloatArray:
    """The losses of a run under way that has the residuals of another one; what is past counts as nothing."""
    found = np.zeros(len(run.losses))
    found[past.epochs] = loss = float(past.loss or 0.0)
    for stage, age, row in _ahead(seen, stages, past):
        k = stage.start + age
        residual = run.losses[k] - row.mean_after(stage.switch, run.losses[k - 1])
        found[k] = loss = row.mean_after(stage.switch, loss) + residual
    return found


def _counted(losses: Sequence[float], law: TracedLaw, number: Number) -> Increment:
    """One of ascending losses of whole runs; the rest of the weight is of runs unlike all seen."""
    drawn = _draw(np.array(losses), number, _beside(law))
    if law.confidence is None:
        return drawn
    counted = np.array(_confident(len(losses) + law.diverged, law.confidence)[: len(losses)])
    alike, weights = Fraction(int(counted.sum()), _UNIT), tuple(counted[counted > 0].tolist())
    if not alike:  # all are of no weight, and any law will do
        return replace(drawn, alike=alike)
    atoms = _noticeable(np.array(losses)[counted > 0])
    return replace(drawn, law=Empirical(values=tuple(atoms.tolist()), weights=weights), alike=alike)


def _counted_with(law: TracedLaw) -> str:
    return "" if law.confidence is None else f"; counted with confidence {law.confidence:g}"


def _beside(law: TracedLaw) -> int:
    """How many runs unlike all seen are counted."""
    return 0 if law.unseen_loss is None else law.diverged + 1


def _confident(runs: int, confidence: float) -> tuple[float, ...]:
    """Weights of ascending losses and one more: the last x + 1 have the greatest share that x of n allow."""
    shares = [0]
    for above in range(runs):
        end = scipy.optimize.brentq(
            lambda share, above=above: scipy.stats.binom.cdf(above, runs, share) - (1 - confidence),
            above / runs,
            1.0,
            xtol=1e-15,
            rtol=1e-14,
        )
        shares.append(min(_UNIT, math.ceil(end * _UNIT - 1e-3) + 1))  # multiples themselves stay, but for one
    shares.append(_UNIT)
    return tuple(float(b - a) for a, b in pairwise(shares))[::-1]


def _combined(seen: Seen, stages: Sequence[SeenStage], past: Past, law: TracedLaw) -> LossFacts:
    """One donor per stage, or one residual per epoch: what each adds is followed to the end as one array."""
    by_stage, begun = law.residuals == "per_run", past.loss is not None
    certain, lent, numbers = past.loss or 0.0, list[FloatArray](), list[Number]()
    residuals = np.zeros((0, 0))
    if not by_stage and not begun:
        first = stages[0].pair[0]
        lent, numbers = [seen.first_losses(stages[0].pair)], [Number(1, (first, first))]
    for stage, age, row in _ahead(seen, stages, past):
        certain, column = row.mean_after(stage.switch, certain), age - past.first(stage)
        lent = [row.retention * gains for gains in lent]
        if by_stage and column > 0:
            lent[-1] = lent[-1] + residuals[:, column]
            continue
        numbers.append(Number(stage.start + age - past.epochs, (stage.pair[0],)))
        drawn = row.residuals
        if by_stage:
            donors = seen.donors(stage, age)
            residuals = np.array([donor.residuals for donor in donors])
            drawn = residuals[:, 0]
            if stage.before is None and not begun:
                drawn = drawn + row.retention * np.array([donor.run.losses[0] for donor in donors])
        lent.append(drawn)
    beside = _beside(law) if by_stage else 0
    draws = [_draw(gains, number, beside) for gains, number in zip(lent, numbers, strict=True)]
    lends = "runs lend every stage" if by_stage else "residuals for every epoch"
    return LossFacts(decimal(certain), tuple(draws), support=f"at least {min(map(len, lent))} {lends}")


def _draw(values: FloatArray, number: Number, beside: int = 0) -> Increment:
    """One of ``values``, all equally likely, beside runs unlike all seen."""
    law = Empirical(values=tuple(_noticeable(values).tolist()))
    return Increment(Fraction(1), law, number=number, alike=Fraction(values.size, values.size + beside))


def _noticeable(values: FloatArray) -> FloatArray:
    return np.where(np.abs(values) < _NOTHING, 0.0, values)
