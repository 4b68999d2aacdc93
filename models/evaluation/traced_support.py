"""Where an affine law must not be asked: what the traces do not support.

Outside the support are a model on a cluster that was not trained after that predecessor; an age and switch
epoch outside the convex hull of those seen with the model; a stage to which fewer than `FEWEST_DONORS` runs
lend residuals; a mean loss that leaves the range of the losses that a step was fitted to; and a mean loss
after an epoch beyond every loss that any run ever had.
"""

import functools
from collections.abc import Iterator, Mapping

from depl.models.evaluation.traced_law import epochs_ahead, first_losses, lent, stages_ahead
from depl.models.problem.affine_law import AffineLaw, Known, Position, Trained, told
from depl.models.traces.table import Schedule

FEWEST_DONORS = 6
"""With fewer donors than this a stage is outside the support."""


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
    ahead, loss = epochs_ahead(schedule, known)
    for part in stages_ahead(ahead):
        if (reason := stage_outside(law, part[-1], part[0].age)) is not None:
            return (reason,)
    if known is None:
        loss = float(first_losses(law, ahead[0].trained).mean())
    for place in ahead:
        if (reason := strays(law, place, loss)) is not None:
            return (reason,)
        loss = mean_after(law, place, loss)
    return ()


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


def strays(law: AffineLaw, place: Position, loss: float) -> str | None:
    """Why the law of an epoch must not be asked from a mean loss before it; None if it may.

    The mean before the epoch lies among the losses that its step was fitted to, and that after it among all
    that were ever seen. A first epoch whose law does not ask for l(0) may follow on any.
    """
    before = law.step(place).losses
    begins = place.previous is None and place.age == 1
    if not (begins and place.trained in law.unevaluated) and not _among(loss, before):
        return f"a loss of {loss:.4g} where {_span(before)} were seen before the epoch {told(place)}"
    after = mean_after(law, place, loss)
    if not _among(after, law.seen):
        return f"a loss of {after:.4g} after the epoch {told(place)}, where {_span(law.seen)} were ever seen"
    return None


def extreme_predictions(law: AffineLaw) -> Iterator[tuple[Position, float, float]]:
    """The mean losses after an epoch that lie farthest out: epoch, loss before it, mean loss after it.

    Of every step at the first and the last switch epoch that the runs support at its age, and from the
    least and the greatest loss that it was fitted to. Predictions are linear in both (in the logarithm of
    the switch epoch), so all others lie between these.
    """

    @functools.cache
    def ages(trained: Trained, own: Trained | None) -> list[tuple[int, float]]:
        ends = law.longest.get((trained, False, own), {})
        starts = range(min(ends, default=0), max(ends, default=-1) + 1)
        return [(start, _hull_age(ends, start) or 0.0) for start in starts]

    for (trained, first, age, previous), step in law.rows.items():
        place = Position(trained, previous, age, 0)
        later = () if first else ages(trained, law.own(place))
        able = [0] if first else [start for start, greatest in later if greatest >= age - 1e-9]
        for start in dict.fromkeys((*able[:1], *able[-1:])):
            for loss in step.losses:
                yield place._replace(start=start), loss, step.shift(start) + step.retention * loss


def mean_after(law: AffineLaw, place: Position, loss: float) -> float:
    """The mean loss after an epoch, from that before it."""
    step = law.step(place)
    return step.shift(place.start) + step.retention * loss


def _among(loss: float, seen: tuple[float, float]) -> bool:
    """Whether a mean loss lies in a range, but for the rounding of a mean of equal numbers."""
    room = 1e-9 * max(abs(seen[0]), abs(seen[1]))
    return seen[0] - room <= loss <= seen[1] + room


def _span(seen: tuple[float, float]) -> str:
    return f"{seen[0]:.4g} to {seen[1]:.4g}"


def _greatest_age(law: AffineLaw, last: Position) -> float | None:
    """Greatest age at this switch epoch in the convex hull of the pairs of both seen; None outside.

    A model that has a law of its own after its predecessor has a hull of its own, too.
    """
    ends = law.longest.get((last.trained, last.previous is None, law.own(last)), {})
    return _hull_age(ends, last.start)


def _hull_age(ends: Mapping[int, int], start: int) -> float | None:
    """Height, at a switch epoch, of the convex hull of greatest ages by switch epoch; None outside."""
    if not ends or not min(ends) <= start <= max(ends):
        return None
    below = [(first, age) for first, age in ends.items() if first <= start]
    above = [(first, age) for first, age in ends.items() if first >= start]
    return max(_between(one, other, start) for one in below for other in above)


def _between(one: tuple[int, int], other: tuple[int, int], start: int) -> float:
    if one[0] == other[0]:
        return float(max(one[1], other[1]))
    return one[1] + (other[1] - one[1]) * (start - one[0]) / (other[0] - one[0])
