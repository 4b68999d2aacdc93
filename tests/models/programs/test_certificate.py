"""The bound beside that of HiGHS: two prices from which `depl check` proves it again."""

import depl
from depl.models.solving.result import DualBound, Termination
from tests.cases.sampled_plans import hard_problem


def dual_findings(instance, plan):
    report = depl.check(instance, plan, most_plans=0)
    return report.ok, [finding for finding in report.findings if finding.equation == "claim: dual bound"]


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
