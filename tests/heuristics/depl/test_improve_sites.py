"""A few models on listed sites: bounds of every sequence, moves of sites, by brute force."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.bounds.cutting_planes import Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.heuristics.depl.labels import Cumulants
from depl.heuristics.depl.priced_sites import Labels, Restricted
from depl.heuristics.paths.additive_labels import entropic_label
from depl.models.problem.allocation import allocate
from depl.models.problem.instance import Instance
from depl.models.problem.learning import PowerDataLaw
from tests.cases.loop_cases import crowded, one_way

RATE = 2.0
PRICES = Prices(0.7, 5.0, 0.0)


def restricted(instance: Instance) -> Restricted:
    sites = Sites.of(instance, listed_sites(instance), DataFactors(instance))
    models = tuple(range(len(instance.models)))
    return Restricted(Learning.of(instance), Cumulants(), sites, models, instance.target.maximum_time)


def small(seed: int, *, ordered: bool = False) -> Instance:
    rng = np.random.default_rng([6, 41, seed])
    instance = crowded(rng, PowerDataLaw(p=0.4), datasets=2, clusters=2, epochs=3)
    return one_way(instance) if ordered else instance


def sequences(found: Restricted, chosen: list[int], labels: Labels) -> list[tuple[list[int], list[int]]]:
    """Models and sites of every allowed sequence on some sites."""
    kinds = list(itertools.product(range(len(found.models)), chosen))
    every = []
    for length in range(1, labels.runs.shape[1] + 1):
        for row in itertools.product(kinds, repeat=length):
            models, sites = [m for m, _ in row], [o for _, o in row]
            before = [len(found.models), *models[:-1]]
            if np.isfinite(labels.changes[before, models]).all():
                every.append((models, sites))
    return every


def label_of(labels: Labels, models: list[int], sites: list[int], start: int) -> float:
    before = [start, *models[:-1]]
    runs = (labels.runs[o, k, m] for k, (m, o) in enumerate(zip(models, sites, strict=True)))
    return math.fsum(runs) + math.fsum(labels.changes[p, m] for p, m in zip(before, models, strict=True))


def reduced(found: Restricted, labels: Labels, models: list[int], sites: list[int]) -> float:
    """Weight at the prices, the transfers of all open sites aside."""
    psi = found.sites.at(PRICES.time).psi
    costs = (psi[0, m, o] for m, o in zip(models, sites, strict=True))
    return math.fsum(costs) + PRICES.gain * label_of(labels, models, sites, len(found.models))


def test_labels_are_those_of_chernoffs_bound_at_the_same_rate() -> None:
    instance = small(0)
    found, learning = restricted(instance), Learning.of(instance)
    labels, entropic = found.labels(RATE, 0.0), entropic_label(0.1, RATE)
    for o, k, m in itertools.product(range(len(found.clusters)), range(3), range(2)):
        loss = learning.loss([m] * (k + 1), [found.sites.factors[o]] * (k + 1))
        exact = entropic.quantile(loss) - entropic.surcharge - learning.initial_loss
        assert labels.runs[o, : k + 1, m].sum() == pytest.approx(exact, rel=1e-6)
        together = found.label_of(np.arange(k + 1), np.full(k + 1, m), found.sites.factors[[o]], RATE)
        assert together[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_for_every_sequence_and_is_not_far_below(seed: int, ordered: bool) -> None:
    instance = small(seed, ordered=ordered)
    found = restricted(instance)
    chosen = [0, len(found.clusters) // 2]
    every = sequences(found, chosen, found.labels(RATE, 0.0))
    plain = found.labels(RATE, 0.0)
    totals = sorted(label_of(plain, *row, len(found.models)) for row in every)
    labels = found.labels(RATE, totals[len(totals) // 4])
    costs = []
    for models, sites in every:
        loads = [found.sites.load(k, m, o) for k, (m, o) in enumerate(zip(models, sites, strict=True))]
        if label_of(labels, models, sites, len(found.models)) <= labels.room + 1e-12:
            costs.append(allocate(loads, instance.target.maximum_time, None).cost + found.paid(chosen))
    bound = found.dual(labels, chosen, PRICES)
    assert bound.cut is not None
    assert 0.4 * min(costs) < bound.value <= min(costs) * (1 + 1e-9)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_cost_what_their_cheapest_sequence_does(seed: int, ordered: bool) -> None:
    instance = small(seed, ordered=ordered)
    found = restricted(instance)
    labels, chosen = found.labels(RATE, 0.0), [0, len(found.clusters) // 2]
    seen = 0
    for value, sites in found.neighbours(labels, PRICES, chosen):
        least = min(reduced(found, labels, *row) for row in sequences(found, sites, labels))
        assert value == pytest.approx(least + found.paid(sites), rel=1e-9, abs=1e-9)
        assert len({int(found.clusters[site]) for site in sites}) == len(sites)
        seen += 1
    assert seen > 5


@pytest.mark.parametrize("seed", range(6))
def test_where_moves_lead_to_no_neighbour_is_cheaper(seed: int) -> None:
    found = restricted(small(seed))
    labels = found.labels(RATE, 0.0)
    value, sites = found.opened(labels, PRICES, [0])
    first = min(reduced(found, labels, *row) for row in sequences(found, [0], labels)) + found.paid([0])
    assert value <= first + 1e-9
    beside = min(cost for cost, _ in found.neighbours(labels, PRICES, sites))
    assert beside >= value - 1e-6 * abs(value)


@pytest.mark.parametrize("ordered", [False, True])
def test_margins_are_what_one_epoch_on_a_site_costs_more(ordered: bool) -> None:
    instance = small(1, ordered=ordered)
    found = restricted(instance)
    labels, chosen = found.labels(RATE, 0.0), [0, len(found.clusters) // 2]
    shared = found.sites.transfers / instance.target.maximum_epochs
    every = [
        (reduced(found, labels, *row) + math.fsum(shared[row[1]].tolist()), row)
        for row in sequences(found, chosen, labels)
    ]
    margins, least = found.margins(labels, PRICES, chosen), min(every)[0]
    for (place, site), m in itertools.product(enumerate(chosen), range(2)):
        uses = [value for value, row in every if (m, site) in zip(*row, strict=True)]
        assert margins[place, m] == pytest.approx(min(uses) - least, abs=1e-9)
