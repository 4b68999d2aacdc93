"""Families A and B defeat the expanded graph; PARTITION is the question whether a plan is feasible."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depl
from depl.heuristics.paper.network import cost_down, cost_up
from depl.heuristics.paths.additive_problem import additive_problem
from depl.instances.counterexamples import almost_one_level, short_epochs
from depl.instances.reductions.partition import partition_by_epoch, partition_by_model
from depl.models.evaluation.evaluate import evaluate
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from tests.problems import plan

DATA = frozenset({"data"})
REDUCTIONS = (partition_by_epoch, partition_by_model)


def halves(numbers):
    """All subsets with half of the sum, by trying everything."""
    choices = itertools.product([False, True], repeat=len(numbers))
    return [taken for taken in choices if 2 * sum(itertools.compress(numbers, taken)) == sum(numbers)]


def partition_plan(instance, taken):
    """The plan of a subset of the numbers, for an instance of either reduction."""
    names = ["take" if chosen else "skip" for chosen in taken]
    if instance.models[0].name != "take":
        names = [f"{name}-{index}" for index, name in enumerate(names, start=1)]
    models = [instance.model(name) for name in names]
    works = [m.demand if m.compute is None else m.compute[0].epochs[k] for k, m in enumerate(models)]
    return plan(*((name, "site", float(work > 0)) for name, work in zip(names, works, strict=True)))


def partition_of(plan, count):
    """Which of the numbers a plan of either reduction takes; it decides on each at most once."""
    taken = {}
    for position, epoch in enumerate(plan.epochs):
        name, _, index = epoch.model.partition("-")
        number = int(index) - 1 if index else position
        assert number not in taken
        taken[number] = name == "take"
    return tuple(taken.get(number, False) for number in range(count))


@pytest.mark.parametrize("levels", [24, 400])
def test_a_the_graph_finds_nothing_although_half_of_the_time_is_enough(levels):
    instance = short_epochs(levels)
    epochs = levels // 2 + 1
    problem = additive_problem(instance, DATA, "site")
    weight, time, loss = problem.totals((0,) * epochs)
    assert weight == pytest.approx(epochs * (1.05 / levels) ** 0.5)
    assert time == pytest.approx(1.05 * (0.5 + 1 / levels))
    assert loss == instance.target.maximum_loss
    assert problem.feasible((0,) * epochs)
    assert cost_up(problem, levels) == float("inf")
    assert cost_down(problem, levels) == pytest.approx(weight)


def test_a_uses_53_percent_of_the_time_and_is_solved_by_the_exact_method():
    instance = short_epochs()
    exact = depl.solve(instance, "enumerate")
    assert (exact.termination.value, exact.epochs) == ("optimal", 101)
    missed = depl.solve(instance, "depl-paper", options={"eta": 200})
    assert (missed.plan, missed.termination.value) == (None, "exhausted")
    # with twice the levels an epoch takes 3 of 400, which is enough here; the next of the family is not
    assert depl.solve(instance, "depl-paper", options={"eta": 400}).epochs == 101
    assert depl.solve(short_epochs(400), "depl-paper", options={"eta": 400}).plan is None


@pytest.mark.parametrize(("price", "ratio"), [(2.0, 1.82), (1000.0, 909.0)])
def test_b_the_ratio_grows_without_bound(price, ratio):
    instance = almost_one_level(price)
    assert depl.solve(instance, "enumerate").cost == pytest.approx(11)
    graph = cost_up(additive_problem(instance, DATA, "site"), 200)
    assert graph == pytest.approx(10 * price)
    assert graph / 11 == pytest.approx(ratio, rel=1e-2)
    assert depl.solve(instance, "depl-paper").cost == pytest.approx(10 * price)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5).filter(lambda a: sum(a) % 2 == 0))
@settings(max_examples=12)
def test_every_partition_is_a_feasible_plan_and_back(numbers):
    for build in REDUCTIONS:
        instance = build(numbers)
        for taken in itertools.product([False, True], repeat=len(numbers)):
            found = partition_plan(instance, taken)
            assert evaluate(instance, found, quantile=False).feasible == (taken in halves(numbers))
            assert partition_of(found, len(numbers)) == taken


@pytest.mark.parametrize("numbers", [[2], [1, 1], [1, 3], [1, 2, 3], [2, 3, 3], [1, 1, 4], [1, 2, 2, 3]])
def test_there_is_a_feasible_plan_iff_there_is_a_partition(numbers):
    for build in REDUCTIONS:
        result = depl.solve(build(numbers), "enumerate")
        if result.plan is None:
            assert result.termination.value == "infeasible"
            assert not halves(numbers)
        else:
            assert partition_of(result.plan, len(numbers)) in halves(numbers)


@pytest.mark.parametrize(
    ("build", "arguments", "error", "words"),
    [
        *(
            (build, [numbers], InvalidInputError, "positive whole|is odd")
            for build in REDUCTIONS
            for numbers in ([], [0, 2], [-1, 1], [1, 2])
        ),
        (partition_by_model, [[9] * 10], NotCoveredError, "fewer or smaller"),
        (short_epochs, [25], InvalidInputError, "even"),
        (short_epochs, [2], InvalidInputError, "even"),
        (almost_one_level, [1.0], InvalidInputError, "at least"),
        (almost_one_level, [3.0, 5], InvalidInputError, "at least"),
    ],
)
def test_numbers_without_a_meaning_or_beyond_the_tolerances_are_refused(build, arguments, error, words):
    with pytest.raises(error, match=words):
        build(*arguments)
