"""The drawings of the lessons show the numbers of the instance and the path of the plan."""

import pytest
from matplotlib.axes import Axes

import depl
from depl.benchmarks.figures.canvas import panels
from depl.lessons.drawing import draw_choices, draw_instance


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
    draw_choices(axes, ["take", "skip"], [["a", "b"], ["c", "d"]], [1, 0], "a plan")
    assert texts(axes) == ["a", "b", "c", "d"]
    (line,) = axes.lines
    assert line.get_xydata().tolist() == [[1, -1], [2, 0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["take", "skip"]
