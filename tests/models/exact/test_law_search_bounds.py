"""What prunes under the law is a lower bound: prefixes, grids and tilts against written-out plans."""

import itertools
import math

import numpy as np
import pytest
from scipy import fft

from depl.models.exact.assignments import assignments
from depl.models.exact.choices import Choices
from depl.models.exact.law_grid import Grid, GridLaw, GridSteps, make_grid
from depl.models.problem.epochs import loss_step
from depl.models.problem.laws import Empirical, Normal
from depl.models.risk.certify import certified_violation
from tests.cases.law_search_cases import (
    AWKWARD,
    best_completion,
    constant,
    doubt,
    extras,
    final_loss_of,
    grid_for,
    interval_of,
    make,
    prefix_bound,
    subproblem,
    tabled,
)
from tests.oracles.search import kinds_of
from tests.problems import atoms

GRIDS = ((64, 0.8, 0.3, 4), (128, 2.0, 1.0, 24), (512, 4.0, 0.2, 16), (1024, 3.0, 2.0, 24))
"""Points, tilt, room above the start in falls, cells."""
ORDER = {name: place for place, name in enumerate(AWKWARD)}


@pytest.mark.parametrize("name", AWKWARD)
def test_no_completion_of_a_prefix_beats_its_bound(name):
    """Random prefixes and budgets, on every second pair of a length and a grid, in turn from law to law."""
    problem, rng = Choices(AWKWARD[name]), np.random.default_rng(0)
    longest = 3 if name == "untruncated switches" else 4  # those take long to certify
    pairs = list(itertools.product((1, 2, longest), GRIDS))
    pairs = [pair for place, pair in enumerate(pairs) if (place + place // 4 + ORDER[name]) % 2]
    assert len(pairs) == 6
    for length, (points, tilt, room, cells) in pairs:
        search = subproblem(problem, length, grid_for(problem.instance, points, tilt, length, room), cells)
        everything = list(kinds_of(problem, search.assignment, length))
        prefix = everything[rng.integers(len(everything))][: int(rng.integers(1, length + 1))]
        budget = float(rng.choice([0.0, rng.uniform(0, 5), 100.0]))
        assert prefix_bound(search, prefix, budget) <= best_completion(search, prefix, budget) + doubt(search)


@pytest.mark.parametrize(
    ("mean", "variance", "room", "sharp"), [(1.8, 0.3, 1.0, 0.96), (1.7, 2.0, 6.0, 0.93)]
)
def test_with_one_kind_the_bound_is_the_violation_but_for_the_grid(mean, variance, room, sharp):
    """Nothing is relaxed: l(3) is normal, and rounding down loses a step an epoch, and one for the target."""
    problem = Choices(make([constant(Normal(mean=mean, variance=variance))]))
    grid = grid_for(problem.instance, 4096, 1.5 / variance**0.5, 3, room)
    search = subproblem(problem, 3, grid)

    def violation(shift):
        """P(10 - G > 6 + shift), G normal with three times the mean and the variance."""
        return 0.5 * math.erfc((3 * mean - 4.0 + shift) / math.sqrt(6 * variance))

    for length in (1, 2, 3):
        bound = prefix_bound(search, (0,) * length, 0.0)
        assert violation(4 * grid.step) * (1 - 1e-6) <= bound <= violation(0.0) + doubt(search)
    assert violation(4 * grid.step) > sharp * violation(0.0)
    laws, found = search._risk, prefix_bound(search, (0,), 0.0)
    search._risk = laws._replace(rounding=0.0)
    search._risk = laws._replace(most=(found + prefix_bound(search, (0,), 0.0)) / 2)
    assert search._able(0)[0]  # what is too much by less than its doubt may be rounding


@pytest.mark.parametrize("level", [0.9, 0.99, 0.9999, 0.999999])
@pytest.mark.parametrize("place", [1, 4])
def test_rounding_in_transforms_stays_below_a_violation_that_meets_the_budget_exactly(level, place):
    """With 1 - omega an epoch is a disaster, of any size: only rounding could say "too much"."""
    count = round(1 / (1 - level))
    noises = [2.0, 1.5, 1.5, 1.5, 1.5]
    noises[place] = atoms(-1000.0, 1.5, weights=(1.0, count - 1.0))
    instance = make([tabled(*noises)], quantile_level=level, maximum_epochs=5, maximum_loss=2.5)
    problem = Choices(instance)
    kinds, budget = (0,) * 5, 1 / count
    known = certified_violation(final_loss_of(problem, next(assignments(problem)), kinds), 2.5)
    assert known.exact is not None
    for points, reach in itertools.product((128, 512, 4096), (1e6, 1e7, 1e8)):
        tilt = math.log(reach / budget) / 12.0
        search = subproblem(problem, 5, make_grid(instance, points, tilt, 5, 3.0, 1.5))
        for depth in range(1, 6):
            assert prefix_bound(search, kinds[:depth], 0.0) <= search._risk.most
    assert prefix_bound(search, kinds, 0.0) >= 0.99 * budget


@pytest.mark.parametrize("name", AWKWARD)
def test_every_plan_that_meets_the_target_is_a_leaf(name):
    problem, length = Choices(AWKWARD[name].replace(quantile_level=0.6)), 3 if "untruncated" in name else 4
    target, checked = problem.instance.target, 0
    for points in (64, 512):
        search = subproblem(problem, length, grid_for(problem.instance, points, 3.0, length), 24)
        above, limit = extras(search), float(search._charges.limits[0] - search._charges.rest[0, 0])
        leaves = set()
        while not search.finished:
            leaf = search.proceed(7)  # few nodes at a time: pausing must lose nothing
            if leaf is not None:
                assert tuple(leaf) not in leaves
                leaves.add(tuple(leaf))
        everything = list(kinds_of(problem, search.assignment, length))
        assert leaves <= set(everything)
        for kinds in everything:
            spent = math.fsum(above[k, kind] for k, kind in enumerate(kinds))
            loss = final_loss_of(problem, search.assignment, kinds)
            if spent <= limit and interval_of(loss, target.maximum_loss).upper <= 0.4:
                assert kinds in leaves
                assert search.root_bound <= search.cutoff - limit + spent + 1e-9
                checked += 1
    assert checked


# The grid itself.


def test_an_atom_within_the_tolerance_of_the_target_meets_it_on_the_grid():
    """With h = 1/32 the target lies on the grid: a fall of 4 meets one of 4 + 5e-10, and not of 4 + 2e-9."""
    for missing, target in ((5e-10, -128), (2e-9, -129)):
        instance = make([constant(2.0)], maximum_loss=6.0 - missing)
        grid = make_grid(instance, 260 if missing > 1e-9 else 259, 1.0, 2, 2.0, 2.0)
        assert grid.step == 1 / 32
        assert grid.target == target


def true_survival(change, point):
    """P(change > point) by the law's own distribution function."""
    if not change.terms:
        return float(change.shift > point)
    (term,) = change.terms
    edge = (point - change.shift) / term.coefficient
    if isinstance(term.law, Empirical):
        values, weights = term.law.atoms()
        return float(weights[term.coefficient * values + change.shift > point].sum())
    below = float(term.law.cdf(edge))
    return 1 - below if term.coefficient > 0 else below


@pytest.mark.parametrize("name", AWKWARD)
def test_laws_on_the_grid_are_below_the_laws_they_stand_for_and_near(name):
    problem = Choices(AWKWARD[name])
    instance = problem.instance
    for step in (0.5, 1 / 16):
        reach = 15.0
        steps = GridSteps(problem, step, reach)
        laws = [
            (loss_step(instance, k, 0, f"m{m}", f"m{m}", problem.subsets[0]), steps.run(k, m, 0))
            for k in (1, 2)
            for m in range(len(instance.models))
        ]
        for change, law in laws:
            assert law.masses.min() >= 0
            assert law.masses.sum() <= 1 + 1e-12
            assert -reach / step - 1 <= law.first <= law.last <= reach / step + 1
            for index in range(law.first - 2, law.last + 2):
                above = law.masses[max(0, index + 1 - law.first) :].sum() if index < law.last else 0.0
                assert above <= true_survival(change, index * step) + law.error + 1e-12
                if -14.0 < index * step < 13.0:
                    assert above >= true_survival(change, (index + 1) * step) - 1e-8


@pytest.mark.parametrize(("first", "last"), [(-3, 2), (-1, 0), (-9, -5), (4, 6), (1, 1), (-20, 20)])
def test_a_law_moved_into_a_window_only_goes_down(first, last):
    law = GridLaw(-2, np.array([0.1, 0.2, 0.3, 0.15, 0.05]), 1e-15)
    moved = law.within(first, last)
    assert first <= moved.first <= moved.last <= last
    assert moved.error == law.error
    points = np.arange(-12, 12)

    def above(item):
        places = np.arange(item.first, item.last + 1)
        return np.array([item.masses[places > point].sum() for point in points])

    assert np.all(above(moved) <= above(law) + 1e-15)
    inside = (points >= first) & (points < last)
    np.testing.assert_allclose(above(moved)[inside], above(law)[inside], atol=1e-15)
    places = np.arange(-2, 3)
    kept = law.masses[places >= first].sum()
    assert moved.masses.sum() == pytest.approx(kept)


@pytest.mark.parametrize("size", [16, 17, 40])
def test_what_wraps_round_adds_less_than_is_allowed_for(size):
    """A prefix that falls below the grid meets V at its top; tilting weighs that by exp(-s h N)."""
    step, tilt = 0.5, 1.0
    grid = Grid(step, 3 - size + 1, 3, -2, tilt, 0.0)
    law = GridLaw(-70, np.full(74, 1 / 74), 0.0)
    prefix = fft.irfft(law.transform(size, tilt * step), size)
    places = np.arange(grid.lowest, grid.highest + 1)
    values = np.where(places > grid.target, np.exp(-tilt * step * places), 0.0)
    found = float(prefix[places % size] @ values)
    changes = np.arange(-70, 4)
    known = float(law.masses[(changes > grid.target) & (changes >= grid.lowest)].sum())
    assert known < found <= known + grid.aliased
