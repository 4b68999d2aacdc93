"""Files of every format, written before half of the house went, are read, and hold what they held.

How they were made is in ``tests/data/documents/README.md``. They are never made again.
"""

import gzip
import json
import shutil
from pathlib import Path

import highspy
import numpy as np
import pytest

import depl
from depl.benchmarks.measure import results
from depl.benchmarks.measure.store import read_attempts
from depl.instances.setups import load_setup
from depl.models.programs.export import read_names
from depl.models.scenarios.files import load_scenarios
from depl.models.solving.budgets import Budget
from depl.models.solving.front_points import read_front
from depl.models.traces.files import read_traces

HERE = Path(__file__).resolve().parents[1] / "data" / "documents"


TINY = depl.load(HERE / "tiny.json")


def text_of(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fitted() -> depl.Instance:
    return depl.load(HERE / "fitted.json")


def test_the_commented_instance_and_setup_say_what_they_said():
    instance, setup = depl.load(HERE / "instance.json"), load_setup(str(HERE / "setup.json"))
    for found in (instance, setup):
        assert [cluster.name for cluster in found.clusters] == ["edge", "cloud"]
    assert [model.name for model in instance.models] == ["full", "pruned"]
    assert (setup.target.maximum_loss, setup.target.quantile_level) == (0.8, 0.8)


def test_a_plan_under_the_law_is_of_its_instance_and_keeps_its_claims():
    plan = depl.Plan.from_json(text_of("plan.json"))
    assert (plan.instance, plan.claims.cost, plan.claims.lower_bound) == (
        TINY.fingerprint,
        28.0,
        27.999999986,
    )
    report = depl.check(TINY, plan)
    assert (report.ok, report.cost, report.proved_bound) == (True, 28.0, 27.999999986)


def test_a_plan_on_scenarios_is_drawn_again_and_counted():
    plan = depl.Plan.from_json(text_of("sampled-plan.json"))
    claim = plan.claims.scenarios
    assert (claim.size, claim.misses, claim.allowed, claim.seed) == (20, 5, 6, 1)
    report = depl.check(TINY, plan)
    assert report.ok
    assert any(row.equation.startswith("claim: scenarios") and row.ok for row in report.findings)


def test_a_fitted_instance_has_its_runs_and_its_plan_is_accepted(fitted):
    law, plan = fitted.traced_law, depl.Plan.from_json(text_of("fitted-plan.json"))
    assert (law.residuals, law.scale, law.care) == ("per_run", "log", None)
    assert len(law.runs) == 10
    assert depl.check(fitted, plan).ok
    assert [epoch.model for epoch in plan.epochs] == ["full"] * 4 + ["pruned"] * 4


def test_traces_are_the_same_as_csv_and_npz():
    rows, columns = (read_traces(HERE / name) for name in ("runs.csv", "runs.npz"))
    assert list(rows.runs) == list(columns.runs) == [f"pilot-{number}" for number in range(10)]
    assert rows.schedules == columns.schedules
    np.testing.assert_allclose(rows.loss, columns.loss, rtol=0, atol=1e-12)
    assert rows.loss[0] == 3.0
    assert read_traces(HERE / "fresh.csv").rows == 16 * 9


def test_the_fresh_runs_certify_as_the_certificate_says(fitted):
    told = json.loads(text_of("certificate.json"))
    plan = depl.Plan.from_json(text_of("fitted-plan.json"))
    found = depl.certify(read_traces(HERE / "fresh.csv"), 0.8, 0.8, plan=plan, chosen_by=[fitted])
    assert (found.runs, found.exceedances, found.certified) == (16, 0, True)
    assert (told["runs"], told["exceedances"], told["certified"]) == (16, 0, True)
    assert found.violation.upper == pytest.approx(told["violation"]["upper"])
    assert told["quantile"]["value"] == 0.5513


def test_a_front_and_a_state_are_of_their_instance():
    front = read_front(HERE / "front.json", TINY, Budget.LOSS)
    assert [point.budget for point in front.points] == [9.0, 6.0]
    assert [point.cost for point in front.points] == pytest.approx([10.4777122, 32.2679557], abs=1e-6)
    state = depl.State.from_json(text_of("state.json"))
    assert (state.epoch, state.loss, state.elapsed_time, state.model) == (1, 10.5, 1.5, "full")


def test_a_policy_decides_as_it_did_and_a_run_goes_on_from_its_log(tmp_path, ask):
    policy = depl.Policy.from_json(text_of("policy.json"))
    assert (policy.maximum_loss, policy.quantile_level, policy.maximum_epochs) == (9.0, 0.99, 20)
    assert policy.certificate.cost == pytest.approx(11.8106796)
    shutil.copy(HERE / "controller.jsonl", tmp_path / "run.jsonl")
    controller = depl.Controller.resume(policy, tmp_path / "run.jsonl")
    decision = controller.decision
    assert (decision.kind, decision.epoch, decision.model) == ("continue", 1, "slow-steady")
    assert controller.observe(8.5).reason == "reached"
    told = json.loads(
        ask("policy", "decide", HERE / "policy.json", "--log", HERE / "losses.jsonl", "--json")[1]
    )
    kept = tuple(told[name] for name in ("decision", "model", "epoch", "loss"))
    assert kept == ("continue", "slow-steady", 1, 11.5)


def test_a_counted_policy_is_read(fitted):
    policy = depl.Policy.from_json(text_of("counted-policy.json"))
    assert (policy.instance, policy.state) == (fitted.fingerprint, "observed")
    assert policy.certificate.runs == 10
    assert policy.certificate.reached == pytest.approx(0.8264463)
    assert depl.Controller(policy).start(3.0).kind == "continue"


def test_scenarios_are_those_of_their_instance():
    scenarios = load_scenarios(HERE / "scenarios.npz", TINY)
    assert (scenarios.improvements.shape, scenarios.seed) == ((5, 3, 2), 1)


@pytest.mark.parametrize("name", ["program.lp", "program.mps"])
def test_a_program_has_its_head_and_the_optimum_that_it_states(name):
    head = text_of(name).splitlines()[0]
    assert "FINISHED: its optimum is 28.0, that of instance 850cb4598fac40af on 2 scenarios" in head
    names = read_names(HERE / name)
    assert names["w(1_cloud_old_archive_full)"] == "w[1,cloud,old archive,full]"
    engine = highspy.Highs()
    engine.silent()
    assert engine.readModel(str(HERE / name)) == highspy.HighsStatus.kOk
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.run()
    assert engine.getInfo().objective_function_value == pytest.approx(28.0)


def test_attempts_are_the_same_in_both_forms():
    stored, compact = read_attempts(HERE / "attempts.sqlite"), read_attempts(HERE / "attempts.jsonl.gz")
    assert stored == compact
    assert [(row.task.configuration, row.ending, row.cost) for row in stored] == [
        ("exact", "optimal", 12.0),
        ("expected-cost", "exhausted", 12.0),
    ]
    with gzip.open(HERE / "attempts.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert json.loads(next(lines))["format"] == "depl-attempts"


def test_records_of_a_case_and_of_answers_are_read():
    record = results.read(HERE / "record.json")
    assert record.case == "agreement"
    assert record.goals[0].measured == 0
    with pytest.raises(depl.DeplError, match="an older form; 'depl bench compare behaviour' asks today's"):
        read_attempts(HERE / "behaviour.json")
