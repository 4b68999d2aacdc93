"""How the loss of a plan evolves: its mean and a band of certified quantiles after every epoch.

Figs. 2 and 9 of the paper draw the expected loss with the band between its 1st and 99th percentiles. l(k)
is the final loss of the plan's first k epochs, so each point of the band is a certified quantile of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.errors import InvalidInputError
from depl.models.foundation.interval import Interval
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan


@dataclass(frozen=True)
class Trajectory:
    """The loss after some of the epochs k = 0, ..., K; all tuples have equally many entries.

    Attributes
    ----------
    epochs : tuple of int
        The k, ascending.
    mean : tuple of float
        E l(k).
    lower, upper : tuple of Interval
        The certified tail- and (1 - tail)-quantile of l(k).
    tail : Fraction
        Probability on either side of the band.
    """

    epochs: tuple[int, ...]
    mean: tuple[float, ...]
    lower: tuple[Interval, ...]
    upper: tuple[Interval, ...]
    tail: Fraction


def trajectory(
    instance: Instance, plan: Plan, tail: Fraction = Fraction(1, 100), epochs: Sequence[int] | None = None
) -> Trajectory:
    """The mean and the quantile band of the loss along a plan.

    Parameters
    ----------
    tail : Fraction
        Probability below the band, and above it; between 0 and 1/2.
    epochs : sequence of int, optional
        The k to look at; by default all from 0 to K, or from 1 where l(0) is not known.

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, the tail cannot be told from rounding, or an epoch is
        not one of the plan.
    """
    plan.check_names(instance)
    if not 0 < tail <= Fraction(1, 2):
        raise InvalidInputError(f"tail must lie between 0 and 1/2, not be {tail}")
    last = len(plan.epochs)
    first = 0 if instance.rules.known_start else 1
    chosen = tuple(sorted(set(range(first, last + 1) if epochs is None else epochs)))
    if chosen and not 0 <= chosen[0] <= chosen[-1] <= last:
        raise InvalidInputError(f"the plan has epochs up to {last}, which {chosen} exceeds", "epochs")
    prefixes = loss_law(instance).after_epochs(plan, chosen)
    return Trajectory(
        epochs=chosen,
        mean=tuple(prefix.mean() for prefix in prefixes),
        lower=tuple(prefix.quantile(1 - tail) for prefix in prefixes),
        upper=tuple(prefix.quantile(tail) for prefix in prefixes),
        tail=tail,
    )


def milestones(plan: Plan, count: int) -> tuple[int, ...]:
    """About ``count`` epochs that show the course of a plan: both ends, every switch, and even steps."""
    last = len(plan.epochs)
    models = [epoch.model for epoch in plan.epochs]
    switches = {k + shift for k in range(1, last) if models[k] != models[k - 1] for shift in (0, 1)}
    evenly = {round(index * last / max(count - 1, 1)) for index in range(count)}
    return tuple(sorted({0, last} | switches | evenly))
