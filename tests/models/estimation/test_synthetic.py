"""Traces drawn from laws have the law of the plan, and read back as what was drawn."""

import math

import numpy as np
import pytest

from depl.models.estimation.observations import observe
from depl.models.evaluation.evaluate import final_loss
from depl.models.problem.instance import ConstantImprovement, Instance, Model, Switch
from depl.models.problem.laws import Deterministic, Forbidden, Normal
from depl.models.problem.plan import ClusterData, Plan, PlannedEpoch
from tests.cases.drawn_traces import draw_traces


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
    jumps, estimated = found.jumps_of("net", "cut")
    assert (jumps == pytest.approx(0.5, abs=1e-12), estimated) == (True, 0)
    assert found.improvements_of("cut")[:, 2].var() == pytest.approx(0.25, rel=0.05)
    assert traces.runs[:2] == ("s0", "s1")


def test_a_switch_at_the_start_is_part_of_the_first_epoch(steady: Instance) -> None:
    instance = two_models(steady).replace(initial_model="net")
    traces = draw_traces(instance, ["cut"], 2, np.random.default_rng(1), clusters=["site"])
    assert traces.start()[[1, 3]].tolist() == [10.5, 10.5]
