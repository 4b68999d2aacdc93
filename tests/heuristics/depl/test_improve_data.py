"""Sets of data for the epochs of a sequence: the least of all sets, by brute force."""

import itertools

import numpy as np
import pytest

from depl.heuristics.bounds.cutting_planes import Cut, Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Site, Sites
from depl.heuristics.depl.labels import Cumulants
from depl.heuristics.depl.moves import DataAtPrices
from depl.heuristics.depl.priced_sites import Labels, Restricted
from depl.models.problem.instance import Instance
from depl.models.problem.learning import LogDataLaw, PowerDataLaw
from tests.cases.loop_cases import crowded, nonempty_sets

LAWS = (PowerDataLaw(p=0.4), PowerDataLaw(p=1.6), LogDataLaw(a=40, b=2, base_volume=1))


def drawn(seed: int, *, deadline: bool = False) -> Instance:
    rng = np.random.default_rng([6, 42, seed])
    return crowded(rng, LAWS[seed % 3], datasets=6, clusters=3, epochs=5, deadline=deadline)


def begun(instance: Instance) -> tuple[Restricted, Labels, Cut]:
    """Every set on every cluster; a sequence on the first set of the first cluster."""
    sets = nonempty_sets(instance)
    sites = [Site(n, chosen) for n in range(len(instance.clusters)) for chosen in sets]
    listed = Sites.of(instance, sites, DataFactors(instance))
    found = Restricted(Learning.of(instance), Cumulants(), listed, (0, 1), instance.target.maximum_time)
    models, used = np.array([0, 0, 1, 1, 1]), np.full(5, len(sets) // 2)
    uses = np.bincount(used, minlength=len(sites))
    return found, found.labels(2.0, 0.0), Cut(models, used, 0.0, 0.0, 0.0, 0.0, uses)


def reduced(found: Restricted, labels: Labels, prices: Prices, cut: Cut) -> np.ndarray:
    """F + sum of psi + gamma label of the epochs of a sequence on every site."""
    k = np.arange(len(cut.models))
    psi = found.sites.at(prices.time).psi[0, cut.models]
    return found.sites.transfers + psi.sum(axis=0) + prices.gain * labels.runs[:, k, cut.models].sum(axis=1)


@pytest.mark.parametrize("deadline", [False, True])
@pytest.mark.parametrize("seed", range(9))
def test_the_sets_that_are_found_are_nearly_the_best_of_all(seed: int, deadline: bool) -> None:
    """Of 63 sets on each of three clusters, up to what beginnings and single exchanges may miss."""
    instance = drawn(seed, deadline=deadline)
    found, labels, cut = begun(instance)
    data = DataAtPrices(instance, DataFactors(instance))
    position = {site: o for o, site in enumerate(found.sites.sites)}
    for gain in (2.0, 10.0, 50.0):
        prices = Prices(0.7, gain, 0.0)
        values = reduced(found, labels, prices, cut)
        tried = [position[site] for site in data.better(found, labels, prices, cut)]
        start = values[cut.sites[0]]
        best, least = min(values[tried]), min(values)
        assert best <= start
        if np.isfinite(start):
            assert best - least <= 0.02 * (start - least) + 1e-9


def test_sets_beside_one_differ_by_a_few_datasets() -> None:
    instance = drawn(1)
    found, labels, cut = begun(instance)
    data = DataAtPrices(instance, DataFactors(instance))
    own = found.sites.sites[int(cut.sites[0])]
    near = data.beside(found, labels, Prices(0.7, 10.0, 0.0), cut)
    singles = {frozenset({item.name}) for item in instance.datasets}
    changes = {site.datasets ^ own.datasets for site in near}
    assert {site.cluster for site in near} == {own.cluster}
    assert singles & changes
    exchanged = {
        a | b for a, b in itertools.product(singles, singles) if a < own.datasets and not b & own.datasets
    }
    assert exchanged & changes
    assert own not in near
