"""Ten clusters that differ a little, a hundred epochs: few of the many ways to choose are tried."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from depl.models.exact import clusters
from depl.models.exact.assignments import make_assignment
from depl.models.exact.choices import Choices
from depl.models.exact.clusters import cheapest_clusters
from depl.models.exact.prices import Prices
from depl.models.problem.instance import ComputeTable
from tests.problems import model, site

CHOICES = 2_000
"""Choices that are enough for ten clusters; without bounds there are 10**12."""


def similar(bell, seed, sites=10, epochs=100, vary=False):
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
    return problem, Prices.of(problem), make_assignment(problem, pairs)


@pytest.mark.parametrize("seed", range(2, 8))
def test_few_choices_of_similar_clusters_are_tried(bell, seed):
    problem, prices, assignment = parts(similar(bell, seed))
    tried = itertools.count()
    plan = cheapest_clusters(
        problem, prices, assignment, [0] * 100, 1.0, math.inf, lambda: next(tried) < CHOICES
    )
    assert plan is not None
    assert next(tried) < CHOICES


@pytest.mark.parametrize("most", [1, 20])
def test_choices_without_number_do_not_hold_up_what_is_out_of_time(bell, most, monkeypatch):
    """Each is as good as the one before, so that nothing else ends them."""
    problem, prices, assignment = parts(similar(bell, 0, sites=5, epochs=4))
    tried, looks = itertools.count(), itertools.count()

    def near(_, __, options, ___):
        while next(tried) < CHOICES:
            yield [row[0] for row in options]
        raise AssertionError("it goes on although the time is up")

    monkeypatch.setattr(clusters, "_near", near)
    monkeypatch.setattr(clusters, "_ROUNDING", -1.0)  # there is always something left to try
    cheapest_clusters(problem, prices, assignment, [0] * 4, 1.0, math.inf, lambda: next(looks) < most)
    assert 0 < next(tried) <= most + 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("vary", [False, True])
def test_the_cheapest_of_similar_clusters_are_those_of_all_choices(bell, seed, vary):
    epochs = 4
    problem, prices, assignment = parts(similar(bell, seed, sites=5, epochs=epochs, vary=vary))
    rows = itertools.product(assignment.options[0], repeat=epochs)
    every = (clusters.costed(problem, row) for row in rows)
    least = min((plan.cost for plan in every if plan is not None), default=math.inf)
    for guess in (0.0, 1.0, 1e3):
        plan = cheapest_clusters(problem, prices, assignment, [0] * epochs, guess, math.inf)
        assert plan is not None
        assert plan.cost == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("slack", [0.0, 0.3, 1.0, math.inf])
def test_every_choice_within_the_slack_is_listed_once_up_to_exchanges_among_equal_epochs(slack):
    """Epochs with one option and with several; the first and the third are equal, and so are the last two."""
    rng = np.random.default_rng(2)
    values, loads = rng.uniform(0, 1, (5, 4)), np.zeros((4, 5, 4))
    values[[2, 4]] = values[[0, 3]]
    loads[0], loads[1] = np.arange(4), -np.arange(4)  # each asks for less of something than all others
    loads[2] = np.array([1, 2, 1, 3, 3])[:, None]
    options = [(0, 1, 2), (3,), (0, 1, 2), (1, 2), (1, 2)]
    prices = SimpleNamespace(at=lambda _: values, loads=loads)

    def standard(chosen):
        first, second, third, *last = chosen
        return (*sorted((first, third)), second, *sorted(last))

    listed = [standard(row) for row in clusters._near(prices, 1.0, options, lambda: slack)]
    least = sum(min(values[k, list(row)]) for k, row in enumerate(options))
    wanted = {
        standard(row)
        for row in itertools.product(*options)
        if sum(values[k, g] for k, g in enumerate(row)) - least <= slack
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == wanted
