"""Polished plans: never more expensive, always certified, optimal on tiny instances by brute force."""

import itertools
import math

import msgspec
import numpy as np
import pytest

from depl.heuristics.bounds.dual import Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, listed_sites
from depl.heuristics.depl.improve import Polish, Start
from depl.heuristics.depl.labels import Judge
from depl.heuristics.depl.models import ModelStage
from depl.heuristics.depl.priced_sites import least_completions
from depl.models.problem.learning import PowerDataLaw
from depl.models.solving.limits import Limits
from tests.cases.loop_cases import crowded, indices, plain, require_certified
from tests.oracles.brute_force import every_plan


def polish_of(instance):
    learning, factors = Learning.of(instance), DataFactors(instance)
    return Polish(instance, learning, factors, Judge(instance), Limits())


def start_of(polish, plan):
    """A plan as a start, at prices of no meaning."""
    instance = polish.instance
    clusters, models = indices(instance.clusters), indices(instance.models)
    data = {clusters[row.cluster]: frozenset(row.datasets) for row in plan.data}
    steps = [models[epoch.model] for epoch in plan.epochs]
    factors = [polish.factors.of(data[clusters[epoch.cluster]]) for epoch in plan.epochs]
    return Start(data, Prices(1.0, 1.0, 0.0), polish.learning.loss(steps, factors))


def tiny(seed):
    """An instance whose target a third of its plans meet, and those plans by cost."""
    rng = np.random.default_rng([6, 44, seed])
    instance = crowded(rng, PowerDataLaw(p=0.4), datasets=2, clusters=2, models=2, epochs=3)
    plans = sorted(every_plan(instance), key=lambda pair: pair[0])
    quantiles = [verify_quantile(instance, plan) for _, plan in plans]
    target = float(np.quantile(quantiles, 0.3))
    instance = instance.replace(maximum_loss=target)
    met = [pair for pair, quantile in zip(plans, quantiles, strict=True) if quantile <= target]
    return instance, met


def verify_quantile(instance, plan):
    """Of the normal final loss of a plan, in closed form."""
    polish = polish_of(instance)
    loss = start_of(polish, plan).loss
    return loss.mean() + 1.2815515655446004 * math.sqrt(loss.variance())


def test_tiny_instances_are_polished_to_the_optimum():
    """From the most expensive plan: what is found is certified, and no plan is cheaper than the cheapest."""
    for seed in range(2):
        instance, plans = tiny(seed)
        polish = polish_of(instance)
        sites = listed_sites(instance)
        best, worst = plans[0], plans[-1]
        found = polish.better(start_of(polish, worst[1]), sites, math.inf)
        stage = ModelStage(instance, polish.learning, polish.factors, polish.judge, Limits())
        require_certified(stage, found)
        assert found.cost == pytest.approx(best[0], rel=1e-6)
        assert polish.better(start_of(polish, best[1]), sites, best[0] * (1 - 1e-6)) is None


@pytest.mark.parametrize("price", [0.0, 1.0, 40.0])
def test_a_sequence_is_in_time_whatever_price_it_begins_with(price):
    """Two epochs of 24, beside one with next to no work that takes 6 to send, longer than T_max.

    It is lighter below lam = 2.96: 2 (0.03 lam)**(1/2) + 6 lam against 2 (24 lam)**(1/2) + lam / 2.
    """
    instance = plain()
    late = msgspec.structs.replace(instance.models[0], name="late", size=6.0, demand=0.01)
    polish = polish_of(instance.replace(models=(late, *instance.models)))
    data = {0: frozenset({"data"})}
    start = Start(data, Prices(price, 1.0, 0.0), polish.learning.loss([1, 1], [1.0, 1.0]))
    found = polish.better(start, [], math.inf)
    assert found.models == (1, 1)
    assert found.cost == pytest.approx(24)
    assert polish.better(start, [], 24.0) is None


def test_a_start_that_cannot_be_in_time_leads_to_nothing():
    instance, plans = tiny(0)
    hurried = instance.replace(maximum_time=1e-3)
    polish = polish_of(hurried)
    assert polish.better(start_of(polish, plans[0][1]), listed_sites(hurried), math.inf) is None


def test_completions_are_the_least_of_all_sequences():
    rng = np.random.default_rng(4)
    negative = 0
    for _ in range(40):
        epochs, count = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        steps = rng.normal(size=(epochs, count, count))
        steps[rng.random(steps.shape) > 0.7] = math.inf
        found = least_completions(steps)
        for k, m in np.ndindex(epochs, count):
            sums = [0.0]
            for length in range(1, epochs - k):
                for rest in itertools.product(range(count), repeat=length):
                    pairs = list(enumerate(itertools.pairwise((m, *rest)), k + 1))
                    sums.append(sum(steps[layer, before, after] for layer, (before, after) in pairs))
            assert found[k, m] == pytest.approx(min(sums), abs=1e-12)
            negative += found[k, m] < 0
    assert negative > 10
