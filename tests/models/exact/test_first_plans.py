"""Charges by a price of gain exclude no plan that the cutoff allows."""

import math

import numpy as np

from depl.models.exact import counted
from depl.models.exact.assignments import assignments
from depl.models.exact.clusters import cheapest_clusters
from depl.models.exact.counted import CountedSubproblem
from depl.models.exact.prices import Prices
from tests.oracles.search import kinds_of, tiny_problems


def test_no_plan_below_the_cutoff_is_charged_too_much(monkeypatch):
    """Every plan that meets the target keeps every limit of a subproblem with its own cost as the cutoff."""
    monkeypatch.setattr(counted, "LONG", 1)
    charged = 0
    for problem in tiny_problems(33, 12):
        prices = Prices.of(problem)
        for assignment in assignments(problem):
            for sequence in kinds_of(problem, assignment, 2):
                plan = cheapest_clusters(problem, prices, assignment, sequence, 0.0, math.inf, lambda: True)
                if plan is None or problem.misses(plan.choices) > problem.allowed:
                    continue
                if problem.transfers(plan.choices) != assignment.transfers:  # a plan of another assignment
                    continue
                cutoff = plan.cost * (1 + 1e-9)
                part = CountedSubproblem(
                    problem, prices, assignment, 2, (plan.multiplier,), cutoff, np.arange(problem.size)
                )
                charges = part._charges
                spent = sum(charges.values[:, k, kind] for k, kind in enumerate(sequence))
                assert np.all(spent <= charges.limits + 1e-9 * cutoff)
                assert not part.finished
                charged += part._priced is not None
    assert charged > 20
