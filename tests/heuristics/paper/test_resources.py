"""Stage 3 of the paper: the program of service embedding against the relaxation, rounding, no repair."""

import itertools
import math

import numpy as np
import pytest

from depl.benchmarks.suites.random_placements import random_placement
from depl.heuristics.paper import resources as module
from depl.heuristics.paper.resources import EmbeddingProgram, place_by_embedding
from depl.heuristics.placement.program import PerspectiveProgram
from depl.models.foundation.errors import InvalidInputError
from tests.cases.placement_cases import split_pair


def drawn(seed, transfers=False):
    rng = np.random.default_rng([seed, 19])
    return random_placement(rng, 2, 3, int(rng.integers(2, 7)), transfers=transfers, deadline=seed % 3 == 0)


def cheapest_embedding(problem):
    """Every model on every cluster, one by one."""
    names = list(dict.fromkeys(problem.classes[g] for g in np.flatnonzero(problem.counts)))
    found = []
    for servers in itertools.product(range(len(problem.clusters)), repeat=len(names)):
        assignment = np.zeros(problem.dimensions, dtype=np.int64)
        for g in np.flatnonzero(problem.counts).tolist():
            assignment[g, servers[names.index(problem.classes[g])]] = problem.counts[g]
        found.append(assignment)
    return float(problem.evaluate(found).costs.min())


@pytest.mark.parametrize("transfers", [False, True])
def test_the_split_embedding_lies_between_the_relaxation_and_the_best_embedding(transfers):
    """`relaxation` is another program (perspective cuts instead of a grid) whose epochs may be split, too."""
    for seed in range(2):
        problem = drawn(seed, transfers)
        least, most = PerspectiveProgram.of(problem).relax().objective, cheapest_embedding(problem)
        for epsilon in (1.0, 0.1, 0.01):
            shares, cost = EmbeddingProgram.of(problem, epsilon).solve()
            assert least * (1 - 1e-6) <= cost <= (1 + epsilon) * most * (1 + 1e-6)
            assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)))


def test_the_grid_has_one_over_epsilon_requirements():
    """From 2 / 2.2 on slow, all of whose 100 may be used: ln 110 / ln(1 + epsilon) steps."""
    for epsilon in (0.1, 0.01):
        program = EmbeddingProgram.of(split_pair(2.2), epsilon)
        slow = [item.requirement for item in program.hostings if item.server == 0]
        assert max(slow) == 100
        assert min(slow) == pytest.approx(2 / 2.2)
        assert len(slow) == math.ceil(math.log(110) / math.log1p(epsilon)) + 1


def test_a_model_is_hosted_as_a_whole_where_its_largest_share_is():
    """The pair is split 1.4 to 0.6; slow has more of it, and 2 epochs there take x = 4 / 0.2 = 20 at most."""
    problem = split_pair(2.2)
    program = EmbeddingProgram.of(problem, 0.01)
    shares, _ = program.solve()
    assert shares == pytest.approx(np.array([[0.7, 0.3]]), abs=0.02)
    assert program.rounded(shares) == {"net": "slow"}
    placed = place_by_embedding(problem, 0.01)
    assert placed.assignment.tolist() == [[2, 0]]
    assert placed.cost == pytest.approx(4 / 0.2)
    assert placed.split_cost == pytest.approx(12.8, rel=0.01)


def test_what_cannot_be_is_refused_and_a_failing_solver_is_named(monkeypatch):
    for epsilon in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidInputError, match="epsilon"):
            EmbeddingProgram.of(split_pair(2.2), epsilon)

    class Trouble:
        status, message = 4, "trouble"

    monkeypatch.setattr(module, "linprog", lambda *_, **__: Trouble())
    with pytest.raises(RuntimeError, match="HiGHS ended with: trouble"):
        EmbeddingProgram.of(split_pair(2.2), 0.1).solve()


def test_rounded_embeddings_cost_no_less_than_the_best_one_and_may_miss_the_limits():
    late = costlier = equal = 0
    for seed in range(14, 29):
        problem = drawn(seed, transfers=seed % 2 == 1)
        placed = place_by_embedding(problem, 0.01)
        best = cheapest_embedding(problem)
        assert (placed.assignment.sum(axis=1) == problem.counts).all()
        assert placed.cost >= best * (1 - 1e-9)
        assert placed.split_cost <= best * 1.01 * (1 + 1e-6)
        if not placed.feasible:
            late += 1
            assert placed.fastest_time > problem.maximum_time
        else:
            costlier += placed.cost > best * (1 + 1e-6)
            equal += placed.cost <= best * (1 + 1e-6)
    assert late > 0
    assert costlier > 0
    assert equal > len(range(14, 29)) / 2
