"""The cheapest clusters for a given sequence of kinds, exactly.

Kinds fix the gains; which option (cluster) trains each epoch only changes the cost. At a price lam of time
the cheapest option of every epoch gives a lower bound, tight if the same options are cheapest at the
multiplier of their own allocation. Otherwise every choice whose extra price stays within (upper - lower
bound) is tried; epochs with equal loads are interchangeable, so only how many take which option counts, and
an option that asks for no less of anything than another one is left out.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from depl.models.exact.assignments import Assignment
from depl.models.exact.choices import Choices, Configuration
from depl.models.problem.allocation import allocate
from depl.models.problem.laws import FloatArray

_ROUNDS = 40
"""Prices of time tried at most: twenty halvings leave a millionth of a bracket; as many may be plans' own."""

_ROUNDING = 1e-12
"""Relative saving for which other clusters are not tried: sums are rounded once and their parts by a few
units of 2**-53, so a bound that meets the cost differs from it by about 1e-15. A thousandth of
`SEARCH_TOLERANCE`."""


@dataclass(frozen=True)
class Clustered:
    """A plan with its exact cost."""

    choices: tuple[Configuration, ...]
    cost: float  # transfers and allocation
    multiplier: float  # lam of the time row [cost / time]


def costed(problem: Choices, positions: Sequence[int]) -> Clustered | None:
    """The plan with the configurations at these positions; None if it cannot keep the time limits."""
    choices = tuple(problem.configurations[g] for g in positions)
    loads = [problem.loads[k][g] for k, g in enumerate(positions)]
    allocation = allocate(loads, problem.maximum_time, problem.instance.target.round_deadline)
    if not allocation.feasible:
        return None
    return Clustered(choices, problem.transfers(choices) + allocation.cost, allocation.multiplier)


def cheapest_clusters(
    problem: Choices,
    assignment: Assignment,
    kinds: Sequence[int],
    multiplier: float,
    proceed: Callable[[], bool] = lambda: True,
    most: int | None = None,
) -> Clustered | None:
    """Cheapest options of a sequence of kinds, or None if no choice is feasible.

    The multiplier is a first guess of lam. ``proceed`` is asked before every choice, as there may be
    exponentially many; once it says no, or ``most`` were tried, the best so far is returned, and nothing is
    proved of the others.
    """
    options = [assignment.options[kind] for kind in kinds]
    if all(len(row) == 1 for row in options):
        return costed(problem, [row[0] for row in options])
    best, lower, reference = _alternate(problem, assignment, options, multiplier)
    if best is None or lower >= best.cost - _ROUNDING * abs(best.cost):
        return best
    held = best
    near = _near(problem, reference, options, lambda: held.cost - lower)
    for positions in itertools.islice(near, most):
        if not proceed():
            break
        plan = costed(problem, positions)
        if plan is not None and plan.cost < held.cost:
            held = plan
    return held


def smallest(values: FloatArray, options: list[tuple[int, ...]]) -> list[int]:
    """For every epoch the option of least value, by position."""
    return [row[int(np.argmin(values[k, list(row)]))] for k, row in enumerate(options)]


def _alternate(
    problem: Choices, assignment: Assignment, options: list[tuple[int, ...]], multiplier: float
) -> tuple[Clustered | None, float, float]:
    """A good plan, a lower bound of all with these kinds, and the price of time that gave it."""
    limit = problem.maximum_time
    best = costed(problem, smallest(problem.costs.fastest, options))
    multiplier = 0.0 if limit is None else multiplier
    lower, reference = -math.inf, multiplier
    if best is None:
        return None, lower, reference
    low, high = 0.0, math.inf  # prices of time at which the cheapest options are too slow, and fast enough
    for _ in range(_ROUNDS):
        values = problem.psi(multiplier)
        positions = smallest(values, options)
        spent = (values[k, g] for k, g in enumerate(positions))
        bound = math.fsum([assignment.transfers, -problem.paid(multiplier), *spent])
        if bound > lower:
            lower, reference = bound, multiplier
        plan = costed(problem, positions)
        if plan is not None and plan.cost < best.cost:
            best = plan
        if plan is not None and plan.multiplier == multiplier:
            break
        # The plan's own bound touches the one of all plans here and is greatest at its multiplier.
        if plan is None or plan.multiplier > multiplier:
            low = max(low, multiplier)
        else:
            high = min(high, multiplier)
        if plan is not None and low < plan.multiplier < high:
            multiplier = plan.multiplier
        elif high < math.inf:
            multiplier = 0.5 * (low + high)
        elif limit:  # cost / limit: all time costs as much as the plan
            multiplier = max(2 * low, best.multiplier) or best.cost / limit
        if not low < multiplier < high:
            break
    return best, lower, reference


def _near(
    problem: Choices, multiplier: float, options: list[tuple[int, ...]], slack: Callable[[], float]
) -> Iterator[list[int]]:
    """Every choice, up to exchanges among equal epochs, whose extra price is within ``slack``.

    Nothing is listed in vain: what is chosen so far can always be completed without any further extra, so
    the time between two choices grows with the number of epochs and options only. ``slack`` may fall
    on the way.
    """
    values, costs = problem.psi(multiplier), problem.costs
    # less of any of these never costs more
    loads = np.stack([costs.work, costs.price, costs.communication, -costs.capacity])
    groups: dict[object, list[int]] = {}
    for k, row in enumerate(options):
        at = list(row)
        groups.setdefault((row, loads[:, k, at].tobytes()), []).append(k)
    members: list[tuple[list[int], list[int], list[float]]] = []
    for epochs in groups.values():
        k = epochs[0]
        chosen = _undominated(loads[:, k], options[k])
        chosen.sort(key=lambda g, k=k: -float(values[k, g]))  # type: ignore[misc]  # the least completes all
        members.append((epochs, chosen, [float(values[k, g] - values[k, chosen[-1]]) for g in chosen]))
    # The last one changes fastest: the one where another option costs least.
    members.sort(key=lambda member: -min(member[2][:-1], default=math.inf))
    positions = [row[0] for row in options]

    def fill(group: int, used: float) -> Iterator[list[int]]:
        if group == len(members):
            yield list(positions)
            return
        epochs, row, extras = members[group]
        for chosen, spent in _compositions(len(epochs), extras, used, slack):
            spread = itertools.chain.from_iterable([g] * n for g, n in zip(row, chosen, strict=True))
            for k, g in zip(epochs, spread, strict=True):
                positions[k] = g
            yield from fill(group + 1, spent)

    return fill(0, 0.0)


def _undominated(loads: FloatArray, row: tuple[int, ...]) -> list[int]:
    """Those options that ask for less of something than each other one; the first of equal ones."""
    kept: list[int] = []
    for g in sorted(row, key=lambda g: (*loads[:, g], g)):
        if not any(bool(np.all(loads[:, other] <= loads[:, g])) for other in kept):
            kept.append(g)
    return kept


def _compositions(
    count: int, extras: list[float], used: float, slack: Callable[[], float]
) -> Iterator[tuple[list[int], float]]:
    """Ways to split ``count`` epochs over options, each with all extras used so far; the last extra is 0."""
    if len(extras) == 1:
        yield [count], used
        return
    for first in range(count + 1):
        spent = used + (first * extras[0] if first else 0.0)
        if spent > slack():
            break
        for others, total in _compositions(count - first, extras[1:], spent, slack):
            yield [first, *others], total
