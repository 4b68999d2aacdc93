"""What any sequence of epochs can reach, scenario by scenario: how many epochs, and how low the gain.

Everything here relaxes the plan to a path through (epoch, model), with the best or the worst data in every
epoch on its own, found by dynamic programming for all scenarios at once. The programs leave variables out by
it and take the constants of (3) from it; the page *Programs* says why those are valid (``constants``).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.tolerances import TIME_TOLERANCE, sum_rounding
from depl.models.problem.epoch_costs import EpochCosts
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class Attainable:
    """Bounds that hold for every feasible plan of a sampled problem.

    Attributes
    ----------
    usable : bool array (K_max, G)
        Whether the configuration keeps the time limits at that epoch.
    lengths : bool array (K_max,)
        Entry k - 1: whether a feasible plan could end after epoch k.
    missed_anyway : bool array (S,)
        Scenarios that every plan misses.
    lowest_gain : float array (S,)
        No plan of a possible length gains less [loss].
    greatest_gain : float array (S,)
        No plan in time gains more; minus infinity if no epoch can keep the time limits [loss].
    allowed : int
        How many scenarios may be missed besides those that are missed anyway; negative if infeasible.
    idle : bool
        Whether the plan without an epoch is feasible; the bounds hold for it then, too.
    """

    usable: NDArray[np.bool_]
    lengths: NDArray[np.bool_]
    missed_anyway: NDArray[np.bool_]
    lowest_gain: FloatArray
    greatest_gain: FloatArray
    allowed: int
    idle: bool

    @property
    def possible(self) -> bool:
        """Whether a feasible plan with an epoch is not excluded yet."""
        return self.allowed >= 0 and bool(self.lengths.any())

    @property
    def shortest(self) -> int:
        """No feasible plan has fewer epochs."""
        return 0 if self.idle else int(np.flatnonzero(self.lengths)[0]) + 1

    @property
    def longest(self) -> int:
        """No feasible plan has more epochs."""
        return int(np.flatnonzero(self.lengths)[-1]) + 1

    def best_gain(self, problem: SampledProblem) -> float:
        """No plan in time gains more in all scenarios but those that may be missed [loss]."""
        return float(np.sort(self.greatest_gain)[problem.allowed])


def attainable(problem: SampledProblem) -> Attainable:
    """Bound what plans can do, from the time limits and the scenarios."""
    target = problem.instance.target
    maximum = np.inf if target.maximum_time is None else target.maximum_time
    costs = [EpochCosts.of(row, target.round_deadline) for row in problem.loads]
    shape = problem.epochs, len(problem.configurations)
    durations = np.array([row.fastest for row in costs]).reshape(shape)
    usable = np.isfinite(durations) & (durations <= maximum * (1 + TIME_TOLERANCE))
    steps = np.where(problem.may_follow[None, :, :, None], -problem.switch_losses, -np.inf)
    free = np.where(np.isinf(steps), steps, 0.0)[..., :1]
    quickest = _by_model(problem, usable, lambda index, _: -durations[:, index, None])
    fastest = -best_by_length(quickest, free, problem)[:, 0]
    in_time = (fastest <= maximum * (1 + 2 * TIME_TOLERANCE)) & np.isfinite(fastest)
    high = _by_model(problem, usable, lambda _, gain: gain)
    largest = np.abs(problem.gains).max(initial=0.0) + np.abs(problem.switch_losses).max(initial=0.0)
    margin = sum_rounding(problem.epochs) * float(abs(problem.needed) + problem.epochs * largest)
    enough = len(problem.scenarios) - problem.allowed
    greatest = best_by_length(high, steps, problem)
    greatest[~in_time] = -np.inf
    lengths = in_time & ((greatest >= problem.needed - margin).sum(axis=1) >= enough)
    idle = problem.misses([]) <= problem.allowed
    best = greatest.max(axis=0, initial=0.0 if idle else -np.inf)
    reached = greatest[lengths].max(axis=0, initial=0.0 if idle else -np.inf)
    missed = reached < problem.needed - margin
    worst = np.full(len(best), 0.0 if idle else np.inf)
    if lengths.any():
        worst = np.minimum(worst, _worst_gains(problem, usable, steps, lengths))
    allowed = problem.allowed - int(missed.sum())
    return Attainable(usable, lengths, missed, worst - margin, best, allowed, idle)


def best_by_length(values: FloatArray, steps: FloatArray, problem: SampledProblem) -> FloatArray:
    """Greatest total of a path of exactly k epochs that may end there, for every k; shape (K_max, X).

    Parameters
    ----------
    values : float array (K_max, M, X)
        What each model adds at each epoch, minus infinity where it cannot train.
    steps : float array (K_max, M, M, X)
        What the step from the first model to the second adds, minus infinity where it is forbidden.
    """
    totals = _before(values, steps, problem.initial_model) + values
    return np.asarray(totals[:, problem.may_end].max(axis=1, initial=-np.inf))


def _by_model(
    problem: SampledProblem, usable: NDArray[np.bool_], value: Callable[[int, FloatArray], FloatArray]
) -> FloatArray:
    """Greatest value of every model over its usable configurations, from their gains; (K_max, M, X)."""
    found: dict[int, FloatArray] = {}
    for (_, data, model), index in problem.position.items():
        keep_time()
        column = np.where(usable[:, index, None], value(index, problem.gains[:, data, model]), -np.inf)
        found[model] = np.maximum(found[model], column) if model in found else column
    none = np.full_like(next(iter(found.values())), -np.inf) if found else np.empty((0, 1))
    return np.stack([found.get(m, none) for m in range(len(problem.instance.models))], axis=1)


def _worst_gains(
    problem: SampledProblem, usable: NDArray[np.bool_], steps: FloatArray, lengths: NDArray[np.bool_]
) -> FloatArray:
    """Of the worst path, scenario by scenario; (S,) [loss]."""
    low = _by_model(problem, usable, lambda _, gain: -gain)
    losses = np.where(np.isinf(steps), -np.inf, -steps)
    rest = _before(low, losses, problem.initial_model) + _after(low, losses, lengths, problem.may_end)
    return np.asarray(-(low[0] + rest[0]).max(axis=0))


def _before(values: FloatArray, steps: FloatArray, initial: int | None) -> FloatArray:
    """Greatest total of the epochs before k and the step into model m; (K_max, M, X)."""
    found = np.full(values.shape, -np.inf)
    for k in range(len(values)):
        keep_time()
        if k == 0:
            found[0] = 0.0 if initial is None else steps[0, initial]
        else:
            found[k] = ((found[k - 1] + values[k - 1])[:, None] + steps[k]).max(axis=0)
    return found


def _after(
    values: FloatArray, steps: FloatArray, lengths: NDArray[np.bool_], may_end: NDArray[np.bool_]
) -> FloatArray:
    """Greatest total after epoch k with model m, up to an end that is allowed; (K_max, M, X)."""
    found = np.full(values.shape, -np.inf)
    for k in reversed(range(len(values))):
        keep_time()
        if lengths[k]:
            found[k, may_end] = 0.0
        if k + 1 < len(values):
            onward = (steps[k + 1] + (values[k + 1] + found[k + 1])[None]).max(axis=1)
            found[k] = np.maximum(found[k], onward)
    return found
