"""Data choices in order of their bounds: divisions lose no assignment, and bounds hold for every plan."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from depl.heuristics.bounds.dual import Dual, start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import Requirement, VarianceRange, largest_variance
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.heuristics.depl.data_stage import DataChoice, DataPart, DataStage
from depl.instances.generator import random_instances
from depl.models.problem.instance import Dataset, Instance, Transfer
from depl.models.problem.plan import Plan
from tests.cases.loop_cases import moments, plain
from tests.oracles.brute_force import every_plan

Assignment = dict[int, int]
"""The site, by position, of every cluster that trains."""


def staged(instance: Instance, requirement: Requirement) -> DataStage:
    sites = Sites.of(instance, listed_sites(instance), DataFactors(instance))
    full = max(place.nodes * place.unit_cost * place.capacity for place in instance.clusters)
    highest_cost = instance.target.maximum_epochs * full + sum(row.cost for row in instance.transfers)
    dual = Dual(Learning.of(instance), sites, instance.target.maximum_time, highest_cost)
    return DataStage(sites, dual, instance.target.maximum_epochs, requirement)


def begun(instance: Instance, requirement: Requirement) -> DataStage:
    stage = staged(instance, requirement)
    stage.begin(start_prices(stage.dual, stage.everything(), requirement))
    return stage


def anything(instance: Instance) -> Requirement:
    """What every plan keeps."""
    learning = Learning.of(instance)
    largest = largest_variance(*learning.with_stand_ins())
    return Requirement(-100.0, (VarianceRange(0.0, largest, 0.0, 0.0),))


def assignments(stage: DataStage) -> Iterator[Assignment]:
    """Every choice of clusters that train, with one site each."""
    sites = stage.sites.sites
    clusters = sorted({site.cluster for site in sites})
    options = [[None, *(o for o, site in enumerate(sites) if site.cluster == n)] for n in clusters]
    for chosen in itertools.product(*options):
        found = {n: o for n, o in zip(clusters, chosen, strict=True) if o is not None}
        if found:
            yield found


def lies_in(assignment: Assignment, part: DataPart) -> bool:
    obliged = set(np.flatnonzero(part.obliged).tolist())
    return obliged <= set(assignment) and all(part.allowed[o] for o in assignment.values())


def contained(stage: DataStage, assignment: Assignment, choice: DataChoice) -> bool:
    return all(choice.get(n) == stage.sites.sites[o].datasets for n, o in assignment.items())


def parts(stage: DataStage) -> list[DataPart]:
    return list(stage._waiting)


def of_plan(instance: Instance, stage: DataStage, plan: Plan) -> Assignment:
    position = {(site.cluster, site.datasets): o for o, site in enumerate(stage.sites.sites)}
    names = [item.name for item in instance.clusters]
    return {
        names.index(row.cluster): position[names.index(row.cluster), frozenset(row.datasets)]
        for row in plan.data
    }


@pytest.fixture(scope="module", params=[5, pytest.param(25, marks=pytest.mark.slow)])
def relaxed(request: pytest.FixtureRequest) -> list[Instance]:
    """Time for everything: every assignment has a plan."""
    sizes = {"models": (1, 2), "clusters": (1, 3), "datasets": (1, 2), "maximum_epochs": (1, 3)}
    drawn = random_instances(np.random.default_rng([6, 4]), request.param, **sizes)
    return [item.replace(maximum_time=1e4, round_deadline=1e3) for item in drawn]


def test_every_assignment_of_a_divided_part_lies_in_one_of_the_two(relaxed: list[Instance]) -> None:
    """An idle cluster whose one site costs nothing to bring may be counted with it and without it."""
    divisions, leaves = 0, 0
    for instance in relaxed:
        stage = begun(instance, anything(instance))
        every = list(assignments(stage))
        transfers = stage.sites.transfers
        for _ in range(300):
            before = parts(stage)
            found = stage.next(lambda: math.inf)
            stage.divide(math.inf)
            if found is None:
                break
            after = parts(stage)
            [divided] = [part for part in before if all(part is not other for other in after)]
            children = [part for part in after if all(part is not other for other in before)]
            mine = [item for item in every if lies_in(item, divided)]
            if not children:
                leaves += 1
                assert all(contained(stage, item, found[0]) for item in mine)
                continue
            divisions += 1
            assert len(children) <= 2
            for child in children:
                assert (child.allowed <= divided.allowed).all()
                assert (child.obliged >= divided.obliged).all()
            changed = np.flatnonzero(np.any([divided.allowed != c.allowed for c in children], axis=0))
            [n] = {stage.sites.sites[o].cluster for o in changed} or {int(np.argmax(children[0].obliged))}
            for item in mine:
                count = sum(lies_in(item, child) for child in children)
                free = n not in item and (transfers[divided.allowed & (stage._clusters == n)] == 0).any()
                assert count == 1 or (free and count == 2)
        else:
            pytest.fail("does not end")
    assert divisions > 8 * len(relaxed)
    assert leaves > 4 * len(relaxed)


def test_every_assignment_is_contained_in_a_suggestion_and_choices_come_in_the_order_of_their_bounds(relaxed):
    for instance in relaxed:
        stage, choices, last = begun(instance, anything(instance)), [], -math.inf
        reached = stage.least
        assert stage.next(lambda limit=reached: limit) is None  # nothing from the cutoff on
        while (found := stage.next(lambda: math.inf)) is not None:
            choices.append(found[0])
            assert found[1].value >= last - 1e-4 * abs(last)
            last = found[1].value
        for item in assignments(stage):
            assert any(contained(stage, item, choice) for choice in choices)
        assert stage.least == math.inf


@pytest.fixture(scope="module", params=[12, pytest.param(25, marks=pytest.mark.slow)])
def with_plans(
    request: pytest.FixtureRequest,
) -> list[tuple[Instance, list[tuple[float, Plan, float, float]]]]:
    sizes = {"models": (1, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (1, 3)}
    drawn = random_instances(np.random.default_rng([6, 5]), request.param, **sizes)
    return [
        (item, [(cost, plan, *moments(item, plan)) for cost, plan in every_plan(item)])
        for item in drawn
        if np.isfinite(Learning.of(item).variances).all()
    ]


def test_the_bound_of_a_part_holds_for_all_its_plans(with_plans):
    compared = 0
    for instance, plans in with_plans:
        learning = Learning.of(instance)
        largest = largest_variance(learning.variances, learning.switch_variances)
        requirement = Requirement(1.0, (VarianceRange(0.0, largest, 0.0, 0.0),))
        stage = begun(instance, requirement)
        kept = [(cost, of_plan(instance, stage, plan)) for cost, plan, gain, _ in plans if gain >= 1.0]
        for _ in range(10):
            for part in parts(stage):
                least = min((cost for cost, item in kept if lies_in(item, part)), default=math.inf)
                assert part.expected <= least
                compared += math.isfinite(least)
            if stage.next(lambda: math.inf) is None:
                break
    assert compared > 4 * len(with_plans)


def test_the_data_of_the_cheapest_plan_are_suggested_before_their_bound_reaches_its_cost(with_plans):
    found_late = 0
    for instance, plans in with_plans:
        learning = Learning.of(instance)
        largest = largest_variance(learning.variances, learning.switch_variances)
        for fall in (0.3, 1.0, 2.5):
            kept = [(cost, plan) for cost, plan, gain, _ in plans if gain >= fall]
            if not kept:
                continue
            least, plan = min(kept, key=lambda pair: pair[0])
            stage = begun(instance, Requirement(fall, (VarianceRange(0.0, largest, 0.0, 0.0),)))
            wanted = of_plan(instance, stage, plan)
            choices = []
            while (found := stage.next(lambda limit=least * (1 + 1e-9): limit)) is not None:
                choices.append(found[0])
            assert any(contained(stage, wanted, choice) for choice in choices)
            found_late += not contained(stage, wanted, choices[0])
    assert found_late >= len(with_plans) / 10


@pytest.fixture
def two_datasets() -> Instance:
    """Three epochs at most; a to c0 is free, b costs 6; on c1 a costs 9 and b is free."""
    return plain(clusters=((3.0, 10.0), (1.0, 10.0))).replace(
        datasets=(Dataset(name="a", volume=1), Dataset(name="b", volume=1)),
        transfers=(
            Transfer(dataset="b", cluster="c0", cost=6.0),
            Transfer(dataset="a", cluster="c1", cost=9.0),
        ),
    )


def test_what_obliged_clusters_pay_is_paid_and_all_else_is_shared(two_datasets: Instance) -> None:
    stage = staged(two_datasets, anything(two_datasets))
    names = {site: o for o, site in enumerate(stage.sites.sites)}
    both, a, b = frozenset("ab"), frozenset("a"), frozenset("b")
    everything = stage.everything()
    assert everything.paid == 0
    shares = {(0, both): 2.0, (0, a): 0.0, (0, b): 2.0, (1, both): 3.0, (1, a): 3.0, (1, b): 0.0}
    assert {site: everything.charges[o] for site, o in names.items()} == shares
    allowed = np.array([site.datasets != b for site in stage.sites.sites])
    part = stage.part(allowed, np.array([False, True]))
    assert part.paid == 9
    assert {site: part.charges[o] for site, o in names.items()} == {
        (0, both): 2.0,
        (0, a): 0.0,
        (0, b): math.inf,
        (1, both): 0.0,
        (1, a): 0.0,
        (1, b): math.inf,
    }
    nothing = stage.part(np.zeros(6, dtype=bool), np.array([True, False]))
    assert np.isinf(nothing.charges).all()
