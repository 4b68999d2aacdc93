"""What rows say of runs, and how many promises are refuted all together."""

import pytest
from scipy.stats import binom, t

from depl.benchmarks.measure.results import RESULTS, read
from depl.benchmarks.studies import closed_loop
from depl.benchmarks.studies.closed_loop import (
    closed_loop_figure,
    cost_ratios,
    delivered,
    of_cost,
    of_promise,
    refuted,
)
from depl.models.policy.replay import ReplayedRun
from tests.cases.picture_cases import require_legends_outside


def run(end, epochs, cost):
    return ReplayedRun("1", epochs, None, cost, 0.5, end)


def test_a_row_counts_misses_of_every_kind_and_what_runs_cost():
    runs = [run("reached", 5, 10.0)] * 7 + [run("exhausted", 9, 20.0), run("beyond", 3, 6.0)]
    row = delivered([*runs, run("abandoned", 0, 0.0)], 0.9)
    assert row["delivered"] == pytest.approx(0.7)
    assert row["cost"] == pytest.approx(9.6)
    assert row["abandoned_at_start"] == 1
    assert row["p_value"] == pytest.approx(binom.sf(2, 10, 0.1))
    assert binom.cdf(7, 10, row["lower"]) > 0.97
    assert binom.sf(7, 10, row["upper"]) > 0.9


def test_holm_stops_at_the_first_promise_that_stands():
    assert refuted([]) == 0
    assert refuted([0.2, 0.04, 0.9]) == 0  # 0.04 alone would be refuted, not as the least of three
    assert refuted([0.016, 0.024, 0.9]) == 2
    assert refuted([0.017, 0.024, 0.001]) == 3


def test_a_certified_probability_is_tested_itself_and_not_omega():
    row = {"promised": 0.97, "delivered": 108 / 120, "runs": 120}
    assert of_promise(row) == pytest.approx(binom.sf(11, 120, 0.03))


def test_a_certified_cost_is_tested_against_the_mean_of_the_runs():
    row = {"promised_cost": 50.0, "cost": 51.0, "cost_error": 0.5, "runs": 121}
    assert of_cost(row) == pytest.approx(t.sf(2.0, 120))
    assert of_cost({**row, "cost_error": 0.0}) == 0.0
    assert of_cost({**row, "cost": 50.0, "cost_error": 0.0}) == 1.0


def test_ratios_are_those_of_problems_that_are_not_tight_and_have_a_cost():
    told = {"family": "a", "maximum_loss": 1.0, "maximum_epochs": 47, "omega": 0.9}
    rows = [
        {**told, "rung": "fixed", "cost": 10.0},
        {**told, "rung": "optimal, counted", "promised": 0.9, "cost": 8.0},
        {**told, "rung": "clairvoyant", "cost": 6.0},
        {**told, "maximum_loss": 2.0, "rung": "fixed", "cost": 10.0},
        {**told, "maximum_loss": 2.0, "rung": "optimal, counted", "promised": None},
        {**told, "maximum_loss": 2.0, "rung": "clairvoyant", "cost": 1.0},
        {**told, "maximum_epochs": 30, "rung": "fixed", "cost": 10.0},
    ]
    assert cost_ratios(rows, 0.9) == [0.8]
    assert cost_ratios(rows, 0.9, "clairvoyant") == [0.6, 0.1]
    assert cost_ratios(rows, 0.95) == []


def test_the_figures_of_the_record_follow_from_its_rows():
    values = read(RESULTS / "closed-loop.json").values
    for name, value in closed_loop._figures(values["rows"], values["halves"]).items():
        assert value == pytest.approx(values[name], rel=1e-12)


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
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    families = ("digits-a", "digits-b")
    assert titles == [f"{family}, {omega} asked" for omega in ("0.90", "0.95") for family in families]
    axes = figure.axes[0]
    drawn = [(list(line.get_xdata()), line.get_ydata()[0]) for line in axes.get_lines()]
    assert ([0.85, 0.97], pytest.approx(-0.39)) in drawn  # fixed plans stand first
    assert ([0.95], pytest.approx(0.0)) in drawn
    assert [text.get_text() for text in axes.texts] == ["none"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0.5, 9"]
    require_legends_outside(figure)
