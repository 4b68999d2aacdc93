"""Additive path problems: models that may not be the last, budgets met with equality, and refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from depl.heuristics.paths.additive_problem import Weight, additive_problem
from depl.models.foundation.tolerances import ATOM_TOLERANCE, TIME_TOLERANCE
from depl.models.problem.instance import ComputeTable
from tests.cases.additive_cases import all_paths, random_problem
from tests.problems import instance, model, refusal, site


@pytest.mark.parametrize("initial_loss", [None, 0.4, 0.0, -3.0])
def test_no_path_that_may_not_be_the_last_meets_the_target_and_the_others_keep_their_label(initial_loss):
    """Below the target from the start, the path without an epoch, too, where it may not be the plan."""
    rng = np.random.default_rng(11)
    for turn in range(12):
        problem = random_problem(rng, 3, 3, timed=False)
        if initial_loss is not None:
            problem = replace(
                problem, initial_loss=initial_loss, maximum_loss=initial_loss + 2 * (turn % 3 - 1)
            )
        may_end, may_stop = rng.random(3) < 0.5, turn % 2 == 0
        ended = problem.ending_with(may_end, may_stop)
        meets = problem.initial_loss <= problem.maximum_loss + ATOM_TOLERANCE
        if not (meets and may_stop):
            assert not ended.feasible(())
        if meets and not may_stop:
            assert ended.initial_loss > problem.initial_loss
        for path in all_paths(problem):
            assert ended.feasible(path) == (problem.feasible(path) and bool(may_end[path[-1]]))
            if may_end[path[-1]]:
                assert ended.totals(path)[2] == pytest.approx(problem.totals(path)[2], rel=1e-12, abs=1e-12)
        assert problem.ending_with(np.ones(3, dtype=bool), True) is problem


def test_budgets_may_be_missed_by_the_tolerances_and_no_more():
    problem = random_problem(np.random.default_rng(3), 2, 2, peaks=False)
    path = all_paths(problem)[-1]
    _, time, loss = problem.totals(path)
    for late, high, fine in ((0, 0, True), (1, 0, False), (0, 1, False)):
        allowed = time / (1 + TIME_TOLERANCE), loss - ATOM_TOLERANCE
        given = allowed[0] * (1 - 1e-12 * (2 * late - 1)), allowed[1] - 1e-12 * (2 * high - 1)
        assert problem.within(*given).feasible(path) is fine
    assert replace(problem, times=0 * problem.times).within(0.0, loss).feasible(path)


def test_arrays_that_are_negative_infinite_or_of_other_shapes_are_refused():
    problem = random_problem(np.random.default_rng(3), 2, 2)
    for name, words in (("weights", "nonnegative"), ("times", "nonnegative"), ("losses", "finite")):
        wrong = getattr(problem, name).copy()
        wrong.flat[0] = math.inf if name == "losses" else -0.1
        assert words in str(refusal(replace, problem, **{name: wrong}))
        assert "fit together" in str(refusal(replace, problem, **{name: wrong[:1]}))


@pytest.mark.parametrize("changed", [{"clusters": site(memory=1.0)}, {"round_deadline": 0.4}])
def test_a_model_that_does_not_fit_or_misses_the_deadline_is_not_trained(changed):
    limits = {"clusters": site(), "round_deadline": 2.5} | changed
    net = instance(model("a", 1, memory=2.0), **limits)
    assert not additive_problem(net, frozenset({"data"}), "site").allowed.any()


def test_what_epochs_weigh_and_how_long_they_take_is_told_by_their_loads():
    """Per node c = 1 and 6 at a capacity of 10; kappa = 2 * 3; s / b = 1 / 2, and the deadline leaves 2.

    In the last epoch there is nothing to compute for the second model.
    """
    work = (ComputeTable(epochs=(12.0, 12.0, 0.0)),)
    models, data = (model("a", 1, 0.5), model("b", 1, compute=work)), frozenset({"data"})
    net = instance(*models, clusters=site(nodes=2), round_deadline=2.5)
    weights = {
        Weight.FULL_RESOURCES: (60, 60),
        Weight.COMPUTE: (6, 36),
        Weight.FULL_RESOURCES_TIME: (36, 66),
        Weight.ROOT: (math.sqrt(6), 6),
        Weight.LEAST_RESOURCES: (3, 18),
    }
    for weight, expected in weights.items():
        problem = additive_problem(net, data, "site", weight=weight)
        assert problem.weights == pytest.approx(np.array([expected, expected, (expected[0], 0)]))
        assert problem.times == pytest.approx(np.array([[0.6, 1.1], [0.6, 1.1], [0.6, 0.5]]))
