"""The program of cutting planes: against SciPy's on random cuts, added one by one and all at once."""

import numpy as np
import pytest
from scipy import optimize

from depl.models.programs.cut_program import CutProgram


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_a_program_written_out_and_the_multipliers_prove_it(seed):
    """They sum to 1, and the cuts weighed so bound z alone: their maximum over the box is the ceiling."""
    rng = np.random.default_rng(seed)
    size, cuts = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    rows, rights = rng.normal(size=(cuts, size)), rng.normal(size=cuts)
    lower, upper = -rng.uniform(0, 2, size), rng.uniform(0, 2, size)
    wanted = optimize.linprog(
        np.append(-1.0, np.zeros(size)),
        A_ub=np.column_stack([np.ones(cuts), rows]),
        b_ub=rights,
        bounds=[(None, None), *zip(lower, upper, strict=True)],
    )
    one_by_one, at_once = CutProgram(lower, upper), CutProgram(lower, upper)
    for row, right in zip(rows, rights, strict=True):
        one_by_one.add(row[None, :], np.array([right]))
        one_by_one.solve()
    at_once.add(rows, rights)
    for found in (one_by_one.solve(), at_once.solve()):
        assert found.ceiling == pytest.approx(-wanted.fun, abs=1e-7)
        assert (found.ceiling + rows @ found.point <= rights + 1e-7).all()
        assert (found.point >= lower - 1e-9).all()
        assert (found.point <= upper + 1e-9).all()
        assert found.multipliers.min() >= 0
        assert found.multipliers.sum() == pytest.approx(1)
        weighed = found.multipliers @ rows
        greatest = -np.minimum(weighed * lower, weighed * upper).sum()
        assert found.multipliers @ rights + greatest == pytest.approx(found.ceiling, abs=1e-7)


def test_without_cuts_and_with_one_that_is_no_number_there_is_no_optimum():
    program = CutProgram(np.zeros(1), np.ones(1))
    assert program.solve() is None
    program.add(np.array([[1.0]]), np.array([1.0]))
    program.add(np.array([[np.inf]]), np.array([0.5]))
    assert program.solve() is None
