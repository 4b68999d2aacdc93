"""Plans within spans of the deviation, by labels: against all plans, and published optima."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from depl.instances.chance_knapsack_files import read_chance_knapsack
from depl.instances.reductions.chance import Chance, ChanceKnapsack
from depl.models.exact import chord_search
from depl.models.exact.assignments import assignments
from depl.models.exact.choices import Choices
from depl.models.exact.chord_search import ChordSearch
from depl.models.exact.chords import ChordedProblem
from depl.models.exact.clusters import cheapest_clusters
from depl.models.exact.labels import LabelSearch
from depl.models.exact.law_judge import LawJudge, Moments
from depl.models.exact.prices import Prices
from depl.models.problem.instance import Cluster, Dataset, Instance, Model, Target
from depl.models.problem.laws import Deterministic, Normal, Zero
from depl.models.problem.learning import ConstantImprovement, InverseSqrtImprovement
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from tests.cases.knapsack_cases import random_chance_knapsack, subsets

LENGTH = 4


def apart(rng: np.random.Generator) -> Instance:
    """Models without switch losses on one or two clusters; numbers are whole, or they are not."""
    models = []
    for place in range(int(rng.integers(2, 4))):
        whole = rng.random() < 0.5
        mean = float(rng.integers(1, 4)) if whole else float(rng.uniform(0.5, 2))
        variance = float(rng.integers(1, 5)) if whole else float(rng.uniform(0.01, 1.5))
        law = Deterministic(value=mean) if rng.random() < 0.2 else Normal(mean=mean, variance=variance)
        shape = InverseSqrtImprovement(scale=2.0, noise=law) if place == 1 else ConstantImprovement(noise=law)
        demand = float(rng.integers(1, 5)) if whole else float(rng.uniform(0.5, 3))
        models.append(Model(name=f"m{place}", size=0.0, demand=demand, improvement=shape))
    costs = rng.uniform(1, 4, int(rng.integers(1, 3)))
    return Instance(
        name="apart",
        clusters=tuple(
            Cluster(name=f"n{place}", capacity=4, bandwidth=1, unit_cost=float(cost))
            for place, cost in enumerate(costs)
        ),
        datasets=(Dataset(name="d", volume=1),),
        models=tuple(models),
        target=Target(
            initial_loss=10,
            maximum_loss=10 - float(rng.uniform(1, 4)),
            quantile_level=float(rng.choice([0.5, 0.9, 0.99])),
            maximum_epochs=LENGTH,
            round_deadline=2.0,
        ),
        other_switches=Zero(),
    )


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(n, marks=pytest.mark.slow) for n in range(10, 60))]
)
def test_bounds_and_plans_of_spans_agree_with_all_plans(seed: int) -> None:
    """A plan of least cost is found in some span; with few labels it is said that there are more."""
    rng = np.random.default_rng([5, seed])
    instance = apart(rng)
    choices = Choices(instance)
    problem = ChordedProblem(instance, LawJudge(choices, 0), Moments.of(choices))
    prices = Prices.of(problem)
    assert LabelSearch.covers(problem, prices)
    few = LabelSearch(problem, prices, next(assignments(problem)))
    line = few.lines((0.0, float(problem.ends[-1])), 1.0)[LENGTH]
    assert few.cheapest((0.0, float(problem.ends[-1])), LENGTH, line, 1e6, 0, lambda: None) == (None, False)
    ends = problem.ends[:: int(rng.choice([4, 8, 24])) if problem.size > 1 else 1].tolist()
    for assignment in assignments(problem):
        search = LabelSearch(problem, prices, assignment)
        costs = assignment.cheapest(prices.at(0.0))
        gains = problem.moments.gains[:, assignment.subsets, assignment.models]
        variances = problem.moments.variances[:, assignment.subsets, assignment.models]
        for length in range(1, LENGTH + 1):
            epochs = np.arange(length)
            by_plan = {}
            for kinds in itertools.product(range(costs.shape[1]), repeat=length):
                chosen = epochs, list(kinds)
                deviation = math.sqrt(variances[chosen].sum())
                if gains[chosen].sum() - problem.safety * deviation >= problem.needed:
                    by_plan[kinds] = deviation, costs[chosen].sum() + assignment.transfers
            found = []
            for span in itertools.pairwise(ends):
                line = search.lines(span, 1.0)[length]
                better = search.better(span, length, line)
                least = min(
                    (cost for at, cost in by_plan.values() if span[0] <= at <= span[1]), default=math.inf
                )
                assert line.bound <= better.bound <= least + 1e-9
                answer = search.cheapest(span, length, better, 1e6, 1000, lambda: None)
                assert answer.complete
                if answer.kinds is not None:
                    at, cost = by_plan[tuple(answer.kinds.tolist())]
                    assert at <= span[1] + 1e-6
                    found.append(cost)
                    again = search.cheapest(span, length, better, cost * (1 - 1e-6), 1000, lambda: None)
                    assert again == (None, True)
            best = min((cost for _, cost in by_plan.values()), default=math.inf)
            assert min(found, default=math.inf) == pytest.approx(best, rel=1e-12)


def knapsack_of(seed: int) -> tuple[ChanceKnapsack, float]:
    """A small one, and the value of its best set."""
    knapsack = random_chance_knapsack(np.random.default_rng([11, seed]))
    sets = (items for items in subsets(len(knapsack)) if knapsack.slack(items) >= 0)
    return knapsack, float(max(map(knapsack.value_of, sets)))


@pytest.mark.parametrize("seed", [1, 4, 5])
def test_where_a_plan_of_a_label_is_not_certified_chords_prove_the_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(chord_search, "LONG", 1)
    monkeypatch.setattr(ChordSearch, "_tangent_plans", first_plan)
    monkeypatch.setattr(ChordSearch, "_met", lambda self, *given: bool(asked.append(given)))
    knapsack, best = knapsack_of(seed)
    result = solve(Chance.reduce(knapsack), "exact")
    assert asked
    assert result.termination is Termination.OPTIMAL
    assert result.cost is not None
    assert float(Chance.value_of_cost(knapsack, result.cost)) == best


def first_plan(search: ChordSearch) -> None:
    """The plan that takes nothing, which leaves something to be found."""
    (assignment,) = search.assigned
    skipping = int(
        search.problem.moments.variances[:, assignment.subsets, assignment.models].sum(axis=0).argmin()
    )
    kinds = [skipping] * search.problem.epochs
    plan = cheapest_clusters(search.problem, search.prices, assignment, kinds, 0.0, math.inf)
    assert plan is not None
    search.accept(plan)


PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "robust_knapsack"


@pytest.mark.parametrize(
    ("name", "optimum"),
    [("RKP_00500_00100_1_01", 695), pytest.param("RKP_01000_00100_4_03", 54, marks=pytest.mark.slow)],
)
def test_published_robust_knapsacks_of_500_and_1000_items_are_proved(name: str, optimum: int) -> None:
    knapsack = read_chance_knapsack(PUBLISHED / f"{name}.txt", fewer_items=True)
    result = solve(Chance.reduce(knapsack), "exact", looks=20_000)
    assert result.termination is Termination.OPTIMAL
    assert result.cost is not None
    assert Chance.value_of_cost(knapsack, result.cost) == optimum
