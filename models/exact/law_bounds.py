"""Lower bounds of the cost under the law from mean gains, before any grid is filled.

Let G be the total gain of a plan, with mean Y and variance V. If P(G < y) <= p, where y = l(0) - l_max, then
by Cantelli's inequality, P(G < y) >= (y - Y)^2 / (V + (y - Y)^2) for Y < y,

    Y >= y - sqrt(V p / (1 - p)).

With V at most the sum of the largest variances of the epochs, that is a linear requirement on the plan. At a
price mu of gain and lam of time, a plan of the assignment A costs at least

    t(A) + min [sum of psi(lam) - mu mean gain] + mu (least Y) - lam T_max,

a dynamic program over (epoch, model). Where a variance is infinite, nothing is required.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.models.exact.assignments import Assignment
from depl.models.exact.choices import Choices
from depl.models.exact.kernels import Sample, priced_prefixes
from depl.models.exact.prices import GAIN_PRICES, Prices
from depl.models.foundation.deadline import keep_time
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import LossStep, loss_step, switch_step
from depl.models.problem.laws import FloatArray
from depl.models.risk.discrete import decimal


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and variances of all epochs and switches.

    Attributes
    ----------
    gains, variances : float array (K_max, D, M)
        By epoch, set of datasets and model.
    losses, switch_variances : float array (K_max, M, M)
    """

    gains: FloatArray
    variances: FloatArray
    losses: FloatArray
    switch_variances: FloatArray

    @classmethod
    def of(cls, problem: Choices) -> "Moments":
        """Read them from the laws."""
        instance = problem.instance
        names = [model.name for model in instance.models]
        runs = np.zeros((2, problem.epochs, len(problem.subsets), len(names)))
        switches = np.zeros((2, problem.epochs, len(names), len(names)))
        for k, d, m in np.ndindex(*runs.shape[1:]):
            keep_time()
            step = loss_step(instance, k + 1, 0, names[m], names[m], problem.subsets[d])
            runs[:, k, d, m] = _moments(step)
        for k, i, j in np.ndindex(*switches.shape[1:]):
            change = switch_step(instance, k + 1, names[i], names[j])
            if change is not None:
                switches[:, k, i, j] = _moments(change)
        return cls(-runs[0], runs[1], switches[0], switches[1])


def mean_bounds(
    problem: Choices,
    moments: Moments,
    prices: Prices,
    assignment: Assignment,
    time_price: float,
    cost: float,
) -> FloatArray:
    """Lower bounds of the cost of an assignment's plans by number of epochs, shape (K_max + 1,) [cost].

    Parameters
    ----------
    time_price : float
        lam [cost / time].
    cost : float
        Of a good plan, to choose prices of gain [cost].
    """
    target = problem.instance.target
    fall = target.initial_loss - target.maximum_loss - ATOM_TOLERANCE
    budget = float(1 - decimal(target.quantile_level))
    used = moments.variances[:, assignment.subsets, assignment.models].max(axis=1)
    used += moments.switch_variances.max(axis=(1, 2))
    variances = np.concatenate([[0.0], np.cumsum(used)])
    with np.errstate(invalid="ignore"):
        required = fall - np.sqrt(variances * (budget / (1 - budget))) * (1 + 1e-9)
    first = problem.initial_model
    sample = Sample(
        gains=np.ascontiguousarray(moments.gains[:, assignment.subsets, assignment.models, None]),
        switch_losses=moments.losses[..., None],
        may_follow=problem.may_follow,
        models=assignment.models,
        first_model=-1 if first is None else first,
        needed=0.0,
        allowed=0,
        may_end=problem.may_end,
    )
    costs = assignment.cheapest(prices.at(time_price))
    paid = time_price * prices.maximum_time if prices.maximum_time is not None else 0.0
    best = np.full(len(costs) + 1, -math.inf)
    usual = cost / fall if fall > 0 else 0.0  # a loss that needs no fall, where the last model has to change
    for price in usual * GAIN_PRICES:
        best = np.maximum(best, priced_prefixes(sample, costs, float(price))[:, 0] + price * required)
    return best + (assignment.transfers - paid)


def _moments(step: LossStep) -> tuple[float, float]:
    mean = step.shift + math.fsum(term.coefficient * term.law.moments().mean for term in step.terms)
    return mean, math.fsum(term.coefficient**2 * term.law.moments().variance for term in step.terms)
