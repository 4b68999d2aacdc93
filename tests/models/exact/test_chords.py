"""Chords of a deviation, and certain gains as one chord: what they prune misses the target."""

import itertools
import math
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from scipy import special

from depl.models.evaluation.evaluate import final_loss
from depl.models.exact import chord_search
from depl.models.exact.choices import Choices
from depl.models.exact.labels import LabelSearch
from depl.models.exact.law import _on_chords
from depl.models.problem.laws import Normal
from depl.models.risk.verdicts import Verdict
from tests.cases.law_search_cases import chorded, constant, make, normals, require_agreement

WAYS = ("at once", "one after another", "labels")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_a_plan_that_meets_the_target_meets_a_chord_and_one_that_meets_a_chord_almost_meets_the_target(
    seed, level
):
    instance = normals(seed, switching=True, quantile_level=level)
    problem = chorded(instance)
    needed = instance.target.initial_loss - instance.target.maximum_loss
    safety = float(special.ndtri(level))
    for choices in itertools.product(problem.configurations, repeat=4):
        loss = final_loss(instance, problem.plan(choices))
        reached = instance.target.initial_loss - loss.mean() - safety * math.sqrt(loss.variance())
        best = problem.gain(choices).max()
        assert best >= reached - 1e-7
        # The largest distance between root and chord, at the first of equal steps: step / 4.
        assert best <= reached + safety * max(problem.ends) / problem.size / 4 + 1e-7
        assert (reached >= needed) == (problem.verdict(choices) is Verdict.MET)
    assert problem.allowed == problem.size - 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(8))
def test_chords_agree_with_enumeration_whichever_way_they_take(seed, way, monkeypatch):
    """All chords at once, one after another, split after few nodes, or by few labels."""
    monkeypatch.setattr(chord_search, "LONG", 1 if way != "at once" else 1000)
    monkeypatch.setattr(chord_search, "_FEW_NODES", 3)
    monkeypatch.setattr(chord_search, "_FEW_LABELS", 30)
    if way != "labels":
        monkeypatch.setattr(LabelSearch, "covers", lambda problem: False)
    limits = {"round_deadline": 2.0} if way == "labels" else {"maximum_time": 4.0 + seed / 2}
    instance = normals(seed, switching=bool(seed % 2) and way != "labels", **limits)
    assert _on_chords(Choices(instance))
    require_agreement(instance)


def test_only_normal_increments_with_a_level_of_a_half_and_certain_ones_are_searched_on_chords():
    normal = normals(0, switching=True, quantile_level=0.5)
    assert _on_chords(Choices(normal))
    assert not _on_chords(Choices(normal.replace(quantile_level=0.4)))
    assert _on_chords(Choices(make([constant(1.0), constant(2.0)]).replace(quantile_level=0.4)))


@pytest.mark.parametrize("budget", [f"{digit}e-{power}" for digit in (1, 3, 7) for power in range(9, 15)])
def test_the_quantile_that_proofs_rest_on_is_not_above_the_true_one_however_near_omega_is_to_one(budget):
    """z of a double next to 1 may be too large by more than the allowance; that of 1 - omega is not."""
    problem = chorded(normals(3, quantile_level=float(1 - Decimal(budget))))
    exact = problem.instance.target.violation_budget
    with mpmath.workdps(60):
        tail = mpmath.mpf(exact.numerator) / exact.denominator
        true = mpmath.findroot(
            lambda z: mpmath.erfc(z / mpmath.sqrt(2)) / 2 / tail - 1, -special.ndtri(float(exact))
        )
        assert 0 <= true - problem._slopes[0] * np.sum(problem.ends[:2]) <= 2e-9 * true


@pytest.mark.parametrize("seed", range(4))
def test_the_chords_reach_as_far_as_the_deviation_of_any_plan(seed):
    """Beyond the last end a chord lies below the root, and no plan may be judged by that."""
    rng = np.random.default_rng(seed)
    laws = [Normal(mean=float(rng.uniform(0.1, 0.5)), variance=float(rng.uniform(1, 3))) for _ in range(2)]
    switch = Normal(mean=0.1, variance=2.0 if seed % 2 else 0.01)
    largest = chorded(make([constant(law) for law in laws], switch=switch)).ends[-1]
    for models in itertools.product(range(2), repeat=4):
        switches = sum(one != other for one, other in itertools.pairwise(models))
        variance = math.fsum(laws[model].variance for model in models) + switches * switch.variance
        assert math.sqrt(variance) <= largest
    greatest = 4 * (max(law.variance for law in laws) + switch.variance)  # what bounds of prices rest on
    assert largest <= math.sqrt(greatest) * (1 + 1e-8)
