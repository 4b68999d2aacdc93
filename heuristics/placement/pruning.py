r"""Parametric pruning: at most (2 + delta) times the optimum, whatever the classes (no transfers).

An epoch of a placement that costs at most C takes kappa x <= C. So with capacities min(r_n, C / kappa_n) the
relaxation's bound LB(C) is at most the optimum OPT for every C >= OPT; LB(OPT) <= OPT. LB(C) falls in C
(infinite where the cut problem is infeasible). If LB(C) > C, then OPT > C: **C is a lower bound**. Bisection
finds lower < upper <= (1 + delta / 2) lower with LB(lower) > lower and LB(upper) <= upper. Rounding the cut
problem at ``upper`` costs at most LB(upper) and one epoch of it, which costs at most ``upper`` by the cut:

    cost <= 2 upper <= (2 + delta) lower < (2 + delta) OPT.

The plain bound and one epoch is usually far better; this holds even if one epoch is costlier than all of OPT.
"""

import math
from dataclasses import dataclass

import numpy as np

from depl.heuristics.placement.dual import best_price
from depl.heuristics.placement.problem import Assignment, PlacementProblem
from depl.heuristics.placement.rounding import candidates
from depl.models.foundation.errors import InvalidInputError

_HALVINGS = 200
"""Steps of the search for the least value that is attained. Sixty bring two ends of any ratio that occurs to
the rounding of doubles. Set by hand: more are for a lower end of 0, where each divides the upper one by 16,
and for an accuracy below rounding."""


@dataclass(frozen=True, eq=False)
class Pruned:
    """What parametric pruning proves.

    Attributes
    ----------
    assignment : ndarray of int or None
        None if the problem is infeasible.
    cost : float
        With its transfers and exact resources [cost].
    lower_bound : float
        No placement costs less [cost].
    largest_epoch : float
        The cost that no single epoch exceeds: twice this bounds the cost without transfers [cost].
    accuracy : float
        delta: what the paper's epsilon becomes (E9).
    """

    assignment: Assignment | None
    cost: float
    lower_bound: float
    largest_epoch: float
    accuracy: float


def pruned(problem: PlacementProblem, accuracy: float = 0.1) -> Pruned:
    """The placement of cost at most (2 + accuracy) times the optimum without transfers.

    Parameters
    ----------
    accuracy : float
        delta > 0.

    Raises
    ------
    InvalidInputError
        If ``accuracy`` is not positive.
    """
    if not accuracy > 0:
        raise InvalidInputError(f"must be positive, not {accuracy}", "accuracy")
    plain = best_price(problem)
    if not plain.feasible:
        return Pruned(None, math.inf, math.inf, math.inf, accuracy)
    first, price = _best(problem, candidates(problem, plain))
    lower, upper = max(plain.value, 0.0), max(price, plain.value)
    if not _attained(problem, lower):
        for _ in range(_HALVINGS):
            if upper <= lower * (1 + accuracy / 2):
                break
            middle = math.sqrt(lower * upper) if lower > 0 else upper / 16
            if _attained(problem, middle):
                upper = middle
            else:
                lower = middle
    else:
        upper = lower
    cut = cut_capacities(problem, upper) if upper > 0 else problem
    dual = best_price(cut)
    found = candidates(cut, dual) if dual.feasible else []
    best, _ = _best(problem, [first, *found])
    return Pruned(best, float(problem.evaluate([best]).costs[0]), lower, upper, accuracy)


def cut_capacities(problem: PlacementProblem, largest_epoch: float) -> PlacementProblem:
    """The problem in which no epoch may cost more than ``largest_epoch``."""
    price = np.where(problem.price > 0, problem.price, 1.0)
    most = np.where(problem.price > 0, largest_epoch / price, math.inf)
    return problem.replace(capacity=np.minimum(problem.capacity, most))


def _attained(problem: PlacementProblem, value: float) -> bool:
    """Whether LB(C) <= C."""
    if value <= 0:
        return False
    return best_price(cut_capacities(problem, value)).value <= value


def _best(problem: PlacementProblem, assignments: list[Assignment]) -> tuple[Assignment, float]:
    costs = problem.evaluate(assignments).costs - np.array(
        [problem.transfers[item.any(axis=0)].sum() for item in assignments]
    )
    index = int(np.argmin(costs))
    return assignments[index], float(costs[index])
