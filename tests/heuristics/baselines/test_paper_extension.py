"""Stage 1 by the Lovász extension: its parts, its verdicts, its limit of size, and its stop."""

import itertools

import numpy as np
import pytest

from depl.heuristics.baselines.paper_data import data_choices
from depl.heuristics.baselines.paper_extension import (
    LARGEST_DATASETS,
    part_answer,
    part_function,
    ranked_by_extension,
)
from depl.heuristics.data.problem import selection_problem
from depl.heuristics.set_functions.answers import Proof
from depl.heuristics.set_functions.functions import subset_of_index
from depl.heuristics.set_functions.verdicts import Verdict
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.problem.instance import Dataset, Instance
from depl.models.problem.learning import PowerDataLaw, SubsetEpochs, TableDataLaw


def with_sets(tiny: Instance, count: int, law: object) -> Instance:
    sets = tuple(Dataset(name=f"d{place}", volume=1 + place / 7) for place in range(count))
    return tiny.replace(datasets=sets, data_law=law, transfers=())


def tabled(tiny: Instance, epochs: dict[tuple[str, ...], float]) -> Instance:
    table = tuple(SubsetEpochs(datasets=names, epochs=value) for names, value in epochs.items())
    return with_sets(tiny, 3, TableDataLaw(subsets=table))


ALL = [names for size in (1, 2, 3) for names in itertools.combinations(("d0", "d1", "d2"), size)]


def test_a_part_is_the_function_on_its_sets(tiny: Instance) -> None:
    """Values and rational values of a formula and of a table, set by set."""
    table = {names: 9.0 - 2 * len(names) + 0.1 * ("d1" in names) for names in ALL}
    for instance in (with_sets(tiny, 3, PowerDataLaw(a=5, p=0.4)), tabled(tiny, table)):
        problem = selection_problem(instance)
        part = part_function(problem, frozenset({1}), frozenset({0}))
        assert part.size == 1
        for index in range(2):
            inside, whole = subset_of_index(index), frozenset({1}) | {2 for _ in subset_of_index(index)}
            assert part.value(inside) == pytest.approx(problem.value(whole), rel=1e-12)
            assert float(part.exact_value(inside)) == pytest.approx(problem.value(whole), rel=1e-12)


def test_the_program_of_a_submodular_part_proves_its_minimum(tiny: Instance) -> None:
    """K^ = 1: K^ T^ is modular and no dataset is worth its time."""
    problem = selection_problem(with_sets(tiny, 5, None))
    answer = part_answer(problem, frozenset({1}), frozenset({0}))
    assert answer.minimum.proof is Proof.CERTIFICATE
    assert answer.minimum.subset == frozenset()
    assert answer.problem.value * answer.unit == pytest.approx(problem.value(frozenset({1})))
    assert answer.problem.var_dict["x"].value == pytest.approx(np.zeros(3))


def test_a_table_that_is_not_submodular_is_refuted_by_its_triples(tiny: Instance) -> None:
    """With d0 used, d1 and d2 save five epochs each and together no more: 10, 5, 5 and 5."""
    table = dict.fromkeys(ALL, 10.0) | {("d0", "d1"): 5.0, ("d0", "d2"): 5.0, ("d0", "d1", "d2"): 5.0}
    first, verdict = next(ranked_by_extension(selection_problem(tabled(tiny, table)), lambda: True))
    assert verdict is Verdict.REFUTED
    assert not first.optimal


def test_a_table_that_is_submodular_is_proved_set_by_set(tiny: Instance) -> None:
    """A constant times T^ is modular."""
    assert all(choice.proved for choice in data_choices(tabled(tiny, dict.fromkeys(ALL, 2.0))))


def test_the_empty_set_has_no_part_in_a_table(tiny: Instance) -> None:
    problem = selection_problem(tabled(tiny, dict.fromkeys(ALL, 2.0)))
    with pytest.raises(InvalidInputError, match="one used"):
        part_function(problem, frozenset(), frozenset())


def test_more_datasets_than_programs_can_rank_are_refused_in_words(tiny: Instance) -> None:
    law = PowerDataLaw(a=5, p=0.4, base_volume=1)
    with pytest.raises(NotCoveredError, match=r"at most 64 datasets, and there are 65; use depl"):
        next(data_choices(with_sets(tiny, LARGEST_DATASETS + 1, law)))


def test_a_stop_ends_every_program_after_its_first(tiny: Instance) -> None:
    problem = selection_problem(with_sets(tiny, 12, PowerDataLaw(a=6, p=0.5)))
    asked: list[int] = []

    def proceed() -> bool:
        asked.append(1)
        return False

    next(ranked_by_extension(problem, proceed))
    assert len(asked) == 11  # one for each part with a free dataset
