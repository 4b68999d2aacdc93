"""The epochs of an assignment on a grid against their definition: laws added up point by point."""

import numpy as np
import pytest

from depl.models.exact.assignments import assignments
from depl.models.exact.choices import Choices
from depl.models.exact.law_completions import make_changes
from depl.models.exact.law_grid import GridSteps
from tests.cases.law_search_cases import AWKWARD, grid_for

LENGTH = 2


def masses(law, grid, rising):
    """Mass by change in steps: what rises more than the grid is high, or at all, does so no more."""
    found = {}
    for place, mass in enumerate(law.masses.tolist()):
        change = min(law.first + place, grid.size - 1 if rising else 0)
        if change >= 1 - grid.size:
            found[change] = found.get(change, 0.0) + mass
    return found


def transformed(laws, grid):
    """Fourier transform, by its sum, of the tilted law of independent changes that add up."""
    total = {0: 1.0}
    for law in laws:
        added = {}
        for one, first in total.items():
            for other, second in law.items():
                added[one + other] = added.get(one + other, 0.0) + first * second
        total = added
    changes = np.array(list(total))
    weights = np.array(list(total.values())) * np.exp(grid.tilt * grid.step * changes + grid.share)
    frequencies = np.arange(grid.size // 2 + 1) / grid.size
    return np.asarray(np.exp(-2j * np.pi * np.outer(frequencies, changes)) @ weights)


@pytest.mark.parametrize("name", AWKWARD)
def test_changes_are_the_laws_of_a_switch_and_a_run_added_up(name):
    """For every epoch, model before and kind; where a switch is none or has no loss, of the run alone."""
    problem = Choices(AWKWARD[name])
    (assignment,) = assignments(problem)
    grid = grid_for(problem.instance, 32, 0.8, LENGTH)
    steps = GridSteps(problem, grid.step, grid.step * (grid.size - 1))
    found = make_changes(problem, assignment, grid, steps, LENGTH)
    count, errors = len(problem.instance.models), [0.0]
    for k, before, j in np.ndindex(LENGTH, count + 1, len(assignment.models)):
        model = int(assignment.models[j])
        if before < count and not problem.may_follow[before, model]:
            assert (k, before, j) not in found.laws
            continue
        laws = [steps.run(k + 1, model, int(assignment.subsets[j]))]
        switch = steps.switch(before, model) if before < count and before != model else None
        laws += [] if switch is None else [switch]
        for rising, transforms in ((True, found.transforms), (False, found.clipped)):
            expected = transformed([masses(law, grid, rising) for law in laws], grid)
            np.testing.assert_allclose(
                transforms[k, before, j], expected, rtol=1e-9, atol=1e-12 * expected[0].real
            )
        assert found.rises[k, before, j] == sum(max(0, law.first + len(law.masses) - 1) for law in laws)
        errors.append(sum(law.error for law in laws))
    assert found.error == pytest.approx(LENGTH * max(errors), rel=1e-12, abs=0)
