"""What a plan costs if training stops as soon as the target is reached; the page "Replanning" derives it.

Epoch k is trained with probability S(k - 1), that no loss was at most l_max so far after which the run may
stop (`depl.models.risk.survival`), and data are paid right before the first epoch that their cluster trains.
Where S is known as fractions, so is everything here; elsewhere S is bounded from above: cost and epochs are
*at most* something then, and reached is *at least* as likely as something.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from depl.models.evaluation.evaluate import epoch_loads
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.interval import Interval
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.risk.discrete import decimal

_ROUNDING = 1e-12
"""Relative widening that covers rounding, on which soundness rests: payments and shares are not negative and
their sum is rounded once, so some ten units of 2**-53 are enough for what precedes it."""


@dataclass(frozen=True)
class EarlyStopping:
    """A plan that is left as soon as the target is reached.

    Attributes
    ----------
    cost, epochs : Interval
        Expected cost, transfers at first use [cost], and epochs trained; from below by 0 if not exact.
    reached : Interval
        P(l(k) <= l_max for some k <= K after which the run may stop); up to 1 where it is not exact.
    final : Interval
        P(l(K) <= l_max) if all epochs are trained.
    survival : list of Interval
        P(not reached until k), k = 0, ..., K.
    """

    cost: Interval
    epochs: Interval
    reached: Interval
    final: Interval
    survival: list[Interval]


def early_stopping(instance: Instance, plan: Plan, violation: Interval | None = None) -> EarlyStopping:
    """Bound what early stopping does to a plan.

    Parameters
    ----------
    violation : Interval, optional
        Certified P(l(K) > l_max) of the plan, if it is known already.

    Raises
    ------
    InvalidInputError
        If the plan does not speak of the instance, makes a forbidden switch or outlasts a table.
    NotCoveredError
        If too many combinations of runs would have to be followed, under a traced law.
    """
    plan.check_names(instance)
    law = loss_law(instance)
    if violation is None:
        violation = law.end(plan).violation(instance.target.maximum_loss)
    found = law.survival(plan)
    final, last = violation.complement(), found[-1].complement()
    reached = last
    if last.exact is None and instance.rules.stops(epoch.model for epoch in plan.epochs)[-1]:
        reached = Interval(max(last.lower, final.lower), 1.0, last.how)
    return EarlyStopping(
        cost=_expectation(_payments(instance, plan), found),
        epochs=_expectation([1.0] * len(plan.epochs), found),
        reached=reached,
        final=final,
        survival=found,
    )


def _payments(instance: Instance, plan: Plan) -> list[float]:
    """What each epoch costs where it is trained, with the transfers before it."""
    payments, seen = [], set()
    for demand, epoch in zip(epoch_loads(instance, plan), plan.epochs, strict=True):
        parts = [demand.price * epoch.resources]
        if epoch.cluster not in seen:
            seen.add(epoch.cluster)
            parts += [instance.transfer_cost(name, epoch.cluster) for name in plan.datasets(epoch.cluster)]
        payments.append(math.fsum(parts))
    return payments


def _expectation(payments: list[float], found: Sequence[Interval]) -> Interval:
    """Sum of payment k times S(k - 1)."""
    paid = list(zip(found, payments, strict=False))
    if any(share.exact is None for share in found):
        upper = math.fsum(share.upper * price for share, price in paid)
        return Interval(0.0, upper * (1 + _ROUNDING), found[-1].how)
    value = sum(((share.exact or 0) * decimal(price) for share, price in paid), Fraction(0))
    ends = float(value) * (1 - _ROUNDING), float(value) * (1 + _ROUNDING)
    return Interval(*ends, found[-1].how, value)
