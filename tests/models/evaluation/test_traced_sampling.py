"""Losses of scenarios under a traced law: the stream as documented, frequencies as the law has them."""

import math

import msgspec
import numpy as np
import pytest

from depl.models.evaluation.in_scenarios import TracedSample
from depl.models.foundation.errors import InvalidInputError, NotCoveredError
from depl.models.scenarios.draws import (
    draw_scenarios,
    given_scenarios,
    require_fitting,
    scenario_losses,
)
from tests.cases.memory_cases import FAR, FULL, instance_of
from tests.cases.observed_run_cases import observed_cases
from tests.cases.traced_law_cases import cases as law_cases
from tests.cases.traced_law_cases import halves, plan_of
from tests.oracles.traced_scenarios import MODELS, by_statement, stream


def sample_of(document, size, seed=0):
    drawn = draw_scenarios(instance_of(msgspec.structs.replace(document, observed=None)), size, seed)
    return TracedSample(document, MODELS, drawn.improvements, drawn.switch_losses)


@pytest.fixture(scope="module")
def cases():
    return [*law_cases(10), *observed_cases(6)]


def test_losses_are_those_of_the_documented_stream(cases):
    several = 0
    for index, (document, oracle, schedules) in enumerate(cases):
        sample, numbers = sample_of(document, 40, index), stream(index, 40)
        for schedule in schedules:
            wanted = by_statement(oracle, schedule, numbers)
            assert sample.losses(schedule) == pytest.approx(wanted, abs=1e-12)
            several += len(oracle.parts(schedule)) > 1
    assert several > 10


def test_quantiles_at_the_ends_and_at_the_steps():
    """Nineteen whole runs, half of them ending at 1 and the others at 2, and one unseen beyond all."""
    law = halves(19, unseen_loss=9.0)
    numbers = np.array([2.0**-54, 0.5, 0.5 + 1e-9, 0.95, 0.95 + 1e-9, 1 - 2.0**-53])
    of_models = np.full((6, 2, 2), 0.25)
    of_models[:, 0, 0] = numbers
    sample = TracedSample(law, MODELS, of_models, np.full((6, 2, 2, 2), 0.25))
    assert sample.losses((FULL, FAR)).tolist() == [1, 1, 2, 2, math.inf, math.inf]


# --- as scenarios -----------------------------------------------------------------------------------------


def test_plans_are_followed_through_scenarios_of_which_the_first_are_those_of_a_smaller_sample(cases):
    for index, (document, oracle, schedules) in enumerate(cases[:6]):
        instance = instance_of(document)
        small, large = (draw_scenarios(instance, size, index) for size in (30, 90))
        for schedule in schedules[:3]:
            wanted = oracle.observed(by_statement(oracle, schedule, stream(index, 30)))
            found = scenario_losses(instance, small, plan_of(schedule))
            assert found == pytest.approx(wanted, abs=1e-12)
            np.testing.assert_array_equal(found, scenario_losses(instance, large, plan_of(schedule))[:30])


def test_what_no_stream_of_a_traced_law_can_say_is_refused():
    instance = instance_of(halves())
    for schedule in ((FAR,), (FULL, FULL), (FULL, FAR, FULL)):
        with pytest.raises(InvalidInputError, match="outside the support of the traces"):
            sample_of(halves(), 3).losses(schedule)
    with pytest.raises(NotCoveredError, match="not rounded to decimals"):
        draw_scenarios(instance, 5, decimals=2)
    with pytest.raises(InvalidInputError, match="drawn from its runs"):
        given_scenarios(instance, np.zeros((5, 4, 2)))


def test_deviations_need_a_second_epoch_in_the_stream():
    def made(**target):
        return instance_of(halves(deviations=(0.0, 1.0)), **target)

    short = made(maximum_epochs=1)
    scenarios = draw_scenarios(short, 5)
    with pytest.raises(NotCoveredError, match="maximum_epochs of 2 at least"):
        scenario_losses(short, scenarios, plan_of((FULL,)))
    long = made(maximum_epochs=2)
    assert scenario_losses(long, draw_scenarios(long, 5), plan_of((FULL,))).shape == (5,)
    with pytest.raises(
        InvalidInputError, match="2 models and 1 epoch, the instance has 2 models and allows 2"
    ):
        require_fitting(long, scenarios)
