"""Directed bounds of the loss with independent residuals: the truth lies between them, whatever the grid."""

from fractions import Fraction

import numpy as np
import pytest

from depl.models.evaluation.traced_grid import NOISE, POINTS, LossGrid
from depl.models.evaluation.traced_loss import end_law
from depl.models.exact.traced_schedules import all_candidates
from depl.models.problem.affine_law import positions
from depl.models.problem.traced_law import FittedStep, TracedLaw
from tests.cases.memory_cases import FULL, instance_of, random_law, run_of
from tests.oracles.traced_law import Oracle

NONE = np.zeros(1)


def candidates_of(document):
    return all_candidates(instance_of(document), document.law, 10_000)


def state(grid, schedule):
    first, *later = positions(schedule)
    laws = grid.first(first)
    for place in later:
        laws = grid.further(laws, place)
    return laws


def states(grid, listed):
    return [(node, state(grid, listed.schedule(node))) for node in range(len(listed.nodes))]


def walk(spread, epochs, retention=0.96875, runs=8):
    """One model whose losses go up in half the runs and down in the others, epochs taking turns.

    No run strays further than a spread or so from 1; drawn afresh, residuals may all go the same way.
    """
    turns = np.cumsum(np.where(np.arange(epochs) % 2, -1.0, 1.0)) * spread
    all_runs = [
        run_of([(FULL, epochs)], 1 + np.concatenate([[0.0], turns if index % 2 else -turns]))
        for index in range(runs)
    ]
    steps = [
        FittedStep(
            model="full", cluster="edge", first=True, age=age, intercept=1 - retention, retention=retention
        )
        for age in range(1, epochs + 1)
    ]
    return TracedLaw(runs=all_runs, steps=steps, residuals="independent")


@pytest.fixture(scope="module")
def documents():
    return [
        random_law(
            np.random.default_rng(5000 + seed),
            residuals="independent",
            deviations=(-0.06, 0.01, 0.09) if seed % 3 == 0 else (),
        )
        for seed in range(5)
    ]


def maxima_of(values):
    """Between atoms and at some of them."""
    atoms = np.unique(values)
    between = np.quantile(values, [0.01, 0.1, 0.35, 0.5, 0.75, 0.9, 0.99])
    return np.concatenate([between, atoms[:: max(1, atoms.size // 4)], [atoms[0] - 1, atoms[-1] + 1]])


@pytest.mark.parametrize("points", [16, POINTS])
def test_the_bounds_contain_the_probability_and_what_is_certified_of_a_single_plan(documents, points):
    asked, widths = 0, []
    for document in documents:
        oracle, listed = Oracle(document), candidates_of(document)
        grid, offsets = LossGrid.of(document.law, points), np.array(document.deviations or (0.0,))
        for node, laws in states(grid, listed):
            schedule, mean = listed.schedule(node), listed.nodes[node].mean
            apart = NONE if oracle.whole(schedule) else offsets
            for maximum in maxima_of(oracle.independent(schedule)[0]).tolist():
                wanted = oracle.violation(schedule, maximum)
                lower, upper = grid.exceedance(laws, maximum - apart, 6)
                assert 0 <= lower <= wanted <= upper <= 1
                asked += 0 < wanted < 1
            certified = end_law(document, schedule).exceedance(mean)
            lower, upper = grid.exceedance(laws, mean - offsets, 6)
            assert lower <= certified.lower <= certified.upper <= upper
            widths.append(upper - lower)
    assert asked > min(300, 60 * len(documents))
    assert points == 16 or np.median(widths) < 0.01  # wide only where an atom lies at the mean


# --- the ends of the grid ---------------------------------------------------------------------------------


def test_losses_that_leave_the_grid_are_bounded_on_both_sides():
    """Runs stay between 0.5 and 1.5; six residuals of the same sign reach twice as far as the grid."""
    document, points = walk(0.5, 6), 300
    schedule = (FULL,) * 6
    values, _ = Oracle(document).independent(schedule)
    grid = LossGrid.of(document.law, points)
    greatest = grid.lower + grid.width * (points - 1)
    assert values.min() < grid.lower - 0.5
    assert values.max() > greatest + 0.5
    laws = state(grid, schedule)
    for maximum in np.concatenate(
        [maxima_of(values), [grid.lower, greatest, greatest + 1e-3, grid.lower - 1e-3]]
    ):
        wanted = Oracle(document).violation(schedule, float(maximum))
        lower, upper = grid.exceedance(laws, np.array([maximum]), 6)
        assert lower <= wanted <= upper
    # above the grid nothing is known but that losses may be there, below it that they need not be
    assert grid.exceedance(laws, np.array([greatest + 5]), 6)[0] == 0
    assert grid.exceedance(laws, np.array([greatest + 5]), 6)[1] > 0.01
    assert grid.exceedance(laws, np.array([grid.lower - 5]), 6)[1] == 1
    assert grid.exceedance(laws, np.array([grid.lower - 5]), 6)[0] < 0.99


def test_an_atom_within_a_billionth_of_the_maximum_counts_as_met():
    """One run in eight ends at 2, the others at 1; a grid step is narrower than a billionth."""
    runs = [run_of([(FULL, 1)], [1.0, 1.0 + 1e-9 * (index == 0)]) for index in range(8)]
    step = FittedStep(model="full", cluster="edge", first=True, age=1, intercept=1, retention=0)
    document = TracedLaw(runs=runs, steps=(step,), residuals="independent")
    grid = LossGrid.of(document.law, 2**16)
    assert grid.width < 1e-10
    laws = state(grid, (FULL,))
    for above, wanted in ((1.2e-9, 0), (0.5e-9, Fraction(0)), (-0.5e-9, Fraction(1, 8)), (-1.5e-9, 1)):
        lower, upper = grid.exceedance(laws, np.array([1 + above]), 6)
        assert lower <= wanted <= upper
        assert upper - lower < 3 * NOISE
