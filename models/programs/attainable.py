"""What any sequence of epochs can reach, scenario by scenario: how many epochs, and how low the gain.

Everything here relaxes the plan to a path through (epoch, model), with the best or the worst data in every
epoch on its own, and is found by dynamic programming for all scenarios at once. The programs use it to leave
variables out and to choose the constants of (3).

The constants of (3). Row s reads G_s + M_s z_s >= needed, where G_s is the gain of the plan in scenario s and
z_s = 1 marks a miss, so M_s must be at least needed - G_s for every plan that may miss s. Let L_s be a lower
bound of G_s over all feasible plans that miss s; then M_s = needed - L_s is valid, because a plan that meets
s satisfies its row whatever z_s is. L_s is that of the worst path, G_s >= min over all paths of G_s. If it is
at least needed, no plan misses s, and the row is left out.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.tolerances import TIME_TOLERANCE, sum_rounding
from depl.models.problem.epoch_costs import minimum_resources
from depl.models.problem.laws import FloatArray


@dataclass(frozen=True, eq=False)
class Attainable:
    """Bounds that hold for every feasible plan of a sampled problem with at least one epoch.

    Attributes
    ----------
    usable : bool array (K_max, G)
        Whether a feasible plan could use the configuration at that epoch.
    lengths : bool array (K_max,)
        Entry k - 1: whether a feasible plan could end after epoch k.
    missed_anyway, met_anyway : bool array (S,)
        Scenarios that every plan misses, and those that every sequence of a possible length meets.
    lowest_gain : float array (S,)
        L_s of the module's docstring [loss].
    greatest_gain : float array (S,)
        No plan in time gains more; minus infinity if no epoch can keep the time limits [loss].
    allowed : int
        How many scenarios may be missed besides those that are missed anyway; negative if infeasible.
    idle : bool
        Whether the plan without an epoch is one of the plans; made so by `with_idle`.
    """

    usable: NDArray[np.bool_]
    lengths: NDArray[np.bool_]
    missed_anyway: NDArray[np.bool_]
    met_anyway: NDArray[np.bool_]
    lowest_gain: FloatArray
    greatest_gain: FloatArray
    allowed: int
    idle: bool = False

    @property
    def possible(self) -> bool:
        """Whether a feasible plan is not excluded yet."""
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

    def with_idle(self, problem: SampledProblem) -> "Attainable":
        """The same with the plan without an epoch, which gains nothing, among the plans."""
        met = problem.needed <= 0
        return replace(
            self,
            missed_anyway=self.missed_anyway & (not met),
            met_anyway=self.met_anyway & met,
            lowest_gain=np.minimum(self.lowest_gain, 0.0),
            greatest_gain=np.maximum(self.greatest_gain, 0.0),
            allowed=problem.allowed - (0 if met else int(self.missed_anyway.sum())),
            idle=True,
        )


def attainable(problem: SampledProblem) -> Attainable:
    """Bound what plans with at least one epoch can do, from the time limits and the scenarios."""
    steps = _switch_steps(problem)
    target = problem.instance.target
    maximum = target.maximum_time if target.maximum_time is not None else np.inf
    usable = _within_time(problem, maximum)
    durations = _by_model(problem, usable, -shortest_durations(problem))
    fastest = -best_by_length(durations, np.where(np.isinf(steps), steps, 0.0)[..., :1], problem)[:, 0]
    in_time = (fastest <= maximum * (1 + 2 * TIME_TOLERANCE)) & np.isfinite(fastest)
    high = _best_gains(problem, usable)
    margin = sum_rounding(problem.epochs) * _scale(problem)
    greatest = best_by_length(high, steps, problem)
    greatest[~in_time] = -np.inf
    enough = len(problem.scenarios) - problem.allowed
    lengths = in_time & ((greatest >= problem.needed - margin).sum(axis=1) >= enough)
    usable &= _through_target(problem, high, steps, lengths, margin)
    best = greatest.max(axis=0, initial=-np.inf)
    missed = greatest[lengths].max(axis=0, initial=-np.inf) < problem.needed - margin
    allowed = problem.allowed - int(missed.sum())
    worst = np.full(len(best), np.inf)
    if lengths.any():
        worst = _worst_gains(problem, usable, steps, lengths)
    met = worst >= problem.needed + margin
    return Attainable(usable, lengths, missed, met, worst - margin, best, allowed)


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


def shortest_durations(problem: SampledProblem) -> FloatArray:
    """Least time of an epoch, with full resources; shape (K_max, G) [time]."""
    return np.array(
        [
            [item.communication + (item.work / item.capacity if item.work > 0 else 0.0) for item in row]
            for row in problem.loads
        ]
    ).reshape(problem.epochs, len(problem.configurations))


def _within_time(problem: SampledProblem, maximum: float) -> NDArray[np.bool_]:
    """Which configurations keep the round deadline and T_max if they train alone; (K_max, G)."""
    target = problem.instance.target
    punctual = np.array(
        [[minimum_resources(item, target.round_deadline) < np.inf for item in row] for row in problem.loads],
        dtype=bool,
    ).reshape(problem.epochs, len(problem.configurations))
    return punctual & (shortest_durations(problem) <= maximum * (1 + TIME_TOLERANCE))


def _switch_steps(problem: SampledProblem) -> FloatArray:
    """What a step between models adds to the gain, minus infinity if forbidden; (K_max, M, M, S)."""
    return np.where(problem.may_follow[None, :, :, None], -problem.switch_losses, -np.inf)


def _by_model(problem: SampledProblem, usable: NDArray[np.bool_], values: FloatArray) -> FloatArray:
    """Greatest value of every model over the usable configurations; (K_max, M, 1)."""
    models = np.array([g.model for g in problem.configurations])
    allowed = np.where(usable, values, -np.inf)
    every = range(len(problem.instance.models))
    columns = [allowed[:, models == m].max(axis=1, initial=-np.inf) for m in every]
    return np.stack(columns, axis=1)[..., None]


def _data_choices(problem: SampledProblem, usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """On which subsets a model may train somewhere; (K_max, subsets, M)."""
    found = np.zeros((problem.epochs, len(problem.subsets), len(problem.instance.models)), dtype=bool)
    for index, g in enumerate(problem.configurations):
        found[:, problem.subsets.index(g.datasets), g.model] |= usable[:, index]
    return found


def _best_gains(problem: SampledProblem, usable: NDArray[np.bool_]) -> FloatArray:
    """Greatest gain of each model over its data; (K_max, M, S)."""
    allowed = _data_choices(problem, usable)[..., None]
    return np.asarray(np.where(allowed, problem.gains, -np.inf).max(axis=1))


def _through_target(
    problem: SampledProblem,
    high: FloatArray,
    steps: FloatArray,
    lengths: NDArray[np.bool_],
    margin: float,
) -> NDArray[np.bool_]:
    """Which configurations lie on paths that could meet the target often enough; (K_max, G)."""
    rest = _before(high, steps, problem.initial_model) + _after(high, steps, lengths, problem.may_end)
    enough = len(problem.scenarios) - problem.allowed
    columns = []
    for g in problem.configurations:
        keep_time()
        gain = problem.gains[:, problem.subsets.index(g.datasets), g.model] + rest[:, g.model]
        columns.append((gain >= problem.needed - margin).sum(axis=1) >= enough)
    return np.stack(columns, axis=1)


def _worst_gains(
    problem: SampledProblem,
    usable: NDArray[np.bool_],
    steps: FloatArray,
    lengths: NDArray[np.bool_],
) -> FloatArray:
    """The worst path, scenario by scenario; (S,) [loss]."""
    low = np.where(_data_choices(problem, usable)[..., None], -problem.gains, -np.inf).max(axis=1)
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


def _scale(problem: SampledProblem) -> float:
    """A bound of the numbers that are added up to a gain [loss]."""
    largest = np.abs(problem.gains).max(initial=0.0) + np.abs(problem.switch_losses).max(initial=0.0)
    return float(abs(problem.needed) + problem.epochs * largest)
