"""A first feasible plan for the programs: the cheapest on one cluster and subset with at most one switch."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.choices import Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.programs.attainable import Attainable

Choices = list[Configuration]

_LARGEST = 20_000
"""Sequences above which plans with a switch are left out."""


def first_plan(
    problem: SampledProblem, bounds: Attainable, cost: Callable[[Choices], float], proceed: Callable[[], bool]
) -> Choices | None:
    """The cheapest of the simple plans that meet the target; None if none does.

    Parameters
    ----------
    cost : callable
        Exact cost of a sequence, infinite if it misses a time limit [cost].
    proceed : callable
        Asked now and then; the search ends when it says False.
    """
    best, least = None, math.inf
    for choices in _simple_plans(problem, bounds):
        if not proceed():
            break
        value = cost(choices)
        if value < least:
            best, least = choices, value
    return best


def _simple_plans(problem: SampledProblem, bounds: Attainable) -> Iterator[Choices]:
    """Those that miss few enough scenarios, with epochs that are usable one by one."""
    position = {g: index for index, g in enumerate(problem.configurations)}
    count = len(problem.instance.models)
    places = ((n, d) for n, row in enumerate(problem.open_subsets) for d in row)
    longest = bounds.longest
    size = len(position) * count * longest**2
    for cluster, subset in places:
        models = problem.fitting[cluster]
        choice = [Configuration(cluster, problem.subsets[subset], m) for m in range(count)]
        usable = np.stack([_usable(bounds, position.get(g)) for g in choice])
        gains = problem.gains[:, subset].swapaxes(0, 1)
        summed = np.concatenate([np.zeros_like(gains[:, :1]), np.cumsum(gains, axis=1)], axis=1)
        broken = np.concatenate([np.zeros_like(usable[:, :1]), np.cumsum(~usable, axis=1)], axis=1)
        for first, second in itertools.product(models, models):
            if not problem.may_end[second]:
                continue
            if first != second and (size > _LARGEST or not problem.may_follow[first, second]):
                continue
            keep_time()
            for change, length in _lengths(first == second, longest):
                if not bounds.lengths[length - 1] or broken[first, change] > 0:
                    continue
                if broken[second, length] > broken[second, change]:
                    continue
                total = summed[first, change] + summed[second, length] - summed[second, change]
                if first != second:
                    total = total - problem.switch_losses[change, first, second]
                if _begins(problem, first, total):
                    yield [choice[first]] * change + [choice[second]] * (length - change)


def _usable(bounds: Attainable, position: int | None) -> NDArray[np.bool_]:
    """At which epochs a configuration may be used; at none if it is not listed."""
    return np.zeros(len(bounds.usable), dtype=bool) if position is None else bounds.usable[:, position]


def _lengths(steady: bool, longest: int) -> Iterator[tuple[int, int]]:
    """Epochs of the first model and of all."""
    for length in range(1, longest + 1):
        yield from [(length, length)] if steady else ((change, length) for change in range(1, length))


def _begins(problem: SampledProblem, first: int, total: np.ndarray) -> bool:
    """Whether the sequence may begin with that model and then misses few enough scenarios."""
    initial = problem.initial_model
    if initial is not None and initial != first:
        if not problem.may_follow[initial, first]:
            return False
        total = total - problem.switch_losses[0, initial, first]
    return int((total < problem.needed).sum()) <= problem.allowed
