"""What any sequence of epochs can reach, scenario by scenario: how many epochs, and how low the gain.

Everything here relaxes the plan to a path through (epoch, model), with the best or the worst data in every
epoch on its own, found by dynamic programming for all scenarios at once. The programs leave variables out by
it and take the constants of (3) from it; the page *Programs* says why those are valid (``constants``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.tolerances import TIME_TOLERANCE, sum_rounding
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class Attainable:
    """Bounds that hold for every feasible plan of a sampled problem."""

    usable: NDArray[np.bool_]  # whether the configuration keeps the time limits at that epoch, (K_max, G)
    lengths: NDArray[np.bool_]  # entry k - 1: whether a feasible plan could end after epoch k, (K_max,)
    missed_anyway: NDArray[np.bool_]  # scenarios that every plan misses, (S,)
    lowest_gain: FloatArray  # no plan of a possible length gains less, (S,) [loss]
    best_gain: float  # no plan in time gains more in all scenarios but those that may be missed [loss]
    allowed: int  # how many may be missed besides those that are missed anyway; negative if infeasible
    idle: bool  # whether the plan without an epoch is feasible; the bounds hold for it then, too

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


def attainable(problem: SampledProblem) -> Attainable:
    """Bound what plans can do, from the time limits and the scenarios."""
    maximum = np.inf if problem.maximum_time is None else problem.maximum_time
    durations = problem.costs.fastest
    usable = np.isfinite(durations) & (durations <= maximum * (1 + TIME_TOLERANCE))
    steps = np.where(problem.may_follow[None, :, :, None], -problem.switch_losses, -np.inf)
    free = np.where(np.isinf(steps), steps, 0.0)[..., :1]
    quickest = _by_model(problem, usable, -durations[..., None])
    fastest = -_best_by_length(problem, quickest, free)[:, 0]
    in_time = (fastest <= maximum * (1 + 2 * TIME_TOLERANCE)) & np.isfinite(fastest)
    _, data, models = np.array(list(problem.position), dtype=np.intp).reshape(-1, 3).T
    gains = problem.gains[:, data, models]
    high, low = _by_model(problem, usable, gains), _by_model(problem, usable, -gains)
    largest = np.abs(problem.gains).max(initial=0.0) + np.abs(problem.switch_losses).max(initial=0.0)
    margin = sum_rounding(problem.epochs) * float(abs(problem.needed) + problem.epochs * largest)
    greatest = _best_by_length(problem, high, steps)
    greatest[~in_time] = -np.inf
    lengths = in_time & ((greatest >= problem.needed - margin).sum(axis=1) >= problem.size - problem.allowed)
    least = -_best_by_length(problem, low, np.where(np.isinf(steps), -np.inf, -steps))[lengths]
    idle = problem.misses([]) <= problem.allowed
    best = np.sort(greatest.max(axis=0, initial=0.0 if idle else -np.inf))[problem.allowed]
    missed = greatest[lengths].max(axis=0, initial=0.0 if idle else -np.inf) < problem.needed - margin
    worst = least.min(axis=0, initial=0.0 if idle else np.inf)
    allowed = problem.allowed - int(missed.sum())
    return Attainable(usable, lengths, missed, worst - margin, float(best), allowed, idle)


def _best_by_length(problem: SampledProblem, values: FloatArray, steps: FloatArray) -> FloatArray:
    """Greatest total of a path of exactly k epochs that may end there, for every k; shape (K_max, X).

    From what each model adds at each epoch, (K_max, M, X), and each step from a model, or none, to another,
    (K_max, M + 1, M, X); minus infinity where that is forbidden.
    """
    now = np.full((steps.shape[1], values.shape[2]), -np.inf)
    now[problem.first_model] = 0.0
    found = []
    for value, step in zip(values, steps, strict=True):
        keep_time()
        now[:-1] = (now[:, None] + step).max(axis=0) + value
        now[-1] = -np.inf
        found.append(now[:-1][problem.may_end].max(axis=0, initial=-np.inf))
    return np.array(found).reshape(len(values), values.shape[2])


def _by_model(problem: SampledProblem, usable: NDArray[np.bool_], values: FloatArray) -> FloatArray:
    """Greatest value of every model over its usable configurations, from (K_max, G, X); (K_max, M, X)."""
    keep_time()
    values = np.where(usable[..., None], values, -np.inf)
    models = np.array([model for *_, model in problem.position], dtype=np.intp)
    every = range(len(problem.may_end))
    return np.stack([values[:, models == one].max(axis=1, initial=-np.inf) for one in every], axis=1)
