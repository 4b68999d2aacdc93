"""Work that is listed by epoch where sites cannot be: sums below the tables, bounds, verified plans."""

import itertools
import math

import msgspec
import numpy as np
import pytest

import depl
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.lower_bound import Proof
from depl.heuristics.bounds.volume_bound import Frontier, work_of_data
from depl.heuristics.data import sites as sites_module
from depl.heuristics.data.sites import DataFactors, Site, has_frontier, transfers_of
from depl.models.problem.epochs import compute, load
from depl.models.problem.instance import ComputeTable, Instance
from depl.models.solving.methods import Limits, find
from depl.models.solving.result import Termination
from depl.models.verifier.verify import verify
from tests.cases.loop_cases import DATA_LAWS, crowded, nonempty_sets, psi

KINDS = ("each", "all", "mixed", "idle")
"""A table per dataset, one for any data, models of both kinds and without tables, datasets without work."""


def tabled(rng: np.random.Generator, instance: Instance, kind: str) -> Instance:
    """The same with work from tables around what the data ask for."""
    epochs, models = instance.target.maximum_epochs, []
    for m, model in enumerate(instance.models):
        own = kind if kind != "mixed" else ("each", "all", "none")[m % 3]

        def column(work: float) -> tuple[float, ...]:
            return tuple((work * rng.uniform(0.7, 1.3, epochs)).tolist())

        tables: tuple[ComputeTable, ...] | None = tuple(
            ComputeTable(
                dataset=item.name,
                epochs=column(0.0 if own == "idle" and i % 2 else model.demand * item.workload),
            )
            for i, item in enumerate(instance.datasets)
        )
        if own == "all":
            tables = (ComputeTable(epochs=column(model.demand * 4.0)),)
        models.append(msgspec.structs.replace(model, compute=None if own == "none" else tables))
    return instance.replace(models=tuple(models))


def drawn(seed: int, kind: str, **sizes: int) -> Instance:
    rng = np.random.default_rng([2213, seed, KINDS.index(kind)])
    given = {"datasets": 4, "clusters": 2, "models": 3, "epochs": 3, **sizes}
    return tabled(rng, crowded(rng, DATA_LAWS[seed % len(DATA_LAWS)], deadline=seed % 3 == 0, **given), kind)


@pytest.fixture
def few_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is listed where a frontier may stand for it."""
    for name in ("MOST_LISTED", "FEW_LISTED"):
        monkeypatch.setattr(sites_module, name, 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_what_stands_for_tables_is_below_them_at_every_epoch(seed: int, kind: str) -> None:
    instance = drawn(seed, kind)
    alone, shares, fixed = work_of_data(instance)
    position = {item.name: d for d, item in enumerate(instance.datasets)}
    met = 0
    for chosen in nonempty_sets(instance):
        below = shares * (fixed + alone[[position[name] for name in chosen]].sum())
        for m, model in enumerate(instance.models):
            least = min(compute(instance, k, model.name, chosen) for k in (1, 2, 3))
            assert below[m] <= least
            met += below[m] > 0.999 * least
    assert met > 0  # so it is no empty bound


@pytest.mark.parametrize(("seed", "kind"), list(enumerate(KINDS)))
def test_the_frontier_is_below_every_site_at_every_epoch(seed: int, kind: str) -> None:
    instance = drawn(seed, kind)
    frontier = Frontier.of(instance, DataFactors(instance), 5)
    tau = math.inf if instance.target.round_deadline is None else instance.target.round_deadline
    for lam, gain_price in ((0.05, 3.0), (1.0, 0.0), (20.0, 30.0)):
        bound = (frontier.at(lam).psi[0] - gain_price * frontier.factors).min(axis=1)
        for m, model in enumerate(instance.models):
            for k, n, chosen in itertools.product((1, 2, 3), (0, 1), nonempty_sets(instance)):
                value, _ = psi(load(instance, k, model.name, instance.clusters[n].name, chosen), lam, tau)
                charge = transfers_of(instance, Site(n, chosen)) / instance.target.maximum_epochs
                real = value + charge - gain_price * instance.learning_factor(chosen)
                assert bound[m] <= real + 1e-9 * abs(real)


@pytest.mark.usefixtures("few_listed")
@pytest.mark.parametrize(
    ("seed", "kind"),
    [
        *((place % 3, kind) for place, kind in enumerate(KINDS)),
        *(pytest.param(0, kind, marks=pytest.mark.slow) for kind in KINDS[1:3]),
    ],
)
def test_the_bound_below_tables_does_not_exceed_the_optimum(seed: int, kind: str) -> None:
    instance = drawn(seed, kind, datasets=2, models=2)
    assert has_frontier(instance)
    proof = Proof.of(instance, Learning.of(instance), DataFactors(instance))
    assert proof.outlook is not None
    optimum = find("enumerate").run(instance, Limits())
    assert optimum.termination in (Termination.OPTIMAL, Termination.INFEASIBLE)
    if optimum.plan is None:
        return
    assert not proof.obstacle()
    found = proof.bound()
    assert not found.infeasible
    assert found.value > 0.0 or kind == "idle"  # data without work, at home, teach for nothing
    assert found.value <= optimum.lower_bound * (1 + 1e-9)


@pytest.mark.usefixtures("few_listed")
@pytest.mark.parametrize("kind", ["each", pytest.param("mixed", marks=pytest.mark.slow)])
def test_plans_without_a_list_of_sites_are_verified_and_near_the_optimum(kind: str) -> None:
    instance = drawn(1, kind, datasets=2, models=2)
    optimum, found = depl.solve(instance, "enumerate"), depl.solve(instance, "depl", gap=0.5)
    assert verify(instance, found.plan).ok
    assert found.lower_bound <= optimum.cost * (1 + 1e-9)
    assert optimum.cost * (1 - 1e-9) <= found.cost <= 1.25 * optimum.cost


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_thirteen_datasets_on_three_clusters_are_answered(kind: str) -> None:
    instance = drawn(2, kind, datasets=13, clusters=3)
    found = depl.solve(instance, "depl", time_limit=20)
    assert 0.0 < found.lower_bound <= found.cost
