"""The best volume in closed form, and the theorem that the claim of submodularity is trivial."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from depl.benchmarks.studies.set_functions.families import LAWS
from depl.heuristics.data.branching import branch_and_bound
from depl.heuristics.data.continuous import best_volume
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_of_numbers
from depl.models.problem.learning import InverseLogDataLaw, LogDataLaw, PowerDataLaw

RANGE = 10.0
"""Q(all) / Q0."""


def needed_of(kind: str, base: float, shape: float) -> NeededEpochs:
    """``shape`` in (0, 1): how far K falls under the logarithm on ten times the base, or p / 2."""
    if kind == "log":
        return NeededEpochs(LogDataLaw(a=math.log(RANGE * base) + 10 * shape, b=1.0, base_volume=base))
    if kind == "inverse_log":
        return NeededEpochs(InverseLogDataLaw(base_volume=base))
    return NeededEpochs(PowerDataLaw(p=2 * shape, base_volume=base))


SITUATIONS = (st.sampled_from(LAWS), st.floats(0.1, 50), st.floats(0.01, 0.99), st.floats(0.0, 100))


@given(*SITUATIONS)
def test_no_volume_of_a_grid_is_better_than_the_best_one(
    kind: str, base: float, shape: float, ratio: float
) -> None:
    needed, whole = needed_of(kind, base, shape), (RANGE - 1) * base
    fixed = (ratio + 1) * base
    grid = np.linspace(0, whole, 2001)
    values = needed.at(grid) * (fixed + grid)
    found = best_volume(needed, fixed, 1.0, whole)
    assert 0 <= found <= whole
    assert float(needed.at(found)) * (fixed + found) <= values.min() * (1 + 1e-12)


@given(*SITUATIONS)
def test_where_the_claim_is_true_nothing_lies_between_and_mostly_the_least_data_are_best(
    kind: str, base: float, shape: float, ratio: float
) -> None:
    needed, whole = needed_of(kind, base, shape), (RANGE - 1) * base
    ratio = ratio % 1.0  # larger ones are never concave
    if needed.product_is_concave((ratio + 1) * base, 1.0, whole):
        best = best_volume(needed, (ratio + 1) * base, 1.0, whole)
        assert best in ((0, whole) if kind == "log" else (0,))


def test_under_the_logarithm_a_submodular_product_may_ask_for_all_data() -> None:
    """K = 5 - 2 ln Q, T = Q, Q0 = 3, six units more (E4): 8.408 without, 5.450 with all of them."""
    needed = NeededEpochs(LogDataLaw(a=5.0, b=2.0, base_volume=3.0))
    assert needed.product_is_concave(3.0, 1.0, 6.0)
    assert best_volume(needed, 3.0, 1.0, 6.0) == 6.0


def test_the_power_law_has_its_best_volume_in_closed_form() -> None:
    """Q* = p t0 / ((1 - p) t1) = 1 * 6 / 1 for p = 1/2; here t0 = fixed - t1 Q0 = 6."""
    needed = NeededEpochs(PowerDataLaw(p=0.5, base_volume=2.0))
    assert best_volume(needed, 8.0, 1.0, 20.0) == pytest.approx(4.0, rel=1e-9)
    assert best_volume(needed, 8.0, 1.0, 3.0) == 3.0
    assert best_volume(NeededEpochs(PowerDataLaw(p=1.0)), 1.0, 1.0, 5.0) == 5.0
    assert best_volume(NeededEpochs(None), 1.0, 1.0, 5.0) == 0.0


@pytest.mark.parametrize("law", LAWS)
def test_many_small_datasets_come_close_to_the_best_volume(law: str) -> None:
    needed, whole = needed_of(law, 1.0, 0.3), 9.0
    problem = selection_of_numbers(needed, np.full(200, whole / 200), np.full(200, whole / 200), 5.0)
    best = best_volume(needed, 5.0, 1.0, whole)
    least = float(needed.at(best)) * (5.0 + best)
    found = branch_and_bound(problem, nonempty=False)
    assert found.optimal
    assert least * (1 - 1e-9) <= found.value <= least * (1 + 1e-3)
