"""Stage 1 of the paper: all sets of data in the order of eq. (7), and the faces of the cube behind it."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.data.problem import selection_problem
from depl.heuristics.paper.data import LARGEST_DATASETS, data_choices, minimise
from depl.heuristics.submodular.function import Verdict
from depl.instances.generator import random_instances
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Dataset
from depl.models.problem.learning import PowerDataLaw, SubsetEpochs, TableDataLaw

DRAWN = random_instances(np.random.default_rng([7, 3]), 40, datasets=(1, 4), maximum_epochs=(1, 2))


def values_of(instance):
    """K^ T^ of every nonempty set, by the formula."""
    problem = selection_problem(instance)
    return {
        frozenset(problem.names[place] for place in subset): problem.value(frozenset(subset))
        for size in range(1, problem.size + 1)
        for subset in itertools.combinations(range(problem.size), size)
    }


def test_by_the_extension_every_set_comes_once_and_what_is_called_proved_is_next_in_order():
    proved = doubtful = 0
    for instance in DRAWN[::3]:
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
    assert proved > 12
    assert doubtful > 5


def with_sets(tiny, count, law):
    sets = tuple(Dataset(name=f"d{place}", volume=1 + place / 7) for place in range(count))
    return tiny.replace(datasets=sets, data_law=law, transfers=())


def tabled(tiny, epochs):
    table = tuple(SubsetEpochs(datasets=names, epochs=value) for names, value in epochs.items())
    return with_sets(tiny, 3, TableDataLaw(subsets=table))


ALL = [names for size in (1, 2, 3) for names in itertools.combinations(("d0", "d1", "d2"), size)]


def test_the_program_of_a_submodular_part_proves_its_minimum(tiny):
    """K^ = 1: K^ T^ is modular and no dataset is worth its time."""
    problem = selection_problem(with_sets(tiny, 5, None))
    found = minimise(problem, frozenset({1}), frozenset({0}))
    assert found.optimal
    assert found.subset == {1}
    assert found.lower <= found.value
    assert found.program.value * found.unit == pytest.approx(0, abs=1e-9)
    assert found.program.var_dict["x"].value == pytest.approx(np.zeros(3))


def test_a_table_that_is_not_submodular_is_refuted_by_its_triples(tiny):
    """With d0 used, d1 and d2 save five epochs each and together no more: 10, 5, 5 and 5."""
    table = dict.fromkeys(ALL, 10.0) | {("d0", "d1"): 5.0, ("d0", "d2"): 5.0, ("d0", "d1", "d2"): 5.0}
    found = minimise(selection_problem(tabled(tiny, table)), frozenset({0}))
    assert found.verdict is Verdict.REFUTED
    assert not found.optimal
    assert next(data_choices(tabled(tiny, table))).doubt == "heuristic: K^ T^ is not submodular"


def test_a_face_without_data_and_one_that_contradicts_itself_are_refused(tiny):
    problem = selection_problem(tabled(tiny, dict.fromkeys(ALL, 2.0)))
    with pytest.raises(InvalidInputError, match="infinite without data"):
        minimise(problem)
    for inside, outside in (({0}, {0}), ({3}, set())):
        with pytest.raises(InvalidInputError, match="must exist and be different"):
            minimise(problem, frozenset(inside), frozenset(outside))


def test_more_datasets_than_programs_can_rank_are_refused_in_words(tiny):
    law = PowerDataLaw(a=5, p=0.4, base_volume=1)
    with pytest.raises(NotCoveredError, match=r"at most 64 datasets, and there are 65; use depl"):
        next(data_choices(with_sets(tiny, LARGEST_DATASETS + 1, law)))
