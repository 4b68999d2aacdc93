"""Instances for the tests of the loop, and scalar oracles that share no code with it."""

import itertools
import math

import msgspec
import pytest

from depl.heuristics.bounds.dual import Dual
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.instance import ComputeTable, Dataset
from depl.models.problem.laws import Normal
from depl.models.problem.learning import (
    InverseLogDataLaw,
    InverseSqrtImprovement,
    LogDataLaw,
    PowerDataLaw,
)
from depl.models.verifier.verify import verify
from tests.problems import instance, model, site

DATA_LAWS = (
    None,
    PowerDataLaw(p=0.4),
    PowerDataLaw(p=1.6),
    InverseLogDataLaw(),
    LogDataLaw(a=9, b=2, base_volume=1),  # K <= 2 b from Q = e**2.5 on: neither convex nor concave below
    LogDataLaw(a=40, b=2, base_volume=1),
)
"""Laws of all shapes: h constant, concave, convex, concave, mixed, concave."""


def crowded(rng, law=None, *, datasets=7, clusters=3, models=2, epochs=5, deadline=False):
    """More datasets than are listed, of any quality, each free on its home cluster."""
    volumes, works = rng.uniform(0.3, 3, datasets), rng.uniform(0.2, 3, datasets)
    homes = rng.integers(clusters, size=datasets)
    tau = float(rng.uniform(1.0, 2.5)) if deadline else None
    places = tuple(
        site(
            f"c{n}",
            float(rng.uniform(4, 12)),
            float(rng.uniform(2, 9)),
            float(rng.uniform(0.5, 2)),
            nodes=int(rng.integers(1, 3)),
        )
        for n in range(clusters)
    )
    costs = {
        (f"d{i}", f"c{n}"): float(rng.uniform(0.2, 6))
        for i, n in itertools.product(range(datasets), range(clusters))
        if homes[i] != n
    }
    return instance(
        *(_fading(rng, f"m{m}") for m in range(models)),
        name="crowded",
        clusters=places,
        datasets=tuple(
            Dataset(name=f"d{i}", volume=float(q), work=float(w))
            for i, (q, w) in enumerate(zip(volumes, works, strict=True))
        ),
        transfers=costs,
        data_law=law,
        maximum_loss=8,
        maximum_epochs=epochs,
        maximum_time=3.0 * epochs,
        round_deadline=tau,
    )


TABLES = ("each", "all", "mixed", "idle")
"""A table per dataset, one for any data, models of both kinds and without tables, datasets without work."""


def tabled(rng, given, kind):
    """The same with work from tables around what the data ask for."""
    models = []
    for m, item in enumerate(given.models):
        own = kind if kind != "mixed" else ("each", "all", "none")[m % 3]
        works = {
            data.name: data.workload * (own != "idle" or not i % 2) for i, data in enumerate(given.datasets)
        }
        rows = {None: 4.0} if own == "all" else works
        tables = tuple(
            ComputeTable(
                dataset=name,
                epochs=tuple(item.demand * work * rng.uniform(0.7, 1.3, given.target.maximum_epochs)),
            )
            for name, work in rows.items()
        )
        models.append(msgspec.structs.replace(item, compute=None if own == "none" else tables))
    return given.replace(models=tuple(models))


def _fading(rng, name):
    size, demand = float(rng.uniform(0, 2)), float(rng.uniform(0.5, 2))
    noise = Normal(mean=1, variance=0.1)
    return model(
        name, InverseSqrtImprovement(scale=float(rng.uniform(1, 3)), offset=1, noise=noise), demand, size
    )


def plain(
    gains=(2.0,),
    works=(8.0,),
    *,
    clusters=((3.0, 10.0),),
    wait=0.5,
    target=6.0,
    epochs=3,
    maximum_time=5.0,
    round_deadline=None,
):
    """Nothing random: models by gain and work on one dataset, clusters by unit cost and capacity."""
    return instance(
        *(model(f"m{m}", gain, work, wait) for m, (gain, work) in enumerate(zip(gains, works, strict=True))),
        name="plain",
        clusters=tuple(site(f"c{n}", capacity, 1, cost) for n, (cost, capacity) in enumerate(clusters)),
        datasets={"data": 1},
        maximum_loss=target,
        maximum_epochs=epochs,
        maximum_time=maximum_time,
        round_deadline=round_deadline,
    )


def psi(load, multiplier, deadline):
    """Least kappa x + lam t of an epoch and its time, in scalars; infinite where the deadline is missed."""
    shortest = load.communication + (load.work / load.capacity if load.work > 0 else 0.0)
    if shortest > deadline * (1 + 1e-9):
        return math.inf, math.nan
    if load.work == 0:
        return multiplier * load.communication, load.communication
    left = deadline - load.communication
    least = load.capacity if left * load.capacity <= load.work else load.work / left
    if load.price == 0:
        x = load.capacity
    else:
        x = min(max(math.sqrt(multiplier * load.work / load.price), least), load.capacity)
    if x == 0:
        return 0.0, math.inf
    time = load.work / x + load.communication
    return load.price * x + multiplier * time, time


def dual_of(given, learning, sites):
    """The dual on these sites; no plan costs more than full resources and all transfers."""
    full = max(place.nodes * place.unit_cost * place.capacity for place in given.clusters)
    highest_cost = given.target.maximum_epochs * full + sum(row.cost for row in given.transfers)
    return Dual(learning, sites, given.target.maximum_time, highest_cost)


def indices(items):
    """Places of clusters or models by their names."""
    return {item.name: place for place, item in enumerate(items)}


def require_certified(stage, found):
    """The verifier accepts the plan of a candidate at the candidate's own cost and loss."""
    plan = stage.plan(found)
    report, evaluation = verify(stage.instance, plan), evaluate(stage.instance, plan)
    assert report.ok
    assert report.violation.upper <= float(stage.instance.target.violation_budget) * (1 + 1e-12)
    assert evaluation.cost == pytest.approx(found.cost, rel=1e-9, abs=1e-12)
    assert evaluation.expected_loss == pytest.approx(found.loss.mean(), rel=1e-10, abs=1e-10)


def every_sequence(longest, models):
    """All sequences of at least one epoch."""
    for length in range(1, longest + 1):
        yield from itertools.product(range(models), repeat=length)


def nonempty_sets(given):
    """All nonempty sets of datasets."""
    names = [item.name for item in given.datasets]
    return [
        frozenset(chosen)
        for size in range(1, len(names) + 1)
        for chosen in itertools.combinations(names, size)
    ]


def moments(given, plan):
    """Mean gain and variance of a plan, from the moments of its laws one by one."""
    laws = {(row.previous, row.following): row.law for row in given.switches}
    gain, variance, before = 0.0, 0.0, given.target.initial_model
    for k, epoch in enumerate(plan.epochs):
        coefficient, law = given.model(epoch.model).improvement.at(k + 1)
        h = given.learning_factor(plan.datasets(epoch.cluster))
        gain += h * coefficient * law.moments().mean
        variance += (h * coefficient) ** 2 * law.moments().variance
        if before not in (None, epoch.model):
            change = laws.get((before, epoch.model), given.other_switches)
            if type(change).__name__ != "Zero":
                gain -= change.moments().mean
                variance += change.moments().variance
        before = epoch.model
    return gain, variance
