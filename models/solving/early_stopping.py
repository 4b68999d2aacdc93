r"""What a plan costs if training stops as soon as the target is reached.

The plan is followed until the observed loss is at most l_max after an epoch whose model may be the last, and
at most to its end. Losses may rise, so two probabilities have to be told apart:

- P(*reached*): some such l(k) with k <= K is at most l_max, so that the run with early stopping ends there;
- P(*final*): l(K) is at most l_max, that is constraint (3), the promise of a run that trains all its epochs.

Reached is never less likely than final if the last model may be the last, and as likely where no epoch can
raise the loss.

With S(k) the probability that the run has not stopped up to epoch k, epoch k is trained with probability
S(k - 1). Data are brought to a cluster right before the first epoch that it trains, so a transfer is paid iff
that epoch is trained:

    E[cost] = sum over k of S(k - 1) (kappa x(k) + beta of what epoch k is the first to use).

Where S is known as fractions (`depl.models.risk.survival`), so is everything here. Elsewhere S is bounded
from above: cost and epochs are *at most* something then, and reached is *at least* as likely as something.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from depl.models.evaluation.evaluate import epoch_loads
from depl.models.evaluation.loss_law import loss_law
from depl.models.foundation.interval import Interval
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.risk.discrete import decimal
from depl.models.risk.survival import POINTS, Survival

_ROUNDING = 1e-12
"""Relative widening that covers rounding, on which soundness rests: payments and shares are not negative and
their sum is rounded once, so some ten units of 2**-53 are enough for what precedes it."""


@dataclass(frozen=True)
class EarlyStopping:
    """A plan that is left as soon as the target is reached.

    Attributes
    ----------
    cost : Interval
        Expected cost, transfers at first use [cost]; from below by 0 where it is not exact.
    epochs : Interval
        Expected number of epochs trained; likewise.
    reached : Interval
        P(l(k) <= l_max for some k <= K after which the run may stop); up to 1 where it is not exact.
    final : Interval
        P(l(K) <= l_max) if all epochs are trained.
    survival : Survival
        P(not reached until k), k = 0, ..., K.
    """

    cost: Interval
    epochs: Interval
    reached: Interval
    final: Interval
    survival: Survival


def early_stopping(
    instance: Instance, plan: Plan, violation: Interval | None = None, points: int = POINTS
) -> EarlyStopping:
    """Bound what early stopping does to a plan.

    Parameters
    ----------
    violation : Interval, optional
        Certified P(l(K) > l_max) of the plan, if it is known already.
    points : int
        Most grid points, as `depl.models.risk.survival.survival`.

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
    found = law.survival(plan, points)
    final, last = violation.complement(), found.at(len(plan.epochs)).complement()
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


def _expectation(payments: list[float], found: Survival) -> Interval:
    """Sum of payment k times S(k - 1)."""
    if found.exact is not None:
        parts = (share * decimal(paid) for share, paid in zip(found.exact, payments, strict=False))
        value = sum(parts, Fraction(0))
        ends = float(value) * (1 - _ROUNDING), float(value) * (1 + _ROUNDING)
        return Interval(*ends, found.how, value)
    upper = math.fsum(share * paid for share, paid in zip(found.upper.tolist(), payments, strict=False))
    return Interval(0.0, upper * (1 + _ROUNDING), found.how)
