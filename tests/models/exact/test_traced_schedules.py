"""All schedules of a traced law with their cheapest costs: against all sequences of epochs, written out."""

import itertools
import math

import numpy as np
import pytest

from depl.models.exact.traced_schedules import all_candidates
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.laws import Forbidden
from tests.cases.memory_cases import (
    cheapest_cost,
    every_schedule,
    instance_of,
    random_law,
    with_tables,
)
from tests.cases.memory_search_cases import LIMITS
from tests.cases.observed_run_cases import observed_cases, rest_of
from tests.oracles.traced_law import Oracle
from tests.problems import switches


def listed(instance, allowed=10_000):
    return all_candidates(instance, instance.traced_law.law, allowed)


def schedules(candidates):
    return [candidates.schedule(node) for node in range(len(candidates.nodes))]


def drawn(seed, **target):
    rng = np.random.default_rng(3000 + seed)
    instance = instance_of(random_law(rng), **{"maximum_epochs": 4, **LIMITS[seed % 4], **target})
    return with_tables(instance, rng) if seed % 3 == 0 else instance


@pytest.fixture(scope="module")
def instances():
    return [drawn(seed) for seed in range(24)]


def test_the_schedules_are_those_inside_the_support_that_keep_the_time_limits(
    instances,
):
    """What begins outside the support never comes back inside, so it is dropped with all that begins so."""
    slow = mixed = returned = 0
    for instance in instances:
        oracle = Oracle(instance.traced_law)
        inside = [schedule for schedule in every_schedule(instance) if oracle.supported(schedule)]
        assert all(len(schedule) == 1 or schedule[:-1] in inside for schedule in inside)
        wanted = [schedule for schedule in inside if math.isfinite(cheapest_cost(instance, schedule))]
        found = schedules(listed(instance))
        assert sorted(found) == sorted(wanted)
        slow += len(inside) > len(wanted) > 0
        mixed += any(len(set(schedule)) > 1 for schedule in wanted)
        returned += any(s[0] == s[-1] != s[1] for s in found if len(s) > 2)  # a model is left and returned to
    assert slow >= 5
    assert mixed >= 10
    assert returned > 0


def test_more_schedules_than_allowed_are_refused_and_as_many_are_not():
    instance = drawn(4)
    count = len(listed(instance).nodes)
    assert count > 3
    assert len(listed(instance, count).nodes) == count
    for allowed in (count - 1, 1, 0):
        with pytest.raises(NotCoveredError, match=f"more than {allowed} schedules; lower maximum_epochs"):
            listed(instance, allowed)


def test_the_rest_of_a_run_under_way_goes_on_with_what_was_trained_before():
    """By the statement of the support; what only whole runs promise is listed with all that begins so."""
    begun = within = several = 0
    for document, oracle, promised in observed_cases(12):
        candidates = listed(rest_of(document, maximum_time=1e3))
        found, past = schedules(candidates), document.trained_before
        assert [candidates.epochs(node) for node in range(len(found))] == list(map(len, found))
        several += len(set(past)) > 1
        assert set(promised) <= set(found)
        assert all(oracle.inside(ahead) for ahead in found)
        assert not oracle.margin or len(found) == len(promised)
        begun += bool(past) and bool(promised)
        within += any(ahead[:1] == past[-1:] for ahead in promised)
    assert min(begun, within, several) >= 4, (begun, within, several)


def test_a_switch_that_is_forbidden_is_in_no_schedule(instances):
    pair = "full", "cut"
    for instance in instances:
        for schedule in schedules(listed(instance.replace(switches=switches({pair: Forbidden()})))):
            assert pair not in itertools.pairwise(name for name, _ in schedule)
