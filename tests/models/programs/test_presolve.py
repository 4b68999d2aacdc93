"""A program on which HiGHS with presolve proves an optimum that is a third too expensive (highspy 1.15.1)."""

from pathlib import Path

import pytest

from depl.models.problem.instance import Instance
from depl.models.scenarios.files import load_scenarios
from depl.models.solving.methods import Limits, Outcome, find
from depl.models.solving.result import Termination
from tests.oracles.scenario_enumeration import cheapest_under_scenarios

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("method", ["milp", "milp-resource", "scenario-search"])
def test_every_exact_method_proves_the_true_optimum_where_presolve_errs(method):
    instance = Instance.from_json((DATA / "presolve_errs.json").read_text(encoding="utf-8"))
    sample = load_scenarios(DATA / "presolve_errs.npz", instance)
    true, _ = cheapest_under_scenarios(instance, sample.improvements, sample.switch_losses, sample.decimals)
    outcome = find(method).run(instance, Limits(scenarios=sample))
    assert isinstance(outcome, Outcome)
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.lower_bound == pytest.approx(true, rel=1e-9)
