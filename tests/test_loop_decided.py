"""What `depl` says where its steps find no plan and all plans are few enough to be listed."""

import pytest

import depl
from depl.heuristics.loop import method
from depl.models.problem import Instance
from depl.models.result import Termination


@pytest.mark.parametrize("target", [4.5, 3.0])
def test_a_small_instance_without_plan_is_proved_infeasible(tiny: Instance, target: float) -> None:
    """Oracle: all plans, one by one, none of which has a quantile below 5."""
    instance = tiny.replace(maximum_loss=target)
    assert depl.solve(instance, "enumerate").termination is Termination.INFEASIBLE
    result = depl.solve(instance, "depl")
    assert result.termination is Termination.INFEASIBLE
    assert result.lower_bound == float("inf")
    assert result.reason is not None
    assert f"target {target:g} at omega" in result.reason


def test_a_small_instance_whose_steps_find_nothing_gets_its_optimum(
    tiny: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As happened with atoms: the steps end without a plan, though there is one."""
    monkeypatch.setattr(method._Loop, "_search", lambda self: None)
    monkeypatch.setattr(method._Loop, "_insist", lambda self: None)
    result = depl.solve(tiny, "depl")
    assert result.termination is Termination.OPTIMAL
    assert result.cost == pytest.approx(28, rel=1e-9)
    assert result.decisions[-1].kept
