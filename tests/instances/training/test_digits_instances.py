"""The instances fitted to the shipped traces: made anew they are the same, their sizes are the networks'."""

from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest

from depl.instances.library import load
from depl.instances.setups import load_setup
from depl.instances.training.families import ALEXNET, MOBILENET
from depl.instances.training.layers import Shape
from depl.instances.training.network import NeuralNetwork
from depl.instances.training.recorded import recorded_traces
from depl.instances.training.runs import Task, pruning_factor
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.plan import Plan
from depl.models.solving.solve import solve
from depl.models.traces.fingerprints import fingerprints

DATA = Path(__file__).resolve().parents[3] / "instances" / "data"
FAMILIES = {"digits-alexnet": ALEXNET, "digits-mobilenet": MOBILENET}
TRAINING_IMAGES = 1348


@pytest.mark.parametrize("name", FAMILIES)
def test_the_description_names_the_command(name):
    command = f"depl fit {name} --template {name} --out INSTANCE"
    assert load(name).description.splitlines()[-1] == f"Made an instance by: {command}"


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


def test_clusters_hold_as_many_clients_and_images_as_in_the_runs():
    for name in FAMILIES:
        setup = load_setup(name)
        assert {cluster.name for cluster in setup.clusters} == set(Task.clusters)
        assert {cluster.nodes for cluster in setup.clusters} == {Task.clients}
        (dataset,) = setup.datasets
        assert dataset.volume == pytest.approx(TRAINING_IMAGES / len(Task.clusters) / 1000)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_file_holds_all_runs_of_the_family_and_their_fingerprints(name):
    instance, traces = load(name), recorded_traces(name)
    assert instance.run_fingerprints == fingerprints(traces)
    losses = np.concatenate([run.losses for run in instance.traced_law.runs])
    assert np.array_equal(losses, traces.loss)
    assert instance.traced_law.unseen_loss == traces.loss.max()


@pytest.fixture(
    scope="module", params=["digits-alexnet", pytest.param("digits-mobilenet", marks=pytest.mark.slow)]
)
def solved(request):
    """An instance and its cheapest plan."""
    instance = load(request.param)
    return instance, solve(instance).plan


def test_two_stages_on_two_clusters_are_cheapest(solved):
    _, plan = solved
    stages = [key for key, _ in groupby((epoch.model, epoch.cluster) for epoch in plan.epochs)]
    assert [cluster for _, cluster in stages] == ["edge", "far-edge"]
    assert 15 <= len(plan.epochs) <= 55


def test_a_lower_promise_costs_less(solved):
    instance, plan = solved
    lower = instance.replace(quantile_level=0.9)
    cheaper = solve(lower).plan
    assert evaluate(lower, cheaper).cost < evaluate(instance, plan).cost


def test_under_the_independent_law_the_same_plan_breaks_its_promise(solved):
    instance, plan = solved
    bare = Plan(data=plan.data, epochs=plan.epochs)
    assert evaluate(instance, bare).violation.upper <= 0.05 + 1e-9
    assert evaluate(instance.replace(traced_law=None), bare).violation.lower > 0.5
