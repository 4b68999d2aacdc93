"""`depl` and `exact` on tiny instances of atoms: both find a plan, or both prove that there is none."""

import pytest

import depl
from depl.models.solving.result import Termination
from tests.cases.atom_cases import atomic

QUICK = (6, 125, 219)
"""The first has no plan; labels miss that of the second; P(miss) of the last is its budget, to rounding."""


@pytest.mark.parametrize(
    "seed",
    [*QUICK, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(60) if seed not in QUICK)],
)
def test_depl_finds_a_plan_where_exact_does_and_proves_infeasible_what_exact_does(seed: int) -> None:
    instance = atomic(seed)
    proved, found = depl.solve(instance, "exact"), depl.solve(instance, "depl")
    assert (found.plan is None) == (proved.plan is None)
    if proved.termination is Termination.INFEASIBLE:
        assert found.termination is Termination.INFEASIBLE
        assert found.reason
    if found.cost is not None and proved.cost is not None:
        assert found.lower_bound <= proved.cost * (1 + 1e-9)
        assert proved.lower_bound <= found.cost * (1 + 1e-9)
