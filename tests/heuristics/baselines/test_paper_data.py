"""Stage 1 of the literal loop: all sets of data in the order of eq. (7)."""

import itertools
import math

import numpy as np
import pytest

from depl.benchmarks.suites.sizes import growing
from depl.heuristics.baselines.paper_data import data_choices
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.data.select import select_datasets
from depl.instances.generator import random_instances
from depl.models.problem.instance import Dataset, Instance

DRAWN = random_instances(np.random.default_rng([7, 3]), 40, datasets=(1, 4), maximum_epochs=(1, 2))


def values_of(instance: Instance) -> dict[frozenset[str], float]:
    """K^ T^ of every nonempty set, by the formula."""
    problem = selection_problem(instance)
    return {
        frozenset(problem.names[place] for place in subset): problem.value(frozenset(subset))
        for size in range(1, problem.size + 1)
        for subset in itertools.combinations(range(problem.size), size)
    }


def test_tables_and_formulas_are_both_drawn() -> None:
    kinds = {type(instance.data_law).__name__ for instance in DRAWN}
    assert {"TableDataLaw", "NoneType"} < kinds
    assert len(kinds) >= 4


def test_without_a_data_law_the_quickest_dataset_comes_first(tiny: Instance) -> None:
    # K^ = 1: nothing but the duration of an epoch counts, and data only make it longer
    sets = (
        Dataset(name="large", volume=3),
        Dataset(name="small", volume=1),
        Dataset(name="middle", volume=2),
    )
    instance = tiny.replace(datasets=sets, data_law=None, transfers=())
    order = [sorted(choice.datasets) for choice in data_choices(instance)]
    assert order[:2] == [["small"], ["middle"]]
    assert order[-1] == ["large", "middle", "small"]


def test_by_the_extension_every_set_comes_once_and_what_is_called_proved_is_next_in_order() -> None:
    proved = doubtful = 0
    for instance in DRAWN[::2]:
        choices, values = list(data_choices(instance)), values_of(instance)
        assert len(choices) == len(values)
        assert {choice.datasets for choice in choices} == values.keys()
        left = dict(values)
        for choice in choices:
            assert choice.value == pytest.approx(left.pop(choice.datasets), rel=1e-9)
            assert choice.proved == (not choice.doubt)
            if choice.proved:
                proved += 1
                assert choice.value <= min(left.values(), default=math.inf) * (1 + 1e-9)
            else:
                doubtful += 1
                assert choice.doubt.startswith("heuristic: K^ T^ is not ")
    assert proved > 20
    assert doubtful > 10


def test_where_the_product_is_not_submodular_the_extension_misses_the_best_set_and_says_so() -> None:
    """Sixteen datasets of a power law: the set that the programs end with takes 1 % longer than the best."""
    instance = next(draw.build() for draw in growing("datasets", (16,)))
    found = next(data_choices(instance))
    best = select_datasets(selection_problem(instance))
    assert best.optimal
    assert found.doubt == "heuristic: K^ T^ is not submodular"
    assert 1.001 < found.value / best.value < 1.1
