"""Deviations of plans that were held out: none without noise, those that were put in, and their quantile."""

import numpy as np
import pytest

from depl.instances.training.recorded import recorded_traces
from depl.models.estimation.deviations import Deviations, careful_deviations, plan_deviations, plans_needed
from depl.models.foundation.errors import InvalidInputError
from depl.models.traces.table import Traces
from tests.models.estimation.test_affine import drawn

STARTS = (2, 3, 4, 5)


def with_losses(traces: Traces, loss: np.ndarray) -> Traces:
    return Traces(traces.run, traces.epoch, traces.model, traces.cluster, loss)


def test_plans_without_noise_deviate_by_the_chance_of_their_first_losses_alone() -> None:
    """Losses follow one affine law: what is left is that twenty l(0) have not the mean of twenty others."""
    traces = drawn(20, 0.0, np.random.default_rng(0), STARTS)
    found = plan_deviations(traces, np.random.default_rng(1), folds=4)
    assert found.plans.size >= 2
    assert found.held_out == 2  # of the starts 2 to 5 the inner ones: the others lie outside the rest
    assert np.abs(found.plans).max() < 0.05
    assert found.runs.size == 20 * found.plans.size


def test_what_a_plan_has_of_its_own_is_seen() -> None:
    """The plan that switches at 3 ends higher by 0.2 than a law of the others can know."""
    traces = drawn(20, 0.0, np.random.default_rng(2), STARTS)
    own = np.repeat([start == 3 for start in STARTS for _ in range(20)], 9) & (traces.epoch == 8)
    found = plan_deviations(with_losses(traces, traces.loss + 0.2 * own), np.random.default_rng(1), folds=4)
    assert found.plans[-1] == pytest.approx(0.2, abs=0.05)


def test_on_the_scale_of_logarithms_deviations_are_ratios() -> None:
    traces = drawn(20, 0.02, np.random.default_rng(3), STARTS)
    twice = with_losses(traces, 2 * traces.loss)
    once, double = (
        plan_deviations(each, np.random.default_rng(1), scale="log", folds=4) for each in (traces, twice)
    )
    assert double.plans == pytest.approx(once.plans, abs=1e-9)
    assert double.runs == pytest.approx(once.runs, abs=1e-9)


def test_runs_count_as_if_the_mean_of_their_plan_were_known() -> None:
    """Two runs of a plan, d apart, are d / 2 from their mean and d / sqrt 2 from the truth on average."""
    traces = drawn(20, 0.3, np.random.default_rng(5), STARTS)
    found = plan_deviations(traces, np.random.default_rng(1), folds=4)
    final = traces.matrix()[:, -1].reshape(len(STARTS), 20)
    at_the_end = np.sqrt(np.mean(final.var(axis=1, ddof=1)))
    assert found.runs.std() == pytest.approx(at_the_end, rel=0.3)


def test_the_careful_deviations_are_runs_around_an_order_statistic_of_plans() -> None:
    """The next plan counts beside p held out: rank ceil(21 * 0.95) = 20 of 20, ceil(21 * 0.1) = 3."""
    plans, runs = np.arange(-5.0, 15.0), np.array([-0.5, 0.0, 0.25])
    assert careful_deviations(Deviations(plans, runs, 20), 0.95) == (13.5, 14.0, 14.25)
    assert careful_deviations(Deviations(plans, runs, 20), 0.9) == (12.5, 13.0, 13.25)
    assert careful_deviations(Deviations(plans, runs, 20), 0.1) == (-0.5, 0.0, 0.25)  # never for a plan
    assert careful_deviations(Deviations(plans, runs[:0], 20), 0.5) == (5.0,)
    for care in (0.0, 1.0):
        with pytest.raises(InvalidInputError):
            careful_deviations(Deviations(plans, runs, 20), care)


def test_deviations_of_one_plan_at_several_ages_are_no_more_plans() -> None:
    """Sixty deviations of eighteen plans have no margin for 0.95, and those of nineteen the greatest."""
    plans, runs = np.arange(60.0), np.zeros(3)
    assert [plans_needed(care) for care in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    with pytest.raises(InvalidInputError, match=r"only 18 plans could be held out .* takes 19") as caught:
        careful_deviations(Deviations(plans, runs, 18), 0.95)
    assert caught.value.path == ".care"
    assert careful_deviations(Deviations(plans, runs, 19), 0.95)[0] == 59
    assert careful_deviations(Deviations(plans, runs, 39), 0.95)[0] == 58  # 40 * 0.95 / 39 of 60


def test_many_runs_become_the_greatest_of_their_neighbours() -> None:
    runs = np.arange(100.0)
    found = careful_deviations(Deviations(np.zeros(20), runs, 20))
    assert len(found) == 33  # groups of three from the top, the lowest of four
    assert (found[-1], found[-2], found[0]) == (99.0, 96.0, 3.0)
    for level in np.linspace(0.01, 0.99, 30):
        assert np.quantile(found, level, method="inverted_cdf") >= np.quantile(
            runs, level, method="inverted_cdf"
        )


@pytest.mark.slow  # by default on drawn runs, whose deviations are known
def test_real_plans_deviate_by_a_sixth_or_so_and_runs_by_more() -> None:
    found = plan_deviations(recorded_traces("digits-alexnet"), np.random.default_rng(0), scale="log")
    assert found.plans.size > 150
    assert abs(found.plans.mean()) < 0.03
    assert 0.1 < found.plans.std() < 0.25
    assert 0.15 < found.runs.std() < 0.4
    careful = careful_deviations(found)
    assert len(careful) <= 40
    assert 0.2 < np.median(careful) < 0.45
    assert max(careful) > 0.7  # spikes


def test_a_single_plan_cannot_be_held_out() -> None:
    traces = drawn(20, 0.0, np.random.default_rng(4), (3,))
    with pytest.raises(InvalidInputError, match="two plans"):
        plan_deviations(traces, np.random.default_rng(0))
