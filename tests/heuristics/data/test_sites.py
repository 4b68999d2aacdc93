"""Sites as they are priced, h of data, and two entries per interval below every real site."""

import numpy as np
import pytest

from depl.heuristics.data.sites import DataFactors, has_frontier, may_be_listed
from depl.instances.generator import random_instances
from depl.models.problem.instance import ComputeTable, Model
from depl.models.problem.learning import SubsetEpochs, TableDataLaw
from tests.cases.loop_cases import DATA_LAWS, crowded, nonempty_sets


@pytest.fixture(scope="module")
def drawn():
    return random_instances(np.random.default_rng([6, 1]), 25, datasets=(1, 4), maximum_epochs=(1, 6))


# --- h -------------------------------------------------------------------------------------------------


def test_h_is_that_of_the_instance_whatever_the_data_law(drawn):
    kinds = set()
    for instance in drawn:
        factors = DataFactors(instance)
        kinds.add(type(instance.data_law).__name__)
        for chosen in nonempty_sets(instance):
            assert factors.of(chosen) == pytest.approx(instance.learning_factor(chosen), rel=1e-12)
            if not isinstance(instance.data_law, TableDataLaw):
                volume = sum(instance.dataset(name).volume for name in chosen)
                assert factors.at(np.array([volume]))[0] == pytest.approx(factors.of(chosen), rel=1e-12)
    assert len(kinds) == 5


@pytest.mark.parametrize("law", DATA_LAWS)
def test_lines_lie_above_and_below_h_on_its_interval(law):
    instance = crowded(np.random.default_rng(3), law)
    factors = DataFactors(instance)
    total = sum(item.volume for item in instance.datasets)
    for low, high in ((0.3, 0.5), (0.5, 2.0), (2.0, total), (0.3, total), (0.9 * total, total)):
        inside = np.linspace(low, high, 101)
        line = np.interp(inside, [low, high], factors.lines(low, high)[0])
        assert (line >= factors.at(inside) * (1 - 1e-12)).all()
        line = np.interp(inside, [low, high], factors.lines(low, high)[1])
        assert (line <= factors.at(inside) * (1 + 1e-12)).all()
        assert (line > 0).all()


# --- listed sites --------------------------------------------------------------------------------------


def test_many_pairs_have_a_frontier_unless_tables_decide(steady):
    crowd = crowded(np.random.default_rng(1), datasets=8)
    assert has_frontier(crowd)
    table = (ComputeTable(epochs=(1.0,) * 5),)
    tabled = Model(name="m", size=0, improvement=crowd.models[0].improvement, compute=table)
    subsets = tuple(SubsetEpochs(datasets=tuple(sorted(d)), epochs=1.0) for d in nonempty_sets(crowd))
    for instance, listed in (
        (crowd, False),  # 3 * 255 pairs
        (crowded(np.random.default_rng(1), datasets=8, clusters=2), True),
        (crowd.replace(models=(tabled,)), True),
        (crowd.replace(data_law=TableDataLaw(subsets=subsets)), True),
        (steady, True),
    ):
        assert may_be_listed(instance) == listed
