"""The figure of the study `closed-loop`: what it draws, from values written here."""

import pytest

from depl.benchmarks.studies.closed_loop import closed_loop_figure
from tests.cases.picture_cases import require_legends_outside

PROBLEM = {"family": "digits-a", "maximum_loss": 0.5, "maximum_epochs": 9, "omega": 0.9}
SHARES = {"delivered": 0.93, "lower": 0.85, "upper": 0.97, "cost": 8.0}
ROWS = [
    {**PROBLEM, "rung": "fixed", **SHARES},
    {**PROBLEM, "rung": "optimal, counted", "promised": 0.95, **SHARES},
    {**PROBLEM, "rung": "optimal, ledger", "promised": None},
    {**PROBLEM, "rung": "clairvoyant", **SHARES},
    {**PROBLEM, "omega": 0.95, "rung": "optimal, counted", "promised": 0.96, **SHARES, "upper": 0.94},
]


def test_a_panel_for_each_family_and_omega_draws_intervals_what_was_certified_and_what_was_not_promised():
    figure = closed_loop_figure({"rows": [*ROWS, {**ROWS[0], "family": "digits-b"}]})
    titles = [" ".join(axes.get_title(loc="left").split()) for axes in figure.axes]
    assert len(titles) == 4
    assert titles[0] == "digits-a, 0.90 asked: no certified policy lies below it with the whole interval"
    assert titles[2].startswith("digits-a, 0.95 asked: 1 of 1 certified policies lie below")
    axes = figure.axes[0]
    drawn = [(list(line.get_xdata()), line.get_ydata()[0]) for line in axes.get_lines()]
    assert ([0.85, 0.97], pytest.approx(-0.39)) in drawn  # fixed plans stand first
    assert ([0.95], pytest.approx(0.0)) in drawn
    assert [text.get_text() for text in axes.texts] == ["none"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.5, 9"]
    require_legends_outside(figure)
