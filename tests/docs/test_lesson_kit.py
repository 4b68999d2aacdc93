"""The kit of lesson 1: minutes and points add up, and every number is what depl computes."""

import itertools
import re

import pytest

import depl
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity
from depl.instances.reductions.partition import partition_by_epoch
from depl.instances.reductions.to_planning import ByCost, ByTime, FreeResources
from depl.lessons.export import kit_page
from depl.lessons.shipped import KIT, chosen, kit_of
from depl.models.evaluation.evaluate import epoch_loads
from depl.models.problem.allocation import allocate

(LESSON,) = chosen([1])
TEXTS = kit_of(LESSON)
TABLE = re.compile(r"(?m)^   \* - (.+)\n((?:     -.*\n)+)")
SHEET = Knapsack.of(values=[5, 4, 9, 3], weights=[3, 2, 4, 1], capacity=6)
SUBSETS = [items for size in range(5) for items in itertools.combinations(range(4), size)]


def solutions(number: int) -> str:
    """The marking scheme of an exercise, on one line."""
    return " ".join(re.split(r"(?m)^Exercise \d: ", TEXTS["marking"])[number].split())


def says(number: int, *sentences: str) -> None:
    """Check that a marking scheme has these words."""
    assert [words for words in sentences if words not in solutions(number)] == []


def by_density(bag: Knapsack) -> tuple[int, ...]:
    """What greedy takes, in its order."""
    order = sorted(range(len(bag)), key=lambda item: -bag.values[item] / bag.weights[item])
    taken: tuple[int, ...] = ()
    for item in order:
        taken = (*taken, item) if bag.holds((*taken, item)) else taken
    return taken


def test_a_kit_becomes_pages_its_plan_fills_45_minutes_and_the_scheme_gives_the_24_points_asked_for() -> None:
    assert tuple(TEXTS) == KIT
    for text in TEXTS.values():
        assert text.split("\n")[0] in kit_page(text).replace("&#x27;", "'")
    spans = [tuple(map(int, span)) for span in re.findall(r"\* - (\d+) to (\d+)\n", TEXTS["plan"])]
    assert (len(spans) >= 6, spans[0][0], spans[-1][1]) == (True, 0, 45)
    assert all(before[1] == after[0] < after[1] for before, after in itertools.pairwise(spans))
    heading = re.compile(r"(?m)^Exercise (\d): (.*) \((\d) points\)$")
    asked = heading.findall(TEXTS["exercises"])
    assert asked == heading.findall(TEXTS["marking"])
    assert [number for number, _, _ in asked] == list("123456")
    assert sum(int(points) for _, _, points in asked) == 24
    for number, _, points in asked:
        assert sum(map(int, re.findall(r"- (\d) points?:", solutions(int(number))))) == int(points)


def test_handout_and_sheet_show_the_knapsacks_that_are_solved() -> None:
    bag = Knapsack.of(values=[7, 3, 5], weights=[4, 2, 3], capacity=5)
    rows = dict(TABLE.findall(TEXTS["handout"]))
    for items in (items for size in range(4) for items in itertools.combinations(range(3), size)):
        cells = re.findall(r"- *(.*)", rows[", ".join(map(str, items)) or "none"])
        assert cells == [str(bag.weight_of(items)), str(bag.value_of(items)), "", ""]
    rows = dict(TABLE.findall(TEXTS["exercises"]))
    for name, numbers in (("value", SHEET.values), ("weight", SHEET.weights)):
        assert re.findall(r"- (\d+)", rows[name]) == [str(number) for number in numbers]
    assert f"capacity *W = {SHEET.capacity}*" in TEXTS["exercises"]


def test_exercises_1_and_2_are_answered_by_plans() -> None:
    target = ByTime.reduce(SHEET, 13).target
    says(1, f"there are {target.maximum_epochs} epochs", f"the time is limited to {target.maximum_time:g}")
    says(1, f"the loss has to fall by {target.initial_loss - target.maximum_loss:g}")
    found = [depl.solve(ByTime.reduce(SHEET, wanted), "exact").plan for wanted in (13, 14)]
    assert [plan and ByTime.solution_of(plan) for plan in found] == [(1, 2), None]
    instance = ByTime.reduce(SHEET, 12)
    feasible = [items for items in SUBSETS if depl.evaluate(instance, ByTime.plan_of(SHEET, items)).feasible]
    says(2, "items 1 and 2 weigh 6 and are worth 13. For 14 there is none")
    says(2, f"Of the {len(SUBSETS)} sets, {len(feasible)} are feasible")
    for items in feasible:
        names = " and ".join(filter(None, (", ".join(map(str, items[:-1])), str(items[-1]))))
        says(2, f"items {names} (weight {SHEET.weight_of(items)}, value {SHEET.value_of(items)})")


def test_exercise_3_is_answered_by_greedy_and_by_a_dynamic_program() -> None:
    taken, best = by_density(SHEET), best_by_capacity(SHEET).value
    value = SHEET.value_of(taken)
    says(3, f"Greedy takes items {taken[0]} and {taken[1]}, of weight {SHEET.weight_of(taken)}")
    says(3, f"worth {value}, and the best set {best}: a share of {float(value / best):.3f}")
    bad = Knapsack.of(values=[2, 100], weights=[1, 100], capacity=100)
    assert by_density(bad) == (0,)
    says(3, f"with *c = 100* no more than {float(bad.value_of((0,)) / best_by_capacity(bad).value):g}")


def test_exercises_4_and_5_are_answered_by_the_cheapest_plans() -> None:
    instance = ByCost.reduce(SHEET)
    for items, cost in (((1, 2), 8), ((2, 3), 9), ((0, 2), 7)):
        found = depl.evaluate(instance, ByCost.plan_of(SHEET, items))
        assert (found.feasible, round(found.cost)) == (SHEET.holds(items), cost)
    says(4, "costs 5 + 3 = 8. One that takes 2 and 3 skips 0 and 1 and costs 5 + 4 = 9")
    says(4, "It would cost 4 + 3 = 7", f"which is {sum(SHEET.values)} - {best_by_capacity(SHEET).value}")
    cheapest = depl.solve(instance, "exact")
    assert (cheapest.solution, cheapest.cost) == (depl.Solution.PROVEN_OPTIMAL, pytest.approx(8))
    instance = FreeResources.reduce(SHEET, 12)
    found = depl.solve(instance, "exact")
    assert found.solution is depl.Solution.PROVEN_OPTIMAL
    items = FreeResources.solution_of(found.plan)
    assert [round(epoch.resources, 3) for epoch in found.plan.epochs] == [0, 0, 20, 5]
    relaxed = allocate(epoch_loads(instance, found.plan), 2.0, None).cost
    says(5, f"items {items[0]} and {items[1]}, of weight {SHEET.weight_of(items)}", f"/ 1 = {found.cost:.6g}")
    says(5, "20 in the epoch of item 2, 5 in that of item 3, none in the others")
    says(5, f"costs half of it, {relaxed:.6g}")


def test_exercise_6_is_answered_by_partitions() -> None:
    halves = depl.solve(partition_by_epoch([3, 5, 2, 4]), "exact").plan
    taken = {a for a, epoch in zip([3, 5, 2, 4], halves.epochs, strict=False) if epoch.model == "take"}
    assert taken in ({5, 2}, {3, 4})
    never = depl.solve(partition_by_epoch([8, 6, 6]), "exact")
    assert never.termination is depl.Termination.INFEASIBLE
    says(6, "the half is 7, and 5 + 2 = 3 + 4: feasible. For 8, 6, 6 the half is 10")
