"""Method `exact` and the enumeration of all plans prove the same."""

import math

import pytest

import depl
from depl.models.solving.result import Termination
from tests.cases.law_search_cases import AWKWARD, drawn, require_agreement
from tests.oracles.brute_force import cheapest_by_brute_force

TINY = depl.load("tiny")


def test_exact_agrees_with_all_plans_enumerated():
    instances = drawn(6, (2, 3))
    endings = [require_agreement(instance) for instance in instances]
    assert endings.count(Termination.OPTIMAL) >= 4
    assert {len(item.clusters) for item in instances} == {1, 2}
    assert {len(item.datasets) for item in instances} == {1, 2}
    assert any(item.target.initial_model is not None for item in instances)
    assert any(item.target.round_deadline is not None for item in instances)


@pytest.mark.parametrize("count", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_exact_agrees_where_few_epochs_are_left_or_none_suffice(count):
    endings = []
    for instance in drawn(count, (2, 3)):
        fall = instance.target.initial_loss - instance.target.maximum_loss
        endings.append(require_agreement(instance.replace(maximum_loss=instance.target.maximum_loss - fall)))
    assert Termination.INFEASIBLE in endings


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_exact_agrees_with_all_plans_enumerated_on_500_instances(part):
    for instance in drawn(500, (2, 6))[part::10]:
        require_agreement(instance)


@pytest.mark.parametrize("name", AWKWARD)
def test_exact_agrees_where_the_laws_are_awkward(name):
    for level in (0.6, 0.95):
        require_agreement(AWKWARD[name].replace(quantile_level=level, maximum_epochs=3))


def test_exact_agrees_with_plans_written_out_by_code_that_shares_nothing_with_it():
    """Costs by bisection, probabilities by the independent verifier."""
    for instance in (TINY, *drawn(3, (2, 2))):
        met, possible = cheapest_by_brute_force(instance)
        found = depl.solve(instance, "exact")
        cost = math.inf if found.cost is None else found.cost
        assert possible * (1 - 1e-8) <= cost <= met * (1 + 1e-8) or cost == met
