"""Predicted and observed final losses: by hand, on the paper's own law, and where mean or spread fails."""

import numpy as np
import pytest

from depl.models.estimation.combinations import TracesFit, fit_traces
from depl.models.estimation.levels import LARGEST_ERROR, LevelCheck, level_checks
from depl.models.estimation.observations import observe
from depl.models.problem.instance import Instance, InverseSqrtImprovement, Model, Switch
from depl.models.problem.laws import FloatArray, InverseGamma, Normal
from depl.models.traces.table import Traces
from tests.cases.drawn_traces import draw_traces


def checked(traces: Traces) -> tuple[LevelCheck, ...]:
    fit = fit_traces(traces, np.random.default_rng(0), resamples=9)
    return level_checks(observe(traces), traces.by_schedule(), fit)


def traces_of(losses: FloatArray) -> Traces:
    runs, count = losses.shape
    return Traces(
        np.repeat(np.arange(runs).astype(str), count),
        np.tile(np.arange(count), runs),
        np.full(losses.size, "net"),
        np.full(losses.size, "site"),
        losses.ravel(),
    )


@pytest.fixture(scope="module")
def drawn(bell: Instance) -> Traces:
    noise = InverseGamma(mean=1, variance=0.03)
    models = [
        Model(name=name, size=1, demand=2, improvement=InverseSqrtImprovement(scale=2, offset=b, noise=noise))
        for name, b in (("full", 1.0), ("cut", 4.0))
    ]
    rows = [Switch(previous="full", following="cut", law=Normal(mean=0.4, variance=0.01))]
    instance = bell.replace(models=models, switches=rows)
    return draw_traces(instance, ["full"] * 6 + ["cut"] * 8, 80, np.random.default_rng(1))


def test_the_papers_law_is_at_its_own_level(drawn: Traces) -> None:
    (found,) = checked(drawn)
    full = 2 / np.sqrt(np.arange(1, 7) + 1)
    cut = 2 / np.sqrt(np.arange(7, 15) + 4)
    truth = 10 - full.sum() - cut.sum() + 0.4
    deviation = np.sqrt(0.03 * ((full**2).sum() + (cut**2).sum()) + 0.01)
    assert (found.schedule, found.runs) == ("6 full@site, 8 cut@site", 80)
    assert found.predicted_mean == pytest.approx(truth, abs=3 * deviation / np.sqrt(80))
    assert found.predicted_deviation == pytest.approx(deviation, rel=0.1)
    assert found.acceptable
    assert found.delivered > 0.85
    assert found.observed_mean == pytest.approx(drawn.matrix()[:, -1].mean())


def test_losses_that_forget_have_less_spread_than_the_law_says() -> None:
    rng = np.random.default_rng(2)
    losses = 2 / np.sqrt(np.arange(1, 32)) * (1 + 0.2 * rng.normal(size=(50, 31)))
    (found,) = checked(traces_of(losses))
    assert found.spread < 0.1
    assert not found.acceptable
    assert found.delivered == 1


def test_ratios_that_fall_with_the_epoch_put_the_mean_wrong() -> None:
    """A first improvement of 5 and then fifty of 0.05: no A / sqrt(k + B), and a mean ratio far from 1."""
    rng = np.random.default_rng(3)
    increments = np.r_[5.0, np.full(50, 0.05)] * (1 + 0.05 * rng.normal(size=(40, 51)))
    losses = 10 - np.concatenate([np.zeros((40, 1)), np.cumsum(increments, axis=1)], axis=1)
    (found,) = checked(traces_of(losses))
    assert abs(found.error) > LARGEST_ERROR
    assert not found.acceptable


def test_numbers_by_hand() -> None:
    found = LevelCheck("s", 41, 1.0, 0.5, 1.1, 0.5, 0.9)
    assert found.error == pytest.approx(0.2)
    assert found.spread == 1
    assert found.acceptable
    # with 40 degrees of freedom a variance ratio of 1 / 4 has the interval 0.17 to 0.41
    assert not LevelCheck("s", 41, 1.0, 0.5, 1.1, 0.25, 1.0).acceptable
    # and with 9 that of 0.12 to 0.83
    assert LevelCheck("s", 10, 1.0, 0.5, 1.1, 0.25, 1.0).acceptable
    assert not LevelCheck("s", 41, 1.0, 0.5, 1.3, 0.5, 0.8).acceptable


def test_nothing_random_is_right_or_wrong_for_sure() -> None:
    sure = LevelCheck("s", 20, 1.0, 0.0, 1.0, 0.0, 1.0)
    assert (sure.error, sure.spread, sure.acceptable) == (0, 1, True)
    assert not LevelCheck("s", 20, 1.0, 0.0, 2.0, 0.1, 0.0).acceptable


def test_schedules_that_are_rare_or_not_fitted_are_left_out(drawn: Traces) -> None:
    assert checked(drawn.select(np.arange(9))) == ()
    fit = fit_traces(drawn, np.random.default_rng(0), resamples=9)
    bare = TracesFit(fit.improvements, {}, {}, {})
    assert level_checks(observe(drawn), drawn.by_schedule(), bare) == ()


def test_runs_without_the_first_evaluation_begin_at_epoch_one(drawn: Traces) -> None:
    rows = drawn.epoch > 0
    columns = (drawn.run, drawn.epoch, drawn.model, drawn.cluster, drawn.loss)
    metrics = {name: column[rows] for name, column in drawn.metrics.items()}
    (found,) = checked(Traces(*(column[rows] for column in columns), metrics))
    (whole,) = checked(drawn)
    assert found.predicted_mean == pytest.approx(whole.predicted_mean, abs=0.1)
    assert found.acceptable
