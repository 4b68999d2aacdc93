"""The loss of an instance with a traced law, worked out a second time from what the law records.

"What a traced law means" on the page of the verifier states the law in full. None of this is shared with
`depl.models.problem.affine_law`: the loss is followed forwards here, epoch by epoch, and neither suffix
weights nor products of them occur.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import compress, groupby, pairwise
from typing import NamedTuple

import numpy as np
import scipy

from depl.models.problem.laws import Empirical
from depl.models.problem.traced_law import TracedLaw
from depl.models.verifier.laws import FloatArray, Increment, decimal
from depl.models.verifier.losses import LossFacts, Number
from depl.models.verifier.runs import (
    EDGE,
    Pair,
    Seen,
    SeenRow,
    SeenRun,
    SeenStage,
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
    stages = stages_of([(pair, len(list(same))) for pair, same in groupby([*trained, *schedule])])
    outside = _outside(seen, stages, past)
    if outside is not None:
        return LossFacts(outside=outside)
    if past.loss is not None and law.confidence is not None:
        return LossFacts(outside=(1, "a confidence says nothing of a run under way"))
    whole = [run for run in seen.runs if _begins_with(run, stages)]
    whole = list(compress(whole, unlike([run.origin for run in whole])))
    went = f"{len(whole)} run{'s'[: len(whole) != 1]} went through the whole plan"
    if law.residuals == "per_run" and len(whole) >= law.whole_runs:
        return replace(_of_whole_runs(seen, whole, stages, past, law), support=went + _counted_with(law))
    if law.confidence is not None or (law.care is not None and not law.deviations):
        return LossFacts(outside=(len(schedule), f"{went}, and the law promises others no plan"))
    if law.residuals == "per_run":
        found = _per_stage(seen, stages, past, _beside(law))
    else:
        found = _per_epoch(seen, stages, past)
    if law.deviations:
        last = schedule[-1][0]
        found = replace(
            found,
            increments=(*found.increments, _draw(1.0, np.array(law.deviations))),
            numbers=(*found.numbers, Number(2, (last, last))),
            alike=(*found.alike, Fraction(1)),
        )
    return found


def untrained(law: TracedLaw) -> tuple[Increment, Fraction]:
    """l(0), what a plan without epochs ends with: of all runs, on the scale of the loss, and their share."""
    first = unlike([run.origin for run in law.runs])
    return _counted(sorted(run.losses[0] for run in compress(law.runs, first)), law)


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


def _past(law: TracedLaw) -> tuple[list[Pair], Past]:
    """What a run under way trained, and where it stands; nothing where there is none."""
    if law.observed is None:
        return [], Past(0, None)
    trained = [(stage.model, stage.cluster) for stage in law.observed.stages for _ in range(stage.epochs)]
    loss = law.observed.loss
    return trained, Past(len(trained), loss if law.scale == "loss" else math.log(loss))


def _outside(seen: Seen, stages: Sequence[SeenStage], past: Past) -> tuple[int, str] | None:
    """The first reason found, stage by stage and then along the mean loss, but for rounding."""
    for stage in (stage for stage in stages if past.ages(stage)):
        reason = stage_outside(seen, stage, past)
        if reason is not None:
            return reason
    loss = past.loss
    if loss is None:
        loss = math.fsum(seen.first_losses(stages[0].pair)) / len(seen.first_losses(stages[0].pair))
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


def _begins_with(run: SeenRun, stages: Sequence[SeenStage]) -> bool:
    """Whether the first epochs of a run are those of a schedule: all its stages, the last one at least."""
    *full, last = stages
    begun = run.stages[: len(stages)]
    if len(begun) < len(stages) or list(begun[:-1]) != full:
        return False
    return begun[-1].pair == last.pair and begun[-1].length >= last.length


def _of_whole_runs(
    seen: Seen, runs: Sequence[SeenRun], stages: Sequence[SeenStage], past: Past, law: TracedLaw
) -> LossFacts:
    last = stages[-1].start + stages[-1].length
    went_on = max(len(run.losses) for run in runs) - 1 > last
    epochs = range(max(past.epochs + 1, last + 1 - law.settled_epochs), last + 1) if went_on else [last]
    paths = [run.losses if past.loss is None else _gone_on(seen, run, stages, past) for run in runs]
    ranked = [sorted(float(losses[k]) for losses in paths) for k in epochs]
    drawn, alike = _counted([max(losses) for losses in zip(*ranked, strict=True)], law)
    first = next(stage for stage in stages if past.ages(stage))
    return LossFacts(increments=(drawn,), numbers=(Number(1, (first.pair[0],)),), alike=(alike,))


def _gone_on(seen: Seen, run: SeenRun, stages: Sequence[SeenStage], past: Past) -> FloatArray:
    """The losses of a run under way that has the residuals of another one; what is past counts as nothing."""
    found = np.zeros(len(run.losses))
    found[past.epochs] = loss = float(past.loss or 0.0)
    for stage, age, row in _ahead(seen, stages, past):
        k = stage.start + age
        residual = run.losses[k] - row.mean_after(stage.switch, run.losses[k - 1])
        found[k] = loss = row.mean_after(stage.switch, loss) + residual
    return found


def _counted(losses: Sequence[float], law: TracedLaw) -> tuple[Increment, Fraction]:
    """One of ascending losses of whole runs, and the share of these runs; the rest are unlike all seen."""
    atoms, weights = _noticeable(np.array(losses)), None
    alike = Fraction(atoms.size, atoms.size + _beside(law))
    if law.confidence is not None:
        counted = np.array(_confident(atoms.size + law.diverged, law.confidence)[: atoms.size])
        alike = Fraction(int(counted.sum()), _UNIT)
        if alike:  # else all are of no weight, and any law will do
            atoms, weights = atoms[counted > 0], tuple(counted[counted > 0].tolist())
    return Increment(Fraction(1), Empirical(values=tuple(atoms.tolist()), weights=weights)), alike


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


def _per_stage(seen: Seen, stages: Sequence[SeenStage], past: Past, beside: int) -> LossFacts:
    """One donor per stage: what it adds is followed to the end as one array per stage."""
    certain, lent, numbers = past.loss or 0.0, list[FloatArray](), list[Number]()
    for stage in (stage for stage in stages if past.ages(stage)):
        donors = seen.donors(stage, past.first(stage))
        drawn = stage.before is None and past.loss is None
        lent.append(np.array([seen.runs[run].losses[0] if drawn else 0.0 for run, _ in donors]))
        numbers.append(Number(max(stage.start, past.epochs) - past.epochs + 1, (stage.pair[0],)))
        residuals = np.array([found for _, found in donors])
        for column, age in enumerate(past.ages(stage)):
            row = seen.known(stage, age)
            certain = row.mean_after(stage.switch, certain)
            lent = [row.retention * gains for gains in lent]
            lent[-1] = lent[-1] + residuals[:, column]
    return LossFacts(
        decimal(certain),
        tuple(_draw(1.0, gains) for gains in lent),
        support=f"at least {min(map(len, lent))} runs lend every stage",
        numbers=tuple(numbers),
        alike=tuple(Fraction(len(gains), len(gains) + beside) for gains in lent),
    )


def _per_epoch(seen: Seen, stages: Sequence[SeenStage], past: Past) -> LossFacts:
    """One residual per epoch: what is left of each at the end is its weight."""
    weights, drawn, numbers = list[float](), list[FloatArray](), list[Number]()
    if past.loss is None:
        first = stages[0].pair[0]
        weights, drawn = [1.0], [seen.first_losses(stages[0].pair)]
        numbers.append(Number(1, (first, first)))
    certain = past.loss or 0.0
    for stage, age, row in _ahead(seen, stages, past):
        certain = row.mean_after(stage.switch, certain)
        weights = [*(row.retention * weight for weight in weights), 1.0]
        drawn.append(row.residuals)
        numbers.append(Number(stage.start + age - past.epochs, (stage.pair[0],)))
    increments = tuple(_draw(weight, values) for weight, values in zip(weights, drawn, strict=True))
    support = f"at least {min(map(len, drawn))} residuals for every epoch"
    alike = (Fraction(1),) * len(increments)
    return LossFacts(decimal(certain), increments, support=support, numbers=tuple(numbers), alike=alike)


def _draw(weight: float, values: FloatArray) -> Increment:
    """One of ``values``, all equally likely, times ``weight``."""
    return Increment(decimal(weight), Empirical(values=tuple(_noticeable(values).tolist())))


def _noticeable(values: FloatArray) -> FloatArray:
    return np.where(np.abs(values) < _NOTHING, 0.0, values)
