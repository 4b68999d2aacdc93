"""What the programs say of an infeasible problem when training is harmful, or time is short."""

import dataclasses
import math

import numpy as np
import pytest

from depl.models.exact.sampled import SampledProblem
from depl.models.problem.instance import ConstantImprovement, Model
from depl.models.problem.laws import Normal
from depl.models.programs.highs import Answer, Session, Status
from depl.models.programs.unreachable import why_infeasible
from depl.models.scenarios.draws import given_scenarios

GAINS = (0.5, 1.0, 1.5, 2.0, *[9.0] * 6)
"""Of one epoch in ten scenarios; one scenario may be missed, and a gain of 4 is needed."""


def one_epoch(steady, gains):
    model = Model(
        name="net", size=1, demand=2, improvement=ConstantImprovement(noise=Normal(mean=2, variance=1))
    )
    instance = steady.replace(models=(model,), maximum_epochs=1)
    return SampledProblem(instance, given_scenarios(instance, np.reshape(gains, (-1, 1, 1))))


def test_where_training_only_raises_the_loss_the_best_quantile_is_that_without_training(steady):
    assert "best quantile over 10 scenarios 10" in why_infeasible(one_epoch(steady, [-1.0] * 10))


def test_the_best_quantile_leaves_out_the_scenarios_that_may_be_missed(steady):
    assert "best quantile over 10 scenarios 9;" in why_infeasible(one_epoch(steady, GAINS)) + ";"


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (-math.inf, "between 9 and 10"),
        (-5.0, "between 9 and 10"),  # weaker than what the epochs can gain at most
        (-0.75, "between 9.25 and 10"),
    ],
)
def test_without_time_for_the_solver_the_best_quantile_lies_between_its_bounds(
    steady, monkeypatch, bound, words
):
    problem = one_epoch(steady, GAINS)
    monkeypatch.setattr(Session, "solve", lambda *_: Answer(Status.TIME_LIMIT, None, bound))
    assert f"best quantile over 10 scenarios {words}" in why_infeasible(problem)


def three_epochs(steady):
    """Three epochs gain the 4 that are needed, two do not, and take 3.9 at least."""
    gains = np.full((10, 3, 1), 1.5)
    model = one_epoch(steady, GAINS).instance.models[0]
    instance = steady.replace(models=(model,), maximum_time=3.0)
    return SampledProblem(instance, given_scenarios(instance, gains))


def test_a_fastest_plan_that_was_not_proved_to_be_the_fastest_takes_at_most_its_time(steady, monkeypatch):
    problem = three_epochs(steady)
    assert "takes 3.9, maximum_time is 3" in why_infeasible(problem)
    right = Session.solve
    monkeypatch.setattr(
        Session, "solve", lambda *given: dataclasses.replace(right(*given), status=Status.TIME_LIMIT)
    )
    assert "takes at most 3.9, maximum_time is 3" in why_infeasible(problem)


def test_a_fastest_plan_that_misses_the_target_by_the_exact_count_is_not_named(steady, monkeypatch):
    problem = three_epochs(steady)
    monkeypatch.setattr(SampledProblem, "misses", lambda *_: problem.allowed + 1)
    assert "fastest" not in why_infeasible(problem)
