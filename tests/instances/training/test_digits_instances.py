"""Instances fitted to the shipped traces: made anew they are the same, and their plans are two stages."""

import json
from itertools import groupby, pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest

from depl.fitting import fit
from depl.instances.library import load
from depl.instances.setups import load_setup
from depl.instances.training.families import ALEXNET, MOBILENET
from depl.instances.training.layers import Shape
from depl.instances.training.network import NeuralNetwork
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import Task, pruning_factor
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.plan import Plan
from depl.models.solving.result import Solution
from depl.models.solving.solve import solve
from depl.models.traces.fingerprints import fingerprints
from tests.instances.training.test_recorded import RECORDED

DATA = Path(__file__).resolve().parents[3] / "instances" / "data"
FAMILIES = {"digits-alexnet": ALEXNET, "digits-mobilenet": MOBILENET}
TRAINING_IMAGES = 1348


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


@pytest.mark.parametrize("name", FAMILIES)
def test_the_file_holds_all_runs_of_the_family_their_fingerprints_and_its_places(name):
    instance, traces, setup = load(name), recorded_traces(name), load_setup(name)
    command = f"depl fit {name} --template {name} --out INSTANCE"
    assert instance.description.splitlines()[-1] == f"Made an instance by: {command}"
    assert instance.run_fingerprints == fingerprints(traces)
    losses = np.concatenate([run.losses for run in instance.traced_law.runs])
    assert np.array_equal(losses, traces.loss)
    assert instance.traced_law.unseen_loss == traces.loss.max()
    assert {cluster.name for cluster in setup.clusters} == set(Task.clusters)
    assert {cluster.nodes for cluster in setup.clusters} == {Task.clients}
    (dataset,) = setup.datasets
    assert dataset.volume == pytest.approx(TRAINING_IMAGES / len(Task.clusters) / 1000)


def stages_of(plan):
    return [key for key, _ in groupby((epoch.model, epoch.cluster) for epoch in plan.epochs)]


@pytest.mark.parametrize("name", ["digits-alexnet", pytest.param("digits-mobilenet", marks=pytest.mark.slow)])
def test_two_stages_on_two_clusters_are_cheapest_and_break_their_promise_under_the_independent_law(name):
    instance = load(name)
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


@pytest.mark.slow
@pytest.mark.parametrize("family", RECORDED)
def test_the_commands_of_the_page_lead_to_a_plan(ask, tmp_path, family):
    mine, plan = tmp_path / "mine.json", tmp_path / "plan.json"
    assert ask("fit", f"{family}-fitting", "--template", "closed-loop", "--out", mine)[0] == 0
    instance = load(str(mine))
    assert instance.target.deployable == ("pruned-75",)
    assert (instance.target.maximum_loss, instance.target.quantile_level) == (0.75, 0.95)
    code, text, _ = ask("solve", mine, "--out", plan, "--json")
    assert (code, json.loads(text)["solution"]) == (0, "proven_optimal")
    assert Plan.from_json(plan.read_text()).epochs[-1].model == "pruned-75"
    assert ask("check", mine, plan)[0] == 0
