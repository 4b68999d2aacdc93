"""Moves of a polish: sets of data, change points, sites; bounds of every sequence; by brute force."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from depl.heuristics.bounds.dual import Cut, Prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.data.sites import DataFactors, Site, Sites, listed_sites
from depl.heuristics.depl.labels import Cumulants
from depl.heuristics.depl.moves import ChangePoints, DataAtPrices
from depl.heuristics.depl.priced_sites import Restricted
from depl.heuristics.paths.additive_labels import entropic_label
from depl.models.problem.allocation import allocate
from depl.models.problem.laws import Forbidden
from depl.models.problem.learning import LogDataLaw, PowerDataLaw
from tests.cases.loop_cases import crowded, nonempty_sets
from tests.problems import switches

LAWS = (PowerDataLaw(p=0.4), PowerDataLaw(p=1.6), LogDataLaw(a=40, b=2, base_volume=1))


RATE = 2.0


def many_sets(seed, *, deadline=False):
    rng = np.random.default_rng([6, 42, seed])
    return crowded(rng, LAWS[seed % 3], datasets=6, clusters=3, epochs=5, deadline=deadline)


def restricted(instance, listed=None):
    """What is known of some sites, by default of those that the loop lists, and of both models."""
    sites = Sites.of(instance, listed or listed_sites(instance), DataFactors(instance))
    return Restricted(Learning.of(instance), Cumulants(), sites, (0, 1), instance.target.maximum_time, RATE)


def begun(instance):
    """Every set on every cluster; a sequence on the first set of the first cluster."""
    sets = nonempty_sets(instance)
    sites = [Site(n, chosen) for n in range(len(instance.clusters)) for chosen in sets]
    found = restricted(instance, sites)
    models, used = np.array([0, 0, 1, 1, 1]), np.full(5, len(sets) // 2)
    uses = np.bincount(used, minlength=len(sites))
    return found, Cut(models, used, 0.0, 0.0, 0.0, 0.0, uses)


def on_every_site(found, prices, cut):
    """F + sum of psi + gamma label of the epochs of a sequence on every site."""
    k = np.arange(len(cut.models))
    psi = found.sites.at(prices.time).psi[0, cut.models]
    return found.sites.transfers + psi.sum(axis=0) + prices.gain * found.runs[:, k, cut.models].sum(axis=1)


@pytest.mark.parametrize(("seed", "deadline"), [(0, False), (1, True), (2, False)])
def test_the_sets_that_are_found_are_nearly_the_best_of_all(seed, deadline):
    """Of 63 sets on each of three clusters, up to what beginnings and single exchanges may miss."""
    instance = many_sets(seed, deadline=deadline)
    found, cut = begun(instance)
    data = DataAtPrices(instance, DataFactors(instance))
    position = {site: o for o, site in enumerate(found.sites.sites)}
    for gain in (2.0, 10.0, 50.0):
        prices = Prices(0.7, gain, 0.0)
        values = on_every_site(found, prices, cut)
        tried = [position[site] for site in data.better(found, prices, cut)]
        start = values[cut.sites[0]]
        best, least = min(values[tried]), min(values)
        assert best <= start
        if np.isfinite(start):
            assert best - least <= 0.02 * (start - least) + 1e-9


# --- change points ------------------------------------------------------------------------------------


def one_cluster(seed, epochs=6):
    rng = np.random.default_rng([6, 43, seed])
    instance = crowded(rng, PowerDataLaw(p=0.4), datasets=2, clusters=1, epochs=epochs)
    return restricted(instance, listed_sites(instance)[:1])


def cost_of(found, models, sites, paid):
    """Of a sequence, and of the transfers to the sites that are paid."""
    loads = [found.sites.load(k, m, o) for k, (m, o) in enumerate(zip(models, sites, strict=True))]
    return allocate(loads, found.maximum_time, None).cost + found.paid(paid)


@pytest.mark.parametrize("seed", range(2))
def test_two_runs_end_as_the_cheapest_of_all_lengths(seed):
    """Model 0, then model 1, on one cluster: all are written out."""
    found = one_cluster(seed)
    plain = ChangePoints(found, None)
    every = {}
    for first, last in itertools.product(range(1, 6), range(1, 6)):
        if first + last <= 6:
            models, sites = (0,) * first + (1,) * last, (0,) * (first + last)
            row = plain.sequenced(np.array(models), np.array(sites))
            assert row.cost == pytest.approx(cost_of(found, models, sites, [0]), rel=1e-12)
            every[models, sites] = row
    room = sorted(row.label for row in every.values())[len(every) // 3]
    allowed = [row for row in every.values() if row.label <= room and math.isfinite(row.cost)]
    moves = ChangePoints(replace(found, room=room), None)
    best = min(row.cost for row in allowed)
    for start in every.values():
        end = moves.settled(start)
        assert end.label <= room
        assert end.cost == pytest.approx(best, rel=1e-9)


# --- sites --------------------------------------------------------------------------------------------

PRICES = Prices(0.7, 5.0, 0.0)


def small(seed, *, ordered=False):
    rng = np.random.default_rng([6, 41, seed])
    instance = crowded(rng, PowerDataLaw(p=0.4), datasets=2, clusters=2, epochs=3)
    barred = switches({("m1", "m0"): Forbidden()})
    return instance.replace(switches=barred) if ordered else instance


def sequences(found, chosen):
    """Models and sites of every allowed sequence on some sites."""
    kinds = list(itertools.product(range(len(found.models)), chosen))
    every = []
    for length in range(1, found.epochs + 1):
        for row in itertools.product(kinds, repeat=length):
            models, sites = [m for m, _ in row], [o for _, o in row]
            before = [len(found.models), *models[:-1]]
            if np.isfinite(found.changes[before, models]).all():
                every.append((models, sites))
    return every


def label_of(found, models, sites):
    before = [len(found.models), *models[:-1]]
    runs = (found.runs[o, k, m] for k, (m, o) in enumerate(zip(models, sites, strict=True)))
    return math.fsum(runs) + math.fsum(found.changes[p, m] for p, m in zip(before, models, strict=True))


def test_labels_are_those_of_chernoffs_bound_at_the_same_rate():
    instance = small(0)
    found, learning = restricted(instance), Learning.of(instance)
    entropic = entropic_label(0.1, RATE)
    for o, k, m in itertools.product(range(len(found.clusters)), range(3), range(2)):
        loss = learning.loss([m] * (k + 1), [found.sites.factors[o]] * (k + 1))
        exact = entropic.quantile(loss) - entropic.surcharge - learning.initial_loss
        assert found.runs[o, : k + 1, m].sum() == pytest.approx(exact, rel=1e-6)
        together = found.label_of(np.arange(k + 1), np.full(k + 1, m), found.sites.factors[[o]])
        assert together[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("seed", "ordered"), [(0, False), (1, True)])
def test_the_bound_holds_for_every_sequence_and_is_not_far_below(seed, ordered):
    instance = small(seed, ordered=ordered)
    found = restricted(instance)
    chosen = [0, len(found.clusters) // 2]
    every = sequences(found, chosen)
    totals = sorted(label_of(found, *row) for row in every)
    found = replace(found, room=totals[len(totals) // 4])
    costs = []
    for models, sites in every:
        if label_of(found, models, sites) <= found.room + 1e-12:
            costs.append(cost_of(found, models, sites, chosen))
    bound = found.dual(chosen, PRICES)
    assert bound.cut is not None
    assert 0.4 * min(costs) < bound.value <= min(costs) * (1 + 1e-9)
