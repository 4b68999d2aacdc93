"""Runs that were not evaluated before training: l(1) is as it was seen, and a plan without an epoch is none.

The oracle knows nothing of such runs. It is given the same law with losses before training made up, which a
first epoch of retention 0 must not notice.
"""

import json
from fractions import Fraction

import msgspec
import numpy as np
import pytest

import depl
from depl.benchmarks.figures.trajectory import trajectory
from depl.models.evaluation.loss_law import loss_law
from depl.models.evaluation.traced_loss import UNEVALUATED, end_law
from depl.models.evaluation.traced_support import outside_support
from depl.models.evaluation.traced_survival import traced_survival
from depl.models.foundation.errors import InvalidInputError
from depl.models.policy import planning
from depl.models.policy.planning import solve_policy
from depl.models.problem.instance import Instance
from depl.models.problem.plan import Plan
from depl.models.problem.traced_law import RecordedRun, TracedLaw
from depl.models.solving.early_stopping import early_stopping
from depl.models.solving.result import Termination
from depl.models.verifier.distribution import tail_probability
from depl.models.verifier.laws import decimal
from depl.models.verifier.traces import traced_loss
from depl.models.verifier.verify import verify
from tests.cases.decided import decide
from tests.cases.memory_cases import FAR, FULL, every_schedule, fitted, instance_of, random_law, run_of
from tests.cases.traced_law_cases import plan_of, reading
from tests.oracles.traced_law import Oracle, Schedule


def forgetful(document: TracedLaw) -> TracedLaw:
    """The same law with first epochs that retain nothing, l(1) spread around its mean."""
    steps = []
    for row in document.steps:
        if row.first and row.age == 1:
            runs = [run for run in document.runs if run.stages[0].trained == (row.model, row.cluster)]
            losses = np.array([run.losses[1] for run in runs])
            mean = float((np.log(losses) if document.scale == "log" else losses).mean())
            row = msgspec.structs.replace(row, retention=0.0, intercept=mean)
        steps.append(row)
    return msgspec.structs.replace(document, steps=tuple(steps))


def blind(run: RecordedRun) -> RecordedRun:
    return RecordedRun(stages=run.stages, losses=run.losses[1:], first_epoch=1)


def cases(count: int) -> list[tuple[TracedLaw, TracedLaw, list[Schedule]]]:
    """Laws of runs that were not evaluated at first, the same with made-up losses, and all schedules."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(2000 + seed)
        document = forgetful(random_law(rng, **reading(seed)))
        least = min(min(run.losses[1:]) for run in document.runs)
        greatest = max(max(run.losses[1:]) for run in document.runs)
        runs, told = [], []
        for run in document.runs:
            start = float(rng.uniform(least, greatest))
            told.append(msgspec.structs.replace(run, losses=(start, *run.losses[1:])))
            runs.append(blind(run))
        unknown = msgspec.structs.replace(document, runs=tuple(runs))
        made_up = msgspec.structs.replace(document, runs=tuple(told))
        found.append((unknown, made_up, every_schedule(instance_of(document))))
    return found


CASES = cases(8)


def test_support_and_law_are_those_of_any_made_up_losses_before_training():
    judged = 0
    for unknown, made_up, schedules in CASES:
        oracle = Oracle(made_up)
        for schedule in schedules[:: len(schedules) // 8]:
            inside = oracle.inside(schedule)
            assert (not outside_support(unknown.law, schedule)) == inside
            if not (inside and unknown.only_whole_runs):
                assert (traced_loss(unknown, schedule).outside is None) == inside
        for schedule in [item for item in schedules if len(item) < 4 and oracle.supported(item)][:3]:
            judged += 1
            values, _ = oracle.law(schedule)
            law, checked = end_law(unknown, schedule), traced_loss(unknown, schedule)
            for maximum in oracle.observed(np.quantile(values[np.isfinite(values)], [0.1, 0.6, 1.0])):
                wanted = oracle.violation(schedule, float(maximum))
                assert law.violation(float(maximum)).exact == wanted
                limit = decimal(unknown.on_scale(float(maximum)) + 1e-9) - checked.certain
                tail = Fraction(tail_probability(checked.increments, limit).lower)
                assert checked.beyond + (1 - checked.beyond) * tail == wanted
    assert judged >= 15


def test_no_run_is_stopped_by_a_loss_that_nobody_saw():
    """Even under a target above every loss, which the stand-in for l(0) would meet."""
    seen = set()
    for unknown, made_up, schedules in CASES:
        oracle = Oracle(made_up)
        schedule = next((item for item in schedules if len(item) > 1 and oracle.supported(item)), None)
        if schedule is None:
            continue
        seen.add((unknown.residuals, bool(oracle.whole(schedule))))
        found = traced_survival(unknown, schedule, 1e6)
        assert found[0].upper == 1
        assert found[1].upper < 0.6
        hard = traced_survival(unknown, schedule, float(oracle.observed(np.median(oracle.losses[0][1:]))))
        counted = traced_survival(made_up, schedule, float(oracle.observed(np.median(oracle.losses[0][1:]))))
        assert all(item.upper >= made.upper - 1e-9 for item, made in zip(hard, counted, strict=True))
    assert seen >= {("per_run", True), ("per_run", False), ("independent", False)}


def straight(count: int = 20, **fields: object) -> TracedLaw:
    """Runs full-far of losses 3, 1 or 2, 0.5 by turns after their two epochs."""
    runs = [run_of([(FULL, 1), (FAR, 1)], [9.0, 3.0 - k % 2, 1.0 - 0.5 * (k % 2)]) for k in range(count)]
    law = forgetful(fitted(runs, np.random.default_rng(0), **fields))
    return msgspec.structs.replace(law, runs=tuple(map(blind, law.runs)))


def instance(**target: object) -> Instance:
    return instance_of(straight(unseen_loss=9.0, whole_runs=6), initial_loss=5.0, **target)


def test_whole_runs_are_counted_as_they_were_seen_and_stop_after_an_epoch_at_the_earliest():
    found = early_stopping(instance(maximum_loss=2.5), plan_of((FULL, FAR)))
    assert [item.exact for item in found.survival] == [1, Fraction(11, 21), Fraction(1, 21)]
    assert found.epochs.exact == 1 + Fraction(11, 21)


def test_the_cheapest_plan_has_an_epoch_however_easy_the_target_is():
    easy = instance(maximum_loss=8.5, quantile_level=0.9)
    found = depl.solve(easy, "enumerate")
    assert len(found.plan.epochs) == 1
    assert found.termination is Termination.OPTIMAL
    told = [
        msgspec.structs.replace(run, losses=(8.0, *run.losses), first_epoch=0) for run in easy.traced_law.runs
    ]
    seen = easy.replace(traced_law=msgspec.structs.replace(easy.traced_law, runs=tuple(told)))
    assert not depl.solve(seen, "enumerate").plan.epochs


def test_a_plan_without_an_epoch_is_refused_and_found_wrong_by_the_verifier():
    easy = instance(maximum_loss=8.5)
    with pytest.raises(InvalidInputError, match="not evaluated before training") as caught:
        loss_law(easy).end(Plan())
    assert caught.value.message == UNEVALUATED
    report = verify(easy, Plan())
    assert not report.ok
    assert any("not evaluated before training" in finding.message for finding in report.findings)
    assert trajectory(easy, plan_of((FULL, FAR))).epochs == (1, 2)


@pytest.mark.parametrize("residuals", ["independent", "per_run"])
def test_a_policy_decides_from_epoch_1_on_as_if_any_loss_above_the_target_had_been_seen(
    residuals, monkeypatch
):
    """Half of the runs are below 2.5 after one epoch, the others after two."""
    monkeypatch.setattr(planning, "GRIDS", (256,))
    blind_law = msgspec.structs.replace(straight(residuals=residuals), settled_epochs=1)
    told = tuple(RecordedRun(stages=run.stages, losses=(3.0, *run.losses)) for run in blind_law.runs)
    target = {"maximum_time": None, "round_deadline": 6.0, "maximum_epochs": 2, "quantile_level": 0.8}
    unseen = instance_of(blind_law, maximum_loss=2.5, **target)
    seen = instance_of(msgspec.structs.replace(blind_law, runs=told), maximum_loss=2.5, **target)
    found, other = (solve_policy(one, failure_cost=100.0, time_limit=None) for one in (unseen, seen))
    ends = other.cost, other.reached, other.lower_bound
    assert (found.cost, found.reached, found.lower_bound) == pytest.approx(ends, rel=1e-6)
    assert depl.evaluate_policy(unseen, found.policy).ok
    claims_more = msgspec.structs.replace(found.policy.certificate, cost=0.99 * found.cost)
    bold = msgspec.structs.replace(found.policy, certificate=claims_more)
    assert not depl.evaluate_policy(unseen, bold).ok
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
    later = straight(whole_runs=6).after((FULL,), 2.0)
    assert end_law(later, (FAR,)).mean() < 2


def test_the_file_says_of_each_run_where_its_losses_begin():
    text = instance().to_json()
    row = json.loads(text)["traced_law"]["runs"][0]
    assert (row["losses"], row["first_epoch"]) == ([3.0, 1.0], 1)
    assert Instance.from_json(text) == instance()
    assert "first_epoch" not in instance_of(random_law(np.random.default_rng(1))).to_json()


def test_files_that_would_need_what_they_do_not_say_are_refused():
    law = straight()
    mixed = (*law.runs[1:], msgspec.structs.replace(law.runs[0], losses=(4.0, 3.0, 1.0), first_epoch=0))
    with pytest.raises(InvalidInputError, match="leave this one's out") as caught:
        msgspec.structs.replace(law, runs=mixed)
    assert caught.value.path.endswith("runs[19].first_epoch")
    (index,) = [index for index, row in enumerate(law.steps) if row.first]
    steps = list(law.steps)
    steps[index] = msgspec.structs.replace(steps[index], retention=0.5)
    with pytest.raises(InvalidInputError, match="must be 0") as caught:
        msgspec.structs.replace(law, steps=tuple(steps))
    assert caught.value.path.endswith(f"steps[{index}].retention")
    with pytest.raises(InvalidInputError, match='"first_epoch": 1'):
        RecordedRun(stages=law.runs[0].stages, losses=(1.0, 2.0))
    with pytest.raises(InvalidInputError, match="give one loss per epoch"):
        RecordedRun(stages=law.runs[0].stages, losses=(3.0, 1.0, 2.0), first_epoch=1)
