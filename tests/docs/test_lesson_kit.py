"""Kits of lessons: minutes and points add up, and every number is what depl computes."""

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import depl
from depl.heuristics.data.epochs_needed import NeededEpochs
from depl.heuristics.data.problem import selection_of_numbers
from depl.heuristics.data.set_function import selection_function
from depl.heuristics.paper.data import minimise
from depl.heuristics.paper.models import ExpandedGraph, Rounding, Selector, steps_in_levels
from depl.heuristics.paper.network import cost_down, cost_up
from depl.heuristics.paper.resources import EmbeddingProgram, place_by_embedding
from depl.heuristics.paths.additive_labels import best_rate, entropic_label, evar_quantile
from depl.heuristics.paths.additive_problem import AdditiveProblem
from depl.heuristics.placement.place import place
from depl.heuristics.submodular.function import Verdict, exhaustive
from depl.heuristics.submodular.lovasz import lovasz_extension, steepest_base
from depl.instances.reductions.knapsack import Knapsack, best_by_capacity
from depl.instances.reductions.partition import partition_by_epoch
from depl.instances.reductions.to_planning import ByCost, ByTime, FreeResources
from depl.lessons.export import kit_page
from depl.lessons.shipped import chosen, kit_of, lessons
from depl.models.evaluation.evaluate import epoch_loads
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import FinalLoss, Term
from depl.models.problem.laws import Empirical
from depl.models.problem.learning import PowerDataLaw
from depl.models.risk.certify import certified_quantile, certified_violation
from tests.cases.knapsack_cases import subsets

KITS = {lesson.number: texts for lesson in lessons() if (texts := kit_of(lesson))}
LONGEST = {"plan": 250, "handout": 350, "exercises": 450, "marking": 250}
"""Words of a part of a kit, so that it fits on a page; the scheme of lesson 1 is for a sheet of 24 points."""
HEADING = re.compile(r"(?m)^Exercise (\d): (.*) \((\d) points\)$")
SHEET = Knapsack.of(values=[5, 4, 9, 3], weights=[3, 2, 4, 1], capacity=6)
SUBSETS = list(subsets(4))


def solutions(number, kit=1):
    """The marking scheme of an exercise, on one line."""
    return " ".join(re.split(r"(?m)^Exercise \d: ", KITS[kit]["marking"])[number].split())


def says(number, *sentences, kit=1):
    """Check that a marking scheme has these words."""
    assert [words for words in sentences if words not in solutions(number, kit)] == []


def rows(text):
    """The rows of simple tables by their first cells."""
    split = [re.split(r" {2,}", line) for line in text.split("\n")]
    return {first: cells for first, *cells in split}


def by_density(bag):
    """What greedy takes, in its order."""
    order = sorted(range(len(bag)), key=lambda item: -bag.values[item] / bag.weights[item])
    taken = ()
    for item in order:
        taken = (*taken, item) if bag.holds((*taken, item)) else taken
    return taken


@pytest.mark.parametrize("number", KITS)
def test_a_kit_becomes_pages_its_plan_fills_45_minutes_and_the_scheme_gives_the_points_asked_for(number):
    texts = KITS[number]
    for part, text in texts.items():
        assert text.split("\n")[0] in kit_page(text).replace("&#x27;", "'")
        assert len(text.split()) <= (LONGEST[part] if (number, part) != (1, "marking") else 700)
    spans = [tuple(map(int, span)) for span in re.findall(r"(?m)^(\d+) to (\d+) ", texts["plan"])]
    assert (len(spans) >= 6, spans[0][0], spans[-1][1]) == (True, 0, 45)
    assert all(before[1] == after[0] < after[1] for before, after in itertools.pairwise(spans))
    sheet = texts.get("exercises", texts["handout"])
    asked = HEADING.findall(sheet)
    assert asked == HEADING.findall(texts["marking"])
    assert [name for name, _, _ in asked] == list("123456"[: len(asked)])
    total = sum(int(points) for _, _, points in asked)
    assert re.findall(r"(?m)^(\d+) points\.", sheet) == [str(total)]
    for name, _, points in asked:
        assert sum(map(int, re.findall(r"- (\d) points?:", solutions(int(name), number)))) == int(points)


def test_of_the_reduction_the_three_stages_and_the_quantile_there_are_kits_and_exercises():
    assert list(KITS) == [1, 2, 3, 4, 9]
    assert all(lesson.exercises for lesson in chosen(KITS))


def test_handout_and_sheet_show_the_knapsacks_that_are_solved():
    bag = Knapsack.of(values=[7, 3, 5], weights=[4, 2, 3], capacity=5)
    shown = rows(KITS[1]["handout"])
    for items in subsets(3):
        cells = shown[", ".join(map(str, items)) or "none"]
        assert cells == [str(bag.weight_of(items)), str(bag.value_of(items))]
    shown = rows(KITS[1]["exercises"])
    for name, numbers in (("value", SHEET.values), ("weight", SHEET.weights)):
        assert shown[name] == [str(number) for number in numbers]
    assert f"capacity *W = {SHEET.capacity}*" in KITS[1]["exercises"]


def test_exercises_1_and_2_are_answered_by_plans():
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


def test_exercise_3_is_answered_by_greedy_and_by_a_dynamic_program():
    taken, best = by_density(SHEET), best_by_capacity(SHEET).value
    value = SHEET.value_of(taken)
    says(3, f"Greedy takes items {taken[0]} and {taken[1]}, of weight {SHEET.weight_of(taken)}")
    says(3, f"worth {value}, and the best set {best}: a share of {float(value / best):.3f}")
    bad = Knapsack.of(values=[2, 100], weights=[1, 100], capacity=100)
    assert by_density(bad) == (0,)
    says(3, f"with *c = 100* no more than {float(bad.value_of((0,)) / best_by_capacity(bad).value):g}")


def test_exercises_4_and_5_are_answered_by_the_cheapest_plans():
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


def test_exercise_6_is_answered_by_partitions():
    halves = depl.solve(partition_by_epoch([3, 5, 2, 4]), "exact").plan
    taken = {a for a, epoch in zip([3, 5, 2, 4], halves.epochs, strict=False) if epoch.model == "take"}
    assert taken in ({5, 2}, {3, 4})
    never = depl.solve(partition_by_epoch([8, 6, 6]), "exact")
    assert never.termination is depl.Termination.INFEASIBLE
    says(6, "the half is 7, and 5 + 2 = 3 + 4: feasible. For 8, 6, 6 the half is 10")


def test_the_kit_on_quantiles_is_answered_by_exact_sums_and_by_chernoff():
    loss = FinalLoss(10.0, ((Term(-1.0, Empirical(values=(2.0, 4.0))), 2),))
    exact = [certified_quantile(loss, Fraction(p)).exact for p in ("3/10", "2/10")]
    miss = certified_violation(loss, 4.0).exact
    says(1, f"The mean is {loss.mean():g}.", f"for 0.7 is {exact[0]}, and for 0.8 it is {exact[1]}", kit=2)
    says(1, f"above 4 with probability {float(miss)}", f"up to {float(1 - miss)}", kit=2)
    bounds = [entropic_label(0.3, s).quantile(loss) for s in (0.5, 1.0, 2.0)]
    says(2, "for 0.5 it is {:.3f}, for 1 {:.3f}, and for 2 {:.3f}".format(*bounds), kit=2)
    assert best_rate(loss, 0.3) == pytest.approx(2, abs=0.02)
    says(3, f"the best bound here is {evar_quantile(loss, 0.7):.3f}, and the quantile {exact[0]}", kit=2)
    tiny = depl.load("tiny")
    assert next(Selector(tiny).graph(frozenset({"archive", "sensors"}))[0].paths(), None) is None
    assert depl.solve(tiny, "depl-paper").plan is None


def test_the_kit_on_the_graph_is_answered_by_paths_and_by_all_plans():
    table = {"weights": [math.sqrt(3), 1], "times": [3, 1]}
    problem = AdditiveProblem(
        models=("big", "small"),
        **{name: np.tile(np.array(row, dtype=float), (3, 1)) for name, row in table.items()},
        losses=np.tile([-4.0, -2.0], (3, 3, 1)),
        allowed=np.ones((3, 3, 2), dtype=bool),
        initial_loss=12,
        maximum_loss=6,
        maximum_time=8,
    )
    for levels, wanted in ((4, [2, 1, 2, 0, 1]), (6, [3, 2, 3, 1, 1])):
        steps = steps_in_levels(problem, levels)
        moves = np.column_stack([-steps.losses[0, -1], steps.times[0]])
        assert [-steps.target, *moves.ravel().tolist()] == wanted
    paths = [[path.models for path in ExpandedGraph(problem, levels).paths()] for levels in (4, 6)]
    assert (paths[0], set(paths[1][:2])) == ([(0, 0)], {(0, 1), (1, 0)})
    plans = [path for length in (1, 2, 3) for path in itertools.product((0, 1), repeat=length)]
    costs = {path: problem.totals(path)[0] ** 2 / 8 for path in plans if problem.feasible(path)}
    two, mixed, three = costs[0, 0], costs[0, 1], costs[1, 1, 1]
    up, fine, down = cost_up(problem, 4), cost_up(problem, 6), cost_down(problem, 4)
    assert min(costs.values()) == mixed == pytest.approx(fine**2 / 8)
    says(1, f"of weight {up:.3f} and cost {two:.3g}", f"of weight {fine:.3f}", kit=3)
    says(1, f"cost {mixed:.3f}, which is the optimum", f"*small* cost {three:.4g}", kit=3)
    says(2, f"of weight {down:.3f}", f"between {down:.3f} and {up:.3f}", kit=3)
    assert steps_in_levels(problem, 4, Rounding.DOWN).losses[0, -1, 0] == -2
    found = list(ExpandedGraph(replace(problem, weights=np.ones((3, 2))), 6).paths())
    assert {path.models for path in found if path.weight == found[0].weight} == {(0, 0), (0, 1), (1, 0)}
    says(3, f"their costs are {two:.3g} and {mixed:.3f}", kit=3)
    moved = [steps_in_levels(problem, levels).losses[0, -1, 1] < 0 for levels in range(1, 9)]
    assert 1 + moved.index(True) == 6


def test_the_kit_on_data_is_answered_by_values_bases_and_the_program():
    law = NeededEpochs(PowerDataLaw(p=1, a=12, base_volume=1))
    problem = selection_of_numbers(law, volumes=[1, 1], durations=[1, 0.2], fixed_duration=1)
    function = selection_function(problem)
    none, a, b, both = (function.value(chosen) for chosen in ((), (0,), (1,), (0, 1)))
    says(1, f"*f* is {none:g} without data, {a:g} with *a*, {b:.2g} with *b* and {both:.2g} with both", kit=4)
    says(1, f"{a:g} + {b:.2g} = {a + b:.3g} is less than {both:.2g} + {none:g} = {both + none:.3g}", kit=4)
    assert exhaustive(function).verdict is Verdict.REFUTED
    first, last = (steepest_base(function, np.array(x)).base for x in ((0.2, 0.8), (0.8, 0.2)))
    says(2, f"{first[1]:.2g} for *b* and {first[0]:.2g} for *a*", kit=4)
    says(2, f"{last[0]:g} for *a* and {last[1]:.2g} for *b*", kit=4)
    says(2, f"= {lovasz_extension(function, np.array([0.2, 0.8])):.3g}", kit=4)
    found = minimise(problem)
    assert (found.subset, found.optimal, found.verdict) == (frozenset({0, 1}), False, Verdict.REFUTED)
    assert found.value == pytest.approx(none + last[1])
    says(3, f"asks for {none + last[1]:.2g} wherever *b* is in", f"*f* is {b:.2g} at *b* alone", kit=4)


def test_the_kit_on_placement_is_answered_by_allocations_and_the_program():
    space = {}
    exec(chosen([9])[0].cells[0].code, space)
    changes = {"price": np.array([1.0, 4.0]), "capacity": np.full(2, 1e3), "maximum_time": 2.7}
    problem = space["problem"].replace(**changes)
    slow, each, quick = problem.evaluate([np.array([[n, 2 - n]]) for n in (2, 1, 0)]).costs
    says(1, f"4 / 0.7 = {slow:.3f}", f"9 / 1.7 = {each:.3f}", f"16 / 2.7 = {quick:.3f}", kit=9)
    shares, cost = EmbeddingProgram.of(problem, 1e-3).solve()
    says(2, f"*a* = {2 * shares[0, 0]:.1f}, a share of {shares[0, 0]:.1f}, and {cost:.1f}", kit=9)
    placed, optimum = place_by_embedding(problem, 1e-3), place(problem)
    assert (placed.assignment.tolist(), optimum.optimal) == ([[2, 0]], True)
    says(3, f"cost {placed.cost:.3f}, which is {placed.cost / optimum.cost:.3f} times the optimum", kit=9)
