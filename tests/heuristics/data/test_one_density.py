"""Datasets of one density: sums next to a volume, exactly, and the usual case in which work is volume."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.benchmarks.studies.helpers.set_functions import LAWS, random_selection
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_of_numbers
from depl.heuristics.data.select import branch_and_bound, by_halves, inner_minimum, one_density
from depl.models.problem.learning import LogDataLaw, PowerDataLaw
from tests.cases.selection_cases import interior_selection
from tests.oracles.subset_sum import subset_sum


def neighbours(volumes, target):
    """The sums next to the target, over all subsets."""
    sums = [math.fsum(part) for k in range(len(volumes) + 1) for part in itertools.combinations(volumes, k)]
    below = max((total for total in sums if total <= target), default=-math.inf)
    return below, min((total for total in sums if total >= target), default=math.inf)


def with_one_density(problem, volumes, density):
    return selection_of_numbers(problem.needed, volumes, density * volumes, problem.fixed_duration)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9), st.floats(0, 1))
def test_halves_find_the_sums_next_to_a_volume(numbers, share):
    volumes = [number / 4 for number in numbers]
    target = share * sum(volumes)
    expected = neighbours(volumes, target)
    sums = [math.fsum(volumes[place] for place in chosen) for chosen in by_halves(np.array(volumes), target)]
    assert max(total for total in sums if total <= target) == expected[0]
    assert min(total for total in sums if total >= target) == expected[1]


@pytest.mark.parametrize("law", LAWS)
def test_one_density_is_solved_at_the_root_and_equals_all_sets(law):
    rng = np.random.default_rng(LAWS.index(law))
    inside = 0
    for trial in range(12):
        size = int(rng.integers(2, 10))
        base = interior_selection(rng, size, law) if trial % 2 else random_selection(rng, size, law)
        problem = with_one_density(base, base.volumes, float(rng.choice([0.1, 0.7, 3.0])))
        nonempty = bool(rng.integers(2))
        index = np.arange(1 if nonempty else 0, 1 << size)
        least = problem.values((index[:, None] >> np.arange(size)) & 1 == 1).min()
        found = branch_and_bound(problem, nonempty)
        assert found.optimal
        assert found.nodes == 1
        assert found.value == pytest.approx(least, rel=1e-12)
        inside += 0 < len(found.subset) < size
    assert inside >= 2


@pytest.mark.parametrize("size", [30, 38])
def test_many_datasets_of_one_density_equal_dynamic_programming(size):
    rng = np.random.default_rng(size)
    for law in LAWS:
        needed = interior_selection(rng, size, law).needed
        if law == "log":  # with larger volumes the law of the draw would turn negative
            needed = NeededEpochs(LogDataLaw(a=10.0, b=1.0, base_volume=5.0))
        volumes = rng.choice([2.0, 3.0, 7.0], size)
        problem = selection_of_numbers(needed, volumes, volumes / 2, 0.1 * float(volumes.sum()))
        found, value = branch_and_bound(problem), subset_sum(problem)
        assert found.optimal
        assert found.value == pytest.approx(value, rel=1e-12)


def test_density_is_one_only_without_prices_and_for_laws_of_volume():
    needed = NeededEpochs(PowerDataLaw(p=0.5))
    assert one_density(selection_of_numbers(needed, [1.0, 3.0], [2.0, 6.0])) == 2.0
    assert one_density(selection_of_numbers(needed, [1.0, 3.0], [2.0, 6.1])) is None
    assert one_density(selection_of_numbers(needed, [1.0, 3.0], [2.0, 6.0], 0.0, 1.0)) is None
    assert inner_minimum(NeededEpochs(None), 1.0, 1.0, 5.0) is None  # without a law no volume is best
    free = selection_of_numbers(needed, [1.0, 3.0], [0.0, 0.0], 1.0)
    assert branch_and_bound(free).subset == frozenset({0, 1})
