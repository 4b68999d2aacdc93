"""A small instance that every exact method under scenarios can prove, and whether they agree.

The mathematical program solved by HiGHS and the dedicated search share tables of costs and gains, and no
step of their proofs. The instance is the paper's AlexNet with a deadline, shortened: target 15 in 9 epochs.
"""

import math
from collections.abc import Callable, Sequence

from depl.benchmarks.figures.comparison import AGREEMENT, Entry, entry_of
from depl.instances.library import load
from depl.models.problem.instance import Instance
from depl.models.solving.result import Solution

METHODS = ("milp", "scenario-search")
"""The exact methods that count scenarios."""

SCENARIOS = 100


def short_alexnet() -> Instance:
    """The paper's AlexNet with a deadline, at target 15 within 9 epochs."""
    family = load("paper-alexnet-deadline", "13")
    return family.replace(name="paper-alexnet-deadline, short", maximum_loss=15.0, maximum_epochs=9)


def solve_by_all(time_limit: float = 60.0, done: Callable[[Entry], None] = lambda entry: None) -> list[Entry]:
    """The short instance by all methods, on the same sample."""
    entries = []
    for method in METHODS:
        entries.append(entry_of("15", short_alexnet(), method, time_limit, SCENARIOS))
        done(entries[-1])
    return entries


def methods_agree(entries: Sequence[Entry]) -> bool:
    """Whether all entries are proved cheapest, at costs that are equal to 1e-9."""
    results = [entry.result for entry in entries]
    proved = [r.cost for r in results if r is not None and r.solution is Solution.PROVEN_OPTIMAL]
    costs = [cost for cost in proved if cost is not None]
    if len(costs) < max(len(entries), 2):
        return False
    return all(math.isclose(cost, costs[0], rel_tol=AGREEMENT) for cost in costs)
