"""What nobody saw: losses before training, and the run unlike all others, which misses every target.

The oracle knows nothing of runs that were not evaluated at first. It is given the same law with losses before
training made up, which a first epoch of retention 0 must not notice.
"""

import json
import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from scipy import stats

import depl
from depl.benchmarks.figures.trajectory import trajectory
from depl.models.evaluation.evaluate import evaluate
from depl.models.evaluation.loss_law import loss_law
from depl.models.evaluation.traced_loss import UNEVALUATED, end_law, traced_survival
from depl.models.evaluation.traced_support import outside_support
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import planning
from depl.models.policy.planning import solve_policy
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import RecordedRun
from depl.models.scenarios.draws import draw_scenarios, scenario_losses
from depl.models.solving.early_stopping import early_stopping
from depl.models.solving.edge import any_plan, nearest_values
from depl.models.verifier.runs import seen_in
from depl.models.verifier.traces import traced_loss
from depl.models.verifier.verify import verify
from tests.cases.memory_cases import FAR, FULL, every_schedule, fitted, instance_of, random_law, run_of
from tests.cases.policy_files import decide
from tests.cases.traced_law_cases import halves, plan_of, reading, verified
from tests.oracles.traced_law import Oracle
from tests.problems import refusal

changed = msgspec.structs.replace

# --- runs that were not evaluated before training ---------------------------------------------------------


def forgetful(document):
    """The same law with first epochs that retain nothing, l(1) spread around its mean."""
    steps = []
    for row in document.steps:
        if row.first and row.age == 1:
            runs = [run for run in document.runs if run.stages[0].trained == (row.model, row.cluster)]
            losses = np.array([run.losses[1] for run in runs])
            mean = float((np.log(losses) if document.scale == "log" else losses).mean())
            row = changed(row, retention=0.0, intercept=mean)
        steps.append(row)
    return changed(document, steps=tuple(steps))


def blind(law):
    """The law of runs that were not evaluated at first."""
    runs = [RecordedRun(stages=run.stages, losses=run.losses[1:], first_epoch=1) for run in law.runs]
    return changed(law, runs=tuple(runs))


def told(law, losses):
    """The same with losses before training made up."""
    runs = [
        RecordedRun(stages=run.stages, losses=(loss, *run.losses))
        for run, loss in zip(law.runs, losses, strict=True)
    ]
    return changed(law, runs=tuple(runs))


def test_support_law_and_survival_are_those_of_any_made_up_losses_before_training():
    """But that no run is stopped by a loss that nobody saw, even under a target above every loss."""
    judged = 0
    for seed in range(8):
        rng = np.random.default_rng(2000 + seed)
        unknown = blind(forgetful(random_law(rng, **reading(seed))))
        losses = [loss for run in unknown.runs for loss in run.losses]
        made_up = told(unknown, rng.uniform(min(losses), max(losses), len(unknown.runs)).tolist())
        schedules, oracle = every_schedule(instance_of(unknown)), Oracle(made_up)
        for schedule in schedules[:: len(schedules) // 8]:
            inside = oracle.inside(schedule)
            assert (not outside_support(unknown.law, schedule)) == inside
            if not (inside and unknown.only_whole_runs):
                assert (traced_loss(unknown, schedule).outside is None) == inside
        for schedule in [item for item in schedules if len(item) < 4 and oracle.supported(item)][:3]:
            judged += 1
            values, law = oracle.law(schedule)[0], end_law(unknown, schedule)
            for maximum in oracle.observed(np.quantile(values[np.isfinite(values)], [0.1, 0.6, 1.0])):
                wanted = oracle.violation(schedule, float(maximum))
                assert law.violation(float(maximum)).exact == wanted
                assert verified(unknown, schedule, float(maximum)) == wanted
                pair = (traced_survival(one, schedule, float(maximum)) for one in (unknown, made_up))
                assert all(item.upper >= made.upper - 1e-9 for item, made in zip(*pair, strict=True))
            found = traced_survival(unknown, schedule, 1e6)
            assert found[0].upper == 1
            assert found[1].upper < 0.6
    assert judged >= 15


def straight(**fields):
    """Twenty runs full-far of losses 3 or 2 and 1 or 0.5, by turns, after their two epochs."""
    runs = [run_of([(FULL, 1), (FAR, 1)], [9.0, 3.0 - k % 2, 1.0 - 0.5 * (k % 2)]) for k in range(20)]
    return blind(forgetful(fitted(runs, np.random.default_rng(0), **fields)))


def instance(**target):
    return instance_of(straight(unseen_loss=9.0, whole_runs=6), initial_loss=5.0, **target)


def test_whole_runs_stop_after_an_epoch_at_the_earliest_so_that_the_cheapest_plan_has_one():
    found = early_stopping(instance(maximum_loss=2.5), plan_of((FULL, FAR)))
    assert [item.exact for item in found.survival] == [1, Fraction(11, 21), Fraction(1, 21)]
    assert found.epochs.exact == 1 + Fraction(11, 21)
    easy = instance(maximum_loss=8.5)
    assert len(depl.solve(easy, "enumerate").plan.epochs) == 1
    seen = easy.replace(traced_law=told(easy.traced_law, [8.0] * 20))
    assert not depl.solve(seen, "enumerate").plan.epochs
    assert refusal(loss_law(easy).end, Plan()).message == UNEVALUATED
    failures = verify(easy, Plan()).failures
    assert any("not evaluated before training" in finding.message for finding in failures)
    assert [row[0] for row in trajectory(easy, plan_of((FULL, FAR)), range(3))] == [1, 2]
    assert {run.losses[0] for run in seen_in(easy.traced_law).runs} == {3.0}  # the worst that was ever seen


@pytest.mark.parametrize("residuals", ["independent", "per_run"])
def test_a_policy_decides_from_epoch_1_on_as_if_any_loss_above_the_target_had_been_seen(
    residuals, monkeypatch
):
    """Half of the runs are below 2.5 after one epoch, the others after two."""
    monkeypatch.setattr(planning, "GRIDS", (256,))
    law = straight(residuals=residuals, settled_epochs=1)
    target = {"maximum_time": None, "round_deadline": 6.0, "maximum_epochs": 2, "quantile_level": 0.8}
    unseen, seen = (instance_of(one, maximum_loss=2.5, **target) for one in (law, told(law, [3.0] * 20)))
    found, other = (solve_policy(one, failure_cost=100.0, time_limit=None) for one in (unseen, seen))
    ends = other.cost, other.reached, other.lower_bound
    assert (found.cost, found.reached, found.lower_bound) == pytest.approx(ends, rel=1e-6)
    assert depl.evaluate_policy(unseen, found.policy).ok
    claims_more = changed(found.policy.certificate, cost=0.99 * found.cost)
    assert not depl.evaluate_policy(unseen, changed(found.policy, certificate=claims_more)).ok
    if residuals == "independent":
        assert not depl.simulate(unseen, found.policy, runs=2000, seed=1).refuted
    for start in ((), (700.0,)):  # nothing is decided on l(0), so that it need not be told
        run = depl.Controller(found.policy)
        assert run.start(*start).kind == "continue"
        assert run.observe(2.0) == depl.Stop("reached", 1, 2.0)
    assert decide(found.policy, [None, 3.0]).kind == "switch"


def test_what_is_observed_at_run_time_is_used_from_the_first_epoch_on():
    law = straight(whole_runs=6).after((), 100.0)
    assert end_law(law, (FULL,)).violation(2.5).exact == Fraction(1, 2)
    assert loss_law(instance_of(law, initial_loss=100.0)).end(Plan()).mean() == 100
    assert end_law(straight(whole_runs=6).after((FULL,), 2.0), (FAR,)).mean() < 2


LAW = straight()
STAGES = LAW.runs[0].stages
ROW = next(index for index, row in enumerate(LAW.steps) if row.first)


@pytest.mark.parametrize(
    ("make", "path", "words"),
    [
        (
            lambda: changed(LAW, runs=(*LAW.runs[1:], RecordedRun(stages=STAGES, losses=(4.0, 3.0, 1.0)))),
            "runs[19].first_epoch",
            "leave this one's out",
        ),
        (
            lambda: changed(LAW, steps=tuple(changed(row, retention=0.5) for row in LAW.steps)),
            f"steps[{ROW}].retention",
            "must be 0",
        ),
        (lambda: RecordedRun(stages=STAGES, losses=(1.0, 2.0)), "losses", '"first_epoch": 1'),
        (
            lambda: RecordedRun(stages=STAGES, losses=(3.0, 1.0, 2.0), first_epoch=1),
            "losses",
            "give one loss per epoch",
        ),
    ],
)
def test_files_that_would_need_what_they_do_not_say_are_refused(make, path, words):
    found = refusal(make)
    assert words in found.message
    assert found.path.endswith(path)


# --- the run that nobody saw ------------------------------------------------------------------------------

BOTH = plan_of((FULL, FAR))


def twenty_runs(evaluated, **options):
    """Whose plan all runs went through, and end at 2 at most."""
    law = halves(20, unseen_loss=9.0, **options) if evaluated else straight(unseen_loss=9.0, **options)
    return instance_of(law, maximum_loss=2.5, quantile_level=0.999)


@pytest.mark.parametrize(
    ("evaluated", "options", "most"),
    [
        (False, {}, Fraction(20, 21)),
        (True, {"diverged": 2}, Fraction(20, 23)),
        (False, {"confidence": 0.95, "diverged": 2}, 1 - stats.beta.ppf(0.95, 3, 20)),
        (True, {"confidence": 0.999999}, 1e-6 ** (1 / 20)),  # so near 1 that single runs weigh nothing
    ],
)
def test_twenty_runs_carry_no_promise_of_0_999_however_loose_the_target(evaluated, options, most):
    wide = twenty_runs(evaluated, **options).replace(maximum_loss=1e6)
    found = depl.solve(wide, "enumerate")
    assert found.termination.value == "infeasible"
    for plan in [Plan()] * evaluated + [BOTH]:
        evaluation = evaluate(wide, plan)
        for violation in (evaluation.violation, verify(wide, plan).violation):
            kept = 1 - float(violation.upper)
            assert kept == pytest.approx(float(most), abs=3e-6)
            assert 1 - float(violation.lower) <= float(most) * (1 + 1e-12)
        assert (evaluation.quantile.lower, evaluation.expected_loss) == (math.inf, math.inf)


def test_what_twenty_runs_carry_is_promised_and_no_more():
    wanted = twenty_runs(evaluated=False)
    (omega,) = (item for item in nearest_values(wanted, any_plan(wanted)) if item.limit.symbol == "omega")
    assert (omega.own, omega.proved) == (0.999, True)
    assert 20 / 21 - 1e-3 <= omega.reached <= 20 / 21 < omega.failed
    carried = wanted.replace(quantile_level=0.95)
    found = depl.solve(carried)
    assert found.violation.exact == Fraction(1, 21)
    assert json.loads(found.to_json())["expected_loss"] is found.expected_loss is None
    assert verify(carried, found.plan).ok
    lost = twenty_runs(evaluated=False, diverged=1).replace(quantile_level=0.9)
    assert depl.solve(lost).violation.exact == Fraction(2, 22)  # a target that all runs meet


def test_scenarios_draw_the_unseen_run_and_refuse_the_plan_without_epochs_that_the_law_alone_allows():
    asked = twenty_runs(evaluated=True).replace(maximum_loss=1e6, quantile_level=0.9)
    drawn = draw_scenarios(asked, 4000, seed=1)
    lost = np.isinf(scenario_losses(asked, drawn, BOTH))
    assert lost.mean() == pytest.approx(1 / 21, abs=6 * math.sqrt(0.05 * 0.95 / 4000))
    assert np.isinf(scenario_losses(asked, drawn, Plan())).all()
    assert depl.solve(asked, "enumerate").epochs == 0
    assert depl.solve(asked, "scenario-search").plan.epochs
    for level, method in ((0.9, "scenario-search"), (0.999, "enumerate")):
        idle = depl.solve(asked.replace(maximum_epochs=0, quantile_level=level), method)
        assert "a plan without an epoch misses the target too often" in idle.reason


def test_a_policy_to_a_target_that_no_logarithm_reaches_is_refused():
    asked = twenty_runs(evaluated=True, scale="log").replace(maximum_loss=-1.0)
    with pytest.raises(InvalidInputError, match="every loss is above 0"):
        depl.solve_policy(asked)
