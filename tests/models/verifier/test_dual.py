"""The dual bound, proved again: closed forms, all sequences written out, and the cheapest plans."""

import math

import numpy as np
import pytest

from depl.models.problem.epoch_costs import price
from depl.models.problem.plan import DualClaim
from depl.models.verifier.dual import assignments, dual_bound, dual_finding
from depl.models.verifier.scenarios import given_sample
from tests.cases.verifier_scenarios_cases import problems, sample_of
from tests.oracles.search import cheapest, sequences


def certain(instance, size=4):
    """Scenarios of an instance in which nothing is random."""
    models, epochs = len(instance.models), instance.target.maximum_epochs
    return given_sample((np.zeros((size, epochs, models)), np.zeros((size, epochs, models, models))), None)


def written_out(problem, time_price, gain_price):
    """The definition in the module's docstring, word by word, with the solvers' tables."""
    target, size = problem.instance.target, len(problem.scenarios)
    if problem.needed <= 0:
        return 0.0
    best, every = math.inf, [(), *sequences(problem)]
    for assignment in assignments(problem.instance):
        least = np.full(size, np.inf)
        for sequence in every:
            if all(assignment[g.cluster] == g.datasets for g in sequence):
                loads = [problem.loads[k][problem.configurations.index(g)] for k, g in enumerate(sequence)]
                value = sum(price(load, time_price, target.round_deadline) for load in loads)
                least = np.minimum(least, value - gain_price * problem.gain(sequence))
        least += gain_price * problem.needed - time_price * (target.maximum_time or 0.0)
        moved = sum(problem.transfer_cost(n, d) for n, d in enumerate(assignment) if d)
        best = min(best, moved + np.sort(least)[size - problem.allowed - 1])
    return max(0.0, best)


def test_if_not_training_is_feasible_the_bound_is_zero(bell):
    assert dual_bound(bell.replace(maximum_loss=10), certain(bell), 0, 6.0, 13.5) == 0
    assert dual_bound(bell, certain(bell), 4, 6.0, 13.5) == 0


def test_the_recursion_gives_what_all_sequences_give_and_never_more_than_the_cheapest_plan_costs():
    rng, positive, close = np.random.default_rng(8), 0, 0.0
    for problem in problems(seed=7, count=12):
        optimum, limited = cheapest(problem), problem.instance.target.maximum_time is not None
        for _ in range(3):
            lam, mu = limited * rng.exponential(), 10 * rng.exponential()
            found = dual_bound(problem.instance, sample_of(problem), problem.allowed, lam, mu)
            assert found == pytest.approx(written_out(problem, lam, mu), rel=1e-10, abs=1e-10)
            assert found <= optimum * (1 + 1e-9)
            positive += found > 0
            close = max(close, found / optimum if 0 < optimum < math.inf else 0.0)
    assert positive >= 10
    assert close > 0.4  # the bounds say something


def test_gains_that_rounding_leaves_open_give_a_bound_either_way(bell):
    """0.125 to two decimals is 0.12 or 0.13 for who computes it a last digit off: both bounds are right."""
    instance = bell.replace(maximum_epochs=1, maximum_time=None, round_deadline=2.5, maximum_loss=9.9)
    sample = given_sample((np.full((1, 1, 1), 0.125), np.zeros((1, 1, 1, 1))), 2)
    ends = [dual_bound(instance, sample, 0, 0.0, 200.0, cautious=cautious) for cautious in (True, False)]
    expected = [12 - 200 * gain + 200 * (0.1 - 1e-9) for gain in (0.13, 0.12)]
    assert ends == pytest.approx(expected, rel=1e-9)
    for bound, ok in [(ends[0], True), (ends[1], True), (ends[0] * 0.999, False), (ends[1] * 1.001, False)]:
        claim = DualClaim(time_price=0.0, gain_price=200.0, bound=bound)
        assert dual_finding(instance, sample, 0, claim, 100.0)[0].ok is ok
