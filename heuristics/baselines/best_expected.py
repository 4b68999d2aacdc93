"""The paper's benchmark *best-exp* (Sec. VI-B) in its two readings, for given data and clusters.

It decides on the expected loss; the quantile is only checked afterwards. ``expected-greedy``, as the paper
describes it, takes for each K the sequence of models with the lowest expected final loss, and the smallest K
whose certified quantile meets the target; ``expected-cost``, as its source (PACT), the cheapest plan whose
expected final loss meets a target, which is tightened from l_max until the certified quantile holds, too.
Neither proves anything about cost, and the choice of data and cluster belongs to the DepL loop.
"""

import math

import numpy as np

from depl.heuristics.baselines.expected import lowest_expected_sequences
from depl.models.evaluation.evaluate import epoch_loads, final_loss
from depl.models.exact.choices import build_plan
from depl.models.exact.listing import MOST_LISTED, data_assignments, placements
from depl.models.exact.plan_classes import plan_classes
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.risk.certify import certified_violation
from depl.models.risk.verdicts import LossClasses, first_met
from depl.models.solving.limits import Limits
from depl.models.solving.result import Outcome, Termination


def expected_greedy(instance: Instance, limits: Limits) -> Outcome:
    """Fewest epochs of the sequence with the lowest expected loss whose certified quantile meets the target.

    Raises
    ------
    NotCoveredError
        If the instance leaves a choice of data or of clusters.
    """
    data = _given_data(instance, "expected-greedy")
    if _met_at_start(instance):
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)
    ((place, datasets),) = data.items()
    target = instance.target
    sequences = lowest_expected_sequences(instance, datasets, target.maximum_epochs, place)
    plans: list[Plan] = []
    ends: list[FinalLoss] = []
    for models in sequences:
        keep_time()  # K plans of up to K epochs
        plans.append(build_plan(instance, data, [(model, place) for model in models]))
        ends.append(final_loss(instance, plans[-1]))
    losses = LossClasses.of(ends)
    first = first_met(losses, target.maximum_loss, target.violation_budget, lambda: not limits.expired())
    if first is None:
        return _without_plan(limits, "models: no sequence of lowest expected loss meets the quantile")
    loads = epoch_loads(instance, plans[first])
    allocation = allocate(loads, target.maximum_time, target.round_deadline)
    if not allocation.feasible:
        return _without_plan(limits, f"resources: {allocation.reason}")
    return Outcome(Termination.EXHAUSTED, plans[first], 0.0)


def expected_cost(instance: Instance, limits: Limits, maximum_classes: int = MOST_LISTED) -> Outcome:
    """Cheapest plan under a target for the expected loss, tightened until the certified quantile holds.

    Raises
    ------
    NotCoveredError
        If the instance leaves a choice of data or of clusters, or has more plan classes than
        ``maximum_classes``.
    """
    data = _given_data(instance, "expected-cost")
    if _met_at_start(instance):
        return Outcome(Termination.EXHAUSTED, Plan(), 0.0)
    target = instance.target
    classes = plan_classes(instance, data, cutoff=math.inf, allowed=maximum_classes)
    ending = instance.rules.last_models([model.name for model in instance.models])
    rows = classes.cheapest_first(ending)
    losses = classes.losses(rows)
    means = losses.means()
    least = np.minimum.accumulate(np.concatenate([[math.nextafter(target.maximum_loss, math.inf)], means]))
    records = np.flatnonzero(means < least[:-1])
    first = first_met(
        losses.select(records), target.maximum_loss, target.violation_budget, lambda: not limits.expired()
    )
    if first is None:
        return _without_plan(limits, "models: no plan within the limits has a low enough expected loss")
    _, epochs, row = rows[records[first]]
    return Outcome(Termination.EXHAUSTED, build_plan(instance, data, classes.schedule(epochs, row)), 0.0)


def _given_data(instance: Instance, method: str) -> dict[str, frozenset[str]]:
    if placements(instance) != 1:
        raise NotCoveredError(
            f"{method} chooses models for given data and clusters; leave one dataset and one cluster"
        )
    ((_, data),) = data_assignments(instance)
    return data


def _met_at_start(instance: Instance) -> bool:
    target = instance.target
    start = certified_violation(FinalLoss(target.initial_loss, ()), target.maximum_loss)
    return instance.rules.may_stop and start.at_most(target.violation_budget)


def _without_plan(limits: Limits, reason: str) -> Outcome:
    if limits.expired():
        return Outcome(Termination.TIME_LIMIT, None, 0.0)
    return Outcome(Termination.EXHAUSTED, None, 0.0, reason)
