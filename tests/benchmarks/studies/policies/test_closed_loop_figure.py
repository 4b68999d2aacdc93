"""The figures of the case `closed-loop`: what they draw, from values written here."""

import pytest

from depl.benchmarks.figures.cost_promise_frontier import Frontier, Run, cost_promise_frontier
from depl.benchmarks.figures.delivered_by_problem import Delivered, delivered_by_problem
from depl.benchmarks.figures.palette import series_style
from depl.benchmarks.studies.policies.closed_loop_figure import closed_loop_figure, frontier_figure
from tests.cases.picture_cases import require_legends_outside

PROBLEM = {"family": "digits-a", "maximum_loss": 0.5, "maximum_epochs": 9, "omega": 0.9}
SHARES = {"delivered": 0.93, "lower": 0.85, "upper": 0.97, "cost": 8.0}
ROWS = [
    {**PROBLEM, "who": "fixed", **SHARES},
    {**PROBLEM, "who": "optimal, counted", "promised": 0.95, **SHARES},
    {**PROBLEM, "who": "optimal, ledger", "promised": None, "reason": "none"},
    {**PROBLEM, "who": "clairvoyant", **SHARES},
    {**PROBLEM, "omega": 0.95, "who": "optimal, counted", "promised": 0.96, **SHARES, "upper": 0.94},
]
FRONTIER = {
    "ratio": 10.0,
    "fixed": [[0.6, 9.0], [0.95, 12.0]],
    "stopped": [[0.7, 8.0], [0.97, 10.0]],
    "policies": [[0.9, 9.0], [0.99, 9.9]],
    "bound": [[10.0, 10.0], [20.0, 10.8]],
}


def test_an_interval_a_certified_probability_and_what_was_not_promised_stand_in_the_row_of_their_problem():
    styles = {"old": series_style(0), "new": series_style(1)}
    found = [
        Delivered("a", "old", 0.9, 0.8, 0.95),
        Delivered("a", "new", 0.97, 0.9, 0.99, promised=0.95),
        Delivered("b", "new", None),
    ]
    axes = delivered_by_problem(found, 0.9, styles)
    lines = [line for line in axes.get_lines() if len(line.get_ydata())]
    drawn = [(list(line.get_xdata()), line.get_ydata()[0]) for line in lines]
    assert ([0.8, 0.95], pytest.approx(-0.065)) in drawn
    assert ([0.9, 0.99], pytest.approx(0.065)) in drawn
    assert ([0.95], pytest.approx(0.065)) in drawn
    assert [(text.get_text(), text.get_position()[1]) for text in axes.texts] == [
        ("none", pytest.approx(1.065))
    ]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_the_bound_is_the_highest_of_its_lines_and_the_coin_goes_through_the_origin():
    frontier = Frontier(*(FRONTIER[name] for name in Frontier._fields))
    axes = cost_promise_frontier(frontier, runs=[Run("old", 0.9, 8.0)], styles={"old": series_style(0)})
    lines = {line.get_label(): line for line in axes.get_lines()}
    coin = lines["coin: train or not"]
    assert (coin.get_ydata()[0], coin.get_ydata()[-1]) == (0.0, 10.0)
    (shade,) = axes.collections
    top = shade.get_paths()[0].vertices
    assert top[:, 1].max() == pytest.approx(10.8)  # at probability 1
    near = top[abs(top[:, 0] - 0.5) < 1e-9][:, 1].max()
    assert near == pytest.approx(5.0)  # 10 - 10 / 2 is above 10.8 - 20 / 2
    assert list(lines["real runs: old"].get_ydata()) == [8.0]


def test_there_is_a_panel_for_each_family_and_omega_and_its_title_counts_what_lies_below():
    figure = closed_loop_figure({"rows": [*ROWS, {**ROWS[0], "family": "digits-b"}]})
    titles = [" ".join(axes.get_title(loc="left").split()) for axes in figure.axes]
    assert len(titles) == 4
    assert titles[0] == ("digits-a, 0.90 asked: no certified policy lies below it with the whole interval")
    assert titles[2].startswith("digits-a, 0.95 asked: 1 of 1 certified policies lie below")
    require_legends_outside(figure)


def test_frontiers_stand_whole_and_near_with_the_real_runs_of_their_target():
    values = {"rows": ROWS, "frontiers": [{**PROBLEM, **FRONTIER}]}
    figure = frontier_figure(values)
    whole, near = figure.axes
    assert whole.get_xlim() == (0.0, 1.0)
    assert near.get_xlim() == (0.88, 1.0)
    labels = [line.get_label() for line in near.get_lines()]
    assert [label for label in labels if label.startswith("real runs")] == [
        "real runs: fixed",
        "real runs: optimal, counted",
        "real runs: clairvoyant",
        "real runs: optimal, counted",
    ]
    require_legends_outside(figure)
