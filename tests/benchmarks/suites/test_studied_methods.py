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
from depl.benchmarks.report.predicates import Ruling
from depl.benchmarks.report.verdicts import judged
from depl.benchmarks.suites.annealing import ANNEALING
from depl.benchmarks.suites.stage_orders import ONE_PASS, ORDERS
from depl.instances.generator import random_instances

SMALL = random_instances(np.random.default_rng(7), 2, clusters=(2, 3), datasets=(2, 3), maximum_epochs=(3, 5))


def test_no_claim_that_the_committed_results_measure_is_left_without_a_measurement():
    attempts = [item for path in sorted((RESULTS / "attempts").iterdir()) for item in read_attempts(path)]
    verdicts = judged(CLAIMS, evidence_of(attempts, [read(path) for path in sorted(RESULTS.glob("*.json"))]))
    assert len(verdicts) == 33
    assert not [item.claim.key for item in verdicts if item.ruling is Ruling.UNMEASURED]
    assert not [item.claim.key for item in verdicts if not all(found.cases for _, found in item.found)]


@pytest.mark.parametrize("instance", SMALL, ids=lambda item: item.name)
def test_annealing_finds_the_optimum_and_no_order_of_the_stages_costs_less(instance):
    best, annealed = (depl.solve(instance, method) for method in ("exact", ANNEALING))
    assert best.solution is depl.Solution.PROVEN_OPTIMAL
    assert (annealed.method, annealed.cost) == ("annealing", pytest.approx(best.cost))
    for order in ORDERS:
        found = tried(instance, ONE_PASS, options={"order": order})
        assert (found.method, found.ending, found.proved) == ("one-pass", "exhausted", False)
        assert found.cost is None or found.cost >= best.lower_bound * (1 - 1e-9)


def test_the_orders_are_all_six_and_nobody_else_may_ask_for_them():
    assert {tuple(order.split("-")) for order in ORDERS} == set(
        itertools.permutations(("data", "models", "resources"))
    )
    for method in (ANNEALING, ONE_PASS):
        with pytest.raises(depl.InvalidInputError, match="was removed"):
            depl.solve(depl.load("tiny"), method.name)
