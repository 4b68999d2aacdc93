"""What the answers of the label setting are held against."""

import math

import numpy as np
import pytest

from depl.benchmarks.studies.helpers.path_peers import arc_flow_optimum
from depl.benchmarks.studies.helpers.path_problems import FAMILIES, family_problem
from depl.models.solving.result import Termination
from tests.cases.additive_cases import brute_force, random_problem


def small_problem(seed):
    """At most 6 epochs and 3 models: of the families, or with forbidden steps; many are infeasible."""
    rng = np.random.default_rng(seed)
    epochs, models = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    kind = seed % (len(FAMILIES) + 2)
    if kind < len(FAMILIES):
        return family_problem(rng, list(FAMILIES)[kind], epochs, models, tight=True)
    return random_problem(rng, epochs, models, timed=kind == len(FAMILIES))


def require_agreement(problem, outcome, best):
    """The answer is proved, checked on exact data, and the known optimum."""
    if math.isinf(best):
        assert outcome.termination is Termination.INFEASIBLE
        assert outcome.path is None
        assert outcome.lower_bound == math.inf
        assert outcome.reason
        return
    assert outcome.termination is Termination.OPTIMAL
    assert problem.feasible(outcome.path.models)
    assert problem.totals(outcome.path.models) == (outcome.path.weight, outcome.path.time, outcome.path.loss)
    assert outcome.weight == pytest.approx(best, rel=1e-9, abs=0)
    assert best * (1 - 1e-9) <= outcome.lower_bound <= outcome.weight


def best_of_all(problem):
    """The optimum by enumeration, and the same by the arc-flow program."""
    best = brute_force(problem)
    answer = arc_flow_optimum(problem)
    assert answer.proved
    assert answer.weight == pytest.approx(best, rel=1e-7)
    return best
