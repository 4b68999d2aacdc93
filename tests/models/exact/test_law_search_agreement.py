"""Method `exact` and the enumeration of all plans prove the same."""

import math

import pytest

import depl
from depl.models.solving.result import Termination
from tests.cases.law_search_cases import AWKWARD, drawn, require_agreement
from tests.oracles.brute_force import cheapest_by_brute_force

TINY = depl.load("tiny")


@pytest.mark.parametrize("count", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_exact_agrees_with_all_plans_enumerated(count):
    instances = drawn(count, (2, 3))
    endings = [require_agreement(instance) for instance in instances]
    assert endings.count(Termination.OPTIMAL) >= 2 * count / 3
    assert {len(item.clusters) for item in instances} == {1, 2}
    assert {len(item.datasets) for item in instances} == {1, 2}
    assert any(item.target.initial_model is not None for item in instances)
    assert any(item.target.round_deadline is not None for item in instances)


@pytest.mark.parametrize("count", [3, *(pytest.param(more, marks=pytest.mark.slow) for more in (5, 10))])
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


def every_law_at_two_levels():
    """By default each law at one of the levels, in turn; slowly at the other, too."""
    for place, name in enumerate(AWKWARD):
        yield name, (0.6, 0.95)[place % 2]
        yield pytest.param(name, (0.95, 0.6)[place % 2], marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "level"), list(every_law_at_two_levels()))
def test_exact_agrees_where_the_laws_are_awkward(name, level):
    require_agreement(AWKWARD[name].replace(quantile_level=level, maximum_epochs=3))


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_exact_agrees_with_plans_written_out_by_code_that_shares_nothing_with_it(count):
    """Costs by bisection, probabilities by the independent verifier."""
    for instance in (TINY, *drawn(count, (2, 2))):
        met, possible = cheapest_by_brute_force(instance)
        found = depl.solve(instance, "exact")
        cost = math.inf if found.cost is None else found.cost
        assert possible * (1 - 1e-8) <= cost <= met * (1 + 1e-8) or cost == met
