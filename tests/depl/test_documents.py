"""Files of every format, written before half of the house went, are read, and hold what they held.

How they were made is in ``tests/data/documents/README.md``. They are never made again.
"""

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
from depl.models.scenarios.draws import load_scenarios
from depl.models.solving.edge import Budget
from depl.models.solving.front import read_front
from depl.models.traces.files import read_traces

HERE = Path(__file__).resolve().parents[1] / "data" / "documents"


TINY = depl.load(HERE / "tiny.json")
PLANS = ("plan.json", "sampled-plan.json", "fitted-plan.json")


def text_of(name):
    return (HERE / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fitted():
    return depl.load(HERE / "fitted.json")


def test_the_commented_instance_and_setup_say_what_they_said():
    instance, setup = depl.load(HERE / "instance.json"), load_setup(str(HERE / "setup.json"))
    for found in (instance, setup):
        assert [cluster.name for cluster in found.clusters] == ["edge", "cloud"]
    assert [model.name for model in instance.models] == ["full", "pruned"]
    assert (setup.target.maximum_loss, setup.target.quantile_level) == (0.8, 0.8)


def test_plans_are_of_their_instances_and_keep_their_claims(fitted):
    plan, sampled, traced = (depl.Plan.from_json(text_of(name)) for name in PLANS)
    assert (plan.instance, plan.claims.cost) == (TINY.fingerprint, 28.0)
    report = depl.check(TINY, plan)
    assert (report.ok, report.cost, report.proved_bound) == (True, 28.0, plan.claims.lower_bound)
    claim, report = sampled.claims.scenarios, depl.check(TINY, sampled)
    assert (claim.size, claim.misses, claim.allowed, claim.seed) == (20, 5, 6, 1)
    assert (report.ok, any(row.equation.startswith("claim: scenarios") for row in report.findings)) == (
        True,
        True,
    )
    law = fitted.traced_law
    assert (law.residuals, law.scale, law.care, len(law.runs)) == ("per_run", "log", None, 10)
    assert depl.check(fitted, traced).ok
    assert [epoch.model for epoch in traced.epochs] == ["full"] * 4 + ["pruned"] * 4


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
    names = ("runs", "exceedances", "certified")
    assert [getattr(found, name) for name in names] == [told[name] for name in names] == [16, 0, True]
    assert found.violation.upper == pytest.approx(told["violation"]["upper"])
    assert found.quantile.value == told["quantile"]["value"]


def test_a_front_scenarios_and_a_state_are_of_their_instance():
    front = read_front(HERE / "front.json", TINY, Budget.LOSS)
    assert [point.budget for point in front.points] == [9.0, 6.0]
    assert [point.cost for point in front.points] == pytest.approx([10.4777122, 32.2679557], abs=1e-6)
    state = depl.State.from_json(text_of("state.json"))
    assert (state.epoch, state.loss, state.elapsed_time, state.model) == (1, 10.5, 1.5, "full")
    scenarios = load_scenarios(HERE / "scenarios.npz", TINY)
    assert (scenarios.improvements.shape, scenarios.seed) == ((5, 3, 2), 1)


def test_a_policy_decides_as_it_did_and_a_run_goes_on_from_its_log(tmp_path, ask, fitted):
    policy = depl.Policy.from_json(text_of("policy.json"))
    assert (policy.maximum_loss, policy.quantile_level, policy.maximum_epochs) == (9.0, 0.99, 20)
    assert policy.certificate.cost == pytest.approx(11.8106796)
    shutil.copy(HERE / "controller.jsonl", tmp_path / "run.jsonl")
    controller = depl.Controller.resume(policy, tmp_path / "run.jsonl")
    decision = controller.decision
    assert (decision.kind, decision.epoch, decision.model) == ("continue", 1, "slow-steady")
    assert controller.observe(8.5).reason == "reached"
    words = ("policy", "decide", HERE / "policy.json", "--log", HERE / "losses.jsonl", "--json")
    told = json.loads(ask(*words)[1])
    wanted = {"decision": "continue", "model": "slow-steady", "epoch": 1, "loss": 11.5}
    assert told.items() >= wanted.items()
    counted = depl.Policy.from_json(text_of("counted-policy.json"))
    assert (counted.instance, counted.state) == (fitted.fingerprint, "observed")
    assert (counted.certificate.runs, counted.certificate.reached) == (10, pytest.approx(0.8264463))
    assert depl.Controller(counted).start(3.0).kind == "continue"


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


def test_attempts_and_records_are_read_and_answers_of_an_older_form_are_refused():
    stored, compact = read_attempts(HERE / "attempts.sqlite"), read_attempts(HERE / "attempts.jsonl.gz")
    assert stored == compact
    found = [(row.task.configuration, row.ending, row.cost) for row in stored]
    assert found == [("exact", "optimal", 12.0), ("expected-cost", "exhausted", 12.0)]
    record = results.read(HERE / "record.json")
    assert (record.case, record.goals[0].measured) == ("agreement", 0)
    with pytest.raises(depl.DeplError, match="an older form; 'depl bench compare behaviour' asks today's"):
        read_attempts(HERE / "behaviour.json")
