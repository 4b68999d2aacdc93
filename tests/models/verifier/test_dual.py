"""The dual bound, proved again: closed forms, all sequences written out, validity, and claims altered."""

import itertools
import math

import numpy as np
import pytest

from depl.instances.generator import random_instances
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.epoch_costs import price
from depl.models.problem.instance import (
    Instance,
)
from depl.models.problem.plan import DualClaim
from depl.models.scenarios.draws import draw_scenarios
from depl.models.verifier import dual as verifier_dual
from depl.models.verifier.dual import assignments, dual_bound, dual_finding
from depl.models.verifier.findings import Kind
from depl.models.verifier.scenarios import DrawnSample, given_sample


def sample_of(problem: SampledProblem) -> DrawnSample:
    scenarios = problem.scenarios
    return given_sample((scenarios.improvements, scenarios.switch_losses), scenarios.decimals)


def certain(instance: Instance, size: int = 4) -> DrawnSample:
    """Scenarios of an instance in which nothing is random."""
    models, epochs = len(instance.models), instance.target.maximum_epochs
    return given_sample((np.zeros((size, epochs, models)), np.zeros((size, epochs, models, models))), None)


def problems(seed: int, count: int, size: int = 20) -> list[SampledProblem]:
    """Small enough that all sequences can be written out in Python."""
    rng = np.random.default_rng(seed)
    drawn = random_instances(
        rng, count, maximum_epochs=(2, 3), clusters=(1, 2), datasets=(1, 2), models=(2, 2)
    )
    drawn = [
        item.replace(initial_model=item.models[1].name) if index % 3 == 1 else item
        for index, item in enumerate(drawn)
    ]
    return [
        SampledProblem(instance, draw_scenarios(instance, size, seed=index, decimals=[None, 2][index % 2]))
        for index, instance in enumerate(drawn)
    ]


def sequences(problem: SampledProblem, assignment) -> list[tuple]:
    """All sequences of 0 ... K_max configurations on an assignment, without forbidden switches."""
    options = [g for g in problem.configurations if assignment[g.cluster] == g.datasets]
    found = []
    for length in range(problem.epochs + 1):
        for sequence in itertools.product(options, repeat=length):
            models = [g.model for g in sequence]
            before = [problem.initial_model, *models]
            steps = zip(before, models, strict=False)
            if all(a is None or problem.may_follow[a, b] for a, b in steps):
                found.append(sequence)
    return found


def written_out(problem: SampledProblem, time_price: float, gain_price: float) -> float:
    """The definition in the module's docstring, word by word, with the solvers' tables."""
    target, size = problem.instance.target, len(problem.scenarios)
    if problem.needed <= 0:
        return 0.0
    best = math.inf
    for assignment in assignments(problem.instance):
        least = np.full(size, np.inf)
        for sequence in sequences(problem, assignment):
            loads = [problem.loads[k][problem.configurations.index(g)] for k, g in enumerate(sequence)]
            value = sum(price(load, time_price, target.round_deadline) for load in loads)
            least = np.minimum(least, value - gain_price * problem.gain(sequence))
        least += gain_price * problem.needed - time_price * (target.maximum_time or 0.0)
        moved = sum(problem.transfer_cost(n, d) for n, d in enumerate(assignment) if d)
        best = min(best, moved + np.sort(least)[size - problem.allowed - 1])
    return max(0.0, best)


def prices(problem: SampledProblem, rng: np.random.Generator) -> tuple[float, float]:
    time_price = 0.0 if problem.instance.target.maximum_time is None else float(rng.exponential())
    return time_price, float(10 * rng.exponential())


def cheapest(problem: SampledProblem) -> float:
    """The optimum of the sampled problem by the solvers' tables and allocation."""
    best = 0.0 if problem.misses([]) <= problem.allowed else math.inf
    for assignment in assignments(problem.instance):
        for sequence in sequences(problem, assignment)[1:]:
            if problem.misses(sequence) <= problem.allowed:
                found = problem.allocation(sequence)
                if found.feasible:
                    best = min(best, found.cost + problem.transfers(sequence))
    return best


# ---- closed forms ----


def test_without_noise_the_bound_is_that_of_the_best_number_of_epochs(steady):
    """psi(lam) = 2 sqrt(3 * 8 lam) + lam / 2 (x = sqrt(8 lam / 3) <= 10); K epochs gain 2 K; T_max = 5.

    The optimum costs 24 at lam = 3 * 4^2 / 8 = 6 (x = 4); there psi = 27, twice of which mu must pay for.
    """
    for time_price, gain_price in [(6.0, 10.0), (6.0, 1.0), (0.3, 4.0), (2.0, 12.0), (6.0, 13.5)]:
        psi = 2 * math.sqrt(24 * time_price) + time_price / 2
        needed = 10 - 6 - 1e-9
        values = [k * (psi - 2 * gain_price) + gain_price * needed - 5 * time_price for k in range(4)]
        found = dual_bound(steady, certain(steady), 0, time_price, gain_price)
        assert found == pytest.approx(max(0.0, min(values)), rel=1e-12, abs=1e-12)
    assert found == pytest.approx(24, abs=2e-8)


def test_if_not_training_is_feasible_the_bound_is_zero(bell):
    assert dual_bound(bell.replace(maximum_loss=10), certain(bell), 0, 6.0, 13.5) == 0
    assert dual_bound(bell, certain(bell), 4, 6.0, 13.5) == 0


# ---- against the definition, and against optima ----


def test_the_recursion_gives_what_all_sequences_written_out_give():
    rng, positive = np.random.default_rng(8), 0
    for problem in problems(seed=7, count=10):
        lam, mu = prices(problem, rng)
        expected = written_out(problem, lam, mu)
        positive += expected > 0
        found = dual_bound(problem.instance, sample_of(problem), problem.allowed, lam, mu)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
    assert positive >= 4


def test_it_never_exceeds_the_cheapest_plan_whatever_the_prices():
    rng, close = np.random.default_rng(9), 0.0
    for problem in problems(seed=10, count=6):
        optimum = cheapest(problem)
        for _ in range(8):
            lam, mu = prices(problem, rng)
            found = dual_bound(problem.instance, sample_of(problem), problem.allowed, lam, mu)
            assert found <= optimum * (1 + 1e-9)
            close = max(close, found / optimum if 0 < optimum < math.inf else 0.0)
    assert close > 0.4  # the bounds say something


# ---- claims ----


@pytest.fixture(scope="module")
def proved() -> tuple[SampledProblem, float, DualClaim]:
    """A problem, its optimum, and a dual bound above 0 with a time row that binds."""
    rng = np.random.default_rng(14)
    for problem in problems(seed=15, count=40):
        if problem.instance.target.maximum_time is None:
            continue
        for _ in range(20):
            lam, mu = prices(problem, rng)
            bound = dual_bound(problem.instance, sample_of(problem), problem.allowed, lam, mu)
            optimum = cheapest(problem)
            if 0.2 * optimum < bound and optimum < math.inf:
                return problem, optimum, DualClaim(time_price=lam, gain_price=mu, bound=bound)
    raise AssertionError("no such problem was drawn")


def verdict(proved, **changes):
    problem, cost, claim = proved
    fields = {name: changes.pop(name, getattr(claim, name)) for name in ("time_price", "gain_price", "bound")}
    given = {"instance": problem.instance, "allowed": problem.allowed, "cost": cost, **changes}
    return dual_finding(
        given["instance"], sample_of(problem), given["allowed"], DualClaim(**fields), given["cost"]
    )


def test_a_true_bound_is_proved_again_and_may_be_off_by_a_billionth(proved):
    finding, bound = verdict(proved)
    assert (finding.kind, bound) == (Kind.CHECKED, proved[2].bound)
    assert verdict(proved, bound=bound * (1 + 5e-10))[0].ok
    assert not verdict(proved, bound=bound * (1 + 2e-9))[0].ok


@pytest.mark.parametrize("name", ["time_price", "gain_price", "bound"])
@pytest.mark.parametrize("factor", [1 - 1e-6, 1 + 1e-6, 2.0])
def test_every_altered_number_of_it_is_refused(proved, name, factor):
    finding, found = verdict(proved, **{name: factor * getattr(proved[2], name)})
    assert (finding.kind, finding.equation) == (Kind.FAILED, "claim: dual bound")
    if name == "bound":  # what is proved does not depend on what is claimed
        assert found == proved[2].bound
        assert finding.amount == pytest.approx((factor - 1) * found, rel=1e-9)


def test_a_bound_above_the_cost_of_the_plan_is_refused_and_with_very_many_assignments_repeated(
    proved, monkeypatch
):
    finding, _ = verdict(proved, cost=0.9 * proved[2].bound)
    assert finding.kind is Kind.FAILED
    assert "exceeds the plan's own cost" in finding.message
    monkeypatch.setattr(verifier_dual, "MOST_ASSIGNMENTS", 0)
    finding, bound = verdict(proved)
    assert (finding.kind, finding.ok, bound) == (Kind.REPEATED, True, 0.0)
    assert verdict(proved, cost=0.9 * proved[2].bound)[0].kind is Kind.FAILED


def test_a_price_of_time_needs_a_limit_of_time(proved):
    instance = proved[0].instance.replace(maximum_time=None, round_deadline=1e6)
    finding, bound = verdict(proved, instance=instance)
    assert (finding.kind, bound) == (Kind.FAILED, 0)
    assert "T_max" in finding.message


def test_gains_that_rounding_leaves_open_give_a_bound_either_way(bell):
    """0.125 to two decimals is 0.12 or 0.13 for who computes it a last digit off: both bounds are right."""
    instance = bell.replace(maximum_epochs=1, maximum_time=None, round_deadline=2.5, maximum_loss=9.9)
    draws = np.full((1, 1, 1), 0.125), np.zeros((1, 1, 1, 1))
    sample = given_sample(draws, 2)
    ends = [dual_bound(instance, sample, 0, 0.0, 200.0, cautious=cautious) for cautious in (True, False)]
    expected = [12 - 200 * gain + 200 * (0.1 - 1e-9) for gain in (0.13, 0.12)]
    assert ends == pytest.approx(expected, rel=1e-9)
    for bound, ok in [(ends[0], True), (ends[1], True), (ends[0] * 0.999, False), (ends[1] * 1.001, False)]:
        claim = DualClaim(time_price=0.0, gain_price=200.0, bound=bound)
        assert dual_finding(instance, sample, 0, claim, 100.0)[0].ok is ok
