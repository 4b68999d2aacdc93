"""The figures that sweeps need, read back from their axes."""

import pytest

from depl.benchmarks.figures.canvas import panels, svg_text
from depl.benchmarks.figures.lines import MethodLine
from depl.benchmarks.figures.loss_against_target import loss_against_target
from depl.benchmarks.figures.performance_profile import ProfileCurve, performance_profile
from depl.benchmarks.figures.promised_against_delivered import Promise, promised_against_delivered
from depl.benchmarks.figures.ratio_against_levels import LevelBand, RatioCurve, ratio_against_levels
from depl.benchmarks.figures.ratio_against_size import SizeCurve, ratio_against_size
from depl.benchmarks.figures.stacks import stacked_bars
from depl.benchmarks.figures.time_against_size import FittedTimes, TimeCurve, time_against_size


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_expected_losses_skip_what_has_no_plan_and_stand_beside_one():
    axes = loss_against_target(
        [MethodLine("exact", (5, 7, 9), (1, None, 0.9)), MethodLine("random", (5, 7, 9), (0.8, 0.8, 0.8))]
    )
    one, first, second = axes.get_lines()
    assert set(one.get_ydata()) == {1}
    assert first.get_xydata().tolist() == [[5, 1], [9, 0.9]]
    assert second.get_linestyle() != first.get_linestyle()
    assert labels(axes) == ["exact", "random"]


def test_the_legend_of_expected_losses_covers_no_line():
    lines = [MethodLine(f"method {index}", (5, 7, 9), (0.5, 0.4, 0.4)) for index in range(5)]
    figure, (axes,) = panels(1)
    loss_against_target([MethodLine("best", (5, 7, 9), (1, 1, 1)), *lines], axes)
    figure.draw_without_rendering()
    box = axes.get_legend().get_window_extent()
    drawn = [axes.transData.transform(point) for line in axes.get_lines()[1:] for point in line.get_xydata()]
    assert not any(box.contains(x, y) for x, y in drawn)


def test_costs_per_model_are_stacked():
    axes = stacked_bars((5, 7), {"fast": (1.5, 0), "slow": (2, 3)}, "cost", without=(7,))
    assert [[(bar.get_y(), bar.get_height()) for bar in group] for group in axes.containers] == [
        [(0, 1.5), (0, 0)],
        [(1.5, 2), (0, 3)],
    ]
    assert axes.get_ylabel() == "cost"
    assert [text.get_text() for text in axes.texts] == ["no plan"]


def test_profiles_are_stairs_that_go_on_to_the_edge():
    axes = performance_profile(
        [ProfileCurve("a", (1, 2), (0.5, 0.75)), ProfileCurve("b", (1,), (0,))], "factor"
    )
    first, second = axes.get_lines()
    edge = axes.get_xlim()[1]
    assert edge > 2
    assert first.get_xydata().tolist() == [[1, 0.5], [2, 0.75], [edge, 0.75]]
    assert second.get_ydata().tolist() == [0, 0]
    assert first.get_drawstyle() == "steps-post"
    assert axes.get_xscale() == "log"


def test_ratios_against_size_tell_proved_optima_from_bounds():
    curve = SizeCurve("a", (10, 20), (1.1, 1.3), (1.2, 1.6), (True, False))
    axes = ratio_against_size([curve], "epochs")
    faces = {
        float(line.get_xdata()[0]): line.get_markerfacecolor()
        for line in axes.get_lines()
        if len(line.get_xdata()) == 1
    }
    assert faces[20] == "white" != faces[10]
    bars, _ = axes.collections
    assert [path.vertices[:, 1].tolist() for path in bars.get_paths()] == [[1.1, 1.2], [1.3, 1.6]]


def test_large_ratios_have_a_logarithmic_axis():
    assert (
        ratio_against_size([SizeCurve("a", (1, 2), (1, 2), (1, 2), (True, True))], "n").get_yscale()
        == "linear"
    )
    assert (
        ratio_against_size([SizeCurve("a", (1, 2), (1, 30), (1, 60), (True, True))], "n").get_yscale()
        == "log"
    )


def test_times_have_points_means_of_their_logarithms_and_a_line():
    fit = FittedTimes(0.02, 2, 10, 20)
    axes = time_against_size([TimeCurve("depl", [(10, 1), (10, 3), (20, 4)], fit)], "epochs")
    points, *means = drawn(axes, "none")
    assert points.get_xydata().tolist() == [[10, 1], [10, 3], [20, 4]]
    assert [mean.get_ydata()[0] for mean in means] == pytest.approx([3**0.5, 4])
    (line,) = drawn(axes, "-")
    assert line.get_ydata().tolist() == pytest.approx([2, 8])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert labels(axes) == ["depl", "one attempt"]


def drawn(axes, style):
    """The lines of one style that show a point."""
    kinds = {"None": "none"}
    return [
        line
        for line in axes.get_lines()
        if kinds.get(line.get_linestyle(), line.get_linestyle()) == style and len(line.get_xdata())
    ]


def test_a_fitted_line_covers_what_was_fitted_and_stopped_attempts_have_a_mark_of_their_own():
    curves = [
        TimeCurve("depl", [(2, 1), (4, 4), (8, 16), (32, 3)], FittedTimes(0.25, 2, 2, 8), stopped=[(32, 9)]),
        TimeCurve("not fitted", [(2, 1), (4, 2)]),
        TimeCurve("always stopped", [], stopped=[(4, 9), (64, 9)]),
    ]
    axes = time_against_size(curves, "clusters")
    (line,) = drawn(axes, "-")
    assert line.get_xdata().tolist() == [2, 8]
    assert not [line for style in ("--", "-.", ":") for line in drawn(axes, style)]
    arrows = [line.get_xydata().tolist() for line in drawn(axes, "none") if "arrow" in line.get_marker()]
    assert arrows == [[[32, 9]], [[4, 9], [64, 9]]]
    hollow = [line.get_xdata()[0] for line in drawn(axes, "none") if line.get_markerfacecolor() == "white"]
    assert hollow == [32]
    # In the legend, too, only what was fitted has a line.
    shown = dict(zip(labels(axes), axes.get_legend().get_lines(), strict=True))
    assert [name for name, line in shown.items() if line.get_linestyle() != "None"] == ["depl"]
    assert list(shown)[-3:] == ["one attempt", "stopped: at least so long", "mean without those stopped"]
    low, high = axes.get_xlim()
    assert low < 2 < 64 < high


def test_the_guaranteed_band_reaches_from_one_to_its_upper_end_where_there_is_one():
    curve = RatioCurve("graph", (50, 100, 200), (1.5, 1.2, 1.0), (), (0.5, 0, 0))
    axes = ratio_against_levels([curve], band=LevelBand("guaranteed", (50, 100, 200), (None, 1.4, 1.1)))
    (band,) = axes.collections
    corners = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert corners == {(100, 1), (200, 1), (100, 1.4), (200, 1.1)}
    assert labels(axes) == ["guaranteed", "graph", "some instances: no path"]


def test_settings_of_promises_may_have_any_name():
    axes = promised_against_delivered(
        [Promise("never run", 0.9, 0.8, 0.7, 0.9), Promise("new", 0.9, 0.9, 0.8, 1)]
    )
    assert labels(axes) == ["plan never run, with margin", "new", "as promised"]


def test_rows_of_panels_are_filled_and_the_rest_is_empty():
    figure, axes = panels(5, columns=3)
    assert len(axes) == len(figure.axes) == 5
    assert figure.get_figheight() == 2 * panels(1)[0].get_figheight()


def test_figures_of_nothing_are_empty_and_no_error():
    assert len(loss_against_target([]).get_lines()) == 1
    assert not performance_profile([], "factor").get_lines()
    assert not time_against_size([], "epochs").get_lines()
    assert len(ratio_against_size([], "epochs").get_lines()) == 1
    assert not stacked_bars((), {"fast": ()}, "cost").patches


def test_the_text_of_a_figure_repeats_and_depends_on_its_salt():
    def text(salt):
        figure, (axes,) = panels(1)
        loss_against_target([MethodLine("a", (5, 7), (1, 0.9))], axes)
        return svg_text(figure, salt)

    assert text("one") == text("one") != text("two")
    assert "<dc:date>" not in text("one")
