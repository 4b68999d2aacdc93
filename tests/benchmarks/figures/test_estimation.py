"""What the figures of estimation show, read back from their axes."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from depl.benchmarks.figures.estimation import (
    draw_density,
    fit_figure,
    loss_band,
    p_values,
    trace_curves,
    verdict_figure,
)
from depl.benchmarks.figures.style import panels
from depl.models.estimation.choices import FitBy
from depl.models.estimation.diagnosis import diagnose
from depl.models.estimation.fit import fit_switch, fit_traces
from depl.models.traces.table import joined
from tests.cases.fit_cases import draw_traces
from tests.cases.picture_cases import legend_of


@pytest.fixture(scope="module")
def drawn():
    rng, plans = np.random.default_rng(1), ((4, 20), (6, 30), (9, 3))
    return joined([draw_traces(["full"] * 5 + ["cut"] * n, runs, rng, prefix=f"{n}-") for n, runs in plans])


def test_bands_are_means_and_percentiles_of_the_most_frequent_schedules(drawn):
    first, second = trace_curves(drawn)
    assert first.label == "5 full, 6 cut (30 runs)"
    assert second.label == "5 full, 4 cut (20 runs)"
    losses = drawn.matrix()[20:50, :12]
    assert list(first.epochs) == list(range(12))
    assert first.mean == pytest.approx(losses.mean(axis=0))
    assert first.lower == pytest.approx(np.quantile(losses, 0.01, axis=0))
    assert first.upper == pytest.approx(np.quantile(losses, 0.99, axis=0))
    (axes,) = loss_band(drawn).axes
    assert legend_of(axes) == [first.label, second.label, "1 to 99 % of runs"]


def test_a_histogram_counts_all_values_and_densities_are_those_of_the_law_with_its_mass():
    values = np.random.default_rng(0).normal(size=4000)
    laws = fit_switch(values, np.random.default_rng(1), resamples=9).laws
    law = next(item for item in laws if item.family == "normal")
    axes = panels(1)[1][0]
    draw_density(axes, values, [law, dataclasses.replace(law, excluded=1000)], "x")
    (stairs,) = axes.patches
    heights, edges, _ = stairs.get_data()
    assert (heights * np.diff(edges)).sum() == pytest.approx(0.99, abs=0.002)
    whole, part = axes.get_lines()
    x, y = whole.get_xydata().T
    assert y == pytest.approx(stats.norm.pdf(x, values.mean(), values.std()), abs=1e-4)
    assert part.get_ydata() == pytest.approx(0.75 * y)
    assert legend_of(axes) == ["observed, 4000", "normal"]


def test_the_fits_are_drawn_with_ratios_p_values_and_jumps(drawn):
    rng = np.random.default_rng(3)
    by_model = fit_traces(drawn, rng, resamples=19)
    by_schedule = fit_traces(drawn, rng, FitBy.SCHEDULE, resamples=19)
    _, centre, jumps = fit_figure(by_model, by_schedule).axes
    kinds = p_values(by_schedule)
    assert list(kinds) == ["as printed", "honest, positive ratios", "honest, all ratios"]
    assert {len(values) for values in kinds.values()} == {6}
    assert len(centre.containers) == 3
    assert len(jumps.get_lines()) == 2


def test_the_verdict_shows_what_will_do_and_what_promises_take(drawn):
    found = diagnose(drawn, np.random.default_rng(0), resamples=19)
    ratios, runs = verdict_figure(found).axes
    verdict = "may be used" if found.usable else "must not be used"
    assert ratios.get_title(loc="left") == f"the paper's law {verdict}"
    assert [text.get_text() for text in ratios.get_yticklabels()] == ["whole runs", *found.stages]
    widths = [bar.get_width() for bar in runs.patches]
    assert widths == [stage.runs for stage in found.behind]
    needed = [line.get_xdata()[0] for line in runs.lines]
    assert needed == [19, 59]
