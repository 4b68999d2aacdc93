"""The bound in steps: it rises, no step is above the optimum of any law, and the early ones say something."""

import itertools

import numpy as np
import pytest

import depl
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import Proof
from depl.heuristics.bounds.tilted_learning import TiltedLearning
from depl.heuristics.data import sites
from depl.heuristics.data.sites import DataFactors, has_frontier
from depl.heuristics.depl.labels import Judge
from depl.instances.generator import random_instances
from depl.instances.heterogeneous import heterogeneous_instance_with_plan
from depl.instances.regions import regional_instance_with_plan
from depl.models.problem.epochs import FinalLoss
from depl.models.problem.instance import Instance
from depl.models.problem.learning import PowerDataLaw
from depl.models.solving.methods import Limits, find
from depl.models.solving.result import Termination
from tests.cases.loop_cases import crowded


@pytest.fixture(autouse=True)
def never_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frontier stands for the sites of small instances, too."""
    monkeypatch.setattr(sites, "FEW_LISTED", 0)
    monkeypatch.setattr(sites, "MOST_LISTED", 0)


def proof_of(instance: Instance) -> Proof:
    return Proof.of(instance, Learning.of(instance), DataFactors(instance))


def relaxed(seed: int, count: int, most: int) -> list[Instance]:
    """Random instances of all laws that a frontier and the tilt cover, and that take an epoch."""
    rng = np.random.default_rng([22, seed])
    sizes = {"models": (1, 3), "clusters": (1, 2), "datasets": (2, 3), "maximum_epochs": (2, most)}
    found = []
    for instance in random_instances(rng, count, **sizes):
        met = Judge(instance).met(FinalLoss(instance.target.initial_loss, ()))
        if not met and has_frontier(instance) and TiltedLearning.covers(instance, Learning.of(instance)):
            found.append(instance)
    return found


@pytest.mark.parametrize(
    ("count", "most", "steps"), [(5, 3, 8), pytest.param(60, 5, 40, marks=pytest.mark.slow)]
)
def test_no_step_is_above_the_optimum(count: int, most: int, steps: int) -> None:
    seen = above_zero = 0
    for instance in relaxed(1, count, most):
        proven = find("enumerate").run(instance, Limits())
        if proven.termination is not Termination.OPTIMAL or not proven.lower_bound:
            continue
        proof, values = proof_of(instance), list[float]()
        if proof.obstacle():
            continue
        for number, found in enumerate(proof.steps(lambda: False)):
            assert not found.infeasible
            values.append(found.value)
            if number == steps:
                break
        assert max(values) <= proven.lower_bound * (1 + 1e-9)
        assert values == sorted(values)
        seen += 1
        above_zero += values[-1] > 0
    assert seen > 2
    assert above_zero > 1


@pytest.mark.parametrize("expected", [0.3, 4.0])
def test_a_wrong_guess_of_the_cost_proves_nothing_wrong(expected: float) -> None:
    instance = crowded(
        np.random.default_rng([16, 5, 1]), PowerDataLaw(p=0.5), datasets=6, clusters=2, epochs=6
    )
    cost = depl.solve(instance, "density-greedy").cost
    proof = proof_of(instance)
    values = [found.value for found in itertools.islice(proof.steps(lambda: False, expected * cost), 25)]
    assert values == sorted(values)
    assert 0 < values[-1] <= cost


SMALL = {"clusters": 5, "datasets": 6, "models": 2, "maximum_epochs": 20}
LARGE = {"clusters": 8, "datasets": 9, "models": 3, "maximum_epochs": 60}


LARGER = [
    pytest.param(draw, LARGE, marks=pytest.mark.slow)
    for draw in (heterogeneous_instance_with_plan, regional_instance_with_plan)
]


@pytest.mark.parametrize(("drawn", "sizes"), [(heterogeneous_instance_with_plan, SMALL), *LARGER])
def test_the_first_steps_say_something_and_later_ones_more(drawn, sizes: dict[str, int]) -> None:
    instance, plan = drawn(np.random.default_rng(5), **sizes)
    cost = depl.evaluate(instance, plan).cost
    proof = proof_of(instance)
    assert proof.outlook is not None
    values = [found.value for found in itertools.islice(proof.steps(lambda: False), 30)]
    assert 0 < 1.01 * values[0] < values[-1] <= cost
    assert values[10] > 0.5 * values[-1]


def test_what_is_at_hand_counts_when_time_is_over() -> None:
    instance, _ = heterogeneous_instance_with_plan(np.random.default_rng(5), **SMALL)
    proof, looks = proof_of(instance), itertools.count()
    everything = list(itertools.islice(proof.steps(lambda: False), 8))
    assert [found.value for found in proof.steps(lambda: True)] == [0.0]
    stopped = list(proof_of(instance).steps(lambda: next(looks) > 200))
    assert stopped[-1].value <= everything[-1].value * (1 + 1e-9)
