"""Dividing what is to be searched loses no plan: against all plans of small problems written out."""

import math

import pytest

from depl.models.exact import search as module
from depl.models.exact.assignments import DataPart, DataParts
from depl.models.exact.choices import Configuration
from depl.models.exact.clusters import Clustered
from depl.models.exact.counted import Counted
from depl.models.exact.root_bounds import usual_time_price
from depl.models.exact.sampled import SampledProblem
from depl.models.exact.search import Search, Task
from depl.models.solving.methods import Limits
from depl.models.solving.result import Termination
from tests.oracles.search import consistent, feasible_plans, sampled, tiny_problems

Priced = tuple[float, tuple[Configuration, ...]]


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """No assignments are listed, and two sets of data of a cluster are already halved."""
    monkeypatch.setattr(module, "LARGEST_ASSIGNMENTS", 0)
    monkeypatch.setattr("depl.models.exact.assignments.MOST_CHILDREN", 1)


def search_of(problem: SampledProblem) -> Search:
    """Ready to search, without a plan."""
    search = Search(Counted(problem), Limits())
    search.build()
    return search


def plans_of(problem: SampledProblem) -> list[Priced]:
    """All feasible plans of at least one epoch, cheapest first."""
    return sorted((plan for plan in feasible_plans(problem) if plan[1]), key=lambda plan: plan[0])


def belongs(problem: SampledProblem, part: DataPart, choices: tuple[Configuration, ...]) -> bool:
    """Whether a plan uses what a part allows, all that it obliges to be used, and one of its lengths."""
    used = {chosen.cluster: problem.subsets.index(chosen.datasets) for chosen in choices}
    return (
        len(choices) in part.lengths
        and all(data in part.offers[cluster] for cluster, data in used.items())
        and all(cluster in used for cluster, obliged in enumerate(part.obliged) if obliged)
    )


def has(problem: SampledProblem, task: Task, choices: tuple[Configuration, ...]) -> bool:
    """Whether a plan is one of a task that has just its data."""
    options = {place for row in task.assignment.options for place in row}
    places = {problem.configurations.index(chosen) for chosen in choices}
    paid = task.assignment.transfers == pytest.approx(problem.transfers(choices), rel=1e-12, abs=1e-12)
    return len(choices) == task.length and places <= options and paid


def require_kept(search: Search, part: DataPart, plans: list[Priced]) -> int:
    """Every plan of a part below the threshold is one of what it is divided into, all the way down."""
    problem, followed = search.problem, 0
    assert isinstance(problem, SampledProblem)
    children = search._divided(part)
    assert all(part.bound <= child.bound < search.threshold for child in children)
    below = [plan for plan in plans if belongs(problem, part, plan[1]) and plan[0] < search.threshold]
    for cost, choices in below:
        if part.whole:
            found = [item for item in children if isinstance(item, Task) and has(problem, item, choices)]
        else:
            parts = [item for item in children if isinstance(item, DataPart)]
            found = [item for item in parts if belongs(problem, item, choices)]
        assert len(found) == 1
        assert found[0].bound <= cost
        followed += part.whole
    for child in children:
        if isinstance(child, DataPart):
            assert set(child.lengths) <= set(part.lengths)
            followed += require_kept(search, child, below)
        else:
            assert child.length in part.lengths
    return followed


@pytest.mark.usefixtures("divided")
@pytest.mark.parametrize("seed", range(3))
def test_every_plan_below_the_incumbent_is_in_one_of_the_tasks_that_a_part_comes_down_to(seed: int) -> None:
    """With the most expensive of all plans as the incumbent, so that hardly anything is cut off."""
    followed = 0
    for problem in tiny_problems(70 + seed, 3):
        plans = plans_of(problem)
        if len(plans) < 2:
            continue
        search = search_of(problem)
        search.best = Clustered(plans[-1][1], plans[-1][0], usual_time_price(search.prices))
        assert search._divide
        followed += require_kept(search, search._parts.everything(), plans)
        search.best = Clustered(plans[-1][1], plans[-1][0], usual_time_price(search.prices))
        assert search.proved() is Termination.OPTIMAL
        assert search.cost == pytest.approx(plans[0][0], rel=1e-9)
    assert followed > 20


@pytest.mark.usefixtures("divided")
def test_a_plan_is_found_on_parts_just_where_there_is_one() -> None:
    """Targets from near the initial loss to far out of reach, with little time and with enough."""
    outcomes = []
    for place, easy in enumerate(tiny_problems(80, 6)):
        target = easy.instance.target
        for share in (0.9, 1.3, 3.0):
            limits = {
                "maximum_loss": target.initial_loss - share * (target.initial_loss - target.maximum_loss),
                "maximum_time": target.maximum_time and target.maximum_time * (0.4 if place % 2 else 1.0),
            }
            problem = sampled(easy.instance.replace(**limits), 5, place)
            search = search_of(problem)
            assert search._divide
            found = search._feasible()
            known = plans_of(problem)
            assert found == (search.best is not None) == bool(known)
            outcomes.append(found)
            if search.best is not None:
                assert consistent(problem, search.best.choices)
                assert problem.misses(search.best.choices) <= problem.allowed
                cost = {choices: cost for cost, choices in known}[search.best.choices]
                assert math.isclose(search.best.cost, cost, rel_tol=1e-9)
    assert min(outcomes.count(True), outcomes.count(False)) >= 4


@pytest.mark.parametrize("bounds", [(3.0, 7.0), (7.0, 3.0), (5.0, 5.0)])
def test_what_is_left_of_a_task_keeps_the_bound_down(
    bounds: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two subproblems that run out of effort: no bound is claimed above either of the two that are left."""
    (problem,) = tiny_problems(70, 1)
    search = search_of(problem)
    assignment = search.assigned[0]
    rests = [Task(bound, assignment, 1, 0.0) for bound in bounds]
    monkeypatch.setattr(search, "_explored", lambda task, effort: rests[task.length])
    monkeypatch.setattr(search, "_unit", 0)
    left = search.explore([Task(1.0, assignment, place, 0.0) for place in (0, 1)], effort=1)
    assert [task.bound for task in left] == sorted(bounds)
    assert search.lower == pytest.approx(min(bounds), rel=1e-8)
