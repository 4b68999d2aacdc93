"""Ten clusters that differ a little, a hundred epochs: few of the many ways to choose are tried."""

import itertools
import math
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from depl.models.exact import clusters
from depl.models.exact.assignments import Assignment, make_assignment
from depl.models.exact.choices import Choices
from depl.models.exact.clusters import cheapest_clusters
from depl.models.exact.prices import Prices
from depl.models.problem.instance import Cluster, ComputeTable, Instance, Model

CHOICES = 2_000
"""Choices that are enough for ten clusters; without bounds there are 10**12."""


def similar(bell: Instance, seed: int, sites: int = 10, epochs: int = 100, vary: bool = False) -> Instance:
    """Clusters of which the faster ones cost more; every plan meets the target, so only the time counts."""
    rng = np.random.default_rng(seed)
    bandwidths = 2 * np.exp(rng.uniform(-1, 1, sites))
    chosen = tuple(
        Cluster(
            name=f"site{index}",
            capacity=10 * float(np.exp(rng.uniform(-0.3, 0.3))),
            bandwidth=float(bandwidth),
            unit_cost=3 * float((bandwidth / 2) ** rng.uniform(0.5, 2)),
        )
        for index, bandwidth in enumerate(bandwidths)
    )
    work = tuple(float(x) for x in 8 * np.exp(rng.uniform(-0.1, 0.1, epochs)))
    model = Model(
        name="net",
        size=1,
        demand=2,
        improvement=bell.models[0].improvement,
        compute=(ComputeTable(epochs=work),) if vary else None,
    )
    return bell.replace(
        clusters=chosen,
        models=(model,),
        initial_loss=10,
        maximum_loss=10 - 1.7 * epochs,
        maximum_epochs=epochs,
        maximum_time=1.3 * epochs,
    )


def parts(instance: Instance) -> tuple[Choices, Prices, Assignment]:
    """What is asked of the clusters of one sequence, all of them with all data."""
    problem = Choices(instance)
    pairs = [(cluster, len(problem.subsets) - 1) for cluster in range(len(instance.clusters))]
    return problem, Prices.of(problem), make_assignment(problem, pairs)


@pytest.mark.parametrize("seed", range(2, 8))
def test_few_choices_of_similar_clusters_are_tried(bell: Instance, seed: int) -> None:
    problem, prices, assignment = parts(similar(bell, seed))
    tried = itertools.count()
    plan = cheapest_clusters(
        problem, prices, assignment, [0] * 100, 1.0, math.inf, lambda: next(tried) < CHOICES
    )
    assert plan is not None
    assert next(tried) < CHOICES


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 10))]
)
@pytest.mark.parametrize("vary", [False, True])
def test_the_cheapest_of_similar_clusters_are_those_of_all_choices(
    bell: Instance, seed: int, vary: bool
) -> None:
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
def test_every_choice_within_the_slack_is_listed_once_up_to_exchanges_among_equal_epochs(
    slack: float,
) -> None:
    """Epochs with one option and with several; the first and the third are equal, and so are the last two."""
    rng = np.random.default_rng(2)
    values, loads = rng.uniform(0, 1, (5, 4)), np.zeros((4, 5, 4))
    values[[2, 4]] = values[[0, 3]]
    loads[0], loads[1] = np.arange(4), -np.arange(4)  # each asks for less of something than all others
    loads[2] = np.array([1, 2, 1, 3, 3])[:, None]
    options = [(0, 1, 2), (3,), (0, 1, 2), (1, 2), (1, 2)]
    prices = SimpleNamespace(at=lambda _: values, loads=loads)

    def standard(chosen: Sequence[int]) -> tuple[int, ...]:
        first, second, third, *last = chosen
        return (*sorted((first, third)), second, *sorted(last))

    listed = [standard(row) for row in clusters._near(prices, 1.0, options, lambda: slack)]  # type: ignore[arg-type]
    least = sum(min(values[k, list(row)]) for k, row in enumerate(options))
    wanted = {
        standard(row)
        for row in itertools.product(*options)
        if sum(values[k, g] for k, g in enumerate(row)) - least <= slack
    }
    assert len(listed) == len(set(listed))
    assert set(listed) == wanted
