"""What a plan may choose, written out, and what is said where that is too much."""

import itertools
import math
import re

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances
from depl.models.exact.assignments import LARGEST_ASSIGNMENTS, count_assignments
from depl.models.exact.choices import MOST_DATASETS, Choices
from depl.models.foundation.errors import NotCoveredError
from depl.models.problem.instance import Dataset, Instance
from tests.cases.site_cases import with_rules

TINY = depl.load("tiny")


def with_datasets(count: int) -> Instance:
    """Tiny with so many datasets, which may be anywhere."""
    return TINY.replace(
        datasets=tuple(Dataset(name=f"d{index}", volume=1) for index in range(count)), transfers=()
    )


@pytest.mark.parametrize("count", [1, 3, 5])
def test_all_nonempty_sets_of_data_are_listed_once_and_small_ones_first(count: int) -> None:
    """The bits of a number are a set: none is left out but that of 0."""
    problem = Choices(with_datasets(count))
    expected = {
        frozenset(f"d{bit}" for bit in range(count) if number >> bit & 1) for number in range(1, 2**count)
    }
    assert set(problem.subsets) == expected
    assert len(problem.subsets) == len(expected)
    assert [len(chosen) for chosen in problem.subsets] == sorted(map(len, problem.subsets))


@pytest.mark.parametrize(("epochs", "more"), [(1, 1), (40, 3)])
def test_more_sets_of_data_than_can_be_listed_are_refused_with_their_number_and_size(
    epochs: int, more: int
) -> None:
    """120 bytes a choice and 300 more in every epoch, to two digits."""
    instance = with_datasets(MOST_DATASETS + more).replace(maximum_epochs=epochs)
    with pytest.raises(NotCoveredError) as caught:
        _ = Choices(instance).subsets
    number, sets = MOST_DATASETS + more, sum(1 for _ in range(1, 1 << (MOST_DATASETS + more)))
    assert f"there are {number}, and their {sets} sets" in str(caught.value)
    (told,) = re.findall(r"about (\S+) GiB", str(caught.value))
    choices = sets * len(instance.clusters) * len(instance.models)
    assert float(told) == pytest.approx((choices * 120 + choices * epochs * 300) / 2**30, rel=0.05)


@pytest.mark.parametrize("count", [64, 1024, 14_285])
def test_sets_whose_number_nobody_writes_out_are_refused_with_a_power(count: int) -> None:
    """2**1024 is no floating point number, and 2**14285 has more digits than Python prints."""
    instance = with_datasets(count).replace(maximum_epochs=1000)
    with pytest.raises(NotCoveredError, match=rf"there are {count}, and their 2\^{count} sets .* more than"):
        _ = Choices(instance).subsets
    with pytest.raises(NotCoveredError, match=rf"there are 2\^{2 * count} assignments of data"):
        depl.solve(instance, "enumerate")


@pytest.mark.parametrize("count", [1000, 14_285])
def test_assignments_that_nobody_lists_are_not_counted_to_the_end(count: int) -> None:
    """`milp` multiplies their number by a time before it asks whether the root bound is worth it."""
    cluster = TINY.clusters[0]
    problem = Choices(
        with_datasets(count).replace(
            clusters=tuple(msgspec.structs.replace(cluster, name=f"c{index}") for index in range(300)),
            maximum_epochs=1000,
        )
    )
    assert LARGEST_ASSIGNMENTS < count_assignments(problem) * 1e-9 < math.inf


def test_choices_are_what_the_rules_of_the_sites_allow() -> None:
    """Every cluster, set and model, looked up one by one; and each is listed where `position` says."""
    rng = np.random.default_rng(7)
    shape = {"clusters": (2, 3), "datasets": (2, 3), "models": (2, 3)}
    refused = 0
    for plain in random_instances(rng, 8, **shape):
        instance = with_rules(rng, plain)
        problem, rules = Choices(instance), instance.rules
        everything = list(
            itertools.product(
                range(len(instance.clusters)), range(len(problem.subsets)), range(len(instance.models))
            )
        )
        allowed = [
            (n, d, m)
            for n, d, m in everything
            if problem.subsets[d] <= set(rules.data[instance.clusters[n].name])
            and instance.models[m].name in rules.models[instance.clusters[n].name]
        ]
        assert set(problem.position) == set(allowed)
        assert sorted(problem.position.values()) == list(range(len(problem.configurations)))
        for (n, d, m), place in problem.position.items():
            chosen = problem.configurations[place]
            assert (chosen.cluster, chosen.datasets, chosen.model) == (n, problem.subsets[d], m)
        refused += len(everything) - len(allowed)
    assert refused > 20
