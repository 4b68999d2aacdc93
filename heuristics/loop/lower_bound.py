"""The proved lower bound of an instance, and what stands in the way of every plan.

The dual under what every plan certainly needs (`depl.heuristics.loop.requirement.certified_requirement`).
Where all sites are listed it is evaluated on them. Where a frontier stands for them, a guide finds the prices
and one evaluation on the full frontier, over all clusters, proves them.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from depl.heuristics.loop.dual import Dual, Part, Prices, start_prices
from depl.heuristics.loop.frontier import Frontier
from depl.heuristics.loop.learning import Learning
from depl.heuristics.loop.outlook import Outlook
from depl.heuristics.loop.requirement import Requirement, certified_requirement, largest_variance
from depl.heuristics.loop.sites import (
    DataFactors,
    Places,
    Sites,
    listed_sites,
    may_be_listed,
)
from depl.models.allocation import TIME_TOLERANCE
from depl.models.problem import Instance
from depl.models.wording import number

_FREE = Prices(0.0, 1.0, 0.0)


@dataclass(frozen=True)
class LowerBound:
    """What is proved before any plan is known.

    Attributes
    ----------
    value : float
        No feasible plan costs less; infinite if there is none [cost].
    dearest : float
        No plan costs more [cost].
    obstacle : str
        Why there is no plan, by stage, if that is proved.
    """

    value: float
    dearest: float
    obstacle: str = ""

    @classmethod
    def of(cls, instance: Instance, learning: Learning, factors: DataFactors) -> "LowerBound":
        """Prove a bound."""
        target = instance.target
        dearest = _dearest(instance)
        if target.maximum_epochs == 0:
            return cls(
                math.inf, dearest, "models: no epoch is allowed, and the loss does not meet the target"
            )
        largest = largest_variance(learning.variances, learning.switch_variances)
        requirement = certified_requirement(instance, learning.third_ratio, largest)
        if requirement is None:
            return cls(0.0, dearest)
        listed = may_be_listed(instance)
        places: Places
        if listed:
            sites = Sites.of(instance, listed_sites(instance), factors)
            places, part = sites, Part(sites.transfers / target.maximum_epochs)
        else:
            places = Frontier.of(instance, factors)
            part = Part(np.zeros(len(places.factors)))
        dual = Dual(learning, places, target.maximum_time, dearest)
        obstacle = _obstacle(instance, dual, part, requirement)
        if obstacle:
            return cls(math.inf, dearest, obstacle)
        if listed:
            bound = dual.bound(part, requirement, start_prices(dual, part, requirement))
            return cls(max(bound.value, 0.0), dearest)
        return cls(_proved(instance, learning, factors, dual, requirement), dearest)


def _proved(
    instance: Instance, learning: Learning, factors: DataFactors, dual: Dual, requirement: Requirement
) -> float:
    """The bound on the frontier at the guide's prices, the least over the ranges."""
    outlook = Outlook(instance, learning, factors)
    start = outlook.start(requirement)
    part = Part(np.zeros(len(dual.places.factors)))
    lowest = math.inf
    for piece in requirement.ranges:
        single = replace(requirement, ranges=(piece,))
        guided = outlook.bound(single, start)
        if guided.value >= lowest * 1.01:
            continue  # cannot be the least, if the frontier is near the guide
        lowest = min(lowest, dual.value(part, single, guided.prices))
    for piece in requirement.ranges:  # prove that
        single = replace(requirement, ranges=(piece,))
        guided = outlook.bound(single, start)
        lowest = min(lowest, dual.value(part, single, guided.prices))
    return max(lowest, 0.0)


def _obstacle(instance: Instance, dual: Dual, part: Part, requirement: Requirement) -> str:
    """A proof that the mean of no sequence can reach what is certainly needed, with the nearest value."""
    target = instance.target
    needed = requirement.fall + min(min(piece.margin_low, piece.margin_high) for piece in requirement.ranges)
    free = Part(np.where(np.isinf(part.charges), math.inf, 0.0))
    idle = dual.without_cost()
    least, _ = idle.cheapest(free, _FREE)
    if least == math.inf:
        return "resources: no epoch keeps the round deadline on any cluster"
    if -least < needed:
        reached = target.initial_loss + least
        return (
            f"models: target {number(target.maximum_loss)} at omega {number(target.quantile_level)} is out "
            f"of reach within {target.maximum_epochs} epochs; the lowest expected loss is {number(reached)}"
        )
    if target.maximum_time is None:
        return ""
    fastest = _least_time(dual, free, needed)
    if fastest > target.maximum_time * (1 + TIME_TOLERANCE):
        return (
            f"resources: reaching the target takes at least {number(fastest)}, and maximum_time is "
            f"{number(target.maximum_time)}"
        )
    return ""


def _least_time(dual: Dual, part: Part, needed: float) -> float:
    """A lower bound of the time that any sequence with the needed mean gain takes."""
    timed = dual.with_times()
    low, high, best = 1e-12, 1e12, 0.0
    for _ in range(50):
        price = math.sqrt(low * high)
        least, cut = timed.cheapest(part, Prices(0.0, price, 0.0))
        if cut is None:
            return math.inf
        best = max(best, least + price * needed)
        low, high = (price, high) if cut.gain < needed else (low, price)
    return best


def _dearest(instance: Instance) -> float:
    full = max(place.nodes * place.unit_cost * place.capacity for place in instance.clusters)
    return instance.target.maximum_epochs * full + math.fsum(row.cost for row in instance.transfers)
