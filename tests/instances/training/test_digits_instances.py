"""Instances fitted to the shipped traces: made anew they are the same, and their plans are two stages."""

from itertools import groupby, pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from depl.instances.library import load
from depl.instances.setups import load_setup
from depl.instances.training.families import ALEXNET, MOBILENET
from depl.instances.training.network import NeuralNetwork, Shape
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import pruning_factor
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.plan import Plan
from depl.models.solving.result import Solution
from depl.models.solving.solve import solve
from depl.runs import fit

DATA = Path(__file__).resolve().parents[3] / "instances" / "data"
FAMILIES = {"digits-alexnet": ALEXNET, "digits-mobilenet": MOBILENET}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_the_command_makes_the_same_file(ask, tmp_path, name):
    assert ask("fit", name, "--template", name, "--out", tmp_path / "again.json")[0] == 0
    assert (tmp_path / "again.json").read_bytes() == (DATA / f"{name}.json").read_bytes()


@pytest.mark.parametrize("name", FAMILIES)
def test_sizes_are_the_weights_that_pruning_keeps_and_demands_the_products_with_them(name):
    shape = Shape(1, 64)
    network = NeuralNetwork(shape, FAMILIES[name])
    weights = network.initial_weights(np.random.default_rng(0))
    products = sum(
        np.count_nonzero(layer.spreads(given)) * after.positions
        for layer, (given, after) in zip(network.layers, pairwise(network.shapes), strict=True)
    )
    for model in load_setup(name).models:
        factor = pruning_factor(model.name)
        kept = network.mask(weights, factor).sum()
        assert model.size == pytest.approx(kept * 32 / 1000)
        assert model.demand == pytest.approx(3 * products * (1 - factor) / 1000, abs=5e-4)


def stages_of(plan):
    return [key for key, _ in groupby((epoch.model, epoch.cluster) for epoch in plan.epochs)]


def test_two_stages_on_two_clusters_are_cheapest_and_break_their_promise_under_the_independent_law():
    instance = load("digits-alexnet")
    plan = solve(instance).plan
    assert [cluster for _, cluster in stages_of(plan)] == ["edge", "far-edge"]
    assert 15 <= len(plan.epochs) <= 55
    bare = Plan(data=plan.data, epochs=plan.epochs)
    assert evaluate(instance, bare, quantile=False).violation.upper <= 0.05 + 1e-9
    independent = evaluate(instance.replace(traced_law=None), bare, quantile=False)
    assert independent.violation.lower > 0.5


# --- the closed loop ------------------------------------------------------------------------------------


def test_a_fifth_of_the_runs_of_the_closed_loop_gives_a_plan_of_two_stages_at_the_two_costs():
    setup = load_setup("closed-loop")
    setup = msgspec.structs.replace(setup, target=msgspec.structs.replace(setup.target, quantile_level=0.8))
    traces = recorded_traces("digits-alexnet-slow-fitting")
    instance = fit(traces.select(np.arange(0, len(traces.runs), 5)), setup, target=1.2)
    result = solve(instance)
    assert result.solution is Solution.PROVEN_OPTIMAL
    assert stages_of(result.plan) == [("pruned-50", "edge"), ("pruned-75", "far-edge")]
    cost = sum({"edge": 2.6, "far-edge": 1.4}[epoch.cluster] for epoch in result.plan.epochs)
    assert result.cost == pytest.approx(cost, rel=1e-12)
    assert evaluate(instance, Plan(data=result.plan.data, epochs=result.plan.epochs)).violation.upper <= 0.2
    assert solve(instance.replace(quantile_level=0.5)).cost < result.cost
