"""What the figures show, read back from their axes; and files that come out the same every time."""

import sys
from pathlib import Path
from subprocess import run
from xml.etree import ElementTree

import pytest

from depl.benchmarks.figures.canvas import panels, save
from depl.benchmarks.figures.cost_against_target import cost_against_target
from depl.benchmarks.figures.lines import MethodLine
from depl.benchmarks.figures.loss_evolution import LossCurve, loss_evolution
from depl.benchmarks.figures.palette import COLOURS, DASHES, MODEL_COLOURS
from depl.benchmarks.figures.stacks import stacked_bars
from depl.models.foundation.errors import InvalidInputError

COSTS = [
    MethodLine("enumerate", (5, 7, 9), (17, 14, 12)),
    MethodLine("expected-greedy", (5, 7, 9), (44.2, None, 33.8)),
]
LOSSES = [LossCurve("enumerate", (0, 1, 2), (20, 19, 18), (20, 18.5, 17), (20, 19.5, 19))]


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def draw_all():
    """Every figure function on one figure."""
    figure, (left, middle, right) = panels(3)
    cost_against_target(COSTS, left)
    stacked_bars((5, 7), {"fast": (1, 2), "slow": (3, 0)}, "epochs", middle)
    loss_evolution(LOSSES, 18.5, right)
    return figure


def test_cost_lines_hold_the_costs_and_skip_what_has_no_plan():
    axes = cost_against_target(COSTS)
    first, second, missing, _ = axes.get_lines()
    assert missing.get_xdata().tolist() == [7]
    assert first.get_xydata().tolist() == [[5, 17], [7, 14], [9, 12]]
    assert second.get_xydata().tolist() == [[5, 44.2], [9, 33.8]]
    assert legend_of(axes) == ["enumerate", "expected-greedy", "no plan found"]
    assert axes.get_ylim()[0] == 0


def test_cost_lines_differ_in_more_than_colour():
    first, second = cost_against_target(COSTS).get_lines()[:2]
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    assert first.get_linestyle() != second.get_linestyle()


def test_bars_are_stacked_in_the_order_of_the_models():
    axes = stacked_bars((5, 7), {"fast": (1, 2), "slow": (3, 0)}, "epochs")
    heights = [[(bar.get_y(), bar.get_height()) for bar in group] for group in axes.containers]
    assert heights == [[(0, 1), (0, 2)], [(1, 3), (2, 0)]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["5", "7"]
    assert legend_of(axes) == ["fast", "slow"]


def test_the_band_lies_between_its_quantiles_and_the_limit_is_drawn():
    axes = loss_evolution(LOSSES, 18.5)
    (band,) = axes.collections
    outline = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert {(1, 18.5), (1, 19.5), (2, 17), (2, 19)} <= outline
    limit, lower, upper, mean, _ = axes.get_lines()
    assert set(limit.get_ydata()) == {18.5}
    assert lower.get_ydata().tolist() == [20, 18.5, 17]
    assert upper.get_ydata().tolist() == [20, 19.5, 19]
    assert mean.get_ydata().tolist() == [20, 19, 18]


def test_a_target_without_a_plan_is_marked_in_place_of_its_bar():
    axes = stacked_bars((5, 7), {"fast": (0, 2), "slow": (0, 0)}, "epochs", without=(5,))
    (mark,) = axes.texts
    assert (mark.get_text(), mark.xy) == ("no plan", (0, 0))


@pytest.mark.parametrize("count", range(1, 8))
def test_the_legend_covers_no_line_of_falling_losses(count):
    """Drawn without a screen: the box of the legend against every point of every line."""
    falling = [20 * (1 - (k / 24) ** 1.6) for k in range(21)]  # slow epochs first
    curves = [
        LossCurve(f"expected-{name}", range(21), *(([y + shift for y in falling]) for shift in (0, -1, 1)))
        for name in range(count)
    ]
    figure, (axes,) = panels(1)
    loss_evolution(curves, 9, axes)
    figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
    assert len(lines) == 3 * count
    for line in lines:
        drawn = line.get_path().interpolated(20).transformed(line.get_transform())
        assert not any(box.contains(x, y) for x, y in drawn.vertices)


def test_five_methods_differ_in_their_dashes():
    assert len(set(DASHES)) == len(DASHES) == 5


def test_figures_of_nothing_are_empty_and_no_error():
    assert not cost_against_target([]).get_lines()
    assert not loss_evolution([]).get_lines()
    assert not stacked_bars((), {"fast": ()}, "epochs").patches


def test_functions_draw_on_the_axes_that_they_are_given():
    _, (axes,) = panels(1)
    assert cost_against_target(COSTS, axes) is axes
    assert loss_evolution(LOSSES, axes=axes) is axes
    assert stacked_bars((5,), {"fast": (1,)}, "epochs", axes) is axes


def test_the_palettes_repeat_no_colour():
    assert len(set(COLOURS)) == len(COLOURS)
    assert set(MODEL_COLOURS) <= set(COLOURS)


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        save(draw_all(), folder, "all")
    for name in ("all.png", "all.svg"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_a_png_and_an_svg_without_a_date_are_written(tmp_path):
    image, drawing = save(draw_all(), tmp_path, "all")
    assert image.read_bytes().startswith(b"\x89PNG\r\n")
    text = drawing.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert "date" not in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.png", "all.svg"]


def test_a_figure_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "all.png").mkdir()
    with pytest.raises(InvalidInputError, match="cannot be written"):
        save(draw_all(), tmp_path, "all")
    assert [path.name for path in tmp_path.iterdir()] == ["all.png"]


def test_drawing_touches_no_global_state_of_matplotlib():
    program = (
        "import sys; from depl.benchmarks.figures.cost_against_target import *; cost_against_target([]);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[3]
    assert run([sys.executable, "-c", program], check=False, cwd=root).returncode == 0
