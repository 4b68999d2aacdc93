"""Programs on which HiGHS proves an optimum that is a quarter too expensive (highspy 1.15.1 and 1.16.0)."""

from pathlib import Path

import highspy
import pytest

from depl.models.problem.instance import Instance
from depl.models.programs.highs import OPTIONS
from depl.models.scenarios.files import load_scenarios
from depl.models.solving.methods import Limits, Outcome, find
from depl.models.solving.result import Termination
from tests.oracles.scenario_enumeration import cheapest_under_scenarios

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize("method", ["milp", "scenario-search"])
def test_every_exact_method_proves_the_true_optimum_where_presolve_errs(method):
    instance = Instance.from_json((DATA / "presolve_errs.json").read_text(encoding="utf-8"))
    sample = load_scenarios(DATA / "presolve_errs.npz", instance)
    true, _ = cheapest_under_scenarios(instance, sample.improvements, sample.switch_losses, sample.decimals)
    outcome = find(method).run(instance, Limits(scenarios=sample))
    assert isinstance(outcome, Outcome)
    assert outcome.termination is Termination.OPTIMAL
    assert outcome.lower_bound == pytest.approx(true, rel=1e-9)


def test_the_optimum_of_a_program_is_that_of_other_solvers_whatever_the_seed():
    """One with resources as variables, of the problem above; SCIP, CBC, GLPK and HiGHS by default find this.

    At a ``mip_feasibility_tolerance`` of 1e-9 HiGHS calls 946.478 optimal, with 36 of the first 100 seeds.
    """
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.readModel(str(DATA / "tolerance_errs.lp"))
    found = []
    for seed in range(6):
        for name, value in {**OPTIONS, "random_seed": seed}.items():
            engine.setOptionValue(name, value)
        engine.clearSolver()
        engine.run()
        found.append(engine.getInfo().objective_function_value)
    assert found == pytest.approx([752.7135347319434] * 6, rel=1e-7)
