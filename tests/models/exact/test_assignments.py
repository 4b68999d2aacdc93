"""The kinds of an assignment against a grouping of all that it offers by what every epoch of it draws."""

from collections import defaultdict

import numpy as np

from depl.instances.generator import random_instances
from depl.models.exact.assignments import Assignment, make_assignment
from depl.models.exact.choices import Choices, Configuration
from depl.models.problem.epochs import LossStep, loss_step
from depl.models.problem.instance import Instance
from tests.cases.law_search_cases import BELL, COIN, make
from tests.cases.site_cases import with_rules

Learned = tuple[str, tuple[LossStep, ...]]


def learned(problem: Choices, chosen: Configuration) -> Learned:
    """The model and what it draws in every epoch on the data."""
    instance = problem.instance
    name, epochs = instance.models[chosen.model].name, range(1, problem.epochs + 1)
    return name, tuple(loss_step(instance, k, 0, name, name, chosen.datasets) for k in epochs)


def grouped(problem: Choices, pairs: list[tuple[int, int]]) -> dict[Learned, set[int]]:
    """What the pairs offer, by position, grouped."""
    found: dict[Learned, set[int]] = defaultdict(set)
    for place, chosen in enumerate(problem.configurations):
        if (chosen.cluster, problem.subsets.index(chosen.datasets)) in pairs:
            found[learned(problem, chosen)].add(place)
    return dict(found)


def require_written(problem: Choices, pairs: list[tuple[int, int]], found: Assignment) -> None:
    """The kinds are the groups, each with its model and with a set of data that gains what it gains."""
    groups = grouped(problem, pairs)
    assert sorted(map(sorted, found.options)) == sorted(map(sorted, groups.values()))
    for model, subset, options in zip(found.models, found.subsets, found.options, strict=True):
        kind = learned(problem, Configuration(0, problem.subsets[subset], int(model)))
        assert set(options) == groups[kind]
    instance = problem.instance
    paid = sum(
        instance.transfer_cost(name, instance.clusters[cluster].name)
        for cluster, data in pairs
        for name in problem.subsets[data]
    )
    assert abs(found.transfers - paid) <= 1e-12 * paid


def instances() -> list[Instance]:
    """Random ones, in which data count, and others that gain the same on all data; some with site rules."""
    rng = np.random.default_rng(3)
    shape = {"clusters": (1, 3), "datasets": (1, 3), "models": (1, 3), "maximum_epochs": (1, 3)}
    alike = make([BELL, COIN]).models
    found = []
    for drawn in random_instances(rng, 6, **shape):
        found += [drawn, with_rules(rng, drawn), drawn.replace(models=alike, switches=())]
    return found


def test_kinds_are_what_learns_alike() -> None:
    """Of any clusters with any sets, several of one cluster among them."""
    rng, together, apart = np.random.default_rng(4), 0, 0
    for instance in instances():
        problem = Choices(instance)
        offered = [(n, d) for n, row in enumerate(problem.open_subsets) for d in row]
        for _ in range(4):
            pairs = [pair for pair in offered if rng.random() < 0.6]
            if pairs:
                found = make_assignment(problem, pairs)
                require_written(problem, pairs, found)
                for options in found.options:
                    sets = {problem.configurations[place].datasets for place in options}
                    together += len(sets) > 1
                apart += len(found.models) > len(set(found.models.tolist()))
    assert together > 5
    assert apart > 5
