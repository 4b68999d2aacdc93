"""The drawings of the lessons show the numbers of the instance, the path of the plan, points and lines."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

import depl
from depl.benchmarks.figures.style import panels
from depl.instances.reductions.knapsack import Knapsack
from depl.lessons.drawing import (
    draw_allocations,
    draw_choices,
    draw_curves,
    draw_instance,
    draw_knapsacks,
    draw_missed,
    draw_plan,
)
from depl.lessons.plans import all_plans
from depl.models.problem.allocation import allocate
from depl.models.problem.epochs import Load


@pytest.fixture
def axes() -> Axes:
    return panels()[1][0]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def names(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_an_instance_and_a_plan_are_drawn_by_the_pictures_of_depl(
    tiny: depl.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    plan = depl.solve(tiny, "exact").plan
    assert plan is not None
    draw_instance(tiny)
    draw_plan(tiny, plan)
    instance, drawn = shown
    titles = [axes.get_title(loc="left") for axes in instance.axes]
    assert [title.partition(" ")[0].strip(":") for title in titles] == ["tiny", "models", "one-time"]
    assert drawn.axes[0].get_title(loc="left") == "3 epochs, time 5, cost 28"
    plt.close("all")


def test_every_set_of_items_is_a_mark_and_those_that_do_not_fit_are_crosses(axes: Axes) -> None:
    draw_knapsacks(Knapsack.of([7, 3], [4, 2], 5), wanted=8, axes=axes)
    marks = {tuple(line.get_xydata()[0]): line.get_marker() for line in axes.lines[:-2]}
    assert marks == {(0, 0): "o", (4, 7): "o", (2, 3): "o", (6, 10): "x"}
    assert texts(axes) == ["{}", "{0}", "{1}", "{0, 1}"]


def test_without_axes_a_figure_is_made_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    draw_choices(["take", "skip"], [["a", "b"], ["c", "d"]], [1, 0], "a plan")
    ((axes,),) = [figure.axes for figure in shown]
    assert axes.get_title() == "a plan"
    assert texts(axes) == ["a", "b", "c", "d"]
    assert axes.lines[0].get_xydata().tolist() == [[1, -1], [2, 0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["take", "skip"]
    plt.close("all")


def test_curves_and_lines_across_are_drawn_at_their_places_under_their_names(axes: Axes) -> None:
    curves = {"one": ([1, 2], [3, 4]), "other": ([1, 2], [5, 8])}
    look = {"across": {"target": 6}, "scales": ("log", "linear"), "marks": {"other"}}
    draw_curves(curves, ("time", "loss"), axes=axes, **look)
    assert names(axes) == ["one", "other", "target"]
    assert [list(line.get_ydata()) for line in axes.lines] == [[3, 4], [5, 8], [6, 6]]
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()) == ("time", "loss", "log")
    assert len({line.get_linestyle() for line in axes.lines[:2]}) == 2
    assert [line.get_marker() for line in axes.lines[:2]] == ["", "s"]


def test_a_grid_has_lines_at_the_multiples_of_its_cells(axes: Axes) -> None:
    draw_curves({"walk": ([0, 2], [15, 6])}, ("time", "loss"), grid=(0.5, 1.5), axes=axes)
    assert axes.get_xticks().tolist() == [0, 0.5, 1, 1.5, 2]
    assert set(axes.get_yticks()) >= {6, 7.5, 9, 10.5, 12, 13.5, 15}


def test_every_plan_is_a_mark_at_its_mean_and_its_probability_of_missing(
    tiny: depl.Instance, axes: Axes
) -> None:
    plans = [(plan, depl.evaluate(tiny, plan)) for plan in all_plans(tiny)[:40]]
    draw_missed(plans, tiny.target, {"this one": plans[0][1]}, axes)
    (marks,) = axes.collections
    wanted = {(found.expected_loss, float(found.violation.exact)) for _, found in plans}
    assert {tuple(mark) for mark in marks.get_offsets().tolist()} == wanted
    assert names(axes) == ["target of the mean, 6.5", "promise, 1 - ω = 0.3"]
    assert "this one" in texts(axes)


def test_resources_of_the_named_epochs_and_the_cost_stand_side_by_side() -> None:
    loads = [Load(4, 4, 10, 0.5), Load(1, 1, 4, 1)]
    answers = [allocate(loads, limit, None) for limit in (3.0, 4.0)]
    draw_allocations([3.0, 4.0], answers, {"first": 0, "second": 1})
    left, right = plt.gcf().axes
    assert names(left) == ["first", "second"]
    resources = [[answer.resources[place] for answer in answers] for place in (0, 1)]
    assert [list(line.get_ydata()) for line in left.lines] == resources
    assert list(right.lines[0].get_ydata()) == [answer.cost for answer in answers]
    plt.close("all")
