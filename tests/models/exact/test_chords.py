"""Chords of a deviation, and certain gains as one chord: what they prune misses the target."""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal

import mpmath
import msgspec
import numpy as np
import pytest
from scipy import special

import depl
from depl.instances.reductions.chance import Chance, ChanceKnapsack, best_by_value_and_variance
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity
from depl.instances.reductions.to_planning import ByCost
from depl.models.evaluation.evaluate import final_loss
from depl.models.exact import chord_search, law
from depl.models.exact.choices import Choices
from depl.models.exact.chord_search import ChordSearch
from depl.models.exact.chords import ChordedProblem, Chords
from depl.models.exact.labels import LabelSearch
from depl.models.exact.law import _on_chords
from depl.models.exact.law_judge import LawJudge, Moments
from depl.models.problem.instance import (
    Cluster,
    Dataset,
    Instance,
    Model,
    Switch,
    Target,
)
from depl.models.problem.laws import Deterministic, Normal, Zero
from depl.models.problem.learning import ConstantImprovement, InverseSqrtImprovement
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from depl.models.solving.solve import solve
from tests.cases.law_search_cases import constant, make


def chorded(instance: Instance) -> ChordedProblem:
    """On all chords."""
    problem = Choices(instance)
    return ChordedProblem(instance, LawJudge(problem, 0), Moments.of(problem))


def normal_instance(rng: np.random.Generator, level: float, switching: bool) -> Instance:
    """Two or three models with normal improvements, one decaying, and perhaps normal switch losses."""
    count = int(rng.integers(2, 4))
    models = []
    for index in range(count):
        law = Normal(mean=float(rng.uniform(0.5, 2)), variance=float(rng.uniform(0.01, 1.5)))
        shape = InverseSqrtImprovement(scale=2.0, noise=law) if index == 1 else ConstantImprovement(noise=law)
        models.append(
            Model(
                name=f"m{index}",
                size=float(rng.uniform(0, 0.2)),
                demand=rng.uniform(0.5, 3),
                improvement=shape,
            )
        )
    switches = [
        Switch(previous=a.name, following=b.name, law=Normal(mean=rng.uniform(-0.3, 0.5), variance=0.1))
        for a, b in itertools.permutations(models, 2)
        if switching
    ]
    return Instance(
        name="normal",
        clusters=(Cluster(name="n", capacity=4, bandwidth=1, unit_cost=1),),
        datasets=(Dataset(name="d", volume=1),),
        models=tuple(models),
        target=Target(
            initial_loss=10,
            maximum_loss=10 - float(rng.uniform(1.5, 5)),
            quantile_level=level,
            maximum_epochs=5,
            maximum_time=float(rng.uniform(3, 8)),
        ),
        switches=tuple(switches),
        other_switches=Zero(),
    )


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_a_plan_that_meets_the_target_meets_a_chord_and_one_that_meets_a_chord_almost_meets_the_target(
    seed: int, level: float
) -> None:
    instance = normal_instance(np.random.default_rng(seed), level, switching=True)
    problem = chorded(instance)
    needed = instance.target.initial_loss - instance.target.maximum_loss
    safety = float(special.ndtri(level))
    largest = max(problem.ends)
    for choices in itertools.product(problem.configurations, repeat=4):
        loss = final_loss(instance, problem.plan(choices))
        reached = instance.target.initial_loss - loss.mean() - safety * math.sqrt(loss.variance())
        best = problem.gain(choices).max()
        assert best >= reached - 1e-7
        # The largest distance between root and chord, at the first of equal steps: step / 4.
        assert best <= reached + safety * largest / problem.size / 4 + 1e-7
        assert (reached >= needed) == (problem.misses(choices) == 0)
    assert problem.allowed == problem.size - 1


WAYS = ("at once", "one after another", "labels")


def search_by(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Search on all chords at once, on one after another, split after few nodes, or by few labels."""
    monkeypatch.setattr(chord_search, "LONG", 1 if way != "at once" else 1000)
    monkeypatch.setattr(chord_search, "_FEW_NODES", 3)
    monkeypatch.setattr(chord_search, "_FEW_LABELS", 30)
    if way != "labels":
        monkeypatch.setattr(LabelSearch, "covers", lambda problem, prices: False)


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 40))]
)
def test_chords_at_once_and_one_after_another_agree_with_enumeration(
    seed: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([1, seed])
    instance = normal_instance(rng, float(rng.choice([0.5, 0.9, 0.99])), switching=bool(seed % 2))
    assert _on_chords(Choices(instance))
    search_by(way, monkeypatch)
    found, listed = solve(instance, "exact"), solve(instance, "enumerate")
    assert found.termination is listed.termination
    if listed.cost is not None:
        assert found.cost == pytest.approx(listed.cost, rel=1e-9)
        assert found.lower_bound <= listed.cost * (1 + 1e-12)


@pytest.mark.parametrize("way", WAYS[1:])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_told_on_the_way_are_never_above_the_optimum(
    seed: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_by(way, monkeypatch)
    knapsack = random_large(14, seed, 0.95)
    instance = Chance.reduce(knapsack)
    best = best_by_value_and_variance(knapsack).value
    told: list[tuple[float, float]] = []
    limits = Limits(progress=lambda seconds, cost, bound: told.append((cost, bound)))
    outcome = ChordSearch(Chords(chorded(instance)), limits).answer()
    optimum = float(sum(knapsack.values) - best)
    assert outcome.termination is Termination.OPTIMAL
    assert all(bound <= optimum <= cost for cost, bound in told)
    assert optimum * (1 - 1e-9) <= outcome.lower_bound <= optimum


def test_only_normal_increments_with_a_level_of_a_half_and_certain_ones_are_searched_on_chords() -> None:
    normal = normal_instance(np.random.default_rng(0), 0.9, switching=True)
    assert _on_chords(Choices(normal))
    assert not _on_chords(Choices(normal.replace(quantile_level=0.4)))
    certain = [ConstantImprovement(noise=Deterministic(value=1.0)) for _ in normal.models]
    fixed = tuple(
        Model(name=model.name, size=0, improvement=law)
        for model, law in zip(normal.models, certain, strict=True)
    )
    assert _on_chords(Choices(normal.replace(models=fixed, switches=(), quantile_level=0.4)))


@pytest.mark.parametrize("budget", [f"{digit}e-{power}" for digit in (1, 3, 7) for power in range(9, 15)])
def test_the_quantile_that_proofs_rest_on_is_not_above_the_true_one_however_near_omega_is_to_one(budget):
    """z of a double next to 1 may be too large by more than the allowance; that of 1 - omega is not."""
    level = float(1 - Decimal(budget))
    instance = normal_instance(np.random.default_rng(3), 0.9, switching=False).replace(quantile_level=level)
    exact = instance.target.violation_budget
    with mpmath.workdps(60):
        tail = mpmath.mpf(exact.numerator) / exact.denominator
        true = mpmath.findroot(
            lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2 / tail - 1, -special.ndtri(float(exact))
        )
        found = chorded(instance)._slopes[0] * np.sum(chorded(instance).ends[:2])
        assert 0 <= true - found <= 2e-9 * true


def random_large(count: int, seed: int, level: float) -> ChanceKnapsack:
    """Values up to 30, means up to 100, variances in steps of 25 up to 250, half of the means fit."""
    rng = np.random.default_rng([3, count, seed])
    values, means = rng.integers(1, 31, count).tolist(), rng.integers(10, 101, count).tolist()
    variances = [25 * int(step) for step in rng.integers(0, 11, count)]
    return ChanceKnapsack.of(values, means, variances, sum(means) // 2, level)


@pytest.mark.parametrize("seed", range(4))
def test_the_chords_reach_as_far_as_the_deviation_of_any_plan(seed):
    """Beyond the last end a chord lies below the root, and no plan may be judged by that."""
    rng = np.random.default_rng(seed)
    laws = [Normal(mean=float(rng.uniform(0.1, 0.5)), variance=float(rng.uniform(1, 3))) for _ in range(2)]
    switch = Normal(mean=0.1, variance=2.0 if seed % 2 else 0.01)
    instance = make([constant(law) for law in laws], switch=switch)
    largest = chorded(instance).ends[-1]
    for models in itertools.product(range(2), repeat=4):
        switches = sum(one != other for one, other in itertools.pairwise(models))
        variance = math.fsum(laws[model].variance for model in models) + switches * switch.variance
        assert math.sqrt(variance) <= largest


def certain(gains: Sequence[float], fall: float, epochs: int) -> Instance:
    """Tiny with models that surely gain so much, and so much asked for."""
    tiny = depl.load("tiny")
    models = tuple(
        msgspec.structs.replace(model, improvement=ConstantImprovement(noise=Deterministic(value=gain)))
        for model, gain in zip(tiny.models, gains, strict=True)
    )
    asked = round(tiny.target.initial_loss - fall, 10)
    return tiny.replace(
        models=models, switches=(), other_switches=Zero(), maximum_loss=asked, maximum_epochs=epochs
    )


def test_the_default_proves_a_knapsack_of_a_hundred_and_fifty_items():
    rng = np.random.default_rng(150)
    weights = [int(weight) for weight in rng.integers(1, 1001, 150)]
    items = Knapsack.of(
        values=[int(value) for value in rng.integers(1, 1001, 150)],
        weights=weights,
        capacity=sum(weights) // 2,
    )
    instance = ByCost.reduce(items)
    found = law.exact(instance, Limits())
    assert found.termination is Termination.OPTIMAL
    cost = depl.evaluate(instance, found.plan, quantile=False).cost
    assert ByCost.value_of_cost(items, cost) == best_by_capacity(items).value
    assert not math.isinf(found.lower_bound)
