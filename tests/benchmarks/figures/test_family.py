"""Figs. 5 to 9 draw what is held, name what is proved, and compute equal bands once."""

from dataclasses import replace

import pytest

from depl.benchmarks.figures.comparison import Entry
from depl.benchmarks.figures.family import Gallery, LossCurve, draw_losses
from depl.benchmarks.figures.style import panels, series_style
from depl.instances.library import load
from depl.models.solving.result import Result, Solution, Termination
from tests.cases.picture_cases import legend_of
from tests.problems import plan

TARGETS = {"7": 14, "9": 12, "11": 10}
LOSSES = [LossCurve("enumerate", (0, 1, 2), (20, 19, 18), (20, 18.5, 17), (20, 19.5, 19), series_style(0))]


def test_the_band_lies_between_its_quantiles_and_the_limit_is_drawn():
    _, (axes,) = panels(1)
    draw_losses(axes, LOSSES, 18.5)
    (band,) = axes.collections
    outline = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
    assert {(1, 18.5), (1, 19.5), (2, 17), (2, 19)} <= outline
    limit, lower, upper, mean, _ = axes.get_lines()
    assert set(limit.get_ydata()) == {18.5}
    assert lower.get_ydata().tolist() == [20, 18.5, 17]
    assert upper.get_ydata().tolist() == [20, 19.5, 19]
    assert mean.get_ydata().tolist() == [20, 19, 18]


def entry_of(target, method, epochs, solution):
    steady = plan(*[("slow-steady", "A")] * epochs, data=("training-data",))
    result = Result(Termination.EXHAUSTED, steady, 1.0, solution=solution, method=method, cost=float(epochs))
    return Entry(target, load("paper-alexnet", target), method, result)


@pytest.fixture
def entries():
    return [
        entry_of(target, method, epochs + extra, solution)
        for target, epochs in TARGETS.items()
        for method, extra, solution in (
            ("first", 0, Solution.PROVEN_OPTIMAL),
            ("same", 0, Solution.FEASIBLE),
            ("longer", 1, Solution.FEASIBLE),
        )
    ]


def test_a_method_is_called_proved_and_one_without_a_plan_at_some_targets_keeps_its_place(entries):
    (axes,) = Gallery("family", entries).figure("cost").axes
    assert legend_of(axes) == ["first: proved cheapest", "same", "longer"]
    unproved = replace(entries[0], result=replace(entries[0].result, solution=Solution.FEASIBLE))
    (axes,) = Gallery("family", [unproved, *entries[1:]]).figure("cost").axes
    assert legend_of(axes)[0] == "first"
    first = [replace(it, result=None) if it.method == "same" else it for it in entries[:3]]
    panels = Gallery("family", [*first, *entries[3:]]).figure("epochs").axes
    titles = [panel.get_title(loc="left").replace("\N{NO-BREAK SPACE}", " ") for panel in panels]
    assert titles == ["first: proved cheapest", "same (n = 2 of 3)", "longer"]
    assert [label.get_text() for label in panels[1].get_xticklabels()] == ["7", "9", "11"]
    assert [bar.get_height() for bar in panels[1].containers[2]] == [0, 12, 10]
    assert [bar.get_height() for bar in panels[2].containers[2]] == [15, 13, 11]
    assert [text.xy[0] for text in panels[1].texts] == [0]
    assert len({panel.get_ylim() for panel in panels}) == 1
