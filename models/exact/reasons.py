"""Why there is no plan under scenarios, in the words of a user.

That no plan meets the target is known of all plans, however often they change. What is reachable is then
given from both sides: the best quantile of a plan that changes model or data at most once (`SIMPLE_PLAN`),
whose clusters are free, and a bound that no plan within the limits can beat. Where T_max may be in the way,
so is the least time of such a plan that meets the target.
"""

import math
import operator
from collections.abc import Sequence

import numpy as np

from depl.models.exact.assignments import (
    Assignment,
    assignments,
    few_assignments,
    undominated,
)
from depl.models.exact.choices import Configuration
from depl.models.exact.clusters import smallest
from depl.models.exact.first_plans import Neighbourhood
from depl.models.exact.sampled import CountedProblem
from depl.models.foundation.wording import counted, probability
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import load
from depl.models.problem.instance import Instance
from depl.models.problem.site_rules import why_not_idle

SIMPLE_PLAN = "plan that changes model or data at most once"
"""As `depl.models.exact.first_plans.Neighbourhood` finds it: one change of kind at most and, in
every epoch, the best cluster that offers its kind."""

_BISECTIONS = 30
"""Halvings of a range of gains: 2**-30 = 1e-9 of it is left, and the message prints six digits."""


def why_infeasible(
    problem: CountedProblem, best_gain: float, assigned: Sequence[Assignment] | None = None
) -> str:
    """The stage that fails and the nearest reachable values; no plan gains more than so in S - p scenarios.

    The assignments are all but those whose plans are plans of others; none if they are too many to list.
    """
    if nothing_to_train := obstacle(problem.instance):
        return nothing_to_train
    if assigned is None:
        assigned = undominated(assignments(problem)) if few_assignments(problem) else []
    target = problem.instance.target
    found = max((reached(problem, item) for item in assigned), default=-math.inf)
    seen = f"; the best quantile of a {SIMPLE_PLAN} is {target.initial_loss - found:.6g}"
    none = target.initial_loss - max(best_gain, found)
    bound = f", and no plan reaches less than {none:.6g}" if best_gain < problem.needed else ""
    slow = fastest(problem, assigned, problem.needed)
    takes = "" if slow is None else f"; the fastest {SIMPLE_PLAN} and meets it takes {slow[0]:.6g}, "
    takes = takes and f"{takes}maximum_time is {problem.maximum_time:.6g}"
    return (
        f"models: target {target.maximum_loss:g} "
        f"at omega {probability(target.quantile_level)} unreachable on "
        f"{counted(problem.size, 'scenario')} within {counted(target.maximum_epochs, 'epoch')} and the time "
        "limits by any plan"
        f"{seen if found > -math.inf else ''}{bound}{takes}"
    )


def fastest(
    problem: CountedProblem, assigned: Sequence[Assignment], needed: float
) -> tuple[float, tuple[Configuration, ...]] | None:
    """Least time of a plan of one change of kind at most that gains ``needed`` in S - p scenarios.

    T_max is left out. With full resources; None if there is none, or the instance has no T_max.
    """
    if problem.maximum_time is None:
        return None
    plans = ((Neighbourhood(problem, item).fastest(needed), item) for item in assigned)
    known = [(*found, item) for found, item in plans if found is not None]
    if not known:
        return None
    time, kinds, assignment = min(known, key=operator.itemgetter(0))
    positions = smallest(problem.costs.fastest, [assignment.options[kind] for kind in kinds])
    return time, tuple(problem.configurations[g] for g in positions)


def obstacle(instance: Instance) -> str:
    """Why not even one epoch can be trained, or nothing."""
    target, rules = instance.target, instance.rules
    if not target.maximum_epochs:
        too_high = "a plan without an epoch misses the target too often"
        known = () if not instance.has_memory else (too_high,)
        return f"models: maximum_epochs is 0, and {why_not_idle(instance, *known)}"
    if barred := rules.obstacle():
        return barred
    first = target.initial_model
    startable = [model.name for model in instance.models if instance.may_follow(first, model.name)]
    if not startable:
        return f"models: none may follow the initial model {first!r}"
    loads = [
        load(instance, 1, model, place.name, frozenset([dataset]))
        for place in instance.clusters
        for model in startable
        if rules.may_train(model, place.name)
        for dataset in rules.data[place.name]
    ]
    if not loads:
        return f"models: none that may follow {first!r} fits on a cluster with data"
    fastest = min(loads, key=lambda one: one.communication + one.work / one.capacity)
    found = allocate([fastest], target.maximum_time, target.round_deadline)
    slow = f"resources: no epoch keeps the time limits; the fastest takes {found.fastest_time:.6g}"
    return "" if found.feasible else slow


def reached(problem: CountedProblem, assignment: Assignment) -> float:
    """Gain that a plan with at most one change of kind, in time, reaches in S - p scenarios."""
    near = Neighbourhood(problem, assignment)
    high = problem.needed
    low = -near.largest_gain - float(np.abs(problem.switch_losses).sum(axis=0).max(initial=0.0)) - 1.0
    if not near.in_time(low):
        return -math.inf
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if near.in_time(middle) else (low, middle)
    return low
