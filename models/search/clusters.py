"""The cheapest clusters for a given sequence of kinds, exactly.

Kinds fix the gains; which option (cluster) trains each epoch only changes the cost. At a price lam of time
the cheapest option of every epoch gives a lower bound, tight if the same options are cheapest at the
multiplier of their own allocation. Otherwise every choice whose extra price stays within (upper - lower
bound) is tried; epochs with equal loads are interchangeable, so only how many take which option counts.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.allocation import allocate
from depl.models.choices import Choices, Configuration
from depl.models.laws import FloatArray
from depl.models.search.assignments import Assignment
from depl.models.search.prices import Prices

_ROUNDS = 6
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Clustered:
    """A plan with its exact cost.

    Attributes
    ----------
    choices : tuple of `depl.models.choices.Configuration`
    cost : float
        Transfers and allocation [cost].
    multiplier : float
        lam of the time row [cost / time].
    """

    choices: tuple[Configuration, ...]
    cost: float
    multiplier: float


def costed(problem: Choices, positions: Sequence[int]) -> Clustered | None:
    """The plan with the configurations at these positions; None if it cannot keep the time limits."""
    choices = tuple(problem.configurations[g] for g in positions)
    target = problem.instance.target
    loads = [problem.loads[k][g] for k, g in enumerate(positions)]
    allocation = allocate(loads, target.maximum_time, target.round_deadline)
    if not allocation.feasible:
        return None
    return Clustered(choices, problem.transfers(choices) + allocation.cost, allocation.multiplier)


def cheapest_clusters(
    problem: Choices,
    prices: Prices,
    assignment: Assignment,
    kinds: Sequence[int],
    multiplier: float,
    cutoff: float,
    proceed: Callable[[], bool] = lambda: True,
) -> Clustered | None:
    """Cheapest options of a sequence of kinds, or None if no choice is feasible and below ``cutoff``.

    Parameters
    ----------
    kinds : sequence of int
        Kind of each epoch.
    multiplier : float
        First guess of lam [cost / time].
    cutoff : float
        Only plans that cost less, transfers of the whole assignment included, are of interest [cost].
    proceed : callable
        Asked before every choice, as there may be exponentially many; once it says no, the best of those
        that were tried is returned, and nothing is proved of the others.
    """
    options = [assignment.options[kind] for kind in kinds]
    if all(len(row) == 1 for row in options):
        plan = costed(problem, [row[0] for row in options])
        return plan if plan is not None and plan.cost < cutoff else None
    best, lower, reference = _alternate(problem, prices, assignment, options, multiplier)
    if best is None:
        return None
    cutoff = min(cutoff, best.cost)
    if lower < cutoff - _ROUNDING * abs(cutoff):
        for positions in _near(problem, prices.at(reference), options, cutoff - lower):
            if not proceed():
                break
            plan = costed(problem, positions)
            if plan is not None and plan.cost < cutoff:
                best, cutoff = plan, plan.cost
    return best if best.cost <= cutoff else None


def smallest(values: FloatArray, options: list[tuple[int, ...]]) -> list[int]:
    """For every epoch the option of least value, by position."""
    return [row[int(np.argmin(values[k, list(row)]))] for k, row in enumerate(options)]


def _alternate(
    problem: Choices,
    prices: Prices,
    assignment: Assignment,
    options: list[tuple[int, ...]],
    multiplier: float,
) -> tuple[Clustered | None, float, float]:
    """A good plan, a lower bound of all with these kinds, and the price of time that gave it."""
    limit = prices.maximum_time
    positions = smallest(prices.fastest, options)
    best = costed(problem, positions)
    lower, reference = -math.inf, multiplier
    for _ in range(_ROUNDS if best is not None else 0):
        values = prices.at(multiplier)
        positions = smallest(values, options)
        charge = 0.0 if limit is None else multiplier * limit
        bound = math.fsum([assignment.transfers, -charge, *(values[k, g] for k, g in enumerate(positions))])
        if bound > lower:
            lower, reference = bound, multiplier
        plan = costed(problem, positions)
        if plan is None:  # too slow: time has to be more expensive
            multiplier = 2 * multiplier if multiplier > 0 else best.multiplier if best is not None else 0.0
            continue
        if best is None or plan.cost < best.cost:
            best = plan
        if plan.multiplier == multiplier:
            break
        multiplier = plan.multiplier
    return best, lower, reference


def _near(
    problem: Choices, values: FloatArray, options: list[tuple[int, ...]], slack: float
) -> Iterator[list[int]]:
    """Every choice, up to exchanges among equal epochs, whose extra price is within ``slack``."""
    groups: dict[object, list[int]] = {}
    for k, row in enumerate(options):
        groups.setdefault((row, tuple(problem.loads[k][g] for g in row)), []).append(k)
    members = list(groups.values())
    extras = []
    for epochs in members:
        row = options[epochs[0]]
        least = min(float(values[epochs[0], g]) for g in row)
        extras.append([float(values[epochs[0], g]) - least for g in row])
    positions = [row[0] for row in options]

    def fill(group: int, left: float) -> Iterator[list[int]]:
        if group == len(members):
            yield list(positions)
            return
        epochs = members[group]
        row = options[epochs[0]]
        for chosen in _compositions(len(epochs), extras[group], left):
            spread = itertools.chain.from_iterable([g] * n for g, n in zip(row, chosen, strict=True))
            for k, g in zip(epochs, spread, strict=True):
                positions[k] = g
            used = math.fsum(n * extra for n, extra in zip(chosen, extras[group], strict=True) if n)
            yield from fill(group + 1, left - used)

    return fill(0, slack)


def _compositions(count: int, extras: list[float], slack: float) -> Iterator[list[int]]:
    """Ways to split ``count`` epochs over options whose extras stay within ``slack``."""
    if len(extras) == 1:
        if not count or count * extras[0] <= slack:
            yield [count]
        return
    for first in range(count + 1):
        used = first * extras[0] if first else 0.0
        if used > slack:
            break
        for others in _compositions(count - first, extras[1:], slack - used):
            yield [first, *others]
