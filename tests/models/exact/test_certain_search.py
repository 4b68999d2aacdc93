"""Where nothing is random the exact search needs one scenario: against writing out all plans."""

import math

import numpy as np
import pytest

import depl
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity
from depl.instances.reductions.to_planning import ByCost
from depl.models.exact import law
from depl.models.exact.choices import Choices
from depl.models.exact.law_judge import LawJudge, random_terms
from depl.models.exact.search import UNEXPLAINED
from depl.models.foundation.deadline import OutOfTimeError
from depl.models.problem.instance import ConstantImprovement
from depl.models.problem.laws import Deterministic, Zero
from depl.models.solving.methods import Limits
from depl.models.solving.result import Solution, Termination


def certain(instance, rng):
    """The instance with certain gains, in hundredths."""
    models = tuple(
        model.__class__(
            name=model.name,
            size=model.size,
            demand=model.demand,
            improvement=ConstantImprovement(
                noise=Deterministic(value=round(float(rng.uniform(0.2, 1.5)), 2))
            ),
        )
        for model in instance.models
    )
    return instance.replace(models=models, switches=(), other_switches=Zero())


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_the_enumeration(seed):
    rng = np.random.default_rng(seed)
    tiny = depl.load("tiny")
    asked = tiny.target.initial_loss - round(float(rng.uniform(0.5, 6.0)), 2)
    instance = certain(tiny, rng).replace(maximum_loss=asked, maximum_epochs=4)
    known = depl.solve(instance, "enumerate")
    found = depl.solve(instance, "exact")
    assert not random_terms(Choices(instance))
    assert found.solution is known.solution
    if known.plan is None:
        assert found.termination is Termination.INFEASIBLE
        assert found.reason
    else:
        assert found.cost == pytest.approx(known.cost, rel=1e-9)


def test_a_loss_that_ties_with_its_target_is_met_as_everywhere():
    """0.1 + 0.2 is not 0.3 in doubles, and 0.3 is asked for."""
    tiny = depl.load("tiny")
    rng = np.random.default_rng(0)
    instance = certain(tiny, rng).replace(
        maximum_epochs=3, maximum_loss=round(tiny.target.initial_loss - 0.3, 10)
    )
    models = tuple(
        model.__class__(
            name=model.name, size=model.size, demand=model.demand,
            improvement=ConstantImprovement(noise=Deterministic(value=0.1)),
        )
        for model in instance.models
    )  # fmt: skip
    instance = instance.replace(models=models)
    found = depl.solve(instance, "exact")
    assert found.solution is Solution.PROVEN_OPTIMAL
    assert found.epochs == 3
    assert found.cost == pytest.approx(depl.solve(instance, "enumerate").cost, rel=1e-9)


def test_a_proof_that_there_is_no_plan_outlasts_the_time_for_its_explanation(monkeypatch):
    def late(judge, search):
        raise OutOfTimeError

    instance = certain(depl.load("tiny"), np.random.default_rng(1)).replace(
        maximum_epochs=2, maximum_loss=0.01
    )
    assert law.exact(instance, Limits()).termination is Termination.INFEASIBLE
    monkeypatch.setattr(LawJudge, "why_infeasible", late)
    found = law.exact(instance, Limits())
    assert found.termination is Termination.INFEASIBLE
    assert found.reason == UNEXPLAINED


def test_the_default_proves_a_knapsack_of_a_hundred_and_fifty_items():
    rng = np.random.default_rng(150)
    weights = [int(weight) for weight in rng.integers(1, 1001, 150)]
    items = Knapsack.of(
        values=[int(value) for value in rng.integers(1, 1001, 150)],
        weights=weights,
        capacity=sum(weights) // 2,
    )
    instance = ByCost.reduce(items)
    found = law.exact(instance, Limits())
    assert found.termination is Termination.OPTIMAL
    cost = depl.evaluate(instance, found.plan, quantile=False).cost
    assert ByCost.value_of_cost(items, cost) == best_by_capacity(items).value
    assert not math.isinf(found.lower_bound)
