"""A subproblem against every plan of it written out; charges and cells exclude nothing that is affordable."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from depl.models.exact import kernels
from depl.models.exact.assignments import assignments
from depl.models.exact.counted import CountedSubproblem
from depl.models.exact.subproblem import Subproblem
from depl.models.foundation.tolerances import TIME_TOLERANCE
from depl.models.problem.laws import Forbidden
from tests.cases.law_search_cases import constant, make
from tests.oracles.search import choices_of, kinds_of, required_by, sampled
from tests.problems import atoms

LENGTH = 4


def problem_of(scenarios, fall, unit=1.0, **changes):
    """Epochs that cost 6, 9 and 12, as there is time 1 for work 2, 3 and 4 at price 3; m0 never before m1."""
    gains = [(0.0, 1.0, 2.0), (2.0, 3.0, 4.0), (0.0, 3.0, 5.0)]
    limits = {
        "initial_loss": 10.0 * unit,
        "maximum_loss": (10.0 - fall) * unit,
        "quantile_level": 0.5,
        "maximum_time": None,
        "round_deadline": 1.5,
        "initial_model": "m0",
    }
    models = [constant(atoms(*(unit * value for value in row))) for row in gains]
    barred = {("m0", "m1"): Forbidden()}
    return sampled(make(models, switch=0.5 * unit, switches=barred, **limits | changes), scenarios, 3)


def search_of(problem, cutoff, multipliers=(0.0,)):
    """The one with all data, scenarios in their order."""
    (assignment,) = assignments(problem)
    order = np.arange(len(problem.scenarios))
    return CountedSubproblem(problem, assignment, LENGTH, multipliers, cutoff, order)


def written(search):
    """Cost at no price of time, and gains, of every sequence of kinds that is allowed."""
    costs, assignment = search.assignment.cheapest(search.problem.psi(0.0)), search.assignment
    return {
        kinds: (
            assignment.transfers + math.fsum(costs[k, kind] for k, kind in enumerate(kinds)),
            search.problem.gain(choices_of(search.problem, assignment, kinds)),
        )
        for kinds in kinds_of(search.problem, assignment, LENGTH)
    }


def enough(problem, gains):
    """Whether a plan may be one that meets the target."""
    return int((gains < problem.needed).sum()) <= problem.allowed


@pytest.mark.parametrize("nodes", [3, 10**6])
@pytest.mark.parametrize("scenarios", [1, 2, 5, 12])
@pytest.mark.parametrize("fall", [4.0, 7.0, 9.0, 11.0, 13.0, 15.0])
@pytest.mark.parametrize("initial_model", ["m0", "m1", None])
def test_the_root_bound_is_no_more_than_the_optimum_and_all_plans_below_the_cutoff_are_leaves(
    scenarios, fall, initial_model, nodes
):
    """With one scenario the bound is the optimum, up to the rounding that is granted, and found first."""
    problem = problem_of(scenarios, fall, initial_model=initial_model)
    search = search_of(problem, 60.0)
    everything = written(search)
    wanted = {kinds for kinds, (cost, gains) in everything.items() if cost < 60.0 and enough(problem, gains)}
    optimum = min((everything[kinds][0] for kinds in wanted), default=math.inf)
    assert search.root_bound <= optimum
    if scenarios == 1:
        assert search.root_bound >= min(optimum, 60.0) - 1e-5
    elif not search.finished:
        assert search._whole
        assert search._charges.limits[-1] == 0.5  # of the round deadline: nothing but costs is aimed at
    leaves = []
    while not search.finished:
        leaf = search.proceed(nodes)
        if leaf is not None:
            leaves.append(tuple(leaf))
    assert wanted <= set(leaves)
    if scenarios == 1 and wanted:
        assert everything[leaves[0]][0] == optimum


def dual(plans, price, required):
    """No plan that gains what is required costs less: least cost less priced gain, plus what is required."""
    return min(cost - price * float(gains.mean()) for cost, gains in plans) + price * required


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("scenarios", [2, 5, 12])
@pytest.mark.parametrize("initial_model", ["m0", None])
def test_the_price_of_gain_excludes_no_plan_and_is_the_best_of_all(scenarios, initial_model, level):
    """There is one just where a mean gain is required; 200 others are compared."""
    for fall in (4.0, 7.0, 9.0, 11.0):
        problem = problem_of(scenarios, fall, quantile_level=level, initial_model=initial_model)
        search = search_of(problem, 60.0)
        found, required = search._best_price(), required_by(search._sample)
        assert (found is None) == (required <= 0)
        if found is None:
            continue
        everything, transfers = written(search), search.assignment.transfers
        for kinds, (cost, gains) in everything.items():
            if enough(search.problem, gains):
                charged = sum(found.values[k, kind] for k, kind in enumerate(kinds)) + found.least
                assert charged + found.paid <= cost - transfers + 1e-9
        price, gains = found.paid / required, np.abs(search._sample.gains.mean(axis=-1))
        sizes = search.assignment.cheapest(search.problem.psi(0.0))[:LENGTH] + price * gains
        assert found.size >= sizes.max(axis=1).sum() * (1 - 1e-12)
        usual, plans = (search.cutoff - transfers) / required, everything.values()
        best = max(dual(plans, usual * factor, required) for factor in np.geomspace(0.06, 16.0, 200))
        assert dual(plans, price, required) >= best - 1e-6 * abs(best)


@pytest.mark.parametrize("required", [math.inf, 0.0, -math.inf])
def test_without_a_gain_that_a_price_can_be_set_on_there_is_no_price(required, monkeypatch):
    """Infinite where rounding leaves no mean gain that would do: that is no proof that there is no plan."""
    search = search_of(problem_of(5, 7.0), 60.0)
    assert search._best_price() is not None
    monkeypatch.setattr("depl.models.exact.counted.required_mean", lambda *_: required)
    assert search._best_price() is None


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_gain_that_is_needed_allows_for_the_rounding_of_sums(unit):
    """Two roundings of the greatest sum an epoch, gain and switch; a part in 1e10 is granted, far more."""
    problem = problem_of(4, 7.0, unit)
    search = search_of(problem, 60.0)
    granted = 1e-10 * max(1.0, np.abs(problem.gains).max(axis=(1, 2)).sum(axis=0).max())
    assert 0.9 * granted <= problem.needed - search._sample.needed <= 1.1 * granted


@pytest.mark.parametrize("scenarios", [1, 5])
@pytest.mark.parametrize("fall", [7.0, 9.0, 11.0])
@pytest.mark.parametrize("deadline", [1.37, 1.5])
def test_where_the_table_leaves_nothing_below_the_cutoff_the_bound_is_the_cutoff(scenarios, fall, deadline):
    """A cell more than the budget has is no proof: a deadline of 1.37 rounds extra charges to cells."""
    problem = problem_of(scenarios, fall, round_deadline=deadline)
    met = [cost for cost, gains in written(search_of(problem, 60.0)).values() if enough(problem, gains)]
    for below in (1e-4, 1e-3, 1e-2):
        search = search_of(problem, min(met) - below)
        assert search.finished
        assert search._whole == (deadline == 1.5)
        assert search.root_bound == search.cutoff


EPOCHS = 1000
"""So many summands, each rounded by a unit of 2**-53."""


@pytest.mark.parametrize("cutoff", [0.3, 1.0, 1e6])
@pytest.mark.parametrize("maximum_time", [None, 0.7, 1e5])
def test_limits_allow_for_the_rounding_of_sums_and_for_no_more(cutoff, maximum_time):
    """cutoff - transfers + lam T_max for every price lam of time, and T_max with its tolerance."""
    prices_of_time, transfers = (0.0, 0.01, 3.0, 500.0), 0.11 * cutoff
    subproblem = SimpleNamespace(
        problem=SimpleNamespace(
            maximum_time=maximum_time, paid=lambda multiplier: multiplier * (maximum_time or 0.0)
        ),
        multipliers=prices_of_time,
        cutoff=cutoff,
        assignment=SimpleNamespace(transfers=transfers),
        _priced=None,
        length=EPOCHS,
    )
    *costs, time = Subproblem._limit_values(subproblem).tolist()
    for multiplier, found in zip(prices_of_time, costs, strict=True):
        paid = Fraction(multiplier) * Fraction(maximum_time or 0)
        exact, size = Fraction(cutoff) - Fraction(transfers) + paid, Fraction(cutoff) + paid
        assert exact + size * EPOCHS / 2**53 <= Fraction(found) <= exact + size / 10**11
    if maximum_time is not None:
        most = Fraction(maximum_time) * (1 + Fraction(TIME_TOLERANCE))
        assert most * (1 + Fraction(EPOCHS, 2**53)) <= Fraction(time) <= most * (1 + Fraction(1, 10**11))


def test_what_epochs_are_rounded_up_to_whole_cells_by_adds_up_to_less_than_a_budget_is():
    """Five of a thousand epochs, each a little below two cells: their own charge is a budget for them."""
    row = np.tile([0.0, 1.0, 2 - 4e-7], (EPOCHS, 1))
    charges = SimpleNamespace(values=row[None], limits=[10.0], rest=np.zeros((1, 1)))
    part = SimpleNamespace(_charges=charges, length=EPOCHS)
    Subproblem._make_cells(part, 11)
    assert part._scale == 1
    assert part._steps[:5, 2].sum() <= int(row[:5, 2].sum() + kernels.CELL_ROUNDING)


def test_numbers_are_rounded_to_single_precision_upward_and_whole_ones_are_kept():
    """A single-precision number stays; others rise by at most two of their last places."""
    rng = np.random.default_rng(4)
    values = [0.0, *(float(sign * number) for sign in (-1, 1) for number in (1, 3, 2**24 - 1, 2**24))]
    kept = np.float32(rng.normal(size=100) * 10.0 ** rng.integers(-20, 20, 100))
    drawn = rng.normal(size=300) * 10.0 ** rng.integers(-20, 20, 300)
    for value in (*values, *map(float, kept)):
        assert float(kernels._at_least(value)) == value
    for value in map(float, drawn):
        found = kernels._at_least(value)
        assert found == np.float32(found)
        assert value <= float(found) <= value + 2 * float(np.spacing(np.float32(abs(value))))
