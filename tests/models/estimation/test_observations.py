"""Improvements and jumps read from traces that fit in a comment."""

import math

import numpy as np
import pytest

from depl.models.estimation.observations import observe
from depl.models.evaluation.evaluate import final_loss
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.instance import Instance
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from depl.models.traces.table import Traces
from tests.cases.drawn_traces import draw_traces, two_models

#   run  epoch  model  cluster  start  loss
ROWS = [
    ("a", 0, "full", "edge", math.nan, 9.0),
    ("a", 1, "full", "edge", math.nan, 7.0),
    ("a", 2, "full", "edge", math.nan, 6.0),
    ("a", 3, "cut", "far", 6.5, 6.25),
    ("b", 0, "full", "edge", math.nan, 8.0),
    ("b", 1, "full", "edge", math.nan, 8.5),
    ("b", 2, "cut", "far", math.nan, 7.5),
]


def table(with_start: bool = True) -> Traces:
    columns = list(zip(*ROWS, strict=True))
    metrics = {"start_loss": np.array(columns[4])} if with_start else {}
    return Traces(*(np.array(column) for column in columns[:4]), np.array(columns[5]), metrics)


def test_improvements_and_jumps_by_hand() -> None:
    found = observe(table())
    nan = math.nan
    assert found.epochs.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(found.improvements_of("full"), [[2, 1, nan], [-0.5, nan, nan]])
    np.testing.assert_array_equal(found.improvements_of("cut"), [[nan, nan, 0.25], [nan, nan, nan]])
    np.testing.assert_array_equal(found.improvements_of("full", "far"), np.full((2, 3), nan))
    assert found.combinations() == [("full", "edge"), ("cut", "far")]
    assert found.switches_seen() == [("full", "cut")]
    assert found.switched.tolist() == [[False, False, True], [False, True, False]]


def test_a_switch_that_was_not_evaluated_is_estimated_and_counted() -> None:
    found = observe(table())
    with pytest.raises(InvalidInputError, match="after 1 of 2 switches from 'full' to 'cut'"):
        found.jumps_of("full", "cut")
    jumps, estimated = found.jumps_of("full", "cut", expected=np.array([3.0, 2.0, 1.0]))
    assert (jumps.tolist(), estimated) == ([0.5, 1.0], 1)  # measured 6.5 - 6; estimated 7.5 - 8.5 + 2
    jumps, estimated = observe(table(with_start=False)).jumps_of("full", "cut", np.zeros(3))
    assert (jumps.tolist(), estimated) == ([0.25, -1.0], 2)
    assert found.jumps_of("cut", "full")[0].size == 0


def test_traces_without_training_are_refused() -> None:
    only = Traces(np.array(["a"]), np.array([0]), np.array(["full"]), np.array(["edge"]), np.array([9.0]))
    with pytest.raises(InvalidInputError, match="no run has an epoch of training"):
        observe(only)


def test_drawn_losses_have_the_law_of_the_plan_and_are_read_back(bell: Instance) -> None:
    """Traces that tests draw: inverse gamma ratios on two curves, and a normal jump of 0.4 between them."""
    instance = two_models(bell)
    models = ["full", "full", "cut"]
    traces = draw_traces(instance, models, 20_000, np.random.default_rng(1), prefix="s")
    plan = Plan(
        data=(ClusterData(cluster="site", datasets=("data",)),),
        epochs=tuple(PlannedEpoch(model=name, cluster="site", resources=4.0) for name in models),
    )
    law, last = final_loss(instance, plan), traces.matrix()[:, -1]
    assert last.mean() == pytest.approx(law.mean(), abs=4 * math.sqrt(law.variance() / 20_000))
    assert last.var() == pytest.approx(law.variance(), rel=0.05)
    found = observe(traces)
    jumps, estimated = found.jumps_of("full", "cut")
    assert (jumps.mean(), jumps.std()) == pytest.approx((0.4, 0.1), rel=0.03)
    assert estimated == 0
    assert found.improvements_of("cut")[:, 2].var() == pytest.approx(0.03 * 4 / 7, rel=0.1)
    assert traces.runs[:2] == ("s0", "s1")
    late = draw_traces(instance.replace(initial_model="full"), ["cut"], 2, np.random.default_rng(1))
    assert (late.start()[[1, 3]] != late.loss[[0, 2]]).all()
