"""The bound beside that of HiGHS: two prices from which `depl check` proves it again."""

import math

import msgspec
import numpy as np
import pytest

import depl
from depl.instances.generator import random_instances
from depl.models.exact import root_bounds
from depl.models.exact.root_bounds import root_certificate
from depl.models.exact.sampled import SampledProblem
from depl.models.scenarios.draws import draw_scenarios
from depl.models.solving.methods import Limits
from depl.models.solving.result import DualBound, Termination
from tests.cases.sampled_plans import hard_problem


def dual_findings(instance, plan):
    report = depl.check(instance, plan, most_plans=0)
    return report.ok, [finding for finding in report.findings if finding.equation == "claim: dual bound"]


def test_the_verifier_proves_the_bound_again_and_refuses_another():
    drawn = random_instances(
        np.random.default_rng(21), 4, models=(2, 2), clusters=(1, 2), datasets=(1, 2), maximum_epochs=(2, 4)
    )
    useful = 0
    for seed, instance in enumerate(drawn):
        result = depl.solve(instance, "milp", scenarios=15, seed=seed)
        if result.plan is None:
            assert result.dual is None
            continue
        dual = result.plan.claims.dual
        assert (dual.time_price, dual.gain_price, dual.bound) == (
            result.dual.time_price,
            result.dual.gain_price,
            result.dual.bound,
        )
        assert dual.bound <= result.cost * (1 + 1e-9)
        ok, (finding,) = dual_findings(instance, result.plan)
        assert ok
        assert finding.ok
        if dual.bound == 0:
            continue
        useful += dual.bound > 0.5 * result.cost
        for factor in (1 - 1e-6, 1 + 1e-6):
            wrong = msgspec.structs.replace(dual, bound=dual.bound * factor)
            claims = msgspec.structs.replace(result.plan.claims, dual=wrong, violation=None, quantile=None)
            ok, (finding,) = dual_findings(instance, msgspec.structs.replace(result.plan, claims=claims))
            assert not ok
            assert not finding.ok
    assert useful >= 2


def test_where_nothing_is_random_the_bound_is_the_cost(steady):
    """Four units of gain are needed, an epoch brings two: at mu = psi / 2 the bound is 2 psi - lam T_max."""
    result = depl.solve(steady, "milp", scenarios=5)
    assert result.cost == pytest.approx(24, rel=1e-12)
    assert result.dual.bound == pytest.approx(24, rel=1e-9)


def test_a_plan_without_epochs_is_bounded_by_nothing(tiny):
    instance = tiny.replace(maximum_loss=tiny.target.initial_loss)
    assert depl.solve(instance, "milp", scenarios=5).dual == DualBound(0.0, 0.0, 0.0)


def test_a_solve_that_is_stopped_reports_no_less_than_it_can_prove_again():
    problem = hard_problem()
    result = depl.solve(problem.instance, "milp", scenarios=problem.scenarios, time_limit=2)
    assert result.termination is Termination.TIME_LIMIT  # an optimum takes much longer
    assert 0 < result.dual.bound <= result.lower_bound <= result.cost
    ok, (finding,) = dual_findings(problem.instance, result.plan)
    assert ok
    assert finding.ok


def test_without_time_a_great_bound_is_left_out_and_a_small_one_is_not(tiny, monkeypatch):
    problem = SampledProblem(tiny, draw_scenarios(tiny, 10))
    assert root_certificate(problem, 4.0, 28.0, seconds=-1.0).bound > 0
    best = root_certificate(problem, 4.0, 28.0)
    assert root_certificate(problem, 4.0, 28.0, seconds=math.inf) == best
    monkeypatch.setattr(root_bounds, "ALLOWANCE", 0.0)
    assert root_certificate(problem, 4.0, 28.0, seconds=-1.0) is None
    monkeypatch.setattr(root_bounds, "_EVALUATIONS", math.inf)
    paid = 28 + 4 * tiny.target.maximum_time
    plain = root_certificate(problem, 4.0, 28.0, seconds=60.0)
    assert plain.time_price == 4.0
    assert plain.gain_price * problem.needed / paid in (pytest.approx(1), pytest.approx(0.9))
    assert plain.bound <= best.bound


def test_an_interrupt_at_the_last_moment_leaves_the_plan(tiny, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(root_bounds, "root_certificate", pressed)
    outcome = next(item for item in depl.methods() if item.name == "milp").run(
        tiny, Limits(scenarios=draw_scenarios(tiny, 10))
    )
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.plan.epochs
    assert outcome.dual is None
