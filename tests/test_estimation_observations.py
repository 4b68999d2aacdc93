"""Improvements and jumps read from traces that fit in a comment, and traces drawn from known laws."""

import math

import numpy as np
import pytest

from depl.models.errors import InvalidInputError
from depl.models.estimation.observations import observe, pooled
from depl.models.estimation.synthetic import draw_traces
from depl.models.evaluation import final_loss
from depl.models.laws import Deterministic, Forbidden, Normal
from depl.models.plan import ClusterData, Plan, PlannedEpoch
from depl.models.problem import ConstantImprovement, Instance, Model, Switch
from depl.models.traces.table import Traces

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
    jumps = found.jumps_of("full", "cut", expected=np.array([3.0, 2.0, 1.0]))
    assert jumps.values.tolist() == [0.5, 1.0]  # measured 6.5 - 6; estimated 7.5 - 8.5 + 2
    assert jumps.estimated == 1
    without = observe(table(with_start=False)).jumps_of("full", "cut", np.zeros(3))
    assert (without.values.tolist(), without.estimated) == ([0.25, -1.0], 2)
    assert found.jumps_of("cut", "full").values.size == 0


def test_traces_without_training_are_refused() -> None:
    only = Traces(np.array(["a"]), np.array([0]), np.array(["full"]), np.array(["edge"]), np.array([9.0]))
    with pytest.raises(InvalidInputError, match="no run has an epoch of training"):
        observe(only)


def test_tables_of_different_length_are_pooled_with_nothing_added() -> None:
    found = pooled([np.ones((1, 2)), np.zeros((2, 3))])
    np.testing.assert_array_equal(found, [[1, 1, math.nan], [0, 0, 0], [0, 0, 0]])


# --- traces from laws ----------------------------------------------------------------------------------


def two_models(steady: Instance) -> Instance:
    """Normal improvements of mean 2 and 1, variance 1 and 1/4; a jump of 1/2 from the first to the second."""
    laws = {"net": Normal(mean=2, variance=1), "cut": Normal(mean=1, variance=0.25)}
    return steady.replace(
        models=[
            Model(name=name, size=1, demand=2, improvement=ConstantImprovement(noise=law))
            for name, law in laws.items()
        ],
        switches=[Switch(previous="net", following="cut", law=Deterministic(value=0.5))],
        other_switches=Forbidden(),
    )


def test_drawn_losses_have_the_law_of_the_plan(steady: Instance) -> None:
    instance = two_models(steady)
    models = ["net", "net", "cut"]
    traces = draw_traces(instance, models, 20_000, np.random.default_rng(1), prefix="s")
    last = traces.matrix()[:, -1]
    plan = Plan(
        data=(ClusterData(cluster="site", datasets=("data",)),),
        epochs=tuple(PlannedEpoch(model=name, cluster="site", resources=4.0) for name in models),
    )
    law = final_loss(instance, plan)
    assert last.mean() == pytest.approx(law.mean(), abs=4 * math.sqrt(law.variance() / 20_000))
    assert last.var() == pytest.approx(law.variance(), rel=0.05)
    found = observe(traces)
    assert found.jumps_of("net", "cut").values == pytest.approx(0.5, abs=1e-12)
    assert found.jumps_of("net", "cut").estimated == 0
    assert found.improvements_of("cut")[:, 2].var() == pytest.approx(0.25, rel=0.05)
    assert traces.runs[:2] == ("s0", "s1")


def test_a_switch_at_the_start_is_part_of_the_first_epoch(steady: Instance) -> None:
    instance = two_models(steady).replace(initial_model="net")
    traces = draw_traces(instance, ["cut"], 2, np.random.default_rng(1), clusters=["site"])
    assert traces.start()[[1, 3]].tolist() == [10.5, 10.5]


@pytest.mark.parametrize(
    ("models", "runs", "clusters", "message"),
    [
        ([], 1, None, "at least one run of one epoch"),
        (["net"], 0, None, "at least one run of one epoch"),
        (["nett"], 1, None, "'nett' is not defined"),
        (["net"], 1, ["moon"], "'moon' is not defined"),
        (["net"], 1, ["site", "site"], "one cluster per epoch"),
        (["cut", "net"], 1, None, "the switch from 'cut' to 'net' is forbidden"),
    ],
)
def test_traces_that_cannot_be_drawn_are_refused(
    steady: Instance, models: list[str], runs: int, clusters: list[str] | None, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        draw_traces(two_models(steady), models, runs, np.random.default_rng(0), clusters)
