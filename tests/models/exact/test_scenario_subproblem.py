"""A subproblem under scenarios against every plan of it written out, with costs that are whole numbers."""

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest

from depl.models.exact.assignments import assignments
from depl.models.exact.counted import CountedSubproblem
from depl.models.exact.counted import required_mean as required_of
from depl.models.exact.prices import Prices
from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import Switch
from depl.models.problem.laws import Deterministic, Empirical, Forbidden
from tests.cases.law_search_cases import constant, make
from tests.oracles.search import sampled

LENGTH = 4


def problem_of(
    scenarios: int, fall: float, unit: float = 1.0, level: float = 0.5, **changes: object
) -> SampledProblem:
    """Epochs that cost 6, 9 and 12, as there is time 1 for work 2, 3 and 4 at price 3; m0 never before m1."""
    models = [
        constant(Empirical(values=tuple(unit * value for value in values)))
        for values in ((0.0, 1.0, 2.0), (2.0, 3.0, 4.0), (0.0, 3.0, 5.0))
    ]
    switches = (Switch(previous="m0", following="m1", law=Forbidden()),)
    limits = {
        "maximum_loss": (10.0 - fall) * unit,
        "quantile_level": level,
        "maximum_time": None,
        "round_deadline": 1.5,
    }
    instance = make(
        models,
        switch=Deterministic(value=0.5 * unit),
        switches=switches,
        initial_loss=10.0 * unit,
        **(limits | {"initial_model": "m0"} | changes),
    )
    return sampled(instance, scenarios, 3)


def search_of(
    problem: SampledProblem, cutoff: float, multipliers: tuple[float, ...] = (0.0,)
) -> CountedSubproblem:
    """The one with all data, scenarios in their order."""
    (assignment,) = assignments(problem)
    order = np.arange(len(problem.scenarios))
    return CountedSubproblem(problem, Prices.of(problem), assignment, LENGTH, multipliers, cutoff, order)


def written(search: CountedSubproblem) -> dict[tuple[int, ...], tuple[float, np.ndarray]]:
    """Cost at no price of time, and gains, of every sequence of kinds that is allowed."""
    problem, found = search.problem, {}
    costs = search.assignment.cheapest(search.prices.at(0.0))
    for kinds in itertools.product(range(len(search.assignment.models)), repeat=LENGTH):
        choices = [problem.configurations[search.assignment.options[kind][0]] for kind in kinds]
        models = [problem.initial_model, *(chosen.model for chosen in choices)]
        if all(a is None or problem.may_follow[a, b] for a, b in itertools.pairwise(models)):
            cost = math.fsum(costs[k, kind] for k, kind in enumerate(kinds))
            found[kinds] = search.assignment.transfers + cost, problem.gain(choices)
    return found


def enough(problem: SampledProblem, gains: np.ndarray) -> bool:
    """Whether a plan may be one that meets the target."""
    return int((gains < problem.needed).sum()) <= problem.allowed


@pytest.mark.parametrize("nodes", [3, 10**6])
@pytest.mark.parametrize("scenarios", [1, 2, 5, 12])
@pytest.mark.parametrize("fall", [4.0, 7.0, 9.0, 11.0, 13.0, 15.0])
@pytest.mark.parametrize("initial_model", ["m0", "m1", None])
def test_the_root_bound_is_no_more_than_the_optimum_and_all_plans_below_the_cutoff_are_leaves(
    scenarios: int, fall: float, initial_model: str | None, nodes: int
) -> None:
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


@pytest.mark.parametrize("nodes", [3, 10**6])
@pytest.mark.parametrize("scenarios", [2, 5, 12])
def test_what_is_aimed_at_is_raised_by_1_2_4_8_cells_up_to_the_first_plan(scenarios: int, nodes: int) -> None:
    """From half a cell above the root bound; the limit of the cutoff ends it, and nothing else."""
    raised = 0
    for fall, level in itertools.product(range(4, 15), (0.5, 0.9)):
        search = search_of(problem_of(scenarios, float(fall), level=level), 60.0)
        met = [cost for cost, gains in written(search).values() if enough(search.problem, gains)]
        if search.finished or not met:
            continue
        cell = 1 / search._scale
        aims = [search.root_bound - search.assignment.transfers + (0.5 + 2**n - 1) * cell for n in range(9)]
        limits = [min(60.0 - search.assignment.transfers, aim) for aim in aims]
        cheapest = min(met) - search.assignment.transfers
        leaf = None
        while leaf is None:
            leaf = search.proceed(nodes)
        first = next(n for n, limit in enumerate(limits) if limit >= cheapest)
        assert search._charges.limits[0] == pytest.approx(limits[first], abs=1e-5)
        raised += first > 0
    assert raised > 0


def required_mean(search: CountedSubproblem) -> float:
    """Mean gain of every plan that meets the target, at least, where any kind may be used."""
    sample = search._sample
    mean = sample._replace(
        gains=sample.gains.mean(axis=-1, keepdims=True),
        switch_losses=sample.switch_losses.mean(axis=-1, keepdims=True),
    )
    return required_of(sample, mean, np.ones(sample.gains.shape[:2], dtype=bool))


def dual(plans: Iterable[tuple[float, np.ndarray]], price: float, required: float) -> float:
    """No plan that gains what is required costs less: least cost less priced gain, plus what is required."""
    return min(cost - price * float(gains.mean()) for cost, gains in plans) + price * required


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("scenarios", [2, 5, 12])
@pytest.mark.parametrize("initial_model", ["m0", None])
def test_the_price_of_gain_excludes_no_plan_and_is_the_best_of_all(
    scenarios: int, initial_model: str | None, level: float
) -> None:
    """There is one just where a mean gain is required; 200 others are compared."""
    for fall in (4.0, 7.0, 9.0, 11.0):
        search = search_of(problem_of(scenarios, fall, level=level, initial_model=initial_model), 60.0)
        found, required = search._best_price(), required_mean(search)
        assert (found is None) == (required <= 0)
        if found is None:
            continue
        everything, transfers = written(search), search.assignment.transfers
        for kinds, (cost, gains) in everything.items():
            if enough(search.problem, gains):
                charged = sum(found.values[k, kind] for k, kind in enumerate(kinds)) + found.least
                assert charged + found.paid <= cost - transfers + 1e-9
        usual, plans = (search.cutoff - transfers) / required, everything.values()
        best = max(dual(plans, usual * factor, required) for factor in np.geomspace(0.06, 16.0, 200))
        assert dual(plans, found.paid / required, required) >= best - 1e-6 * abs(best)


@pytest.mark.parametrize("required", [math.inf, 0.0, -math.inf])
def test_without_a_gain_that_a_price_can_be_set_on_there_is_no_price(
    required: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Infinite where rounding leaves no mean gain that would do: that is no proof that there is no plan."""
    search = search_of(problem_of(5, 7.0), 60.0)
    assert search._best_price() is not None
    monkeypatch.setattr("depl.models.exact.counted.required_mean", lambda *_: required)
    assert search._best_price() is None


@pytest.mark.parametrize("initial_model", ["m0", "m1", "m2", None])
def test_what_every_scenario_gains_at_most_is_what_its_best_plan_gains(initial_model: str | None) -> None:
    search = search_of(problem_of(5, 4.0, initial_model=initial_model), math.inf, ())
    best = np.max([gains for _, gains in written(search).values()], axis=0)
    allowed = search.problem.allowed
    assert search.most_gain == pytest.approx(np.partition(best, allowed)[allowed], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_gain_that_is_needed_allows_for_the_rounding_of_sums(unit: float) -> None:
    """Each epoch adds a gain and takes off a switch, so two roundings of the greatest sum."""
    problem = problem_of(4, 7.0, unit)
    search = search_of(problem, 60.0)
    largest = np.abs(problem.gains).max(axis=(1, 2)).sum(axis=0).max()
    assert search._sample.needed <= problem.needed - 2 * LENGTH * 2.0**-53 * largest
    assert search._sample.needed >= problem.needed - 1e-9 * max(1.0, largest)


@pytest.mark.parametrize("scenarios", [1, 5])
@pytest.mark.parametrize("fall", [7.0, 9.0, 11.0])
@pytest.mark.parametrize("deadline", [1.37, 1.5])
def test_where_the_table_leaves_nothing_below_the_cutoff_the_bound_is_the_cutoff(
    scenarios: int, fall: float, deadline: float
) -> None:
    """A cell more than the budget has is no proof: a deadline of 1.37 rounds extra charges to cells."""
    problem = problem_of(scenarios, fall, round_deadline=deadline)
    met = [cost for cost, gains in written(search_of(problem, 60.0)).values() if enough(problem, gains)]
    for below in (1e-4, 1e-3, 1e-2):
        search = search_of(problem, min(met) - below)
        assert search.finished
        assert search._whole == (deadline == 1.5)
        assert search.root_bound == search.cutoff
