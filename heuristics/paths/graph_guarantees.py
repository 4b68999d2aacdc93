r"""What is true of the expanded graph in place of Properties 2 and 3: a bicriteria inequality (E10).

Let OPT(T, L) be the least weight of a path of at most K epochs with time <= T and loss <= L, K = K_max,
h = l(0) / eta, and let the graph have no cap on losses (with the cap j <= eta it fails where a path rises
above l(0), E11). Then

    OPT(T, L)                         <=  cost_up(eta)   <=  OPT(T (1 - K / eta), L - K h),
    OPT(T (1 + K / eta), L + K h)     <=  cost_down(eta) <=  OPT(T, L).

Proof. A step of k levels, rounded up, is ceil(k) with k <= ceil(k) < k + 1. Summed over at most K steps,
the time in the graph exceeds the true one by 0 to K T / eta, and the loss by 0 to K h; l(0) itself is on the
grid. (1) What the graph calls within (T, L) is so in truth, hence OPT <= cost_up. (2) A path within
T - K T / eta and L - K h is within (T, L) in the graph, so it is one of the graph's paths. Rounding down
turns both signs. The target needs no rounding of its own: a whole number of levels is at most L iff it is at
most the floor of L.

So eta = K / delta is enough for a graph that errs by at most the share delta of T and of l(0) in its
*budgets*: 1 % needs eta = 100 K. How much *costlier* budgets tighter by 1 % are depends on the instance,
without bound (`almost_one_level` of `depl.instances.counterexamples`); cost_up over cost_down bounds the
ratio of this instance.
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
