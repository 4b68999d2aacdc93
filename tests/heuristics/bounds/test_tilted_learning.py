"""Every plan lies in exactly one class and obeys what is asked of its class: random feasible plans, many.

A plan's target is put where the plan just meets it, as certified. Divergences and means of runs come from
`tests.oracles.tilted`, which shares no code with the tables.
"""

import itertools
import math

import msgspec
import numpy as np
import pytest

from depl.heuristics.bounds.learning import Learning
from depl.heuristics.bounds.tilted_learning import COARSE, FINE, TiltedLearning
from depl.heuristics.data.sites import DataFactors, listed_sites
from depl.models.foundation.errors import InvalidInputError
from depl.models.problem.epochs import Term
from depl.models.problem.laws import InverseGamma, Lognormal, Normal
from depl.models.risk.certify import certified_quantile, certified_violation
from depl.models.risk.lower_bound.switches import TiltedSwitch
from tests.oracles.tilted import tilted_term
from tests.problems import drawn, student, switches


def sequence(rng, learning, most):
    """Models of a random plan that switches now and then."""
    count = int(rng.integers(1, min(most, len(learning.runs)) + 1))
    stay, before, models = rng.choice([0.5, 0.9, 0.98]), len(learning.switches) - 1, []
    for k in range(count):
        choices = np.flatnonzero(learning.allowed[before])
        if k and before in choices and rng.random() < stay:
            models.append(before)
        else:
            models.append(int(rng.choice(choices)))
        before = models[-1]
    return models


def epochs_of(learning, models, factors):
    """Terms of a plan with their factors; whether they are switches."""
    before = len(learning.switches) - 1
    for k, (m, factor) in enumerate(zip(models, factors, strict=True)):
        for term in learning.runs[k][m].terms:
            yield Term(factor * term.coefficient, term.law), False
        change = learning.switches[before][m]
        yield from ((term, True) for term in (change.terms if change else ()))
        before = m


def seen(terms, constant, rate):
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


def excess_of(terms, rate, roughest):
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


def excess_by_tables(tables, tilt, models, factors):
    """Between which B lies."""
    k, m = np.arange(len(models)), np.array(models)
    before = np.array([len(tilt.changes[2]) - 1, *models[:-1]])
    places = tilt.places[k, m] + np.log(factors) / 0.01
    switches = float(tilt.changes[2][before, m].sum())
    low, high = (
        float(tables.read(t, tables.rows[k, m], places).sum())
        for t in (tables.excess_low, tables.excess_high)
    )
    return low + switches, high + switches


def check(instance, rng, plans, most, fine=False):
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


def obeys(tables, models, factors, loss):
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


def inside(piece, divergence, excess, rough):
    """Whether a plan lies in a range, but for rounding."""
    return (
        piece.low * (1 - 1e-9) <= divergence <= piece.high * (1 + 1e-9)
        and piece.excess_low - 1e-9 <= excess <= piece.excess_high + 1e-9
        and piece.rough_low * (1 - 1e-9) <= rough <= piece.rough_high * (1 + 1e-9)
    )


def margin_at(piece, divergence, excess):
    share = (divergence - piece.low) / (piece.high - piece.low)
    beyond = piece.slope * (excess - piece.excess_low) if piece.slope else 0.0
    return piece.margin_low + share * (piece.margin_high - piece.margin_low) + beyond


def tables_fall(tables):
    return tables.instance.target.initial_loss - tables.instance.target.maximum_loss - 1e-9


def mixed(rng, given):
    """Models of very different laws and Student-t switches, some of them wild, some lowering the loss."""
    models = []
    for item in given.models:
        mean = float(rng.uniform(0.5, 1.5))
        noise = (
            InverseGamma(mean=mean, variance=mean**2 * float(rng.uniform(0.01, 4))),
            Lognormal(mean=mean, variance=mean**2 * float(rng.uniform(0.01, 3))),
            Normal(mean=mean, variance=mean**2 * float(rng.uniform(0.01, 2))),
            InverseGamma(shape=float(rng.uniform(1.3, 3)), scale=mean),
        )[int(rng.integers(4))]
        improvement = msgspec.structs.replace(item.improvement, noise=noise)
        models.append(msgspec.structs.replace(item, improvement=improvement))
    unit = abs(float(Learning.of(given).gains.mean()))

    def law():
        scale, location = unit * math.exp(rng.uniform(-2, 1.5)), unit * float(rng.uniform(-0.5, 2))
        free = student(float(rng.uniform(1.2, 12)), location, scale)
        return (
            Normal(mean=location, variance=scale**2),
            free,
            msgspec.structs.replace(free, lower=0.0, upper=8 * unit),
            msgspec.structs.replace(free, lower=location - 30 * scale, upper=location + scale),
        )[int(rng.integers(4))]

    pairs = itertools.permutations([item.name for item in models], 2)
    return given.replace(models=tuple(models), switches=switches({pair: law() for pair in pairs}))


def of_many_epochs(seed, count, wild):
    """Drawn ones, or those of which all laws are changed."""
    sizes = {"models": (2, 4), "clusters": (1, 2), "datasets": (1, 4), "maximum_epochs": (20, 60)}
    rng = np.random.default_rng([15, seed])
    for instance in drawn([14, seed], count, **sizes):
        if not wild:
            yield instance
        elif all(hasattr(item.improvement, "noise") for item in instance.models):
            yield mixed(rng, instance)


@pytest.mark.parametrize(
    ("level", "wild", "fine"),
    [
        pytest.param(None, True, False, id="very different models and wild switches"),
        pytest.param(None, False, True, id="drawn laws in fine classes"),
        pytest.param(0.5, False, False, id="half of the probability"),
        pytest.param(0.999, False, False, id="nearly all of the probability"),
    ],
)
def test_random_feasible_plans_obey_their_class(level, wild, fine):
    rng, done = np.random.default_rng([14, 1]), 0
    for instance in of_many_epochs(4, 3, wild):
        asked = instance if level is None else instance.replace(quantile_level=level)
        done += check(asked, rng, 3, 40, fine=fine)
    assert done > 1
    low = instance.replace(quantile_level=0.3)
    assert not TiltedLearning.covers(low, Learning.of(low))
