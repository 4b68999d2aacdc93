"""Methods side by side: every target and method once, refusals kept, ratios over certified bounds only."""

from dataclasses import replace

import pytest

from depl.benchmarks.figures.comparison import (
    SAMPLED_METHODS,
    Entry,
    compare,
    lower_bound,
    methods_agree,
    optimum,
    solve_by_all,
    targets_of,
)
from depl.instances.library import load
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.solving.methods import register
from depl.models.solving.result import Outcome, Result, Solution, Termination
from tests.problems import plan


def slow_epochs(instance, limits):
    """22 - l_max epochs: feasible at all targets of paper-alexnet; claims 3 as a lower bound."""
    count = round(22 - instance.target.maximum_loss)
    steady = plan(*[("slow-steady", "A")] * count, data=("training-data",))
    return Outcome(Termination.EXHAUSTED, steady, 3.0)


def refuses(instance, limits):
    """Covers nothing."""
    raise NotCoveredError("covers nothing")


@pytest.fixture(autouse=True)
def both_methods(own_methods):
    """Registered for one test alone: what an import registers meets every test of the worker."""
    register("test-slow", slow_epochs)
    register("test-refuses", refuses)


def test_every_target_and_method_has_an_entry_in_order_and_the_best_bound_of_a_target_counts():
    seen = []
    entries = compare("paper-alexnet", ["test-slow", "test-refuses"], done=seen.append)
    assert seen == entries
    assert [(entry.target, entry.method) for entry in entries] == [
        (target, method) for target in ("5", "7", "9", "11", "13") for method in ("test-slow", "test-refuses")
    ]
    first, second = entries[:2]
    assert first.cost == 17
    assert first.epochs_by_model == {"fast-unsteady": 0, "intermediate": 0, "slow-steady": 17}
    assert (second.cost, second.plan, second.refusal) == (None, None, "covers nothing")
    assert set(second.epochs_by_model.values()) == {0}
    assert lower_bound(entries, "5") == 3
    assert lower_bound([Entry("5", load("paper-alexnet", 5), "none", None)], "5") == float("-inf")
    for family in ("tiny", "nowhere"):
        with pytest.raises(InvalidInputError, match="no shipped family"):
            targets_of(family)


def proved(target, cost, solution=Solution.PROVEN_OPTIMAL):
    """An entry of which only what is proved matters."""
    result = Result(Termination.OPTIMAL, None, cost, solution=solution, method="some", cost=cost)
    return Entry(target, load("paper-alexnet", 5), "some", result)


def test_an_optimum_is_the_cost_of_a_proof_and_of_nothing_else():
    assert optimum([proved("5", 17.0)], "5") == 17
    assert optimum([proved("5", 17.0)], "7") is None
    assert optimum([proved("5", 16.0, Solution.FEASIBLE), proved("5", 17.0)], "5") == 17
    assert optimum([proved("5", 16.0, Solution.FEASIBLE)], "5") is None


def test_the_exact_methods_prove_the_same_cost_on_the_short_instance():
    told = []
    entries = solve_by_all(done=told.append)
    assert told == entries
    assert tuple(entry.method for entry in entries) == SAMPLED_METHODS
    assert methods_agree(entries)
    costlier = replace(entries[0].result, cost=entries[0].result.cost * (1 + 1e-6))
    assert not methods_agree([replace(entries[0], result=costlier), *entries[1:]])
    assert not methods_agree([replace(entries[0], result=None), *entries[1:]])
    assert not methods_agree(entries[:1])
