"""Figs. 2 and 4 from traces: the tables hold what is drawn."""

import numpy as np
import pytest

from depl.benchmarks.figures.of_training import training_drawings
from depl.models.problem.instance import InverseSqrtImprovement, Model, Switch
from depl.models.problem.laws import InverseGamma, Normal
from tests.cases.drawn_traces import draw_traces
from tests.cases.picture_cases import require_legends_outside


@pytest.fixture(scope="module")
def drawings(bell):
    noise = InverseGamma(mean=1, variance=0.03)
    models = [
        Model(name=name, size=1, demand=2, improvement=InverseSqrtImprovement(scale=2, offset=b, noise=noise))
        for name, b in (("full", 1.0), ("cut", 4.0))
    ]
    rows = [Switch(previous="full", following="cut", law=Normal(mean=0.4, variance=0.01))]
    rng = np.random.default_rng(1)
    traces = draw_traces(bell.replace(models=models, switches=rows), ["full"] * 5 + ["cut"] * 4, 30, rng)
    return training_drawings("made-up", traces, rng, resamples=19)


def test_both_figures_have_a_name_a_footer_and_numbers(drawings):
    assert [drawing.name for drawing in drawings] == ["made-up-training-loss", "made-up-training-fits"]
    assert all("traces made-up, 30 runs" in drawing.figure.get_supxlabel() for drawing in drawings)


def test_bands_are_those_of_the_table(drawings):
    loss = drawings[0]
    told = [(row["epoch"], row["mean"]) for row in loss.table.records()]
    (axes,) = loss.figure.axes
    drawn = {tuple(point) for line in axes.get_lines() for point in line.get_xydata().tolist()}
    assert len(told) == 10
    assert set(told) <= drawn


def test_ratios_and_jumps_that_are_counted_stand_in_the_table(drawings):
    fits = drawings[1]
    rows = fits.table.records()
    panels = {
        panel: [row["value"] for row in rows if row["panel"] == panel]
        for panel in {row["panel"] for row in rows}
    }
    assert set(panels) == {"ratio", "law of ratios", "p-value", "jump", "law of jumps"}
    assert len(panels["ratio"]) == 30 * 5
    assert len(panels["jump"]) == 30
    labels = [axes.get_legend().get_texts()[0].get_text() for axes in fits.figure.axes]
    assert labels[0] == "observed, 150"
    assert labels[2] == "observed, 30"
    assert all(0 <= value <= 1 for value in panels["p-value"])


def test_no_legend_meets_what_is_drawn_and_titles_say_what_is_shown(drawings):
    for drawing in drawings:
        require_legends_outside(drawing.figure)
    titles = [axes.get_title(loc="left").replace("\n", " ") for axes in drawings[1].figure.axes]
    assert titles == ["improvements of full", "inverse gamma", "jumps at a switch"]
