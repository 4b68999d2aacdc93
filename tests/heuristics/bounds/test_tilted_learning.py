"""Every plan lies in exactly one class and obeys what is asked of its class: random feasible plans, many.

A plan's target is put where the plan just meets it, as certified. Divergences and means of runs come from
`tests.oracles.tilted`, which shares no code with the tables.
"""

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.requirement import VarianceRange
from depl.heuristics.bounds.tilted_learning import COARSE, FINE, Tilt, TiltedLearning
from depl.heuristics.data.sites import DataFactors, listed_sites
from depl.instances.generator import random_instances
from depl.instances.heterogeneous import heterogeneous_instance
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.instance import Instance, Switch
from depl.models.problem.laws import InverseGamma, Lognormal, Normal, StudentT
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.lower_bound.switches import TiltedSwitch
from tests.oracles.tilted import tilted_term


def sequence(rng: np.random.Generator, learning: Learning, most: int) -> list[int]:
    """Models of a random plan that switches now and then."""
    count = int(rng.integers(1, min(most, len(learning.runs)) + 1))
    stay, before, models = rng.choice([0.5, 0.9, 0.98]), len(learning.switches) - 1, list[int]()
    for k in range(count):
        choices = np.flatnonzero(learning.allowed[before])
        if k and before in choices and rng.random() < stay:
            models.append(before)
        else:
            models.append(int(rng.choice(choices)))
        before = models[-1]
    return models


def epochs_of(learning: Learning, models: list[int], factors: list[float]) -> Iterator[tuple[Term, bool]]:
    """Terms of a plan with their factors; whether they are switches."""
    before = len(learning.switches) - 1
    for k, (m, factor) in enumerate(zip(models, factors, strict=True)):
        for term in learning.runs[k][m].terms:
            yield Term(factor * term.coefficient, term.law), False
        change = learning.switches[before][m]
        yield from ((term, True) for term in (change.terms if change else ()))
        before = m


def seen(terms: list[tuple[Term, bool]], constant: float, rate: float) -> tuple[float, float]:
    """H and the mean final loss of a plan under the tilt by s."""
    divergence, loss = 0.0, constant
    for term, changes in terms:
        if changes:
            tilted = TiltedSwitch.of(term, rate, with_fourth=False)
            divergence, loss = divergence + tilted.divergence, loss + tilted.loss
        else:
            run = tilted_term(term, rate)
            divergence, loss = divergence + rate * run.mean - run.log_transform, loss + run.mean
    return divergence, loss


def excess_of(terms: list[tuple[Term, bool]], rate: float, roughest: float) -> tuple[float, float]:
    """B of a plan, and the roughness of its switches, each counted up to a value."""
    excess = rough = 0.0
    for term, changes in terms:
        if changes:
            tilted = TiltedSwitch.of(term, rate)
            own = tilted.divergence - tilted.variance / 2
            excess += own
            rough += min(max(tilted.fourth, 4 * abs(tilted.third), 20 * abs(own)), roughest)
        else:
            run = tilted_term(term, rate)
            excess += rate * run.mean - run.log_transform - rate**2 * run.variance / 2
    return excess, rough


def excess_by_tables(
    tables: TiltedLearning, tilt: Tilt, models: list[int], factors: list[float]
) -> tuple[float, float]:
    """Between which B lies."""
    k, m = np.arange(len(models)), np.array(models)
    before = np.array([len(tilt.switch_excesses) - 1, *models[:-1]])
    places = tilt.places[k, m] + np.log(factors) / 0.01
    switches = float(tilt.switch_excesses[before, m].sum())
    low, high = (
        float(tables.read(t, tables.rows[k, m], places).sum())
        for t in (tables.excess_low, tables.excess_high)
    )
    return low + switches, high + switches


def check(instance: Instance, rng: np.random.Generator, plans: int, most: int, fine: bool = False) -> int:
    """Plans of an instance that are in their class and obey it; how many were looked at."""
    learning, data = Learning.of(instance), DataFactors(instance)
    allowed = sorted({data.of(site.datasets) for site in listed_sites(instance)})
    done = 0
    for _ in range(plans):
        models = sequence(rng, learning, most)
        factors = [float(value) for value in rng.choice(allowed, len(models))]
        loss = learning.loss(models, factors)
        quantile = certified_quantile(loss, instance.target.violation_budget).upper
        if not quantile < instance.target.initial_loss - 1e-6 or not math.isfinite(quantile):
            continue
        try:
            aimed = instance.replace(maximum_loss=quantile)
        except InvalidInputError:
            continue
        if not TiltedLearning.covers(aimed, learning):
            continue
        if not certified_violation(loss, quantile).at_most(aimed.target.violation_budget):
            continue
        division = FINE if fine else COARSE
        done += obeys(
            TiltedLearning(aimed, learning, allowed[0], allowed[-1], division), models, factors, loss
        )
    return done


def obeys(tables: TiltedLearning, models: list[int], factors: list[float], loss: FinalLoss) -> bool:
    """Whether something is asked of the plan; it is met in any case."""
    assert all(a < b for a, b in itertools.pairwise(tables.rates))
    terms = list(epochs_of(tables.learning, models, factors))
    assert seen(terms, loss.constant, tables.rates[0])[0] < tables.goal  # no plan is above all classes
    first, divergence, mean = len(tables.rates), 0.0, 0.0
    for index, rate in enumerate(tables.rates):
        divergence, mean = seen(terms, loss.constant, rate)
        if divergence >= tables.goal:
            first = index
            break
    rate, ends = tables.classes()[min(first, len(tables.rates)) - 1]
    tilt = tables.tilt(rate, ends)
    assert rate == tables.rates[min(first, len(tables.rates) - 1)]
    low, high = excess_by_tables(tables, tilt, models, factors)
    excess, rough = excess_of(terms, rate, tables.fineness.roughs[-1])
    assert low - 1e-9 <= excess <= high + 1e-9
    assert high - low < 0.02 * (1 + divergence)
    gain = tables.instance.target.initial_loss - mean  # s (mu - g) >= Delta*
    ranges, asked = tilt.requirement.ranges, False
    for _ in range(3):  # itself, and what it is divided into
        mine = [piece for piece in ranges if inside(piece, divergence, excess, rough)]
        assert mine, (divergence, excess, rough)
        if not all(math.isfinite(piece.margin_low) for piece in mine):
            assert not tilt.says_something
            return asked
        margins = [tables_fall(tables) + margin_at(piece, divergence, excess) for piece in mine]
        assert gain >= max(margins) - 1e-9 * (1 + abs(gain))
        ranges, asked = tables.divided(rate, mine[0]), True
    return asked


def inside(piece: VarianceRange, divergence: float, excess: float, rough: float) -> bool:
    """Whether a plan lies in a range, but for rounding."""
    return (
        piece.low * (1 - 1e-9) <= divergence <= piece.high * (1 + 1e-9)
        and piece.excess_low - 1e-9 <= excess <= piece.excess_high + 1e-9
        and piece.rough_low * (1 - 1e-9) <= rough <= piece.rough_high * (1 + 1e-9)
    )


def margin_at(piece: VarianceRange, divergence: float, excess: float) -> float:
    share = (divergence - piece.low) / (piece.high - piece.low)
    beyond = piece.slope * (excess - piece.excess_low) if piece.slope else 0.0
    return piece.margin_low + share * (piece.margin_high - piece.margin_low) + beyond


def tables_fall(tables: TiltedLearning) -> float:
    return tables.instance.target.initial_loss - tables.instance.target.maximum_loss - 1e-9


def of_many_epochs(seed: int, count: int) -> Iterator[tuple[np.random.Generator, Instance]]:
    rng = np.random.default_rng([14, seed])
    sizes = {"models": (2, 4), "clusters": (1, 3), "datasets": (1, 4), "maximum_epochs": (20, 60)}
    for instance in random_instances(rng, count, **sizes):
        yield rng, instance


@pytest.mark.parametrize(("count", "plans"), [(2, 2), pytest.param(50, 6, marks=pytest.mark.slow)])
def test_random_feasible_plans_obey_their_class(count: int, plans: int) -> None:
    done = 0
    for index, (rng, instance) in enumerate(of_many_epochs(1, count)):
        done += check(instance, rng, plans, 60, fine=index % 4 == 3)
        low = instance.replace(quantile_level=0.3)
        assert not TiltedLearning.covers(low, Learning.of(low))
    assert done > 0.4 * count * plans


def mixed(rng: np.random.Generator, instance: Instance) -> Instance:
    """Models of very different laws and Student-t switches, some of them wild, some lowering the loss."""
    kinds = [
        lambda mean: InverseGamma(mean=mean, variance=mean**2 * float(rng.uniform(0.01, 4))),
        lambda mean: Lognormal(mean=mean, variance=mean**2 * float(rng.uniform(0.01, 3))),
        lambda mean: Normal(mean=mean, variance=mean**2 * float(rng.uniform(0.01, 2))),
        lambda mean: InverseGamma(shape=float(rng.uniform(1.3, 3)), scale=mean),
    ]
    models = []
    for model in instance.models:
        improvement = model.improvement
        noise = kinds[int(rng.integers(len(kinds)))](float(rng.uniform(0.5, 1.5)))
        models.append(
            msgspec.structs.replace(model, improvement=msgspec.structs.replace(improvement, noise=noise))
        )
    names = [model.name for model in models]
    unit = abs(float(Learning.of(instance).gains.mean()))

    def law() -> StudentT | Normal:
        scale = unit * math.exp(rng.uniform(-2, 1.5))
        location = unit * float(rng.uniform(-0.5, 2))
        freedom = float(rng.uniform(1.2, 12))
        match int(rng.integers(4)):
            case 0:
                return Normal(mean=location, variance=scale**2)
            case 1:
                return StudentT(degrees_of_freedom=freedom, location=location, scale=scale)
            case 2:
                return StudentT(
                    degrees_of_freedom=freedom, location=location, scale=scale, lower=0, upper=8 * unit
                )
            case _:
                return StudentT(
                    degrees_of_freedom=freedom,
                    location=location,
                    scale=scale,
                    lower=location - 30 * scale,
                    upper=location + scale,
                )

    switches = tuple(Switch(previous=a, following=b, law=law()) for a, b in itertools.permutations(names, 2))
    return msgspec.structs.replace(instance, models=tuple(models), switches=switches)


def of_mixed_models(seed: int, count: int) -> Iterator[tuple[np.random.Generator, Instance]]:
    rng = np.random.default_rng([15, seed])
    sizes = {"models": (2, 4), "clusters": (1, 2), "datasets": (1, 4), "maximum_epochs": (20, 60)}
    for instance in random_instances(rng, count, **sizes):
        if all(hasattr(model.improvement, "noise") for model in instance.models):
            yield rng, mixed(rng, instance)


@pytest.mark.parametrize(("count", "plans"), [(3, 2), pytest.param(30, 6, marks=pytest.mark.slow)])
def test_plans_of_very_different_models_and_wild_switches_obey_their_class(count: int, plans: int) -> None:
    done = sum(check(instance, rng, plans, 60) for rng, instance in of_mixed_models(1, count))
    assert done > count * plans / 6


@pytest.mark.parametrize(
    ("models", "epochs", "plans"), [(2, 15, 2), pytest.param(3, 60, 3, marks=pytest.mark.slow)]
)
def test_plans_of_the_heterogeneous_family_obey_their_class(models: int, epochs: int, plans: int) -> None:
    rng = np.random.default_rng([14, 3])
    instance = heterogeneous_instance(rng, clusters=2, datasets=3, models=models, maximum_epochs=epochs)
    assert check(instance, rng, plans, epochs, fine=True) > 1


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(999, 1000)])
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_plans_obey_their_class_at_other_levels(level: Fraction, count: int) -> None:
    done = 0
    for rng, instance in of_many_epochs(4, count):
        done += check(instance.replace(quantile_level=float(level)), rng, 2, 40)
    assert done > count / 3
