"""The tables of the sampled problem agree with plans, losses and evaluations made from single pieces."""

import numpy as np
import pytest

from depl.instances.generator import random_instances, random_plan
from depl.models.evaluation.evaluate import epoch_loads, evaluate
from depl.models.exact.choices import Choices, Configuration
from depl.models.exact.sampled import SampledProblem
from depl.models.foundation.tolerances import ATOM_TOLERANCE
from depl.models.problem.instance import Dataset, Model
from depl.models.problem.laws import Deterministic
from depl.models.problem.learning import (
    ConstantImprovement,
    SubsetEpochs,
    TableDataLaw,
    TabledImprovement,
)
from depl.models.scenarios.draws import count_misses, draw_scenarios, given_scenarios, scenario_losses


def choices_of(problem: SampledProblem, plan) -> list[Configuration]:
    clusters = [item.name for item in problem.instance.clusters]
    models = [item.name for item in problem.instance.models]
    return [
        Configuration(clusters.index(e.cluster), plan.datasets(e.cluster), models.index(e.model))
        for e in plan.epochs
    ]


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(6)
    found = []
    for index, instance in enumerate(random_instances(rng, 25, maximum_epochs=(3, 6))):
        decimals = [None, 3][index % 2]
        problem = SampledProblem(instance, draw_scenarios(instance, 40, seed=index, decimals=decimals))
        found.append((problem, random_plan(rng, instance)))
    return found


def test_the_gain_of_a_sequence_is_the_fall_of_the_loss_of_its_plan(pairs):
    for problem, plan in pairs:
        losses = scenario_losses(problem.instance, problem.scenarios, plan)
        gain = problem.gain(choices_of(problem, plan))
        np.testing.assert_allclose(problem.instance.target.initial_loss - gain, losses, rtol=0, atol=1e-12)
        assert problem.misses(choices_of(problem, plan)) == count_misses(problem.instance, losses)


def test_who_gains_exactly_what_is_needed_meets_the_target(bell):
    needed = SampledProblem(bell, draw_scenarios(bell, 1)).needed
    gains = np.repeat([needed, np.nextafter(needed, 0), np.nextafter(needed, 9)], 3).reshape(3, 3, 1)
    problem = SampledProblem(bell, given_scenarios(bell, gains))
    assert problem.misses([Configuration(0, frozenset(["data"]), 0)]) == 1


def test_loads_are_those_of_the_plan(pairs):
    for problem, plan in pairs:
        places = [problem.configurations.index(g) for g in choices_of(problem, plan)]
        assert [problem.loads[k][g] for k, g in enumerate(places)] == epoch_loads(problem.instance, plan)


def test_the_plan_of_a_sequence_costs_its_allocation_and_transfers(pairs):
    compared = 0
    for problem, plan in pairs:
        chosen = choices_of(problem, plan)
        allocation = problem.allocation(chosen)
        if not allocation.feasible:
            continue
        made = problem.plan(chosen)
        assert choices_of(problem, made) == chosen
        found = evaluate(problem.instance, made, quantile=False)
        assert found.cost == pytest.approx(allocation.cost + problem.transfers(chosen), rel=1e-12)
        assert all(item.satisfied for item in found.constraints if item.equation != "(3)")
        compared += 1
    assert compared >= 8


def test_a_gain_that_falls_short_by_the_atom_tolerance_meets_the_target(bell):
    gains = [4.0, 4.0 - 0.9 * ATOM_TOLERANCE, 4.0 - 1.1 * ATOM_TOLERANCE]
    scenarios = given_scenarios(bell, np.array(gains)[:, None, None] * np.array([1.0, 0, 0])[None, :, None])
    problem = SampledProblem(bell, scenarios)
    assert problem.misses([problem.configurations[0]]) == 1


def test_sets_of_data_are_alike_only_if_all_models_learn_the_same_up_to_the_last_epoch(bell):
    """Nothing is learnt before the last epoch, so that the sets of data differ there alone."""
    rule = TabledImprovement(
        epochs=tuple(ConstantImprovement(noise=Deterministic(value=value)) for value in (0.0, 0.0, 1.0))
    )
    needed = {("one",): 3.0, ("two",): 3.0, ("one", "two"): 2.0}
    table = TableDataLaw(
        subsets=tuple(SubsetEpochs(datasets=names, epochs=epochs) for names, epochs in needed.items())
    )
    instance = bell.replace(
        models=(Model(name="net", size=1, demand=2, improvement=rule),),
        datasets=(Dataset(name="one", volume=1), Dataset(name="two", volume=1)),
        transfers=(),
        data_law=table,
        maximum_epochs=3,
    )
    problem = Choices(instance)
    assert problem.subsets == (frozenset({"one"}), frozenset({"two"}), frozenset({"one", "two"}))
    assert problem.first_alike == (0, 0, 2)
