"""What the limits of a plan cost, and how far each could be tightened before the plan fails.

Both keep the plan's epochs (models, clusters, data) and give it the cheapest resources of
`depl.models.problem.allocation`; the prices are multipliers (`docs/problem`, "What the limits cost").
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from depl.models.evaluation.evaluate import Evaluation, epoch_loads
from depl.models.problem.allocation import Allocation, allocate
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.epochs import Load
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan

_AT_BOUND = 1e-9
"""Relative distance from a bound at which resources count as at it: they come from a closed form, off by some
units of 2**-53, and limits are kept to `TIME_TOLERANCE`."""


@dataclass(frozen=True)
class Prices:
    """What one unit more of each limit would save, to first order [cost per unit of the limit].

    Attributes
    ----------
    time : float
        lam, of T_max; 0 without one or if it does not bind.
    round_deadline : float
        Of tau; 0 without one.
    capacity : dict of str to float
        Of r(n), for every cluster that trains.
    """

    time: float
    round_deadline: float
    capacity: dict[str, float]


@dataclass(frozen=True)
class Room:
    """How far one limit could be tightened before no resources make the plan's epochs feasible.

    Attributes
    ----------
    name, equation : str
        The limit in words and where it stands.
    limit, last : float
        Its value, and the last value at which the plan still holds.
    relative : float
        Distance of the two, as a share of the limit (of l(0) - l_max for the loss).
    """

    name: str
    equation: str
    limit: float
    last: float
    relative: float


def prices(instance: Instance, plan: Plan) -> Prices | None:
    """What the limits cost at the cheapest resources for the plan's epochs; None if these cannot keep them.

    Where a limit leaves no choice at all (T_max just kept with full resources), the price is the saving
    per unit when it is raised.
    """
    loads, deadline = epoch_loads(instance, plan), instance.target.round_deadline
    allocation = allocate(loads, instance.target.maximum_time, deadline)
    if not allocation.feasible:
        return None
    saved = 0.0
    capacity = {epoch.cluster: 0.0 for epoch in plan.epochs}
    for epoch, place, resources in zip(plan.epochs, loads, allocation.resources.tolist(), strict=True):
        if place.work == 0:
            continue
        pull = place.price - allocation.multiplier * place.work / resources**2
        if deadline is not None and resources <= minimum_resources(place, deadline) * (1 + _AT_BOUND):
            saved += max(pull, 0.0) * resources**2 / place.work
        if resources >= place.capacity * (1 - _AT_BOUND):
            capacity[epoch.cluster] += max(-pull, 0.0)
    return Prices(allocation.multiplier, saved, capacity)


def rooms(instance: Instance, plan: Plan, evaluation: Evaluation) -> tuple[Room, ...]:
    """How far every limit could be tightened alone, the least relative room first; negative if it fails.

    Parameters
    ----------
    evaluation : Evaluation
        Of this plan, with its quantile.
    """
    target, loads = instance.target, epoch_loads(instance, plan)
    allocation = allocate(loads, target.maximum_time, target.round_deadline)
    found = [_room("K_max", "K_max", target.maximum_epochs, evaluation.epochs)]
    if evaluation.quantile is not None:
        fall = abs(target.initial_loss - target.maximum_loss) or 1.0
        limit, reached = target.maximum_loss, evaluation.quantile.upper
        found.append(Room("l_max", "(3)", limit, reached, (limit - reached) / fall))
    if target.maximum_time is not None:
        found.append(_room("T_max", "(4)", target.maximum_time, allocation.fastest_time))
    if target.round_deadline is not None:
        found.append(_room("tau", "(4)", target.round_deadline, allocation.fastest_epoch))
    found.extend(_capacity_rooms(instance, plan, loads, allocation))
    return tuple(sorted(found, key=lambda room: room.relative))


def _room(name: str, equation: str, limit: float, last: float) -> Room:
    return Room(name, equation, limit, last, (limit - last) / limit if limit else 0.0)


def _capacity_rooms(
    instance: Instance, plan: Plan, loads: Sequence[Load], allocation: Allocation
) -> Iterator[Room]:
    """For every cluster the least r(n) with which full resources everywhere keep both time limits."""
    target = instance.target
    for name in dict.fromkeys(epoch.cluster for epoch in plan.epochs):
        own = [place for epoch, place in zip(plan.epochs, loads, strict=True) if epoch.cluster == name]
        work = math.fsum(place.work for place in own)
        if work == 0:
            continue
        capacity = instance.cluster(name).capacity
        least = max(minimum_resources(place, target.round_deadline) for place in own)
        if target.maximum_time is not None:
            left = target.maximum_time - (allocation.fastest_time - work / capacity)
            least = max(least, work / left if left > 0 else math.inf)
        yield _room(f"r({name})", "(5)", capacity, least)
