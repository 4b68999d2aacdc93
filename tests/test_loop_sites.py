"""Sites as they are priced, h of data, and two entries per interval below every real site."""

import itertools
import math

import numpy as np
import pytest

from depl.heuristics.loop import sites as module
from depl.heuristics.loop.sites import (
    DataFactors,
    Frontier,
    Site,
    Sites,
    has_frontier,
    listed_sites,
    may_be_listed,
    named,
    transfers_of,
)
from depl.instances.generator import random_instances
from depl.models.epochs import load
from depl.models.errors import NotCoveredError
from depl.models.learning import DataLaw, PowerDataLaw, SubsetEpochs, TableDataLaw
from depl.models.problem import Cluster, ComputeTable, Dataset, Instance, Model, Transfer
from tests.loop_cases import DATA_LAWS, crowded, nonempty_sets, plain, psi

LAM = (0.0, 1e-3, 0.1, 1.0, 7.0, 1e3)


def all_sites(instance: Instance) -> Sites:
    return Sites.of(instance, listed_sites(instance), DataFactors(instance))


@pytest.fixture(scope="module")
def drawn() -> tuple[Instance, ...]:
    return random_instances(np.random.default_rng([6, 1]), 25, datasets=(1, 4), maximum_epochs=(1, 6))


# --- h -------------------------------------------------------------------------------------------------


def test_h_is_that_of_the_instance_whatever_the_data_law(drawn: tuple[Instance, ...]) -> None:
    kinds = set()
    for instance in drawn:
        factors = DataFactors(instance)
        kinds.add(type(instance.data_law).__name__)
        assert factors.by_volume != isinstance(instance.data_law, TableDataLaw)
        for chosen in nonempty_sets(instance):
            assert factors.of(chosen) == pytest.approx(instance.learning_factor(chosen), rel=1e-12)
            if factors.by_volume:
                volume = sum(instance.dataset(name).volume for name in chosen)
                assert factors.at(np.array([volume]))[0] == pytest.approx(factors.of(chosen), rel=1e-12)
    assert len(kinds) == 5


def test_a_table_of_epochs_has_no_volumes(steady: Instance) -> None:
    table = TableDataLaw(subsets=(SubsetEpochs(datasets=("data",), epochs=3.0),))
    with pytest.raises(TypeError, match="no volumes"):
        DataFactors(steady.replace(data_law=table)).at(np.array([1.0]))


@pytest.mark.parametrize("law", DATA_LAWS)
def test_the_line_lies_above_h_on_its_interval(law: DataLaw | None) -> None:
    instance = crowded(np.random.default_rng(3), law)
    factors = DataFactors(instance)
    total = sum(item.volume for item in instance.datasets)
    for low, high in ((0.3, 0.5), (0.5, 2.0), (2.0, total), (0.3, total), (0.9 * total, total)):
        inside = np.linspace(low, high, 101)
        line = np.interp(inside, [low, high], factors.line_above(low, high))
        assert (line >= factors.at(inside) * (1 - 1e-12)).all()


def test_the_line_is_the_chord_where_h_is_convex_and_a_tangent_where_it_is_concave() -> None:
    rng = np.random.default_rng(4)
    convex, concave = (DataFactors(crowded(rng, PowerDataLaw(p=p))) for p in (2.0, 0.5))
    assert convex.line_above(1.0, 3.0) == pytest.approx(convex.at(np.array([1.0, 3.0])), rel=1e-14)
    middle, step = 2.0, 1e-6
    slope = float(np.diff(concave.at(np.array([middle - step, middle + step])))[0]) / (2 * step)
    here = float(concave.at(np.array(middle)))
    assert concave.line_above(1.0, 3.0) == pytest.approx([here - slope, here + slope], rel=1e-8)


# --- listed sites --------------------------------------------------------------------------------------


def test_every_cluster_is_listed_with_every_nonempty_set(drawn: tuple[Instance, ...]) -> None:
    for instance in drawn:
        found = listed_sites(instance)
        wanted = itertools.product(range(len(instance.clusters)), nonempty_sets(instance))
        assert sorted(map(hash, found)) == sorted(map(hash, (Site(n, chosen) for n, chosen in wanted)))


def test_the_prices_of_sites_are_those_of_their_loads(drawn: tuple[Instance, ...]) -> None:
    """Psi, time and the least time against scalars, for tables, deadlines and nodes."""
    late = 0
    for instance in drawn:
        sites = all_sites(instance)
        tau = math.inf if instance.target.round_deadline is None else instance.target.round_deadline
        for lam in LAM:
            priced = sites.at(lam)
            for o, site in enumerate(sites.sites):
                place = instance.clusters[site.cluster].name
                for k, m in itertools.product(
                    range(instance.target.maximum_epochs), range(len(instance.models))
                ):
                    epoch = load(instance, k + 1, instance.models[m].name, place, site.datasets)
                    value, time = psi(epoch, lam, tau)
                    row = min(k, len(priced.psi) - 1)
                    assert priced.psi[row, m, o] == pytest.approx(value, rel=1e-12, abs=1e-300)
                    shortest = sites.fastest[min(k, len(sites.fastest) - 1), m, o]
                    if math.isinf(value):
                        late += 1
                        assert shortest == math.inf
                    else:
                        assert priced.time[row, m, o] == pytest.approx(time, rel=1e-12)
                        assert shortest == pytest.approx(psi(epoch, 1e18, tau)[1], rel=1e-6)
                        assert sites.load(k, m, o) == pytest.approx(epoch) or sites.load(k, m, o) == epoch
    assert late > 100


def test_a_cluster_that_costs_nothing_always_uses_all_it_has() -> None:
    sites = all_sites(plain(clusters=((0.0, 4.0), (3.0, 4.0))))
    for lam in (0.0, 2.0):
        priced = sites.at(lam)
        assert priced.time[0, 0, 0] == 8 / 4 + 0.5
        assert priced.psi[0, 0, 0] == lam * 2.5
    assert sites.at(0.0).psi[0, 0, 1] == 0


def test_work_that_is_nothing_takes_no_resources_and_no_time() -> None:
    instance = plain()
    idle = Model(
        name="idle",
        size=1,
        improvement=instance.models[0].improvement,
        compute=(ComputeTable(epochs=(0.0, 8.0, 0.0)),),
    )
    sites = all_sites(instance.replace(models=(idle,)))
    priced = sites.at(3.0)
    assert priced.time[:, 0, 0] == pytest.approx([1, 1 + math.sqrt(8), 1])
    assert priced.psi[:, 0, 0] == pytest.approx([3, 3 + 2 * math.sqrt(3 * 3 * 8), 3])


def test_transfers_are_those_of_all_data_of_the_site(tiny: Instance) -> None:
    for site in listed_sites(tiny):
        rows = {(row.dataset, row.cluster): row.cost for row in tiny.transfers}
        place = tiny.clusters[site.cluster].name
        assert transfers_of(tiny, site) == sum(rows.get((name, place), 0.0) for name in site.datasets)
    everything = frozenset(item.name for item in tiny.datasets)
    assert named(tiny, {1: everything}) == {tiny.clusters[1].name: everything}


def test_more_pairs_than_can_be_listed_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LISTED", 380)
    crowd = crowded(np.random.default_rng(1))
    with pytest.raises(NotCoveredError, match=r"7 datasets on 3 clusters make 381 pairs, more than 380"):
        listed_sites(crowd)


def test_many_pairs_have_a_frontier_unless_tables_decide(steady: Instance) -> None:
    crowd = crowded(np.random.default_rng(1), datasets=8)
    assert has_frontier(crowd)
    assert not may_be_listed(crowd)  # 3 * 255 pairs
    assert may_be_listed(crowded(np.random.default_rng(1), datasets=8, clusters=2))
    assert may_be_listed(crowded(np.random.default_rng(1), datasets=5, clusters=20))
    tabled = Model(
        name="m", size=0, improvement=crowd.models[0].improvement, compute=(ComputeTable(epochs=(1.0,) * 5),)
    )
    assert may_be_listed(crowd.replace(models=(tabled,)))
    subsets = tuple(SubsetEpochs(datasets=tuple(sorted(d)), epochs=1.0) for d in nonempty_sets(crowd))
    assert may_be_listed(crowd.replace(data_law=TableDataLaw(subsets=subsets)))
    assert may_be_listed(steady)


def test_few_datasets_on_very_many_clusters_are_not_listed(steady: Instance) -> None:
    """31 sets on 700 clusters are more pairs than are listed; the frontier takes them."""
    places = tuple(Cluster(name=f"c{n}", capacity=5, bandwidth=1, unit_cost=1) for n in range(700))
    datasets = tuple(Dataset(name=f"d{i}", volume=1) for i in range(5))
    wide = steady.replace(clusters=places, datasets=datasets)
    assert not may_be_listed(wide)
    assert may_be_listed(wide.replace(clusters=places[:600]))


# --- the frontier --------------------------------------------------------------------------------------


def reduced(psi_of: np.ndarray, gain: float, spread: float, gain_price: float, nu: float) -> np.ndarray:
    return psi_of - gain_price * gain + nu * spread


def frontier_values(frontier: Frontier, lam: float, gain: float, gain_price: float, nu: float) -> np.ndarray:
    """The least reduced cost of an epoch over the entries, for every model."""
    priced = frontier.at(lam).psi[0]
    factor = frontier.factors if gain > 0 else frontier.low
    h = frontier.low if nu > 0 else frontier.high
    return np.min(priced - gain_price * factor * gain + nu * h**2, axis=1)


def least_site(instance: Instance, lam: float, gain: float, gain_price: float, nu: float) -> list[float]:
    """The least reduced cost of an epoch over all real sites, in scalars."""
    tau = math.inf if instance.target.round_deadline is None else instance.target.round_deadline
    found = []
    for model in instance.models:
        best = math.inf
        for n, place in enumerate(instance.clusters):
            for chosen in nonempty_sets(instance):
                value, _ = psi(load(instance, 1, model.name, place.name, chosen), lam, tau)
                h = instance.learning_factor(chosen)
                charge = transfers_of(instance, Site(n, chosen)) / instance.target.maximum_epochs
                best = min(best, value + charge - gain_price * h * gain + nu * h**2)
        found.append(best)
    return found


@pytest.mark.parametrize("intervals", [2, 5, 400])
@pytest.mark.parametrize("deadline", [False, True])
@pytest.mark.parametrize("law", DATA_LAWS)
def test_two_entries_per_interval_bound_every_real_site(
    law: DataLaw | None, deadline: bool, intervals: int
) -> None:
    """Few intervals too: the proof does not need them to be short."""
    rng = np.random.default_rng([DATA_LAWS.index(law), deadline, intervals])
    for _ in range(3):
        instance = crowded(rng, law, deadline=deadline)
        frontier = Frontier.of(instance, DataFactors(instance), intervals)
        for lam in (0.05, 1.0, 20.0):
            gain, gain_price = float(rng.choice([1.0, -0.3])), float(rng.uniform(0, 30))
            nu = float(rng.choice([0.0, 3.0, -3.0]))
            bound = frontier_values(frontier, lam, gain, gain_price, nu)
            least = least_site(instance, lam, gain, gain_price, nu)
            for low, high in zip(bound.tolist(), least, strict=True):
                assert low <= high + 1e-9 * abs(high)


def test_many_intervals_come_close_to_fractional_sets() -> None:
    """With equal datasets whole sets lie on the frontier, so the bound is nearly attained."""
    crowd = crowded(np.random.default_rng(8), PowerDataLaw(p=0.5), clusters=1)
    same = crowd.replace(
        datasets=tuple(Dataset(name=f"d{i}", volume=1, work=2) for i in range(7)),
        transfers=tuple(Transfer(dataset=f"d{i}", cluster="c0", cost=0.7) for i in range(7)),
    )
    frontier = Frontier.of(same, DataFactors(same))
    for lam, gain_price in ((0.3, 2.0), (1.0, 9.0), (4.0, 40.0)):
        bound = frontier_values(frontier, lam, 1.0, gain_price, 0.0)
        least = np.array(least_site(same, lam, 1.0, gain_price, 0.0))
        assert (bound <= least + 1e-9).all()
        assert bound == pytest.approx(least, rel=0.05, abs=0.05)


def test_free_data_at_home_bend_the_charges_and_the_line_stays_below_them() -> None:
    """F(Q) is 0 up to the volume 1 of the home data and then rises: a tangent must not be cut off at 0."""
    costs, volumes = np.array([0.0, 10.0]), np.array([1.0, 1.0])
    for low, high in ((0.5, 1.6), (1 - 1e-3, 1.2), (0.2, 0.9), (1.5, 2.0)):  # middles right and left of 1
        left, right = module._tangents(volumes, costs, np.array([low, high]))
        inside = np.linspace(low, high, 50)
        assert min(left, right) >= 0
        line = np.interp(inside, [low, high], [left, right])
        assert (line <= np.interp(inside, [0, 1, 2], [0, 0, 10]) + 1e-12).all()


@pytest.mark.parametrize("law", DATA_LAWS)
def test_lines_of_every_interval_lie_on_the_right_side(law: DataLaw | None) -> None:
    rng = np.random.default_rng([9, DATA_LAWS.index(law)])
    for intervals in (1, 3, 20):
        instance = crowded(rng, law)
        factors = DataFactors(instance)
        frontier = Frontier.of(instance, factors, intervals)
        volumes = np.array([item.volume for item in instance.datasets])
        works = np.array([item.workload for item in instance.datasets])
        costs = [
            [instance.transfer_cost(d.name, n.name) for d in instance.datasets] for n in instance.clusters
        ]
        for i in range(0, len(frontier.volumes), 2):
            ends = frontier.volumes[i : i + 2]
            inside = np.clip(np.linspace(*ends, 30), volumes.min(), volumes.sum())
            h = np.interp(inside, ends, frontier.factors[i : i + 2])
            assert (h >= factors.at(inside)).all()
            assert frontier.low[i] <= factors.at(inside).min()
            assert frontier.high[i] >= factors.at(inside).max()
            work = np.interp(inside, ends, frontier.work[0, i : i + 2]) / instance.models[0].demand
            assert (work <= fractional(volumes, works, inside) * (1 + 1e-12)).all()
            for n, row in enumerate(costs):
                paid = np.interp(inside, ends, frontier.charges[n, i : i + 2])
                limit = fractional(volumes, np.array(row), inside) / instance.target.maximum_epochs
                assert (paid <= limit * (1 + 1e-12) + 1e-12).all()


def fractional(volumes: np.ndarray, costs: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The least cost of a set of each volume of which one dataset may be cut, by a linear program's rule."""
    found = []
    for volume in wanted.tolist():
        left, paid = volume, 0.0
        for ratio, size in sorted(zip((costs / volumes).tolist(), volumes.tolist(), strict=True)):
            taken = min(left, size)
            paid, left = paid + ratio * taken, left - taken
        found.append(paid)
    return np.array(found)


@pytest.mark.parametrize("intervals", [1, 2, 7, 400])
def test_a_round_deadline_inside_an_interval_leaves_the_sites_that_keep_it(intervals: int) -> None:
    """Five of six equal datasets keep the deadline, all six do not; gains are worth more than they cost."""
    crowd = crowded(np.random.default_rng(2), PowerDataLaw(p=1), clusters=1, datasets=6, models=1)
    net = Model(name="net", size=0, demand=1, improvement=crowd.models[0].improvement)
    place = Cluster(name="c0", capacity=5.0, bandwidth=1, unit_cost=1)
    equal = tuple(Dataset(name=f"d{i}", volume=1) for i in range(6))
    instance = crowd.replace(
        models=(net,), clusters=(place,), datasets=equal, transfers=(), round_deadline=1.0
    )
    frontier = Frontier.of(instance, DataFactors(instance), intervals)
    least = least_site(instance, 1.0, 1.0, 100.0, 0.0)[0]
    assert least == pytest.approx(5 + 1 - 100 * 5 / 6)
    assert frontier_values(frontier, 1.0, 1.0, 100.0, 0.0)[0] <= least + 1e-9
    for lam in (0.0, 1.0):
        assert np.nanmin(frontier.fastest) <= 1 / 5 + 1e-9
        assert (frontier.fastest[0, 0] <= 1 + 1e-8).any()
        assert np.isfinite(frontier.at(lam).psi).any()


def test_the_deadline_of_a_frontier_has_the_tolerance_of_a_plan() -> None:
    """Sending alone takes all of tau but a billionth: a plan may do that, so the frontier must."""
    crowd = crowded(np.random.default_rng(2), clusters=1, datasets=6, models=1)
    net = Model(name="net", size=1, demand=1, improvement=crowd.models[0].improvement)
    place = Cluster(name="c0", capacity=1e10, bandwidth=1, unit_cost=1e-9)
    equal = tuple(Dataset(name=f"d{i}", volume=0.5) for i in range(6))
    instance = crowd.replace(
        models=(net,), clusters=(place,), datasets=equal, transfers=(), round_deadline=1.0
    )
    least = least_site(instance, 1.0, 1.0, 0.0, 0.0)[0]
    assert math.isfinite(least)
    frontier = Frontier.of(instance, DataFactors(instance))
    assert frontier_values(frontier, 1.0, 1.0, 0.0, 0.0)[0] <= least
    assert frontier.fastest.min() <= 1 + 1e-9


def test_restricted_frontiers_are_those_of_fewer_clusters() -> None:
    crowd = crowded(np.random.default_rng(5), PowerDataLaw(p=0.5))
    factors = DataFactors(crowd)
    alone = [Frontier.of(crowd.replace(clusters=(place,), transfers=()), factors) for place in crowd.clusters]
    bare = Frontier.of(crowd.replace(transfers=()), factors)
    for lam in (0.1, 2.0):
        parts = np.stack([item.at(lam).psi for item in alone])
        assert bare.at(lam).psi == pytest.approx(parts.min(axis=0), rel=1e-12)
        pair = bare.restricted([0, 2]).at(lam).psi
        assert pair == pytest.approx(parts[[0, 2]].min(axis=0), rel=1e-12)
        which = bare.clusters_at(lam)[2]
        assert (which == parts[:, 0].argmin(axis=0)).all()


def test_the_guide_prices_fractional_sets_as_they_are() -> None:
    crowd = crowded(np.random.default_rng(6), PowerDataLaw(p=0.5), clusters=1)
    guide = Frontier.guide(crowd, DataFactors(crowd), 9)
    assert guide.volumes[-1] == pytest.approx(sum(item.volume for item in crowd.datasets))
    assert guide.volumes[0] == min(item.volume for item in crowd.datasets)
    everything = frozenset(item.name for item in crowd.datasets)
    for m, model in enumerate(crowd.models):
        whole = load(crowd, 1, model.name, "c0", everything)
        value, time = psi(whole, 1.3, math.inf)
        charge = transfers_of(crowd, Site(0, everything)) / crowd.target.maximum_epochs
        assert guide.at(1.3).psi[0, m, -1] == pytest.approx(value + charge, rel=1e-12)
        assert guide.at(1.3).time[0, m, -1] == pytest.approx(time, rel=1e-12)


def test_a_frontier_of_free_and_dear_clusters_has_finite_prices(steady: Instance) -> None:
    crowd = crowded(np.random.default_rng(7))
    free = Cluster(name="c0", capacity=5, bandwidth=2, unit_cost=0)
    mixed = crowd.replace(clusters=(free, *crowd.clusters[1:]))
    frontier = Frontier.of(mixed, DataFactors(mixed))
    for lam in (0.0, 1.0):
        values, times, which = frontier.clusters_at(lam)
        assert np.isfinite(values).all()
        assert not np.isnan(times).any()
        assert (which >= 0).all()
