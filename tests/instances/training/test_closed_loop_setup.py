"""The fitting sets and the setup for them make an instance whose plans are two stages."""

import json
from itertools import groupby

import msgspec
import numpy as np
import pytest

from depl.fitting import fit
from depl.instances.library import load
from depl.instances.setups import load_setup
from depl.instances.training.recorded import recorded_traces
from depl.models.evaluation.evaluate import evaluate
from depl.models.problem.plan import Plan
from depl.models.solving.result import Solution
from depl.models.solving.solve import solve
from tests.instances.training.test_recorded_sets import RECORDED

EACH = {"edge": 2.6, "far-edge": 1.4}


def test_a_fifth_of_the_runs_gives_a_plan_of_two_stages_at_the_two_costs():
    setup = load_setup("closed-loop")
    setup = msgspec.structs.replace(setup, target=msgspec.structs.replace(setup.target, quantile_level=0.8))
    traces = recorded_traces(f"{RECORDED[0]}-fitting")
    instance = fit(traces.select(np.arange(0, len(traces.runs), 5)), setup, target=1.2)
    result = solve(instance)
    assert result.solution is Solution.PROVEN_OPTIMAL
    stages = [key for key, _ in groupby((epoch.model, epoch.cluster) for epoch in result.plan.epochs)]
    assert stages == [("pruned-50", "edge"), ("pruned-75", "far-edge")]
    cost = sum(EACH[epoch.cluster] for epoch in result.plan.epochs)
    assert result.cost == pytest.approx(cost, rel=1e-12)
    assert evaluate(instance, Plan(data=result.plan.data, epochs=result.plan.epochs)).violation.upper <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("family", RECORDED)
def test_the_commands_of_the_page_lead_to_a_plan(ask, tmp_path, family):
    mine, plan = tmp_path / "mine.json", tmp_path / "plan.json"
    assert ask("fit", f"{family}-fitting", "--template", "closed-loop", "--out", mine)[0] == 0
    instance = load(str(mine))
    assert instance.target.deployable == ("pruned-75",)
    assert (instance.target.maximum_loss, instance.target.quantile_level) == (0.75, 0.95)
    code, text, _ = ask("solve", mine, "--out", plan, "--json")
    assert (code, json.loads(text)["solution"]) == (0, "proven_optimal")
    assert Plan.from_json(plan.read_text()).epochs[-1].model == "pruned-75"
    assert ask("check", mine, plan)[0] == 0
