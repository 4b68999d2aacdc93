"""The effect of eta: means over targets, and a band that holds what is guaranteed."""

import pytest

from depl.benchmarks.figures.of_instances import Instances
from depl.benchmarks.figures.of_levels import guaranteed_ratio, level_drawing, level_points, levels_of
from depl.heuristics.paths.additive_labels import best_rate, entropic_label
from depl.heuristics.paths.additive_problem import additive_problem
from depl.heuristics.paths.layered import cost_up
from depl.instances.library import load
from depl.models.evaluation.evaluate import final_loss
from depl.models.problem.instance import Switch
from depl.models.problem.laws import StudentT
from tests.benchmarks.figures.test_of_attempts import OPTIMA, plan_with, planned, without
from tests.cases.attempts_factory import attempt_of
from tests.cases.picture_cases import require_legends_outside

LEVELS = (50, 200, 800)


def graph_at(target, eta, epochs):
    """An attempt of the graph with so many levels; without a plan for no epochs."""
    changes = {"method": "graph", "settings": {"options": {"eta": eta}}}
    label = f"graph-{eta}"
    if epochs is None:
        return without(target, label, suite="paper-eta", **changes)
    return planned(target, label, epochs, suite="paper-eta", **changes)


@pytest.fixture(scope="module")
def attempts():
    """Two epochs too many at 50 levels, where target 7 is missed; none too many from 200 on."""
    found = [planned(target, "exact", epochs, ending="optimal") for target, epochs in OPTIMA.items()]
    for target, epochs in OPTIMA.items():
        found.append(graph_at(target, 50, None if target == 7 else epochs + 2))
        found += [graph_at(target, eta, epochs) for eta in (200, 800)]
    return found


@pytest.fixture(scope="module")
def drawing(attempts):
    return level_drawing("paper-alexnet", attempts, Instances())


def test_ratios_are_over_optima_that_another_suite_proved(attempts):
    points = {(point.levels, point.instance): point.ratio for point in level_points(attempts)}
    assert len(points) == 9
    assert points[50, "paper-alexnet-7"] is None
    assert points[50, "paper-alexnet-9"] == pytest.approx(14 / 12)
    assert points[800, "paper-alexnet-11"] == 1


def test_only_an_option_counts_as_levels():
    assert levels_of(attempt_of(labels={"eta": 5})) is None
    assert levels_of(attempt_of(settings={"options": {"eta": 5}})) == 5


def test_curves_are_means_of_the_table_and_markers_are_hollow_where_targets_are_missed(drawing):
    require_legends_outside(drawing.figure)
    (axes,) = drawing.figure.axes
    curve = axes.get_lines()[0]
    assert curve.get_xdata().tolist() == list(LEVELS)
    told = [row for row in drawing.table.records() if row["eta"] == 50]
    ratios = [row["cost_over_optimum"] for row in told if row["cost_over_optimum"] is not None]
    assert curve.get_ydata()[0] == pytest.approx(sum(ratios) / 2) == pytest.approx((14 / 12 + 12 / 10) / 2)
    hollow, full = (line for line in axes.get_lines() if list(line.get_xdata()) in ([50], [200]))
    assert hollow.get_markerfacecolor() == "white"
    assert full.get_markerfacecolor() != "white"


def test_the_band_narrows_to_one_and_holds_the_graph(drawing):
    rows = drawing.table.records()
    bands = {eta: [row["guaranteed"] for row in rows if row["eta"] == eta] for eta in LEVELS}
    assert bands[50][:2] == [None, None]  # 8 less than 7 or 9 is out of reach: the mean of 20 epochs is .4
    assert all(upper >= 1 for upper in bands[200])
    assert all(later <= upper for upper, later in zip(bands[200], bands[800], strict=True))


@pytest.mark.parametrize("levels", [100, 200, 400, 800])
@pytest.mark.parametrize("target", list(OPTIMA))
def test_the_graph_with_the_same_label_costs_at_most_what_is_guaranteed(target, levels):
    instance, optimum = load("paper-alexnet", target), plan_with(OPTIMA[target])
    budget = instance.target.violation_budget
    label = entropic_label(budget, best_rate(final_loss(instance, optimum), budget))
    problem = additive_problem(instance, frozenset({"training-data"}), "A", label)
    guaranteed = guaranteed_ratio(instance, optimum, OPTIMA[target], levels)
    assert guaranteed is None or cost_up(problem, levels) <= OPTIMA[target] * guaranteed * (1 + 1e-9)


def test_there_is_no_band_where_the_weights_are_not_the_cost():
    instance = load("paper-alexnet-deadline", 9)
    assert instance.target.maximum_time is not None
    assert guaranteed_ratio(instance, plan_with(12), 12.0, 800) is None


def test_there_is_no_band_where_the_label_does_not_exist():
    """An untruncated Student-t has no exponential moments."""
    instance = load("paper-alexnet", 9)
    jump = StudentT(location=0.1, scale=0.01, degrees_of_freedom=3)
    switches = [Switch(previous="fast-unsteady", following="slow-steady", law=jump)]
    assert guaranteed_ratio(instance, plan_with(12), 12.0, 800) == 1 + 1 / 12
    assert guaranteed_ratio(instance.replace(switches=switches), plan_with(12), 12.0, 800) is None


def test_two_numbers_of_levels_are_too_few(attempts):
    assert level_drawing("paper-alexnet", [a for a in attempts if levels_of(a) != 50], Instances()) is None
