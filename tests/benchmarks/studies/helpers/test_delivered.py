"""Shares with their exact interval and test, and the picture of both studies that promise."""

import pytest
from scipy.stats import binom

from depl.benchmarks.studies.closed_loop import closed_loop_figure
from depl.benchmarks.studies.helpers.delivered import delivered
from depl.benchmarks.studies.promises_kept import promises_figure
from tests.cases.picture_cases import require_legends_outside


def test_a_share_has_an_exact_interval_and_is_tested_exactly():
    found = delivered(3, 10, 0.9)
    assert (found["runs"], found["delivered"]) == (10, 0.7)
    assert found["p_value"] == pytest.approx(binom.sf(2, 10, 0.1))
    assert binom.sf(6, 10, found["lower"]) == pytest.approx(0.025)
    assert binom.cdf(7, 10, found["upper"]) == pytest.approx(0.025)


SHARES = {"delivered": 0.93, "lower": 0.85, "upper": 0.97}


def rung(name, omega=0.9, **more):
    return {"family": "a", "maximum_loss": 0.5, "maximum_epochs": 9, "omega": omega, "rung": name, **more}


POLICIES = [
    rung("fixed", **SHARES),
    rung("optimal, counted", promised=0.95, **SHARES),
    rung("optimal, ledger", promised=None),
    rung("clairvoyant", **SHARES),
    rung("optimal, counted", 0.95, promised=0.96, **SHARES),
    {**rung("fixed", **SHARES), "family": "b"},
]


def kept(setting, promised=0.9, **more):
    return {"family": "a", "setting": setting, "promised": promised, "target": 0.5, **more}


PLANS = [
    kept("never run", **SHARES),
    kept("all runs", delivered=None),
    kept("never run", 0.95, **SHARES),
    {**kept("flattered", **SHARES), "family": "b"},
]
PILOTS = [{**kept("", 0.99, **SHARES), "certified": True}, {"family": "b", "certified": False}]


@pytest.mark.parametrize(
    ("figure", "levels", "first", "rest", "refused"),
    [
        (closed_loop_figure({"rows": POLICIES}), ("0.90", "0.95"), -0.303, [0.93, 0.93, 0.95], "0.5 in 9"),
        (promises_figure({"rows": PLANS, "pilots": PILOTS}), ("0.90", "0.95", "0.99"), -0.34, [0.93], "0.5"),
    ],
)
def test_a_panel_for_each_family_and_promise_draws_intervals_and_what_was_certified_or_refused(
    figure, levels, first, rest, refused
):
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"{family}, {level} asked" for level in levels for family in ("a", "b")]
    axes = figure.axes[0]
    asked, *lines = [(list(line.get_xdata()), line.get_ydata()[0]) for line in axes.get_lines()]
    assert asked[0] == [0.9, 0.9]
    assert lines[0] == ([0.85, 0.97], pytest.approx(first, abs=0.005))
    assert sorted(x[0] for x, _ in lines if len(x) == 1) == rest
    assert [text.get_text() for text in axes.texts] == ["none"]
    assert [label.get_text() for label in axes.get_yticklabels()] == [refused]
    require_legends_outside(figure)
