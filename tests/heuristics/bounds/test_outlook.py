"""The outlook: sites for the volumes and clusters in use, and prices near those of all sites."""

import math

import numpy as np
import pytest

from depl.heuristics.bounds.dual import Dual, Part, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.outlook import Outlook
from depl.heuristics.bounds.requirement import Requirement, VarianceRange, fall_of
from depl.heuristics.data.sites import DataFactors, Site, Sites, transfers_of
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.problem.instance import Cluster
from depl.models.problem.learning import PowerDataLaw
from tests.cases.loop_cases import crowded, nonempty_sets

NEEDED = Requirement(3.0, (VarianceRange(0.0, 9.0, 0.0, 0.0),))


def made(instance):
    return Outlook(instance, Learning.of(instance), DataFactors(instance))


@pytest.fixture(scope="module")
def crowd():
    return crowded(np.random.default_rng([6, 15]), PowerDataLaw(p=0.5), datasets=6, clusters=2)


def test_the_guide_is_near_the_bound_of_all_sites(crowd):
    """Fractional sets at 96 volumes in place of 63 sets on each cluster: cheaper, but not by much."""
    outlook = made(crowd)
    guided = outlook.bound(NEEDED, outlook.start(NEEDED))
    every = [Site(n, chosen) for n in (0, 1) for chosen in nonempty_sets(crowd)]
    learning = Learning.of(crowd)
    sites = Sites.of(crowd, every, DataFactors(crowd))
    dual = Dual(learning, sites, crowd.target.maximum_time, 1e9)
    shares = [transfers_of(crowd, site) / crowd.target.maximum_epochs for site in every]
    part = Part(np.array(shares))
    exact = dual.bound(part, NEEDED, start_prices(dual, part, NEEDED))
    assert guided.value >= exact.value / 1.5
    assert guided.value <= exact.value * 1.01


def test_clusters_that_miss_the_deadline_are_no_sites(crowd):
    slow = Cluster(name="c1", capacity=1e-3, bandwidth=1e-3, unit_cost=1)
    outlook = made(crowd.replace(clusters=(crowd.clusters[0], slow), round_deadline=5.0))
    bound = outlook.bound(NEEDED, outlook.start(NEEDED))
    found = outlook.sites(bound.prices)
    assert found
    assert {site.cluster for site in found} == {0}
    assert math.isfinite(bound.value)


def test_clusters_that_are_worth_their_transfers_in_some_epochs_are_charged_there():
    rng = np.random.default_rng(1)
    instance = heterogeneous_instance(rng, clusters=12, datasets=12, models=3, maximum_epochs=60)
    outlook, needed = made(instance), Requirement(fall_of(instance), (VarianceRange(0.0, 9.0, 0.0, 0.0),))
    plain = outlook.bound(needed, outlook.start(needed))
    shared = outlook.share(needed, plain, lambda: False)
    assert shared.value > plain.value * 1.004
    weights, stretches = outlook.charged
    each = weights[stretches]
    assert each.shape == (60, 12)
    assert each.mean(axis=0) == pytest.approx(np.ones(12))
    assert len(np.unique(np.round(each, 6), axis=1).T) > 1
