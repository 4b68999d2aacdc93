"""Clusters that differ a little: the cheapest are found, and an end to the time is an end to the choices."""

import itertools
import math

import numpy as np
import pytest

import depl
from depl.models.exact import clusters
from depl.models.exact.assignments import make_assignment
from depl.models.exact.choices import Choices
from depl.models.exact.clusters import cheapest_clusters
from depl.models.problem.instance import ComputeTable
from tests.problems import model, site

CHOICES = 2_000
"""More than are tried before the time is up."""


def similar(bell, seed, vary=False, sites=5, epochs=4):
    """Clusters of which the faster ones cost more; every plan meets the target, so only the time counts."""
    rng = np.random.default_rng(seed)
    bandwidths = 2 * np.exp(rng.uniform(-1, 1, sites))
    chosen = tuple(
        site(
            f"site{index}",
            capacity=10 * float(np.exp(rng.uniform(-0.3, 0.3))),
            bandwidth=float(bandwidth),
            unit_cost=3 * float((bandwidth / 2) ** rng.uniform(0.5, 2)),
        )
        for index, bandwidth in enumerate(bandwidths)
    )
    work = tuple(float(x) for x in 8 * np.exp(rng.uniform(-0.1, 0.1, epochs)))
    tables = (ComputeTable(epochs=work),) if vary else None
    return bell.replace(
        clusters=chosen,
        models=(model("net", bell.models[0].improvement, compute=tables),),
        initial_loss=10,
        maximum_loss=10 - 1.7 * epochs,
        maximum_epochs=epochs,
        maximum_time=1.3 * epochs,
    )


def parts(instance):
    """What is asked of the clusters of one sequence, all of them with all data."""
    problem = Choices(instance)
    pairs = [(cluster, len(problem.subsets) - 1) for cluster in range(len(instance.clusters))]
    return problem, make_assignment(problem, pairs)


@pytest.mark.parametrize("most", [1, 20])
def test_choices_without_number_do_not_hold_up_what_is_out_of_time(bell, most, monkeypatch):
    """Each is as good as the one before, so that nothing else ends them."""
    problem, assignment = parts(similar(bell, 0))
    tried, looks = itertools.count(), itertools.count()

    def near(_, __, options, ___):
        while next(tried) < CHOICES:
            yield [row[0] for row in options]
        raise AssertionError("it goes on although the time is up")

    monkeypatch.setattr(clusters, "_near", near)
    monkeypatch.setattr(clusters, "_ROUNDING", -1.0)  # there is always something left to try
    cheapest_clusters(problem, assignment, [0] * 4, 1.0, lambda: next(looks) < most)
    assert 0 < next(tried) <= most + 1


def counted(monkeypatch):
    """The next number of how many plans were costed from here on."""
    costed, count = clusters.costed, itertools.count()
    monkeypatch.setattr(clusters, "costed", lambda *given: next(count) >= 0 and costed(*given))
    return count


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("vary", [False, True])
def test_the_cheapest_of_similar_clusters_are_those_of_all_choices(bell, seed, vary, monkeypatch):
    """Of 70 choices those alone are costed that the bound leaves, beside one for each price of time."""
    epochs = 4
    problem, assignment = parts(similar(bell, seed, vary))
    rows = itertools.product(assignment.options[0], repeat=epochs)
    every = (clusters.costed(problem, row) for row in rows)
    least = min((plan.cost for plan in every if plan is not None), default=math.inf)
    count = counted(monkeypatch)
    for guess in (0.0, 1.0, 1e3):
        plan = cheapest_clusters(problem, assignment, [0] * epochs, guess)
        assert plan.cost == pytest.approx(least, rel=1e-12)
    assert next(count) <= 3 * (41 + 20)


def test_the_price_of_time_of_a_plan_itself_mostly_proves_its_clusters_at_once(monkeypatch):
    """Halvings of the bracket alone cost 46 plans."""
    count = counted(monkeypatch)
    assert depl.solve(depl.load("tiny"), "exact").cost == pytest.approx(28.0)
    assert 0 < next(count) <= 8
