"""Deviations of plans that were held out: none without noise, those that were put in, and their quantile."""

import numpy as np
import pytest

from depl.instances.training.recorded import recorded_traces
from depl.models.errors import InvalidInputError
from depl.models.estimation.deviations import careful_deviation, plan_deviations
from depl.models.traces.table import Traces
from tests.test_estimation_affine import drawn

STARTS = (2, 3, 4, 5)


def with_losses(traces: Traces, loss: np.ndarray) -> Traces:
    return Traces(traces.run, traces.epoch, traces.model, traces.cluster, loss)


def test_plans_without_noise_deviate_by_the_chance_of_their_first_losses_alone() -> None:
    """Losses follow one affine law: what is left is that twenty l(0) have not the mean of twenty others."""
    traces = drawn(20, 0.0, np.random.default_rng(0), STARTS)
    found = plan_deviations(traces, np.random.default_rng(1), folds=4)
    assert found.size >= 2
    assert np.abs(found).max() < 0.05


def test_what_a_plan_has_of_its_own_is_seen() -> None:
    """The plan that switches at 3 ends higher by .2 than a law of the others can know."""
    traces = drawn(20, 0.0, np.random.default_rng(2), STARTS)
    own = np.repeat([start == 3 for start in STARTS for _ in range(20)], 9) & (traces.epoch == 8)
    found = plan_deviations(with_losses(traces, traces.loss + 0.2 * own), np.random.default_rng(1), folds=4)
    assert found[-1] == pytest.approx(0.2, abs=0.05)


def test_on_the_scale_of_logarithms_deviations_are_ratios() -> None:
    traces = drawn(20, 0.02, np.random.default_rng(3), STARTS)
    twice = with_losses(traces, 2 * traces.loss)
    once, double = (
        plan_deviations(each, np.random.default_rng(1), scale="log", folds=4) for each in (traces, twice)
    )
    assert double == pytest.approx(once, abs=1e-9)


def test_the_careful_deviation_is_an_order_statistic() -> None:
    values = np.arange(-5.0, 15.0)
    assert careful_deviation(values, 0.95) == 13.0  # the 19th of 20
    assert careful_deviation(values, 0.5) == 4.0
    assert careful_deviation(values, 0.1) == 0.0  # never in favour of a plan
    for deviations, care in ((values[:19], 0.95), (values, 0.0), (values, 1.0)):
        with pytest.raises(InvalidInputError):
            careful_deviation(deviations, care)


def test_real_plans_deviate_by_a_sixth_or_so_to_either_side() -> None:
    found = plan_deviations(recorded_traces("digits-alexnet"), np.random.default_rng(0), scale="log")
    assert found.size > 150
    assert abs(found.mean()) < 0.03
    assert 0.1 < found.std() < 0.25
    assert 0.2 < careful_deviation(found) < 0.4


def test_a_single_plan_cannot_be_held_out() -> None:
    traces = drawn(20, 0.0, np.random.default_rng(4), (3,))
    with pytest.raises(InvalidInputError, match="two plans"):
        plan_deviations(traces, np.random.default_rng(0))
