"""What is true of the expanded graph in place of Properties 2 and 3: a bicriteria inequality (E10).

cost_up(eta) lies between the least weights within the budgets and within smaller ones, cost_down(eta) between
those within greater budgets and the budgets, where the graph has no cap on losses. Statement and proof stand
on the page "Model selection" (``model-selection``), under "The bicriteria inequality". How much *costlier*
tighter budgets are is up to the instance, without bound; cost_up over cost_down bounds the ratio of this one.
"""

import math
from dataclasses import dataclass

from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.paths.layered import cost_down, cost_up


@dataclass(frozen=True)
class CostInterval:
    """Bounds of the least weight of a path problem; ``upper`` is infinite if the graph has no path."""

    lower: float
    upper: float

    @property
    def ratio(self) -> float:
        """What the cost of the graph's path is at most, over the optimum."""
        if self.lower == self.upper:
            return 1.0
        return self.upper / self.lower if self.lower > 0 else math.inf


def tightened(problem: AdditiveProblem, levels: int) -> AdditiveProblem:
    """The problem with budgets T (1 - K / eta) and L - K h, whose optimum is at least cost_up."""
    return _shifted(problem, levels, -1)


def relaxed(problem: AdditiveProblem, levels: int) -> AdditiveProblem:
    """The problem with budgets T (1 + K / eta) and L + K h, whose optimum is at most cost_down."""
    return _shifted(problem, levels, 1)


def certified_cost(problem: AdditiveProblem, levels: int) -> CostInterval:
    """The optimum between the graph rounded down and the graph rounded up."""
    return CostInterval(cost_down(problem, levels), cost_up(problem, levels))


def _shifted(problem: AdditiveProblem, levels: int, sign: int) -> AdditiveProblem:
    share = sign * problem.epochs / levels
    time = problem.maximum_time
    return problem.within(
        time if math.isinf(time) else time * (1 + share), problem.maximum_loss + share * problem.initial_loss
    )
