"""Data choices in order of their bounds: divisions lose no assignment, and bounds hold for every plan."""

import itertools
import math
from dataclasses import replace

import numpy as np

from depl.heuristics.bounds.dual import start_prices
from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import Requirement, VarianceRange, largest_variance
from depl.heuristics.data.sites import DataFactors, Sites, listed_sites
from depl.heuristics.depl.data_stage import DataStage
from tests.cases.loop_cases import dual_of, moments
from tests.oracles.brute_force import every_plan
from tests.problems import drawn


def staged(instance, requirement):
    sites = Sites.of(instance, listed_sites(instance), DataFactors(instance))
    dual = dual_of(instance, Learning.of(instance), sites)
    return DataStage(sites, dual, instance.target.maximum_epochs, requirement)


def begun(instance, requirement):
    stage = staged(instance, requirement)
    stage.begin(start_prices(stage.dual, stage.everything(), requirement))
    return stage


def anything(instance):
    """What every plan keeps."""
    learning = Learning.of(instance)
    largest = largest_variance(*learning.with_stand_ins())
    return Requirement(-100.0, (VarianceRange(0.0, largest, 0.0, 0.0),))


def assignments(stage):
    """Every choice of clusters that train, with one site each."""
    sites = stage.sites.sites
    clusters = sorted({site.cluster for site in sites})
    options = [[None, *(o for o, site in enumerate(sites) if site.cluster == n)] for n in clusters]
    for chosen in itertools.product(*options):
        found = {n: o for n, o in zip(clusters, chosen, strict=True) if o is not None}
        if found:
            yield found


def lies_in(assignment, part):
    obliged = set(np.flatnonzero(part.obliged).tolist())
    return obliged <= set(assignment) and all(part.allowed[o] for o in assignment.values())


def contained(stage, assignment, choice):
    return all(choice.get(n) == stage.sites.sites[o].datasets for n, o in assignment.items())


def of_plan(instance, stage, plan):
    position = {(site.cluster, site.datasets): o for o, site in enumerate(stage.sites.sites)}
    names = [item.name for item in instance.clusters]
    return {
        names.index(row.cluster): position[names.index(row.cluster), frozenset(row.datasets)]
        for row in plan.data
    }


def test_every_assignment_is_contained_in_a_suggestion_and_choices_come_in_the_order_of_their_bounds():
    """With time for everything every assignment has a plan."""
    sizes = {"models": (1, 2), "clusters": (1, 3), "datasets": (1, 2), "maximum_epochs": (1, 3)}
    for drawn_one in drawn([6, 4], 5, **sizes):
        instance = drawn_one.replace(maximum_time=1e4, round_deadline=1e3)
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


def test_bounds_of_parts_hold_for_all_plans_and_the_data_of_the_cheapest_are_suggested_below_its_cost():
    sizes = {"models": (1, 2), "clusters": (1, 2), "datasets": (1, 2), "maximum_epochs": (1, 3)}
    given = [item for item in drawn([6, 5], 12, **sizes) if np.isfinite(Learning.of(item).variances).all()]
    compared = late = 0
    for instance in given:
        plans = [(cost, plan, moments(instance, plan)[0]) for cost, plan in every_plan(instance)]
        for fall in (0.3, 1.0, 2.5):
            stage = begun(instance, replace(anything(instance), fall=fall))
            kept = [(cost, of_plan(instance, stage, plan)) for cost, plan, gained in plans if gained >= fall]
            if not kept:
                continue
            least, wanted = min(kept, key=lambda pair: pair[0])
            choices, found = [], True
            while found is not None:
                for part in stage._waiting:
                    inside = [cost for cost, item in kept if lies_in(item, part)]
                    assert part.expected <= min(inside, default=math.inf)
                    compared += bool(inside)
                found = stage.next(lambda limit=least * (1 + 1e-9): limit)
                choices.extend([found[0]] if found else [])
            assert any(contained(stage, wanted, choice) for choice in choices)
            late += not contained(stage, wanted, choices[0])
    assert compared > 4 * len(given)
    assert late >= len(given) / 10
