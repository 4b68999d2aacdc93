"""The drawings of the lessons show the numbers of the instance and the path of the plan."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes

import depl
from depl.benchmarks.figures.style import panels
from depl.instances.reductions.knapsack import Knapsack
from depl.lessons.drawing import draw_choices, draw_instance, draw_knapsacks, draw_plan


@pytest.fixture
def axes() -> Axes:
    return panels()[1][0]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_an_instance_is_drawn_with_every_dataset_cluster_model_and_transfer(
    tiny: depl.Instance, axes: Axes
) -> None:
    draw_instance(tiny, axes)
    shown = texts(axes)
    assert {"archive\nvolume 1", "sensors\nvolume 1", "edge\nr = 4, b = 1, κ = 1"} < set(shown)
    assert "full\nsize 2, work 4 on all data\ngains 2 or 6" in shown
    assert "pruned\nsize 1, work 2 on all data\ngains 2.5" in shown
    assert sorted(text for text in shown if text.startswith("β")) == ["β = 0", "β = 0", "β = 1", "β = 2"]


def test_a_plan_is_a_line_through_its_choices(axes: Axes) -> None:
    draw_choices(["take", "skip"], [["a", "b"], ["c", "d"]], [1, 0], "a plan", axes)
    assert axes.get_title() == "a plan"
    assert texts(axes) == ["a", "b", "c", "d"]
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[1, -1], [2, 0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["take", "skip"]


def test_a_plan_of_an_instance_passes_its_models_and_clusters_with_the_resources_of_every_epoch(
    tiny: depl.Instance, axes: Axes
) -> None:
    plan = depl.solve(tiny, "exact").plan
    assert plan is not None
    draw_plan(tiny, plan, axes=axes)
    rows = [label.get_text() for label in axes.get_yticklabels()]
    (line,) = axes.lines
    visited = [rows[round(-height)] for height in line.get_ydata()]
    assert visited == [f"{epoch.model} on {epoch.cluster}" for epoch in plan.epochs]
    assert [text for text in texts(axes) if text] == [f"x = {epoch.resources:.4g}" for epoch in plan.epochs]


def test_every_set_of_items_is_a_mark_and_those_that_do_not_fit_are_crosses(axes: Axes) -> None:
    draw_knapsacks(Knapsack.of([7, 3], [4, 2], 5), wanted=8, axes=axes)
    marks = {tuple(line.get_xydata()[0]): line.get_marker() for line in axes.lines[:-2]}
    assert marks == {(0, 0): "o", (4, 7): "o", (2, 3): "o", (6, 10): "x"}
    assert texts(axes) == ["{}", "{0}", "{1}", "{0, 1}"]


def test_without_axes_a_figure_is_made_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    draw_choices(["take", "skip"], [["a", "b"]], [0], "a plan")
    assert [figure.axes[0].get_title() for figure in shown] == ["a plan"]
    plt.close("all")
