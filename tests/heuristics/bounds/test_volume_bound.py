"""The frontier against every real site: bounds in every interval, deadlines, rows of clusters and corners."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.bounds.frontier import Frontier
from depl.heuristics.data.sites import DataFactors, Site, transfers_of
from depl.models.problem.epochs import load
from depl.models.problem.learning import PowerDataLaw
from tests.cases.loop_cases import DATA_LAWS, TABLES, crowded, nonempty_sets, psi, tabled
from tests.problems import datasets, model, site
from tests.problems import instance as made


@pytest.fixture(scope="module")
def crowd():
    return crowded(np.random.default_rng([6, 21]), PowerDataLaw(p=0.5))


def frontier_values(frontier, lam, gain, gain_price, nu):
    """The least reduced cost of an epoch over the entries, for every model."""
    priced = frontier.at(lam).psi[0]
    factor = frontier.factors if gain > 0 else frontier.low
    h = frontier.low if nu > 0 else frontier.high
    return np.min(priced - gain_price * factor * gain + nu * h**2, axis=1)


def least_site(instance, lam, gain, gain_price, nu):
    """The least reduced cost of an epoch over all real sites, in scalars."""
    tau = math.inf if instance.target.round_deadline is None else instance.target.round_deadline
    epochs, found = range(1, instance.target.maximum_epochs + 1), []
    for item in instance.models:
        best = math.inf
        for n, place in enumerate(instance.clusters):
            for chosen in nonempty_sets(instance):
                loads = {load(instance, k, item.name, place.name, chosen) for k in epochs}
                value = min(psi(demand, lam, tau)[0] for demand in loads)
                h = instance.learning_factor(chosen)
                charge = transfers_of(instance, Site(n, chosen)) / instance.target.maximum_epochs
                best = min(best, value + charge - gain_price * h * gain + nu * h**2)
        found.append(best)
    return found


@pytest.mark.parametrize("law", DATA_LAWS)
def test_two_entries_per_interval_bound_every_real_site_at_every_epoch(law):
    """Few intervals too: the proof does not need short ones. Work is that of the data, or from tables."""
    place = DATA_LAWS.index(law)
    rng = np.random.default_rng(place)
    for tables, deadline, intervals in itertools.product((False, True), (False, True), (2, 400)):
        instance = crowded(rng, law, deadline=deadline, datasets=4, epochs=3)
        if tables:
            instance = tabled(rng, instance, TABLES[(place + deadline) % 4])
        frontier = Frontier.of(instance, DataFactors(instance), intervals)
        for lam in (0.05, 1.0, 20.0):
            gain, gain_price = float(rng.choice([1.0, -0.3])), float(rng.uniform(0, 30))
            nu = float(rng.choice([0.0, 3.0, -3.0]))
            bound = frontier_values(frontier, lam, gain, gain_price, nu)
            least = np.array(least_site(instance, lam, gain, gain_price, nu))
            assert (bound <= least + 1e-9 * abs(least)).all()


def of_equal_data(volume, place, *, size, law=None):
    """Six datasets alike on one cluster within 1, a model of demand 1."""
    equal = datasets(**{f"d{i}": volume for i in range(6)})
    net = model("net", 1, 1, size)
    return made(net, clusters=place, datasets=equal, data_law=law, round_deadline=1, maximum_epochs=5)


@pytest.mark.parametrize("intervals", [1, 7, 400])
def test_a_round_deadline_inside_an_interval_leaves_the_sites_that_keep_it(intervals):
    """Five of six equal datasets keep the deadline, all six do not; gains are worth more than they cost."""
    instance = of_equal_data(1.0, site("c0", 5, 1, 1), size=0, law=PowerDataLaw(p=1))
    frontier = Frontier.of(instance, DataFactors(instance), intervals)
    least = least_site(instance, 1.0, 1.0, 100.0, 0.0)[0]
    assert least == pytest.approx(5 + 1 - 100 * 5 / 6)
    assert frontier_values(frontier, 1.0, 1.0, 100.0, 0.0)[0] <= least + 1e-9
    for lam in (0.0, 1.0):
        assert np.nanmin(frontier.fastest) <= 1 / 5 + 1e-9
        assert (frontier.fastest[0, 0] <= 1 + 1e-8).any()
        assert np.isfinite(frontier.at(lam).psi).any()


def test_dividing_the_intervals_that_decide_raises_the_bound_and_keeps_it_one(crowd):
    factors, gain = DataFactors(crowd), 1.0
    frontier = Frontier.of(crowd, factors, 6)
    lam, price = 2.0, 40.0
    least = np.array(least_site(crowd, lam, gain, price, 0.0))
    before = frontier_values(frontier, lam, gain, price, 0.0)
    first = before
    for _ in range(4):
        entry = int(np.argmin((frontier.at(lam).psi[0] - price * frontier.factors * gain).min(axis=0)))
        ends = frontier.finer_ends([entry], 4)
        assert len(ends) == len(frontier.low) // 2 + 4
        assert set(np.append(frontier.volumes[::2], frontier.volumes[-1])) <= set(ends)
        frontier = Frontier.between(crowd, factors, ends)
        values = frontier_values(frontier, lam, gain, price, 0.0)
        assert (values <= least * (1 + 1e-9)).all()
        before = values
    assert before.min() > first.min()


def test_the_deadline_of_a_frontier_has_the_tolerance_of_a_plan():
    """Sending alone takes all of tau but a billionth: a plan may do that, so the frontier must."""
    instance = of_equal_data(0.5, site("c0", 1e10, 1, 1e-9), size=1)
    least = least_site(instance, 1.0, 1.0, 0.0, 0.0)[0]
    assert math.isfinite(least)
    frontier = Frontier.of(instance, DataFactors(instance), 400)
    assert frontier_values(frontier, 1.0, 1.0, 0.0, 0.0)[0] <= least
    assert frontier.fastest.min() <= 1 + 1e-9


def test_restricted_frontiers_are_those_of_fewer_clusters():
    crowd = crowded(np.random.default_rng(5), PowerDataLaw(p=0.5))
    factors = DataFactors(crowd)
    alone = [
        Frontier.of(crowd.replace(clusters=(place,), transfers=()), factors, 400) for place in crowd.clusters
    ]
    bare = Frontier.of(crowd.replace(transfers=()), factors, 400)
    for lam in (0.1, 2.0):
        parts = np.stack([item.at(lam).psi for item in alone])
        assert bare.at(lam).psi == pytest.approx(parts.min(axis=0), rel=1e-12)
        pair = bare.restricted([0, 2]).at(lam).psi
        assert pair == pytest.approx(parts[[0, 2]].min(axis=0), rel=1e-12)
        which = bare.clusters[bare.rows_at(lam)[2]]
        assert (which == parts[:, 0].argmin(axis=0)).all()


def test_charges_in_any_shares_bound_all_plans_of_a_small_instance():
    """All sequences of three epochs on all data of two clusters; each cluster pays for its data once."""
    rng = np.random.default_rng([41, 0])
    instance = crowded(rng, PowerDataLaw(p=0.6), datasets=3, clusters=2, models=1, epochs=3)
    shares = rng.dirichlet([0.5] * 3, size=len(instance.clusters)).T  # every cluster has its own
    frontier = Frontier.of(instance, DataFactors(instance), 400).charged(3 * shares, np.arange(3))
    lam, gain_price, tau = 0.7, 4.0, math.inf
    gains = rng.uniform(0.2, 2, 3)
    priced = frontier.at(lam)
    bound = sum(
        float(np.min(priced.psi[row, 0] - gain_price * gain * frontier.factors))
        for row, gain in zip(priced.rows_of(3).tolist(), gains.tolist(), strict=True)
    )
    name, sets = instance.models[0].name, nonempty_sets(instance)
    costs = []
    for chosen in itertools.product(sets, sets):
        epoch, paid = [], []
        for n, (place, data) in enumerate(zip(instance.clusters, chosen, strict=True)):
            value, _ = psi(load(instance, 1, name, place.name, data), lam, tau)
            epoch.append(value - gain_price * instance.learning_factor(data) * gains)
            paid.append(transfers_of(instance, Site(n, data)))
        for sequence in itertools.product((0, 1), repeat=3):
            reduced = sum(float(epoch[n][k]) for k, n in enumerate(sequence))
            costs.append(reduced + sum(paid[n] for n in set(sequence)))
    assert bound <= min(costs) + 1e-9
    equal = frontier.charged(np.ones((1, 1)), np.zeros(3, dtype=np.int64))
    assert equal.at(lam).psi[0] == pytest.approx(
        Frontier.of(instance, DataFactors(instance), 400).at(lam).psi[0]
    )


def test_shares_above_one_are_taken_back_to_one(crowd):
    frontier, epochs = Frontier.of(crowd, DataFactors(crowd), 400), crowd.target.maximum_epochs
    asked = np.linspace(0, 2 * epochs, epochs)[:, None] * np.array([1.0, 0.5, 1 / epochs])
    shared = frontier.charged(asked, np.arange(epochs))
    assert shared.weights.mean(axis=0) == pytest.approx([1, 1, 1])
    assert (shared.weights.mean(axis=0) <= 1).all()
