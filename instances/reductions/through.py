"""A knapsack solved as a planning problem: written as an instance, solved by a method, read back and checked.

A reduction whose plans cost what is left behind takes one solve. One that only asks whether a value can be
reached takes several, because the largest value that can be reached is found by bisection: every answer "yes"
comes with items of at least that value, every answer "no" with the method's proof that there are none.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from depl.instances.reductions import (
    chance_knapsack,
    knapsack_by_cost,
    knapsack_by_time,
    knapsack_free_resources,
)
from depl.instances.reductions.knapsack import ChanceKnapsack, Knapsack, common_unit
from depl.models.foundation.clock import now
from depl.models.problem.instance import Instance
from depl.models.solving.methods import Meaning, find, require_limits
from depl.models.solving.result import Result, Termination
from depl.models.solving.solve import solve

Solver = Callable[[Instance], Result]
Reached = tuple[Result, tuple[int, ...] | None, bool]
"""A result, items that fit and reach the value, and whether it is proved that there are none."""

Reach = Callable[[Knapsack, Fraction, Solver], Reached]

_SLACK = 2e-9
"""Costs may be 1e-9 below what they stand for, lower bounds 5e-10 below what they prove."""


@dataclass(frozen=True)
class Answer:
    """What is known of a knapsack.

    Attributes
    ----------
    items : tuple of int or None
        The best set found, by places from 0.
    value : Fraction or None
        Its value.
    proved : bool
        Whether the method has proved that no set that fits has more.
    bound : Fraction
        No set that fits has more value.
    results : tuple of Result
        Of every solve, in order.
    """

    items: tuple[int, ...] | None
    value: Fraction | None
    proved: bool
    bound: Fraction
    results: tuple[Result, ...]


def solver(method: str, time_limit: float | None, seed: int = 0) -> Solver:
    """Solve by a registered method; all solves together keep the time limit.

    In instances without chance one scenario says it all, so methods that count scenarios get one.

    Raises
    ------
    InvalidInputError
        If there is no such method, or the time limit is not positive.
    """
    require_limits(time_limit=time_limit, seed=seed)
    scenarios = 1 if find(method).meaning is Meaning.SCENARIOS else None
    started = now()

    def run(instance: Instance) -> Result:
        left = None if time_limit is None else max(1e-3, time_limit - (now() - started))
        return solve(instance, method, time_limit=left, seed=seed, scenarios=scenarios)

    return run


def solve_knapsack(knapsack: Knapsack, reduction: str, solve_instance: Solver) -> Answer:
    """The best knapsack by way of one of `REDUCTIONS`.

    Raises
    ------
    NotCoveredError
        If the numbers are too large for the reduction.
    """
    if reduction != "by-cost":
        return _bisected(knapsack, REACHING[reduction], solve_instance)
    result = solve_instance(knapsack_by_cost.reduce(knapsack))
    total = sum(knapsack.whole.values)
    bound = (total - _least_cost(result, total)) * knapsack.whole.value_unit
    items = None if result.plan is None else knapsack_by_cost.solution_of(result.plan)
    value = None if items is None else knapsack.value_of(items)
    return Answer(items, value, result.termination is Termination.OPTIMAL, bound, (result,))


def solve_chance_knapsack(knapsack: ChanceKnapsack, solve_instance: Solver) -> Answer:
    """The best chance-constrained knapsack.

    Raises
    ------
    NotCoveredError
        If the numbers are too large for the reduction.
    """
    result = solve_instance(chance_knapsack.reduce(knapsack))
    unit = common_unit(knapsack.values)
    total = int(sum(knapsack.values) / unit)
    items = None if result.plan is None else chance_knapsack.solution_of(result.plan)
    value = None if items is None else knapsack.value_of(items)
    bound = (total - _least_cost(result, total)) * unit
    return Answer(items, value, result.termination is Termination.OPTIMAL, bound, (result,))


def _least_cost(result: Result, most: int) -> int:
    """The least whole cost that a result has not excluded."""
    if result.lower_bound >= most:
        return most
    return max(0, math.ceil(result.lower_bound - _SLACK * abs(result.lower_bound) - _SLACK))


def _reach_by_time(knapsack: Knapsack, value: Fraction, solve_instance: Solver) -> Reached:
    result = solve_instance(knapsack_by_time.reduce(knapsack, value))
    items = None if result.plan is None else knapsack_by_time.solution_of(result.plan)
    return result, items, result.termination is Termination.INFEASIBLE


def _reach_for_free(knapsack: Knapsack, value: Fraction, solve_instance: Solver) -> Reached:
    """The lightest items of a value; it cannot be reached if they are proved to be too heavy."""
    result = solve_instance(knapsack_free_resources.reduce(knapsack, value))
    items = None if result.plan is None else knapsack_free_resources.solution_of(result.plan)
    if items is None or knapsack.holds(items):
        return result, items, result.termination is Termination.INFEASIBLE
    return result, None, result.termination is Termination.OPTIMAL


def _bisected(knapsack: Knapsack, reach: Reach, solve_instance: Solver) -> Answer:
    """The largest value that can be reached."""
    whole, results = knapsack.whole, []
    best: tuple[int, ...] = ()
    low, high = 0, sum(whole.values)
    while low < high:
        middle = (low + high + 1) // 2
        result, items, impossible = reach(knapsack, middle * whole.value_unit, solve_instance)
        results.append(result)
        if items is not None:
            best, low = items, sum(whole.values[item] for item in items)
        elif impossible:
            high = middle - 1
        else:
            break
    value = knapsack.value_of(best)
    return Answer(best, value, low == high, high * whole.value_unit, tuple(results))


REACHING: dict[str, Reach] = {"by-time": _reach_by_time, "free-resources": _reach_for_free}
