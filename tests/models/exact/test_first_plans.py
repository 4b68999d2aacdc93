"""First plans against all that are written out."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from depl.models.exact.assignments import assignments
from depl.models.exact.first_plans import Neighbourhood, gained, priced_plan
from depl.models.exact.kernels import Sample
from tests.oracles.search import kinds_of, required_by, tiny_problems


def one_change_at_most(problem, assignment, needed):
    """Sequences of kinds with one change at most that gain ``needed`` in enough scenarios, written out."""
    sample = problem.sample(assignment)
    for length in range(1, problem.epochs + 1):
        for kinds in kinds_of(problem, assignment, length):
            changes = sum(before != after for before, after in itertools.pairwise(kinds))
            gains = total_gains(sample, kinds)
            if changes <= 1 and sum(gain < needed - 1e-9 for gain in gains) <= problem.allowed:
                yield kinds


def total_gains(sample, kinds):
    """In every scenario, epoch by epoch."""
    models, before = sample.models, sample.first_model
    totals = [0.0] * sample.gains.shape[-1]
    for k, kind in enumerate(kinds):
        for s in range(len(totals)):
            totals[s] += sample.gains[k, kind, s]
            totals[s] -= sample.switch_losses[k, before, models[kind], s]
        before = models[kind]
    return totals


def test_plans_of_one_change_are_the_cheapest_and_the_fastest():
    """At any price of time, below any cutoff, and for another fall of the loss."""
    seen = Counter()
    rng = np.random.default_rng(5)
    for problem in tiny_problems(34, 25):
        for assignment in assignments(problem):
            near = Neighbourhood(problem, assignment)
            multiplier, limit = float(rng.choice([0.0, rng.uniform(0, 5)])), problem.maximum_time
            psi = assignment.cheapest(problem.psi(multiplier))
            charge = assignment.transfers - (multiplier * limit if limit is not None else 0.0)
            costs = {
                kinds: charge + sum(psi[k, kind] for k, kind in enumerate(kinds))
                for kinds in one_change_at_most(problem, assignment, problem.needed)
            }
            least = min(costs.values(), default=math.inf)
            found = near.one_switch(multiplier, math.inf)
            if least == math.inf:  # what there is trains where the round deadline cannot be kept
                assert found is None or costs[tuple(found)] == math.inf
            else:
                assert costs[tuple(found)] == pytest.approx(least, rel=1e-9)
                assert near.one_switch(multiplier, least - 1e-6 * (1 + abs(least))) is None
                assert near.one_switch(multiplier, least + 1e-6 * (1 + abs(least))) is not None
                seen["cheapest"] += 1
            times, needed = assignment.cheapest(problem.costs.fastest), problem.needed * rng.uniform(0.5, 1.2)
            durations = {
                kinds: sum(times[k, kind] for k, kind in enumerate(kinds))
                for kinds in one_change_at_most(problem, assignment, needed)
            }
            least = min(durations.values(), default=math.inf)
            fastest = near.fastest(needed)
            assert (fastest is None) == (least == math.inf)
            if fastest is not None:
                assert fastest[0] == pytest.approx(least, rel=1e-9)
                assert durations[tuple(fastest[1])] == pytest.approx(least, rel=1e-9)
            in_time = least <= (math.inf if limit is None else limit * (1 + 1e-9))
            assert near.in_time(needed) == (in_time and least < math.inf)
            seen["in time", near.in_time(needed)] += 1
    assert min(seen.values()) > 10


def random_sample(rng, length, kinds, scenarios, models):
    """Kinds of models that may follow one another, with small losses of switches."""
    gains = rng.uniform(0, 1, (length, kinds, 1)) + rng.normal(0, 0.1, (length, kinds, scenarios))
    losses = rng.uniform(0, 0.2, (length, models, models, scenarios))
    losses[:, np.arange(models), np.arange(models)] = 0.0
    return Sample(
        gains=gains,
        switch_losses=np.pad(losses, ((0, 0), (0, 1), (0, 0), (0, 0))),
        may_follow=np.ones((models + 1, models), dtype=bool),
        models=np.arange(kinds) % models,
        first_model=(*range(models), models)[int(rng.integers(-1, models))],
        needed=0.4 * length,
        allowed=scenarios // 4,
        may_end=np.ones(models, dtype=bool),
    )


def test_the_mean_gain_that_is_required_allows_for_the_rounding_of_as_many_epochs_as_there_are():
    """Of one scenario all is required, here nothing."""
    sample = random_sample(np.random.default_rng(0), 9000, 1, 1, 1)._replace(needed=0.0)
    assert required_by(sample) <= -9000 * 2.0**-53 * sample.gains.sum()


@pytest.mark.parametrize(
    ("length", "kinds", "scenarios", "models", "above"),
    [(10, 2, 1, 1, 1 + 1e-9), (10, 2, 8, 1, 1.01), (5, 3, 1, 2, 1.17), (5, 3, 8, 2, 1.2)],
)
def test_plans_by_a_price_of_gain_are_near_the_optimum(length, kinds, scenarios, models, above):
    """Of short sequences, all written out. Knapsacks (one model) are solved; else one epoch of five is much.

    The last is the mean ratio, as the commit found it that wrote it.
    """
    rng = np.random.default_rng(6)
    ratios = []
    for _ in range(20):
        sample = random_sample(rng, length, kinds, scenarios, models)
        costs = rng.uniform(0.5, 1.5, (length, kinds))
        if models == 1:  # a knapsack: an item that is not taken costs nothing
            costs[:, 1], sample.gains[:, 1] = 0.0, 0.1 * sample.gains[:, 1]
        enough = [
            sum(costs[k, kind] for k, kind in enumerate(sequence))
            for shorter in range(1, length + 1)
            for sequence in itertools.product(range(kinds), repeat=shorter)
            if sorted(total_gains(sample, sequence))[sample.allowed] >= sample.needed
        ]
        found = priced_plan(sample, costs)
        if found is not None:
            assert gained(sample, np.array(found)) == pytest.approx(total_gains(sample, found))
            assert sorted(total_gains(sample, found))[sample.allowed] >= sample.needed - 1e-12
        if enough:
            cost = math.inf if found is None else sum(costs[k, kind] for k, kind in enumerate(found))
            ratios.append(cost / min(enough))
    barred = sample._replace(may_follow=np.eye(models + 1, models, dtype=bool))
    assert models == 1 or np.all(np.isneginf(gained(barred, np.arange(2))))
    assert len(ratios) > 12
    assert np.mean(ratios) <= above
