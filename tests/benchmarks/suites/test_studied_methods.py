"""What claims are judged with and no method of depl is: simulated annealing, and six orders of the stages."""

import itertools

import numpy as np
import pytest

import depl
from depl.benchmarks.measure.outcome import tried
from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.measure.store import read_attempts
from depl.benchmarks.report.claims import CLAIMS
from depl.benchmarks.report.evidence import evidence_of
from depl.benchmarks.report.verdicts import Ruling, judged
from depl.benchmarks.suites.annealing import ANNEALING
from depl.benchmarks.suites.stage_orders import ONE_PASS, ORDERS
from depl.instances.generator import random_instances
from tests.problems import instance, model, site

SMALL = random_instances(np.random.default_rng(7), 2, clusters=(2, 3), datasets=(2, 3), maximum_epochs=(3, 5))


def test_no_claim_that_the_committed_results_measure_is_left_without_a_measurement() -> None:
    attempts = [item for path in sorted((RESULTS / "attempts").iterdir()) for item in read_attempts(path)]
    verdicts = judged(CLAIMS, evidence_of(attempts, [read(path) for path in sorted(RESULTS.glob("*.json"))]))
    assert len(verdicts) == 33
    assert not [item.claim.key for item in verdicts if item.ruling is Ruling.UNMEASURED]
    assert not [item.claim.key for item in verdicts if not all(found.cases for _, found in item.found)]


def knapsack(values: list[float], weights: list[float], least: float) -> depl.Instance:
    """Epochs of item i cost weights[i] (x = weight within the deadline 1) and lower the loss by values[i]."""
    items = enumerate(zip(values, weights, strict=True))
    return instance(
        *(model(f"item-{i}", value, demand=weight, size=0) for i, (value, weight) in items),
        clusters=site(capacity=100, bandwidth=1, unit_cost=1),
        datasets={"data": 1},
        initial_loss=least,
        maximum_loss=0,
        quantile_level=0.5,
        maximum_epochs=6,
        round_deadline=1,
    )


def least_weight(values: list[float], weights: list[float], least: float) -> float:
    """Cheapest multiset of at most six items that covers ``least``, by listing all."""
    return min(
        sum(weights[i] for i in chosen)
        for size in range(7)
        for chosen in itertools.combinations_with_replacement(range(len(values)), size)
        if sum(values[i] for i in chosen) >= least
    )


@pytest.mark.parametrize("seed", [1])
def test_annealing_finds_the_optimum_of_small_covering_knapsacks(seed: int) -> None:
    rng = np.random.default_rng([41, seed])
    values, weights = rng.integers(1, 9, 4).astype(float), rng.integers(1, 9, 4).astype(float)
    least = float(rng.integers(8, 1 + 6 * int(values.max())))
    found = depl.solve(knapsack(values.tolist(), weights.tolist(), least), ANNEALING)
    assert found.cost == pytest.approx(least_weight(values.tolist(), weights.tolist(), least))
    assert found.method == "annealing"


@pytest.mark.parametrize("instance", SMALL, ids=lambda item: item.name)
def test_what_they_plan_costs_no_less_than_the_optimum(instance: depl.Instance) -> None:
    best = depl.solve(instance, "exact")
    for order in ORDERS:
        found = tried(instance, ONE_PASS, options={"order": order})
        assert (found.method, found.ending, found.proved) == ("one-pass", "exhausted", False)
        assert found.cost is None or found.cost >= best.lower_bound * (1 - 1e-9)


def test_the_orders_are_all_six_and_nobody_else_may_ask_for_them() -> None:
    assert {tuple(order.split("-")) for order in ORDERS} == set(
        itertools.permutations(("data", "models", "resources"))
    )
    for method in (ANNEALING, ONE_PASS):
        with pytest.raises(depl.InvalidInputError, match="was removed"):
            depl.solve(depl.load("tiny"), method.name)
