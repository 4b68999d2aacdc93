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
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.epochs import gain_moments, switch_moments
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
        gains = gain_moments(instance, problem.epochs, problem.subsets)
        switches = np.tile(switch_moments(instance)[:, None], (1, problem.epochs, 1, 1))
        return cls(*gains, *switches)


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
