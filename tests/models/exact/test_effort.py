"""Searches do no more work than they did: what saves none any more is noticed, though answers are the same.

Counted over small problems: subproblems begun, calls that go down four nodes each, leaves whose clusters are
chosen, assignments and parts bounded, spans searched by labels. The limits are the counts of the commit that
wrote them. A change that needs more of one to save another writes its own here, and says so.
"""

from collections import Counter

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.instances.hard_knapsacks import hard_knapsack, with_normal_weights
from depl.instances.reductions.chance import Chance
from depl.models.exact import chord_search, counted, search
from depl.models.exact.counted import Counted, scenario_search
from depl.models.exact.labels import LabelSearch
from depl.models.exact.law import Law, exact
from depl.models.exact.search import Search
from depl.models.exact.subproblem import Subproblem
from depl.models.problem.laws import Normal
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.limits import Limits
from depl.models.solving.result import Termination
from tests.problems import instance, model, site

COUNTED = {
    "subproblems": (Subproblem, "__post_init__"),
    "descents": (Subproblem, "proceed"),
    "leaves": (search, "cheapest_clusters"),
    "bounded": (Search, "_bounded"),
    "labelled": (LabelSearch, "cheapest"),
}


def drawn(seed, count, models=2, epochs=4):
    sizes = {"models": models, "clusters": 2, "datasets": 2, "maximum_epochs": epochs}
    sizes = {name: (size, size) for name, size in sizes.items()}
    return random_instances(np.random.default_rng(seed), count, **sizes)


def normal(seed, count, **fields):
    """Two models whose gains are normal, on two clusters, one fast and expensive."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        means, fast = rng.uniform(0.5, 1.5, 2), rng.uniform(1.5, 3)
        yield instance(
            *(
                model(name, Normal(mean=mean, variance=(mean * rng.uniform(0.1, 0.5)) ** 2), demand=3 * mean)
                for name, mean in zip("ab", means, strict=True)
            ),
            clusters=(site("slow"), site("fast", capacity=10 * fast, bandwidth=4, unit_cost=4)),
            **{"maximum_epochs": 6, "maximum_loss": 6, "maximum_time": 8, "other_switches": 0.1} | fields,
        )


def knapsacks(count):
    """Items of normal weights as epochs, to be taken or skipped."""
    rng = np.random.default_rng(5)
    for family in ("uncorrelated", "strongly-correlated") * (count // 2):
        yield Chance.reduce(with_normal_weights(hard_knapsack(family, 12, rng, largest=50), 0.9, rng))


def on_scenarios(problem):
    return scenario_search(problem, Limits(scenarios=draw_scenarios(problem, 40, 0)))


def under_law(problem):
    return exact(problem, Limits())


PARTS, LONG = {"few_assignments": lambda _: False}, {"LONG": 3, "_FEW_NODES": 20, "_FEW_LABELS": 120}
CASES = {
    "scenarios": (on_scenarios, lambda: drawn(1, 12, models=3, epochs=5), {}, (103, 239, 10, 120, 0)),
    "scenarios, in parts": (on_scenarios, lambda: drawn(2, 8), PARTS, (80, 37, 3, 191, 0)),
    "scenarios, many epochs": (on_scenarios, lambda: knapsacks(4), LONG, (4, 92, 1, 4, 0)),
    "law": (under_law, lambda: drawn(3, 12), {}, (151, 140, 51, 106, 0)),
    "law, in parts": (under_law, lambda: drawn(4, 6), PARTS, (112, 175, 65, 163, 0)),
    "chords": (under_law, lambda: normal(5, 8), {}, (14, 58, 30, 8, 0)),
    "chords, many epochs": (under_law, lambda: normal(6, 5), LONG, (161, 923, 397, 139, 0)),
    "chords, labels": (under_law, lambda: knapsacks(4), LONG, (0, 0, 0, 0, 916)),
}
"""Method, problems, constants that are changed, and the counts."""
ROOM = 0.03
"""Share of a count, and at least one, that may come on top: processors round differently, and ties may fall
the other way."""


@pytest.mark.parametrize("case", CASES)
def test_searches_do_no_more_work_than_before(case, monkeypatch):
    solve, problems, constants, limits = CASES[case]
    counts = Counter()

    def count(owner, name, label):
        original = getattr(owner, name)

        def counting(*arguments, **options):
            counts[label] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    for label, (owner, name) in COUNTED.items():
        count(owner, name, label)
    for risk in (Counted, Law, chord_search.Chords):
        monkeypatch.setattr(risk, "nodes_per_call", 4)
    for module in (counted, chord_search, search):
        for name in set(constants) & set(vars(module)):
            monkeypatch.setattr(module, name, constants[name])
    assert {solve(problem).termination for problem in problems()} == {Termination.OPTIMAL}
    most = {name: limit + max(1, int(ROOM * limit)) for name, limit in zip(COUNTED, limits, strict=True)}
    assert {label: counts[label] for label in COUNTED if counts[label] > most[label]} == {}
